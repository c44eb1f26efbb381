/* decoder_runs.h - a small text, a small decoder of it, and its training within
 * the process of a test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TOPOLOGY_PLAN_DECODER_RUNS_H
#define TESTS_TOPOLOGY_PLAN_DECODER_RUNS_H

#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"
#include "topology/host/host.h"
#include "topology/run/model_run.h"

#define EVENT_BYTES 65536

static char folder[TEMP_FOLDER_BYTES];
static uint32_t run_count;

/* 20,000 characters of words, and a small decoder. */
static inline void
set_up(void)
{
    static const char *const words[] = { "stage",     "layer", "of ",   "the ",
                                         "gradient ", ".\n",   "token " };
    char path[TEMP_FOLDER_BYTES + 16];
    oracle_random_t random = { 5 };
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/text.txt", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    while (ftell(file) < 20000)
        (void)fputs(words[oracle_next(&random) % 7], file);
    cr_assert_eq(fclose(file), 0);
    (void)snprintf(path, sizeof(path), "%s/m.yaml", folder);
    file = fopen(path, "w");
    cr_assert(file);
    (void)fputs("skein: 1\n"
                "data: { train: text.txt, context: 32, cache: none }\n"
                "model: { kind: decoder, layers: 4, width: 32, heads: 2 }\n"
                "train: { micro_tokens: 128, batch_tokens: 512, steps: 6,\n"
                "         reduction: fixed, validate: 0.2,\n"
                "         optimizer: { rate: 0.01, weight_decay: 0.1 } }\n"
                "resources: { huge_pages: false, cores: 2 }\n",
                file);
    cr_assert_eq(fclose(file), 0);
}

static inline void
tear_down(void)
{
    temp_folder_remove(folder);
}

static inline skn_model_run_t
open_run(const char *const *words, size_t count)
{
    static char path[TEMP_FOLDER_BYTES + 16], run_path[TEMP_FOLDER_BYTES + 16];
    static char run_id[64];
    skn_error_t error = { 0 };
    skn_model_run_t run = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    (void)snprintf(path, sizeof(path), "%s/m.yaml", folder);
    (void)snprintf(run_path, sizeof(run_path), "%s/run%u", folder, run_count++);
    skn_model_run_options_t options = { .path = path,
                                        .overrides = words,
                                        .override_count = count,
                                        .run_path = run_path,
                                        .run_id = run_id };
    skn_status_t status = skn_model_run_open(&run, &options, problems, &error);
    if (skn_problems_count(problems) > 0)
        skn_problems_print(problems, stderr);
    cr_assert_eq(status, SKN_OK, "%s", error.text);
    skn_problems_destroy(&problems);
    return run;
}

/* Trains, and copies the event that has `word` to `event`. */
static inline void
train(const char *const *words, size_t count, const char *word, char *event)
{
    static char line[EVENT_BYTES];
    skn_model_run_t run = open_run(words, count);
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_error_t error = { 0 };
    event[0] = '\0';
    cr_assert_eq(skn_topology_start(run.topology, &options, &error), SKN_OK,
                 "%s", error.text);
    while (skn_topology_event(run.topology, -1, line, sizeof(line), &error) ==
           SKN_OK)
        if (strstr(line, word))
            (void)snprintf(event, EVENT_BYTES, "%s", line);
    cr_assert_eq(skn_topology_wait(run.topology, &error), SKN_OK, "%s",
                 error.text);
    skn_model_run_close(&run);
    cr_assert(event[0], "no event with %s", word);
}

#endif
