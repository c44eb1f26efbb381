/* membership_leave.c - members that leave: who still needs what they hold, and
 * when they may go.
 *
 * A member that wants to leave is let go when nothing would be lost with its
 * folder: when each part of the checkpoint that the run goes on from lies with
 * those who stay, in as many copies as are wanted. The generation that all of
 * them trained in has dealt its copies to leavers, too, so that those who stay
 * may lack parts, or copies of them. Two cases follow:
 *
 *     they have one copy of each part    their generation begins; it writes the
 *                                        checkpoint again at once, and then
 *                                        the leavers, which waited, are let go
 *     they lack a part, or are fewer     a generation in which the leavers that
 *     than are to train                  hold it only serve: they get no rows
 *                                        and no copies. It ends as soon as its
 *                                        first checkpoint is complete
 *
 * So a leaver sees two generations at most, however many leave, and no
 * generation is ever begun that trains with it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "topology/elastic/membership_state.h"

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
            (void)skn_membership_give(membership, SKN_DUTY_BYE, k);
    }
}

void
skn_membership_let_go(skn_membership_t *membership)
{
    /* Before the first checkpoint nobody holds anything that counts. */
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

/* Of two points of which one was chosen from more members than the other. */
static bool
is_same(const skn_point_t *a, const skn_point_t *b)
{
    return a->batch == b->batch && a->layout == b->layout &&
           a->composed == b->composed && a->lost == b->lost;
}

/* Whether nobody but those of `set` is needed for `point`. Where they would
 * fall back to an older one than the run has gone on from, others may still
 * bring what they lack. */
static bool
is_kept(const skn_membership_t *membership, uint64_t set,
        const skn_point_t *point)
{
    uint32_t count = (uint32_t)__builtin_popcountll(set);
    uint32_t copies = membership->options.copies;
    return point->batch >= membership->saved_batch &&
           point->copies >= (copies < count ? copies : count);
}

/* Whether nobody is there to hand over to, not even later, when its time out is
 * over. A coordinator that has just begun hears of some sooner than of others.
 */
static bool
all_leave(const skn_membership_t *membership, uint64_t now_ns)
{
    for (uint32_t k = 0; k < membership->options.count; k++)
        if (membership->member[k].here && !membership->member[k].leaving)
            return false;
    return ms_since(membership->begun_ns, now_ns) >= SKN_MEMBER_SILENCE_MS;
}

/* As few of `all` as are enough beside those that stay. Who is not needed need
 * not end well for the others to have everything. */
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
    /* Whoever chooses remembers what it chose last. */
    (void)choose(membership, stay | serving, point);
    return serving;
}

/* The members that stay, of those that could begin, where the parts that they
 * lack lie only with somebody that not all of them reach. */
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
    /* Those who stay write all copies as soon as they train. */
    if (lacks_copies && (!whole || (uint32_t)__builtin_popcountll(stay) >=
                                       membership->options.least))
        return false;
    if (!whole && membership->saved_batch == 0 && !membership->point.saved) {
        let_go(membership, leavers); /* nothing was ever whole */
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
    skn_membership_because_of(membership, serving, "hands over what it holds",
                              "hand over what they hold");
    with.saved = true;
    skn_membership_start(membership, stay, serving, ready, &with, now_ns);
    return true;
}
