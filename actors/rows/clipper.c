/* clipper.c - the actor that limits the norm of a step's whole gradient.
 *
 * Every updater sends the squared norm of its part when the last batch of a
 * step has been added; all of them step when the common factor is there:
 * min(1, max_norm / (norm + 1e-6)), as in Pascanu et al. 2013. Squares come in
 * groups of rows that do not depend on how the layers are split, and are added
 * in their order: the same bits for every number of stages. A norm that is not
 * finite skips the step in every updater; SKIPS_MAX such steps in a row end
 * the run.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "actors/protocol/settings.h"

/* One bad batch does this now and then; a model that has diverged, always. */
#define SKIPS_MAX 3u
/* Keeps a norm of 0 from being divided by. */
#define LEAST_NORM 1e-6

typedef struct clipper {
    double max_norm;
    uint32_t skipped_in_a_row;
    uint64_t skipped;                /* since this start of the run */
    uint32_t groups[SKN_ACTORS_MAX]; /* of rows, by updater; 0: not known */
} clipper_t;

static skn_status_t
skip(skn_actor_t *actor, clipper_t *clipper, const skn_gradient_norm_t *culprit,
     skn_clip_t *clip, skn_error_t *error)
{
    clip->skip = 1;
    clipper->skipped++;
    if (++clipper->skipped_in_a_row < SKIPS_MAX)
        return skn_actor_send_event(
            actor, error,
            "{\"event\":\"skipped\",\"batch\":%" PRIu64
            ",\"layer\":\"%s\",\"skipped\":%" PRIu64 "}",
            clip->batch, culprit->layer, clipper->skipped);
    skn_status_t status = skn_fail(
        error, SKN_DIVERGED,
        "batch %" PRIu64 ": the gradient of layer '%s' is not finite, for %u "
        "steps in a row; training diverged",
        clip->batch, culprit->layer, SKIPS_MAX);
    return skn_fail_hint(error, status,
                         "lower train.optimizer.rate, or warm up with "
                         "train.schedule");
}

/* Checks a part: a square is not below 0, but need not be finite, and there are
 * as many as in the sender's first step. */
static skn_status_t
check_squares(skn_actor_t *actor, const skn_gradient_norm_t *part,
              uint32_t *groups, skn_error_t *error)
{
    const skn_f64s_t *square = &part->square;
    if (*groups == 0)
        *groups = square->count > 0 ? (uint32_t)square->count : 1;
    if (square->count != *groups)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: %zu squares of layer '%s', expected %" PRIu32,
                        skn_actor_name(actor), square->count, part->layer,
                        *groups);
    for (size_t k = 0; k < square->count; k++)
        if (square->at[k] < 0)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: a square of layer '%s' is %g",
                            skn_actor_name(actor), part->layer, square->at[k]);
    return SKN_OK;
}

static skn_status_t
on_norm(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    clipper_t *clipper = state;
    const skn_parts_t *parts = message;
    const skn_gradient_norm_t *culprit = NULL;
    skn_clip_t clip = {
        .batch = ((const skn_gradient_norm_t *)parts->at[0])->batch
    };
    double sum = 0;
    for (size_t p = 0; p < parts->count; p++) {
        const skn_gradient_norm_t *part = parts->at[p];
        double before = sum;
        if (part->batch != clip.batch) {
            skn_parts_refuse(parts, p);
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: the norm of batch %" PRIu64
                            " arrived with those of batch %" PRIu64,
                            skn_actor_name(actor), part->batch, clip.batch);
        }
        if (check_squares(actor, part, &clipper->groups[p], error) != SKN_OK) {
            skn_parts_refuse(parts, p);
            return error->status;
        }
        for (size_t k = 0; k < part->square.count; k++)
            sum += part->square.at[k];
        if (!culprit && isfinite(before) && !isfinite(sum))
            culprit = part;
    }
    skn_status_t status = SKN_OK;
    if (culprit) {
        status = skip(actor, clipper, culprit, &clip, error);
    } else {
        double factor = clipper->max_norm / (sqrt(sum) + LEAST_NORM);
        clip.factor = factor < 1 ? factor : 1;
        clipper->skipped_in_a_row = 0;
    }
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_clip_schema, &clip, error)
               : status;
}

static skn_status_t
clipper_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    clipper_t *clipper = state;
    (void)error;
    clipper->max_norm = skn_actor_option_real(actor, "max_norm");
    return SKN_OK;
}

static const skn_option_t options[] = {
    SKN_OPTION_OF("max_norm", NULL, SKN_SETTING_CLIP_NORM),
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_gradient_norm_schema, on_norm, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = { &skn_clip_schema, NULL };
static const skn_schema_t *const gathers[] = { &skn_gradient_norm_schema,
                                               NULL };
static const skn_schema_t *const needs[] = { &skn_gradient_norm_schema, NULL };

const skn_kind_t skn_clipper = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "clipper",
    .help = "limits the norm of a step's gradient over all layers",
    .state_bytes = sizeof(clipper_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = clipper_open,
};
