/* test_texts.c - tests which files are the text of a corpus
 * (formats/tokens/texts.c) and how one is read (formats/tokens/text_scan.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/texts.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <zlib.h>

#include "tests/formats/tokens/token_text.h"

/* Writes a file below the folder, and the folders above it. */
static void
put(const folder_t *folder, const char *name, const char *text)
{
    char path[600];
    int start = snprintf(path, sizeof(path), "%s/", folder->path);
    (void)snprintf(path + start, sizeof(path) - (size_t)start, "%s", name);
    for (char *slash = path + start; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    text_write(path, text);
}

static void
link_make(const folder_t *folder, const char *target, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    cr_assert_eq(symlink(target, path), 0);
}

static skn_texts_t
list_good(const char *source)
{
    skn_texts_t texts;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_texts_init(&texts, source, &error), SKN_OK, "%s",
                 error.text);
    return texts;
}

Test(texts, a_folder_is_all_files_below_it_in_order_without_hidden_and_links)
{
    folder_t folder;
    folder_make(&folder);
    put(&folder, "b/2.txt", "2");
    put(&folder, "b/10.txt", "10");
    put(&folder, "a.txt", "a");
    put(&folder, "b/c/d.txt", "d");
    put(&folder, ".hidden", "h");
    put(&folder, "b/.git/x", "x");
    link_make(&folder, "a.txt", "link");
    link_make(&folder, "..", "b/up");
    const char *const wanted[] = { "a.txt", "b/10.txt", "b/2.txt",
                                   "b/c/d.txt" };
    skn_texts_t texts = list_good(folder.path);
    cr_assert_eq(texts.count, 4u);
    for (size_t k = 0; k < 4; k++) {
        cr_expect_str_eq(texts.path[k] + strlen(folder.path) + 1, wanted[k]);
        cr_expect(!texts.is_named[k]);
    }
    cr_expect_eq(texts.total_bytes, 5u);
    skn_texts_fini(&texts);
    folder_remove(folder.path);
}

Test(texts, the_fingerprint_changes_with_a_name_a_size_and_a_time)
{
    folder_t folder;
    char slash[300], other[600];
    folder_make(&folder);
    put(&folder, "a.txt", "a");
    put(&folder, "b.txt", "b");
    skn_texts_t texts = list_good(folder.path);
    uint64_t first = texts.fingerprint;
    skn_texts_fini(&texts);
    (void)snprintf(slash, sizeof(slash), "%s/", folder.path);
    texts = list_good(slash);
    cr_expect_eq(texts.fingerprint, first);
    skn_texts_fini(&texts);
    (void)snprintf(other, sizeof(other), "%s/b.txt", folder.path);
    struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    cr_assert_eq(utimensat(AT_FDCWD, other, times, 0), 0);
    texts = list_good(folder.path);
    cr_expect_neq(texts.fingerprint, first);
    first = texts.fingerprint;
    skn_texts_fini(&texts);
    (void)snprintf(slash, sizeof(slash), "%s/c.txt", folder.path);
    cr_assert_eq(rename(other, slash), 0);
    texts = list_good(folder.path);
    cr_expect_neq(texts.fingerprint, first);
    skn_texts_fini(&texts);
    folder_remove(folder.path);
}

static void
expect_unlisted(const char *source, skn_status_t status, const char *sentence)
{
    skn_texts_t texts;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_texts_init(&texts, source, &error), status);
    cr_expect_str_eq(error.text, sentence);
    skn_texts_fini(&texts);
}

Test(texts, sources_that_cannot_be_read_are_named)
{
    folder_t folder;
    char sentence[900];
    folder_make(&folder);
    (void)snprintf(sentence, sizeof(sentence), "%s: no such file or folder",
                   folder.other);
    expect_unlisted(folder.other, SKN_NO_INPUT, sentence);
    cr_assert_eq(mkfifo(folder.file, 0600), 0);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: is neither a regular file nor a folder, and text is "
                   "read more than once",
                   folder.file);
    expect_unlisted(folder.file, SKN_NO_INPUT, sentence);
    cr_assert_eq(mkdir(folder.other, 0), 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: the folder cannot be read: Permission denied",
                   folder.other);
    expect_unlisted(folder.path, SKN_NO_PERMISSION, sentence);
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    folder_remove(folder.path);
}

/* Whatever is in them: it may be a token file of words. */
Test(texts, files_are_checked_without_being_read)
{
    folder_t folder;
    skn_error_t error = { 0 };
    folder_make(&folder);
    cr_expect_eq(skn_texts_check(folder.file, &error), SKN_NO_INPUT);
    file_write(folder.file, "\0\xff", 2);
    cr_expect_eq(skn_texts_check(folder.file, &error), SKN_OK);
    cr_expect_eq(skn_texts_check(folder.path, &error), SKN_OK);
    cr_assert_eq(chmod(folder.file, 0), 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
    cr_expect_eq(skn_texts_check(folder.path, &error), SKN_NO_PERMISSION);
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    folder_remove(folder.path);
}

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

Test(texts, a_text_of_several_rooms_arrives_whole)
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

Test(texts, bytes_that_are_no_text_are_found)
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

Test(texts, the_byte_order_mark_of_utf16_is_found)
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

Test(texts, a_file_that_is_no_text_is_refused_with_its_byte)
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
