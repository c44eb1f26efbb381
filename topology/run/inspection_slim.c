/* inspection_slim.c - reads and verifies an exported model.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "topology/run/inspection_internal.h"

/* The tensor is one piece, which is all of it. */
static void
describe(skn_inspection_t *inspection, const skn_safetensor_t *from)
{
    size_t at = inspection->info.tensor_count++;
    uint64_t columns = from->dims == 2 ? from->shape[1] : 1;
    uint64_t rows = from->dims > 0 ? from->shape[0] : 1;
    skn_hash_text(skn_slim_bytes(inspection->slim, from),
                  (size_t)from->size_bytes, inspection->hash[at]);
    inspection->piece[at] = (skn_inspection_piece_t){
        .rows = rows,
        .columns = columns,
        .xxh3_128 = inspection->hash[at],
    };
    inspection->tensor[at] = (skn_inspection_tensor_t){
        .struct_bytes = sizeof(*inspection->tensor),
        .name = from->name,
        .dtype = skn_dtype_name(from->dtype),
        .dims = from->dims,
        .rows = rows,
        .columns = columns,
        .piece_count = 1,
        .pieces = &inspection->piece[at],
    };
}

static skn_status_t
describe_all(skn_inspection_t *inspection, skn_error_t *error)
{
    const skn_safetensors_t *all = &inspection->slim->tensors;
    size_t count = all->count;
    inspection->tensor = calloc(count + 1, sizeof(*inspection->tensor));
    inspection->piece = calloc(count + 1, sizeof(*inspection->piece));
    inspection->hash = calloc(count + 1, sizeof(*inspection->hash));
    if (!inspection->tensor || !inspection->piece || !inspection->hash)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu tensors",
                        count);
    for (size_t k = 0; k < count; k++)
        describe(inspection, &all->tensor[k]);
    return SKN_OK;
}

skn_status_t
skn_inspection_read_slim(skn_inspection_t *inspection, skn_error_t *error)
{
    skn_inspection_info_t *info = &inspection->info;
    skn_error_t why = { 0 };
    inspection->slim = skn_slim_open(inspection->path, error);
    if (!inspection->slim)
        return error->status;
    const skn_slim_t *slim = inspection->slim;
    info->struct_bytes = sizeof(*info);
    info->path = info->checkpoint_path = inspection->path;
    info->run_id = slim->facts.run_id;
    info->created = slim->facts.created;
    info->config = slim->facts.config;
    info->batch = slim->facts.batch;
    info->weights_sha256 = "";
    info->metadata = "{}";
    info->data_xxh3_128 = slim->data_hash;
    info->file_count = 1;
    info->bytes = slim->map_bytes;
    inspection->metadata = json_object();
    if (!inspection->metadata)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for an inspection");
    if (skn_slim_verify(slim, &why) != SKN_OK) {
        info->is_damaged = true;
        skn_inspection_warn(inspection, why.text, "");
    }
    return describe_all(inspection, error);
}
