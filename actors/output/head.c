/* head.c - computes logits, leaves of the merge tree, and row gradients of one
 * output shard.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/head.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/output/smoothing.h"
#include "actors/output/strips.h"
#include "actors/protocol/workspace.h"

skn_status_t
skn_head_init(skn_head_t *head, uint32_t leaf, skn_error_t *error)
{
    size_t rows = head->batch_rows;
    head->hidden_stride = skn_stride_floats((size_t)head->hidden + 1);
    uint32_t first = head->row_first / head->block_rows;
    uint32_t leaves =
        (head->row_count + head->block_rows - 1) / head->block_rows;
    if (head->fixed && first + leaves > head->merge.leaf_count)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "rows %u to %u are not leaves of a tree of %u",
                        head->row_first, head->row_first + head->row_count,
                        head->merge.leaf_count);
    if (head->kept_bytes == 0)
        head->kept_bytes = SKN_STRIPS_KEPT_BYTES;
    head->node[0] = skn_node_place(0, leaf);
    head->node_count = head->fixed
                           ? skn_merge_cover(head->merge.leaf_count, first,
                                             first + leaves, head->node)
                           : 1;
    head->merge.columns = head->hidden;
    head->merge.scratch = skn_floats_new(
        skn_merge_scratch_floats(head->merge.leaf_count, rows, head->hidden),
        error);
    head->scaled = skn_floats_new(rows * head->hidden_stride, error);
    head->pull_rows =
        skn_floats_new(rows * head->hidden + SKN_LINE_FLOATS, error);
    size_t units = SKN_LOOK_UNITS;
    if (head->fixed && head->block_rows > units)
        units = head->block_rows;
    head->work_floats = rows * skn_stride_floats(units);
    if (head->work_floats < skn_strips_work_floats(head))
        head->work_floats = skn_strips_work_floats(head);
    head->work = skn_floats_new(head->work_floats, error);
    head->slot = malloc(head->row_count * sizeof(*head->slot));
    head->topk = malloc(rows * sizeof(*head->topk));
    head->open = malloc(2 * rows * sizeof(*head->open));
    head->mean = skn_floats_new(2 * head->hidden_stride, error);
    if (!head->merge.scratch || !head->scaled || !head->pull_rows ||
        !head->work || !head->mean)
        return SKN_NO_MEMORY;
    if (!head->slot || !head->topk || !head->open)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for an output shard of %u rows",
                        head->row_count);
    return SKN_OK;
}

void
skn_head_fini(skn_head_t *head)
{
    if (head->sampler)
        head->sampler_kind->close(head->sampler);
    free(head->merge.scratch);
    free(head->scaled);
    free(head->pull_rows);
    free(head->work);
    free(head->mean);
    free(head->gemm);
    free(head->turned.at);
    free(head->packed.at);
    free(head->packed_scaled.at);
    free(head->powers.at);
    free(head->slot);
    free(head->topk);
    free(head->open);
    memset(head, 0, sizeof(*head));
}

/* --- products -------------------------------- */

static bool
is_everybody(const skn_flight_t *flight, const skn_group_t *group)
{
    return group->sample_count == flight->rows;
}

/* The units [first, first + count) of a group, their logits, and the place for
 * exp: over the logits, or separate. */
typedef struct head_slice {
    const skn_group_t *group;
    uint32_t first, count;
    float *logit, *exp;
    size_t logit_stride, exp_stride;
} head_slice_t;

/* logit = hidden[group samples][H + 1] . rows[units]^T */
static skn_status_t
logits(skn_head_t *head, const skn_flight_t *flight, const head_slice_t *slice,
       skn_error_t *error)
{
    const skn_selection_t *selection = &flight->selection;
    const skn_group_t *group = slice->group;
    skn_matrix_t w =
        selection->everything
            ? skn_rows_matrix_from(head->rows, slice->first)
            : skn_rows_matrix(head->rows, selection->unit + group->unit_first +
                                              slice->first);
    skn_gemm_t job = {
        .m = group->sample_count,
        .n = slice->count,
        .k = (size_t)head->hidden + 1,
        .a = { .at = flight->hidden,
               .row_stride = head->hidden_stride,
               .column_stride = 1,
               .row_index = is_everybody(flight, group)
                                ? NULL
                                : selection->sample + group->sample_first },
        .b = { .at = w.at,
               .bf16 = w.bf16,
               .row_stride = 1,
               .column_stride = w.row_stride,
               .column_index = w.row_index },
        .c = slice->logit,
        .c_stride = slice->logit_stride,
    };
    return skn_head_multiply(head, &job, error);
}

/* --- own positives -------------------------------- */

static skn_status_t
find_own(const skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    const skn_labels_t *labels = flight->labels;
    uint32_t first = head->row_first, count = 0;
    uint32_t end = first + head->row_count;
    if (labels->label.count > flight->own_room) {
        free(flight->own);
        free(flight->own_distinct);
        flight->own_room = (uint32_t)labels->label.count;
        flight->own = malloc(flight->own_room * sizeof(uint32_t));
        flight->own_distinct = malloc(flight->own_room * sizeof(uint32_t));
        if (!flight->own || !flight->own_distinct) {
            flight->own_room = 0;
            return skn_fail(error, SKN_NO_MEMORY,
                            "no memory for the %zu labels of a batch",
                            labels->label.count);
        }
    }
    for (uint32_t i = 0; i < flight->rows; i++) {
        flight->own_offset[i] = count;
        for (uint32_t k = labels->offset.at[i]; k < labels->offset.at[i + 1];
             k++)
            if (labels->label.at[k] >= first && labels->label.at[k] < end)
                flight->own[count++] = labels->label.at[k] - first;
    }
    flight->own_offset[flight->rows] = count;
    count = 0;
    for (size_t k = 0; k < labels->distinct.count; k++)
        if (labels->distinct.at[k] >= first && labels->distinct.at[k] < end)
            flight->own_distinct[count++] = labels->distinct.at[k] - first;
    assert(count <= flight->own_room &&
           flight->own_offset[flight->rows] <= flight->own_room);
    flight->own_distinct_count = count;
    return SKN_OK;
}

/* --- forward -------------------------------- */

/* Decides whether the logits of a batch are kept, and makes room for them. They
 * are computed twice if they are many, unless the rows change in between, or
 * leaves are not blocks. */
static skn_status_t
make_room(const skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    const skn_selection_t *selection = &flight->selection;
    size_t total = 0;
    if (selection->group_count > flight->group_room) {
        size_t *grown = realloc(flight->group_logit,
                                selection->group_count * sizeof(*grown));
        if (!grown)
            return skn_fail(error, SKN_NO_MEMORY, "no memory for %u groups",
                            selection->group_count);
        flight->group_logit = grown;
        flight->group_room = selection->group_count;
    }
    for (uint32_t g = 0; g < selection->group_count; g++) {
        const skn_group_t *group = &selection->group[g];
        flight->group_logit[g] = total;
        total += group->sample_count * skn_stride_floats(group->unit_count);
    }
    flight->keeps_logits = !head->fixed || head->rows_change ||
                           skn_head_is_measured(head, flight) ||
                           total <= head->kept_bytes / sizeof(float);
    if (flight->keeps_logits && total > flight->logit_room) {
        free(flight->logit);
        flight->logit_room = 0;
        /* A tenth more, as the number of distinct labels varies a little. */
        flight->logit = skn_floats_new(total + total / 10, error);
        if (!flight->logit)
            return SKN_NO_MEMORY;
        flight->logit_room = total + total / 10;
    }
    return SKN_OK;
}

/* The whole of a group, whose logits are kept. */
static head_slice_t
whole_of(const skn_flight_t *flight, uint32_t g)
{
    const skn_group_t *group = &flight->selection.group[g];
    size_t stride = skn_stride_floats(group->unit_count);
    float *logit = flight->logit + flight->group_logit[g];
    return (head_slice_t){ .group = group,
                           .count = group->unit_count,
                           .logit = logit,
                           .exp = logit,
                           .logit_stride = stride,
                           .exp_stride = stride };
}

/* Sums y o over those own positives of the group's samples that are in the
 * slice; returns their number. */
static uint32_t
sum_positives(const skn_head_t *head, skn_flight_t *flight,
              const head_slice_t *slice)
{
    const skn_selection_t *selection = &flight->selection;
    const skn_group_t *group = slice->group;
    const uint32_t *units = selection->unit + group->unit_first + slice->first;
    uint32_t found = 0;
    for (uint32_t s = 0; s < group->sample_count; s++) {
        uint32_t i = selection->sample[group->sample_first + s];
        const float *row = slice->logit + s * slice->logit_stride;
        float y = skn_head_target(head, flight, i);
        for (uint32_t k = flight->own_offset[i]; k < flight->own_offset[i + 1];
             k++) {
            uint32_t own = flight->own[k];
            uint32_t at = skn_head_lower_bound(units, slice->count, own);
            if (at == slice->count || units[at] != own)
                continue;
            flight->positive_sum += (double)y * (double)row[at];
            found++;
        }
    }
    return found;
}

/* The sampler puts each of the distinct labels into the set; a positive that is
 * missing was not among the distinct labels of the message. */
static skn_status_t
check_own(const skn_head_t *head, const skn_flight_t *flight,
          skn_error_t *error)
{
    const uint32_t *distinct = flight->own_distinct;
    uint32_t count = flight->own_distinct_count;
    for (uint32_t k = 0; k < flight->own_offset[flight->rows]; k++) {
        uint32_t at = skn_head_lower_bound(distinct, count, flight->own[k]);
        if (at == count || distinct[at] != flight->own[k])
            return skn_head_refuse_label(head, flight, flight->own[k], error);
    }
    return SKN_OK;
}

/* Computes the logits that are kept. */
static skn_status_t
keep_logits(skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    uint32_t found = 0;
    for (uint32_t g = 0; g < flight->selection.group_count; g++) {
        head_slice_t slice = whole_of(flight, g);
        if (logits(head, flight, &slice, error) != SKN_OK)
            return SKN_NO_MEMORY;
        found += sum_positives(head, flight, &slice);
    }
    return found == flight->own_offset[flight->rows]
               ? SKN_OK
               : check_own(head, flight, error);
}

skn_status_t
skn_head_forward(skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    assert(flight->rows <= head->batch_rows);
    skn_status_t status = find_own(head, flight, error);
    if (status != SKN_OK)
        return status;
    skn_sampler_query_t query = {
        .batch = flight->labels->batch,
        .rows = flight->rows,
        .hidden = flight->hidden,
        .hidden_stride = head->hidden_stride,
        .positive = flight->own_distinct,
        .positive_count = flight->own_distinct_count,
        .own_offset = flight->own_offset,
        .own = flight->own,
    };
    status = head->sampler_kind->draw(head->sampler, &query, &flight->selection,
                                      error);
    if (status == SKN_OK)
        status = skn_strips_begin(head, flight, error);
    flight->positive_sum = flight->negative_sum = 0.0;
    flight->complete = head->loss == SKN_LOSS_IS_ONE_VS_ALL;
    if (status != SKN_OK || flight->strips.in_use)
        return status;
    status = make_room(head, flight, error);
    if (status != SKN_OK)
        return status;
    return flight->keeps_logits ? keep_logits(head, flight, error)
                                : check_own(head, flight, error);
}

/* --- leaves -------------------------------- */

/* The part of a group that belongs to a leaf. Logits that are not kept have a
 * place, but are not computed. */
static head_slice_t
slice_of(const skn_head_t *head, const skn_flight_t *flight, uint32_t g,
         uint32_t leaf)
{
    const skn_group_t *group = &flight->selection.group[g];
    const uint32_t *units = flight->selection.unit + group->unit_first;
    head_slice_t slice = { .group = group, .count = group->unit_count };
    if (flight->strips.in_use)
        return slice;
    if (!head->fixed)
        return whole_of(flight, g);
    assert(leaf >= head->row_first / head->block_rows);
    uint32_t row = leaf * head->block_rows - head->row_first;
    slice.first = skn_head_lower_bound(units, group->unit_count, row);
    slice.count =
        skn_head_lower_bound(units, group->unit_count, row + head->block_rows) -
        slice.first;
    slice.exp = slice.logit = head->work;
    slice.exp_stride = slice.logit_stride = skn_stride_floats(slice.count);
    assert(group->sample_count * slice.exp_stride <= head->work_floats);
    if (flight->keeps_logits) {
        head_slice_t whole = whole_of(flight, g);
        slice.logit = whole.logit + slice.first;
        slice.logit_stride = whole.logit_stride;
    }
    return slice;
}

/* Computes the logits of a slice in head->work; NaN without memory. */
static void
make_logits(skn_head_t *head, const skn_flight_t *flight,
            const head_slice_t *slice)
{
    if (logits(head, flight, slice, NULL) == SKN_OK)
        return;
    head->starved = true;
    memset(slice->logit, 0xff,
           slice->group->sample_count * slice->logit_stride * sizeof(float));
}

/* Computes m and z (or the one-vs-all derivative) of each sample of the
 * slice. */
static void
normalise(const skn_head_t *head, skn_flight_t *flight,
          const head_slice_t *slice, skn_partial_t *into)
{
    const float *weight =
        flight->selection.weight + slice->group->unit_first + slice->first;
    for (uint32_t s = 0; s < slice->group->sample_count; s++) {
        uint32_t i = flight->selection.sample[slice->group->sample_first + s];
        const float *o = slice->logit + s * slice->logit_stride;
        float *e = slice->exp + s * slice->exp_stride;
        if (head->loss == SKN_LOSS_IS_ONE_VS_ALL) {
            flight->negative_sum +=
                (double)head->kernels->softplus_sum(o, weight, slice->count);
            head->kernels->sigmoid_weight(e, o, weight, slice->count);
            continue;
        }
        float greatest = head->kernels->row_max(o, slice->count);
        into->greatest[i] = greatest;
        into->sum[i] = slice->count == 0
                           ? 0.0f
                           : head->kernels->exp_weight_sum(
                                 e, o, weight, slice->count, greatest);
    }
}

/* pull[group samples] = exp . rows[units], over H columns. */
static void
pull(skn_head_t *head, const skn_flight_t *flight, const head_slice_t *slice,
     float *into)
{
    const skn_selection_t *selection = &flight->selection;
    const skn_group_t *group = slice->group;
    bool everybody = is_everybody(flight, group);
    float *c = everybody ? into : head->pull_rows;
    const uint32_t *unit = selection->unit + group->unit_first + slice->first;
    skn_gemm_t job = {
        .m = group->sample_count,
        .n = head->hidden,
        .k = slice->count,
        .a = { .at = slice->exp,
               .row_stride = slice->exp_stride,
               .column_stride = 1 },
        .b = skn_rows_matrix(
            head->rows, selection->everything && !head->fixed ? NULL : unit),
        .c = c,
        .c_stride = head->hidden,
    };
    if (skn_head_multiply(head, &job, NULL) != SKN_OK) {
        memset(c, 0xff, job.m * job.n * sizeof(float)); /* NaN */
        head->starved = true;
    }
    for (uint32_t s = 0; !everybody && s < group->sample_count; s++)
        memcpy(into + (size_t)selection->sample[group->sample_first + s] *
                          head->hidden,
               c + (size_t)s * head->hidden, head->hidden * sizeof(float));
}

/* Computes v, or for one-vs-all its share of u, from the positives among the
 * leaf's rows. */
static void
push(const skn_head_t *head, const skn_flight_t *flight, uint32_t leaf,
     float sign, float *into)
{
    uint32_t first = 0, end = head->row_count;
    float *row = head->pull_rows; /* one row, for bf16: width is H + 1 */
    if (head->fixed) {
        first = leaf * head->block_rows - head->row_first;
        end = first + head->block_rows;
    }
    for (uint32_t i = 0; i < flight->rows; i++) {
        float y = skn_head_target(head, flight, i);
        for (uint32_t k = flight->own_offset[i]; k < flight->own_offset[i + 1];
             k++) {
            if (flight->own[k] < first || flight->own[k] >= end)
                continue;
            const float *w = skn_rows_weight(head->rows, flight->own[k]);
            if (skn_rows_are_bf16(head->rows)) {
                skn_rows_get(head->rows, head->kernels, flight->own[k], row);
                w = row;
            }
            head->kernels->axpy(into + (size_t)i * head->hidden, sign * y, w,
                                head->hidden);
        }
    }
}

static void
compute_leaf(void *source, uint32_t leaf, skn_partial_t *into)
{
    skn_head_t *head = source;
    skn_flight_t *flight = head->at;
    size_t cells = (size_t)flight->rows * head->hidden;
    bool softmax = head->loss == SKN_LOSS_IS_SOFTMAX;
    if (softmax)
        memset(into->push, 0, cells * sizeof(float));
    for (uint32_t g = 0; g < flight->selection.group_count; g++) {
        head_slice_t slice = slice_of(head, flight, g, leaf);
        if (flight->strips.in_use) {
            skn_strips_forward(head, flight, into);
        } else {
            if (!flight->keeps_logits) {
                make_logits(head, flight, &slice);
                (void)sum_positives(head, flight, &slice);
            }
            normalise(head, flight, &slice, into);
            pull(head, flight, &slice, into->pull);
        }
        if (head->smoothing > 0)
            skn_smoothing_push(head, flight, slice.group, slice.first,
                               slice.count, into->push);
    }
    for (uint32_t i = 0; softmax && i < flight->rows; i++) {
        float *u = into->pull + (size_t)i * head->hidden;
        if (!skn_head_has_loss(head, flight, i))
            memset(u, 0, head->hidden * sizeof(float));
        else if (into->sum[i] != 0.0f) /* also NaN, which must not be hidden */
            head->kernels->scale(u, 1.0f / into->sum[i], head->hidden);
    }
    push(head, flight, leaf, softmax ? 1.0f : -1.0f,
         softmax ? into->push : into->pull);
}

void
skn_head_node(skn_head_t *head, skn_flight_t *flight, uint32_t k,
              skn_partial_t *into)
{
    head->at = flight;
    head->merge.rows = flight->rows;
    skn_merge_leaves(&head->merge, head->node[k], compute_leaf, head, into);
    if (!head->fixed && head->loss == SKN_LOSS_IS_SOFTMAX &&
        into->greatest != flight->greatest) {
        memcpy(flight->greatest, into->greatest, flight->rows * sizeof(float));
        memcpy(flight->sum, into->sum, flight->rows * sizeof(float));
    }
}

/* The factor of skn_head_share for this shard's single leaf. */
static float
share_of(const skn_flight_t *flight, uint32_t i)
{
    return skn_head_share(flight, i, flight->greatest[i]);
}

bool
skn_head_forms_rows(const skn_head_t *head, const skn_flight_t *flight)
{
    return skn_strips_form_rows(head, flight);
}

bool
skn_head_complete(skn_head_t *head, skn_flight_t *flight,
                  const skn_tree_node_t *nodes, size_t node_count)
{
    skn_partial_t root = { .greatest = flight->root_greatest,
                           .sum = flight->root_sum };
    head->merge.rows = flight->rows;
    flight->complete = skn_merge_root(&head->merge, nodes, node_count, &root);
    return flight->complete;
}

bool
skn_head_has_rows(const skn_head_t *head, const skn_flight_t *flight)
{
    bool all = true;
    for (uint32_t i = 0; i < flight->rows; i++)
        all = all && (flight->root_sum[i] != 0.0f ||
                      !skn_head_has_loss(head, flight, i));
    return all;
}

void
skn_head_normalise(const skn_head_t *head, const skn_flight_t *flight,
                   float *pull, const float *push)
{
    size_t columns = head->hidden;
    for (uint32_t i = 0; i < flight->rows; i++) {
        float *u = pull + i * columns;
        /* A sample without labels has u = 0, and perhaps no row at all. */
        float share = skn_head_has_loss(head, flight, i)
                          ? share_of(flight, i) * flight->sum[i]
                          : 0.0f;
        head->kernels->scale(u, share, columns);
        if (skn_head_pushes(head, flight, i))
            head->kernels->axpy(u, -1.0f, push + i * columns, columns);
    }
}

/* --- loss and gradient -------------------------------- */

double
skn_head_loss(const skn_head_t *head, const skn_flight_t *flight)
{
    double loss = flight->negative_sum - flight->positive_sum;
    if (head->loss == SKN_LOSS_IS_ONE_VS_ALL)
        return loss;
    if (head->smoothing > 0)
        loss += skn_smoothing_loss(head, flight);
    for (uint32_t i = 0; i < flight->rows; i++) {
        uint32_t own = flight->own_offset[i + 1] - flight->own_offset[i];
        if (own > 0)
            loss += (double)own * (double)skn_head_target(head, flight, i) *
                    ((double)flight->root_greatest[i] +
                     log((double)flight->root_sum[i]));
    }
    return loss;
}

/* Turns the values in `logit` into factors of c p, and fills head->scaled with
 * the samples' hidden vectors times the rest of the factor and 1 / rows. */
static void
scale_samples(skn_head_t *head, const skn_flight_t *flight)
{
    bool is_shared = !head->fixed && head->loss == SKN_LOSS_IS_SOFTMAX;
    for (uint32_t i = 0; i < flight->rows; i++)
        skn_head_scale(head, flight, i, is_shared ? share_of(flight, i) : 1.0f);
}

/* With reduction `fixed` the logits are still there: replaces them by c p. */
static void
normalise_in_place(const skn_head_t *head, const skn_flight_t *flight,
                   const head_slice_t *slice)
{
    const skn_selection_t *selection = &flight->selection;
    const skn_group_t *group = slice->group;
    const float *weight = selection->weight + group->unit_first + slice->first;
    for (uint32_t s = 0; s < group->sample_count; s++) {
        uint32_t i = selection->sample[group->sample_first + s];
        float *o = slice->logit + s * slice->logit_stride;
        if (head->loss == SKN_LOSS_IS_ONE_VS_ALL)
            head->kernels->sigmoid_weight(o, o, weight, slice->count);
        else
            (void)head->kernels->exp_weight_sum(o, o, weight, slice->count,
                                                flight->root_greatest[i] +
                                                    logf(flight->root_sum[i]));
    }
}

/* c[units][H + 1] = logit[samples][units]^T . scaled[samples][H + 1] */
static skn_status_t
multiply_rows(skn_head_t *head, const skn_flight_t *flight,
              const head_slice_t *slice, float *c, skn_error_t *error)
{
    const skn_group_t *group = slice->group;
    skn_gemm_t job = {
        .m = slice->count,
        .n = (size_t)head->hidden + 1,
        .k = group->sample_count,
        .a = { .at = slice->logit,
               .row_stride = 1,
               .column_stride = slice->logit_stride },
        .b = { .at = head->scaled,
               .row_stride = head->hidden_stride,
               .column_stride = 1,
               .row_index =
                   is_everybody(flight, group)
                       ? NULL
                       : flight->selection.sample + group->sample_first },
        .c = c,
        .c_stride = (size_t)head->hidden + 1,
    };
    if (head->fixed)
        normalise_in_place(head, flight, slice);
    return skn_head_multiply(head, &job, error);
}

/* multiply_rows of a group, leaf by leaf where the logits are not kept. */
static skn_status_t
multiply_group(skn_head_t *head, const skn_flight_t *flight, uint32_t g,
               float *c, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    if (flight->keeps_logits) {
        head_slice_t slice = whole_of(flight, g);
        return multiply_rows(head, flight, &slice, c, error);
    }
    for (uint32_t row = 0; row < head->row_count && status == SKN_OK;
         row += head->block_rows) {
        head_slice_t slice = slice_of(
            head, flight, g, (head->row_first + row) / head->block_rows);
        status = logits(head, flight, &slice, error);
        if (status == SKN_OK)
            status = multiply_rows(head, flight, &slice,
                                   c + slice.first * ((size_t)head->hidden + 1),
                                   error);
    }
    return status;
}

static skn_status_t
group_gradient(skn_head_t *head, skn_flight_t *flight, uint32_t g, float *c,
               skn_error_t *error)
{
    skn_status_t status = flight->strips.in_use
                              ? skn_strips_gradient(head, flight, c, error)
                              : multiply_group(head, flight, g, c, error);
    if (status == SKN_OK && head->smoothing > 0)
        skn_smoothing_rows(head, flight, &flight->selection.group[g], c);
    return status;
}

uint32_t
skn_head_gradient_units(skn_head_t *head, const skn_flight_t *flight)
{
    const skn_selection_t *selection = &flight->selection;
    uint32_t count = 0;
    if (selection->group_count == 1)
        return selection->group[0].unit_count;
    memset(head->slot, 0xff, head->row_count * sizeof(*head->slot));
    for (uint32_t k = 0; k < selection->unit_count; k++)
        if (head->slot[selection->unit[k]] < 0)
            head->slot[selection->unit[k]] = (int32_t)count++;
    return count;
}

/* Adds the gradients of each of several groups to their units' slots. */
static skn_status_t
gather_groups(skn_head_t *head, skn_flight_t *flight, uint32_t *unit,
              float *value, skn_error_t *error)
{
    const skn_selection_t *selection = &flight->selection;
    size_t width = (size_t)head->hidden + 1;
    skn_status_t status = SKN_OK;
    float *part = NULL;
    size_t part_units = 0;
    for (uint32_t g = 0; g < selection->group_count; g++)
        if (selection->group[g].unit_count > part_units)
            part_units = selection->group[g].unit_count;
    part = skn_floats_new(part_units * width, error);
    if (!part)
        return SKN_NO_MEMORY;
    for (uint32_t g = 0; g < selection->group_count && status == SKN_OK; g++) {
        const skn_group_t *group = &selection->group[g];
        status = group_gradient(head, flight, g, part, error);
        for (uint32_t k = 0; k < group->unit_count && status == SKN_OK; k++) {
            uint32_t row = selection->unit[group->unit_first + k];
            size_t slot = (size_t)head->slot[row];
            unit[slot] = row;
            head->kernels->add(value + slot * width, value + slot * width,
                               part + k * width, width);
        }
    }
    free(part);
    return status;
}

/* Subtracts y h of sample i from the row of one of its positives. */
static void
subtract_positive(const skn_head_t *head, const skn_flight_t *flight,
                  uint32_t i, float *row)
{
    float y = skn_head_target(head, flight, i) / (float)flight->rows;
    head->kernels->axpy(row, -y, flight->hidden + i * head->hidden_stride,
                        (size_t)head->hidden + 1);
}

static void
subtract_positives(const skn_head_t *head, const skn_flight_t *flight,
                   const uint32_t *unit, uint32_t unit_count, float *value)
{
    size_t width = (size_t)head->hidden + 1;
    bool single = flight->selection.group_count == 1;
    const skn_strip_own_t *placed =
        flight->strips.in_use ? flight->strips.own.at : NULL;
    for (uint32_t k = 0; placed && k < flight->own_offset[flight->rows]; k++)
        subtract_positive(head, flight, placed[k].sample,
                          value + placed[k].slot * width);
    for (uint32_t i = 0; i < flight->rows && !placed; i++)
        for (uint32_t k = flight->own_offset[i]; k < flight->own_offset[i + 1];
             k++) {
            size_t slot =
                single ? skn_head_lower_bound(unit, unit_count, flight->own[k])
                       : (size_t)head->slot[flight->own[k]];
            assert(slot < unit_count);
            subtract_positive(head, flight, i, value + slot * width);
        }
}

skn_status_t
skn_head_gradient(skn_head_t *head, skn_flight_t *flight, uint32_t *unit,
                  float *value, skn_error_t *error)
{
    const skn_selection_t *selection = &flight->selection;
    uint32_t unit_count = skn_head_gradient_units(head, flight);
    skn_status_t status;
    assert(flight->complete || flight->value == value);
    if (!flight->strips.in_use)
        scale_samples(head, flight);
    if (selection->group_count == 1) {
        if (unit_count > 0) /* otherwise there may be no array */
            memcpy(unit, selection->unit, unit_count * sizeof(*unit));
        status = group_gradient(head, flight, 0, value, error);
    } else {
        memset(value, 0,
               unit_count * ((size_t)head->hidden + 1) * sizeof(float));
        status = gather_groups(head, flight, unit, value, error);
    }
    if (status == SKN_OK)
        subtract_positives(head, flight, unit, unit_count, value);
    return status;
}
