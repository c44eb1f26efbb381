/* membership_internal.h - state and helpers that the sources of membership
 * share.
 *
 * membership.c: events, phases and the end. membership_duties.c: the queue of
 * duties. membership_faults.c: members that fail. membership_gather.c: the time
 * between two generations. membership_leave.c: members that leave.
 * membership_apart.c: members that do not reach each other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_MEMBERSHIP_INTERNAL_H
#define TOPOLOGY_ELASTIC_MEMBERSHIP_INTERNAL_H

#include <assert.h>

#include "topology/elastic/membership.h"

#define NS_PER_MS 1000000u
/* Duties that wait: a START, an ABORT and a message for each member. */
#define DUTIES_MAX (4u * SKN_CLUSTER_NODES_MAX + 16u)

typedef struct member_state {
    bool here;  /* heard from lately, and not dead */
    bool held;  /* it has reported what it holds since it was idle */
    bool asked; /* it was asked what it holds */
    bool leaving, ended;
    uint64_t incarnation;
    uint64_t runs; /* the generation that it reports to run; 0: none */
    uint64_t heard_ns, suspect_ns; /* connection closed then; 0: open */
    uint64_t barred_ns;            /* it stays out until then */
    uint64_t spared_ns;            /* left out for speed until then */
    bool must_not_leave_out;       /* always keep it: a run without it failed */
    uint64_t abort_ns; /* when it was last told to end what it runs */
    uint64_t start_ns; /* when it was last told to start */
    uint64_t ask_ns;   /* when it was last asked what it holds */
    uint64_t ended_ns; /* when its part of the generation ended */
    uint32_t strikes;
    skn_error_t fault; /* why it failed last, if it is out for that */
    uint64_t room_ns;  /* since when its disk has had room; 0: it has none */
    uint64_t here_ns;  /* since when it is here */
    uint64_t misses;   /* members that it reports it does not reach */
    uint64_t apart_ns; /* when it was last left out for that */
    uint32_t apart;    /* times in a row that it was left out for that */
    bool out;          /* it is left out for that now */
} member_state_t;

struct skn_membership {
    skn_membership_options_t options;
    const char *const *names;
    skn_membership_phase_t phase;
    uint64_t generation, members; /* the newest generation, and its members */
    uint64_t serving;     /* the members that leave, and only hand over */
    uint64_t newest;      /* generation that a member reported, if newer */
    uint64_t former;      /* members of the last generation, while gathering */
    skn_point_t point;    /* where the generation began */
    uint64_t batch;       /* the newest batch that it has reached */
    uint64_t saved_batch; /* batch of the newest complete checkpoint, or of an
                           * older one if the run had to continue from it */
    uint64_t begun_ns, started_ns, phase_ns, told_ns, retry_ns;
    uint64_t tick_ns;  /* time of the last tick */
    uint64_t apart_ns; /* since when two members do not reach each other */
    uint32_t futile;   /* generations in a row that trained nothing */
    bool ever;         /* a generation was begun, now or earlier */
    /* the search for a running generation of the journal is over */
    bool looked;
    bool saved_here; /* the generation has saved a checkpoint */
    bool stop, stopped;
    bool state_is_suspect; /* the last failure may come from the saved state */
    /* members that failed because of their config or folder since a batch was
     * trained */
    uint64_t config_failures;
    bool is_found; /* found running; none of its pulses came yet */
    bool renew; /* the generation should end though its members do not change */
    char reason[240]; /* why the next generation differs */
    skn_error_t error;
    member_state_t member[SKN_CLUSTER_NODES_MAX];
    uint32_t cores[SKN_CLUSTER_NODES_MAX];
    skn_duty_t duty[DUTIES_MAX];
    size_t duty_first, duty_count;
};

static inline uint64_t
bit(uint32_t member)
{
    return (uint64_t)1 << member;
}

static inline bool
takes_part(const skn_membership_t *membership, uint32_t member)
{
    return (membership->members & bit(member)) != 0;
}

/* The lead of the generation, among the members that train, if any does. */
static inline uint32_t
lead_of(const skn_membership_t *membership)
{
    return skn_membership_lead(membership->members & ~membership->serving);
}

/* How long a member that failed `times` times in a row stays out. */
static inline uint64_t
bar_ms(uint32_t times)
{
    assert(times >= 2);
    uint32_t doublings = times > 8 ? 6 : times - 2;
    uint64_t bar = (uint64_t)SKN_MEMBER_BAR_MS << doublings;
    return bar < SKN_MEMBER_BAR_MS_MAX ? bar : SKN_MEMBER_BAR_MS_MAX;
}

static inline uint64_t
ms_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0;
}

/* Appends a duty to those that wait. */
skn_duty_t *skn_membership_give(skn_membership_t *membership,
                                skn_duty_kind_t kind, uint32_t member);
__attribute__((format(printf, 2, 3))) void skn_membership_report(
    skn_membership_t *membership, const char *format, ...);
void skn_membership_enter(skn_membership_t *membership,
                          skn_membership_phase_t phase, uint64_t now_ns);
void skn_membership_abort(skn_membership_t *membership, uint32_t number,
                          uint64_t now_ns);
void skn_membership_because(skn_membership_t *membership, const char *name,
                            const char *what);
/* Records that the next generation differs because of the members of `set`; the
 * predicate is `one` for a single member and `several` otherwise. */
void skn_membership_because_of(skn_membership_t *membership, uint64_t set,
                               const char *one, const char *several);
/* Lets the members that were left out for speed take part again; those without
 * which the others trained nothing are never left out again. False: there was
 * none. */
bool skn_membership_take_back(skn_membership_t *membership);
/* Tells all members that take part and are here to end what they run. */
void skn_membership_end_generation(skn_membership_t *membership,
                                   uint64_t now_ns);
/* "a, b and c". */
const char *skn_membership_list(const skn_membership_t *membership,
                                uint64_t set, char text[200]);
/* The members of `set` that reach each other; the others are left out. */
uint64_t skn_membership_together(const skn_membership_t *membership,
                                 uint64_t set);
/* True if the members of `set` can be connected as far as is known: there is
 * only one, or one of them can be dialled. */
bool skn_membership_is_linked(const skn_membership_t *membership, uint64_t set);
/* Another choice: `some`, and the members of `ready` that reach them and each
 * other. 0: the members of `some` do not reach each other. */
uint64_t skn_membership_with(const skn_membership_t *membership, uint64_t some,
                             uint64_t ready);
/* True if `number` and a member of `set` do not reach each other. */
bool skn_membership_is_apart(const skn_membership_t *membership,
                             uint32_t number, uint64_t set);
/* Before a generation of `set`: marks the other members of `ready` as left
 * out. */
void skn_membership_mark_out(skn_membership_t *membership, uint64_t set,
                             uint64_t ready, uint64_t now_ns);
/* Ends the generation if two members have not reached each other for too
 * long. */
bool skn_membership_fall_apart(skn_membership_t *membership, uint64_t now_ns);
void skn_membership_fail(skn_membership_t *membership, const skn_error_t *error,
                         uint64_t now_ns);
/* True for a failure that would only repeat itself. */
bool skn_membership_is_mistake(skn_status_t status);
/* Counts a failure that member `number` reported against the member that it
 * comes from, which then may stay out for a while; or ends the run. */
void skn_membership_blame(skn_membership_t *membership, uint32_t number,
                          const skn_error_t *error, uint64_t now_ns);
/* The members of `set` that are here and want to leave. */
uint64_t skn_membership_leavers(const skn_membership_t *membership,
                                uint64_t set);
/* While a generation runs: tells leaving members that have no part in it that
 * they may go, as soon as it has saved what they hold. */
void skn_membership_let_go(skn_membership_t *membership);
/* Between two generations: `leavers` (members that want to leave, or are left
 * out) are let go, or begin a generation with the members of `stay` in which
 * they only serve. `ready` are all members that could stay. True: such a
 * generation begins, or will. */
bool skn_membership_hand_over(skn_membership_t *membership, uint64_t stay,
                              uint64_t ready, uint64_t leavers,
                              uint64_t now_ns);
/* Replaces *set by other members of `ready` that together hold a whole
 * checkpoint: a part may be stored only on a member that does not reach all
 * others. Members of `leavers` in it only serve. False: there is no such
 * set. */
bool skn_membership_choose_instead(skn_membership_t *membership, uint64_t *set,
                                   uint64_t ready, uint64_t leavers,
                                   skn_point_t *point);
/* True if no member trains any more: see SKN_MEMBER_LEASE_MS. */
bool skn_membership_is_still(const skn_membership_t *membership,
                             uint64_t now_ns);
/* Begins a generation of `stay` and `serving`, which are part of `ready`. */
void skn_membership_start(skn_membership_t *membership, uint64_t stay,
                          uint64_t serving, uint64_t ready,
                          const skn_point_t *point, uint64_t now_ns);
/* Begins the next generation if it can begin now. */
void skn_membership_gather(skn_membership_t *membership, uint64_t now_ns);

#endif
