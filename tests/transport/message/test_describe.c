/* test_describe.c - tests the text in which messages are printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sample_messages.h"
#include "transport/message/schema.h"

static void
expect_line(const skn_schema_t *schema, const void *message, const char *want)
{
    char *line = NULL;
    size_t line_bytes = 0;
    FILE *file = open_memstream(&line, &line_bytes);
    cr_assert(file);
    skn_print(schema, message, file);
    cr_assert_eq(fclose(file), 0);
    cr_expect_str_eq(line, want);
    free(line);
}

Test(describe, a_message_is_one_line)
{
    uint8_t blob[] = { 1, 0xff };
    uint16_t half[] = { 65535 };
    uint32_t unit[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    uint64_t stamp[] = { UINT64_MAX };
    float value[] = { 0.5f, 1, -0.25f };
    double norm[] = { 1e100 };
    every_t every = { .shard = 3,
                      .batch = UINT64_MAX,
                      .loss = 0.125,
                      .title = "a \"b\"\n",
                      .rows = &every,
                      .blob = { blob, 2 },
                      .half = { half, 1 },
                      .unit = { unit, 9 },
                      .note = "",
                      .stamp = { stamp, 1 },
                      .value = { value, 3 },
                      .norm = { norm, 1 } };
    expect_line(&every_schema, &every,
                "every{shard 3, batch 18446744073709551615, loss 0.125, "
                "title \"a \\\"b\\\"\\u000a\", rows lent, blob[2] 01 ff, "
                "half[1] 65535, unit[9] 0 1 2 3 4 5 6 7 ..., note \"\", "
                "stamp[1] 18446744073709551615, value[3] 0.5 1 -0.25, "
                "norm[1] 1e+100}");
}

Test(describe, empty_runs_and_messages_are_short)
{
    activation_t activation = { .batch = 1 };
    static const stop_t stop;
    every_t every = { .title = "", .note = "" };
    expect_line(&activation_schema, &activation,
                "activation{batch 1, shard 0, value[0]}");
    expect_line(&stop_schema, &stop, "stop{}");
    expect_line(&every_schema, &every,
                "every{shard 0, batch 0, loss 0, title \"\", rows none, "
                "blob[0], half[0], unit[0], note \"\", stamp[0], value[0], "
                "norm[0]}");
}

#define FIELDS_words(F, M) F(M, str, text, 200, "words")
SKN_MESSAGE_STRUCT(words, FIELDS_words)
SKN_MESSAGE_SCHEMA(words, "words", 9, FIELDS_words, "words")

Test(describe, eight_items_are_shown_whole)
{
    float value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    activation_t activation = { .value = { value, 8 } };
    expect_line(&activation_schema, &activation,
                "activation{batch 0, shard 0, value[8] 1 2 3 4 5 6 7 8}");
}

Test(describe, a_long_text_is_cut_between_letters)
{
    char text[80], want[120];
    words_t words = { .text = text };
    memset(text, 'x', sizeof(text));
    text[60] = '\0';
    (void)snprintf(want, sizeof(want), "words{text \"%s\"}", text);
    expect_line(&words_schema, &words, want);
    /* The letter of two bytes would end at byte 61. */
    memcpy(text + 59, "\xc3\xa4!", 4);
    (void)snprintf(want, sizeof(want), "words{text \"%.59s...\"}", text);
    expect_line(&words_schema, &words, want);
}

Test(describe, the_reference_lists_every_message_and_field)
{
    char *page = NULL;
    size_t page_bytes = 0;
    FILE *file = open_memstream(&page, &page_bytes);
    cr_assert(file);
    skn_schemas_document(sample_schemas, file);
    cr_assert_eq(fclose(file), 0);
    static const char *const wanted[] = {
        "# Messages\n",
        "| u16s | a run of 16-bit numbers or bf16 values |\n",
        "\n## every\n\nId 1000: every kind of field.\n",
        "| field | kind | at most | meaning |\n|---|---|---|---|\n",
        "| shard | u32 | 4095 | a number with a limit |\n",
        "| batch | u64 | 2^64 - 1 | a number without |\n",
        "| loss | f64 |  | a float |\n",
        "| rows | loan |  | an address |\n",
        "| unit | u32s | 2^16 | 32-bit items |\n",
        "| value | f32s | 2^30 | its outputs |\n",
        "\n## stop\n\nId 70: the end.\nIt has no fields.\n",
    };
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
        cr_expect(strstr(page, wanted[k]), "not in the page: %s", wanted[k]);
    free(page);
}
