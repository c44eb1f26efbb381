/* hash_simhash.c - the hash function of simhash: the side of a random plane on
 * which a vector is.
 *
 * P[two vectors collide] = 1 - angle / pi (Charikar 2002). A plane uses a third
 * of the coordinates, with signs (sparse projections, Li et al. 2006, as in
 * SLIDE). They are stored as dense rows of 1, -1 and 0 nevertheless: one
 * blocked product for a batch of vectors is faster than picking the coordinates
 * of each. The side does not change with a vector's length, so nothing needs to
 * be normalised. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/samplers/hash.h"
#include "actors/protocol/workspace.h"
#include "kernels/philox.h"

/* Fills function i: a random third of the coordinates (the first of a shuffle
 * of Fisher & Yates), each with a random sign. */
static void
fill_direction(const skn_hash_t *hash, uint32_t i, uint32_t *shuffle)
{
    float *direction = hash->direction + i * hash->direction_stride;
    uint32_t columns = hash->columns, chosen = (columns + 2) / 3;
    memset(direction, 0, hash->direction_stride * sizeof(float));
    for (uint32_t k = 0; k < columns; k++)
        shuffle[k] = k;
    for (uint32_t k = 0; k < chosen; k++) {
        uint32_t other = k + skn_philox_below(hash->key, i, 2 * k, columns - k);
        uint32_t coordinate = shuffle[other];
        shuffle[other] = shuffle[k];
        direction[coordinate] =
            skn_philox_below(hash->key, i, 2 * k + 1, 2) ? 1.0f : -1.0f;
    }
}

static skn_status_t
simhash_open(skn_hash_t *hash, skn_error_t *error)
{
    uint32_t *shuffle = malloc(hash->columns * sizeof(*shuffle));
    hash->direction_stride = skn_stride_floats(hash->columns);
    hash->direction =
        skn_floats_new(hash->code_count * hash->direction_stride, error);
    hash->product =
        skn_floats_new((size_t)SKN_HASH_ROWS * hash->code_count, error);
    hash->gemm =
        skn_floats_new(hash->kernels->gemm_scratch_bytes(
                           SKN_HASH_ROWS, hash->code_count, hash->columns) /
                               sizeof(float) +
                           1,
                       error);
    if (!shuffle || !hash->direction || !hash->product || !hash->gemm) {
        free(shuffle);
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u hash functions",
                        hash->code_count);
    }
    for (uint32_t i = 0; i < hash->code_count; i++)
        fill_direction(hash, i, shuffle);
    free(shuffle);
    return SKN_OK;
}

static void
simhash_codes(skn_hash_t *hash, const skn_matrix_t *x, uint32_t count)
{
    size_t total = (size_t)count * hash->code_count;
    skn_gemm_t job = {
        .m = count,
        .n = hash->code_count,
        .k = hash->columns,
        .a = *x,
        .b = { .at = hash->direction,
               .row_stride = 1,
               .column_stride = hash->direction_stride },
        .c = hash->product,
        .c_stride = hash->code_count,
    };
    hash->kernels->gemm(&job, hash->gemm);
    for (size_t k = 0; k < total; k++) /* NaN is not below 0 */
        hash->code[k] = hash->product[k] < 0.0f;
}

const skn_hash_family_t skn_hash_simhash = {
    .name = "simhash",
    .code_bits = SKN_HASH_SIMHASH_BITS,
    .functions_default = 9,
    .open = simhash_open,
    .codes = simhash_codes,
};
