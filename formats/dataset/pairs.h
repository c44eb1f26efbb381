/* pairs.h - sorts the features of one point, adds up repeated ones.
 *
 * The result has the same bits for every order and grouping of the features.
 * Pure; any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_PAIRS_H
#define FORMATS_DATASET_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* Sorts index[count] in ascending order, and value[count] with it unless it is
 * NULL. key[count] is scratch. */
void skn_pairs_sort(uint32_t *index, float *value, uint64_t *key, size_t count);

/* Adds the values of equal indices, which must be adjacent, and returns the
 * remaining number of pairs. A sum that no float can hold is infinite. */
size_t skn_pairs_add(uint32_t *index, float *value, size_t count);

#endif
