/* hash.c - combines the codes of hash functions into keys.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/hash.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/draws.h"
#include "actors/protocol/workspace.h"

/* Tables of a sampler without the option `tables`. */
#define TABLES_DEFAULT 50

skn_status_t
skn_hash_init(skn_hash_t *hash, const skn_hash_family_t *family,
              const skn_sampler_options_t *options, skn_error_t *error)
{
    memset(hash, 0, sizeof(*hash));
    hash->family = family;
    hash->kernels = options->kernels;
    /* No batch has this number. */
    hash->key = skn_draw_key(options->seed, SKN_DRAW_HASH, UINT64_MAX);
    hash->tables = options->tables ? options->tables : TABLES_DEFAULT;
    hash->functions = options->bits ? options->bits : family->functions_default;
    hash->code_count = hash->tables * hash->functions;
    hash->key_bits = hash->functions * family->code_bits;
    hash->columns = options->hidden + 1;
    if (hash->key_bits > SKN_KEY_BITS_MAX) {
        skn_status_t status = skn_fail(
            error, SKN_BAD_CONFIG,
            "%s: %u functions of %u bits make keys of %u bits, at most %u "
            "allowed",
            family->name, hash->functions, family->code_bits, hash->key_bits,
            SKN_KEY_BITS_MAX);
        return skn_fail_hint(error, status,
                             "use at most %u functions per table",
                             SKN_KEY_BITS_MAX / family->code_bits);
    }
    hash->code = malloc((size_t)SKN_HASH_ROWS * hash->code_count);
    if (!hash->code)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u hash functions",
                        hash->code_count);
    return family->open(hash, error);
}

void
skn_hash_fini(skn_hash_t *hash)
{
    free(hash->code);
    free(hash->direction);
    free(hash->product);
    free(hash->gemm);
    free(hash->coordinate);
    free(hash->place);
    memset(hash, 0, sizeof(*hash));
}

/* Returns the vectors [first, ..) of x. */
static skn_matrix_t
part_of(const skn_matrix_t *x, uint32_t first)
{
    skn_matrix_t part = *x;
    if (x->row_index)
        part.row_index += first;
    else
        part.at += first * x->row_stride;
    return part;
}

void
skn_hash_keys(skn_hash_t *hash, const skn_matrix_t *x, uint32_t count,
              uint32_t *key)
{
    uint32_t bits = hash->family->code_bits;
    for (uint32_t first = 0; first < count; first += SKN_HASH_ROWS) {
        skn_matrix_t part = part_of(x, first);
        uint32_t rows =
            count - first < SKN_HASH_ROWS ? count - first : SKN_HASH_ROWS;
        hash->family->codes(hash, &part, rows);
        const uint8_t *code = hash->code;
        for (size_t k = 0; k < (size_t)rows * hash->tables; k++) {
            uint32_t whole = 0;
            for (uint32_t f = 0; f < hash->functions; f++)
                whole = whole << bits | *code++;
            key[(size_t)first * hash->tables + k] = whole;
        }
    }
}
