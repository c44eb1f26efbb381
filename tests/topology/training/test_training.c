/* test_training.c - tests trainings through their public functions: a config
 * from text or file to the end, stops, resumes, checkpoints on demand, several
 * networks, and what a host may do wrong.
 *
 * Covers topology/training/ensemble.c, topology/training/network_run.c,
 * topology/training/training_events.c, topology/training/training_state.c,
 * topology/training/networks.c, topology/training/chosen.c and
 * topology/training/load_report.c.  SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/machine/usage.h"
#include "formats/text/json_text.h"
#include "skein/config.h"
#include "skein/predictor.h"
#include "skein/training.h"
#include "tests/support/settle.h"
#include "tests/support/temp_folder.h"
#include "topology/host/host.h"

#define EVENTS_BYTES (1 << 20)
#define CYCLES 200

static char folder[TEMP_FOLDER_BYTES], name[TEMP_FOLDER_BYTES + 16];
static char run[TEMP_FOLDER_BYTES + 16];
static char events[EVENTS_BYTES]; /* of the last training, one a line */
static skn_error_t error;

/* 120 points, 20 features, 30 labels; the label follows from the features. */
static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(name, sizeof(name), "%s/t.yaml", folder);
    (void)snprintf(run, sizeof(run), "%s/run", folder);
    char path[TEMP_FOLDER_BYTES + 16];
    (void)snprintf(path, sizeof(path), "%s/t.txt", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file, "120 20 30\n");
    for (unsigned k = 0; k < 120; k++)
        (void)fprintf(file, "%u %u:1 %u:0.5\n", k * 7 % 30, k * 7 % 30 % 19,
                      19u);
    cr_assert_eq(fclose(file), 0);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(training, .init = set_up, .fini = tear_down, .timeout = 120);

static const char config[] =
    "skein: 1\n"
    "data: { train: t.txt, test: t.txt, cache: none }\n"
    "model:\n"
    "  layers:\n"
    "    - { name: hidden, units: 8, shards: 2, dropout: 0 }\n"
    "    - { name: output, shards: 2, sampler: { kind: exact } }\n"
    "train: { epochs: 3, batch_rows: 8, optimizer: { rate: 0.01 },\n"
    "         schedule: { kind: constant } }\n"
    "checkpoint: { path: run, keep: 100 }\n";

/* A run that lasts until it is stopped. */
static const char *const endless[] = { "train.epochs=1000000",
                                       "train.evaluate.every_epochs=0",
                                       "checkpoint.every_epochs=0" };

static skn_training_options_t
options_of(const char *const *overrides, size_t count)
{
    return (skn_training_options_t){
        .struct_bytes = sizeof(skn_training_options_t),
        .overrides = overrides,
        .override_count = (uint32_t)count,
        .no_binding = true,
    };
}

static skn_training_t *
made(const char *yaml, const skn_training_options_t *options)
{
    skn_training_t *training = skn_training_new(yaml, name, options, &error);
    cr_assert(training, "%s", error.text);
    return training;
}

/* Reads events to one that begins with {"event":"NAME"; false: there is none.
 * It is the last one in `events`. */
static bool
read_to(skn_training_t *training, const char *event)
{
    static char line[SKN_EVENT_BYTES_MAX];
    char begin[64];
    (void)snprintf(begin, sizeof(begin), "{\"event\":\"%s\"", event);
    while (skn_training_event(training, -1, line, sizeof(line), &error) ==
           SKN_OK) {
        size_t used = strlen(events), bytes = strlen(line);
        cr_assert_lt(used + bytes + 2, sizeof(events));
        (void)snprintf(events + used, sizeof(events) - used, "%s\n", line);
        if (strncmp(line, begin, strlen(begin)) == 0)
            return true;
    }
    return false;
}

/* How often `events` has the words. */
static unsigned
told(const char *words)
{
    unsigned count = 0;
    for (const char *at = events; (at = strstr(at, words)); at++)
        count++;
    return count;
}

/* The text of a member in the last event of that name. */
static void
member_of(const char *event, const char *key, char *text, size_t bytes)
{
    char copy[EVENTS_BYTES], *rest = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", events);
    text[0] = '\0';
    for (char *line = strtok_r(copy, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = skn_json_read(line);
        cr_assert(object, "%s", line);
        const json_t *value = json_object_get(object, key);
        if (strcmp(skn_json_word(object, "event"), event) == 0 && value) {
            char *written = skn_json_write(value, JSON_ENCODE_ANY);
            (void)snprintf(text, bytes, "%s", written);
            free(written);
        }
        json_decref(object);
    }
}

static skn_training_info_t
info_of(const skn_training_t *training)
{
    skn_training_info_t info = { .struct_bytes = sizeof(info) };
    cr_assert_eq(skn_training_info(training, &info, &error), SKN_OK);
    return info;
}

/* Starts it, reads all events, and ends it; returns its status. */
static skn_status_t
run_to_end(skn_training_t **training)
{
    events[0] = '\0';
    skn_status_t status = skn_training_start(*training, &error);
    if (status == SKN_OK) {
        cr_expect_not(read_to(*training, "none"));
        status = skn_training_wait(*training, &error);
    }
    skn_training_destroy(training);
    cr_expect_null(*training);
    return status;
}

/* Trains `config` with overrides to its end; its hash of weights. */
static void
train(const char *const *overrides, size_t count, bool resume, char sha256[80])
{
    skn_training_options_t options = options_of(overrides, count);
    options.resume = resume;
    skn_training_t *training = made(config, &options);
    cr_assert_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    member_of("done", "weights_sha256", sha256, 80);
    cr_assert_eq(strlen(sha256), 66, "%s", events);
}

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

/* --- checkpoints on demand ----------------------------------------------- */

Test(training, a_checkpoint_on_demand_does_not_end_the_run)
{
    skn_training_options_t options = options_of(endless, 3);
    char first[32], second[32], answers[8];
    options.progress_ms = 1;
    skn_training_t *training = made(config, &options);
    skn_training_save(training); /* nothing is trained yet */
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

/* The window runs empty where the run is saved, and the index of a sampler is
 * built anew there: the rest of the run is the same from its checkpoint. */
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

Test(training, the_rest_of_a_run_is_that_from_its_checkpoint)
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

/* --- several networks ---------------------------------------------------- */

static const char *const two[] = { "train.ensemble=2", "train.ranker_trees=1" };

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
    while (now_s < begin_s + 0.5)
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
    return atof(cpu_s);
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
Test(training, two_hundred_leave_nothing_behind)
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
