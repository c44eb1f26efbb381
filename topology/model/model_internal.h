/* model_internal.h - the state and functions shared by the files that read a
 * model file.
 *
 * Private to topology/model/model_read.c and model_forms.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_INTERNAL_H
#define TOPOLOGY_MODEL_MODEL_INTERNAL_H

#include "topology/config/document.h"
#include "topology/model/model.h"
#include "topology/model/model_tables.h"

/* "the sampler of layer '...'": a layer's name is at most SKN_NAME_MAX. */
#define OWNER_BYTES 128

/* Memory of a model, freed with it. */
typedef struct block {
    struct block *next;
    max_align_t bytes[];
} block_t;

typedef struct owned {
    skn_model_t model; /* first, so that a model is its owner */
    block_t *blocks;
} owned_t;

typedef struct reader {
    skn_document_t *document;
    skn_problems_t *problems;
    owned_t *owned;
    /* a value in that section was refused */
    bool data_refused, model_refused, train_refused, nodes_refused;
} reader_t;

/* model_read.c. Zeroed memory of the model; NULL and a problem when memory is
 * short. */
void *skn_reader_reserve(reader_t *reader, size_t bytes);
/* Copies `text`. Returns "" when memory is short, which is a problem and ends
 * the reading. */
const char *skn_reader_text(reader_t *reader, const char *text);
/* Reads a section into its struct. `owner` names it in messages, `others` (may
 * be NULL) ends with NULL: further keys, which the caller reads. `place` is
 * where a missing key is reported. */
void skn_reader_section(reader_t *reader, const skn_node_t *node,
                        const skn_section_t *section, const char *owner,
                        const char *const *others, void *base,
                        skn_mark_t place);

/* model_forms.c. `node` is the value under the part's key, or NULL. */
void skn_reader_plugins(reader_t *reader, const skn_node_t *node);
void skn_reader_cores(reader_t *reader, const skn_node_t *node,
                      const char *owner, skn_model_cores_t *cores);
void skn_reader_layers(reader_t *reader, const skn_node_t *node,
                       skn_mark_t place);
void skn_reader_nodes(reader_t *reader, const skn_node_t *node);
/* After all sections: makes the layers of a decoder. */
void skn_reader_decoder(reader_t *reader);

#endif
