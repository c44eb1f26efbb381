/* payload.h - messages that threads pass by pointer, and pools to make them in.
 *
 * One allocation holds the header below, the message struct, its runs and its
 * strings. The thread that makes it fills it. Once sent it is read only, and it
 * returns to its maker's pool when the last holder drops it.
 *
 *     +---------+-----------------+---------+-- - --+---------+---------+
 *     | header  | message struct  | run 0   |  ...  | bytes   | strings |
 *     | 64 B    | zeroed          | aligned to 64 B each      | packed  |
 *     +---------+-----------------+---------+-- - --+---------+---------+
 *     ^ skn_payload_t             (its callers hold a pointer to the struct)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_PAYLOAD_H
#define TRANSPORT_MESSAGE_PAYLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"
#include "skein/message.h"

/* Runs start at a multiple of this: a cache line, and the widest vector. */
#define SKN_RUN_ALIGN_BYTES 64u
/* Blocks of this size or more are memory maps of their own, and keep their
 * pages while idle. glibc's trimming made messages of 1 MiB 2.2 times slower
 * (measured). */
#define SKN_PAYLOAD_MAP_BYTES ((size_t)1 << 20)
/* A huge page of x86-64, and of arm64 with pages of 4 KiB. */
#define SKN_HUGE_PAGE_BYTES ((size_t)2 << 20)
/* Blocks of this size or more are aligned to huge pages and request them. */
#define SKN_PAYLOAD_HUGE_BYTES (2 * SKN_HUGE_PAGE_BYTES)

typedef struct skn_pool skn_pool_t;

/* `from`, `sequence` and `sent_ns` are for the runtime: written by the maker's
 * thread before the message is sent, read by any thread after that. The other
 * fields belong to payload.c. */
typedef struct skn_payload {
    _Atomic uint32_t holders;
    uint32_t size_class;
    const skn_schema_t *schema;
    skn_pool_t *pool;
    struct skn_payload *next; /* in a list of the pool, while idle */
    size_t used_bytes;        /* header, struct, runs and strings */
    uint32_t from;            /* the actor that sent it */
    bool has_texts;           /* its schema has a field of kind str */
    uint64_t sequence;
    uint64_t sent_ns; /* CLOCK_MONOTONIC */
} skn_payload_t;

_Static_assert(sizeof(skn_payload_t) == SKN_RUN_ALIGN_BYTES,
               "the message struct stands on the next cache line");

/* The header of a message that skn_payload_new or skn_decode made. */
static inline skn_payload_t *
skn_payload_of(const void *message)
{
    return (skn_payload_t *)((uintptr_t)message - sizeof(skn_payload_t));
}

/* Counters of a pool: the first three only grow, the others are current. */
typedef struct skn_pool_counts {
    uint64_t allocated; /* blocks taken from the system */
    uint64_t reused;    /* payloads made from an idle block */
    uint64_t freed;     /* blocks returned to the system */
    uint64_t out;       /* not in the idle lists: held, or on the way back */
    size_t idle_bytes;  /* of blocks that wait in the pool */
    size_t total_bytes; /* of idle blocks and of those in use */
} skn_pool_counts_t;

/* A pool of payloads, owned by the calling thread (or by a thread that gets the
 * pool from it, with the usual synchronisation). At most `idle_bytes_max` bytes
 * are kept for reuse; blocks beyond them are freed when they return. NULL:
 * SKN_NO_MEMORY. */
skn_pool_t *skn_pool_new(size_t idle_bytes_max, skn_error_t *error);

/* Owner only; *pool is set to NULL and may be NULL already. Payloads that are
 * still held stay valid: dropping the last one frees the rest of the pool. */
void skn_pool_destroy(skn_pool_t **pool);

/* Owner only: takes back the payloads that other threads have dropped.
 * skn_payload_new does so by itself when no block is idle; an owner that makes
 * no more messages may call it to free memory. */
void skn_pool_collect(skn_pool_t *pool);

/* Owner only: the counters. `out` includes dropped payloads that were not taken
 * back yet. */
void skn_pool_count(const skn_pool_t *pool, skn_pool_counts_t *counts);

/* Owner only. A message of `schema`, zeroed, held once, with room for counts[k]
 * items in its k-th run, bytes or string field, in the order of the fields
 * (NULL: no field has room). A run's .count is set to its room and its items
 * are not cleared: fill them or lower the count. A string of counts[k] letters
 * has room for the NUL too and is empty; write it through a cast. NULL:
 * SKN_BAD_MESSAGE if a count is over its limit, SKN_NO_MEMORY. */
void *skn_payload_new(skn_pool_t *pool, const skn_schema_t *schema,
                      const size_t *counts, skn_error_t *error);

/* Owner only. A deep copy of the caller's struct, held once. Counts and
 * pointers are checked, numbers are not (use skn_validate). Loans are copied as
 * they are. NULL: SKN_BAD_MESSAGE, SKN_USAGE (a text is NULL) or
 * SKN_NO_MEMORY. */
void *skn_payload_copy(skn_pool_t *pool, const skn_schema_t *schema,
                       const void *message, skn_error_t *error);

/* SKN_USAGE if a text of the message is NULL, which only its sender can have
 * made it. Costs nothing for a message without texts. */
skn_status_t skn_payload_check_texts(const void *message, skn_error_t *error);
static inline skn_status_t
skn_payload_check(const void *message, skn_error_t *error)
{
    return skn_payload_of(message)->has_texts
               ? skn_payload_check_texts(message, error)
               : SKN_OK;
}

/* Adds one holder; returns `message`. Any thread that holds it. */
const void *skn_payload_keep(const void *message);
/* Adds a holder for each of `more_count` receivers; 0 is allowed. */
void skn_payload_keep_many(const void *message, uint32_t more_count);
/* Removes one holder; the last one returns the payload to its pool. Any thread
 * that holds it; NULL is allowed. Never blocks. */
void skn_payload_drop(const void *message);

/* Payloads of one pool that a thread has dropped and not yet returned to it.
 * { 0 } is empty. A return writes to memory that the pool's owner uses, and
 * costs the same for one payload as for a chain of them. */
typedef struct skn_payload_returns {
    skn_payload_t *first, *last;
} skn_payload_returns_t;

/* As skn_payload_drop, but a small payload returns with the next call of
 * skn_payload_return_all, or of this with a payload of another pool. `message`
 * is not NULL. */
void skn_payload_drop_into(skn_payload_returns_t *returns, const void *message);
/* Returns all to their pool, and empties `returns`. */
void skn_payload_return_all(skn_payload_returns_t *returns);

#endif
