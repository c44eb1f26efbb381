/* test_manifest_merge.c - tests that the lists of several nodes become one
 * manifest.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/manifest.h"

#include "tests/support/checkpoint_fixture.h"
#include "tests/support/temp_folder.h"

#include <criterion/criterion.h>

static char parent[TEMP_FOLDER_BYTES];

static void
setup(void)
{
    temp_folder_make(parent);
}

static void
teardown(void)
{
    temp_folder_remove(parent);
}

TestSuite(manifest_merge, .init = setup, .fini = teardown);

/* What a node lists that has written both layers, or the one. */
static skn_manifest_t
listed(const char *name, bool hidden, bool output, uint64_t batch)
{
    char path[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    skn_manifest_t manifest;
    skn_run_options_t options = { .run_id = "0123456789abcdef0123456789abcdef",
                                  .config_text = "" };
    (void)snprintf(path, sizeof(path), "%s/%s", parent, name);
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 3, 1, &error);
    cr_assert(writer);
    if (output)
        cr_assert_eq(fixture_write_output(writer, 2, batch, &error), SKN_OK);
    if (hidden)
        cr_assert_eq(fixture_write_hidden(writer, 2, batch, &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_list(writer, "{}", &manifest, &error), SKN_OK);
    skn_checkpoint_abandon(&writer);
    skn_run_folder_close(&run);
    return manifest;
}

static skn_status_t
text_of(const skn_manifest_t *manifest, skn_json_text_t *text,
        skn_error_t *error)
{
    return skn_manifest_text("a whole", manifest, text, error);
}

Test(manifest_merge, parts_that_share_files_become_one)
{
    skn_error_t error = { 0 };
    skn_manifest_t a = listed("a", true, false, 3);
    skn_manifest_t b = listed("b", true, true, 3);
    skn_json_text_t text = { 0 }, other = { 0 };
    cr_expect_eq(text_of(&a, &text, &error), SKN_OK, "each tensor whole");
    skn_json_text_fini(&text);
    cr_assert_eq(skn_manifest_merge(&a, &b, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(a.file_count, 4);
    cr_assert_eq(skn_manifest_sort(&a, &error), SKN_OK);
    cr_assert_eq(skn_manifest_sort(&b, &error), SKN_OK);
    cr_assert_eq(text_of(&a, &text, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(text_of(&b, &other, &error), SKN_OK);
    cr_expect_str_eq(text.bytes, other.bytes, "in whatever order they came");
    for (size_t k = 1; k < a.file_count; k++)
        cr_expect_lt(strcmp(a.file[k - 1].name, a.file[k].name), 0);
    for (size_t k = 0; k < a.piece_count; k++)
        cr_expect(k >= a.file[a.piece[k].file].piece_first);
    cr_expect_eq(skn_manifest_find(&a, "output.1.safetensors"), 3);
    cr_expect_eq(skn_manifest_find(&a, "output.2.safetensors"), SIZE_MAX);
    skn_json_text_fini(&text);
    skn_json_text_fini(&other);
    skn_manifest_fini(&a);
    skn_manifest_fini(&b);
}

Test(manifest_merge, copies_that_differ_are_refused)
{
    skn_error_t error = { 0 };
    skn_manifest_t a = listed("a", true, false, 3);
    skn_manifest_t b = listed("b", true, false, 4);
    cr_expect_eq(skn_manifest_merge(&a, &b, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "two nodes have written different bytes as "
                                 "hidden.0.safetensors");
    skn_manifest_fini(&a);
    skn_manifest_fini(&b);
}

/* A part covers nothing: as a whole it is refused, as a part it is read. */
Test(manifest_merge, a_part_is_read_as_one)
{
    skn_error_t error = { 0 };
    skn_manifest_t a = listed("a", true, true, 3), half = { 0 }, again;
    skn_json_text_t text = { 0 };
    half = a;
    half.file_count = 1;
    skn_manifest_print(&half, &text);
    cr_assert_eq(skn_json_text_seal(&text, &error), SKN_OK);
    cr_expect_eq(
        skn_manifest_parse("x", text.bytes, text.count, &again, &error),
        SKN_BAD_DATA);
    cr_assert_eq(
        skn_manifest_parse_part("x", text.bytes, text.count, &again, &error),
        SKN_OK, "%s", error.text);
    cr_expect_eq(again.file_count, 1);
    cr_expect(skn_manifest_same_file(&a, 0, &again, 0));
    cr_expect_not(skn_manifest_same_file(&a, 1, &again, 0));
    skn_manifest_fini(&again);
    skn_manifest_fini(&a);
    skn_json_text_fini(&text);
}
