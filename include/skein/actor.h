/* actor.h - declares kinds of actors, and the functions that an actor may call.
 *
 * One actor is one thread with one inbox and private state. It shares no
 * mutable memory with others; data that they need is sent. A kind is one const
 * table: options, handlers, timers, the messages it sends. The runtime waits,
 * finds the handler, counts and reports; a kind never polls, sleeps, locks,
 * spawns or reads a clock.
 *
 * Every function here that takes a skn_actor_t is called by that actor's own
 * thread only, from open, start, a handler, a timer, produce, drain or close.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_ACTOR_H
#define SKEIN_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "skein/message.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_actor skn_actor_t;

/* An option of a kind, or of a part of a config: used for checking, for
 * defaults, by `skein actors`, for the config reference and the JSON schema. */
typedef enum skn_option_type {
    SKN_OPTION_BOOL,
    SKN_OPTION_INT,   /* signed 64 bits, within [min, max] */
    SKN_OPTION_REAL,  /* double, within [min, max] */
    SKN_OPTION_TEXT,  /* any text of up to max bytes; 0: up to 4095 */
    SKN_OPTION_PATH,  /* text; relative paths start at the config's folder */
    SKN_OPTION_CHOICE /* one of `choices`, separated by '|' */
} skn_option_type_t;

typedef struct skn_option {
    const char *name;
    skn_option_type_t type;
    const char *fallback; /* as written in YAML; NULL: required */
    double min, max;
    const char *choices;
    const char *help;
} skn_option_t;

/* Handles one message. `message` is the struct of the handler's schema, read
 * only, and belongs to the runtime unless skn_message_keep is called. After a
 * status other than SKN_OK the actor is restarted if its kind allows it
 * (`restarts`); otherwise the run fails. */
typedef skn_status_t skn_handler_fn(skn_actor_t *actor, void *state,
                                    const void *message, skn_error_t *error);

/* Adds `part` to `sum` (both structs of the schema); used by `reduce` pipes in
 * the order of the senders, so that the result has the same bits every time. */
typedef skn_status_t skn_combine_t(void *sum, const void *part,
                                   skn_error_t *error);

typedef struct skn_handler {
    const skn_schema_t *schema; /* NULL ends the table */
    skn_handler_fn *handle;
    skn_combine_t *combine; /* NULL: the message cannot be reduced */
} skn_handler_t;

typedef struct skn_timer {
    const char *name;     /* NULL ends the table */
    uint32_t interval_ms; /* 0: once, at the time set by skn_actor_alarm */
    skn_status_t (*fire)(skn_actor_t *actor, void *state, skn_error_t *error);
} skn_timer_t;

/* The argument of a handler for a pipe that gathers, in place of the single
 * message: one part of each sender, in the order of the senders in the
 * topology. */
typedef struct skn_parts {
    const void *const *at;
    size_t count;
    /* Set by skn_parts_refuse to the index of a part; NULL: not needed. */
    size_t *refused;
    /* `collect: parts`: at[0] alone, from sender `place` of `senders`, as soon
     * as it has arrived; repeated parts of a sender are not detected. */
    uint32_t place, senders;
} skn_parts_t;

/* The handler is about to fail because of the part at `place`: the runtime adds
 * the name of its sender to the sentence. */
static inline void
skn_parts_refuse(const skn_parts_t *parts, size_t place)
{
    if (parts && parts->refused)
        *parts->refused = place;
}

struct skn_salvage_writer;

/* Members may be added at the end within one SONAME: SKN_KIND sets the size. */
typedef struct skn_kind {
    size_t struct_bytes; /* sizeof(skn_kind_t); another one is refused */
    const char *name;
    const char *help;
    size_t state_bytes;               /* zeroed before open */
    const skn_option_t *options;      /* ends with a NULL name, or NULL */
    const skn_handler_t *handlers;    /* ends with a NULL schema, or NULL */
    const skn_schema_t *const *sends; /* ends with NULL, or NULL */
    /* The messages whose handlers take parts (skn_parts_t): their pipes must
     * gather, and no other pipe into the kind may. Ends with NULL; NULL: not
     * declared, and a topology is not checked for it. */
    const skn_schema_t *const *gathers;
    const skn_timer_t *timers; /* ends with a NULL name, or NULL */
    /* Validates options and allocates. Nothing can be sent yet. May be NULL. */
    skn_status_t (*open)(skn_actor_t *, void *state, skn_error_t *);
    /* All actors are ready: sends the first messages. May be NULL. */
    skn_status_t (*start)(skn_actor_t *, void *state, skn_error_t *);
    /* Makes messages of its own accord: called while no message is waiting and
     * no outbox is full, until skn_actor_finish or skn_actor_rest. */
    skn_status_t (*produce)(skn_actor_t *, void *state, skn_error_t *);
    /* The descriptor that it watches (skn_actor_watch) is ready: reads or
     * writes, without waiting. Called once more when the run is to stop
     * (skn_actor_stop_wanted): an actor without pipes into it then reads what
     * is left and calls skn_actor_finish, at once or when it is called for the
     * descriptor again. Not called while what it sent waits for credit. May be
     * NULL. */
    skn_status_t (*ready)(skn_actor_t *, void *state, skn_error_t *);
    /* No more work will arrive, only answers (`peer`) to messages sent: sends
     * its remaining messages. May be NULL. */
    skn_status_t (*drain)(skn_actor_t *, void *state, skn_error_t *);
    /* The run broke off, and this actor has not failed: writes its state as it
     * is into a salvage (formats/checkpoint/salvage.h). All actors have left
     * their handlers, and those without this hook are closed; called on the
     * host's thread, and only if the host requests it. May be NULL. */
    skn_status_t (*salvage)(skn_actor_t *, void *state,
                            struct skn_salvage_writer *, skn_error_t *);
    /* Frees what open allocated; also called after a failed open. All actors
     * have left their handlers by then, and none takes another message. May be
     * NULL. */
    void (*close)(skn_actor_t *, void *state);
    /* A gate limits the batches in flight behind it, and ends by its own
     * decision (skn_actor_finish). Every cycle of pipes must pass through a
     * gate; its option `window`, if it has one, is the credit that the cycle
     * needs. */
    bool gate;
    /* Messages without which it would wait forever (ends with NULL, or NULL; at
     * most 31, all of them in `handlers`): a topology must have a pipe to it
     * for each, or one from an actor of its kind that leads others of it. */
    const skn_schema_t *const *needs;
    bool
        is_compute_bound; /* should have a core or hardware thread of its own */
    bool restarts; /* has no state worth keeping: after a failed handler it is
                    * closed and opened again, within the restart budget */
    /* A deadline (skn_actor_set_deadline) has passed, and is gone. Not called
     * while what the actor sent waits for credit. May be NULL. */
    skn_status_t (*expired)(skn_actor_t *, void *state, uint64_t key,
                            skn_error_t *);
} skn_kind_t;

/* Initialises a kind with its size and the named members, the others with
 * zeros. C++ has no designators before 2020: with SKN_SET it is C and C++.
 *     static const skn_kind_t ping = SKN_KIND(
 *         SKN_SET(name, "ping") SKN_SET(start, serve) SKN_SET(gate, true));
 *     static const skn_kind_t pong = SKN_KIND(.name = "pong", .start = serve);
 */
#define SKN_KIND(...) SKN_MADE([], skn_kind_t, __VA_ARGS__)
/* clang-format off */
#ifdef __cplusplus
#define SKN_SET(member, ...) skn_made.member = __VA_ARGS__;
#define SKN_MADE(captures, type, members)                                      \
    captures() -> type {                                                       \
        type skn_made = {}; skn_made.struct_bytes = sizeof(type); members      \
        return skn_made;                                                       \
    }()
#else
#define SKN_SET(member, ...) .member = __VA_ARGS__,
#define SKN_MADE(captures, type, ...)                                          \
    { .struct_bytes = sizeof(type), __VA_ARGS__ }
#endif
/* clang-format on */

/* --- what an actor knows about itself ---------------------------------- */

/* Its name in the topology ("output.3"); its index among the actors of its kind
 * with the same stem ("output.*"): 3; and their number. */
SKN_API const char *skn_actor_name(const skn_actor_t *actor);
SKN_API uint32_t skn_actor_index(const skn_actor_t *actor);
SKN_API uint32_t skn_actor_peers(const skn_actor_t *actor);

/* Its options, checked against the kind's table: `name` must be in it, with the
 * type of the function. Text (also of a path and a choice) lives as long as the
 * actor. Otherwise the result is false, 0 or "", and the actor fails with
 * SKN_USAGE after the hook or handler that called it. */
SKN_API bool skn_actor_option_bool(const skn_actor_t *actor, const char *name);
SKN_API int64_t skn_actor_option_int(const skn_actor_t *actor,
                                     const char *name);
SKN_API double skn_actor_option_real(const skn_actor_t *actor,
                                     const char *name);
SKN_API const char *skn_actor_option_text(const skn_actor_t *actor,
                                          const char *name);

/* When the current message was taken from the inbox: CLOCK_MONOTONIC. */
SKN_API uint64_t skn_actor_time_ns(const skn_actor_t *actor);

/* Deadlines, any number of them, each with a key that the actor chooses: the
 * hook `expired` is called at `due_ns` of that clock or soon after (within a
 * millisecond), unless the deadline was cleared before. A second one with the
 * same key replaces the first. A deadline does not keep an actor from ending,
 * and is gone then. SKN_NO_MEMORY; SKN_USAGE if the kind has no such
 * hook. A question with a deadline has its key in a field, which the answer
 * returns: skn_actor_ask sends it, and an answer for which
 * skn_actor_clear_deadline is false has come too late, or twice. */
SKN_API skn_status_t skn_actor_set_deadline(skn_actor_t *actor, uint64_t key,
                                            uint64_t due_ns,
                                            skn_error_t *error);
/* Whether there was such a deadline. */
SKN_API bool skn_actor_clear_deadline(skn_actor_t *actor, uint64_t key);
/* skn_actor_post of `question`, with a deadline for its answer; if this fails
 * there is none. */
SKN_API skn_status_t skn_actor_ask(skn_actor_t *actor, const void *question,
                                   uint64_t key, uint64_t due_ns,
                                   skn_error_t *error);

/* Sets timer `number` of the kind's table, whose interval is 0, to fire once at
 * `due_ns` of that clock or soon after (timers have a resolution of a
 * millisecond); replaces the time set before; UINT64_MAX: never. If the kind
 * has no such timer the actor fails with SKN_USAGE, as above. */
SKN_API void skn_actor_alarm(skn_actor_t *actor, uint32_t number,
                             uint64_t due_ns);

/* Declares that the actor is blocked on the parts of `batch` for which here[]
 * is false, one flag for each sender of the pipe, in order. For pipes with
 * `collect: parts`, which the runtime does not assemble. The runtime reports
 * the senders of missing parts after a long wait, and an actor that is to stop
 * no longer waits. Valid until the next call; `senders` 0: it is not
 * blocked. */
SKN_API void skn_actor_report_blocked(skn_actor_t *actor,
                                      const skn_schema_t *schema,
                                      uint64_t batch, const bool *here,
                                      uint32_t senders);

/* The pointer that the host gave for its actors (skn_start_options_t.host). */
SKN_API void *skn_actor_host(const skn_actor_t *actor);

/* From now on the actor's thread waits for `events` of poll(2) on `descriptor`,
 * too, beside its inbox, and calls the kind's hook `ready` when there are some;
 * -1: for none. One descriptor an actor (for several, an epoll descriptor),
 * which is left to its owner to close, after the watch has ended. An actor
 * without pipes into it ends by skn_actor_finish alone. The actor fails with
 * SKN_USAGE if its kind has no such hook, or the descriptor is not open. */
SKN_API void skn_actor_watch(skn_actor_t *actor, int descriptor, short events);

/* --- sending: never blocks --------------------------------------------- */

/* A message of `schema`, zeroed, whose runs have room for counts[k] items (one
 * count for each run, bytes or string field, in the order of the fields; NULL
 * if it has none). Fill it, then post it or drop it. It is from the actor's own
 * pool. NULL and a filled `error` when memory is short or a count is over its
 * limit. Run fields are set to the room: lower .count to send less. */
SKN_API void *skn_actor_message(skn_actor_t *actor, const skn_schema_t *schema,
                                const size_t *counts, skn_error_t *error);

/* Posts a message made by skn_actor_message, or kept, on the actor's pipe for
 * its schema. The runtime takes the message over, also on failure. Without
 * credit it waits in the outbox, and the actor takes no new work until there is
 * room. A message without a pipe in the topology is dropped and counted. */
SKN_API skn_status_t skn_actor_post(skn_actor_t *actor, const void *message,
                                    skn_error_t *error);

/* The same for a struct of the caller's, which is copied. */
SKN_API skn_status_t skn_actor_send(skn_actor_t *actor,
                                    const skn_schema_t *schema,
                                    const void *message, skn_error_t *error);

/* How many receivers the actor's pipe for `schema` has; 0 if it has none. */
SKN_API uint32_t skn_actor_receivers(const skn_actor_t *actor,
                                     const skn_schema_t *schema);

/* Keeps a received message beyond its handler; drops one that was kept, or one
 * made and not posted. NULL is allowed in drop. Any thread may drop. */
SKN_API const void *skn_message_keep(const void *message);
SKN_API void skn_message_drop(const void *message);

/* The produce hook has nothing to do until the next message arrives. */
SKN_API void skn_actor_rest(skn_actor_t *actor);
/* The produce hook will never have anything to do again: the actor's pipes
 * end. */
SKN_API void skn_actor_finish(skn_actor_t *actor);

/* Requests a `skn_clock` message from the runtime, which arrives in the inbox.
 * CPU time counts from skn_topology_start of each node, prepare_cpu_ns
 * included. */
SKN_API skn_status_t skn_actor_ask_clock(skn_actor_t *actor, uint64_t tag,
                                         skn_error_t *error);
#define SKN_FIELDS_clock(F, M)                                                 \
    F(M, u64, tag, UINT64_MAX, "the question that the actor asked with")       \
    F(M, u64, wall_ns, UINT64_MAX, "CLOCK_MONOTONIC, nanoseconds")             \
    F(M, u64, cpu_ns, UINT64_MAX, "user + system time of all nodes")           \
    F(M, u64, rss_bytes, UINT64_MAX, "resident memory of all nodes")           \
    F(M, u64, wire_sent_bytes, UINT64_MAX, "bytes sent between nodes, by all") \
    F(M, u64, wire_received_bytes, UINT64_MAX, "bytes received, by all")
SKN_MESSAGE_STRUCT(skn_clock, SKN_FIELDS_clock)
SKN_API extern const skn_schema_t skn_clock_schema;

/* Sends the host of the topology an event: one JSON object on one line of at
 * most SKN_EVENT_BYTES_MAX bytes with its NUL, which skn_topology_event returns
 * in order. Numbers are in C form in any locale. SKN_USAGE for any other text,
 * which is not sent. While the host has not read the last SKN_EVENTS_MAX
 * events, an actor that has sent one takes no new work. */
SKN_API __attribute__((format(printf, 3, 4))) skn_status_t skn_actor_send_event(
    skn_actor_t *actor, skn_error_t *error, const char *format, ...);

/* Whether the run is to end: it was asked to stop (SIGINT, skn_topology_stop),
 * or it was aborted or destroyed, or has failed, so that what the current
 * handler still does is in vain. A handler that waits or works for long calls
 * it in between. */
SKN_API bool skn_actor_stop_wanted(const skn_actor_t *actor);

/* --- plug-ins ----------------------------------------------------------- */

/* A shared library with kinds of actors exports this one symbol. */
typedef struct skn_plugin {
    uint32_t version;               /* SKN_PLUGIN_VERSION */
    const skn_kind_t *const *kinds; /* ends with NULL */
} skn_plugin_t;
#define SKN_PLUGIN_VERSION 2u
#define SKN_PLUGIN_SYMBOL "skn_plugin"
/* Defined by the plug-in alone, as a const without SKN_API: this declaration
 * exports it, in C++, too. */
SKN_API extern const skn_plugin_t skn_plugin;

#ifdef __cplusplus
}
#endif

#endif
