/* test_saves.c - tests checkpoints on demand: which calls of skn_training_save
 * they answer, and that the run continues from them with the same bits.
 *
 * Covers topology/training/network_run.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "skein/config.h"
#include "tests/topology/training/training_host.h"
#include "topology/host/host.h"

TestSuite(saves, .init = set_up, .fini = tear_down, .timeout = 120);

Test(saves, a_checkpoint_on_demand_does_not_end_the_run)
{
    skn_training_options_t options = options_of(endless, 3);
    char first[32], second[32], answers[8];
    options.progress_ms = 1;
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "progress"));
    skn_training_save(training);
    cr_assert(read_to(training, "checkpoint"));
    member_of("checkpoint", "batch", first, sizeof(first));
    skn_training_save(training);
    cr_assert(read_to(training, "checkpoint"));
    member_of("checkpoint", "batch", second, sizeof(second));
    member_of("checkpoint", "answers", answers, sizeof(answers));
    cr_expect_str_eq(answers, "1");
    cr_expect_lt(strtoull(first, NULL, 10), strtoull(second, NULL, 10));
    cr_expect_eq(told("\"event\":\"checkpoint\""), 2);
    skn_training_destroy(&training);
}

/* Reads events to the checkpoint that answers the last of `calls`. */
static void
read_answers(skn_training_t *training, unsigned long calls)
{
    char answers[8];
    for (unsigned long count = 0; count < calls;) {
        cr_assert(read_to(training, "checkpoint"), "%lu of %lu calls: %s",
                  count, calls, events);
        const char *last = strrchr(events, '{');
        if (strstr(last, "\"answers\"")) {
            member_of("checkpoint", "answers", answers, sizeof(answers));
            count += strtoul(answers, NULL, 10);
        }
        cr_assert_leq(count, calls, "%s", events);
    }
}

Test(saves, saves_before_and_after_the_start_are_answered)
{
    skn_training_options_t options = options_of(endless, 3);
    skn_training_t *training = made(config, &options);
    skn_training_save(training);
    skn_training_save(training);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    skn_training_save(training);
    read_answers(training, 3);
    skn_training_destroy(&training);
}

/* The last checkpoint is being written, or is there already. */
Test(saves, a_save_at_the_last_epoch_has_the_last_checkpoint)
{
    char saved[32], trained[32];
    skn_training_options_t options = options_of(NULL, 0);
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    for (int epoch = 0; epoch < 3; epoch++)
        cr_assert(read_to(training, "epoch"));
    skn_training_save(training);
    cr_assert(read_to(training, "done"));
    cr_expect_eq(skn_training_wait(training, &error), SKN_OK);
    member_of("checkpoint", "batch", saved, sizeof(saved));
    member_of("done", "batches", trained, sizeof(trained));
    cr_expect_str_eq(saved, trained);
    skn_training_destroy(&training);
}

Test(saves, a_save_between_two_networks_is_answered_by_the_next)
{
    skn_training_options_t options = options_of(two, 1);
    skn_training_t *training = made(config, &options);
    cr_assert_eq(skn_training_start(training, &error), SKN_OK);
    cr_assert(read_to(training, "done"));
    skn_training_save(training);
    read_answers(training, 1);
    cr_expect_eq(told("\"event\":\"network\""), 2, "%s", events);
    skn_training_destroy(&training);
}

/* Replaces the first `from` of the text; the caller frees the result. */
static char *
replaced(const char *text, const char *from, const char *to)
{
    char *result = NULL;
    const char *at = strstr(text, from);
    cr_assert(at, "no '%s' in %s", from, text);
    cr_assert_geq(asprintf(&result, "%.*s%s%s", (int)(at - text), text, to,
                           at + strlen(from)),
                  0);
    return result;
}

/* Copies the run as a checkpoint has left it, without what is being written
 * (.tmp-...) and may be gone in a moment. */
static void
copy_run(const char *to)
{
    char command[4 * TEMP_FOLDER_BYTES];
    (void)snprintf(command, sizeof(command), "mkdir %s && cp -r %s/* %s", to,
                   run, to);
    cr_assert_eq(system(command), 0);
}

/* The topology of a config; the caller frees it. */
static char *
planned(const skn_config_options_t *options)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_config_t *planned = skn_config_new(config, name, options, &error);
    cr_assert(planned, "%s", error.text);
    cr_assert_eq(skn_config_plan(planned, &error), SKN_OK, "%s", error.text);
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_eq(skn_config_print(planned, SKN_CONFIG_TOPOLOGY, file, &error),
                 SKN_OK);
    cr_assert_eq(fclose(file), 0);
    skn_config_destroy(&planned);
    return text;
}

/* Runs the plan of a config, but for the actor that leads it: it reports its
 * progress, and ends a span at once where a checkpoint is wanted. Copies the
 * run when it is saved. */
static void
save_between_markers(const char *plan, const char *copy, char sha256[80])
{
    static char line[SKN_EVENT_BYTES_MAX];
    char *hasty = replaced(plan, "patience_s: 2", "patience_s: 0");
    char *text = replaced(hasty, "progress_ms: 0", "progress_ms: 1");
    skn_topology_t *topology = skn_topology_new(text, NULL, NULL, &error);
    skn_start_options_t start = SKN_START_OPTIONS(SKN_SET(no_binding, true));
    bool wanted = false, copied = false;
    cr_assert(topology, "%s", error.text);
    cr_assert_eq(skn_topology_start(topology, &start, &error), SKN_OK);
    while (skn_topology_event(topology, -1, line, sizeof(line), &error) ==
           SKN_OK) {
        if (strstr(line, "\"event\":\"done\"")) /* others may follow it */
            (void)snprintf(events, sizeof(events), "%s\n", line);
        if (!wanted && strstr(line, "\"progress\""))
            skn_topology_save(topology);
        wanted = wanted || strstr(line, "\"progress\"");
        if (!copied && strstr(line, "\"checkpoint\"")) {
            copy_run(copy);
            copied = true;
        }
    }
    cr_assert(copied);
    member_of("done", "weights_sha256", sha256, 80);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    skn_topology_destroy(&topology);
    free(hasty);
    free(text);
}

/* A save lets the window run empty and rebuilds the index of a sampler, so that
 * a run which resumes from the checkpoint ends with the same weights. */
static void
expect_same_from_checkpoint(const char *window, const char *sampler)
{
    const char *const some[] = { "train.epochs=1",
                                 "train.batch_rows=1",
                                 "train.max_batches=100",
                                 "checkpoint.every_epochs=0",
                                 window,
                                 sampler };
    char path[TEMP_FOLDER_BYTES + 16], saved[80], resumed[80];
    (void)snprintf(path, sizeof(path), "%s/copy", folder);
    skn_training_options_t options = options_of(some, 6);
    const skn_config_options_t how = { .struct_bytes = sizeof(how),
                                       .overrides = some,
                                       .override_count = 6 };
    char *plan = planned(&how);
    save_between_markers(plan, path, saved);
    free(plan);
    cr_assert_eq(strlen(saved), 66);
    options.resume = true;
    options.path = path;
    skn_training_t *training = made(config, &options);
    cr_assert_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    member_of("done", "weights_sha256", resumed, sizeof(resumed));
    cr_expect_str_eq(saved, resumed, "%s, %s", window, sampler);
    temp_folder_remove(path);
    temp_folder_remove(run);
}

Test(saves, the_rest_of_a_run_is_that_from_its_checkpoint)
{
    static const char hashed[] = "model.layers.output.sampler={ kind: simhash, "
                                 "rows: 6, uniform_rows: 1, "
                                 "refresh_batches: 10 }";
    static const char drawn[] =
        "model.layers.output.sampler={ kind: uniform, rows: 6 }";
    for (int turn = 0; turn < 3; turn++) {
        expect_same_from_checkpoint("train.window=1", hashed);
        expect_same_from_checkpoint("train.window=4", hashed);
        expect_same_from_checkpoint("train.window=4", drawn);
    }
}
