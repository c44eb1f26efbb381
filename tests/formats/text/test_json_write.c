/* test_json_write.c - tests the escaping of JSON texts, and their growth.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_write.h"

#include <criterion/criterion.h>
#include <string.h>

#include "formats/text/json_text.h"

Test(json_write, escapes_every_byte_so_that_it_reads_back)
{
    char string[256], *cursor = string;
    for (int byte = 1; byte < 128; byte++)
        *cursor++ = (char)byte;
    memcpy(cursor, "\xc3\xa4", 3);
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"s\":");
    skn_json_text_add_string(&text, string);
    skn_json_text_add(&text, "}");
    json_t *root = skn_json_object_parse("x", text.bytes, text.count, NULL);
    cr_assert(root);
    cr_expect_str_eq(skn_json_string(root, "s"), string);
    json_decref(root);
    skn_json_text_fini(&text);
}

Test(json_write, grows_over_any_length)
{
    skn_json_text_t text = { 0 };
    char line[1100];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    for (int i = 0; i < 100; i++)
        skn_json_text_add(&text, "%s", line);
    cr_expect_not(text.failed);
    cr_expect_eq(text.count, 100 * (sizeof(line) - 1));
    cr_expect_eq(strlen(text.bytes), text.count);
    skn_json_text_fini(&text);
    cr_expect_null(text.bytes);
}
