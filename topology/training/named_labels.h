/* named_labels.h - adds the names of labels to the events `prediction` of a run
 * on several nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_NAMED_LABELS_H
#define TOPOLOGY_TRAINING_NAMED_LABELS_H

#include "formats/text/json_text.h"
#include "skein/points.h"

/* Reads the names that the run in the folder `path` has; *names is NULL if it
 * has none. Freed by skn_names_close. */
skn_status_t skn_named_labels_open(const char *path, skn_names_t **names,
                                   skn_error_t *error);
/* Writes the event `line` with `names`, one for each of its labels, "" for
 * those without one. `names` may be NULL. False: it is not a prediction. */
bool skn_named_labels_write(const skn_names_t *names, const char *line,
                            skn_json_text_t *event);

#endif
