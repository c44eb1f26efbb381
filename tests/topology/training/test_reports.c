/* test_reports.c - tests what the reports of several nodes say together.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "skein/training.h"

#define REPORT(node, busy_s)                                                   \
    "{\"event\":\"report\",\"node\":\"" node "\",\"run_ns\":10000000000,"      \
    "\"core_busy_ns\":" busy_s                                                 \
    "000000000,\"actors\":[{\"name\":\"output." node                           \
    "\",\"kind\":\"output\",\"core\":-1,\"busy_ns\":" busy_s "000000000}]}"

static skn_error_t error;

/* The caller frees it; NULL: it is refused. */
static char *
printed(const char *const *events, size_t count, bool json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    skn_status_t status =
        skn_training_reports_print(events, count, false, json, file, &error);
    cr_assert_eq(fclose(file), 0);
    if (status == SKN_OK)
        return text;
    free(text);
    return NULL;
}

Test(reports, each_node_has_a_table_and_all_have_one_sentence)
{
    static const char *const events[] = { REPORT("a", "3"), NULL,
                                          REPORT("b", "9") };
    char *text = printed(events, 3, false);
    cr_assert(text, "%s", error.text);
    const char *a = strstr(text, "\nnode a\n"), *b = strstr(text, "\nnode b\n");
    cr_expect(a && b && a < b, "%s", text);
    const char *bound = strstr(text, "\nbound by ");
    cr_expect(bound && !strstr(bound + 1, "\nbound by "), "%s", text);
    free(text);
}

Test(reports, as_json_they_are_one_event)
{
    static const char *const events[] = { REPORT("a", "9") };
    char *text = printed(events, 1, true);
    cr_assert(text, "%s", error.text);
    cr_expect_eq(strncmp(text, "{\"event\":\"verdict\",", 19), 0, "%s", text);
    cr_expect_eq(strchr(text, '\n'), text + strlen(text) - 1);
    free(text);
}

Test(reports, without_any_nothing_is_printed)
{
    static const char *const events[] = { NULL };
    char *text = printed(events, 1, false);
    cr_expect_str_eq(text, "");
    free(text);
}

Test(reports, another_line_is_refused)
{
    static const char *const lines[] = { "", "{", "{\"event\":\"epoch\"}", "[]",
                                         "{\"event\":7}" };
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        const char *const events[] = { REPORT("a", "1"), lines[k] };
        cr_expect_null(printed(events, 2, false), "%s", lines[k]);
        cr_expect_eq(error.status, SKN_BAD_MESSAGE);
    }
}

Test(reports, a_full_disk_is_reported)
{
    static const char *const events[] = { REPORT("a", "9") };
    FILE *full = fopen("/dev/full", "w");
    cr_assert(full);
    setbuf(full, NULL);
    cr_expect_eq(
        skn_training_reports_print(events, 1, true, false, full, &error),
        SKN_STORAGE);
    (void)fclose(full);
}
