/* predictor.c - loads a trained model and predicts labels for points.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/dataset/preprocessing.h"
#include "topology/run/model_run.h"
#include "topology/run/resume.h"
#include "topology/predict/calibrate.h"
#include "topology/predict/points_clean.h"
#include "topology/predict/predictor_internal.h"

skn_status_t
skn_predictor_layers(const skn_model_t *model, const char *path,
                     const char *names[SKN_NETWORK_LAYERS_MAX],
                     skn_error_t *error)
{
    if (skn_model_is_decoder(model))
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "%.200s holds a decoder of text, which ranks no labels",
                     path),
            "use `skein generate`");
    for (size_t k = 0; k < model->layer_count && k < SKN_NETWORK_LAYERS_MAX;
         k++)
        names[k] = model->layers[k].name;
    return SKN_OK;
}

static skn_status_t
load(skn_predictor_t *predictor, const char *path, skn_verify_t verify,
     skn_error_t *error)
{
    const char *names[SKN_NETWORK_LAYERS_MAX];
    skn_trained_t *trained = &predictor->trained;
    skn_status_t status = skn_trained_open(trained, path, verify, error);
    if (status == SKN_OK)
        status = skn_predictor_layers(trained->model, path, names, error);
    if (status != SKN_OK)
        return status;
    size_t count = trained->model->layer_count;
    predictor->network.softmax =
        trained->model->layers[count - 1].loss != SKN_LOSS_ONE_VS_ALL;
    return skn_network_load(&predictor->network, trained->checkpoint, names,
                            (uint32_t)count, skn_memory_available_bytes(),
                            error);
}

/* Refuses a form of a run folder that would never end, or is not there yet. */
static skn_status_t
check_file(const char *path, skn_error_t *error)
{
    struct stat facts;
    return stat(path, &facts) != 0 || S_ISREG(facts.st_mode)
               ? SKN_OK
               : skn_fail(error, SKN_BAD_DATA, "%.300s: is not a regular file",
                          path);
}

static skn_status_t
load_names(skn_predictor_t *predictor, skn_error_t *error)
{
    char path[SKN_RUN_FORM_PATH_BYTES];
    if (!skn_trained_form(&predictor->trained.place, SKN_LABELS_NAME, path))
        return SKN_OK;
    if (check_file(path, error) == SKN_OK)
        predictor->names = skn_names_open(path, error);
    return predictor->names ? SKN_OK : error->status;
}

static skn_status_t
load_vocabulary(skn_predictor_t *predictor, skn_error_t *error)
{
    char path[SKN_RUN_FORM_PATH_BYTES];
    const skn_trained_place_t *place = &predictor->trained.place;
    skn_status_t status = skn_model_preprocessing(
        predictor->trained.model, predictor->preprocessing, error);
    if (status != SKN_OK || !predictor->preprocessing[0])
        return status;
    if (!skn_trained_form(place, SKN_VOCABULARY_NAME, path)) {
        (void)skn_fail(error, SKN_NO_INPUT, "%.300s: there is no vocabulary",
                       skn_run_folder_path(place->run));
        return skn_fail_hint(
            error, SKN_NO_INPUT,
            "a model of texts needs the file " SKN_VOCABULARY_NAME
            " of its run folder");
    }
    if (check_file(path, error) == SKN_OK)
        predictor->vocabulary = skn_vocabulary_open(path, error);
    return predictor->vocabulary
               ? skn_predictor_check_words(predictor, path, error)
               : error->status;
}

/* The file of names of a model of texts says what its vocabulary does, unless
 * the config names another file. */
static skn_status_t
check_names(const skn_predictor_t *predictor, skn_error_t *error)
{
    const skn_names_t *names = predictor->names;
    const skn_model_t *model = predictor->trained.model;
    if (!predictor->vocabulary || model->data.labels[0])
        return SKN_OK;
    const skn_strings_t *known = &predictor->vocabulary->names;
    bool is_same = names && names->count == known->count;
    for (uint32_t k = 0; is_same && k < known->count; k++) {
        size_t bytes;
        const char *name = skn_strings_at(known, k, &bytes);
        is_same = strlen(names->name[k]) == bytes &&
                  memcmp(names->name[k], name, bytes) == 0;
    }
    if (is_same)
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%.300s: the file " SKN_LABELS_NAME
                   " has other names than the vocabulary",
                   skn_run_folder_path(predictor->trained.place.run));
    return skn_fail_hint(error, SKN_BAD_DATA, "put that of its run back");
}

/* Whether the vocabulary was made of columns as the config has them. */
static bool
has_same_columns(const skn_predictor_t *predictor)
{
    const skn_feature_options_t *made =
        skn_featurizer_options(predictor->vocabulary->featurizer);
    skn_preprocessing_t how;
    json_t *owner;
    if (skn_preprocessing_read(predictor->preprocessing, &how, &owner, NULL) !=
        SKN_OK)
        return false;
    const skn_feature_options_t wanted = skn_preprocessing_features(&how);
    json_decref(owner);
    return made->category_count == wanted.category_count &&
           made->number_count == wanted.number_count;
}

skn_status_t
skn_predictor_check_words(const skn_predictor_t *predictor, const char *path,
                          skn_error_t *error)
{
    const skn_network_t *network = &predictor->network;
    /* An exported file has no run beside it. */
    const skn_run_folder_t *run = predictor->trained.place.run;
    if ((!run ||
         skn_resume_is_same(skn_run_folder_config(run), SKN_RESUME_VOCABULARY,
                            predictor->vocabulary->hash)) &&
        skn_featurizer_count(predictor->vocabulary->featurizer) <=
            network->feature_count &&
        predictor->vocabulary->names.count <=
            network->units[network->layer_count - 1] &&
        has_same_columns(predictor))
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%.300s: is the vocabulary of another model", path);
    return skn_fail_hint(error, SKN_BAD_DATA, "put that of its run back");
}

static void
drop_memory(skn_points_clean_t *clean)
{
    if (clean)
        skn_points_clean_fini(clean);
    free(clean);
}

/* The memory of an earlier call, which has returned, or new memory; NULL if
 * there is none. Without a lock, since a child made by fork() may predict,
 * too. */
static skn_points_clean_t *
take_memory(skn_predictor_kept_t *kept)
{
    for (size_t k = 0; k < SKN_PREDICTOR_KEPT_MAX; k++) {
        skn_points_clean_t *clean = atomic_exchange(&kept->clean[k], NULL);
        if (clean)
            return clean;
    }
    return calloc(1, sizeof(skn_points_clean_t));
}

static void
keep_memory(skn_predictor_kept_t *kept, skn_points_clean_t *clean)
{
    for (size_t k = 0; k < SKN_PREDICTOR_KEPT_MAX; k++) {
        skn_points_clean_t *none = NULL;
        if (atomic_compare_exchange_strong(&kept->clean[k], &none, clean))
            return;
    }
    drop_memory(clean);
}

static void
unload(skn_predictor_t *predictor)
{
    skn_network_fini(&predictor->network);
    skn_trained_close(&predictor->trained);
}

static skn_status_t
load_run(skn_predictor_t *predictor, const char *path, skn_error_t *error)
{
    skn_status_t status = load(predictor, path, SKN_VERIFY_LAZY, error);
    if (skn_trained_may_be_older(&predictor->trained, status)) {
        unload(predictor);
        status = load(predictor, path, SKN_VERIFY_ALL, error);
    }
    if (status == SKN_OK)
        status = load_names(predictor, error);
    if (status == SKN_OK)
        status = skn_calibration_load(&predictor->trained,
                                      &predictor->calibration, error);
    if (status == SKN_OK)
        status = load_vocabulary(predictor, error);
    return status == SKN_OK ? check_names(predictor, error) : status;
}

static void
describe(skn_predictor_t *predictor)
{
    const skn_trained_t *trained = &predictor->trained;
    const skn_network_t *network = &predictor->network;
    const skn_slim_t *slim = predictor->slim;
    predictor->info = (skn_predictor_info_t){
        .struct_bytes = sizeof(skn_predictor_info_t),
        .path = slim ? slim->path : skn_checkpoint_path(trained->checkpoint),
        .run_id = slim ? slim->facts.run_id
                       : skn_checkpoint_run_id(trained->checkpoint),
        .warning = trained->warning,
        .config = slim ? slim->facts.config
                       : skn_run_folder_config(trained->place.run),
        .batch = slim ? slim->facts.batch
                      : skn_checkpoint_batch(trained->checkpoint),
        .feature_count = network->feature_count,
        .label_count = network->units[network->layer_count - 1],
        .layer_count = network->layer_count,
        .parameter_count = network->parameter_count,
        .softmax = network->softmax,
        .normalizes = trained->model->data.normalize == SKN_NORMALIZE_L2,
        .ranker_weights = network->ranker.weight_count,
        .label_name_count = predictor->names ? predictor->names->count : 0,
        .texts = predictor->vocabulary != NULL,
        .calibrated = predictor->calibration.points > 0,
    };
}

skn_predictor_t *
skn_predictor_open(const char *path, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (!path || !path[0]) {
        (void)skn_fail(error, SKN_USAGE, "the path of the model is missing");
        return NULL;
    }
    skn_predictor_t *predictor = calloc(1, sizeof(*predictor));
    skn_predictor_kept_t *kept = calloc(1, sizeof(*kept));
    if (!predictor || !kept) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a predictor");
        free(predictor);
        free(kept);
        return NULL;
    }
    predictor->kept = kept;
    atomic_init(&predictor->references, 1);
    skn_status_t status = skn_slim_is(path)
                              ? skn_predictor_load_slim(predictor, path, error)
                              : load_run(predictor, path, error);
    if (status == SKN_OK)
        describe(predictor);
    else
        skn_predictor_close(&predictor);
    return predictor;
}

skn_predictor_t *
skn_predictor_share(skn_predictor_t *predictor)
{
    (void)atomic_fetch_add_explicit(&predictor->references, 1,
                                    memory_order_relaxed);
    return predictor;
}

void
skn_predictor_close(skn_predictor_t **predictor)
{
    skn_predictor_t *own = predictor ? *predictor : NULL;
    if (!own)
        return;
    *predictor = NULL;
    /* Reads by other threads come before it is freed. */
    if (atomic_fetch_sub_explicit(&own->references, 1, memory_order_acq_rel) >
        1)
        return;
    unload(own);
    skn_slim_close(&own->slim);
    skn_names_close(&own->names);
    skn_vocabulary_destroy(&own->vocabulary);
    for (size_t k = 0; k < SKN_PREDICTOR_KEPT_MAX; k++)
        drop_memory(atomic_load(&own->kept->clean[k]));
    free(own->kept);
    free(own);
}

skn_status_t
skn_predictor_index(skn_predictor_t *predictor, uint32_t lists, uint32_t probes,
                    skn_error_t *error)
{
    if (!predictor)
        return skn_fail(error, SKN_USAGE, "the predictor is NULL");
    skn_network_t *network = &predictor->network;
    skn_status_t status = skn_network_index(network, lists, probes, error);
    predictor->info.index_lists = network->shortlist.list_count;
    predictor->info.index_probes = network->shortlist.probes;
    return status;
}

void
skn_predictor_strict(skn_predictor_t *predictor, bool strict)
{
    if (predictor)
        predictor->strict = strict;
}

skn_data_t
skn_predictor_data(const skn_predictor_t *predictor)
{
    const skn_model_data_t *data = &predictor->trained.model->data;
    return (skn_data_t){
        .train = data->train,
        .test = data->test,
        .preprocessing = predictor->preprocessing,
        .bad_rows = data->bad_rows,
        .held_back = data->held_back,
        .vocabulary = predictor->vocabulary,
        .normalize = data->normalize == SKN_NORMALIZE_NONE ? "none" : "l2",
        .cache = data->cache,
        .memory_bytes = (uint64_t)data->memory_bytes,
        .features = predictor->info.feature_count,
        .labels = predictor->info.label_count,
    };
}

const skn_predictor_info_t *
skn_predictor_info(const skn_predictor_t *predictor)
{
    return predictor ? &predictor->info : NULL;
}

const char *
skn_predictor_label(const skn_predictor_t *predictor, uint32_t label)
{
    const skn_names_t *names = predictor ? predictor->names : NULL;
    return names && label < names->count && label < predictor->info.label_count
               ? names->name[label]
               : "";
}

/* Refuses a call that cannot be answered at all. */
static skn_status_t
check_call(const skn_predictor_t *predictor, const skn_points_t *points,
           uint32_t k, const uint32_t *label, const float *score,
           skn_error_t *error)
{
    if (!predictor || !points)
        return skn_fail(error, SKN_USAGE, "the %s is NULL",
                        predictor ? "points" : "predictor");
    if (k < 1 || k > SKN_PREDICTOR_LABELS_MAX)
        return skn_fail(error, SKN_USAGE,
                        "%u labels per point were requested, 1 to %u allowed",
                        k, SKN_PREDICTOR_LABELS_MAX);
    if (points->count > 0 && (!label || !score))
        return skn_fail(error, SKN_USAGE, "the array for %s is NULL",
                        label ? "scores" : "labels");
    return SKN_OK;
}

/* The answer for a refused point. */
static void
blank(uint32_t *label, float *score, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        label[r] = UINT32_MAX;
        score[r] = NAN;
    }
}

static void
calibrate(const skn_predictor_t *predictor, const uint32_t *label, float *score,
          size_t count)
{
    size_t found = 0;
    while (found < count && label[found] != UINT32_MAX)
        found++;
    skn_calibration_apply(&predictor->calibration, score, found);
}

/* Answers points [first, first + count), at most SKN_NETWORK_POINTS_MAX. */
static skn_status_t
best_part(const skn_predictor_t *predictor, skn_points_clean_t *clean,
          const skn_points_t *points, size_t first, size_t count, uint32_t k,
          uint32_t *label, float *score, skn_error_t *error)
{
    skn_status_t status = skn_points_clean(clean, points, first, count, error);
    if (status != SKN_OK)
        return status;
    skn_points_t part = skn_point_rows_points(&clean->rows, count);
    status = skn_network_best(&predictor->network, &clean->rows.pass, &part, k,
                              label, score, error);
    for (size_t i = 0; i < count && status == SKN_OK; i++) {
        if (clean->refused[i])
            blank(label + i * k, score + i * k, k);
        else if (isnan(score[i * k]) && (clean->refusal.status == SKN_OK ||
                                         first + i < clean->refused_first)) {
            (void)skn_fail(&clean->refusal, SKN_BAD_DATA,
                           "point %zu: its logits are not finite", first + i);
            clean->refused_first = first + i;
        }
        calibrate(predictor, label + i * k, score + i * k, k);
    }
    return status;
}

skn_status_t
skn_predictor_best(const skn_predictor_t *predictor, const skn_points_t *points,
                   uint32_t k, uint32_t *label, float *score,
                   skn_error_t *error)
{
    skn_status_t status = check_call(predictor, points, k, label, score, error);
    if (status != SKN_OK)
        return status;
    status = skn_points_check(points, error);
    if (status != SKN_OK) {
        blank(label, score, points->count * k);
        return status;
    }
    skn_points_clean_t *clean = take_memory(predictor->kept);
    if (!clean)
        return skn_fail(error, SKN_NO_MEMORY, "no memory to check points");
    clean->feature_count = predictor->info.feature_count;
    clean->strict = predictor->strict;
    clean->normalize = predictor->info.normalizes;
    clean->refusal = (skn_error_t){ 0 };
    for (size_t first = 0; first < points->count && status == SKN_OK;
         first += SKN_NETWORK_POINTS_MAX) {
        size_t count = points->count - first;
        if (count > SKN_NETWORK_POINTS_MAX)
            count = SKN_NETWORK_POINTS_MAX;
        status = best_part(predictor, clean, points, first, count, k,
                           label + first * k, score + first * k, error);
    }
    if (status == SKN_OK && clean->refusal.status != SKN_OK) {
        status = clean->refusal.status;
        if (error)
            *error = clean->refusal;
    }
    keep_memory(predictor->kept, clean);
    return status;
}

uint64_t
skn_predictor_unknown(const skn_predictor_t *predictor,
                      const skn_points_t *points, size_t *point,
                      uint32_t *feature)
{
    uint64_t count = 0;
    if (!predictor || !points || skn_points_check(points, NULL) != SKN_OK)
        return 0;
    for (size_t i = 0; i < points->count; i++)
        for (size_t k = points->offset[i]; k < points->offset[i + 1]; k++) {
            if (points->feature[k] < predictor->info.feature_count)
                continue;
            if (count == 0 && point)
                *point = i;
            if (count++ == 0 && feature)
                *feature = points->feature[k];
        }
    return count;
}
