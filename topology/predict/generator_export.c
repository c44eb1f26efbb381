/* generator_export.c - writes a decoder as other programs read it: one
 * safetensors file by the names of Llama's checkpoints (Touvron et al. 2023),
 * its config.json, and the tokenizer's file.
 *
 * All numbers are f32. The matrix that is stored transposed is turned back.
 * The files are written whole under other names, and get their own when all are
 * there, the model last. A failed export leaves none of them. One that is
 * killed may leave files of other names, which the next export removes, and the
 * tokenizer and config.json without a model, which it does not replace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/checkpoint/safetensors.h"
#include "formats/folder/folder.h"
#include "skein/text.h"
#include "topology/predict/generator_internal.h"

#define FRESH ".tmp-"
#define MODEL "model.safetensors"
#define CONFIG "config.json"
#define TOKENIZER "tokenizer"

/* In the order in which they appear. */
static const char *const names[] = { TOKENIZER, CONFIG, MODEL };
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

/* One tensor of the model, and where it is in memory. */
typedef struct export_tensor {
    const float *at; /* [rows][columns] */
    size_t rows, columns;
    bool is_transposed; /* in memory */
} export_tensor_t;

typedef struct export
{
    const skn_decoder_network_t *network;
    size_t count;
    skn_safetensor_t *tensor; /* [count] */
    export_tensor_t *source;  /* [count] */
    float *turned;            /* room for one that is transposed */
    int folder, file;
    const char *path; /* of the folder */
    char model_path[PATH_MAX];
}
export_t;

static void
add(export_t *all, const char *name, const export_tensor_t *source)
{
    skn_safetensor_t *tensor = &all->tensor[all->count];
    bool turns = source->is_transposed;
    *tensor = (skn_safetensor_t){
        .dtype = SKN_DTYPE_F32,
        .dims = source->rows > 1 ? 2 : 1,
        .shape = { turns ? source->columns : source->rows,
                   turns ? source->rows : source->columns },
    };
    if (tensor->dims == 1)
        tensor->shape[0] = source->columns;
    (void)snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    all->source[all->count++] = *source;
}

/* Lists the tensors in the order of the table of rows. */
static void
list(export_t *all)
{
    const skn_decoder_network_t *network = all->network;
    const skn_decoder_shape_t *shape = &network->decoder.shape;
    size_t width = shape->width;
    const float *at = network->trunk;
    char name[SKN_NAME_MAX + 1];
    export_tensor_t table = { network->embedding, network->ids, width, false };
    add(all, "model.embed_tokens.weight", &table);
    for (uint32_t layer = 0; layer <= shape->layers; layer++) {
        bool is_last = layer == shape->layers;
        int tensor = is_last ? SKN_DECODER_FINAL_GAIN : 0;
        int end = is_last ? SKN_DECODER_ALL : SKN_DECODER_TENSORS;
        for (; tensor < end; tensor++) {
            skn_decoder_tensor_t which = (skn_decoder_tensor_t)tensor;
            const export_tensor_t rows = {
                at, skn_decoder_rows(shape, which), width,
                skn_decoder_entry[which].is_transposed
            };
            skn_decoder_name(name, sizeof(name), layer, which);
            add(all, name, &rows);
            at += rows.rows * width;
        }
    }
    table.at = network->head;
    add(all, "lm_head.weight", &table);
}

/* --- model.safetensors ---------------------------------------------------- */

static skn_status_t
write_tensor(const export_t *all, size_t k, uint64_t first, skn_error_t *error)
{
    const export_tensor_t *source = &all->source[k];
    const float *at = source->at;
    if (source->is_transposed) {
        for (size_t i = 0; i < source->rows; i++)
            for (size_t j = 0; j < source->columns; j++)
                all->turned[j * source->rows + i] =
                    source->at[i * source->columns + j];
        at = all->turned;
    }
    return skn_file_write(all->file, all->model_path, at,
                          all->tensor[k].size_bytes,
                          first + all->tensor[k].offset_bytes, error);
}

static skn_status_t
write_model(export_t *all, skn_error_t *error)
{
    unsigned char *header = NULL;
    size_t header_bytes = 0;
    uint64_t data_bytes;
    skn_status_t status =
        skn_safetensors_place(all->tensor, all->count, &data_bytes, error);
    if (status == SKN_OK)
        status =
            skn_safetensors_header(all->tensor, all->count, SKN_SAFETENSORS_PT,
                                   8, &header, &header_bytes, error);
    if (status == SKN_OK)
        status = skn_file_write(all->file, all->model_path, header,
                                header_bytes, 0, error);
    for (size_t k = 0; k < all->count && status == SKN_OK; k++)
        status = write_tensor(all, k, header_bytes, error);
    free(header);
    if (status == SKN_OK && fsync(all->file) != 0)
        status = skn_fail_errno(error, SKN_STORAGE, all->model_path, NULL,
                                "cannot write");
    return status;
}

static skn_status_t
make_model(export_t *all, skn_error_t *error)
{
    const skn_decoder_shape_t *shape = &all->network->decoder.shape;
    size_t most = (size_t)shape->layers * SKN_DECODER_TENSORS + 3;
    all->tensor = calloc(most, sizeof(*all->tensor));
    all->source = calloc(most, sizeof(*all->source));
    all->turned =
        calloc((size_t)shape->inner * shape->width, sizeof(*all->turned));
    if (!all->tensor || !all->source || !all->turned)
        return skn_fail(error, SKN_NO_MEMORY, "no memory to export a model");
    list(all);
    all->file = openat(all->folder, FRESH MODEL,
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (all->file < 0)
        return skn_fail_errno(error, SKN_CANNOT_CREATE, all->model_path, NULL,
                              "cannot create");
    skn_status_t status = write_model(all, error);
    if (close(all->file) != 0 && status == SKN_OK)
        status = skn_fail_errno(error, SKN_STORAGE, all->model_path, NULL,
                                "cannot write");
    return status;
}

/* --- the other files ------------------------------------------------------ */

static skn_status_t
make_config(const export_t *all, skn_error_t *error)
{
    const skn_decoder_shape_t *shape = &all->network->decoder.shape;
    char text[1024];
    int bytes = skn_text_write(
        text, sizeof(text),
        "{\n"
        "  \"architectures\": [\"LlamaForCausalLM\"],\n"
        "  \"model_type\": \"llama\",\n"
        "  \"hidden_size\": %u,\n"
        "  \"intermediate_size\": %u,\n"
        "  \"num_hidden_layers\": %u,\n"
        "  \"num_attention_heads\": %u,\n"
        "  \"num_key_value_heads\": %u,\n"
        "  \"vocab_size\": %u,\n"
        "  \"max_position_embeddings\": %u,\n"
        "  \"rms_norm_eps\": %.7g,\n"
        "  \"rope_theta\": %.7g,\n"
        "  \"hidden_act\": \"silu\",\n"
        "  \"attention_bias\": false,\n"
        "  \"mlp_bias\": false,\n"
        "  \"tie_word_embeddings\": false,\n"
        "  \"bos_token_id\": %u,\n"
        "  \"eos_token_id\": %u,\n"
        "  \"torch_dtype\": \"float32\"\n"
        "}\n",
        shape->width, shape->inner, shape->layers, shape->heads, shape->heads,
        all->network->ids, shape->context, (double)shape->epsilon,
        (double)shape->rope_base, SKN_TOKEN_END, SKN_TOKEN_END);
    return skn_folder_write_file(all->folder, all->path, FRESH CONFIG, text,
                                 (size_t)bytes, error);
}

static skn_status_t
make_tokenizer(const export_t *all, const skn_tokenizer_t *tokenizer,
               skn_error_t *error)
{
    size_t bytes;
    char *form = skn_tokenizer_write(tokenizer, &bytes);
    if (!form)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a tokenizer");
    skn_status_t status = skn_folder_write_file(
        all->folder, all->path, FRESH TOKENIZER, form, bytes, error);
    free(form);
    return status;
}

/* --- the folder ----------------------------------------------------------- */

static skn_status_t
refuse_name(const export_t *all, const char *name, skn_error_t *error)
{
    (void)skn_fail(error, SKN_CANNOT_CREATE, "%.400s already has a file %s",
                   all->path, name);
    return skn_fail_hint(error, SKN_CANNOT_CREATE,
                         "choose another folder, or remove the file");
}

/* Before all the work is done. */
static skn_status_t
refuse_old(const export_t *all, skn_error_t *error)
{
    struct stat facts;
    for (size_t k = 0; k < NAME_COUNT; k++)
        if (fstatat(all->folder, names[k], &facts, AT_SYMLINK_NOFOLLOW) == 0)
            return refuse_name(all, names[k], error);
    return SKN_OK;
}

/* Removes what this export, or one that was killed, has not finished. */
static skn_status_t
discard(const export_t *all, skn_error_t *error)
{
    char fresh[sizeof(FRESH MODEL)];
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < NAME_COUNT && status == SKN_OK; k++) {
        (void)snprintf(fresh, sizeof(fresh), FRESH "%s", names[k]);
        status = skn_folder_remove(all->folder, all->path, fresh, error);
    }
    return status;
}

static skn_status_t
give_name(const export_t *all, const char *name, skn_error_t *error)
{
    char fresh[sizeof(FRESH MODEL)];
    bool taken = false;
    (void)snprintf(fresh, sizeof(fresh), FRESH "%s", name);
    skn_status_t status = skn_folder_name_file(all->folder, all->path, fresh,
                                               name, &taken, error);
    return taken ? refuse_name(all, name, error) : status;
}

static skn_status_t
publish(const export_t *all, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    size_t count = 0;
    while (count < NAME_COUNT && status == SKN_OK) {
        status = give_name(all, names[count], error);
        count += status == SKN_OK;
    }
    if (status == SKN_OK)
        status = skn_folder_sync(all->folder, all->path, error);
    while (status != SKN_OK && count-- > 0)
        (void)unlinkat(all->folder, names[count], 0);
    return status;
}

skn_status_t
skn_generator_export(const skn_generator_t *generator, const char *path,
                     skn_error_t *error)
{
    if (skn_generator_refuse_null("skn_generator_export", !generator || !path,
                                  error) != SKN_OK)
        return SKN_USAGE;
    export_t all = {
        .network = &generator->network, .folder = -1, .file = -1, .path = path
    };
    (void)snprintf(all.model_path, sizeof(all.model_path), "%s/" FRESH MODEL,
                   path);
    skn_status_t status = skn_folder_create(path, &all.folder, error);
    if (status == SKN_OK)
        status = refuse_old(&all, error);
    if (status == SKN_OK)
        status = discard(&all, error);
    if (status == SKN_OK)
        status = make_tokenizer(&all, generator->tokenizer, error);
    if (status == SKN_OK)
        status = make_config(&all, error);
    if (status == SKN_OK)
        status = make_model(&all, error);
    if (status == SKN_OK)
        status = publish(&all, error);
    if (all.folder >= 0) {
        (void)discard(&all, NULL);
        (void)close(all.folder);
    }
    free(all.tensor);
    free(all.source);
    free(all.turned);
    return status;
}
