/* plan_make.c - makes a plan from a model file and its data, with every `auto`
 * decided.
 *
 * This file determines the statistics of the data, the cores to use, and where
 * moments are stored. plan_auto*.c decide how the model is trained.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan.h"

#include <assert.h>
#include <string.h>

#include "actors/protocol/data.h"
#include "actors/protocol/split.h"
#include "formats/source/files.h"
#include "skein/points.h"
#include "topology/plan/plan_auto.h"
#include "topology/plan/plan_internal.h"

static skn_data_t
how_to_read(const skn_model_t *model, const char *preprocessing)
{
    return (skn_data_t){
        .train = model->data.train,
        .test = model->data.test,
        .preprocessing = preprocessing,
        .bad_rows = model->data.bad_rows,
        .held_back = model->data.held_back,
        .normalize =
            model->data.normalize == SKN_NORMALIZE_NONE ? "none" : "l2",
        .cache = model->data.cache,
        .memory_bytes = (uint64_t)model->data.memory_bytes,
        .features = (uint32_t)model->data.feature_count,
        .labels = (uint32_t)model->data.label_count,
    };
}

skn_status_t
skn_plan_look(const skn_model_t *model, const char *path, skn_error_t *error)
{
    skn_data_t how = how_to_read(model, "");
    skn_dataset_t *set = NULL;
    how.test = path;
    how.held_back = 0;
    if (!path[0] || model->data.format > SKN_DATA_FORMAT_AUTO)
        return SKN_OK;
    if (skn_model_is_decoder(model))
        return skn_files_check(path, error);
    skn_status_t status = skn_data_open_test(&how, NULL, &set, error);
    skn_dataset_close(&set);
    return status;
}

static void
take_notes(skn_plan_data_t *data, const skn_dataset_t *dataset,
           const char *path)
{
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    assert(data->note_count + 4 <= SKN_PLAN_NOTES_MAX);
    data->has_bad_points |= !info->has_texts && info->bad.points > 0;
    if (skn_dataset_note_bad(info, path, &data->note[data->note_count]))
        data->note_count++;
    if (skn_dataset_note_odd(info, path, &data->note[data->note_count]))
        data->note_count++;
    if (skn_dataset_note_unread(info, path, &data->note[data->note_count]))
        data->note_count++;
    if (skn_dataset_note_unknown(info, path, &data->note[data->note_count]))
        data->note_count++;
}

/* Refuses a model file that asks for fewer than the header of its training file
 * promises. Indices in the lines were checked against the header when they were
 * read. */
static skn_status_t
check_count(const char *path, uint32_t file, int64_t asked, const char *noun,
            skn_error_t *error)
{
    if (asked == 0 || file <= (uint64_t)asked)
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_CONFIG,
                   "data.%s_count is %lld, but the header of %.240s counts %u "
                   "%ss",
                   noun, (long long)asked, path, file, noun);
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "give at least %u, or correct the header", file);
}

static skn_status_t
check_counts(const skn_model_t *model, const skn_dataset_t *train,
             skn_error_t *error)
{
    const skn_dataset_info_t *info = skn_dataset_info(train);
    const skn_model_data_t *data = &model->data;
    skn_status_t status = check_count(data->train, info->own_feature_count,
                                      data->feature_count, "feature", error);
    return status != SKN_OK ? status
                            : check_count(data->train, info->own_label_count,
                                          data->label_count, "label", error);
}

static skn_status_t
read_test(skn_plan_data_t *data, const skn_data_t *how,
          const skn_dataset_t *train, skn_error_t *error)
{
    skn_dataset_t *test = NULL;
    if (!skn_data_has_test(how))
        return SKN_OK;
    skn_status_t status = skn_data_open_test(how, train, &test, error);
    if (status != SKN_OK)
        return status;
    data->test_points = skn_dataset_info(test)->point_count;
    data->mapped_bytes += skn_dataset_info(test)->mapped_bytes;
    data->content_hash = skn_data_hash(data->content_hash, test);
    if (how->test[0]) /* those of the training file were taken */
        take_notes(data, test, how->test);
    skn_dataset_close(&test);
    return SKN_OK;
}

/* The names are for predictions alone: a wrong number of them stops nothing. */
static skn_status_t
read_labels(skn_plan_data_t *data, const char *path, skn_error_t *error)
{
    if (!path[0])
        return SKN_OK;
    skn_names_t *names = skn_names_open(path, error);
    if (!names)
        return skn_fail_hint(error, error->status,
                             "data.labels is the file of the labels' names");
    if (names->count != data->labels) {
        skn_error_t *note = &data->note[data->note_count++];
        (void)skn_fail(note, SKN_BAD_DATA,
                       "%.300s has %zu names, the data has %u labels", path,
                       names->count, data->labels);
        (void)skn_fail_hint(note, SKN_BAD_DATA,
                            names->count < data->labels
                                ? "those without a name stay numbers"
                                : "names beyond the last label are not used");
    }
    skn_names_close(&names);
    return SKN_OK;
}

static skn_status_t
refuse_unlabelled(const skn_model_t *model, skn_error_t *error)
{
    skn_status_t status = skn_fail(
        error, SKN_BAD_DATA, "%s: no point has a label", model->data.train);
    return skn_fail_hint(
        error, status,
        model->data.format == SKN_DATA_FORMAT_POINTS
            ? "labels are written before the first space of a line"
        : model->data.format == SKN_DATA_FORMAT_FASTTEXT
            ? "a label is a word that begins with __label__"
            : "data.label_column names the column of labels");
}

static void
describe_train(skn_plan_data_t *data, const skn_dataset_t *train,
               const skn_split_t *split)
{
    const skn_dataset_info_t *info = skn_dataset_info(train);
    double points = (double)info->point_count;
    skn_vocabulary_form_t form;
    *data = (skn_plan_data_t){
        .vocabulary_hash = skn_dataset_vocabulary(train, &form)
                               ? skn_vocabulary_hash(&form)
                               : 0,
        .train_points = split->train_count,
        .validate_points = split->validate_count,
        .unlabelled = info->unlabelled_count,
        .featureless = info->featureless_count,
        .features = info->feature_count ? info->feature_count : 1,
        .labels = info->label_count,
        .labels_occurring = info->labels_occurring,
        .labels_per_point = (double)info->label_total / points,
        .features_per_point = (double)info->feature_total / points,
        .train_hash = info->content_hash,
        .content_hash = skn_data_hash(0, train),
        .mapped_bytes = info->mapped_bytes,
    };
}

static skn_status_t
read_data(skn_plan_t *plan, skn_model_t *model, uint32_t threads,
          skn_error_t *error)
{
    skn_plan_data_t *data = &plan->data;
    skn_dataset_t *train = NULL;
    skn_split_t split = { 0 };
    skn_status_t status = skn_plan_auto_texts(model, &plan->reasons, error);
    if (status == SKN_OK)
        status = skn_model_preprocessing(model, plan->preprocessing, error);
    if (status != SKN_OK)
        return status;
    skn_data_t how = how_to_read(model, plan->preprocessing);
    how.threads = threads;
    status = skn_data_open_train(&how, &train, error);
    if (status == SKN_OK && skn_dataset_info(train)->label_total == 0)
        status = refuse_unlabelled(model, error);
    if (status == SKN_OK)
        status = check_counts(model, train, error);
    if (status == SKN_OK)
        status = skn_split_init(&split, train, model->train.validate,
                                (uint64_t)model->train.seed, error);
    if (status != SKN_OK) {
        skn_dataset_close(&train);
        return status;
    }
    describe_train(data, train, &split);
    take_notes(data, train, model->data.train);
    skn_split_fini(&split);
    how.features = data->features;
    how.labels = data->labels;
    how.questions = model->data.questions;
    status = read_test(data, &how, train, error);
    skn_dataset_close(&train);
    return status == SKN_OK ? read_labels(data, model->data.labels, error)
                            : status;
}

static void
deal_units(skn_plan_t *plan, uint32_t unit_count)
{
    const skn_model_t *model = plan->model;
    const skn_model_cores_t *cores = skn_plan_cores(model, 0);
    plan->units = 0;
    if (model->node_count > 1) {
        plan->node_count = (uint32_t)model->node_count;
        for (uint32_t k = 0; k < plan->node_count; k++) {
            if (model->nodes[k].is_leaving)
                continue;
            plan->nodes[k].units =
                skn_model_cores_count(skn_plan_cores(model, k));
            plan->keepers = k + 1;
            plan->units += plan->nodes[k].units;
        }
        return;
    }
    plan->units = unit_count;
    if (cores->count > 0)
        plan->units = (uint32_t)cores->count;
    else if (cores->limit > 0 && cores->limit < (int64_t)unit_count)
        plan->units = (uint32_t)cores->limit;
}

/* This machine's memory; with several nodes, the memory that the file allows
 * them. */
static bool
has_room(skn_plan_t *plan, uint64_t memory_bytes)
{
    skn_plan_estimate(plan);
    return (plan->node_count > 0 || plan->memory_bytes <= memory_bytes) &&
           skn_plan_check_memory(plan, NULL) == SKN_OK;
}

/* Results do not depend on where moments are, or on what is computed twice, so
 * memory may decide. Moments go first: that takes less time. */
static void
resolve_memory(skn_plan_t *plan, skn_model_t *model, uint64_t memory_bytes)
{
    skn_model_train_t *train = &model->train;
    skn_model_optimizer_t *optimizer = &train->optimizer;
    bool fits = has_room(plan, memory_bytes);
    if (optimizer->kind == SKN_OPTIMIZER_ADAM &&
        optimizer->offload == SKN_OFFLOAD_AUTO) {
        optimizer->offload = fits ? SKN_OFFLOAD_NONE : SKN_OFFLOAD_FILE;
        skn_reasons_add(&plan->reasons, "train.optimizer.offload",
                        fits ? "moments fit into memory"
                             : "moments do not fit into memory");
        plan->offload_auto = true;
        fits = has_room(plan, memory_bytes);
    }
    if (!skn_model_is_decoder(model) || train->recompute != SKN_RECOMPUTE_AUTO)
        return;
    train->recompute = fits ? SKN_RECOMPUTE_NONE : SKN_RECOMPUTE_LAYER;
    skn_reasons_add(&plan->reasons, "train.recompute",
                    fits ? "what layers keep fits into memory"
                         : "what layers keep does not fit into memory");
    skn_plan_deal_stages(plan);
    skn_plan_estimate(plan);
}

const char *
skn_plan_offload_path(const skn_model_t *model, const char *run_path)
{
    const char *path = model->train.optimizer.offload_path;
    return path[0] ? path : run_path && run_path[0] ? run_path : ".";
}

skn_status_t
skn_plan_make(skn_plan_t *plan, skn_model_t *model, uint32_t unit_count,
              skn_error_t *error)
{
    return skn_plan_make_within(plan, model, unit_count, UINT64_MAX, error);
}

skn_status_t
skn_plan_make_within(skn_plan_t *plan, skn_model_t *model, uint32_t unit_count,
                     uint64_t memory_bytes, skn_error_t *error)
{
    memset(plan, 0, sizeof(*plan));
    bool is_decoder = skn_model_is_decoder(model);
    plan->model = model;
    plan->accumulate = 1;
    deal_units(plan, unit_count);
    const uint32_t threads =
        plan->units < unit_count ? plan->units : unit_count;
    skn_status_t status = is_decoder ? skn_plan_read_text(plan, model, error)
                                     : read_data(plan, model, threads, error);
    if (status != SKN_OK)
        return status;
    if (is_decoder)
        status = skn_plan_auto_decoder(plan, model, error);
    else
        skn_plan_auto_train(&plan->data, model, &plan->reasons);
    if (status != SKN_OK)
        return status;
    skn_plan_auto_ways(plan, model, &plan->reasons);
    /* The reader made the layers; the plan may complete them. */
    skn_model_layer_t *layers = (skn_model_layer_t *)(uintptr_t)model->layers;
    for (size_t k = 0; k < model->layer_count; k++)
        if (!is_decoder || layers[k].output)
            skn_plan_auto_layer(plan, model, &layers[k], &plan->reasons);
    skn_plan_auto_numbers(model, &layers[model->layer_count - 1],
                          &plan->reasons);
    if (!is_decoder)
        plan->batches_per_epoch = skn_split_batches(
            plan->data.train_points, (uint64_t)model->train.batch_rows);
    plan->total_batches =
        plan->batches_per_epoch * (uint64_t)model->train.epochs;
    if (model->train.max_batches > 0 &&
        (uint64_t)model->train.max_batches < plan->total_batches)
        plan->total_batches = (uint64_t)model->train.max_batches;
    if (plan->node_count > 0)
        skn_plan_deal_weights(plan);
    if (is_decoder)
        skn_plan_deal_stages(plan);
    for (size_t k = 0; k < model->layer_count; k++)
        assert(skn_plan_first(plan, k, 0) == 0 &&
               skn_plan_first(plan, k, shards_of(&layers[k])) ==
                   skn_plan_outputs(plan, k));
    resolve_memory(plan, model, memory_bytes);
    status = skn_plan_check_nodes(plan, error);
    if (status == SKN_OK)
        status = skn_plan_check_memory(plan, error);
    return status == SKN_OK && is_decoder
               ? skn_plan_check_gradients(plan, error)
               : status;
}
