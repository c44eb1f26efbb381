/* contract_slips_owners.c - tests owners of rows, builders of indexes and a
 * keeper of checkpoints with wrong messages.
 *
 * The probe plays the shard of an updater and of a table builder, and both
 * updaters of a keeper that is alone. Covers actors/rows/updater.c,
 * actors/output/table_builder.c and actors/checkpoints/keeper.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/rows.h"
#include "formats/checkpoint/safetensors.h"
#include "tests/support/slip.h"
#include "tests/support/temp_folder.h"

#define REFUSED SKN_BAD_MESSAGE

static void
set_options(const char *const options[][2])
{
    for (size_t k = 0; options[k][0]; k++)
        probe_option(options[k][0], options[k][1]);
}

/* --- updater -------------------------------------------------------------- */

#define ROWS 5
#define WIDTH 4
#define BATCHES 3

static struct {
    uint64_t leases, applied;
    bool copies;
} owner;

static void
reset_updater(void)
{
    owner.leases = owner.applied = 0;
}

static skn_status_t
post_gradient(skn_actor_t *actor, const skn_lease_t *lease, skn_error_t *error)
{
    static const size_t counts[] = { ROWS, ROWS * WIDTH, 0 };
    skn_gradient_t *gradient =
        slip_message(actor, &skn_gradient_schema, counts, error);
    if (!gradient)
        return error->status;
    gradient->batch = owner.leases - 1;
    gradient->rows = lease->rows;
    for (uint32_t k = 0; k < ROWS; k++)
        gradient->unit.at[k] = ROWS - 1 - k;
    return slip_post(actor, gradient, error);
}

static skn_status_t
post_updaters_save(skn_actor_t *actor, skn_error_t *error)
{
    static const size_t count = 3;
    skn_save_t *save = slip_message(actor, &skn_save_schema, &count, error);
    if (!save)
        return error->status;
    save->batch = BATCHES;
    memcpy(save->metadata.at, "{}", count);
    return slip_post(actor, save, error);
}

static skn_status_t
react_to_updater(skn_actor_t *actor, const skn_schema_t *schema,
                 const void *message, skn_error_t *error)
{
    if (schema == &skn_chunk_schema && ((const skn_chunk_t *)message)->last)
        skn_actor_finish(actor);
    owner.applied += schema == &skn_applied_schema;
    if (schema != &skn_lease_schema)
        return SKN_OK;
    if (owner.leases++ < BATCHES)
        return post_gradient(actor, message, error);
    /* The last one comes after it or before it: pipes have no order. */
    cr_expect_geq(owner.applied, BATCHES - 1);
    return post_updaters_save(actor, error);
}

static void
be_updater(void)
{
    static const char *const to[] = { "gradient", "save", NULL };
    static const char *const from[] = { "lease", "applied", "tensor", "chunk",
                                        NULL };
    static const char *const options[][2] = {
        { "layer_name", "top" },   { "rows", "5" },
        { "width", "4" },          { "global_rows", "5" },
        { "global_columns", "3" }, { "optimizer", "adam" },
        { "huge_pages", "false" }, { NULL, NULL },
    };
    take_part(&skn_updater, to, from);
    set_options(options);
    probe.react = react_to_updater;
}

TestSuite(slips_updater, .init = be_updater, .timeout = 60);

static const slip_t gradients[] = {
    { "gradient", 0, "value[3]=nan", SKN_OK, NULL },
    { "gradient", 1, "value[3]=inf", SKN_OK, NULL },
    { "gradient", 0, "unit#0 value#0", SKN_OK, NULL },
    { "gradient", 0, "unit[1]=4", SKN_OK, NULL },
    { "gradient", 0, "value#19", REFUSED,
      "updater: gradient of batch 0: 19 values for 5 rows of 4" },
    { "gradient", 2, "value#21", REFUSED,
      "updater: gradient of batch 2: 21 values for 5 rows of 4" },
    { "gradient", 0, "value#0", REFUSED,
      "updater: gradient of batch 0: 0 values for 5 rows of 4" },
    { "gradient", 0, "unit#4", REFUSED,
      "updater: gradient of batch 0: 20 values for 4 rows of 4" },
    { "gradient", 0, "unit#6", REFUSED,
      "updater: gradient of batch 0: 20 values for 6 rows of 4" },
    { "gradient", 0, "unit[0]=5", REFUSED,
      "updater: gradient of row 5, but the shard has 5 rows" },
    { "gradient", 1, "unit[4]=0xffffffff", REFUSED,
      "updater: gradient of row 4294967295, but the shard has 5 rows" },
    { "gradient", 0, "rows=0", REFUSED,
      "updater: gradient of batch 0: it does not lend the rows" },
    { "gradient", 2, "rows=64", REFUSED,
      "updater: gradient of batch 2: it does not lend the rows" },
};

Test(slips_updater, every_wrong_gradient_is_refused)
{
    SLIP_RUN(gradients, reset_updater);
}

static const slip_t saves[] = {
    { "save", 0, "twice", REFUSED,
      "updater: got save for batch 3 while it sends its state of batch 3" },
};

Test(slips_updater, a_second_save_before_the_end_of_the_first_is_refused)
{
    probe.credit = 1; /* the second one overtakes the stream of the first */
    SLIP_RUN(saves, reset_updater);
}

static const slip_t copied[] = {
    { "gradient", 0, "rows=64", REFUSED,
      "updater: gradient of batch 0: it returns rows that were not lent" },
    { "gradient", 1, "value#19", REFUSED,
      "updater: gradient of batch 1: 19 values for 5 rows of 4" },
    { "gradient", 0, "unit[2]=9", REFUSED,
      "updater: gradient of row 9, but the shard has 5 rows" },
    { "gradient", 0, "unit#0 value#0", SKN_OK, NULL },
};

Test(slips_updater, every_wrong_gradient_of_a_shard_with_a_copy_is_refused)
{
    probe_option("updates", "copy");
    SLIP_RUN(copied, reset_updater);
}

/* --- table builder -------------------------------------------------------- */

#define INDEX_ROWS 12
#define HIDDEN 3

static skn_rows_t indexed;

static void
reset_nothing(void)
{
}

static skn_status_t
post_dirty(skn_actor_t *actor, bool last, skn_error_t *error)
{
    size_t counts[] = { 3, last ? 0 : 3 * (HIDDEN + 1) };
    skn_dirty_t *dirty = slip_message(actor, &skn_dirty_schema, counts, error);
    if (!dirty)
        return error->status;
    dirty->batch = last ? 6 : 5;
    dirty->last = last;
    dirty->rows = last ? &indexed : NULL;
    for (uint32_t k = 0; k < 3; k++)
        dirty->unit.at[k] = 4 * k;
    return slip_post(actor, dirty, error);
}

static skn_status_t
start_builder(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = post_dirty(actor, false, error);
    return status == SKN_OK ? post_dirty(actor, true, error) : status;
}

static skn_status_t
react_to_builder(skn_actor_t *actor, const skn_schema_t *schema,
                 const void *message, skn_error_t *error)
{
    const skn_index_t *index = message;
    (void)error;
    cr_assert_eq(schema, &skn_index_schema);
    cr_expect_eq(index->batch, 6);
    for (size_t k = 0; k < index->unit.count; k++)
        cr_expect_lt(index->unit.at[k], INDEX_ROWS);
    skn_actor_finish(actor);
    return SKN_OK;
}

static void
be_builder(void)
{
    static const char *const to[] = { "dirty", NULL };
    static const char *const from[] = { "index", NULL };
    static const char *const options[][2] = {
        { "labels", "12" },       { "row_count", "12" },   { "hidden", "3" },
        { "batch_rows", "4" },    { "tables", "3" },       { "bits", "2" },
        { "sampler", "simhash" }, { "uniform_rows", "4" }, { NULL, NULL },
    };
    skn_error_t error = { 0 };
    take_part(&skn_table_builder, to, from);
    set_options(options);
    probe.start = start_builder;
    probe.react = react_to_builder;
    cr_assert_eq(skn_rows_init(&indexed, SKN_ROWS_ADAM, INDEX_ROWS, HIDDEN + 1,
                               false, &error),
                 SKN_OK);
}

static void
end_builder(void)
{
    skn_rows_fini(&indexed);
}

TestSuite(slips_builder, .init = be_builder, .fini = end_builder,
          .timeout = 60);

#define DIRTY "table_builder: dirty rows of batch 5: "
#define LENT "table_builder: dirty rows of batch 6: "

static const slip_t dirty[] = {
    { "dirty", 0, "value[0]=nan", SKN_OK, NULL },
    { "dirty", 0, "value[5]=inf", SKN_OK, NULL },
    { "dirty", 0, "unit#0 value#0", SKN_OK, NULL },
    { "dirty", 0, "unit[1]=0", SKN_OK, NULL },
    { "dirty", 0, "value#11", REFUSED, DIRTY "11 values for 3 rows of 4" },
    { "dirty", 0, "value#13", REFUSED, DIRTY "13 values for 3 rows of 4" },
    { "dirty", 0, "value#0", REFUSED, DIRTY "0 values for 3 rows of 4" },
    { "dirty", 0, "unit#2", REFUSED, DIRTY "12 values for 2 rows of 4" },
    { "dirty", 0, "unit[2]=12", REFUSED,
      "table_builder: dirty row 12, but the shard has 12 rows" },
    { "dirty", 0, "unit[0]=0xffffffff", REFUSED,
      "table_builder: dirty row 4294967295, but the shard has 12 rows" },
    { "dirty", 1, "unit#0", SKN_OK, NULL },
    { "dirty", 1, "rows=0", REFUSED, LENT "0 values for 3 rows of 4" },
    { "dirty", 1, "value#8", REFUSED, LENT "8 values for 3 rows of 4" },
    { "dirty", 1, "unit[1]=12", REFUSED,
      "table_builder: dirty row 12, but the shard has 12 rows" },
};

Test(slips_builder, every_wrong_word_of_rows_is_refused)
{
    SLIP_RUN(dirty, reset_nothing);
}

Test(slips_builder, so_it_is_for_the_other_tables)
{
    probe_option("sampler", "dwta");
    SLIP_RUN(dirty, reset_nothing);
}

/* --- keeper --------------------------------------------------------------- */

static char folder[TEMP_FOLDER_BYTES], run_path[TEMP_FOLDER_BYTES + 16];
static uint32_t run_count;
static char saved_path[SKN_TEXT_MAX];

/* Each run has a folder of its own: the option's text changes in place. */
static void
reset_keeper(void)
{
    (void)snprintf(run_path, sizeof(run_path), "%s/run%u", folder, run_count++);
    saved_path[0] = '\0';
}

static skn_status_t
post_save(skn_actor_t *actor, skn_error_t *error)
{
    static const size_t count = 3;
    skn_save_t *save = slip_message(actor, &skn_save_schema, &count, error);
    if (!save)
        return error->status;
    save->batch = 10;
    memcpy(save->metadata.at, "{}", count);
    return slip_post(actor, save, error);
}

static skn_status_t
post_tensor(skn_actor_t *actor, uint32_t shard, const char *file,
            skn_error_t *error)
{
    const size_t counts[] = { strlen(file), strlen("a.weight") };
    skn_tensor_t *tensor =
        slip_message(actor, &skn_tensor_schema, counts, error);
    if (!tensor)
        return error->status;
    memcpy((char *)(uintptr_t)tensor->file, file, counts[0] + 1);
    memcpy((char *)(uintptr_t)tensor->name, "a.weight", counts[1] + 1);
    tensor->batch = 10;
    tensor->dtype = SKN_DTYPE_F32;
    tensor->dims = 1;
    tensor->rows = 3;
    tensor->columns = tensor->global_columns = 1;
    tensor->global_rows = 6;
    tensor->row_first = 3 * shard;
    return slip_post(actor, tensor, error);
}

static skn_status_t
post_chunk(skn_actor_t *actor, const char *file, skn_error_t *error)
{
    const size_t counts[] = { strlen(file), 3 * sizeof(float) };
    skn_chunk_t *chunk = slip_message(actor, &skn_chunk_schema, counts, error);
    if (!chunk)
        return error->status;
    memcpy((char *)(uintptr_t)chunk->file, file, counts[0] + 1);
    chunk->batch = 10;
    chunk->last = 1;
    return slip_post(actor, chunk, error);
}

static skn_status_t
react_to_keeper(skn_actor_t *actor, const skn_schema_t *schema,
                const void *message, skn_error_t *error)
{
    static const char *const files[] = { "a.0.safetensors", "a.1.safetensors" };
    skn_status_t status = SKN_OK;
    if (schema == &skn_saved_schema) {
        (void)snprintf(saved_path, sizeof(saved_path), "%s",
                       ((const skn_saved_t *)message)->path);
        skn_actor_finish(actor);
        return SKN_OK;
    }
    for (uint32_t k = 0; k < 2 && status == SKN_OK; k++) {
        status = post_tensor(actor, k, files[k], error);
        if (status == SKN_OK)
            status = post_chunk(actor, files[k], error);
    }
    return status;
}

static void
be_keeper(void)
{
    static const char *const to[] = { "save", "tensor", "chunk", NULL };
    static const char *const from[] = { "save", "saved", NULL };
    temp_folder_make(folder);
    take_part(&skn_keeper, to, from);
    probe_option("path", run_path);
    probe_option("owners", "2");
    probe_option("config", "skein: 1\n");
    probe.start = post_save;
    probe.react = react_to_keeper;
}

static void
end_keeper(void)
{
    temp_folder_remove(folder);
}

TestSuite(slips_keeper, .init = be_keeper, .fini = end_keeper, .timeout = 60);

#define NOT_ASKED(shard) "keeper: unexpected state for a." shard ".safetensors"

static const slip_t streams[] = {
    { "save", 0, "metadata#2", REFUSED,
      "keeper: the metadata of batch 10 has no NUL at its end" },
    { "save", 0, "metadata#0", REFUSED,
      "keeper: the metadata of batch 10 has no NUL at its end" },
    { "save", 0, "twice", REFUSED,
      "keeper: asked to save batch 10 before batch 10 was saved" },
    { "tensor", 0, "batch=11", REFUSED, NOT_ASKED("0") },
    { "tensor", 1, "batch=0", REFUSED, NOT_ASKED("1") },
    { "tensor", 0, "dtype=4", REFUSED, NOT_ASKED("0") },
    { "tensor", 1, "dtype=255", REFUSED, NOT_ASKED("1") },
    { "chunk", 0, "batch=9", REFUSED, NOT_ASKED("0") },
    { "chunk", 1, "batch=11", REFUSED, NOT_ASKED("1") },
    { "chunk", 0, "twice", REFUSED, NOT_ASKED("0") },
    { "chunk", 1, "bytes[0]=255", SKN_OK, NULL },
};

Test(slips_keeper, every_stream_that_nobody_asked_for_is_refused)
{
    SLIP_RUN(streams, reset_keeper);
}

/* What cannot be written is a warning: no checkpoint, and the run goes on. */
static const struct {
    slip_t row;
    const char *warns;
} unwritable[] = {
    { { "tensor", 0, "twice", SKN_OK, NULL }, "a.weight" },
    { { "tensor", 0, "rows=0", SKN_OK, NULL },
      "tensor a.weight: 0 x 1 at (0, 0) is not a piece of 6 x 1" },
    { { "tensor", 0, "dims=0", SKN_OK, NULL },
      "a.0.safetensors: tensor a.weight: 0 dimensions, 1 or 2 allowed" },
    { { "tensor", 0, "dims=3", SKN_OK, NULL },
      "a.0.safetensors: tensor a.weight: 3 dimensions, 1 or 2 allowed" },
    { { "tensor", 0, "columns=0", SKN_OK, NULL },
      "tensor a.weight: 3 x 0 at (0, 0) is not a piece of 6 x 1" },
    { { "tensor", 0, "global_rows=2", SKN_OK, NULL },
      "tensor a.weight: 3 x 1 at (0, 0) is not a piece of 2 x 1" },
    { { "tensor", 1, "row_first=4", SKN_OK, NULL },
      "tensor a.weight: 3 x 1 at (4, 0) is not a piece of 6 x 1" },
    { { "tensor", 1, "row_first=2", SKN_OK, NULL },
      "tensor a.weight: the pieces at (0, 0) and (2, 0) overlap" },
    { { "tensor", 1, "rows=0xffffffffffffffff", SKN_OK, NULL },
      "18446744073709551615 x 1 at (3, 0) is not a piece of 6 x 1" },
    { { "tensor", 1, "row_first=0xffffffffffffffff", SKN_OK, NULL },
      "3 x 1 at (18446744073709551615, 0) is not a piece of 6 x 1" },
    { { "chunk", 0, "tensor=1", SKN_OK, NULL },
      "a.0.safetensors: tensor 1 was written, but there are only 1" },
    { { "chunk", 0, "tensor=4096", SKN_OK, NULL },
      "a.0.safetensors: tensor 4096 was written, but there are only 1" },
    { { "chunk", 0, "offset_bytes=4", SKN_OK, NULL },
      "tensor a.weight: 12 bytes at 4, but 0 of 12 are written" },
    { { "chunk", 1, "offset_bytes=0xffffffffffffffff", SKN_OK, NULL },
      "12 bytes at 18446744073709551615, but 0 of 12 are written" },
    { { "chunk", 0, "bytes#11", SKN_OK, NULL },
      "tensor a.weight: only 11 of 12 bytes are written" },
    { { "chunk", 0, "bytes#13", SKN_OK, NULL },
      "tensor a.weight: 13 bytes at 0, but 0 of 12 are written" },
    { { "chunk", 1, "bytes#0", SKN_OK, NULL },
      "a.1.safetensors: tensor a.weight: only 0 of 12 bytes are written" },
};

Test(slips_keeper, what_cannot_be_written_is_a_warning)
{
    for (size_t k = 0; k < sizeof(unwritable) / sizeof(unwritable[0]); k++) {
        slip_run_all(&unwritable[k].row, 1, reset_keeper);
        cr_expect_str_eq(saved_path, "", "%s", unwritable[k].row.edit);
        cr_expect_eq(probe_told("\"warning\""), 1);
        cr_expect(strstr(probe.events, unwritable[k].warns),
                  "%s %s: no '%s' in\n%s", unwritable[k].row.message,
                  unwritable[k].row.edit, unwritable[k].warns, probe.events);
    }
}
