/* test_journal.c - tests which lines of a journal survive a crash.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/folder/journal.h"

typedef struct seen {
    size_t count;
    uint64_t number[16];
} seen_t;

static skn_status_t
take(void *job, const json_t *line, skn_error_t *error)
{
    seen_t *seen = job;
    if (!skn_json_u64(line, "number", &seen->number[seen->count % 16]))
        return skn_fail(error, SKN_BAD_DATA, "no number");
    seen->count++;
    return SKN_OK;
}

/* A folder of this test's own, and the path of a journal in it. */
static const char *
new_path(void)
{
    static char path[128];
    char folder[64] = "/tmp/skein-test-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/journal", folder);
    return path;
}

static skn_journal_t *
open_well(const char *path, seen_t *seen)
{
    skn_error_t error = { 0 };
    *seen = (seen_t){ 0 };
    skn_journal_t *journal = skn_journal_open(path, take, seen, &error);
    cr_assert_not_null(journal, "%s", error.text);
    return journal;
}

static void
add_numbers(const char *path, uint64_t count)
{
    seen_t seen;
    skn_error_t error = { 0 };
    char text[64];
    skn_journal_t *journal = open_well(path, &seen);
    for (uint64_t k = 0; k < count; k++) {
        (void)snprintf(text, sizeof(text), "{\"number\":%llu}",
                       (unsigned long long)k);
        cr_assert_eq(skn_journal_add(journal, text, &error), SKN_OK, "%s",
                     error.text);
    }
    skn_journal_close(&journal);
}

static off_t
size_of(const char *path)
{
    struct stat facts;
    cr_assert_eq(stat(path, &facts), 0);
    return facts.st_size;
}

Test(journal, lines_come_back_in_their_order)
{
    seen_t seen;
    const char *path = new_path();
    add_numbers(path, 5);
    skn_journal_t *journal = open_well(path, &seen);
    cr_assert_eq(seen.count, 5);
    for (uint64_t k = 0; k < 5; k++)
        cr_assert_eq(seen.number[k], k);
    skn_journal_close(&journal);
    cr_assert_null(journal);
}

Test(journal, one_that_is_cut_off_anywhere_in_its_last_line_loses_that_line)
{
    const char *path = new_path();
    add_numbers(path, 1);
    off_t one = size_of(path);
    add_numbers(path, 2);
    off_t three = size_of(path);
    for (off_t cut = one + 1; cut < three; cut++) {
        seen_t seen;
        char copy[160], command[512];
        (void)snprintf(copy, sizeof(copy), "%s.cut", path);
        (void)snprintf(command, sizeof(command), "cp %s %s", path, copy);
        cr_assert_eq(system(command), 0);
        cr_assert_eq(truncate(copy, cut), 0);
        skn_journal_t *journal = open_well(copy, &seen);
        off_t middle = one + (three - one) / 2;
        cr_assert_eq(seen.count, cut < middle ? 1 : 2, "cut at %lld",
                     (long long)cut);
        cr_assert_eq(size_of(copy), cut < middle ? one : middle);
        skn_journal_close(&journal);
        add_numbers(copy, 1); /* and goes on */
        journal = open_well(copy, &seen);
        cr_assert_eq(seen.count, cut < middle ? 2 : 3);
        skn_journal_close(&journal);
    }
}

Test(journal, any_changed_byte_of_a_whole_line_is_found)
{
    const char *path = new_path();
    add_numbers(path, 2);
    int file = open(path, O_RDWR);
    for (off_t at = 0; at < size_of(path) / 2 - 1; at++) {
        seen_t seen = { 0 };
        skn_error_t error = { 0 };
        char byte, flipped;
        cr_assert_eq(pread(file, &byte, 1, at), 1);
        flipped = (char)(byte ^ 1);
        cr_assert_eq(pwrite(file, &flipped, 1, at), 1);
        skn_journal_t *journal = skn_journal_open(path, take, &seen, &error);
        cr_assert_null(journal, "byte %lld", (long long)at);
        cr_assert_eq(error.status, SKN_BAD_DATA);
        cr_assert_not_null(strstr(error.text, "journal:1: the line is damaged"),
                           "%s", error.text);
        cr_assert_eq(pwrite(file, &byte, 1, at), 1);
    }
    (void)close(file);
}

Test(journal, one_process_has_it)
{
    seen_t seen, other = { 0 };
    skn_error_t error = { 0 };
    const char *path = new_path();
    skn_journal_t *journal = open_well(path, &seen);
    cr_assert_null(skn_journal_open(path, take, &other, &error));
    cr_assert_eq(error.status, SKN_BUSY);
    skn_journal_close(&journal);
    journal = open_well(path, &seen);
    skn_journal_close(&journal);
}

Test(journal, a_full_disk_is_said_and_nothing_is_written_after_it)
{
    seen_t seen;
    skn_error_t error = { 0 };
    const char *path = new_path();
    add_numbers(path, 1);
    skn_journal_t *journal = open_well(path, &seen);
    const struct rlimit little = { 60, 60 };
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    (void)sigaction(SIGXFSZ, &ignore, NULL);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    cr_assert_eq(skn_journal_add(journal, "{\"number\":77}", &error),
                 SKN_STORAGE);
    cr_assert_eq(skn_journal_add(journal, "{\"number\":78}", &error),
                 SKN_STORAGE);
    skn_journal_close(&journal);
    journal = open_well(path, &seen);
    cr_assert_eq(seen.count, 1);
    skn_journal_close(&journal);
}

Test(journal, a_line_is_one_line)
{
    seen_t seen;
    skn_error_t error = { 0 };
    const char *path = new_path();
    skn_journal_t *journal = open_well(path, &seen);
    cr_assert_eq(skn_journal_add(journal, "{\n}", &error), SKN_INTERNAL);
    skn_journal_close(&journal);
}

Test(journal, what_cannot_be_opened_is_named)
{
    seen_t seen = { 0 };
    skn_error_t error = { 0 };
    cr_assert_null(skn_journal_open("/nowhere/journal", take, &seen, &error));
    cr_assert_eq(error.status, SKN_CANNOT_CREATE);
    cr_assert_not_null(strstr(error.text, "/nowhere/journal"));
}
