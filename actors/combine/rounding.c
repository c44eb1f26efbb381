/* rounding.c - measures the rounding error of link codings as sums of squares,
 * row by row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/combine/rounding.h"

#include <math.h>
#include <stdlib.h>

double
skn_rounding_error(const skn_rounding_t *rounding)
{
    double changed = rounding->changed, square = rounding->square;
    if (!isfinite(changed) || !isfinite(square) || changed < 0 || square <= 0)
        return -1;
    /* If the error is as large as the gradient, the difference may be near 0 by
     * chance. */
    double own = square - changed, least = 1e-3 * square;
    return sqrt(changed / (own > least ? own : least));
}

void
skn_rounding_probe_fini(skn_rounding_probe_t *probe)
{
    free(probe->room);
    *probe = (skn_rounding_probe_t){ 0 };
}

/* --- sender -------------------------------------------------------------- */

/* Runs of a gradient with `samples` = [nodes][rows] rows. */
typedef struct rounding_part {
    size_t nodes, rows, columns;
    const skn_u32s_t *open, *pushed;
    const skn_f32s_t *pull, *push; /* push: NULL without one */
} rounding_part_t;

static size_t
length_of(const skn_u32s_t *lengths, size_t row, size_t columns)
{
    return lengths->count > 0 ? lengths->at[row] : columns;
}

/* True if the lengths of the rows add up to the run. */
static bool
fills(const rounding_part_t *part, const skn_u32s_t *lengths,
      const skn_f32s_t *run)
{
    uint64_t sum = 0;
    if (lengths->count > 0 && lengths->count != part->rows)
        return false;
    for (size_t i = 0; i < part->rows; i++)
        sum += length_of(lengths, i, part->columns);
    return run->count == part->nodes * sum;
}

static bool
is_sound(const rounding_part_t *part)
{
    if (part->nodes == 0 || !fills(part, part->open, part->pull))
        return false;
    if (!part->push)
        return true;
    for (size_t i = 0; i < part->pushed->count && i < part->rows; i++)
        if (part->pushed->at[i] > length_of(part->open, i, part->columns))
            return false;
    return fills(part, part->pushed, part->push);
}

/* Sums of du du, dv dv and du dv of each sample. Rounded values are finite, or
 * the run diverges anyway. */
static void
sum_up(const rounding_part_t *part, const float *pull, const float *push,
       float *changed)
{
    size_t samples = part->nodes * part->rows;
    const float *u = part->pull->at, *v = part->push ? part->push->at : NULL;
    for (size_t k = 0; k < samples; k++) {
        size_t i = k % part->rows;
        size_t us = length_of(part->open, i, part->columns);
        size_t vs = v ? length_of(part->pushed, i, part->columns) : 0;
        double uu = 0, vv = 0, uv = 0;
        for (size_t c = 0; c < us; c++) {
            double du = (double)pull[c] - (double)u[c];
            uu += du * du;
            if (c < vs) {
                double dv = (double)push[c] - (double)v[c];
                vv += dv * dv;
                uv += du * dv;
            }
        }
        changed[k] = (float)uu;
        if (v) {
            changed[samples + k] = (float)vv;
            changed[2 * samples + k] = (float)uv;
            v += vs;
            push += vs;
        }
        u += us;
        pull += us;
    }
}

static skn_status_t
make_room(skn_rounding_probe_t *probe, size_t floats, skn_error_t *error)
{
    if (floats <= probe->room_floats)
        return SKN_OK;
    skn_rounding_probe_fini(probe);
    probe->room = malloc(floats * sizeof(float));
    if (!probe->room)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory to measure a coding: %zu numbers", floats);
    probe->room_floats = floats;
    return SKN_OK;
}

static bool
is_due(uint64_t batch)
{
    return batch % SKN_ROUNDING_BATCHES == 0;
}

/* Makes room for u', v' and the sums; *changed, the sums, comes last. */
static skn_status_t
open_room(skn_rounding_probe_t *probe, const rounding_part_t *part,
          skn_f32s_t *changed, skn_error_t *error)
{
    size_t values = part->pull->count + (part->push ? part->push->count : 0);
    changed->count = (part->push ? 3 : 1) * part->nodes * part->rows;
    skn_status_t status = make_room(probe, values + changed->count, error);
    changed->at = probe->room ? probe->room + values : NULL;
    return status;
}

skn_status_t
skn_rounding_measure(skn_rounding_probe_t *probe, const skn_schema_t *schema,
                     const void *message, skn_coding_t coding, uint64_t key,
                     skn_coder_t *coder, skn_rounding_copy_t *copy,
                     const void **measured, skn_error_t *error)
{
    static const skn_u32s_t none = { NULL, 0 };
    bool is_sum = schema == &skn_hidden_gradient_schema;
    const skn_output_gradient_t *output = message;
    const skn_hidden_gradient_t *hidden = message;
    rounding_part_t part;
    if (is_sum && is_due(hidden->batch))
        part = (rounding_part_t){ hidden->node.count,
                                  hidden->rows,
                                  hidden->columns,
                                  &hidden->open,
                                  &none,
                                  &hidden->value,
                                  NULL };
    else if (schema == &skn_output_gradient_schema && is_due(output->batch))
        part = (rounding_part_t){ output->node.count,
                                  output->rows,
                                  output->columns,
                                  &output->open,
                                  &output->pushed,
                                  &output->pull,
                                  output->normalised ? &output->push : NULL };
    else
        return SKN_OK;
    skn_f32s_t changed;
    if (!is_sound(&part)) /* its receiver will report what is wrong */
        return SKN_OK;
    skn_status_t status = open_room(probe, &part, &changed, error);
    float *pull = probe->room, *push = pull ? pull + part.pull->count : NULL;
    if (status == SKN_OK)
        status = skn_coding_round(schema, message, is_sum ? "value" : "pull",
                                  coding, key, coder, pull, error);
    if (status == SKN_OK && part.push)
        status = skn_coding_round(schema, message, "push", coding, key, coder,
                                  push, error);
    if (status != SKN_OK)
        return status;
    sum_up(&part, pull, push, changed.at);
    if (is_sum) {
        copy->hidden = *hidden;
        copy->hidden.changed = changed;
    } else {
        copy->output = *output;
        copy->output.changed = changed;
    }
    *measured = copy;
    return SKN_OK;
}

/* --- receiver ------------------------------------------------------------ */

/* The share of a node in the sum of all, for sample i. */
static double
share_of(const skn_rounding_scale_t *of, size_t i)
{
    if (of->sum[i] == 0.0f || of->root_sum[i] == 0.0f)
        return 0.0;
    return (double)of->sum[i] *
           exp((double)of->greatest[i] - (double)of->root_greatest[i]) /
           (double)of->root_sum[i];
}

void
skn_rounding_add(skn_rounding_t *rounding, const skn_rounding_scale_t *of,
                 const float *changed, size_t node, size_t nodes, size_t rows)
{
    size_t samples = nodes * rows;
    changed += node * rows;
    for (size_t i = 0; i < rows; i++) {
        if (!of->sum) {
            rounding->changed += (double)changed[i];
            continue;
        }
        double a = share_of(of, i);
        rounding->changed += a * a * (double)changed[i] +
                             (double)changed[samples + i] -
                             2 * a * (double)changed[2 * samples + i];
    }
}

void
skn_rounding_close(skn_rounding_t *rounding, double factor,
                   const float *gradient, size_t count)
{
    rounding->changed *= factor * factor;
    for (size_t k = 0; k < count; k++)
        rounding->square += (double)gradient[k] * (double)gradient[k];
}
