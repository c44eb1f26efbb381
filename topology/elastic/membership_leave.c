/* membership_leave.c - lets members leave once the others hold what they need.
 *
 * A member that wants to leave is let go when its folder is no longer needed:
 * when the members that stay hold each part of the checkpoint from which the
 * run continues, in as many copies as required. The generation that all of them
 * trained in has dealt copies to leaving members too, so the members that stay
 * may lack parts, or copies of them. There are two cases:
 *
 *     they have one copy of each part    their generation begins; it writes the
 *                                        checkpoint again at once, and then
 *                                        the leavers, which waited, are let go
 *     they lack a part, or are too few   a generation in which the leavers that
 *     to train                           hold it only serve: they get no rows
 *                                        and no copies. It ends as soon as its
 *                                        first checkpoint is complete
 *
 * So a leaver sees two generations at most, however many leave, and no
 * generation that trains with it is ever begun.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "topology/elastic/membership_internal.h"

void
skn_membership_because_of(skn_membership_t *membership, uint64_t set,
                          const char *one, const char *several)
{
    char text[200];
    bool single = (set & (set - 1)) == 0;
    (void)snprintf(membership->reason, sizeof(membership->reason), "%s %s",
                   skn_membership_list(membership, set, text),
                   single ? one : several);
}

uint64_t
skn_membership_leavers(const skn_membership_t *membership, uint64_t set)
{
    uint64_t leavers = 0;
    for (uint32_t k = 0; k < membership->options.count; k++)
        if ((set & bit(k)) && membership->member[k].here &&
            membership->member[k].leaving)
            leavers |= bit(k);
    return leavers;
}

static void
let_go(skn_membership_t *membership, uint64_t set)
{
    for (uint32_t k = 0; k < membership->options.count; k++) {
        const member_state_t *member = &membership->member[k];
        if ((set & bit(k)) && member->here && member->leaving &&
            member->runs == 0 && !takes_part(membership, k))
            (void)skn_membership_give(membership, SKN_DUTY_DISMISS, k);
    }
}

void
skn_membership_let_go(skn_membership_t *membership)
{
    /* Before the first checkpoint no member holds anything that is
     * must_not_leave_out. */
    if (membership->saved_here || !membership->point.saved)
        let_go(membership, UINT64_MAX);
}

/* --- handing over --------------------------------------------------------- */

static bool
choose(skn_membership_t *membership, uint64_t set, skn_point_t *point)
{
    skn_error_t nothing = { 0 };
    *point = (skn_point_t){ 0 };
    return membership->options.choose(membership->options.job, set, point,
                                      &nothing) == SKN_OK;
}

/* Compares two points, of which one was chosen from more members. */
static bool
is_same(const skn_point_t *a, const skn_point_t *b)
{
    return a->batch == b->batch && a->layout == b->layout &&
           a->composed == b->composed && a->lost == b->lost;
}

/* True if the members of `set` alone have `point` in enough copies. If they
 * would fall back to an older checkpoint than the run continued from, other
 * members may still bring the parts that they lack. */
static bool
is_kept(const skn_membership_t *membership, uint64_t set,
        const skn_point_t *point)
{
    assert(set != 0);
    uint32_t count = (uint32_t)__builtin_popcountll(set);
    uint32_t copies = membership->options.copies;
    return point->batch >= membership->saved_batch &&
           point->copies >= (copies < count ? copies : count);
}

/* True if there is no member to hand over to, not even one that is barred for
 * now. After the start of a coordinator, members connect at different times. */
static bool
all_leave(const skn_membership_t *membership, uint64_t now_ns)
{
    for (uint32_t k = 0; k < membership->options.count; k++)
        if (membership->member[k].here && !membership->member[k].leaving)
            return false;
    return ms_since(membership->begun_ns, now_ns) >= SKN_MEMBER_SILENCE_MS;
}

/* The smallest part of `all` that is needed beside the members that stay. The
 * others get everything even if a member that is not needed fails. */
static uint64_t
fewest(skn_membership_t *membership, uint64_t stay, uint64_t all,
       skn_point_t *point)
{
    uint64_t serving = all & ~stay;
    skn_point_t other;
    for (uint32_t k = 0; k < membership->options.count; k++) {
        uint64_t without = serving & ~bit(k);
        if (without != serving && choose(membership, stay | without, &other) &&
            is_same(&other, point))
            serving = without;
    }
    /* choose() remembers its last choice. */
    (void)choose(membership, stay | serving, point);
    return serving;
}

/* Replaces the members that stay by others of `ready`, if the missing parts are
 * stored only on members that not all of them reach. */
static bool
look_elsewhere(skn_membership_t *membership, uint64_t *stay, uint64_t ready,
               uint64_t leavers, uint64_t *all, skn_point_t *point)
{
    uint64_t set = *stay;
    if (!skn_membership_choose_instead(membership, &set, ready | leavers,
                                       leavers, point))
        return false;
    *all = set;
    *stay = set & ~leavers;
    return true;
}

bool
skn_membership_hand_over(skn_membership_t *membership, uint64_t stay,
                         uint64_t ready, uint64_t leavers, uint64_t now_ns)
{
    skn_point_t without, with;
    if (leavers == 0)
        return false;
    if (stay == 0) {
        if (all_leave(membership, now_ns))
            let_go(membership, leavers);
        return false;
    }
    uint64_t all = skn_membership_with(membership, stay, stay | leavers);
    bool alone = choose(membership, stay, &without);
    bool whole = choose(membership, all, &with);
    bool lacks_copies = alone && (!whole || is_same(&without, &with));
    if (lacks_copies && is_kept(membership, stay, &without)) {
        let_go(membership, leavers);
        return false;
    }
    /* The members that stay write all copies as soon as they train. */
    if (lacks_copies && (!whole || (uint32_t)__builtin_popcountll(stay) >=
                                       membership->options.least))
        return false;
    if (!whole && membership->saved_batch == 0 && !membership->point.saved) {
        let_go(membership, leavers); /* no checkpoint was ever complete */
        return false;
    }
    if (!whole &&
        !look_elsewhere(membership, &stay, ready, leavers, &all, &with))
        return false;
    if (now_ns < membership->retry_ns ||
        !skn_membership_is_still(membership, now_ns))
        return true;
    uint64_t serving =
        lacks_copies ? all & ~stay : fewest(membership, stay, all, &with);
    if (!serving)
        return false;
    skn_membership_because_of(membership, serving, "hands over its state",
                              "hand over what they hold");
    with.saved = true;
    skn_membership_start(membership, stay, serving, ready, &with, now_ns);
    return true;
}
