/* step_reports.c - collects the reports of keepers, and makes one manifest of
 * theirs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/checkpoints/step_reports.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
forget(skn_step_reports_t *reports)
{
    for (uint32_t k = 0; reports->parts && k < reports->nodes; k++)
        skn_manifest_fini(&reports->parts[k]);
    skn_manifest_fini(&reports->whole);
}

skn_status_t
skn_step_reports_open(skn_step_reports_t *reports, uint32_t nodes,
                      skn_error_t *error)
{
    assert(nodes > 0 && nodes <= 64);
    *reports = (skn_step_reports_t){ .nodes = nodes, .step = SKN_KEEP_START };
    reports->parts = calloc(nodes, sizeof(*reports->parts));
    return reports->parts
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY,
                          "no memory for the lists of %u nodes", nodes);
}

void
skn_step_reports_close(skn_step_reports_t *reports)
{
    forget(reports);
    free(reports->parts);
    reports->parts = NULL;
}

void
skn_step_reports_expect(skn_step_reports_t *reports, skn_keeping_t step,
                        uint64_t batch)
{
    reports->step = step;
    reports->batch = batch;
    reports->reported = 0;
    reports->failure = (skn_error_t){ 0 };
    if (step == SKN_KEEP_OPEN)
        forget(reports);
}

/* Parses a sealed list of files. */
static skn_status_t
take_list(skn_step_reports_t *reports, const skn_kept_t *kept,
          skn_error_t *error)
{
    char what[64];
    skn_manifest_t *part = &reports->parts[kept->node];
    const char *bytes = (const char *)kept->list.at;
    (void)snprintf(what, sizeof(what), "the list of node %u", kept->node);
    skn_status_t status =
        skn_json_check_seal(what, bytes, kept->list.count, error);
    if (status == SKN_OK)
        status =
            skn_manifest_parse_part(what, bytes, kept->list.count, part, error);
    return status;
}

skn_status_t
skn_step_reports_take(skn_step_reports_t *reports, const skn_actor_t *actor,
                      const skn_kept_t *kept, bool *all, skn_error_t *error)
{
    uint64_t bit = UINT64_C(1) << kept->node % 64;
    *all = false;
    if (kept->node >= reports->nodes || kept->step != (uint32_t)reports->step ||
        kept->batch != reports->batch || (reports->reported & bit))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: node %u reports step %u of batch %llu during "
                        "step %u of batch %llu",
                        skn_actor_name(actor), kept->node, kept->step,
                        (unsigned long long)kept->batch,
                        (unsigned)reports->step,
                        (unsigned long long)reports->batch);
    reports->reported |= bit;
    *all = reports->reported == UINT64_MAX >> (64 - reports->nodes);
    if (kept->failure[0]) {
        if (reports->failure.status == SKN_OK)
            (void)skn_fail(&reports->failure, SKN_STORAGE, "%s", kept->failure);
        return SKN_OK;
    }
    return kept->step == SKN_KEEP_WRITE ? take_list(reports, kept, error)
                                        : SKN_OK;
}

skn_status_t
skn_step_reports_seal(skn_step_reports_t *reports, const char *path,
                      const char *metadata, skn_json_text_t *text,
                      skn_error_t *error)
{
    skn_manifest_t *whole = &reports->whole;
    skn_status_t status = SKN_OK;
    *whole = (skn_manifest_t){ .batch = reports->batch };
    memcpy(whole->run_id, reports->parts[0].run_id, sizeof(whole->run_id));
    whole->metadata = strdup(metadata);
    if (!whole->metadata)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for the metadata");
    for (uint32_t k = 0; k < reports->nodes && status == SKN_OK; k++)
        status = skn_manifest_merge(whole, &reports->parts[k], error);
    if (status == SKN_OK)
        status = skn_manifest_sort(whole, error);
    return status == SKN_OK ? skn_manifest_text(path, whole, text, error)
                            : status;
}

size_t
skn_step_reports_files(const skn_step_reports_t *reports, uint32_t node,
                       uint32_t *file)
{
    const skn_manifest_t *part = &reports->parts[node];
    for (size_t k = 0; k < part->file_count; k++)
        file[k] =
            (uint32_t)skn_manifest_find(&reports->whole, part->file[k].name);
    return part->file_count;
}
