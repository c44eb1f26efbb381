/* workspace.h - allocates aligned arrays and picks the kernels, for actors that
 * compute.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_WORKSPACE_H
#define ACTORS_PROTOCOL_WORKSPACE_H

#include <stddef.h>

#include "kernels/kernels.h"
#include "skein/error.h"
#include "transport/message/payload.h" /* SKN_HUGE_PAGE_BYTES */

/* `count` floats at a multiple of 64 bytes, not cleared; free() frees them.
 * At least one, so that NULL always means: no memory. From 2 MiB on they are
 * on huge pages, if the system gives them. */
float *skn_floats_new(size_t count, skn_error_t *error);

/* `count` floats rounded up to whole cache lines: the distance between the rows
 * of a matrix with aligned rows. The number of lines is odd: an even one, above
 * all a power of two, maps many rows to few sets of a cache. */
size_t skn_stride_floats(size_t count);
/* `count` floats rounded up to whole cache lines: what an array takes in memory
 * that several share. */
size_t skn_array_floats(size_t count);

/* The kernels of this processor, or those that SKEIN_ISA names. NULL and
 * SKN_BAD_CONFIG if it names some that this processor cannot run. */
const skn_kernels_t *skn_kernels_pick(skn_error_t *error);

#endif
