/* diagnose.c - computes mass and recall of a sampler's draw.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"

/* Rows whose logits are computed at a time. */
#define PIECE 1024u

skn_status_t
skn_diagnose_init(skn_diagnose_t *diagnose, const skn_head_t *head,
                  uint64_t every, skn_error_t *error)
{
    memset(diagnose, 0, sizeof(*diagnose));
    diagnose->every = every;
    if (every == 0)
        return SKN_OK;
    size_t bytes = head->kernels->gemm_scratch_bytes(SKN_DIAGNOSE_ROWS, PIECE,
                                                     (size_t)head->hidden + 1);
    diagnose->logit = skn_floats_new((size_t)SKN_DIAGNOSE_ROWS * PIECE, error);
    diagnose->gemm = skn_floats_new(bytes / sizeof(float) + 1, error);
    return diagnose->logit && diagnose->gemm ? SKN_OK : SKN_NO_MEMORY;
}

void
skn_diagnose_fini(skn_diagnose_t *diagnose)
{
    free(diagnose->logit);
    free(diagnose->gemm);
    memset(diagnose, 0, sizeof(*diagnose));
}

/* The sums over all rows for one sample. */
typedef struct tally {
    skn_topk_t top;
    double greatest, sum; /* over all rows: sum of exp(o - greatest) */
} tally_t;

static void
tally_piece(const skn_head_t *head, tally_t *tally, const float *logit,
            uint32_t count, uint32_t first)
{
    double greatest = (double)head->kernels->row_max(logit, count), sum = 0.0;
    if (greatest > tally->greatest) {
        tally->sum *= exp(tally->greatest - greatest);
        tally->greatest = greatest;
    }
    for (uint32_t k = 0; k < count; k++)
        sum += exp((double)logit[k] - tally->greatest);
    tally->sum += sum;
    skn_topk_scan(&tally->top, head->kernels, logit, count, NULL, first);
}

static void
tally_rows(skn_diagnose_t *diagnose, const skn_head_t *head,
           const skn_flight_t *flight, uint32_t samples, tally_t *tally)
{
    for (uint32_t first = 0; first < head->row_count; first += PIECE) {
        uint32_t count =
            head->row_count - first < PIECE ? head->row_count - first : PIECE;
        skn_gemm_t job =
            skn_rows_product(head->rows, first, count, flight->hidden,
                             head->hidden_stride, samples);
        job.c = diagnose->logit;
        job.c_stride = PIECE;
        head->kernels->gemm(&job, diagnose->gemm);
        for (uint32_t i = 0; i < samples; i++)
            tally_piece(head, &tally[i], diagnose->logit + (size_t)i * PIECE,
                        count, first);
    }
}

static bool
in_list(const uint32_t *unit, uint32_t count, uint32_t row)
{
    uint32_t at = skn_head_lower_bound(unit, count, row);
    return at < count && unit[at] == row;
}

/* Adds the mass and recall of the sample with this tally, the s-th of group
 * g. */
static void
compare(const skn_flight_t *flight, uint32_t g, uint32_t s,
        const tally_t *tally, skn_diagnosis_t *into)
{
    const skn_group_t *group = &flight->selection.group[g];
    const uint32_t *unit = flight->selection.unit + group->unit_first;
    const float *logit = flight->logit + flight->group_logit[g] +
                         s * skn_stride_floats(group->unit_count);
    double mass = 0.0;
    uint32_t hits = 0;
    for (uint32_t k = 0; k < group->unit_count; k++)
        mass += exp((double)logit[k] - tally->greatest);
    for (uint32_t k = 0; k < tally->top.count; k++)
        hits += in_list(unit, group->unit_count, tally->top.id[k]);
    into->mass += mass / tally->sum;
    into->recall += tally->top.count ? (double)hits / tally->top.count : 1.0;
}

void
skn_diagnose_flight(skn_diagnose_t *diagnose, const skn_head_t *head,
                    const skn_flight_t *flight, skn_diagnosis_t *into)
{
    tally_t tally[SKN_DIAGNOSE_ROWS];
    const skn_selection_t *selection = &flight->selection;
    uint32_t samples =
        flight->rows < SKN_DIAGNOSE_ROWS ? flight->rows : SKN_DIAGNOSE_ROWS;
    *into = (skn_diagnosis_t){ .mass = -1.0, .recall = -1.0 };
    if (diagnose->every == 0 || samples == 0 ||
        flight->labels->batch % diagnose->every != 0)
        return;
    for (uint32_t i = 0; i < samples; i++) {
        skn_topk_init(&tally[i].top, SKN_DIAGNOSE_TOP);
        tally[i].greatest = -INFINITY;
        tally[i].sum = 0.0;
    }
    tally_rows(diagnose, head, flight, samples, tally);
    *into = (skn_diagnosis_t){ 0 };
    for (uint32_t g = 0; g < selection->group_count; g++) {
        const uint32_t *sample =
            selection->sample + selection->group[g].sample_first;
        for (uint32_t s = 0; s < selection->group[g].sample_count; s++)
            if (sample[s] < samples)
                compare(flight, g, s, &tally[sample[s]], into);
    }
    into->mass /= samples;
    into->recall /= samples;
}
