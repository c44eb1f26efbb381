/* manifests.h - manifests of checkpoints that some member holds, by their
 * seals.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MANIFESTS_H
#define CLI_MANIFESTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct cli_manifest cli_manifest_t;

/* A list, NULL when it is empty. */
typedef struct cli_manifests {
    cli_manifest_t *first;
} cli_manifests_t;

/* Keeps those of the message `holds` that are new. */
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
/* The text of that checkpoint's, which stays ours, or NULL. */
json_t *cli_manifests_text(const cli_manifests_t *manifests, uint64_t batch,
                           uint64_t layout);

#endif
