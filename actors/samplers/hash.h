/* hash.h - computes hash keys of rows and hidden vectors for the samplers'
 * tables: L keys of K functions each.
 *
 * Vectors are rows [w; bias] and queries [h; 1], so that vectors with a large
 * logit are likely to collide. Functions depend on the seed alone; sampler and
 * builder each make their own. A vector of NaN has keys like any other, within
 * bounds. SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_HASH_H
#define ACTORS_SAMPLERS_HASH_H

#include "actors/samplers/sampler.h"

/* Bits of a key: 2^20 buckets a table, 4 MiB of offsets. */
#define SKN_KEY_BITS_MAX 20u
/* Vectors that are hashed at a time: their codes stay in cache. */
#define SKN_HASH_ROWS 64u
/* Bits of the code of one function: a side of a plane, and the position in a
 * bin of 8. */
#define SKN_HASH_SIMHASH_BITS 1u
#define SKN_HASH_DWTA_BITS 3u

typedef struct skn_hash skn_hash_t;

typedef struct skn_hash_family {
    const char *name;
    uint32_t code_bits; /* bits of the code of one function */
    uint32_t functions_default;
    /* Makes the functions: fills `direction` or `coordinate`. */
    skn_status_t (*open)(skn_hash_t *hash, skn_error_t *error);
    /* Computes codes [count][code_count] of `count` <= SKN_HASH_ROWS vectors,
     * the rows of `x`, f32, columns contiguous. */
    void (*codes)(skn_hash_t *hash, const skn_matrix_t *x, uint32_t count);
} skn_hash_family_t;

extern const skn_hash_family_t skn_hash_simhash;
extern const skn_hash_family_t skn_hash_dwta;

struct skn_hash {
    const skn_hash_family_t *family;
    const skn_kernels_t *kernels;
    uint64_t key;
    uint32_t tables, functions; /* L, K */
    uint32_t code_count;        /* K L */
    uint32_t key_bits;
    uint32_t columns; /* H + 1 */
    uint8_t *code;    /* [SKN_HASH_ROWS][code_count] */
    float *direction; /* simhash: [code_count][direction_stride] */
    size_t direction_stride;
    float *product; /* simhash: [SKN_HASH_ROWS][code_count] */
    void *gemm;
    uint32_t *coordinate; /* dwta: [code_count][8] */
    uint32_t *place;      /* dwta: of one vector: code, or none */
};

/* SKN_BAD_CONFIG if the options are not compatible. Freed by skn_hash_fini,
 * also after a failure. */
skn_status_t skn_hash_init(skn_hash_t *hash, const skn_hash_family_t *family,
                           const skn_sampler_options_t *options,
                           skn_error_t *error);
void skn_hash_fini(skn_hash_t *hash);
/* Computes keys [count][tables] for any number of vectors. A key is K codes,
 * the first in the highest bits; it is below 2^key_bits. */
void skn_hash_keys(skn_hash_t *hash, const skn_matrix_t *x, uint32_t count,
                   uint32_t *key);

#endif
