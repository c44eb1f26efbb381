/* test_restorer.c - tests that a checkpoint is sent piece by piece to an owner
 * on another node. The probe plays the owner and the course.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/checkpoint.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

/* Rows of 64 KiB: four make a part. */
#define ROWS 10u
#define COLUMNS 16384u
#define BATCH 30u

static char folder[TEMP_FOLDER_BYTES], run[TEMP_FOLDER_BYTES + 8];
static char checkpoint[TEMP_FOLDER_BYTES + 64];

static struct {
    skn_want_t wants[4]; /* in order, up to one without a name */
    uint32_t asked, parts, saved;
    bool again; /* ask twice for the same */
    uint64_t saved_batch;
    skn_restored_t last; /* without its bytes */
    float got[ROWS * COLUMNS];
} seen;

static float
value_of(uint64_t row, uint64_t column)
{
    return (float)row * 0.5f + (float)column;
}

static void
write_checkpoint(void)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .config_text = "skein: 1\n" };
    skn_piece_t piece = { .name = "a.weight",
                          .dtype = SKN_DTYPE_F32,
                          .dims = 2,
                          .rows = ROWS,
                          .columns = COLUMNS,
                          .global_rows = ROWS,
                          .global_columns = COLUMNS };
    float *row = malloc(COLUMNS * sizeof(*row));
    skn_run_folder_t *opened = skn_run_folder_open(run, &options, NULL, &error);
    cr_assert(opened && row, "%s", error.text);
    skn_checkpoint_writer_t *writer =
        skn_checkpoint_begin(opened, BATCH, 0, &error);
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, "a.0.safetensors", &piece, 1, &error);
    cr_assert(shard, "%s", error.text);
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t c = 0; c < COLUMNS; c++)
            row[c] = value_of(r, c);
        cr_assert_eq(skn_checkpoint_shard_write(shard, 0,
                                                r * COLUMNS * sizeof(*row), row,
                                                COLUMNS * sizeof(*row), &error),
                     SKN_OK);
    }
    cr_assert_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_finish(&writer, "{}", 3, NULL, &error), SKN_OK,
                 "%s", error.text);
    skn_run_folder_close(&opened);
    free(row);
}

static skn_status_t
ask(skn_actor_t *actor, skn_error_t *error)
{
    const skn_want_t *want = &seen.wants[seen.asked++];
    skn_status_t status = skn_actor_send(actor, &skn_want_schema, want, error);
    return status == SKN_OK && seen.again
               ? skn_actor_send(actor, &skn_want_schema, want, error)
               : status;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_saved_schema) {
        seen.saved++;
        seen.saved_batch = ((const skn_saved_t *)message)->batch;
        skn_actor_finish(actor);
        return SKN_OK;
    }
    const skn_restored_t *part = message;
    const skn_want_t *want = &seen.wants[seen.asked - 1];
    seen.last = *part;
    seen.parts++;
    if (part->begin)
        return SKN_OK;
    cr_assert_leq(part->bytes.count, 256u << 10);
    if (part->rows > 0)
        memcpy((char *)seen.got + part->row * part->columns * sizeof(float),
               part->bytes.at, part->bytes.count);
    uint64_t rows = part->rows > 0 ? part->bytes.count / 4 / part->columns : 0;
    cr_expect_eq(part->batch, want->owner == 0 && part->begun ? BATCH : 0);
    return part->row + rows == part->rows ? ask(actor, error) : SKN_OK;
}

static void
set_up(void)
{
    static const char *const to[] = { "want" };
    static const char *const from[] = { "restored", "saved" };
    temp_folder_make(folder);
    (void)snprintf(run, sizeof(run), "%s/run", folder);
    (void)snprintf(checkpoint, sizeof(checkpoint), "%s/batch-000000000030",
                   run);
    write_checkpoint();
    probe.kind = &skn_keeper;
    probe.start = ask;
    probe.react = react;
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    probe_option("path", run);
    probe_option("owners", "1");
    probe_option("resume", "true");
    probe_option("newest", "30");
    probe_option("checkpoint", checkpoint);
    for (size_t k = 0; k < 4; k++)
        seen.wants[k] = (skn_want_t){ .name = "" };
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(restorer, .init = set_up, .fini = tear_down, .timeout = 60);

static void
want(uint64_t row_first, uint64_t rows, uint64_t column_first, uint64_t columns)
{
    seen.wants[0] = (skn_want_t){ .name = "a.weight",
                                  .rows = rows,
                                  .columns = columns,
                                  .row_first = row_first,
                                  .column_first = column_first };
}

static void
expect_rectangle(void)
{
    const skn_want_t *asked = &seen.wants[0];
    for (uint64_t r = 0; r < asked->rows; r++)
        for (uint64_t c = 0; c < asked->columns; c++)
            cr_assert_eq(
                seen.got[r * asked->columns + c],
                value_of(asked->row_first + r, asked->column_first + c));
    cr_expect_eq(seen.last.begin, 1);
    cr_expect_eq(seen.saved, 1);
    cr_expect_eq(seen.saved_batch, BATCH);
}

Test(restorer, a_whole_tensor_comes_in_parts)
{
    want(0, ROWS, 0, COLUMNS);
    probe_run_well();
    expect_rectangle();
    cr_expect_eq(seen.parts, 4, "4 + 4 + 2 rows, and the word to begin");
}

Test(restorer, a_rectangle_comes_as_it_lies)
{
    static const uint64_t cases[][4] = {
        { 0, 1, 0, 1 },     { ROWS - 1, 1, COLUMNS - 1, 1 },
        { 2, 8, 0, 16384 }, { 1, 9, 5, 3 },
        { 0, 10, 100, 1 },  { 3, 7, 1, 16383 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        seen.asked = seen.saved = 0;
        want(cases[k][0], cases[k][1], cases[k][2], cases[k][3]);
        probe_run_well();
        expect_rectangle();
    }
}

Test(restorer, without_a_checkpoint_or_a_tensor_there_are_no_rows)
{
    want(0, 1, 0, 1);
    seen.wants[0].name = "b.weight";
    probe_run_well();
    cr_expect_eq(seen.parts, 2);
    cr_expect_eq(seen.last.begun, 1);
    cr_expect_eq(seen.saved_batch, BATCH);
    seen.asked = seen.parts = 0;
    want(0, 1, 0, 1);
    probe_option("checkpoint", "");
    probe_run_well();
    cr_expect_eq(seen.parts, 2);
    cr_expect_eq(seen.last.begun, 0);
    cr_expect_eq(seen.saved_batch, 0);
}

Test(restorer, what_is_not_there_is_refused)
{
    static const uint64_t cases[][4] = {
        { ROWS, 1, 0, 1 },        { 0, ROWS + 1, 0, 1 },
        { 0, 1, 0, COLUMNS + 1 }, { UINT64_MAX, 2, 0, 1 },
        { 0, 1, UINT64_MAX, 2 },  { 0, 1, 0, 0 },
        { 0, 0, 0, 1 },           { 0, 0, 0, 0 },
        { 0, 1, 0, UINT64_MAX },  { 0, UINT64_MAX, 0, 1 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        seen.asked = 0;
        want(cases[k][0], cases[k][1], cases[k][2], cases[k][3]);
        probe_run();
        cr_expect_neq(probe.status, SKN_OK, "case %zu", k);
        cr_expect(strstr(probe.error.text, "a.weight"), "%s", probe.error.text);
    }
    cr_expect_eq(seen.saved, 0);
}

Test(restorer, an_owner_that_asks_out_of_turn_is_refused)
{
    want(0, 1, 0, 1);
    seen.again = true;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    /* The first may have been answered before the second came: then it is the
     * next question, which is asked twice too, that is out of turn. */
    cr_expect(strstr(probe.error.text, "keeper: owner 0 requests '") &&
                  strstr(probe.error.text, "' out of turn"),
              "%s", probe.error.text);
    seen.again = false;
    seen.asked = 0;
    seen.wants[0].owner = 1;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text,
                     "keeper: owner 1 requests 'a.weight' out of turn");
}
