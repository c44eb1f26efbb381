/* membership_gather.c - between two generations: decides which members begin
 * the next one, and from which checkpoint.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "topology/elastic/membership_internal.h"

/* interval between messages that name the members waited for */
#define TELL_MS 10000u
/* most members left out whose parts are tried in place of others' */
#define INSTEAD_MAX 8

const char *
skn_membership_list(const skn_membership_t *membership, uint64_t set,
                    char text[200])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t k = 0; set && k < membership->options.count; k++) {
        if (!(set & bit(k)))
            continue;
        set &= ~bit(k);
        int more = snprintf(text + used, 200 - used, "%s%s",
                            used == 0 ? ""
                            : set     ? ", "
                                      : " and ",
                            membership->names[k]);
        used += more > 0 ? (size_t)more : 0;
        if (used >= 199)
            break;
    }
    return text;
}

static void
ask(skn_membership_t *membership, uint32_t number, uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    if (!member->asked || ms_since(member->ask_ns, now_ns) >= 1000) {
        (void)skn_membership_give(membership, SKN_DUTY_LIST, number);
        member->ask_ns = now_ns;
    }
    member->asked = true;
}

/* True if the member should be left out for a reason that still lets the others
 * get what it holds. */
static bool
is_not_wanted(const member_state_t *member, uint64_t now_ns)
{
    return member->leaving || member->spared_ns > now_ns;
}

/* The members that could begin. *unready: a member that is here is not ready
 * yet. *leavers: members that leave or are left out, and whose parts others may
 * need. */
static uint64_t
candidates(skn_membership_t *membership, uint64_t now_ns, uint64_t *leavers,
           bool *unready)
{
    uint64_t set = 0;
    *leavers = 0;
    *unready = false;
    for (uint32_t k = 0; k < membership->options.count; k++) {
        member_state_t *member = &membership->member[k];
        bool barred = member->barred_ns > now_ns && !member->leaving;
        if (!member->here || barred)
            continue;
        if (member->runs != 0) {
            if (ms_since(member->abort_ns, now_ns) >= 1000)
                skn_membership_abort(membership, k, now_ns);
            *unready = true;
        } else if (!member->held) {
            ask(membership, k, now_ns);
            *unready = true;
        } else if (is_not_wanted(member, now_ns)) {
            *leavers |= bit(k);
        } else {
            set |= bit(k);
        }
    }
    return set;
}

static void
wait_for_members(skn_membership_t *membership, uint64_t set, const char *why,
                 uint64_t now_ns)
{
    char text[200];
    if (ms_since(membership->told_ns, now_ns) < TELL_MS)
        return;
    membership->told_ns = now_ns;
    skn_membership_report(
        membership, "waiting for %s: %s",
        skn_membership_list(
            membership,
            ~set & (membership->options.count == SKN_CLUSTER_NODES_MAX
                        ? UINT64_MAX
                        : bit(membership->options.count) - 1),
            text),
        why);
}

void
skn_membership_start(skn_membership_t *membership, uint64_t stay,
                     uint64_t serving, uint64_t ready, const skn_point_t *point,
                     uint64_t now_ns)
{
    char text[200];
    assert(membership->phase == SKN_MEMBERSHIP_GATHERING);
    assert(stay != 0 && (stay & serving) == 0);
    skn_membership_mark_out(membership, stay | serving, ready, now_ns);
    if (membership->generation < membership->newest)
        membership->generation = membership->newest;
    membership->generation++;
    membership->members = stay | serving;
    membership->serving = serving;
    membership->saved_here = false;
    membership->point = *point;
    membership->batch = point->batch;
    /* The point may be newer than the last checkpoint that was reported. It may
     * also be older: later checkpoints are then given up, and their parts are
     * not waited for. */
    if (point->saved && !point->composed)
        membership->saved_batch = point->batch;
    membership->ever = true;
    membership->started_ns = now_ns;
    membership->renew = membership->state_is_suspect = membership->is_found =
        false;
    (void)skn_membership_give(membership, SKN_DUTY_RECORD, 0);
    skn_membership_report(membership, "generation %llu from batch %llu: %s%s%s",
                          (unsigned long long)membership->generation,
                          (unsigned long long)point->batch,
                          skn_membership_list(membership, stay, text),
                          membership->reason[0] ? "; " : "",
                          membership->reason);
    membership->reason[0] = '\0';
    for (uint32_t k = 0; k < membership->options.count; k++) {
        if (!takes_part(membership, k))
            continue;
        membership->member[k].ended = false;
        membership->member[k].start_ns = now_ns;
        (void)skn_membership_give(membership, SKN_DUTY_START, k);
    }
    skn_membership_enter(membership, SKN_MEMBERSHIP_RUNNING, now_ns);
}

bool
skn_membership_choose_instead(skn_membership_t *membership, uint64_t *set,
                              uint64_t ready, uint64_t leavers,
                              skn_point_t *point)
{
    uint64_t out = ready & ~*set;
    while (__builtin_popcountll(out) > INSTEAD_MAX)
        out &= out - 1;
    for (uint64_t some = out; some; some = (some - 1) & out) {
        skn_error_t nothing = { 0 };
        uint64_t other = skn_membership_with(membership, some, ready);
        /* A generation that only takes over parts trains nothing. */
        uint32_t least = other & leavers ? 1 : membership->options.least;
        if ((uint32_t)__builtin_popcountll(other & ~leavers) < least ||
            membership->options.choose(membership->options.job, other, point,
                                       &nothing) != SKN_OK)
            continue;
        *set = other;
        return true;
    }
    return false;
}

/* Chooses the point to begin at. False: these members cannot begin. */
static bool
choose(skn_membership_t *membership, uint64_t *together, uint64_t ready,
       skn_point_t *point, uint64_t now_ns)
{
    uint64_t set = *together;
    skn_error_t why = { 0 };
    *point = (skn_point_t){ 0 };
    skn_status_t status =
        membership->options.choose(membership->options.job, set, point, &why);
    if (status == SKN_OK) {
        point->saved = true;
        return true;
    }
    /* As far as is known, no checkpoint was ever complete: begin from the seed.
     * But a member that is here before the others may hold a part of a
     * checkpoint that they know of. */
    bool alone =
        status != SKN_NO_INPUT &&
        (uint32_t)__builtin_popcountll(set) < membership->options.count &&
        now_ns - membership->begun_ns < membership->options.first_wait_ns;
    if (membership->saved_batch == 0 && !alone) {
        *point = (skn_point_t){ 0 };
        return true;
    }
    if (skn_membership_choose_instead(membership, together, ready, 0, point)) {
        point->saved = true;
        return true;
    }
    if ((uint32_t)__builtin_popcountll(set) == membership->options.count) {
        (void)skn_fail(&why, SKN_NO_INPUT,
                       "all nodes are here, but no checkpoint of the run is "
                       "whole; the newest was of batch %llu",
                       (unsigned long long)membership->saved_batch);
        (void)skn_fail_hint(&why, SKN_NO_INPUT,
                            "more nodes were lost at once than "
                            "checkpoint.copies allows: start a new run in "
                            "another folder");
        skn_membership_fail(membership, &why, now_ns);
        return false;
    }
    wait_for_members(membership, set,
                     status == SKN_NO_INPUT
                         ? "the run has checkpoints, but the nodes that are "
                           "here hold no part of them"
                         : why.text,
                     now_ns);
    return false;
}

/* True if the generation of an earlier coordinator still runs: it then
 * continues unchanged. *wait: that is not known yet. */
static bool
find_running(skn_membership_t *membership, bool *wait, uint64_t now_ns)
{
    uint64_t running = 0;
    bool ended = false;
    for (uint32_t k = 0; k < membership->options.count; k++) {
        const member_state_t *member = &membership->member[k];
        if (!(membership->options.members & bit(k)) || !member->here)
            continue;
        if (member->runs == membership->generation)
            running |= bit(k);
        else
            ended = true;
    }
    *wait = !ended && now_ns - membership->begun_ns <
                          SKN_MEMBER_SILENCE_MS * (uint64_t)NS_PER_MS;
    if (ended || running != membership->options.members)
        return false;
    membership->members = membership->options.members;
    membership->serving = membership->options.serving;
    membership->saved_here = membership->options.saved_here;
    membership->point = (skn_point_t){ .saved = membership->saved_batch > 0,
                                       .batch = membership->saved_batch };
    membership->batch = membership->saved_batch;
    membership->started_ns = now_ns;
    membership->looked = membership->is_found = true;
    skn_membership_report(membership, "generation %llu continues",
                          (unsigned long long)membership->generation);
    skn_membership_enter(membership, SKN_MEMBERSHIP_RUNNING, now_ns);
    return true;
}

bool
skn_membership_is_still(const skn_membership_t *membership, uint64_t now_ns)
{
    uint64_t heard_ns = membership->begun_ns;
    for (uint32_t k = 0; k < membership->options.count; k++) {
        const member_state_t *member = &membership->member[k];
        if (!(membership->former & bit(k)))
            continue;
        if (member->here && member->held)
            return true;
        if (member->heard_ns > heard_ns)
            heard_ns = member->heard_ns;
    }
    return membership->former == 0 ||
           ms_since(heard_ns, now_ns) >= SKN_MEMBER_SILENCE_MS;
}

void
skn_membership_gather(skn_membership_t *membership, uint64_t now_ns)
{
    bool unready, wait = false;
    if (!membership->looked && membership->options.members != 0) {
        if (find_running(membership, &wait, now_ns) || wait)
            return;
        membership->looked = true;
    }
    skn_point_t point;
    uint64_t leavers;
    uint64_t ready = candidates(membership, now_ns, &leavers, &unready);
    uint64_t set = skn_membership_together(membership, ready);
    uint64_t waited_ms = ms_since(membership->phase_ns, now_ns);
    uint32_t count = (uint32_t)__builtin_popcountll(ready);
    if (unready && waited_ms < SKN_MEMBER_GATHER_MS)
        return;
    if (count < membership->options.least &&
        skn_membership_take_back(membership))
        return; /* the next tick considers them */
    if ((set || !unready) &&
        skn_membership_hand_over(membership, set, ready, leavers, now_ns))
        return;
    if (count < membership->options.least ||
        (!membership->ever && count < membership->options.count &&
         now_ns - membership->begun_ns < membership->options.first_wait_ns)) {
        wait_for_members(membership, ready, "they are not here", now_ns);
        return;
    }
    if ((uint32_t)__builtin_popcountll(set) < membership->options.least) {
        wait_for_members(membership, set,
                         "it is here, but cannot reach all others", now_ns);
        return;
    }
    if (now_ns < membership->retry_ns ||
        !skn_membership_is_still(membership, now_ns))
        return;
    if (choose(membership, &set, ready, &point, now_ns))
        skn_membership_start(membership, set, 0, ready, &point, now_ns);
}
