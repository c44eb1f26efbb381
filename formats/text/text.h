/* text.h - lets libraries write and read numbers in C form, and tells letters,
 * digits and characters apart whatever the locale; the public half is
 * skein/text.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_TEXT_H
#define FORMATS_TEXT_TEXT_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

#include "skein/text.h"

/* The calling thread has the C locale until skn_text_leave takes back what
 * skn_text_enter returned. Both keep errno. */
locale_t skn_text_enter(void);
void skn_text_leave(locale_t before);

/* isalpha() and its kin ask the host's locale, in which bytes above 127 may be
 * letters, and `I` may be no capital of `i`. */
bool skn_text_is_letter(char byte);
bool skn_text_is_digit(char byte);
char skn_text_lower(char byte);
/* Whether two texts differ at most in the case of their ASCII letters. */
bool skn_text_same_word(const char *one, const char *other);
/* The length of the UTF-8 character at `at`, which is before `end`; 0 if there
 * is none (RFC 3629; The Unicode Standard 15, table 3-7). */
size_t skn_text_character_bytes(const char *at, const char *end);

#endif
