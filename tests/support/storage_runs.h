/* storage_runs.h - the working folder of contract_storage.c, and its subjects
 * that are run folders and checkpoints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_STORAGE_RUNS_H
#define TESTS_SUPPORT_STORAGE_RUNS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/checkpoint_fixture.h"
#include "tests/support/faults.h"
#include "tests/support/temp_folder.h"

typedef struct place {
    char folder[TEMP_FOLDER_BYTES];
    char run[TEMP_FOLDER_BYTES + 16], text[TEMP_FOLDER_BYTES + 16],
        cache[TEMP_FOLDER_BYTES + 16];
} place_t;

typedef struct subject {
    const char *name;
    /* Makes what `act` needs; may be NULL. */
    void (*prepare)(place_t *place);
    skn_status_t (*act)(place_t *place, skn_error_t *error);
    /* Checks what must hold however `act` ended; may be NULL. */
    void (*inspect)(place_t *place, skn_status_t status);
    /* Calls that the operation may do without, separated by spaces. */
    const char *forgiven;
} subject_t;

static const skn_run_options_t new_run = {
    .run_id = "0123456789abcdef0123456789abcdef",
    .config_text = "skein: 1\n",
};
static const skn_run_options_t old_run = { .resume = true };

static inline void
write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* --- subjects: the folder of a run ---------------------------------------- */

static inline skn_status_t
make_run(place_t *place, skn_error_t *error)
{
    skn_run_folder_t *run =
        skn_run_folder_open(place->run, &new_run, NULL, error);
    bool made = run != NULL;
    skn_run_folder_close(&run);
    return made ? SKN_OK : error->status;
}

static inline void
prepare_run(place_t *place)
{
    skn_error_t error = { 0 };
    cr_assert_eq(make_run(place, &error), SKN_OK, "%s", error.text);
}

/* A run with the checkpoints of batches 10 and 20. */
static inline void
prepare_checkpoints(place_t *place)
{
    skn_error_t error = { 0 };
    skn_run_folder_t *run =
        skn_run_folder_open(place->run, &new_run, NULL, &error);
    cr_assert(run, "%s", error.text);
    for (uint64_t batch = 10; batch <= 20; batch += 10)
        cr_assert_eq(fixture_write(run, batch, 2, 3, 3, &error), SKN_OK, "%s",
                     error.text);
    skn_run_folder_close(&run);
}

static inline skn_status_t
resume_run(place_t *place, skn_error_t *error)
{
    size_t count = 0;
    skn_run_folder_t *run =
        skn_run_folder_open(place->run, &old_run, &count, error);
    if (!run)
        return error->status;
    cr_expect_str_eq(skn_run_folder_id(run), new_run.run_id);
    cr_expect_str_eq(skn_run_folder_config(run), new_run.config_text);
    cr_expect_eq(count, 2u);
    skn_run_folder_close(&run);
    return SKN_OK;
}

static inline skn_status_t
look_at_run(place_t *place, skn_error_t *error)
{
    skn_run_folder_t *run = skn_run_folder_open_read_only(place->run, error);
    if (!run)
        return error->status;
    cr_expect_str_eq(skn_run_folder_id(run), new_run.run_id);
    skn_run_folder_close(&run);
    return SKN_OK;
}

/* A run that could not be made must not stand in the way of the next try. */
static inline void
inspect_new_run(place_t *place, skn_status_t status)
{
    skn_error_t error = { 0 };
    skn_run_folder_t *run = skn_run_folder_open_read_only(place->run, NULL);
    if (status == SKN_OK)
        cr_expect(run);
    if (!run)
        run = skn_run_folder_open(place->run, &new_run, NULL, &error);
    cr_assert(run, "%s", error.text);
    cr_expect_str_eq(skn_run_folder_config(run), new_run.config_text);
    skn_run_folder_close(&run);
}

/* --- subjects: checkpoints ------------------------------------------------ */

static inline skn_status_t
write_checkpoint(place_t *place, skn_error_t *error)
{
    skn_run_folder_t *run =
        skn_run_folder_open(place->run, &old_run, NULL, error);
    if (!run)
        return error->status;
    skn_status_t status = fixture_write(run, 30, 3, 2, 2, error);
    skn_run_folder_close(&run);
    return status;
}

/* The same batch once more: the two folders change places. */
static inline skn_status_t
write_again(place_t *place, skn_error_t *error)
{
    skn_run_folder_t *run =
        skn_run_folder_open(place->run, &old_run, NULL, error);
    if (!run)
        return error->status;
    skn_status_t status = fixture_write(run, 20, 1, 4, 2, error);
    skn_run_folder_close(&run);
    return status;
}

static inline skn_status_t
mark_and_prune(place_t *place, skn_error_t *error)
{
    skn_run_folder_t *run =
        skn_run_folder_open(place->run, &old_run, NULL, error);
    if (!run)
        return error->status;
    skn_status_t status = skn_run_folder_mark_best(run, 20, 0, error);
    if (status == SKN_OK)
        status = skn_run_folder_mark_latest(run, 20, 0, error);
    if (status == SKN_OK)
        status = skn_run_folder_prune(run, 20, 0, 1, error);
    skn_run_folder_close(&run);
    return status;
}

static inline skn_status_t
forget_the_newer(place_t *place, skn_error_t *error)
{
    skn_run_folder_t *run =
        skn_run_folder_open(place->run, &old_run, NULL, error);
    if (!run)
        return error->status;
    skn_status_t status = skn_run_folder_forget_after(run, 10, 0, error);
    skn_run_folder_close(&run);
    return status;
}

/* The newest checkpoint can be opened, and is whole to the last element. */
static uint64_t
newest_batch(place_t *place)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(place->run, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_str_eq(skn_checkpoint_warning(checkpoint), "");
    cr_expect(fixture_good(checkpoint));
    uint64_t batch = skn_checkpoint_batch(checkpoint);
    skn_checkpoint_close(&checkpoint);
    return batch;
}

static inline void
inspect_new_checkpoint(place_t *place, skn_status_t status)
{
    uint64_t batch = newest_batch(place);
    /* A sync of the run's folder may fail after the rename: then it is 30. */
    cr_expect(batch == 30 || (batch == 20 && status != SKN_OK), "%u",
              (unsigned)batch);
    /* And the next attempt succeeds over whatever this one left. */
    skn_error_t error = { 0 };
    cr_expect_eq(write_checkpoint(place, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(newest_batch(place), 30u);
}

static inline void
inspect_same_checkpoint(place_t *place, skn_status_t status)
{
    (void)status;
    cr_expect_eq(newest_batch(place), 20u);
}

static inline void
inspect_kept(place_t *place, skn_status_t status)
{
    cr_expect_eq(newest_batch(place), 20u);
    skn_error_t error = { 0 };
    cr_expect(status != SKN_OK || mark_and_prune(place, &error) == SKN_OK, "%s",
              error.text);
}

static inline void
inspect_forgotten(place_t *place, skn_status_t status)
{
    uint64_t batch = newest_batch(place);
    cr_expect(batch == 10 || (batch == 20 && status != SKN_OK));
    skn_error_t error = { 0 };
    cr_expect_eq(forget_the_newer(place, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(newest_batch(place), 10u);
}

static uint64_t batch_read; /* by read_with */

static inline skn_status_t
read_with(place_t *place, skn_verify_t verify, skn_error_t *error)
{
    char hex[SKN_SHA256_TEXT_BYTES];
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(place->run, verify, error);
    if (!checkpoint)
        return error->status;
    uint64_t batch = batch_read = skn_checkpoint_batch(checkpoint);
    skn_status_t status = skn_checkpoint_weights_sha256(checkpoint, hex, error);
    faults_pause(true); /* the fixture's own buffers */
    if (status == SKN_OK)
        cr_expect(fixture_good(checkpoint));
    faults_pause(false);
    /* An older one takes its place only with a word about it. */
    cr_expect_eq(batch == 10, skn_checkpoint_warning(checkpoint)[0] != '\0',
                 "%u: %s", (unsigned)batch, skn_checkpoint_warning(checkpoint));
    skn_checkpoint_close(&checkpoint);
    return status;
}

static inline skn_status_t
read_checkpoint(place_t *place, skn_error_t *error)
{
    return read_with(place, SKN_VERIFY_ALL, error);
}

static inline skn_status_t
read_lazily(place_t *place, skn_error_t *error)
{
    return read_with(place, SKN_VERIFY_LAZY, error);
}

/* Makes the folders of two nodes, each with the whole checkpoint; the newest of
 * the first node lacks a file. */
static inline void
prepare_parts(place_t *place)
{
    char command[4 * sizeof(place->run)];
    fixture_metadata = "{\"nodes\":2}";
    prepare_checkpoints(place);
    (void)snprintf(command, sizeof(command),
                   "cp -r '%s' '%s/n1' && rm '%s'/*20/output.1.*", place->run,
                   place->folder, place->run);
    cr_assert_eq(system(command), 0);
}

#endif
