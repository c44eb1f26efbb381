/* test_copy.c - tests what a shard's copy accepts and refuses of a lease.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "actors/rows/copy.h"

#define ROWS 5
#define WIDTH 7

static skn_copy_t
copy_of(skn_rows_kind_t kind)
{
    skn_copy_t copy = { .name = "output.1", .has_copy = true };
    cr_assert_eq(skn_rows_init(&copy.rows, kind, ROWS, WIDTH, false, NULL),
                 SKN_OK);
    return copy;
}

/* New values for rows 3 and 1, in both formats; a test takes one. */
static float value[2 * WIDTH];
static uint16_t half[2 * WIDTH];
static uint32_t unit[2];

static skn_lease_t
lease_of(bool bf16)
{
    skn_lease_t lease = { .batch = 8, .unit = { unit, 2 } };
    unit[0] = 3;
    unit[1] = 1;
    for (int k = 0; k < 2 * WIDTH; k++) {
        value[k] = (float)k + 0.5f;
        half[k] = (uint16_t)(100 + k);
    }
    if (bf16)
        lease.half = (skn_u16s_t){ half, 2 * WIDTH };
    else
        lease.value = (skn_f32s_t){ value, 2 * WIDTH };
    return lease;
}

static void
expect_taken(const skn_copy_t *copy)
{
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t c = 0; c < WIDTH; c++) {
            uint32_t k = (row == 3 ? 0 : WIDTH) + c;
            bool named = row == 3 || row == 1;
            if (copy->rows.kind == SKN_ROWS_SGD_BF16)
                cr_expect_eq(skn_rows_weight_bf16(&copy->rows, row)[c],
                             named ? half[k] : 0);
            else
                cr_expect_eq(skn_rows_weight(&copy->rows, row)[c],
                             named ? value[k] : 0.0f);
        }
}

Test(copy, it_adopts_the_rows_that_are_named)
{
    for (int bf16 = 0; bf16 < 2; bf16++) {
        skn_copy_t copy = copy_of(bf16 ? SKN_ROWS_SGD_BF16 : SKN_ROWS_SGD);
        skn_lease_t lease = lease_of(bf16);
        const skn_rows_t *rows = NULL;
        skn_error_t error = { 0 };
        cr_expect_eq(skn_copy_take(&copy, &lease, &rows, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(rows, &copy.rows);
        cr_expect_null(skn_copy_lent(&copy, rows), "a copy is not lent");
        expect_taken(&copy);
        skn_copy_close(&copy);
    }
}

Test(copy, it_is_not_read_before_its_last_part_has_come)
{
    skn_copy_t copy = copy_of(SKN_ROWS_SGD);
    skn_lease_t lease = lease_of(false);
    const skn_rows_t *rows = NULL;
    lease.more = 1;
    cr_expect_eq(skn_copy_take(&copy, &lease, &rows, NULL), SKN_OK);
    cr_expect_null(rows);
    expect_taken(&copy);
    lease.more = 0;
    lease.unit.count = lease.value.count = 0;
    cr_expect_eq(skn_copy_take(&copy, &lease, &rows, NULL), SKN_OK);
    cr_expect_eq(rows, &copy.rows);
    skn_copy_close(&copy);
}

Test(copy, without_one_the_rows_are_lent)
{
    skn_copy_t none = { .name = "output.1", .row_count = 1 };
    skn_rows_t lent = { .row_count = 1 };
    skn_lease_t lease = { .batch = 8, .rows = &lent };
    const skn_rows_t *rows = NULL;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_copy_take(&none, &lease, &rows, NULL), SKN_OK);
    cr_expect_eq(rows, &lent);
    cr_expect_eq(skn_copy_lent(&none, rows), (void *)&lent);
    cr_expect_eq(skn_copy_take(&none, &lease, &rows, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "output.1: lease of batch 8: it returns rows that were "
                     "not lent");
    lease.rows = NULL;
    rows = NULL;
    cr_expect_eq(skn_copy_take(&none, &lease, &rows, &error), SKN_BAD_MESSAGE);
    cr_expect_null(rows);
    cr_expect_str_eq(error.text, "output.1: lease of batch 8: no rows were "
                                 "lent to a shard without a copy");
    skn_copy_close(&none);
}

/* The copy stays as it was. */
static void
expect_refused(bool bf16, const skn_lease_t *lease, const char *why)
{
    char want[SKN_NAME_MAX + 128];
    skn_copy_t copy = copy_of(bf16 ? SKN_ROWS_SGD_BF16 : SKN_ROWS_SGD);
    const skn_rows_t *rows = NULL;
    skn_error_t error = { 0 };
    (void)snprintf(want, sizeof(want), "output.1: lease of batch 8: %s", why);
    cr_expect_eq(skn_copy_take(&copy, lease, &rows, &error), SKN_BAD_MESSAGE);
    cr_expect_null(rows);
    cr_expect_str_eq(error.text, want);
    for (size_t k = 0; k < ROWS * copy.rows.stride_bytes; k++)
        cr_assert_eq(copy.rows.at[k], 0);
    skn_copy_close(&copy);
}

Test(copy, leases_that_do_not_fit_are_refused)
{
    static const char format[] = "its values have the wrong width or format";
    skn_rows_t lent = { .row_count = 1 };
    skn_lease_t lease = lease_of(false);
    expect_refused(true, &lease, format);
    lease = lease_of(true);
    expect_refused(false, &lease, format);
    lease.value = (skn_f32s_t){ value, 2 * WIDTH };
    expect_refused(false, &lease, format);
    expect_refused(true, &lease, format);
    lease = lease_of(false);
    lease.value.count--;
    expect_refused(false, &lease, format);
    lease = lease_of(false);
    lease.unit.count = 1;
    expect_refused(false, &lease, format);
    lease = lease_of(false);
    unit[1] = ROWS;
    expect_refused(false, &lease, "a row beyond the shard");
    unit[1] = ROWS - 1;
    lease.rows = &lent;
    expect_refused(false, &lease, "rows were lent to a shard that has a copy");
}
