/* manifests.h - keeps the manifests of checkpoints that members hold, by seal.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_MANIFESTS_H
#define CLI_ELASTIC_MANIFESTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The limit for all together. Members hold the same few checkpoints, whose
 * manifests have at most 2 MiB each (held_list.c): more than this is the
 * fault of one member. */
#define CLI_MANIFESTS_BYTES_MAX ((size_t)128 << 20)

typedef struct cli_manifest cli_manifest_t;

/* A list, NULL when it is empty. */
typedef struct cli_manifests {
    cli_manifest_t *first;
    size_t bytes;
} cli_manifests_t;

/* Keeps the manifest that a member sent for a seal, unless it is known or has
 * another seal. */
void cli_manifests_keep(cli_manifests_t *manifests, const char *seal,
                        const char *text);
/* Drops those whose seal `is_held` does not know; all, if it is NULL. */
void cli_manifests_drop(cli_manifests_t *manifests,
                        bool (*is_held)(const void *job, const char *seal),
                        const void *job);
/* The seals of all manifests, as an array. */
json_t *cli_manifests_seals(const cli_manifests_t *manifests);
/* The text of the manifest with that seal, which stays ours, or NULL. */
const char *cli_manifests_sealed(const cli_manifests_t *manifests,
                                 const char *seal);

#endif
