/* workspace.c - allocates aligned arrays and picks the kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/workspace.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN_BYTES 64u

float *
skn_floats_new(size_t count, skn_error_t *error)
{
    size_t bytes = (count * sizeof(float) / ALIGN_BYTES + 1) * ALIGN_BYTES;
    /* A hypervisor may make each miss of the translation cache dear: there,
     * layers took up to twice as long on small pages
     * (bench/results/dense.md). */
    size_t huge = bytes / SKN_HUGE_PAGE_BYTES * SKN_HUGE_PAGE_BYTES;
    void *floats = NULL;
    if (count > SIZE_MAX / sizeof(float) - ALIGN_BYTES ||
        posix_memalign(&floats, huge ? SKN_HUGE_PAGE_BYTES : ALIGN_BYTES,
                       bytes)) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for %zu floats of workspace",
                 count);
        return NULL;
    }
    if (huge)
        (void)madvise(floats, huge, MADV_HUGEPAGE); /* a hint: may fail */
    return floats;
}

size_t
skn_stride_floats(size_t count)
{
    size_t line = ALIGN_BYTES / sizeof(float);
    size_t lines = skn_array_floats(count) / line;
    return lines > 0 ? (lines | 1) * line : 0;
}

size_t
skn_array_floats(size_t count)
{
    size_t line = ALIGN_BYTES / sizeof(float);
    return (count + line - 1) / line * line;
}

const skn_kernels_t *
skn_kernels_pick(skn_error_t *error)
{
    const skn_kernels_t *kernels = skn_kernels_best();
    if (!kernels) {
        skn_fail(error, SKN_BAD_CONFIG,
                 "SKEIN_ISA=%s: not supported by this processor or this "
                 "build; available: %s",
                 getenv("SKEIN_ISA"), skn_kernels_names());
    }
    return kernels;
}
