/* manifests.h - manifests of checkpoints that some member holds, by their
 * seals.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_MANIFESTS_H
#define CLI_ELASTIC_MANIFESTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of all together. Members hold the same few checkpoints, of 2 MiB each at most
 * (talk.c): what is more comes from one that goes wrong. */
#define CLI_MANIFESTS_BYTES_MAX ((size_t)128 << 20)

typedef struct cli_manifest cli_manifest_t;

/* A list, NULL when it is empty. */
typedef struct cli_manifests {
    cli_manifest_t *first;
    size_t bytes;
} cli_manifests_t;

/* Keeps those of the message `holds` that are new, and have the seal that is
 * said of them. */
void cli_manifests_keep(cli_manifests_t *manifests, const json_t *message);
/* Lets go those that `is_held` does not know; all, if it is NULL. */
void cli_manifests_drop(cli_manifests_t *manifests,
                        bool (*is_held)(const void *job, const char *seal),
                        const void *job);
/* The seals of all, as an array. */
json_t *cli_manifests_seals(const cli_manifests_t *manifests);
/* The text of the one with that seal, which stays ours, or NULL. */
json_t *cli_manifests_sealed(const cli_manifests_t *manifests,
                             const char *seal);

#endif
