/* test_topk.c - tests the k best against a sort of all items.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/topk.h"
#include "tests/support/oracle.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

typedef struct item {
    float value;
    uint32_t id;
} item_t;

static int
best_first(const void *left, const void *right)
{
    const item_t *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void
check(const skn_topk_t *topk, const item_t *items, size_t n)
{
    item_t *sorted = malloc((n + 1) * sizeof *sorted);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(items[i].value))
            sorted[count++] = items[i];
    qsort(sorted, count, sizeof *sorted, best_first);
    size_t kept = count < topk->k ? count : topk->k;
    cr_assert_eq(topk->count, kept, "kept %u, want %zu", topk->count, kept);
    for (size_t i = 0; i < kept; i++) {
        cr_assert_eq(topk->id[i], sorted[i].id,
                     "place %zu of %zu: id %u, "
                     "want %u",
                     i, n, topk->id[i], sorted[i].id);
        cr_assert_eq(topk->value[i], sorted[i].value);
    }
    free(sorted);
}

/* n items; the coarser the values, the more ties. */
static item_t *
items_new(oracle_random_t *random, size_t n, float coarse)
{
    item_t *items = malloc((n + 1) * sizeof *items);
    for (size_t i = 0; i < n; i++) {
        items[i].value = floorf(oracle_float(random) * coarse);
        items[i].id = (uint32_t)(i * 7919 % 1000003);
    }
    return items;
}

static void
try_scan(const skn_kernels_t *kernels, item_t *items, size_t n, uint32_t k)
{
    skn_topk_t topk;
    float *x = malloc((n + 1) * sizeof *x);
    uint32_t *id = malloc((n + 1) * sizeof *id);
    for (size_t i = 0; i < n; i++) {
        x[i] = items[i].value;
        id[i] = items[i].id;
    }
    skn_topk_init(&topk, k);
    skn_topk_scan(&topk, kernels, x, n, id, 0);
    check(&topk, items, n);
    for (size_t i = 0; i < n; i++)
        items[i].id = 5 + (uint32_t)i;
    skn_topk_init(&topk, k);
    skn_topk_scan(&topk, kernels, x, n / 3, NULL, 5);
    skn_topk_scan(&topk, kernels, x + n / 3, n - n / 3, NULL,
                  5 + (uint32_t)(n / 3));
    check(&topk, items, n);
    free(x);
    free(id);
}

Test(topk, a_scan_keeps_what_a_sort_puts_first)
{
    static const size_t lengths[] = { 0,    1,    2,    127,  128,  129,
                                      1023, 1024, 1025, 1152, 1153, 5000 };
    static const uint32_t ks[] = { 1, 2, 5, 127, 128 };
    static const float coarse[] = { 2.0f, 50.0f, 1e6f };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 77 };
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (size_t k = 0; k < 5; k++)
                for (size_t c = 0; c < 3; c++) {
                    item_t *items = items_new(&random, lengths[i], coarse[c]);
                    try_scan(kernels, items, lengths[i], ks[k]);
                    free(items);
                }
}

Test(topk, special_values_have_their_place)
{
    static const float specials[] = { NAN,     -INFINITY, INFINITY, -FLT_MAX,
                                      FLT_MAX, 0.0f,      -0.0f,    FLT_MIN };
    const skn_kernels_t *kernels;
    oracle_random_t random = { 78 };
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)
        for (uint32_t k = 1; k <= 128; k += 9) {
            item_t *items = items_new(&random, 300, 1.0f);
            for (size_t i = 0; i < 300; i++)
                items[i].value = specials[oracle_next(&random) % 8];
            try_scan(kernels, items, 300, k);
            for (size_t i = 0; i < 300; i++)
                items[i].value = i < 200 ? -INFINITY : -FLT_MAX;
            try_scan(kernels, items, 300, k);
            free(items);
        }
}

Test(topk, offers_one_by_one_keep_the_same)
{
    oracle_random_t random = { 80 };
    for (uint32_t k = 1; k <= SKN_TOPK_MAX; k++) {
        skn_topk_t topk;
        item_t *items = items_new(&random, 200, 10.0f);
        skn_topk_init(&topk, k);
        for (size_t i = 0; i < 200; i++)
            skn_topk_offer(&topk, items[i].value, items[i].id);
        check(&topk, items, 200);
        free(items);
    }
}
