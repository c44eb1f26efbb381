/* reports.c - prints what the reports of all nodes of a run say together.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "skein/training.h"
#include "topology/host/verdict.h"
#include "topology/run/figures_read.h"

static skn_status_t
read_one(const char *line, size_t at, skn_figures_t *figures,
         skn_error_t *error)
{
    json_t *event = skn_json_read(line);
    skn_status_t status =
        strcmp(skn_json_word(event, "event"), "report") == 0
            ? skn_figures_read(event, figures, error)
            : skn_fail(error, SKN_BAD_MESSAGE,
                       "line %zu is no event `report`: '%.80s'", at, line);
    json_decref(event);
    return status;
}

/* `nodes` get the figures that are read, also if it fails. */
static skn_status_t
read_all(const char *const *events, size_t count, skn_figures_t *figures,
         const skn_figures_t **nodes, size_t *node_count, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < count && status == SKN_OK; k++) {
        if (!events[k])
            continue;
        status = read_one(events[k], k, &figures[*node_count], error);
        if (status == SKN_OK) {
            nodes[*node_count] = &figures[*node_count];
            ++*node_count;
        }
    }
    return status;
}

skn_status_t
skn_training_reports_print(const char *const *events, size_t count,
                           bool one_machine, bool json, FILE *file,
                           skn_error_t *error)
{
    skn_verdict_t verdict;
    size_t node_count = 0;
    if (!events || !file)
        return skn_fail(error, SKN_USAGE,
                        "skn_training_reports_print: the %s NULL",
                        events ? "file is" : "events are");
    skn_figures_t *figures = calloc(count + 1, sizeof(*figures));
    const skn_figures_t **nodes = calloc(count + 1, sizeof(*nodes));
    skn_status_t status =
        figures && nodes
            ? read_all(events, count, figures, nodes, &node_count, error)
            : skn_fail(error, SKN_NO_MEMORY, "no memory for %zu reports",
                       count);
    for (size_t k = 0; k < node_count && status == SKN_OK && !json; k++) {
        (void)fprintf(file, "\nnode %s\n", nodes[k]->node);
        skn_figures_table(nodes[k], file);
    }
    if (node_count > 0 && status == SKN_OK) {
        skn_verdict_find(nodes, node_count, one_machine, &verdict);
        skn_verdict_print(&verdict, json ? "{\"event\":\"verdict\"," : NULL,
                          file);
    }
    /* An error of before belongs to what was written before. */
    if (status == SKN_OK && node_count > 0 &&
        (fflush(file) != 0 || ferror(file)))
        status = skn_fail(error, SKN_STORAGE, "writing a report: %s",
                          strerror(errno));
    for (size_t k = 0; k < node_count; k++)
        skn_figures_fini(&figures[k]);
    free(figures);
    free(nodes);
    return status;
}
