/* composing.h - collects members' salvages and composes a checkpoint from them.
 *
 * A run with `recovery: partial` continues from it: survivors' salvages over
 * the newest checkpoint (formats/checkpoint/salvage.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_COMPOSING_H
#define CLI_ELASTIC_COMPOSING_H

#include "cli/elastic/manifests.h"
#include "formats/checkpoint/salvage.h"
#include "formats/checkpoint/held.h"
#include "topology/elastic/membership.h"

/* { 0 } is empty. */
typedef struct cli_composing {
    skn_salvage_t
        salvage[SKN_CLUSTER_NODES_MAX]; /* newest of each; no files: none */
    skn_json_text_t text;  /* the manifest that was composed last */
    skn_salvage_sum_t sum; /* and its totals */
} cli_composing_t;

void cli_composing_fini(cli_composing_t *composing);
/* Keeps the salvage whose manifest is `text` ("": none), if it is sound, in
 * place of the member's earlier one. */
void cli_composing_take(cli_composing_t *composing, uint32_t member,
                        const char *text);
/* Composes the salvages that members of `set` have made of `generation` with
 * `held`, the newest checkpoint that they hold together, whose manifest is
 * among `manifests`. False, with *point unchanged, if no salvage is newer or
 * composing fails. */
bool cli_composing_choose(cli_composing_t *composing, uint64_t set,
                          uint64_t generation, const skn_held_t *held,
                          const cli_manifests_t *manifests, skn_point_t *point);
/* Prints what was composed, for people or as an event. */
void cli_composing_tell(const cli_composing_t *composing, uint64_t generation,
                        bool json);

#endif
