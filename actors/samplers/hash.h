/* hash.h - L keys of K functions each, of rows and of hidden vectors alike.
 *
 * Vectors are rows [w; bias] and queries [h; 1], so that what is likely to
 * collide is what has a large logit. Functions depend on the seed alone; both
 * sides make them for themselves. A vector of NaN has keys like any other,
 * within bounds.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_HASH_H
#define ACTORS_SAMPLERS_HASH_H

#include "actors/samplers/sampler.h"

/* Bits of a key: 2^20 buckets a table, 4 MiB of offsets. */
#define SKN_KEY_BITS_MAX 20u
/* Vectors that are hashed in one go: their codes stay in cache. */
#define SKN_HASH_ROWS 64u

typedef struct skn_hash skn_hash_t;

typedef struct skn_hash_family {
    const char *name;
    uint32_t code_bits; /* a function gives a code of so many bits */
    uint32_t functions_default;
    /* Makes the functions: fills `direction` or `coordinate`. */
    skn_status_t (*open)(skn_hash_t *hash, skn_error_t *error);
    /* Codes [count][code_count] of `count` <= SKN_HASH_ROWS vectors, the rows
     * of `x`, f32, columns side by side. */
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

/* SKN_BAD_CONFIG if the numbers do not go together. Freed by skn_hash_fini,
 * also after a failure. */
skn_status_t skn_hash_init(skn_hash_t *hash, const skn_hash_family_t *family,
                           const skn_sampler_options_t *options,
                           skn_error_t *error);
void skn_hash_fini(skn_hash_t *hash);
/* Keys [count][tables], of any number of vectors. Key: K codes, the first in
 * the highest bits; below 2^key_bits. */
void skn_hash_keys(skn_hash_t *hash, const skn_matrix_t *x, uint32_t count,
                   uint32_t *key);

#endif
