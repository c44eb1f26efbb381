/* membership.h - who takes part in a run, and since when: a state machine.
 *
 *     GATHERING ──all idle, enough here──▶ RUNNING g ──the run ends──▶ OVER
 *         ▲  ▲                              │      │
 *         │  └──all of them paused── PAUSING◀──────┤ one joins or leaves
 *         └──────────all are idle── ABORTING◀──────┘ one dies or fails
 *
 * A generation is a set of members that train together from one checkpoint on.
 * Nothing changes within one: who joins, leaves or dies ends it, at a marker
 * where that can be chosen, and the next one, with a greater number, begins
 * from the newest checkpoint whose parts are all held by somebody. The number
 * fences: what belongs to an older one is refused everywhere.
 *
 * Pure: no socket, no clock, no file. Whoever drives it says what came and what
 * time it is, and carries out its orders, in their order; the record of a
 * generation must be on disk before its members hear of it. A simulator drives
 * it as the coordinator does. The rules against waiting for ever and against
 * fluttering: docs/elastic.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_MEMBERSHIP_H
#define TOPOLOGY_ELASTIC_MEMBERSHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"

_Static_assert(SKN_CLUSTER_NODES_MAX <= 64, "sets of members are 64 bits");

/* A pulse is sent that often; one who is silent for so long is dead, whose
 * connection ended even sooner. Others are to know of it within 4 s. */
#define SKN_MEMBER_PULSE_MS 500u
#define SKN_MEMBER_SILENCE_MS 3500u
#define SKN_MEMBER_SUSPECT_MS 1000u
/* No two generations train at a time. A member's lease is so long, from when it
 * sent the newest pulse that it was told of as heard; without one it begins
 * nothing, and ends what it runs. And a generation begins only when one member
 * of the former has said that it ended it (all of them are needed to train), or
 * when no lease can be left. */
#define SKN_MEMBER_LEASE_MS 3000u
/* For members to end what they ran, and to say what they hold. */
#define SKN_MEMBER_GATHER_MS 8000u
/* For the others to end when the one that leads has ended well. */
#define SKN_MEMBER_FOLLOW_MS 3000u
/* Two that say of each other that they do not reach each other, for so long,
 * end a generation: it cannot go on, and would fail. */
#define SKN_MEMBER_APART_MS 3000u
/* Left out for that again within so long: once more in a row. */
#define SKN_MEMBER_FORGET_MS 120000u
/* A generation lasts at least so long before somebody who joins ends it, so
 * that a flapping machine does not stop the others. */
#define SKN_MEMBER_SETTLE_MS 2000u
/* One who fails stays out 10 s, 20 s, ... 10 minutes, never for ever. */
#define SKN_MEMBER_BAR_MS 10000u
#define SKN_MEMBER_BAR_MS_MAX 600000u
#define SKN_MEMBER_ROOM_BYTES 8388608u
/* Failures that nobody is to blame for: the next try comes after .25 s, .5 s,
 * ... 16 s. */
#define SKN_MEMBER_RETRY_MS 250u
#define SKN_MEMBER_RETRY_DOUBLINGS 6u

typedef enum skn_membership_phase {
    SKN_CLUSTER_GATHERING,
    SKN_CLUSTER_RUNNING,
    SKN_CLUSTER_PAUSING,
    SKN_CLUSTER_ABORTING,
    SKN_CLUSTER_OVER
} skn_membership_phase_t;

/* Where a generation begins. `saved` false: at batch 0, from the seed. */
typedef struct skn_point {
    bool saved;
    uint64_t batch;
    uint64_t layout; /* the generation that wrote the checkpoint */
    /* ... or whose cuts it is composed of (formats/checkpoint/cut.h): updates
     * are lost. */
    bool composed;
    uint64_t lost;   /* ... so many */
    uint32_t copies; /* how many of those that were asked about hold the part of
                      * it that fewest hold */
} skn_point_t;

/* The newest checkpoint that the members of `set` hold together. SKN_NO_INPUT:
 * none of them holds any manifest; SKN_UNAVAILABLE: there are some, and of each
 * a part is missing (`error` says whose). */
typedef skn_status_t skn_choose_t(void *job, uint64_t set, skn_point_t *point,
                                  skn_error_t *error);

typedef struct skn_membership_options {
    uint32_t count;         /* members that there may be, at most 64 */
    uint32_t least;         /* fewest that train; at least 1 */
    uint64_t first_wait_ns; /* for all of them, at the very start */
    skn_choose_t *choose;
    void *job;
    /* Of each part, on different members: checkpoint.copies. Who leaves is
     * waited for till those who stay have so many. */
    uint32_t copies;
    /* Of an earlier coordinator's log; zeroes for a new run. */
    uint64_t generation, members, serving;
    uint64_t saved_batch;  /* of the newest checkpoint that was ever complete */
    bool saved_here;       /* ... and `generation` has saved one */
    const uint32_t *cores; /* of each, copied; NULL: all have as many */
    bool partial;          /* after a death, survivors keep what they have */
    /* Those that nobody can dial: two of them need a third that can be. */
    uint64_t undialled;
} skn_membership_options_t;

/* O(NAME, meaning). */
#define SKN_DUTIES(O)                                                          \
    O(WHO, "`member` speaks, and is to say who it is")                         \
    O(ASK, "`member` is to say what checkpoints it holds")                     \
    O(RECORD, "the beginning of `generation` goes on disk, before what "       \
              "follows")                                                       \
    O(START, "`member` takes part in `generation`, with those of `set`")       \
    O(PAUSE, "`member`, which leads, brings `generation` to its next marker")  \
    O(ABORT, "`member` ends what it runs, at once, or with a `cut`")           \
    O(BYE, "`member` may go; the run is over, or goes on without it")          \
    O(TELL, "people are told `text`")

typedef enum skn_duty_kind {
#define O(name, text) SKN_DUTY_##name,
    SKN_DUTIES(O)
#undef O
} skn_duty_kind_t;

#define SKN_DUTY_TEXT_BYTES 320

typedef struct skn_duty {
    skn_duty_kind_t kind;
    uint32_t member;
    uint64_t generation, set;
    uint64_t serving; /* of `set`: they get no rows and no copies, and give what
                       * they hold of the point to the others, which lead */
    skn_point_t point;
    bool cut; /* ABORT: it first writes what it has, within its time */
    char text[SKN_DUTY_TEXT_BYTES];
} skn_duty_t;

/* How a member's part of a generation ended. */
typedef enum skn_ending {
    SKN_ENDING_WELL, /* with the others, at a marker or at the end */
    SKN_ENDING_DONE, /* ... and it led, and the run is finished */
    SKN_ENDING_STOPPED /* ... and it led, and said where it stopped */,
    SKN_ENDING_FAILED
} skn_ending_t;

typedef struct skn_membership skn_membership_t;

/* `names` (for sentences) must outlive it. NULL: SKN_NO_MEMORY, SKN_USAGE. */
skn_membership_t *skn_membership_new(const skn_membership_options_t *options,
                                     const char *const *names,
                                     skn_error_t *error);
void skn_membership_destroy(skn_membership_t **membership);

/* --- what came; `member` is below `count`, `now_ns` never goes back ------- */

/* A member is there: its process `incarnation` runs `generation` (0: none). */
void skn_membership_hello(skn_membership_t *membership, uint32_t member,
                          uint64_t incarnation, uint64_t generation,
                          uint64_t now_ns);
/* It has taken part in generations up to this one. Where that is newer than all
 * that we know of, our journal is of an earlier time: the next generation is
 * newer than both, since members take no older one. */
void skn_membership_newest(skn_membership_t *membership, uint32_t member,
                           uint64_t generation);
/* It lives; it runs `generation` (0: none), up to `batch`. */
void skn_membership_pulse(skn_membership_t *membership, uint32_t member,
                          uint64_t generation, uint64_t batch, uint64_t now_ns);
/* Its disk has room for so much. Who is out for a full disk the first time
 * comes back when that has been SKN_MEMBER_ROOM_BYTES for a second; then its
 * time has to pass. */
void skn_membership_room(skn_membership_t *membership, uint32_t member,
                         uint64_t bytes, uint64_t now_ns);
/* It has said what it holds, since it was asked last. */
void skn_membership_holds(skn_membership_t *membership, uint32_t member,
                          uint64_t now_ns);
/* Whether nobody is to blame for it but the loss of another one, which is
 * counted there. */
bool skn_membership_is_echo(const skn_error_t *error);
/* Its part of a generation has ended; `error` for SKN_ENDING_FAILED. */
void skn_membership_ended(skn_membership_t *membership, uint32_t member,
                          uint64_t generation, skn_ending_t ending,
                          const skn_error_t *error, uint64_t now_ns);
/* It hears nothing of those of `set`, nor reaches them since, though they may
 * be well: a line between the two is cut. 0: of nobody. Of two of whom one says
 * so one stays out of the next generations, until nobody does. */
void skn_membership_misses(skn_membership_t *membership, uint32_t member,
                           uint64_t set, uint64_t now_ns);
/* It will leave and wants to hand over. No failure. Any number may leave at
 * once, all of them, too. */
void skn_membership_leaving(skn_membership_t *membership, uint32_t member,
                            uint64_t now_ns);
/* Its connection has ended. */
void skn_membership_lost(skn_membership_t *membership, uint32_t member,
                         uint64_t now_ns);
/* A checkpoint of `batch` is complete, which `generation` has written. */
void skn_membership_saved(skn_membership_t *membership, uint64_t generation,
                          uint64_t batch);
/* The members should begin anew, though they are the same: `who` `what`s, as
 * people are told. The generation ends at its next marker. */
void skn_membership_renew(skn_membership_t *membership, const char *who,
                          const char *what);
/* The others are faster without `member`: it is left out until then, unless
 * fewer than `least` are left or a part of the checkpoint lies with it only.
 * False: it takes no part, or the others once failed without it. Who is left
 * out already may be given a time that is sooner. */
bool skn_membership_spare(skn_membership_t *membership, uint32_t member,
                          uint64_t until_ns);
/* The user wants the run to come to a good end. */
void skn_membership_stop(skn_membership_t *membership, uint64_t now_ns);
/* Time passes: at least every SKN_MEMBER_PULSE_MS. */
void skn_membership_tick(skn_membership_t *membership, uint64_t now_ns);

/* --- what is to be done --------------------------------------------------- */

/* The next order; false if there is none. */
bool skn_membership_next(skn_membership_t *membership, skn_duty_t *order);

skn_membership_phase_t skn_membership_phase(const skn_membership_t *membership);
uint64_t skn_membership_generation(const skn_membership_t *membership);
/* Of the generation that runs; 0: none does. */
uint64_t skn_membership_members(const skn_membership_t *membership);
/* Those of them that leave, and only hand over what they hold. */
uint64_t skn_membership_serving(const skn_membership_t *membership);
/* How far the newest generation has come. */
uint64_t skn_membership_batch(const skn_membership_t *membership);
/* Whether a member is taken to live: then it is told that its pulse was heard,
 * which is its lease (SKN_MEMBER_LEASE_MS). */
bool skn_membership_hears(const skn_membership_t *membership, uint32_t member);
/* Whether a member is left out for the sake of the others. */
bool skn_membership_is_spared(const skn_membership_t *membership,
                              uint32_t member);
/* What a member failed by that is left out for it, in the words of who noticed
 * it first; NULL: it takes part, or is out for something else. */
const skn_error_t *skn_membership_fault(const skn_membership_t *membership,
                                        uint32_t member);
/* Whether what members have cut when the last generation ended may be gone on
 * from: not where one of them failed by what others have of it, too. */
bool skn_membership_keeps(const skn_membership_t *membership);
/* Which of them leads: the first in the order of `names`. */
uint32_t skn_membership_lead(uint64_t set);
/* Why it is OVER: SKN_OK (done, or stopped as was asked), or the failure. */
skn_status_t skn_membership_result(const skn_membership_t *membership,
                                   bool *stopped, skn_error_t *error);

#endif
