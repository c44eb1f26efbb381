/* plan_auto.c - resolves every `auto` of the sections train and
 * train.optimizer, and how many networks there are.
 *
 * The numbers come from the sweeps in docs/decisions (0003 and 0018). They may
 * depend on the data only, never on the machine (except for shards). Each
 * choice records its reason in the branch that makes it (reasons.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_auto.h"

#include <math.h>
#include <stdio.h>

#include "topology/plan/traits.h"

/* From this many points on, batches are of 1,024. */
#define MANY_POINTS 4e6
/* Adam is chosen for at most this many labels that are names of points: 6 GiB
 * of an output layer of 512 units. */
#define NAMES_MAX (1u << 20)
/* A ranker needs points with some features each, out of many more. */
#define RANKED_FEATURES_MIN 4
#define RANKED_LABELS_MIN 1000
/* The same where points have several labels (decision 0038). */
#define RANKED_SEVERAL_MIN 200
/* `train.patience` where points are held back: one epoch without progress is
 * noise, two a coincidence. */
#define PATIENCE 3

bool
skn_plan_decide(skn_reasons_t *reasons, const char *key, int64_t *value,
                int64_t chosen, const char *why)
{
    if (*value != SKN_AUTO)
        return false;
    *value = chosen;
    skn_reasons_add(reasons, key, why);
    return true;
}

/* --- how long, and by what steps ------------------------------------------ */

/* An epoch has at least 64 batches, if each then has 32 points or more. */
static int64_t
auto_batch_rows(const skn_plan_data_t *data, skn_why_t why)
{
    double points = (double)data->train_points;
    int64_t rows = 512;
    if (points < SKN_SOME_POINTS) {
        rows = 256;
        skn_traits_why_points(why, data, "fewer than 65,536");
    } else if (points >= MANY_POINTS) {
        rows = 1024;
        skn_traits_why_points(why, data, "4 million or more");
    } else if (skn_traits_has_names(data)) {
        rows = 1024;
        skn_traits_why_labels(why, data, "and nearly identify their points");
    } else {
        skn_traits_why_points(why, data,
                              "65,536 or more, and fewer than 4 million");
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

int64_t
skn_plan_usual_epochs(double points, int64_t batch_rows)
{
    int64_t epochs = skn_traits_clamp(4e6 / points, 3, 12);
    int64_t steps =
        skn_traits_clamp(1000.0 * (double)batch_rows / points, 1, 40);
    return epochs > steps ? epochs : steps;
}

/* Names the bound that decided, and which of its ends. */
static void
why_usual(skn_why_t why, double points, int64_t batch_rows)
{
    int64_t usual = skn_plan_usual_epochs(points, batch_rows);
    double epochs = 4e6 / points;
    bool by_batches = usual > skn_traits_clamp(epochs, 3, 12);
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
    int64_t usual = skn_plan_usual_epochs(points, batch_rows);
    if (data->labels > SKN_EXACT_LABELS_MAX &&
        skn_traits_points_per_label(data) >= SKN_RARE_POINTS) {
        skn_why(why,
                "the usual %d, and half as many again for labels of %.1f "
                "points each",
                (int)usual, skn_traits_points_per_label(data));
        return usual + usual / 2;
    }
    if (skn_traits_has_names(data)) {
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
    int64_t usual =
        skn_plan_usual_epochs((double)data->train_points, train->batch_rows);
    double rate = skn_plan_usual_rate(kind), given = rate;
    double times = skn_plan_longer_steps((double)usual / (double)train->epochs);
    bool faster = skn_traits_has_names(data) && kind == SKN_OPTIMIZER_ADAM;
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
    int64_t usual =
        skn_plan_usual_epochs((double)data->train_points, train->batch_rows);
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
    if (skn_traits_has_rare_labels(data) &&
        !(skn_traits_has_names(data) && data->labels <= NAMES_MAX)) {
        skn_traits_why_labels(why, data, "fewer than 5");
        return SKN_OPTIMIZER_ADAGRAD;
    }
    if (skn_traits_has_rare_labels(data))
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
    /* Full ones: the last of an epoch may have fewer rows, and counts as a part
     * of one. */
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
    schedule->warmup_batches = skn_traits_clamp(batches / 20, 1, 100);
    if (batches / 20 > 100)
        skn_why(why, "at most 100; a twentieth of the batches is more");
    else
        skn_why(why, "a twentieth of %.0f full batches", batches);
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
    bool several = data->labels_per_point >= SKN_SEVERAL_LABELS;
    uint32_t least = several ? RANKED_SEVERAL_MIN : RANKED_LABELS_MIN;
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
    else if (data->labels < least)
        skn_why(why, "%s labels are fewer than %s",
                skn_count_text(data->labels, text), several ? "200" : "1,000");
    else if (data->labels > NAMES_MAX)
        skn_why(why, "%s labels are more than 1,048,576",
                skn_count_text(data->labels, text));
    else if (skn_traits_has_rare_labels(data)) {
        skn_traits_why_labels(why, data, "fewer than 5");
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
    if (model->coordinator.address[0])
        skn_why(why, "nodes that come and go train one network");
    else if (model->train.ranker_trees > 0)
        skn_why(why, "a ranker gains more than further networks would");
    else if (!skn_traits_has_rare_labels(data))
        skn_why(why, "labels are not rare: more networks add little");
    else if (data->labels > NAMES_MAX)
        skn_why(why, "there are more than 1,048,576 labels");
    else {
        skn_traits_why_labels(why, data,
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
    bool validates = train->validate > 0.0;
    (void)skn_plan_decide(reasons, "train.window", &train->window, 2,
                          "the default");
    (void)skn_plan_decide(reasons, "train.patience", &train->patience,
                          validates ? PATIENCE : 0,
                          validates ? "the default where points are held back"
                                    : "no points are held back");
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
