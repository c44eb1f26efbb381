/* text_scan.h - reads a text file of a corpus, a part at a time.
 *
 * A file may be packed (formats/source/stream.h). Text is UTF-8 without NUL: a
 * file that was named and is not text is refused, one that was found in a
 * folder is left out. An empty file is no document. Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TOKENS_TEXT_SCAN_H
#define FORMATS_TOKENS_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

/* Takes some of the `bytes` bytes of text at `text`: *used. Those that are left
 * come again, with more behind them, or with is_end, and then all must be used;
 * fewer than SKN_TEXT_LEFT_MAX may be left. A failure ends the scan. */
#define SKN_TEXT_LEFT_MAX 4096u
typedef skn_status_t skn_text_visit_t(void *visitor, const char *text,
                                      size_t bytes, bool is_end, size_t *used,
                                      skn_error_t *error);

typedef struct skn_text_facts {
    uint64_t bytes, hash; /* unpacked; XXH3, 64 bits */
    bool is_text;
    uint64_t bad_at; /* the first byte that is not text */
    bool bad_is_nul;
    bool is_utf16; /* it begins with the byte order mark of UTF-16 */
} skn_text_facts_t;

/* Memory that a scan needs. */
#define SKN_TEXT_ROOM_BYTES ((size_t)1 << 20)

/* Reads the file `path` from beginning to end. `visit` gets checked text; it
 * may be NULL. Reading ends at the first byte that is not text; then
 * facts->is_text is false, and the visitor has seen what was before it. As
 * skn_stream_open and skn_stream_read. `room` is SKN_TEXT_ROOM_BYTES long. */
skn_status_t skn_text_scan(const char *path, char *room,
                           skn_text_visit_t *visit, void *visitor,
                           skn_text_facts_t *facts, skn_error_t *error);
/* Fails with the sentence for a file that is not text: SKN_BAD_DATA. */
skn_status_t skn_text_refuse(const char *path, const skn_text_facts_t *facts,
                             skn_error_t *error);

#endif
