/* shell_word.h - a word of a command line that a person may paste.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_SHELL_WORD_H
#define TOPOLOGY_CONFIG_SHELL_WORD_H

#include <stdio.h>

#define SKN_SHELL_WORD_BYTES 4608 /* a path of 4096, with some quotes in it */

/* Writes `word` in single quotes, with those inside stepped out of. */
void skn_shell_quote(const char *word, FILE *file);

/* Fills text[SKN_SHELL_WORD_BYTES], and returns it: `word` as it is where
 * a POSIX shell takes it for one word, else in single quotes; what is too long
 * is cut. Any thread. */
const char *skn_shell_word(const char *word, char *text);

#endif
