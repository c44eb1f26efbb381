/* rank_all.c - ranks all rows of an output shard for evaluation and prediction,
 * without a sampler.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/head.h"

#include <math.h>

#include "actors/protocol/workspace.h"

/* Adds a strip of logits to (m, z) of sample i. It overwrites the strip. */
static void
add_strip(const skn_head_t *head, const skn_rank_all_t *rank, uint32_t i,
          float *logit, size_t count)
{
    float greatest = head->kernels->row_max(logit, count);
    if (greatest > rank->greatest[i]) {
        rank->sum[i] *= expf(rank->greatest[i] - greatest);
        rank->greatest[i] = greatest;
    }
    if (isfinite(rank->greatest[i]))
        rank->sum[i] += head->kernels->exp_weight_sum(logit, logit, NULL, count,
                                                      rank->greatest[i]);
}

/* Adds the logits of those labels of sample i that are in the strip. */
static void
add_positives(const skn_rank_all_t *rank, uint32_t i, const float *logit,
              uint32_t label_first, uint32_t count)
{
    const skn_labels_t *labels = rank->labels;
    for (uint32_t k = labels->offset.at[i]; k < labels->offset.at[i + 1]; k++)
        if (labels->label.at[k] - label_first < count)
            rank->positive[i] += logit[labels->label.at[k] - label_first];
}

static void
take_strip(skn_head_t *head, const skn_rank_all_t *rank, uint32_t rows,
           uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < rows; i++) {
        float *logit = head->work + i * skn_stride_floats(SKN_LOOK_UNITS);
        skn_topk_scan(&head->topk[i], head->kernels, logit, count, NULL,
                      head->row_first + first);
        if (rank->positive)
            add_positives(rank, i, logit, head->row_first + first, count);
        if (rank->sum)
            add_strip(head, rank, i, logit, count);
    }
}

static void
begin_rank(skn_head_t *head, const skn_rank_all_t *rank, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        skn_topk_init(&head->topk[i], rank->k);
        if (rank->positive)
            rank->positive[i] = 0.0f;
        if (rank->sum) {
            rank->greatest[i] = -INFINITY;
            rank->sum[i] = 0.0f;
        }
    }
}

skn_status_t
skn_head_rank_all(skn_head_t *head, const float *hidden, uint32_t rows,
                  const skn_rank_all_t *rank, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    begin_rank(head, rank, rows);
    for (uint32_t first = 0; first < head->row_count && status == SKN_OK;
         first += SKN_LOOK_UNITS) {
        uint32_t count = head->row_count - first;
        if (count > SKN_LOOK_UNITS)
            count = SKN_LOOK_UNITS;
        skn_gemm_t job = skn_rows_product(head->rows, first, count, hidden,
                                          head->hidden_stride, rows);
        job.c = head->work;
        job.c_stride = skn_stride_floats(SKN_LOOK_UNITS);
        status = skn_head_multiply(head, &job, error);
        if (status == SKN_OK)
            take_strip(head, rank, rows, first, count);
    }
    for (uint32_t i = 0; i < rows && status == SKN_OK; i++) {
        const skn_topk_t *best = &head->topk[i];
        for (uint32_t r = 0; r < rank->k; r++) {
            size_t at = (size_t)i * rank->k + r;
            bool there = r < best->count;
            rank->label[at] = there ? best->id[r] : UINT32_MAX;
            rank->score[at] = there ? best->value[r] : -INFINITY;
        }
    }
    return status;
}
