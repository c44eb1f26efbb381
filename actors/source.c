/* source.c - reads the training file and lets `window` batches into flight.
 *
 * The one gate of the pipeline: batch t leaves when batch t - window has been
 * applied by every owner. It bounds memory alone: how stale the rows are that
 * somebody computes from is kept by the owners, with a window W of their own
 * (turns.h). Under `order: fixed` batch t is applied after the forward pass of
 * t + W - 1, so that a gate of W would let one batch pass in the time of the
 * longest way to an owner; with 2 W - 1 there are W on the way.
 *
 * The coordinator says how far to run; there, or when told to halt, the window
 * runs empty: a marker. The order of an epoch's points depends on (seed, epoch)
 * alone, so a resume needs only the batch number. DESIGN section 5, step 1.
 *
 * Points without labels are not trained on (they have no loss); they are
 * evaluated. Points without features are trained: the biases see them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/data.h"
#include "actors/draws.h"
#include "actors/kinds.h"
#include "actors/messages.h"
#include "actors/split.h"

typedef struct source {
    skn_dataset_t *train, *test;
    skn_split_t split;
    uint32_t batch_rows, window, owners, label_count;
    uint64_t seed, test_rows;
    uint64_t batches_per_epoch;
    uint32_t *order; /* [split.train_count], of epoch order_epoch */
    uint64_t order_epoch;
    /* The span in work: batches [next, end) are to be issued, those below
     * `low` have been applied by all. */
    bool running;
    skn_purpose_t purpose;
    uint64_t next, end, low, floor, trained;
    uint32_t applied[SKN_ISSUED_MAX + 1]; /* owners that applied, by batch */
    /* Scratch of the batch in the making. */
    skn_dataset_point_t *points;
    uint32_t *place;  /* [features] distinct number + 1, 0: not seen */
    uint64_t *marked; /* [labels] bits */
} source_t;

static const uint32_t *
points_of(const source_t *source, uint64_t *count)
{
    if (source->purpose == SKN_PURPOSE_VALIDATE) {
        *count = source->split.validate_count;
        return source->split.validate;
    }
    *count = skn_dataset_info(source->test)->point_count;
    if (source->test_rows > 0 && *count > source->test_rows)
        *count = source->test_rows;
    return NULL; /* as they stand in the file */
}

/* Fisher & Yates, with draws keyed by (seed, epoch). */
static void
shuffle(source_t *source, uint64_t epoch)
{
    uint64_t key = skn_draw_key(source->seed, SKN_DRAW_SHUFFLE, epoch);
    uint32_t count = source->split.train_count;
    if (source->order_epoch == epoch)
        return;
    source->order_epoch = epoch;
    memcpy(source->order, source->split.train, count * sizeof(uint32_t));
    for (uint32_t k = count; k > 1; k--) {
        uint32_t other = skn_philox_below(key, 0, k, k);
        uint32_t swap = source->order[k - 1];
        source->order[k - 1] = source->order[other];
        source->order[other] = swap;
    }
}

/* Looks up the points of batch `batch`; returns how many. */
static uint32_t
find_points(source_t *source, uint64_t batch)
{
    bool trains = source->purpose == SKN_PURPOSE_TRAIN;
    const skn_dataset_t *dataset =
        source->purpose == SKN_PURPOSE_TEST ? source->test : source->train;
    uint64_t count = source->split.train_count, first;
    const uint32_t *list = source->order;
    if (trains) {
        shuffle(source, batch / source->batches_per_epoch);
        first = batch % source->batches_per_epoch * source->batch_rows;
    } else {
        list = points_of(source, &count);
        first = batch * source->batch_rows;
    }
    uint32_t rows = 0;
    while (rows < source->batch_rows && first + rows < count) {
        uint64_t at = list ? list[first + rows] : first + rows;
        source->points[rows++] = skn_dataset_point(dataset, at);
    }
    return rows;
}

/* The distinct features of the batch, in the order they are met, with the
 * samples and values of each: the transposed matrix. */
static void
transpose(source_t *source, skn_batch_t *batch)
{
    size_t distinct = 0, total = batch->feature.count;
    uint32_t *offset = batch->distinct_offset.at;
    for (size_t k = 0; k < total; k++) {
        uint32_t *place = &source->place[batch->feature.at[k]];
        if (*place == 0) {
            batch->distinct.at[distinct++] = batch->feature.at[k];
            *place = (uint32_t)distinct;
            offset[distinct] = 0;
        }
        offset[*place]++;
    }
    offset[0] = 0;
    for (size_t k = 1; k <= distinct; k++)
        offset[k] += offset[k - 1];
    for (uint32_t i = 0; i < batch->rows; i++) {
        for (uint32_t k = batch->offset.at[i]; k < batch->offset.at[i + 1];
             k++) {
            uint32_t *next = &offset[source->place[batch->feature.at[k]] - 1];
            batch->sample.at[*next] = i;
            batch->weight.at[(*next)++] = batch->value.at[k];
        }
    }
    /* Filling has moved each offset to the start of the next one. */
    memmove(offset + 1, offset, distinct * sizeof(*offset));
    offset[0] = 0;
    for (size_t k = 0; k < distinct; k++)
        source->place[batch->distinct.at[k]] = 0;
    batch->distinct.count = distinct;
    batch->distinct_offset.count = distinct + 1;
}

static skn_status_t
send_batch(skn_actor_t *actor, source_t *source, uint64_t number, uint32_t rows,
           skn_error_t *error)
{
    size_t total = 0;
    bool trains = source->purpose == SKN_PURPOSE_TRAIN;
    for (uint32_t i = 0; i < rows; i++)
        total += source->points[i].feature_count;
    size_t turned = trains ? total : 0;
    size_t counts[] = { rows + 1,   total,  total, turned,
                        turned + 1, turned, turned };
    skn_batch_t *batch =
        skn_actor_message(actor, &skn_batch_schema, counts, error);
    if (!batch)
        return error->status;
    batch->batch = number;
    batch->floor = source->floor;
    batch->horizon = source->end - 1;
    batch->purpose = source->purpose;
    batch->rows = rows;
    batch->offset.at[0] = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const skn_dataset_point_t *point = &source->points[i];
        uint32_t at = batch->offset.at[i];
        memcpy(batch->feature.at + at, point->feature,
               point->feature_count * sizeof(uint32_t));
        memcpy(batch->value.at + at, point->value,
               point->feature_count * sizeof(float));
        batch->offset.at[i + 1] = at + point->feature_count;
    }
    if (trains)
        transpose(source, batch);
    else
        batch->distinct_offset.at[0] = 0;
    return skn_actor_post(actor, batch, error);
}

/* The distinct labels of the batch, ascending, through a bit a label. */
static void
collect_labels(source_t *source, skn_labels_t *labels)
{
    size_t words = ((size_t)source->label_count + 63) / 64, count = 0;
    for (size_t k = 0; k < labels->label.count; k++)
        source->marked[labels->label.at[k] / 64] |=
            (uint64_t)1 << (labels->label.at[k] % 64);
    for (size_t word = 0; word < words; word++) {
        uint64_t left = source->marked[word];
        source->marked[word] = 0;
        for (; left; left &= left - 1)
            labels->distinct.at[count++] =
                (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(left);
    }
    labels->distinct.count = count;
}

static skn_status_t
send_labels(skn_actor_t *actor, source_t *source, uint64_t number,
            uint32_t rows, skn_error_t *error)
{
    size_t total = 0;
    for (uint32_t i = 0; i < rows; i++)
        total += source->points[i].label_count;
    size_t counts[] = { rows + 1, total, total };
    skn_labels_t *labels =
        skn_actor_message(actor, &skn_labels_schema, counts, error);
    if (!labels)
        return error->status;
    labels->batch = number;
    labels->floor = source->floor;
    labels->horizon = source->end - 1;
    labels->purpose = source->purpose;
    labels->rows = rows;
    labels->offset.at[0] = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const skn_dataset_point_t *point = &source->points[i];
        memcpy(labels->label.at + labels->offset.at[i], point->label,
               point->label_count * sizeof(uint32_t));
        labels->offset.at[i + 1] = labels->offset.at[i] + point->label_count;
    }
    collect_labels(source, labels);
    return skn_actor_post(actor, labels, error);
}

static skn_status_t
issue(skn_actor_t *actor, source_t *source, skn_error_t *error)
{
    uint64_t number = source->next++;
    uint32_t rows = find_points(source, number);
    source->applied[number % (SKN_ISSUED_MAX + 1)] = 0;
    skn_status_t status = send_labels(actor, source, number, rows, error);
    if (status == SKN_OK)
        status = send_batch(actor, source, number, rows, error);
    return status;
}

static skn_status_t
reach(skn_actor_t *actor, source_t *source, skn_error_t *error)
{
    skn_reached_t reached = { .batch = source->next,
                              .purpose = source->purpose };
    source->running = false;
    if (source->purpose == SKN_PURPOSE_TRAIN)
        source->trained = source->next;
    return skn_actor_send(actor, &skn_reached_schema, &reached, error);
}

static skn_status_t
source_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    source_t *source = state;
    if (!source->running) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    if (source->next == source->end && source->low == source->next)
        return reach(actor, source, error);
    if (source->next < source->end &&
        source->next - source->low < source->window)
        return issue(actor, source, error);
    skn_actor_rest(actor);
    return SKN_OK;
}

/* Whether there are such batches: a file to look at, an end not before its
 * first. */
static bool
can_go(const source_t *source, const skn_go_t *go)
{
    if (go->purpose == SKN_PURPOSE_TRAIN)
        return go->first <= go->end;
    return go->purpose == SKN_PURPOSE_VALIDATE ||
           (go->purpose == SKN_PURPOSE_TEST && source->test);
}

static skn_status_t
on_go(skn_actor_t *actor, void *state, const void *message, skn_error_t *error)
{
    source_t *source = state;
    const skn_go_t *go = message;
    if (go->purpose == SKN_GO_FINISH) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (source->running)
        return skn_fail(error, SKN_INTERNAL,
                        "the source was sent off while it was running");
    if (!can_go(source, go))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: sent off for purpose %u, batches %llu to %llu, "
                        "which are not there",
                        skn_actor_name(actor), go->purpose,
                        (unsigned long long)go->first,
                        (unsigned long long)go->end);
    source->running = true;
    source->purpose = (skn_purpose_t)go->purpose;
    source->next = source->low = go->first;
    source->end = go->end;
    source->floor =
        go->purpose == SKN_PURPOSE_TRAIN ? go->first : source->trained;
    if (go->purpose == SKN_PURPOSE_TRAIN) {
        source->trained = go->first;
    } else {
        uint64_t count;
        (void)points_of(source, &count);
        source->end = skn_split_batches(count, source->batch_rows);
    }
    return SKN_OK;
}

static skn_status_t
on_halt(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    source_t *source = state;
    (void)message;
    if (!source->running || source->purpose != SKN_PURPOSE_TRAIN ||
        source->next == source->end)
        return SKN_OK;
    source->end = source->next;
    skn_halt_t halt = { .batch = source->next == 0 ? 0 : source->next - 1 };
    return skn_actor_send(actor, &skn_halt_schema, &halt, error);
}

static skn_status_t
on_applied(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    source_t *source = state;
    const skn_applied_t *applied = message;
    uint32_t owners = source->purpose == SKN_PURPOSE_TRAIN ? source->owners : 1;
    if (applied->batch < source->low || applied->batch >= source->next)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu was applied and is not in flight",
                        skn_actor_name(actor),
                        (unsigned long long)applied->batch);
    if (source->applied[applied->batch % (SKN_ISSUED_MAX + 1)]++ == owners)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: batch %llu was applied more than %u times",
                        skn_actor_name(actor),
                        (unsigned long long)applied->batch, owners);
    while (source->low < source->next &&
           source->applied[source->low % (SKN_ISSUED_MAX + 1)] == owners)
        source->low++;
    return SKN_OK;
}

/* --- open and close ----------------------------------------------------- */

static skn_status_t
open_data(skn_actor_t *actor, source_t *source, uint32_t feature_count,
          skn_error_t *error)
{
    const char *test = skn_actor_option_text(actor, "test");
    skn_data_t data = {
        .normalize = skn_actor_option_text(actor, "normalize"),
        .cache = skn_actor_option_text(actor, "cache"),
        .memory_bytes = (uint64_t)skn_actor_option_int(actor, "memory_bytes"),
        .features = feature_count,
        .labels = source->label_count,
    };
    skn_status_t status =
        skn_data_open(&data, skn_actor_option_text(actor, "train"), "train",
                      &source->train, error);
    if (status == SKN_OK && test[0])
        status = skn_data_open(&data, test, "test", &source->test, error);
    return status;
}

static skn_status_t
source_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    source_t *source = state;
    uint32_t feature_count = (uint32_t)skn_actor_option_int(actor, "features");
    source->label_count = (uint32_t)skn_actor_option_int(actor, "labels");
    source->batch_rows = (uint32_t)skn_actor_option_int(actor, "batch_rows");
    source->window = (uint32_t)skn_actor_option_int(actor, "window");
    source->owners = (uint32_t)skn_actor_option_int(actor, "owners");
    source->seed = (uint64_t)skn_actor_option_int(actor, "seed");
    source->test_rows = (uint64_t)skn_actor_option_int(actor, "test_rows");
    source->order_epoch = UINT64_MAX;
    skn_status_t status = open_data(actor, source, feature_count, error);
    if (status == SKN_OK)
        status = skn_split_init(&source->split, source->train,
                                skn_actor_option_real(actor, "validate"),
                                source->seed, error);
    if (status != SKN_OK)
        return status;
    source->batches_per_epoch =
        skn_split_batches(source->split.train_count, source->batch_rows);
    source->order =
        calloc((size_t)source->split.train_count + 1, sizeof(*source->order));
    source->points = calloc(source->batch_rows, sizeof(*source->points));
    source->place = calloc(feature_count, sizeof(*source->place));
    source->marked = calloc(((size_t)source->label_count + 63) / 64,
                            sizeof(*source->marked));
    if (!source->order || !source->points || !source->place || !source->marked)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no room for the order of %u points",
                        source->split.train_count);
    return SKN_OK;
}

static void
source_close(skn_actor_t *actor, void *state)
{
    source_t *source = state;
    (void)actor;
    free(source->order);
    free(source->points);
    free(source->place);
    free(source->marked);
    skn_split_fini(&source->split);
    skn_dataset_close(&source->train);
    skn_dataset_close(&source->test);
}

static const skn_option_t options[] = {
    { "train", SKN_OPTION_PATH, NULL, 0, 0, NULL, "training file" },
    { "test", SKN_OPTION_PATH, "", 0, 0, NULL, "test file" },
    { "normalize", SKN_OPTION_CHOICE, "l2", 0, 0, "l2|none",
      "scale each point's values to length 1" },
    { "cache", SKN_OPTION_TEXT, "auto", 0, 0, NULL,
      "auto: keep a binary copy beside the file; none" },
    { "memory_bytes", SKN_OPTION_INT, "67108864", 1 << 20, 1e15, NULL,
      "buffers while the binary copy is made" },
    { "features", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "input features of the model" },
    { "labels", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,
      "labels of the model" },
    { "batch_rows", SKN_OPTION_INT, NULL, 1, SKN_BATCH_ROWS_MAX, NULL,
      "samples of a batch" },
    { "window", SKN_OPTION_INT, "1", 1, SKN_ISSUED_MAX, NULL,
      "batches issued and not applied: 2 windows of the owners, less 1" },
    { "owners", SKN_OPTION_INT, NULL, 1, SKN_ACTORS_MAX, NULL,
      "updaters that must have applied a batch" },
    { "seed", SKN_OPTION_INT, "1", 0, 9007199254740992.0, NULL,
      "of every random number" },
    { "validate", SKN_OPTION_REAL, "0", 0, 0.5, NULL,
      "share of the training points that is held back" },
    { "test_rows", SKN_OPTION_INT, "0", 0, 1e15, NULL,
      "test points looked at, from the first; 0: all" },
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_go_schema, on_go, NULL },
    { &skn_halt_schema, on_halt, NULL },
    { &skn_applied_schema, on_applied, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_batch_schema,
    &skn_labels_schema,
    &skn_reached_schema,
    &skn_halt_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = {
    &skn_go_schema,
    &skn_applied_schema,
    NULL,
};

const skn_kind_t skn_source = {
    .name = "source",
    .help = "reads the data and lets `window` batches into flight",
    .state_bytes = sizeof(source_t),
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
