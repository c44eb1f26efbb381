/* dispatch.c - which tables this processor can run, best first.
 *
 * This file owns the list of instruction sets: a new one is a line here, a
 * vec_<isa>.h, and a line in CMakeLists.txt.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static bool
can_scalar(void)
{
    return true;
}

#if defined(__x86_64__)

/* The builtins ask the operating system too: it must save the registers. */
static bool
can_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("popcnt");
}

static bool
can_avx512(void)
{
    return can_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}

#define SKN_ISAS(I) I(avx512, "avx512, ") I(avx2, "avx2, ") I(scalar, "scalar")
#elif defined(__aarch64__)

/* Every 64-bit Arm has it. */
static bool
can_neon(void)
{
    return true;
}

#define SKN_ISAS(I) I(neon, "neon, ") I(scalar, "scalar")
#else
#define SKN_ISAS(I) I(scalar, "scalar")
#endif

#define I(name, text) extern const skn_kernels_t skn_kernels_##name;
SKN_ISAS(I)
#undef I

static const struct {
    const skn_kernels_t *kernels;
    bool (*can)(void);
} isas[] = {
#define I(name, text) { &skn_kernels_##name, can_##name },
    SKN_ISAS(I)
#undef I
};

#define ISA_COUNT (sizeof isas / sizeof *isas)

const skn_kernels_t *
skn_kernels_variant(unsigned rank)
{
    for (size_t i = 0; i < ISA_COUNT; i++)
        if (isas[i].can() && rank-- == 0)
            return isas[i].kernels;
    return NULL;
}

const skn_kernels_t *
skn_kernels_named(const char *isa)
{
    for (size_t i = 0; i < ISA_COUNT; i++)
        if (strcmp(isas[i].kernels->isa, isa) == 0)
            return isas[i].can() ? isas[i].kernels : NULL;
    return NULL;
}

const char *
skn_kernels_names(void)
{
#define I(name, text) text
    return SKN_ISAS(I);
#undef I
}

const skn_kernels_t *
skn_kernels_best(void)
{
    const char *isa = getenv("SKEIN_ISA");
    return isa && *isa ? skn_kernels_named(isa) : skn_kernels_variant(0);
}
