/* cluster_fixture.h - a folder for a coordinator and the members of a process:
 * keys, a config with one node, and a program in place of `skein node`, which
 * begins, and ends when its leash does.
 *
 * Without Criterion, for stress programs, too.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CLUSTER_FIXTURE_H
#define TESTS_SUPPORT_CLUSTER_FIXTURE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "skein/member.h"
#include "tests/support/held_port.h"

#define CLUSTER_PATH_BYTES 640

typedef struct cluster {
    char config[CLUSTER_PATH_BYTES], worker[CLUSTER_PATH_BYTES];
} cluster_t;

/* The worker that a test has if it needs no other. */
#define CLUSTER_WORKER                                                         \
    "echo '{\"event\":\"start\"}'\n"                                           \
    "echo '{\"event\":\"progress\",\"batch\":1}'\n"                            \
    "cat >/dev/null\n"                                                         \
    "echo '{\"event\":\"stopped\",\"batch\":0}'\n"

static inline bool
cluster_write(const char *path, const char *before, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    bool good = fputs(before, file) >= 0 && fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

/* Gives the cluster another worker: a shell script. */
static inline bool
cluster_set_worker(const cluster_t *cluster, const char *script)
{
    (void)remove(cluster->worker);
    return cluster_write(cluster->worker, "#!/bin/sh\n", script) &&
           chmod(cluster->worker, 0700) == 0;
}

/* Writes all files into `folder`. */
static inline bool
cluster_make(cluster_t *cluster, const char *folder)
{
    static const char *const names[] = { "a", "lead" };
    char text[4 * CLUSTER_PATH_BYTES], path[CLUSTER_PATH_BYTES];
    char key[SKN_PUBLIC_KEY_BYTES];
    skn_error_t error = SKN_ZERO;
    for (size_t k = 0; k < 2; k++) {
        (void)snprintf(path, sizeof(path), "%s/%s.key", folder, names[k]);
        if (skn_keygen(path, NULL, key, &error) != SKN_OK)
            return false;
    }
    (void)snprintf(cluster->config, sizeof(cluster->config), "%s/m.yaml",
                   folder);
    (void)snprintf(cluster->worker, sizeof(cluster->worker), "%s/worker",
                   folder);
    (void)snprintf(
        text, sizeof(text),
        "data: { train: t }\n"
        "model:\n"
        "  layers:\n"
        "    - { name: hidden }\n"
        "    - { name: output }\n"
        "checkpoint: { path: %s/run }\n"
        "coordinator: { address: tcp://127.0.0.1:%u, key: %s/lead.key }\n"
        "nodes: [{ name: a, address: tcp://127.0.0.1:%u, key: %s/a.key }]\n",
        folder, held_port(), folder, held_port(), folder);
    return cluster_write(cluster->config, "skein: 1\n", text) &&
           cluster_set_worker(cluster, CLUSTER_WORKER);
}

static inline skn_coordinator_t *
cluster_lead(const cluster_t *cluster, skn_error_t *error)
{
    skn_coordinator_options_t options = SKN_ZERO;
    options.struct_bytes = sizeof(options);
    options.path = cluster->config;
    options.progress = true;
    skn_coordinator_t *coordinator = skn_coordinator_new(&options, error);
    if (coordinator && skn_coordinator_start(coordinator, error) != SKN_OK)
        skn_coordinator_destroy(&coordinator);
    return coordinator;
}

/* Reads events of the coordinator to one that has the words. */
static inline bool
cluster_await(skn_coordinator_t *coordinator, const char *words, char *line,
              size_t line_bytes)
{
    while (skn_coordinator_event(coordinator, -1, line, line_bytes, NULL) ==
           SKN_OK)
        if (strstr(line, words))
            return true;
    return false;
}

static inline skn_member_options_t
cluster_member(const cluster_t *cluster)
{
    skn_member_options_t options = SKN_ZERO;
    options.struct_bytes = sizeof(options);
    options.path = cluster->config;
    options.node = "a";
    options.program = cluster->worker;
    return options;
}

/* Reads events to one that has the words, which is then in `line`; false: there
 * is none. */
static inline bool
cluster_read_to(skn_member_t *member, const char *words, char *line,
                size_t line_bytes)
{
    while (skn_member_event(member, -1, line, line_bytes, NULL) == SKN_OK)
        if (strstr(line, words))
            return true;
    return false;
}

#endif
