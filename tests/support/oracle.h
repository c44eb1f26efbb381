/* oracle.h - naive sums in double, and the numbers that tests feed to them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_ORACLE_H
#define TESTS_SUPPORT_ORACLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The widest vector of any instruction set, in floats. */
#define LANES_MAX 16

/* A sequence that is the same everywhere (Knuth's MMIX generator). */
typedef struct oracle_random {
    uint64_t state;
} oracle_random_t;

static inline uint32_t
oracle_next(oracle_random_t *random)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 32);
}

/* Uniform in [-1, 1). */
static inline float
oracle_float(oracle_random_t *random)
{
    return (float)(oracle_next(random) >> 8) * 0x1p-23f - 1.0f;
}

/* `count` floats in [-scale, scale), from malloc: the caller frees them. */
static inline float *
oracle_floats(oracle_random_t *random, size_t count, float scale)
{
    float *x = malloc((count + 1) * sizeof *x);
    for (size_t i = 0; x && i < count; i++)
        x[i] = scale * oracle_float(random);
    return x;
}

static inline uint32_t
oracle_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float
oracle_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float
oracle_of_bf16(uint16_t half)
{
    return oracle_of_bits((uint32_t)half << 16);
}

/* The distance of `got` from the exact `want`, in units of the last place of
 * a float of that size. */
static inline double
oracle_ulps(float got, double want)
{
    float near = (float)want;
    float next = oracle_of_bits(oracle_bits(near) + 1);
    double unit = (double)next - (double)near;
    double error = ((double)got - want) / unit;
    return error < 0 ? -error : error;
}

#endif
