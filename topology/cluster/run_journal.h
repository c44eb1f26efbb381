/* run_journal.h - the journal of a run, from which a coordinator restarts.
 *
 * It is in the run's folder. A line is written before anything that it records
 * is announced. After a line could not be written, no more are: `broken` has
 * the reason, and the coordinator ends.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_RUN_JOURNAL_H
#define TOPOLOGY_CLUSTER_RUN_JOURNAL_H

#include "formats/checkpoint/checkpoint.h"
#include "formats/folder/journal.h"
#include "formats/text/json_record.h"
#include "topology/elastic/harvest.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"

/* A line. The first one of a run has `run` and `config`; the start of a
 * generation has `members`; a checkpoint has `saved`; the end has `over`. */
/* clang-format off */
#define SKN_RUN_JOURNAL_LINE_FIELDS(F, L, R)                                   \
    F(R, TEXT, run, MAYBE, "id of the run")                                    \
    F(R, TEXT, config, MAYBE, "model file")                                    \
    F(R, U64, saved, MAYBE, "batch of a complete checkpoint")                  \
    F(R, U64, generation, MAYBE, "generation that starts, or wrote the "       \
      "checkpoint")                                                            \
    F(R, TEXTS, members, MAYBE, "members of the generation")                   \
    F(R, TEXTS, serving, MAYBE, "members that only serve a checkpoint")        \
    F(R, U64, batch, MAYBE, "batch at which the generation begins")            \
    F(R, U64, layout, MAYBE, "generation that wrote its checkpoint")           \
    F(R, FLAG, from_saved, MAYBE, "whether it begins from a checkpoint")       \
    F(R, FLAG, composed, MAYBE, "whether salvages are part of that checkpoint")\
    F(R, ANY, harvest, MAYBE, "time that members have given (harvest_json)")   \
    F(R, ANY, speeds, MAYBE, "speeds of nodes (balancing)")                    \
    F(R, TEXT, over, MAYBE, "`done` or `stopped`")
SKN_JSON_STRUCT(skn_run_journal_line, SKN_RUN_JOURNAL_LINE_FIELDS)
/* clang-format on */

/* { 0 } is closed. */
typedef struct skn_run_journal {
    const skn_model_t *model;
    skn_journal_t *file;
    char run_id[SKN_RUN_ID_BYTES];
    /* The last generation that began, its members, and those that only
     * serve. */
    uint64_t generation, members, serving;
    /* Batch of the newest checkpoint, and the generation that wrote it. */
    uint64_t saved_batch, saved_in;
    bool over; /* the run is done */
    skn_harvest_sum_t harvested;
    double speeds[SKN_CLUSTER_NODES_MAX]; /* of nodes; 0: unknown */
    skn_error_t broken;
} skn_run_journal_t;

/* Opens or creates the journal of the run in checkpoint.path of `model`, which
 * must outlive it, and reads it; a new run gets its id. SKN_BUSY if another
 * coordinator has it. Closed by skn_run_journal_close, also after a failure. */
skn_status_t skn_run_journal_open(skn_run_journal_t *journal,
                                  const skn_model_t *model, skn_error_t *error);
void skn_run_journal_close(skn_run_journal_t *journal);
/* Adds a line. */
void skn_run_journal_add(skn_run_journal_t *journal,
                         const skn_run_journal_line_t *line);

#endif
