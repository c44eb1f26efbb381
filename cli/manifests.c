/* manifests.c - what members need to begin from a checkpoint that they hold
 * parts of only.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/manifests.h"

#include <stdlib.h>
#include <string.h>

#include "cli/talk.h"

struct cli_manifest {
    char seal[SKN_HASH_TEXT_BYTES];
    uint64_t batch, layout;
    json_t *text;
    cli_manifest_t *next;
};

static bool
has(const cli_manifests_t *manifests, const char *seal, uint64_t batch,
    uint64_t layout)
{
    for (const cli_manifest_t *at = manifests->first; at; at = at->next)
        if (strcmp(at->seal, seal) == 0 && at->batch == batch &&
            at->layout == layout)
            return true;
    return false;
}

void
cli_manifests_keep(cli_manifests_t *manifests, const json_t *message)
{
    size_t k;
    const json_t *item;
    json_array_foreach(json_object_get(message, "checkpoints"), k, item)
    {
        json_t *text = json_object_get(item, "manifest");
        const char *seal = cli_talk_text(item, "seal");
        uint64_t batch = cli_talk_number(item, "batch");
        uint64_t layout = cli_talk_number(item, "layout");
        /* Written again by another generation that is cut alike it has the
         * same seal, and who was told that we know that says no more. */
        if (!text)
            text = cli_manifests_sealed(manifests, seal);
        if (!json_is_string(text) || has(manifests, seal, batch, layout))
            continue;
        cli_manifest_t *manifest = calloc(1, sizeof(*manifest));
        if (!manifest)
            return;
        (void)snprintf(manifest->seal, sizeof(manifest->seal), "%s", seal);
        manifest->batch = batch;
        manifest->layout = layout;
        manifest->text = json_incref(text);
        manifest->next = manifests->first;
        manifests->first = manifest;
    }
}

void
cli_manifests_drop(cli_manifests_t *manifests,
                   bool (*is_held)(const void *job, const char *seal),
                   const void *job)
{
    cli_manifest_t **at = &manifests->first;
    while (*at) {
        cli_manifest_t *manifest = *at;
        if (is_held && is_held(job, manifest->seal)) {
            at = &manifest->next;
            continue;
        }
        *at = manifest->next;
        json_decref(manifest->text);
        free(manifest);
    }
}

json_t *
cli_manifests_seals(const cli_manifests_t *manifests)
{
    json_t *seals = json_array();
    for (const cli_manifest_t *at = manifests->first; at; at = at->next)
        (void)json_array_append_new(seals, json_string(at->seal));
    return seals;
}

json_t *
cli_manifests_text(const cli_manifests_t *manifests, uint64_t batch,
                   uint64_t layout)
{
    json_t *text = NULL;
    for (const cli_manifest_t *at = manifests->first; at; at = at->next)
        if (at->batch == batch && at->layout == layout)
            text = at->text;
    return text;
}

json_t *
cli_manifests_sealed(const cli_manifests_t *manifests, const char *seal)
{
    for (const cli_manifest_t *at = manifests->first; at; at = at->next)
        if (strcmp(at->seal, seal) == 0)
            return at->text;
    return NULL;
}
