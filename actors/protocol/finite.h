/* finite.h - bytes of state from other actors: are the numbers in them finite?
 *
 * Weights and what belongs to them travel as bytes, to checkpoints and back; a
 * node with bad memory would put its NaN into what all others go on with.
 * Pure.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_FINITE_H
#define ACTORS_PROTOCOL_FINITE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/checkpoint/safetensors.h"
#include "kernels/kernels.h"

/* Whether none of the elements at `bytes`, which may lie at any address, is
 * infinite or NaN; what is left behind the last whole one is not looked at.
 * True for elements that are whole numbers. */
bool skn_are_finite(const skn_kernels_t *kernels, skn_dtype_t dtype,
                    const void *bytes, size_t byte_count);

#endif
