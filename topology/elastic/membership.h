/* membership.h - state machine of an elastic run: which members train, and
 * since when.
 *
 *     GATHERING ──all idle, enough here──▶ RUNNING g ──the run ends──▶ OVER
 *         ▲  ▲                              │      │
 *         │  └──all of them paused── PAUSING◀──────┤ one joins or leaves
 *         └──────────all are idle── ABORTING◀──────┘ one dies or fails
 *
 * A generation is a set of members that train together from one checkpoint on.
 * Its set never changes: a member that joins, leaves or dies ends it, at a
 * marker where there is time for one. The next generation has a greater number
 * and begins from the newest checkpoint of which the members hold every part.
 * The number fences: everything that belongs to an older generation is refused
 * everywhere.
 *
 * Pure: no socket, no clock, no file. The caller passes in events and the time,
 * and carries out the duties in their order; the record of a generation must be
 * on disk before its members are told to start. A simulator drives it as the
 * coordinator does. docs/tasks/elastic.md has the rules against waiting for
 * ever and against flapping.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_MEMBERSHIP_H
#define TOPOLOGY_ELASTIC_MEMBERSHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"

_Static_assert(SKN_CLUSTER_NODES_MAX <= 64, "sets of members are 64 bits");

/* Members send a pulse every PULSE_MS. After SILENCE_MS without one, or
 * SUSPECT_MS after its connection closed, a member is dead. The others must
 * learn of it within 4 s. */
#define SKN_MEMBER_PULSE_MS 500u
#define SKN_MEMBER_SILENCE_MS 3500u
#define SKN_MEMBER_SUSPECT_MS 1000u
/* No two generations train at the same time. A member's lease lasts LEASE_MS
 * from the moment it sent the newest pulse that the coordinator has
 * acknowledged. Without a lease it starts nothing and ends what it runs. A
 * generation begins only when one member of the former has reported that it
 * ended it (all of them are needed to train), or when no lease can be left. */
#define SKN_MEMBER_LEASE_MS 3000u
/* time for members to end what they ran and to report what they hold */
#define SKN_MEMBER_GATHER_MS 8000u
/* time for the others to end after the lead has ended without a failure */
#define SKN_MEMBER_FOLLOW_MS 3000u
/* Two members that have reported for this long that they do not reach each
 * other end a generation: it could not continue, and would fail. */
#define SKN_MEMBER_APART_MS 3000u
/* A member left out for that again within this time counts as once more in a
 * row. */
#define SKN_MEMBER_FORGET_MS 120000u
/* A generation lasts at least this long before a member that joins ends it, so
 * that a flapping machine does not stop the others. */
#define SKN_MEMBER_SETTLE_MS 2000u
/* A member that fails stays out for 10 s, 20 s, ... 10 minutes, never for
 * ever. */
#define SKN_MEMBER_BAR_MS 10000u
#define SKN_MEMBER_BAR_MS_MAX 600000u
#define SKN_MEMBER_ROOM_BYTES 8388608u
/* After generations in a row that trained nothing, for which no member is to
 * blame: the first retry comes at once, the next ones after 1 s, 2 s, ... 16 s
 * (this time, doubled once for each of those generations). */
#define SKN_MEMBER_RETRY_MS 250u
#define SKN_MEMBER_RETRY_DOUBLINGS 6u

typedef enum skn_membership_phase {
    SKN_MEMBERSHIP_GATHERING,
    SKN_MEMBERSHIP_RUNNING,
    SKN_MEMBERSHIP_PAUSING,
    SKN_MEMBERSHIP_ABORTING,
    SKN_MEMBERSHIP_OVER
} skn_membership_phase_t;

/* Where a generation begins. If `saved` is false: at batch 0, from the seed. */
typedef struct skn_point {
    bool saved;
    uint64_t batch;
    uint64_t layout; /* the generation that wrote the checkpoint */
    /* composed of the salvages of `layout` (formats/checkpoint/salvage.h):
     * updates are lost */
    bool composed;
    uint64_t lost;   /* how many updates are lost */
    uint32_t copies; /* holders of the part that has the fewest */
} skn_point_t;

/* Finds the newest checkpoint that the members of `set` hold together.
 * SKN_NO_INPUT: none of them holds any manifest. SKN_UNAVAILABLE: there are
 * checkpoints, and each lacks a part (`error` names the members that have
 * it). */
typedef skn_status_t skn_choose_t(void *job, uint64_t set, skn_point_t *point,
                                  skn_error_t *error);

typedef struct skn_membership_options {
    uint32_t count;         /* members that may exist, at most 64 */
    uint32_t least;         /* fewest members that train; at least 1 */
    uint64_t first_wait_ns; /* for all members, at the very start */
    skn_choose_t *choose;
    void *job;
    /* copies of each part, on different members: checkpoint.copies. A member
     * that leaves is kept until the members that stay have this many. */
    uint32_t copies;
    /* from an earlier coordinator's log; zeroes for a new run */
    uint64_t generation, members, serving;
    uint64_t saved_batch;  /* newest one that was ever complete */
    bool saved_here;       /* `generation` has saved one */
    const uint32_t *cores; /* each member's, copied; NULL: all equal */
    bool partial;          /* after a death, survivors keep what they have */
    /* members that cannot be dialled; two of them need a third that can be */
    uint64_t undialled;
} skn_membership_options_t;

/* O(NAME, meaning). */
#define SKN_DUTIES(O)                                                          \
    O(IDENTIFY, "ask `member`, which has sent something, who it is")           \
    O(LIST, "ask `member` which checkpoints it holds")                         \
    O(RECORD, "write the start of `generation` to disk before the duties "     \
              "that follow")                                                   \
    O(START, "start `generation` at `member`, with the members of `set`")      \
    O(PAUSE, "let `member`, the leader, end `generation` at its next marker")  \
    O(ABORT, "end the worker of `member` at once, or after it has salvaged")   \
    O(DISMISS, "dismiss `member`: the run is over, or continues without it")   \
    O(REPORT, "report `text` to the user")

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
    uint64_t serving; /* part of `set`: members that get no rows and no copies,
                       * and only give the other members, which lead, what they
                       * hold of the point */
    skn_point_t point;
    bool salvage; /* ABORT: the worker first salvages its blocks */
    char text[SKN_DUTY_TEXT_BYTES];
} skn_duty_t;

/* How a member's part of a generation ended. */
typedef enum skn_ending {
    SKN_ENDING_WELL, /* with the others, at a marker or at the end */
    SKN_ENDING_DONE, /* as WELL; it led, and the run is finished */
    SKN_ENDING_STOPPED /* as WELL; it led, and reported where it stopped */,
    SKN_ENDING_FAILED
} skn_ending_t;

typedef struct skn_membership skn_membership_t;

/* `names`, for messages, must outlive it. NULL: SKN_NO_MEMORY, SKN_USAGE. */
skn_membership_t *skn_membership_new(const skn_membership_options_t *options,
                                     const char *const *names,
                                     skn_error_t *error);
void skn_membership_destroy(skn_membership_t **membership);

/* --- events; `member` is below `count`, `now_ns` never goes back ---------- */

/* A member has connected: its process `incarnation` runs `generation`
 * (0: none). */
void skn_membership_hello(skn_membership_t *membership, uint32_t member,
                          uint64_t incarnation, uint64_t generation,
                          uint64_t now_ns);
/* It has taken part in generations up to this one. If that is newer than any
 * known here, our journal is outdated: the next generation is newer than both,
 * since members accept no older one. */
void skn_membership_newest(skn_membership_t *membership, uint32_t member,
                           uint64_t generation);
/* It is alive and runs `generation` (0: none), up to `batch`. */
void skn_membership_pulse(skn_membership_t *membership, uint32_t member,
                          uint64_t generation, uint64_t batch, uint64_t now_ns);
/* Free bytes on its disk. A member that is out for its first full disk comes
 * back when it has had SKN_MEMBER_ROOM_BYTES for a second; after a repeated
 * failure it has to wait for its time. */
void skn_membership_room(skn_membership_t *membership, uint32_t member,
                         uint64_t bytes, uint64_t now_ns);
/* It has reported what it holds since it was last asked. */
void skn_membership_holds(skn_membership_t *membership, uint32_t member,
                          uint64_t now_ns);
/* True if the failure only follows from the loss of another member, which is
 * counted there. */
bool skn_membership_is_echo(const skn_error_t *error);
/* Its part of a generation has ended; `error` is for SKN_ENDING_FAILED. */
void skn_membership_ended(skn_membership_t *membership, uint32_t member,
                          uint64_t generation, skn_ending_t ending,
                          const skn_error_t *error, uint64_t now_ns);
/* It has lost contact with the members of `set` and cannot reconnect, though
 * they may be alive: the connection between them is cut. 0: it has contact with
 * all. If either of two members reports the other, one of them is left out of
 * the next generations until neither does. */
void skn_membership_misses(skn_membership_t *membership, uint32_t member,
                           uint64_t set, uint64_t now_ns);
/* It will leave and wants to hand over; this is no failure. Any number may
 * leave at once, even all. */
void skn_membership_leaving(skn_membership_t *membership, uint32_t member,
                            uint64_t now_ns);
/* Its connection has closed. */
void skn_membership_lost(skn_membership_t *membership, uint32_t member,
                         uint64_t now_ns);
/* `generation` has completed a checkpoint of `batch`. */
void skn_membership_saved(skn_membership_t *membership, uint64_t generation,
                          uint64_t batch);
/* The same members should begin again. `who` and `what` are the subject and the
 * predicate of the reason that is reported. The generation ends at its next
 * marker. */
void skn_membership_renew(skn_membership_t *membership, const char *who,
                          const char *what);
/* The others are faster without `member`: it is left out until `until_ns`,
 * unless fewer than `least` would be left or only it holds a part of the
 * checkpoint. False: it takes no part, or the others once failed without it. A
 * member that is left out already may be given an earlier time. */
bool skn_membership_leave_out(skn_membership_t *membership, uint32_t member,
                              uint64_t until_ns);
/* The user wants the run to save and stop. */
void skn_membership_stop(skn_membership_t *membership, uint64_t now_ns);
/* Time passes; called at least every SKN_MEMBER_PULSE_MS. */
void skn_membership_tick(skn_membership_t *membership, uint64_t now_ns);

/* --- duties and state ----------------------------------------------------- */

/* Takes the next duty; false if there is none. */
bool skn_membership_next(skn_membership_t *membership, skn_duty_t *duty);

skn_membership_phase_t skn_membership_phase(const skn_membership_t *membership);
uint64_t skn_membership_generation(const skn_membership_t *membership);
/* The members of the generation that runs; 0: none runs. */
uint64_t skn_membership_members(const skn_membership_t *membership);
/* Those of them that are leaving and only hand over what they hold. */
uint64_t skn_membership_serving(const skn_membership_t *membership);
/* The newest batch that the newest generation has reached. */
uint64_t skn_membership_batch(const skn_membership_t *membership);
/* True if a member is taken to be alive. Its pulses are then acknowledged,
 * which renews its lease (SKN_MEMBER_LEASE_MS). */
bool skn_membership_hears(const skn_membership_t *membership, uint32_t member);
/* True if a member is left out because the others are faster without it. */
bool skn_membership_is_left_out(const skn_membership_t *membership,
                                uint32_t member);
/* The failure for which a member is left out, as the member that noticed it
 * first reported it; NULL: it takes part, or is out for another reason. */
const skn_error_t *skn_membership_fault(const skn_membership_t *membership,
                                        uint32_t member);
/* True if the run may continue from the salvages that members wrote when the
 * last generation ended: not if one of them failed for a reason that the
 * others' state may share. */
bool skn_membership_keeps(const skn_membership_t *membership);
/* The member of `set` that leads: the first in the order of `names`. */
uint32_t skn_membership_lead(uint64_t set);
/* Why it is OVER: SKN_OK (done, or stopped on request), or the failure. */
skn_status_t skn_membership_result(const skn_membership_t *membership,
                                   bool *stopped, skn_error_t *error);

#endif
