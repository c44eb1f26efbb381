/* journal.h - an append-only file of JSON lines, each sealed and synced.
 *
 * Each line is on disk before its writer continues.
 *
 *     32 hex digits {"generation":3, ... }
 *
 * The digits are XXH3-128 of the object. A line that a crash cut off is the
 * last one, and its writer never got a success: it is removed when the file is
 * opened. Damage anywhere else is an error.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FOLDER_JOURNAL_H
#define FORMATS_FOLDER_JOURNAL_H

#include "formats/text/json_text.h"

/* A line with the names of 64 members is 5 KB. */
#define SKN_JOURNAL_LINE_BYTES_MAX 65536u

typedef struct skn_journal skn_journal_t;

/* Called for each existing line, in order. A status other than SKN_OK ends the
 * opening. */
typedef skn_status_t skn_journal_take_t(void *job, const json_t *line,
                                        skn_error_t *error);

/* Opens `path`, which is created if missing, for this process alone, and reads
 * it. NULL: SKN_BUSY (another process has it), SKN_BAD_DATA (damage, with the
 * line), SKN_CANNOT_CREATE, SKN_STORAGE, SKN_NO_MEMORY. */
skn_journal_t *skn_journal_open(const char *path, skn_journal_take_t *take,
                                void *job, skn_error_t *error);
/* Adds a line and waits until it is on disk. `object` is one line. After a
 * failure nothing more is written: SKN_STORAGE again. */
skn_status_t skn_journal_add(skn_journal_t *journal, const char *object,
                             skn_error_t *error);
/* Sets *journal to NULL, which it may be already. */
void skn_journal_close(skn_journal_t **journal);

#endif
