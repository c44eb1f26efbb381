/* stress_training.c - exercises what a host may do with a training at any time,
 * for the thread sanitizer: stops and checkpoints that another thread requests
 * at every moment, while the host polls, and two trainings at once. Covers
 * topology/training/training.c and topology/training/line_queue.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skein/training.h"
#include "tests/support/tsan_libzmq.h"

#define ROUNDS 12u
#define POINTS 60u

static char folder[256];

static const char config[] =
    "skein: 1\n"
    "data: { train: t.txt, cache: none }\n"
    "model:\n"
    "  layers:\n"
    "    - { name: hidden, units: 8, dropout: 0 }\n"
    "    - { name: output, sampler: { kind: exact } }\n"
    "train: { epochs: 1000000, batch_rows: 8 }\n";

static bool
write_data(void)
{
    char path[300];
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder, sizeof(folder), "%.200s/skein-stress-XXXXXX",
                   parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return false;
    (void)snprintf(path, sizeof(path), "%s/t.txt", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    (void)fprintf(file, "%u 20 30\n", POINTS);
    for (unsigned k = 0; k < POINTS; k++)
        (void)fprintf(file, "%u %u:1\n", k % 30, k % 20);
    return fclose(file) == 0;
}

typedef struct guest {
    skn_training_t *training;
    uint64_t turns; /* of a loop before each request */
} guest_t;

static void
wait_turns(uint64_t turns)
{
    for (volatile uint64_t turn = 0; turn < turns; turn++)
        continue;
}

static void *
ask(void *argument)
{
    const guest_t *guest = argument;
    wait_turns(guest->turns);
    skn_training_save(guest->training);
    wait_turns(guest->turns);
    skn_training_stop(guest->training);
    return NULL;
}

/* One training, to its end. */
static skn_status_t
train(unsigned host, uint64_t round, skn_error_t *error)
{
    char name[300], path[340], line[SKN_EVENT_BYTES_MAX / 4];
    const char *const overrides[] = { path };
    skn_training_options_t options = { .struct_bytes = sizeof(options),
                                       .overrides = overrides,
                                       .override_count = 1,
                                       .progress_ms = 1,
                                       .no_binding = true };
    pthread_t thread;
    (void)snprintf(name, sizeof(name), "%s/t.yaml", folder);
    (void)snprintf(path, sizeof(path), "checkpoint.path=%s/run-%u-%u", folder,
                   host, (unsigned)round);
    skn_training_t *training = skn_training_new(config, name, &options, error);
    guest_t guest = { training, round * round * 400000 };
    if (!training || pthread_create(&thread, NULL, ask, &guest) != 0)
        return SKN_NO_MEMORY;
    skn_status_t status = skn_training_start(training, error);
    while (status == SKN_OK || status == SKN_BUSY) {
        skn_training_info_t info = { .struct_bytes = sizeof(info) };
        struct pollfd item = { skn_training_fd(training), POLLIN, 0 };
        (void)poll(&item, 1, -1);
        status = skn_training_event(training, 0, line, sizeof(line), error);
        if (skn_training_info(training, &info, error) != SKN_OK)
            status = SKN_INTERNAL;
    }
    (void)pthread_join(thread, NULL);
    if (status == SKN_UNAVAILABLE)
        status = skn_training_wait(training, error);
    skn_training_destroy(&training);
    return status;
}

static unsigned hosts[2] = { 0, 1 };

static void *
train_all(void *argument)
{
    unsigned *host = argument;
    skn_error_t error = { 0 };
    for (uint64_t round = 0; round < ROUNDS; round++)
        if (train(*host, round, &error) != SKN_OK) {
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
           pthread_create(&threads[count], NULL, train_all, &hosts[count]) == 0)
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
