/* journal.h - a file that only grows: one JSON object a line, each on disk
 * before its writer goes on.
 *
 *     32 hex digits {"generation":3, ... }
 *
 * The digits are XXH3-128 of the object. A line that was cut off by a crash is
 * the last one, and was never believed by anybody: it is taken away when the
 * file is opened. Damage anywhere else is an error.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FOLDER_JOURNAL_H
#define FORMATS_FOLDER_JOURNAL_H

#include "formats/text/json_text.h"

/* A line with the names of 64 members is 5 KB. */
#define SKN_JOURNAL_LINE_BYTES_MAX 65536u

typedef struct skn_journal skn_journal_t;

/* Is given each line that is there, in order. What it returns but SKN_OK ends
 * the opening. */
typedef skn_status_t skn_journal_take_t(void *job, const json_t *line,
                                        skn_error_t *error);

/* Opens `path`, which is made if it is not there, for this process alone, and
 * reads it. NULL: SKN_BUSY (another process has it), SKN_BAD_DATA (damage, with
 * the line), SKN_CANNOT_CREATE, SKN_STORAGE, SKN_NO_MEMORY. */
skn_journal_t *skn_journal_open(const char *path, skn_journal_take_t *take,
                                void *job, skn_error_t *error);
/* Adds a line and waits until it is on disk. `object` is one line. After a
 * failure nothing more is written: SKN_STORAGE again. */
skn_status_t skn_journal_add(skn_journal_t *journal, const char *object,
                             skn_error_t *error);
/* Sets *journal to NULL, which it may be already. */
void skn_journal_close(skn_journal_t **journal);

#endif
