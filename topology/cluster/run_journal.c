/* run_journal.c - reads and writes the lines of a coordinator's journal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/run_journal.h"

#include <stdlib.h>
#include <string.h>

#include "topology/cluster/balancing.h"
#include "topology/cluster/harvest_json.h"
#include "topology/cluster/control_messages.h"
#include "formats/checkpoint/node_folders.h"
#include "formats/text/json_text.h"
#include "topology/run/resume.h"

/* clang-format off */
SKN_JSON_RECORD(skn_run_journal_line, "journal", SKN_RUN_JOURNAL_LINE_FIELDS)
/* clang-format on */

static skn_status_t
take_line(void *job, const json_t *object, skn_error_t *error)
{
    skn_run_journal_t *journal = job;
    skn_run_journal_line_t line;
    skn_status_t status = skn_json_record_read(&skn_run_journal_line_record,
                                               object, &line, error);
    if (status != SKN_OK)
        return status;
    if (line.run[0])
        (void)snprintf(journal->run_id, sizeof(journal->run_id), "%s",
                       line.run);
    if (line.members) {
        journal->generation = line.generation;
        journal->members = skn_control_node_set(journal->model, line.members);
        journal->serving = skn_control_node_set(journal->model, line.serving);
    }
    if (line.from_saved && !line.composed && line.batch > journal->saved_batch)
        journal->saved_batch = line.batch;
    if (line.saved > 0) {
        journal->saved_batch = line.saved;
        /* Older journals omit the generation. */
        journal->saved_in =
            line.generation > 0 ? line.generation : journal->generation;
    }
    skn_harvest_json_read(line.harvest, &journal->harvested);
    skn_balancing_read(line.speeds, journal->model, journal->speeds);
    journal->over = strcmp(line.over, "done") == 0;
    return SKN_OK;
}

void
skn_run_journal_add(skn_run_journal_t *journal,
                    const skn_run_journal_line_t *line)
{
    json_t *object = skn_json_record_write(&skn_run_journal_line_record, line);
    char *text = object ? skn_json_write(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (journal->broken.status != SKN_OK) {
        free(text);
        return;
    }
    if (!text)
        (void)skn_fail(&journal->broken, SKN_NO_MEMORY,
                       "no memory for a line of the journal");
    else if (skn_journal_add(journal->file, text, &journal->broken) != SKN_OK)
        (void)skn_fail_hint(
            &journal->broken, journal->broken.status,
            "nothing is lost: free some disk space and start the "
            "coordinator again");
    free(text);
}

skn_status_t
skn_run_journal_open(skn_run_journal_t *journal, const skn_model_t *model,
                     skn_error_t *error)
{
    char path[SKN_TEXT_MAX + 32];
    const char *folder = model->checkpoint.path;
    *journal = (skn_run_journal_t){ .model = model };
    if (!folder[0])
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "checkpoint.path must be set when a coordinator is used"),
            "set checkpoint.path=FOLDER, the same for all machines");
    skn_status_t status = skn_resume_make_top(folder, error);
    if (status != SKN_OK)
        return status;
    (void)snprintf(path, sizeof(path), "%s/" SKN_COORDINATOR_JOURNAL, folder);
    journal->file = skn_journal_open(path, take_line, journal, error);
    if (!journal->file)
        return error->status;
    if (journal->run_id[0])
        return SKN_OK;
    status = skn_run_id_draw(journal->run_id, error);
    if (status != SKN_OK)
        return status;
    const skn_run_journal_line_t line = { .run = journal->run_id,
                                          .config = model->name };
    skn_run_journal_add(journal, &line);
    if (journal->broken.status != SKN_OK)
        *error = journal->broken;
    return journal->broken.status;
}

void
skn_run_journal_close(skn_run_journal_t *journal)
{
    skn_journal_close(&journal->file);
}
