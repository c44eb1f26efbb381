/* test_training.c - tests trainings through their public functions: a config
 * from text or file to the end, stops, resumes, several networks, and what a
 * host may do wrong.
 *
 * Covers topology/training/ensemble.c, topology/training/network_run.c,
 * topology/training/training_events.c, topology/training/training_state.c,
 * topology/training/networks.c, topology/training/chosen.c,
 * topology/training/calibrating.c and topology/training/load_report.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/machine/usage.h"
#include "skein/predictor.h"
#include "tests/support/settle.h"
#include "tests/topology/training/training_host.h"

/* Eight cycles show what is left behind; the nightly runs more. */
#define CYCLES (getenv("SKEIN_TESTS") ? 200 : 48)

TestSuite(training, .init = set_up, .fini = tear_down, .timeout = 120);

/* --- from a config to its model ------------------------------------------ */

Test(training, a_text_is_trained_to_its_end)
{
    skn_training_options_t options = options_of(NULL, 0);
    skn_training_t *training = made(config, &options);
    char line[8];
    cr_expect_geq(skn_training_fd(training), 0);
    cr_expect_eq(skn_training_event(training, -1, line, sizeof(line), &error),
                 SKN_BUSY, "it is not started");
    cr_expect_eq(info_of(training).phase, SKN_TRAINING_PLANS);
    cr_expect_str_eq(info_of(training).path, "");
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_expect_eq(skn_training_start(training, &error), SKN_USAGE);
    cr_assert(read_to(training, "done"));
    cr_expect_not(read_to(training, "none"));
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK, "%s", error.text);
    skn_training_info_t info = info_of(training);
    cr_expect_eq(info.phase, SKN_TRAINING_OVER);
    cr_expect_str_eq(info.path, run);
    cr_expect_eq(strlen(info.run_id), 32);
    cr_expect(info.has_begun && !info.was_stopped && !info.path_is_chosen);
    cr_expect_eq(info.network_count, 0);
    cr_assert(info.idle);
    cr_expect(!info.idle->enabled && info.idle->reserve_cores == -1 &&
              !info.idle->notice_file[0]);
    cr_expect_eq(told("\"event\":\"start\""), 1);
    cr_expect_eq(told("\"event\":\"epoch\""), 3);
    cr_expect_gt(told("\"event\":\"checkpoint\""), 0);
    cr_expect_eq(told("\"answers\""), 0);
    cr_expect_eq(told("\"train_points\":120"), 1);
    skn_predictor_t *predictor = skn_predictor_open(info.path, &error);
    cr_expect(predictor, "%s", error.text);
    skn_predictor_close(&predictor);
    skn_training_destroy(&training);
}

Test(training, a_file_is_trained_as_its_text)
{
    char from_text[80], from_file[80];
    const char *const other[] = { "checkpoint.path=other" };
    FILE *file = fopen(name, "w");
    (void)fputs(config, file);
    (void)fclose(file);
    train(NULL, 0, false, from_text);
    cr_assert_eq(chdir(folder), 0);
    skn_training_options_t options = options_of(other, 1);
    skn_training_t *training = skn_training_load("t.yaml", &options, &error);
    cr_assert_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    member_of("done", "weights_sha256", from_file, sizeof(from_file));
    cr_expect_str_eq(from_file, from_text);
}

Test(training, the_folder_of_a_run_continues_it)
{
    char sha256[80], again[80];
    train(NULL, 0, false, sha256);
    skn_training_options_t options = options_of(NULL, 0);
    options.resume = true;
    skn_training_t *training = skn_training_load(run, &options, &error);
    cr_assert_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    cr_expect_eq(told("this run has finished"), 1);
    member_of("done", "weights_sha256", again, sizeof(again));
    cr_expect_str_eq(again, sha256);
}

Test(training, every_problem_of_a_config_is_an_event)
{
    static const char wrong[] = "skein: 1\n"
                                "data: { trian: t.txt }\n"
                                "model:\n"
                                "  layers:\n"
                                "    - { name: hidden, units: -1 }\n"
                                "    - { name: output }\n";
    const char *const more[] = { "train.epochs=many" };
    skn_training_options_t options = options_of(more, 1);
    skn_training_t *training = made(wrong, &options);
    cr_expect_eq(run_to_end(&training), SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "t.yaml:2:") && strstr(error.text, " more)"),
              "%s", error.text);
    cr_expect_geq(told("\"event\":\"error\",\"code\":78"), 3, "%s", events);
    cr_expect_eq(told("\"line\":5,\"column\":"), 1, "%s", events);
    cr_expect_eq(told("     5 |     - { name: hidden"), 1, "%s", events);
    cr_expect_eq(told("-o train.epochs=many"), 1, "%s", events);
}

Test(training, a_failure_is_an_event_and_the_status)
{
    char sha256[80];
    skn_training_options_t options = options_of(NULL, 0);
    train(NULL, 0, false, sha256);
    skn_training_t *training = made(config, &options);
    cr_expect_eq(run_to_end(&training), SKN_CANNOT_CREATE);
    cr_expect_eq(told("\"event\":\"error\",\"code\":73"), 1, "%s", events);
    training = skn_training_load("nowhere.yaml", &options, &error);
    cr_expect_eq(run_to_end(&training), SKN_NO_INPUT);
}

Test(training, a_report_is_an_event_and_a_table)
{
    skn_training_options_t options = options_of(NULL, 0);
    char *table = NULL;
    size_t bytes = 0;
    options.report = true;
    options.elastic = true; /* which reports its load as well */
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "report"), "%s", events);
    FILE *file = open_memstream(&table, &bytes);
    skn_training_report(training, file);
    (void)fclose(file);
    cr_expect(strstr(table, "\nsource "), "%s", table);
    cr_expect_geq(told("{\"event\":\"load\",\"busy_us\":"), 1);
    free(table);
    skn_training_destroy(&training);
}

Test(training, points_are_predicted)
{
    char sha256[80], path[TEMP_FOLDER_BYTES + 16];
    (void)snprintf(path, sizeof(path), "%s/t.txt", folder);
    train(NULL, 0, false, sha256);
    skn_training_options_t options = options_of(NULL, 0);
    options.predict = path;
    options.predict_labels = 2;
    skn_training_t *training = made(config, &options);
    cr_assert_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    cr_expect_eq(told("\"event\":\"prediction\""), 120);
}

/* --- stops and resumes --------------------------------------------------- */

Test(training, a_stop_saves_and_a_resume_has_the_same_weights)
{
    char straight[80], resumed[80], limit[64], path[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(path, sizeof(path), "checkpoint.path=%s/straight", folder);
    skn_training_options_t options = options_of(endless, 3);
    options.progress_ms = 1;
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "progress"));
    cr_expect_eq(info_of(training).phase, SKN_TRAINING_TRAINS);
    skn_training_stop(training);
    cr_assert(read_to(training, "stopped"));
    cr_expect_not(read_to(training, "none"));
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK);
    cr_expect(info_of(training).was_stopped);
    skn_training_destroy(&training);
    char batch[32];
    member_of("stopped", "batch", batch, sizeof(batch));
    (void)snprintf(limit, sizeof(limit), "train.max_batches=%llu",
                   strtoull(batch, NULL, 10) + 20);
    const char *const some[] = { endless[0], endless[1], endless[2], limit,
                                 path };
    train(some, 4, true, resumed);
    cr_expect_eq(told("\"event\":\"resume\""), 1);
    train(some, 5, false, straight);
    cr_expect_str_eq(resumed, straight);
}

Test(training, a_stop_before_the_start_counts)
{
    skn_training_options_t options = options_of(NULL, 0);
    skn_training_t *training = made(config, &options);
    skn_training_stop(training);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "stopped"));
    cr_expect_eq(told("\"begun\":false"), 1);
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK);
    cr_expect(info_of(training).was_stopped && !info_of(training).has_begun);
    skn_training_destroy(&training);
}

/* A host that died, or was killed, repeats its call. */
Test(training, the_same_run_in_the_same_folder_continues)
{
    static const char id[] = "0123456789abcdef0123456789abcdef";
    skn_training_options_t options = options_of(endless, 3);
    char other[TEMP_FOLDER_BYTES + 16];
    (void)snprintf(other, sizeof(other), "%s/other", folder);
    options.path = other;
    options.run_id = id;
    options.progress_ms = 1;
    for (int turn = 0; turn < 2; turn++) {
        skn_training_t *training = made(config, &options);
        events[0] = '\0';
        cr_assert_eq(skn_training_start(training, &error), SKN_OK);
        cr_assert(read_to(training, "progress"), "%s", events);
        cr_expect_eq(told("\"event\":\"resume\""), (unsigned)turn, "%s",
                     events);
        cr_expect_str_eq(info_of(training).path, other);
        cr_expect_str_eq(info_of(training).run_id, id);
        skn_training_stop(training);
        cr_expect_eq(skn_training_wait(training, &error), SKN_OK);
        skn_training_destroy(&training);
    }
}

/* The folder is as it was, and no event comes before the refusal. */
Test(training, another_run_in_the_same_folder_is_refused)
{
    char want[2 * TEMP_FOLDER_BYTES + 160];
    skn_training_options_t options = options_of(NULL, 0);
    options.path = run;
    options.run_id = "0123456789abcdef0123456789abcdef";
    skn_training_t *training = made(config, &options);
    cr_assert_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    options.run_id = "1123456789abcdef0123456789abcdef";
    training = made(config, &options);
    cr_expect_eq(run_to_end(&training), SKN_CANNOT_CREATE);
    (void)snprintf(want, sizeof(want),
                   "%s holds run 0123456789abcdef0123456789abcdef, not "
                   "1123456789abcdef0123456789abcdef",
                   run);
    cr_expect_str_eq(error.text, want);
    cr_expect_str_eq(error.hint, "give that run_id to continue it, or choose "
                                 "another folder");
    cr_expect_eq(told("\"event\":"), 1, "%s", events);
    options.run_id = "0123456789abcdef0123456789abcdef";
    training = made(config, &options);
    cr_expect_eq(run_to_end(&training), SKN_OK, "%s", error.text);
}

Test(training, a_training_that_is_broken_off_saves_nothing)
{
    skn_training_options_t options = options_of(endless, 3);
    options.progress_ms = 1;
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "progress"));
    skn_training_break(training);
    cr_expect_not(read_to(training, "none"));
    cr_expect_eq(skn_training_wait(training, &error), SKN_UNAVAILABLE);
    cr_expect_eq(told("\"event\":\"checkpoint\""), 0);
    cr_expect_eq(told("\"event\":\"error\""), 1);
    skn_training_destroy(&training);
}

/* --- several networks ---------------------------------------------------- */

Test(training, networks_and_a_ranker_are_joined)
{
    skn_training_options_t options = options_of(two, 2);
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "network"));
    cr_expect_eq(info_of(training).network_count, 2);
    cr_assert(read_to(training, "join"));
    cr_assert(read_to(training, "done"));
    cr_expect_not(read_to(training, "none"));
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK, "%s", error.text);
    cr_expect_not(info_of(training).was_stopped);
    cr_expect_eq(told("\"event\":\"network\""), 2);
    cr_expect_eq(told("\"event\":\"ranker\""), 1);
    cr_expect_eq(told("\"event\":\"done\""), 3);
    skn_training_destroy(&training);
    char network[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(network, sizeof(network), "%s/network-1", run);
    cr_expect_neq(access(network, F_OK), 0);
    options.resume = true; /* it is scored again */
    training = made(config, &options);
    cr_expect_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    cr_expect_eq(told("\"event\":\"done\""), 1, "%s", events);
}

static double
used_cpu_s(void)
{
    return (double)skn_usage_cpu_ns() * 1e-9;
}

/* Work of the host before the training is not the training's. */
static double
burn(void)
{
    double begin_s = used_cpu_s(), now_s = begin_s;
    while (now_s < begin_s + 0.1)
        now_s = used_cpu_s();
    return now_s;
}

/* Trains to the end; the `cpu_seconds` of the last `done`. */
static double
trained_cpu_s(const char *const *overrides, size_t count, bool resume)
{
    char sha256[80], cpu_s[32];
    train(overrides, count, resume, sha256);
    member_of("done", "cpu_seconds", cpu_s, sizeof(cpu_s));
    return skn_text_real(cpu_s, NULL);
}

Test(training, cpu_seconds_are_those_since_its_start)
{
    char path[TEMP_FOLDER_BYTES + 32];
    const char *const sets[][2] = { { "train.epochs=2", "train.ensemble=1" },
                                    { path, two[0] } };
    (void)snprintf(path, sizeof(path), "checkpoint.path=%s/pair", folder);
    for (size_t k = 0; k < 2; k++) {
        double before_s = burn();
        double cpu_s = trained_cpu_s(sets[k], 2, false);
        cr_expect_leq(cpu_s, used_cpu_s() - before_s + 0.002);
        cr_expect_gt(cpu_s, 0);
    }
}

Test(training, cpu_seconds_of_a_resume_add_up)
{
    char batch[32], limit[64];
    const char *const some[] = { endless[0], endless[1], endless[2], limit };
    skn_training_options_t options = options_of(endless, 3);
    options.progress_ms = 1;
    double before_s = burn();
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "progress"));
    skn_training_stop(training);
    cr_expect_not(read_to(training, "none"));
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK);
    skn_training_destroy(&training);
    double used_s = used_cpu_s() - before_s;
    member_of("stopped", "batch", batch, sizeof(batch));
    (void)snprintf(limit, sizeof(limit), "train.max_batches=%llu",
                   strtoull(batch, NULL, 10) + 20);
    before_s = burn();
    double cpu_s = trained_cpu_s(some, 4, true);
    used_s += used_cpu_s() - before_s;
    cr_expect_leq(cpu_s, used_s + 0.002);
}

Test(training, networks_are_continued_after_a_stop)
{
    char sha256[80], whole[80], path[TEMP_FOLDER_BYTES + 32];
    const char *const other[] = { two[0], two[1], path };
    (void)snprintf(path, sizeof(path), "checkpoint.path=%s/other", folder);
    train(other, 3, false, whole);
    skn_training_options_t options = options_of(two, 2);
    skn_training_t *training = made(config, &options);
    events[0] = '\0';
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "done"));
    skn_training_stop(training);
    cr_expect_not(read_to(training, "none"));
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK, "%s", error.text);
    bool was_stopped = info_of(training).was_stopped;
    cr_expect_eq(told("\"event\":\"stopped\""), was_stopped);
    skn_training_destroy(&training);
    cr_expect(was_stopped, "it was asked after the first of two");
    train(two, 2, true, sha256);
    cr_expect_eq(told("\"seed\":1,\"trained\":true"), 1, "%s", events);
    cr_expect_str_eq(sha256, whole);
}

/* --- hosts --------------------------------------------------------------- */

/* A host's loop never waits for a training: it polls. */
static void
poll_to(skn_training_t *training, const char *word)
{
    static char line[SKN_EVENT_BYTES_MAX];
    for (;;) {
        struct pollfd polled = { skn_training_fd(training), POLLIN, 0 };
        cr_assert_eq(poll(&polled, 1, 60000), 1);
        skn_status_t status =
            skn_training_event(training, 0, line, sizeof(line), &error);
        if (status == SKN_UNAVAILABLE ||
            (status == SKN_OK && strstr(line, word)))
            return;
        cr_assert(status == SKN_OK || status == SKN_BUSY, "%s", error.text);
    }
}

/* Ended at any moment: before the start, while it is planned, while its actors
 * open, while it trains. */
Test(training, many_leave_nothing_behind)
{
    size_t before = 0;
    skn_training_options_t options = options_of(endless, 3);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        skn_training_t *training = made(config, &options);
        if (cycle % 8 != 7)
            cr_assert_eq(skn_training_start(training, &error), SKN_OK);
        if (cycle % 4 == 0)
            poll_to(training, "\"start\"");
        if (cycle % 2 == 0)
            skn_training_stop(training);
        if (cycle % 8 == 0)
            cr_expect_eq(skn_training_wait(training, &error), SKN_OK, "%s",
                         error.text);
        skn_training_destroy(&training);
        temp_folder_remove(run);
        if (cycle == 8)
            before = settle_stable(SETTLE_DESCRIPTORS);
    }
    cr_expect_leq(settle_at_most(SETTLE_DESCRIPTORS, before), before);
}

Test(training, an_event_that_does_not_fit_stays)
{
    char line[8];
    skn_training_options_t options = options_of(NULL, 0);
    skn_training_t *training = made(config, &options);
    cr_expect_eq(skn_training_event_bytes(training), 0);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_expect_eq(skn_training_event(training, -1, line, sizeof(line), &error),
                 SKN_TOO_SMALL);
    cr_expect_gt(skn_training_event_bytes(training), sizeof(line));
    cr_expect(read_to(training, "done"));
    skn_training_destroy(&training);
}

/* With nobody reading, and then somebody who only waits. */
Test(training, unread_events_are_kept)
{
    skn_training_options_t options = options_of(NULL, 0);
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK, "%s", error.text);
    cr_expect(read_to(training, "done"));
    cr_expect_not(read_to(training, "none"));
    skn_training_destroy(&training);
}

Test(training, a_child_made_by_fork_can_only_destroy_it)
{
    skn_training_options_t options = options_of(endless, 3);
    skn_training_t *training = made(config, &options);
    int status = 1;
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    poll_to(training, "\"start\"");
    pid_t child = fork();
    if (child == 0) {
        char line[64];
        skn_training_info_t info = { .struct_bytes = sizeof(info) };
        bool good = skn_training_event(training, -1, line, sizeof(line),
                                       NULL) == SKN_USAGE &&
                    skn_training_wait(training, NULL) == SKN_USAGE &&
                    skn_training_info(training, &info, NULL) == SKN_USAGE;
        skn_training_stop(training);
        skn_training_destroy(&training);
        _exit(good && !training ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    skn_training_destroy(&training);
}

Test(training, wrong_options_are_refused)
{
    const char *const hole[] = { NULL };
    skn_training_options_t options = options_of(hole, 1);
    cr_expect_null(skn_training_new(config, NULL, &options, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    options = options_of(NULL, 0);
    options.run_id = "short";
    cr_expect_null(skn_training_new(config, NULL, &options, &error));
    cr_expect_str_eq(error.text, "the run id 'short' is not 32 hex digits");
    options = options_of(NULL, 0);
    options.progress_ms = UINT32_MAX;
    cr_expect_null(skn_training_new(config, NULL, &options, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_str_eq(error.text,
                     "progress_ms is 4294967295, at most 86400000 allowed");
    options = options_of(NULL, 0);
    options.stop_s = SKN_STOP_S_MAX + 1;
    cr_expect_null(skn_training_new(config, NULL, &options, &error));
    cr_expect_str_eq(error.text, "stop_s is 86401, at most 86400 allowed");
    options = options_of(NULL, 0);
    options.struct_bytes = 4;
    cr_expect_null(skn_training_load("x", &options, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    skn_training_t *training = skn_training_new(config, NULL, NULL, &error);
    cr_assert(training);
    skn_training_info_t info = { .struct_bytes = 4 };
    cr_expect_eq(skn_training_info(training, &info, &error), SKN_USAGE);
    skn_training_destroy(&training);
}
