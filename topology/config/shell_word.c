/* shell_word.c - quotes a word for a POSIX shell if it needs quotes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/config/shell_word.h"

#include <stdbool.h>
#include <string.h>

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                            "YZ0123456789_-+.,:/@%=";

void
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

const char *
skn_shell_word(const char *word, char *text)
{
    bool needs_quotes = !word[0] || word[strspn(word, plain)];
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
