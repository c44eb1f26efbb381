/* vec.h - the vector words of kernels, for the instruction set of SKN_ISA.
 *
 * A body is written once with these words (vf_add, vi_load, ...); each
 * vec_<isa>.h implements them. vf_t holds VF_LANES floats, vi_t as many 32-bit
 * integers, vm_t one truth value a lane. Words that end in _n use the first
 * 1..VF_LANES lanes and touch no memory beyond them; lanes they do not read are
 * 0. vf_pack writes, and vf_unpack reads, VF_LANES floats whatever the bits
 * are.
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

/* Every word must be inlined into its caller, or a register is spilt for it. */
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

/* The number of lanes for the next step of a loop over `left` elements. */
VF_WORD size_t
vf_lanes(size_t left)
{
    return left < VF_LANES ? left : VF_LANES;
}

/* One step of a kernel: processes `lanes` elements from i on. */
typedef void vf_step_t(const void *job, size_t i, size_t lanes);

/* Runs the step on all n elements of a row, which is written to `out`. Whole
 * vectors have a loop of their own, so that their lanes are not counted. A
 * store across two cache lines costs twice: if `out` is not aligned to a
 * vector, a short first step aligns the others. */
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

/* Loads the weights of a loss; NULL: all 1. */
VF_WORD vf_t
vf_load_weight(const float *weight, size_t i, size_t lanes)
{
    return weight ? vf_load_n(weight + i, lanes) : vf_set(1.0f);
}

#endif
