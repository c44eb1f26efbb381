/* manifest.c - writes and parses manifest.json, the list of a checkpoint.
 *
 * This file owns: the JSON of the manifest.
 * Not here: whether the pieces fit together (piece.c), files (checkpoint.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/manifest.h"

#include "formats/folder/folder.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_FORMAT "skein-checkpoint"
#define MANIFEST_VERSION 1u

static void
print_shape(skn_json_text_t *text, const char *key, uint32_t dims,
            uint64_t rows, uint64_t columns)
{
    skn_json_text_add(text, ",\"%s\":[%" PRIu64, key, rows);
    if (dims == 2)
        skn_json_text_add(text, ",%" PRIu64, columns);
    skn_json_text_add(text, "]");
}

static void
print_piece(skn_json_text_t *text, const skn_manifest_piece_t *entry)
{
    const skn_piece_t *piece = &entry->piece;
    skn_json_text_add(text, "{\"name\":\"%s\",\"dtype\":\"%s\"", piece->name,
                      skn_dtype_name(piece->dtype));
    print_shape(text, "shape", piece->dims, piece->rows, piece->columns);
    print_shape(text, "global_shape", piece->dims, piece->global_rows,
                piece->global_columns);
    print_shape(text, "first", piece->dims, piece->row_first,
                piece->column_first);
    skn_json_text_add(text, ",\"offset\":%" PRIu64 ",\"xxh3_128\":\"%s\"}",
                      entry->offset_bytes, entry->hash);
}

void
skn_manifest_print(const skn_manifest_t *manifest, skn_json_text_t *text)
{
    skn_json_text_add(text,
                      "{\"format\":\"" MANIFEST_FORMAT "\",\"version\":%u,\n"
                      "\"run\":\"%s\",\"batch\":%" PRIu64 ",\n\"metadata\":",
                      MANIFEST_VERSION, manifest->run_id, manifest->batch);
    skn_json_text_add_string(text, manifest->metadata);
    skn_json_text_add(text, ",\n\"files\":[");
    for (size_t i = 0; i < manifest->file_count; i++) {
        const skn_manifest_file_t *file = &manifest->file[i];
        skn_json_text_add(text,
                          "%s\n{\"name\":\"%s\",\"bytes\":%" PRIu64
                          ",\"header_bytes\":%" PRIu64
                          ",\"header_xxh3_128\":\"%s\",\"tensors\":[",
                          i ? "," : "", file->name, file->bytes,
                          file->header_bytes, file->header_hash);
        for (size_t k = 0; k < file->piece_count; k++) {
            skn_json_text_add(text, k ? ",\n" : "\n");
            print_piece(text, &manifest->piece[file->piece_first + k]);
        }
        skn_json_text_add(text, "]}");
    }
    skn_json_text_add(text, "]");
}

/* Reads an array of `dims` numbers; *columns is 1 if there is one dimension. */
static bool
read_shape(const json_t *object, const char *key, uint32_t dims, uint64_t *rows,
           uint64_t *columns, uint64_t columns_missing)
{
    const json_t *array = json_object_get(object, key);
    uint64_t number[2] = { 0, columns_missing };
    if (!json_is_array(array) || json_array_size(array) != dims)
        return false;
    for (uint32_t k = 0; k < dims; k++) {
        const json_t *item = json_array_get(array, k);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return false;
        number[k] = (uint64_t)json_integer_value(item);
    }
    *rows = number[0];
    *columns = number[1];
    return true;
}

static bool
read_hash(const json_t *object, const char *key, char hash[SKN_HASH_TEXT_BYTES])
{
    const char *text = skn_json_string(object, key);
    if (!text || !skn_hash_text_good(text))
        return false;
    memcpy(hash, text, SKN_HASH_TEXT_BYTES);
    return true;
}

static bool
read_name(const json_t *object, char name[SKN_NAME_MAX + 1])
{
    const char *text = skn_json_string(object, "name");
    if (!text || !skn_file_name_good(text))
        return false;
    memcpy(name, text, strlen(text) + 1);
    return true;
}

/* Reads one tensor of a file; false when a part is missing or malformed. */
static bool
read_piece(const json_t *object, skn_manifest_piece_t *entry)
{
    skn_piece_t *piece = &entry->piece;
    const char *dtype = skn_json_string(object, "dtype");
    size_t dims = json_array_size(json_object_get(object, "shape"));
    if (json_object_size(object) != 7 || dims < 1 || dims > 2)
        return false;
    piece->dims = (uint32_t)dims;
    return read_name(object, piece->name) && dtype &&
           skn_dtype_find(dtype, &piece->dtype) &&
           read_shape(object, "shape", piece->dims, &piece->rows,
                      &piece->columns, 1) &&
           read_shape(object, "global_shape", piece->dims, &piece->global_rows,
                      &piece->global_columns, 1) &&
           read_shape(object, "first", piece->dims, &piece->row_first,
                      &piece->column_first, 0) &&
           skn_json_u64(object, "offset", &entry->offset_bytes) &&
           read_hash(object, "xxh3_128", entry->hash);
}

/* Checks a piece, and that it is within its file. */
static skn_status_t
check_piece(const char *path, const skn_manifest_file_t *file,
            skn_manifest_piece_t *entry, skn_error_t *error)
{
    skn_error_t fault;
    skn_status_t status = skn_piece_check(&entry->piece, &fault);
    if (status != SKN_OK)
        return skn_fail(error, status, "%s: file %s: %s", path, file->name,
                        fault.text);
    skn_safetensor_t tensor = skn_piece_tensor(&entry->piece);
    (void)skn_safetensor_size(&tensor, &entry->size_bytes, NULL);
    if (entry->offset_bytes < file->header_bytes ||
        entry->offset_bytes > file->bytes ||
        entry->size_bytes > file->bytes - entry->offset_bytes)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: file %s: tensor %s is outside of it", path,
                        file->name, tensor.name);
    return SKN_OK;
}

/* Reads entry `index` of the files, including its pieces. */
static skn_status_t
read_file(const char *path, const json_t *object, uint32_t index,
          skn_manifest_t *manifest, skn_error_t *error)
{
    skn_manifest_file_t *file = &manifest->file[index];
    const json_t *tensors = json_object_get(object, "tensors");
    if (json_object_size(object) != 5 || !read_name(object, file->name) ||
        !skn_json_u64(object, "bytes", &file->bytes) ||
        !skn_json_u64(object, "header_bytes", &file->header_bytes) ||
        !read_hash(object, "header_xxh3_128", file->header_hash) ||
        !json_is_array(tensors) || file->header_bytes > file->bytes)
        return skn_fail(error, SKN_BAD_DATA, "%s: file %u is malformed", path,
                        index);
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(manifest->file[i].name, file->name) == 0)
            return skn_fail(error, SKN_BAD_DATA, "%s: file %s is listed twice",
                            path, file->name);
    file->piece_first = manifest->piece_count;
    file->piece_count = json_array_size(tensors);
    for (size_t k = 0; k < file->piece_count; k++) {
        skn_manifest_piece_t *entry = &manifest->piece[manifest->piece_count];
        if (!read_piece(json_array_get(tensors, k), entry))
            return skn_fail(error, SKN_BAD_DATA,
                            "%s: file %s: tensor %zu is malformed", path,
                            file->name, k);
        entry->file = index;
        skn_status_t status = check_piece(path, file, entry, error);
        if (status != SKN_OK)
            return status;
        manifest->piece_count++;
    }
    return SKN_OK;
}

/* Reads the part before the files. */
static skn_status_t
read_head(const char *path, const json_t *root, skn_manifest_t *manifest,
          skn_error_t *error)
{
    uint64_t version;
    const char *format = skn_json_string(root, "format");
    if (!format || strcmp(format, MANIFEST_FORMAT) != 0 ||
        !skn_json_u64(root, "version", &version))
        return skn_fail(error, SKN_BAD_DATA, "%s: no " MANIFEST_FORMAT, path);
    if (version != MANIFEST_VERSION)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: version %" PRIu64 " is not supported, only %u is",
                        path, version, MANIFEST_VERSION);
    const char *metadata = skn_json_string(root, "metadata");
    if (!read_hash(root, "run", manifest->run_id) || !metadata ||
        !skn_json_u64(root, "batch", &manifest->batch) ||
        manifest->batch > SKN_CHECKPOINT_BATCH_MAX ||
        !json_is_array(json_object_get(root, "files")))
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: run, batch, metadata or files is malformed", path);
    manifest->metadata = strdup(metadata);
    if (!manifest->metadata)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for it", path);
    return SKN_OK;
}

static skn_status_t
read_files(const char *path, const json_t *files, skn_manifest_t *manifest,
           skn_error_t *error)
{
    size_t pieces = 0;
    manifest->file_count = json_array_size(files);
    for (size_t i = 0; i < manifest->file_count; i++)
        pieces += json_array_size(
            json_object_get(json_array_get(files, i), "tensors"));
    if (manifest->file_count > SKN_CHECKPOINT_FILES_MAX ||
        pieces > SKN_SAFETENSORS_COUNT_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %zu files and %zu tensors, at most %u and %u "
                        "allowed",
                        path, manifest->file_count, pieces,
                        SKN_CHECKPOINT_FILES_MAX, SKN_SAFETENSORS_COUNT_MAX);
    manifest->file = calloc(manifest->file_count + 1, sizeof(*manifest->file));
    manifest->piece = calloc(pieces + 1, sizeof(*manifest->piece));
    if (!manifest->file || !manifest->piece)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for %zu tensors",
                        path, pieces);
    skn_status_t status = SKN_OK;
    for (size_t i = 0; i < manifest->file_count && status == SKN_OK; i++)
        status = read_file(path, json_array_get(files, i), (uint32_t)i,
                           manifest, error);
    assert(status != SKN_OK || manifest->piece_count == pieces);
    return status;
}

skn_status_t
skn_manifest_parse_part(const char *path, const char *bytes, size_t byte_count,
                        skn_manifest_t *manifest, skn_error_t *error)
{
    *manifest = (skn_manifest_t){ 0 };
    json_t *root = skn_json_object_parse(path, bytes, byte_count, error);
    if (!root)
        return SKN_BAD_DATA;
    skn_status_t status = read_head(path, root, manifest, error);
    if (status == SKN_OK)
        status =
            read_files(path, json_object_get(root, "files"), manifest, error);
    json_decref(root);
    if (status != SKN_OK)
        skn_manifest_fini(manifest);
    return status;
}

skn_status_t
skn_manifest_parse(const char *path, const char *bytes, size_t byte_count,
                   skn_manifest_t *manifest, skn_error_t *error)
{
    size_t *order = NULL;
    skn_status_t status =
        skn_manifest_parse_part(path, bytes, byte_count, manifest, error);
    if (status != SKN_OK)
        return status;
    if (!(order = skn_manifest_order(manifest, error)))
        status = SKN_NO_MEMORY;
    if (status == SKN_OK)
        status = skn_manifest_check_cover(path, manifest, order, error);
    free(order);
    if (status != SKN_OK)
        skn_manifest_fini(manifest);
    return status;
}

void
skn_manifest_fini(skn_manifest_t *manifest)
{
    free(manifest->metadata);
    free(manifest->file);
    free(manifest->piece);
    *manifest = (skn_manifest_t){ 0 };
}
