/* topology.h - loads a topology, starts its actors, and follows the run.
 *
 * A host program owns the process: Skein handles no signal unless requested
 * (skn_report_crashes) and writes to no stream. Its pipes are sockets in CZMQ's
 * context of the process; a host that lets CZMQ handle signals calls zsys_init
 * before the first topology starts.
 *
 *     skn_topology_t *topology = skn_topology_new(yaml, "inline", kinds, &e);
 *     skn_topology_start(topology, NULL, &e);
 *     while (skn_topology_event(topology, -1, line, sizeof line, &e) == SKN_OK)
 *         puts(line);
 *     status = skn_topology_wait(topology, &e);
 *     skn_topology_destroy(&topology);
 * A topology is for one thread at a time, except skn_topology_stop and _abort;
 * several topologies of a process are independent. In a child that fork() made,
 * the threads of a topology that was started before are missing: there it can
 * only be destroyed. A NULL where none is allowed is SKN_USAGE (a function that
 * returns no status then does nothing).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_TOPOLOGY_H
#define SKEIN_TOPOLOGY_H

#include <stdio.h>

#include "skein/actor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_topology skn_topology_t;

/* Parses and checks `yaml`; `name` is used as the file's name in errors (NULL:
 * "topology"), and relative paths start at its folder. `kinds` (may be NULL)
 * are the host's own actor kinds, ending with NULL, in addition to the built-in
 * ones and those of the topology's plug-ins. NULL and a filled `error` if it is
 * refused: the first problem, and how many more there are. */
SKN_API skn_topology_t *skn_topology_new(const char *yaml, const char *name,
                                         const skn_kind_t *const *kinds,
                                         skn_error_t *error);
/* All problems of such a text, in the order of its lines: returns their number
 * and describes the first `count` of them in errors[count], the caller's; the
 * rest of it, and what is beyond the first hundred problems, is set to "no
 * error". 0: skn_topology_new accepts the text. `errors` may be NULL. Loads the
 * topology's plug-ins, and starts nothing. Any thread. */
SKN_API size_t skn_topology_check(const char *yaml, const char *name,
                                  const skn_kind_t *const *kinds,
                                  skn_error_t *errors, size_t count);
/* Ends a run that has not ended, as skn_topology_abort does; skn_topology_stop,
 * then skn_topology_wait, is the end that loses nothing. Frees, sets *topology
 * to NULL. */
SKN_API void skn_topology_destroy(skn_topology_t **topology);

/* Members may be added at the end within one SONAME. SKN_START_OPTIONS sets the
 * size, and the named members; in C++ it stands in a function.
 *     skn_start_options_t options = SKN_START_OPTIONS(SKN_SET(node, 1));
 *     skn_start_options_t others = SKN_START_OPTIONS(); */
#define SKN_START_OPTIONS(...) SKN_MADE([&], skn_start_options_t, __VA_ARGS__)
typedef struct skn_start_options {
    size_t struct_bytes; /* sizeof(skn_start_options_t); others are refused */
    const char *trace_path;   /* Chrome trace written at the end; NULL: none */
    uint64_t trace_origin_ns; /* zero of the trace's times on the monotonic
                               * clock; 0: the start */
    bool wire;       /* in-process pipes go through encode and decode */
    bool no_binding; /* do not bind threads to cores */
    /* For a topology with several nodes; each is a process of its own. */
    uint32_t node;        /* the index of the node that this process is */
    const char *run_id;   /* 32 hex digits; NULL: drawn by the first node, and
                           * adopted from it by the others */
    uint32_t wait_s;      /* to wait for the other nodes; 0: 120 */
    uint64_t config_hash; /* must be the same on all nodes; 0: computed from
                           * the topology */
    uint64_t data_hash;   /* the same, for the actors' input data; 0: none */
    bool resume, predict; /* the purpose of the run, the same on all nodes; a
                           * difference is reported */
    uint64_t send_bytes_per_s; /* to all other nodes together; 0: no limit */
    bool background;           /* packets yield to others (DSCP CS1) */
    bool tells_traffic;        /* sends the event `traffic` once a second */
    /* After this time an actor that waits for another one, and a handler that
     * has not returned, are reported as events `waiting` and `stuck`; 0:
     * 30,000. */
    uint32_t patience_ms;
    void *host;       /* what skn_actor_host returns */
    bool keeps_state; /* keep the actors' state after the run, to salvage it */
    bool report;      /* measure what the machine gives the run, too, for
                       * skn_topology_report */
    uint64_t prepare_ns; /* that the host took before the start, for the same */
    uint64_t prepare_cpu_ns; /* CPU time that the host used before the start:
                              * clocks (skn_clock_t) begin with it */
    /* Gets the events that arrive while skn_topology_start waits for actors and
     * other nodes, one line of JSON each, on its thread; they are then not
     * returned by skn_topology_event. NULL: they are. */
    void (*on_event)(void *on_event_host, const char *line);
    void *on_event_host;
} skn_start_options_t;

/* Starts every actor of this node; returns when all are ready, or with the
 * first failure (then no actor runs any more; skn_topology_event still returns
 * events sent before). Actors begin when those of the other nodes are ready,
 * too. `options` may be NULL. */
SKN_API skn_status_t skn_topology_start(skn_topology_t *topology,
                                        const skn_start_options_t *options,
                                        skn_error_t *error);

/* A file descriptor that is readable when skn_topology_event has an event; for
 * the host's own poll loop. Unlike ZMQ_FD it is level triggered. -1 before
 * start. */
SKN_API int skn_topology_fd(const skn_topology_t *topology);

/* The next event, one line of JSON without its newline. Waits at most
 * `timeout_ms` (-1: forever, 0: not at all). SKN_BUSY: none yet.
 * SKN_UNAVAILABLE: the run has ended, all actors have left, and there are no
 * more events. SKN_TOO_SMALL: the event and its NUL need more than
 * `line_bytes`, which they never do if that is SKN_EVENT_BYTES_MAX; the event
 * remains the next. */
SKN_API skn_status_t skn_topology_event(skn_topology_t *topology,
                                        int timeout_ms, char *line,
                                        size_t line_bytes, skn_error_t *error);

/* The bytes that the next event and its NUL need; 0: there is none yet.
 * Receives pending events, as skn_topology_event does, and does not wait. */
SKN_API size_t skn_topology_event_bytes(skn_topology_t *topology);

/* Asks every actor to stop soon without losing work. From any thread, and safe
 * in a signal handler, from skn_topology_new to skn_topology_destroy: a request
 * before or during skn_topology_start counts, too. */
SKN_API void skn_topology_stop(skn_topology_t *topology);

/* Ends the run at once: actors leave after their current handler, and messages
 * that wait between them are dropped. Other nodes of the run end, too. From any
 * thread, safe in a signal handler, and at any time, as skn_topology_stop. It
 * does not wait: the topology's thread ends the run in its next, or current,
 * skn_topology_start, _event or _wait (skn_topology_fd becomes readable), and
 * skn_topology_wait then returns SKN_UNAVAILABLE. A run that has failed or
 * ended before keeps its status. */
SKN_API void skn_topology_abort(skn_topology_t *topology);

/* Waits until all actors have ended; returns the status of the first failure,
 * or SKN_OK at once if the topology was not started. All unread events are
 * kept. */
SKN_API skn_status_t skn_topology_wait(skn_topology_t *topology,
                                       skn_error_t *error);
/* The same for at most `timeout_ms` (-1: forever, 0: only asks, and keeps no
 * events for actors that wait until the host reads some). SKN_BUSY: the run has
 * not ended. A run that failed with SKN_BUSY itself gives SKN_UNAVAILABLE here,
 * unless `timeout_ms` is -1. */
SKN_API skn_status_t skn_topology_wait_for(skn_topology_t *topology,
                                           int timeout_ms, skn_error_t *error);

/* The present activity of an actor, and the counts of its work so far. The
 * library fills it: members may be added at the end within one SONAME, and one
 * is there if it ends within struct_bytes. Counters never decrease. */
typedef struct skn_actor_info {
    size_t struct_bytes;
    const char *name, *kind;
    uint64_t messages_in, messages_out; /* taken by it; sent by it */
    uint64_t inbox_messages;  /* on their way to it or in its inbox: sent, or
                               * arrived from another node, and not taken */
    uint64_t outbox_messages; /* that it has made, and that wait for credit */
    /* The pipe with the least credit left, as a share of its credit: its
     * message; NULL: the actor has no pipe out. Receivers return credit in
     * portions, and a port collects it only when its host calls it: it may be
     * missing although nothing waits. */
    const char *fullest;
    uint32_t credit, credit_left;
    /* In handlers and hooks, waiting for messages, and blocked (by pipes
     * without credit, or a host that reads no events); of visits and waits that
     * have ended. */
    uint64_t busy_ns, waiting_ns, blocked_ns;
    uint64_t restarts;
    bool is_busy;        /* it is in a handler or hook */
    bool is_blocked;     /* it is blocked; neither: it waits for a message */
    uint64_t since_ns;   /* since when, by CLOCK_MONOTONIC; 0: it is between
                          * two of these, or a port, which has no thread */
    const char *hook;    /* that it is in: "handler", "timer", "start" and so
                          * on; "": none */
    const char *hook_of; /* the message or timer of that; "": none */
} skn_actor_info_t;

/* The `index`-th actor of this node; NULL: there are not so many, or the
 * topology is not started. At any moment of the run and after its end; it
 * reads some numbers for each pipe and stops no actor, so that the numbers of
 * one that works are of slightly different moments. The struct and its texts
 * belong to the topology; the next call overwrites the struct.
 *     for (size_t k = 0; (info = skn_topology_actor(topology, k)); k++) */
SKN_API const skn_actor_info_t *skn_topology_actor(skn_topology_t *topology,
                                                   size_t index);

/* From here on a crash of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 * SIGABRT, SIGTRAP, SIGSYS) writes one line to `descriptor`: the signal, and
 * the actor whose thread it came from, its kind, handler and plug-in, such as
 * "signal 11 (Segmentation fault) in actor print (log_print of ./crash.so, in
 * its handler of 'total')". Then the signal has its previous effect: the
 * handler that the host had before runs, or the process ends. Installs handlers
 * of these signals for the whole process, so it is left to the host to call
 * this; call it before topologies start, and after the host has installed its
 * own. `descriptor` stays open. A second call only changes it. SKN_UNAVAILABLE
 * when the system refuses a handler. Any thread. */
SKN_API skn_status_t skn_report_crashes(int descriptor, skn_error_t *error);

/* After skn_topology_wait: prints the time use of each actor, the traffic of
 * its pipes and the durations of its handlers, as a table or as one line of
 * JSON. Prints nothing when the topology was not started. */
SKN_API void skn_topology_report(const skn_topology_t *topology, bool json,
                                 FILE *file);

#ifdef __cplusplus
}
#endif

#endif
