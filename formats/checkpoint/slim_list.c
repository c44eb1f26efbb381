/* slim_list.c - collects the tensors of a model that is going to be one file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/slim_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
skn_slim_list_fini(skn_slim_list_t *list)
{
    for (size_t k = 0; k < list->count; k++)
        free(list->own[k]);
    memset(list, 0, sizeof(*list));
}

skn_status_t
skn_slim_list_lend(skn_slim_list_t *list, const char *layer,
                   const skn_slim_part_t *part, skn_error_t *error)
{
    if (list->count == SKN_SLIM_PARTS_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "the model has more than %u tensors",
                        SKN_SLIM_PARTS_MAX);
    skn_slim_part_t *added = &list->part[list->count];
    list->own[list->count++] = NULL;
    *added = *part;
    (void)snprintf(added->name, sizeof(added->name), "%.48s%s%.15s",
                   layer ? layer : "", layer ? "." : "", part->name);
    return SKN_OK;
}

void *
skn_slim_list_add(skn_slim_list_t *list, const char *layer,
                  const skn_slim_part_t *part, skn_error_t *error)
{
    skn_slim_part_t own = *part;
    uint64_t columns = part->columns > 0 ? part->columns : 1, bytes;
    void *room = __builtin_mul_overflow(part->rows, columns, &bytes) ||
                         __builtin_mul_overflow(
                             bytes, skn_dtype_bytes(part->dtype), &bytes)
                     ? NULL
                     : malloc(bytes + 1);
    own.bytes = room;
    if (!room) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for tensor %s",
                       part->name);
        return NULL;
    }
    if (skn_slim_list_lend(list, layer, &own, error) != SKN_OK) {
        free(room);
        return NULL;
    }
    list->own[list->count - 1] = room;
    return room;
}
