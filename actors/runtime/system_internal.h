/* system_internal.h - the fields of a system, private to the runtime.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_SYSTEM_INTERNAL_H
#define ACTORS_RUNTIME_SYSTEM_INTERNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "actors/runtime/actor.h"
#include "actors/runtime/placement.h"
#include "actors/runtime/crossings.h"
#include "actors/runtime/system.h"

typedef struct skn_event {
    struct skn_event *next;
    char *text;
    bool counts; /* it is in event_count: an actor sent it, not the link
                  * driver */
} skn_event_t;

struct skn_system {
    const skn_wiring_t *wiring;
    skn_start_options_t options;
    skn_placement_t *placement;
    int32_t *units;     /* [actor_count] */
    uint64_t serial;    /* its number in the process, for addresses */
    skn_inbox_t *inbox; /* reports of the actors */
    skn_actor_t *actors;
    skn_error_t *misuses;   /* [actor_count] skn_actor_t.misuse */
    skn_thread_t **threads; /* [actor_count] NULL: the actor has none */
    skn_load_t *loads;      /* [load_count] one for each core of this node */
    uint32_t load_count;
    pthread_barrier_t left;  /* all threads, between their loops and closes */
    bool has_barrier;        /* `left` was initialised */
    atomic_uint gone_count;  /* threads that only have to return */
    atomic_uint event_count; /* sent by actors and not yet read by the host */
    atomic_bool events_awaited; /* an actor waits for the host to read them */
    atomic_bool waits;          /* the host waits for the end instead */
    uint32_t actor_count, thread_count;
    uint32_t node_count, here_count; /* here_count: actors of this node, with
                                      * threads */
    skn_crossings_t crossings;       /* edges to and from other nodes */
    struct skn_links *links;         /* NULL: the only node */
    uint32_t ready_count, ended_count;
    int wake_descriptor;
    int arrivals; /* epoll of that and the ports' inboxes; -1: no ports */
    uint32_t port_count;
    atomic_bool stop_wanted, abort_wanted; /* another thread may set them */
    atomic_bool is_over;      /* actors leave after their current handler */
    atomic_uint saves_wanted; /* how many the host has requested */
    /* When links to other nodes last carried more than clocks and credit, by
     * the monotonic clock; 0: never. Their driver sets it. */
    _Atomic uint64_t carried_ns;
    uint64_t patience_ns; /* waiting.h, watchdog.h */
    struct skn_watchdog *watchdog;
    bool stop_told, closing, joined;
    bool begun;          /* the actors were asked to start */
    skn_error_t failure; /* the first one */
    skn_event_t *first_event, **last_event;
    FILE *trace_file; /* NULL: not traced */
    uint64_t begin_ns, end_ns;
    uint64_t cpu_begin_ns; /* CPU time of the process where clocks begin */
};

/* Destroys inboxes, actors, edges and outlets, after the threads were joined.
 * Drops messages that no actor took. */
void skn_system_unbuild(skn_system_t *system);

/* system_threads.c: starts the threads of the actors, the watchdog and the
 * links; none if it fails. */
skn_status_t skn_system_start_threads(skn_system_t *system, skn_error_t *error);
/* system_threads.c: whether the actor's state outlives its thread, for a
 * salvage. */
bool skn_system_keeps_state(const skn_actor_t *actor);
/* system_run.c: reports that the calling thread, one of the system's, only has
 * to return. Wakes the host. */
void skn_system_leave(skn_system_t *system);
/* Whether actors do nothing more: the run was aborted, has failed, or ends. */
static inline bool
skn_system_is_over(const skn_system_t *system)
{
    return atomic_load_explicit(&system->is_over, memory_order_relaxed);
}
/* system_run.c: wakes the threads of the host that use ports, after a failure
 * was reported. */
void skn_system_alarm(const skn_system_t *system);
/* system_run.c: count an event that an actor sends; report whether there are so
 * many that actors should wait before they send more. An actor that is about to
 * wait calls the second one. */
void skn_system_count_event(skn_system_t *system);
bool skn_system_has_many_events(skn_system_t *system);

/* Allocates `count` zeroed items; NULL and a filled `error` if memory is
 * short. */
void *skn_system_array(size_t count, size_t item_bytes, skn_error_t *error);
/* Opens the inbox of actor `number`, or an outlet to it. The link driver's
 * number is one past the last actor's, and the host's is the next. */
skn_inbox_t *skn_system_inbox(const skn_system_t *system, uint32_t number,
                              skn_error_t *error);
skn_outlet_t *skn_system_outlet(const skn_system_t *system, uint32_t number,
                                skn_error_t *error);
static inline uint32_t
skn_system_links_number(const skn_system_t *system)
{
    return system->actor_count;
}
static inline uint32_t
skn_system_host_number(const skn_system_t *system)
{
    return system->actor_count + 1;
}

/* system_edges.c: allocates the edges of all actors, then connects one pipe
 * after another, in the order of the wiring. */
skn_status_t skn_system_allocate_edges(skn_system_t *system,
                                       skn_error_t *error);
skn_status_t skn_system_connect_pipe(skn_system_t *system,
                                     const skn_wired_pipe_t *pipe,
                                     skn_error_t *error);

#endif
