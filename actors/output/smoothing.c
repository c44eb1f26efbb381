/* smoothing.c - adds the part of smoothed targets to hidden gradients, row
 * gradients and loss.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/smoothing.h"

#include <math.h>
#include <string.h>

/* Rows to prefetch ahead: they are scattered in memory. */
#define LABELS_AHEAD 4

/* head->mean [H + 1] = the sum of e / L c w over the units. */
static void
mean_row(const skn_head_t *head, const uint32_t *unit, const float *weight,
         uint32_t count)
{
    const skn_rows_t *rows = head->rows;
    size_t width = (size_t)head->hidden + 1;
    float *mean = head->mean, *copy = head->mean + head->hidden_stride;
    memset(mean, 0, width * sizeof(float));
    for (uint32_t k = 0; k < count; k++) {
        const float *w = copy;
        if (k + LABELS_AHEAD < count)
            __builtin_prefetch(rows->at +
                               unit[k + LABELS_AHEAD] * rows->stride_bytes);
        if (skn_rows_are_bf16(rows))
            skn_rows_get(rows, head->kernels, unit[k], copy);
        else
            w = skn_rows_weight(rows, unit[k]);
        head->kernels->axpy(mean, head->smooth_row * weight[k], w, width);
    }
}

void
skn_smoothing_push(const skn_head_t *head, skn_flight_t *flight,
                   const skn_group_t *group, uint32_t first, uint32_t count,
                   float *push)
{
    const skn_selection_t *selection = &flight->selection;
    mean_row(head, selection->unit + group->unit_first + first,
             selection->weight + group->unit_first + first, count);
    for (uint32_t s = 0; s < group->sample_count; s++) {
        uint32_t i = selection->sample[group->sample_first + s];
        if (!skn_head_has_loss(head, flight, i))
            continue;
        head->kernels->axpy(push + (size_t)i * head->hidden, 1.0f, head->mean,
                            head->hidden);
        flight->positive_sum += (double)head->kernels->dot(
            head->mean, flight->hidden + i * head->hidden_stride,
            (size_t)head->hidden + 1);
    }
}

void
skn_smoothing_rows(const skn_head_t *head, const skn_flight_t *flight,
                   const skn_group_t *group, float *value)
{
    const skn_selection_t *selection = &flight->selection;
    const float *weight = selection->weight + group->unit_first;
    size_t width = (size_t)head->hidden + 1;
    float share = head->smooth_row / (float)flight->rows;
    memset(head->mean, 0, width * sizeof(float));
    for (uint32_t s = 0; s < group->sample_count; s++) {
        uint32_t i = selection->sample[group->sample_first + s];
        if (skn_head_has_loss(head, flight, i))
            head->kernels->axpy(head->mean, share,
                                flight->hidden + i * head->hidden_stride,
                                width);
    }
    for (uint32_t k = 0; k < group->unit_count; k++)
        head->kernels->axpy(value + k * width, -weight[k], head->mean, width);
}

double
skn_smoothing_loss(const skn_head_t *head, const skn_flight_t *flight)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < flight->rows; i++)
        if (skn_head_has_loss(head, flight, i))
            sum += (double)flight->root_greatest[i] +
                   log((double)flight->root_sum[i]);
    return sum * (double)head->smooth_row * (double)head->row_count;
}
