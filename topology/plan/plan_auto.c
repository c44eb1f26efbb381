/* plan_auto.c - resolves every `auto` of a model file that changes the
 * training.
 *
 * The numbers come from the sweeps in docs/decisions (0003 and 0018). They may
 * depend on the data only, never on the machine (except for shards). Each
 * choice records its reason in the branch that makes it (reasons.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_auto.h"

#include <math.h>
#include <stdio.h>

#include "actors/protocol/block.h"

/* Up to this many labels, exact softmax costs no more than sampling would
 * save. */
#define EXACT_SOFTMAX_LABELS_MAX 8192u
/* Negatives drawn for a batch besides the labels, as a multiple of its points:
 * with 4 and with 16, P@1 of wnrel is less
 * (docs/decisions/0018-auto-again.md). */
#define UNIFORM_TIMES 8
/* Hidden slices narrower than this cost more in messages than they share. */
#define SLICE_COLUMNS_MIN 32
/* Numbers of points at which the width of layers and the size of batches
 * change. */
#define FEW_POINTS 4096
#define SOME_POINTS 65536
#define MANY_POINTS 4e6
/* Below this many points a label, labels are rare. */
#define RARE_POINTS 5
/* Below this many points a label, labels are hardly more than names of points.
 * Adam is chosen for at most NAMES_MAX of them: 6 GiB of an output layer of 512
 * units. */
#define SINGLE_POINTS 2.5
#define NAMES_MAX (1u << 20)
/* From this many points a label, training does without smoothing. */
#define SEVERAL_POINTS 20
/* A ranker needs points with some features each, out of many more. */
#define RANKED_FEATURES_MIN 4
#define RANKED_LABELS_MIN 1000
/* `train.patience` where points are held back: one epoch without progress is
 * noise, two a coincidence. */
#define PATIENCE 3

/* --- what the data are like ----------------------------------------------- */

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

/* Whether there are many labels that are hardly more than names of points. With
 * a negative for every 85 of them, as in sets whose labels have more points, a
 * point hardly ever meets the labels that it is mistaken for (decision
 * 0025). */
static bool
has_names(const skn_plan_data_t *data)
{
    return data->labels > EXACT_SOFTMAX_LABELS_MAX &&
           data->train_points >= SOME_POINTS &&
           points_per_label(data) < SINGLE_POINTS;
}

/* Whether there are many labels with few points each. */
static bool
has_rare_labels(const skn_plan_data_t *data)
{
    return points_per_label(data) < RARE_POINTS &&
           data->labels > EXACT_SOFTMAX_LABELS_MAX;
}

/* "29,515 training points are fewer than 65,536" */
static void
why_points(skn_why_t why, const skn_plan_data_t *data, const char *what)
{
    skn_count_text_t points;
    skn_why(why, "%s training points are %s",
            skn_count_text(data->train_points, points), what);
}

/* "labels have 2.9 points each, fewer than 5" */
static void
why_labels(skn_why_t why, const skn_plan_data_t *data, const char *what)
{
    skn_why(why, "labels have %.1f points each, %s", points_per_label(data),
            what);
}

/* --- how long, and by what steps ------------------------------------------ */

/* An epoch has at least 64 batches, if each then has 32 points or more. */
static int64_t
auto_batch_rows(const skn_plan_data_t *data, skn_why_t why)
{
    double points = (double)data->train_points;
    int64_t rows = 512;
    if (points < SOME_POINTS) {
        rows = 256;
        why_points(why, data, "fewer than 65,536");
    } else if (points >= MANY_POINTS) {
        rows = 1024;
        why_points(why, data, "4 million or more");
    } else if (has_names(data)) {
        rows = 1024;
        why_labels(why, data, "and nearly identify their points");
    } else {
        why_points(why, data, "65,536 or more, and fewer than 4 million");
    }
    bool halved = false;
    while (rows > 32 && (double)rows * 64 > points) {
        rows /= 2;
        halved = true;
    }
    if (halved) {
        skn_count_text_t text;
        skn_why(why,
                "an epoch of %s points is to have 64 batches, of 32 at "
                "least",
                skn_count_text(data->train_points, text));
    }
    return rows;
}

/* About 4 million samples in all, and 1,000 batches: rates and widths of
 * shorter runs are scaled from this. */
static int64_t
usual_epochs(double points, int64_t batch_rows)
{
    int64_t epochs = clamp(4e6 / points, 3, 12);
    int64_t steps = clamp(1000.0 * (double)batch_rows / points, 1, 40);
    return epochs > steps ? epochs : steps;
}

/* Names the bound that decided, and which of its ends. */
static void
why_usual(skn_why_t why, double points, int64_t batch_rows)
{
    int64_t usual = usual_epochs(points, batch_rows);
    double epochs = 4e6 / points;
    bool by_batches = usual > clamp(epochs, 3, 12);
    skn_why(why, "%s",
            by_batches && usual == 40
                ? "at most 40; 1,000 batches would take more"
            : by_batches  ? "they make 1,000 batches"
            : epochs > 12 ? "at most 12; 4 million samples would take more"
            : epochs < 3  ? "at least, though they are over 4 million samples"
                          : "they make about 4 million samples");
}

/* Many labels with many points each take longer to learn, and are overfitted
 * later: half as many epochs again. Labels that are names of points are seldom
 * drawn among so many that they, too, gain from more epochs: a third. */
static int64_t
auto_epochs(const skn_plan_data_t *data, int64_t batch_rows, skn_why_t why)
{
    double points = (double)data->train_points;
    int64_t usual = usual_epochs(points, batch_rows);
    if (data->labels > EXACT_SOFTMAX_LABELS_MAX &&
        points_per_label(data) >= RARE_POINTS) {
        skn_why(why,
                "the usual %d, and half as many again for labels of %.1f "
                "points each",
                (int)usual, points_per_label(data));
        return usual + usual / 2;
    }
    if (has_names(data)) {
        skn_why(why,
                "the usual %d, and a third more for labels that nearly "
                "identify their points",
                (int)usual);
        return usual + usual / 3;
    }
    why_usual(why, points, batch_rows);
    return usual;
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

/* Rounds a product, whose last bit may differ, to a decimal fraction of twelve
 * digits: the report then shows 0.09, and a file with that value gives this
 * same run. */
static double
round_rate(double rate)
{
    double scale = pow(10.0, 12.0 - ceil(log10(rate)));
    double rounded = round(rate * scale) / scale;
    return fabs(rounded - rate) < 1e-15 * rate ? rounded : rate;
}

static double
auto_rate(const skn_plan_data_t *data, const skn_model_train_t *train,
          skn_why_t why)
{
    skn_optimizer_kind_t kind = train->optimizer.kind;
    const char *name = kind == SKN_OPTIMIZER_ADAM      ? "adam"
                       : kind == SKN_OPTIMIZER_ADAGRAD ? "adagrad"
                                                       : "sgd";
    int64_t usual = usual_epochs((double)data->train_points, train->batch_rows);
    double rate = skn_plan_usual_rate(kind), given = rate;
    double times = skn_plan_longer_steps((double)usual / (double)train->epochs);
    bool faster = has_names(data) && kind == SKN_OPTIMIZER_ADAM;
    if (faster)
        rate *= 1.25;
    rate *= times;
    if (times > 1)
        skn_why(why, "%s's usual %g%s, times %.2g: %d epoch%s in place of %d",
                name, given,
                faster ? ", times 1.25 for labels that nearly identify points"
                       : "",
                times, (int)train->epochs, train->epochs == 1 ? "" : "s",
                (int)usual);
    else if (faster)
        skn_why(why,
                "%s's usual %g, times 1.25 for labels that nearly identify "
                "points",
                name, given);
    else
        skn_why(why, "Skein's default for %s", name);
    return round_rate(rate);
}

/* Decisions 0019 and 0025. A rate without a kind is taken as Adam's. */
static skn_optimizer_kind_t
auto_optimizer(const skn_plan_data_t *data, const skn_model_t *model,
               skn_why_t why)
{
    const skn_model_layer_t *output = &model->layers[model->layer_count - 1];
    const skn_model_train_t *train = &model->train;
    int64_t usual = usual_epochs((double)data->train_points, train->batch_rows);
    if (train->optimizer.rate >= 0) {
        skn_why(why, "a rate without a kind is taken as one for adam");
        return SKN_OPTIMIZER_ADAM;
    }
    /* `offload: file` implies an optimizer with moments. */
    if (train->optimizer.offload == SKN_OFFLOAD_FILE) {
        skn_why(why, "only adam has moments to offload");
        return SKN_OPTIMIZER_ADAM;
    }
    if (output->weights == SKN_WEIGHTS_BF16 &&
        train->updates == SKN_UPDATES_LOAN) {
        skn_why(why, "bf16 rows without a copy have no room for moments");
        return SKN_OPTIMIZER_ADAGRAD;
    }
    if (2 * train->epochs < usual) {
        skn_why(why, "%d epoch%s %s fewer than half of the usual %d",
                (int)train->epochs, train->epochs == 1 ? "" : "s",
                train->epochs == 1 ? "is" : "are", (int)usual);
        return SKN_OPTIMIZER_ADAGRAD;
    }
    if (has_rare_labels(data) &&
        !(has_names(data) && data->labels <= NAMES_MAX)) {
        why_labels(why, data, "fewer than 5");
        return SKN_OPTIMIZER_ADAGRAD;
    }
    if (has_rare_labels(data))
        skn_why(why, "labels nearly identify their points, and are at most "
                     "1,048,576");
    else
        skn_why(why, "labels are not rare, and the run is long enough");
    return SKN_OPTIMIZER_ADAM;
}

static void
resolve_schedule(const skn_plan_data_t *data, skn_model_train_t *train,
                 skn_reasons_t *reasons)
{
    skn_model_schedule_t *schedule = &train->schedule;
    skn_why_t why;
    double batches = (double)data->train_points / (double)train->batch_rows *
                     (double)train->epochs;
    if (schedule->kind == SKN_SCHEDULE_AUTO) {
        schedule->kind = SKN_SCHEDULE_COSINE;
        skn_reasons_add(reasons, "train.schedule.kind",
                        "the default: a rate that falls to zero");
    }
    if (schedule->warmup_batches != SKN_AUTO ||
        schedule->kind == SKN_SCHEDULE_CONSTANT)
        return;
    schedule->warmup_batches = clamp(batches / 20, 1, 100);
    if (batches / 20 > 100)
        skn_why(why, "at most 100; a twentieth of the batches is more");
    else
        skn_why(why, "a twentieth of %.0f batches", batches);
    skn_reasons_add(reasons, "train.schedule.warmup_batches", why);
}

/* --- how many ------------------------------------------------------------- */

/* Whether the file sets a key that restricts the run to one network without a
 * ranker; `why` names the key. */
static bool
is_restricted(const skn_model_t *model, skn_why_t why)
{
    const char *given = model->train.epochs != SKN_AUTO ? "train.epochs is"
                        : model->train.max_batches != 0 ? "train.max_batches is"
                        : model->node_count != 0        ? "nodes are"
                                                        : NULL;
    if (given)
        skn_why(why, "%s set, so that one network is trained, without a ranker",
                given);
    return given != NULL;
}

/* Decision 0027: the features of a label's few points still identify it where a
 * network has forgotten them, if the points have some features each. */
static int64_t
auto_ranker_trees(const skn_plan_data_t *data, const skn_model_t *model,
                  skn_why_t why)
{
    double features = data->features_per_point;
    skn_count_text_t text;
    if (is_restricted(model, why))
        return 0;
    if (model->data.normalize != SKN_NORMALIZE_L2)
        skn_why(why, "a ranker needs points of length 1 (data.normalize)");
    else if (features < RANKED_FEATURES_MIN)
        skn_why(why, "a point has %.1f features, fewer than 4", features);
    else if (features > (double)data->features / 10)
        skn_why(why, "a point has %.0f of %u features, more than a tenth",
                features, data->features);
    else if (data->labels < RANKED_LABELS_MIN)
        skn_why(why, "%u labels are fewer than 1,000", data->labels);
    else if (data->labels > NAMES_MAX)
        skn_why(why, "%s labels are more than 1,048,576",
                skn_count_text(data->labels, text));
    else if (has_rare_labels(data)) {
        why_labels(why, data, "fewer than 5");
        return 2;
    } else {
        skn_why(why,
                "%s labels and %.0f features per point are enough for a ranker",
                skn_count_text(data->labels, text), features);
        return 1;
    }
    return 0;
}

/* Decision 0026: several networks that overfit rare labels are worth more
 * together; trees beside one network are worth more still, and cost less
 * (0027). */
static int64_t
auto_ensemble(const skn_plan_data_t *data, const skn_model_t *model,
              skn_why_t why)
{
    if (is_restricted(model, why))
        return 1;
    if (model->train.ranker_trees > 0)
        skn_why(why, "a ranker gains more than further networks would");
    else if (!has_rare_labels(data))
        skn_why(why, "labels are not rare: more networks add little");
    else if (data->labels > NAMES_MAX)
        skn_why(why, "there are more than 1,048,576 labels");
    else {
        why_labels(why, data,
                   "fewer than 5: three networks rank better than "
                   "one");
        return 3;
    }
    return 1;
}

/* --- the training --------------------------------------------------------- */

static void
resolve_window(skn_model_train_t *train, skn_reasons_t *reasons)
{
    if (train->window == SKN_AUTO) {
        train->window = 2;
        skn_reasons_add(reasons, "train.window", "the default");
    }
    if (train->patience == SKN_AUTO) {
        train->patience = train->validate > 0.0 ? PATIENCE : 0;
        skn_reasons_add(reasons, "train.patience",
                        train->validate > 0.0
                            ? "the default where points are held back"
                            : "no points are held back");
    }
}

void
skn_plan_auto_train(const skn_plan_data_t *data, skn_model_t *model,
                    skn_reasons_t *reasons)
{
    skn_model_train_t *train = &model->train;
    skn_why_t why;
    if (train->batch_rows == SKN_AUTO) {
        train->batch_rows = auto_batch_rows(data, why);
        skn_reasons_add(reasons, "train.batch_rows", why);
    }
    if (train->ranker_trees == SKN_AUTO) { /* before the epochs are known */
        train->ranker_trees = auto_ranker_trees(data, model, why);
        skn_reasons_add(reasons, "train.ranker_trees", why);
    }
    if (train->ensemble == SKN_AUTO) {
        train->ensemble = auto_ensemble(data, model, why);
        skn_reasons_add(reasons, "train.ensemble", why);
    }
    resolve_window(train, reasons);
    if (train->epochs == SKN_AUTO) {
        train->epochs = auto_epochs(data, train->batch_rows, why);
        skn_reasons_add(reasons, "train.epochs", why);
    }
    if (train->optimizer.kind == SKN_OPTIMIZER_AUTO) {
        train->optimizer.kind = auto_optimizer(data, model, why);
        skn_reasons_add(reasons, "train.optimizer.kind", why);
    }
    if (train->optimizer.rate < 0) {
        train->optimizer.rate = auto_rate(data, train, why);
        skn_reasons_add(reasons, "train.optimizer.rate", why);
    }
    resolve_schedule(data, train, reasons);
}

/* --- samplers ------------------------------------------------------------- */

/* Decision 0021. Where nearly all labels have a point or two, their frequency
 * has no information. */
static skn_sampler_choice_t
auto_sampler(const skn_plan_data_t *data, skn_why_t why)
{
    skn_count_text_t labels;
    if (data->labels <= EXACT_SOFTMAX_LABELS_MAX) {
        skn_why(why, "%s labels are no more than 8,192",
                skn_count_text(data->labels, labels));
        return SKN_SAMPLER_EXACT;
    }
    if (points_per_label(data) < SINGLE_POINTS) {
        why_labels(why, data, "and their frequencies say little");
        return SKN_SAMPLER_UNIFORM;
    }
    skn_why(why, "%s labels are more than 8,192, of %.1f points each",
            skn_count_text(data->labels, labels), points_per_label(data));
    return SKN_SAMPLER_LOG_UNIFORM;
}

/* Hash functions of a key, 3 bits each: no more than make 64 buckets a
 * label. */
static int64_t
auto_dwta_bits(const skn_plan_data_t *data)
{
    int64_t bits = 6;
    while (bits > 1 && ldexp(1.0, (int)(3 * bits)) > 64.0 * data->labels)
        bits--;
    return bits;
}

/* Bytes of the part before a key; the key itself has the rest. */
#define PART_BYTES (SKN_REASON_KEY_BYTES - 32u)

/* The part of the model being resolved: where its keys and reasons go. */
typedef struct deal {
    skn_reasons_t *reasons;
    const char *path; /* "model.layers.output" */
} deal_t;

static void
note(const deal_t *part, const char *key, const char *why)
{
    char whole[SKN_REASON_KEY_BYTES];
    (void)snprintf(whole, sizeof(whole), "%s.%s", part->path, key);
    skn_reasons_add(part->reasons, whole, why);
}

/* Sets a number that is `auto`; returns whether it was. */
static bool
decide(const deal_t *part, const char *key, int64_t *value, int64_t chosen,
       const char *why)
{
    if (*value != SKN_AUTO)
        return false;
    *value = chosen;
    note(part, key, why);
    return true;
}

static void
resolve_rows(const skn_plan_data_t *data, int64_t batch_rows,
             skn_model_sampler_t *sampler, const deal_t *part)
{
    bool decided = false;
    if (sampler->kind != SKN_SAMPLER_EXACT)
        decided =
            decide(part, "rows", &sampler->rows,
                   (has_names(data) ? 4 : 1) * UNIFORM_TIMES * batch_rows,
                   has_names(data) ? "32 per point of a batch, for labels that "
                                     "nearly identify points"
                                   : "8 per point of a batch");
    if (sampler->rows <= (int64_t)data->labels)
        return;
    /* Draws beyond the number of labels would be wasted. */
    sampler->rows = (int64_t)data->labels;
    if (decided)
        note(part, "rows", "all labels");
}

/* Resolves only options that have a meaning for the kind: the rest stay `auto`,
 * so that the checker accepts the resolved model as a model file. */
static void
resolve_sampler(const skn_plan_data_t *data, int64_t batch_rows,
                skn_model_sampler_t *sampler, const deal_t *part)
{
    skn_why_t why;
    if (sampler->kind == SKN_SAMPLER_AUTO) {
        sampler->kind = auto_sampler(data, why);
        note(part, "kind", why);
    }
    bool dwta = sampler->kind == SKN_SAMPLER_DWTA;
    bool has_hashes = sampler->kind == SKN_SAMPLER_SIMHASH || dwta;
    resolve_rows(data, batch_rows, sampler, part);
    if (has_hashes) {
        (void)decide(part, "tables", &sampler->tables, 50, "the default");
        (void)decide(part, "bits", &sampler->bits,
                     dwta ? auto_dwta_bits(data) : 9,
                     dwta ? "at most 64 buckets per label" : "the default");
        (void)decide(part, "refresh_batches", &sampler->refresh_batches, 50,
                     "the default");
        (void)decide(part, "uniform_rows", &sampler->uniform_rows,
                     clamp(1024, 1, (int64_t)data->labels),
                     "1,024, or all labels");
    }
}

bool
skn_plan_has_index(const skn_model_sampler_t *sampler)
{
    return sampler->kind == SKN_SAMPLER_SIMHASH ||
           sampler->kind == SKN_SAMPLER_DWTA;
}

/* --- layers --------------------------------------------------------------- */

/* Decision 0018 has the measurements behind all of these. */
static double
auto_smoothing(const skn_plan_data_t *data, skn_why_t why)
{
    if (points_per_label(data) < SEVERAL_POINTS) {
        why_labels(why, data, "fewer than 20");
        return 0.4;
    }
    why_labels(why, data, "20 or more");
    return 0.1;
}

/* The length of a run: BRIEF is at most half of the usual epochs, SHORTER three
 * quarters. */
typedef enum brevity {
    WHOLE_DATA,
    SHORTER,
    BRIEF
} brevity_t;

static brevity_t
brevity_of(const skn_plan_data_t *data, const skn_model_train_t *train)
{
    int64_t usual = usual_epochs((double)data->train_points, train->batch_rows);
    return 2 * train->epochs <= usual       ? BRIEF
           : 4 * train->epochs <= 3 * usual ? SHORTER
                                            : WHOLE_DATA;
}

/* "6 epochs are too few for 1,024" */
static void
why_brief(skn_why_t why, const skn_model_train_t *train, const char *of_what)
{
    skn_why(why, "%d epoch%s too few for %s", (int)train->epochs,
            train->epochs == 1 ? " is" : "s are", of_what);
}

/* With few points, a wide layer is affordable, with most of it dropped, in a
 * run that is long enough. */
static int64_t
auto_units(const skn_plan_data_t *data, const skn_model_train_t *train,
           skn_why_t why)
{
    brevity_t brevity = brevity_of(data, train);
    bool some = data->train_points < SOME_POINTS;
    if (data->train_points < FEW_POINTS) {
        why_points(why, data, "fewer than 4,096");
        return 256;
    }
    if (brevity == BRIEF) {
        why_brief(why, train, some ? "1,024" : "512");
        return 256;
    }
    if (some && brevity == WHOLE_DATA) {
        why_points(why, data, "fewer than 65,536, which a wide layer suits");
        return 1024;
    }
    if (some)
        why_brief(why, train, "1,024");
    else
        why_points(why, data, "65,536 or more");
    return 512;
}

static double
auto_dropout(const skn_plan_data_t *data, const skn_model_train_t *train,
             skn_why_t why)
{
    brevity_t brevity = brevity_of(data, train);
    double points = points_per_label(data);
    if (data->train_points < FEW_POINTS) {
        why_points(why, data, "fewer than 4,096");
        return 0.5;
    }
    if (data->train_points < SOME_POINTS && brevity == WHOLE_DATA) {
        why_points(why, data,
                   "fewer than 65,536, which the model would memorise");
        return 0.7;
    }
    if (data->train_points < SOME_POINTS) {
        why_brief(why, train, "a higher share");
        return brevity == SHORTER ? 0.5 : 0.3;
    }
    if (has_names(data)) {
        why_labels(why, data, "and nearly identify their points");
        return 0.1;
    }
    if (points < RARE_POINTS) {
        why_labels(why, data, "fewer than 5");
        return 0.2;
    }
    if (brevity == BRIEF) {
        why_brief(why, train, "the usual share");
        return 0.2;
    }
    why_labels(why, data, points < SEVERAL_POINTS ? "5 to 20" : "20 or more");
    return points < SEVERAL_POINTS ? 0.1 : 0.3;
}

static void
resolve_output(const skn_plan_t *plan, const skn_model_t *model,
               skn_model_layer_t *layer, const deal_t *part)
{
    const skn_plan_data_t *data = &plan->data;
    uint64_t blocks = skn_block_count(data->labels);
    int64_t units = plan->units < SKN_SHARD_MAX ? plan->units : SKN_SHARD_MAX;
    char path[PART_BYTES];
    skn_why_t why;
    if (layer->loss == SKN_LOSS_AUTO) {
        layer->loss = SKN_LOSS_SOFTMAX;
        note(part, "loss", "the default");
    }
    if (layer->label_smoothing < 0 && layer->loss == SKN_LOSS_SOFTMAX) {
        layer->label_smoothing = auto_smoothing(data, why);
        note(part, "label_smoothing", why);
    }
    (void)snprintf(path, sizeof(path), "%s.sampler", part->path);
    const deal_t sampler = { part->reasons, path };
    resolve_sampler(data, model->train.batch_rows, &layer->sampler, &sampler);
    if (skn_plan_has_index(&layer->sampler))
        (void)decide(part, "index_lag", &layer->index_lag,
                     2 * model->train.window, "2 windows");
    if ((uint64_t)units > blocks)
        skn_why(why, "as many as the labels have blocks, of %u cores",
                plan->units);
    else
        skn_why(why, "one for each core");
    (void)decide(part, "shards", &layer->shards, units, why);
    if ((uint64_t)layer->shards > blocks)
        layer->shards = (int64_t)blocks;
}

static void
resolve_hidden(const skn_plan_t *plan, const skn_model_t *model,
               skn_model_layer_t *layer, const deal_t *part)
{
    skn_why_t why;
    if (layer->units == SKN_AUTO) {
        layer->units = auto_units(&plan->data, &model->train, why);
        note(part, "units", why);
    }
    if (layer->dropout < 0) {
        layer->dropout = auto_dropout(&plan->data, &model->train, why);
        note(part, "dropout", why);
    }
    int64_t most = layer->units / SLICE_COLUMNS_MIN;
    if (most > SKN_SHARD_MAX)
        most = SKN_SHARD_MAX;
    if (plan->units < most)
        skn_why(why, "one for each core");
    else
        skn_why(why, "of 32 units each at least, on %u core%s", plan->units,
                plan->units == 1 ? "" : "s");
    (void)decide(part, "shards", &layer->shards,
                 plan->units < most ? plan->units : most, why);
    most = layer->units / 8;
    if (layer->shards > most)
        layer->shards = most;
    if (layer->shards < 1)
        layer->shards = 1;
}

void
skn_plan_auto_layer(const skn_plan_t *plan, const skn_model_t *model,
                    skn_model_layer_t *layer, skn_reasons_t *reasons)
{
    char path[SKN_REASON_KEY_BYTES];
    (void)snprintf(path, sizeof(path), "model.layers.%.64s", layer->name);
    const deal_t part = { reasons, path };
    (layer->output ? resolve_output : resolve_hidden)(plan, model, layer,
                                                      &part);
}
