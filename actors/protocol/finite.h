/* finite.h - checks state received from other actors for NaN and infinity.
 *
 * Weights and their moments travel as bytes, to checkpoints and back; a node
 * with bad memory would put NaN into the state that all others continue from.
 * Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_FINITE_H
#define ACTORS_PROTOCOL_FINITE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/checkpoint/safetensors.h"
#include "kernels/kernels.h"

/* True if none of the elements at `bytes`, which may be at any address, is
 * infinite or NaN; bytes after the last whole element are not checked. True for
 * integers. */
bool skn_are_finite(const skn_kernels_t *kernels, skn_dtype_t dtype,
                    const void *bytes, size_t byte_count);

#endif
