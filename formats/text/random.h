/* random.h - a random number generator that is reproducible from its seed.
 *
 * SplitMix64 (Steele, Lea, Flood 2014).  SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_RANDOM_H
#define FORMATS_TEXT_RANDOM_H

#include <stdint.h>

/* The next number of the sequence in *state, which begins as the seed. */
static inline uint64_t
skn_random(uint64_t *state)
{
    uint64_t value = *state += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

#endif
