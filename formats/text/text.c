/* text.c - writes and reads numbers and letters in C form in any locale.
 *
 * This file owns: the locale that a thread has while it writes or reads such a
 * text. newlocale() returns a static object for the plain C locale and
 * uselocale() exchanges a pointer of the thread, so that both are safe in any
 * thread, and cheap; replacing decimal points afterwards would have to ask
 * localeconv(), which is not safe while another thread calls setlocale().
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/span.h"

locale_t
skn_text_enter(void)
{
    int saved = errno;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    /* (locale_t)0, when memory is short in another C library, only queries. */
    locale_t before = uselocale(plain);
    errno = saved;
    return before;
}

void
skn_text_leave(locale_t before)
{
    int saved = errno;
    locale_t plain = uselocale(before);
    if (plain != before && plain != LC_GLOBAL_LOCALE)
        freelocale(plain);
    errno = saved;
}

int
skn_text_write_list(char *text, size_t text_bytes, const char *format,
                    va_list arguments)
{
    if (!format)
        format = "";
    locale_t before = skn_text_enter();
    int length = vsnprintf(text, text_bytes, format, arguments);
    skn_text_leave(before);
    return length;
}

int
skn_text_write(char *text, size_t text_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = skn_text_write_list(text, text_bytes, format, arguments);
    va_end(arguments);
    return length;
}

int
skn_text_print_list(FILE *file, const char *format, va_list arguments)
{
    if (!file || !format)
        return -1;
    locale_t before = skn_text_enter();
    int length = vfprintf(file, format, arguments);
    skn_text_leave(before);
    return length;
}

int
skn_text_print(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = skn_text_print_list(file, format, arguments);
    va_end(arguments);
    return length;
}

double
skn_text_real(const char *text, char **end)
{
    if (!text) {
        if (end)
            *end = NULL;
        return 0;
    }
    locale_t before = skn_text_enter();
    double real = strtod(text, end);
    skn_text_leave(before);
    return real;
}

/* Twice the bytes of 1.2345678901234567e-308, the longest that programs
 * write. */
#define NUMBER_TEXT_BYTES 64u

bool
skn_text_number(const char *text, size_t bytes, double *number)
{
    const skn_span_t span = skn_span_trimmed((skn_span_t){ text, bytes });
    char copy[NUMBER_TEXT_BYTES + 1], *end;
    *number = NAN;
    if (span.bytes > NUMBER_TEXT_BYTES)
        return false;
    if (span.bytes > 0)
        memcpy(copy, span.at, span.bytes);
    copy[span.bytes] = '\0';
    *number = span.bytes > 0 ? skn_text_real(copy, &end) : NAN;
    return span.bytes == 0 || end == copy + span.bytes;
}

bool
skn_text_same_word(const char *one, const char *other)
{
    while (*one && skn_text_lower(*one) == skn_text_lower(*other)) {
        one++;
        other++;
    }
    return skn_text_lower(*one) == skn_text_lower(*other);
}

size_t
skn_text_character_bytes(const char *at, const char *end)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] < 0x80)
        return 1;
    size_t length = byte[0] >= 0xF0 ? 4 : byte[0] >= 0xE0 ? 3 : 2;
    if (byte[0] < 0xC2 || byte[0] > 0xF4 || (size_t)(end - at) < length)
        return 0;
    for (size_t k = 1; k < length; k++)
        if ((byte[k] & 0xC0) != 0x80)
            return 0;
    if ((byte[0] == 0xE0 && byte[1] < 0xA0) ||
        (byte[0] == 0xED && byte[1] > 0x9F) ||
        (byte[0] == 0xF0 && byte[1] < 0x90) ||
        (byte[0] == 0xF4 && byte[1] > 0x8F))
        return 0;
    return length;
}
