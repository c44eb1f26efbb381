/* test_updater.c - tests the updater: leases, steps, first weights, and the
 * stream of a checkpoint. The probe plays its shard, the source and the
 * keeper.
 *
 * Also tests actors/rows/state_sender.c, which cuts that stream.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "kernels/draws.h"
#include "actors/rows/rows.h"
#include "formats/checkpoint/ledger.h"
#include "formats/checkpoint/salvage.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

#define ROWS 5
#define WIDTH 4 /* 3 weights and the bias */
#define BATCHES 3

static struct {
    uint32_t leases, applied, tensors, chunks, lasts;
    uint64_t lease_batch[8], applied_batch[8];
    float weight[8][ROWS][WIDTH]; /* as each lease showed them */
    char name[8][SKN_NAME_MAX + 1];
    char file[SKN_NAME_MAX + 1];
    uint64_t tensor_bytes[8], chunk_bytes[8];
    float saved[ROWS * (WIDTH - 1)];
    skn_ledger_entry_t ledger[ROWS];
    double changed, square;
    bool save;
    int copies;            /* 1: f32, 2: bf16 */
    uint32_t spoil;        /* 1: too few values, 2: a row beyond the shard */
    uint32_t step_batches; /* 0: each batch is a step */
    float factor;          /* of the clipper; 0: it skips every step */
    double squares[ROWS];
} seen;

static float
gradient_of(uint64_t batch, uint32_t row, uint32_t column)
{
    return (float)(1 + batch) * 0.25f + (float)row - 0.5f * (float)column;
}

/* Batch t touches the rows from t up. */
static skn_status_t
send_gradient(skn_actor_t *actor, void *rows, uint64_t batch,
              skn_error_t *error)
{
    uint32_t count = ROWS - (uint32_t)batch;
    size_t counts[] = { count, (size_t)count * WIDTH };
    skn_gradient_t *gradient =
        skn_actor_message(actor, &skn_gradient_schema, counts, error);
    if (!gradient)
        return error->status;
    gradient->batch = batch;
    gradient->changed = 0.25;
    gradient->square = 8;
    gradient->rows = rows;
    for (uint32_t k = 0; k < count; k++) {
        gradient->unit.at[k] = k + (uint32_t)batch;
        for (uint32_t c = 0; c < WIDTH; c++)
            gradient->value.at[k * WIDTH + c] =
                gradient_of(batch, k + (uint32_t)batch, c);
    }
    if (seen.spoil == 1)
        gradient->value.count--;
    if (seen.spoil == 2)
        gradient->unit.at[1] = ROWS;
    return skn_actor_post(actor, gradient, error);
}

/* Sends the batches of the next step, the last with the rows. */
static skn_status_t
send_step(skn_actor_t *actor, void *rows, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 1; k <= seen.step_batches && status == SKN_OK; k++)
        status = send_gradient(actor, k == seen.step_batches ? rows : NULL,
                               k - 1, error);
    return status;
}

static void
take_rows(const skn_rows_t *rows)
{
    cr_assert_eq(rows->row_count, ROWS);
    cr_assert_eq(rows->width, WIDTH);
    for (uint32_t row = 0; row < ROWS; row++)
        memcpy(seen.weight[seen.leases][row], skn_rows_weight(rows, row),
               WIDTH * sizeof(float));
}

/* What is not named stays as it was; bf16 is the upper half of a float. */
static void
take_copy(const skn_lease_t *lease)
{
    bool half = seen.copies == 2;
    size_t cells = lease->unit.count * WIDTH;
    cr_assert_null(lease->rows);
    cr_assert_eq(lease->value.count, half ? 0 : cells);
    cr_assert_eq(lease->half.count, half ? cells : 0);
    if (seen.leases > 0) {
        memcpy(seen.weight[seen.leases], seen.weight[seen.leases - 1],
               sizeof(seen.weight[0]));
        cr_assert_eq(lease->unit.count, ROWS - (seen.leases - 1));
    }
    for (size_t k = 0; k < lease->unit.count; k++)
        for (size_t c = 0; c < WIDTH; c++) {
            float *to = &seen.weight[seen.leases][lease->unit.at[k]][c];
            uint32_t bits =
                half ? (uint32_t)lease->half.at[k * WIDTH + c] << 16 : 0;
            if (half)
                memcpy(to, &bits, sizeof(bits));
            else
                *to = lease->value.at[k * WIDTH + c];
        }
}

static skn_status_t
on_lease(skn_actor_t *actor, const skn_lease_t *lease, skn_error_t *error)
{
    if (seen.copies)
        take_copy(lease);
    else
        take_rows(lease->rows);
    if (lease->more)
        return SKN_OK;
    seen.lease_batch[seen.leases++] = lease->batch;
    if (seen.step_batches > 0 && seen.leases == 1)
        return send_step(actor, lease->rows, error);
    if (seen.step_batches > 0) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (seen.leases <= BATCHES)
        return send_gradient(actor, lease->rows, seen.leases - 1, error);
    if (!seen.save) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    uint8_t metadata[] = "{}";
    skn_save_t save = { .batch = 77, .metadata = { metadata, 3 } };
    return skn_actor_send(actor, &skn_save_schema, &save, error);
}

static skn_status_t
on_norm(skn_actor_t *actor, const skn_gradient_norm_t *norm, skn_error_t *error)
{
    cr_assert_str_eq(norm->layer, "output");
    cr_assert_eq(norm->batch, seen.step_batches - 1);
    cr_assert_leq(norm->square.count, ROWS);
    memcpy(seen.squares, norm->square.at, norm->square.count * sizeof(double));
    skn_clip_t clip = { .batch = norm->batch + (seen.spoil == 3),
                        .factor = (double)seen.factor,
                        .skip = seen.factor == 0 };
    return skn_actor_send(actor, &skn_clip_schema, &clip, error);
}

static skn_status_t
on_chunk(skn_actor_t *actor, const skn_chunk_t *chunk)
{
    cr_assert_eq(chunk->batch, 77);
    cr_assert_str_eq(chunk->file, seen.file);
    cr_expect_eq(chunk->offset_bytes, seen.chunk_bytes[chunk->tensor]);
    if (chunk->tensor == 0)
        memcpy((char *)seen.saved + chunk->offset_bytes, chunk->bytes.at,
               chunk->bytes.count);
    if (strstr(seen.name[chunk->tensor], ".ledger"))
        memcpy(seen.ledger, chunk->bytes.at, chunk->bytes.count);
    seen.chunk_bytes[chunk->tensor] += chunk->bytes.count;
    seen.chunks++;
    seen.lasts += chunk->last;
    if (chunk->last)
        skn_actor_finish(actor);
    return SKN_OK;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_lease_schema)
        return on_lease(actor, message, error);
    if (schema == &skn_gradient_norm_schema)
        return on_norm(actor, message, error);
    if (schema == &skn_chunk_schema)
        return on_chunk(actor, message);
    if (schema == &skn_tensor_schema) {
        const skn_tensor_t *tensor = message;
        (void)snprintf(seen.name[seen.tensors], sizeof(seen.name[0]), "%s",
                       tensor->name);
        (void)snprintf(seen.file, sizeof(seen.file), "%s", tensor->file);
        seen.tensor_bytes[seen.tensors++] =
            tensor->rows * tensor->columns *
            skn_dtype_bytes((skn_dtype_t)tensor->dtype);
        return SKN_OK;
    }
    const skn_applied_t *applied = message;
    cr_expect_eq(applied->layer, 1);
    seen.changed += applied->changed;
    seen.square += applied->square;
    seen.applied_batch[seen.applied++] = applied->batch;
    return SKN_OK;
}

static void
set_up(void)
{
    static const char *const to[] = { "gradient", "save", "clip" };
    static const char *const from[] = { "lease", "applied", "tensor", "chunk",
                                        "gradient_norm" };
    static const char *const options[][2] = {
        { "layer", "1" },          { "layer_name", "output" },
        { "rows", "5" },           { "row_first", "10" },
        { "width", "4" },          { "global_rows", "40" },
        { "global_columns", "3" }, { "optimizer", "sgd" },
        { "rate", "0.5" },         { "huge_pages", "false" },
        { "seed", "9" },           { "init", "0.25" },
    };
    probe.kind = &skn_updater;
    probe.name = "up_output.0";
    probe.react = react;
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        probe_option(options[k][0], options[k][1]);
}

TestSuite(updater, .init = set_up, .timeout = 60);

Test(updater, first_weights_follow_from_seed_and_global_row)
{
    float want[WIDTH] = { 0 };
    uint64_t key = skn_draw_key(9, SKN_DRAW_WEIGHTS, 1);
    probe_run_well();
    for (uint32_t row = 0; row < ROWS; row++) {
        skn_kernels_best()->normal(want, WIDTH - 1, 0.25f, key, 10 + row, 0);
        cr_expect_arr_eq(seen.weight[0][row], want, sizeof(want));
        cr_expect_eq(seen.weight[0][row][WIDTH - 1], 0); /* the bias */
    }
}

Test(updater, first_biases_are_what_the_plan_says)
{
    probe_option("init_bias", "-2.5");
    probe_run_well();
    for (uint32_t row = 0; row < ROWS; row++)
        cr_expect_eq(seen.weight[0][row][WIDTH - 1], -2.5f);
}

/* An embedding's bias is its last row, of which no weight is drawn. */
Test(updater, a_row_of_biases_is_all_bias)
{
    float want[WIDTH];
    probe_option("bias", "row");
    probe_option("init_bias", "1.5");
    probe_run_well();
    skn_kernels_best()->normal(want, WIDTH, 0.25f,
                               skn_draw_key(9, SKN_DRAW_WEIGHTS, 1), 10, 0);
    cr_expect_arr_eq(seen.weight[0][0], want, sizeof(want));
    for (uint32_t c = 0; c < WIDTH; c++)
        cr_expect_eq(seen.weight[0][ROWS - 1][c], 1.5f);
}

Test(updater, sgd_steps_the_rows_that_are_named)
{
    probe_run_well();
    cr_assert_eq(seen.leases, BATCHES + 1);
    for (uint32_t batch = 0; batch < BATCHES; batch++)
        for (uint32_t row = 0; row < ROWS; row++)
            for (uint32_t c = 0; c < WIDTH; c++) {
                double before = (double)seen.weight[batch][row][c];
                double step =
                    row >= batch ? 0.5 * (double)gradient_of(batch, row, c) : 0;
                cr_expect_float_eq(seen.weight[batch + 1][row][c],
                                   before - step, 1e-6);
            }
}

Test(updater, each_batch_is_reported_and_the_rows_come_back)
{
    probe_run_well();
    cr_assert_eq(seen.applied, BATCHES);
    for (uint32_t k = 0; k < BATCHES; k++) {
        cr_expect_eq(seen.applied_batch[k], k);
        cr_expect_eq(seen.lease_batch[k], k);
    }
    cr_expect_eq(seen.changed, 0.25 * BATCHES, "as the gradients say");
    cr_expect_eq(seen.square, 8.0 * BATCHES);
}

Test(updater, a_resumed_run_begins_at_its_batch)
{
    probe_option("first_batch", "41");
    probe_run_well();
    cr_expect_eq(seen.lease_batch[0], 41);
}

/* Rows 10 to 14 of 40, in blocks of one, and of five. */
Test(updater, each_block_counts_the_batches_that_it_has_applied)
{
    static const char *const blocks[] = { "1", "5" };
    const skn_ledger_entry_t want = skn_ledger_of(BATCHES);
    for (size_t k = 0; k < 2; k++) {
        memset(&seen, 0, sizeof(seen));
        seen.save = true;
        probe_option("ledger", blocks[k]);
        probe_run_well();
        cr_assert_eq(seen.tensors, 3);
        cr_expect_str_eq(seen.name[2], "output.ledger");
        size_t count = k == 0 ? ROWS : 1;
        cr_assert_eq(seen.chunk_bytes[2], count * sizeof(want));
        for (size_t b = 0; b < count; b++) {
            cr_expect_eq(seen.ledger[b].batches, want.batches);
            cr_expect_eq(seen.ledger[b].sum, want.sum);
        }
    }
}

Test(updater, a_shard_of_no_whole_blocks_is_refused)
{
    probe_option("ledger", "4");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
    cr_expect_str_eq(probe.error.text,
                     "up_output.0: 5 rows or columns from 10 on are not "
                     "whole blocks of 4");
}

Test(updater, a_save_streams_every_tensor_to_its_end)
{
    seen.save = true;
    probe_option("optimizer", "adam");
    probe_run_well();
    cr_expect_str_eq(seen.file, "output.0.safetensors");
    cr_assert_geq(seen.tensors, 4); /* weight, bias, moments */
    cr_expect_str_eq(seen.name[0], "output.weight");
    cr_expect_eq(seen.lasts, 1);
    for (uint32_t k = 0; k < seen.tensors; k++) {
        cr_expect_gt(seen.tensor_bytes[k], 0);
        cr_expect_eq(seen.chunk_bytes[k], seen.tensor_bytes[k], "%s",
                     seen.name[k]);
    }
    for (uint32_t row = 0; row < ROWS; row++)
        cr_expect_arr_eq(seen.saved + row * (WIDTH - 1),
                         seen.weight[BATCHES][row],
                         (WIDTH - 1) * sizeof(float));
}

/* As in the tests above, where the rows were lent. */
static void
expect_stepped(double bound)
{
    cr_assert_eq(seen.leases, BATCHES + 1);
    for (uint32_t batch = 0; batch < BATCHES; batch++)
        for (uint32_t row = 0; row < ROWS; row++)
            for (uint32_t c = 0; c < WIDTH; c++) {
                double before = (double)seen.weight[batch][row][c];
                double step =
                    row >= batch ? 0.5 * (double)gradient_of(batch, row, c) : 0;
                cr_expect_float_eq(seen.weight[batch + 1][row][c],
                                   before - step, bound);
            }
}

Test(updater, a_shard_with_a_copy_is_sent_all_rows_and_then_those_that_changed)
{
    float want[WIDTH] = { 0 };
    uint64_t key = skn_draw_key(9, SKN_DRAW_WEIGHTS, 1);
    seen.copies = 1;
    probe_option("updates", "copy");
    probe_run_well();
    for (uint32_t row = 0; row < ROWS; row++) {
        skn_kernels_best()->normal(want, WIDTH - 1, 0.25f, key, 10 + row, 0);
        cr_expect_arr_eq(seen.weight[0][row], want, sizeof(want));
    }
    expect_stepped(1e-6);
}

/* Weights are below 8 here, where bf16 is spaced by 2^-5. */
Test(updater, a_copy_in_bf16_is_rounded_and_the_masters_are_not)
{
    seen.copies = 2;
    seen.save = true;
    probe_option("updates", "copy");
    probe_option("weights", "bf16");
    probe_run_well();
    expect_stepped(0x1p-5);
    bool fine = false;
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t c = 0; c < WIDTH - 1; c++) {
            float master = seen.saved[row * (WIDTH - 1) + c];
            float copy = seen.weight[BATCHES][row][c];
            cr_expect_float_eq(copy, master, fabsf(master) * 0x1p-8f);
            fine = fine || copy != master;
        }
    cr_expect(fine, "a checkpoint holds more than the copy");
    cr_expect_eq(seen.tensor_bytes[0], ROWS * (WIDTH - 1) * 4);
}

Test(updater, rows_in_bf16_that_are_lent_need_sgd)
{
    probe_option("optimizer", "adam");
    probe_option("weights", "bf16");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
    cr_expect(strstr(probe.error.text,
                     "up_output.0: rows in bf16 that are lent need the "
                     "optimizer sgd"),
              "%s", probe.error.text);
}

Test(updater, a_gradient_of_another_size_is_refused)
{
    seen.spoil = 1;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text, "up_output.0: gradient of batch 0: 19 "
                                       "values for 5 rows of 4"),
              "%s", probe.error.text);
}

Test(updater, a_row_beyond_the_shard_is_refused)
{
    seen.spoil = 2;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text,
                     "up_output.0: gradient of row 5, but the shard has 5 "
                     "rows"),
              "%s", probe.error.text);
}

/* --- steps of several batches --------------------------------------------- */

static double
sum_of(uint32_t row, uint32_t column)
{
    double sum = 0;
    for (uint32_t batch = 0; batch < seen.step_batches && batch <= row; batch++)
        sum += (double)gradient_of(batch, row, column);
    return sum;
}

static void
expect_step(double factor)
{
    cr_assert_eq(seen.leases, 2);
    cr_expect_eq(seen.lease_batch[1], seen.step_batches);
    cr_assert_eq(seen.applied, seen.step_batches);
    for (uint32_t k = 0; k < seen.step_batches; k++)
        cr_expect_eq(seen.applied_batch[k], k);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t c = 0; c < WIDTH; c++)
            cr_expect_float_eq(seen.weight[1][row][c],
                               (double)seen.weight[0][row][c] -
                                   0.5 * factor * sum_of(row, c),
                               1e-6);
}

Test(updater, gradients_of_several_batches_make_one_step_along_their_mean)
{
    seen.step_batches = BATCHES;
    probe_option("accumulate", "3");
    probe_run_well();
    expect_step(1.0 / BATCHES);
}

Test(updater, a_step_waits_for_the_factor_that_clips_it)
{
    seen.step_batches = BATCHES;
    seen.factor = 0.125f;
    probe_option("accumulate", "3");
    probe_option("clips", "true");
    probe_option("norm_rows", "2");
    probe_run_well();
    expect_step(0.125 / BATCHES);
    for (uint32_t group = 0; group < (ROWS + 1) / 2; group++) {
        double want = 0;
        for (uint32_t row = 2 * group; row < 2 * group + 2 && row < ROWS; row++)
            for (uint32_t c = 0; c < WIDTH; c++)
                want += sum_of(row, c) * sum_of(row, c) / BATCHES / BATCHES;
        cr_expect_float_eq(seen.squares[group], want, 1e-5 * want);
    }
}

Test(updater, a_step_that_is_skipped_changes_nothing)
{
    seen.step_batches = 1;
    probe_option("clips", "true");
    probe_run_well();
    expect_step(0);
}

/* Adam goes on along the mean of earlier gradients. */
Test(updater, rows_without_a_gradient_can_be_stepped_too)
{
    seen.step_batches = 1;
    probe_option("every_row", "true");
    probe_option("optimizer", "adam");
    probe_option("weight_decay", "0.5");
    probe_run_well();
    cr_assert_eq(seen.leases, 2);
    for (uint32_t row = 0; row < ROWS; row++)
        cr_expect_neq(seen.weight[1][row][0], seen.weight[0][row][0]);
}

Test(updater, a_factor_that_nobody_requested_is_refused)
{
    seen.step_batches = 2;
    probe_option("accumulate", "2");
    probe_option("clips", "true");
    seen.spoil = 3;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text,
                     "up_output.0: the factor of batch 2 was not requested"),
              "%s", probe.error.text);
}

/* --- what is left of a run that was broken off --------------------------- */

/* Runs the probe, and writes what its actors own into the run folder `path`. */
static skn_status_t
run_and_salvage(const char *path)
{
    static char line[4096];
    skn_start_options_t options =
        SKN_START_OPTIONS(.no_binding = true, .keeps_state = true);
    skn_run_options_t new_run = { .config_text = "" };
    skn_run_folder_t *run =
        skn_run_folder_open(path, &new_run, NULL, &probe.error);
    skn_run_folder_close(&run);
    probe.topology = probe_topology();
    cr_assert_eq(skn_topology_start(probe.topology, &options, &probe.error),
                 SKN_OK);
    while (skn_topology_event(probe.topology, -1, line, sizeof(line),
                              &probe.error) == SKN_OK)
        ;
    probe.status = skn_topology_wait(probe.topology, &probe.error);
    skn_salvage_writer_t *writer = skn_salvage_begin(path, 6, &probe.error);
    cr_assert(writer, "%s", probe.error.text);
    skn_status_t status =
        skn_topology_cut(probe.topology, writer, &probe.error);
    if (status == SKN_OK)
        status = skn_salvage_finish(&writer, &probe.error);
    skn_salvage_abandon(&writer);
    skn_topology_destroy(&probe.topology);
    return status;
}

static skn_ledger_entry_t
entry_at(const char *run_path, const skn_manifest_piece_t *piece)
{
    char path[TEMP_FOLDER_BYTES + 64];
    skn_ledger_entry_t entry = { 0 };
    (void)snprintf(path, sizeof(path), "%s/cut/output.0.safetensors", run_path);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    cr_assert_eq(piece->size_bytes, sizeof(entry));
    cr_assert_eq(fseek(file, (long)piece->offset_bytes, SEEK_SET), 0);
    cr_assert_eq(fread(&entry, sizeof(entry), 1, file), 1);
    (void)fclose(file);
    return entry;
}

Test(updater, a_cut_has_the_rows_as_they_are_and_how_far_they_came)
{
    char parent[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    char *bytes = NULL;
    size_t count = 0;
    skn_salvage_t salvage = { 0 };
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
    probe_option("ledger", "5");
    probe_option("missed", "true");
    cr_assert_eq(run_and_salvage(path), SKN_OK, "%s", probe.error.text);
    cr_assert_eq(skn_salvage_read(path, &bytes, &count, &probe.error), SKN_OK);
    cr_assert_eq(skn_salvage_parse(bytes, count, &salvage, &probe.error),
                 SKN_OK);
    cr_expect_eq(salvage.generation, 6);
    cr_assert_eq(salvage.part.file_count, 1);
    cr_expect_str_eq(salvage.part.file[0].name, "output.0.safetensors");
    cr_expect_eq(salvage.batch[0], BATCHES);
    cr_assert_eq(salvage.part.piece_count, 4);
    cr_expect_str_eq(salvage.part.piece[2].piece.name, "output.ledger");
    cr_expect_str_eq(salvage.part.piece[3].piece.name, "output.missed");
    skn_ledger_entry_t had = entry_at(path, &salvage.part.piece[2]);
    skn_ledger_entry_t missed = entry_at(path, &salvage.part.piece[3]);
    cr_expect_eq(had.batches, BATCHES);
    cr_expect_eq(had.sum, skn_ledger_of(BATCHES).sum);
    cr_expect_eq(missed.batches, 0);
    cr_expect_eq(missed.sum, 0);
    skn_salvage_fini(&salvage);
    free(bytes);
    temp_folder_remove(parent);
}

/* In the middle of a row it may have stopped. */
Test(updater, one_that_failed_is_in_no_cut)
{
    char parent[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
    seen.spoil = 2;
    cr_expect_eq(run_and_salvage(path), SKN_NO_INPUT,
                 "a salvage without a file");
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    temp_folder_remove(parent);
}
