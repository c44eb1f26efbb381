/* test_checkpoint_block.c - tests rectangles and hashes of resharded tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/checkpoint_fixture.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>
#include <sodium.h>

static char folder[TEMP_FOLDER_BYTES];
static skn_run_folder_t *run;

static void
setup(void)
{
    skn_run_options_t options = { .config_text = "" };
    temp_folder_make(folder);
    run = skn_run_folder_open(folder, &options, NULL, NULL);
    cr_assert(run);
}

static void
teardown(void)
{
    skn_run_folder_close(&run);
    temp_folder_remove(folder);
}

TestSuite(checkpoint_block, .init = setup, .fini = teardown);

static skn_checkpoint_t *
write_and_open(uint64_t batch, unsigned hidden, unsigned output)
{
    skn_error_t error = { 0 };
    cr_assert_eq(fixture_write(run, batch, hidden, output, 9, &error), SKN_OK,
                 "%s", error.text);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    return checkpoint;
}

Test(checkpoint_block, gives_every_rectangle_of_every_tensor)
{
    skn_checkpoint_t *checkpoint = write_and_open(1, 3, 4);
    for (size_t i = 0; i < skn_checkpoint_tensor_count(checkpoint); i++) {
        const skn_checkpoint_tensor_t *t = skn_checkpoint_tensor(checkpoint, i);
        for (uint64_t row = 0; row <= t->rows; row++)
            for (uint64_t rows = 0; rows <= t->rows - row; rows++)
                for (uint64_t column = 0; column <= t->columns; column++)
                    for (uint64_t n = 0; n <= t->columns - column; n++)
                        cr_expect(fixture_rectangle_good(checkpoint, t, row,
                                                         rows, column, n));
    }
    skn_checkpoint_close(&checkpoint);
}

/* What a run on another number of shards reads and writes again is the same. */
Test(checkpoint_block, hash_stays_through_columns_2_to_3_and_ranges_1_3_2)
{
    static const unsigned hidden[] = { 2, 3, 3 }, output[] = { 1, 3, 2 };
    char first[SKN_SHA256_TEXT_BYTES] = "", hex[SKN_SHA256_TEXT_BYTES];
    for (int i = 0; i < 3; i++) {
        skn_checkpoint_t *checkpoint = write_and_open(5, hidden[i], output[i]);
        cr_expect(fixture_good(checkpoint));
        cr_assert_eq(skn_checkpoint_weights_sha256(checkpoint, hex, NULL),
                     SKN_OK);
        if (i == 0)
            memcpy(first, hex, sizeof(hex));
        cr_expect_str_eq(hex, first);
        skn_checkpoint_close(&checkpoint);
    }
}

/* By the definition: names in byte order, rows, columns. */
Test(checkpoint_block, hash_is_that_of_the_weights_in_global_order)
{
    static const struct {
        const char *name;
        skn_dtype_t dtype;
        uint64_t rows, columns;
    } tensor[] = {
        { "hidden.bias", SKN_DTYPE_F32, FIXTURE_HIDDEN, 1 },
        { "hidden.weight", SKN_DTYPE_F32, FIXTURE_FEATURES, FIXTURE_HIDDEN },
        { "output.bias", SKN_DTYPE_F32, FIXTURE_LABELS, 1 },
        { "output.weight", SKN_DTYPE_BF16, FIXTURE_LABELS, FIXTURE_HIDDEN },
    };
    unsigned char element[8], hash[32];
    char want[SKN_SHA256_TEXT_BYTES], got[SKN_SHA256_TEXT_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    for (size_t i = 0; i < 4; i++)
        for (uint64_t row = 0; row < tensor[i].rows; row++)
            for (uint64_t column = 0; column < tensor[i].columns; column++) {
                fixture_put(tensor[i].name, tensor[i].dtype, 3, row, column,
                            element);
                crypto_hash_sha256_update(&state, element,
                                          skn_dtype_bytes(tensor[i].dtype));
            }
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(want, sizeof(want), hash, sizeof(hash));
    skn_checkpoint_t *checkpoint = write_and_open(3, 2, 2);
    cr_assert_eq(skn_checkpoint_weights_sha256(checkpoint, got, NULL), SKN_OK);
    cr_expect_str_eq(got, want);
    skn_checkpoint_close(&checkpoint);
}

/* Resident pages of files, of this process. */
static long
file_kib(void)
{
    char line[256];
    long found = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "RssFile:", 8) == 0)
            found = strtol(line + 8, NULL, 10);
    if (status)
        (void)fclose(status);
    return found;
}

#define WIDE_ROWS 40000
#define WIDE_COLUMNS 512

/* One tensor of bf16, 39 MiB. */
static skn_checkpoint_t *
write_wide(void)
{
    skn_error_t error = { 0 };
    skn_piece_t piece = {
        "output.weight", SKN_DTYPE_BF16, 2, WIDE_ROWS, WIDE_COLUMNS,
        WIDE_ROWS,       WIDE_COLUMNS,   0, 0
    };
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 1, 0, &error);
    cr_assert(writer, "%s", error.text);
    fixture_step_bytes = 1 << 20;
    cr_assert_eq(fixture_write_shard(writer, "output.0.safetensors", &piece, 1,
                                     1, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_eq(skn_checkpoint_finish(&writer, "{}", 9, NULL, &error), SKN_OK);
    return skn_checkpoint_open(folder, SKN_VERIFY_ALL, NULL);
}

static void
expect_columns(skn_checkpoint_t *checkpoint, uint64_t first, uint64_t count)
{
    uint16_t *got = calloc(WIDE_ROWS * count, sizeof(uint16_t)), want;
    cr_assert(got);
    cr_assert_eq(skn_checkpoint_read_block(checkpoint, "output.weight", 0,
                                           WIDE_ROWS, first, count, got,
                                           count * sizeof(*got), NULL),
                 SKN_OK);
    for (uint64_t k = 0; k < WIDE_ROWS * count; k++) {
        fixture_put("output.weight", SKN_DTYPE_BF16, 1, k / count,
                    first + k % count, (unsigned char *)&want);
        cr_assert_eq(got[k], want, "place %llu", (unsigned long long)k);
    }
    free(got);
}

/* Who reads a checkpoint, or hashes it, does not keep it in memory: the last
 * column ends where the map does. */
Test(checkpoint_block, what_was_read_does_not_stay_resident)
{
    char hex[SKN_SHA256_TEXT_BYTES];
    skn_checkpoint_t *checkpoint = write_wide();
    cr_assert(checkpoint);
    long before = file_kib();
    expect_columns(checkpoint, 0, WIDE_COLUMNS);
    cr_expect_lt(file_kib() - before, 2048, "%ld KiB", file_kib() - before);
    expect_columns(checkpoint, WIDE_COLUMNS - 1, 1);
    cr_expect_lt(file_kib() - before, 2048, "%ld KiB", file_kib() - before);
    cr_assert_eq(skn_checkpoint_weights_sha256(checkpoint, hex, NULL), SKN_OK);
    cr_expect_lt(file_kib() - before, 2048, "%ld KiB", file_kib() - before);
    skn_checkpoint_close(&checkpoint);
}

Test(checkpoint_block, refuses_what_lies_outside)
{
    unsigned char bytes[64];
    char want[2 * TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint = write_and_open(1, 1, 1);
    static const uint64_t bad[][4] = {
        { 0, 6, 0, 1 },          { 5, 1, 0, 1 },
        { 0, 1, 0, 8 },          { 0, 1, 7, 1 },
        { UINT64_MAX, 1, 0, 1 }, { 1, UINT64_MAX, 0, 1 },
        { 0, 1, UINT64_MAX, 2 }, { 0, 1, 1, UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_eq(skn_checkpoint_read_block(checkpoint, "hidden.weight",
                                               bad[i][0], bad[i][1], bad[i][2],
                                               bad[i][3], bytes, 28, &error),
                     SKN_BAD_DATA, "case %zu", i);
    (void)skn_checkpoint_read_block(checkpoint, "hidden.weight", 0, 6, 0, 1,
                                    bytes, 28, &error);
    (void)snprintf(want, sizeof(want),
                   "%s/batch-000000000001: tensor hidden.weight: 6 x 1 at "
                   "(0, 0) is outside of 5 x 7",
                   folder);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_checkpoint_read_block(checkpoint, "none", 0, 1, 0, 1,
                                           bytes, 4, &error),
                 SKN_NO_INPUT);
    cr_expect_eq(skn_checkpoint_read_block(checkpoint, "hidden.weight", 0, 2, 0,
                                           7, bytes, 27, &error),
                 SKN_INTERNAL);
    skn_checkpoint_close(&checkpoint);
}

Test(checkpoint_block, pieces_are_mapped_aligned_and_in_place)
{
    skn_checkpoint_t *checkpoint = write_and_open(1, 2, 2);
    const skn_piece_t *piece;
    size_t index = 0;
    for (; (piece = skn_checkpoint_piece(checkpoint, index)); index++) {
        size_t element = skn_dtype_bytes(piece->dtype);
        const unsigned char *bytes =
            skn_checkpoint_piece_bytes(checkpoint, index, NULL);
        unsigned char want[8];
        cr_assert(bytes);
        cr_expect_eq((uintptr_t)bytes % element, 0);
        for (uint64_t k = 0; k < piece->rows * piece->columns; k++) {
            fixture_put(piece->name, piece->dtype, 1,
                        piece->row_first + k / piece->columns,
                        piece->column_first + k % piece->columns, want);
            cr_expect_eq(memcmp(bytes + k * element, want, element), 0);
        }
    }
    cr_expect_eq(index, 2 * 2 + 2 * 6 + 2);
    cr_expect_null(skn_checkpoint_piece_bytes(checkpoint, index, NULL));
    skn_checkpoint_close(&checkpoint);
}
