/* test_tuning.c - tests tunings through their public functions: to the end,
 * stopped and resumed, after the death of a process, and what a host may do
 * wrong.
 *
 * Covers topology/tuning/search.c, topology/tuning/rounds.c,
 * topology/tuning/trial.c, topology/tuning/trials.c and
 * topology/tuning/tuning_events.c.  SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skein/tuning.h"
#include "tests/support/settle.h"
#include "tests/support/temp_folder.h"

#define EVENTS_BYTES (1 << 18)

static char folder[TEMP_FOLDER_BYTES], model[TEMP_FOLDER_BYTES + 16];
static char tuned[TEMP_FOLDER_BYTES + 16], path[TEMP_FOLDER_BYTES + 48];
static char events[EVENTS_BYTES], line[SKN_EVENT_BYTES_MAX];
static skn_error_t error;

static FILE *
begin_file(const char *file_name)
{
    (void)snprintf(path, sizeof(path), "%s/%s", folder, file_name);
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    return file;
}

/* 120 points, 20 features, 30 labels; the label follows from the features. */
static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(model, sizeof(model), "%s/t.yaml", folder);
    (void)snprintf(tuned, sizeof(tuned), "%s/tuned", folder);
    FILE *file = begin_file("t.txt");
    (void)fprintf(file, "120 20 30\n");
    for (unsigned k = 0; k < 120; k++)
        (void)fprintf(file, "%u %u:1 %u:0.5\n", k * 7 % 30, k * 7 % 30 % 19,
                      19u);
    cr_assert_eq(fclose(file), 0);
    file = begin_file("t.yaml");
    (void)fputs("skein: 1\n"
                "data: { train: t.txt, cache: none }\n"
                "model:\n"
                "  layers:\n"
                "    - { name: hidden, units: 16, dropout: 0 }\n"
                "    - { name: output, sampler: { kind: exact } }\n"
                "train: { epochs: 3, batch_rows: 16, validate: 0.25,\n"
                "         optimizer: { rate: 0.01 } }\n",
                file);
    cr_assert_eq(fclose(file), 0);
    events[0] = '\0';
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(tuning, .init = set_up, .fini = tear_down, .timeout = 120);

static skn_tuning_options_t
usual(void)
{
    return (skn_tuning_options_t){
        .struct_bytes = sizeof(skn_tuning_options_t),
        .path = model,
        .folder = tuned,
        .candidates = 3,
        .rounds = 2,
    };
}

static skn_tuning_t *
started(const skn_tuning_options_t *options)
{
    skn_tuning_t *tuning = skn_tuning_new(options, &error);
    cr_assert(tuning, "%s", error.text);
    cr_assert_eq(skn_tuning_start(tuning, &error), SKN_OK, "%s", error.text);
    return tuning;
}

/* Reads events to one that has `words`, which is in `line` then; false: there
 * is none. All are in `events`. */
static bool
read_to(skn_tuning_t *tuning, const char *words)
{
    while (skn_tuning_event(tuning, -1, line, sizeof(line), &error) == SKN_OK) {
        size_t used = strlen(events);
        cr_assert_lt(used + strlen(line) + 2, sizeof(events));
        (void)snprintf(events + used, sizeof(events) - used, "%s\n", line);
        if (strstr(line, words))
            return true;
    }
    return false;
}

static unsigned
told(const char *words)
{
    unsigned count = 0;
    for (const char *at = events; (at = strstr(at, words)); at++)
        count++;
    return count;
}

static skn_tuning_info_t
info_of(const skn_tuning_t *tuning)
{
    skn_tuning_info_t info = { .struct_bytes = sizeof(info) };
    cr_assert_eq(skn_tuning_info(tuning, &info, &error), SKN_OK);
    return info;
}

static bool
has(const char *file_name)
{
    (void)snprintf(path, sizeof(path), "%s/%s", tuned, file_name);
    return access(path, F_OK) == 0;
}

/* Reads all events, and expects the end of a whole tuning. */
static void
end_well(skn_tuning_t **tuning)
{
    cr_expect(read_to(*tuning, "\"event\":\"tuned\""), "%s", events);
    cr_expect_not(read_to(*tuning, "nothing more"));
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect_eq(skn_tuning_wait(*tuning, &error), SKN_OK, "%s", error.text);
    cr_expect(info_of(*tuning).is_over && !info_of(*tuning).was_stopped);
    cr_expect(has("tune.yaml") && has("tune.journal") && !has("trial"));
    skn_tuning_destroy(tuning);
    cr_expect_null(*tuning);
}

/* --- to the end ----------------------------------------------------------- */

Test(tuning, it_writes_the_best_config_and_reports_each_trial)
{
    skn_tuning_options_t options = usual();
    skn_tuning_t *tuning = started(&options);
    cr_expect(read_to(tuning, "\"event\":\"tune\""));
    cr_expect(strstr(line, "\"candidates\":3,\"rounds\":2,\"train_points\":"));
    cr_expect(strstr(line, "\"auto\":{\"train.optimizer.rate\":\"0.01\""));
    skn_tuning_info_t info = info_of(tuning);
    cr_expect(info.has_begun);
    cr_expect_str_eq(info.folder, tuned);
    cr_expect(info.idle && !info.idle->enabled);
    cr_expect(read_to(tuning, "\"event\":\"forecast\""));
    cr_expect_eq(told("\"event\":\"trial\",\"round\":1,\"candidate\":0"), 1u);
    end_well(&tuning);
    /* Auto and the best of the two others are trained longer. */
    cr_expect_eq(told("\"event\":\"trial\""), 5u, "%s", events);
    cr_expect_eq(told("\"score\":"), 6u, "%s", events);
    cr_expect_eq(told("\"verdict\":\""), 1u);
}

Test(tuning, two_of_a_process_do_not_mix)
{
    char other[TEMP_FOLDER_BYTES + 16];
    skn_tuning_options_t options = usual();
    skn_tuning_t *first = started(&options);
    (void)snprintf(other, sizeof(other), "%s/other", folder);
    options.folder = other;
    skn_tuning_t *second = started(&options);
    cr_expect_eq(skn_tuning_wait(first, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(skn_tuning_wait(second, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(info_of(first).trial_count, 5u);
    cr_expect_eq(info_of(second).trial_count, 5u);
    end_well(&first);
    skn_tuning_destroy(&second);
}

/* --- stops ---------------------------------------------------------------- */

Test(tuning, one_that_is_stopped_before_its_start_has_done_nothing)
{
    skn_tuning_options_t options = usual();
    skn_tuning_t *tuning = skn_tuning_new(&options, &error);
    skn_tuning_stop(tuning);
    cr_assert_eq(skn_tuning_start(tuning, &error), SKN_OK);
    cr_expect(read_to(tuning, "{\"event\":\"stopped\",\"begun\":false}"));
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_OK);
    cr_expect(info_of(tuning).was_stopped && !info_of(tuning).has_begun);
    cr_expect_not(has(""));
    skn_tuning_destroy(&tuning);
}

/* Stops a tuning of long trials as soon as it has begun one. */
static void
stop_in_a_trial(skn_tuning_options_t *options)
{
    skn_tuning_t *tuning = started(options);
    cr_expect(read_to(tuning, "\"event\":\"forecast\""), "%s", events);
    skn_tuning_stop(tuning);
    cr_expect(read_to(tuning, "{\"event\":\"stopped\",\"trials\":1}"), "%s",
              events);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_OK, "%s", error.text);
    cr_expect(info_of(tuning).was_stopped);
    cr_expect(has("tune.journal") && !has("trial"));
    skn_tuning_destroy(&tuning);
    options->resume = true;
    events[0] = '\0';
}

static const char *const longer[] = { "train.epochs=100" };

Test(tuning, a_resume_continues_after_the_last_trial)
{
    skn_tuning_options_t options = usual();
    options.overrides = longer;
    options.override_count = 1;
    options.rounds = 1;
    stop_in_a_trial(&options);
    skn_tuning_t *tuning = started(&options);
    cr_expect(read_to(tuning, "\"event\":\"tune\""));
    cr_expect(strstr(line, "\"trials\":1"), "%s", line);
    end_well(&tuning);
    cr_expect_eq(told("\"event\":\"trial\""), 3u, "%s", events);
}

Test(tuning, the_trial_in_which_a_process_died_has_failed)
{
    skn_tuning_options_t options = usual();
    options.overrides = longer;
    options.override_count = 1;
    options.rounds = 1;
    stop_in_a_trial(&options);
    options.died = "it was struck";
    skn_tuning_t *tuning = started(&options);
    cr_expect(read_to(tuning, "\"message\":\"it was struck\""), "%s", events);
    cr_expect(strstr(line, "\"round\":1,\"candidate\":1"), "%s", line);
    end_well(&tuning);
    cr_expect_eq(told("it was struck"), 1u, "%s", events);
}

Test(tuning, without_a_trial_of_auto_there_is_no_tuning)
{
    skn_tuning_options_t options = usual();
    (void)snprintf(path, sizeof(path), "%s/tune.journal", tuned);
    options.resume = true;
    skn_tuning_t *tuning = started(&options);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_NO_INPUT);
    skn_tuning_destroy(&tuning);
    /* Killed in its first trial: the journal has only a head. */
    static const char *const endless[] = { "train.epochs=100000000" };
    options.overrides = endless;
    options.override_count = 1;
    options.resume = false;
    tuning = started(&options);
    cr_expect(read_to(tuning, "\"event\":\"tune\""));
    skn_tuning_destroy(&tuning);
    options.resume = true;
    options.died = "it was struck";
    tuning = started(&options);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text,
                     "the file itself cannot be trained: it was struck");
    skn_tuning_destroy(&tuning);
}

Test(tuning, a_budget_ends_a_trial_that_lasts_too_long)
{
    static const char *const endless[] = { "train.epochs=100000000" };
    skn_tuning_options_t options = usual();
    options.overrides = endless;
    options.override_count = 1;
    options.budget_s = 0.5;
    skn_tuning_t *tuning = started(&options);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_USAGE);
    cr_expect_str_eq(error.text,
                     "the budget was used up before a trial was done");
    cr_expect(read_to(tuning, "\"event\":\"error\",\"code\":64"));
    skn_tuning_destroy(&tuning);
}

/* --- failures ------------------------------------------------------------- */

Test(tuning, all_problems_of_a_config_are_events)
{
    static const char *const wrong[] = { "train.epoch=3", "train.batchrows=1" };
    skn_tuning_options_t options = usual();
    options.overrides = wrong;
    options.override_count = 2;
    skn_tuning_t *tuning = started(&options);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_BAD_CONFIG);
    cr_expect_not(read_to(tuning, "nothing"));
    cr_expect_eq(told("\"event\":\"error\""), 2u, "%s", events);
    skn_tuning_destroy(&tuning);
    options.override_count = 0;
    options.path = "none.yaml";
    tuning = started(&options);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_NO_INPUT, "%s",
                 error.text);
    skn_tuning_destroy(&tuning);
}

Test(tuning, a_folder_of_another_tuning_is_refused)
{
    skn_tuning_options_t options = usual();
    options.rounds = 1;
    options.candidates = 1;
    skn_tuning_t *tuning = started(&options);
    end_well(&tuning);
    tuning = started(&options);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_CANNOT_CREATE);
    skn_tuning_destroy(&tuning);
    options.resume = true;
    options.seed = 2;
    tuning = started(&options);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_USAGE);
    cr_expect(strstr(error.text, "another 'seed': 1, not 2"), "%s", error.text);
    skn_tuning_destroy(&tuning);
}

/* --- hosts ---------------------------------------------------------------- */

Test(tuning, cycles_leave_no_descriptor)
{
    size_t before = 0;
    skn_tuning_options_t options = usual();
    for (int cycle = 0; cycle < 20; cycle++) {
        skn_tuning_t *tuning = skn_tuning_new(&options, &error);
        cr_assert(tuning, "%s", error.text);
        if (cycle % 4 != 3)
            cr_assert_eq(skn_tuning_start(tuning, &error), SKN_OK);
        /* The first one starts actors, for which CZMQ opens descriptors that
         * it keeps. */
        const char *until =
            cycle == 0 ? "\"event\":\"forecast\"" : "\"event\":\"tune\"";
        if (cycle % 2 == 0)
            cr_expect(read_to(tuning, until), "%s", error.text);
        skn_tuning_destroy(&tuning);
        temp_folder_remove(tuned);
        events[0] = '\0';
        if (cycle == 4)
            before = settle_stable(SETTLE_DESCRIPTORS);
    }
    cr_expect_leq(settle_at_most(SETTLE_DESCRIPTORS, before), before);
}

Test(tuning, a_child_made_by_fork_can_only_destroy_it)
{
    skn_tuning_options_t options = usual();
    skn_tuning_t *tuning = started(&options);
    int status = 1;
    cr_expect(read_to(tuning, "\"event\":\"tune\""));
    pid_t child = fork();
    if (child == 0) {
        skn_tuning_info_t info = { .struct_bytes = sizeof(info) };
        bool good = skn_tuning_event(tuning, -1, line, sizeof(line), NULL) ==
                        SKN_USAGE &&
                    skn_tuning_wait(tuning, NULL) == SKN_USAGE &&
                    skn_tuning_info(tuning, &info, NULL) == SKN_USAGE;
        skn_tuning_stop(tuning);
        skn_tuning_destroy(&tuning);
        _exit(good && !tuning ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    end_well(&tuning);
}

static bool
is_refused(const skn_tuning_options_t *options)
{
    error.status = SKN_OK;
    return !skn_tuning_new(options, &error) && error.status == SKN_USAGE;
}

Test(tuning, wrong_options_are_refused)
{
    const char *const hole[] = { NULL };
    skn_tuning_options_t options = usual();
#define REFUSED(member, value)                                                 \
    options = usual();                                                         \
    options.member = (value);                                                  \
    cr_expect(is_refused(&options), #member);
    REFUSED(struct_bytes, 8)
    REFUSED(path, NULL)
    REFUSED(path, "")
    REFUSED(path, "-")
    REFUSED(override_count, 1)
    REFUSED(candidates, 257)
    REFUSED(rounds, 9)
    REFUSED(keep, 1)
    REFUSED(keep, -0.1)
    REFUSED(keep, 0.0 / 0.0)
    REFUSED(budget_s, -1)
    REFUSED(budget_s, 1e10)
    REFUSED(budget_s, 0.0 / 0.0)
    REFUSED(metric, "p2")
#undef REFUSED
    options = usual();
    options.overrides = hole;
    options.override_count = 1;
    cr_expect(is_refused(&options));
}

Test(tuning, it_is_started_once_and_waits_for_nothing_before)
{
    skn_tuning_options_t options = usual();
    skn_tuning_info_t info = { .struct_bytes = 4 };
    skn_tuning_t *tuning = skn_tuning_new(&options, &error);
    cr_expect_eq(skn_tuning_event(tuning, -1, line, sizeof(line), &error),
                 SKN_BUSY);
    cr_expect_eq(skn_tuning_wait(tuning, &error), SKN_OK);
    cr_expect_eq(skn_tuning_info(tuning, &info, &error), SKN_USAGE);
    cr_expect_geq(skn_tuning_fd(tuning), 0);
    cr_expect_eq(skn_tuning_start(tuning, &error), SKN_OK);
    cr_expect_eq(skn_tuning_start(tuning, &error), SKN_USAGE);
    cr_expect_eq(skn_tuning_event(tuning, -1, line, 4, &error), SKN_TOO_SMALL);
    end_well(&tuning);
}
