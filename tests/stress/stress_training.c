/* stress_training.c - exercises what a host may do with a training at any time,
 * for the thread sanitizer: stops and checkpoints that another thread requests
 * at every moment, while the host polls, and two trainings at once. Covers
 * topology/training/training.c and topology/training/line_queue.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress_hosts.h"

#include <poll.h>

#include "skein/training.h"

#define ROUNDS 12u

static char folder[TEMP_FOLDER_BYTES];

static const char config[] =
    "skein: 1\n"
    "data: { train: t.txt, cache: none }\n"
    "model:\n"
    "  layers:\n"
    "    - { name: hidden, units: 8, dropout: 0 }\n"
    "    - { name: output, sampler: { kind: exact } }\n"
    "train: { epochs: 1000000, batch_rows: 8 }\n";

static void
ask(const stress_guest_t *guest)
{
    skn_training_save(guest->handle);
    stress_wait_turns(guest->turns);
    skn_training_stop(guest->handle);
}

/* One training, to its end. */
static skn_status_t
train(unsigned host, uint64_t round, skn_error_t *error)
{
    char name[STRESS_PATH_BYTES], path[STRESS_PATH_BYTES];
    char line[SKN_EVENT_BYTES_MAX / 4];
    const char *const overrides[] = { path };
    skn_training_options_t options = { .struct_bytes = sizeof(options),
                                       .overrides = overrides,
                                       .override_count = 1,
                                       .progress_ms = 1,
                                       .no_binding = true };
    (void)snprintf(name, sizeof(name), "%s/t.yaml", folder);
    (void)snprintf(path, sizeof(path), "checkpoint.path=%s/run-%u-%u", folder,
                   host, (unsigned)round);
    skn_training_t *training = skn_training_new(config, name, &options, error);
    stress_guest_t guest = { training, ask, round * round * 400000, 0 };
    if (!training)
        return SKN_NO_MEMORY;
    stress_guest_start(&guest);
    skn_status_t status = skn_training_start(training, error);
    while (status == SKN_OK || status == SKN_BUSY) {
        skn_training_info_t info = { .struct_bytes = sizeof(info) };
        struct pollfd item = { skn_training_fd(training), POLLIN, 0 };
        (void)poll(&item, 1, -1);
        status = skn_training_event(training, 0, line, sizeof(line), error);
        if (skn_training_info(training, &info, error) != SKN_OK)
            status = SKN_INTERNAL;
    }
    (void)pthread_join(guest.thread, NULL);
    if (status == SKN_UNAVAILABLE)
        status = skn_training_wait(training, error);
    skn_training_destroy(&training);
    return status;
}

int
main(void)
{
    stress_folder_make(folder, config);
    int failures = stress_hosts_run(ROUNDS, train);
    temp_folder_remove(folder);
    return failures > 0;
}
