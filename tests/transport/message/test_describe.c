/* test_describe.c - tests the page that lists messages.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sample_messages.h"
#include "transport/message/schema.h"

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
