/* run_labels.h - the names of the labels, kept in a run folder.
 *
 *     RUN/labels       a copy of the file `data.labels`, packed or not
 *
 * So a run folder is all that a program needs to print names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_RUN_LABELS_H
#define FORMATS_CHECKPOINT_RUN_LABELS_H

#include "formats/checkpoint/run_folder.h"

#define SKN_RUN_LABELS_PATH_BYTES (SKN_TEXT_MAX + 16)

/* Copies the file `source` into the run folder, in the place of one that is
 * there; "" removes that. Readers see the old file or the new one.
 * SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_STORAGE. */
skn_status_t skn_run_labels_keep(const skn_run_folder_t *run,
                                 const char *source, skn_error_t *error);
/* Writes the path of the file in the folder `run_path`; false: it has none. */
bool skn_run_labels_find(const char *run_path,
                         char path[SKN_RUN_LABELS_PATH_BYTES]);

#endif
