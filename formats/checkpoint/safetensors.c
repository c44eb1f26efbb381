/* safetensors.c - encodes and parses headers of safetensors files, without I/O.
 *
 * This file owns: the order of tensors in a file, and every check of a header.
 * Not here: files (checkpoint_writer.c, checkpoint.c), hashes (manifest.c).
 * Format: Hugging Face, safetensors 0.4, README "Format".
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/safetensors.h"

#include "formats/text/json_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensors are stored as they are in memory: little-endian");

static const struct {
    const char *name;
    size_t bytes;
} dtypes[SKN_DTYPE_COUNT] = {
    [SKN_DTYPE_F32] = { "F32", 4 }, [SKN_DTYPE_BF16] = { "BF16", 2 },
    [SKN_DTYPE_U32] = { "U32", 4 }, [SKN_DTYPE_U64] = { "U64", 8 },
    [SKN_DTYPE_I8] = { "I8", 1 },   [SKN_DTYPE_U8] = { "U8", 1 },
};

size_t
skn_dtype_bytes(skn_dtype_t dtype)
{
    return (unsigned)dtype < SKN_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

const char *
skn_dtype_name(skn_dtype_t dtype)
{
    return (unsigned)dtype < SKN_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

bool
skn_dtype_find(const char *name, skn_dtype_t *dtype)
{
    for (unsigned i = 0; i < SKN_DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype = (skn_dtype_t)i;
            return true;
        }
    return false;
}

skn_status_t
skn_safetensor_size(const skn_safetensor_t *tensor, uint64_t *size_bytes,
                    skn_error_t *error)
{
    uint64_t bytes = skn_dtype_bytes(tensor->dtype);
    if (bytes == 0 || tensor->dims > SKN_SAFETENSORS_DIMS_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "tensor %s: dtype %d with %u dimensions is not "
                        "supported",
                        tensor->name, (int)tensor->dtype, tensor->dims);
    for (uint32_t k = 0; k < tensor->dims; k++)
        if (__builtin_mul_overflow(bytes, tensor->shape[k], &bytes) ||
            bytes > INT64_MAX)
            return skn_fail(error, SKN_BAD_DATA,
                            "tensor %s: its shape has more than 2^63 bytes",
                            tensor->name);
    *size_bytes = bytes;
    return SKN_OK;
}

skn_status_t
skn_safetensors_place(skn_safetensor_t *tensor, size_t count,
                      uint64_t *data_bytes, skn_error_t *error)
{
    uint64_t end = 0;
    /* Wide elements first: a multiple of 8, of 4, of 2 follow each other, so
     * every tensor starts at a multiple of its element. */
    for (size_t bytes = 8; bytes > 0; bytes /= 2)
        for (size_t i = 0; i < count; i++) {
            skn_status_t status =
                skn_safetensor_size(&tensor[i], &tensor[i].size_bytes, error);
            if (status != SKN_OK)
                return status;
            if (skn_dtype_bytes(tensor[i].dtype) != bytes)
                continue;
            tensor[i].offset_bytes = end;
            end += tensor[i].size_bytes; /* 2^63 + 2^63 fits, then stop */
            if (end > INT64_MAX)
                return skn_fail(error, SKN_BAD_DATA,
                                "tensor %s: the file has more than 2^63 bytes",
                                tensor[i].name);
        }
    *data_bytes = end;
    return SKN_OK;
}

static int
by_offset(const void *left, const void *right)
{
    const skn_safetensor_t *a = left, *b = right;
    if (a->offset_bytes != b->offset_bytes)
        return a->offset_bytes < b->offset_bytes ? -1 : 1;
    /* Empty tensors come before the one that starts at the same offset. */
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void
add_tensor(skn_json_text_t *text, const skn_safetensor_t *tensor)
{
    skn_json_text_add(text, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                      tensor->name, skn_dtype_name(tensor->dtype));
    for (uint32_t k = 0; k < tensor->dims; k++)
        skn_json_text_add(text, "%s%" PRIu64, k ? "," : "", tensor->shape[k]);
    skn_json_text_add(text, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                      tensor->offset_bytes,
                      tensor->offset_bytes + tensor->size_bytes);
}

/* Names are printed as they are: they must need no escape. */
static skn_status_t
check_name(const char *name, skn_error_t *error)
{
    if (!*name)
        return skn_fail(error, SKN_BAD_DATA, "a tensor has no name");
    for (const char *c = name; *c; c++)
        if (*c < 0x20 || *c > 0x7e || *c == '"' || *c == '\\')
            return skn_fail(error, SKN_BAD_DATA,
                            "byte %d of a tensor's name is 0x%02x",
                            (int)(c - name), (unsigned char)*c);
    return SKN_OK;
}

skn_status_t
skn_safetensors_header(const skn_safetensor_t *tensor, size_t count,
                       const char *metadata, size_t align,
                       unsigned char **header, size_t *header_bytes,
                       skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_status_t status = SKN_OK;
    /* Eight bytes that the length replaces below. */
    skn_json_text_add(&text, "length..{\"__metadata__\":{%s}", metadata);
    for (size_t i = 0; i < count; i++) {
        status = check_name(tensor[i].name, error);
        if (status != SKN_OK)
            goto done;
        add_tensor(&text, &tensor[i]);
    }
    skn_json_text_add(&text, "}");
    while (!text.failed && text.count % align != 0)
        skn_json_text_add(&text, " ");
    if (text.failed) {
        status = skn_fail(error, SKN_NO_MEMORY,
                          "no memory for a header of %zu tensors", count);
        goto done;
    }
    uint64_t length = text.count - SKN_SAFETENSORS_LENGTH_BYTES;
    if (length > SKN_SAFETENSORS_HEADER_BYTES_MAX ||
        count > SKN_SAFETENSORS_COUNT_MAX) {
        status = skn_fail(error, SKN_BAD_DATA,
                          "a header of %zu tensors and %" PRIu64 " bytes is "
                          "too long, at most %u and %u allowed",
                          count, length, SKN_SAFETENSORS_COUNT_MAX,
                          SKN_SAFETENSORS_HEADER_BYTES_MAX);
        goto done;
    }
    memcpy(text.bytes, &length, sizeof(length));
    *header = (unsigned char *)text.bytes;
    *header_bytes = text.count;
    return SKN_OK;
done:
    skn_json_text_fini(&text);
    return status;
}

skn_status_t
skn_safetensors_length(const char *path, const unsigned char first[8],
                       uint64_t file_bytes, uint64_t *length_bytes,
                       skn_error_t *error)
{
    uint64_t length;
    memcpy(&length, first, sizeof(length));
    if (length > SKN_SAFETENSORS_HEADER_BYTES_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: the header has %" PRIu64 " bytes, at most %u "
                        "allowed",
                        path, length, SKN_SAFETENSORS_HEADER_BYTES_MAX);
    if (file_bytes < SKN_SAFETENSORS_LENGTH_BYTES ||
        length > file_bytes - SKN_SAFETENSORS_LENGTH_BYTES)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: a header of %" PRIu64 " bytes in a file of "
                        "%" PRIu64,
                        path, length, file_bytes);
    *length_bytes = length;
    return SKN_OK;
}

/* Reads an array of at most `max` integers from 0 up; false for anything
 * else. */
static bool
read_numbers(const json_t *array, uint64_t *number, size_t max, size_t *count)
{
    if (!json_is_array(array) || json_array_size(array) > max)
        return false;
    *count = json_array_size(array);
    for (size_t k = 0; k < *count; k++) {
        const json_t *item = json_array_get(array, k);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return false;
        number[k] = (uint64_t)json_integer_value(item);
    }
    return true;
}

/* Reads one entry of the header. `name` is printed only once it is checked: it
 * could contain commands for the terminal. */
static skn_status_t
read_tensor(const char *path, const char *name, const json_t *entry,
            skn_safetensor_t *tensor, skn_error_t *error)
{
    uint64_t offset[2];
    size_t dims, offset_count;
    if (!*name || strlen(name) > SKN_SAFETENSORS_NAME_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: a tensor's name has %zu bytes, 1 to %u allowed",
                        path, strlen(name), SKN_SAFETENSORS_NAME_MAX);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return skn_fail(error, SKN_BAD_DATA,
                            "%s: byte %d of a tensor's name is 0x%02x", path,
                            (int)(c - name), (unsigned char)*c);
    (void)snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    const char *dtype = skn_json_string(entry, "dtype");
    if (json_object_size(entry) != 3 || !dtype ||
        !read_numbers(json_object_get(entry, "shape"), tensor->shape,
                      SKN_SAFETENSORS_DIMS_MAX, &dims) ||
        !read_numbers(json_object_get(entry, "data_offsets"), offset, 2,
                      &offset_count) ||
        offset_count != 2)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: tensor %s: dtype, shape (at most %u numbers) and "
                        "data_offsets (2) are expected",
                        path, name, SKN_SAFETENSORS_DIMS_MAX);
    if (!skn_dtype_find(dtype, &tensor->dtype))
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: tensor %s: its dtype is not one of F32, BF16, "
                        "U32, U64, I8, U8",
                        path, name);
    tensor->dims = (uint32_t)dims;
    skn_error_t fault;
    if (skn_safetensor_size(tensor, &tensor->size_bytes, &fault) != SKN_OK)
        return skn_fail(error, SKN_BAD_DATA, "%s: %s", path, fault.text);
    tensor->offset_bytes = offset[0];
    if (offset[1] < offset[0] || offset[1] - offset[0] != tensor->size_bytes)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: tensor %s: offsets %" PRIu64 " to %" PRIu64
                        " for %" PRIu64 " bytes",
                        path, name, offset[0], offset[1], tensor->size_bytes);
    return SKN_OK;
}

/* Checks that the sorted tensors fill `data_bytes` exactly. */
static skn_status_t
check_offsets(const char *path, const skn_safetensors_t *tensors,
              uint64_t data_bytes, skn_error_t *error)
{
    uint64_t end = 0;
    for (size_t i = 0; i < tensors->count; i++) {
        const skn_safetensor_t *tensor = &tensors->tensor[i];
        if (tensor->offset_bytes != end)
            return skn_fail(error, SKN_BAD_DATA,
                            "%s: tensor %s starts at %" PRIu64 ", but the one "
                            "before ends at %" PRIu64,
                            path, tensor->name, tensor->offset_bytes, end);
        end += tensor->size_bytes; /* both at most 2^63 - 1 */
        if (end > data_bytes)
            break;
    }
    if (end != data_bytes)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: the tensors end at %" PRIu64
                        ", but the data at %" PRIu64,
                        path, end, data_bytes);
    return SKN_OK;
}

static skn_status_t
read_tensors(const char *path, json_t *root, skn_safetensors_t *tensors,
             skn_error_t *error)
{
    size_t count = json_object_size(root);
    if (count > SKN_SAFETENSORS_COUNT_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %zu tensors, at most %u allowed", path, count,
                        SKN_SAFETENSORS_COUNT_MAX);
    tensors->tensor = calloc(count ? count : 1, sizeof(*tensors->tensor));
    if (!tensors->tensor)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for %zu tensors",
                        path, count);
    const char *name;
    json_t *entry;
    json_object_foreach(root, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        skn_status_t status = read_tensor(
            path, name, entry, &tensors->tensor[tensors->count], error);
        if (status != SKN_OK)
            return status;
        tensors->count++;
    }
    qsort(tensors->tensor, tensors->count, sizeof(*tensors->tensor), by_offset);
    return SKN_OK;
}

skn_status_t
skn_safetensors_parse(const char *path, const unsigned char *bytes,
                      size_t byte_count, uint64_t file_bytes,
                      skn_safetensors_t *tensors, skn_error_t *error)
{
    uint64_t length = 0;
    *tensors = (skn_safetensors_t){ 0 };
    if (byte_count < SKN_SAFETENSORS_LENGTH_BYTES)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %zu bytes are too few for a header", path,
                        byte_count);
    skn_status_t status =
        skn_safetensors_length(path, bytes, file_bytes, &length, error);
    if (status != SKN_OK)
        return status;
    if (length > byte_count - SKN_SAFETENSORS_LENGTH_BYTES)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %zu bytes of a header of %" PRIu64, path,
                        byte_count - SKN_SAFETENSORS_LENGTH_BYTES, length);
    const char *json = (const char *)bytes + SKN_SAFETENSORS_LENGTH_BYTES;
    json_t *root = skn_json_object_parse(path, json, (size_t)length, error);
    if (!root)
        return SKN_BAD_DATA;
    tensors->header_bytes = SKN_SAFETENSORS_LENGTH_BYTES + length;
    status = read_tensors(path, root, tensors, error);
    if (status == SKN_OK)
        status = check_offsets(path, tensors,
                               file_bytes - tensors->header_bytes, error);
    json_decref(root);
    if (status != SKN_OK)
        skn_safetensors_fini(tensors);
    return status;
}

void
skn_safetensors_fini(skn_safetensors_t *tensors)
{
    free(tensors->tensor);
    *tensors = (skn_safetensors_t){ 0 };
}
