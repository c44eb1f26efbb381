/* model_text.h - the text of a model file, or of the model that a data file
 * stands for.
 *
 * Files of rows in place of a model file mean a model of two layers, every
 * choice of which is left to `auto`, trained on them, of whose rows a
 * tenth is held back as a test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_TEXT_H
#define TOPOLOGY_MODEL_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "topology/config/document.h"

/* The bytes of the model file `path` ("-": standard input), for free(), or of
 * the model of a source of data (formats/source/files.h). Rows of standard
 * input are kept in a file first (spool.h). *name is what the document is
 * called, for free(). Problems as of skn_document_read. */
char *skn_model_text(const char *path, char **name, size_t *text_bytes,
                     skn_problems_t *problems);
/* Whether the source has rows of data. */
bool skn_model_is_data(const char *source);
/* The same as a document. */
skn_document_t *skn_model_document_load(const char *path,
                                        skn_problems_t *problems);

#endif
