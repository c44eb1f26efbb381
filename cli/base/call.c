/* call.c - gives verbs their options, and prints their errors and warnings.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "cli/base/verb.h"
#include "formats/text/system_error.h"
#include "formats/text/text.h"
#include "skein/config.h"

/* The greatest exit code that a parent process can see. */
#define EXIT_CODE_MAX 255u

bool
cli_has_option(const cli_verb_t *verb, const char *name)
{
    for (const cli_option_t *option = verb->options; option->name; option++)
        if (strcmp(option->name, name) == 0)
            return true;
    return false;
}

bool
cli_flag(const cli_call_t *call, const char *name)
{
    for (size_t k = 0; k < call->given_count; k++)
        if (strcmp(call->given[k].option->name, name) == 0)
            return true;
    return false;
}

const char *
cli_value_at(const cli_call_t *call, const char *name, size_t at)
{
    for (size_t k = 0; k < call->given_count; k++)
        if (strcmp(call->given[k].option->name, name) == 0 && at-- == 0)
            return call->given[k].value;
    return NULL;
}

const char *
cli_value(const cli_call_t *call, const char *name)
{
    const char *value = NULL;
    for (size_t k = 0; cli_value_at(call, name, k); k++)
        value = cli_value_at(call, name, k);
    return value;
}

size_t
cli_overrides(const cli_call_t *call, const char **overrides)
{
    static const struct {
        const char *option, *key;
    } shorts[] = {
        { "text", "data.text_column" },
        { "categories", "data.category_columns" },
        { "numbers", "data.number_columns" },
        { "labels", "data.label_column" },
        { "test", "data.test" },
    };
    static char assignments[sizeof(shorts) / sizeof(shorts[0])][SKN_TEXT_MAX];
    size_t count = 0;
    for (size_t k = 0; k < sizeof(shorts) / sizeof(shorts[0]); k++) {
        const char *value = cli_value(call, shorts[k].option);
        if (!value)
            continue;
        (void)snprintf(assignments[k], SKN_TEXT_MAX, "%s=%s", shorts[k].key,
                       value);
        overrides[count++] = assignments[k];
    }
    for (size_t k = 0;
         count < CLI_VALUES_MAX && cli_value_at(call, "override", k); k++)
        overrides[count++] = cli_value_at(call, "override", k);
    return count;
}

const char *
cli_option_written(const cli_option_t *option, bool is_short,
                   char text[CLI_WRITTEN_BYTES])
{
    if (is_short)
        (void)snprintf(text, CLI_WRITTEN_BYTES, "-%c", option->letter);
    else
        (void)snprintf(text, CLI_WRITTEN_BYTES, "--%.64s", option->name);
    return text;
}

/* The last time that it was given, whose value counts. */
const char *
cli_written(const cli_call_t *call, const char *name,
            char text[CLI_WRITTEN_BYTES])
{
    (void)snprintf(text, CLI_WRITTEN_BYTES, "--%.64s", name);
    for (size_t k = 0; k < call->given_count; k++)
        if (strcmp(call->given[k].option->name, name) == 0)
            (void)cli_option_written(call->given[k].option,
                                     call->given[k].is_short, text);
    return text;
}

skn_status_t
cli_count(const cli_call_t *call, const char *name, uint32_t most,
          uint32_t *count, skn_error_t *error)
{
    const char *text = cli_value(call, name);
    uint64_t number = 0;
    char option[CLI_WRITTEN_BYTES];
    if (!text)
        return SKN_OK;
    if (!cli_read_unsigned(text, &number) || number == 0 || number > most)
        return skn_fail(error, SKN_USAGE,
                        "%s must be a whole number in 1..%u, found '%.40s'",
                        cli_written(call, name, option), most, text);
    *count = (uint32_t)number;
    return SKN_OK;
}

skn_status_t
cli_requeue_check(const cli_call_t *call, skn_error_t *error)
{
    uint32_t code = 0;
    return cli_count(call, "requeue-code", EXIT_CODE_MAX, &code, error);
}

int
cli_requeue(const cli_call_t *call, int code, bool unfinished)
{
    uint32_t given = 0;
    skn_error_t checked = { 0 };
    (void)cli_count(call, "requeue-code", EXIT_CODE_MAX, &given, &checked);
    return code == 0 && unfinished ? (int)given : code;
}

bool
cli_read_unsigned(const char *text, uint64_t *number)
{
    *number = 0;
    if (!text[0] || (text[0] == '0' && text[1]))
        return false;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (*text < '0' || *text > '9' || *number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return true;
}

bool
cli_read_real(const char *text, size_t text_bytes, double *real)
{
    char copy[64], *end;
    if (text_bytes == 0 || text_bytes >= sizeof(copy))
        return false;
    memcpy(copy, text, text_bytes);
    copy[text_bytes] = '\0';
    /* Not what strtod takes besides: blanks, 0x1p3, inf, nan. */
    if (strspn(copy, "0123456789+-.eE") != text_bytes)
        return false;
    *real = skn_text_real(copy, &end);
    return *end == '\0' && isfinite(*real);
}

skn_status_t
cli_real(const cli_call_t *call, const char *name, double least, double most,
         double *real, skn_error_t *error)
{
    const char *text = cli_value(call, name);
    char option[CLI_WRITTEN_BYTES];
    if (!text)
        return SKN_OK;
    if (!cli_read_real(text, strlen(text), real) || *real < least ||
        *real > most)
        return skn_fail(error, SKN_USAGE,
                        "%s must be a number in %g..%g, found '%.40s'",
                        cli_written(call, name, option), least, most, text);
    return SKN_OK;
}

void
cli_json_string(const char *text, FILE *file)
{
    skn_text_escape(SKN_TEXT_JSON, text, file);
}

/* Writes `hint` to `text`. A hint of the library names a key, as in "set
 * data.train=PATH"; for a user of the command that is "give -o
 * data.train=PATH". A replacement adds four letters to at least six, so that
 * twice the bytes are enough. */
#define HINT_BYTES (2 * SKN_ERROR_HINT_BYTES)

static const char *
with_options(const char *hint, char *text, size_t text_bytes)
{
    static const char set[] = "set ", give[] = "give -o ";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t used = 0;
    for (const char *at = hint; *at && used + sizeof(give) < text_bytes;) {
        const char *key = at + strlen(set);
        bool is_word = at == hint || at[-1] == ' ';
        if (is_word && strncmp(at, set, strlen(set)) == 0 &&
            (key += *key == '\'', key[strspn(key, letters)] == '=')) {
            memcpy(text + used, give, strlen(give));
            used += strlen(give);
            at += strlen(set);
        } else {
            text[used++] = *at++;
        }
    }
    text[used] = '\0';
    return text;
}

void
cli_print_event(const char *line)
{
    static const char member[] = ",\"hint\":\"";
    const char *hint = strstr(line, member);
    size_t bytes = hint ? 2 * strlen(hint) + HINT_BYTES : 0;
    char *text = hint ? malloc(bytes) : NULL;
    if (!text) {
        (void)puts(line);
        return;
    }
    hint += strlen(member);
    (void)fwrite(line, 1, (size_t)(hint - line), stdout);
    (void)puts(with_options(hint, text, bytes));
    free(text);
}

static void
print_field(const char *name, const char *text)
{
    (void)printf(",\"%s\":", name);
    cli_json_string(text, stdout);
}

static void
report_event(const char *event, int code, const char *message, const char *hint)
{
    char text[HINT_BYTES];
    (void)printf("{\"event\":\"%s\"", event);
    if (code != 0)
        (void)printf(",\"code\":%d", code);
    print_field("message", message);
    print_field("hint", with_options(hint, text, sizeof(text)));
    (void)fputs("}\n", stdout);
    (void)fflush(stdout);
}

void
cli_print_sentence(const char *prefix, const char *message, const char *hint)
{
    char text[HINT_BYTES];
    (void)fflush(stdout);
    (void)fputs(prefix, stderr);
    skn_text_escape(SKN_TEXT_LINE, message, stderr);
    (void)fputs(hint[0] ? "; " : "", stderr);
    skn_text_escape(SKN_TEXT_LINE, with_options(hint, text, sizeof(text)),
                    stderr);
    (void)fputc('\n', stderr);
}

int
cli_report(const cli_call_t *call, const skn_error_t *error)
{
    int code = skn_status_exit_code(error->status);
    cli_print_sentence("skein: ", error->text, error->hint);
    if (call->json)
        report_event("error", code, error->text, error->hint);
    return code;
}

static bool
prints_document(const cli_call_t *call)
{
    const cli_option_t *option = call->verb->options;
    while (option && option->name &&
           strcmp(option->help, CLI_DOCUMENT_JSON) != 0)
        option++;
    return option && option->name;
}

void
cli_warn(const cli_call_t *call, const char *message, const char *hint)
{
    const skn_config_problem_t warning = { .text = message, .hint = hint };
    cli_warn_at(call, &warning);
}

const char *
cli_problem_text(const skn_config_problem_t *problem,
                 char text[CLI_PROBLEM_BYTES])
{
    if (problem->line > 0)
        (void)snprintf(text, CLI_PROBLEM_BYTES, "%s:%u:%u: %s", problem->file,
                       problem->line, problem->column, problem->text);
    else
        (void)snprintf(text, CLI_PROBLEM_BYTES, "%s", problem->text);
    return text;
}

void
cli_warn_at(const cli_call_t *call, const skn_config_problem_t *warning)
{
    char text[CLI_PROBLEM_BYTES], hint[HINT_BYTES];
    (void)cli_problem_text(warning, text);
    cli_print_sentence("skein: warning: ", text, warning->hint);
    if (!call->json || prints_document(call))
        return;
    (void)fputs("{\"event\":\"warning\"", stdout);
    if (warning->line > 0) {
        print_field("file", warning->file);
        (void)printf(",\"line\":%u,\"column\":%u", warning->line,
                     warning->column);
    }
    print_field("message", text);
    print_field("hint", with_options(warning->hint, hint, sizeof(hint)));
    (void)fputs("}\n", stdout);
    (void)fflush(stdout);
}

const char *
cli_loss_text(double loss, char text[CLI_LOSS_BYTES])
{
    (void)skn_text_write(text, CLI_LOSS_BYTES,
                         fabs(loss) < 1e8 ? "%.4f" : "%.4e", loss);
    return text;
}

void
cli_print_path(const char *before, const char *path, const char *after)
{
    (void)fputs(before, stdout);
    skn_text_escape(SKN_TEXT_LINE, path, stdout);
    (void)fputs(after, stdout);
}

void
cli_print_paths(const char *paths)
{
    for (size_t bytes; *paths; paths += bytes + (paths[bytes] == '\n')) {
        char path[SKN_TEXT_MAX];
        bytes = strcspn(paths, "\n");
        (void)snprintf(path, sizeof(path), "%.*s", (int)bytes, paths);
        cli_print_path("", path, paths[bytes] ? ", " : "");
    }
}

/* Whether standard output is a terminal that was closed: then there is no
 * reader for an error about output that could not be written. */
static bool
terminal_is_gone(void)
{
    struct stat facts;
    struct termios modes;
    return fstat(STDOUT_FILENO, &facts) == 0 && S_ISCHR(facts.st_mode) &&
           tcgetattr(STDOUT_FILENO, &modes) != 0 && errno == EIO;
}

/* Whether all of standard output was written. */
static skn_status_t
flush_output(skn_error_t *error)
{
    int before = errno;
    bool flushed = fflush(stdout) == 0;
    if (flushed && !ferror(stdout))
        return SKN_OK;
    /* An earlier call may have failed long ago: its reason may be lost. */
    int code = flushed ? before : errno;
    if (!flushed || skn_errno_remedy(code, NULL))
        return skn_fail_code(error, SKN_STORAGE, code, NULL, "standard output");
    (void)skn_fail(error, SKN_STORAGE,
                   "standard output: not everything could be written");
    return skn_fail_hint(error, SKN_STORAGE, "is the disk full?");
}

int
cli_finish(const cli_call_t *call, int code)
{
    skn_error_t error = { 0 };
    if (flush_output(&error) == SKN_OK || code != 0)
        return code; /* the first error was reported */
    if (cli_output_unread())
        return cli_output_end_unread();
    if (terminal_is_gone())
        return code;
    return cli_report(call, &error);
}
