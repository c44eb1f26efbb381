/* test_source.c - tests the batches that the source sends, with a probe that
 * plays course, embedding, output and updaters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/draws.h"
#include "actors/protocol/split.h"
#include "tests/support/actor_probe.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"

#define POINTS 57
#define FEATURES 23
#define LABELS 9000
#define BATCH_ROWS 8
#define OWNERS 2
#define BATCHES_MAX 64

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];
static char unlabelled[POINTS]; /* points of the file without labels */

static struct {
    uint64_t bound[8][2]; /* of the spans to be run, in order */
    uint32_t purpose[8];
    size_t spans, span;
    uint32_t issued, applied, applied_before, in_flight_max, batches;
    /* The single label that marks each point: its number in the file. */
    uint32_t point[BATCHES_MAX][BATCH_ROWS], rows[BATCHES_MAX];
    uint64_t floor[BATCHES_MAX], horizon[BATCHES_MAX], number[BATCHES_MAX];
    uint64_t reached[8];
    uint32_t hold; /* batches to wait for before any is applied */
    uint64_t halt_at, halt_told;
    uint64_t halt_of; /* if given, the batch that the halt is about */
    uint64_t stop_at; /* if given, the host stops the run at this batch */
    uint32_t cut[8];
} seen;

/* Point k has the label k (or none) and features that follow from k. */
static void
write_points(void)
{
    oracle_random_t random = { 7 };
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fprintf(out, "%d %d %d\n", POINTS, FEATURES, LABELS);
    for (int k = 0; k < POINTS; k++) {
        uint32_t feature = oracle_next(&random) % 5;
        unlabelled[k] = k % 19 == 3;
        if (!unlabelled[k])
            (void)fprintf(out, "%d%s", k, k % 4 == 0 ? ",8191" : "");
        for (; feature < FEATURES; feature += 1 + oracle_next(&random) % 9)
            (void)fprintf(out, " %u:%u", feature, 1 + oracle_next(&random) % 9);
        (void)fprintf(out, "\n");
    }
    cr_assert_eq(fclose(out), 0);
}

static skn_status_t
go(skn_actor_t *actor, skn_error_t *error)
{
    skn_go_t message = { .purpose = SKN_GO_FINISH };
    if (seen.span < seen.spans) {
        message.first = seen.bound[seen.span][0];
        message.end = seen.bound[seen.span][1];
        message.purpose = seen.purpose[seen.span];
    } else {
        skn_actor_finish(actor);
    }
    return skn_actor_send(actor, &skn_go_schema, &message, error);
}

static skn_status_t
apply(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    uint32_t owners = seen.purpose[seen.span] == SKN_PURPOSE_TRAIN ? OWNERS : 1;
    for (uint32_t k = 0; k < owners && status == SKN_OK; k++) {
        skn_applied_t applied = { .batch = seen.number[seen.applied],
                                  .purpose = seen.purpose[seen.span],
                                  .shard = k,
                                  .changed = 1 + k,
                                  .square = 0.5 };
        status = skn_actor_send(actor, &skn_applied_schema, &applied, error);
    }
    seen.applied++;
    return status;
}

/* The transposed matrix against the naive one: every (feature, sample, value)
 * of the one is in the other, and each distinct feature stands once. */
static void
check_transposed(const skn_batch_t *batch)
{
    static double naive[FEATURES][BATCH_ROWS], turned[FEATURES][BATCH_ROWS];
    uint32_t stands[FEATURES] = { 0 };
    memset(naive, 0, sizeof(naive));
    memset(turned, 0, sizeof(turned));
    for (uint32_t i = 0; i < batch->rows; i++)
        for (uint32_t k = batch->offset.at[i]; k < batch->offset.at[i + 1]; k++)
            naive[batch->feature.at[k]][i] = (double)batch->value.at[k];
    cr_assert_eq(batch->distinct_offset.count, batch->distinct.count + 1);
    for (size_t k = 0; k < batch->distinct.count; k++) {
        uint32_t feature = batch->distinct.at[k];
        stands[feature]++;
        for (uint32_t j = batch->distinct_offset.at[k];
             j < batch->distinct_offset.at[k + 1]; j++)
            turned[feature][batch->sample.at[j]] = (double)batch->weight.at[j];
    }
    cr_expect_eq(batch->distinct_offset.at[batch->distinct.count],
                 batch->feature.count);
    cr_expect_arr_eq(naive, turned, sizeof(naive));
    for (uint32_t k = 0; k < FEATURES; k++)
        cr_expect_leq(stands[k], 1);
}

/* Batches are applied once `hold` of them are in flight, or at the end. */
static skn_status_t
on_batch(skn_actor_t *actor, const skn_batch_t *batch, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    uint32_t k = seen.issued++;
    cr_assert_eq(batch->batch, seen.number[k]); /* its labels came before */
    cr_assert_eq(batch->rows, seen.rows[k]);
    cr_assert_eq(batch->offset.count, batch->rows + 1);
    if (batch->purpose == SKN_PURPOSE_TRAIN)
        check_transposed(batch);
    else
        cr_expect_eq(batch->distinct.count, 0);
    if (seen.issued - seen.applied > seen.in_flight_max)
        seen.in_flight_max = seen.issued - seen.applied;
    if (seen.halt_at > 0 && batch->batch == seen.halt_at) {
        skn_halt_t halt = { .batch =
                                seen.halt_of ? seen.halt_of : batch->batch };
        seen.halt_at = 0;
        status = skn_actor_send(actor, &skn_halt_schema, &halt, error);
        if (status == SKN_OK)
            status = skn_actor_ask_clock(actor, 0, error);
        return status;
    }
    if (seen.stop_at > 0 && batch->batch == seen.stop_at) {
        seen.stop_at = 0;
        skn_topology_stop(probe.topology);
        return skn_actor_ask_clock(actor, 0, error);
    }
    bool last = batch->batch == batch->horizon;
    while (status == SKN_OK && seen.applied < seen.issued &&
           (last || seen.issued - seen.applied >= seen.hold))
        status = apply(actor, error);
    return status;
}

static skn_status_t
on_labels(const skn_labels_t *labels)
{
    uint32_t k = seen.batches++, seen_label[LABELS] = { 0 };
    cr_assert_lt(k, BATCHES_MAX);
    seen.number[k] = labels->batch;
    seen.floor[k] = labels->floor;
    seen.horizon[k] = labels->horizon;
    seen.rows[k] = labels->rows;
    for (uint32_t i = 0; i < labels->rows; i++)
        seen.point[k][i] = labels->offset.at[i + 1] > labels->offset.at[i]
                               ? labels->label.at[labels->offset.at[i]]
                               : UINT32_MAX;
    for (size_t at = 0; at < labels->label.count; at++)
        seen_label[labels->label.at[at]] = 1;
    size_t count = 0;
    for (uint32_t label = 0; label < LABELS; label++)
        if (seen_label[label])
            cr_expect_eq(labels->distinct.at[count++], label);
    cr_expect_eq(labels->distinct.count, count);
    return SKN_OK;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_labels_schema)
        return on_labels(message);
    if (schema == &skn_batch_schema)
        return on_batch(actor, message, error);
    if (schema == &skn_halt_schema) {
        seen.halt_told = ((const skn_halt_t *)message)->batch;
        return SKN_OK;
    }
    const skn_reached_t *reached = message;
    cr_expect_eq(reached->purpose, seen.purpose[seen.span]);
    cr_expect_eq(seen.applied, seen.issued);
    if (reached->purpose == SKN_PURPOSE_TRAIN) {
        /* Summed over the owners of each batch, and over batches. */
        double count = seen.applied - seen.applied_before;
        cr_expect_eq(reached->changed, count * OWNERS * (OWNERS + 1) / 2);
        cr_expect_eq(reached->square, count * OWNERS * 0.5);
    }
    seen.applied_before = seen.applied;
    seen.cut[seen.span] = reached->cut;
    seen.reached[seen.span++] = reached->batch;
    return go(actor, error);
}

/* After a halt: what is in flight is applied, a batch a tick. */
static skn_status_t
tick(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    seen.hold = 1;
    if (seen.applied < seen.issued)
        status = apply(actor, error);
    return status == SKN_OK && seen.applied < seen.issued
               ? skn_actor_ask_clock(actor, 0, error)
               : status;
}

static void
set_up(void)
{
    static const char *const to[] = { "go", "halt", "applied" };
    static const char *const from[] = { "batch", "labels", "reached", "halt" };
    static char owners[8], rows[8], features[8], labels[8];
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/points.txt", folder);
    write_points();
    probe.kind = &skn_source;
    probe.react = react;
    probe.start = go;
    probe.tick = tick;
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    (void)snprintf(owners, sizeof(owners), "%d", OWNERS);
    (void)snprintf(rows, sizeof(rows), "%d", BATCH_ROWS);
    (void)snprintf(features, sizeof(features), "%d", FEATURES);
    (void)snprintf(labels, sizeof(labels), "%d", LABELS);
    probe_option("train", file);
    probe_option("cache", "none");
    probe_option("features", features);
    probe_option("labels", labels);
    probe_option("batch_rows", rows);
    probe_option("owners", owners);
    seen.hold = 1;
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(source, .init = set_up, .fini = tear_down, .timeout = 60);

static void
span(uint64_t first, uint64_t end, uint32_t purpose)
{
    seen.bound[seen.spans][0] = first;
    seen.bound[seen.spans][1] = end;
    seen.purpose[seen.spans++] = purpose;
}

#define POINT_BATCHES ((POINTS + BATCH_ROWS - 1) / BATCH_ROWS)
/* 54 points with labels make 7 batches of 8, the last of 6. */
#define EPOCH_BATCHES 7

/* How often each point was seen in batches [first, end). */
static void
count_points(uint32_t first, uint32_t end, uint32_t *count)
{
    memset(count, 0, POINTS * sizeof(*count));
    for (uint32_t k = first; k < end; k++)
        for (uint32_t i = 0; i < seen.rows[k]; i++)
            count[seen.point[k][i]]++;
}

Test(source, each_labelled_point_comes_once_an_epoch)
{
    uint32_t count[POINTS];
    span(0, 2 * EPOCH_BATCHES, SKN_PURPOSE_TRAIN);
    probe_run_well();
    cr_assert_eq(seen.batches, 2 * EPOCH_BATCHES);
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        count_points(epoch * EPOCH_BATCHES, (epoch + 1) * EPOCH_BATCHES, count);
        for (int k = 0; k < POINTS; k++)
            cr_expect_eq(count[k], unlabelled[k] ? 0 : 1, "point %d", k);
    }
    cr_expect_eq(seen.rows[EPOCH_BATCHES - 1], 6);
    cr_expect_neq(
        memcmp(seen.point[0], seen.point[EPOCH_BATCHES], sizeof(seen.point[0])),
        0);
}

Test(source, the_order_follows_from_the_seed)
{
    uint32_t first[BATCHES_MAX][BATCH_ROWS];
    static const char *const seeds[] = { "5", "5", "6" };
    for (int run = 0; run < 3; run++) {
        memcpy(first, seen.point, sizeof(first));
        memset(&seen, 0, sizeof(seen));
        seen.hold = 1;
        span(0, 3, SKN_PURPOSE_TRAIN);
        probe_option("seed", seeds[run]);
        probe_run_well();
        if (run > 0)
            cr_expect_eq(memcmp(first, seen.point, sizeof(first)) == 0,
                         run == 1);
    }
}

Test(source, a_resumed_epoch_continues_in_the_same_order)
{
    uint32_t whole[BATCHES_MAX][BATCH_ROWS];
    span(0, EPOCH_BATCHES + 3, SKN_PURPOSE_TRAIN);
    probe_run_well();
    memcpy(whole, seen.point, sizeof(whole));
    memset(&seen, 0, sizeof(seen));
    seen.hold = 1;
    span(5, EPOCH_BATCHES + 3, SKN_PURPOSE_TRAIN);
    probe_run_well();
    cr_assert_eq(seen.batches, 5);
    for (uint32_t k = 0; k < 5; k++)
        for (uint32_t i = 0; i < seen.rows[k]; i++)
            cr_expect_eq(seen.point[k][i], whole[k + 5][i]);
}

Test(source, the_window_is_filled_and_never_exceeded)
{
    static const char *const windows[] = { "1", "3", "5" };
    static const uint32_t sizes[] = { 1, 3, 5 };
    for (int k = 0; k < 3; k++) {
        memset(&seen, 0, sizeof(seen));
        seen.hold = sizes[k];
        span(0, 17, SKN_PURPOSE_TRAIN);
        probe_option("window", windows[k]);
        probe_run_well();
        cr_expect_eq(seen.in_flight_max, sizes[k]);
        cr_expect_eq(seen.reached[0], 17);
    }
}

Test(source, batches_know_the_markers_around_them)
{
    span(0, 4, SKN_PURPOSE_TRAIN);
    span(4, 9, SKN_PURPOSE_TRAIN);
    probe_run_well();
    cr_assert_eq(seen.batches, 9);
    for (uint32_t k = 0; k < 9; k++) {
        cr_expect_eq(seen.floor[k], k < 4 ? 0 : 4);
        cr_expect_eq(seen.horizon[k], k < 4 ? 3 : 8);
    }
}

Test(source, validation_points_are_held_back)
{
    uint32_t trained[POINTS], looked_at[POINTS], held_back = 0;
    skn_error_t error = { 0 };
    skn_dataset_t *dataset;
    skn_split_t split;
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    cr_assert_eq(skn_dataset_open(file, &options, &dataset, &error), SKN_OK);
    cr_assert_eq(skn_split_init(&split, dataset, 0.25, 1, &error), SKN_OK);
    uint64_t batches = skn_split_batches(split.train_count, BATCH_ROWS);
    skn_dataset_close(&dataset);
    probe_option("validate", "0.25");
    span(0, batches, SKN_PURPOSE_TRAIN);
    span(0, 0, SKN_PURPOSE_VALIDATE);
    probe_run_well();
    count_points(0, (uint32_t)batches, trained);
    count_points((uint32_t)batches, seen.batches, looked_at);
    for (int k = 0; k < POINTS; k++) {
        cr_expect_eq(trained[k] + looked_at[k], unlabelled[k] ? 0 : 1);
        held_back += looked_at[k];
    }
    cr_expect_eq(held_back, split.validate_count);
    cr_expect_gt(held_back, 0);
    cr_expect_eq(seen.floor[batches], batches); /* all of them are applied */
    skn_split_fini(&split);
}

Test(source, test_points_come_as_they_stand_in_the_file)
{
    uint32_t at = 0;
    probe_option("test", file);
    span(0, 0, SKN_PURPOSE_TEST);
    probe_run_well();
    for (uint32_t k = 0; k < seen.batches; k++)
        for (uint32_t i = 0; i < seen.rows[k]; i++, at++)
            cr_expect_eq(seen.point[k][i], unlabelled[at] ? UINT32_MAX : at);
    cr_expect_eq(at, POINTS); /* those without labels too */
}

Test(source, test_rows_limits_an_evaluation)
{
    probe_option("test", file);
    probe_option("test_rows", "11");
    span(0, 0, SKN_PURPOSE_TEST);
    probe_run_well();
    cr_assert_eq(seen.batches, 2);
    cr_expect_eq(seen.rows[0] + seen.rows[1], 11);
    cr_expect_eq(seen.reached[0], 2);
}

Test(source, a_halt_lets_the_window_run_empty)
{
    seen.hold = 100; /* nothing is applied before the halt */
    seen.halt_at = 2;
    probe_option("window", "3");
    span(0, 40, SKN_PURPOSE_TRAIN);
    probe_run_well();
    cr_expect_geq(seen.batches, 3);
    cr_expect_lt(seen.batches, 40);
    cr_expect_eq(seen.reached[0], seen.batches);
    cr_expect_eq(seen.halt_told, seen.batches - 1);
}

/* The test points are 8 batches, in a window of 1: the next one is not issued
 * before the stop has come. */
static void
expect_of_stopped_pass(uint32_t batches, bool cut)
{
    probe_option("test", file);
    seen.stop_at = 2;
    span(0, 0, SKN_PURPOSE_TEST);
    probe_run_well();
    cr_expect_eq(seen.batches, batches);
    cr_expect_eq(seen.reached[0], batches);
    cr_expect_eq(seen.cut[0], cut);
}

Test(source, a_stop_ends_an_evaluation_where_it_is)
{
    expect_of_stopped_pass(3, true);
}

Test(source, a_stop_at_the_last_batch_of_an_evaluation_cuts_nothing)
{
    probe_option("test_rows", "24");
    expect_of_stopped_pass(3, false);
}

Test(source, a_prediction_is_not_cut)
{
    probe_option("questions", "true");
    expect_of_stopped_pass(POINT_BATCHES, false);
}

Test(source, an_evaluation_after_the_stop_issues_nothing)
{
    probe_option("test", file);
    seen.stop_at = 2;
    span(0, 4, SKN_PURPOSE_TRAIN);
    span(0, 0, SKN_PURPOSE_TEST);
    probe_run_well();
    cr_expect_eq(seen.reached[0], 4, "a span of training ends by a halt");
    cr_expect_eq(seen.cut[0], 0);
    cr_expect_eq(seen.reached[1], 0);
    cr_expect_eq(seen.cut[1], 1);
}

/* The course sends it before it hears that the span has ended. */
Test(source, a_halt_of_the_span_before_is_too_late)
{
    seen.hold = 1;
    seen.halt_at = 5;
    seen.halt_of = 3;
    probe_option("window", "3");
    span(0, 4, SKN_PURPOSE_TRAIN);
    span(4, 12, SKN_PURPOSE_TRAIN);
    probe_run_well();
    cr_expect_eq(seen.reached[0], 4);
    cr_expect_eq(seen.reached[1], 12);
    cr_expect_eq(seen.halt_told, 0);
}

static skn_status_t
start_with_nonsense(skn_actor_t *actor, skn_error_t *error)
{
    skn_applied_t applied = { .batch = 3 };
    skn_actor_finish(actor);
    return skn_actor_send(actor, &skn_applied_schema, &applied, error);
}

/* --- credits that the first layer returns --------------------------------- */

#define OWING_WINDOW 3
#define OWING_BATCHES 17
static uint32_t out[OWNERS], out_max[OWNERS]; /* not applied, by layer */
static uint32_t owing_issued;

static skn_status_t
apply_in(skn_actor_t *actor, uint32_t layer, skn_error_t *error)
{
    skn_applied_t applied = { .batch = owing_issued - out[layer]--,
                              .layer = layer,
                              .shard = layer };
    return skn_actor_send(actor, &skn_applied_schema, &applied, error);
}

/* The first layer applies when the window is full, the second one when no more
 * batches can be issued before it does. */
static skn_status_t
owe(skn_actor_t *actor, skn_error_t *error)
{
    bool is_end = owing_issued == OWING_BATCHES;
    skn_status_t status = SKN_OK;
    if (out[0] > 0 && (is_end || out[0] == OWING_WINDOW))
        status = apply_in(actor, 0, error);
    else if (out[1] > 0 && (is_end || out[1] == 2 * OWING_WINDOW - 1))
        status = apply_in(actor, 1, error);
    return status == SKN_OK && (!is_end || out[1] > 0)
               ? skn_actor_ask_clock(actor, 0, error)
               : status;
}

static skn_status_t
react_owing(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
            skn_error_t *error)
{
    (void)message;
    seen.span += schema == &skn_reached_schema;
    if (schema != &skn_batch_schema)
        return seen.span == seen.spans ? go(actor, error) : SKN_OK;
    for (uint32_t k = 0; k < OWNERS; k++)
        out_max[k] = ++out[k] > out_max[k] ? out[k] : out_max[k];
    return owing_issued++ == 0 ? skn_actor_ask_clock(actor, 0, error) : SKN_OK;
}

Test(source, a_layer_may_owe_a_window_when_the_first_one_returns_credits)
{
    probe.react = react_owing;
    probe.tick = owe;
    probe_option("window", "5");
    probe_option("ahead", "3");
    span(0, OWING_BATCHES, SKN_PURPOSE_TRAIN);
    probe_run_well();
    cr_expect_eq(owing_issued, OWING_BATCHES);
    cr_expect_eq(out_max[0], OWING_WINDOW);
    cr_expect_eq(out_max[1], 2 * OWING_WINDOW - 1);
}

static skn_status_t
apply_twice(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
            skn_error_t *error)
{
    skn_applied_t applied = { .batch = 0, .layer = 0 };
    (void)message;
    if (schema != &skn_batch_schema)
        return SKN_OK;
    skn_status_t status =
        skn_actor_send(actor, &skn_applied_schema, &applied, error);
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_applied_schema, &applied, error)
               : status;
}

Test(source, a_batch_that_the_first_layer_applied_twice_is_refused)
{
    probe.react = apply_twice;
    probe_option("window", "1");
    probe_option("ahead", "1");
    span(0, 1, SKN_PURPOSE_TRAIN);
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text, "batch 0 was applied more than 1 time"),
              "%s", probe.error.text);
}

Test(source, the_first_layer_has_no_more_owners_than_all)
{
    probe_option("first_owners", "3");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
}

Test(source, a_batch_that_is_not_in_flight_is_refused)
{
    probe.start = start_with_nonsense;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text,
                     "batch 3 was reported applied but is not in flight"),
              "%s", probe.error.text);
}

Test(source, a_missing_file_is_named)
{
    probe_option("train", "/nowhere/points.txt");
    probe_run();
    cr_expect_eq(probe.status, SKN_NO_INPUT);
    cr_expect(strstr(probe.error.text, "/nowhere/points.txt"), "%s",
              probe.error.text);
}
