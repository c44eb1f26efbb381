/* uniform.c - the sampler uniform, which draws rows evenly, block by block,
 * besides the batch's labels.
 *
 * Drawn rows that are labels of the batch count once, with weight 1.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "actors/samplers/blockwise.h"

typedef struct uniform {
    skn_blockwise_t blockwise;
} uniform_t;

static void
uniform_close(void *opaque)
{
    uniform_t *sampler = opaque;
    skn_blockwise_fini(&sampler->blockwise);
    free(sampler);
}

static void *
uniform_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    uniform_t *sampler = calloc(1, sizeof(*sampler));
    if (!sampler) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a sampler");
        return NULL;
    }
    if (skn_blockwise_init(&sampler->blockwise, options, options->draws,
                           error) == SKN_OK)
        return sampler;
    uniform_close(sampler);
    return NULL;
}

static skn_status_t
uniform_draw(void *opaque, const skn_sampler_query_t *query,
             skn_selection_t *selection, skn_error_t *error)
{
    uniform_t *sampler = opaque;
    return skn_blockwise_select(&sampler->blockwise, query, selection, error);
}

static double
uniform_chance(const void *opaque, const skn_sampler_query_t *query,
               uint32_t sample, uint32_t row)
{
    const uniform_t *sampler = opaque;
    (void)query, (void)sample;
    return skn_blockwise_chance(&sampler->blockwise, row);
}

const skn_sampler_kind_t skn_sampler_uniform = {
    .name = "uniform",
    .help = "draws rows uniformly, and the batch's labels",
    .open = uniform_open,
    .close = uniform_close,
    .draw = uniform_draw,
    .chance = uniform_chance,
};
