/* walk.c - bounds the size and depth of msgpack before it is parsed.
 *
 * This file owns: the rules for a header of any schema. The format is that of
 * the msgpack specification (msgpack.org, "formats"); the limits are those that
 * keep msgpack-c's memory below 24 bytes a value.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/message/walk.h"

#include <stdbool.h>
#include <stdint.h>

#include "skein/limits.h"

/* A token at the cursor: `length_bytes` of big-endian length (or count) after
 * the first byte, then `skip_bytes` of value, or `children` values. */
typedef struct token {
    bool container, allowed, extension;
    uint8_t length_bytes;
    uint8_t unit; /* children, or bytes, for each step of the length */
    uint64_t skip_bytes, children;
} token_t;

#define VALUE(bytes)                                                           \
    {                                                                          \
        .allowed = true, .skip_bytes = (bytes)                                 \
    }
#define SIZED(width)                                                           \
    {                                                                          \
        .allowed = true, .length_bytes = (width), .unit = 1                    \
    }
#define NEST(width, each)                                                      \
    {                                                                          \
        .allowed = true, .container = true, .length_bytes = (width),           \
        .unit = (each)                                                         \
    }
#define EXTENSION                                                              \
    {                                                                          \
        .extension = true                                                      \
    }

/* The first bytes 0xc0 to 0xdf, in the order of the specification. */
static const token_t tokens[32] = {
    VALUE(0),   { 0 },      VALUE(0),  VALUE(0),  SIZED(1),   SIZED(2),
    SIZED(4),   EXTENSION,  EXTENSION, EXTENSION, VALUE(4),   VALUE(8),
    VALUE(1),   VALUE(2),   VALUE(4),  VALUE(8),  VALUE(1),   VALUE(2),
    VALUE(4),   VALUE(8),   EXTENSION, EXTENSION, EXTENSION,  EXTENSION,
    EXTENSION,  SIZED(1),   SIZED(2),  SIZED(4),  NEST(2, 1), NEST(4, 1),
    NEST(2, 2), NEST(4, 2),
};

/* The token that `first` opens, its length not yet read. */
static token_t
token_of(uint8_t first)
{
    token_t token = VALUE(0); /* small numbers, positive or negative */
    if (first >= 0x80 && first <= 0x9f) {
        token.container = true;
        token.children = (uint64_t)(first & 0x0f) * (first < 0x90 ? 2 : 1);
    } else if (first >= 0xa0 && first <= 0xbf) {
        token.skip_bytes = first & 0x1f;
    } else if (first >= 0xc0 && first <= 0xdf) {
        token = tokens[first - 0xc0];
    }
    return token;
}

/* Reads one token at *offset and moves past it and its own bytes. */
static skn_status_t
read_token(const uint8_t *bytes, size_t byte_count, size_t *offset,
           token_t *token, skn_error_t *error)
{
    size_t start = *offset;
    if (start >= byte_count)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "header: truncated after %zu bytes", byte_count);
    *token = token_of(bytes[start]);
    if (token->extension)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "header byte %zu: extension types are not allowed",
                        start);
    if (!token->allowed)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "header byte %zu: 0x%02x is not valid msgpack", start,
                        bytes[start]);
    size_t at = start + 1;
    if (token->length_bytes > byte_count - at)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "header: truncated after %zu bytes", byte_count);
    uint64_t length = 0;
    for (uint8_t k = 0; k < token->length_bytes; k++)
        length = length << 8 | bytes[at++];
    if (token->container)
        token->children += length * token->unit;
    else
        token->skip_bytes += length * token->unit;
    uint64_t needed = token->container ? token->children : token->skip_bytes;
    if (needed > byte_count - at)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "header byte %zu: %llu %s announced, %zu bytes left",
                        start, (unsigned long long)needed,
                        token->container ? "values" : "bytes", byte_count - at);
    *offset = at + (size_t)token->skip_bytes;
    return SKN_OK;
}

skn_status_t
skn_walk_check(const void *header, size_t byte_count, skn_error_t *error)
{
    const uint8_t *bytes = header;
    uint64_t left[SKN_HEADER_DEPTH_MAX]; /* values that remain, at each level */
    uint32_t depth = 0, node_count = 0;
    size_t offset = 0;
    if (byte_count > SKN_HEADER_BYTES_MAX)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "header: %zu bytes, at most %u allowed", byte_count,
                        SKN_HEADER_BYTES_MAX);
    do {
        token_t token = { 0 };
        size_t start = offset;
        skn_status_t status =
            read_token(bytes, byte_count, &offset, &token, error);
        if (status != SKN_OK)
            return status;
        if (++node_count > SKN_HEADER_NODES_MAX)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "header byte %zu: more than %u values", start,
                            SKN_HEADER_NODES_MAX);
        if (token.container) {
            if (depth == SKN_HEADER_DEPTH_MAX)
                return skn_fail(error, SKN_BAD_MESSAGE,
                                "header byte %zu: nested deeper than %u", start,
                                SKN_HEADER_DEPTH_MAX);
            left[depth++] = token.children + 1; /* plus itself, below */
        }
        /* One value is complete, and perhaps the containers around it. */
        while (depth > 0 && --left[depth - 1] == 0)
            depth--;
    } while (depth > 0);
    if (offset != byte_count)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "header: %zu bytes after its end", byte_count - offset);
    return SKN_OK;
}
