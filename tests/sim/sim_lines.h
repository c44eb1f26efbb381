/* sim_lines.h - the lines between members and the coordinator of
 * sim_membership.c: each message arrives a step later, in order, unless its
 * line is cut.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_SIM_LINES_H
#define TESTS_SIM_SIM_LINES_H

#include "tests/sim/sim_members.h"

static inline message_t *
send(world_t *world, bool to_member, uint32_t number)
{
    static message_t nowhere;
    member_t *member = &world->member[number];
    bool cut = world->now_ns < member->cut_ns &&
               (to_member ? member->cut_down : member->cut_up);
    if (!member->connected || world->coordinator_ns || cut ||
        world->message_count == MESSAGES_MAX)
        return &nowhere;
    message_t *message = &world->message[world->message_count++];
    *message = (message_t){ .due_ns = world->now_ns + STEP_NS,
                            .to_member = to_member,
                            .member = number,
                            .incarnation = member->incarnation };
    return message;
}

static inline void
break_line(world_t *world, uint32_t number)
{
    member_t *member = &world->member[number];
    size_t kept = 0;
    if (!member->connected)
        return;
    for (size_t k = 0; k < world->message_count; k++)
        if (world->message[k].member != number)
            world->message[kept++] = world->message[k];
    world->message_count = kept;
    member->connected = member->greeted = false;
    member->dial_ns = world->now_ns + 100 * MS + draw(world, 900) * MS;
    if (!world->coordinator_ns)
        skn_membership_lost(world->membership, number, world->now_ns);
}

/* What the worker of a member hears of another one. */
static inline bool
hears(const world_t *world, uint32_t number, uint32_t peer)
{
    const member_t *other = &world->member[peer];
    return other->alive && other->runs == world->member[number].runs &&
           world->now_ns >= other->stopped_ns &&
           world->now_ns >= other->ready_ns && !is_cut(world, number, peer);
}

/* The line of one, or those of all but one at a time, go silent, or end at once
 * for both of their ends. */
static inline void
cut_lines(world_t *world, uint32_t number)
{
    uint64_t until_ns = world->now_ns + draw(world, 15000) * MS;
    bool up = draw(world, 3) != 0, down = !up || draw(world, 2);
    bool others = draw(world, 4) == 0, ends = draw(world, 2) == 0;
    for (uint32_t k = 0; k < world->count; k++) {
        member_t *member = &world->member[k];
        if ((k == number) == others)
            continue;
        member->cut_ns = until_ns;
        member->cut_up = up;
        member->cut_down = down;
        if (ends)
            break_line(world, k);
        trace(world, "%s is cut off till %.2f, up %d, down %d%s", names[k],
              (double)until_ns * 1e-9, up, down, ends ? ", at once" : "");
    }
}

#endif
