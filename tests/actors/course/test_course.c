/* test_course.c - tests the course of a run against a probe that plays source,
 * output, evaluator and keeper at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>

#include "formats/checkpoint/checkpoint.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

#define ROWS 10
#define SPANS_MAX 64

/* What the probe saw, and how it answers. */
static struct {
    struct {
        uint64_t first, end;
    } span[SPANS_MAX];
    size_t span_count;
    struct {
        uint64_t batch;
        uint32_t best, hash;
        char metadata[4096];
    } save[SPANS_MAX];
    size_t save_count;
    uint32_t passes[SKN_PURPOSE_COUNT];
    double validation[SPANS_MAX]; /* P@1 of pass k */
    uint64_t stop_at; /* the host stops the run in the span of this batch */
    skn_go_t stopped_span;
    uint64_t save_at;   /* the host requests a checkpoint in that span */
    size_t save_late;   /* and this often while the first one is written */
    bool save_fails;    /* which then fails */
    uint64_t halted_at; /* batches trained when told to halt */
    uint32_t halts;
    double changed[SPANS_MAX]; /* of span k, of a square of 100 */
    bool finished;
} seen;

static skn_status_t
train(skn_actor_t *actor, const skn_go_t *go, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    if (go->first < seen.stop_at && seen.stop_at <= go->end &&
        !skn_actor_stop_wanted(actor)) {
        skn_topology_stop(probe.topology);
        seen.stopped_span = *go;
        return skn_actor_ask_clock(actor, 0, error);
    }
    if (go->first < seen.save_at && seen.save_at <= go->end)
        skn_topology_save(probe.topology);
    uint64_t end = go->end < go->first + 20 ? go->end : go->first + 20;
    seen.span[seen.span_count].first = go->first;
    seen.span[seen.span_count++].end = end;
    for (uint64_t t = go->first; t < end && status == SKN_OK; t++)
        for (uint32_t shard = 0; shard < 2 && status == SKN_OK; shard++) {
            skn_result_t result = { .batch = t,
                                    .shard = shard,
                                    .rows = ROWS,
                                    .loss = 5.0 * (double)(t + 1),
                                    .active = 30,
                                    .owned = 12,
                                    .distinct = 4 + t % 2,
                                    .listed = 8,
                                    .capped = 1,
                                    .mass = t % 5 == 0 ? 0.5 : -1,
                                    .recall = t % 5 == 0 ? 0.25 : -1 };
            status = skn_actor_send(actor, &skn_result_schema, &result, error);
        }
    double changed = seen.changed[seen.span_count - 1];
    skn_reached_t reached = { .batch = end,
                              .purpose = SKN_PURPOSE_TRAIN,
                              .changed = changed,
                              .square = changed < 0 ? 0 : 100 };
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_reached_schema, &reached, error)
               : status;
}

/* Until the wish to stop has come to this actor, and so to the other. */
static skn_status_t
tick(skn_actor_t *actor, skn_error_t *error)
{
    return skn_actor_stop_wanted(actor)
               ? train(actor, &seen.stopped_span, error)
               : skn_actor_ask_clock(actor, 0, error);
}

static skn_status_t
evaluate(skn_actor_t *actor, const skn_go_t *go, skn_error_t *error)
{
    uint32_t pass = seen.passes[go->purpose]++;
    double p1 = go->purpose == SKN_PURPOSE_VALIDATE ? seen.validation[pass]
                                                    : 0.25 + 0.125 * pass;
    skn_metrics_t metrics = { .purpose = go->purpose,
                              .rows = 7,
                              .p1 = p1,
                              .p3 = 0.2,
                              .p5 = 0.1,
                              .psp1 = 0.3,
                              .psp3 = 0.4,
                              .psp5 = 0.5,
                              .ndcg3 = 0.6,
                              .ndcg5 = 0.7 };
    skn_reached_t reached = { .batch = 1, .purpose = go->purpose };
    skn_status_t status =
        skn_actor_send(actor, &skn_metrics_schema, &metrics, error);
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_reached_schema, &reached, error)
               : status;
}

static skn_status_t
save(skn_actor_t *actor, const skn_save_t *save, skn_error_t *error)
{
    char path[64], sha256[65] = "";
    size_t k = seen.save_count++;
    seen.save[k].batch = save->batch;
    seen.save[k].best = save->best;
    seen.save[k].hash = save->hash;
    (void)snprintf(seen.save[k].metadata, sizeof(seen.save[k].metadata), "%s",
                   (const char *)save->metadata.at);
    cr_assert_eq(save->metadata.at[save->metadata.count - 1], '\0');
    (void)snprintf(path, sizeof(path), "runs/\"x\"/%u", (unsigned)save->batch);
    if (save->hash)
        (void)snprintf(sha256, sizeof(sha256), "%064x", (unsigned)save->batch);
    for (size_t late = k == 0 ? seen.save_late : 0; late > 0; late--)
        skn_topology_save(probe.topology);
    skn_saved_t saved = { .batch = save->batch,
                          .path = k == 0 && seen.save_fails ? "" : path,
                          .weights_sha256 = sha256 };
    return skn_actor_send(actor, &skn_saved_schema, &saved, error);
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_save_schema)
        return save(actor, message, error);
    if (schema == &skn_halt_schema) {
        seen.halted_at = seen.span[seen.span_count - 1].end;
        seen.halts++;
        return SKN_OK;
    }
    const skn_go_t *go = message;
    if (go->purpose == SKN_PURPOSE_TRAIN)
        return train(actor, go, error);
    if (go->purpose != SKN_GO_FINISH)
        return evaluate(actor, go, error);
    seen.finished = true;
    skn_actor_finish(actor);
    return SKN_OK;
}

static void
set_up(void)
{
    static const char *const to[] = { "result", "reached", "metrics", "saved" };
    static const char *const from[] = { "go", "halt", "save" };
    probe.kind = &skn_course;
    probe.react = react;
    probe.tick = tick;
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    probe_option("batches_per_epoch", "10");
    probe_option("epochs", "3");
    probe_option("shards", "2");
}

TestSuite(course, .init = set_up, .timeout = 60);

static void
expect_spans(size_t count, const uint64_t *bounds)
{
    cr_expect_eq(seen.span_count, count);
    for (size_t k = 0; k < seen.span_count && k < count; k++) {
        cr_expect_eq(seen.span[k].first, bounds[k]);
        cr_expect_eq(seen.span[k].end, bounds[k + 1]);
    }
}

/* Event `k` of that name; the caller lets it go. */
static json_t *
event(const char *name, size_t k)
{
    char copy[PROBE_EVENTS_BYTES], *rest = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", probe.events);
    for (char *line = strtok_r(copy, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        cr_assert(object, "%s", line);
        const char *is = json_string_value(json_object_get(object, "event"));
        if (strcmp(is, name) == 0 && k-- == 0)
            return object;
        json_decref(object);
    }
    cr_assert_fail("no event %s in %s", name, probe.events);
    return NULL;
}

static double
number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

Test(course, a_span_is_an_epoch_where_nothing_else_is_due)
{
    static const uint64_t bounds[] = { 0, 10, 20, 30 };
    probe_run_well();
    expect_spans(3, bounds);
    cr_expect(seen.finished);
    cr_expect_eq(seen.passes[SKN_PURPOSE_VALIDATE], 0);
    cr_expect_eq(seen.passes[SKN_PURPOSE_TEST], 0);
    cr_expect_eq(probe_told("\"event\":\"epoch\""), 3);
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
}

Test(course, a_span_ends_where_a_checkpoint_is_due)
{
    static const uint64_t bounds[] = { 0, 4, 8, 10, 12, 16, 20, 24, 28, 30 };
    static const uint64_t saves[] = { 4, 8, 12, 16, 20, 24, 28, 30 };
    probe_option("every_batches", "4");
    probe_run_well();
    expect_spans(9, bounds);
    cr_assert_eq(seen.save_count, 8);
    for (size_t k = 0; k < 8; k++) {
        cr_expect_eq(seen.save[k].batch, saves[k]);
        cr_expect_eq(seen.save[k].hash, saves[k] == 30);
        cr_expect_eq(seen.save[k].best, 0);
    }
    cr_expect_eq(probe_told("\"event\":\"checkpoint\""), 8);
}

Test(course, checkpoints_come_by_epochs)
{
    probe_option("epochs", "5");
    probe_option("every_epochs", "2");
    probe_run_well();
    cr_assert_eq(seen.save_count, 3);
    cr_expect_eq(seen.save[0].batch, 20);
    cr_expect_eq(seen.save[1].batch, 40);
    cr_expect_eq(seen.save[2].batch, 50);
}

Test(course, max_batches_cuts_the_last_epoch_short)
{
    static const uint64_t bounds[] = { 0, 10, 13 };
    probe_option("max_batches", "13");
    probe_run_well();
    expect_spans(2, bounds);
    json_t *done = event("done", 0);
    cr_expect_eq(number(done, "epochs"), 2);
    cr_expect_eq(number(done, "batches"), 13);
    json_decref(done);
}

Test(course, an_epoch_event_keeps_the_contract)
{
    static const char *const keys[] = { "epoch",
                                        "batches",
                                        "seconds",
                                        "cpu_seconds",
                                        "examples_per_s",
                                        "loss",
                                        "p1",
                                        "p3",
                                        "p5",
                                        "psp1",
                                        "psp3",
                                        "psp5",
                                        "active_fraction",
                                        "distinct_rows",
                                        "capped_fraction",
                                        "sampler_mass",
                                        "sampler_recall",
                                        "rss_mb" };
    probe_option("tests", "true");
    probe_run_well();
    json_t *epoch = event("epoch", 1);
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
        cr_expect_geq(number(epoch, keys[k]), 0, "%s", keys[k]);
    cr_expect_eq(number(epoch, "epoch"), 2);
    cr_expect_eq(number(epoch, "batches"), 20);
    cr_expect_eq(number(epoch, "p1"), 0.375);
    cr_expect_eq(number(epoch, "psp5"), 0.5);
    /* Batches 10 .. 19 of 10 samples; two shards say 5 (t + 1) each. */
    cr_expect_float_eq(number(epoch, "loss"), 15.5, 1e-6);
    cr_expect_float_eq(number(epoch, "active_fraction"), 0.25, 1e-6);
    cr_expect_float_eq(number(epoch, "distinct_rows"), 9.0, 1e-6);
    cr_expect_float_eq(number(epoch, "capped_fraction"), 0.125, 1e-6);
    cr_expect_float_eq(number(epoch, "sampler_mass"), 0.5, 1e-6);
    cr_expect_float_eq(number(epoch, "sampler_recall"), 0.25, 1e-6);
    cr_expect_gt(number(epoch, "rss_mb"), 1);
    json_decref(epoch);
}

Test(course, done_keeps_the_contract)
{
    static const char *const keys[] = { "epochs", "seconds", "cpu_seconds",
                                        "p1",     "p3",      "p5" };
    probe_option("tests", "true");
    probe_run_well();
    json_t *done = event("done", 0);
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
        cr_expect_geq(number(done, keys[k]), 0, "%s", keys[k]);
    cr_expect_eq(number(done, "p1"), 0.5);
    cr_expect_str_eq(
        json_string_value(json_object_get(done, "weights_sha256")),
        "000000000000000000000000000000000000000000000000000000000000001e");
    json_decref(done);
}

/* Spans of 5 batches, two an epoch: of the first nothing was measured; those
 * of the second say .02 of 100, then 0; the third says what is no number. */
Test(course, errors_of_codings_are_reported_and_warned_of_once)
{
    static const double changed[] = { -1, -1, 0.02, 0, NAN, INFINITY, 4, 9 };
    memcpy(seen.changed, changed, sizeof(changed));
    probe_option("every_batches", "5");
    probe_option("epochs", "4");
    probe_option("nodes", "2");
    probe_run_well();
    json_t *first = event("epoch", 0), *second = event("epoch", 1);
    json_t *third = event("epoch", 2), *fourth = event("epoch", 3);
    json_t *done = event("done", 0), *warning = event("warning", 0);
    cr_expect_null(json_object_get(first, "gradient_error"));
    cr_expect_float_eq(number(second, "gradient_error"),
                       sqrt(0.02 / (200 - 0.02)), 1e-5);
    cr_expect_null(json_object_get(third, "gradient_error"));
    cr_expect_float_eq(number(fourth, "gradient_error"), sqrt(13.0 / 187),
                       1e-4);
    cr_expect_float_eq(number(done, "gradient_error"), sqrt(13.0 / 187), 1e-4);
    cr_expect_eq(probe_told("\"event\":\"warning\""), 1);
    cr_expect_str_eq(json_string_value(json_object_get(warning, "message")),
                     "the coding of links changes the gradients of hidden "
                     "layers by 20.4% (batch 35)");
    json_t *all[] = { first, second, third, fourth, done, warning };
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
        json_decref(all[k]);
}

Test(course, a_checkpoint_event_escapes_its_path)
{
    probe_run_well();
    json_t *checkpoint = event("checkpoint", 0);
    cr_expect_str_eq(json_string_value(json_object_get(checkpoint, "path")),
                     "runs/\"x\"/30");
    cr_expect_eq(number(checkpoint, "batch"), 30);
    json_decref(checkpoint);
}

Test(course, evaluation_waits_for_its_turn)
{
    probe_option("tests", "true");
    probe_option("epochs", "5");
    probe_option("evaluate_every", "2");
    probe_run_well();
    cr_expect_eq(seen.passes[SKN_PURPOSE_TEST], 3); /* after 2, 4 and 5 */
    json_t *third = event("epoch", 2), *fourth = event("epoch", 3);
    cr_expect_null(json_object_get(third, "p1"));
    cr_expect_eq(number(fourth, "p1"), 0.375);
    json_decref(third);
    json_decref(fourth);
}

Test(course, without_turns_only_the_end_is_evaluated)
{
    probe_option("tests", "true");
    probe_option("evaluate_every", "0");
    probe_run_well();
    cr_expect_eq(seen.passes[SKN_PURPOSE_TEST], 1);
}

Test(course, patience_ends_the_run_after_the_best_epoch)
{
    static const double p1[] = { 0.1, 0.5, 0.4, 0.5, 0.9 };
    memcpy(seen.validation, p1, sizeof(p1));
    probe_option("epochs", "9");
    probe_option("validates", "true");
    probe_option("tests", "true");
    probe_option("patience", "2");
    probe_run_well();
    cr_expect_eq(seen.span_count, 4); /* the third and fourth were no better */
    json_t *done = event("done", 0);
    cr_expect_str_eq(json_string_value(json_object_get(done, "model")), "best");
    cr_expect_eq(number(done, "best_epoch"), 2);
    cr_expect_eq(number(done, "validate_p1"), 0.5);
    cr_expect_eq(number(done, "p1"), 0.375); /* of the test, then */
    cr_expect_eq(number(done, "epochs"), 4);
    cr_expect_str_eq(
        json_string_value(json_object_get(done, "weights_sha256")),
        "0000000000000000000000000000000000000000000000000000000000000014");
    json_decref(done);
    cr_assert_eq(seen.save_count, 3); /* best, best, last */
    cr_expect_eq(seen.save[0].best, 1);
    cr_expect_eq(seen.save[1].best, 1);
    cr_expect_eq(seen.save[1].batch, 20);
    cr_expect_eq(seen.save[2].best, 0);
}

Test(course, validation_is_reported_beside_the_test)
{
    seen.validation[0] = 0.75;
    probe_option("epochs", "1");
    probe_option("validates", "true");
    probe_option("tests", "true");
    probe_run_well();
    json_t *epoch = event("epoch", 0);
    cr_expect_eq(number(epoch, "p1"), 0.25);
    cr_expect_eq(number(epoch, "validate_p1"), 0.75);
    json_decref(epoch);
}

Test(course, a_wish_to_stop_far_from_a_marker_halts_the_span)
{
    seen.stop_at = 3;
    probe_option("batches_per_epoch", "1000000000000");
    probe_run_well();
    cr_expect_eq(probe_told("\"event\":\"done\""), 0);
    cr_expect_eq(probe_told("\"event\":\"epoch\""), 0);
    cr_expect_eq(seen.halted_at, 20);
    cr_assert_eq(seen.save_count, 1);
    cr_expect_eq(seen.save[0].batch, 20);
}

Test(course, a_wish_to_stop_in_a_short_first_span_waits_for_its_end)
{
    seen.stop_at = 3;
    probe_run_well();
    cr_expect_eq(seen.halted_at, 0);
    cr_assert_eq(seen.save_count, 1);
    cr_expect_eq(seen.save[0].batch, 10);
}

Test(course, a_wish_to_stop_near_a_marker_saves_there_and_ends)
{
    seen.stop_at = 13;
    probe_run_well();
    cr_expect_eq(probe_told("\"event\":\"done\""), 0);
    cr_expect_eq(probe_told("\"event\":\"epoch\""), 1);
    json_t *stopped = event("stopped", 0);
    cr_expect_eq(number(stopped, "batch"), 20); /* where the probe stood */
    json_decref(stopped);
    cr_assert_eq(seen.save_count, 1);
    cr_expect_eq(seen.save[0].batch, 20);
    cr_expect_eq(seen.halted_at, 0); /* a span takes less than 2 seconds */
    json_t *metadata = json_loads(seen.save[0].metadata, 0, NULL);
    cr_assert(metadata);
    cr_expect(json_is_false(json_object_get(metadata, "finished")));
    json_decref(metadata);
}

/* Checkpoints are written at batch 20, where the probe stands, and at the end:
 * training goes on from the one that was requested. */
static void
expect_saved_on_demand(void)
{
    static const uint64_t bounds[] = { 0, 20, 40 };
    seen.save_at = 3;
    probe_option("batches_per_epoch", "40");
    probe_option("epochs", "1");
    probe_run_well();
    expect_spans(2, bounds);
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
    cr_expect_eq(probe_told("\"event\":\"stopped\""), 0);
    cr_expect_eq(probe_told("\"event\":\"checkpoint\""), 2);
    cr_assert_eq(seen.save_count, 2);
    cr_expect_eq(seen.save[0].batch, 20);
    cr_expect_eq(seen.save[1].batch, 40);
    json_t *metadata = json_loads(seen.save[0].metadata, 0, NULL);
    cr_expect(json_is_false(json_object_get(metadata, "finished")));
    cr_expect_eq(number(metadata, "epoch"), 0);
    json_decref(metadata);
}

Test(course, a_checkpoint_that_is_requested_near_a_marker_waits_for_it)
{
    expect_saved_on_demand();
    cr_expect_eq(seen.halts, 0);
}

Test(course, a_checkpoint_that_is_requested_far_from_a_marker_halts_the_span)
{
    probe_option("patience_s", "0");
    expect_saved_on_demand();
    cr_expect_eq(seen.halts, 1);
    cr_expect_eq(seen.halted_at, 20);
}

Test(course, a_request_for_a_checkpoint_is_met_by_one_that_is_due)
{
    seen.save_at = 3;
    probe_option("every_epochs", "1");
    probe_run_well();
    cr_expect_eq(seen.save_count, 3);
    cr_expect_eq(seen.halts, 0);
}

/* The answers of the checkpoints: `first` and `second`; 0: no member. */
static void
expect_answers(double first, double second)
{
    const double want[] = { first, second };
    for (size_t k = 0; k < 2; k++) {
        json_t *checkpoint = event("checkpoint", k);
        cr_expect_eq(json_number_value(json_object_get(checkpoint, "answers")),
                     want[k]);
        json_decref(checkpoint);
    }
}

Test(course, a_checkpoint_answers_what_was_requested_while_it_is_written)
{
    seen.save_at = 3;
    seen.save_late = 2;
    probe_option("every_epochs", "1");
    probe_run_well();
    cr_expect_eq(seen.save_count, 3);
    expect_answers(3, 0);
}

Test(course, the_last_checkpoint_answers_what_was_requested_while_it_is_written)
{
    seen.save_late = 1;
    probe_option("epochs", "1");
    probe_run_well();
    cr_expect_eq(seen.save_count, 1);
    cr_expect_eq(probe_told("\"answers\":1"), 1);
}

Test(course, requests_that_a_failed_checkpoint_left_are_answered_by_the_next)
{
    seen.save_at = 3;
    seen.save_fails = true;
    probe_option("every_epochs", "1");
    probe_run_well();
    cr_expect_eq(seen.save_count, 3);
    expect_answers(1, 0);
}

Test(course, metadata_holds_progress_and_history)
{
    probe_option("every_batches", "15");
    probe_run_well();
    json_t *metadata = json_loads(seen.save[0].metadata, 0, NULL);
    cr_assert(metadata);
    cr_expect_eq(number(metadata, "batch"), 15);
    cr_expect_eq(number(metadata, "epoch"), 1);
    cr_expect_eq(number(metadata, "loss_rows"), 50);
    cr_expect_eq(json_array_size(json_object_get(metadata, "history")), 1);
    cr_expect(json_is_false(json_object_get(metadata, "finished")));
    json_decref(metadata);
    metadata = json_loads(seen.save[1].metadata, 0, NULL);
    cr_expect(json_is_true(json_object_get(metadata, "finished")));
    cr_expect_eq(json_array_size(json_object_get(metadata, "history")), 3);
    json_decref(metadata);
}

Test(course, without_a_keeper_the_run_continues)
{
    probe.from[2] = NULL; /* nobody takes `save` */
    probe.to[3] = NULL;
    probe_option("every_batches", "5");
    probe_run_well();
    cr_expect_eq(seen.save_count, 0);
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
}

/* A checkpoint of one tensor whose metadata are those of a save. */
static void
write_checkpoint(const char *folder, const char *metadata, char *path)
{
    static const float weight[4] = { 1, 2, 3, 4 };
    skn_error_t error = { 0 }, warning = { 0 };
    skn_run_options_t options = { .config_text = "x" };
    skn_piece_t piece = { .dtype = SKN_DTYPE_F32,
                          .dims = 1,
                          .rows = 4,
                          .columns = 1,
                          .global_rows = 4,
                          .global_columns = 1,
                          .name = "a.weight" };
    skn_run_folder_t *run = skn_run_folder_open(folder, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 15, 0, &error);
    cr_assert(writer, "%s", error.text);
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, "a.safetensors", &piece, 1, &error);
    cr_assert(shard, "%s", error.text);
    cr_assert_eq(
        skn_checkpoint_shard_write(shard, 0, 0, weight, sizeof(weight), &error),
        SKN_OK);
    cr_assert_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_finish(&writer, metadata, 3, &warning, &error),
                 SKN_OK, "%s", error.text);
    skn_run_folder_close(&run);
    (void)snprintf(path, SKN_TEXT_MAX, "%s", folder);
}

Test(course, a_resume_continues_in_the_middle_of_an_epoch)
{
    static const uint64_t bounds[] = { 15, 20, 30 };
    static char path[SKN_TEXT_MAX];
    char folder[TEMP_FOLDER_BYTES], run[TEMP_FOLDER_BYTES + 8];
    temp_folder_make(folder);
    (void)snprintf(run, sizeof(run), "%s/run", folder);
    probe_option("every_batches", "15");
    probe_run_well();
    write_checkpoint(run, seen.save[0].metadata, path);
    json_t *whole = event("epoch", 1);
    memset(&seen, 0, sizeof(seen));
    probe_option("every_batches", "0");
    probe_option("resume", path);
    probe_run_well();
    expect_spans(2, bounds);
    json_t *epoch = event("epoch", 0), *done = event("done", 0);
    cr_expect_eq(number(epoch, "epoch"), 2);
    cr_expect_eq(number(epoch, "loss"), number(whole, "loss"));
    cr_expect_geq(number(epoch, "seconds"), 0);
    cr_expect_eq(number(done, "epochs"), 3);
    json_t *last = json_loads(seen.save[seen.save_count - 1].metadata, 0, NULL);
    cr_expect_eq(json_array_size(json_object_get(last, "history")), 3);
    json_decref(last);
    json_decref(epoch);
    json_decref(done);
    json_decref(whole);
    temp_folder_remove(folder);
}

/* Runs with the options of the test, then resumes from its save `k`. */
static void
resume_from(size_t k, const char *folder)
{
    static char path[SKN_TEXT_MAX];
    char run[TEMP_FOLDER_BYTES + 8];
    (void)snprintf(run, sizeof(run), "%s/run", folder);
    probe_run_well();
    cr_assert_lt(k, seen.save_count);
    write_checkpoint(run, seen.save[k].metadata, path);
    memset(&seen, 0, sizeof(seen));
    probe_option("resume", path);
}

Test(course, an_epoch_that_a_stop_left_unreported_is_reported_at_the_resume)
{
    static const uint64_t bounds[] = { 20, 30 };
    char folder[TEMP_FOLDER_BYTES];
    temp_folder_make(folder);
    seen.stop_at = 13;
    probe_option("tests", "true");
    resume_from(0, folder);
    probe_run_well();
    expect_spans(1, bounds);
    cr_expect_eq(probe_told("\"event\":\"epoch\""), 2);
    json_t *second = event("epoch", 0);
    cr_expect_eq(number(second, "epoch"), 2);
    cr_expect_eq(number(second, "batches"), 20);
    cr_expect_eq(number(second, "p1"), 0.25);
    json_decref(second);
    temp_folder_remove(folder);
}

Test(course, a_resume_behind_the_end_saves_and_ends)
{
    char folder[TEMP_FOLDER_BYTES];
    temp_folder_make(folder);
    probe_option("every_batches", "15");
    resume_from(0, folder);
    probe_option("max_batches", "12");
    probe_run_well();
    cr_expect_eq(seen.span_count, 0);
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
    cr_assert_eq(seen.save_count, 1);
    cr_expect_eq(seen.save[0].batch, 15);
    temp_folder_remove(folder);
}

Test(course, a_resume_without_its_checkpoint_is_refused)
{
    probe_option("resume", "/nowhere/at/all");
    probe_run();
    cr_expect_neq(probe.status, SKN_OK);
    cr_expect(strstr(probe.error.text, "/nowhere/at/all"), "%s",
              probe.error.text);
}

static skn_status_t
give_the_word(skn_actor_t *actor, skn_error_t *error)
{
    skn_saved_t saved = { .path = "", .weights_sha256 = "" };
    cr_expect_eq(seen.span_count, 0);
    return skn_actor_send(actor, &skn_saved_schema, &saved, error);
}

/* The word would be refused by a course that did not wait for it. */
Test(course, it_begins_when_all_owners_have_their_state)
{
    static const uint64_t bounds[] = { 0, 10, 20, 30 };
    probe_option("restores", "true");
    probe.start = give_the_word;
    probe_run_well();
    expect_spans(3, bounds);
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
}

/* What it goes on from is saved again, and only then the next span begins: with
 * the same course as if it had not been. */
Test(course, what_a_new_generation_continues_from_is_saved_at_once)
{
    static const uint64_t bounds[] = { 15, 20, 30 };
    char folder[TEMP_FOLDER_BYTES];
    temp_folder_make(folder);
    probe_option("every_batches", "15");
    resume_from(0, folder);
    probe_option("every_batches", "0");
    probe_option("restores", "true");
    probe_option("resaves", "true");
    probe.start = give_the_word;
    probe_run_well();
    expect_spans(2, bounds);
    cr_assert_eq(seen.save_count, 2, "at 15, and at the end");
    cr_expect_eq(seen.save[0].batch, 15);
    cr_expect_eq(seen.save[0].hash, 0);
    cr_expect(strstr(seen.save[0].metadata, "\"finished\":false"), "%s",
              seen.save[0].metadata);
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
    temp_folder_remove(folder);
}

Test(course, at_the_end_of_a_run_it_is_saved_once)
{
    char folder[TEMP_FOLDER_BYTES];
    temp_folder_make(folder);
    probe_option("every_batches", "15");
    resume_from(1, folder);
    probe_option("restores", "true");
    probe_option("resaves", "true");
    probe.start = give_the_word;
    probe_run_well();
    cr_expect_eq(seen.span_count, 0);
    cr_assert_eq(seen.save_count, 1);
    cr_expect_eq(seen.save[0].hash, 1);
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
    temp_folder_remove(folder);
}

Test(course, a_prediction_is_one_pass_and_trains_nothing)
{
    probe_option("predicts", "true");
    probe_run_well();
    cr_expect_eq(seen.span_count, 0);
    cr_expect_eq(seen.passes[SKN_PURPOSE_TEST], 1);
    cr_expect_eq(seen.passes[SKN_PURPOSE_VALIDATE], 0);
    cr_expect_eq(seen.save_count, 0);
    cr_expect(seen.finished);
    cr_expect_eq(probe_told("\"event\":\"done\""), 0);
}
