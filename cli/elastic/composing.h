/* composing.h - where a run with `recovery: partial` goes on: what survivors
 * have cut, laid over the newest checkpoint (formats/checkpoint/cut.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_COMPOSING_H
#define CLI_ELASTIC_COMPOSING_H

#include <jansson.h>

#include "cli/elastic/manifests.h"
#include "formats/checkpoint/cut.h"
#include "formats/checkpoint/held.h"
#include "topology/elastic/membership.h"

/* { 0 } holds nothing. */
typedef struct cli_composing {
    skn_cut_t
        cut[SKN_CLUSTER_NODES_MAX]; /* newest of each member; no file: none */
    json_t *text;                   /* of the manifest that was composed last */
    skn_cut_sum_t sum;              /* and what it comes to */
} cli_composing_t;

void cli_composing_fini(cli_composing_t *composing);
/* Keeps the cut of a member's message `holds`, if it has a sound one, in place
 * of what it had. */
void cli_composing_take(cli_composing_t *composing, uint32_t member,
                        const json_t *message);
/* Lays the cuts that those of `set` have made of `generation` over `held`, the
 * newest checkpoint that they hold together, whose manifest is among
 * `manifests`. False: none is further, or it cannot be; *point is as it was. */
bool cli_composing_choose(cli_composing_t *composing, uint64_t set,
                          uint64_t generation, const skn_held_t *held,
                          const cli_manifests_t *manifests, skn_point_t *point);
/* What was chosen, for people, and as an event. */
void cli_composing_tell(const cli_composing_t *composing, uint64_t generation,
                        bool json);

#endif
