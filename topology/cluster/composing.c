/* composing.c - collects members' salvages and composes a checkpoint from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/composing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
skn_composing_fini(skn_composing_t *composing)
{
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++)
        skn_salvage_fini(&composing->salvage[k]);
    skn_json_text_fini(&composing->text);
    *composing = (skn_composing_t){ 0 };
}

void
skn_composing_take(skn_composing_t *composing, uint32_t member,
                   const char *text)
{
    skn_error_t nothing = { 0 };
    skn_salvage_fini(&composing->salvage[member]);
    if (text[0])
        (void)skn_salvage_parse(text, strlen(text), &composing->salvage[member],
                                &nothing);
}

static size_t
list_salvages(const skn_composing_t *composing, uint64_t set,
              uint64_t generation, const char *run_id,
              const skn_salvage_t *list[SKN_CLUSTER_NODES_MAX])
{
    size_t count = 0;
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++) {
        const skn_salvage_t *salvage = &composing->salvage[k];
        if ((set & ((uint64_t)1 << k)) && salvage->part.file_count > 0 &&
            salvage->generation == generation &&
            strcmp(salvage->part.run_id, run_id) == 0)
            list[count++] = salvage;
    }
    return count;
}

bool
skn_composing_choose(skn_composing_t *composing, uint64_t set,
                     uint64_t generation, const skn_held_t *held,
                     const skn_manifests_t *manifests, skn_point_t *point)
{
    const skn_salvage_t *list[SKN_CLUSTER_NODES_MAX];
    skn_manifest_t base = { 0 };
    skn_json_text_t text = { 0 };
    skn_salvage_sum_t sum;
    skn_error_t nothing = { 0 };
    size_t count =
        list_salvages(composing, set, generation, held->run_id, list);
    /* Look it up by seal and not by batch: a composed checkpoint may have the
     * batch of a checkpoint that is not whole. */
    const char *manifest = skn_manifests_sealed(manifests, held->seal);
    bool chosen = count > 0 && manifest && !held->finished &&
                  skn_manifest_parse("", manifest, strlen(manifest), &base,
                                     &nothing) == SKN_OK &&
                  skn_salvage_compose(&base, list, count, &sum, &text,
                                      &nothing) == SKN_OK;
    if (chosen) {
        skn_json_text_fini(&composing->text);
        composing->text = text;
        composing->sum = sum;
        *point = (skn_point_t){ .saved = true,
                                .batch = sum.batch,
                                .layout = generation,
                                .composed = true,
                                .lost = sum.lost };
    } else {
        skn_json_text_fini(&text);
    }
    skn_manifest_fini(&base);
    return chosen;
}

void
skn_composing_write(const skn_composing_t *composing, uint64_t generation,
                    skn_json_text_t *event)
{
    const skn_salvage_sum_t *sum = &composing->sum;
    skn_json_text_add(
        event,
        "{\"event\":\"partial\",\"generation\":%" PRIu64 ",\"batch\":%" PRIu64
        ",\"from\":%" PRIu64 ",\"kept\":%" PRIu64 ",\"back\":%" PRIu64
        ",\"lost\":%" PRIu64 "}",
        generation, sum->batch, sum->base, sum->kept, sum->back, sum->lost);
}
