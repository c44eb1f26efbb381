/* actor.h - the state of an actor and its edges, private to actors/runtime.
 *
 *     inbox ──▶ work ─────▶ incoming.c ──▶ handler ──▶ outgoing.c ──▶ outlets
 *       ├─────▶ answers ──▶   (also while blocked)        │ no credit
 *       └─────▶ credits, clocks                           ▼
 *     orders ─▶ start, stop, close                      outbox
 * run_loop.c runs the loop; system_build.c makes the actors and system_run.c
 * starts and joins their threads. Once skn_actor_run has begun, only the
 * actor's own thread touches what is here, until it is joined.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_ACTOR_H
#define ACTORS_RUNTIME_ACTOR_H

#include <poll.h>
#include <stdatomic.h>

#include "actors/queues/deadlines.h"
#include "actors/runtime/counters.h"
#include "actors/runtime/place.h"
#include "actors/queues/queue.h"
#include "actors/machine/system_load.h"
#include "actors/runtime/trace.h"
#include "actors/runtime/wiring.h"
#include "formats/text/json_write.h"
#include "transport/message/payload.h"
#include "transport/inproc/pipe.h"
#include "transport/message/schema.h"

/* The types of parcels. MESSAGE to CREDIT go to an actor's inbox, START to
 * CLOSE to its orders, READY to NOTICE to the host's inbox (the slot is the
 * actor's number). */
typedef enum skn_parcel_type {
    SKN_PARCEL_MESSAGE, /* pointer: a payload's message; slot: in-edge */
    SKN_PARCEL_END,     /* no more messages on the in-edge `slot` */
    SKN_PARCEL_CREDIT,  /* number: more messages allowed on out-edge `slot` */
    SKN_PARCEL_START,
    SKN_PARCEL_STOP,  /* finish cleanly soon */
    SKN_PARCEL_READ,  /* the host has read events: more may be sent */
    SKN_PARCEL_CLOSE, /* leave the loop */
    SKN_PARCEL_READY,
    SKN_PARCEL_ENDED,
    SKN_PARCEL_FAILED, /* pointer: skn_error_t, malloc'ed */
    SKN_PARCEL_EVENT,  /* from an actor; pointer: text, malloc'ed */
    SKN_PARCEL_NOTICE, /* an event of the runtime, not counted or limited */
    /* To the link driver: a request for the clock and usage of all nodes;
     * number: the tag. To an actor's inbox, the answer; pointer: skn_clock_t,
     * malloc'ed. */
    SKN_PARCEL_CLOCK
} skn_parcel_type_t;

typedef struct skn_out_edge {
    uint32_t receiver; /* actor */
    uint32_t slot;     /* its number among the receiver's in-edges */
    uint32_t credit;
    uint64_t id; /* unique in the topology; identifies flows in a trace */
    skn_outlet_t *work;
    skn_queue_t outbox; /* the messages that wait for credit */
    skn_edge_counters_t counters;
} skn_out_edge_t;

typedef struct skn_out_pipe {
    const skn_wired_pipe_t *wired;
    skn_out_edge_t *edges; /* this sender's edges, in order of receivers */
    uint32_t edge_count;
    uint32_t sender;    /* its position among the pipe's senders */
    bool late;          /* it ends after the answers to this actor */
    skn_queue_t shared; /* pattern `any`: no receiver had credit */
} skn_out_pipe_t;

/* The parts that have one value of the pipe's `by` field. */
typedef struct skn_part_set {
    uint64_t key;
    uint32_t arrived;  /* 0: the set is free */
    const void **part; /* [senders], NULL until it arrived */
} skn_part_set_t;

typedef struct skn_in_pipe {
    const skn_wired_pipe_t *wired;
    const skn_handler_t *handler;
    uint32_t sender_count; /* in-edges of this receiver */
    uint32_t first_slot;   /* the slot of the first of these */
    uint32_t ended_count;  /* how many of these have ended */
    skn_part_set_t *sets;  /* the home of key k is at k % set_count */
    uint64_t *done;        /* [set_count] keys of the last sets, a ring */
    uint64_t done_count;   /* in total */
    const void **parts;    /* [set_count * sender_count] for `sets` */
    uint32_t set_count, displaced_count;
    skn_histogram_t latency; /* durations of the handler */
} skn_in_pipe_t;

typedef struct skn_in_edge {
    skn_in_pipe_t *pipe;
    uint32_t part;     /* position of the sender in the pipe */
    uint32_t sender;   /* actor */
    uint32_t owed;     /* credit to return */
    uint32_t credit;   /* the sender's initial credit */
    uint32_t out_slot; /* the edge's number at the sender */
    uint64_t id;
    bool ended;
    skn_outlet_t *back; /* the sender's inbox, for credit */
    skn_edge_counters_t counters;
} skn_in_edge_t;

typedef enum skn_phase {
    SKN_PHASE_OPENING,
    SKN_PHASE_READY,
    SKN_PHASE_RUNNING,
    SKN_PHASE_DRAINING, /* no more work arrives; outboxes run empty */
    SKN_PHASE_ENDING,   /* its pipes have ended, except late ones */
    SKN_PHASE_ENDED,
    SKN_PHASE_FAILED
} skn_phase_t;

#define SKN_CLOCKS_MAX 8
/* The restarts that a stateless actor has before it fails: 5 in 60 s, as many
 * as a worker process has (cli/base/supervise.h). */
#define SKN_RESTARTS_MAX 5

/* How long an actor works or produces before it checks its inbox, where answers
 * come before work: about ten times the cost of a check. */
#define SKN_UNCHECKED_NS 20000u

/* The last report of skn_actor_report_blocked: the first sender whose part is
 * missing, and how many other parts are. `schema` is NULL if none is missing.
 * */
typedef struct skn_awaited {
    const skn_schema_t *schema;
    uint64_t batch;
    uint32_t place, more;
} skn_awaited_t;

struct skn_actor {
    const skn_wired_actor_t *wired;
    const skn_kind_t *kind;
    uint32_t number;           /* in the wiring */
    bool here;                 /* on this node: it has a thread */
    struct skn_system *system; /* the system that it is part of */
    void *state;
    skn_pool_t *pool;
    skn_scratch_t *scratch; /* for the option `wire` */
    skn_inbox_t *inbox;
    skn_inbox_t *orders; /* of the host, while its thread runs */
    /* Parcels that wait to be handled, as many as the senders have credit for;
     * `answers` are those of peer pipes. */
    skn_queue_t work, answers;
    skn_payload_returns_t returns; /* of messages handled in this pass */
    atomic_bool was_told_to_read;  /* an order READ waits */
    struct skn_port *port; /* NULL: it has a thread, or is on another node */
    skn_outlet_t *host;
    int wake_descriptor; /* eventfd of the host: written after each parcel */

    skn_out_pipe_t *out_pipes;
    uint32_t out_pipe_count;
    skn_out_edge_t *out_edges;
    uint32_t out_edge_count;
    skn_in_pipe_t *in_pipes;
    uint32_t in_pipe_count;
    skn_in_edge_t *in_edges;
    uint32_t in_edge_count, peer_edge_count; /* all; those of peer pipes */
    skn_outlet_t **outlets; /* every outlet that an edge uses, to close it */
    uint32_t *outlet_receivers; /* the inbox that each leads to */
    uint32_t outlet_count;

    skn_phase_t phase;
    skn_place_t place; /* also read by the watchdog */
    bool closing, has_nothing, finished, wire;
    struct pollfd watched; /* .fd -1: none */
    bool is_ready;         /* it has events, or the run is to stop */
    bool moved; /* work or credit has arrived since the last wait began */
    bool sends_events; /* it has sent an event */
    bool names_sender; /* sender.h: a failure is about the message in hand */
    uint64_t unsent;   /* messages in all outboxes: more than 0 is "blocked" */
    uint32_t open_edges; /* other in-edges that have not ended */
    uint32_t open_peers; /* in-edges of peer pipes that have not ended */
    uint64_t quiet_ns;   /* time of the last parcel (waiting.h); 0: unknown */
    uint32_t told_count; /* reports since then of what it waits for */
    uint64_t now_ns;     /* when the message in hand was taken */
    uint64_t waited_ns;  /* time spent waiting for the message in hand */
    uint64_t clock_tags[SKN_CLOCKS_MAX];
    uint32_t clock_count;
    skn_outlet_t *links; /* the link driver's inbox; NULL: the only node */
    uint32_t clock_asked, clock_here_count; /* requested; answers at hand */
    skn_clock_t *clock_here[SKN_CLOCKS_MAX];
    uint64_t timer_due_ns[SKN_TIMERS_MAX];
    skn_deadlines_t deadlines;
    uint64_t expired_key; /* of the deadline in hand */
    skn_awaited_t awaited;
    uint64_t restart_ns[SKN_RESTARTS_MAX]; /* the oldest is overwritten */
    uint32_t restart_next;
    skn_actor_counters_t counters;
    skn_error_t *misuse; /* the kind's first wrong call; OK: none */
    skn_trace_t *trace;  /* NULL: not traced */
    skn_load_t *load;    /* of its core; NULL: no core, or background */
};

/* run_loop.c: the body of an actor's thread, until the actor is asked to close;
 * then the actor's end. All actors synchronise between the two calls, because
 * another actor may be writing to memory that this one lends. */
void skn_actor_run(skn_actor_t *actor);
void skn_actor_close(skn_actor_t *actor);
/* Fails the actor. The actor's name and kind are added to the sentence if they
 * are missing. */
void skn_actor_fail(skn_actor_t *actor, const skn_error_t *error);
void skn_actor_report(skn_actor_t *actor, skn_parcel_type_t type,
                      void *pointer);
/* Call this when a hook or handler of the kind, entered by skn_place_enter, has
 * returned `status`. It adds the place to a failure, and a sentence if there is
 * none. */
typedef skn_status_t skn_hook_t(skn_actor_t *, void *, skn_error_t *);
skn_status_t skn_actor_leave(skn_actor_t *actor, skn_status_t status,
                             skn_error_t *error);

/* Sends a parcel to the host and wakes it; takes over the parcel's pointer,
 * which is from malloc. skn_error_copy makes what a parcel FAILED points at;
 * NULL if memory is short. */
void skn_host_report(skn_outlet_t *host, int wake_descriptor,
                     const skn_parcel_t *parcel);
skn_error_t *skn_error_copy(const skn_error_t *error);

/* self.c: reports that the kind called a function wrongly which returns no
 * status; the actor fails after the hook. The sentence begins with the actor
 * and the function. */
__attribute__((format(printf, 3, 4))) void skn_actor_misuse(
    const skn_actor_t *actor, const char *function, const char *format, ...);
/* self.c: sends an event of the runtime, which the limit on the kind's own
 * events does not delay; empties `text`. Best effort. */
void skn_actor_notice(skn_actor_t *actor, skn_json_text_t *text);

/* outgoing.c */
/* Adds credit to out-edge `slot` and sends the messages that waited for it. */
skn_status_t skn_outgoing_credit(skn_actor_t *actor, uint32_t slot,
                                 uint32_t credit, skn_error_t *error);
/* For ports: whether a message would be sent at once to all its receivers, or
 * be refused. */
bool skn_outgoing_has_credit(skn_actor_t *actor, const skn_schema_t *schema,
                             const void *message);
/* Ends the out-edges of the pipes that end early, or of those that end late
 * (endings.h); the outboxes must be empty. */
skn_status_t skn_outgoing_end(skn_actor_t *actor, bool late,
                              skn_error_t *error);
/* Drops the messages that still wait; after a failure or at the close. */
void skn_outgoing_drop(skn_actor_t *actor);

/* incoming.c */
/* For an actor that handles no work: takes at most one pass from the inbox,
 * applies credits, and queues the rest. False: the inbox is empty. */
bool skn_incoming_collect(skn_actor_t *actor);
/* Handles at most one pass of answers, even while blocked, or of work, until a
 * message leaves the actor blocked, or answers have to be looked for; returns
 * whether there is more to handle. */
bool skn_incoming_answers(skn_actor_t *actor);
bool skn_incoming_work(skn_actor_t *actor);
/* For ports: count a message that was taken and undo its coding; return the
 * credit of one message in edge `slot`; take the end of the edge. */
skn_status_t skn_incoming_count(skn_actor_t *actor, const skn_parcel_t *parcel,
                                const void **message, skn_error_t *error);
skn_status_t skn_incoming_owe(skn_actor_t *actor, uint32_t slot,
                              skn_error_t *error);
skn_status_t skn_incoming_end(skn_actor_t *actor, uint32_t slot,
                              skn_error_t *error);
/* Returns the credit that is owed. */
skn_status_t skn_incoming_return_credit(skn_actor_t *actor, skn_error_t *error);
void skn_incoming_drop(skn_actor_t *actor);
/* Calls a handler, measures and traces it, and restarts the actor if it fails
 * and may restart. `pipe` is NULL for the clock. */
skn_status_t skn_actor_handle(skn_actor_t *actor, const skn_handler_t *handler,
                              skn_in_pipe_t *pipe, const void *message,
                              skn_error_t *error);

#endif
