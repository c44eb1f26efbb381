/* test_course.c - tests the course of a run against a probe that plays source,
 * output, evaluator and keeper at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/actors/course/course_probe.h"

TestSuite(course, .init = set_up, .timeout = 60);

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
