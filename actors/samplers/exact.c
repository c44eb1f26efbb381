/* exact.c - the sampler exact, which takes every row in every batch: the
 * reference in tests, and the baseline that sampling must beat in time.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "actors/samplers/sampler.h"

typedef struct exact {
    uint32_t row_count;
} exact_t;

static void *
exact_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    exact_t *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        skn_fail(error, SKN_NO_MEMORY, "no memory for a sampler");
    else
        sampler->row_count = options->row_count;
    return sampler;
}

static void
exact_close(void *sampler)
{
    free(sampler);
}

static skn_status_t
exact_draw(void *opaque, const skn_sampler_query_t *query,
           skn_selection_t *selection, skn_error_t *error)
{
    exact_t *sampler = opaque;
    uint32_t count = sampler->row_count;
    if (!selection->everything || selection->unit_count != count) {
        if (skn_selection_room(selection, 1, query->rows, count, error) !=
            SKN_OK)
            return SKN_NO_MEMORY;
        for (uint32_t k = 0; k < count; k++) {
            selection->unit[k] = k;
            selection->weight[k] = 1.0f;
        }
        selection->unit_count = count;
        selection->everything = true;
    }
    return skn_selection_single(selection, query->rows, error);
}

static double
exact_chance(const void *sampler, const skn_sampler_query_t *query,
             uint32_t sample, uint32_t row)
{
    (void)sampler, (void)query, (void)sample, (void)row;
    return 1.0;
}

const skn_sampler_kind_t skn_sampler_exact = {
    .name = "exact",
    .help = "uses every row: exact loss and gradients",
    .open = exact_open,
    .close = exact_close,
    .draw = exact_draw,
    .chance = exact_chance,
};
