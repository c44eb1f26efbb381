/* hash_dwta.c - the hash function of dwta: the position of the greatest of 8
 * coordinates (densified winner takes all: Yagnik et al. 2011; Chen &
 * Shrivastava 2018).
 *
 * Permutations of the coordinates are cut into bins of 8. The code of a bin is
 * the position, 0 to 7, of its greatest coordinate that is not zero: three
 * bits, and three bits wide in the key (SLIDE's released code gave it two, and
 * lost 96% of its buckets). The bins of a table come from one permutation, if
 * it has enough: if two bins share two coordinates, the winner of one bin rules
 * out some codes of the other, and if a coordinate is twice in a bin, its
 * second position never wins; such keys could not be reached. A bin of zeros,
 * in a vector that ReLU made sparse, takes the code of another bin, found by a
 * fixed probe sequence. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "actors/samplers/hash.h"
#include "kernels/philox.h"

#define BIN 8u
#define NO_PLACE UINT32_MAX
/* Probes for an empty bin before its code is 0 (SLIDE's number). With a quarter
 * of the bins full, the chance to find none is 0.75^100. */
#define PROBES_MAX 100u

/* Computes permutation number `permutation` (Fisher & Yates). */
static void
shuffle_columns(const skn_hash_t *hash, uint32_t permutation, uint32_t *shuffle)
{
    for (uint32_t c = 0; c < hash->columns; c++)
        shuffle[c] = c;
    for (uint32_t c = hash->columns; c > 1; c--) {
        uint32_t other = skn_philox_below(hash->key, permutation, c, c);
        uint32_t moved = shuffle[other];
        shuffle[other] = shuffle[c - 1];
        shuffle[c - 1] = moved;
    }
}

/* Fills the coordinates of all bins. A table with too many bins for one
 * permutation takes several, but no bin does, unless there are fewer
 * coordinates than a bin has. */
static void
fill_coordinates(skn_hash_t *hash, uint32_t *shuffle)
{
    uint32_t columns = hash->columns, at = columns, permutation = 0;
    uint32_t table = hash->functions * BIN;
    for (uint32_t k = 0; k < hash->code_count * BIN; k++) {
        uint32_t left = columns - at;
        if (left == 0 || (k % BIN == 0 && left < BIN) ||
            (k % table == 0 && left < table)) {
            shuffle_columns(hash, permutation++, shuffle);
            at = 0;
        }
        hash->coordinate[k] = shuffle[at++];
    }
}

static skn_status_t
dwta_open(skn_hash_t *hash, skn_error_t *error)
{
    uint32_t *shuffle = malloc(hash->columns * sizeof(*shuffle));
    hash->coordinate =
        malloc((size_t)hash->code_count * BIN * sizeof(uint32_t));
    hash->place = malloc(hash->code_count * sizeof(uint32_t));
    if (!shuffle || !hash->coordinate || !hash->place) {
        free(shuffle);
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %u hash functions",
                        hash->code_count);
    }
    fill_coordinates(hash, shuffle);
    free(shuffle);
    return SKN_OK;
}

/* Returns the position of the greatest coordinate that is not zero. NaN is
 * greater than nothing, but it is not zero: a bin of NaN has code 0. */
static uint32_t
place_in_bin(const float *x, const uint32_t *coordinate)
{
    uint32_t place = NO_PLACE;
    float greatest = -INFINITY;
    for (uint32_t k = 0; k < BIN; k++) {
        float value = x[coordinate[k]];
        if (value != 0.0f && (place == NO_PLACE || value > greatest)) {
            place = value == value ? k : 0;
            greatest = value == value ? value : -INFINITY;
        }
    }
    return place;
}

/* Returns the c-th bin whose code the empty bin i may take: multiplicative
 * hashing by 2^64 / golden ratio (Knuth, volume 3, section 6.4). */
static uint32_t
probe(uint32_t i, uint32_t c, uint32_t bins)
{
    uint64_t mixed =
        ((uint64_t)(i + 1) * 128 + c) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mixed >> 32) * bins >> 32);
}

static void
dwta_codes(skn_hash_t *hash, const skn_matrix_t *x, uint32_t count)
{
    uint32_t bins = hash->code_count;
    for (uint32_t r = 0; r < count; r++) {
        size_t row = x->row_index ? x->row_index[r] : r;
        const float *vector = x->at + row * x->row_stride;
        uint8_t *code = hash->code + (size_t)r * bins;
        for (uint32_t i = 0; i < bins; i++)
            hash->place[i] =
                place_in_bin(vector, hash->coordinate + (size_t)i * BIN);
        for (uint32_t i = 0; i < bins; i++) {
            uint32_t place = hash->place[i];
            for (uint32_t c = 1; place == NO_PLACE && c <= PROBES_MAX; c++)
                place = hash->place[probe(i, c, bins)];
            code[i] = place == NO_PLACE ? 0 : (uint8_t)place;
        }
    }
}

const skn_hash_family_t skn_hash_dwta = {
    .name = "dwta",
    .code_bits = SKN_HASH_DWTA_BITS,
    .functions_default = 6,
    .open = dwta_open,
    .codes = dwta_codes,
};
