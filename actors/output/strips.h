/* strips.h - the logits of many units, a strip of them at a time.
 *
 * The logits of a batch with many units are more than a cache holds, and five
 * passes go over them: the product, the maxima, the powers, the hidden and the
 * row gradients. A strip of units is small enough to stay near while the first
 * four of them pass; e^(o - m) is then kept for the last, as bf16 where that
 * multiplies bf16.
 *
 *     strip s:  o = rows[s] . h^T, [units][samples]
 *               m_s = m_(s-1), or max o where that is far greater
 *               e = c e^(o - m_s)           z = z e^(m_(s-1) - m_s) + sum e
 *               u^T = u^T e^(m_(s-1) - m_s) + rows[s]^T . e
 *     then:     gradient of rows[s] = e . (h e^(m_s - M) / Z)
 *
 * A unit is a row throughout: rows of weights and of powers lie as the products
 * want their left factor, and what all strips are multiplied by is packed once.
 * The running sum is that of Milakov & Gimelshein 2018, Algorithm 3, but m only
 * has to keep powers in range, and seldom changes. Only where one group holds
 * all samples, and reduction is fast. Called by head.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_STRIPS_H
#define ACTORS_OUTPUT_STRIPS_H

#include "actors/output/flight.h"

/* Of a strip at most: a tile's factors of the hidden gradient stay in the first
 * cache. */
#define SKN_STRIPS_UNITS ((size_t)128)

/* Samples from a unit of logits or powers to the next: an odd number of lines
 * where they are many, so that rows beside each other do not fall into the same
 * few places of a cache. */
size_t skn_strips_stride(size_t rows);
/* Of head->work. */
size_t skn_strips_work_floats(const skn_head_t *head);
/* Decides whether the flight, whose units are drawn, goes by strips, and if it
 * does, makes room and looks up its positives. SKN_NO_MEMORY; SKN_BAD_MESSAGE
 * where a label is not among the units. */
skn_status_t skn_strips_begin(skn_head_t *head, skn_flight_t *flight,
                              skn_error_t *error);
/* Sums of the positives' logits, m and z, u: those of head.c's one leaf. No
 * room for a product makes u NaN, and head->starved. */
void skn_strips_forward(skn_head_t *head, skn_flight_t *flight,
                        skn_partial_t *into);
/* value[units][H + 1] = sum over samples of c p h. */
skn_status_t skn_strips_gradient(skn_head_t *head, skn_flight_t *flight,
                                 float *value, skn_error_t *error);

#endif
