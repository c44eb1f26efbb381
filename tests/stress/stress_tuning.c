/* stress_tuning.c - exercises what a host may do with a tuning at any time, for
 * the thread sanitizer: stops that another thread requests at every moment,
 * while the host polls and asks how it stands, and two tunings at once. Covers
 * topology/tuning/tuning.c and topology/tuning/tuning_events.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skein/tuning.h"
#include "tests/support/tsan_libzmq.h"

#define ROUNDS 10u
#define POINTS 60u

static char folder[256];

static const char config[] =
    "skein: 1\n"
    "data: { train: t.txt, cache: none }\n"
    "model:\n"
    "  layers:\n"
    "    - { name: hidden, units: 16, dropout: 0 }\n"
    "    - { name: output, sampler: { kind: exact } }\n"
    "train: { epochs: 20, batch_rows: 8, validate: 0.25 }\n";

static bool
write_file(const char *name, const char *text)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    (void)fputs(text, file);
    return fclose(file) == 0;
}

static bool
write_data(void)
{
    static char points[POINTS * 16];
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, sizeof(folder), "%.200s/skein-stress-XXXXXX",
                   parent && *parent ? parent : "/tmp");
    int used = snprintf(points, sizeof(points), "%u 20 30\n", POINTS);
    for (unsigned k = 0; k < POINTS; k++)
        used += snprintf(points + used, sizeof(points) - (size_t)used,
                         "%u %u:1\n", k % 30, k % 20);
    return mkdtemp(folder) && write_file("t.txt", points) &&
           write_file("t.yaml", config);
}

typedef struct guest {
    skn_tuning_t *tuning;
    uint64_t turns; /* of a loop before the stop */
} guest_t;

static void *
stop(void *argument)
{
    const guest_t *guest = argument;
    for (volatile uint64_t turn = 0; turn < guest->turns; turn++)
        continue;
    skn_tuning_stop(guest->tuning);
    return NULL;
}

/* One tuning, to its end. */
static skn_status_t
tune(unsigned host, uint64_t round, skn_error_t *error)
{
    char path[300], own[340], line[SKN_EVENT_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "%s/t.yaml", folder);
    (void)snprintf(own, sizeof(own), "%s/tuned-%u-%u", folder, host,
                   (unsigned)round);
    const skn_tuning_options_t options = { .struct_bytes = sizeof(options),
                                           .path = path,
                                           .folder = own,
                                           .candidates = 3,
                                           .rounds = 1 };
    pthread_t thread;
    skn_tuning_t *tuning = skn_tuning_new(&options, error);
    guest_t guest = { tuning, round * round * 4000000 };
    if (!tuning || pthread_create(&thread, NULL, stop, &guest) != 0)
        return SKN_NO_MEMORY;
    skn_status_t status = skn_tuning_start(tuning, error);
    while (status == SKN_OK || status == SKN_BUSY) {
        skn_tuning_info_t info = { .struct_bytes = sizeof(info) };
        struct pollfd item = { skn_tuning_fd(tuning), POLLIN, 0 };
        (void)poll(&item, 1, -1);
        status = skn_tuning_event(tuning, 0, line, sizeof(line), error);
        if (skn_tuning_info(tuning, &info, error) != SKN_OK)
            status = SKN_INTERNAL;
    }
    (void)pthread_join(thread, NULL);
    if (status == SKN_UNAVAILABLE)
        status = skn_tuning_wait(tuning, error);
    skn_tuning_destroy(&tuning);
    return status;
}

static unsigned hosts[2] = { 0, 1 };

static void *
tune_all(void *argument)
{
    unsigned *host = argument;
    skn_error_t error = { 0 };
    for (uint64_t round = 0; round < ROUNDS; round++)
        if (tune(*host, round, &error) != SKN_OK) {
            (void)fprintf(stderr, "round %llu: %s\n", (unsigned long long)round,
                          error.text);
            return host;
        }
    return NULL;
}

int
main(void)
{
    pthread_t threads[2];
    void *failed = NULL;
    char command[300];
    int count = 0, failures = 0;
    if (!write_data())
        return 1;
    while (count < 2 &&
           pthread_create(&threads[count], NULL, tune_all, &hosts[count]) == 0)
        count++;
    for (int k = 0; k < count; k++) {
        (void)pthread_join(threads[k], &failed);
        failures += failed != NULL;
    }
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    (void)(system(command) == 0);
    (void)printf("%d of 2 hosts failed\n", failures);
    return failures > 0 || count < 2;
}
