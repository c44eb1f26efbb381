/* source.c - actor that issues batches within the window, and makes those of
 * its node.
 *
 * It is the one gate of the pipeline: batch t leaves when batch t - window has
 * been applied by every owner. As of every gate, this option `window` is the
 * most batches issued and not applied (skein/actor.h); plan_wire.c makes it of
 * `train.window`, which is W, the option of the same name of embedding, dense
 * and output: 2 W - 1. It bounds only memory: the staleness of the rows that
 * are computed from is bounded by the owners with their W (turns.h). Under
 * `order: fixed` batch t is applied after the forward pass of t + W - 1, so a
 * gate of W would let one batch pass in the time of the longest path to an
 * owner; with 2 W - 1 issued, W of them can be between forward and update.
 *
 * Where layers owe the gradients of their weights (actors/stage), `ahead`
 * limits the batches that the first layer has not applied, whose gradient is
 * the last that others wait for: with `window` alone, W of another layer would
 * hold back the next batch, by up to 7% of a step (bench/results/schedules.md).
 * `window` = 2 ahead - 1 leaves room for nearly as many that wait for W alone.
 *
 * The course sets how far to run; there, or when told to halt, the window runs
 * empty: a marker. A batch follows from its number (batches.h): a resume needs
 * nothing else, and neither do the readers of other nodes, which make their
 * batches from their own copy of the data on request. An evaluation, which a
 * resume begins again, ends where it is when the run is to stop. The gate is
 * (52) of docs/concepts/equations.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "actors/course/batches.h"
#include "actors/protocol/kinds.h"
#include "actors/combine/rounding.h"

typedef struct source_state {
    skn_batches_t batches;
    uint32_t window, ahead, owners, first_owners;
    uint64_t accumulate; /* batches of a step: spans are whole steps */
    /* The current span: batches [next, end) are to be issued, those below `low`
     * have been applied by all, those below `back` by the first layer. */
    bool running, cut; /* cut: a stop has ended the evaluation early */
    bool is_prediction;
    skn_purpose_t purpose;
    uint64_t next, end, low, back, floor, trained;
    skn_rounding_t rounding; /* the span's gradients, over all owners */
    /* Owners that applied it, by batch: all, and those of the first layer. */
    uint32_t applied[SKN_ISSUED_MAX + 1], returned[SKN_ISSUED_MAX + 1];
} source_state_t;

static skn_status_t
issue(skn_actor_t *actor, source_state_t *source, skn_error_t *error)
{
    skn_issue_t issue = {
        .batch = source->next++,
        .floor = source->floor,
        .horizon = source->end - 1,
        .purpose = source->purpose,
        .data = source->batches.data_hash,
    };
    skn_status_t status = SKN_OK;
    assert(source->next <= source->end);
    assert(source->next - source->low <= SKN_ISSUED_MAX + 1);
    source->applied[issue.batch % (SKN_ISSUED_MAX + 1)] = 0;
    source->returned[issue.batch % (SKN_ISSUED_MAX + 1)] = 0;
    if (skn_actor_receivers(actor, &skn_issue_schema) > 0)
        status = skn_actor_send(actor, &skn_issue_schema, &issue, error);
    if (status == SKN_OK)
        status = skn_batches_post(&source->batches, actor, &issue, error);
    return status;
}

static skn_status_t
reach(skn_actor_t *actor, source_state_t *source, skn_error_t *error)
{
    skn_reached_t reached = { .batch = source->next,
                              .purpose = source->purpose,
                              .cut = source->cut,
                              .changed = source->rounding.changed,
                              .square = source->rounding.square };
    source->rounding = (skn_rounding_t){ 0 };
    source->running = false;
    if (source->purpose == SKN_PURPOSE_TRAIN)
        source->trained = source->next;
    return skn_actor_send(actor, &skn_reached_schema, &reached, error);
}

static bool
counts_ahead(const source_state_t *source)
{
    return source->purpose == SKN_PURPOSE_TRAIN && source->ahead > 0;
}

static bool
has_credit(const source_state_t *source)
{
    return source->next - source->low < source->window &&
           (!counts_ahead(source) ||
            source->next - source->back < source->ahead);
}

/* The answers of a prediction are not made again: it is not cut. */
static void
cut_evaluation(const skn_actor_t *actor, source_state_t *source)
{
    if (source->purpose == SKN_PURPOSE_TRAIN || source->is_prediction ||
        source->next == source->end || !skn_actor_stop_wanted(actor))
        return;
    source->end = source->next;
    source->cut = true;
}

static skn_status_t
source_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    source_state_t *source = state;
    if (!source->running) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    cut_evaluation(actor, source);
    if (source->next == source->end && source->low == source->next)
        return reach(actor, source, error);
    if (source->next < source->end && has_credit(source))
        return issue(actor, source, error);
    skn_actor_rest(actor);
    return SKN_OK;
}

/* True if the request names an available data set and a non-negative range. */
static bool
can_go(const source_state_t *source, const skn_go_t *go)
{
    if (go->purpose == SKN_PURPOSE_TRAIN)
        return go->first <= go->end;
    return go->purpose == SKN_PURPOSE_VALIDATE ||
           (go->purpose == SKN_PURPOSE_TEST && source->batches.has_test);
}

static skn_status_t
on_go(skn_actor_t *actor, void *state, const void *message, skn_error_t *error)
{
    source_state_t *source = state;
    const skn_go_t *go = message;
    if (go->purpose == SKN_GO_FINISH) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (source->running)
        return skn_fail(error, SKN_INTERNAL,
                        "the source received `go` while it was running");
    if (!can_go(source, go))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: asked for purpose %u, batches %llu to %llu, "
                        "which do not exist",
                        skn_actor_name(actor), go->purpose,
                        (unsigned long long)go->first,
                        (unsigned long long)go->end);
    source->running = true;
    source->cut = false;
    source->purpose = (skn_purpose_t)go->purpose;
    source->next = source->low = source->back = go->first;
    source->end = go->end;
    source->floor =
        go->purpose == SKN_PURPOSE_TRAIN ? go->first : source->trained;
    if (go->purpose == SKN_PURPOSE_TRAIN) {
        source->trained = go->first;
    } else {
        source->end = skn_batches_of_pass(&source->batches, source->purpose);
    }
    return SKN_OK;
}

static skn_status_t
on_halt(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    source_state_t *source = state;
    /* It may arrive after the span in which it was sent, and after the `go` of
     * the next one. */
    bool is_late = ((const skn_halt_t *)message)->batch < source->floor;
    if (!source->running || source->purpose != SKN_PURPOSE_TRAIN || is_late ||
        source->next == source->end)
        return SKN_OK;
    uint64_t step = source->accumulate;
    uint64_t end = (source->next + step - 1) / step * step;
    if (end >= source->end)
        return SKN_OK;
    source->end = end;
    skn_halt_t halt = { .batch = end == 0 ? 0 : end - 1 };
    return skn_actor_send(actor, &skn_halt_schema, &halt, error);
}

static skn_status_t
refuse_surplus(const skn_actor_t *actor, uint64_t batch, uint32_t owners,
               skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: batch %llu was applied more than %u time%s",
                    skn_actor_name(actor), (unsigned long long)batch, owners,
                    owners == 1 ? "" : "s");
}

static skn_status_t
on_applied(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    source_state_t *source = state;
    const skn_applied_t *applied = message;
    uint32_t owners = source->purpose == SKN_PURPOSE_TRAIN ? source->owners : 1;
    size_t slot = applied->batch % (SKN_ISSUED_MAX + 1);
    if (applied->batch < source->low || applied->batch >= source->next)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu was reported applied but is not in "
                        "flight",
                        skn_actor_name(actor),
                        (unsigned long long)applied->batch);
    if (applied->purpose != source->purpose || applied->layer >= owners ||
        applied->shard >= owners)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu was reported applied for purpose %u "
                        "by shard %u of layer %u, but has purpose %u and %u "
                        "owner%s",
                        skn_actor_name(actor),
                        (unsigned long long)applied->batch, applied->purpose,
                        applied->shard, applied->layer, source->purpose, owners,
                        owners == 1 ? "" : "s");
    if (source->applied[slot]++ == owners)
        return refuse_surplus(actor, applied->batch, owners, error);
    if (counts_ahead(source) && applied->layer == 0 &&
        source->returned[slot]++ == source->first_owners)
        return refuse_surplus(actor, applied->batch, source->first_owners,
                              error);
    source->rounding.changed += applied->changed;
    source->rounding.square += applied->square;
    while (source->low < source->next &&
           source->applied[source->low % (SKN_ISSUED_MAX + 1)] == owners)
        source->low++;
    while (source->back < source->next &&
           source->returned[source->back % (SKN_ISSUED_MAX + 1)] ==
               source->first_owners)
        source->back++;
    return SKN_OK;
}

/* --- open and close ----------------------------------------------------- */

static skn_status_t
source_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    source_state_t *source = state;
    source->window = (uint32_t)skn_actor_option_int(actor, "window");
    source->owners = (uint32_t)skn_actor_option_int(actor, "owners");
    source->ahead = (uint32_t)skn_actor_option_int(actor, "ahead");
    source->first_owners =
        (uint32_t)skn_actor_option_int(actor, "first_owners");
    if (source->first_owners > source->owners)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: first_owners is %u, more than the %u owners",
                        skn_actor_name(actor), source->first_owners,
                        source->owners);
    source->is_prediction = skn_actor_option_bool(actor, "questions");
    source->accumulate = (uint64_t)skn_actor_option_int(actor, "accumulate");
    return skn_batches_open(&source->batches, actor, error);
}

static void
source_close(skn_actor_t *actor, void *state)
{
    (void)actor;
    skn_batches_close(&((source_state_t *)state)->batches);
}

static const skn_option_t options[] = {
    SKN_BATCHES_OPTIONS,
    { "window", SKN_OPTION_INT, "1", 1, SKN_ISSUED_MAX, NULL,
      "maximum number of batches issued and not applied: 2 windows of the "
      "owners, less 1" },
    { "owners", SKN_OPTION_INT, NULL, 1, SKN_ACTORS_MAX, NULL,
      "number of updaters that must apply each batch" },
    { "ahead", SKN_OPTION_INT, "0", 0, SKN_WINDOW_MAX, NULL,
      "maximum number of batches issued that the first layer has not applied; "
      "0: `window` alone limits them" },
    { "first_owners", SKN_OPTION_INT, "1", 1, SKN_ACTORS_MAX, NULL,
      "number of updaters of the first layer, which `ahead` waits for" },
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_go_schema, on_go, NULL },
    { &skn_halt_schema, on_halt, NULL },
    { &skn_applied_schema, on_applied, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_issue_schema,   &skn_batch_schema, &skn_labels_schema,
    &skn_reached_schema, &skn_halt_schema,  NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_go_schema,
    &skn_applied_schema,
    NULL,
};

const skn_kind_t skn_source = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "source",
    .help = "keeps up to `window` batches in flight and makes those of its "
            "node",
    .state_bytes = sizeof(source_state_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = source_open,
    .produce = source_produce,
    .close = source_close,
    .gate = true,
};
