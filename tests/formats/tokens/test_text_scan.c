/* test_text_scan.c - tests how a text of a corpus is read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/text_scan.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <zlib.h>

#include "tests/formats/tokens/token_text.h"

/* --- reading -------------------------------------------------------------- */

/* Collects a text, and leaves up to `left` bytes each time. */
typedef struct collector {
    char *text;
    size_t bytes, left;
    bool has_ended;
} collector_t;

static skn_status_t
collect(void *visitor, const char *text, size_t bytes, bool is_end,
        size_t *used, skn_error_t *error)
{
    collector_t *collector = visitor;
    (void)error;
    *used = is_end || bytes > collector->left
                ? bytes - (is_end ? 0 : collector->left)
                : 0;
    memcpy(collector->text + collector->bytes, text, *used);
    collector->bytes += *used;
    collector->has_ended = is_end;
    return SKN_OK;
}

static skn_text_facts_t
scan(const char *path, collector_t *collector)
{
    skn_text_facts_t facts;
    skn_error_t error = { 0 };
    char *room = malloc(SKN_TEXT_ROOM_BYTES);
    cr_assert_eq(skn_text_scan(path, room, collector ? collect : NULL,
                               collector, &facts, &error),
                 SKN_OK, "%s", error.text);
    free(room);
    return facts;
}

Test(text_scan, a_text_of_several_rooms_arrives_whole)
{
    folder_t folder;
    folder_make(&folder);
    size_t bytes = 3 * SKN_TEXT_ROOM_BYTES + 17;
    char *text = malloc(bytes + 8);
    uint64_t seed = 5;
    bytes = random_text(&seed, text, bytes);
    for (int packed = 0; packed < 2; packed++) {
        if (packed) {
            gzFile file = gzopen(folder.file, "wb1");
            cr_assert_eq(gzwrite(file, text, (unsigned)bytes), (int)bytes);
            cr_assert_eq(gzclose(file), Z_OK);
        } else {
            file_write(folder.file, text, bytes);
        }
        for (size_t left = 0; left < 200; left += 70) {
            collector_t collector = { .text = malloc(bytes), .left = left };
            skn_text_facts_t facts = scan(folder.file, &collector);
            cr_expect(facts.is_text && collector.has_ended);
            cr_expect_eq(facts.bytes, bytes);
            cr_expect_eq(facts.hash, XXH3_64bits(text, bytes));
            cr_assert_eq(collector.bytes, bytes);
            cr_expect_eq(memcmp(collector.text, text, bytes), 0);
            free(collector.text);
        }
    }
    free(text);
    folder_remove(folder.path);
}

/* Expects that the first bad byte of `bytes` bytes is `bad_at`, SIZE_MAX: there
 * is none; by itself and behind `before` bytes of text. */
static void
expect_bad(const folder_t *folder, const char *bytes, size_t count,
           size_t bad_at)
{
    const size_t befores[] = { 0,
                               1,
                               7,
                               SKN_TEXT_ROOM_BYTES - 2,
                               SKN_TEXT_ROOM_BYTES - 1,
                               SKN_TEXT_ROOM_BYTES };
    for (size_t k = 0; k < sizeof(befores) / sizeof(befores[0]); k++) {
        char *text = malloc(befores[k] + count + 1);
        memset(text, 'x', befores[k]);
        memcpy(text + befores[k], bytes, count);
        file_write(folder->file, text, befores[k] + count);
        skn_text_facts_t facts = scan(folder->file, NULL);
        cr_expect_eq(facts.is_text, bad_at == SIZE_MAX, "%.*s", (int)count,
                     bytes);
        if (bad_at != SIZE_MAX)
            cr_expect_eq(facts.bad_at, befores[k] + bad_at);
        free(text);
    }
}

Test(text_scan, bytes_that_are_no_text_are_found)
{
    folder_t folder;
    folder_make(&folder);
    expect_bad(&folder, "abc", 3, SIZE_MAX);
    expect_bad(&folder, "\xf0\x9f\x98\x80", 4, SIZE_MAX);
    expect_bad(&folder, "\xe2\x82\xac!", 4, SIZE_MAX);
    expect_bad(&folder, "a\0b", 3, 1);
    expect_bad(&folder, "ab\xff", 3, 2);
    expect_bad(&folder, "\xc3", 1, 0);
    expect_bad(&folder, "\xf0\x9f\x98", 3, 0);
    expect_bad(&folder, "ab\xc3(abcdefghijkl", 15, 2);
    expect_bad(&folder, "\xed\xa0\x80", 3, 0); /* a surrogate */
    expect_bad(&folder, "abcdefghijklmnop\0", 17, 16);
    folder_remove(folder.path);
}

static bool
is_utf16(const folder_t *folder, const char *bytes, size_t count)
{
    file_write(folder->file, bytes, count);
    return scan(folder->file, NULL).is_utf16;
}

Test(text_scan, the_byte_order_mark_of_utf16_is_found)
{
    folder_t folder;
    folder_make(&folder);
    cr_expect(is_utf16(&folder, "\xff\xfe", 2));
    cr_expect(is_utf16(&folder,
                       "\xff\xfe"
                       "a\0b\0",
                       6));
    cr_expect(is_utf16(&folder, "\xfe\xff\0a\0b", 6));
    cr_expect_not(is_utf16(&folder, "\xff", 1));
    cr_expect_not(is_utf16(&folder, "\xff\xff", 2));
    cr_expect_not(is_utf16(&folder, "a\xff\xfe", 3));
    folder_remove(folder.path);
}

Test(text_scan, a_file_that_is_no_text_is_refused_with_its_byte)
{
    skn_error_t error = { 0 };
    skn_text_facts_t facts = { .bad_at = 17 };
    cr_expect_eq(skn_text_refuse("f.txt", &facts, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "f.txt: byte 17 is not UTF-8");
    cr_expect_str_eq(error.hint, "convert it, as with iconv -f latin1 -t utf8");
    facts.is_utf16 = true;
    cr_expect_eq(skn_text_refuse("f.txt", &facts, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.hint, "convert it, as with iconv -f utf-16 -t utf8");
    facts.bad_is_nul = true;
    cr_expect_eq(skn_text_refuse("f.txt", &facts, &error), SKN_BAD_DATA);
    cr_expect_str_eq(error.text, "f.txt: byte 17 is NUL: this is no text");
}
