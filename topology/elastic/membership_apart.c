/* membership_apart.c - leaves out members that the coordinator reaches and that
 * do not reach each other.
 *
 * Workers dial each other, so a cut between two of them stops the whole
 * generation, however well the others are. A member reports the members that
 * its worker has lost contact with, or has failed to reach since. Two members
 * are an edge of a graph if either reports the other; members are removed from
 * the graph until no edge is left.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/elastic/membership_internal.h"

/* Reasons to leave a member out, the most important first. */
typedef struct reason {
    uint32_t pairs;      /* edges that it has to members that are left */
    bool out;            /* it is left out already: then nothing changes */
    uint32_t complaints; /* reports by others that name it */
    uint32_t few_cores;
    uint64_t here_ns;
} reason_t;

static bool
is_pair(const skn_membership_t *membership, uint32_t a, uint32_t b)
{
    return ((membership->member[a].misses & bit(b)) |
            (membership->member[b].misses & bit(a))) != 0;
}

/* The members of `set` that `number` does not reach. */
static uint64_t
pairs_of(const skn_membership_t *membership, uint32_t number, uint64_t set)
{
    uint64_t pairs = 0;
    for (uint32_t k = 0; k < membership->options.count; k++)
        if (k != number && (set & bit(k)) && is_pair(membership, number, k))
            pairs |= bit(k);
    return pairs;
}

bool
skn_membership_is_apart(const skn_membership_t *membership, uint32_t number,
                        uint64_t set)
{
    return pairs_of(membership, number, set) != 0;
}

static reason_t
reason_for(const skn_membership_t *membership, uint32_t number, uint64_t set)
{
    reason_t reason = { .out = membership->member[number].out,
                        .few_cores = UINT32_MAX - membership->cores[number],
                        .here_ns = membership->member[number].here_ns };
    uint64_t pairs = pairs_of(membership, number, set);
    reason.pairs = (uint32_t)__builtin_popcountll(pairs);
    for (uint32_t k = 0; k < membership->options.count; k++)
        if (pairs & bit(k))
            reason.complaints +=
                (membership->member[k].misses & bit(number)) != 0;
    return reason;
}

/* The later of two equal members is left out. */
static bool
is_no_less(const reason_t *a, const reason_t *b)
{
    if (a->pairs != b->pairs)
        return a->pairs > b->pairs;
    if (a->out != b->out)
        return a->out;
    if (a->complaints != b->complaints)
        return a->complaints > b->complaints;
    if (a->few_cores != b->few_cores)
        return a->few_cores > b->few_cores;
    return a->here_ns >= b->here_ns;
}

bool
skn_membership_is_linked(const skn_membership_t *membership, uint64_t set)
{
    return __builtin_popcountll(set) <= 1 ||
           (set & ~membership->options.undialled) != 0;
}

uint64_t
skn_membership_together(const skn_membership_t *membership, uint64_t set)
{
    for (;;) {
        reason_t most = { 0 };
        uint32_t out = 0;
        for (uint32_t k = 0; k < membership->options.count; k++) {
            if (!(set & bit(k)))
                continue;
            reason_t reason = reason_for(membership, k, set);
            if (reason.pairs == 0 || !is_no_less(&reason, &most))
                continue;
            most = reason;
            out = k;
        }
        if (most.pairs == 0)
            return skn_membership_is_linked(membership, set) ? set
                                                             : set & (~set + 1);
        set &= ~bit(out);
    }
}

uint64_t
skn_membership_with(const skn_membership_t *membership, uint64_t some,
                    uint64_t ready)
{
    uint64_t others = ready & ~some;
    for (uint32_t k = 0; k < membership->options.count; k++) {
        if (!(some & bit(k)))
            continue;
        if (pairs_of(membership, k, some))
            return 0;
        others &= ~pairs_of(membership, k, others);
    }
    uint64_t set = some | skn_membership_together(membership, others);
    if (skn_membership_is_linked(membership, set))
        return set;
    return skn_membership_is_linked(membership, some) ? some : 0;
}

/* Leaves a member out. If that happens again and again, it also stays out for a
 * time, since the probe of an idle member may miss the fault: each retry comes
 * later than the one before. */
static void
leave_one_out(skn_membership_t *membership, uint32_t number, uint64_t set,
              uint64_t now_ns)
{
    char text[200];
    member_state_t *member = &membership->member[number];
    bool again = member->apart > 0 &&
                 ms_since(member->apart_ns, now_ns) < SKN_MEMBER_FORGET_MS;
    if (member->out)
        return;
    if (pairs_of(membership, number, set) == 0) { /* no connection has failed */
        skn_membership_report(membership,
                              "%s stays out: no node that it could dial is "
                              "here",
                              membership->names[number]);
        return;
    }
    member->out = true;
    member->apart = again ? member->apart + 1 : 1;
    member->apart_ns = now_ns;
    if (member->apart >= 2) {
        member->barred_ns = now_ns + bar_ms(member->apart) * NS_PER_MS;
        member->apart_ns = member->barred_ns;
    }
    skn_membership_report(
        membership, "%s stays out until it and %s can reach each other",
        membership->names[number],
        skn_membership_list(membership, pairs_of(membership, number, set),
                            text));
}

void
skn_membership_mark_out(skn_membership_t *membership, uint64_t set,
                        uint64_t ready, uint64_t now_ns)
{
    for (uint32_t k = 0; k < membership->options.count; k++) {
        if ((ready & bit(k)) && !(set & bit(k)))
            leave_one_out(membership, k, ready, now_ns);
        if (!(set & bit(k)))
            continue;
        membership->member[k].out = false;
        membership->member[k].misses = 0; /* its worker starts again */
    }
    membership->apart_ns = 0;
}

bool
skn_membership_fall_apart(skn_membership_t *membership, uint64_t now_ns)
{
    const member_state_t *member = membership->member;
    for (uint32_t a = 0; a < membership->options.count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (!takes_part(membership, a) || !takes_part(membership, b) ||
                !(member[a].misses & bit(b)) || !(member[b].misses & bit(a)))
                continue;
            if (membership->apart_ns == 0)
                membership->apart_ns = now_ns;
            if (ms_since(membership->apart_ns, now_ns) < SKN_MEMBER_APART_MS)
                return false;
            skn_membership_report(membership,
                                  "%s and %s cannot reach each other",
                                  membership->names[b], membership->names[a]);
            skn_membership_because(membership, membership->names[a],
                                   "is cut off from another node");
            skn_membership_end_generation(membership, now_ns);
            return true;
        }
    }
    membership->apart_ns = 0;
    return false;
}

void
skn_membership_misses(skn_membership_t *membership, uint32_t number,
                      uint64_t set, uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    member->heard_ns = now_ns;
    if (!member->here)
        return;
    member->misses = set & ~bit(number);
    uint64_t others =
        membership->members ? membership->members : membership->former;
    for (uint32_t k = 0; k < membership->options.count; k++) {
        if (!membership->member[k].out ||
            skn_membership_is_apart(membership, k, others))
            continue;
        membership->member[k].out = false;
        if (membership->phase != SKN_MEMBERSHIP_OVER)
            skn_membership_report(membership, "%s can reach the others again",
                                  membership->names[k]);
    }
}
