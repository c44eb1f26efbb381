/* stress_hosts.h - what stress programs of hosts share: two hosts that do the
 * same at once, a thread that makes requests at any moment, points on a disk.
 *
 * Included before everything else.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STRESS_STRESS_HOSTS_H
#define TESTS_STRESS_STRESS_HOSTS_H

#include "tests/support/no_criterion.h"

#include <pthread.h>
#include <stdint.h>

#include "skein/error.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tsan_libzmq.h"

/* --- a thread that makes requests ----------------------------------------- */

typedef struct stress_guest {
    void *handle;
    void (*ask)(const struct stress_guest *guest);
    uint64_t turns; /* of a loop before it asks */
    pthread_t thread;
} stress_guest_t;

static inline void
stress_wait_turns(uint64_t turns)
{
    for (volatile uint64_t turn = 0; turn < turns; turn++)
        continue;
}

static inline void *
stress_guest_main(void *argument)
{
    const stress_guest_t *guest = argument;
    stress_wait_turns(guest->turns);
    guest->ask(guest);
    return NULL;
}

/* The caller joins its thread. */
static inline void
stress_guest_start(stress_guest_t *guest)
{
    cr_assert_eq(pthread_create(&guest->thread, NULL, stress_guest_main, guest),
                 0);
}

/* --- two hosts ------------------------------------------------------------ */

/* One round of a host, 0 or 1. */
typedef skn_status_t stress_round_t(unsigned host, uint64_t round,
                                    skn_error_t *error);

typedef struct stress_host {
    unsigned number;
    uint64_t rounds;
    stress_round_t *run;
    bool has_failed;
    pthread_t thread;
} stress_host_t;

static inline void *
stress_host_main(void *argument)
{
    stress_host_t *host = argument;
    skn_error_t error = { 0 };
    for (uint64_t round = 0; round < host->rounds && !host->has_failed;
         round++) {
        host->has_failed = host->run(host->number, round, &error) != SKN_OK;
        if (host->has_failed)
            (void)fprintf(stderr, "round %llu: %s\n", (unsigned long long)round,
                          error.text);
    }
    return NULL;
}

/* How many of the two have failed. */
static inline int
stress_hosts_run(uint64_t rounds, stress_round_t *run)
{
    stress_host_t host[2];
    int failures = 0;
    for (unsigned k = 0; k < 2; k++) {
        host[k] = (stress_host_t){ .number = k, .rounds = rounds, .run = run };
        cr_assert_eq(
            pthread_create(&host[k].thread, NULL, stress_host_main, &host[k]),
            0);
    }
    for (unsigned k = 0; k < 2; k++) {
        (void)pthread_join(host[k].thread, NULL);
        failures += host[k].has_failed;
    }
    (void)printf("%d of 2 hosts failed\n", failures);
    return failures;
}

/* --- points on a disk ----------------------------------------------------- */

#define STRESS_POINTS 60u
#define STRESS_PATH_BYTES (TEMP_FOLDER_BYTES + 64)

/* Makes a folder with t.txt, a few points of 20 features and 30 labels, and
 * t.yaml, which is `config`. */
static inline void
stress_folder_make(char folder[TEMP_FOLDER_BYTES], const char *config)
{
    char path[STRESS_PATH_BYTES];
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/t.txt", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file, "%u 20 30\n", STRESS_POINTS);
    for (unsigned k = 0; k < STRESS_POINTS; k++)
        (void)fprintf(file, "%u %u:1\n", k % 30, k % 20);
    cr_assert_eq(fclose(file), 0);
    (void)snprintf(path, sizeof(path), "%s/t.yaml", folder);
    file = fopen(path, "w");
    cr_assert(file);
    (void)fputs(config, file);
    cr_assert_eq(fclose(file), 0);
}

#endif
