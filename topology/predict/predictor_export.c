/* predictor_export.c - writes a model of labels as one file, as small as it is
 * wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/predict/network_slim.h"
#include "formats/dataset/names.h"
#include "formats/text/abi.h"
#include "topology/predict/calibrate.h"
#include "topology/predict/predictor_internal.h"

#define EXPORT_OPTIONS_MIN sizeof(skn_export_options_t)
#define EXPORTED_MIN sizeof(skn_exported_t)

typedef struct slimming {
    const skn_predictor_t *predictor;
    skn_slim_facts_t facts;
    const char *layer[SKN_NETWORK_LAYERS_MAX];
    char *words, *names; /* file forms; NULL: none */
    size_t words_bytes, names_bytes;
    skn_json_text_t calibration;
    uint32_t *order; /* features with a row, the most important first */
    uint32_t *kept;  /* [order_count] those that stay, ascending */
    uint32_t order_count;
    skn_slim_list_t list;
    skn_exported_t made;
} slimming_t;

/* --- names and words ------------------------------------------------------ */

static bool
names_are_known(const skn_predictor_t *predictor)
{
    const skn_names_t *names = predictor->names;
    const skn_vocabulary_t *vocabulary = predictor->vocabulary;
    if (!vocabulary || names->count != vocabulary->names.count)
        return false;
    for (uint32_t k = 0; k < names->count; k++) {
        size_t bytes;
        const char *name = skn_strings_at(&vocabulary->names, k, &bytes);
        if (strlen(names->name[k]) != bytes ||
            memcmp(names->name[k], name, bytes) != 0)
            return false;
    }
    return true;
}

static skn_status_t
make_forms(slimming_t *slimming, skn_error_t *error)
{
    const skn_predictor_t *predictor = slimming->predictor;
    const skn_vocabulary_t *vocabulary = predictor->vocabulary;
    if (vocabulary) {
        size_t bytes = 0;
        uint64_t names_bytes = 0;
        char *features = skn_featurizer_write(vocabulary->featurizer, &bytes);
        char *names = skn_names_write(&vocabulary->names, &names_bytes);
        const skn_vocabulary_form_t forms = { features, names, bytes,
                                              names_bytes };
        if (features && names)
            slimming->words =
                skn_vocabulary_write(&forms, &slimming->words_bytes);
        free(features);
        free(names);
    }
    bool has_names = predictor->names && !names_are_known(predictor);
    if (has_names)
        slimming->names =
            skn_names_text(predictor->names, &slimming->names_bytes);
    if ((vocabulary && !slimming->words) || (has_names && !slimming->names))
        return skn_fail(error, SKN_NO_MEMORY, "no memory for names");
    return predictor->info.calibrated
               ? skn_calibration_write(&predictor->calibration,
                                       predictor->info.batch,
                                       &slimming->calibration, error)
               : SKN_OK;
}

/* --- the tensors ---------------------------------------------------------- */

static skn_status_t
list_form(slimming_t *slimming, const char *name, const char *form,
          size_t bytes, skn_error_t *error)
{
    skn_slim_part_t part = { "", SKN_DTYPE_U8, bytes, 0, form };
    (void)snprintf(part.name, sizeof(part.name), "%s", name);
    return form ? skn_slim_list_lend(&slimming->list, NULL, &part, error)
                : SKN_OK;
}

static int
by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Lists a model with such rows and the `kept` most important features (0: all
 * that it has), and measures it. */
static skn_status_t
attempt(slimming_t *slimming, skn_export_rows_t rows, uint32_t kept,
        skn_error_t *error)
{
    const skn_kept_features_t some = { slimming->kept, kept };
    const skn_network_t *network = &slimming->predictor->network;
    skn_slim_list_fini(&slimming->list);
    if (kept > 0) {
        memcpy(slimming->kept, slimming->order, kept * sizeof(*slimming->kept));
        qsort(slimming->kept, kept, sizeof(*slimming->kept), by_number);
    }
    skn_status_t status =
        skn_network_list(network, slimming->layer, rows, kept ? &some : NULL,
                         &slimming->list, error);
    if (status == SKN_OK)
        status = list_form(slimming, SKN_VOCABULARY_NAME, slimming->words,
                           slimming->words_bytes, error);
    if (status == SKN_OK)
        status = list_form(slimming, SKN_LABELS_NAME, slimming->names,
                           slimming->names_bytes, error);
    if (status == SKN_OK)
        status = list_form(slimming, SKN_CALIBRATION_NAME,
                           slimming->calibration.bytes,
                           slimming->calibration.count, error);
    slimming->made.rows = rows;
    slimming->made.kept_count = kept > 0        ? kept
                                : network->kept ? network->kept_count
                                                : network->feature_count;
    return status == SKN_OK
               ? skn_slim_size(&slimming->facts, slimming->list.part,
                               slimming->list.count, &slimming->made.bytes,
                               error)
               : status;
}

/* --- which features matter ------------------------------------------------ */

typedef struct importance {
    double value;
    uint32_t feature;
} importance_t;

static int
by_importance(const void *left, const void *right)
{
    const importance_t *a = left, *b = right;
    if (a->value > b->value || a->value < b->value)
        return a->value > b->value ? -1 : 1;
    return by_number(&a->feature, &b->feature);
}

/* How much a feature adds to the first layer over the training data: |w|^2
 * times the sum of squared values, where that is known. -1: it has no row. */
static double
importance(const skn_predictor_t *predictor, uint32_t feature, float *row)
{
    const skn_vocabulary_t *vocabulary = predictor->vocabulary;
    double value = skn_network_feature_norm(&predictor->network, feature, row);
    if (value >= 0 && vocabulary &&
        feature < skn_featurizer_count(vocabulary->featurizer))
        value *= skn_featurizer_mass(vocabulary->featurizer, feature);
    return value;
}

static skn_status_t
order_features(slimming_t *slimming, skn_error_t *error)
{
    const skn_predictor_t *predictor = slimming->predictor;
    uint32_t count = predictor->network.feature_count, used = 0;
    importance_t *all = calloc(count, sizeof(*all));
    float *row = calloc(predictor->network.units[0], sizeof(*row));
    slimming->order = calloc(count, sizeof(*slimming->order));
    slimming->kept = calloc(count, sizeof(*slimming->kept));
    if (!all || !row || !slimming->order || !slimming->kept) {
        free(row);
        free(all);
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u features",
                        count);
    }
    for (uint32_t f = 0; f < count; f++) {
        all[used] = (importance_t){ importance(predictor, f, row), f };
        used += all[used].value >= 0;
    }
    qsort(all, used, sizeof(*all), by_importance);
    for (uint32_t k = 0; k < used; k++)
        slimming->order[k] = all[k].feature;
    slimming->order_count = used;
    free(row);
    free(all);
    return SKN_OK;
}

/* Keeps as many features as fit. */
static skn_status_t
prune(slimming_t *slimming, uint64_t bytes_max, skn_error_t *error)
{
    uint32_t fit = 0, too_many;
    skn_status_t status = order_features(slimming, error);
    too_many = slimming->order_count;
    while (status == SKN_OK && too_many - fit > 1) {
        uint32_t half = fit + (too_many - fit) / 2;
        status = attempt(slimming, SKN_EXPORT_INT8, half, error);
        if (slimming->made.bytes <= bytes_max)
            fit = half;
        else
            too_many = half;
    }
    if (status == SKN_OK)
        status = attempt(slimming, SKN_EXPORT_INT8, fit ? fit : 1, error);
    if (status != SKN_OK || slimming->made.bytes <= bytes_max)
        return status;
    (void)skn_fail(error, SKN_BAD_DATA,
                   "the model cannot have %" PRIu64 " bytes: with one feature "
                   "it has %" PRIu64,
                   bytes_max, slimming->made.bytes);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "allow more, or train one with fewer units");
}

static skn_status_t
fit_rows(slimming_t *slimming, const skn_export_options_t *options,
         skn_error_t *error)
{
    skn_export_rows_t rows = options->rows;
    skn_status_t status = attempt(slimming, rows, 0, error);
    if (options->bytes_max == 0)
        return status;
    while (status == SKN_OK && slimming->made.bytes > options->bytes_max &&
           rows != SKN_EXPORT_INT8)
        status = attempt(slimming, ++rows, 0, error);
    return status == SKN_OK && slimming->made.bytes > options->bytes_max
               ? prune(slimming, options->bytes_max, error)
               : status;
}

/* --- the call ------------------------------------------------------------- */

static skn_status_t
check_call(const skn_predictor_t *predictor, const char *path,
           const skn_export_options_t *options, const skn_exported_t *exported,
           skn_error_t *error)
{
    if (!predictor || !path)
        return skn_fail(error, SKN_USAGE, "the %s is NULL",
                        predictor ? "path" : "predictor");
    skn_status_t status =
        options
            ? skn_abi_check_grown("the export's options", options->struct_bytes,
                                  EXPORT_OPTIONS_MIN, sizeof(*options), error)
            : SKN_OK;
    if (status == SKN_OK && exported)
        status =
            skn_abi_check_grown("the export's result", exported->struct_bytes,
                                EXPORTED_MIN, sizeof(*exported), error);
    if (status == SKN_OK && options &&
        (unsigned)options->rows > SKN_EXPORT_INT8)
        status = skn_fail(error, SKN_USAGE, "there is no format %u of rows",
                          (unsigned)options->rows);
    return status;
}

static skn_status_t
make(slimming_t *slimming, const char *path,
     const skn_export_options_t *options, skn_error_t *error)
{
    const skn_predictor_t *predictor = slimming->predictor;
    const skn_predictor_info_t *info = &predictor->info;
    slimming->facts = (skn_slim_facts_t){
        .run_id = info->run_id,
        .created = predictor->slim
                       ? predictor->slim->facts.created
                       : skn_run_folder_created(predictor->trained.place.run),
        .config = info->config,
        .batch = info->batch,
        .feature_count = info->feature_count,
    };
    slimming->made.feature_count = info->feature_count;
    skn_status_t status = skn_predictor_layers(predictor->trained.model, path,
                                               slimming->layer, error);
    if (status == SKN_OK)
        status = make_forms(slimming, error);
    if (status == SKN_OK)
        status = fit_rows(slimming, options, error);
    return status == SKN_OK
               ? skn_slim_write(path, &slimming->facts, slimming->list.part,
                                slimming->list.count, error)
               : status;
}

skn_status_t
skn_predictor_export(const skn_predictor_t *predictor, const char *path,
                     const skn_export_options_t *options,
                     skn_exported_t *exported, skn_error_t *error)
{
    static const skn_export_options_t defaults = { 0 };
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_status_t status = check_call(predictor, path, options, exported, error);
    if (status != SKN_OK)
        return status;
    slimming_t *slimming = calloc(1, sizeof(*slimming));
    if (!slimming)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for an export");
    slimming->predictor = predictor;
    status = make(slimming, path, options ? options : &defaults, error);
    if (status == SKN_OK && exported) {
        slimming->made.struct_bytes = exported->struct_bytes;
        *exported = slimming->made;
    }
    skn_slim_list_fini(&slimming->list);
    free(slimming->order);
    free(slimming->kept);
    free(slimming->words);
    free(slimming->names);
    skn_json_text_fini(&slimming->calibration);
    free(slimming);
    return status;
}
