/* test_course_stops.c - tests that the course of a run ends when it is to stop,
 * and that the resumed run makes up for what the stop has left.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/actors/course/course_probe.h"

TestSuite(course_stops, .init = set_up, .timeout = 60);

Test(course_stops, a_wish_to_stop_far_from_a_marker_halts_the_span)
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

Test(course_stops, a_wish_to_stop_in_a_short_first_span_waits_for_its_end)
{
    seen.stop_at = 3;
    probe_run_well();
    cr_expect_eq(seen.halted_at, 0);
    cr_assert_eq(seen.save_count, 1);
    cr_expect_eq(seen.save[0].batch, 10);
}

Test(course_stops, a_wish_to_stop_near_a_marker_saves_there_and_ends)
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

Test(course_stops,
     an_epoch_that_a_stop_left_unreported_is_reported_at_the_resume)
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

/* Runs to the stop, which cuts an evaluation at `batch`; then on to the end. */
static void
stop_and_resume(uint64_t batch)
{
    char folder[TEMP_FOLDER_BYTES];
    temp_folder_make(folder);
    resume_from(0, folder);
    json_t *stopped = event("stopped", 0);
    cr_expect_eq(number(stopped, "batch"), (double)batch);
    cr_expect_eq(number(stopped, "epoch"), (double)((batch - 1) / 10));
    json_decref(stopped);
    cr_expect_eq(probe_told("\"event\""), batch == 30 ? 4 : 2);
    cr_expect_eq(probe_told("\"event\":\"checkpoint\""), 1);
    cr_expect_eq(probe_told("\"event\":\"done\""), 0);
    probe_run_well();
    cr_expect_eq(probe_told("\"event\":\"done\""), 1);
    cr_expect_eq(probe_told("\"event\":\"stopped\""), 0);
    temp_folder_remove(folder);
}

Test(course_stops, a_stop_during_an_evaluation_reports_nothing_of_it)
{
    static const uint64_t bounds[] = { 10, 20, 30 };
    probe_option("tests", "true");
    seen.cut_pass = 1;
    stop_and_resume(10);
    expect_spans(2, bounds);
    cr_expect_eq(probe_told("\"event\":\"epoch\""), 3);
    cr_expect_eq(seen.passes[SKN_PURPOSE_TEST], 3);
}

/* The pass over the validation points before it is forgotten, too. */
Test(course_stops, a_stop_during_the_test_forgets_the_validation)
{
    static const double scores[] = { 0.5, 0.75, 0.25 };
    probe_option("validates", "true");
    probe_option("tests", "true");
    probe_option("patience", "5");
    seen.validation[0] = 0.875;
    seen.cut_pass = 2;
    memcpy(resumed_validation, scores, sizeof(scores));
    stop_and_resume(10);
    json_t *done = event("done", 0);
    cr_expect_eq(number(done, "best_epoch"), 2);
    cr_expect_eq(number(done, "validate_p1"), 0.75);
    json_decref(done);
}

Test(course_stops, a_stop_during_the_last_evaluation_leaves_it_to_the_resume)
{
    probe_option("tests", "true");
    seen.cut_pass = 3;
    stop_and_resume(30);
    cr_expect_eq(seen.span_count, 0);
    cr_expect_eq(probe_told("\"event\":\"epoch\""), 1);
    cr_expect_eq(seen.save[0].hash, 1);
}

/* Makes the course one of a text: 10 batches an epoch, and an evaluation after
 * every 5. */
static void
be_text(void)
{
    probe_option("validates", "true");
    probe_option("evaluate_batches", "5");
    probe_option("micro_tokens", "10");
}

/* The validation at batch 5 is made by the resumed run, with the loss of the
 * batches before it. */
static void
expect_validations(void)
{
    static const uint64_t bounds[] = { 5, 10, 15, 20, 25, 30 };
    expect_spans(5, bounds);
    cr_expect_eq(probe_told("\"event\":\"validation\""), 3);
    cr_expect_eq(probe_told("\"event\":\"epoch\""), 3);
    json_t *first = event("validation", 0);
    cr_expect_eq(number(first, "batch"), 5);
    cr_expect_eq(number(first, "recent_loss"), 3.0);
    json_decref(first);
    cr_expect(strstr(seen.save[0].metadata, "\"evaluation_due\":0"));
}

Test(course_stops,
     an_evaluation_within_an_epoch_that_a_stop_cut_is_made_at_the_resume)
{
    be_text();
    seen.cut_pass = 1;
    stop_and_resume(5);
    expect_validations();
}

Test(course_stops,
     an_evaluation_within_an_epoch_that_a_stop_left_is_made_at_the_resume)
{
    be_text();
    seen.stop_at = 3;
    stop_and_resume(5);
    expect_validations();
}
