/* finite.c - checks arrays for NaN and infinity.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/finite.h"

#include <stdint.h>
#include <string.h>

/* Elements that are copied to an aligned buffer and checked at once. */
#define STRETCH 1024u

bool
skn_are_finite(const skn_kernels_t *kernels, skn_dtype_t dtype,
               const void *bytes, size_t byte_count)
{
    const unsigned char *at = bytes;
    size_t item_bytes = skn_dtype_bytes(dtype);
    uint16_t half[STRETCH];
    float whole[STRETCH];
    if (dtype != SKN_DTYPE_F32 && dtype != SKN_DTYPE_BF16)
        return true;
    size_t left = byte_count / item_bytes;
    if (dtype == SKN_DTYPE_F32 && (uintptr_t)bytes % item_bytes == 0)
        return kernels->finite_all(bytes, left);
    while (left > 0) {
        size_t count = left < STRETCH ? left : STRETCH;
        if (dtype == SKN_DTYPE_F32) {
            memcpy(whole, at, count * item_bytes);
        } else {
            memcpy(half, at, count * item_bytes);
            kernels->bf16_to_f32(whole, half, count);
        }
        if (!kernels->finite_all(whole, count))
            return false;
        at += count * item_bytes;
        left -= count;
    }
    return true;
}
