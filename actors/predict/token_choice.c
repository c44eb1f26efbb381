/* token_choice.c - chooses a token greedily, or at random by temperature, top_k
 * and top_p.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/predict/token_choice.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/philox.h"

static uint32_t
likeliest(const float *logits, uint32_t ids)
{
    uint32_t best = 0;
    for (uint32_t id = 1; id < ids; id++)
        if (logits[id] > logits[best])
            best = id;
    return best;
}

/* The likelier first; of equals the lower id. */
static int
by_logit(const void *one, const void *other)
{
    const skn_token_weight_t *a = one, *b = other;
    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* The number of tokens, likeliest first, whose weights reach `share` of the sum
 * of all `count`. */
static uint32_t
reach(const skn_token_weight_t *room, uint32_t count, double share)
{
    double sum = 0, reached = 0;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++)
        sum += room[k].weight;
    while (kept < count && (kept == 0 || reached < share * sum))
        reached += room[kept++].weight;
    return kept;
}

uint32_t
skn_token_choose(const skn_token_choice_t *choice, uint64_t number,
                 const float *logits, uint32_t ids, skn_token_weight_t *room)
{
    uint32_t best = likeliest(logits, ids), count = ids, k = 0;
    bool cuts_k = choice->top_k > 0 && choice->top_k < ids;
    bool cuts_p = choice->top_p > 0 && choice->top_p < 1;
    if (choice->temperature <= 0)
        return best;
    for (uint32_t id = 0; id < ids; id++)
        room[id] = (skn_token_weight_t){
            .logit = logits[id],
            .id = id,
            .weight = exp(((double)logits[id] - (double)logits[best]) /
                          choice->temperature),
        };
    if (cuts_k || cuts_p)
        qsort(room, ids, sizeof(*room), by_logit);
    if (cuts_k)
        count = choice->top_k;
    if (cuts_p)
        count = reach(room, count, choice->top_p);
    skn_philox_t random = skn_philox_at(choice->seed, number, 0);
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += room[i].weight;
    double left = sum * skn_philox_unit_double(random.word[0], random.word[1]);
    while (k + 1 < count && left >= room[k].weight)
        left -= room[k++].weight;
    return room[k].id;
}
