/* run_form.h - what a model needs beside its weights, kept in its run folder as
 * file forms.
 *
 *     RUN/tokenizer    of a decoder (formats/tokens/tokenizer.h)
 *     RUN/vocabulary   of a model of texts (formats/dataset/vocabulary.h)
 *     RUN/labels       the names of the labels, one a line: those of texts, or
 *                      a copy of the file `data.labels`, packed or not
 *     RUN/calibration  what makes its scores probabilities
 *                      (topology/predict/calibrate.h)
 *
 * So a run folder is all that a program needs to use a model, and to print
 * names. All but the labels have a hash of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_RUN_FORM_H
#define FORMATS_CHECKPOINT_RUN_FORM_H

#include "formats/checkpoint/run_folder.h"

#define SKN_RUN_FORM_PATH_BYTES (SKN_TEXT_MAX + 16)

/* Writes the file form `name`, such as SKN_VOCABULARY_NAME, into the run
 * folder, in the place of one that is there. Readers see the old file or the
 * new one. SKN_STORAGE. */
skn_status_t skn_run_form_keep(const skn_run_folder_t *run, const char *name,
                               const char *form, size_t form_bytes,
                               skn_error_t *error);
/* The same with the bytes of the file `source`; "" removes a file that is
 * there. SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_STORAGE. */
skn_status_t skn_run_form_copy(const skn_run_folder_t *run, const char *name,
                               const char *source, skn_error_t *error);
/* Writes the path of the file in the folder `run_path`; false: it has none. */
bool skn_run_form_find(const char *run_path, const char *name,
                       char path[SKN_RUN_FORM_PATH_BYTES]);

#endif
