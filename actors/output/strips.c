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
room_for(skn_room_t *room, size_t bytes)
{
    if (bytes <= room->bytes)
        return true;
    free(room->at);
    room->at = skn_floats_new(bytes / sizeof(float) + 1, NULL);
    room->bytes = room->at ? bytes : 0;
    return room->at != NULL;
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

/* Bytes of the powers of a sample's units, without what pads them. */
static size_t
column_bytes(const skn_head_t *head, const skn_flight_t *flight)
{
    return flight->selection.group[0].unit_count *
           (head->half ? sizeof(uint16_t) : sizeof(float));
}

/* Samples, at most all, whose powers have room; 0 if it is for fewer than
 * STRIDE_STEP. */
static uint32_t
samples_at_once(const skn_head_t *head, const skn_flight_t *flight)
{
    size_t room = head->kept_bytes / column_bytes(head, flight);
    size_t samples = room / STRIDE_STEP * STRIDE_STEP;
    if (skn_strips_stride(flight->rows) <= room)
        return flight->rows;
    while (samples > 0 && skn_strips_stride(samples) > room)
        samples -= STRIDE_STEP;
    return (uint32_t)samples;
}

/* Finds each own positive among the units, sorted by strip and, within a strip,
 * in the order of samples. The lists have room for that. */
static skn_status_t
place_own(const skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    const uint32_t *unit = flight->selection.unit;
    uint32_t units = flight->selection.group[0].unit_count;
    uint32_t all = flight->own_offset[flight->rows];
    const skn_strips_t *strips = &flight->strips;
    skn_strip_own_t *own = strips->own.at, *found = own + all;
    uint32_t *first = strips->own_first.at;
    uint32_t *end = first + 1; /* the end of each strip's positives, in the
                                * end */
    memset(first, 0, (strip_count(flight) + 2) * sizeof(*end));
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
        own[end[found[k].slot / strips->units]++] = found[k];
    return SKN_OK;
}

skn_status_t
skn_strips_begin(skn_head_t *head, skn_flight_t *flight, skn_error_t *error)
{
    const skn_selection_t *selection = &flight->selection;
    skn_strips_t *strips = &flight->strips;
    strips->in_use = false;
    if (head->fixed || skn_head_is_measured(head, flight) ||
        flight->rows == 0 || selection->group_count != 1 ||
        selection->group[0].sample_count != flight->rows)
        return SKN_OK;
    size_t stride = skn_strips_stride(flight->rows);
    strips->units = strip_units(head, flight->rows);
    assert(strips->units > 0 && strips->units * stride <= head->work_floats);
    if (selection->group[0].unit_count <= strips->units)
        return SKN_OK;
    strips->in_use = true;
    size_t own_bytes =
        (2 * (size_t)flight->own_offset[flight->rows] + 1) *
        sizeof(
            skn_strip_own_t); /* one more, so that there always is an array */
    if (!room_for(&strips->own, own_bytes) ||
        !room_for(&strips->own_first,
                  (strip_count(flight) + 2) * sizeof(uint32_t)) ||
        !room_for(&strips->greatest,
                  strip_count(flight) * flight->rows * sizeof(float)) ||
        !room_for(&head->turned, (head->hidden + 2) * stride * sizeof(float)))
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the logits of %u units",
                        selection->group[0].unit_count);
    return place_own(head, flight, error);
}

bool
skn_strips_form_rows(const skn_head_t *head, const skn_flight_t *flight)
{
    return flight->strips.in_use &&
           (head->loss == SKN_LOSS_IS_ONE_VS_ALL ||
            head->merge.leaf_count == 1) &&
           samples_at_once(head, flight) > 0;
}

/* --- spans of samples -------------------------------- */

/* Samples [first, first + count), computed together, and the place for the
 * powers of the first strips. */
typedef struct head_span {
    uint32_t first, count;
    size_t stride; /* between units */
    void *kept;
    uint32_t kept_strips;
} head_span_t;

/* The powers of all strips have room if the row gradients are formed at once,
 * `samples` at a time; these of all samples wait in the flight otherwise. */
static skn_status_t
span_of(skn_head_t *head, skn_flight_t *flight, uint32_t first,
        uint32_t samples, head_span_t *span)
{
    uint32_t left = flight->rows - first;
    size_t strips = strip_count(flight);
    bool at_once = flight->value != NULL;
    skn_room_t *kept = at_once ? &head->powers : &flight->strips.exp;
    span->first = first;
    span->count = left < samples ? left : samples;
    span->stride = skn_strips_stride(span->count);
    size_t strip_bytes = flight->strips.units * span->stride *
                         (head->half ? sizeof(uint16_t) : sizeof(float));
    if (!at_once && !head->rows_change &&
        head->kept_bytes / strip_bytes < strips)
        strips = head->kept_bytes / strip_bytes;
    span->kept_strips = (uint32_t)strips;
    if (!room_for(kept, strips * strip_bytes) ||
        (!at_once && !room_for(&head->powers, strip_bytes)))
        return SKN_NO_MEMORY;
    span->kept = kept->at;
    return SKN_OK;
}

/* --- one strip -------------------------------- */

/* Units [first, first + count) of the set, and the memory for their powers. */
typedef struct head_strip {
    uint32_t number, first, count;
    float *logit; /* [count][stride] */
    skn_matrix_t exp, row;
} head_strip_t;

static head_strip_t
strip_of(const skn_head_t *head, const skn_flight_t *flight,
         const head_span_t *span, uint32_t number)
{
    const skn_selection_t *selection = &flight->selection;
    uint32_t units = flight->strips.units;
    bool is_kept = number < span->kept_strips;
    head_strip_t strip = { .number = number, .first = number * units };
    size_t block = is_kept ? strip.first * span->stride : 0;
    assert(strip.first < selection->group[0].unit_count);
    uint32_t left = selection->group[0].unit_count - strip.first;
    strip.count = left < units ? left : units;
    strip.exp.row_stride = span->stride;
    strip.exp.column_stride = 1;
    strip.logit = head->work;
    if (head->half) {
        uint16_t *at = is_kept ? span->kept : head->powers.at;
        strip.exp.bf16 = at + block;
    } else {
        float *at = is_kept ? span->kept : head->work;
        strip.exp.at = strip.logit = at + block;
    }
    strip.row =
        selection->everything
            ? skn_rows_matrix_from(head->rows, strip.first)
            : skn_rows_matrix(head->rows, selection->unit + strip.first);
    return strip;
}

/* Packs the factor that the strips' products share. */
static skn_status_t
pack(const skn_head_t *head, skn_gemm_t *job, skn_room_t *into,
     skn_error_t *error)
{
    job->half = head->half;
    if (!room_for(into, head->kernels->gemm_packed_bytes(job->n, job->k)))
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a packed matrix");
    head->kernels->gemm_pack(job, into->at);
    job->packed = into->at;
    return SKN_OK;
}

/* Begins the products that make logits. */
static skn_status_t
begin_logits(skn_head_t *head, const skn_flight_t *flight,
             const head_span_t *span, skn_gemm_t *job, skn_error_t *error)
{
    *job = (skn_gemm_t){
        .n = span->count,
        .k = (size_t)head->hidden + 1,
        .b = { .at = flight->hidden + span->first * head->hidden_stride,
               .row_stride = 1,
               .column_stride = head->hidden_stride },
        .c_stride = span->stride,
    };
    return pack(head, job, &head->packed, error);
}

static skn_status_t
make_logits(skn_head_t *head, const head_strip_t *strip, skn_gemm_t *job,
            skn_error_t *error)
{
    job->m = strip->count;
    job->a = strip->row;
    job->c = strip->logit;
    return skn_head_multiply(head, job, error);
}

/* Sums y o of the span's positives in the strip. */
static void
sum_positives(const skn_head_t *head, skn_flight_t *flight,
              const head_span_t *span, const head_strip_t *strip)
{
    const skn_strip_own_t *own = flight->strips.own.at;
    const uint32_t *first = flight->strips.own_first.at;
    for (uint32_t k = first[strip->number]; k < first[strip->number + 1]; k++) {
        size_t column = own[k].sample - span->first;
        if (own[k].sample < span->first || column >= span->count)
            continue;
        flight->positive_sum +=
            (double)skn_head_target(head, flight, own[k].sample) *
            (double)strip
                ->logit[(own[k].slot - strip->first) * span->stride + column];
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

/* Returns the place for the bf16 powers of unit k of the strip; NULL if they
 * stay floats. */
static uint16_t *
half_of(const head_span_t *span, const head_strip_t *strip, uint32_t k)
{
    return strip->exp.bf16 ? (uint16_t *)strip->exp.bf16 + k * span->stride
                           : NULL;
}

/* Sums c softplus(o) of the strip. */
static void
sum_negatives(const skn_head_t *head, skn_flight_t *flight,
              const head_span_t *span, const head_strip_t *strip)
{
    const float *weight = flight->selection.weight + strip->first;
    for (uint32_t k = 0; k < strip->count; k++)
        flight->negative_sum +=
            (double)weight[k] *
            (double)head->kernels->softplus_sum(strip->logit + k * span->stride,
                                                NULL, span->count);
}

/* The place of m of the span's samples when the strip's powers are taken. */
static float *
greatest_of(const skn_flight_t *flight, const head_span_t *span,
            uint32_t number)
{
    return (float *)flight->strips.greatest.at + (size_t)number * span->count;
}

/* Updates m of each sample for this strip, and rescales z and u to it. NaN
 * stays. */
static void
raise_greatest(const skn_head_t *head, const skn_flight_t *flight,
               const head_span_t *span, const head_strip_t *strip, float *z)
{
    size_t stride = span->stride, rows = span->count;
    float *u = head->turned.at;
    float *now = u + head->hidden * stride, *factor = now;
    float *m = greatest_of(flight, span, strip->number);
    const float *last = strip->number > 0 ? m - rows : NULL;
    bool is_changed = false;
    for (uint32_t i = 0; i < rows; i++)
        now[i] = -INFINITY;
    for (uint32_t k = 0; k < strip->count; k++)
        head->kernels->raise(now, strip->logit + k * stride, rows);
    for (uint32_t i = 0; i < rows; i++) {
        float before = last ? last[i] : now[i];
        bool has_risen =
            now[i] > before + SLACK || (now[i] > before && before == -INFINITY);
        m[i] = has_risen ? now[i] : before;
        factor[i] = has_risen ? expf(before - now[i]) : 1.0f;
        is_changed = is_changed || has_risen;
        if (!last)
            z[i] = 0.0f;
    }
    if (!is_changed)
        return;
    head->kernels->mul(z, z, factor, rows);
    for (uint32_t h = 0; h < head->hidden; h++)
        head->kernels->mul(u + h * stride, u + h * stride, factor, rows);
}

/* Replaces the strip's logits by powers, and returns the sum of each sample's:
 * a strip's is computed separately, which rounds less. Of one-vs-all the powers
 * are the derivatives, and there is no sum. */
static const float *
raise(const skn_head_t *head, const skn_flight_t *flight,
      const head_span_t *span, const head_strip_t *strip)
{
    const skn_kernels_t *kernels = head->kernels;
    const float *weight = flight->selection.weight + strip->first;
    const float *m = greatest_of(flight, span, strip->number);
    float *sum = (float *)head->turned.at + (head->hidden + 1) * span->stride;
    memset(sum, 0, span->count * sizeof(float));
    for (uint32_t k = 0; k < strip->count; k++) {
        float *o = strip->logit + k * span->stride;
        uint16_t *half = half_of(span, strip, k);
        fetch_next(head, flight, strip, k);
        if (head->loss == SKN_LOSS_IS_SOFTMAX) {
            kernels->exp_each(o, half, o, m, weight[k], sum, span->count);
            continue;
        }
        kernels->sigmoid_weight(o, o, NULL, span->count);
        kernels->scale(o, weight[k], span->count);
        if (half)
            kernels->f32_to_bf16(half, o, span->count);
    }
    return sum;
}

/* Adds the strip's part to u^T [H][samples]. */
static skn_status_t
pull(skn_head_t *head, const head_span_t *span, const head_strip_t *strip)
{
    skn_gemm_t job = {
        .m = head->hidden,
        .n = span->count,
        .k = strip->count,
        .a = { .at = strip->row.at,
               .bf16 = strip->row.bf16,
               .row_stride = 1,
               .column_stride = strip->row.row_stride,
               .column_index = strip->row.row_index },
        .b = strip->exp,
        .c = head->turned.at,
        .c_stride = span->stride,
        .add = strip->number > 0,
    };
    return skn_head_multiply(head, &job, NULL);
}

/* --- forward -------------------------------- */

static void
turn(const skn_head_t *head, const head_span_t *span, float *into)
{
    const float *u = head->turned.at;
    for (uint32_t i = 0; i < span->count; i++)
        for (uint32_t h = 0; h < head->hidden; h++)
            into[(size_t)i * head->hidden + h] = u[h * span->stride + i];
}

static skn_status_t
forward(skn_head_t *head, skn_flight_t *flight, const head_span_t *span,
        skn_partial_t *into)
{
    skn_gemm_t job;
    bool softmax = head->loss == SKN_LOSS_IS_SOFTMAX;
    float *z = softmax ? into->sum + span->first : NULL;
    uint32_t count = strip_count(flight);
    skn_status_t status = begin_logits(head, flight, span, &job, NULL);
    for (uint32_t s = 0; s < count && status == SKN_OK; s++) {
        head_strip_t strip = strip_of(head, flight, span, s);
        status = make_logits(head, &strip, &job, NULL);
        if (status != SKN_OK)
            break;
        sum_positives(head, flight, span, &strip);
        if (softmax)
            raise_greatest(head, flight, span, &strip, z);
        else
            sum_negatives(head, flight, span, &strip);
        const float *sum = raise(head, flight, span, &strip);
        if (softmax)
            head->kernels->add(z, z, sum, span->count);
        status = pull(head, span, &strip);
    }
    if (softmax)
        memcpy(into->greatest + span->first,
               greatest_of(flight, span, count - 1),
               span->count * sizeof(float));
    turn(head, span, into->pull + (size_t)span->first * head->hidden);
    return status;
}

/* --- gradient -------------------------------- */

/* Fills head->scaled [rows][H + 1] for strip s: the hidden vectors, times the
 * factor that turns its powers into p, and 1 / rows. Returns whether it
 * changed: after the first strip, only if m did. */
static bool
scale_samples(skn_head_t *head, const skn_flight_t *flight,
              const head_span_t *span, uint32_t s)
{
    const float *greatest = greatest_of(flight, span, s);
    bool softmax = head->loss == SKN_LOSS_IS_SOFTMAX, changed = false;
    for (uint32_t i = 0; i < span->count; i++) {
        if (s > 0 && (!softmax || greatest[i] == (greatest - span->count)[i]))
            continue;
        uint32_t sample = span->first + i;
        changed = true;
        skn_head_scale(head, flight, sample,
                       softmax ? skn_head_share(flight, sample, greatest[i])
                               : 1.0f);
    }
    return changed;
}

/* Adds the span's part to value[units][H + 1], or sets it in the first span of
 * a flight that does not add.
 * Powers that were not kept are computed again, from the same numbers to the
 * same bits. */
static skn_status_t
gradient(skn_head_t *head, const skn_flight_t *flight, const head_span_t *span,
         float *value, skn_error_t *error)
{
    size_t width = (size_t)head->hidden + 1;
    uint32_t count = strip_count(flight);
    skn_status_t status = SKN_OK;
    skn_gemm_t again, job = {
        .n = width,
        .k = span->count,
        .b = { .at = head->scaled + span->first * head->hidden_stride,
               .row_stride = head->hidden_stride,
               .column_stride = 1 },
        .c_stride = width,
        .add = flight->adds || span->first > 0,
    };
    if (span->kept_strips < count)
        status = begin_logits(head, flight, span, &again, error);
    for (uint32_t s = 0; s < count && status == SKN_OK; s++) {
        head_strip_t strip = strip_of(head, flight, span, s);
        if (s >= span->kept_strips) {
            status = make_logits(head, &strip, &again, error);
            (void)raise(head, flight, span, &strip);
        }
        if (scale_samples(head, flight, span, s) && status == SKN_OK)
            status = pack(head, &job, &head->packed_scaled, error);
        job.m = strip.count;
        job.a = strip.exp;
        job.c = value + strip.first * width;
        if (status == SKN_OK)
            status = skn_head_multiply(head, &job, error);
    }
    return status;
}

void
skn_strips_forward(skn_head_t *head, skn_flight_t *flight, skn_partial_t *into)
{
    uint32_t samples =
        flight->value ? samples_at_once(head, flight) : flight->rows;
    skn_status_t status = SKN_OK;
    for (uint32_t first = 0; first < flight->rows && status == SKN_OK;
         first += samples) {
        head_span_t span;
        status = span_of(head, flight, first, samples, &span);
        if (status == SKN_OK)
            status = forward(head, flight, &span, into);
        if (status != SKN_OK || !flight->value)
            continue;
        for (uint32_t i = first; into->sum && i < first + span.count; i++) {
            flight->root_greatest[i] = into->greatest[i];
            flight->root_sum[i] = into->sum[i];
        }
        status = gradient(head, flight, &span, flight->value, NULL);
    }
    if (status == SKN_OK)
        return;
    head->starved = true;
    memset(into->pull, 0xff, /* NaN */
           (size_t)flight->rows * head->hidden * sizeof(float));
}

skn_status_t
skn_strips_gradient(skn_head_t *head, skn_flight_t *flight, float *value,
                    skn_error_t *error)
{
    head_span_t span;
    if (value == flight->value)
        return SKN_OK;
    if (span_of(head, flight, 0, flight->rows, &span) != SKN_OK)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the logits of %u units",
                        flight->selection.group[0].unit_count);
    return gradient(head, flight, &span, value, error);
}
