/* run_journal.h - the journal of a run, from which a coordinator restarts.
 *
 * It is in the run's folder. A line is written before anything that it records
 * is announced. After a line could not be written, no more are: `broken` has
 * the reason, and the coordinator ends.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_RUN_JOURNAL_H
#define CLI_ELASTIC_RUN_JOURNAL_H

#include <jansson.h>

#include "formats/checkpoint/checkpoint.h"
#include "formats/folder/journal.h"
#include "topology/elastic/harvest.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"

/* { 0 } is closed. */
typedef struct cli_run_journal {
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
} cli_run_journal_t;

/* Opens or creates the journal of the run in checkpoint.path of `model`, which
 * must outlive it, and reads it; a new run gets its id. SKN_BUSY if another
 * coordinator has it. Closed by cli_run_journal_close, also after a failure. */
skn_status_t cli_run_journal_open(cli_run_journal_t *journal,
                                  const skn_model_t *model, skn_error_t *error);
void cli_run_journal_close(cli_run_journal_t *journal);
/* Adds `line` and releases it; it may be NULL (no memory). */
void cli_run_journal_add(cli_run_journal_t *journal, json_t *line);

#endif
