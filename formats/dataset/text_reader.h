/* text_reader.h - opens a reader of points (skein/points.h) for rows of texts,
 * which a trained model makes points of.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_TEXT_READER_H
#define FORMATS_DATASET_TEXT_READER_H

#include "formats/dataset/preprocessing.h"
#include "formats/dataset/vocabulary.h"
#include "skein/points.h"

typedef struct skn_text_source {
    const char *path; /* "-": standard input */
    const char *preprocessing;
    const skn_vocabulary_t *vocabulary; /* outlives the reader */
} skn_text_source_t;

/* As skn_point_reader_open. A file may have any format of rows (records.h); one
 * that looks like none has a text in each line. */
skn_point_reader_t *skn_point_reader_open_rows(
    const skn_text_source_t *source, const skn_point_reader_options_t *options,
    skn_error_t *error);

#endif
