/* strips.h - computes the logits of a wide active set one strip of units at a
 * time, with all sums that need them.
 *
 * The logits of a batch with many units are more than a cache holds, and five
 * passes go over them: the product, the maxima, the powers, the hidden and the
 * row gradients. A strip of units is small enough to stay in cache during the
 * first four; e^(o - m) is then kept for the last, as bf16 if that pass
 * multiplies bf16.
 *
 *     strip s:  o = rows[s] . h^T, [units][samples]
 *               m_s = m_(s-1), or max o where that is far greater
 *               e = c e^(o - m_s)           z = z e^(m_(s-1) - m_s) + sum e
 *               u^T = u^T e^(m_(s-1) - m_s) + rows[s]^T . e
 *     then:     gradient of rows[s] = e . (h e^(m_s - M) / Z)
 *
 * All powers of a batch may be hundreds of megabytes, so what is kept has a
 * limit, head->kept_bytes. M and Z of a shard that is alone, and of one-vs-all,
 * are known after the last strip: such a shard takes as many samples at a time
 * as have room, and forms the row gradients at once. Other shards wait for M
 * and Z; they keep the powers of the first strips, and compute those of the
 * others again, which costs a fourth product. That takes the same rows: where
 * these change in between (a window of several steps), all powers are kept.
 *
 * A unit is always a row: rows of weights and of powers have the layout that
 * the products want for their left factor, and the factor that all strips share
 * is packed once. The running sum is that of Milakov & Gimelshein 2018,
 * Algorithm 3, but m only has to keep powers in range, and seldom changes. Used
 * only where one group holds all samples, and reduction is fast. Called by
 * head.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_OUTPUT_STRIPS_H
#define ACTORS_OUTPUT_STRIPS_H

#include "actors/output/flight.h"

/* Most units of a strip: a tile's factors of the hidden gradient stay in the
 * first-level cache. */
#define SKN_STRIPS_UNITS ((size_t)128)
/* Powers of a batch: with what else a batch needs, 64 MB. */
#define SKN_STRIPS_KEPT_BYTES ((size_t)56 << 20)

/* The distance, in samples, from one unit of logits or powers to the next: an
 * odd number of cache lines if there are many samples, so that neighbouring
 * rows do not map to the same few sets of a cache. */
size_t skn_strips_stride(size_t rows);
/* The size of head->work. */
size_t skn_strips_work_floats(const skn_head_t *head);
/* Decides whether the flight, whose units are drawn, is computed by strips, and
 * if so, makes room and finds its positives. SKN_NO_MEMORY; SKN_BAD_MESSAGE if
 * a label is not among the units. */
skn_status_t skn_strips_begin(skn_head_t *head, skn_flight_t *flight,
                              skn_error_t *error);
/* Whether the forward pass of the flight, which has begun, can form the row
 * gradients: if the caller sets flight->value, it does. */
bool skn_strips_form_rows(const skn_head_t *head, const skn_flight_t *flight);
/* Computes the sums of the positives' logits, m and z, and u: those of head.c's
 * one leaf. If there is no room for a product, u becomes NaN and head->starved
 * is set. */
void skn_strips_forward(skn_head_t *head, skn_flight_t *flight,
                        skn_partial_t *into);
/* value[units][H + 1] = sum over samples of c p h; nothing is left to do if it
 * is flight->value. */
skn_status_t skn_strips_gradient(skn_head_t *head, skn_flight_t *flight,
                                 float *value, skn_error_t *error);

#endif
