/* test_workspace.c - tests aligned arrays, and the choice of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"

Test(workspace, arrays_are_aligned_and_have_their_room)
{
    for (size_t count = 0; count < 200; count++) {
        float *floats = skn_floats_new(count, NULL);
        cr_assert(floats);
        cr_expect_eq((uintptr_t)floats % 64, 0);
        memset(floats, 1, count * sizeof(*floats));
        free(floats);
    }
}

Test(workspace, large_arrays_begin_at_a_huge_page)
{
    const size_t page_bytes = (size_t)2 << 20;
    for (size_t bytes = page_bytes; bytes < 4 * page_bytes; bytes += 300000) {
        float *floats = skn_floats_new(bytes / sizeof(*floats), NULL);
        cr_assert(floats);
        cr_expect_eq((uintptr_t)floats % page_bytes, 0);
        memset(floats, 1, bytes / sizeof(*floats) * sizeof(*floats));
        free(floats);
    }
}

Test(workspace, an_array_that_cannot_be_is_a_sentence)
{
    static const size_t counts[] = { SIZE_MAX, SIZE_MAX / 4, SIZE_MAX / 4 - 64,
                                     SIZE_MAX / 8 };
    for (int k = 0; k < 4; k++) {
        char want[80];
        skn_error_t error = { 0 };
        (void)snprintf(want, sizeof(want),
                       "no memory for %zu floats of workspace", counts[k]);
        cr_expect_null(skn_floats_new(counts[k], &error));
        cr_expect_eq(error.status, SKN_NO_MEMORY);
        cr_expect_str_eq(error.text, want);
    }
}

Test(workspace, strides_are_whole_lines_an_odd_number_of_them)
{
    cr_expect_eq(skn_stride_floats(0), 0);
    cr_expect_eq(skn_stride_floats(1), 16);
    cr_expect_eq(skn_stride_floats(16), 16);
    cr_expect_eq(skn_stride_floats(17), 48);
    cr_expect_eq(skn_stride_floats(48), 48);
    cr_expect_eq(skn_stride_floats(4096), 4112);
    cr_expect_eq(skn_array_floats(0), 0);
    cr_expect_eq(skn_array_floats(1), 16);
    cr_expect_eq(skn_array_floats(32), 32);
    cr_expect_eq(skn_array_floats(33), 48);
}

Test(workspace, the_environment_may_name_the_kernels)
{
    skn_error_t error = { 0 };
    char want[128];
    cr_expect(setenv("SKEIN_ISA", "scalar", 1) == 0);
    const skn_kernels_t *kernels = skn_kernels_pick(&error);
    cr_assert(kernels);
    cr_expect_str_eq(kernels->isa, "scalar");
    cr_expect(setenv("SKEIN_ISA", "mmx", 1) == 0);
    cr_expect_null(skn_kernels_pick(&error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    (void)snprintf(want, sizeof(want),
                   "SKEIN_ISA=mmx: not supported by this processor or this "
                   "build; available: %s",
                   skn_kernels_names());
    cr_expect_str_eq(error.text, want);
    cr_expect(unsetenv("SKEIN_ISA") == 0);
    cr_expect(skn_kernels_pick(&error));
}
