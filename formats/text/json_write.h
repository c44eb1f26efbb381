/* json_write.h - writes JSON texts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_JSON_WRITE_H
#define FORMATS_TEXT_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* { 0 } is an empty text. Additions after a failed one do nothing, so that one
 * check of `failed` at the end is enough. */
typedef struct skn_json_text {
    char *bytes; /* ends with a NUL that `count` leaves out */
    size_t count, room;
    bool failed; /* no memory */
} skn_json_text_t;

void skn_json_text_fini(skn_json_text_t *text);
__attribute__((format(printf, 2, 3))) void skn_json_text_add(
    skn_json_text_t *text, const char *format, ...);
/* Adds `string` in quotes, escaped; bytes that are not UTF-8 become U+FFFD. */
void skn_json_text_add_string(skn_json_text_t *text, const char *string);

#endif
