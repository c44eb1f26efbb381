/* model_text.h - the text of a model file, or of the model that a data file
 * stands for.
 *
 * A file of rows in place of a model file means a model of two layers, every
 * choice of which is left to `auto`, trained on that file, of whose rows a
 * tenth is held back as a test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_TEXT_H
#define TOPOLOGY_MODEL_MODEL_TEXT_H

#include "topology/config/document.h"

/* The bytes of the model file `path`, for free(); problems as of
 * skn_document_read. */
char *skn_model_text(const char *path, size_t *text_bytes,
                     skn_problems_t *problems);
/* The same as a document. */
skn_document_t *skn_model_document_load(const char *path,
                                        skn_problems_t *problems);

#endif
