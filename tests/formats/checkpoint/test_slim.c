/* test_slim.c - tests that a model in one file is read as it was written, and
 * that damage is found.
 *
 * Covers formats/checkpoint/slim.c and formats/checkpoint/slim_list.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/slim_list.h"

#include <string.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

#define FILE_BYTES_MAX 4096u

static const skn_slim_facts_t facts = {
    .run_id = "0123456789abcdef0123456789abcdef",
    .created = "2026-01-02T03:04:05Z",
    .config = "skein: 1\n\"quoted\"\n",
    .batch = 77,
    .feature_count = 5,
};
static const float rows[6] = { 1, -2, 3, -4, 5, -6 };

typedef struct fixture {
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    unsigned char bytes[FILE_BYTES_MAX];
    size_t count;
} fixture_t;

static void
fill(skn_slim_list_t *list)
{
    skn_slim_part_t lent = { "rows", SKN_DTYPE_F32, 3, 2, rows };
    skn_slim_part_t own = { "words", SKN_DTYPE_U8, 5, 0, NULL };
    skn_slim_part_t narrow = { "narrow", SKN_DTYPE_I8, 2, 2, "\1\2\3\4" };
    cr_assert_eq(skn_slim_list_lend(list, "hidden", &lent, NULL), SKN_OK);
    char *words = skn_slim_list_add(list, NULL, &own, NULL);
    cr_assert(words);
    memcpy(words, "a\nb\nc", 5);
    cr_assert_eq(skn_slim_list_lend(list, "output", &narrow, NULL), SKN_OK);
}

static void
fixture_make(fixture_t *fixture)
{
    skn_slim_list_t list = { 0 };
    skn_error_t error = { 0 };
    uint64_t bytes = 0;
    temp_folder_make(fixture->folder);
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/model",
                   fixture->folder);
    fill(&list);
    cr_assert_eq(skn_slim_size(&facts, list.part, list.count, &bytes, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_eq(
        skn_slim_write(fixture->path, &facts, list.part, list.count, &error),
        SKN_OK, "%s", error.text);
    skn_slim_list_fini(&list);
    FILE *file = fopen(fixture->path, "rb");
    cr_assert(file);
    fixture->count = fread(fixture->bytes, 1, FILE_BYTES_MAX, file);
    (void)fclose(file);
    cr_assert_eq(fixture->count, bytes);
}

static void
put(const fixture_t *fixture, const void *bytes, size_t count)
{
    FILE *file = fopen(fixture->path, "wb");
    cr_assert(file);
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
    cr_assert_eq(fclose(file), 0);
}

Test(slim, everything_is_read_back)
{
    fixture_t fixture;
    skn_error_t error = { 0 };
    fixture_make(&fixture);
    cr_expect(skn_slim_is(fixture.path));
    skn_slim_t *slim = skn_slim_open(fixture.path, &error);
    cr_assert(slim, "%s", error.text);
    cr_expect_str_eq(slim->facts.run_id, facts.run_id);
    cr_expect_str_eq(slim->facts.created, facts.created);
    cr_expect_str_eq(slim->facts.config, facts.config);
    cr_expect_eq(slim->facts.batch, 77);
    cr_expect_eq(slim->facts.feature_count, 5);
    const skn_safetensor_t *tensor = skn_slim_find(slim, "hidden", "rows");
    cr_assert(tensor);
    cr_expect_eq(tensor->shape[0], 3);
    cr_expect_eq(tensor->shape[1], 2);
    cr_expect_arr_eq(skn_slim_bytes(slim, tensor), rows, sizeof(rows));
    tensor = skn_slim_find(slim, NULL, "words");
    cr_assert(tensor);
    cr_expect_arr_eq(skn_slim_bytes(slim, tensor), "a\nb\nc", 5);
    cr_expect_eq((uintptr_t)skn_slim_bytes(slim, tensor) % 64, 0);
    cr_expect_null(skn_slim_find(slim, "hidden", "scale"));
    cr_expect_eq(skn_slim_verify(slim, &error), SKN_OK, "%s", error.text);
    skn_slim_close(&slim);
    skn_slim_close(&slim);
    temp_folder_remove(fixture.folder);
}

Test(slim, a_file_that_is_there_stays)
{
    fixture_t fixture;
    skn_error_t error = { 0 };
    skn_slim_list_t list = { 0 };
    char path[TEMP_FOLDER_BYTES + 16];
    fixture_make(&fixture);
    put(&fixture, "mine", 4);
    fill(&list);
    cr_expect_eq(
        skn_slim_write(fixture.path, &facts, list.part, list.count, &error),
        SKN_CANNOT_CREATE);
    cr_expect(strstr(error.text, "already exists"), "%s", error.text);
    (void)snprintf(path, sizeof(path), "%s/none/model", fixture.folder);
    cr_expect_neq(skn_slim_write(path, &facts, list.part, list.count, &error),
                  SKN_OK);
    (void)snprintf(path, sizeof(path), "%s/", fixture.folder);
    cr_expect_neq(skn_slim_write(path, &facts, list.part, list.count, &error),
                  SKN_OK);
    skn_slim_list_fini(&list);
    cr_expect_not(skn_slim_is(fixture.path));
    temp_folder_remove(fixture.folder);
}

Test(slim, every_truncation_is_refused)
{
    fixture_t fixture;
    fixture_make(&fixture);
    for (size_t count = 0; count < fixture.count; count++) {
        skn_error_t error = { 0 };
        put(&fixture, fixture.bytes, count);
        skn_slim_t *slim = skn_slim_open(fixture.path, &error);
        cr_expect_null(slim, "%zu bytes", count);
        cr_expect_eq(error.status, SKN_BAD_DATA, "%zu: %s", count, error.text);
        skn_slim_close(&slim);
    }
    temp_folder_remove(fixture.folder);
}

/* In the header at open, in the data by the verification. */
Test(slim, every_changed_byte_is_found)
{
    fixture_t fixture;
    fixture_make(&fixture);
    for (size_t at = 0; at < fixture.count; at++) {
        skn_error_t error = { 0 };
        fixture.bytes[at] ^= (unsigned char)(1u << at % 8);
        put(&fixture, fixture.bytes, fixture.count);
        skn_slim_t *slim = skn_slim_open(fixture.path, &error);
        if (slim) {
            cr_expect_geq(at, slim->tensors.header_bytes);
            cr_expect_eq(skn_slim_verify(slim, &error), SKN_BAD_DATA,
                         "byte %zu", at);
        }
        cr_expect_eq(error.status, SKN_BAD_DATA, "byte %zu: %s", at,
                     error.text);
        skn_slim_close(&slim);
        fixture.bytes[at] ^= (unsigned char)(1u << at % 8);
    }
    temp_folder_remove(fixture.folder);
}

static void
expect_refusal(const fixture_t *fixture, const char *why)
{
    skn_error_t error = { 0 };
    skn_slim_t *slim = skn_slim_open(fixture->path, &error);
    cr_expect_null(slim);
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect(strstr(error.text, why), "%s", error.text);
    skn_slim_close(&slim);
}

Test(slim, other_files_and_newer_versions_are_named)
{
    fixture_t fixture;
    static const char foreign[] =
        "\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[0],"
        "\"data_offsets\":[0,0]}}                                ";
    fixture_make(&fixture);
    char *version = memmem(fixture.bytes, fixture.count, "\"version\":\"1", 12);
    cr_assert(version);
    version[11] = '2';
    put(&fixture, fixture.bytes, fixture.count);
    cr_expect(skn_slim_is(fixture.path));
    expect_refusal(&fixture, "newer version of Skein");
    put(&fixture, foreign, sizeof(foreign) - 1);
    cr_expect_not(skn_slim_is(fixture.path));
    expect_refusal(&fixture, "is not an exported model");
    cr_expect_not(skn_slim_is(fixture.folder));
    (void)unlink(fixture.path);
    skn_error_t error = { 0 };
    cr_expect_null(skn_slim_open(fixture.path, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    temp_folder_remove(fixture.folder);
}
