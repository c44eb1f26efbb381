/* json_write.c - writes JSON texts; owns the escaping of strings.
 *
 * The writer is our own because it is short and keeps its input bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_write.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/text.h"

void
skn_json_text_fini(skn_json_text_t *text)
{
    free(text->bytes);
    *text = (skn_json_text_t){ 0 };
}

/* Room for `more` bytes and the NUL. */
static bool
reserve(skn_json_text_t *text, size_t more)
{
    if (text->failed)
        return false;
    if (text->room - text->count > more)
        return true;
    size_t room = text->room ? text->room : 1024;
    while (room - text->count <= more) {
        if (room > SIZE_MAX / 2)
            goto failed;
        room *= 2;
    }
    char *bytes = realloc(text->bytes, room);
    if (!bytes)
        goto failed;
    text->bytes = bytes;
    text->room = room;
    return true;
failed:
    text->failed = true;
    return false;
}

void
skn_json_text_add(skn_json_text_t *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = skn_text_write_list(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t)length)) {
        (void)skn_text_write_list(text->bytes + text->count, (size_t)length + 1,
                                  format, again);
        text->count += (size_t)length;
    }
    va_end(again);
}

void
skn_json_text_add_string(skn_json_text_t *text, const char *string)
{
    /* A control character becomes six bytes: the worst case. */
    size_t length = strlen(string);
    if (length > SIZE_MAX / 8 || !reserve(text, length * 6 + 2)) {
        text->failed = true;
        return;
    }
    char *out = text->bytes + text->count;
    const char *end = string + length;
    *out++ = '"';
    for (const char *in = string; in < end;) {
        unsigned char byte = (unsigned char)*in;
        size_t bytes = skn_text_character_bytes(in, end);
        if (byte == '"' || byte == '\\') {
            *out++ = '\\';
            *out++ = *in;
        } else if (byte == '\n') {
            *out++ = '\\';
            *out++ = 'n';
        } else if (byte < 0x20 || byte == 0x7F) { /* which YAML refuses */
            out += snprintf(out, 7, "\\u%04x", byte);
        } else if (bytes > 0) {
            memcpy(out, in, bytes);
            out += bytes;
        } else { /* not UTF-8: paths may contain such bytes */
            out += snprintf(out, 7, "\\ufffd");
        }
        in += bytes > 0 ? bytes : 1;
    }
    *out++ = '"';
    *out = '\0';
    text->count = (size_t)(out - text->bytes);
    assert(text->count < text->room);
}
