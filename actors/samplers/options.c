/* options.c - reads an actor's sampler options and opens the sampler.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/options.h"

#include "actors/protocol/frequencies.h"
#include "actors/protocol/settings.h"
#include "kernels/draws.h"

skn_status_t
skn_sampler_options(const skn_actor_t *actor, const skn_kernels_t *kernels,
                    uint32_t block_rows, const skn_sampler_kind_t **kind,
                    skn_sampler_options_t *options, skn_error_t *error)
{
    const char *name = skn_actor_option_text(actor, "sampler");
    *kind = skn_sampler_find(name);
    if (!*kind)
        return skn_fail(error, SKN_BAD_CONFIG, "%s: unknown sampler '%s'",
                        skn_actor_name(actor), name);
    *options = (skn_sampler_options_t){
        .kernels = kernels,
        .seed = skn_draw_key((uint64_t)skn_actor_option_int(actor, "seed"),
                             SKN_DRAW_SAMPLE, skn_option_u32(actor, "layer")),
        .labels = (uint64_t)skn_actor_option_int(actor, "labels"),
        .row_first = skn_option_u32(actor, "row_first"),
        .row_count = skn_option_u32(actor, "row_count"),
        .block_rows = block_rows,
        .hidden = skn_option_u32(actor, "hidden"),
        .batch_rows = skn_option_u32(actor, "batch_rows"),
        .draws = (uint64_t)skn_actor_option_int(actor, "rows"),
        .tail = (uint64_t)skn_actor_option_int(actor, "uniform_rows"),
        .weight_cap = skn_actor_option_real(actor, "weight_cap"),
        .tables = skn_option_u32(actor, "tables"),
        .bits = skn_option_u32(actor, "bits"),
    };
    return SKN_OK;
}

void *
skn_sampler_open(const skn_actor_t *actor, const skn_sampler_kind_t *kind,
                 const skn_sampler_options_t *options, skn_error_t *error)
{
    const char *train = skn_actor_option_text(actor, "train");
    skn_sampler_options_t own = *options;
    skn_frequencies_t frequencies = { 0 };
    if (kind->needs_frequency && train[0]) {
        if (skn_frequencies_open(&frequencies, actor, error) != SKN_OK)
            return NULL;
        own.frequency = frequencies.label;
    }
    void *sampler = kind->open(&own, error);
    skn_frequencies_close(&frequencies);
    return sampler;
}
