/* test_up_command.c - tests the command line that starts a node, here or over
 * ssh. That a shell parses it as meant: tests/e2e/ssh.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "cli/up/up.h"

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "text", 0, "COLUMN", "of a data file" },
    { "resume", 0, NULL, "go on" },
    { "wait", 0, "SECONDS", "for all nodes" },
    { "ssh", 0, "COMMAND", "in place of ssh" },
    { "remote-program", 0, "PATH", "skein there" },
    CLI_COMMON_OPTIONS,
    { NULL, 0, NULL, NULL },
};
static const cli_verb_t verb = { .name = "up", .options = options };
static cli_call_t call;
static cli_up_local_t local;

static void
begin(void)
{
    call = (cli_call_t){ .verb = &verb, .json = true };
    call.operands[call.operand_count++] = "it's.yaml";
    local = (cli_up_local_t){ 0 };
    cr_assert_eq(chdir("/tmp"), 0);
}
TestSuite(up_command, .init = begin);

static void
give(const char *name, const char *value)
{
    for (size_t k = 0; options[k].name; k++)
        if (strcmp(options[k].name, name) == 0) {
            call.given[call.given_count].option = &options[k];
            call.given[call.given_count++].value = value;
        }
}

/* The arguments with a bar behind each; the program of this node is `self`. */
static const char *
command_of(const char *ssh)
{
    static char text[2 * 65536];
    cli_up_node_t node = { .name = "b", .ssh = ssh };
    static cli_up_command_t command;
    skn_error_t error = { 0 };
    text[0] = '\0';
    if (cli_up_command(&call, &local, &node, &command, &error) != SKN_OK)
        (void)snprintf(text, sizeof(text), "%d: %s", error.status, error.text);
    for (size_t k = 0; text[0] == '\0' || (k > 0 && k < command.count); k++) {
        size_t used = strlen(text);
        const char *word = command.argument[k];
        bool self = k == 0 && !ssh[0] && word[0] == '/';
        (void)snprintf(text + used, sizeof(text) - used, "%s|",
                       self ? "self" : word);
    }
    cr_expect(error.status || !command.argument[command.count]);
    cli_up_command_fini(&command);
    cr_expect_null(command.line);
    return text;
}

Test(up_command, a_node_of_this_machine_is_this_program)
{
    cr_expect_str_eq(command_of(""), "self|node|b|it's.yaml|--json|--leash|");
}

Test(up_command, options_are_passed_on)
{
    give("override", "a=1");
    give("resume", NULL);
    give("override", "b=2");
    give("text", "title");
    give("wait", "7");
    local.overrides[0] = (char *)(uintptr_t) "nodes=[]";
    local.override_count = 1;
    cr_expect_str_eq(command_of(""),
                     "self|node|b|it's.yaml|--json|--leash|--resume|--wait|7|"
                     "-o|data.text_column=title|-o|a=1|-o|b=2|-o|nodes=[]|");
}

#define LINE                                                                   \
    "cd '/tmp' && exec '%s' 'node' 'b' 'it'\\''s.yaml' '--json' '--leash'|"

Test(up_command, over_ssh_a_shell_gets_one_line)
{
    char want[512];
    (void)snprintf(
        want, sizeof(want),
        "ssh|-o|BatchMode=yes|-o|ConnectTimeout=10|me@there|--|" LINE, "skein");
    cr_expect_str_eq(command_of("me@there"), want);
}

Test(up_command, the_program_of_ssh_and_that_of_the_other_end_may_be_named)
{
    char want[512];
    give("ssh", " ssh  -F file ");
    give("remote-program", "/opt/a b/skein");
    (void)snprintf(
        want, sizeof(want),
        "ssh|-F|file|-o|BatchMode=yes|-o|ConnectTimeout=10|h|--|" LINE,
        "/opt/a b/skein");
    cr_expect_str_eq(command_of("h"), want);
}

Test(up_command, ssh_without_a_word_is_refused)
{
    char want[64];
    (void)snprintf(want, sizeof(want), "%d: --ssh needs a program", SKN_USAGE);
    give("ssh", "");
    cr_expect_str_eq(command_of("h"), want);
    cr_expect_str_eq(command_of(""), "self|node|b|it's.yaml|--json|--leash|",
                     "nobody needs it here");
    call.given[0].value = "  ";
    cr_expect_str_eq(command_of("h"), want);
}

Test(up_command, as_many_options_as_a_call_can_hold_fit)
{
    cli_up_node_t node = { .name = "b", .ssh = "h" };
    static cli_up_command_t command;
    for (size_t k = 0; k < CLI_VALUES_MAX; k++)
        give("override", "a='1'");
    cr_assert_eq(cli_up_command(&call, &local, &node, &command, NULL), SKN_OK);
    size_t found = 0;
    for (const char *at = command.line; (at = strstr(at, "'a='\\''1'\\'''"));
         at++)
        found++;
    cr_expect_eq(found, CLI_VALUES_MAX);
    cli_up_command_fini(&command);
}

Test(up_command, a_folder_that_is_gone_is_reported)
{
    char folder[] = "/tmp/skein-up.XXXXXX";
    cli_up_node_t node = { .name = "b", .ssh = "h" };
    static cli_up_command_t command;
    skn_error_t error = { 0 };
    cr_assert(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    cr_assert_eq(rmdir(folder), 0);
    cr_expect_neq(cli_up_command(&call, &local, &node, &command, &error),
                  SKN_OK);
    cr_expect_str_eq(error.text,
                     "cannot make a command line: No such file or directory");
    cli_up_command_fini(&command);
}

/* No argument is dropped in silence: as many options as a call can have fit. */
Test(up_command, all_options_of_a_call_are_passed_on)
{
    for (size_t k = 0; k < CLI_VALUES_MAX; k++)
        give("override", "a=1");
    local.override_count = sizeof(local.overrides) / sizeof(local.overrides[0]);
    for (size_t k = 0; k < local.override_count; k++)
        local.overrides[k] = (char *)(uintptr_t) "b=2";
    const char *text = command_of("");
    size_t bars = 0;
    for (const char *at = text; *at; at++)
        bars += *at == '|';
    cr_expect_eq(bars, 6 + 2 * (CLI_VALUES_MAX + local.override_count), "%s",
                 text);
}

Test(up_command, too_many_words_of_ssh_are_refused)
{
    static char words[4096];
    for (size_t k = 0; k + 2 < sizeof(words); k += 2)
        memcpy(words + k, "w ", 3);
    give("ssh", words);
    char want[64];
    (void)snprintf(want, sizeof(want), "%d: --ssh has more than", SKN_USAGE);
    const char *text = command_of("h");
    cr_expect_eq(strncmp(text, want, strlen(want)), 0, "%s", text);
}
