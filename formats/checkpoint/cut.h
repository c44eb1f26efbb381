/* cut.h - what a node has of a run that was broken off: its blocks as they are.
 *
 * Where a member dies, survivors need not go back to the last checkpoint: each
 * writes the blocks that it owns, with all updates that they have had, into
 * RUN/cut, in the files that a checkpoint of the same layout has. Out of these,
 * and of a checkpoint for what died, a new one is composed:
 *
 *     checkpoint 340     cut of a        cut of c        composed, batch 347
 *     output.0  a,b  ──  output.0 347 ─────────────────▶ output.0  of a's cut
 *     output.1  b,c  ──────────────── (b is dead) ─────▶ output.1  of 340, at c
 *     output.2  c,a  ──────────────────  output.2 346 ─▶ output.2  of c's cut
 *
 * Its batch is that behind the last one that any block has had, so that none
 * gets one twice; what a block has not had by then it never gets, which is
 * counted (sum, and LAYER.missed of ledger.h). docs/decisions/0014-partial.md.
 *
 *     RUN/cut/manifest.json     sealed, written last; its metadata say of which
 *                               generation, and how far each file is
 *
 * Nothing in it is a checkpoint: it has no copy, and is gone with the next one.
 * One thread at a time for each object.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_CUT_H
#define FORMATS_CHECKPOINT_CUT_H

#include "formats/checkpoint/checkpoint.h"

/* ---- Writing. ---- */

typedef struct skn_cut_writer skn_cut_writer_t;

/* Takes the place of an older cut in the run folder `run_path`, which is locked
 * till the end, once it is finished. `generation` is the one that was broken
 * off. NULL: SKN_BUSY, SKN_NO_INPUT, SKN_STORAGE, ... */
skn_cut_writer_t *skn_cut_begin(const char *run_path, uint64_t generation,
                                skn_error_t *error);
/* Writes and syncs one owner's file, whose blocks have had all batches below
 * `batch`. After a failure nothing but abandon works. */
skn_status_t skn_cut_add(skn_cut_writer_t *writer, const char *file,
                         uint64_t batch, const skn_tensor_view_t *view,
                         size_t count, skn_error_t *error);
/* The cut counts from here on. SKN_NO_INPUT for one without a file. Frees, sets
 * *writer to NULL whatever happens. */
skn_status_t skn_cut_finish(skn_cut_writer_t **writer, skn_error_t *error);
/* Removes what was written, frees, sets *writer to NULL; it may be. */
void skn_cut_abandon(skn_cut_writer_t **writer);

/* ---- Reading. ---- */

/* The manifest of the cut in a run folder, its seal checked; the caller's to
 * free, with a NUL that *byte_count leaves out. SKN_NO_INPUT: there is none. */
skn_status_t skn_cut_read(const char *run_path, char **bytes,
                          size_t *byte_count, skn_error_t *error);

typedef struct skn_cut {
    uint64_t generation;
    skn_manifest_t part; /* its batch is the greatest of its files' */
    uint64_t *batch;     /* of each file */
} skn_cut_t;

/* What skn_cut_read gave. SKN_BAD_DATA; *cut is empty then. */
skn_status_t skn_cut_parse(const char *bytes, size_t byte_count, skn_cut_t *cut,
                           skn_error_t *error);
/* Frees; `cut` is empty afterwards. */
void skn_cut_fini(skn_cut_t *cut);

/* ---- Composing. Pure. ---- */

typedef struct skn_cut_sum {
    uint64_t batch; /* that the composed checkpoint is of */
    uint64_t base;  /* that of the checkpoint below it */
    uint64_t kept;  /* blocks that keep updates which it had not */
    uint64_t back;  /* blocks that are as they were there */
    uint64_t lost;  /* updates that are never made: pairs of batch and block */
} skn_cut_sum_t;

/* The manifest of a checkpoint that has of each file of `base` what a cut has,
 * and else what `base` has; sealed, in *text, which was empty. A file of a cut
 * that differs in its tensors from that of `base` is left out. SKN_NO_INPUT:
 * no cut is further than `base`. */
skn_status_t skn_cut_compose(const skn_manifest_t *base,
                             const skn_cut_t *const *cut, size_t cut_count,
                             skn_cut_sum_t *sum, skn_json_text_t *text,
                             skn_error_t *error);

#endif
