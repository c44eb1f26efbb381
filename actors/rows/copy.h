/* copy.h - a shard's working copy of the rows that its updater owns.
 *
 *     updates: loan                          updates: copy
 *
 *     shard ──gradient, the rows──▶ updater  shard ──gradient──▶ updater
 *       │                             │        │                    │ steps
 *       └─── reads ──▶ rows ◀─ steps ─┘        └ reads ▶ copy       └▶ rows
 *     shard ◀─── lease, the rows ── updater  shard ◀── lease, new ─ updater
 *                                              writes   values
 *
 * A copy holds only weights, in f32 or rounded to the nearest bf16; the
 * updater's rows, with the moments, stay f32: they are the masters that
 * checkpoints hold. In both cases each piece of memory has one writer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_COPY_H
#define ACTORS_ROWS_COPY_H

#include "actors/protocol/messages.h"
#include "actors/protocol/settings.h"
#include "actors/rows/rows.h"
#include "skein/actor.h"

typedef struct skn_copy {
    const char *name; /* of the actor, for messages */
    bool has_copy;    /* false: the rows are lent, and there is no copy */
    uint32_t row_count, width; /* of the shard's rows */
    skn_rows_t rows;
} skn_copy_t;

/* clang-format off */
/* The options of owners that skn_copy_open reads. */
#define SKN_COPY_OPTIONS                                                       \
    SKN_OPTION_OF("updates", "loan", SKN_SETTING_UPDATES),                     \
        SKN_OPTION_OF("weights", "f32", SKN_SETTING_WEIGHTS),                  \
        SKN_OPTION_OF("huge_pages", "true", SKN_SETTING_HUGE_PAGES)
/* clang-format on */

/* Reads the options of `actor`, and makes room for `row_count` rows of `width`
 * weights if it copies. SKN_NO_MEMORY. Freed by skn_copy_close, also after a
 * failure or without an open. */
skn_status_t skn_copy_open(skn_copy_t *copy, const skn_actor_t *actor,
                           uint32_t row_count, uint32_t width,
                           skn_error_t *error);
void skn_copy_close(skn_copy_t *copy);

/* Takes a lease that arrived. *rows is NULL while the updater has the rows;
 * afterwards it may be read until the next gradient is sent, or stays NULL
 * while more parts of the first copy are to come. SKN_BAD_MESSAGE if the
 * updater does not do what the shard expects: it sends rows that it did not
 * have, uses the other kind of updates, rows beyond the shard, or another width
 * or number format. */
skn_status_t skn_copy_take(skn_copy_t *copy, const skn_lease_t *lease,
                           const skn_rows_t **rows, skn_error_t *error);

/* The value to send with a gradient: the right to write the rows, or NULL. */
static inline void *
skn_copy_lent(const skn_copy_t *copy, const skn_rows_t *rows)
{
    return copy->has_copy ? NULL : (void *)(uintptr_t)rows;
}

#endif
