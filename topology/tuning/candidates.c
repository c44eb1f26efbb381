/* candidates.c - draws configs near the one that `auto` chooses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/random.h"
#include "skein/limits.h"
#include "topology/plan/plan.h"

/* The most keys in which a candidate differs: if more change at once, one of
 * them is almost always bad. */
#define CHANGES_MAX 3u
/* The draws after which a space counts as exhausted. */
#define ATTEMPTS 64u
/* A candidate that costs more than this times auto's cost is not tried. */
#define COST_MAX 4.0
/* The time of a batch beside its products, for the updates of rows, in points
 * that cost as much. A guess; later rounds use measured times. */
#define UPDATE_POINTS 150.0
#define SMOOTHING 0.1
#define SHARE_MAX 0.9

static const char *const names[] = {
#define T(name, word, key) word,
    SKN_TUNED(T)
#undef T
};
static const char *const keys[] = {
#define T(name, word, key) key,
    SKN_TUNED(T)
#undef T
};
#define WORD(name, word) #word,
static const char *const optimizers[] = { SKN_OPTIMIZERS(WORD) };
static const char *const losses[] = { SKN_LOSSES(WORD) };
#undef WORD

static const skn_model_layer_t *
output_of(const skn_model_t *model)
{
    return &model->layers[model->layer_count - 1];
}

void
skn_space_init(skn_space_t *space, const skn_model_t *model, uint64_t points,
               uint32_t labels, double labels_per_point)
{
    const skn_model_layer_t *hidden = model->layers, *output = output_of(model);
    const skn_model_train_t *train = &model->train;
    const skn_model_optimizer_t *optimizer = &train->optimizer;
    bool softmax = output->loss == SKN_LOSS_SOFTMAX;
    bool sampled = output->sampler.kind != SKN_SAMPLER_EXACT;
    /* Keys of one optimizer that do not apply to another are refused. */
    bool plain = optimizer->kind != SKN_OPTIMIZER_SGD &&
                 optimizer->beta1 == 0.9 && optimizer->beta2 == 0.999 &&
                 optimizer->weight_decay == 0;
    *space = (skn_space_t){
        .model = model,
        .points = (double)points,
        .labels = labels,
        .labels_per_point = labels_per_point,
    };
    memset(space->free, true, sizeof(space->free));
    space->free[SKN_TUNED_ROWS] = sampled;
    space->free[SKN_TUNED_OPTIMIZER] = plain;
    /* A rate without a kind is for Adam (topology/plan/plan_auto.c). */
    if (!plain && optimizer->kind == SKN_OPTIMIZER_ADAGRAD)
        space->free[SKN_TUNED_RATE] = false;
    double *value = space->base.value;
    value[SKN_TUNED_RATE] = optimizer->rate;
    value[SKN_TUNED_EPOCHS] = (double)train->epochs;
    value[SKN_TUNED_UNITS] = (double)hidden->units;
    value[SKN_TUNED_DROPOUT] = hidden->dropout;
    value[SKN_TUNED_SMOOTHING] = softmax ? output->label_smoothing : 0;
    value[SKN_TUNED_BATCH] = (double)train->batch_rows;
    value[SKN_TUNED_ROWS] = sampled ? (double)output->sampler.rows : labels;
    value[SKN_TUNED_OPTIMIZER] = optimizer->kind;
    value[SKN_TUNED_LOSS] = output->loss;
}

void
skn_space_fix(skn_space_t *space, const char *override)
{
    size_t bytes = strcspn(override, "=");
    for (int k = 0; k < SKN_TUNED_COUNT; k++) {
        char key[SKN_NAME_MAX + 64];
        (void)skn_space_key(space, (skn_tuned_t)k, key, sizeof(key));
        if (strncmp(key, override, bytes) == 0 &&
            (key[bytes] == '\0' || key[bytes] == '.'))
            space->free[k] = false;
    }
    /* A change of optimizer or loss needs the rate or smoothing to change with
     * it. */
    if (!space->free[SKN_TUNED_RATE])
        space->free[SKN_TUNED_OPTIMIZER] = false;
    if (!space->free[SKN_TUNED_SMOOTHING])
        space->free[SKN_TUNED_LOSS] = false;
}

/* --- drawing -------------------------------------------------------------- */

static double
pick(uint64_t *random, const double *list, size_t count)
{
    return list[skn_random(random) % count];
}
#define PICK(random, ...)                                                      \
    pick(random, (const double[]){ __VA_ARGS__ },                              \
         sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

static double
clamp(double value, double least, double most)
{
    return fmax(least, fmin(value, most));
}

/* Draws a rate within a factor of 4, to two digits: finer differences do not
 * matter. */
static double
around(double rate, uint64_t *random)
{
    char text[32];
    double unit = (double)(skn_random(random) >> 11) * 0x1p-53;
    (void)skn_text_write(text, sizeof(text), "%.1e", rate * exp2(4 * unit - 2));
    return skn_text_real(text, NULL);
}

/* Changes the optimizer, and the rate by the ratio of the usual rates: with
 * both optimizers, shorter runs have greater rates. */
static void
change_optimizer(skn_candidate_t *candidate, uint64_t *random)
{
    double *value = candidate->value;
    bool adam = value[SKN_TUNED_OPTIMIZER] == (double)SKN_OPTIMIZER_ADAM;
    value[SKN_TUNED_OPTIMIZER] =
        adam ? SKN_OPTIMIZER_ADAGRAD : SKN_OPTIMIZER_ADAM;
    double times = skn_plan_usual_rate(SKN_OPTIMIZER_ADAGRAD) /
                   skn_plan_usual_rate(SKN_OPTIMIZER_ADAM);
    times = adam ? times : 1 / times;
    value[SKN_TUNED_RATE] = around(value[SKN_TUNED_RATE] * times, random);
}

static void
change_loss(skn_candidate_t *candidate)
{
    double *value = candidate->value;
    bool softmax = value[SKN_TUNED_LOSS] == (double)SKN_LOSS_SOFTMAX;
    value[SKN_TUNED_LOSS] = softmax ? SKN_LOSS_ONE_VS_ALL : SKN_LOSS_SOFTMAX;
    value[SKN_TUNED_SMOOTHING] = softmax ? 0 : SMOOTHING;
}

static void
change(const skn_space_t *space, skn_tuned_t which, skn_candidate_t *candidate,
       uint64_t *random)
{
    double *value = &candidate->value[which];
    switch (which) {
    case SKN_TUNED_RATE:
        *value = around(*value, random);
        break;
    case SKN_TUNED_EPOCHS:
        *value = fmax(1, round(*value * PICK(random, 0.5, 0.75, 1.5, 2)));
        break;
    case SKN_TUNED_UNITS: /* a whole number of cache lines */
        *value = clamp(16 * round(*value * PICK(random, 0.5, 1.5, 2) / 16), 16,
                       65536);
        break;
    case SKN_TUNED_DROPOUT:
    case SKN_TUNED_SMOOTHING:
        *value += PICK(random, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3);
        *value = clamp(round(*value * 100) / 100, 0, SHARE_MAX);
        break;
    case SKN_TUNED_BATCH:
        *value = clamp(round(*value * PICK(random, 0.5, 2)), 1,
                       fmin(65536, space->points));
        break;
    case SKN_TUNED_ROWS:
        *value =
            clamp(round(*value * PICK(random, 0.5, 2, 4)), 1, space->labels);
        break;
    case SKN_TUNED_OPTIMIZER:
        change_optimizer(candidate, random);
        break;
    case SKN_TUNED_LOSS:
        change_loss(candidate);
        break;
    case SKN_TUNED_COUNT:
        break;
    }
}

/* Goes through the keys backwards: another optimizer or loss sets the rate or
 * smoothing first, which may then be varied. */
static skn_candidate_t
draw_one(const skn_space_t *space, uint64_t *random)
{
    skn_candidate_t candidate = space->base;
    bool chosen[SKN_TUNED_COUNT] = { false };
    uint64_t changes = 1 + skn_random(random) % CHANGES_MAX;
    for (uint64_t k = 0; k < changes; k++)
        chosen[skn_random(random) % SKN_TUNED_COUNT] = true;
    for (int k = SKN_TUNED_COUNT - 1; k >= 0; k--)
        if (chosen[k] && space->free[k])
            change(space, (skn_tuned_t)k, &candidate, random);
    if (candidate.value[SKN_TUNED_LOSS] == (double)SKN_LOSS_ONE_VS_ALL)
        candidate.value[SKN_TUNED_SMOOTHING] = 0;
    return candidate;
}

uint32_t
skn_candidates_draw(const skn_space_t *space, uint64_t seed, uint32_t count,
                    skn_candidate_t *list)
{
    uint32_t drawn = 0, attempt = 0;
    uint64_t random = seed;
    if (count > 0)
        list[drawn++] = space->base;
    while (drawn < count && attempt++ < ATTEMPTS) {
        skn_candidate_t candidate = draw_one(space, &random);
        bool known = skn_candidate_cost(space, &candidate) > COST_MAX;
        for (uint32_t k = 0; k < drawn; k++)
            known =
                known || memcmp(&list[k], &candidate, sizeof(candidate)) == 0;
        if (known)
            continue;
        list[drawn++] = candidate;
        attempt = 0;
    }
    return drawn;
}

/* --- cost ----------------------------------------------------------------- */

static double
work_of(const skn_space_t *space, const skn_candidate_t *candidate)
{
    const double *value = candidate->value;
    double batch = value[SKN_TUNED_BATCH];
    double rows = fmin(space->labels,
                       value[SKN_TUNED_ROWS] + batch * space->labels_per_point);
    return value[SKN_TUNED_EPOCHS] * value[SKN_TUNED_UNITS] * rows *
           (1 + UPDATE_POINTS / batch);
}

double
skn_candidate_cost(const skn_space_t *space, const skn_candidate_t *candidate)
{
    return work_of(space, candidate) / work_of(space, &space->base);
}

skn_trial_length_t
skn_candidate_length(const skn_space_t *space, const skn_candidate_t *candidate,
                     double share)
{
    double epochs = candidate->value[SKN_TUNED_EPOCHS];
    double epoch_batches =
        ceil(space->points / candidate->value[SKN_TUNED_BATCH]);
    double batches = epochs * epoch_batches;
    double most = (double)space->model->train.max_batches;
    bool all = share >= 1;
    if (most > 0 && most < batches)
        batches = most;
    batches = fmax(1, round(batches * share));
    if (!all)
        epochs = fmin(epochs, ceil(batches / epoch_batches));
    return (skn_trial_length_t){ .epochs = (uint64_t)epochs,
                                 .max_batches =
                                     all && most <= 0 ? 0 : (uint64_t)batches };
}

skn_candidate_t
skn_candidate_shorter(const skn_candidate_t *candidate, double share)
{
    skn_candidate_t trial = *candidate;
    trial.value[SKN_TUNED_RATE] *= skn_plan_longer_steps(1 / share);
    return trial;
}

/* --- text ----------------------------------------------------------------- */

const char *
skn_candidate_value(const skn_candidate_t *candidate, skn_tuned_t which,
                    char *text, size_t bytes)
{
    double value = candidate->value[which];
    if (which == SKN_TUNED_OPTIMIZER)
        (void)snprintf(text, bytes, "%s", optimizers[(int)value]);
    else if (which == SKN_TUNED_LOSS)
        (void)snprintf(text, bytes, "%s", losses[(int)value]);
    else
        (void)skn_text_write(text, bytes, "%.10g", value);
    return text;
}

const char *
skn_space_key(const skn_space_t *space, skn_tuned_t which, char *text,
              size_t bytes)
{
    bool hidden = which == SKN_TUNED_UNITS || which == SKN_TUNED_DROPOUT;
    const char *layer =
        hidden ? space->model->layers[0].name : output_of(space->model)->name;
    const char *gap = strstr(keys[which], "%s");
    int before = gap ? (int)(gap - keys[which]) : (int)strlen(keys[which]);
    (void)snprintf(text, bytes, "%.*s%s%s", before, keys[which],
                   gap ? layer : "", gap ? gap + 2 : "");
    return text;
}

const char *
skn_candidate_describe(const skn_space_t *space,
                       const skn_candidate_t *candidate, char *text,
                       size_t bytes)
{
    size_t used = 0;
    (void)snprintf(text, bytes, "auto");
    for (int k = 0; k < SKN_TUNED_COUNT && used < bytes; k++) {
        char value[32];
        if (candidate->value[k] == space->base.value[k])
            continue;
        int more = snprintf(text + used, bytes - used, "%s%s %s",
                            used ? ", " : "", names[k],
                            skn_candidate_value(candidate, (skn_tuned_t)k,
                                                value, sizeof(value)));
        used += more > 0 ? (size_t)more : 0;
    }
    return text;
}
