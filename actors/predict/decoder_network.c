/* decoder_network.c - loads the weights of a decoder, and reads sequences.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/decoder_network.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/predict/network.h"
#include "actors/protocol/workspace.h"
#include "actors/stage/heads.h"

/* --- memory of a reader --------------------------------------------------- */

/* Tokens of the longest read. */
static size_t
part_tokens(const skn_decoder_network_t *network)
{
    size_t context = network->decoder.shape.context;
    return context < SKN_DECODER_READ_MAX ? context : SKN_DECODER_READ_MAX;
}

static size_t
kept_floats(const skn_decoder_network_t *network)
{
    size_t part = part_tokens(network);
    size_t layer = skn_decoder_kept_floats(&network->decoder, part);
    size_t final = skn_norm_kept_floats(part, network->decoder.shape.width);
    return layer > final ? layer : final;
}

/* Room of a pass, of which attention needs most by the length of the sequence,
 * and of the products of the head. */
static size_t
scratch_floats(const skn_decoder_network_t *network)
{
    const skn_decoder_shape_t *shape = &network->decoder.shape;
    const skn_kernels_t *kernels = network->decoder.kernels;
    size_t part = part_tokens(network);
    size_t bytes = skn_decoder_scratch_bytes(&network->decoder, part) +
                   skn_heads_scratch_bytes(kernels, shape->context,
                                           skn_decoder_head(shape));
    size_t head = kernels->gemm_scratch_bytes(part, network->ids, shape->width);
    bytes = bytes > head ? bytes : head;
    return skn_array_floats(bytes / sizeof(float) + 1);
}

/* Floats of the keys and values of a layer. */
static size_t
cached_floats(const skn_decoder_network_t *network)
{
    const skn_decoder_shape_t *shape = &network->decoder.shape;
    return skn_kept_rows_floats(shape->context, 3 * (size_t)shape->width,
                                false);
}

static size_t
reader_floats(const skn_decoder_network_t *network)
{
    const skn_decoder_shape_t *shape = &network->decoder.shape;
    return shape->layers * cached_floats(network) +
           skn_array_floats(part_tokens(network) * shape->width) +
           kept_floats(network) + scratch_floats(network);
}

/* --- loading -------------------------------------------------------------- */

/* Finds LAYER.weight, which has `rows` rows (0: any number) of `width`. */
static skn_status_t
find_weight(const skn_checkpoint_t *checkpoint, const char *layer,
            uint64_t rows, uint32_t width,
            const skn_checkpoint_tensor_t **tensor, skn_error_t *error)
{
    char name[SKN_NAME_MAX + 1];
    (void)snprintf(name, sizeof(name), "%.48s.weight", layer);
    const skn_checkpoint_tensor_t *found =
        skn_checkpoint_find(checkpoint, name);
    *tensor = found;
    if (!found)
        return skn_fail(error, SKN_BAD_DATA, "%s: tensor %s is missing",
                        skn_checkpoint_path(checkpoint), name);
    if (found->dims != 2 || found->columns != width || found->rows == 0 ||
        found->rows > SKN_UNIT_MAX || (rows > 0 && found->rows != rows) ||
        (found->dtype != SKN_DTYPE_F32 && found->dtype != SKN_DTYPE_BF16))
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %s [%llu][%llu] does not fit a decoder of "
                        "width %u",
                        name, skn_dtype_name(found->dtype),
                        (unsigned long long)found->rows,
                        (unsigned long long)found->columns, width);
    return SKN_OK;
}

/* Reads a tensor of bf16 into the upper half of its floats, and widens it from
 * the front. */
static skn_status_t
read_tensor(const skn_decoder_network_t *network, skn_checkpoint_t *checkpoint,
            const skn_checkpoint_tensor_t *tensor, float *at,
            skn_error_t *error)
{
    size_t count = (size_t)tensor->rows * tensor->columns;
    bool half = tensor->dtype == SKN_DTYPE_BF16;
    size_t columns = (size_t)tensor->columns;
    uint16_t *packed = (uint16_t *)(void *)at + count;
    skn_status_t status = skn_checkpoint_read_block(
        checkpoint, tensor->name, 0, tensor->rows, 0, tensor->columns,
        half ? (void *)packed : (void *)at,
        columns * (half ? sizeof(*packed) : sizeof(*at)), error);
    for (size_t k = 0; half && status == SKN_OK && k < count; k += columns) {
        uint16_t row[SKN_HIDDEN_MAX];
        memcpy(row, packed + k, columns * sizeof(*row));
        network->decoder.kernels->bf16_to_f32(at + k, row, columns);
    }
    return status;
}

/* The tables of a decoder. */
enum {
    EMBEDDING,
    TRUNK,
    HEAD,
    TABLES
};

static skn_status_t
find_weights(skn_decoder_network_t *network, const skn_checkpoint_t *checkpoint,
             const skn_decoder_shape_t *shape, const skn_decoder_names_t *names,
             const skn_checkpoint_tensor_t *tensor[TABLES], skn_error_t *error)
{
    const char *const layer[TABLES] = { names->embedding, names->trunk,
                                        names->head };
    uint64_t rows[TABLES] = { 0, skn_decoder_stage_rows(shape, shape->layers,
                                                        true) };
    skn_status_t status = SKN_OK;
    for (int k = 0; k < TABLES && status == SKN_OK; k++) {
        status = find_weight(checkpoint, layer[k], rows[k], shape->width,
                             &tensor[k], error);
        if (status != SKN_OK)
            break;
        rows[HEAD] = tensor[EMBEDDING]->rows;
        network->parameter_count += tensor[k]->rows * tensor[k]->columns;
    }
    return status;
}

skn_status_t
skn_decoder_network_load(skn_decoder_network_t *network,
                         skn_checkpoint_t *checkpoint,
                         const skn_decoder_shape_t *shape,
                         const skn_decoder_names_t *names,
                         uint64_t memory_bytes_max, skn_error_t *error)
{
    const skn_kernels_t *kernels = skn_kernels_pick(error);
    const skn_checkpoint_tensor_t *tensor[TABLES];
    float **const at[TABLES] = { &network->embedding, &network->trunk,
                                 &network->head };
    size_t angles = skn_decoder_angle_floats(shape);
    memset(network, 0, sizeof(*network));
    skn_status_t status =
        kernels ? find_weights(network, checkpoint, shape, names, tensor, error)
                : SKN_BAD_CONFIG;
    if (status != SKN_OK)
        return status;
    network->decoder =
        (skn_decoder_t){ .shape = *shape, .kernels = kernels }; /* for sizes */
    network->ids = (uint32_t)tensor[EMBEDDING]->rows;
    status = skn_network_check_room(
        (network->parameter_count + angles + reader_floats(network)) *
            sizeof(float),
        memory_bytes_max, error);
    if (status != SKN_OK)
        return status;
    network->angles = skn_floats_new(angles, error);
    if (!network->angles)
        return SKN_NO_MEMORY;
    skn_decoder_init(&network->decoder, shape, kernels, false, network->angles);
    for (int k = 0; k < TABLES && status == SKN_OK; k++) {
        *at[k] = skn_floats_new((size_t)(tensor[k]->rows * tensor[k]->columns),
                                error);
        status =
            *at[k] ? read_tensor(network, checkpoint, tensor[k], *at[k], error)
                   : SKN_NO_MEMORY;
    }
    return status;
}

void
skn_decoder_network_fini(skn_decoder_network_t *network)
{
    free(network->embedding);
    free(network->trunk);
    free(network->head);
    free(network->angles);
    memset(network, 0, sizeof(*network));
}

/* --- reading -------------------------------------------------------------- */

skn_status_t
skn_decoder_reader_init(skn_decoder_reader_t *reader,
                        const skn_decoder_network_t *network,
                        skn_error_t *error)
{
    const skn_decoder_shape_t *shape = &network->decoder.shape;
    size_t columns = 3 * (size_t)shape->width;
    size_t x = skn_array_floats(part_tokens(network) * shape->width);
    size_t kept = kept_floats(network);
    memset(reader, 0, sizeof(*reader));
    reader->network = network;
    reader->cache = calloc(shape->layers, sizeof(*reader->cache));
    reader->memory = skn_floats_new(reader_floats(network), error);
    if (!reader->memory)
        return SKN_NO_MEMORY;
    if (!reader->cache)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a decoder");
    float *memory = reader->memory;
    for (uint32_t layer = 0; layer < shape->layers; layer++)
        memory = skn_kept_rows_init(&reader->cache[layer], shape->context,
                                    columns, false, memory);
    reader->x = memory;
    reader->kept = reader->x + x;
    reader->scratch = reader->kept + kept;
    return SKN_OK;
}

void
skn_decoder_reader_fini(skn_decoder_reader_t *reader)
{
    free(reader->cache);
    free(reader->memory);
    memset(reader, 0, sizeof(*reader));
}

static skn_matrix_t
rows_at(const float *at, size_t width)
{
    return (skn_matrix_t){ .at = at, .row_stride = width, .column_stride = 1 };
}

void
skn_decoder_read(skn_decoder_reader_t *reader, const uint32_t *id,
                 uint32_t count)
{
    const skn_decoder_network_t *network = reader->network;
    const skn_decoder_t *decoder = &network->decoder;
    size_t width = decoder->shape.width;
    size_t layer_rows = skn_decoder_layer_rows(&decoder->shape);
    assert(count > 0 && count <= SKN_DECODER_READ_MAX &&
           count <= decoder->shape.context - reader->count);
    for (uint32_t t = 0; t < count; t++)
        memcpy(reader->x + t * width, network->embedding + id[t] * width,
               width * sizeof(float));
    for (uint32_t layer = 0; layer < decoder->shape.layers; layer++) {
        const skn_matrix_t weights =
            rows_at(network->trunk + layer * layer_rows * width, width);
        skn_decoder_kept_t kept;
        skn_decoder_kept_init(decoder, &kept, 1, count, reader->kept);
        skn_decoder_kept_continue(&kept, &reader->cache[layer], reader->count);
        skn_decoder_layer_forward(decoder, &weights, &kept, reader->x,
                                  reader->scratch);
    }
    const skn_matrix_t gain = rows_at(
        network->trunk + decoder->shape.layers * layer_rows * width, width);
    skn_norm_kept_t final;
    (void)skn_norm_kept_init(&final, count, width, reader->kept);
    skn_decoder_final_forward(decoder, &gain, &final, reader->x,
                              reader->scratch);
    reader->count += count;
    reader->fresh = count;
}

void
skn_decoder_logits(const skn_decoder_reader_t *reader, uint32_t first,
                   uint32_t count, float *logits)
{
    const skn_decoder_network_t *network = reader->network;
    size_t width = network->decoder.shape.width;
    assert(first + count <= reader->fresh);
    const skn_gemm_t job = {
        .m = count,
        .n = network->ids,
        .k = width,
        .a = rows_at(reader->x + first * width, width),
        .b = { .at = network->head, .row_stride = 1, .column_stride = width },
        .c = logits,
        .c_stride = network->ids,
    };
    network->decoder.kernels->gemm(&job, reader->scratch);
}
