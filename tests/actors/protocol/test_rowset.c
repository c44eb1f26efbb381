/* test_rowset.c - tests sets of rows against arrays of flags.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/rowset.h"

#include <criterion/criterion.h>

#include "tests/support/oracle.h"

static void
expect_sets(uint32_t rows, uint32_t adds, uint32_t most)
{
    skn_rowset_t set = { 0 };
    skn_error_t error = { 0 };
    oracle_random_t random = { rows + adds };
    uint8_t *flag = calloc(rows, 1);
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    cr_assert_eq(skn_rowset_init(&set, rows, &error), SKN_OK);
    for (int round = 0; round < 3; round++) {
        uint32_t cursor = 0, last = 0, count, at = 0, wanted = 0;
        for (uint32_t k = 0; k < adds; k++) {
            uint32_t added = oracle_next(&random) % rows;
            skn_rowset_add(&set, added);
            flag[added] = 1;
        }
        for (uint32_t k = 0; k < rows; k++)
            wanted += flag[k];
        while ((count = skn_rowset_take(&set, &cursor, row, most)) > 0) {
            for (uint32_t k = 0; k < count; k++) {
                cr_assert(at == 0 || row[k] > last);
                cr_assert_eq(flag[row[k]], 1);
                flag[row[k]] = 0;
                last = row[k];
                at++;
            }
            cr_assert(cursor > last);
        }
        cr_expect_eq(at, wanted, "%u rows, %u added: %u of %u", rows, adds, at,
                     wanted);
        cr_expect_eq(cursor, rows);
    }
    skn_rowset_fini(&set);
    free(flag);
    free(row);
}

Test(rowset, rows_come_out_once_and_in_order)
{
    static const uint32_t rows[] = { 1,   2,    63,   64,   65,    127,
                                     128, 4095, 4096, 4097, 20000, 1000000 };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        expect_sets(rows[k], 1, 1);
        expect_sets(rows[k], 40, 7);
        expect_sets(rows[k], 5000, 64);
    }
}

Test(rowset, a_full_set_has_every_row)
{
    skn_rowset_t set = { 0 };
    uint32_t row[130], cursor = 0;
    cr_assert_eq(skn_rowset_init(&set, 130, NULL), SKN_OK);
    skn_rowset_fill(&set);
    cr_expect_eq(skn_rowset_take(&set, &cursor, row, 130), 130);
    for (uint32_t k = 0; k < 130; k++)
        cr_expect_eq(row[k], k);
    skn_rowset_fini(&set);
}

Test(rowset, rows_behind_the_cursor_stay)
{
    skn_rowset_t set = { 0 };
    uint32_t row[4], cursor = 70;
    cr_assert_eq(skn_rowset_init(&set, 200, NULL), SKN_OK);
    skn_rowset_add(&set, 69);
    skn_rowset_add(&set, 70);
    skn_rowset_add(&set, 150);
    cr_expect_eq(skn_rowset_take(&set, &cursor, row, 4), 2);
    cr_expect_eq(row[0], 70);
    cr_expect_eq(row[1], 150);
    cursor = 0;
    cr_expect_eq(skn_rowset_take(&set, &cursor, row, 4), 1);
    cr_expect_eq(row[0], 69);
    skn_rowset_fini(&set);
}
