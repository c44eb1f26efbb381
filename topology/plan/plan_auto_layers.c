/* plan_auto_layers.c - resolves every `auto` of a layer, and of the output
 * layer's sampler. Declared in plan_auto.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "actors/protocol/block.h"
#include "topology/plan/plan_auto.h"
#include "topology/plan/traits.h"

/* Negatives drawn for a batch besides the labels, as a multiple of its points:
 * with 4 and with 16, P@1 of wnrel is less
 * (docs/decisions/0018-auto-again.md). */
#define UNIFORM_TIMES 8
/* Hidden slices narrower than this cost more in messages than they share. */
#define SLICE_COLUMNS_MIN 32
/* From this many points a label, training does with less smoothing. */
#define SEVERAL_POINTS 20
/* From this many labels a point, they are better not made to compete. */
#define LABELS_APART 1.5
/* Labels, of which each needs so many points for a loss of its own if there are
 * more. */
#define LABELS_FEW 1024u
#define FREQUENT_POINTS 40

/* --- samplers ------------------------------------------------------------- */

/* Decision 0021. Where nearly all labels have a point or two, their frequency
 * has no information. */
static skn_sampler_choice_t
auto_sampler(const skn_plan_data_t *data, skn_why_t why)
{
    skn_count_text_t labels;
    if (data->labels <= SKN_EXACT_LABELS_MAX) {
        skn_why(why, "%s labels are no more than 8,192",
                skn_count_text(data->labels, labels));
        return SKN_SAMPLER_EXACT;
    }
    if (skn_traits_points_per_label(data) < SKN_SINGLE_POINTS) {
        skn_traits_why_labels(why, data, "and their frequencies say little");
        return SKN_SAMPLER_UNIFORM;
    }
    skn_why(why, "%s labels are more than 8,192, of %.1f points each",
            skn_count_text(data->labels, labels),
            skn_traits_points_per_label(data));
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

/* Writes "model.layers.output.KEY" to `whole`, and returns it. */
static const char *
whole_key(const deal_t *part, const char *key, char whole[SKN_REASON_KEY_BYTES])
{
    (void)snprintf(whole, SKN_REASON_KEY_BYTES, "%s.%s", part->path, key);
    return whole;
}

static void
note(const deal_t *part, const char *key, const char *why)
{
    char whole[SKN_REASON_KEY_BYTES];
    skn_reasons_add(part->reasons, whole_key(part, key, whole), why);
}

/* Sets a number that is `auto`; returns whether it was. */
static bool
decide(const deal_t *part, const char *key, int64_t *value, int64_t chosen,
       const char *why)
{
    char whole[SKN_REASON_KEY_BYTES];
    return skn_plan_decide(part->reasons, whole_key(part, key, whole), value,
                           chosen, why);
}

static void
resolve_rows(const skn_plan_data_t *data, int64_t batch_rows,
             skn_model_sampler_t *sampler, const deal_t *part)
{
    bool decided = false;
    if (sampler->kind != SKN_SAMPLER_EXACT)
        decided = decide(part, "rows", &sampler->rows,
                         (skn_traits_has_names(data) ? 4 : 1) * UNIFORM_TIMES *
                             batch_rows,
                         skn_traits_has_names(data)
                             ? "32 per point of a batch, for labels that "
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
    resolve_rows(data, batch_rows, sampler, part);
    if (skn_plan_has_index(sampler)) {
        (void)decide(part, "tables", &sampler->tables, 50, "the default");
        (void)decide(part, "bits", &sampler->bits,
                     dwta ? auto_dwta_bits(data) : 9,
                     dwta ? "at most 64 buckets per label" : "the default");
        (void)decide(part, "refresh_batches", &sampler->refresh_batches, 50,
                     "the default");
        (void)decide(part, "uniform_rows", &sampler->uniform_rows,
                     skn_traits_clamp(1024, 1, (int64_t)data->labels),
                     "1,024, or all labels");
    }
}

bool
skn_plan_has_index(const skn_model_sampler_t *sampler)
{
#define OR_IS(NAME, word) || sampler->kind == SKN_##NAME
    return false SKN_INDEXED_SAMPLERS(OR_IS);
#undef OR_IS
}

/* --- layers --------------------------------------------------------------- */

/* Decision 0038. A softmax makes the labels of a point compete; losses of their
 * own need many points a label, and all labels computed. */
static skn_loss_kind_t
auto_loss(const skn_plan_data_t *data, skn_why_t why)
{
    skn_count_text_t text;
    if (data->labels_per_point < LABELS_APART)
        skn_why(why, "points have %.1f labels, fewer than 1.5",
                data->labels_per_point);
    else if (data->labels > SKN_EXACT_LABELS_MAX)
        skn_why(why, "%s labels are more than 8,192",
                skn_count_text(data->labels, text));
    else if (data->labels > LABELS_FEW &&
             skn_traits_points_per_label(data) < FREQUENT_POINTS)
        skn_traits_why_labels(why, data, "fewer than 40");
    else {
        skn_why(why, "points have %.1f labels, and labels %.0f points",
                data->labels_per_point, skn_traits_points_per_label(data));
        return SKN_LOSS_ONE_VS_ALL;
    }
    return SKN_LOSS_SOFTMAX;
}

/* Decision 0018 has the measurements behind all of these. */
static double
auto_smoothing(const skn_plan_data_t *data, skn_why_t why)
{
    if (skn_traits_points_per_label(data) < SEVERAL_POINTS) {
        skn_traits_why_labels(why, data, "fewer than 20");
        return 0.4;
    }
    skn_traits_why_labels(why, data, "20 or more");
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
    int64_t usual =
        skn_plan_usual_epochs((double)data->train_points, train->batch_rows);
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
    bool some = data->train_points < SKN_SOME_POINTS;
    if (data->train_points < SKN_FEW_POINTS) {
        skn_traits_why_points(why, data, "fewer than 4,096");
        return 256;
    }
    if (brevity == BRIEF) {
        why_brief(why, train, some ? "1,024" : "512");
        return 256;
    }
    if (some && brevity == WHOLE_DATA) {
        skn_traits_why_points(why, data,
                              "fewer than 65,536, which a wide layer suits");
        return 1024;
    }
    if (some)
        why_brief(why, train, "1,024");
    else
        skn_traits_why_points(why, data, "65,536 or more");
    return 512;
}

static double
auto_dropout(const skn_plan_data_t *data, const skn_model_train_t *train,
             skn_why_t why)
{
    brevity_t brevity = brevity_of(data, train);
    double points = skn_traits_points_per_label(data);
    if (data->train_points < SKN_FEW_POINTS) {
        skn_traits_why_points(why, data, "fewer than 4,096");
        return 0.5;
    }
    if (data->train_points < SKN_SOME_POINTS && brevity == WHOLE_DATA) {
        skn_traits_why_points(
            why, data, "fewer than 65,536, which the model would memorise");
        return 0.7;
    }
    if (data->train_points < SKN_SOME_POINTS) {
        why_brief(why, train, "a higher share");
        return brevity == SHORTER ? 0.5 : 0.3;
    }
    if (skn_traits_has_names(data)) {
        skn_traits_why_labels(why, data, "and nearly identify their points");
        return 0.1;
    }
    if (points < SKN_RARE_POINTS) {
        skn_traits_why_labels(why, data, "fewer than 5");
        return 0.2;
    }
    if (brevity == BRIEF) {
        why_brief(why, train, "the usual share");
        return 0.2;
    }
    skn_traits_why_labels(why, data,
                          points < SEVERAL_POINTS ? "5 to 20" : "20 or more");
    return points < SEVERAL_POINTS ? 0.1 : 0.3;
}

static void
why_capped(skn_why_t why, const skn_plan_t *plan)
{
    skn_why(why, "no layer has more than %u, on %u cores", SKN_SHARD_MAX,
            plan->units);
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
        layer->loss = auto_loss(data, why);
        note(part, "loss", why);
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
    else if (plan->units > SKN_SHARD_MAX)
        why_capped(why, plan);
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
    else if (most == SKN_SHARD_MAX)
        why_capped(why, plan);
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

const char *
skn_plan_layer_path(const skn_model_t *model, const skn_model_layer_t *layer,
                    char *path, size_t path_bytes)
{
    bool is_head = skn_model_is_decoder(model) && layer->output;
    (void)snprintf(path, path_bytes, "model.%s%.64s", is_head ? "" : "layers.",
                   layer->name);
    return path;
}

void
skn_plan_auto_layer(const skn_plan_t *plan, const skn_model_t *model,
                    skn_model_layer_t *layer, skn_reasons_t *reasons)
{
    char path[SKN_REASON_KEY_BYTES];
    const deal_t part = { reasons, skn_plan_layer_path(model, layer, path,
                                                       sizeof(path)) };
    (layer->output ? resolve_output : resolve_hidden)(plan, model, layer,
                                                      &part);
}
