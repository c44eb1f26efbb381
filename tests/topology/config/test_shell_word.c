/* test_shell_word.c - tests that a shell reads back the word that was written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/config/shell_word.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static char text[SKN_SHELL_WORD_BYTES];

Test(shell_word, what_needs_no_quotes_has_none)
{
    cr_expect_str_eq(skn_shell_word("runs/wn-1.2", text), "runs/wn-1.2");
    cr_expect_str_eq(skn_shell_word("a=b:c,d@e+f%g", text), "a=b:c,d@e+f%g");
}

Test(shell_word, what_needs_them_has_them)
{
    cr_expect_str_eq(skn_shell_word("", text), "''");
    cr_expect_str_eq(skn_shell_word("my runs", text), "'my runs'");
    cr_expect_str_eq(skn_shell_word("it's", text), "'it'\\''s'");
    cr_expect_str_eq(skn_shell_word("~/x", text), "'~/x'");
    cr_expect_str_eq(skn_shell_word("d\xc3\xa4", text), "'d\xc3\xa4'");
}

Test(shell_word, a_shell_reads_every_byte_back)
{
    for (int byte = 1; byte < 256; byte++) {
        char word[] = { 'a', (char)byte, 'b', (char)byte, '\0' };
        char command[64 + SKN_SHELL_WORD_BYTES], back[16] = { 0 };
        (void)snprintf(command, sizeof(command), "printf %%s %s",
                       skn_shell_word(word, text));
        FILE *pipe = popen(command, "r");
        cr_assert(pipe);
        (void)!fread(back, 1, sizeof(back) - 1, pipe);
        cr_expect_eq(pclose(pipe), 0);
        cr_expect_str_eq(back, word, "byte %d", byte);
    }
}

Test(shell_word, what_is_too_long_is_cut)
{
    char word[2 * SKN_SHELL_WORD_BYTES];
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    cr_expect_eq(strlen(skn_shell_word(word, text)), SKN_SHELL_WORD_BYTES - 1);
    memset(word, '\'', sizeof(word) - 1);
    size_t length = strlen(skn_shell_word(word, text));
    cr_expect(length < SKN_SHELL_WORD_BYTES);
    cr_expect_eq(text[length - 1], '\'');
}
