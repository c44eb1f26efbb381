/* strips.c - computes wide active sets one strip of units at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/strips.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"

/* Floats of a strip: half of a second-level cache of 1 MiB. */
#define STRIP_FLOATS ((size_t)1 << 17)
#define STRIDE_STEP ((size_t)32) /* samples of bf16 in a line */
/* m may be less than the greatest logit by this much: powers and their sum,
 * below 2^32 e^16 times the weights, are still far from overflow. */
#define SLACK 16.0f

/* Grows a buffer, never shrinks it; its content is lost. */
static bool
room_for(void **at, size_t *room, size_t bytes)
{
    if (bytes <= *room)
        return true;
    free(*at);
    *at = skn_floats_new(bytes / sizeof(float) + 1, NULL);
    *room = *at ? bytes : 0;
    return *at != NULL;
}

size_t
skn_strips_stride(size_t rows)
{
    size_t lines = (rows + STRIDE_STEP - 1) / STRIDE_STEP;
    return (lines < 8 ? lines : lines | 1) * STRIDE_STEP;
}

static uint32_t
strip_units(const skn_head_t *head, uint32_t rows)
{
    if (head->strip_units > 0)
        return head->strip_units;
    size_t step = head->kernels->gemm_rows(head->half);
    size_t units = STRIP_FLOATS / skn_strips_stride(rows) + step;
    units = units < SKN_STRIPS_UNITS ? units : SKN_STRIPS_UNITS;
    return (uint32_t)(units / step * step);
}

size_t
skn_strips_work_floats(const skn_head_t *head)
{
    size_t stride = skn_strips_stride(head->batch_rows);
    size_t given = stride * head->strip_units;
    size_t step = head->kernels->gemm_rows(head->half);
    size_t usual = STRIP_FLOATS + stride * step;
    return given > usual ? given : usual;
}

static uint32_t
strip_count(const skn_flight_t *flight)
{
    uint32_t units = flight->strips.units;
    return (flight->selection.group[0].unit_count + units - 1) / units;
}

/* Finds each own positive among the units, sorted by strip and, within a strip,
 * in the order of samples. The lists have room for that. */
static skn_status_t
place_own(const skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    const uint32_t *unit = flight->selection.unit;
    uint32_t units = flight->selection.group[0].unit_count;
    uint32_t all = flight->own_offset[flight->rows];
    skn_strips_t *strips = &flight->strips;
    skn_strip_own_t *found = strips->own + all;
    uint32_t *end = strips->own_first + 1; /* the end of each strip's positives,
                                            * in the end */
    memset(strips->own_first, 0, (strip_count(flight) + 2) * sizeof(*end));
    for (uint32_t i = 0; i < flight->rows; i++)
        for (uint32_t k = flight->own_offset[i]; k < flight->own_offset[i + 1];
             k++) {
            uint32_t at = skn_head_lower_bound(unit, units, flight->own[k]);
            if (at == units || unit[at] != flight->own[k])
                return skn_head_refuse_label(head, flight, flight->own[k],
                                             error);
            found[k] = (skn_strip_own_t){ .slot = at, .sample = i };
            end[at / strips->units + 1]++;
        }
    for (uint32_t s = 0; s < strip_count(flight); s++)
        end[s + 1] += end[s];
    for (uint32_t k = 0; k < all; k++)
        strips->own[end[found[k].slot / strips->units]++] = found[k];
    return SKN_OK;
}

skn_status_t
skn_strips_begin(skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    const skn_selection_t *selection = &flight->selection;
    skn_strips_t *strips = &flight->strips;
    bool whole =
        head->whole_every > 0 && flight->labels->batch % head->whole_every == 0;
    strips->in_use = false;
    if (head->fixed || whole || flight->rows == 0 ||
        selection->group_count != 1 ||
        selection->group[0].sample_count != flight->rows)
        return SKN_OK;
    strips->units = strip_units(head, flight->rows);
    strips->stride = skn_strips_stride(flight->rows);
    assert(strips->units > 0 &&
           strips->units * strips->stride <= head->work_floats);
    if (selection->group[0].unit_count <= strips->units)
        return SKN_OK;
    strips->in_use = true;
    size_t cells = selection->group[0].unit_count * strips->stride;
    size_t own_bytes =
        (2 * (size_t)flight->own_offset[flight->rows] + 1) *
        sizeof(*strips->own); /* one more, so that there always is an array */
    size_t first_bytes = (strip_count(flight) + 2) * sizeof(*strips->own_first);
    size_t greatest_bytes =
        strip_count(flight) * flight->rows * sizeof(*strips->greatest);
    if (!room_for(&strips->exp, &strips->exp_bytes,
                  cells * (head->half ? sizeof(uint16_t) : sizeof(float))) ||
        !room_for((void **)&strips->own, &strips->own_bytes, own_bytes) ||
        !room_for((void **)&strips->own_first, &strips->own_first_bytes,
                  first_bytes) ||
        !room_for((void **)&strips->greatest, &strips->greatest_bytes,
                  greatest_bytes) ||
        !room_for((void **)&head->turned, &head->turned_bytes,
                  (head->hidden + 2) * strips->stride * sizeof(float)))
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the logits of %u units",
                        selection->group[0].unit_count);
    return place_own(head, flight, error);
}

/* --- one strip -------------------------------- */

/* Units [first, first + count) of the set, and the memory for their powers. */
typedef struct head_strip {
    uint32_t number, first, count;
    float *logit; /* [count][stride] */
    skn_matrix_t exp, row;
} head_strip_t;

static head_strip_t
strip_of(const skn_head_t *head, const skn_flight_t *flight, uint32_t number)
{
    const skn_selection_t *selection = &flight->selection;
    const skn_strips_t *strips = &flight->strips;
    head_strip_t strip = { .number = number, .first = number * strips->units };
    size_t block = strip.first * strips->stride;
    assert(strip.first < selection->group[0].unit_count);
    uint32_t left = selection->group[0].unit_count - strip.first;
    strip.count = left < strips->units ? left : strips->units;
    strip.exp.row_stride = strips->stride;
    strip.exp.column_stride = 1;
    if (head->half) {
        strip.exp.bf16 = (uint16_t *)strips->exp + block;
        strip.logit = head->work;
    } else {
        strip.logit = (float *)strips->exp + block;
        strip.exp.at = strip.logit;
    }
    strip.row =
        selection->everything
            ? skn_rows_matrix_from(head->rows, strip.first)
            : skn_rows_matrix(head->rows, selection->unit + strip.first);
    return strip;
}

/* Packs the factor that the strips' products share into head->packed. */
static skn_status_t
pack(skn_head_t *head, skn_gemm_t *job, skn_error_t *error)
{
    job->half = head->half;
    if (!room_for(&head->packed, &head->packed_bytes,
                  head->kernels->gemm_packed_bytes(job->n, job->k)))
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a packed matrix");
    head->kernels->gemm_pack(job, head->packed);
    job->packed = head->packed;
    return SKN_OK;
}

/* Sums y o of the positives in the strip. */
static void
sum_positives(const skn_head_t *head, skn_flight_t *flight,
              const head_strip_t *strip)
{
    const skn_strips_t *strips = &flight->strips;
    for (uint32_t k = strips->own_first[strip->number];
         k < strips->own_first[strip->number + 1]; k++) {
        size_t at = (strips->own[k].slot - strip->first) * strips->stride +
                    strips->own[k].sample;
        flight->positive_sum +=
            (double)skn_head_target(head, flight, strips->own[k].sample) *
            (double)strip->logit[at];
    }
}

/* Prefetches row k of the next strip while this one's logits become powers:
 * nothing else waits for memory then. */
static inline __attribute__((always_inline)) void
fetch_next(const skn_head_t *head, const skn_flight_t *flight,
           const head_strip_t *strip, uint32_t k)
{
    const skn_selection_t *selection = &flight->selection;
    uint32_t slot = strip->first + strip->count + k;
    if (slot < selection->group[0].unit_count)
        skn_rows_fetch(head->rows,
                       selection->everything ? slot : selection->unit[slot]);
}

/* Returns the place for the bf16 powers of unit k; NULL if they stay floats. */
static uint16_t *
half_of(const skn_head_t *head, const skn_flight_t *flight,
        const head_strip_t *strip, uint32_t k)
{
    return head->half ? (uint16_t *)flight->strips.exp +
                            (strip->first + k) * flight->strips.stride
                      : NULL;
}

static void
sigmoids(const skn_head_t *head, skn_flight_t *flight,
         const head_strip_t *strip)
{
    const skn_kernels_t *kernels = head->kernels;
    const float *weight = flight->selection.weight + strip->first;
    for (uint32_t k = 0; k < strip->count; k++) {
        float *o = strip->logit + k * flight->strips.stride;
        uint16_t *half = half_of(head, flight, strip, k);
        fetch_next(head, flight, strip, k);
        flight->negative_sum +=
            (double)weight[k] *
            (double)kernels->softplus_sum(o, NULL, flight->rows);
        kernels->sigmoid_weight(o, o, NULL, flight->rows);
        kernels->scale(o, weight[k], flight->rows);
        if (half)
            kernels->f32_to_bf16(half, o, flight->rows);
    }
}

/* Updates m of each sample for this strip, and rescales z and u to it. NaN
 * stays. */
static void
raise_greatest(const skn_head_t *head, const skn_flight_t *flight,
               const head_strip_t *strip, skn_partial_t *into)
{
    size_t stride = flight->strips.stride, rows = flight->rows;
    float *now = head->turned + head->hidden * stride, *factor = now;
    bool is_changed = false;
    for (uint32_t i = 0; i < rows; i++)
        now[i] = -INFINITY;
    for (uint32_t k = 0; k < strip->count; k++)
        head->kernels->raise(now, strip->logit + k * stride, rows);
    for (uint32_t i = 0; i < rows; i++) {
        float before = strip->number > 0 ? into->greatest[i] : now[i];
        bool has_risen =
            now[i] > before + SLACK || (now[i] > before && before == -INFINITY);
        into->greatest[i] = has_risen ? now[i] : before;
        factor[i] = has_risen ? expf(before - now[i]) : 1.0f;
        is_changed = is_changed || has_risen;
        if (strip->number == 0)
            into->sum[i] = 0.0f;
    }
    if (is_changed) {
        head->kernels->mul(into->sum, into->sum, factor, rows);
        for (uint32_t h = 0; h < head->hidden; h++)
            head->kernels->mul(head->turned + h * stride,
                               head->turned + h * stride, factor, rows);
    }
    memcpy(flight->strips.greatest + strip->number * rows, into->greatest,
           rows * sizeof(float));
}

/* Replaces logits by powers. A strip's sum is computed separately, which rounds
 * less. */
static void
powers(const skn_head_t *head, const skn_flight_t *flight,
       const head_strip_t *strip, skn_partial_t *into)
{
    const float *weight = flight->selection.weight + strip->first;
    size_t stride = flight->strips.stride;
    float *sum = head->turned + (head->hidden + 1) * stride;
    raise_greatest(head, flight, strip, into);
    memset(sum, 0, flight->rows * sizeof(float));
    for (uint32_t k = 0; k < strip->count; k++) {
        float *o = strip->logit + k * stride;
        fetch_next(head, flight, strip, k);
        head->kernels->exp_each(o, half_of(head, flight, strip, k), o,
                                into->greatest, weight[k], sum, flight->rows);
    }
    head->kernels->add(into->sum, into->sum, sum, flight->rows);
}

/* Adds the strip's part to u^T [H][samples]. */
static skn_status_t
pull(skn_head_t *head, const skn_flight_t *flight, const head_strip_t *strip)
{
    skn_gemm_t job = {
        .m = head->hidden,
        .n = flight->rows,
        .k = strip->count,
        .a = { .at = strip->row.at,
               .bf16 = strip->row.bf16,
               .row_stride = 1,
               .column_stride = strip->row.row_stride,
               .column_index = strip->row.row_index },
        .b = strip->exp,
        .c = head->turned,
        .c_stride = flight->strips.stride,
        .add = strip->number > 0,
    };
    return skn_head_multiply(head, &job, NULL);
}

static void
turn(const skn_head_t *head, const skn_flight_t *flight, float *into)
{
    for (uint32_t i = 0; i < flight->rows; i++)
        for (uint32_t h = 0; h < head->hidden; h++)
            into[(size_t)i * head->hidden + h] =
                head->turned[h * flight->strips.stride + i];
}

void
skn_strips_forward(skn_head_t *head, skn_flight_t *flight, skn_partial_t *into)
{
    skn_gemm_t job = {
        .n = flight->rows,
        .k = (size_t)head->hidden + 1,
        .b = { .at = flight->hidden,
               .row_stride = 1,
               .column_stride = head->hidden_stride },
        .c_stride = flight->strips.stride,
    };
    skn_status_t status = pack(head, &job, NULL);
    for (uint32_t s = 0; s < strip_count(flight) && status == SKN_OK; s++) {
        head_strip_t strip = strip_of(head, flight, s);
        job.m = strip.count;
        job.a = strip.row;
        job.c = strip.logit;
        status = skn_head_multiply(head, &job, NULL);
        if (status != SKN_OK)
            break;
        sum_positives(head, flight, &strip);
        if (head->loss == SKN_LOSS_IS_ONE_VS_ALL)
            sigmoids(head, flight, &strip);
        else
            powers(head, flight, &strip, into);
        status = pull(head, flight, &strip);
    }
    if (status == SKN_OK) {
        turn(head, flight, into->pull);
        return;
    }
    head->starved = true;
    memset(into->pull, 0xff, /* NaN */
           (size_t)flight->rows * head->hidden * sizeof(float));
}

/* --- gradient -------------------------------- */

/* Fills head->scaled [rows][H + 1] for strip s: the hidden vectors, times the
 * factor that turns its powers into p, and 1 / rows. Returns whether it
 * changed: after the first strip, only if m did. */
static bool
scale_samples(skn_head_t *head, const skn_flight_t *flight, uint32_t s)
{
    const float *greatest = flight->strips.greatest + (size_t)s * flight->rows;
    bool softmax = head->loss == SKN_LOSS_IS_SOFTMAX, changed = false;
    for (uint32_t i = 0; i < flight->rows; i++) {
        if (s > 0 && (!softmax || greatest[i] == (greatest - flight->rows)[i]))
            continue;
        changed = true;
        skn_head_scale(head, flight, i,
                       softmax ? skn_head_share(flight, i, greatest[i]) : 1.0f);
    }
    return changed;
}

skn_status_t
skn_strips_gradient(skn_head_t *head, skn_flight_t *flight, float *value,
                    skn_error_t *error)
{
    size_t width = (size_t)head->hidden + 1;
    skn_status_t status = SKN_OK;
    skn_gemm_t job = {
        .n = width,
        .k = flight->rows,
        .b = { .at = head->scaled,
               .row_stride = head->hidden_stride,
               .column_stride = 1 },
        .c_stride = width,
    };
    for (uint32_t s = 0; s < strip_count(flight) && status == SKN_OK; s++) {
        head_strip_t strip = strip_of(head, flight, s);
        if (scale_samples(head, flight, s))
            status = pack(head, &job, error);
        job.m = strip.count;
        job.a = strip.exp;
        job.c = value + strip.first * width;
        if (status == SKN_OK)
            status = skn_head_multiply(head, &job, error);
    }
    return status;
}
