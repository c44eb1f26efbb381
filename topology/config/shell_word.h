/* shell_word.h - quotes a word for a shell command that a user may paste.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_SHELL_WORD_H
#define TOPOLOGY_CONFIG_SHELL_WORD_H

#include <stdio.h>
#include <string.h>

#define SKN_SHELL_WORD_BYTES 4608 /* a path of 4096, with some quotes in it */
#define SKN_SHELL_PLAIN                                                        \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,:/@%="

/* Writes `word` in single quotes, ending and reopening them around quotes in
 * it. */
static inline void
skn_shell_quote(const char *word, FILE *file)
{
    (void)fputc('\'', file);
    for (; *word; word++) {
        if (*word == '\'')
            (void)fputs("'\\''", file);
        else
            (void)fputc(*word, file);
    }
    (void)fputc('\'', file);
}

/* Fills text[SKN_SHELL_WORD_BYTES] and returns it: `word` itself if a POSIX
 * shell takes it for one word, else in single quotes; a longer text is cut. Any
 * thread. */
static inline const char *
skn_shell_word(const char *word, char *text)
{
    int needs_quotes = !word[0] || word[strspn(word, SKN_SHELL_PLAIN)];
    FILE *file =
        needs_quotes ? fmemopen(text, SKN_SHELL_WORD_BYTES, "w") : NULL;
    if (!file) { /* or no memory for one */
        (void)snprintf(text, SKN_SHELL_WORD_BYTES, "%s", word);
        return text;
    }
    skn_shell_quote(word, file);
    if (fclose(file) != 0) /* it was cut */
        (void)snprintf(text + SKN_SHELL_WORD_BYTES - 2, 2, "'");
    return text;
}

#endif
