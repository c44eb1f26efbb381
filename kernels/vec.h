/* vec.h - the vf_* words, for the instruction set that SKN_ISA names.
 *
 * A body is written once with these words; each vec_<isa>.h gives them a
 * meaning. vf_t holds VF_LANES floats, vi_t as many 32-bit integers, vm_t one
 * truth a lane. Words that end in _n take 1..VF_LANES leading lanes and touch
 * no memory beyond them; lanes they do not read are 0. vf_pack writes, and
 * vf_unpack reads, VF_LANES floats whatever the bits say.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_VEC_H
#define KERNELS_VEC_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SKN_PASTE_RAW(a, b) a##b
#define SKN_PASTE(a, b) SKN_PASTE_RAW(a, b)
#define SKN_TEXT_RAW(a) #a
#define SKN_TEXT(a) SKN_TEXT_RAW(a)

#define SKN_NUMBER_scalar 1
#define SKN_NUMBER_avx2 2
#define SKN_NUMBER_avx512 3
#define SKN_NUMBER_neon 4
#define SKN_NUMBER_avx512_bf16 5
#define SKN_NUMBER_amx 6
#define SKN_NUMBER SKN_PASTE(SKN_NUMBER_, SKN_ISA)

/* Every word must vanish into its caller, or a register is spilt for it. */
#define VF_WORD static inline __attribute__((always_inline, unused))

#if SKN_NUMBER == SKN_NUMBER_avx512
#include "vec_avx512.h"
#elif SKN_NUMBER == SKN_NUMBER_avx512_bf16
#include "vec_avx512_bf16.h"
#elif SKN_NUMBER == SKN_NUMBER_amx
#include "vec_amx.h"
#elif SKN_NUMBER == SKN_NUMBER_avx2
#include "vec_avx2.h"
#elif SKN_NUMBER == SKN_NUMBER_neon
#include "vec_neon.h"
#else
#include "vec_scalar.h"
#endif

/* How many lanes the next step of a loop over `left` elements uses. */
VF_WORD size_t
vf_lanes(size_t left)
{
    return left < VF_LANES ? left : VF_LANES;
}

/* What a kernel does with `lanes` elements from i on. */
typedef void vf_step_t(const void *job, size_t i, size_t lanes);

/* Takes the step with all n elements of a row, which goes to `out`. Whole
 * vectors have a loop of their own, so that their lanes are not counted. A
 * store that crosses a line of the cache costs two: where the row does not
 * begin with a vector of `out`, a short first step makes the others begin
 * with one. */
VF_WORD void
vf_each(vf_step_t *step, const void *job, const float *out, size_t n)
{
    size_t past = (uintptr_t)out / sizeof(float) % VF_LANES;
    size_t i = past > 0 && n >= 4 * VF_LANES ? VF_LANES - past : 0;
    if (i > 0)
        step(job, 0, i);
#pragma GCC unroll 4
    for (; i + VF_LANES <= n; i += VF_LANES)
        step(job, i, VF_LANES);
    if (i < n)
        step(job, i, n - i);
}

/* The weights of a loss may be absent: all 1. */
VF_WORD vf_t
vf_load_weight(const float *weight, size_t i, size_t lanes)
{
    return weight ? vf_load_n(weight + i, lanes) : vf_set(1.0f);
}

#endif
