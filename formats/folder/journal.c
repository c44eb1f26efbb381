/* journal.c - an append-only file of JSON lines, each sealed and synced.
 *
 * This file owns: the file, its lock, and its end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/folder/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/folder/folder.h"

/* A line for each generation and checkpoint: enough for years of them. */
#define JOURNAL_BYTES_MAX ((off_t)256 << 20)
#define DIGITS (SKN_HASH_TEXT_BYTES - 1)

struct skn_journal {
    int file;
    off_t end; /* of the complete lines */
    bool broken;
    char *path;
};

/* Reads one complete line without its newline. */
static skn_status_t
read_line(const skn_journal_t *journal, size_t number, const char *line,
          size_t bytes, skn_journal_take_t *take, void *job, skn_error_t *error)
{
    char hash[SKN_HASH_TEXT_BYTES], where[64];
    bool sound = bytes > DIGITS + 1 && line[DIGITS] == ' ';
    if (sound) {
        skn_hash_text(line + DIGITS + 1, bytes - DIGITS - 1, hash);
        sound = memcmp(hash, line, DIGITS) == 0;
    }
    if (!sound) {
        (void)skn_fail(error, SKN_BAD_DATA, "%s:%zu: the line is damaged",
                       journal->path, number);
        return skn_fail_hint(
            error, SKN_BAD_DATA,
            "what follows it cannot be trusted: truncate the file before this "
            "line, or remove it and start the run again");
    }
    (void)snprintf(where, sizeof(where), "journal:%zu", number);
    json_t *object = skn_json_object_parse(where, line + DIGITS + 1,
                                           bytes - DIGITS - 1, error);
    if (!object)
        return error->status;
    skn_status_t status = take(job, object, error);
    json_decref(object);
    return status;
}

static skn_status_t
read_lines(skn_journal_t *journal, const char *text, size_t bytes,
           skn_journal_take_t *take, void *job, skn_error_t *error)
{
    size_t at = 0, number = 0;
    skn_status_t status = SKN_OK;
    while (at < bytes && status == SKN_OK) {
        const char *newline = memchr(text + at, '\n', bytes - at);
        if (!newline)
            break; /* cut off: its writer never got a success */
        size_t length = (size_t)(newline - (text + at));
        status =
            read_line(journal, ++number, text + at, length, take, job, error);
        at += length + 1;
    }
    journal->end = (off_t)at;
    return status;
}

static skn_status_t
read_all(skn_journal_t *journal, skn_journal_take_t *take, void *job,
         skn_error_t *error)
{
    struct stat facts;
    if (fstat(journal->file, &facts) != 0)
        return skn_fail_errno(error, SKN_STORAGE, journal->path, NULL,
                              "cannot examine it");
    if (facts.st_size > JOURNAL_BYTES_MAX)
        return skn_fail(error, SKN_BAD_DATA, "%s: %lld bytes are not a journal",
                        journal->path, (long long)facts.st_size);
    size_t bytes = (size_t)facts.st_size, count = 0;
    char *text = malloc(bytes + 1);
    if (!text)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for %zu bytes",
                        journal->path, bytes);
    while (count < bytes) {
        ssize_t more =
            pread(journal->file, text + count, bytes - count, (off_t)count);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        count += (size_t)more;
    }
    skn_status_t status = read_lines(journal, text, count, take, job, error);
    free(text);
    if (status == SKN_OK && journal->end < facts.st_size &&
        ftruncate(journal->file, journal->end) != 0)
        status = skn_fail_errno(error, SKN_STORAGE, journal->path, NULL,
                                "cannot truncate it");
    return status;
}

/* The name of a new file is durable once its folder is synced. */
static skn_status_t
sync_folder(const char *path, skn_error_t *error)
{
    char *folder = strdup(path);
    if (!folder)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a path");
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    int descriptor =
        open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    skn_status_t status = SKN_OK;
    if (descriptor < 0 || fsync(descriptor) != 0)
        status = skn_fail_errno(error, SKN_STORAGE, path, NULL,
                                "its folder cannot be synced");
    if (descriptor >= 0)
        (void)close(descriptor);
    free(folder);
    return status;
}

skn_journal_t *
skn_journal_open(const char *path, skn_journal_take_t *take, void *job,
                 skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_status_t status = SKN_OK;
    skn_journal_t *journal = calloc(1, sizeof(*journal));
    if (!error)
        error = &own;
    if (journal)
        journal->path = strdup(path);
    if (!journal || !journal->path) {
        free(journal);
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a journal");
        return NULL;
    }
    journal->file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (journal->file < 0)
        status = skn_fail_errno(error, SKN_CANNOT_CREATE, path, NULL,
                                "cannot open it");
    else if (flock(journal->file, LOCK_EX | LOCK_NB) != 0)
        status = skn_fail(error, SKN_BUSY,
                          "%s is held by another process, which coordinates "
                          "this run",
                          path);
    if (status == SKN_OK)
        status = read_all(journal, take, job, error);
    if (status == SKN_OK)
        status = sync_folder(path, error);
    if (status != SKN_OK)
        skn_journal_close(&journal);
    return journal;
}

skn_status_t
skn_journal_add(skn_journal_t *journal, const char *object, skn_error_t *error)
{
    char hash[SKN_HASH_TEXT_BYTES];
    size_t bytes = strlen(object), room = bytes + DIGITS + 3;
    if (journal->broken)
        return skn_fail(error, SKN_STORAGE, "%s cannot be written",
                        journal->path);
    if (bytes > SKN_JOURNAL_LINE_BYTES_MAX || strchr(object, '\n'))
        return skn_fail(error, SKN_INTERNAL, "%s: a line of %zu bytes",
                        journal->path, bytes);
    char *line = malloc(room);
    if (!line)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a line");
    skn_hash_text(object, bytes, hash);
    int length = snprintf(line, room, "%s %s\n", hash, object);
    skn_status_t status =
        skn_file_write(journal->file, journal->path, line, (size_t)length,
                       (uint64_t)journal->end, error);
    if (status == SKN_OK && fdatasync(journal->file) != 0)
        status = skn_fail_errno(error, SKN_STORAGE, journal->path, NULL,
                                "cannot sync it");
    if (status == SKN_OK)
        journal->end += length;
    else
        journal->broken = true; /* the contents of the file are unknown now */
    free(line);
    return status;
}

void
skn_journal_close(skn_journal_t **journal)
{
    if (!*journal)
        return;
    if ((*journal)->file >= 0)
        (void)close((*journal)->file);
    free((*journal)->path);
    free(*journal);
    *journal = NULL;
}
