/* messages.h - every message of the training pipelines, declared once.
 *
 * Batches are numbered from 0; evaluation passes number theirs from 0 again,
 * while no training batch is in flight. Ids are never reused; 1 is the clock
 * of skein/actor.h.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_MESSAGES_H
#define ACTORS_PROTOCOL_MESSAGES_H

#include <stdio.h>

#include "actors/protocol/cover.h"
#include "skein/limits.h"
#include "skein/message.h"

/* The purpose of a batch. */
typedef enum skn_purpose {
    SKN_PURPOSE_TRAIN,
    SKN_PURPOSE_VALIDATE,
    SKN_PURPOSE_TEST,
    SKN_PURPOSE_COUNT
} skn_purpose_t;

#define SKN_FIELDS_batch(F, M)                                                 \
    F(M, u64, batch, UINT64_MAX, "number, counted from 0")                     \
    F(M, u64, floor, UINT64_MAX, "batches applied at the last marker")         \
    F(M, u64, horizon, UINT64_MAX, "last batch before the next marker")        \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "train, validate, test")         \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, u32s, offset, SKN_BATCH_ROWS_MAX + 1, "sample i: offset[i]..")        \
    F(M, u32s, feature, SKN_RUN_MAX, "features of the samples, ascending")     \
    F(M, f32s, value, SKN_RUN_MAX, "their values")                             \
    F(M, u32s, distinct, SKN_RUN_MAX, "distinct features, each once")          \
    F(M, u32s, distinct_offset, SKN_RUN_MAX, "feature k: at [k]..[k + 1]")     \
    F(M, u32s, sample, SKN_RUN_MAX, "samples that have the feature")           \
    F(M, f32s, weight, SKN_RUN_MAX, "values of the feature there")

#define SKN_FIELDS_labels(F, M)                                                \
    F(M, u64, batch, UINT64_MAX, "number, counted from 0")                     \
    F(M, u64, floor, UINT64_MAX, "batches applied at the last marker")         \
    F(M, u64, horizon, UINT64_MAX, "last batch before the next marker")        \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "train, validate, test")         \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, u32s, offset, SKN_BATCH_ROWS_MAX + 1, "sample i: offset[i]..")        \
    F(M, u32s, label, SKN_RUN_MAX, "labels of the samples, ascending")         \
    F(M, u32s, distinct, SKN_RUN_MAX, "distinct labels, ascending")

/* A value of 0 is a closed position: ReLU or dropout. Gradients are packed by
 * the zeros that their sender saw and unpacked by those of the activation as it
 * was sent (packing.h), so they must be the same: in transit a 0 stays 0, and
 * no other value becomes 0, however small it is and however it is rounded
 * (transport/message/coding.h). */
#define SKN_FIELDS_activation(F, M)                                            \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u64, floor, UINT64_MAX, "batches applied at the last marker")         \
    F(M, u64, horizon, UINT64_MAX, "last batch before the next marker")        \
    F(M, u32, shard, SKN_SHARD_MAX - 1, "the sender")                          \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "train, validate, test")         \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, u32, column_first, SKN_HIDDEN_MAX, "first hidden unit of the slice")  \
    F(M, u32, columns, SKN_HIDDEN_MAX, "hidden units of the slice")            \
    F(M, f32s, value, SKN_RUN_MAX, "[rows][columns] after ReLU and dropout")

/* (m, z), equations (16) and (17) of docs/concepts/equations.md, for each node
 * of the merge tree; or m + log z, if no receiver needs both. */
#define SKN_FIELDS_partition(F, M)                                             \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u32, shard, SKN_SHARD_MAX - 1, "the sender")                          \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, u32s, node, SKN_TREE_NODES_MAX, "merge tree nodes, by number")        \
    F(M, f32s, greatest, SKN_RUN_MAX, "[nodes][rows] m, the greatest logit")   \
    F(M, f32s, sum, SKN_RUN_MAX,                                               \
      "[nodes][rows] z, sum of c exp(o - m); empty: m is m + log z")

/* (u, v), for the columns of one receiver; (m, z) of the same nodes come as a
 * partition. One-vs-all sends only u. When packed, there are open[i] values in
 * place of the columns of sample i, and pushed[i] of v: as many, or none if the
 * shard has no positive of the sample. `changed` is how the coding of a link
 * changed u and v: the link fills it in for some batches (rounding.h). */
#define SKN_FIELDS_output_gradient(F, M)                                       \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u32, shard, SKN_SHARD_MAX - 1, "the sender")                          \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, u32, column_first, SKN_HIDDEN_MAX, "first hidden unit")               \
    F(M, u32, columns, SKN_HIDDEN_MAX, "hidden units")                         \
    F(M, u32, normalised, 1, "1: u and v, to merge by (m, z); 0: to add up")   \
    F(M, u32s, open, SKN_BATCH_ROWS_MAX, "[rows] packed; empty: all columns")  \
    F(M, u32s, pushed, SKN_BATCH_ROWS_MAX, "[rows] packed, of push")           \
    F(M, u32s, node, SKN_TREE_NODES_MAX, "merge tree nodes, by number")        \
    F(M, f32s, pull, SKN_RUN_MAX, "[nodes][rows][columns] u, or the part")     \
    F(M, f32s, push, SKN_RUN_MAX, "[nodes][rows][columns] v, of positives")    \
    F(M, f32s, changed, SKN_RUN_MAX,                                           \
      "[3][nodes][rows] sums of du du, dv dv, du dv, set by a link; or empty")

/* Packed and `changed` as above. */
#define SKN_FIELDS_hidden_gradient(F, M)                                       \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u32, shard, SKN_SHARD_MAX - 1, "the sender")                          \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, u32, column_first, SKN_HIDDEN_MAX, "first hidden unit")               \
    F(M, u32, columns, SKN_HIDDEN_MAX, "hidden units")                         \
    F(M, u32s, open, SKN_BATCH_ROWS_MAX, "[rows] packed; empty: all columns")  \
    F(M, u32s, node, SKN_TREE_NODES_MAX,                                       \
      "nodes of the layer's tree, by number")                                  \
    F(M, f32s, value, SKN_RUN_MAX, "[nodes][rows][columns] of d loss / d h")   \
    F(M, f32s, changed, SKN_RUN_MAX,                                           \
      "[nodes][rows] sums of squares, set by a link; or empty")

/* The measured error of link codings in gradients of hidden layers: |g -
 * g_f32|^2, and |g|^2 (rounding.h). */
#define SKN_FIELDS_ROUNDING(F, M)                                              \
    F(M, f64, changed, 0, "sum of squared errors by codings")                  \
    F(M, f64, square, 0, "sum of squared values; 0: not measured")

/* Row gradients of a shard, with the right to write its rows if they are lent
 * (updates: loan). */
#define SKN_FIELDS_gradient(F, M)                                              \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u32s, unit, SKN_RUN_MAX, "rows of the shard, each once")              \
    F(M, f32s, value, SKN_RUN_MAX, "[units][width]")                           \
    F(M, loan, rows, 0, "the shard's rows; NULL: it has a copy")               \
    SKN_FIELDS_ROUNDING(F, M)

/* The rows return, or new values for the shard's copy (updates: copy): they may
 * be read until the next gradient is sent. */
#define SKN_FIELDS_lease(F, M)                                                 \
    F(M, u64, batch, UINT64_MAX, "last batch applied, plus 1")                 \
    F(M, loan, rows, 0, "the shard's rows; NULL: the shard has a copy")        \
    F(M, u32s, unit, SKN_RUN_MAX, "copy: rows that changed")                   \
    F(M, f32s, value, SKN_RUN_MAX, "copy: their weights, [units][width]")      \
    F(M, u16s, half, SKN_RUN_MAX, "copy: or in bf16, without value")           \
    F(M, u32, more, 1, "copy: 1: more of the first copy follows")

/* The last batch of a step has been added up: squares of the gradient. */
#define SKN_FIELDS_gradient_norm(F, M)                                         \
    F(M, u64, batch, UINT64_MAX, "last batch of the step")                     \
    F(M, str, layer, SKN_NAME_MAX, "name of the updater's layer")              \
    F(M, f64s, square, SKN_RUN_MAX, "sums over groups of rows, in order")

#define SKN_FIELDS_clip(F, M)                                                  \
    F(M, u64, batch, UINT64_MAX, "last batch of the step")                     \
    F(M, f64, factor, 0, "multiply the gradient by this")                      \
    F(M, u32, skip, 1, "1: it is not finite: leave the step out")

#define SKN_FIELDS_applied(F, M)                                               \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "train, validate, test")         \
    F(M, u32, layer, SKN_LAYER_MAX, "layer of the sender, counted from 0")     \
    F(M, u32, shard, SKN_SHARD_MAX - 1, "the sender")                          \
    SKN_FIELDS_ROUNDING(F, M)

#define SKN_FIELDS_result(F, M)                                                \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u32, shard, SKN_SHARD_MAX - 1, "the sender")                          \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, f64, loss, 0, "summed over the samples")                              \
    F(M, u64, active, UINT64_MAX, "(sample, row) pairs computed")              \
    F(M, u64, distinct, UINT64_MAX, "rows touched")                            \
    F(M, u64, owned, UINT64_MAX, "rows of the shard")                          \
    F(M, u64, listed, UINT64_MAX, "rows in the lists of the groups")           \
    F(M, u64, capped, UINT64_MAX, "rows whose weight was capped")              \
    F(M, f64, mass, 0, "softmax mass covered, or -1 where it is not measured") \
    F(M, f64, recall, 0, "recall of the exact top 10, or -1")

#define SKN_FIELDS_ranking(F, M)                                               \
    F(M, u64, batch, UINT64_MAX, "number")                                     \
    F(M, u32, shard, SKN_SHARD_MAX - 1, "the sender")                          \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "validate, test")                \
    F(M, u32, rows, SKN_BATCH_ROWS_MAX, "samples")                             \
    F(M, u32, k, 1024, "labels per sample")                                    \
    F(M, u32s, label, SKN_RUN_MAX, "[rows][k], best first; UINT32_MAX: none")  \
    F(M, f32s, score, SKN_RUN_MAX, "[rows][k] logits")                         \
    F(M, f32s, greatest, SKN_RUN_MAX,                                          \
      "[rows] m of the shard, for probabilities and the loss")                 \
    F(M, f32s, sum, SKN_RUN_MAX, "[rows] z of the shard; or empty")            \
    F(M, f32s, positive, SKN_RUN_MAX,                                          \
      "[rows] sum of the logits of the sample's labels in the shard; or "      \
      "empty")

#define SKN_FIELDS_metrics(F, M)                                               \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "validate, test")                \
    F(M, u64, rows, UINT64_MAX, "points")                                      \
    F(M, f64, p1, 0, "P@1")                                                    \
    F(M, f64, p3, 0, "P@3")                                                    \
    F(M, f64, p5, 0, "P@5")                                                    \
    F(M, f64, psp1, 0, "PSP@1")                                                \
    F(M, f64, psp3, 0, "PSP@3")                                                \
    F(M, f64, psp5, 0, "PSP@5")                                                \
    F(M, f64, ndcg3, 0, "nDCG@3")                                              \
    F(M, f64, ndcg5, 0, "nDCG@5")                                              \
    F(M, f64, nats, 0, "mean loss over all labels; -1: not known")

/* The course lets the source run up to a marker. */
#define SKN_FIELDS_go(F, M)                                                    \
    F(M, u64, first, UINT64_MAX, "first batch")                                \
    F(M, u64, end, UINT64_MAX, "batch after the last; evaluation: all")        \
    F(M, u32, purpose, SKN_PURPOSE_COUNT, "train, validate, test; 3: finish")
#define SKN_GO_FINISH SKN_PURPOSE_COUNT

#define SKN_FIELDS_halt(F, M)                                                  \
    F(M, u64, batch, UINT64_MAX, "last batch that was issued")

/* The source issues a batch: readers make it from their own data. */
#define SKN_FIELDS_issue(F, M)                                                 \
    F(M, u64, batch, UINT64_MAX, "number, counted from 0")                     \
    F(M, u64, floor, UINT64_MAX, "batches applied at the last marker")         \
    F(M, u64, horizon, UINT64_MAX, "last batch before the next marker")        \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "train, validate, test")         \
    F(M, u64, data, UINT64_MAX, "hash of the source's data")

/* The window has run empty: at a marker, or after a halt. */
#define SKN_FIELDS_reached(F, M)                                               \
    F(M, u64, batch, UINT64_MAX, "the next batch to issue")                    \
    F(M, u32, purpose, SKN_PURPOSE_COUNT - 1, "train, validate, test")         \
    F(M, u32, cut, 1, "1: a stop has ended the evaluation early")              \
    SKN_FIELDS_ROUNDING(F, M)

#define SKN_FIELDS_save(F, M)                                                  \
    F(M, u64, batch, UINT64_MAX, "batches applied")                            \
    F(M, u32, best, 1, "1: the best so far")                                   \
    F(M, u32, hash, 1, "1: weights_sha256 is requested")                       \
    F(M, bytes, metadata, 65536, "JSON for the manifest, with its NUL")

/* A tensor of a shard, before its chunks: a rectangle of a global one. */
#define SKN_FIELDS_tensor(F, M)                                                \
    F(M, u64, batch, UINT64_MAX, "batch of the checkpoint")                    \
    F(M, str, file, SKN_NAME_MAX, "file of the shard")                         \
    F(M, str, name, SKN_NAME_MAX, "name of the global tensor")                 \
    F(M, u32, dtype, 255, "dtype number of formats/checkpoint/safetensors.h")  \
    F(M, u32, dims, 2, "number of dimensions: 1 or 2")                         \
    F(M, u64, rows, UINT64_MAX, "rows of the rectangle")                       \
    F(M, u64, columns, UINT64_MAX, "columns of the rectangle")                 \
    F(M, u64, global_rows, UINT64_MAX, "rows of the global tensor")            \
    F(M, u64, global_columns, UINT64_MAX, "columns of the global tensor")      \
    F(M, u64, row_first, UINT64_MAX, "its first row in the global tensor")     \
    F(M, u64, column_first, UINT64_MAX, "its first column in the global tensor")

/* A chunk of a shard's state, on its way to the checkpoint. */
#define SKN_CHUNK_BYTES (1u << 20)
#define SKN_FIELDS_chunk(F, M)                                                 \
    F(M, u64, batch, UINT64_MAX, "batch of the checkpoint")                    \
    F(M, str, file, SKN_NAME_MAX, "file of the shard")                         \
    F(M, u32, tensor, 4096, "index among the shard's tensors")                 \
    F(M, u64, offset_bytes, UINT64_MAX, "position in the tensor")              \
    F(M, u32, last, 1, "1: the shard is complete")                             \
    F(M, bytes, bytes, SKN_CHUNK_BYTES, "its bytes")

/* The other direction, before a run continues: an owner without a copy of the
 * checkpoint asks for one rectangle after the other, and at last for the
 * message to begin, which comes when all owners that ask have theirs. */
#define SKN_FIELDS_want(F, M)                                                  \
    F(M, u32, owner, SKN_ACTORS_MAX - 1, "index of the owner that asks")       \
    F(M, str, name, SKN_NAME_MAX, "the global tensor; empty: to begin")        \
    F(M, u64, rows, UINT64_MAX, "rows of the rectangle")                       \
    F(M, u64, columns, UINT64_MAX, "columns of the rectangle")                 \
    F(M, u64, row_first, UINT64_MAX, "its first row in the global tensor")     \
    F(M, u64, column_first, UINT64_MAX, "its first column in the global tensor")

#define SKN_FIELDS_restored(F, M)                                              \
    F(M, u32, owner, SKN_ACTORS_MAX - 1, "the owner that asked")               \
    F(M, u64, batch, UINT64_MAX, "batches applied")                            \
    F(M, u32, begun, 1, "0: no checkpoint, begin from the seed")               \
    F(M, u32, begin, 1, "1: all have their state; begin")                      \
    F(M, u32, dtype, 255, "dtype number of formats/checkpoint/safetensors.h")  \
    F(M, u64, rows, UINT64_MAX,                                                \
      "rows of the rectangle; 0: there is no such tensor")                     \
    F(M, u64, columns, UINT64_MAX, "columns of the rectangle")                 \
    F(M, u64, row, UINT64_MAX, "first row in this message")                    \
    F(M, bytes, bytes, SKN_CHUNK_BYTES, "whole rows")

#define SKN_FIELDS_saved(F, M)                                                 \
    F(M, u64, batch, UINT64_MAX, "batches applied")                            \
    F(M, str, path, SKN_TEXT_MAX,                                              \
      "the checkpoint's folder; empty: it could not be written, or, before "   \
      "training, all owners have their state")                                 \
    F(M, str, weights_sha256, 64, "hash of the master weights")                \
    F(M, u32, ledger, 1, "1: `lost` and `applied_twice` are known")            \
    F(M, u64, lost, UINT64_MAX, "(batch, block) pairs that were not applied")  \
    F(M, u64, applied_twice, UINT64_MAX, "(batch, block) pairs applied twice")

/* A checkpoint is made in steps: the keeper of the first node takes the next
 * one and, where other nodes keep, sends it to them (keep); when all have
 * completed it (kept) it takes the one after. Steps that may fail come
 * before `commit`. */
typedef enum skn_keeping {
    SKN_KEEP_START,  /* the id of the run, and its checkpoint */
    SKN_KEEP_GO,     /* all owners have their state and may begin */
    SKN_KEEP_OPEN,   /* state will arrive */
    SKN_KEEP_WRITE,  /* all files are synced (implied, never sent) */
    SKN_KEEP_SEAL,   /* add the manifest of the whole */
    SKN_KEEP_COMMIT, /* give the folder its name */
    SKN_KEEP_SETTLE, /* all have it: older ones may be removed */
    SKN_KEEP_DROP,   /* a node has failed: abandon it */
    SKN_KEEP_COUNT
} skn_keeping_t;
#define SKN_KEEP_BYTES_MAX (64u << 20) /* SKN_MANIFEST_BYTES_MAX */

#define SKN_FIELDS_keep(F, M)                                                  \
    F(M, u32, step, SKN_KEEP_COUNT - 1, "the step to do next")                 \
    F(M, u64, batch, UINT64_MAX, "batch of the checkpoint")                    \
    F(M, u64, generation, UINT64_MAX, "generation of the checkpoint")          \
    F(M, u32, best, 1, "settle: 1: best model so far")                         \
    F(M, u32, restores, 1, "start: 1: owners ask for their state")             \
    F(M, str, run, 32, "start: id of the run, 32 hex digits")                  \
    F(M, bytes, manifest, SKN_KEEP_BYTES_MAX,                                  \
      "start: that of the checkpoint to resume, or empty; seal: of all files")

#define SKN_FIELDS_kept(F, M)                                                  \
    F(M, u32, node, SKN_CLUSTER_NODES_MAX - 1, "the keeper's node")            \
    F(M, u32, step, SKN_KEEP_COUNT - 1, "the step that was done")              \
    F(M, u64, batch, UINT64_MAX, "batch of the checkpoint")                    \
    F(M, str, failure, SKN_TEXT_MAX, "reason of the failure; empty: none")     \
    F(M, bytes, list, SKN_KEEP_BYTES_MAX, "write: manifest of its files")

/* The files that a keeper has of the checkpoint that a run continues from. */
#define SKN_FIELDS_holding(F, M)                                               \
    F(M, u32, node, SKN_CLUSTER_NODES_MAX - 1, "the keeper's node")            \
    F(M, u32s, file, 4 * SKN_SHARD_MAX, "indexes of the files in the manifest")

/* A rectangle of a piece, from a keeper that has it to one that does not. */
#define SKN_PART_BYTES (256u << 10)
#define SKN_FIELDS_fetch(F, M)                                                 \
    F(M, u32, to, SKN_CLUSTER_NODES_MAX - 1, "the node that has it")           \
    F(M, u32, from, SKN_CLUSTER_NODES_MAX - 1, "its sender")                   \
    F(M, u64, ticket, UINT64_MAX, "number of this request")                    \
    F(M, u32, sealed, 1, "1: the new checkpoint; 0: the resumed one")          \
    F(M, u32, piece, UINT32_MAX, "index by tensor, row and column")            \
    F(M, u64, row, UINT64_MAX, "first row in the piece")                       \
    F(M, u64, rows, UINT64_MAX, "number of rows")                              \
    F(M, u64, column, UINT64_MAX, "first column in the piece")                 \
    F(M, u64, columns, UINT64_MAX, "number of columns")

#define SKN_FIELDS_fetched(F, M)                                               \
    F(M, u32, to, SKN_CLUSTER_NODES_MAX - 1, "the node that asked")            \
    F(M, u64, ticket, UINT64_MAX, "number of the request")                     \
    F(M, u64, hash, UINT64_MAX, "XXH3-64 of the bytes")                        \
    F(M, str, failure, SKN_TEXT_MAX, "reason of the failure; empty: none")     \
    F(M, bytes, bytes, SKN_PART_BYTES, "the rectangle, row after row")

/* Rows that changed, for the index; the index, for the shard. */
#define SKN_FIELDS_dirty(F, M)                                                 \
    F(M, u64, batch, UINT64_MAX, "the rows are as after this batch")           \
    F(M, u32s, unit, SKN_RUN_MAX, "rows of the shard")                         \
    F(M, f32s, value, SKN_RUN_MAX, "[units][width] their weights")             \
    F(M, loan, rows, 0, "at a marker, in place of weights: the shard's rows")  \
    F(M, u32, last, 1, "1: the copy is complete: build")

#define SKN_FIELDS_index(F, M)                                                 \
    F(M, u64, batch, UINT64_MAX, "built from the rows after this batch")       \
    F(M, u32, kind, 16, "the kind of sampler")                                 \
    F(M, u32s, shape, 16, "the sampler's own numbers")                         \
    F(M, u32s, offset, SKN_RUN_MAX, "bucket k: offset[k]..")                   \
    F(M, u32s, unit, SKN_RUN_MAX, "rows of the shard")

/* Fields that a link codes: see skein/message.h. Partitions are not coded: an
 * error in m or z would affect every gradient. */
#define SKN_CODED_batch(V, C)                                                  \
    C(offset, ascending)                                                       \
    C(feature, ascending)                                                      \
    C(distinct, small)                                                         \
    C(distinct_offset, ascending)                                              \
    C(sample, ascending)
#define SKN_CODED_labels(V, C)                                                 \
    C(offset, ascending)                                                       \
    C(label, ascending)                                                        \
    C(distinct, ascending)
#define SKN_CODED_activation(V, C) V(value, "columns", NULL, true)
#define SKN_CODED_output_gradient(V, C)                                        \
    C(open, small)                                                             \
    C(pushed, small)                                                           \
    V(pull, "columns", "open", false)                                          \
    V(push, "columns", "pushed", false)
#define SKN_CODED_hidden_gradient(V, C)                                        \
    C(open, small)                                                             \
    V(value, "columns", "open", false)
#define SKN_CODED_ranking(V, C) C(label, small)

/* M(name, id, help); C the same, for messages with coded runs. */
#define SKN_MESSAGES_CODED(M, C)                                               \
    C(batch, 2, "features of a batch, from the source to the embedding")       \
    C(labels, 3, "labels of a batch, to the output shards")                    \
    C(activation, 4, "hidden values of one shard for one batch")               \
    M(partition, 5, "an output shard's share of the softmax normaliser")       \
    C(output_gradient, 6, "an output shard's share of the hidden gradient")    \
    C(hidden_gradient, 7, "gradient of a hidden layer's activation")           \
    M(gradient, 8, "row gradients, from a shard to its updater")               \
    M(lease, 9, "rows after an update, from the updater to its shard")         \
    M(applied, 10, "a batch was applied or evaluated")                         \
    M(result, 11, "loss and counts of one shard for one batch")                \
    C(ranking, 12, "the best labels of one shard for one batch")               \
    M(metrics, 13, "quality measured by an evaluation pass")                   \
    M(go, 14, "issue these batches, then let the window run empty")            \
    M(halt, 15, "stop issuing batches, or no more are issued")                 \
    M(reached, 16, "the window has run empty")                                 \
    M(save, 17, "write a checkpoint")                                          \
    M(chunk, 18, "a chunk of a shard's state")                                 \
    M(saved, 19, "a checkpoint is complete, or owners have theirs")            \
    M(dirty, 20, "rows that changed, for the index")                           \
    M(index, 21, "an index of a shard's rows")                                 \
    M(tensor, 22, "a tensor of a shard's state, before its chunks")            \
    M(issue, 23, "a batch was issued: make it")                                \
    M(want, 24, "an owner requests its state from a checkpoint")               \
    M(restored, 25, "a part of the state that an owner requested")             \
    M(keep, 26, "the next step of a checkpoint on several nodes")              \
    M(kept, 27, "a keeper has completed that step, or failed")                 \
    M(holding, 28, "files of a checkpoint that a keeper has")                  \
    M(fetch, 29, "a keeper requests a part of a file")                         \
    M(fetched, 30, "a part of a file, or the reason why not")                  \
    M(gradient_norm, 31,                                                       \
      "an updater's share of the norm of a step's gradient")                   \
    M(clip, 32, "how all updaters scale the gradient of a step")

#define SKN_MESSAGES(M) SKN_MESSAGES_CODED(M, M)

#define SKN_MESSAGE_DECLARE(message, id, help)                                 \
    SKN_MESSAGE_STRUCT(skn_##message, SKN_FIELDS_##message)                    \
    extern const skn_schema_t skn_##message##_schema;
SKN_MESSAGES(SKN_MESSAGE_DECLARE)

/* Every schema above, and the clock; ends with NULL. */
extern const skn_schema_t *const skn_messages[];
/* Prints all of them as Markdown: docs/reference/messages.md. */
void skn_messages_document(FILE *file);

#endif
