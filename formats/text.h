/* text.h - lets libraries write and read numbers in C form, and tells letters
 * and digits apart by ASCII alone; the public half is skein/text.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_H
#define FORMATS_TEXT_H

#include <locale.h>
#include <stdbool.h>

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

#endif
