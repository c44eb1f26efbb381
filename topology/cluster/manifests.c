/* manifests.c - keeps the manifests of checkpoints that members hold, by seal.
 *
 * A member needs the manifest to begin from a checkpoint of which it holds only
 * parts.  SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/manifests.h"

#include <stdlib.h>
#include <string.h>

#include "formats/text/json_text.h"

struct skn_kept_manifest {
    char seal[SKN_HASH_TEXT_BYTES];
    char *text;
    size_t bytes;
    skn_kept_manifest_t *next;
};

/* Whether the text really has that seal: a member that is given the seal must
 * get the matching manifest. */
static bool
has_seal(const char *text, size_t bytes, const char *seal)
{
    char found[SKN_HASH_TEXT_BYTES];
    skn_error_t nothing = { 0 };
    if (skn_json_check_seal("", text, bytes, &nothing) != SKN_OK)
        return false;
    skn_json_seal_text(text, bytes, found);
    return strcmp(found, seal) == 0;
}

void
skn_manifests_keep(skn_manifests_t *manifests, const char *seal,
                   const char *text)
{
    size_t bytes = strlen(text);
    if (bytes == 0 || skn_manifests_sealed(manifests, seal) ||
        bytes > SKN_MANIFESTS_BYTES_MAX - manifests->bytes ||
        !has_seal(text, bytes, seal))
        return;
    skn_kept_manifest_t *manifest = calloc(1, sizeof(*manifest));
    char *copy = strdup(text);
    if (!manifest || !copy) {
        free(manifest);
        free(copy);
        return;
    }
    (void)snprintf(manifest->seal, sizeof(manifest->seal), "%s", seal);
    manifest->text = copy;
    manifest->bytes = bytes;
    manifest->next = manifests->first;
    manifests->first = manifest;
    manifests->bytes += bytes;
}

void
skn_manifests_drop(skn_manifests_t *manifests,
                   bool (*is_held)(const void *job, const char *seal),
                   const void *job)
{
    skn_kept_manifest_t **at = &manifests->first;
    while (*at) {
        skn_kept_manifest_t *manifest = *at;
        if (is_held && is_held(job, manifest->seal)) {
            at = &manifest->next;
            continue;
        }
        *at = manifest->next;
        manifests->bytes -= manifest->bytes;
        free(manifest->text);
        free(manifest);
    }
}

json_t *
skn_manifests_seals(const skn_manifests_t *manifests)
{
    json_t *seals = json_array();
    for (const skn_kept_manifest_t *at = manifests->first; at; at = at->next)
        (void)json_array_append_new(seals, json_string(at->seal));
    return seals;
}

const char *
skn_manifests_sealed(const skn_manifests_t *manifests, const char *seal)
{
    for (const skn_kept_manifest_t *at = manifests->first; at; at = at->next)
        if (strcmp(at->seal, seal) == 0)
            return at->text;
    return NULL;
}
