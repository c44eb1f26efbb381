/* fuzz_tokenizer.c - feeds any bytes to the reader of a tokenizer's file, and
 * any bytes to be encoded to the tokenizer.
 *
 * The input is read as it is, and as the words behind a good first line, as an
 * attacker would write it. A tokenizer that is accepted must be written as it
 * was read, and give back every text, however it is divided.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/tokens/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
require(bool promise)
{
    if (!promise)
        __builtin_trap();
}

/* Encodes `text` in two parts, and decodes it. */
static void
round_trip(const skn_tokenizer_t *tokenizer, const char *text, size_t bytes)
{
    uint32_t *id = malloc((bytes + 1) * sizeof(*id));
    size_t used, rest, at = 0, some;
    if (!id)
        return;
    size_t count =
        skn_tokenizer_encode(tokenizer, text, bytes / 2, false, id, &used);
    count += skn_tokenizer_encode(tokenizer, text + used, bytes - used, true,
                                  id + count, &rest);
    require(used + rest == bytes && count <= bytes);
    for (size_t k = 0; k < count; k++) {
        const char *decoded = skn_tokenizer_text(tokenizer, id[k], &some);
        require(some > 0 && some <= bytes - at &&
                memcmp(decoded, text + at, some) == 0);
        at += some;
    }
    require(at == bytes);
    free(id);
}

static void
read_one(const char *file, size_t bytes, const char *text, size_t text_bytes)
{
    size_t again_bytes;
    skn_tokenizer_t *tokenizer = skn_tokenizer_read("fuzz", file, bytes, NULL);
    if (!tokenizer)
        return;
    char *again = skn_tokenizer_write(tokenizer, &again_bytes);
    require(!again ||
            (again_bytes == bytes && memcmp(again, file, bytes) == 0));
    round_trip(tokenizer, text, text_bytes);
    round_trip(tokenizer, file, bytes);
    free(again);
    skn_tokenizer_destroy(&tokenizer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char *file = malloc(count + 80);
    uint32_t ids = SKN_TOKEN_WORDS;
    if (!file)
        return 0;
    read_one((const char *)bytes, count, "", 0);
    for (size_t k = 0; k < count; k++)
        ids += bytes[k] == '\n';
    int first =
        snprintf(file, 80, "skein-tokenizer 1 words %u %016" PRIx64 "\n", ids,
                 (uint64_t)XXH3_64bits(bytes, count));
    memcpy(file + first, bytes, count);
    /* The words may occur in this text. */
    read_one(file, (size_t)first + count, (const char *)bytes, count);
    free(file);
    return 0;
}
