/* plan_restore.c - writes the pipes by which the owners of a plan get their
 * state from a checkpoint.
 *
 * The checkpoint is on the first node. Owners there read it from the disk; the
 * owners on other nodes request it from the keeper there, since their nodes may
 * not have it. If each node has a keeper, all owners request it from that of
 * their own node.
 *
 *     up_* ─want─▶ keeper.* ─restored─▶ (by owner)
 *
 * The command (`--resume`) decides whether they do, not what a node finds on
 * its disk, so that the plan is the same on each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_internal.h"

void
skn_wire_resume(wire_t *wire, const char *name, uint32_t node)
{
    const skn_plan_start_t *start = wire->start;
    if ((node == 0 && !has_keeper_per_node(wire)) || !start->restore ||
        !start->run_path) {
        if (start->checkpoint && !has_keeper_per_node(wire))
            skn_wire_text(wire, "resume", start->checkpoint);
        return;
    }
    if (wire->restored_count == SKN_ACTORS_MAX)
        return; /* the checker refuses so many actors */
    uint32_t owner = wire->restored_count++, number = 0;
    uint32_t keeper = has_keeper_per_node(wire) ? node : 0;
    for (uint32_t k = 0; k < owner; k++) /* each keeper counts its own owners */
        number += wire->restored_by[k] == keeper;
    wire->restored_by[owner] = keeper;
    (void)snprintf(wire->restored[owner], sizeof(wire->restored[0]), "%s",
                   name);
    skn_wire_int(wire, "owner", number);
}

/* Adds the pipes between `owners`, `count` names and a NULL, and the keeper
 * `name`. */
static void
add_pipes(wire_t *wire, const char *const *owners, uint32_t count,
          const char *name)
{
    const char *const keeper[] = { name, NULL };
    uint64_t bounds[SKN_ACTORS_MAX + 1];
    skn_draft_pipe_t want = {
        .from = owners,
        .to = keeper,
        .message = "want",
        .pattern = "one",
        .credit = wire->credit,
    };
    skn_draft_pipe_t restored = {
        .from = keeper,
        .to = owners,
        .message = "restored",
        .pattern = "scatter",
        .key = "owner",
        .bounds = bounds,
        .bound_count = count + 1,
        .credit = wire->credit,
        .peer = true,
    };
    if (count == 0)
        return;
    for (uint32_t k = 0; k <= count; k++)
        bounds[k] = k;
    skn_draft_pipe(wire->draft, &want);
    skn_draft_pipe(wire->draft, &restored);
}

void
skn_wire_restore_pipes(wire_t *wire)
{
    const char *owners[SKN_ACTORS_MAX + 1];
    for (uint32_t keeper = 0; keeper < wire->keeper_count; keeper++) {
        char name[32];
        uint32_t count = 0;
        for (uint32_t k = 0; k < wire->restored_count; k++)
            if (wire->restored_by[k] == keeper)
                owners[count++] = wire->restored[k];
        owners[count] = NULL;
        (void)snprintf(name, sizeof(name), "keeper.%u", keeper);
        add_pipes(wire, owners, count, name);
    }
}
