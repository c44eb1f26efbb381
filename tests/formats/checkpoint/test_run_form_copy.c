/* test_run_form_copy.c - tests that a run folder has a copy of the names.
 * Covers formats/checkpoint/run_form.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/run_form.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

typedef struct kept {
    char folder[TEMP_FOLDER_BYTES], run_path[TEMP_FOLDER_BYTES + 8];
    char source[TEMP_FOLDER_BYTES + 8];
    skn_run_folder_t *run;
    skn_error_t error;
} kept_t;

static void
open_run(kept_t *kept, bool resume)
{
    const skn_run_options_t options = { .resume = resume,
                                        .config_text = "skein: 1\n" };
    kept->run =
        skn_run_folder_open(kept->run_path, &options, NULL, &kept->error);
    cr_assert(kept->run, "%s", kept->error.text);
}

static void
make(kept_t *kept)
{
    memset(kept, 0, sizeof(*kept));
    temp_folder_make(kept->folder);
    (void)snprintf(kept->run_path, sizeof(kept->run_path), "%s/run",
                   kept->folder);
    (void)snprintf(kept->source, sizeof(kept->source), "%s/names",
                   kept->folder);
    open_run(kept, false);
}

static void
drop(kept_t *kept)
{
    skn_run_folder_close(&kept->run);
    temp_folder_remove(kept->folder);
}

/* Writes `count` bytes from `start` on, modulo 251, to the source. */
static void
write_source(const kept_t *kept, size_t start, size_t count)
{
    FILE *file = fopen(kept->source, "w");
    cr_assert(file);
    for (size_t k = 0; k < count; k++)
        (void)fputc((int)((start + k) % 251), file);
    cr_assert_eq(fclose(file), 0);
}

static void
expect_kept(const kept_t *kept, size_t start, size_t count)
{
    char path[SKN_RUN_FORM_PATH_BYTES];
    size_t got = 0;
    int byte;
    cr_assert(skn_run_form_find(kept->run_path, SKN_LABELS_NAME, path));
    FILE *file = fopen(path, "r");
    cr_assert(file);
    while ((byte = fgetc(file)) != EOF)
        cr_assert_eq((size_t)byte, (start + got++) % 251);
    cr_expect_eq(got, count);
    (void)fclose(file);
}

Test(run_labels, are_the_bytes_of_the_file_and_are_replaced)
{
    static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 200000 };
    char path[SKN_RUN_FORM_PATH_BYTES];
    kept_t kept;
    make(&kept);
    cr_expect_not(skn_run_form_find(kept.run_path, SKN_LABELS_NAME, path));
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        write_source(&kept, k, sizes[k]);
        cr_assert_eq(skn_run_form_copy(kept.run, SKN_LABELS_NAME, kept.source,
                                       &kept.error),
                     SKN_OK, "%s", kept.error.text);
        expect_kept(&kept, k, sizes[k]);
    }
    cr_assert_eq(skn_run_form_copy(kept.run, SKN_LABELS_NAME, "", &kept.error),
                 SKN_OK);
    cr_expect_not(skn_run_form_find(kept.run_path, SKN_LABELS_NAME, path));
    cr_assert_eq(skn_run_form_copy(kept.run, SKN_LABELS_NAME, "", &kept.error),
                 SKN_OK);
    drop(&kept);
}

Test(run_labels, stay_if_the_file_cannot_be_read)
{
    kept_t kept;
    make(&kept);
    write_source(&kept, 3, 70);
    cr_assert_eq(
        skn_run_form_copy(kept.run, SKN_LABELS_NAME, kept.source, &kept.error),
        SKN_OK, "%s", kept.error.text);
    cr_expect_eq(
        skn_run_form_copy(kept.run, SKN_LABELS_NAME, "/nowhere", &kept.error),
        SKN_NO_INPUT);
    cr_expect(strstr(kept.error.text, "/nowhere"), "%s", kept.error.text);
    cr_expect_neq(
        skn_run_form_copy(kept.run, SKN_LABELS_NAME, kept.folder, &kept.error),
        SKN_OK, "a folder");
    expect_kept(&kept, 3, 70);
    drop(&kept);
}

/* The files of a killed process are swept, and a run that never saved may be
 * replaced although it has names. */
Test(run_labels, do_not_keep_a_run_from_being_replaced)
{
    char fresh[TEMP_FOLDER_BYTES + 32];
    kept_t kept;
    make(&kept);
    write_source(&kept, 0, 9);
    cr_assert_eq(
        skn_run_form_copy(kept.run, SKN_LABELS_NAME, kept.source, &kept.error),
        SKN_OK);
    (void)snprintf(fresh, sizeof(fresh), "%s/.tmp-labels", kept.run_path);
    cr_assert_eq(symlink("/nowhere", fresh), 0);
    cr_expect_neq(
        skn_run_form_copy(kept.run, SKN_LABELS_NAME, kept.source, &kept.error),
        SKN_OK);
    cr_assert_eq(symlink("/nowhere", fresh), 0, "it was removed");
    skn_run_folder_close(&kept.run);
    open_run(&kept, false);
    cr_expect_neq(access(fresh, F_OK), 0);
    skn_run_folder_close(&kept.run);
    open_run(&kept, true);
    expect_kept(&kept, 0, 9);
    drop(&kept);
}
