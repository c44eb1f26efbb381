/* test_piece.c - tests that pieces are valid, and cover their tensor exactly
 * once.
 *
 * The oracle counts, for each element, the pieces that hold it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/manifest.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 3u
#define COLUMNS 4u

static skn_status_t
check(skn_manifest_piece_t *piece, size_t count, skn_error_t *error)
{
    skn_manifest_t manifest = { .piece = piece, .piece_count = count };
    size_t *order = skn_manifest_order(&manifest, NULL);
    cr_assert(order);
    skn_status_t status =
        skn_manifest_check_cover("m", &manifest, order, error);
    free(order);
    return status;
}

static skn_piece_t
piece_at(uint64_t row, uint64_t column, uint64_t rows, uint64_t columns)
{
    return (skn_piece_t){ "w",  SKN_DTYPE_F32, 2,   rows,  columns,
                          ROWS, COLUMNS,       row, column };
}

Test(piece, covers_are_accepted_exactly_when_every_element_is_held_once)
{
    uint32_t seed = 1;
    unsigned accepted = 0;
    for (int trial = 0; trial < 20000; trial++) {
        skn_manifest_piece_t piece[5] = { 0 };
        unsigned held[ROWS * COLUMNS] = { 0 };
        size_t count = 1 + (size_t)trial % 5;
        for (size_t i = 0; i < count; i++) {
            /* A linear congruence (Numerical Recipes): the seed is above. */
            uint32_t draw[4];
            for (int k = 0; k < 4; k++)
                draw[k] = (seed = seed * 1664525u + 1013904223u) >> 16;
            /* Favour edges, or a cover is hardly ever found. */
            uint64_t row = draw[0] % 2 ? 0 : draw[0] / 2 % ROWS;
            uint64_t column = draw[1] % 2 ? 0 : draw[1] / 2 % COLUMNS;
            uint64_t rows =
                draw[2] % 2 ? ROWS - row : 1 + draw[2] / 2 % (ROWS - row);
            uint64_t columns = draw[3] % 2
                                   ? COLUMNS - column
                                   : 1 + draw[3] / 2 % (COLUMNS - column);
            piece[i].piece = piece_at(row, column, rows, columns);
            cr_assert_eq(skn_piece_check(&piece[i].piece, NULL), SKN_OK);
            for (uint64_t r = row; r < row + rows; r++)
                for (uint64_t c = column; c < column + columns; c++)
                    held[r * COLUMNS + c]++;
        }
        bool want = true;
        for (size_t k = 0; k < ROWS * COLUMNS; k++)
            want = want && held[k] == 1;
        cr_assert_eq(check(piece, count, NULL) == SKN_OK, want, "trial %d",
                     trial);
        accepted += want;
    }
    cr_expect_gt(accepted, 100); /* or the test says nothing */
}

Test(piece, says_what_is_missing_and_what_overlaps)
{
    skn_error_t error = { 0 };
    skn_manifest_piece_t piece[2] = { { .piece = piece_at(0, 0, 3, 3) },
                                      { .piece = piece_at(0, 2, 3, 2) } };
    cr_expect_eq(check(piece, 1, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text,
                     "m: tensor w: its pieces hold 9 of 12 elements");
    cr_expect_eq(check(piece, 2, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "m: tensor w: the pieces at (0, 0) and (0, 2) "
                                 "overlap");
    piece[1].piece.dtype = SKN_DTYPE_U32;
    cr_expect_eq(check(piece, 2, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "m: tensor w: its pieces differ in dtype or "
                                 "global shape");
}

Test(piece, of_an_empty_tensor_is_the_only_one)
{
    skn_piece_t empty = { "e", SKN_DTYPE_F32, 2, 0, 4, 0, 4, 0, 0 };
    skn_manifest_piece_t piece[2] = { { .piece = empty }, { .piece = empty } };
    cr_expect_eq(skn_piece_check(&empty, NULL), SKN_OK);
    cr_expect_eq(check(piece, 1, NULL), SKN_OK);
    cr_expect_eq(check(piece, 2, NULL), SKN_BAD_DATA);
    cr_expect_eq(check(piece, 0, NULL), SKN_OK);
}

Test(piece, is_refused_when_it_is_not_sound)
{
    static const skn_piece_t bad[] = {
        { "", SKN_DTYPE_F32, 1, 1, 1, 1, 1, 0, 0 },
        { "a/b", SKN_DTYPE_F32, 1, 1, 1, 1, 1, 0, 0 },
        { "w", SKN_DTYPE_COUNT, 1, 1, 1, 1, 1, 0, 0 },
        { "w", SKN_DTYPE_F32, 0, 1, 1, 1, 1, 0, 0 },
        { "w", SKN_DTYPE_F32, 3, 1, 1, 1, 1, 0, 0 },
        { "w", SKN_DTYPE_F32, 1, 1, 2, 1, 2, 0, 0 },
        { "w", SKN_DTYPE_F32, 2, 0, 1, 1, 1, 0, 0 },
        { "w", SKN_DTYPE_F32, 2, 2, 1, 2, 1, 1, 0 },
        { "w", SKN_DTYPE_F32, 2, 1, 1, 2, 1, UINT64_MAX, 0 },
        { "w", SKN_DTYPE_F32, 2, 1, 2, 1, 2, 0, 1 },
        { "w", SKN_DTYPE_F32, 2, 1, 1, UINT64_MAX, 2, 0, 0 },
        { "w", SKN_DTYPE_F32, 2, 0, UINT64_MAX, 0, UINT64_MAX, 0, 0 },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_eq(skn_piece_check(&bad[i], NULL), SKN_BAD_DATA, "case %zu",
                     i);
}

Test(piece, carries_its_place_in_its_name)
{
    skn_piece_t whole = piece_at(0, 0, ROWS, COLUMNS);
    skn_piece_t part = piece_at(1, 2, 1, 2);
    cr_expect_str_eq(skn_piece_tensor(&whole).name, "w");
    cr_expect_str_eq(skn_piece_tensor(&part).name, "w@1,2");
    cr_expect_eq(skn_piece_tensor(&part).shape[1], 2);
}
