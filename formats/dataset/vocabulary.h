/* vocabulary.h - what a model knows of texts and names: its featurizer and the
 * names of its labels.
 *
 * A vocabulary is learned from the training rows, kept in their cache and in
 * the run folder, and then the same wherever the model is used. It has two
 * forms: that of the featurizer (features.h), and the names, one a line. In a
 * file of its own a line is in front of them:
 *
 *     skein-vocabulary 1 FEATURES_BYTES NAMES_BYTES HASH
 *
 * It never changes: any number of threads may use it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_VOCABULARY_H
#define FORMATS_DATASET_VOCABULARY_H

#include "formats/features/features.h"
#include "formats/text/span.h"
#include "formats/text/strings.h"

typedef struct skn_vocabulary {
    skn_featurizer_t *featurizer;
    skn_strings_t names; /* of labels */
    uint64_t hash;       /* of the forms */
} skn_vocabulary_t;

/* The two file forms, in somebody else's memory. */
typedef struct skn_vocabulary_form {
    const char *features, *names;
    uint64_t features_bytes, names_bytes;
} skn_vocabulary_form_t;

/* Frees, sets *vocabulary to NULL. *vocabulary may be NULL already. */
void skn_vocabulary_destroy(skn_vocabulary_t **vocabulary);

/* Reads the forms; `path` names them in sentences. NULL: SKN_BAD_DATA,
 * SKN_NO_MEMORY. */
skn_vocabulary_t *skn_vocabulary_read(const char *path,
                                      const skn_vocabulary_form_t *form,
                                      skn_error_t *error);
uint64_t skn_vocabulary_hash(const skn_vocabulary_form_t *form);

/* The file of its own, for free(). NULL: no memory. */
char *skn_vocabulary_write(const skn_vocabulary_form_t *form, size_t *bytes);
/* Finds the forms in a file of its own, of `bytes` bytes. SKN_BAD_DATA. */
skn_status_t skn_vocabulary_find(const char *path, const char *text,
                                 size_t bytes, skn_vocabulary_form_t *form,
                                 skn_error_t *error);
/* Reads the file `path`. NULL: SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_STORAGE,
 * SKN_BAD_DATA, SKN_NO_MEMORY. */
skn_vocabulary_t *skn_vocabulary_open(const char *path, skn_error_t *error);

/* *number is that of a label's name, SKN_STRINGS_NONE if it is unknown; with
 * `add` it becomes known. Control characters are blanks: a name is a line of a
 * file. SKN_NO_MEMORY, without a sentence. */
skn_status_t skn_names_find(skn_strings_t *names, skn_span_t name, bool add,
                            uint32_t *number);
/* The names, one a line, for free(). NULL: no memory. */
char *skn_names_write(const skn_strings_t *names, uint64_t *bytes);

#endif
