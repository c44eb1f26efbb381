/* plan.c - every auto of a model file, decided.
 *
 * The numbers come from the sweeps in docs/decisions (0003 and 0018); what they
 * may depend on is the data only, never the machine (but for shards).
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan.h"

#include <math.h>
#include <string.h>

#include "actors/block.h"
#include "actors/data.h"
#include "actors/split.h"
#include "topology/plan_parts.h"

/* Up to here exact softmax costs no more than sampling would save. */
#define EXACT_LABELS_MAX 8192u
/* Negatives drawn a batch beside the labels, a point of it: with 4 and with 16
 * P@1 of wnrel is less (docs/decisions/0018-auto-again.md). */
#define UNIFORM_TIMES 8
/* Hidden slices narrower than this cost more in messages than they share. */
#define SLICE_COLUMNS_MIN 32
/* Where the width of layers and the size of batches change. */
#define FEW_POINTS 4096
#define SOME_POINTS 65536
/* Points a label, of a set whose labels are rare. */
#define RARE_POINTS 5
/* The same, where labels are hardly more than names of points. Of those, as
 * many as Adam is taken for: 6 GiB of an output layer of 512 units. */
#define SINGLE_POINTS 2.5
#define NAMES_MAX (1u << 20)
/* The same, where they are seen often enough to do without smoothing. */
#define SEVERAL_POINTS 20
/* A ranker reads features: some of them, in a point that has few of all. */
#define RANKED_FEATURES_MIN 4
#define RANKED_LABELS_MIN 1000
/* Hidden units from which products are the greater part of a batch. */
#define WIDE_UNITS 256

static skn_data_t
how_to_read(const skn_model_t *model)
{
    return (skn_data_t){
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
    const skn_data_t how = how_to_read(model);
    skn_dataset_t *set = NULL;
    skn_status_t status =
        path[0] ? skn_data_open(&how, path, "test", &set, error) : SKN_OK;
    skn_dataset_close(&set);
    return status;
}

static void
take_notes(skn_plan_data_t *data, const skn_dataset_t *dataset,
           const char *path)
{
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    if (skn_dataset_note_odd(info, path, &data->note[data->note_count]))
        data->note_count++;
    if (skn_dataset_note_unread(info, path, &data->note[data->note_count]))
        data->note_count++;
    if (skn_dataset_note_unknown(info, path, &data->note[data->note_count]))
        data->note_count++;
}

/* Whether the model file asks for fewer than the header of its training file
 * promises. Indices in the lines were compared as they were read. */
static skn_status_t
check_count(const char *path, uint32_t file, int64_t asked, const char *noun,
            skn_error_t *error)
{
    if (asked == 0 || file <= (uint64_t)asked)
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_CONFIG,
                   "data.%s_count is %lld, and %.240s has %u %ss by its header",
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
read_test(skn_plan_data_t *data, const skn_data_t *how, const char *path,
          skn_error_t *error)
{
    skn_dataset_t *test = NULL;
    if (!path[0])
        return SKN_OK;
    skn_status_t status = skn_data_open(how, path, "test", &test, error);
    if (status != SKN_OK)
        return status;
    data->test_points = skn_dataset_info(test)->point_count;
    data->mapped_bytes += skn_dataset_info(test)->mapped_bytes;
    data->content_hash = skn_data_hash(data->content_hash, test);
    take_notes(data, test, path);
    skn_dataset_close(&test);
    return SKN_OK;
}

static skn_status_t
read_data(skn_plan_t *plan, const skn_model_t *model, skn_error_t *error)
{
    skn_plan_data_t *data = &plan->data;
    skn_dataset_t *train = NULL;
    skn_split_t split = { 0 };
    skn_data_t how = how_to_read(model);
    skn_status_t status =
        skn_data_open(&how, model->data.train, "train", &train, error);
    if (status == SKN_OK && skn_dataset_info(train)->label_total == 0) {
        status = skn_fail(error, SKN_BAD_DATA, "%s: no point has a label",
                          model->data.train);
        (void)skn_fail_hint(error, status,
                            "labels stand before the first space of a line");
    }
    if (status == SKN_OK)
        status = check_counts(model, train, error);
    if (status == SKN_OK)
        status = skn_split_init(&split, train, model->train.validate,
                                (uint64_t)model->train.seed, error);
    if (status != SKN_OK) {
        skn_dataset_close(&train);
        return status;
    }
    const skn_dataset_info_t *info = skn_dataset_info(train);
    double points = (double)info->point_count;
    *data = (skn_plan_data_t){
        .train_points = split.train_count,
        .validate_points = split.validate_count,
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
    take_notes(data, train, model->data.train);
    skn_split_fini(&split);
    skn_dataset_close(&train);
    how.features = data->features;
    how.labels = data->labels;
    how.questions = model->data.questions;
    return read_test(data, &how, model->data.test, error);
}

static int64_t
clamp(double value, int64_t least, int64_t most)
{
    if (value < (double)least)
        return least;
    return value > (double)most ? most : (int64_t)(value + 0.5);
}

/* Points of the training file for each label that occurs. */
static double
points_per_label(const skn_plan_data_t *data)
{
    return data->labels_occurring
               ? (double)data->train_points * data->labels_per_point /
                     (double)data->labels_occurring
               : 1.0;
}

/* Labels that are hardly more than names of points, and many: with a negative
 * for every 85 of them, as in sets of better known labels, a point hardly ever
 * meets those that it is taken for (decision 0025). */
static bool
has_names(const skn_plan_data_t *data)
{
    return data->labels > EXACT_LABELS_MAX &&
           data->train_points >= SOME_POINTS &&
           points_per_label(data) < SINGLE_POINTS;
}

/* Many labels, of few points each. */
static bool
has_rare_labels(const skn_plan_data_t *data)
{
    return points_per_label(data) < RARE_POINTS &&
           data->labels > EXACT_LABELS_MAX;
}

/* An epoch has 64 batches at least, where that leaves 32 points to each. */
static int64_t
auto_batch_rows(const skn_plan_data_t *data)
{
    double points = (double)data->train_points;
    int64_t rows = points < SOME_POINTS               ? 256
                   : points < 4e6 && !has_names(data) ? 512
                                                      : 1024;
    while (rows > 32 && (double)rows * 64 > points)
        rows /= 2;
    return rows;
}

/* About 4 million samples in all, and 1,000 batches: what rates and widths of
 * shorter runs are measured by. */
static int64_t
usual_epochs(double points, int64_t batch_rows)
{
    int64_t epochs = clamp(4e6 / points, 3, 12);
    int64_t steps = clamp(1000.0 * (double)batch_rows / points, 1, 40);
    return epochs > steps ? epochs : steps;
}

/* Many labels with many points each have more to be learnt, and are learnt by
 * heart later: half as long again. Names of points are met among others so
 * seldom that they, too, gain from more epochs: a third. */
static int64_t
auto_epochs(const skn_plan_data_t *data, int64_t batch_rows)
{
    int64_t usual = usual_epochs((double)data->train_points, batch_rows);
    bool much = data->labels > EXACT_LABELS_MAX &&
                points_per_label(data) >= RARE_POINTS;
    return usual + (much ? usual / 2 : has_names(data) ? usual / 3 : 0);
}

double
skn_plan_usual_rate(skn_optimizer_kind_t kind)
{
    return kind == SKN_OPTIMIZER_ADAM      ? 0.004
           : kind == SKN_OPTIMIZER_ADAGRAD ? 0.05
                                           : 0.5;
}

double
skn_plan_longer_steps(double shorter)
{
    double times = pow(shorter, 0.75);
    return times < 1 ? 1 : times > 1.8 ? 1.8 : times;
}

static double
auto_rate(const skn_plan_data_t *data, const skn_model_train_t *train)
{
    double points = (double)data->train_points;
    bool faster =
        has_names(data) && train->optimizer.kind == SKN_OPTIMIZER_ADAM;
    return skn_plan_usual_rate(train->optimizer.kind) * (faster ? 1.25 : 1) *
           skn_plan_longer_steps(
               (double)usual_epochs(points, train->batch_rows) /
               (double)train->epochs);
}

static void
resolve_schedule(const skn_plan_data_t *data, skn_model_train_t *train)
{
    skn_model_schedule_t *schedule = &train->schedule;
    double batches = (double)data->train_points / (double)train->batch_rows *
                     (double)train->epochs;
    if (schedule->kind == SKN_SCHEDULE_AUTO)
        schedule->kind = SKN_SCHEDULE_COSINE;
    if (schedule->warmup_batches == SKN_AUTO &&
        schedule->kind != SKN_SCHEDULE_CONSTANT)
        schedule->warmup_batches = clamp(batches / 20, 1, 100);
}

/* Decisions 0019 and 0025. A rate without a kind is one of Adam's. */
static skn_optimizer_kind_t
auto_optimizer(const skn_plan_data_t *data, const skn_model_t *model)
{
    const skn_model_layer_t *output = &model->layers[model->layer_count - 1];
    const skn_model_train_t *train = &model->train;
    bool rounds = output->weights == SKN_WEIGHTS_BF16 &&
                  train->updates == SKN_UPDATES_LOAN;
    bool brief = 2 * train->epochs <
                 usual_epochs((double)data->train_points, train->batch_rows);
    bool few_names = has_names(data) && data->labels <= NAMES_MAX;
    /* A file for moments is asked for by who wants moments. */
    bool moments = train->optimizer.offload == SKN_OFFLOAD_FILE;
    return train->optimizer.rate < 0 && !moments &&
                   (rounds || brief || (has_rare_labels(data) && !few_names))
               ? SKN_OPTIMIZER_ADAGRAD
               : SKN_OPTIMIZER_ADAM;
}

/* Decision 0027: what a network has forgotten of a label's few points can still
 * be read off their features, if there are some of them. */
static int64_t
auto_ranker_trees(const skn_plan_data_t *data, const skn_model_t *model)
{
    const skn_model_train_t *train = &model->train;
    return train->epochs == SKN_AUTO && train->max_batches == 0 &&
                   model->node_count == 0 &&
                   model->data.normalize == SKN_NORMALIZE_L2 &&
                   data->features_per_point >= RANKED_FEATURES_MIN &&
                   data->features_per_point <= (double)data->features / 10 &&
                   data->labels >= RANKED_LABELS_MIN &&
                   data->labels <= NAMES_MAX
               ? (has_rare_labels(data) ? 2 : 1)
               : 0;
}

/* Decision 0026: what several networks that know rare labels by heart say
 * together is worth more; that of trees beside one is worth more still, and
 * costs less (0027). */
static int64_t
auto_ensemble(const skn_plan_data_t *data, const skn_model_t *model)
{
    const skn_model_train_t *train = &model->train;
    return has_rare_labels(data) && data->labels <= NAMES_MAX &&
                   train->ranker_trees == 0 && train->epochs == SKN_AUTO &&
                   train->max_batches == 0 && model->node_count == 0
               ? 3
               : 1;
}

static void
resolve_train(const skn_plan_data_t *data, skn_model_t *model)
{
    skn_model_train_t *train = &model->train;
    if (train->batch_rows == SKN_AUTO)
        train->batch_rows = auto_batch_rows(data);
    if (train->ranker_trees == SKN_AUTO) /* before the epochs are known */
        train->ranker_trees = auto_ranker_trees(data, model);
    if (train->ensemble == SKN_AUTO)
        train->ensemble = auto_ensemble(data, model);
    bool stale = train->late == SKN_LATE_STALE;
    if (train->window == SKN_AUTO)
        train->window = stale ? 4 : 2;
    if (stale && train->staleness_max == SKN_AUTO)
        train->staleness_max = 2 * train->window - 1;
    if (train->epochs == SKN_AUTO)
        train->epochs = auto_epochs(data, train->batch_rows);
    if (train->optimizer.kind == SKN_OPTIMIZER_AUTO)
        train->optimizer.kind = auto_optimizer(data, model);
    if (train->optimizer.rate < 0)
        train->optimizer.rate = auto_rate(data, train);
    resolve_schedule(data, train);
}

/* Decision 0021. Where nearly all labels have a point or two, their frequency
 * tells nothing. */
static skn_sampler_choice_t
auto_sampler(const skn_plan_data_t *data)
{
    return data->labels <= EXACT_LABELS_MAX         ? SKN_SAMPLER_EXACT
           : points_per_label(data) < SINGLE_POINTS ? SKN_SAMPLER_UNIFORM
                                                    : SKN_SAMPLER_LOG_UNIFORM;
}

/* Functions of a key of 3 bits each: no more than make 64 buckets a label. */
static int64_t
auto_dwta_bits(const skn_plan_data_t *data)
{
    int64_t bits = 6;
    while (bits > 1 && ldexp(1.0, (int)(3 * bits)) > 64.0 * data->labels)
        bits--;
    return bits;
}

/* Only what means something for the kind: the rest stays `auto`, so that the
 * resolved model is a model file that the checker takes. */
static void
resolve_sampler(const skn_plan_data_t *data, int64_t batch_rows,
                skn_model_sampler_t *sampler)
{
    if (sampler->kind == SKN_SAMPLER_AUTO)
        sampler->kind = auto_sampler(data);
    bool hashes = sampler->kind == SKN_SAMPLER_SIMHASH ||
                  sampler->kind == SKN_SAMPLER_DWTA;
    bool clusters = sampler->kind == SKN_SAMPLER_CLUSTER;
    if (sampler->rows == SKN_AUTO && sampler->kind != SKN_SAMPLER_EXACT)
        sampler->rows = (has_names(data) ? 4 : 1) * UNIFORM_TIMES * batch_rows;
    /* More than there are would be drawn for nothing. */
    if (sampler->rows > (int64_t)data->labels)
        sampler->rows = (int64_t)data->labels;
    if (sampler->tables == SKN_AUTO && hashes)
        sampler->tables = 50;
    if (sampler->bits == SKN_AUTO && hashes)
        sampler->bits =
            sampler->kind == SKN_SAMPLER_DWTA ? auto_dwta_bits(data) : 9;
    if (sampler->lists == SKN_AUTO && clusters)
        sampler->lists = 64;
    if (sampler->list_rows == SKN_AUTO && clusters)
        sampler->list_rows = clamp(2048, 1, (int64_t)data->labels);
    if (sampler->refresh_batches == SKN_AUTO && (hashes || clusters))
        sampler->refresh_batches = 50;
    if (sampler->uniform_rows == SKN_AUTO && (hashes || clusters))
        sampler->uniform_rows = clamp(1024, 1, (int64_t)data->labels);
    for (size_t k = 0; k < sampler->of_count; k++)
        resolve_sampler(data, batch_rows,
                        (skn_model_sampler_t *)(uintptr_t)&sampler->of[k]);
}

bool
skn_plan_has_index(const skn_model_sampler_t *sampler)
{
    bool index = sampler->kind == SKN_SAMPLER_SIMHASH ||
                 sampler->kind == SKN_SAMPLER_DWTA ||
                 sampler->kind == SKN_SAMPLER_CLUSTER;
    for (size_t k = 0; k < sampler->of_count; k++)
        index = index || skn_plan_has_index(&sampler->of[k]);
    return index;
}

/* Of decision 0018, which has the measurements behind all of these. */
static double
auto_smoothing(const skn_plan_data_t *data)
{
    return points_per_label(data) < SEVERAL_POINTS ? 0.4 : 0.1;
}

/* How short a run is: at most half of the usual epochs, or three quarters. */
typedef enum brevity {
    WHOLE,
    SHORTER,
    BRIEF
} brevity_t;

static brevity_t
brevity_of(const skn_plan_data_t *data, const skn_model_train_t *train)
{
    int64_t usual = usual_epochs((double)data->train_points, train->batch_rows);
    return 2 * train->epochs <= usual       ? BRIEF
           : 4 * train->epochs <= 3 * usual ? SHORTER
                                            : WHOLE;
}

/* Few points can afford a wide layer, and most of it dropped, in a run that is
 * long enough. */
static int64_t
auto_units(const skn_plan_data_t *data, brevity_t brevity)
{
    return data->train_points < FEW_POINTS || brevity == BRIEF    ? 256
           : data->train_points < SOME_POINTS && brevity == WHOLE ? 1024
                                                                  : 512;
}

static double
auto_dropout(const skn_plan_data_t *data, brevity_t brevity)
{
    if (data->train_points < FEW_POINTS)
        return 0.5;
    if (data->train_points < SOME_POINTS)
        return brevity == WHOLE ? 0.7 : brevity == SHORTER ? 0.5 : 0.3;
    double points = points_per_label(data);
    if (has_names(data))
        return 0.1;
    return points < RARE_POINTS || brevity == BRIEF ? 0.2
           : points < SEVERAL_POINTS                ? 0.1
                                                    : 0.3;
}

static void
resolve_layer(const skn_plan_t *plan, const skn_model_t *model,
              skn_model_layer_t *layer)
{
    const skn_plan_data_t *data = &plan->data;
    brevity_t brevity = brevity_of(data, &model->train);
    if (layer->output) {
        if (layer->loss == SKN_LOSS_AUTO)
            layer->loss = SKN_LOSS_SOFTMAX;
        if (layer->label_smoothing < 0 && layer->loss == SKN_LOSS_SOFTMAX)
            layer->label_smoothing = auto_smoothing(data);
        resolve_sampler(data, model->train.batch_rows, &layer->sampler);
        if (layer->index_lag == SKN_AUTO && skn_plan_has_index(&layer->sampler))
            layer->index_lag = 2 * model->train.window;
        uint64_t blocks = skn_block_count(data->labels);
        if (layer->shards == SKN_AUTO)
            layer->shards =
                plan->units < SKN_SHARD_MAX ? plan->units : SKN_SHARD_MAX;
        if ((uint64_t)layer->shards > blocks)
            layer->shards = (int64_t)blocks;
        return;
    }
    if (layer->units == SKN_AUTO)
        layer->units = auto_units(data, brevity);
    if (layer->dropout < 0)
        layer->dropout = auto_dropout(data, brevity);
    int64_t most = layer->units / SLICE_COLUMNS_MIN;
    if (layer->shards == SKN_AUTO)
        layer->shards = plan->units < most ? plan->units : most;
    most = layer->units / 8;
    if (layer->shards > most)
        layer->shards = most;
    if (layer->shards < 1)
        layer->shards = 1;
}

/* Between nodes it is bytes that cost (decision 0011); within a process it is
 * the wait. */
static void
resolve_merge(const skn_plan_t *plan, skn_model_train_t *train)
{
    if (train->merge == SKN_MERGING_AUTO)
        train->merge = train->late == SKN_LATE_STALE ||
                               (plan->node_count > 0 &&
                                train->reduction == SKN_REDUCTION_FAST)
                           ? SKN_MERGING_LATE
                           : SKN_MERGING_EARLY;
}

/* Wide layers are bound by their products. Sums of rounded factors have other
 * bits on each kind of processor. */
static void
resolve_precision(skn_model_t *model)
{
    skn_model_train_t *train = &model->train;
    bool wide = false;
    for (size_t k = 0; k + 1 < model->layer_count; k++)
        wide = wide || model->layers[k].units >= WIDE_UNITS;
    if (train->precision == SKN_PRECISION_AUTO)
        train->precision = wide && train->reduction == SKN_REDUCTION_FAST
                               ? SKN_PRECISION_BF16
                               : SKN_PRECISION_F32;
}

/* Decision 0019: rows of 2 bytes learn as those of 12 do. */
static void
resolve_weights(const skn_model_train_t *train, skn_model_layer_t *output)
{
    if (output->weights == SKN_WEIGHTS_AUTO)
        output->weights =
            train->precision == SKN_PRECISION_BF16 &&
                    train->optimizer.kind == SKN_OPTIMIZER_ADAGRAD &&
                    train->updates == SKN_UPDATES_LOAN
                ? SKN_WEIGHTS_BF16
                : SKN_WEIGHTS_F32;
}

/* What is rounded on its way differs with the number of nodes. */
static void
resolve_links(const skn_plan_t *plan, skn_model_t *model)
{
    if (plan->node_count == 0 || model->links.coding != SKN_LINK_CODING_AUTO)
        return;
    model->links.coding = model->train.reduction == SKN_REDUCTION_FIXED
                              ? SKN_LINK_CODING_F32
                              : SKN_LINK_CODING_BF16;
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
            if (model->nodes[k].leaves)
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

/* Results do not depend on it, so that what this machine has may decide; for
 * several nodes it is what the file allows them. */
static void
resolve_offload(skn_plan_t *plan, skn_model_t *model, uint64_t memory_bytes)
{
    skn_model_optimizer_t *optimizer = &model->train.optimizer;
    skn_plan_estimate(plan);
    if (optimizer->kind != SKN_OPTIMIZER_ADAM ||
        optimizer->offload != SKN_OFFLOAD_AUTO)
        return;
    bool fits = plan->node_count > 0 || plan->memory_bytes <= memory_bytes;
    fits = fits && skn_plan_check_memory(plan, NULL) == SKN_OK;
    optimizer->offload = fits ? SKN_OFFLOAD_NONE : SKN_OFFLOAD_FILE;
    plan->offload_auto = true;
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
    skn_status_t status = read_data(plan, model, error);
    if (status != SKN_OK)
        return status;
    plan->model = model;
    deal_units(plan, unit_count);
    resolve_train(&plan->data, model);
    resolve_merge(plan, &model->train);
    resolve_links(plan, model);
    /* The reader made the layers; they are ours to complete. */
    skn_model_layer_t *layers = (skn_model_layer_t *)(uintptr_t)model->layers;
    for (size_t k = 0; k < model->layer_count; k++)
        resolve_layer(plan, model, &layers[k]);
    resolve_precision(model);
    resolve_weights(&model->train, &layers[model->layer_count - 1]);
    plan->batches_per_epoch = skn_split_batches(
        plan->data.train_points, (uint64_t)model->train.batch_rows);
    plan->total_batches =
        plan->batches_per_epoch * (uint64_t)model->train.epochs;
    if (model->train.max_batches > 0 &&
        (uint64_t)model->train.max_batches < plan->total_batches)
        plan->total_batches = (uint64_t)model->train.max_batches;
    if (plan->node_count > 0)
        skn_plan_deal_weights(plan);
    resolve_offload(plan, model, memory_bytes);
    status = skn_plan_check_nodes(plan, error);
    return status == SKN_OK ? skn_plan_check_memory(plan, error) : status;
}
