/* shard_index.h - sends an output shard's changed rows to its table builder,
 * and adopts the indexes that come back.
 *
 * Rows that changed go to the table_builder, a few each batch. Every `refresh`
 * batches a round is closed, and the index that is built from it is adopted
 * exactly `lag` batches later, so that a run is the same every time:
 *
 *     batch     0 .. s-1    s                      s + lag
 *     shard     dirty rows  dirty, last            adopts the index of s,
 *                              │                   waits if it is not here
 *     builder   copies         └─ builds ── index ──┘
 *
 * s + 1 is a multiple of `refresh`. A round goes over the rows once, in order,
 * and sends the changed rows that it finds, at most a `refresh`th of all rows a
 * batch: the copy's rows are at most a round older than s.
 *
 * At a marker the window is empty, and a run may be resumed from there. So no
 * state from before the marker may matter after it: the builder gets all
 * changed rows as they are and builds, and the first batch behind the marker
 * waits for this index and uses it; older indexes that were not adopted yet
 * never are. A resumed run sends all its rows, and has the same index
 * (docs/decisions/0007-index-at-a-marker.md). One thread, the shard's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_SHARD_INDEX_H
#define ACTORS_OUTPUT_SHARD_INDEX_H

#include "actors/protocol/rowset.h"
#include "actors/protocol/settings.h"
#include "actors/samplers/sampler.h"
#include "skein/actor.h"

/* Indexes that may be awaited: lag / refresh + 1, and one of a marker. */
#define SKN_INDEXES_MAX 32u

/* An index that was requested, by the message that closed a round. */
typedef struct skn_index_request {
    uint64_t batch;           /* the last batch in its rows */
    uint64_t due;             /* the first batch that is drawn from it */
    const skn_index_t *index; /* NULL: not received yet */
} skn_index_request_t;

typedef struct skn_shard_index {
    bool active; /* the sampler has an index; otherwise the rest is not used */
    uint64_t refresh, lag;
    uint64_t marker; /* the last marker: batches applied there */
    const skn_kernels_t *kernels;
    uint32_t row_count, hidden, batch_rows; /* rows a batch */
    skn_rowset_t changed;
    uint32_t cursor; /* next row of the round */
    uint32_t *unit;  /* [batch_rows] */
    skn_index_request_t
        request[SKN_INDEXES_MAX]; /* in the order of the rounds */
    uint32_t request_count, come; /* the first `come` were
                                               * received */
    const skn_index_t *adopted;
} skn_shard_index_t;

/* The rows that are sent to a builder. */
typedef struct skn_index_view {
    const skn_rows_t *rows;
    uint64_t applied; /* the rows include all batches below this one */
    bool marker;      /* this is a marker: no batch is in flight */
} skn_index_view_t;

/* The options that skn_shard_index_open reads. */
/* clang-format off */
#define SKN_INDEX_KEEPER_OPTIONS                                               \
    SKN_OPTION_OF("refresh_batches", "50", SKN_SETTING_REFRESH_BATCHES),       \
    { "index_lag", SKN_OPTION_INT, "0", 0, 1e9, NULL,                          \
      "batches until an index is used; 0: 2 x window" }
/* clang-format on */

/* `kind` and `options` are those of the sampler. SKN_BAD_CONFIG if the lag is
 * below the window (the index would be due before its rows are known), or so
 * long that too many indexes wait. Freed by skn_shard_index_close, also after
 * a failure. */
skn_status_t skn_shard_index_open(skn_shard_index_t *index,
                                  const skn_actor_t *actor,
                                  const skn_sampler_kind_t *kind,
                                  const skn_sampler_options_t *options,
                                  uint64_t window, skn_error_t *error);
void skn_shard_index_close(skn_shard_index_t *index);

/* Records that these rows are about to change. */
void skn_shard_index_change(skn_shard_index_t *index, const uint32_t *row,
                            size_t count);
/* Sends dirty rows. Called when the rows are back, or a marker was reached. A
 * marker is sent once, even if it is reported repeatedly, and never at batch 0,
 * where no index could be built. */
skn_status_t skn_shard_index_send(skn_shard_index_t *index, skn_actor_t *actor,
                                  const skn_index_view_t *view,
                                  skn_error_t *error);
/* Keeps an index that was received. SKN_BAD_MESSAGE if it is not the next. */
skn_status_t skn_shard_index_take(skn_shard_index_t *index,
                                  const skn_index_t *built, skn_error_t *error);
/* Whether the index from which batch `batch` is drawn is here. */
bool skn_shard_index_ready(const skn_shard_index_t *index, uint64_t batch);
/* Adopts the index of `batch`. Called before its draw, when it is ready. */
skn_status_t skn_shard_index_adopt(skn_shard_index_t *index, uint64_t batch,
                                   const skn_sampler_kind_t *kind,
                                   void *sampler, skn_error_t *error);

#endif
