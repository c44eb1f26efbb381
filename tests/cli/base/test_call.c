/* test_call.c - tests the options that verbs accept, and their messages. Covers
 * cli/base/call.c, cli/base/help.c and cli/base/read_config.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/help.h"
#include "cli/base/read_config.h"
#include "cli/base/verb.h"
#include "skein/config.h"

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "resume", 'r', NULL, "go on" },
    { "port", 0, "N", "where to listen" },
    CLI_COMMON_OPTIONS,
    { NULL, 0, NULL, NULL },
};
static const cli_verb_t verb = { .name = "paint",
                                 .help = "colour a wall",
                                 .operands = "WALL",
                                 .options = options,
                                 .description = "Twice is better." };

static void
give(cli_call_t *call, size_t option, const char *value)
{
    call->given[call->given_count].option = &options[option];
    call->given[call->given_count++].value = value;
}

Test(call, values_are_found_in_their_order)
{
    static cli_call_t call = { .verb = &verb };
    give(&call, 0, "a=1");
    give(&call, 2, "7");
    give(&call, 0, "b=2");
    give(&call, 1, NULL);
    cr_expect(cli_flag(&call, "resume"));
    cr_expect(!cli_flag(&call, "json"));
    cr_expect_str_eq(cli_value(&call, "override"), "b=2");
    cr_expect_str_eq(cli_value_at(&call, "override", 0), "a=1");
    cr_expect_str_eq(cli_value_at(&call, "override", 1), "b=2");
    cr_expect_null(cli_value_at(&call, "override", 2));
    cr_expect_str_eq(cli_value(&call, "port"), "7");
    cr_expect_null(cli_value(&call, "help"));
}

Test(call, a_count_is_a_whole_number_within_its_limit)
{
    static const char *const bad[] = {
        "",    "0",   "-1",   "+1",         " 1",  "1 ",
        "abc", "1.5", "1e3",  "11",         "1.0", "0x3",
        "1_0", "1,0", "0010", "4294967296", "08",  "99999999999999999999"
    };
    static const struct {
        const char *text;
        uint32_t count;
    } good[] = { { "1", 1 }, { "9", 9 }, { "10", 10 } };
    uint32_t count = 7;
    static cli_call_t none = { .verb = &verb };
    cr_expect_eq(cli_count(&none, "port", 10, &count, NULL), SKN_OK);
    cr_expect_eq(count, 7, "as it was");
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        cli_call_t call = { .verb = &verb };
        skn_error_t error = { 0 };
        char want[128];
        give(&call, 2, bad[k]);
        cr_expect_eq(cli_count(&call, "port", 10, &count, &error), SKN_USAGE,
                     "'%s'", bad[k]);
        (void)snprintf(want, sizeof(want),
                       "--port must be a whole number in 1..10, found '%s'",
                       bad[k]);
        cr_expect_str_eq(error.text, want);
        cr_expect_eq(count, 7, "'%s'", bad[k]);
    }
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        cli_call_t call = { .verb = &verb };
        give(&call, 2, good[k].text);
        cr_expect_eq(cli_count(&call, "port", 10, &count, NULL), SKN_OK);
        cr_expect_eq(count, good[k].count, "'%s'", good[k].text);
    }
}

Test(call, an_option_is_named_as_it_was_written)
{
    static cli_call_t call = { .verb = &verb };
    char text[CLI_WRITTEN_BYTES];
    cr_expect_str_eq(cli_written(&call, "override", text), "--override");
    give(&call, 0, "a=1");
    cr_expect_str_eq(cli_written(&call, "override", text), "--override");
    call.given[0].is_short = true;
    cr_expect_str_eq(cli_written(&call, "override", text), "-o");
    cr_expect_str_eq(cli_written(&call, "port", text), "--port");
    give(&call, 0, "b=2"); /* its value is the one that counts */
    cr_expect_str_eq(cli_written(&call, "override", text), "--override");
}

Test(call, overrides_come_all_and_no_more_than_fit)
{
    static cli_call_t call = { .verb = &verb };
    const char *overrides[CLI_VALUES_MAX];
    cr_expect_eq(cli_overrides(&call, overrides), 0);
    for (size_t k = 0; k < CLI_VALUES_MAX; k++)
        give(&call, 0, k % 2 ? "odd" : "even");
    cr_expect_eq(cli_overrides(&call, overrides), CLI_VALUES_MAX);
    cr_expect_str_eq(overrides[CLI_VALUES_MAX - 1], "odd");
}

static char *
quoted(const char *text)
{
    char *bytes = NULL;
    size_t count = 0;
    FILE *file = open_memstream(&bytes, &count);
    cli_json_string(text, file);
    (void)fclose(file);
    return bytes;
}

Test(call, text_in_quotes_is_json_for_every_byte)
{
    for (int byte = 1; byte < 0x80; byte++) {
        char text[4] = { 'a', (char)byte, 'b', '\0' };
        char *bytes = quoted(text);
        json_t *value = json_loads(bytes, JSON_DECODE_ANY, NULL);
        cr_assert(value, "byte %d gives %s", byte, bytes);
        cr_expect_str_eq(json_string_value(value), text);
        json_decref(value);
        free(bytes);
    }
    char *bytes = quoted("P@1 \xc3\xa9");
    cr_expect_str_eq(bytes, "\"P@1 \xc3\xa9\"");
    free(bytes);
    bytes = quoted("a\xff\xc3"); /* of a path, say */
    cr_expect_str_eq(bytes, "\"a\\ufffd\\ufffd\"");
    free(bytes);
    bytes = quoted("\x7f");
    cr_expect_str_eq(bytes, "\"\\u007f\"");
    free(bytes);
}

/* What `say` prints to stream `descriptor`. */
static void
caught(int descriptor, void (*say)(void), char *text, size_t text_bytes)
{
    FILE *file = tmpfile();
    cr_assert(file);
    (void)fflush(NULL);
    int kept = dup(descriptor);
    (void)dup2(fileno(file), descriptor);
    say();
    (void)fflush(NULL);
    (void)dup2(kept, descriptor);
    (void)close(kept);
    rewind(file);
    text[fread(text, 1, text_bytes - 1, file)] = '\0';
    (void)fclose(file);
}

static cli_call_t talks = { .verb = &verb, .json = true };
static cli_call_t plain = { .verb = &verb };
static int code;

static void
fail_plainly(void)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_NO_INPUT, "no \"wall\"");
    (void)skn_fail_hint(&error, SKN_NO_INPUT, "build one");
    code = cli_report(&plain, &error);
}

static void
fail_for_a_key(void)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_NO_INPUT, "no data");
    (void)skn_fail_hint(&error, SKN_NO_INPUT,
                        "reset a=1, set data.train=PATH or set 'nodes=[]', or "
                        "set it");
    code = cli_report(&plain, &error);
}

static void
fail_in_json(void)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_NO_INPUT, "no \"wall\"");
    code = cli_report(&talks, &error);
}

static void
warn_in_json(void)
{
    cli_warn(&talks, "it rains", "");
}

Test(call, a_failure_is_one_line_and_a_code)
{
    char text[512];
    caught(STDERR_FILENO, fail_plainly, text, sizeof(text));
    cr_expect_str_eq(text, "skein: no \"wall\"; build one\n");
    cr_expect_eq(code, 66);
    caught(STDOUT_FILENO, fail_plainly, text, sizeof(text));
    cr_expect_str_eq(text, "");
}

Test(call, a_failure_is_an_event_too_with_json)
{
    char text[512];
    caught(STDOUT_FILENO, fail_in_json, text, sizeof(text));
    cr_expect_str_eq(text, "{\"event\":\"error\",\"code\":66,\"message\":"
                           "\"no \\\"wall\\\"\",\"hint\":\"\"}\n");
    caught(STDERR_FILENO, fail_in_json, text, sizeof(text));
    cr_expect_str_eq(text, "skein: no \"wall\"\n");
}

Test(call, a_key_of_a_remedy_is_an_option)
{
    char text[512];
    caught(STDERR_FILENO, fail_for_a_key, text, sizeof(text));
    cr_expect_str_eq(text, "skein: no data; reset a=1, give -o data.train=PATH "
                           "or give -o 'nodes=[]', or set it\n");
}

static void
print_event(void)
{
    cli_print_event("{\"event\":\"error\",\"message\":\"set a.b=1\","
                    "\"hint\":\"set a.b=1 and set c=2\"}");
}

Test(call, a_key_in_an_event_is_an_option_too)
{
    char text[512];
    caught(STDOUT_FILENO, print_event, text, sizeof(text));
    cr_expect_str_eq(text, "{\"event\":\"error\",\"message\":\"set a.b=1\","
                           "\"hint\":\"give -o a.b=1 and give -o c=2\"}\n");
}

static void
warn_at_a_place(void)
{
    const skn_config_problem_t warning = {
        .text = "it rains", .hint = "", .file = "f", .line = 3, .column = 5
    };
    cli_warn_at(&talks, &warning);
}

Test(call, a_warning_begins_with_its_place)
{
    char text[512];
    caught(STDERR_FILENO, warn_at_a_place, text, sizeof(text));
    cr_expect_str_eq(text, "skein: warning: f:3:5: it rains\n");
    caught(STDOUT_FILENO, warn_at_a_place, text, sizeof(text));
    cr_expect_str_eq(text, "{\"event\":\"warning\",\"file\":\"f\",\"line\":3,"
                           "\"column\":5,\"message\":\"f:3:5: it rains\","
                           "\"hint\":\"\"}\n");
}

Test(call, a_warning_is_both_with_json)
{
    char text[512];
    caught(STDOUT_FILENO, warn_in_json, text, sizeof(text));
    cr_expect_str_eq(text, "{\"event\":\"warning\",\"message\":\"it rains\","
                           "\"hint\":\"\"}\n");
    caught(STDERR_FILENO, warn_in_json, text, sizeof(text));
    cr_expect_str_eq(text, "skein: warning: it rains\n");
}

static void
print_into_a_full_disk(void)
{
    int kept = dup(STDOUT_FILENO);
    cr_assert(freopen("/dev/full", "w", stdout));
    (void)puts("much");
    code = cli_finish(&plain, 0);
    (void)dup2(kept, STDOUT_FILENO);
    (void)close(kept);
}

Test(call, a_full_disk_is_an_exit_code)
{
    char text[512];
    caught(STDERR_FILENO, print_into_a_full_disk, text, sizeof(text));
    cr_expect_eq(code, 74);
    cr_expect_eq(strncmp(text, "skein: standard output: ", 24), 0, "%s", text);
}

static void
help_verbs(void)
{
    cli_help_verbs(stdout);
}

static void
help_verb(void)
{
    cli_help_verb(&verb, stdout);
}

Test(help, lists_the_verbs)
{
    char text[4096];
    caught(STDOUT_FILENO, help_verbs, text, sizeof(text));
    for (size_t k = 0; cli_verbs[k]; k++)
        cr_expect(strstr(text, cli_verbs[k]->name) &&
                      strstr(text, cli_verbs[k]->help),
                  "%s in\n%s", cli_verbs[k]->name, text);
}

Test(help, says_all_of_a_verb)
{
    static const char *const words[] = { "usage: skein paint [options] WALL",
                                         "Twice is better.",
                                         "-r, --resume",
                                         "--port N",
                                         "where to listen",
                                         "-o, --override KEY=VALUE",
                                         "--json",
                                         "-h, --help" };
    char text[4096];
    caught(STDOUT_FILENO, help_verb, text, sizeof(text));
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        cr_expect(strstr(text, words[k]), "%s in\n%s", words[k], text);
}

Test(call, a_config_that_is_refused_has_an_exit_code)
{
    static cli_call_t call = { .verb = &verb,
                               .operands = { "/nowhere.yaml" },
                               .operand_count = 1 };
    skn_error_t error = { 0 };
    skn_config_t *config =
        cli_config_load(&call, 0, (skn_config_options_t){ 0 }, &error);
    cr_assert(config);
    cr_expect_eq(cli_config_report(&call, config), 66);
    cr_expect_eq(cli_config_info(config).sort, SKN_CONFIG_REFUSED);
    cr_expect_str_eq(cli_config_value(config, "train.epochs"), "");
    cli_config_warn(&call, config);
    skn_config_destroy(&config);
}
