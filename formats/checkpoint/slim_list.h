/* slim_list.h - the tensors of a model that is going to be one file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_CHECKPOINT_SLIM_LIST_H
#define FORMATS_CHECKPOINT_SLIM_LIST_H

#include "formats/checkpoint/slim.h"

/* { 0 } is empty. */
typedef struct skn_slim_list {
    skn_slim_part_t part[SKN_SLIM_PARTS_MAX];
    void *own[SKN_SLIM_PARTS_MAX]; /* NULL where it was lent */
    size_t count;
} skn_slim_list_t;

void skn_slim_list_fini(skn_slim_list_t *list);
/* Adds the tensor LAYER.NAME (NAME if `layer` is NULL), whose bytes the caller
 * keeps until the list is done with. SKN_BAD_DATA: there are too many. */
skn_status_t skn_slim_list_lend(skn_slim_list_t *list, const char *layer,
                                const skn_slim_part_t *part,
                                skn_error_t *error);
/* The same with memory for its bytes, which the caller fills, and the list
 * frees. NULL: SKN_NO_MEMORY, SKN_BAD_DATA. */
void *skn_slim_list_add(skn_slim_list_t *list, const char *layer,
                        const skn_slim_part_t *part, skn_error_t *error);

#endif
