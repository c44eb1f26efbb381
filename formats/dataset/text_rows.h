/* text_rows.h - reads rows of texts as points, by their preprocessing and a
 * vocabulary.
 *
 * For dataset*.c and the reader of questions only. A row that cannot be read is
 * left out and counted, as far as the preprocessing allows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_TEXT_ROWS_H
#define FORMATS_DATASET_TEXT_ROWS_H

#include "formats/dataset/dataset.h"
#include "formats/dataset/preprocessing.h"
#include "formats/dataset/vocabulary.h"
#include "formats/dataset/xmc_point.h"

typedef struct skn_text_rows skn_text_rows_t;

/* Opens the file `path` for points of the vocabulary; of `options` the
 * preprocessing, the part and the questions count. NULL: the statuses of
 * skn_records_open; SKN_BAD_CONFIG: the preprocessing is not valid.
 * `vocabulary` outlives the reader. */
skn_text_rows_t *skn_text_rows_open(const char *path,
                                    const skn_dataset_options_t *options,
                                    const skn_vocabulary_t *vocabulary,
                                    skn_error_t *error);
/* Frees, sets *rows to NULL. *rows may be NULL already. */
void skn_text_rows_close(skn_text_rows_t **rows);

/* Reads the next row; *more is false at the end. SKN_BAD_DATA, SKN_STORAGE and
 * SKN_NO_MEMORY end the reading. */
skn_status_t skn_text_rows_next(skn_text_rows_t *rows, skn_xmc_point_t *point,
                                bool *more, skn_error_t *error);
/* The sizes so far: those of the vocabulary, and what was left out. */
skn_xmc_sizes_t skn_text_rows_sizes(const skn_text_rows_t *rows);
/* The likely mistake in the rows so far, of whatever part. */
skn_xmc_odd_t skn_text_rows_odd(const skn_text_rows_t *rows);
const skn_lines_t *skn_text_rows_lines(const skn_text_rows_t *rows);

/* Learns the vocabulary of the rows of a file. *vocabulary and the texts of its
 * two forms are the caller's to free, also after a failure. `progress` is
 * called as skn_dataset_options_t says. As skn_text_rows_open and
 * skn_text_rows_next; SKN_BUSY. */
skn_status_t skn_text_rows_learn(const char *path,
                                 const skn_dataset_options_t *options,
                                 skn_vocabulary_t **vocabulary, char **features,
                                 char **names, skn_vocabulary_form_t *form,
                                 skn_error_t *error);

#endif
