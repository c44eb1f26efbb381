/* main.c - the `skein` command: finds the verb, reads its options, exits.
 *
 * Exit codes are those of the statuses in skein/error.h (sysexits.h, and
 * 79 if training diverged).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/combinations.h"
#include "cli/base/help.h"
#include "cli/base/process.h"
#include "cli/base/verb.h"
#include "skein/topology.h"
#include "topology/config/nearest.h"

static int
usage(const cli_call_t *call, const char *format, const char *what,
      const char *hint)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_USAGE, format, what);
    (void)skn_fail_hint(&error, SKN_USAGE, "%s", hint);
    return cli_report(call, &error);
}

static int
unknown_option(const cli_call_t *call, const char *word)
{
    char hint[SKN_ERROR_HINT_BYTES];
    skn_nearest_t nearest = { .wanted = word + strspn(word, "-") };
    for (const cli_option_t *option = call->verb->options; option->name;
         option++)
        skn_nearest_offer(&nearest, option->name);
    if (nearest.best)
        (void)snprintf(hint, sizeof(hint), "did you mean --%s?", nearest.best);
    else
        (void)snprintf(hint, sizeof(hint), "see skein %s --help",
                       call->verb->name);
    return usage(call, "unknown option '%s'", word, hint);
}

static const cli_option_t *
find_option(const cli_verb_t *verb, const char *name, size_t name_bytes)
{
    for (const cli_option_t *option = verb->options; option->name; option++)
        if (strlen(option->name) == name_bytes &&
            strncmp(option->name, name, name_bytes) == 0)
            return option;
    return NULL;
}

static const cli_option_t *
find_letter(const cli_verb_t *verb, char letter)
{
    for (const cli_option_t *option = verb->options; option->name; option++)
        if (option->letter == letter)
            return option;
    return NULL;
}

/* Reads the option at words[*at]; 0, or an exit code. */
static int
read_option(cli_call_t *call, int count, char **words, int *at)
{
    const char *word = words[*at], *value = NULL;
    const cli_option_t *option;
    char written[CLI_WRITTEN_BYTES];
    bool is_short = word[1] != '-';
    if (!is_short) {
        size_t bytes = strcspn(word + 2, "=");
        option = find_option(call->verb, word + 2, bytes);
        if (word[2 + bytes] == '=')
            value = word + 3 + bytes;
    } else {
        option = find_letter(call->verb, word[1]);
        if (word[2] != '\0')
            value = word + 2;
    }
    if (!option)
        return unknown_option(call, word);
    (void)cli_option_written(option, is_short, written);
    if (!option->argument && value)
        return usage(call, "option %s takes no value", written,
                     "leave the value out");
    if (option->argument && !value) {
        if (*at + 1 == count)
            return usage(call, "option %s needs a value", written,
                         option->help);
        value = words[++*at];
    }
    /* An unset shell variable would cause this. */
    if (value && value[0] == '\0' && strcmp(option->argument, "TEXT") != 0)
        return usage(call, "option %s needs a value, found ''", written,
                     option->help);
    if (call->given_count == CLI_VALUES_MAX)
        return usage(call, "too many options at '%s'", word,
                     "put the keys into the file");
    call->given[call->given_count].is_short = is_short;
    call->given[call->given_count].option = option;
    call->given[call->given_count++].value = value;
    return 0;
}

static int
read_call(cli_call_t *call, int count, char **words)
{
    bool only_operands = false;
    for (int at = 0; at < count; at++) {
        const char *word = words[at];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && word[0] == '-' && word[1] != '\0') {
            int code = read_option(call, count, words, &at);
            if (code != 0)
                return code;
        } else if (word[0] == '\0') {
            return usage(call, "an argument of skein %s is empty",
                         call->verb->name, "is a shell variable unset?");
        } else if (call->operand_count == CLI_VALUES_MAX) {
            return usage(call, "too many arguments at '%s'", word,
                         "name a folder, or a pattern in quotes");
        } else {
            call->operands[call->operand_count++] = word;
        }
    }
    return 0;
}

/* Joins the files of the operand that may be several, one a line. */
static int
join_files(cli_call_t *call)
{
    static char files[SKN_TEXT_MAX];
    const cli_verb_t *verb = call->verb;
    size_t first = verb->several - 1, used = 0;
    size_t extra = call->operand_count - verb->operands_max;
    for (size_t k = first; k <= first + extra; k++) {
        if (used + strlen(call->operands[k]) + 2 > sizeof(files))
            return usage(call, "the names of the files are too long at '%s'",
                         call->operands[k],
                         "name a folder, or a pattern in quotes");
        used += (size_t)snprintf(files + used, sizeof(files) - used, "%s%s",
                                 k > first ? "\n" : "", call->operands[k]);
    }
    call->operands[first] = files;
    for (size_t k = first + 1; k + extra < call->operand_count; k++)
        call->operands[k] = call->operands[k + extra];
    call->operand_count -= extra;
    return 0;
}

static int
too_few(const cli_call_t *call)
{
    char hint[SKN_ERROR_HINT_BYTES];
    (void)snprintf(hint, sizeof(hint), "use it as skein %s %s",
                   call->verb->name, call->verb->operands);
    return usage(call, "skein %s needs one more argument", call->verb->name,
                 hint);
}

static int
run_verb(const cli_verb_t *verb, const char *program, int count, char **words)
{
    static cli_call_t call; /* 10 KiB: kept off the stack */
    call.verb = verb;
    call.program = program;
    for (int k = 0; k < count; k++)
        if (strcmp(words[k], "--json") == 0)
            call.json = true; /* also for errors in the options */
    int code = read_call(&call, count, words);
    if (code != 0)
        return code;
    if (cli_flag(&call, "help")) {
        cli_help_verb(verb, stdout);
        return cli_finish(&call, 0);
    }
    if (call.operand_count < verb->operands_min)
        return too_few(&call);
    if (call.operand_count > verb->operands_max && verb->several)
        code = join_files(&call);
    if (code != 0)
        return code;
    if (call.operand_count > verb->operands_max)
        return usage(&call, "unexpected argument '%s'",
                     call.operands[verb->operands_max], "see --help");
    skn_error_t error = { 0 };
    if (cli_combinations_check(&call, &error) != SKN_OK)
        return cli_report(&call, &error);
    return cli_finish(&call, verb->run(&call));
}

/* Fills missing standard streams: otherwise the first files that the process
 * opens would take their place, and it would print into a checkpoint. They are
 * opened for the opposite direction, so that using one still fails. */
static void
occupy_streams(void)
{
    for (int k = 0; k < 3; k++)
        if (fcntl(k, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", k == 0 ? O_WRONLY : O_RDONLY);
}

static const cli_verb_t *
find_verb(const char *name)
{
    for (size_t k = 0; cli_verbs[k]; k++)
        if (strcmp(cli_verbs[k]->name, name) == 0)
            return cli_verbs[k];
    return NULL;
}

static int
unknown_verb(const cli_call_t *call, const char *word)
{
    skn_nearest_t nearest = { .wanted = word };
    char hint[SKN_ERROR_HINT_BYTES] = "skein --help lists the verbs";
    for (size_t k = 0; cli_verbs[k]; k++)
        skn_nearest_offer(&nearest, cli_verbs[k]->name);
    if (nearest.best)
        (void)snprintf(hint, sizeof(hint), "did you mean 'skein %s'?",
                       nearest.best);
    return usage(call, "unknown verb '%s'", word, hint);
}

/* Prints `skein help`, or `skein help VERB`, which is `skein VERB --help`. */
static int
print_help(const cli_call_t *call, int count, char **words)
{
    const cli_verb_t *verb = NULL;
    if (count == 0 || strcmp(words[0], "help") == 0 || words[0][0] == '-') {
        cli_help_verbs(stdout);
    } else {
        verb = find_verb(words[0]);
        if (!verb)
            return unknown_verb(call, words[0]);
        cli_help_verb(verb, stdout);
    }
    return cli_finish(call, 0);
}

int
main(int argument_count, char **arguments)
{
    static const cli_verb_t none = { .name = "" };
    const struct sigaction usual = { .sa_handler = SIG_DFL };
    cli_call_t call = { .verb = &none };
    occupy_streams();
    /* A parent that ignores SIGCHLD passes that on, and no wait would end. */
    (void)sigaction(SIGCHLD, &usual, NULL);
    cli_outlive_file_limit();
    (void)skn_report_crashes(STDERR_FILENO, NULL);
    if (argument_count < 2) {
        cli_help_verbs(stderr);
        return skn_status_exit_code(SKN_USAGE);
    }
    const char *word = arguments[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0)
        return print_help(&call, argument_count - 2, arguments + 2);
    if (strcmp(word, "--version") == 0)
        word = "version";
    const cli_verb_t *verb = find_verb(word);
    return verb
               ? run_verb(verb, arguments[0], argument_count - 2, arguments + 2)
               : unknown_verb(&call, word);
}
