/* text.h - writes and reads numbers and letters in C form in any locale.
 *
 * The public half is skein/text.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_TEXT_H
#define FORMATS_TEXT_TEXT_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

#include "skein/text.h"

/* Sets the C locale for the calling thread until skn_text_leave restores the
 * one that skn_text_enter returned. Both keep errno. */
locale_t skn_text_enter(void);
void skn_text_leave(locale_t before);

/* isalpha() and its relatives depend on the host's locale, in which bytes above
 * 127 may be letters, and `I` may not be the capital of `i`. */
static inline bool
skn_text_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static inline char
skn_text_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

static inline bool
skn_text_is_letter(char byte)
{
    char lower = skn_text_lower(byte);
    return lower >= 'a' && lower <= 'z';
}

/* The number that a text is, with blanks around it; NaN if it has none. False:
 * it is something else. */
bool skn_text_number(const char *text, size_t bytes, double *number);
/* Whether two texts are equal except for the case of ASCII letters. */
bool skn_text_same_word(const char *one, const char *other);
/* The length of the UTF-8 character at `at`, which is before `end`; 0 if there
 * is none (RFC 3629; The Unicode Standard 15, table 3-7). */
size_t skn_text_character_bytes(const char *at, const char *end);

#endif
