/* mixture.h - the text that names the parts of a mixture, read in one place.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_MIXTURE_H
#define ACTORS_SAMPLERS_MIXTURE_H

#include "actors/samplers/sampler.h"

typedef struct skn_mixture_part {
    const skn_sampler_kind_t *kind;
    double share;
} skn_mixture_part_t;

/* "uniform:0.5,simhash:0.5": kinds and shares, which add up to 1; two to
 * SKN_MIXTURE_MAX of them, one at least that can draw any row, one at most
 * with an index. `part` has room for SKN_MIXTURE_MAX. SKN_BAD_CONFIG. */
skn_status_t skn_mixture_read(const char *text, skn_mixture_part_t *part,
                              uint32_t *count, skn_error_t *error);

#endif
