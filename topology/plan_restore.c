/* plan_restore.c - how the owners of a plan get their state of a checkpoint.
 *
 * The checkpoint lies on the first node. Who is there reads it from the disk;
 * the owners of other nodes ask the checkpointer, since they may not have it:
 *
 *     up_*, table_builder.* ─want─▶ checkpointer ─restored─▶ (by owner)
 *
 * Whether they do is a matter of the command (`--resume`), not of what a node
 * finds on its disk, so that the plan is the same on each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan_parts.h"

void
skn_wire_resume(wire_t *wire, const char *name, uint32_t node)
{
    const skn_plan_start_t *start = wire->start;
    if (node == 0 || !start->restore || !start->run_path) {
        if (start->checkpoint)
            skn_wire_text(wire, "resume", start->checkpoint);
        return;
    }
    if (wire->restored_count == SKN_ACTORS_MAX)
        return; /* the checker refuses so many actors */
    uint32_t owner = wire->restored_count++;
    (void)snprintf(wire->restored[owner], sizeof(wire->restored[0]), "%s",
                   name);
    wire->restored_at[owner] = wire->restored[owner];
    skn_wire_int(wire, "owner", owner);
}

void
skn_wire_restore_pipes(wire_t *wire)
{
    static const char *const keeper[] = { "checkpointer", NULL };
    uint32_t count = wire->restored_count;
    uint64_t bounds[SKN_ACTORS_MAX + 1];
    skn_draft_pipe_t want = {
        .from = wire->restored_at,
        .to = keeper,
        .message = "want",
        .pattern = "one",
        .credit = wire->credit,
    };
    skn_draft_pipe_t restored = {
        .from = keeper,
        .to = wire->restored_at,
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
