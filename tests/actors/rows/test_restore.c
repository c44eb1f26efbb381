/* test_restore.c - tests an updater that requests its rows, and begins when all
 * owners have theirs. The probe plays its shard and the keeper.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/draws.h"
#include "actors/rows/restore.h"
#include "tests/support/actor_probe.h"

#define ROWS 5u
#define WIDTH 4u /* 3 weights and the bias */
#define OWNER 7u

/* What is wrong with the answers. */
enum {
    GOOD,
    NO_TENSOR,
    OTHER_OWNER,
    OTHER_DTYPE,
    OTHER_ROWS,
    OTHER_COLUMNS,
    ROW_LEFT_OUT,
    HALF_A_ROW,
    NO_BYTES,
    BEYOND_THE_END,
    NOT_FINITE, /* the last value of the second part of the moments */
    EARLY_BEGIN,
    ROWS_FOR_BEGIN,
    ENDS_EARLY
};

static struct {
    int spoil;
    bool no_checkpoint;
    uint32_t rows_each; /* of a part */
    char asked[256];    /* names, in order, each with a blank behind */
    skn_want_t want;    /* the last one; its name is in `name` */
    char name[SKN_NAME_MAX + 1];
    uint32_t leases;
    uint64_t lease_batch;
    float weight[ROWS][WIDTH], m[ROWS][WIDTH];
    uint32_t step[ROWS];
} seen;

/* Element (row, column) of the tensor whose name ends in `letter`. */
static float
value_of(char letter, uint64_t row, uint64_t column)
{
    return (float)letter + (float)row + 0.125f * (float)column;
}

static skn_status_t
send_part(skn_actor_t *actor, uint64_t first, uint64_t rows, skn_error_t *error)
{
    const skn_want_t *want = &seen.want;
    char letter = strchr(seen.name, '.')[1];
    size_t count = rows * want->columns * 4;
    if (seen.spoil == HALF_A_ROW)
        count -= 2;
    if (seen.spoil == NO_BYTES)
        count = 0;
    if (seen.spoil == BEYOND_THE_END)
        count += want->columns * 4;
    skn_restored_t *part =
        skn_actor_message(actor, &skn_restored_schema, &count, error);
    part->owner = OWNER + (seen.spoil == OTHER_OWNER);
    part->batch = 41;
    part->begun = 1;
    part->dtype = letter == 's' ? SKN_DTYPE_U32 : SKN_DTYPE_F32;
    part->dtype += seen.spoil == OTHER_DTYPE;
    part->rows = want->rows + (seen.spoil == OTHER_ROWS);
    part->columns = want->columns + (seen.spoil == OTHER_COLUMNS);
    part->row = first + (seen.spoil == ROW_LEFT_OUT);
    for (size_t k = 0; k < count / 4; k++) {
        uint64_t row = want->row_first + first + k / want->columns;
        float value = value_of(letter, row, k % want->columns);
        uint32_t whole = (uint32_t)row;
        memcpy(part->bytes.at + 4 * k, letter == 's' ? &whole : (void *)&value,
               4);
    }
    if (seen.spoil == NOT_FINITE && letter == 'm' && first > 0)
        memset(part->bytes.at + count - 4, 0xff, 4);
    return skn_actor_post(actor, part, error);
}

static skn_status_t
send_word(skn_actor_t *actor, bool begin, skn_error_t *error)
{
    skn_restored_t word = { .owner = OWNER,
                            .batch = seen.no_checkpoint ? 0 : 41,
                            .begun = !seen.no_checkpoint,
                            .begin = begin };
    return skn_actor_send(actor, &skn_restored_schema, &word, error);
}

static skn_status_t
on_want(skn_actor_t *actor, const skn_want_t *want, skn_error_t *error)
{
    size_t used = strlen(seen.asked);
    skn_status_t status = SKN_OK;
    cr_expect_eq(want->owner, OWNER);
    (void)snprintf(seen.asked + used, sizeof(seen.asked) - used, "%s ",
                   want->name);
    (void)snprintf(seen.name, sizeof(seen.name), "%s", want->name);
    seen.want = *want;
    if (!want->name[0] || seen.spoil == EARLY_BEGIN)
        return seen.spoil == ROWS_FOR_BEGIN ? send_word(actor, false, error)
                                            : send_word(actor, true, error);
    if (seen.no_checkpoint || seen.spoil == NO_TENSOR)
        return send_word(actor, false, error);
    for (uint64_t row = 0; row < want->rows && status == SKN_OK;
         row += seen.rows_each) {
        uint64_t left = want->rows - row;
        if (row > 0 && seen.spoil == ENDS_EARLY)
            return send_word(actor, false, error);
        status = send_part(
            actor, row, left < seen.rows_each ? left : seen.rows_each, error);
    }
    return status;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    const skn_lease_t *lease = message;
    if (schema == &skn_want_schema)
        return on_want(actor, message, error);
    const skn_rows_t *rows = lease->rows;
    seen.leases++;
    seen.lease_batch = lease->batch;
    for (uint32_t row = 0; row < ROWS; row++) {
        memcpy(seen.weight[row], skn_rows_weight(rows, row),
               sizeof(seen.weight[row]));
        memcpy(seen.m[row], skn_rows_moment(rows, row, 1), sizeof(seen.m[row]));
        seen.step[row] = *skn_rows_step(rows, row);
    }
    skn_actor_finish(actor);
    return SKN_OK;
}

static void
set_up(void)
{
    static const char *const options[][2] = {
        { "layer", "1" },          { "layer_name", "output" },
        { "rows", "5" },           { "row_first", "10" },
        { "width", "4" },          { "global_rows", "40" },
        { "global_columns", "3" }, { "optimizer", "adam" },
        { "rate", "0.5" },         { "huge_pages", "false" },
        { "seed", "9" },           { "init", "0.25" },
        { "owner", "7" },          { "first_batch", "3" },
    };
    static const char *const to[] = { "gradient", "restored" };
    static const char *const from[] = { "lease", "want" };
    probe.kind = &skn_updater;
    probe.name = "up_output.0";
    probe.react = react;
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        probe_option(options[k][0], options[k][1]);
    seen.rows_each = 2;
}

TestSuite(restore, .init = set_up, .timeout = 60);

Test(restore, an_owner_asks_for_all_it_has_and_begins_behind_the_batch)
{
    for (seen.rows_each = 1; seen.rows_each <= ROWS + 1; seen.rows_each++) {
        seen.asked[0] = '\0';
        seen.leases = 0;
        probe_run_well();
        cr_expect_str_eq(seen.asked, "output.weight output.bias output.m "
                                     "output.v output.step  ");
        cr_expect_eq(seen.leases, 1);
        cr_expect_eq(seen.lease_batch, 41, "not its own first_batch");
        for (uint32_t row = 0; row < ROWS; row++) {
            for (uint32_t c = 0; c < WIDTH - 1; c++)
                cr_expect_eq(seen.weight[row][c], value_of('w', 10 + row, c));
            cr_expect_eq(seen.weight[row][WIDTH - 1],
                         value_of('b', 10 + row, 0));
            for (uint32_t c = 0; c < WIDTH; c++)
                cr_expect_eq(seen.m[row][c], value_of('m', 10 + row, c));
            cr_expect_eq(seen.step[row], 10 + row);
        }
    }
}

Test(restore, without_a_checkpoint_the_seed_says_all)
{
    float want[WIDTH] = { 0 };
    uint64_t key = skn_draw_key(9, SKN_DRAW_WEIGHTS, 1);
    seen.no_checkpoint = true;
    probe_run_well();
    cr_expect_str_eq(seen.asked, "output.weight  ");
    cr_expect_eq(seen.lease_batch, 3);
    for (uint32_t row = 0; row < ROWS; row++) {
        skn_kernels_best()->normal(want, WIDTH - 1, 0.25f, key, 10 + row, 0);
        cr_expect_arr_eq(seen.weight[row], want, sizeof(want));
    }
}

Test(restore, a_tensor_that_is_missing_is_named)
{
    seen.spoil = NO_TENSOR;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_DATA);
    cr_expect_str_eq(probe.error.text, "up_output.0: the checkpoint of batch "
                                       "41 has no tensor output.weight");
}

Test(restore, rows_of_another_shape_or_out_of_turn_are_refused)
{
    for (seen.spoil = OTHER_DTYPE; seen.spoil <= BEYOND_THE_END; seen.spoil++) {
        seen.rows_each = seen.spoil == BEYOND_THE_END ? ROWS : 2;
        probe_run();
        cr_expect_eq(probe.status, SKN_BAD_DATA, "spoil %d", seen.spoil);
        cr_expect(strstr(probe.error.text, "up_output.0: output.weight: "),
                  "%s", probe.error.text);
        cr_expect(strstr(probe.error.text, "expected 5 x 3 F32 from row 0"),
                  "%s", probe.error.text);
    }
    cr_expect_eq(seen.leases, 0);
}

Test(restore, values_that_are_not_finite_get_into_no_row)
{
    seen.spoil = NOT_FINITE;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_DATA);
    cr_expect_str_eq(probe.error.text,
                     "up_output.0: output.m of the checkpoint of batch 41 has "
                     "values that are not finite");
    cr_expect(strstr(probe.error.hint, "the memory of the node"), "%s",
              probe.error.hint);
    cr_expect_eq(seen.leases, 0);
}

Test(restore, what_was_not_asked_for_is_refused)
{
    static const int spoils[] = { OTHER_OWNER, EARLY_BEGIN, ROWS_FOR_BEGIN,
                                  ENDS_EARLY };
    for (size_t k = 0; k < sizeof(spoils) / sizeof(spoils[0]); k++) {
        seen.spoil = spoils[k];
        probe_run();
        cr_expect_eq(probe.status, SKN_BAD_MESSAGE, "spoil %d: %s", spoils[k],
                     probe.error.text);
    }
    cr_expect_str_eq(probe.error.text,
                     "up_output.0: output.weight ended early, at row 2");
    cr_expect_eq(seen.leases, 0);
}
