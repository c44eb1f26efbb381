/* actor.h - the inside of an actor, for the files of the runtime only.
 *
 *        work inbox ──▶ incoming.c ──▶ handler ──▶ outgoing.c ──▶ outlets
 *     answers inbox ──▶    (also while blocked)        │ no credit
 *     control inbox ──▶ credits, stop, close           ▼
 *                                                   outbox
 * actor.c runs the loop; system.c makes actors, starts and joins their threads.
 * After skn_actor_run has begun, everything here is touched by the actor's
 * thread only, until it is joined.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_ACTOR_H
#define ACTORS_RUNTIME_ACTOR_H

#include "actors/runtime/counters.h"
#include "actors/runtime/place.h"
#include "actors/machine/system_load.h"
#include "actors/runtime/trace.h"
#include "actors/runtime/wiring.h"
#include "formats/text/json_text.h"
#include "transport/message/payload.h"
#include "transport/inproc/pipe.h"
#include "transport/message/schema.h"

/* What a parcel is. Work and answers inbox: MESSAGE, END. Control inbox: the
 * others. Host inbox: READY .. EVENT, the slot says which actor. */
typedef enum skn_parcel_type {
    SKN_PARCEL_MESSAGE, /* pointer: a payload's message; slot: in-edge */
    SKN_PARCEL_END,     /* no more messages on the in-edge `slot` */
    SKN_PARCEL_CREDIT,  /* number: more messages allowed on out-edge `slot` */
    SKN_PARCEL_START,
    SKN_PARCEL_STOP,  /* come to a good end soon */
    SKN_PARCEL_READ,  /* the host has read events: there is room for more */
    SKN_PARCEL_CLOSE, /* leave the loop */
    SKN_PARCEL_READY,
    SKN_PARCEL_ENDED,
    SKN_PARCEL_FAILED, /* pointer: skn_error_t, malloc'ed */
    SKN_PARCEL_EVENT,  /* an actor tells it; pointer: text, malloc'ed */
    SKN_PARCEL_NOTICE, /* the same of the runtime, beside the bound of events */
    /* To the link driver: a clock of all nodes is asked for; number: the tag.
     * Control inbox: pointer: skn_clock_t, malloc'ed. */
    SKN_PARCEL_CLOCK
} skn_parcel_type_t;

/* Messages without credit wait here, in order; a ring that grows. */
typedef struct skn_outbox {
    const void **message;
    uint32_t room, first, count;
} skn_outbox_t;

typedef struct skn_out_edge {
    uint32_t receiver; /* actor */
    uint32_t slot;     /* its number among the receiver's in-edges */
    uint32_t credit;
    uint64_t id; /* unique in the topology: names flows in a trace */
    skn_outlet_t *work;
    skn_outbox_t outbox;
    skn_edge_counters_t counters;
} skn_out_edge_t;

typedef struct skn_out_pipe {
    const skn_wired_pipe_t *wired;
    skn_out_edge_t *edges; /* those of this sender, in order of receivers */
    uint32_t edge_count;
    uint32_t sender;     /* its place among the pipe's senders */
    bool late;           /* it ends after the answers to this actor */
    skn_outbox_t shared; /* pattern `any`: nobody had credit */
} skn_out_pipe_t;

/* Parts of one value of the `by` field. */
typedef struct skn_part_set {
    uint64_t key;
    uint32_t arrived;  /* 0: the set is free */
    const void **part; /* [senders], NULL until it came */
} skn_part_set_t;

typedef struct skn_in_pipe {
    const skn_wired_pipe_t *wired;
    const skn_handler_t *handler;
    uint32_t sender_count; /* in-edges of this receiver */
    uint32_t first_slot;   /* they are numbered from here on */
    uint32_t ended_count;  /* of them */
    skn_part_set_t *sets;  /* that of key k is at k % set_count, if it can */
    uint64_t *done;        /* [set_count] keys of the last sets, a ring */
    uint64_t done_count;   /* all in all */
    const void **parts;    /* behind the sets */
    uint32_t set_count, displaced_count;
    skn_histogram_t latency; /* of the handler */
} skn_in_pipe_t;

typedef struct skn_in_edge {
    skn_in_pipe_t *pipe;
    uint32_t part;     /* which sender of the pipe */
    uint32_t sender;   /* actor */
    uint32_t owed;     /* credit to give back */
    uint32_t credit;   /* what the sender started with */
    uint32_t out_slot; /* the edge's number at the sender */
    uint64_t id;
    bool ended;
    skn_outlet_t *control; /* of the sender */
    skn_edge_counters_t counters;
} skn_in_edge_t;

typedef enum skn_phase {
    SKN_PHASE_OPENING,
    SKN_PHASE_READY,
    SKN_PHASE_RUNNING,
    SKN_PHASE_DRAINING, /* nothing comes any more; outboxes run empty */
    SKN_PHASE_ENDING,   /* own pipes have ended but for the late ones */
    SKN_PHASE_ENDED,
    SKN_PHASE_FAILED
} skn_phase_t;

#define SKN_CLOCKS_MAX 8

/* What skn_actor_awaits was told last: the first sender whose part is missing,
 * and how many others. `schema` NULL: none is. */
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
    struct skn_system *system; /* for system.c */
    void *state;
    skn_pool_t *pool;
    skn_scratch_t *scratch; /* for the option `wire` */
    skn_inbox_t *work, *control;
    skn_inbox_t *answers; /* of peer pipes; NULL: it has none */
    skn_outlet_t *host;
    int wake_descriptor; /* eventfd of the host: written after each parcel */

    skn_out_pipe_t *out_pipes;
    uint32_t out_pipe_count;
    skn_out_edge_t *out_edges;
    uint32_t out_edge_count;
    skn_in_pipe_t *in_pipes;
    uint32_t in_pipe_count;
    skn_in_edge_t *in_edges;
    uint32_t in_edge_count, peer_edge_count; /* all, and those of peers */
    skn_outlet_t **outlets; /* all that the edges point at, to close them */
    uint64_t *outlet_names; /* actor << 2 | which inbox */
    uint32_t outlet_count;

    skn_phase_t phase;
    skn_place_t place; /* also read by the watchdog */
    bool closing, resting, finished, wire;
    bool moved;      /* work or credit has come since the last wait began */
    bool tells;      /* it has sent an event */
    bool blames;     /* sender.h: a failure is about the message in hand */
    uint64_t unsent; /* messages in all outboxes: more than 0 is "blocked" */
    uint32_t open_edges; /* in-edges that have not ended, peers' aside */
    uint32_t open_peers; /* peers' in-edges that have not ended */
    uint64_t quiet_ns;   /* waiting.h: when the last of it had; 0: unknown */
    uint32_t told_count; /* and how often it was told for whom it waits */
    uint64_t now_ns;     /* when the message in hand was taken */
    uint64_t waited_ns;  /* since the last message, for one */
    uint64_t clock_tags[SKN_CLOCKS_MAX];
    uint32_t clock_count;
    skn_outlet_t *links; /* of the link driver; NULL: the only node */
    uint32_t clock_asked, clock_here_count; /* of clock_count, of all nodes */
    skn_clock_t *clock_here[SKN_CLOCKS_MAX];
    uint64_t timer_due_ns[SKN_TIMERS_MAX];
    skn_awaited_t awaited;
    uint64_t restart_ns[5]; /* SKN_RESTARTS_MAX; the oldest is overwritten */
    uint32_t restart_next;
    skn_actor_counters_t counters;
    skn_error_t *misuse; /* the first wrong call of the kind; OK: none yet */
    skn_trace_t *trace;  /* NULL: not traced */
    skn_load_t *load;    /* of its core; NULL: it has none, or is background */
};

/* actor.c: the thread of an actor, until it is told to close; then its end. In
 * between all actors meet: what one lends, another may be writing to. */
void skn_actor_run(skn_actor_t *actor);
void skn_actor_close(skn_actor_t *actor);
/* Fails the actor; the sentence is given its name and kind, if it lacks them.
 */
void skn_actor_fail(skn_actor_t *actor, const skn_error_t *error);
void skn_actor_report(skn_actor_t *actor, skn_parcel_type_t type,
                      void *pointer);
/* A hook or handler of the kind, entered by skn_place_enter, has returned
 * `status`. A failure is given its place, and a sentence if it has none. */
typedef skn_status_t skn_hook_t(skn_actor_t *, void *, skn_error_t *);
skn_status_t skn_actor_leave(skn_actor_t *actor, skn_status_t status,
                             skn_error_t *error);

/* A parcel for the host, which is woken; its pointer, from malloc, is given
 * away. And what a parcel FAILED points at; NULL without memory. */
void skn_host_report(skn_outlet_t *host, int wake_descriptor,
                     const skn_parcel_t *parcel);
skn_error_t *skn_error_copy(const skn_error_t *error);

/* self.c: the kind has called a function wrongly that has no status to say so:
 * the actor fails after the hook. The sentence begins with the actor and the
 * function. */
__attribute__((format(printf, 3, 4))) void skn_actor_misuse(
    const skn_actor_t *actor, const char *function, const char *format, ...);
/* self.c: an event of the runtime, which no bound of the kind's own events
 * holds back; `text` is emptied. Best effort. */
void skn_actor_notice(skn_actor_t *actor, skn_json_text_t *text);

/* outgoing.c */
/* More credit for out-edge `slot`; sends what waited for it. */
skn_status_t skn_outgoing_credit(skn_actor_t *actor, uint32_t slot,
                                 uint32_t credit, skn_error_t *error);
/* Ends the out-edges of pipes that end early, or late (endings.h); the outboxes
 * must be empty. */
skn_status_t skn_outgoing_end(skn_actor_t *actor, bool late,
                              skn_error_t *error);
/* Drops what still waits; after a failure or at the close. */
void skn_outgoing_drop(skn_actor_t *actor);

/* incoming.c */
/* Takes up to a pass of answers, blocked or not, or of work, until a message
 * leaves the actor blocked; returns whether there may be more. */
bool skn_incoming_answers(skn_actor_t *actor);
bool skn_incoming_work(skn_actor_t *actor);
/* Gives back all credit that is owed. */
skn_status_t skn_incoming_return_credit(skn_actor_t *actor, skn_error_t *error);
void skn_incoming_drop(skn_actor_t *actor);
/* Calls a handler, with time, trace and restart around it. */
skn_status_t skn_actor_handle(skn_actor_t *actor, const skn_handler_t *handler,
                              skn_histogram_t *latency, const void *message,
                              skn_error_t *error);

#endif
