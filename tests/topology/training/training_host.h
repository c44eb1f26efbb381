/* training_host.h - trainings of a small config in a folder of their own, and
 * what they tell, for tests of skein/training.h.
 *
 * Every Criterion test is a process of its own, so the state is static. Call
 * set_up and tear_down.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TOPOLOGY_TRAINING_TRAINING_HOST_H
#define TESTS_TOPOLOGY_TRAINING_TRAINING_HOST_H

#include <criterion/criterion.h>
#include <string.h>

#include "formats/text/json_text.h"
#include "skein/training.h"
#include "tests/support/temp_folder.h"

#define EVENTS_BYTES (1 << 20)

static char folder[TEMP_FOLDER_BYTES], name[TEMP_FOLDER_BYTES + 16];
static char run[TEMP_FOLDER_BYTES + 16];
static char events[EVENTS_BYTES]; /* of the last training, one a line */
static skn_error_t error;

/* 120 points, 20 features, 30 labels; the label follows from the features. */
static inline void
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

static inline void
tear_down(void)
{
    temp_folder_remove(folder);
}

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

/* Several networks. */
static const char *const two[] = { "train.ensemble=2", "train.ranker_trees=1" };

/* A run that lasts until it is stopped. */
static const char *const endless[] = { "train.epochs=1000000",
                                       "train.evaluate.every_epochs=0",
                                       "checkpoint.every_epochs=0" };

static inline skn_training_options_t
options_of(const char *const *overrides, size_t count)
{
    return (skn_training_options_t){
        .struct_bytes = sizeof(skn_training_options_t),
        .overrides = overrides,
        .override_count = (uint32_t)count,
        .no_binding = true,
    };
}

static inline skn_training_t *
made(const char *yaml, const skn_training_options_t *options)
{
    skn_training_t *training = skn_training_new(yaml, name, options, &error);
    cr_assert(training, "%s", error.text);
    return training;
}

/* Reads events to one that begins with {"event":"NAME"; false: there is none.
 * It is the last one in `events`. */
static inline bool
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
static inline unsigned
told(const char *words)
{
    unsigned count = 0;
    for (const char *at = events; (at = strstr(at, words)); at++)
        count++;
    return count;
}

/* The text of a member in the last event of that name. */
static inline void
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

static inline skn_training_info_t
info_of(const skn_training_t *training)
{
    skn_training_info_t info = { .struct_bytes = sizeof(info) };
    cr_assert_eq(skn_training_info(training, &info, &error), SKN_OK);
    return info;
}

/* Starts it, reads all events, and ends it; returns its status. */
static inline skn_status_t
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
static inline void
train(const char *const *overrides, size_t count, bool resume, char sha256[80])
{
    skn_training_options_t options = options_of(overrides, count);
    options.resume = resume;
    skn_training_t *training = made(config, &options);
    cr_assert_eq(run_to_end(&training), SKN_OK, "%s", error.text);
    member_of("done", "weights_sha256", sha256, 80);
    cr_assert_eq(strlen(sha256), 66, "%s", events);
}

#endif
