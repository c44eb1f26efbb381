/* salvage.h - a salvage: the blocks that a node salvages when a generation
 * breaks off.
 *
 * When a member dies, survivors need not return to the last checkpoint: each
 * writes the blocks that it owns, with all updates that they have had, into
 * RUN/cut, in the files that a checkpoint of the same layout has. From these
 * salvages, and from a checkpoint for the lost blocks, a new checkpoint is
 * composed:
 *
 *     checkpoint 340     salvage of a    salvage of c    composed, batch 347
 *     output.0  a,b  ──  output.0 347 ─────────────────▶ output.0  a's salvage
 *     output.1  b,c  ──────────────── (b is dead) ─────▶ output.1  of 340, at c
 *     output.2  c,a  ──────────────────  output.2 346 ─▶ output.2  c's salvage
 *
 * Its batch is the one after the last that any block has had, so that no block
 * gets one twice; batches that a block has not had by then it never gets, which
 * is counted (skn_salvage_sum_t, and LAYER.missed of ledger.h).
 * docs/decisions/0014-partial.md.
 *
 *     RUN/cut/manifest.json     sealed, written last; its metadata state the
 *                               generation and the batch of each file
 *
 * A salvage is not a checkpoint: it has no copy, and the next checkpoint
 * removes it. One thread at a time for each object.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_SALVAGE_H
#define FORMATS_CHECKPOINT_SALVAGE_H

#include "formats/checkpoint/checkpoint.h"

/* ---- Writing. ---- */

typedef struct skn_salvage_writer skn_salvage_writer_t;

/* Starts a salvage that replaces an older one in the run folder `run_path` once
 * it is finished; the folder is locked until then. `generation` is the one that
 * broke off. NULL: SKN_BUSY, SKN_NO_INPUT, SKN_STORAGE, ... */
skn_salvage_writer_t *skn_salvage_begin(const char *run_path,
                                        uint64_t generation,
                                        skn_error_t *error);
/* Writes and syncs one owner's file, whose blocks have had all batches below
 * `batch`. After a failure only abandon works. */
skn_status_t skn_salvage_add(skn_salvage_writer_t *writer, const char *file,
                             uint64_t batch, const skn_tensor_view_t *view,
                             size_t count, skn_error_t *error);
/* Makes the salvage valid. SKN_NO_INPUT for one without a file. Frees, sets
 * *writer to NULL in any case. */
skn_status_t skn_salvage_finish(skn_salvage_writer_t **writer,
                                skn_error_t *error);
/* Removes the files, frees, sets *writer to NULL, which it may be already. */
void skn_salvage_abandon(skn_salvage_writer_t **writer);

/* ---- Reading. ---- */

/* The manifest of the salvage in a run folder, its seal checked; the caller's
 * to free, with a NUL that *byte_count leaves out. SKN_NO_INPUT: there is none.
 * */
skn_status_t skn_salvage_read(const char *run_path, char **bytes,
                              size_t *byte_count, skn_error_t *error);

typedef struct skn_salvage {
    uint64_t generation;
    skn_manifest_t part; /* its batch is the greatest of its files */
    uint64_t *batch;     /* of each file */
} skn_salvage_t;

/* Parses the bytes of skn_salvage_read. SKN_BAD_DATA; *salvage is empty then.
 * */
skn_status_t skn_salvage_parse(const char *bytes, size_t byte_count,
                               skn_salvage_t *salvage, skn_error_t *error);
/* Frees; `salvage` is empty afterwards. */
void skn_salvage_fini(skn_salvage_t *salvage);

/* ---- Composing. Pure. ---- */

typedef struct skn_salvage_sum {
    uint64_t batch; /* of the composed checkpoint */
    uint64_t base;  /* of the checkpoint that it is based on */
    uint64_t kept;  /* blocks that keep updates newer than the base */
    uint64_t back;  /* blocks taken from the base */
    uint64_t lost;  /* updates that are never made: pairs of batch and block */
} skn_salvage_sum_t;

/* The manifest of a checkpoint that takes each file of `base` from a salvage if
 * one has it, else from `base`; sealed, in *text, which was empty. A file of a
 * salvage whose tensors differ from that of `base` is left out. SKN_NO_INPUT:
 * no salvage is newer than `base`. */
skn_status_t skn_salvage_compose(const skn_manifest_t *base,
                                 const skn_salvage_t *const *salvage,
                                 size_t cut_count, skn_salvage_sum_t *sum,
                                 skn_json_text_t *text, skn_error_t *error);

#endif
