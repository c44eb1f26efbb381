/* membership.c - phases of an elastic run, and the events that change them.
 *
 * The phases are gathering, running, pausing, aborting and over. Times are
 * compared with those that the caller passed in, never with a clock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/elastic/membership_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Generations that a member may be ahead of us: more are nonsense. */
#define NEWER_MAX 1000000u
/* After a pause this long between ticks the coordinator reports it: the others
 * seem silent then without being at fault. */
#define STILL_TOLD_MS 2000u

/* --- sets ---------------------------------------------------------------- */

uint32_t
skn_membership_lead(uint64_t set)
{
    return set ? (uint32_t)__builtin_ctzll(set) : 0;
}

/* --- phases -------------------------------------------------------------- */

void
skn_membership_enter(skn_membership_t *membership, skn_membership_phase_t phase,
                     uint64_t now_ns)
{
    membership->phase = phase;
    membership->phase_ns = now_ns;
    membership->told_ns = now_ns;
}

void
skn_membership_because(skn_membership_t *membership, const char *name,
                       const char *what)
{
    (void)snprintf(membership->reason, sizeof(membership->reason), "%.64s %s",
                   name, what);
}

void
skn_membership_abort(skn_membership_t *membership, uint32_t number,
                     uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    skn_membership_give(membership, SKN_DUTY_ABORT, number)->salvage =
        skn_membership_keeps(membership) && takes_part(membership, number);
    member->abort_ns = now_ns;
}

bool
skn_membership_take_back(skn_membership_t *membership)
{
    bool any = false;
    for (uint32_t k = 0; k < membership->options.count; k++) {
        member_state_t *member = &membership->member[k];
        if (member->spared_ns == 0)
            continue;
        member->spared_ns = 0;
        if (takes_part(membership, k)) /* not left out yet */
            continue;
        member->must_not_leave_out =
            membership->batch <= membership->point.batch;
        any = true;
    }
    return any;
}

void
skn_membership_end_generation(skn_membership_t *membership, uint64_t now_ns)
{
    if (membership->phase == SKN_MEMBERSHIP_ABORTING ||
        membership->phase == SKN_MEMBERSHIP_OVER)
        return;
    for (uint32_t k = 0; k < membership->options.count; k++)
        if (takes_part(membership, k) && membership->member[k].here &&
            !membership->member[k].ended)
            skn_membership_abort(membership, k, now_ns);
    (void)skn_membership_take_back(membership);
    skn_membership_enter(membership, SKN_MEMBERSHIP_ABORTING, now_ns);
}

static void
begin_gathering(skn_membership_t *membership, uint64_t now_ns)
{
    /* A generation that only hands over trains nothing, and a generation with a
     * change due pauses as soon as there is a checkpoint to continue from. */
    assert(membership->phase != SKN_MEMBERSHIP_GATHERING &&
           membership->phase != SKN_MEMBERSHIP_OVER);
    bool saved =
        membership->saved_here &&
        (membership->serving || membership->phase == SKN_MEMBERSHIP_PAUSING);
    bool useful = membership->batch > membership->point.batch || saved;
    membership->futile = useful ? 0 : membership->futile + 1;
    uint32_t doublings = membership->futile > SKN_MEMBER_RETRY_DOUBLINGS
                             ? SKN_MEMBER_RETRY_DOUBLINGS
                             : membership->futile;
    membership->retry_ns =
        membership->futile < 2
            ? now_ns
            : now_ns + ((uint64_t)SKN_MEMBER_RETRY_MS << doublings) * NS_PER_MS;
    for (uint32_t k = 0; k < membership->options.count; k++)
        membership->member[k].held = membership->member[k].asked = false;
    uint64_t leavers = skn_membership_leavers(membership, membership->serving);
    if (leavers && !membership->reason[0])
        skn_membership_because_of(membership, leavers, "leaves", "leave");
    membership->former = membership->members;
    membership->members = membership->serving = 0;
    skn_membership_enter(membership, SKN_MEMBERSHIP_GATHERING, now_ns);
}

static void
finish(skn_membership_t *membership, bool stopped, uint64_t now_ns)
{
    membership->stopped = stopped;
    for (uint32_t k = 0; k < membership->options.count; k++)
        if (membership->member[k].here)
            (void)skn_membership_give(membership, SKN_DUTY_DISMISS, k);
    skn_membership_enter(membership, SKN_MEMBERSHIP_OVER, now_ns);
}

void
skn_membership_fail(skn_membership_t *membership, const skn_error_t *error,
                    uint64_t now_ns)
{
    if (membership->error.status == SKN_OK)
        membership->error = *error;
    finish(membership, false, now_ns);
}

/* --- members ------------------------------------------------------------- */

/* Marks a member as gone, with or without notice. */
static void
bury(skn_membership_t *membership, uint32_t number, const char *how,
     uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    bool was_leaving = member->leaving;
    if (!member->here)
        return;
    member->here = member->held = member->asked = member->leaving = false;
    member->runs = 0;
    member->misses = member->suspect_ns = 0;
    if (membership->phase == SKN_MEMBERSHIP_OVER)
        return;
    skn_membership_report(membership, "%s %s", membership->names[number],
                          was_leaving ? "has left" : how);
    if (takes_part(membership, number) && !member->ended &&
        membership->phase != SKN_MEMBERSHIP_GATHERING) {
        skn_membership_because(membership, membership->names[number], how);
        skn_membership_end_generation(membership, now_ns);
    }
}

void
skn_membership_hello(skn_membership_t *membership, uint32_t number,
                     uint64_t incarnation, uint64_t generation, uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    if (member->here && member->incarnation != incarnation)
        bury(membership, number, "died and is back", now_ns);
    bool is_new = !member->here;
    member->incarnation = incarnation;
    member->here = true;
    member->heard_ns = now_ns;
    member->suspect_ns = 0;
    member->runs = generation;
    if (!is_new) { /* messages on its old connection may be lost */
        member->held = member->asked = false;
        if (membership->phase == SKN_MEMBERSHIP_PAUSING &&
            number == lead_of(membership))
            (void)skn_membership_give(membership, SKN_DUTY_PAUSE, number);
        if (membership->phase == SKN_MEMBERSHIP_OVER)
            (void)skn_membership_give(membership, SKN_DUTY_DISMISS, number);
        return;
    }
    member->held = member->asked = member->leaving = false;
    member->here_ns = now_ns;
    if (membership->phase == SKN_MEMBERSHIP_OVER)
        (void)skn_membership_give(membership, SKN_DUTY_DISMISS, number);
    else if (membership->phase == SKN_MEMBERSHIP_GATHERING ||
             !takes_part(membership, number))
        skn_membership_report(membership, "%s is here",
                              membership->names[number]);
}

void
skn_membership_newest(skn_membership_t *membership, uint32_t number,
                      uint64_t generation)
{
    uint64_t known = membership->newest > membership->generation
                         ? membership->newest
                         : membership->generation;
    if (generation <= known || generation - known > NEWER_MAX ||
        membership->phase == SKN_MEMBERSHIP_OVER)
        return;
    membership->newest = generation;
    skn_membership_report(
        membership,
        "%s took part in generation %llu, but the journal ends with %llu: the "
        "journal is an older copy",
        membership->names[number], (unsigned long long)generation,
        (unsigned long long)membership->generation);
}

void
skn_membership_pulse(skn_membership_t *membership, uint32_t number,
                     uint64_t generation, uint64_t batch, uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    if (!member->here) { /* taken for dead, but still connected */
        (void)skn_membership_give(membership, SKN_DUTY_IDENTIFY, number);
        return;
    }
    bool is_first = member->runs == 0 && generation == membership->generation;
    member->heard_ns = now_ns;
    member->suspect_ns = 0;
    member->runs = generation;
    if (is_first && membership->phase == SKN_MEMBERSHIP_PAUSING &&
        number == lead_of(membership))
        (void)skn_membership_give(membership, SKN_DUTY_PAUSE, number);
    if (generation == membership->generation &&
        takes_part(membership, number)) {
        membership->is_found = false;
        if (batch > membership->batch)
            membership->batch = batch;
    }
    bool stray =
        generation != 0 && (generation != membership->generation ||
                            !takes_part(membership, number) ||
                            membership->phase == SKN_MEMBERSHIP_ABORTING);
    if (stray && now_ns - member->abort_ns >= 1000 * (uint64_t)NS_PER_MS &&
        membership->phase != SKN_MEMBERSHIP_GATHERING)
        skn_membership_abort(membership, number, now_ns);
    /* It did not get the START, or had no lease for it. The lead may have been
     * told to pause meanwhile, and is told again when it runs. */
    if (generation == 0 && takes_part(membership, number) && !member->ended &&
        (membership->phase == SKN_MEMBERSHIP_RUNNING ||
         membership->phase == SKN_MEMBERSHIP_PAUSING) &&
        now_ns - member->start_ns >= 1000 * (uint64_t)NS_PER_MS) {
        (void)skn_membership_give(membership, SKN_DUTY_START, number);
        member->start_ns = now_ns;
    }
}

void
skn_membership_holds(skn_membership_t *membership, uint32_t number,
                     uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    member->heard_ns = now_ns;
    member->held = member->asked && member->here;
}

void
skn_membership_leaving(skn_membership_t *membership, uint32_t number,
                       uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    member->heard_ns = now_ns;
    if (!member->here || member->leaving)
        return;
    member->leaving = true;
    if (membership->phase == SKN_MEMBERSHIP_OVER)
        return;
    skn_membership_report(membership, "%s wants to leave",
                          membership->names[number]);
}

void
skn_membership_lost(skn_membership_t *membership, uint32_t number,
                    uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    if (member->here && member->suspect_ns == 0)
        member->suspect_ns = now_ns;
}

void
skn_membership_saved(skn_membership_t *membership, uint64_t generation,
                     uint64_t batch)
{
    if (generation == membership->generation && membership->members)
        membership->saved_here = true;
    if (generation == membership->generation && batch > membership->saved_batch)
        membership->saved_batch = batch;
    for (uint32_t k = 0; k < membership->options.count; k++)
        /* The report may arrive late, and concern the time before a failure. */
        if (takes_part(membership, k) &&
            membership->member[k].barred_ns <= membership->tick_ns) {
            membership->member[k].strikes = 0;
            membership->member[k].fault.status = SKN_OK;
        }
}

void
skn_membership_stop(skn_membership_t *membership, uint64_t now_ns)
{
    if (membership->stop || membership->phase == SKN_MEMBERSHIP_OVER)
        return;
    membership->stop = true;
    if (membership->phase == SKN_MEMBERSHIP_GATHERING)
        finish(membership, true, now_ns);
}

void
skn_membership_renew(skn_membership_t *membership, const char *who,
                     const char *what)
{
    if (membership->phase != SKN_MEMBERSHIP_RUNNING)
        return;
    membership->renew = true;
    skn_membership_because(membership, who, what);
}

bool
skn_membership_leave_out(skn_membership_t *membership, uint32_t number,
                         uint64_t until_ns)
{
    member_state_t *member = &membership->member[number];
    bool sooner = member->spared_ns > until_ns;
    if (!sooner &&
        (!takes_part(membership, number) || member->must_not_leave_out))
        return false;
    member->spared_ns = until_ns;
    return true;
}

/* --- the end of a member's part ------------------------------------------ */

static bool
all_ended(const skn_membership_t *membership)
{
    for (uint32_t k = 0; k < membership->options.count; k++)
        if (takes_part(membership, k) && !membership->member[k].ended)
            return false;
    return true;
}

void
skn_membership_ended(skn_membership_t *membership, uint32_t number,
                     uint64_t generation, skn_ending_t ending,
                     const skn_error_t *error, uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    member->heard_ns = now_ns;
    if (member->runs == generation)
        member->runs = 0;
    if (generation != membership->generation ||
        !takes_part(membership, number) || member->ended)
        return; /* it belongs to an older generation */
    member->ended = true;
    member->ended_ns = now_ns;
    if (ending != SKN_ENDING_FAILED)
        member->fault.status = SKN_OK;
    if (membership->phase != SKN_MEMBERSHIP_RUNNING &&
        membership->phase != SKN_MEMBERSHIP_PAUSING)
        return;
    if (ending == SKN_ENDING_DONE) {
        membership->stop = true; /* the others follow; then the run is over */
        membership->stopped = false;
        finish(membership, false, now_ns);
        return;
    }
    if (ending != SKN_ENDING_FAILED)
        return;
    skn_membership_report(membership, "%s failed: %.200s",
                          membership->names[number], error->text);
    skn_membership_because(membership, membership->names[number], "failed");
    membership->state_is_suspect = skn_membership_is_mistake(error->status);
    skn_membership_blame(membership, number, error, now_ns);
    skn_membership_end_generation(membership, now_ns);
}

/* --- time ---------------------------------------------------------------- */

static void
find_dead(skn_membership_t *membership, uint64_t now_ns)
{
    for (uint32_t k = 0; k < membership->options.count; k++) {
        member_state_t *member = &membership->member[k];
        if (!member->here)
            continue;
        if (member->suspect_ns > 0 &&
            ms_since(member->suspect_ns, now_ns) >= SKN_MEMBER_SUSPECT_MS)
            bury(membership, k, "is gone", now_ns);
        else if (ms_since(member->heard_ns, now_ns) >= SKN_MEMBER_SILENCE_MS)
            bury(membership, k, "is silent", now_ns);
    }
}

/* True if the running generation has achieved something: its workers have
 * connected to each other, and enough members hold each part of the checkpoint
 * that it began from. If it were paused earlier, it would have been for
 * nothing. */
static bool
is_of_use(const skn_membership_t *membership)
{
    return membership->saved_here ||
           (membership->batch > membership->point.batch &&
            !membership->serving);
}

/* True if there is a reason to end a generation that runs well. */
static bool
wants_change(skn_membership_t *membership, uint64_t now_ns)
{
    bool settled =
        ms_since(membership->started_ns, now_ns) >= SKN_MEMBER_SETTLE_MS &&
        membership->batch > membership->point.batch;
    uint64_t leavers = skn_membership_leavers(membership, membership->members);
    if (membership->serving)
        return is_of_use(membership);
    if (membership->renew)
        return true;
    if (leavers) {
        if (!is_of_use(membership))
            return false;
        skn_membership_because_of(membership, leavers, "leaves", "leave");
        return true;
    }
    for (uint32_t k = 0; settled && k < membership->options.count; k++) {
        const member_state_t *member = &membership->member[k];
        if (!member->here || takes_part(membership, k) || member->leaving ||
            member->barred_ns > now_ns || member->spared_ns > now_ns ||
            member->runs != 0 ||
            !skn_membership_is_linked(membership,
                                      membership->members | bit(k)) ||
            skn_membership_is_apart(membership, k, membership->members))
            continue;
        skn_membership_because(membership, membership->names[k], "joins");
        return true;
    }
    return false;
}

/* Ends the generation if a member leaves before the first batch of the run: the
 * others begin without it at once, and nothing is lost. */
static bool
drop_beginning(skn_membership_t *membership, uint64_t now_ns)
{
    uint64_t leavers = skn_membership_leavers(membership, membership->members);
    if (!leavers || membership->point.saved || membership->batch > 0 ||
        membership->saved_here || membership->is_found)
        return false;
    skn_membership_because_of(membership, leavers, "leaves", "leave");
    membership->futile = 0;
    skn_membership_end_generation(membership, now_ns);
    return true;
}

static void
run(skn_membership_t *membership, uint64_t now_ns)
{
    if (all_ended(membership)) { /* paused by the members' own hosts */
        if (membership->stop)
            finish(membership, true, now_ns);
        else
            begin_gathering(membership, now_ns);
        return;
    }
    /* The lead paused before it had connected to the others, which would
     * wait. */
    const member_state_t *lead = &membership->member[lead_of(membership)];
    if (lead->ended &&
        ms_since(lead->ended_ns, now_ns) >= SKN_MEMBER_FOLLOW_MS) {
        skn_membership_end_generation(membership, now_ns);
        return;
    }
    if (skn_membership_fall_apart(membership, now_ns) ||
        membership->phase != SKN_MEMBERSHIP_RUNNING)
        return;
    if (drop_beginning(membership, now_ns))
        return;
    bool must_stop = membership->stop && !membership->serving;
    if (!must_stop && !wants_change(membership, now_ns))
        return;
    (void)skn_membership_give(membership, SKN_DUTY_PAUSE, lead_of(membership));
    skn_membership_enter(membership, SKN_MEMBERSHIP_PAUSING, now_ns);
}

static void
wait_for_idle(skn_membership_t *membership, uint64_t now_ns)
{
    bool busy = false;
    for (uint32_t k = 0; k < membership->options.count; k++)
        busy =
            busy || (takes_part(membership, k) && membership->member[k].here &&
                     membership->member[k].runs != 0);
    if (busy && ms_since(membership->phase_ns, now_ns) < SKN_MEMBER_GATHER_MS)
        return;
    if (membership->stop)
        finish(membership, true, now_ns);
    else
        begin_gathering(membership, now_ns);
}

void
skn_membership_tick(skn_membership_t *membership, uint64_t now_ns)
{
    if (membership->begun_ns == 0) {
        membership->begun_ns = now_ns;
        skn_membership_enter(membership, membership->phase, now_ns);
    }
    uint64_t still_ms =
        membership->tick_ns > 0 ? ms_since(membership->tick_ns, now_ns) : 0;
    membership->tick_ns = now_ns;
    if (still_ms >= STILL_TOLD_MS)
        skn_membership_report(membership,
                              "the coordinator itself was suspended for %llu s",
                              (unsigned long long)still_ms / 1000);
    find_dead(membership, now_ns);
    switch (membership->phase) {
    case SKN_MEMBERSHIP_GATHERING:
        skn_membership_gather(membership, now_ns);
        break;
    case SKN_MEMBERSHIP_RUNNING:
    case SKN_MEMBERSHIP_PAUSING:
        skn_membership_let_go(membership);
        run(membership, now_ns);
        break;
    case SKN_MEMBERSHIP_ABORTING:
        wait_for_idle(membership, now_ns);
        break;
    case SKN_MEMBERSHIP_OVER:
        break;
    }
}

/* --- the rest ------------------------------------------------------------ */

skn_membership_t *
skn_membership_new(const skn_membership_options_t *options,
                   const char *const *names, skn_error_t *error)
{
    if (options->count == 0 || options->count > SKN_CLUSTER_NODES_MAX ||
        options->least > options->count) {
        (void)skn_fail(error, SKN_USAGE, "%u members, at least %u of them",
                       options->count, options->least);
        return NULL;
    }
    skn_membership_t *membership = calloc(1, sizeof(*membership));
    if (!membership) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %u members",
                       options->count);
        return NULL;
    }
    membership->options = *options;
    if (membership->options.least == 0)
        membership->options.least = 1;
    for (uint32_t k = 0; options->cores && k < options->count; k++)
        membership->cores[k] = options->cores[k];
    membership->names = names;
    membership->generation = options->generation;
    membership->saved_batch = options->saved_batch;
    membership->former = options->members;
    membership->ever = options->generation > 0;
    return membership;
}

void
skn_membership_destroy(skn_membership_t **membership)
{
    free(*membership);
    *membership = NULL;
}

bool
skn_membership_keeps(const skn_membership_t *membership)
{
    return membership->options.partial && !membership->state_is_suspect;
}

bool
skn_membership_is_left_out(const skn_membership_t *membership, uint32_t number)
{
    return !takes_part(membership, number) &&
           membership->member[number].spared_ns > membership->tick_ns;
}

bool
skn_membership_hears(const skn_membership_t *membership, uint32_t member)
{
    return membership->member[member].here;
}

skn_membership_phase_t
skn_membership_phase(const skn_membership_t *membership)
{
    return membership->phase;
}

uint64_t
skn_membership_generation(const skn_membership_t *membership)
{
    return membership->generation;
}

uint64_t
skn_membership_batch(const skn_membership_t *membership)
{
    return membership->batch;
}

uint64_t
skn_membership_members(const skn_membership_t *membership)
{
    return membership->members;
}

uint64_t
skn_membership_serving(const skn_membership_t *membership)
{
    return membership->serving;
}

skn_status_t
skn_membership_result(const skn_membership_t *membership, bool *stopped,
                      skn_error_t *error)
{
    *stopped = membership->stopped;
    if (membership->error.status != SKN_OK)
        *error = membership->error;
    return membership->error.status;
}
