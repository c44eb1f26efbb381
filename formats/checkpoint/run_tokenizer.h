/* run_tokenizer.h - the tokenizer of a decoder, kept in a run folder.
 *
 *     RUN/tokenizer    its file form, which has a hash of its own
 *                      (formats/tokens/tokenizer.h)
 *
 * So a run folder is all that a program needs to continue text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_RUN_TOKENIZER_H
#define FORMATS_CHECKPOINT_RUN_TOKENIZER_H

#include "formats/checkpoint/run_folder.h"

#define SKN_RUN_TOKENIZER_PATH_BYTES (SKN_TEXT_MAX + 16)

/* Writes the file form into the run folder, in the place of one that is there.
 * Readers see the old file or the new one. SKN_STORAGE. */
skn_status_t skn_run_tokenizer_keep(const skn_run_folder_t *run,
                                    const char *form, size_t form_bytes,
                                    skn_error_t *error);
/* Writes the path of the file in the folder `run_path`; false: it has none. */
bool skn_run_tokenizer_find(const char *run_path,
                            char path[SKN_RUN_TOKENIZER_PATH_BYTES]);

#endif
