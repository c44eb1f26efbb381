/* place.h - the hook or handler of its kind that an actor's thread is in.
 *
 * The actor's thread writes it at each entry and exit. It is read by the same
 * thread for the sentence of a failure, by its signal handler after a crash
 * (crash.h), and by the watchdog for handlers that do not return (watchdog.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_PLACE_H
#define ACTORS_RUNTIME_PLACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* P(NAME, its word, what joins it to the name of its message or timer; NULL: it
 * has none) */
#define SKN_PLACES(P)                                                          \
    P(LOOP, "", NULL)                                                          \
    P(OPEN, "open", NULL)                                                      \
    P(START, "start", NULL)                                                    \
    P(PRODUCE, "produce", NULL)                                                \
    P(READY, "ready", NULL)                                                    \
    P(DRAIN, "drain", NULL)                                                    \
    P(CUT, "salvage", NULL)                                                    \
    P(CLOSE, "close", NULL)                                                    \
    P(HANDLER, "handler", " of ")                                              \
    P(COMBINE, "combine", " of ")                                              \
    P(TIMER, "timer", " ")                                                     \
    P(ALARM, "alarm", " ")                                                     \
    P(EXPIRED, "expired", NULL)

typedef enum skn_place_type {
#define P(name, word, joint) SKN_PLACE_##name,
    SKN_PLACES(P)
#undef P
} skn_place_type_t;

typedef struct skn_place {
    _Atomic(const char *) name; /* name of the message or timer */
    _Atomic uint64_t since_ns;  /* when the thread entered it */
    _Atomic uint32_t type;      /* skn_place_type_t */
} skn_place_t;

/* Records that the thread enters a hook or handler, or (SKN_PLACE_LOOP) has
 * left it. */
static inline void
skn_place_enter(skn_place_t *place, skn_place_type_t type, const char *name,
                uint64_t now_ns)
{
    atomic_store_explicit(&place->type, SKN_PLACE_LOOP, memory_order_relaxed);
    atomic_store_explicit(&place->name, name, memory_order_relaxed);
    atomic_store_explicit(&place->since_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&place->type, type, memory_order_release);
}

static inline void
skn_place_leave(skn_place_t *place)
{
    atomic_store_explicit(&place->type, SKN_PLACE_LOOP, memory_order_relaxed);
}

/* The place of an actor and since when it has been there, as another thread
 * sees it. */
typedef struct skn_stay {
    skn_place_type_t type; /* SKN_PLACE_LOOP: in none of its handlers */
    const char *name;      /* of the message or timer; NULL: none */
    uint64_t since_ns;
} skn_stay_t;

/* If the thread leaves the place meanwhile, the stay is in the loop. */
skn_stay_t skn_place_stay(const skn_place_t *place);

/* "handler", "open"; "" in the loop. */
const char *skn_place_word(skn_place_type_t type);

#define SKN_PLACE_TEXT_BYTES 256

struct skn_actor;

/* Writes "its handler of 'total'" into text[bytes], or "" in the loop of the
 * runtime. Returns `text`. Async-signal-safe, as are the next two. */
char *skn_place_text(skn_place_type_t type, const char *name, char *text,
                     size_t bytes);
/* Writes "print (log_print of ./crash.so, in its handler of 'total')": the
 * actor, its kind if the name differs, the plug-in's file, and the place. */
char *skn_place_describe(const struct skn_actor *actor, char *text,
                         size_t bytes);
/* Appends `more` after the first *used bytes of text[bytes], as far as it fits;
 * the text ends with a NUL. */
void skn_place_add(char *text, size_t bytes, size_t *used, const char *more);

/* Makes the description the subject of the error's sentence. Does nothing if
 * the sentence already has it. */
void skn_place_name(const struct skn_actor *actor, skn_error_t *error);

#endif
