/* plan_restore.c - writes the pipes by which the owners of a plan get their
 * state from a checkpoint.
 *
 * The checkpoint is on the first node. Owners there read it from the disk; the
 * owners on other nodes request it from the checkpointer, since their nodes may
 * not have it. If each node keeps its share, all owners request it from the
 * keeper of their own node.
 *
 *     up_* ─want─▶ checkpointer ─restored─▶ (by owner)
 *
 * The command (`--resume`) decides whether they do, not what a node finds on
 * its disk, so that the plan is the same on each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_internal.h"

void
skn_wire_resume(wire_t *wire, const char *name, uint32_t node)
{
    const skn_plan_start_t *start = wire->start;
    if ((node == 0 && !wire->kept) || !start->restore || !start->run_path) {
        if (start->checkpoint && !wire->kept)
            skn_wire_text(wire, "resume", start->checkpoint);
        return;
    }
    if (wire->restored_count == SKN_ACTORS_MAX)
        return; /* the checker refuses so many actors */
    uint32_t owner = wire->restored_count++, number = owner;
    if (wire->kept) { /* each keeper counts its own owners */
        number = 0;
        for (uint32_t k = 0; k < owner; k++)
            number += wire->restored_on[k] == node;
    }
    wire->restored_on[owner] = node;
    (void)snprintf(wire->restored[owner], sizeof(wire->restored[0]), "%s",
                   name);
    wire->restored_at[owner] = wire->restored[owner];
    skn_wire_int(wire, "owner", number);
}

/* Adds the pipes between `owners`, `count` names and a NULL, and the keeper or
 * checkpointer `name`. */
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
    if (!wire->kept) {
        add_pipes(wire, wire->restored_at, wire->restored_count,
                  "checkpointer");
        return;
    }
    for (uint32_t node = 0; node < wire->plan->node_count; node++) {
        char name[32];
        uint32_t count = 0;
        for (uint32_t k = 0; k < wire->restored_count; k++)
            if (wire->restored_on[k] == node)
                owners[count++] = wire->restored_at[k];
        owners[count] = NULL;
        (void)snprintf(name, sizeof(name), "keeper.%u", node);
        add_pipes(wire, owners, count, name);
    }
}
