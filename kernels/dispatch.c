/* dispatch.c - lists the kernel tables that this processor can run, best first.
 *
 * This file owns the list of instruction sets: to add one, add a line here, its
 * name, a vec_<isa>.h, and a line in CMakeLists.txt.
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
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From Linux's asm/prctl.h and its list of extended states. */
#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif
#define XFEATURE_XTILEDATA 18

/* The builtins check the operating system too: it must save the registers. */
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

static bool
can_avx512_bf16(void)
{
    return can_avx512() && __builtin_cpu_supports("avx512bf16");
}

/* Intel's processors multiply pairs at half the rate of floats (measured on one
 * with AMX); AMD's manuals state twice the rate (untested). */
static bool
gains_by_avx512_bf16(void)
{
    return can_avx512_bf16() && !__builtin_cpu_is("intel");
}

static bool
only_can_avx512_bf16(void)
{
    return can_avx512_bf16() && !gains_by_avx512_bf16();
}

/* By CPUID: not every compiler's builtin knows the names. */
static bool
has_amx(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) &&
           (d >> 24 & 1); /* bf16 products, tiles */
}

/* A process must request the tile registers from Linux, once: they add 8 KiB to
 * the state of each of its threads that uses them. */
static bool
can_amx(void)
{
    return can_avx512_bf16() && has_amx() &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) ==
               0;
}

#define SKN_ISAS(I)                                                            \
    I(amx, can_amx)                                                            \
    I(avx512_bf16, gains_by_avx512_bf16)                                       \
    I(avx512, can_avx512)                                                      \
    I(avx512_bf16, only_can_avx512_bf16)                                       \
    I(avx2, can_avx2)                                                          \
    I(scalar, can_scalar)
#define SKN_ISA_NAMES "amx, avx512_bf16, avx512, avx2, scalar"
#elif defined(__aarch64__)

/* Every 64-bit Arm has it. */
static bool
can_neon(void)
{
    return true;
}

#define SKN_ISAS(I) I(neon, can_neon) I(scalar, can_scalar)
#define SKN_ISA_NAMES "neon, scalar"
#else
#define SKN_ISAS(I) I(scalar, can_scalar)
#define SKN_ISA_NAMES "scalar"
#endif

#define I(name, can) extern const skn_kernels_t skn_kernels_##name;
SKN_ISAS(I)
#undef I

static const struct {
    const skn_kernels_t *kernels;
    bool (*can)(void);
} isas[] = {
#define I(name, can) { &skn_kernels_##name, can },
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
        if (strcmp(isas[i].kernels->isa, isa) == 0 && isas[i].can())
            return isas[i].kernels;
    return NULL;
}

const char *
skn_kernels_names(void)
{
    return SKN_ISA_NAMES;
}

const skn_kernels_t *
skn_kernels_best(void)
{
    const char *isa = getenv("SKEIN_ISA");
    return isa && *isa ? skn_kernels_named(isa) : skn_kernels_variant(0);
}
