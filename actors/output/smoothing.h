/* smoothing.h - label smoothing of a softmax: its part of hidden gradients, row
 * gradients and loss.
 *
 * With smoothing e, the target of label j is (1 - e) y_j + e / L (Szegedy and
 * others 2016, section 7). The added term is the same for all samples: v gets e
 * / L times the sum of c w over the active rows, and the gradient of row j
 * loses e c_j / L times the mean hidden vector. With the weights c of equation
 * (30), docs/concepts/equations.md, both are unbiased under any sampler. head.c
 * does the rest: it gives the positives targets of (1 - e) y.
 *
 * Threads: as for the given head.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_SMOOTHING_H
#define ACTORS_OUTPUT_SMOOTHING_H

#include "actors/output/flight.h"

/* Adds the part of the group's units [first, first + count) to `push` [rows][H]
 * of the group's samples, and its product with h to flight->positive_sum. */
void skn_smoothing_push(const skn_head_t *head, skn_flight_t *flight,
                        const skn_group_t *group, uint32_t first,
                        uint32_t count, float *push);
/* Subtracts the group's part from the gradients of its units, [units][H +
 * 1]. */
void skn_smoothing_rows(const skn_head_t *head, const skn_flight_t *flight,
                        const skn_group_t *group, float *value);
/* Returns what the targets of the shard's rows, e / L each, add to the loss
 * besides the logits: their sum times log Z, over the samples. */
double skn_smoothing_loss(const skn_head_t *head, const skn_flight_t *flight);

#endif
