/* shell_word.c - quotes a word for a shell where it has to be.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/shell_word.h"

#include <stdio.h>
#include <string.h>

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                            "YZ0123456789_-+.,:/@%=";

const char *
skn_shell_word(const char *word, char *text)
{
    static const char step_out[] = "'\\''";
    char *out = text;
    /* The closing quote, the end, and one step out have room. */
    const char *last = text + SKN_SHELL_WORD_BYTES - sizeof(step_out) - 2;
    if (word[0] && !word[strspn(word, plain)]) {
        (void)snprintf(text, SKN_SHELL_WORD_BYTES, "%s", word);
        return text;
    }
    *out++ = '\'';
    for (; *word && out < last; word++) {
        if (*word != '\'') {
            *out++ = *word;
            continue;
        }
        memcpy(out, step_out, sizeof(step_out) - 1);
        out += sizeof(step_out) - 1;
    }
    *out++ = '\'';
    *out = '\0';
    return text;
}
