/* flight.c - the memory of a batch in flight in an output shard, and the
 * helpers of its products, targets and shares.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/flight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"

skn_status_t
skn_flight_init(skn_flight_t *flight, const skn_head_t *head,
                skn_error_t *error)
{
    size_t rows = head->batch_rows;
    flight->hidden = skn_floats_new(rows * head->hidden_stride, error);
    flight->greatest = skn_floats_new(4 * rows, error);
    flight->own_offset = calloc(rows + 1, sizeof(uint32_t));
    if (head->late)
        flight->push = skn_floats_new(rows * head->hidden, error);
    if (!flight->hidden || !flight->greatest || !flight->own_offset ||
        (head->late && !flight->push))
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for a batch of %zu rows", rows);
    flight->sum = flight->greatest + rows;
    flight->root_greatest = flight->sum + rows;
    flight->root_sum = flight->root_greatest + rows;
    return SKN_OK;
}

void
skn_flight_fini(skn_flight_t *flight)
{
    skn_selection_fini(&flight->selection);
    free(flight->hidden);
    free(flight->greatest);
    free(flight->push);
    free(flight->own_offset);
    free(flight->own);
    free(flight->own_distinct);
    free(flight->logit);
    free(flight->group_logit);
    free(flight->strips.exp.at);
    free(flight->strips.own.at);
    free(flight->strips.own_first.at);
    free(flight->strips.greatest.at);
    memset(flight, 0, sizeof(*flight));
}

skn_status_t
skn_head_multiply(skn_head_t *head, skn_gemm_t *job, skn_error_t *error)
{
    job->half = head->half;
    size_t bytes = head->kernels->gemm_scratch_bytes(job->m, job->n, job->k);
    if (bytes > head->gemm_bytes) {
        free(head->gemm);
        head->gemm = skn_floats_new(bytes / sizeof(float) + 1, error);
        head->gemm_bytes = head->gemm ? bytes : 0;
        if (!head->gemm)
            return SKN_NO_MEMORY;
    }
    head->kernels->gemm(job, head->gemm);
    return SKN_OK;
}

/* y of a positive of sample i: its share of 1, or 1 for one-vs-all. */
float
skn_head_target(const skn_head_t *head, const skn_flight_t *flight, uint32_t i)
{
    const uint32_t *offset = flight->labels->offset.at;
    return head->loss == SKN_LOSS_IS_SOFTMAX
               ? (1.0f - head->smoothing) / (float)(offset[i + 1] - offset[i])
               : 1.0f;
}

/* Returns the position of `unit` in the ascending list [0, count), or that of
 * the first that is not smaller, so that it serves as a lower bound too; count
 * if all are smaller. */
uint32_t
skn_head_lower_bound(const uint32_t *list, uint32_t count, uint32_t unit)
{
    uint32_t low = 0;
    while (count > 1) { /* no branch to predict: half of the guesses would be
                         * wrong */
        uint32_t half = count / 2;
        low += list[low + half - 1] < unit ? half : 0;
        count -= half;
    }
    return low + (count > 0 && list[low] < unit);
}

skn_status_t
skn_head_refuse_label(const skn_head_t *head, const skn_flight_t *flight,
                      uint32_t own, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "labels of batch %llu: label %u is missing from the "
                    "distinct labels",
                    (unsigned long long)flight->labels->batch,
                    head->row_first + own);
}

float
skn_head_share(const skn_flight_t *flight, uint32_t i, float greatest)
{
    return expf(greatest - flight->root_greatest[i]) / flight->root_sum[i];
}

void
skn_head_scale(skn_head_t *head, const skn_flight_t *flight, uint32_t i,
               float share)
{
    size_t stride = head->hidden_stride;
    float *row = head->scaled + i * stride;
    float factor =
        skn_head_has_loss(head, flight, i) ? 1.0f / (float)flight->rows : 0.0f;
    memcpy(row, flight->hidden + i * stride, stride * sizeof(float));
    head->kernels->scale(row, factor * share, stride);
}
