/* composing.h - collects members' salvages and composes a checkpoint from them.
 *
 * A run with `recovery: partial` continues from it: survivors' salvages over
 * the newest checkpoint (formats/checkpoint/salvage.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_COMPOSING_H
#define TOPOLOGY_CLUSTER_COMPOSING_H

#include "topology/cluster/manifests.h"
#include "formats/checkpoint/salvage.h"
#include "formats/checkpoint/held.h"
#include "topology/elastic/membership.h"

/* { 0 } is empty. */
typedef struct skn_composing {
    skn_salvage_t
        salvage[SKN_CLUSTER_NODES_MAX]; /* newest of each; no files: none */
    skn_json_text_t text;  /* the manifest that was composed last */
    skn_salvage_sum_t sum; /* and its totals */
} skn_composing_t;

void skn_composing_fini(skn_composing_t *composing);
/* Keeps the salvage whose manifest is `text` ("": none), if it is sound, in
 * place of the member's earlier one. */
void skn_composing_take(skn_composing_t *composing, uint32_t member,
                        const char *text);
/* Composes the salvages that members of `set` have made of `generation` with
 * `held`, the newest checkpoint that they hold together, whose manifest is
 * among `manifests`. False, with *point unchanged, if no salvage is newer or
 * composing fails. */
bool skn_composing_choose(skn_composing_t *composing, uint64_t set,
                          uint64_t generation, const skn_held_t *held,
                          const skn_manifests_t *manifests, skn_point_t *point);
/* Writes the event `partial`: what was composed for `generation`. */
void skn_composing_write(const skn_composing_t *composing, uint64_t generation,
                         skn_json_text_t *event);

#endif
