/* link_guard.c - rejects numbers from other nodes that no sound training has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/builtin/link_guard.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "actors/protocol/messages.h"
#include "transport/message/field.h"

/* The kinds of guarded fields. BOTTOMLESS: -INFINITY is allowed, for "nothing",
 * as in the greatest of no logits. JUMPS: sudden growth is allowed, as in a sum
 * over labels, which is anywhere between 1 and their number. NOT_BELOW_0: as
 * for a sum of exp. */
enum {
    BOTTOMLESS = 1,
    JUMPS = 2,
    NOT_BELOW_0 = 4
};
typedef struct guarded {
    const skn_schema_t *schema;
    const char *field; /* an array of floats, or an f64 */
    unsigned is;
} guarded_t;

static const guarded_t table[] = {
    { &skn_activation_schema, "value", 0 },
    { &skn_partition_schema, "greatest", BOTTOMLESS },
    { &skn_partition_schema, "sum", JUMPS | NOT_BELOW_0 },
    { &skn_output_gradient_schema, "pull", 0 },
    { &skn_output_gradient_schema, "push", 0 },
    { &skn_output_gradient_schema, "changed", JUMPS },
    { &skn_hidden_gradient_schema, "value", 0 },
    { &skn_hidden_gradient_schema, "changed", JUMPS },
    { &skn_result_schema, "loss", JUMPS },
    { &skn_result_schema, "mass", JUMPS },
    { &skn_result_schema, "recall", JUMPS },
    { &skn_ranking_schema, "score", BOTTOMLESS | JUMPS },
    { &skn_ranking_schema, "greatest", BOTTOMLESS | JUMPS },
    { &skn_ranking_schema, "sum", JUMPS | NOT_BELOW_0 },
    { &skn_ranking_schema, "positive", JUMPS },
};

/* The greatest magnitude; infinite or NaN if a number is. */
static float
reach_of(const skn_kernels_t *kernels, const guarded_t *guarded,
         const skn_field_t *field, const void *message)
{
    if (field->kind == SKN_FIELD_f64)
        return fabsf((float)skn_field_real(field, message));
    skn_run_t run = skn_field_run(field, message);
    const float *x = run.at;
    float greatest = 0.0f;
    if (!(guarded->is & BOTTOMLESS))
        return kernels->greatest_abs(x, run.count);
    for (size_t i = 0; i < run.count && !isnan(greatest); i++)
        if (x[i] != -INFINITY && !(fabsf(x[i]) <= greatest))
            greatest = fabsf(x[i]);
    return greatest;
}

static float
limit_of(const skn_guard_t *guard, uint32_t at, const guarded_t *guarded)
{
    if (guard->message_count < SKN_GUARD_FIRST || (guarded->is & JUMPS))
        return SKN_GUARD_FIRST_MAX;
    float usual = guard->greatest[at] > 1.0f ? guard->greatest[at] : 1.0f;
    return usual * SKN_GUARD_JUMP;
}

static uint64_t
batch_of(const skn_schema_t *schema, const void *message)
{
    const skn_field_t *batch = skn_field_named(schema, "batch");
    return batch ? skn_field_number(batch, message) : 0;
}

static bool
falls_below_0(const guarded_t *guarded, const skn_field_t *field,
              const void *message)
{
    if (!(guarded->is & NOT_BELOW_0))
        return false;
    skn_run_t run = skn_field_run(field, message);
    const float *x = run.at;
    bool below = false;
    for (size_t i = 0; i < run.count; i++)
        below |= x[i] < 0.0f;
    return below;
}

static skn_link_finding_t
judge(const skn_guard_t *guard, uint32_t at, float reach,
      const guarded_t *guarded, const skn_field_t *field, const void *message,
      skn_error_t *error)
{
    const char *name = guarded->schema->name;
    uint64_t batch = batch_of(guarded->schema, message);
    if (!(reach <= FLT_MAX)) {
        (void)skn_fail(error, SKN_DIVERGED,
                       "%s.%s of batch %" PRIu64 " with values that are not "
                       "finite",
                       name, guarded->field, batch);
        return SKN_LINK_NOT_FINITE;
    }
    if (falls_below_0(guarded, field, message)) {
        (void)skn_fail(error, SKN_DIVERGED,
                       "%s.%s of batch %" PRIu64 " with values below 0", name,
                       guarded->field, batch);
        return SKN_LINK_NOT_FINITE;
    }
    if (reach <= limit_of(guard, at, guarded))
        return SKN_LINK_GOOD;
    (void)skn_fail(error, SKN_DIVERGED,
                   "%s.%s of batch %" PRIu64 " with values up to %.3g, never "
                   "above %.3g before",
                   name, guarded->field, batch, (double)reach,
                   (double)guard->greatest[at]);
    return SKN_LINK_EXPLODED;
}

skn_link_finding_t
skn_guard_check(skn_guard_t *guard, const skn_kernels_t *kernels,
                const skn_schema_t *schema, const void *message,
                skn_error_t *error)
{
    uint32_t at = 0;
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        const guarded_t *guarded = &table[k];
        if (guarded->schema != schema)
            continue;
        const skn_field_t *field = skn_field_named(schema, guarded->field);
        assert(field && at < SKN_GUARD_FIELDS_MAX);
        float reach = reach_of(kernels, guarded, field, message);
        skn_link_finding_t finding =
            judge(guard, at, reach, guarded, field, message, error);
        if (finding != SKN_LINK_GOOD)
            return finding;
        if (reach > guard->greatest[at])
            guard->greatest[at] = reach;
        at++;
    }
    guard->message_count += guard->message_count < SKN_GUARD_FIRST;
    return SKN_LINK_GOOD;
}
