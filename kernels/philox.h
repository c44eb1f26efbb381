/* philox.h - counter-based random numbers: Philox4x32-10.
 *
 * Header only, no state: the same (key, counter) gives the same bits on every
 * machine, thread and layout. Salmon, Moraes, Dror, Shaw 2011, "Parallel
 * random numbers: as easy as 1, 2, 3", section 4.3 and table 2.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_PHILOX_H
#define KERNELS_PHILOX_H

#include <stdint.h>

typedef struct skn_philox {
    uint32_t word[4];
} skn_philox_t;

/* The multipliers and key increments of the paper's Philox4x32. */
#define SKN_PHILOX_M0 0xd2511f53u
#define SKN_PHILOX_M1 0xcd9e8d57u
#define SKN_PHILOX_W0 0x9e3779b9u
#define SKN_PHILOX_W1 0xbb67ae85u

/* The 128 random bits of `counter` under `key`. */
static inline skn_philox_t
skn_philox(uint64_t key, skn_philox_t counter)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t *x = counter.word;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)SKN_PHILOX_M0 * x[0];
        uint64_t p1 = (uint64_t)SKN_PHILOX_M1 * x[2];
        x[0] = (uint32_t)(p1 >> 32) ^ x[1] ^ k0;
        x[1] = (uint32_t)p1;
        x[2] = (uint32_t)(p0 >> 32) ^ x[3] ^ k1;
        x[3] = (uint32_t)p0;
        k0 += SKN_PHILOX_W0;
        k1 += SKN_PHILOX_W1;
    }
    return counter;
}

/* The same with the counter as two 64-bit halves: low, high. */
static inline skn_philox_t
skn_philox_at(uint64_t key, uint64_t low, uint64_t high)
{
    skn_philox_t counter = { { (uint32_t)low, (uint32_t)(low >> 32),
                               (uint32_t)high, (uint32_t)(high >> 32) } };
    return skn_philox(key, counter);
}

/* Uniform in [0, 1): the top 24 bits, as many as a float holds exactly. */
static inline float
skn_philox_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Uniform in [0, 1): the top 53 bits of two words. */
static inline double
skn_philox_unit_double(uint32_t low, uint32_t high)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return (double)bits * 0x1p-53;
}

/* Draws number `index` of a stream of integers in [0, bound), bound >= 1, all
 * equally likely (Lemire 2019, algorithm 5). A rejected word is replaced by the
 * next of the same block, then by the next block of this index (counter {index,
 * stream, block}), so that draws stay independent of one another. `stream` is
 * 32 bits. */
static inline uint32_t
skn_philox_below(uint64_t key, uint32_t stream, uint64_t index, uint32_t bound)
{
    uint32_t least = (0u - bound) % bound; /* 2^32 mod bound */
    for (uint32_t block = 0;; block++) {
        skn_philox_t random =
            skn_philox_at(key, index, (uint64_t)block << 32 | stream);
        for (int i = 0; i < 4; i++) {
            uint64_t product = (uint64_t)random.word[i] * bound;
            if ((uint32_t)product >= least)
                return (uint32_t)(product >> 32);
        }
    }
}

#endif
