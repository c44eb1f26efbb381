/* stress_tuning.c - exercises what a host may do with a tuning at any time, for
 * the thread sanitizer: stops that another thread requests at every moment,
 * while the host polls and asks how it stands, and two tunings at once. Covers
 * topology/tuning/tuning.c and topology/tuning/tuning_events.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress_hosts.h"

#include <poll.h>

#include "skein/tuning.h"

#define ROUNDS 10u

static char folder[TEMP_FOLDER_BYTES];

static const char config[] =
    "skein: 1\n"
    "data: { train: t.txt, cache: none }\n"
    "model:\n"
    "  layers:\n"
    "    - { name: hidden, units: 16, dropout: 0 }\n"
    "    - { name: output, sampler: { kind: exact } }\n"
    "train: { epochs: 20, batch_rows: 8, validate: 0.25 }\n";

static void
stop(const stress_guest_t *guest)
{
    skn_tuning_stop(guest->handle);
}

/* One tuning, to its end. */
static skn_status_t
tune(unsigned host, uint64_t round, skn_error_t *error)
{
    char path[STRESS_PATH_BYTES], own[STRESS_PATH_BYTES];
    char line[SKN_EVENT_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "%s/t.yaml", folder);
    (void)snprintf(own, sizeof(own), "%s/tuned-%u-%u", folder, host,
                   (unsigned)round);
    const skn_tuning_options_t options = { .struct_bytes = sizeof(options),
                                           .path = path,
                                           .folder = own,
                                           .candidates = 3,
                                           .rounds = 1 };
    skn_tuning_t *tuning = skn_tuning_new(&options, error);
    stress_guest_t guest = { tuning, stop, round * round * 4000000, 0 };
    if (!tuning)
        return SKN_NO_MEMORY;
    stress_guest_start(&guest);
    skn_status_t status = skn_tuning_start(tuning, error);
    while (status == SKN_OK || status == SKN_BUSY) {
        skn_tuning_info_t info = { .struct_bytes = sizeof(info) };
        struct pollfd item = { skn_tuning_fd(tuning), POLLIN, 0 };
        (void)poll(&item, 1, -1);
        status = skn_tuning_event(tuning, 0, line, sizeof(line), error);
        if (skn_tuning_info(tuning, &info, error) != SKN_OK)
            status = SKN_INTERNAL;
    }
    (void)pthread_join(guest.thread, NULL);
    if (status == SKN_UNAVAILABLE)
        status = skn_tuning_wait(tuning, error);
    skn_tuning_destroy(&tuning);
    return status;
}

int
main(void)
{
    stress_folder_make(folder, config);
    int failures = stress_hosts_run(ROUNDS, tune);
    temp_folder_remove(folder);
    return failures > 0;
}
