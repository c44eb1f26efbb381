/* rounding.h - measures how much the codings of links change the gradients of
 * hidden layers.
 *
 * A gradient is g = sum over parts of (a u - v), where a is the share of the
 * part's z in the whole Z (one-vs-all, and dense layers above: the sum of u).
 * When p comes near y, u and v nearly cancel, and an error that is small beside
 * each of them is not small beside g. So the relevant measure is |g' - g| /
 * |g|, where g' is merged from the coded values: u' = u + du, v' = v + dv.
 *
 *     sender's link: encodes u and v,         receiver: knows a, adds up
 *     decodes them, adds to the message       a a du du + dv dv - 2 a du dv
 *     du du, dv dv, du dv of each sample      of all parts, and |g'|^2
 *
 * Errors of different parts are independent (random bits, or other numbers), so
 * that their squares add up; with one part from another node, as on two nodes
 * with a shard each, the sum is exact. |g|^2 is taken as |g'|^2 - |g' - g|^2.
 * One batch in SKN_ROUNDING_BATCHES is measured, in every coding, at the cost
 * of 12 bytes for each of its samples. The sums go with the gradient to the
 * updater, from there to the source, and at a marker to the course.
 *
 * Equation (60) of docs/concepts/equations.md. For one thread each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COMBINE_ROUNDING_H
#define ACTORS_COMBINE_ROUNDING_H

#include "actors/protocol/messages.h"
#include "transport/message/coding.h"

/* Batches whose number is a multiple of this are measured: 12 bytes a sample in
 * one of 32 are .3% of int8 with softmax, which has 129 bytes a sample: (61) of
 * docs/concepts/equations.md. */
#define SKN_ROUNDING_BATCHES 32u

/* A run warns above this: docs/concepts/codings.md has the cost of errors in
 * P@1. */
#define SKN_ROUNDING_ERROR_MAX 0.02

/* Sums of squares: of g' - g, and of g'. Both 0: not measured. */
typedef struct skn_rounding {
    double changed, square;
} skn_rounding_t;

/* g' - g| / |g|; -1 if not measured or not a number. */
double skn_rounding_error(const skn_rounding_t *rounding);

/* --- sender --- */

/* Memory that one thread reuses; starts as zeros, ends with fini. */
typedef struct skn_rounding_probe {
    float *room;
    size_t room_floats;
} skn_rounding_probe_t;
void skn_rounding_probe_fini(skn_rounding_probe_t *probe);

typedef union skn_rounding_copy {
    skn_output_gradient_t output;
    skn_hidden_gradient_t hidden;
} skn_rounding_copy_t;

/* If `message` is a gradient of a measured batch: *measured is a copy of it in
 * `copy`, with the same runs, and with `changed` in the probe's memory, valid
 * until its next use. Otherwise *measured is left unchanged. SKN_BAD_MESSAGE,
 * SKN_NO_MEMORY. */
skn_status_t skn_rounding_measure(skn_rounding_probe_t *probe,
                                  const skn_schema_t *schema,
                                  const void *message, skn_coding_t coding,
                                  uint64_t key, skn_coder_t *coder,
                                  skn_rounding_copy_t *copy,
                                  const void **measured, skn_error_t *error);

/* --- receiver --- */

/* (m, z) of a node and of the whole, [rows] each; all NULL: a is 1. */
typedef struct skn_rounding_scale {
    const float *greatest, *sum, *root_greatest, *root_sum;
} skn_rounding_scale_t;

/* Adds the error of node `node` of the `nodes` of a part: |a du - dv|^2.
 * `changed` is the part's, [3][nodes][rows], or [nodes][rows] without a
 * scale. */
void skn_rounding_add(skn_rounding_t *rounding, const skn_rounding_scale_t *of,
                      const float *changed, size_t node, size_t nodes,
                      size_t rows);
/* Adds the square of the merged gradient; `factor` is what it was multiplied by
 * since the merge. */
void skn_rounding_close(skn_rounding_t *rounding, double factor,
                        const float *gradient, size_t count);

#endif
