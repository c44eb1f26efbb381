/* test_checkpointer.c - tests that the checkpointer makes the state of two
 * owners into one complete checkpoint, or none. The probe plays the course and
 * both updaters.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/checkpoint/checkpoint.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

#define ROWS 6

static char folder[TEMP_FOLDER_BYTES], run[TEMP_FOLDER_BYTES + 8];

static struct {
    uint64_t batch[8]; /* to be saved, in order */
    size_t batches, saved;
    bool best, hash;
    char path[8][SKN_TEXT_MAX], sha256[8][65];
    bool unfinished; /* the metadata lack their NUL */
    uint32_t spoil;  /* 1: chunk of an unknown file, 2: too long, 3: a NaN at
                      * the end of batch 10 */
} seen;

static skn_status_t
save(skn_actor_t *actor, skn_error_t *error)
{
    uint8_t metadata[] = "{\"a\":1}";
    if (seen.saved == seen.batches) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    skn_save_t message = { .batch = seen.batch[seen.saved],
                           .best = seen.best,
                           .hash = seen.hash,
                           .metadata = { metadata,
                                         sizeof(metadata) - seen.unfinished } };
    return skn_actor_send(actor, &skn_save_schema, &message, error);
}

/* Value of row `row` at batch `batch`. */
static float
value_of(uint64_t batch, uint32_t row)
{
    return (float)batch + 0.5f * (float)row;
}

/* Owner `owner` has half of the rows; the second sends them in two chunks. */
static skn_status_t
send_state(skn_actor_t *actor, uint64_t batch, uint32_t owner,
           skn_error_t *error)
{
    char file[32];
    float rows[ROWS / 2];
    skn_status_t status;
    (void)snprintf(file, sizeof(file), "a.%u.safetensors", owner);
    skn_tensor_t tensor = { .batch = batch,
                            .file = file,
                            .name = "a.weight",
                            .dtype = SKN_DTYPE_F32,
                            .dims = 1,
                            .rows = ROWS / 2,
                            .columns = 1,
                            .global_rows = ROWS,
                            .global_columns = 1,
                            .row_first = owner * ROWS / 2 };
    for (uint32_t k = 0; k < ROWS / 2; k++)
        rows[k] = value_of(batch, owner * ROWS / 2 + k);
    if (seen.spoil == 3 && batch == 10 && owner == 1)
        rows[ROWS / 2 - 1] = NAN;
    status = skn_actor_send(actor, &skn_tensor_schema, &tensor, error);
    for (uint32_t part = 0; part <= owner && status == SKN_OK; part++) {
        uint32_t first = part, count = owner == 0 ? 3 : part == 0 ? 1 : 2;
        skn_chunk_t chunk = { .batch = batch,
                              .file = file,
                              .offset_bytes = first * sizeof(float),
                              .last = part == owner,
                              .bytes = { (uint8_t *)(rows + first),
                                         count * sizeof(float) } };
        if (seen.spoil == 1 && owner == 1)
            chunk.file = "b.safetensors";
        if (seen.spoil == 2 && owner == 1)
            chunk.offset_bytes += 8;
        status = skn_actor_send(actor, &skn_chunk_schema, &chunk, error);
    }
    return status;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_save_schema) {
        uint64_t batch = ((const skn_save_t *)message)->batch;
        skn_status_t status = send_state(actor, batch, 0, error);
        return status == SKN_OK ? send_state(actor, batch, 1, error) : status;
    }
    const skn_saved_t *saved = message;
    cr_expect_eq(saved->batch, seen.batch[seen.saved]);
    (void)snprintf(seen.path[seen.saved], SKN_TEXT_MAX, "%s", saved->path);
    (void)snprintf(seen.sha256[seen.saved++], 65, "%s", saved->weights_sha256);
    return save(actor, error);
}

static void
set_up(void)
{
    static const char *const to[] = { "save", "tensor", "chunk" };
    static const char *const from[] = { "save", "saved" };
    temp_folder_make(folder);
    (void)snprintf(run, sizeof(run), "%s/run", folder);
    probe.kind = &skn_checkpointer;
    probe.react = react;
    probe.start = save;
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    probe_option("path", run);
    probe_option("owners", "2");
    probe_option("config", "skein: 1\n");
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(checkpointer, .init = set_up, .fini = tear_down, .timeout = 60);

static void
batches(size_t count, uint64_t first, uint64_t step)
{
    seen.batches = count;
    for (size_t k = 0; k < count; k++)
        seen.batch[k] = first + k * step;
}

static void
expect_rows(const char *path, uint64_t batch)
{
    skn_error_t error = { 0 };
    float rows[ROWS];
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_eq(skn_checkpoint_batch(checkpoint), batch);
    cr_expect_eq(skn_checkpoint_read_block(checkpoint, "a.weight", 0, ROWS, 0,
                                           1, rows, sizeof(float), &error),
                 SKN_OK, "%s", error.text);
    for (uint32_t row = 0; row < ROWS; row++)
        cr_expect_eq(rows[row], value_of(batch, row));
    cr_expect(strstr(skn_checkpoint_metadata(checkpoint), "\"a\":1") ||
                  strstr(skn_checkpoint_metadata(checkpoint), "\"a\": 1"),
              "%s", skn_checkpoint_metadata(checkpoint));
    skn_checkpoint_close(&checkpoint);
}

Test(checkpointer, the_state_of_all_owners_is_one_checkpoint)
{
    batches(1, 20, 0);
    probe_run_well();
    cr_expect(strstr(seen.path[0], run));
    cr_expect_str_eq(seen.sha256[0], ""); /* nobody asked for it */
    expect_rows(seen.path[0], 20);
    expect_rows(run, 20);
}

Test(checkpointer, the_hash_is_that_of_the_file)
{
    skn_error_t error = { 0 };
    char hex[SKN_SHA256_TEXT_BYTES];
    seen.hash = true;
    batches(1, 3, 0);
    probe_run_well();
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(run, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_assert_eq(skn_checkpoint_weights_sha256(checkpoint, hex, &error),
                 SKN_OK);
    cr_expect_str_eq(seen.sha256[0], hex);
    skn_checkpoint_close(&checkpoint);
}

Test(checkpointer, only_the_newest_are_kept)
{
    struct stat facts;
    probe_option("keep", "2");
    batches(4, 5, 5);
    probe_run_well();
    for (size_t k = 0; k < 4; k++)
        cr_expect_eq(stat(seen.path[k], &facts) == 0, k >= 2, "%s",
                     seen.path[k]);
    expect_rows(run, 20);
}

Test(checkpointer, a_broken_stream_is_a_warning_and_training_goes_on)
{
    seen.spoil = 2;
    batches(2, 5, 5);
    probe_run_well();
    cr_expect_eq(probe_told("\"event\":\"warning\""), 2, "%s", probe.events);
    cr_expect_str_eq(seen.path[0], ""); /* nothing was kept */
}

Test(checkpointer, without_the_final_model_the_run_fails)
{
    seen.spoil = 2;
    seen.hash = true;
    batches(1, 5, 0);
    probe_run();
    cr_expect_neq(probe.status, SKN_OK);
    cr_expect_neq(probe.error.text[0], '\0');
}

/* The second owner of two sends it: the first one's part is written by then.
 */
Test(checkpointer, values_that_are_not_finite_get_into_no_checkpoint)
{
    size_t count = 0;
    seen.spoil = 3;
    probe_option("keep", "1"); /* the older one would go */
    batches(2, 5, 5);
    probe_run();
    cr_expect_eq(probe.status, SKN_DIVERGED);
    cr_expect_str_eq(probe.error.text,
                     "checkpointer: a.weight of batch 10 has values that "
                     "are not finite, in the part from a.1.safetensors");
    cr_expect(strstr(probe.error.hint, "older checkpoints are intact"), "%s",
              probe.error.hint);
    expect_rows(run, 5);
    DIR *directory = opendir(run);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += strstr(entry->d_name, "batch-") ||
                 strncmp(entry->d_name, ".tmp", 4) == 0;
    cr_expect_eq(count, 1, "nothing unfinished stays");
    (void)closedir(directory);
}

Test(checkpointer, state_that_nobody_asked_for_is_refused)
{
    seen.spoil = 1;
    batches(1, 5, 0);
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text, "unexpected state for b.safetensors"),
              "%s", probe.error.text);
}

Test(checkpointer, metadata_without_an_end_are_refused)
{
    seen.unfinished = true;
    batches(1, 5, 0);
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text, "the metadata of batch 5 has no NUL "
                                       "at its end"),
              "%s", probe.error.text);
}

Test(checkpointer, a_folder_with_another_run_is_refused)
{
    batches(1, 5, 0);
    probe_run_well();
    memset(&seen, 0, sizeof(seen));
    batches(1, 6, 0);
    probe_run();
    cr_expect_neq(probe.status, SKN_OK);
    cr_expect(strstr(probe.error.text, run), "%s", probe.error.text);
    expect_rows(run, 5);
}

Test(checkpointer, who_only_looks_saves_nothing)
{
    struct stat facts;
    probe_option("read_only", "true");
    batches(1, 5, 0);
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text, "checkpointer: asked to save batch "
                                       "5, but read_only is set");
    cr_expect_neq(stat(run, &facts), 0, "not even a folder");
}
