/* manifests.h - keeps the manifests of checkpoints that members hold, by seal.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_MANIFESTS_H
#define TOPOLOGY_CLUSTER_MANIFESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/text/json_text.h"

/* The limit for all together. Members hold the same few checkpoints, whose
 * manifests have at most 2 MiB each (held_list.c): more than this is the
 * fault of one member. */
#define SKN_MANIFESTS_BYTES_MAX ((size_t)128 << 20)

typedef struct skn_kept_manifest skn_kept_manifest_t;

/* A list, NULL when it is empty. */
typedef struct skn_manifests {
    skn_kept_manifest_t *first;
    size_t bytes;
} skn_manifests_t;

/* Keeps the manifest that a member sent for a seal, unless it is known or has
 * another seal. */
void skn_manifests_keep(skn_manifests_t *manifests, const char *seal,
                        const char *text);
/* Drops those whose seal `is_held` does not know; all, if it is NULL. */
void skn_manifests_drop(skn_manifests_t *manifests,
                        bool (*is_held)(const void *job, const char *seal),
                        const void *job);
/* The seals of all manifests, as an array. */
json_t *skn_manifests_seals(const skn_manifests_t *manifests);
/* The text of the manifest with that seal, which stays ours, or NULL. */
const char *skn_manifests_sealed(const skn_manifests_t *manifests,
                                 const char *seal);

#endif
