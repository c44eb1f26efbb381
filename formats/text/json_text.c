/* json_text.c - reads JSON strictly, and seals texts: it owns the seal's form.
 *
 * The reader is jansson, which keeps 64-bit integers and refuses duplicate
 * keys.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "formats/text/text.h"

#define SEAL_OPEN "\n,\"seal_xxh3_128\":\""
#define SEAL_CLOSE "\"}\n"
#define SEAL_OPEN_BYTES (sizeof(SEAL_OPEN) - 1)
#define SEAL_CLOSE_BYTES (sizeof(SEAL_CLOSE) - 1)
#define HASH_DIGITS (SKN_HASH_TEXT_BYTES - 1)
#define SEAL_BYTES (SEAL_OPEN_BYTES + HASH_DIGITS + SEAL_CLOSE_BYTES)

void
skn_hash_text(const void *bytes, size_t byte_count,
              char text[SKN_HASH_TEXT_BYTES])
{
    XXH128_hash_t hash = XXH3_128bits(bytes, byte_count);
    (void)snprintf(text, SKN_HASH_TEXT_BYTES, "%016llx%016llx",
                   (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
}

uint64_t
skn_hash_u64(const void *bytes, size_t byte_count)
{
    return XXH3_64bits(bytes, byte_count);
}

bool
skn_hash_text_good(const char *text)
{
    return strlen(text) == HASH_DIGITS &&
           strspn(text, "0123456789abcdef") == HASH_DIGITS;
}

skn_status_t
skn_json_text_seal(skn_json_text_t *text, skn_error_t *error)
{
    char hash[SKN_HASH_TEXT_BYTES];
    if (!text->failed) {
        skn_hash_text(text->bytes, text->count, hash);
        skn_json_text_add(text, "%s%s%s", SEAL_OPEN, hash, SEAL_CLOSE);
    }
    if (text->failed)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for a JSON text of %zu bytes", text->count);
    return SKN_OK;
}

skn_status_t
skn_json_check_seal(const char *path, const char *bytes, size_t byte_count,
                    skn_error_t *error)
{
    if (byte_count < SEAL_BYTES)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s is truncated: it has %zu bytes", path, byte_count);
    char want[SEAL_BYTES + 1], hash[SKN_HASH_TEXT_BYTES];
    size_t content_bytes = byte_count - SEAL_BYTES;
    skn_hash_text(bytes, content_bytes, hash);
    (void)snprintf(want, sizeof(want), "%s%s%s", SEAL_OPEN, hash, SEAL_CLOSE);
    if (memcmp(bytes + content_bytes, want, SEAL_BYTES) != 0)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: the text and its seal do not match", path);
    return SKN_OK;
}

void
skn_json_seal_text(const char *bytes, size_t byte_count,
                   char text[SKN_HASH_TEXT_BYTES])
{
    assert(byte_count >= SEAL_BYTES);
    size_t first = byte_count - SEAL_BYTES + strlen(SEAL_OPEN);
    memcpy(text, bytes + first, HASH_DIGITS);
    text[HASH_DIGITS] = '\0';
}

json_t *
skn_json_object_parse(const char *path, const char *bytes, size_t byte_count,
                      skn_error_t *error)
{
    json_error_t fault;
    locale_t before = skn_text_enter();
    errno = 0;
    json_t *root =
        json_loadb(bytes, byte_count, JSON_REJECT_DUPLICATES, &fault);
    skn_text_leave(before);
    /* Without memory at the start, the parser reports nothing at all; when it
     * runs out later, it reports an invalid token. */
    bool short_of_memory =
        !root && (fault.text[0] == '\0' || errno == ENOMEM ||
                  json_error_code(&fault) == json_error_out_of_memory);
    if (short_of_memory) {
        skn_fail(error, SKN_NO_MEMORY, "%s: no memory to read it", path);
        return NULL;
    }
    if (!root) {
        skn_fail(error, SKN_BAD_DATA, "%s:%d:%d: %s", path, fault.line,
                 fault.column, fault.text);
        return NULL;
    }
    if (!json_is_object(root)) {
        json_decref(root);
        skn_fail(error, SKN_BAD_DATA, "%s: an object is expected", path);
        return NULL;
    }
    return root;
}

char *
skn_json_write(const json_t *value, size_t flags)
{
    locale_t before = skn_text_enter();
    char *text = json_dumps(value, flags);
    skn_text_leave(before);
    return text;
}

json_t *
skn_json_read(const char *text)
{
    locale_t before = skn_text_enter();
    json_t *value = json_loads(text, 0, NULL);
    skn_text_leave(before);
    return value;
}
