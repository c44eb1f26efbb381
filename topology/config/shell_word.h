/* shell_word.h - quotes a word for a shell command that a user may paste.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_SHELL_WORD_H
#define TOPOLOGY_CONFIG_SHELL_WORD_H

#include <stdio.h>

#define SKN_SHELL_WORD_BYTES 4608 /* a path of 4096, with some quotes in it */

/* Writes `word` in single quotes, ending and reopening them around quotes in
 * it. */
void skn_shell_quote(const char *word, FILE *file);

/* Fills text[SKN_SHELL_WORD_BYTES] and returns it: `word` itself if a POSIX
 * shell takes it for one word, else in single quotes; a longer text is cut. Any
 * thread. */
const char *skn_shell_word(const char *word, char *text);

#endif
