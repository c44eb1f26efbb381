/* contract_shortage_runs.c - tests whole runs when memory runs short.
 *
 * As contract_shortage_topology.c. A run has many threads, which share the
 * count: the thread that meets the failure differs from run to run, and none of
 * them may crash the process, hang, or lose the message.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "actors/machine/system_machine.h"
#include "tests/support/pipeline_fixture.h"
#include "tests/support/shortage.h"
#include "topology/run/host.h"

static pipeline_t data;
static const char *words[8];
static size_t word_count;

static void
runs_init(void)
{
    if (access("/dev/shm", W_OK) == 0)
        cr_assert_eq(setenv("TMPDIR", "/dev/shm", 0), 0);
    pipeline_init(&data);
    /* It stays for the life of the process, and is no loss of a run. */
    skn_machine_drop(skn_machine_keep(NULL));
}

static void
runs_fini(void)
{
    pipeline_fini(&data);
}

TestSuite(contract_shortage_runs, .init = runs_init, .fini = runs_fini,
          .timeout = 120);

/* Trains for three batches and looks at every event. */
static skn_status_t
train(skn_error_t *error)
{
    char path[TEMP_FOLDER_BYTES + 32], line[4096];
    char run_path[SKN_TEXT_MAX], run_id[64] = "";
    skn_model_run_t run = { 0 };
    (void)snprintf(path, sizeof(path), "%s/one.yaml", data.folder);
    (void)snprintf(run_path, sizeof(run_path), "%s/run-%u", data.folder,
                   data.runs++);
    skn_model_run_options_t options = { .path = path,
                                        .overrides = words,
                                        .override_count = word_count,
                                        .run_path = run_path,
                                        .run_id = run_id,
                                        .progress_ms = 1 };
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_status_t status = skn_model_run_open(&run, &options, problems, error);
    if (skn_problems_count(problems) > 0)
        status = skn_problems_error(problems, error);
    skn_start_options_t start = { .wire = true, .no_binding = true };
    if (status == SKN_OK)
        status = skn_topology_start(run.topology, &start, error);
    if (status == SKN_OK) {
        while (skn_topology_event(run.topology, 20000, line, sizeof(line),
                                  NULL) == SKN_OK)
            cr_expect_eq(line[0], '{');
        status = skn_topology_wait(run.topology, error);
    }
    skn_model_run_close(&run);
    skn_problems_destroy(&problems);
    return status;
}

/* A run has nearly a thousand allocations: every eighth or so of them. */
static void
try_runs(const char *name, const char *const *list, size_t count)
{
    const shortage_t shortage = { name, train, SKN_OK, UINT32_MAX };
    uint32_t forgiven = 0;
    memcpy(words, list, count * sizeof(*words));
    word_count = count;
    size_t descriptors = shortage_warm_up(&shortage);
    cr_assert_not(
        shortage_try_one(&shortage, 0, false, descriptors, &forgiven));
    uint64_t total = faults_disarm();
    cr_assert_gt(total, 100u);
    for (uint64_t k = 0; k < 120; k++) {
        uint64_t n = 1 + (k * total + k * k % total) / 120;
        (void)shortage_try_one(&shortage, n, false, descriptors, &forgiven);
    }
    for (uint64_t k = 1; k < 8; k++)
        (void)shortage_try_one(&shortage, 1 + k * total / 8, true, descriptors,
                               &forgiven);
}

Test(contract_shortage_runs, an_exact_run_ends_or_reports)
{
    static const char *const list[] = { "train.max_batches=3",
                                        "model.layers.output.shards=2" };
    try_runs("an exact run", list, 2);
}

Test(contract_shortage_runs, a_run_with_an_index_ends_or_reports)
{
    static const char *const list[] = {
        "train.max_batches=3",
        "model.layers.hidden.shards=2",
        "model.layers.output.sampler.kind=simhash",
        "model.layers.output.sampler.rows=64",
        "train.optimizer.kind=adam",
        "checkpoint.every_batches=1"
    };
    try_runs("a run with an index", list, 6);
}
