/* join.c - writes the joint network of several, some rows at a time.
 *
 * The logit of label l is (1/N) sum over k of (b_kl + w_kl . h_k). That is the
 * row (w_1l, ..., w_Nl) / N over the units (h_1, ..., h_N). As probabilities:
 * the normalised geometric mean of the networks'.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/predict/join.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "topology/predict/join_internal.h"

/* Weights that are in memory at once; at least one row. */
#define CHUNK_NUMBERS (1u << 20)

/* A block to read from a tensor of one network. */
typedef struct join_block {
    char name[SKN_NAME_MAX + 1];
    size_t network;
    uint64_t row, rows, columns; /* from column 0 on */
    float *to;                   /* rows are `stride` floats apart */
    uint64_t stride;
} join_block_t;

/* --- do they fit? -------------------------------------------------------- */

static const char *
weight_name(const char *layer, char name[SKN_NAME_MAX + 1])
{
    (void)snprintf(name, SKN_NAME_MAX + 1, "%.48s.weight", layer);
    return name;
}

static const skn_checkpoint_tensor_t *
weight_of(const skn_trained_t *part, const char *layer, skn_error_t *error)
{
    char name[SKN_NAME_MAX + 1];
    const skn_checkpoint_tensor_t *tensor =
        skn_checkpoint_find(part->checkpoint, weight_name(layer, name));
    if (tensor && tensor->dims == 2 &&
        (tensor->dtype == SKN_DTYPE_F32 || tensor->dtype == SKN_DTYPE_BF16))
        return tensor;
    (void)skn_fail(error, SKN_BAD_DATA, "%s: there are no weights %s",
                   skn_checkpoint_path(part->checkpoint), name);
    return NULL;
}

static skn_status_t
refuse(const skn_join_t *join, size_t k, const char *what, skn_error_t *error)
{
    (void)skn_fail(error, SKN_USAGE, "%.200s and %.200s differ in %s",
                   join->path[0], join->path[k], what);
    return skn_fail_hint(error, SKN_USAGE,
                         "only networks of one model file can be joined; "
                         "seeds, units and training may differ");
}

static skn_status_t
check_model(const skn_join_t *join, size_t k, skn_error_t *error)
{
    const skn_model_t *first = join->part[0].model;
    const skn_model_t *other = join->part[k].model;
    if (other->layer_count != first->layer_count)
        return refuse(join, k, "layers", error);
    for (size_t at = 0; at < first->layer_count; at++)
        if (strcmp(first->layers[at].name, other->layers[at].name) != 0)
            return refuse(join, k, "layers", error);
        else if (first->layers[at].activation != other->layers[at].activation)
            return refuse(join, k, "activations", error);
    size_t last = first->layer_count - 1;
    if (first->layers[last].loss != other->layers[last].loss)
        return refuse(join, k, "loss", error);
    if (first->data.normalize != other->data.normalize)
        return refuse(join, k, "data.normalize", error);
    char one[SKN_JOIN_LINE_BYTES], two[SKN_JOIN_LINE_BYTES];
    return strcmp(skn_join_vocabulary(
                      skn_run_folder_config(join->part[0].place.run), one),
                  skn_join_vocabulary(
                      skn_run_folder_config(join->part[k].place.run), two)) == 0
               ? SKN_OK
               : refuse(join, k, "their words or the names of labels", error);
}

static skn_status_t
refuse_count(size_t count, skn_error_t *error)
{
    return skn_fail(error, SKN_USAGE,
                    "%zu networks cannot be joined, only 2 to %u", count,
                    SKN_ENSEMBLE_MAX);
}

/* Refuses a network that is given twice. The folders of a run's nodes are one
 * network, however many of them are given. */
static skn_status_t
check_other(const skn_join_t *join, size_t k, skn_error_t *error)
{
    const skn_checkpoint_t *other = join->part[k].checkpoint;
    for (size_t j = 0; j < k; j++) {
        const skn_checkpoint_t *one = join->part[j].checkpoint;
        bool same_folder =
            strcmp(skn_run_folder_path(join->part[j].place.run),
                   skn_run_folder_path(join->part[k].place.run)) == 0;
        bool same_run = strcmp(skn_checkpoint_run_id(one),
                               skn_checkpoint_run_id(other)) == 0;
        if (same_folder || !same_run ||
            skn_checkpoint_batch(one) != skn_checkpoint_batch(other))
            continue;
        (void)skn_fail(error, SKN_USAGE,
                       "%.200s and %.200s are the same network, batch %" PRIu64
                       " of run %.6s",
                       join->path[j], join->path[k],
                       skn_checkpoint_batch(other),
                       skn_checkpoint_run_id(other));
        return skn_fail_hint(error, SKN_USAGE,
                             "of a run on several nodes, give the folder that "
                             "holds theirs, once");
    }
    return SKN_OK;
}

/* True if a network is in parts on several nodes: joining it alone puts it
 * together in one place. Otherwise there would be nothing to join. */
static bool
is_in_parts(const skn_trained_t *part)
{
    return part->place.nodes.count > 0 ||
           skn_checkpoint_is_gathered(part->checkpoint);
}

static skn_status_t
open_parts(skn_join_t *join, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < join->count && status == SKN_OK; k++) {
        status = skn_trained_open(&join->part[k], join->path[k],
                                  SKN_VERIFY_LAZY, error);
        if (status == SKN_OK)
            status = check_model(join, k, error);
        if (status == SKN_OK)
            status = check_other(join, k, error);
    }
    if (status == SKN_OK && join->count == 1 && !join->extra.ranker &&
        !is_in_parts(&join->part[0]))
        status = refuse_count(1, error);
    return status;
}

/* Takes the sizes of layer `at`. Sizes that the data determine must equal those
 * of the first network; the others must fit the layer below. */
static skn_status_t
size_layer(const skn_join_t *join, size_t at, skn_join_layer_t *layer,
           skn_error_t *error)
{
    const skn_model_t *model = join->part[0].model;
    *layer = (skn_join_layer_t){
        .name = model->layers[at].name,
        .input = at == 0,
        .output = at + 1 == model->layer_count,
        .dtype = SKN_DTYPE_BF16,
    };
    for (size_t k = 0; k < join->count; k++) {
        const skn_checkpoint_tensor_t *tensor =
            weight_of(&join->part[k], layer->name, error);
        if (!tensor)
            return error->status;
        layer->span_rows[k] = tensor->rows;
        layer->span_columns[k] = tensor->columns;
        if (tensor->dtype == SKN_DTYPE_F32)
            layer->dtype = SKN_DTYPE_F32;
        if (layer->input && tensor->rows != layer->span_rows[0])
            return refuse(join, k, "features", error);
        if (layer->output && tensor->rows != layer->span_rows[0])
            return refuse(join, k, "labels", error);
        layer->columns += tensor->columns;
        layer->rows += tensor->rows;
    }
    if (layer->input || layer->output)
        layer->rows = layer->span_rows[0];
    layer->units = layer->input ? layer->columns : layer->rows;
    if (!layer->output && layer->units > SKN_HIDDEN_MAX)
        return skn_fail(error, SKN_USAGE,
                        "layer %s would have %" PRIu64
                        " units, at most %u allowed",
                        layer->name, layer->units, SKN_HIDDEN_MAX);
    return SKN_OK;
}

static skn_status_t
size_layers(skn_join_t *join, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    size_t count = join->part[0].model->layer_count;
    join->layer = calloc(count, sizeof(*join->layer));
    if (!join->layer)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu layers",
                        count);
    join->layer_count = count;
    for (size_t at = 0; at < count && status == SKN_OK; at++)
        status = size_layer(join, at, &join->layer[at], error);
    const skn_join_layer_t *input = &join->layer[0],
                           *last = &join->layer[count - 1];
    const skn_ranker_t *ranker = join->extra.ranker;
    if (status == SKN_OK && ranker &&
        (ranker->label_count != last->units ||
         ranker->feature_count != input->rows))
        return skn_fail(error, SKN_USAGE,
                        "a ranker of %u labels and %u features does not fit",
                        ranker->label_count, ranker->feature_count);
    return status;
}

/* --- weights ------------------------------------------------------------- */

static float
widen(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Rounds to nearest, ties to even; a NaN stays a NaN. */
static uint16_t
narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Reads as floats, whatever the format on disk. */
static skn_status_t
read_block(const skn_join_t *join, const skn_join_layer_t *layer,
           const join_block_t *block, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint = join->part[block->network].checkpoint;
    const skn_checkpoint_tensor_t *tensor =
        skn_checkpoint_find(checkpoint, block->name);
    if (!tensor)
        return skn_fail(error, SKN_BAD_DATA, "%s: there is no tensor %s",
                        skn_checkpoint_path(checkpoint), block->name);
    bool is_half = tensor->dtype == SKN_DTYPE_BF16;
    skn_status_t status = skn_checkpoint_read_block(
        checkpoint, block->name, block->row, block->rows, 0, block->columns,
        is_half ? (void *)layer->half : block->to,
        is_half ? block->columns * sizeof(uint16_t)
                : block->stride * sizeof(float),
        error);
    for (uint64_t i = 0; i < block->rows && is_half && status == SKN_OK; i++)
        for (uint64_t j = 0; j < block->columns; j++)
            block->to[i * block->stride + j] =
                widen(layer->half[i * block->columns + j]);
    return status;
}

/* Reads rows of network `k`'s weights into the joint rows, from `column` on. */
static skn_status_t
read_rows(const skn_join_t *join, const skn_join_layer_t *layer, size_t k,
          uint64_t row, uint64_t rows, uint64_t column, skn_error_t *error)
{
    join_block_t block = {
        .network = k,
        .row = row,
        .rows = rows,
        .columns = layer->span_columns[k],
        .to = layer->chunk + column,
        .stride = layer->columns,
    };
    (void)weight_name(layer->name, block.name);
    return read_block(join, layer, &block, error);
}

/* Writes the next `count` numbers of tensor `piece` of the layer's file, after
 * `done`; they are multiplied by `share` first. */
static skn_status_t
write_numbers(const skn_join_layer_t *layer, size_t piece, uint64_t done,
              size_t count, float share, skn_error_t *error)
{
    size_t element = skn_dtype_bytes(layer->dtype);
    bool is_half = layer->dtype == SKN_DTYPE_BF16;
    for (size_t i = 0; i < count; i++) {
        layer->chunk[i] *= share;
        if (is_half)
            layer->half[i] = narrow(layer->chunk[i]);
    }
    return skn_checkpoint_shard_write(layer->shard, piece, done * element,
                                      is_half ? (const void *)layer->half
                                              : layer->chunk,
                                      count * element, error);
}

static skn_status_t
write_rows(const skn_join_t *join, const skn_join_layer_t *layer, uint64_t done,
           uint64_t rows, skn_error_t *error)
{
    float share = layer->output ? 1.0F / (float)join->count : 1.0F;
    return write_numbers(layer, 0, done * layer->columns, rows * layer->columns,
                         share, error);
}

/* For layers of features and labels, each of which has a row in every
 * network. */
static skn_status_t
write_beside(const skn_join_t *join, skn_join_layer_t *layer,
             skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint64_t row = 0; row < layer->rows && status == SKN_OK;
         row += layer->chunk_rows) {
        uint64_t rows = layer->rows - row, column = 0;
        if (rows > layer->chunk_rows)
            rows = layer->chunk_rows;
        for (size_t k = 0; k < join->count && status == SKN_OK; k++) {
            status = read_rows(join, layer, k, row, rows, column, error);
            column += layer->span_columns[k];
        }
        if (status == SKN_OK)
            status = write_rows(join, layer, row, rows, error);
    }
    return status;
}

/* For layers between: units use only the units of their own network. */
static skn_status_t
write_diagonal(const skn_join_t *join, skn_join_layer_t *layer,
               skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    uint64_t done = 0, column = 0;
    for (size_t k = 0; k < join->count; k++) {
        uint64_t left = layer->span_rows[k], row = 0;
        while (left > 0 && status == SKN_OK) {
            uint64_t rows = left < layer->chunk_rows ? left : layer->chunk_rows;
            memset(layer->chunk, 0, rows * layer->columns * sizeof(float));
            status = read_rows(join, layer, k, row, rows, column, error);
            if (status == SKN_OK)
                status = write_rows(join, layer, done, rows, error);
            left -= rows;
            row += rows;
            done += rows;
        }
        column += layer->span_columns[k];
    }
    return status;
}

/* Writes biases [first, first + count) of network `k`, or their mean over
 * all. */
static skn_status_t
write_bias_part(const skn_join_t *join, const skn_join_layer_t *layer, size_t k,
                uint64_t first, uint64_t count, uint64_t done,
                skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    size_t end = layer->output ? join->count : k + 1;
    float *sum = layer->chunk, *one = layer->chunk + layer->chunk_numbers / 2;
    join_block_t block = {
        .row = first, .rows = count, .columns = 1, .to = one, .stride = 1
    };
    (void)snprintf(block.name, sizeof(block.name), "%.48s.bias", layer->name);
    memset(sum, 0, count * sizeof(*sum));
    for (block.network = k; block.network < end && status == SKN_OK;
         block.network++) {
        status = read_block(join, layer, &block, error);
        for (uint64_t i = 0; i < count && status == SKN_OK; i++)
            sum[i] += one[i];
    }
    float share = 1.0F / (float)(end - k);
    return status == SKN_OK ? write_numbers(layer, 1, done, count, share, error)
                            : status;
}

/* Biases of labels are means, those of units are placed side by side. */
static skn_status_t
write_bias(const skn_join_t *join, const skn_join_layer_t *layer,
           skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    uint64_t done = 0, most = layer->chunk_numbers / 2;
    size_t networks = layer->output ? 1 : join->count;
    for (size_t k = 0; k < networks; k++) {
        uint64_t units =
            layer->input ? layer->span_columns[k] : layer->span_rows[k];
        for (uint64_t first = 0; first < units && status == SKN_OK;) {
            uint64_t count = units - first < most ? units - first : most;
            status = write_bias_part(join, layer, k, first, count, done, error);
            first += count;
            done += count;
        }
    }
    return status;
}

/* Opens the layer's file of two tensors: weights and biases. */
static skn_status_t
open_layer(const skn_join_t *join, skn_join_layer_t *layer, skn_error_t *error)
{
    char file[SKN_NAME_MAX + 1];
    skn_piece_t piece[2] = {
        { .dtype = layer->dtype,
          .dims = 2,
          .rows = layer->rows,
          .columns = layer->columns,
          .global_rows = layer->rows,
          .global_columns = layer->columns },
        { .dtype = layer->dtype,
          .dims = 1,
          .rows = layer->units,
          .columns = 1,
          .global_rows = layer->units,
          .global_columns = 1 },
    };
    (void)weight_name(layer->name, piece[0].name);
    (void)snprintf(piece[1].name, sizeof(piece[1].name), "%.48s.bias",
                   layer->name);
    (void)snprintf(file, sizeof(file), "%.40s.0.safetensors", layer->name);
    layer->chunk_rows = CHUNK_NUMBERS / layer->columns;
    if (layer->chunk_rows == 0)
        layer->chunk_rows = 1;
    layer->chunk_numbers =
        layer->columns > CHUNK_NUMBERS ? layer->columns : CHUNK_NUMBERS;
    layer->chunk = calloc(layer->chunk_numbers, sizeof(*layer->chunk));
    layer->half = calloc(layer->chunk_numbers, sizeof(*layer->half));
    if (!layer->chunk || !layer->half)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for rows of %s",
                        layer->name);
    layer->shard =
        skn_checkpoint_shard_open(join->writer, file, piece, 2, error);
    return layer->shard ? SKN_OK : error->status;
}

static skn_status_t
write_layer(const skn_join_t *join, skn_join_layer_t *layer, skn_error_t *error)
{
    skn_status_t status = open_layer(join, layer, error);
    if (status == SKN_OK)
        status = layer->input || layer->output
                     ? write_beside(join, layer, error)
                     : write_diagonal(join, layer, error);
    if (status == SKN_OK)
        status = write_bias(join, layer, error);
    if (status == SKN_OK)
        status = skn_checkpoint_shard_close(&layer->shard, error);
    free(layer->chunk);
    free(layer->half);
    return status;
}

/* --- join ---------------------------------------------------------------- */

/* Compares line by line, except for checkpoint.path: a folder may have several
 * names, and may have been moved. */
static bool
same_config(const char *left, const char *right)
{
    while (*left && *right) {
        size_t bytes = strcspn(left, "\n"), other = strcspn(right, "\n");
        bool is_path = strncmp(left, "  path: ", 8) == 0 &&
                       strncmp(right, "  path: ", 8) == 0;
        if (!is_path && (bytes != other || strncmp(left, right, bytes) != 0))
            return false;
        left += bytes + (left[bytes] != '\0');
        right += other + (right[other] != '\0');
    }
    return !*left && !*right;
}

/* *same: the same join, to the same folder, was interrupted. */
static skn_status_t
was_broken_off(const skn_join_t *join, const char *config, bool *same,
               skn_error_t *error)
{
    skn_error_t none = { 0 };
    skn_run_folder_t *run = skn_run_folder_open_read_only(join->into, &none);
    *same = run && same_config(skn_run_folder_config(run), config);
    skn_run_folder_close(&run);
    return none.status == SKN_NO_MEMORY
               ? skn_fail(error, SKN_NO_MEMORY, "%.200s", none.text)
               : SKN_OK;
}

static skn_status_t
open_run(skn_join_t *join, const char *config, skn_error_t *error)
{
    size_t checkpoints = 0;
    skn_run_options_t options = { .config_text = config,
                                  .run_id = join->extra.run_id,
                                  .wait_ms = SKN_LOCK_WAIT_MS };
    if (was_broken_off(join, config, &options.resume, error) != SKN_OK)
        return error->status;
    join->run = skn_run_folder_open(join->into, &options, &checkpoints, error);
    if (!join->run)
        return error->status;
    if (checkpoints == 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_CANNOT_CREATE, "%.200s holds a run already",
                   join->into);
    return skn_fail_hint(error, SKN_CANNOT_CREATE, "choose another folder");
}

static void
describe(const skn_join_t *join)
{
    const skn_join_layer_t *first = &join->layer[0];
    skn_joined_t *joined = join->joined;
    joined->features = first->rows;
    joined->units = first->units;
    joined->labels = join->layer[join->layer_count - 1].units;
    for (size_t at = 0; at < join->layer_count; at++)
        joined->parameters += join->layer[at].rows * join->layer[at].columns +
                              join->layer[at].units;
    for (size_t k = 0; k < join->count; k++) {
        uint64_t batch = skn_checkpoint_batch(join->part[k].checkpoint);
        if (batch > joined->batch)
            joined->batch = batch;
    }
}

/* Creates nothing before everything is known to fit. */
static skn_status_t
begin(skn_join_t *join, skn_error_t *error)
{
    static const char *const forms[] = { SKN_LABELS_NAME, SKN_VOCABULARY_NAME };
    char path[SKN_RUN_FORM_PATH_BYTES];
    skn_status_t status = size_layers(join, error);
    char *config = status == SKN_OK ? skn_join_config(join, error) : NULL;
    if (!config)
        return error->status;
    describe(join);
    status = open_run(join, config, error);
    free(config);
    if (status != SKN_OK)
        return status;
    memcpy(join->joined->run_id, skn_run_folder_id(join->run),
           SKN_RUN_ID_BYTES);
    for (size_t k = 0; status == SKN_OK && k < sizeof(forms) / sizeof(forms[0]);
         k++)
        if (skn_trained_form(&join->part[0].place, forms[k], path))
            status = skn_run_form_copy(join->run, forms[k], path, error);
    if (status != SKN_OK)
        return status;
    join->writer = skn_checkpoint_begin(join->run, join->joined->batch,
                                        join->extra.generation, error);
    return join->writer ? SKN_OK : error->status;
}

static skn_status_t
finish(skn_join_t *join, skn_error_t *error)
{
    skn_json_text_t metadata = { 0 };
    skn_error_t warning = { 0 };
    skn_status_t status = skn_join_metadata(join, &metadata, error);
    if (status == SKN_OK)
        status = skn_checkpoint_finish(&join->writer, metadata.bytes, 1,
                                       &warning, error);
    skn_json_text_fini(&metadata);
    return status;
}

skn_status_t
skn_join(const char *into, const char *const *path, size_t count,
         const skn_join_extra_t *extra, skn_joined_t *joined,
         skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    *joined = (skn_joined_t){ 0 };
    skn_join_t join = {
        .into = into, .path = path, .count = count, .joined = joined
    };
    if (extra)
        join.extra = *extra;
    if (join.extra.ranker && join.extra.ranker->label_count == 0)
        join.extra.ranker = NULL;
    if (count < 1 || count > SKN_ENSEMBLE_MAX)
        return refuse_count(count, error);
    skn_status_t status = open_parts(&join, error);
    if (status == SKN_OK && skn_model_is_decoder(join.part[0].model))
        status = skn_fail(error, SKN_USAGE,
                          "%.200s holds a decoder, and decoders cannot be "
                          "joined",
                          path[0]);
    if (status == SKN_OK)
        status = begin(&join, error);
    for (size_t at = 0; status == SKN_OK && at < join.layer_count; at++)
        status = write_layer(&join, &join.layer[at], error);
    if (status == SKN_OK && join.extra.ranker)
        status = skn_ranker_write(join.extra.ranker, join.writer,
                                  join.layer[join.layer_count - 1].name, error);
    if (status == SKN_OK)
        status = finish(&join, error);
    skn_checkpoint_abandon(&join.writer);
    skn_run_folder_close(&join.run);
    free(join.layer);
    for (size_t k = 0; k < count; k++)
        skn_trained_close(&join.part[k]);
    return status;
}
