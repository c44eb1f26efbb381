/* normalisers.c - parts of a normaliser, and means in their place.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/output/normalisers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weight of the newest batch in a mean. */
#define NORMALISER_NEWEST 0.125f

skn_status_t
skn_normalisers_init(skn_normalisers_t *normalisers, uint32_t senders,
                     uint32_t batch_rows, uint32_t slots, skn_error_t *error)
{
    size_t parts = (size_t)slots * senders;
    memset(normalisers, 0, sizeof(*normalisers));
    normalisers->senders = senders;
    normalisers->batch_rows = batch_rows;
    normalisers->slots = slots;
    normalisers->slot = calloc(slots, sizeof(*normalisers->slot));
    normalisers->here = calloc(parts, sizeof(bool));
    normalisers->own = calloc((size_t)slots * batch_rows, sizeof(bool));
    normalisers->log = calloc(parts * batch_rows, sizeof(float));
    normalisers->mean = calloc(senders * (size_t)2, sizeof(float));
    normalisers->is_known = calloc(senders * (size_t)2, sizeof(bool));
    normalisers->nodes = calloc(senders, sizeof(*normalisers->nodes));
    if (!normalisers->slot || !normalisers->here || !normalisers->own ||
        !normalisers->log || !normalisers->mean || !normalisers->is_known ||
        !normalisers->nodes)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no room for the normalisers of %u shards", senders);
    for (uint32_t k = 0; k < slots; k++) {
        normalisers->slot[k].here = normalisers->here + (size_t)k * senders;
        normalisers->slot[k].own = normalisers->own + (size_t)k * batch_rows;
        normalisers->slot[k].log =
            normalisers->log + (size_t)k * senders * batch_rows;
    }
    return SKN_OK;
}

void
skn_normalisers_fini(skn_normalisers_t *normalisers)
{
    free(normalisers->slot);
    free(normalisers->here);
    free(normalisers->own);
    free(normalisers->log);
    free(normalisers->mean);
    free(normalisers->is_known);
    free(normalisers->nodes);
    memset(normalisers, 0, sizeof(*normalisers));
}

skn_normaliser_t *
skn_normalisers_of(skn_normalisers_t *normalisers, uint64_t batch)
{
    skn_normaliser_t *normaliser =
        &normalisers->slot[batch % normalisers->slots];
    if (normaliser->used && normaliser->batch == batch)
        return normaliser;
    normaliser->used = true;
    normaliser->done = false;
    normaliser->batch = batch;
    normaliser->rows = normaliser->count = normaliser->left = 0;
    memset(normaliser->here, 0, normalisers->senders * sizeof(bool));
    return normaliser;
}

bool
skn_normalisers_take(skn_normalisers_t *normalisers,
                     skn_normaliser_t *normaliser, uint32_t sender,
                     const float *log, uint32_t rows)
{
    if (sender >= normalisers->senders || normaliser->here[sender] ||
        rows > normalisers->batch_rows ||
        (normaliser->count > 0 && rows != normaliser->rows))
        return false;
    memcpy(normaliser->log + (size_t)sender * normalisers->batch_rows, log,
           rows * sizeof(*log));
    normaliser->here[sender] = true;
    normaliser->rows = rows;
    normaliser->count++;
    return true;
}

bool
skn_normalisers_can_do_without(const skn_normalisers_t *normalisers,
                               const skn_normaliser_t *normaliser)
{
    bool all = true;
    for (uint32_t k = 0; k < normalisers->senders; k++)
        all = all && (normaliser->here[k] || normalisers->is_known[2 * k] ||
                      normalisers->is_known[2 * k + 1]);
    return all;
}

/* The mean of log[rows] over either sort of sample joins those of before; what
 * is no number counts for nothing. */
static void
learn(skn_normalisers_t *normalisers, uint32_t sender, const float *log,
      const skn_normaliser_t *normaliser)
{
    double sum[2] = { 0 };
    uint32_t count[2] = { 0 };
    for (uint32_t i = 0; i < normaliser->rows; i++) {
        if (!isfinite(log[i]))
            continue;
        sum[normaliser->own[i]] += (double)log[i];
        count[normaliser->own[i]]++;
    }
    for (size_t k = 0; k < 2; k++) {
        size_t at = 2 * (size_t)sender + k;
        float *mean = &normalisers->mean[at];
        if (count[k] == 0)
            continue;
        float newest = (float)(sum[k] / count[k]);
        *mean = normalisers->is_known[at]
                    ? *mean + NORMALISER_NEWEST * (newest - *mean)
                    : newest;
        normalisers->is_known[at] = true;
    }
}

void
skn_normalisers_late(skn_normalisers_t *normalisers, uint64_t batch,
                     uint32_t sender, const float *log, uint32_t rows)
{
    const skn_normaliser_t *normaliser =
        &normalisers->slot[batch % normalisers->slots];
    if (normaliser->done && normaliser->batch == batch &&
        normaliser->rows == rows && sender < normalisers->senders)
        learn(normalisers, sender, log, normaliser);
}

static void
estimate(const skn_normalisers_t *normalisers, uint32_t sender, float *log,
         const skn_normaliser_t *normaliser)
{
    const float *mean = normalisers->mean + 2 * (size_t)sender;
    const bool *is_known = normalisers->is_known + 2 * (size_t)sender;
    for (uint32_t i = 0; i < normaliser->rows; i++) {
        size_t sort = normaliser->own[i];
        log[i] = mean[is_known[sort] ? sort : 1 - sort];
    }
}

const skn_tree_node_t *
skn_normalisers_complete(skn_normalisers_t *normalisers,
                         skn_normaliser_t *normaliser,
                         const uint32_t *own_offset)
{
    for (uint32_t i = 0; i < normaliser->rows; i++)
        normaliser->own[i] = own_offset[i + 1] > own_offset[i];
    for (uint32_t k = 0; k < normalisers->senders; k++) {
        float *log = normaliser->log + (size_t)k * normalisers->batch_rows;
        if (normaliser->here[k])
            learn(normalisers, k, log, normaliser);
        else
            estimate(normalisers, k, log, normaliser);
        normalisers->nodes[k] = (skn_tree_node_t){
            .place = skn_node_place(0, k),
            .partial = { .greatest = log },
        };
    }
    normaliser->done = true;
    return normalisers->nodes;
}
