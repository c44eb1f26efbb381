/* variant.c - defines the kernel table of one instruction set.
 *
 * Compiled once for each set (-DSKN_ISA=avx2); its one symbol is the const
 * table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"
#include "philox.h"
#include "vec.h"

#include "body/above.h"
#include "body/bf16.h"
#include "body/exp.h"
#include "body/activation.h"
#include "body/gather_add.h"
#include "body/gemm.h"
#include "body/noise.h"
#include "body/nonzero.h"
#include "body/normal.h"
#include "body/optimizer.h"
#include "body/quantize.h"
#include "body/random.h"
#include "body/vector.h"
#include "body/attention.h"
#include "body/norm.h"
#include "body/rotary.h"

#define TABLE SKN_PASTE(skn_kernels_, SKN_ISA)

extern const skn_kernels_t TABLE;
const skn_kernels_t TABLE = {
    .isa = SKN_TEXT(SKN_ISA),
#define K(type, name, parameters) .name = name,
    SKN_KERNELS(K) /* a missing body is a compile error */
#undef K
};
