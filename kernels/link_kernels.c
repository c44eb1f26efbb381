/* link_kernels.c - the kernels that code the runs of messages for links, in
 * plain C.
 *
 * libskein-core has no others. The tables of variant.c give the same bits, in
 * less time.
 * SPDX-License-Identifier: Apache-2.0 */
#define SKN_ISA scalar

#include "kernels.h"
#include "philox.h"
#include "vec.h"

#include "body/bf16.h"
#include "body/noise.h"
#include "body/nonzero.h"
#include "body/quantize.h"

const skn_kernels_t skn_link_kernels = { .isa = SKN_TEXT(SKN_ISA),
#define K(type, name, parameters) .name = name,
                                         SKN_LINK_KERNELS(K)
#undef K
};
