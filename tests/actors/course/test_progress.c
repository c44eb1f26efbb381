/* test_progress.c - tests that progress is written as JSON and read back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "actors/course/progress.h"

static skn_progress_t
some_progress(void)
{
    skn_progress_t progress;
    skn_progress_init(&progress);
    progress.batch = UINT32_MAX + (uint64_t)7;
    progress.epoch = 12;
    progress.seconds = 1.0 / 3;
    progress.cpu_seconds = 1e-300;
    progress.loss = 2.5;
    progress.scores.p1 = 0.1;
    progress.scores.ndcg5 = 1.0 / 7;
    progress.best_epoch = 9;
    progress.best_p1 = 0.7;
    progress.best_nats = 1 / 9.0;
    progress.test_nats = 1 / 7.0;
    progress.best_scores.psp3 = 2.0 / 3;
    progress.stale_epochs = 3;
    progress.finished = true;
    progress.loss_sum = 123.456;
    progress.loss_rows = 1000;
    progress.active = 1;
    progress.possible = 2;
    progress.loss_batches = 17;
    progress.distinct = 4096;
    progress.measured = 3;
    progress.listed = 900;
    progress.capped = 11;
    progress.line_loss_sum = 1.0 / 11;
    progress.line_loss_rows = 300;
    progress.evaluation_due = 1;
    progress.mass_sum = 1.0 / 9;
    progress.recall_sum = 2.0 / 7;
    (void)snprintf(progress.best_sha256, sizeof(progress.best_sha256), "%064x",
                   0xabcu);
    return progress;
}

static skn_json_text_t
object_of(const skn_progress_t *progress, const char *more)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{");
    skn_progress_write(progress, &text);
    skn_json_text_add(&text, "%s}", more);
    cr_assert(!text.failed);
    return text;
}

Test(progress, a_loss_of_nothing_has_no_sign)
{
    skn_progress_t progress = some_progress();
    cr_expect_eq(skn_progress_loss(&progress), 0.123456);
    progress.loss_sum = -1e-5;
    cr_expect_eq(signbit(skn_progress_loss(&progress)), 0);
    cr_expect_eq(skn_progress_loss(&progress), 0.0);
    progress.loss_sum = -0.0;
    cr_expect_eq(signbit(skn_progress_loss(&progress)), 0);
    progress.loss_sum = -1;
    cr_expect_eq(skn_progress_loss(&progress), -0.001);
    progress.loss_rows = 0;
    cr_expect_eq(skn_progress_loss(&progress), 0.0);
}

Test(progress, recent_losses_are_those_since_the_last_line)
{
    skn_progress_t progress;
    skn_json_text_t text = { 0 };
    skn_progress_init(&progress);
    skn_progress_write_recent(&progress, &text);
    cr_expect_eq(text.count, 0, "nothing was counted");
    progress.batch_tokens = 8;
    progress.step_batches = 4;
    progress.steps = 30;
    progress.loss_sum = 40;
    progress.loss_rows = 10;
    skn_progress_new_line(&progress);
    progress.loss_sum += 6;
    progress.loss_rows += 3;
    skn_progress_write_recent(&progress, &text);
    skn_progress_write_steps(&progress, 5, &text);
    cr_expect_str_eq(text.bytes,
                     ",\"recent_loss\":2.000000,\"step\":2,\"steps\":30");
    skn_json_text_fini(&text);
    skn_progress_new_epoch(&progress);
    skn_progress_write_recent(&progress, &text);
    cr_expect_eq(text.count, 0, "an epoch begins a line");
}

Test(progress, comes_back_bit_for_bit)
{
    skn_progress_t want = some_progress(), got;
    skn_error_t error = { 0 };
    skn_json_text_t text = object_of(&want, "");
    cr_assert_eq(skn_progress_read(text.bytes, &got, NULL, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(got.batch, want.batch);
    cr_expect_eq(got.epoch, want.epoch);
    cr_expect_eq(got.seconds, want.seconds);
    cr_expect_eq(got.cpu_seconds, want.cpu_seconds);
    cr_expect_eq(got.loss, want.loss);
    cr_expect_eq(memcmp(&got.scores, &want.scores, sizeof(got.scores)), 0);
    cr_expect_eq(
        memcmp(&got.best_scores, &want.best_scores, sizeof(got.best_scores)),
        0);
    cr_expect_eq(got.best_epoch, want.best_epoch);
    cr_expect_eq(got.best_p1, want.best_p1);
    cr_expect_eq(got.validation_nats, want.validation_nats);
    cr_expect_eq(got.best_nats, want.best_nats);
    cr_expect_eq(got.test_nats, want.test_nats);
    cr_expect_str_eq(got.best_sha256, want.best_sha256);
    cr_expect_eq(got.stale_epochs, want.stale_epochs);
    cr_expect(got.finished);
    cr_expect_eq(got.loss_sum, want.loss_sum);
    cr_expect_eq(got.loss_rows, want.loss_rows);
    cr_expect_eq(got.active, want.active);
    cr_expect_eq(got.possible, want.possible);
    cr_expect_eq(got.loss_batches, want.loss_batches);
    cr_expect_eq(got.distinct, want.distinct);
    cr_expect_eq(got.measured, want.measured);
    cr_expect_eq(got.listed, want.listed);
    cr_expect_eq(got.capped, want.capped);
    cr_expect_eq(got.mass_sum, want.mass_sum);
    cr_expect_eq(got.recall_sum, want.recall_sum);
    skn_json_text_fini(&text);
}

/* Decision 0030: a checkpoint of before has two counts more. */
Test(progress, of_a_checkpoint_of_before_counts_that_are_gone_are_passed_over)
{
    skn_progress_t want = some_progress(), got;
    skn_json_text_t text = { 0 }, history = { 0 };
    skn_error_t error = { 0 };
    skn_json_text_add(&text, "{\"late\":3,\"estimated\":2,");
    skn_progress_write(&want, &text);
    skn_json_text_add(&text, ",\"history\":[{\"epoch\":1,\"late_parts\":3,"
                             "\"estimated_parts\":2}]}");
    cr_expect_eq(skn_progress_read(text.bytes, &got, &history, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(got.batch, want.batch);
    cr_expect_eq(got.epoch, want.epoch);
    cr_expect_eq(got.capped, want.capped);
    cr_expect_eq(got.loss_sum, want.loss_sum);
    cr_expect(strstr(history.bytes, "\"late_parts\":3"), "%s", history.bytes);
    skn_json_text_fini(&history);
    skn_json_text_fini(&text);
}

Test(progress, adds_shards_and_leaves_out_what_was_not_measured)
{
    skn_progress_t progress;
    skn_result_t result = { .rows = 10,
                            .loss = 1.5,
                            .active = 30,
                            .owned = 12,
                            .distinct = 7,
                            .listed = 5,
                            .capped = 2,
                            .mass = 0.5,
                            .recall = 0 };
    skn_progress_init(&progress);
    skn_progress_add(&progress, &result);
    result.shard = 1;
    result.mass = result.recall = -1;
    skn_progress_add(&progress, &result);
    cr_expect_eq(progress.loss_sum, 3.0);
    cr_expect_eq(progress.loss_rows, 10, "the shards tell the same samples");
    cr_expect_eq(progress.loss_batches, 1);
    cr_expect_eq(progress.active, 60);
    cr_expect_eq(progress.possible, 240);
    cr_expect_eq(progress.distinct, 14);
    cr_expect_eq(progress.listed, 10);
    cr_expect_eq(progress.capped, 4);
    cr_expect_eq(progress.measured, 1);
    cr_expect_eq(progress.mass_sum, 0.5);
    cr_expect_eq(progress.recall_sum, 0.0);
    progress.epoch = 4;
    skn_progress_new_epoch(&progress);
    cr_expect_eq(progress.loss_sum + progress.mass_sum, 0.0);
    cr_expect_eq(progress.loss_rows + progress.loss_batches, 0);
    cr_expect_eq(progress.active + progress.possible, 0);
    cr_expect_eq(progress.distinct + progress.measured, 0);
    cr_expect_eq(progress.listed + progress.capped, 0);
    cr_expect_eq(progress.epoch, 4);
}

Test(progress, history_comes_back_with_commas)
{
    skn_progress_t want = some_progress(), got;
    skn_json_text_t history = { 0 };
    skn_json_text_t text = object_of(
        &want, ",\"history\":[{\"epoch\":1,\"loss\":0.5},{\"epoch\":2}]");
    cr_assert_eq(skn_progress_read(text.bytes, &got, &history, NULL), SKN_OK);
    cr_expect_str_eq(history.bytes, "{\"epoch\":1,\"loss\":0.5},{\"epoch\":2}");
    skn_json_text_fini(&history);
    skn_json_text_fini(&text);
}

Test(progress, damaged_metadata_are_refused_at_every_length)
{
    skn_progress_t want = some_progress(), got;
    skn_json_text_t text = object_of(&want, "");
    for (size_t cut = 0; cut < text.count; cut++) {
        char byte = text.bytes[cut];
        text.bytes[cut] = '\0';
        cr_expect_eq(skn_progress_read(text.bytes, &got, NULL, NULL),
                     SKN_BAD_DATA, "cut at %zu", cut);
        text.bytes[cut] = byte;
    }
    skn_json_text_fini(&text);
}

Test(progress, metadata_without_progress_are_refused)
{
    skn_progress_t got;
    skn_error_t error = { 0 };
    static const char *const texts[] = { "{}", "{\"batch\":1}",
                                         ("{\"batch\":-1,\"scores\":{},"
                                          "\"best_sha256\":\"\"}") };
    for (size_t k = 0; k < 3; k++) {
        cr_expect_eq(skn_progress_read(texts[k], &got, NULL, &error),
                     SKN_BAD_DATA);
        cr_expect_str_eq(error.text,
                         "the checkpoint's metadata lacks its progress");
    }
}

Test(progress, scores_that_are_not_there_are_not_written)
{
    skn_progress_t progress;
    skn_json_text_t text = { 0 };
    skn_progress_init(&progress);
    skn_json_text_add(&text, "x");
    skn_scores_write(&progress.scores, "", &text);
    cr_expect_str_eq(text.bytes, "x");
    progress.scores.p3 = 0.25;
    skn_scores_write(&progress.scores, "validate_", &text);
    cr_expect_str_eq(text.bytes, "x,\"validate_p3\":0.25000");
    skn_json_text_fini(&text);
}

Test(progress, scores_are_those_of_the_metrics)
{
    skn_metrics_t metrics = { .p1 = 1,
                              .p3 = 2,
                              .p5 = 3,
                              .psp1 = 4,
                              .psp3 = 5,
                              .psp5 = 6,
                              .ndcg3 = 7,
                              .ndcg5 = 8 };
    skn_scores_t scores = skn_scores_of(&metrics);
    cr_expect(scores.p1 == 1 && scores.p3 == 2 && scores.p5 == 3 &&
              scores.psp1 == 4 && scores.psp3 == 5 && scores.psp5 == 6 &&
              scores.ndcg3 == 7 && scores.ndcg5 == 8);
}

Test(progress, the_best_has_the_highest_p1_or_the_lowest_nats_of_a_text)
{
    skn_progress_t progress;
    skn_progress_init(&progress);
    cr_expect(skn_progress_judge(&progress, .5, false));
    cr_expect(!skn_progress_judge(&progress, .5, false));
    cr_expect_eq(progress.stale_epochs, 1);
    cr_expect(skn_progress_judge(&progress, .6, false));
    skn_progress_init(&progress);
    progress.batch_tokens = 4096;
    progress.validation_nats = 3;
    progress.epoch = 4;
    cr_expect(skn_progress_judge(&progress, .5, false));
    cr_expect_eq(progress.best_epoch, 4);
    cr_expect(!skn_progress_judge(&progress, .6, true));
    progress.validation_nats = 2.9;
    cr_expect(skn_progress_judge(&progress, .4, true));
    cr_expect_eq(progress.best_epoch, 5);
    cr_expect_eq(progress.best_nats, 2.9);
    cr_expect_eq(progress.stale_epochs, 0);
}

Test(progress, a_loss_that_is_not_finite_is_never_the_best)
{
    skn_progress_t progress;
    skn_progress_init(&progress);
    progress.batch_tokens = 4096;
    progress.validation_nats = -1;
    cr_expect(!skn_progress_judge(&progress, .5, false));
    cr_expect_eq(progress.best_epoch, 0);
    progress.validation_nats = 3;
    cr_expect(skn_progress_judge(&progress, .5, false));
    progress.validation_nats = -1;
    cr_expect(!skn_progress_judge(&progress, .5, false));
    cr_expect_eq(progress.best_nats, 3);
    cr_expect_eq(progress.stale_epochs, 1);
}

Test(progress, done_is_of_the_last_model_without_validation)
{
    skn_progress_t progress = some_progress();
    skn_json_text_t text = { 0 };
    progress.best_epoch = 0;
    progress.batch = 8;
    progress.cpu_seconds = 2;
    skn_progress_write_done(&progress, "cafe", &text);
    cr_expect_str_eq(text.bytes,
                     "{\"event\":\"done\",\"epochs\":12,\"batches\":8,"
                     "\"seconds\":0.333,\"cpu_seconds\":2.000,"
                     "\"loss\":2.500000,\"p1\":0.10000,\"ndcg5\":0.14286,"
                     "\"test_nats\":0.142857,\"weights_sha256\":\"cafe\"}");
    skn_json_text_fini(&text);
}

Test(progress, done_is_of_the_best_model_with_validation)
{
    skn_progress_t progress = some_progress();
    skn_json_text_t text = { 0 };
    skn_progress_write_done(&progress, "cafe", &text);
    cr_expect_null(strstr(text.bytes, "test_nats"));
    cr_expect(strstr(text.bytes,
                     ",\"psp3\":0.66667,"
                     "\"validation_nats\":0.111111,\"model\":\"best\","
                     "\"best_epoch\":9,\"validate_p1\":0.70000,"),
              "%s", text.bytes);
    cr_expect(strstr(text.bytes, progress.best_sha256));
    cr_expect_null(strstr(text.bytes, "cafe"));
    skn_json_text_fini(&text);
}

Test(progress, of_a_later_batch_it_is_of_that_epoch)
{
    static const struct {
        uint64_t batch, epoch, want;
        bool same;
    } cases[] = {
        { 0, 0, 0, true },    { 1, 0, 0, true },   { 99, 0, 0, true },
        { 100, 0, 0, true },  { 100, 1, 1, true }, { 101, 1, 1, true },
        { 101, 0, 1, false }, { 200, 1, 1, true }, { 200, 0, 1, false },
        { 350, 1, 3, false }, { 350, 3, 3, true },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        skn_progress_t progress = some_progress();
        progress.batch = cases[k].batch;
        progress.epoch = cases[k].epoch;
        skn_progress_catch_up(&progress, 100);
        cr_expect_eq(progress.epoch, cases[k].want, "case %zu", k);
        cr_expect_eq(progress.loss_rows, cases[k].same ? 1000 : 0, "case %zu",
                     k);
    }
}
