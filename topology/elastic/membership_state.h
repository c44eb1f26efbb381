/* membership_state.h - what the sources of membership share.
 *
 * membership.c: what comes, phases, the end. membership_gather.c: between two
 * generations. membership_leave.c: who leaves. membership_apart.c: who does not
 * reach whom.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_MEMBERSHIP_STATE_H
#define TOPOLOGY_ELASTIC_MEMBERSHIP_STATE_H

#include "topology/elastic/membership.h"

#define NS_PER_MS 1000000u
/* No input makes more: a START, an ABORT and a word for each member. */
#define ORDERS_MAX (4u * SKN_CLUSTER_NODES_MAX + 16u)

typedef struct member_state {
    bool here;  /* heard of lately, and not dead */
    bool held;  /* it has said what it holds, since it was idle */
    bool asked; /* ... and was asked to */
    bool leaving, ended;
    uint64_t incarnation;
    uint64_t runs; /* the generation that it says it runs; 0: none */
    uint64_t heard_ns, suspect_ns; /* its connection ended then; 0: it stands */
    uint64_t barred_ns;            /* until then */
    uint64_t spared_ns;            /* until then it is left out, for the others'
                                    * sake, and holds what it has */
    bool needed;                   /* ... which did not go well */
    uint64_t abort_ns; /* when it was told last to end what it runs */
    uint64_t start_ns; /* when it was told last to begin */
    uint64_t ask_ns;   /* when it was asked last what it holds */
    uint64_t ended_ns; /* when its part of the generation ended */
    uint32_t strikes;
    skn_error_t fault; /* the last of them, if it is out for them */
    uint64_t room_ns;  /* since when its disk has had room; 0: it has none */
    uint64_t here_ns;  /* since when it is here */
    uint64_t misses;   /* whom it does not reach, as it says */
    uint64_t apart_ns; /* when it was left out for that last */
    uint32_t apart;    /* times in a row */
    bool out;          /* it is now */
} member_state_t;

struct skn_membership {
    skn_membership_options_t options;
    const char *const *names;
    skn_membership_phase_t phase;
    uint64_t generation, members; /* the newest one, and its set */
    uint64_t serving;  /* those of the set that leave, and only hand over */
    uint64_t newest;   /* that members know of, if it is a newer one */
    uint64_t former;   /* the set of the last one that ended, while we gather */
    skn_point_t point; /* where it began */
    uint64_t batch;    /* as far as it has come */
    uint64_t saved_batch; /* the newest of what the run went on from */
    uint64_t begun_ns, started_ns, phase_ns, told_ns, retry_ns;
    uint64_t tick_ns;  /* the last one */
    uint64_t apart_ns; /* since when two of the members miss each other */
    uint32_t futile;   /* generations in a row that trained nothing */
    bool ever;         /* this coordinator has begun or found one */
    bool looked;       /* ... for the generation of the journal */
    bool saved_here;   /* the generation has saved a checkpoint */
    bool stop, stopped;
    bool spoiled;      /* ... by what its state may be the reason of */
    uint64_t mistaken; /* failed by their configs since a batch was trained */
    bool is_found; /* the generation ran before, and no pulse of it has come */
    bool renew; /* the generation that runs is to end, with nobody's change */
    char reason[240]; /* why the next generation is another one */
    skn_error_t error;
    member_state_t member[SKN_CLUSTER_NODES_MAX];
    uint32_t cores[SKN_CLUSTER_NODES_MAX];
    skn_duty_t order[ORDERS_MAX];
    size_t order_first, order_count;
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

/* Of the generation: those that lead it, and train, if anybody does. */
static inline uint32_t
lead_of(const skn_membership_t *membership)
{
    return skn_membership_lead(membership->members & ~membership->serving);
}

/* How long who failed `times` times in a row, 2 or more, stays out. */
static inline uint64_t
bar_ms(uint32_t times)
{
    uint32_t doublings = times > 8 ? 6 : times - 2;
    uint64_t bar = (uint64_t)SKN_MEMBER_BAR_MS << doublings;
    return bar < SKN_MEMBER_BAR_MS_MAX ? bar : SKN_MEMBER_BAR_MS_MAX;
}

static inline uint64_t
ms_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0;
}

/* An order, at the end of those that wait. */
skn_duty_t *skn_membership_give(skn_membership_t *membership,
                                skn_duty_kind_t kind, uint32_t member);
__attribute__((format(printf, 2, 3))) void skn_membership_tell(
    skn_membership_t *membership, const char *format, ...);
void skn_membership_enter(skn_membership_t *membership,
                          skn_membership_phase_t phase, uint64_t now_ns);
void skn_membership_abort(skn_membership_t *membership, uint32_t number,
                          uint64_t now_ns);
void skn_membership_because(skn_membership_t *membership, const char *name,
                            const char *what);
/* ... because of those of `set`, of whom `one` is said, or `several`. */
void skn_membership_because_of(skn_membership_t *membership, uint64_t set,
                               const char *one, const char *several);
/* Who was left out for the sake of the others is wanted again, and for good if
 * these could not even begin. False: nobody was. */
bool skn_membership_take_back(skn_membership_t *membership);
/* All who take part and are there drop what they do. */
void skn_membership_end_generation(skn_membership_t *membership,
                                   uint64_t now_ns);
/* "a, b and c". */
const char *skn_membership_list(const skn_membership_t *membership,
                                uint64_t set, char text[200]);
/* Those of `set` that reach each other: the others are left out. */
uint64_t skn_membership_together(const skn_membership_t *membership,
                                 uint64_t set);
/* Whether those of `set` can be linked, as far as it is known: one alone, or
 * one of them can be dialled. */
bool skn_membership_is_linked(const skn_membership_t *membership, uint64_t set);
/* Another choice: those of `some`, and of `ready` who reaches them and each
 * other. 0: those of `some` do not reach each other. */
uint64_t skn_membership_with(const skn_membership_t *membership, uint64_t some,
                             uint64_t ready);
/* Whether `number` and one of `set` do not reach each other. */
bool skn_membership_is_apart(const skn_membership_t *membership,
                             uint32_t number, uint64_t set);
/* A generation of `set` begins, and of `ready` those others do not. */
void skn_membership_leave_out(skn_membership_t *membership, uint64_t set,
                              uint64_t ready, uint64_t now_ns);
/* Ends a generation of which two do not reach each other. */
bool skn_membership_fall_apart(skn_membership_t *membership, uint64_t now_ns);
void skn_membership_fail(skn_membership_t *membership, const skn_error_t *error,
                         uint64_t now_ns);
/* Those of `set` that are here and want to leave. */
uint64_t skn_membership_leavers(const skn_membership_t *membership,
                                uint64_t set);
/* While a generation runs: tells those who leave, and have no part in it, that
 * they may, as soon as it has saved what they hold. */
void skn_membership_let_go(skn_membership_t *membership);
/* Between two generations: `leavers` (who wants to leave, or is left out) are
 * let go, or begin a generation with those of `stay` in which they only serve.
 * `ready` are all that could stay. True: such a generation begins, or will. */
bool skn_membership_hand_over(skn_membership_t *membership, uint64_t stay,
                              uint64_t ready, uint64_t leavers,
                              uint64_t now_ns);
/* Others of `ready` than *set, which are whole together: a part may lie only
 * where somebody does not reach all. Those of `leavers` among them only serve.
 */
bool skn_membership_choose_instead(skn_membership_t *membership, uint64_t *set,
                                   uint64_t ready, uint64_t leavers,
                                   skn_point_t *point);
/* Whether nobody trains any more: see SKN_MEMBER_LEASE_MS. */
bool skn_membership_is_still(const skn_membership_t *membership,
                             uint64_t now_ns);
/* Begins a generation of `stay` and `serving`, of those of `ready`. */
void skn_membership_start(skn_membership_t *membership, uint64_t stay,
                          uint64_t serving, uint64_t ready,
                          const skn_point_t *point, uint64_t now_ns);
/* Begins the next generation if it can begin now. */
void skn_membership_gather(skn_membership_t *membership, uint64_t now_ns);

#endif
