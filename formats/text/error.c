/* error.c - formats the sentence of an error as one line of limited length.
 *
 * This file ensures that the sentence of an error is one line, and that a long
 * path or value in it costs the middle of the sentence, never its reason.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/error.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the middle that was left out. */
#define LEFT_OUT " ... "
#define USUAL_BYTES ((size_t)4096)

/* Writes the byte at `from` in a printable form: \n, \t, \x1b for control
 * characters. Returns the number of bytes written, 4 at most. */
static size_t
put_visible(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    if (byte >= 0x20 && byte != 0x7f) {
        out[0] = (char)byte;
        return 1;
    }
    out[0] = '\\';
    out[1] = byte == '\n' ? 'n' : byte == '\t' ? 't' : byte == '\r' ? 'r' : 'x';
    if (out[1] != 'x')
        return 2;
    out[2] = digits[byte >> 4];
    out[3] = digits[byte & 15];
    return 4;
}

static bool
is_inside_letter(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Copies `line`, of `length` bytes, into `text`; if it is too long, its first
 * third and as much of its end as fits. No UTF-8 letter is cut. */
static void
copy_shortened(char *text, size_t text_bytes, const char *line, size_t length)
{
    if (length < text_bytes) {
        memcpy(text, line, length + 1);
        return;
    }
    size_t gap = strlen(LEFT_OUT), head = (text_bytes - gap) / 3;
    while (head && is_inside_letter(line[head]))
        head--;
    size_t tail = text_bytes - 1 - gap - head;
    while (tail && is_inside_letter(line[length - tail]))
        tail--;
    memcpy(text, line, head);
    memcpy(text + head, LEFT_OUT, gap);
    memcpy(text + head + gap, line + length - tail, tail);
    text[head + gap + tail] = '\0';
}

void
skn_error_write(char *text, size_t text_bytes, const char *format,
                va_list arguments)
{
    if (!format)
        format = "";
    va_list again;
    va_copy(again, arguments);
    int length = skn_text_write_list(NULL, 0, format, again);
    va_end(again);
    size_t raw_bytes = length < 0 ? 0 : (size_t)length;
    /* The sentence as it is, and after it the same sentence as one line. The
     * failure may be of the heap: most sentences do not need it. */
    char usual[USUAL_BYTES];
    bool has_room = 5 * raw_bytes + 2 <= sizeof(usual);
    char *raw = has_room ? usual : malloc(5 * raw_bytes + 2);
    if (raw) {
        char *line = raw + raw_bytes + 1;
        size_t line_bytes = 0;
        (void)skn_text_write_list(raw, raw_bytes + 1, format, arguments);
        for (size_t at = 0; raw[at]; at++)
            line_bytes +=
                put_visible(line + line_bytes, (unsigned char)raw[at]);
        line[line_bytes] = '\0';
        copy_shortened(text, text_bytes, line, line_bytes);
        if (!has_room)
            free(raw);
        return;
    }
    /* No memory: one line all the same, as much as fits. */
    (void)skn_text_write_list(text, text_bytes, format, arguments);
    for (size_t at = 0; text[at]; at++)
        if ((unsigned char)text[at] < 0x20 || text[at] == 0x7f)
            text[at] = ' ';
}
