/* test_manifest.c - tests that manifests are printed, read back, and refused if
 * wrong.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/manifest.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HASH "0123456789abcdef0123456789abcdef"

/* Two files of two pieces each. */
static void
print_sample(skn_json_text_t *text)
{
    skn_manifest_file_t file[] = {
        { "a.safetensors", 100, 64, HASH, 0, 2 },
        { "b.safetensors", 100, 64, HASH, 2, 1 },
    };
    skn_manifest_piece_t piece[] = {
        { { "w", SKN_DTYPE_F32, 2, 2, 3, 2, 5, 0, 0 }, 0, 64, 24, HASH },
        { { "b", SKN_DTYPE_U32, 1, 3, 1, 3, 1, 0, 0 }, 0, 88, 12, HASH },
        { { "w", SKN_DTYPE_F32, 2, 2, 2, 2, 5, 0, 3 }, 1, 64, 16, HASH },
    };
    char metadata[] = "{\"history\": [\"\\u00e4\", \"\n\"]}";
    skn_manifest_t manifest = { .run_id = HASH,
                                .batch = 42,
                                .metadata = metadata,
                                .file = file,
                                .piece = piece,
                                .file_count = 2,
                                .piece_count = 3 };
    skn_manifest_print(&manifest, text);
    cr_assert_eq(skn_json_text_seal(text, NULL), SKN_OK);
}

Test(manifest, reads_back_what_it_printed)
{
    skn_json_text_t text = { 0 };
    skn_manifest_t got;
    skn_error_t error = { 0 };
    print_sample(&text);
    cr_assert_eq(skn_manifest_parse("m", text.bytes, text.count, &got, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_str_eq(got.run_id, HASH);
    cr_expect_eq(got.batch, 42);
    cr_expect_str_eq(got.metadata, "{\"history\": [\"\\u00e4\", \"\n\"]}");
    cr_assert_eq(got.file_count, 2);
    cr_assert_eq(got.piece_count, 3);
    cr_expect_str_eq(got.file[1].name, "b.safetensors");
    cr_expect_eq(got.file[1].piece_first, 2);
    cr_expect_eq(got.piece[0].size_bytes, 24);
    cr_expect_eq(got.piece[1].piece.columns, 1);
    cr_expect_eq(got.piece[2].piece.column_first, 3);
    cr_expect_eq(got.piece[2].file, 1);
    skn_json_text_t again = { 0 };
    skn_manifest_print(&got, &again);
    cr_expect_eq(skn_json_text_seal(&again, NULL), SKN_OK);
    cr_expect_str_eq(again.bytes, text.bytes);
    skn_json_text_fini(&again);
    skn_json_text_fini(&text);
    skn_manifest_fini(&got);
    cr_expect_null(got.metadata);
}

/* The parser alone, without the seal in front, must hold as well. */
Test(manifest, survives_every_change_and_truncation)
{
    skn_json_text_t text = { 0 };
    skn_manifest_t got;
    print_sample(&text);
    for (size_t count = 0; count < text.count - 1; count++) {
        char *part = malloc(count + 1);
        memcpy(part, text.bytes, count);
        cr_expect_eq(skn_manifest_parse("m", part, count, &got, NULL),
                     SKN_BAD_DATA, "%zu bytes", count);
        free(part);
    }
    for (size_t at = 0; at < text.count; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            text.bytes[at] = (char)(text.bytes[at] ^ (1 << bit));
            (void)skn_manifest_parse("m", text.bytes, text.count, &got, NULL);
            skn_manifest_fini(&got);
            text.bytes[at] = (char)(text.bytes[at] ^ (1 << bit));
        }
    skn_json_text_fini(&text);
}

/* The sample with the first `from` replaced by `to`. */
static skn_status_t
parse_edited(const char *from, const char *to, skn_error_t *error)
{
    skn_json_text_t text = { 0 }, edited = { 0 };
    skn_manifest_t got;
    print_sample(&text);
    const char *place = strstr(text.bytes, from);
    cr_assert(place, "%s", from);
    skn_json_text_add(&edited, "%.*s%s%s", (int)(place - text.bytes),
                      text.bytes, to, place + strlen(from));
    skn_status_t status =
        skn_manifest_parse("m", edited.bytes, edited.count, &got, error);
    skn_manifest_fini(&got);
    skn_json_text_fini(&text);
    skn_json_text_fini(&edited);
    return status;
}

Test(manifest, says_what_it_refuses)
{
    static const struct {
        const char *from, *to, *text;
    } cases[] = {
        { "skein-checkpoint", "other", "m: no skein-checkpoint" },
        { "\"version\":1", "\"version\":2",
          "m: version 2 is not supported, only 1 is" },
        { "\"run\":\"0", "\"run\":\"G",
          "m: run, batch, metadata or files is malformed" },
        { "\"batch\":42", "\"batch\":1000000000000",
          "m: run, batch, metadata or files is malformed" },
        { "a.safetensors", "../etc", "m: file 0 is malformed" },
        { "a.safetensors", ".a", "m: file 0 is malformed" },
        { "b.safetensors", "a.safetensors",
          "m: file a.safetensors is listed twice" },
        { "\"bytes\":100", "\"bytes\":63", "m: file 0 is malformed" },
        { "\"bytes\":100", "\"bytes\":99",
          "m: file a.safetensors: tensor b is outside of it" },
        { "\"offset\":64", "\"offset\":63",
          "m: file a.safetensors: tensor w@0,0 is outside of it" },
        { "\"dtype\":\"F32\"", "\"dtype\":\"F64\"",
          "m: file a.safetensors: tensor 0 is malformed" },
        { "\"shape\":[2,3]", "\"shape\":[2,3,1]",
          "m: file a.safetensors: tensor 0 is malformed" },
        { "\"global_shape\":[2,5]", "\"global_shape\":[2]",
          "m: file a.safetensors: tensor 0 is malformed" },
        { "\"first\":[0,0]", "\"first\":[0,3]",
          "m: file a.safetensors: tensor w: 2 x 3 at (0, 3) is not a piece of "
          "2 x 5" },
        { "\"first\":[0,3]", "\"first\":[0,2]",
          "m: tensor w: the pieces at (0, 0) and (0, 2) overlap" },
        { "\"global_shape\":[3]", "\"global_shape\":[4]",
          "m: tensor b: its pieces hold 3 of 4 elements" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        skn_error_t error = { 0 };
        cr_expect_eq(parse_edited(cases[i].from, cases[i].to, &error),
                     SKN_BAD_DATA, "%s", cases[i].to);
        cr_expect_str_eq(error.text, cases[i].text);
    }
}
