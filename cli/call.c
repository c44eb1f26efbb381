/* call.c - what verbs ask of their command line, and how they answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verb.h"
#include "topology/problems.h"

/* What a parent process can see of one. */
#define EXIT_CODE_MAX 255u

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
    size_t count = 0;
    while (count < CLI_VALUES_MAX && cli_value_at(call, "override", count)) {
        overrides[count] = cli_value_at(call, "override", count);
        count++;
    }
    return count;
}

skn_status_t
cli_count(const cli_call_t *call, const char *name, uint32_t most,
          uint32_t *count, skn_error_t *error)
{
    const char *text = cli_value(call, name);
    char *end = NULL;
    if (!text)
        return SKN_OK;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
        number == 0 || number > most)
        return skn_fail(error, SKN_USAGE,
                        "--%s must be a whole number in 1..%u, found '%.40s'",
                        name, most, text);
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

void
cli_json_string(const char *text, FILE *file)
{
    (void)fputc('"', file);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            (void)fprintf(file, "\\%c", byte);
        else if (byte < 0x20)
            (void)fprintf(file, "\\u%04x", byte);
        else
            (void)fputc(byte, file);
    }
    (void)fputc('"', file);
}

static void
report_event(const char *event, int code, const char *message, const char *hint)
{
    (void)printf("{\"event\":\"%s\"", event);
    if (code != 0)
        (void)printf(",\"code\":%d", code);
    (void)fputs(",\"message\":", stdout);
    cli_json_string(message, stdout);
    (void)fputs(",\"hint\":", stdout);
    cli_json_string(hint, stdout);
    (void)fputs("}\n", stdout);
    (void)fflush(stdout);
}

int
cli_report(const cli_call_t *call, const skn_error_t *error)
{
    int code = skn_status_exit_code(error->status);
    (void)fflush(stdout);
    (void)fprintf(stderr, "skein: %s%s%s\n", error->text,
                  error->hint[0] ? "; " : "", error->hint);
    if (call->json)
        report_event("error", code, error->text, error->hint);
    return code;
}

int
cli_report_problems(const cli_call_t *call, const skn_problems_t *problems)
{
    skn_error_t error = { 0 };
    (void)skn_problems_error(problems, &error);
    if (call->json)
        return cli_report(call, &error);
    (void)fflush(stdout);
    skn_problems_print(problems, stderr);
    return skn_status_exit_code(error.status);
}

void
cli_warn(const cli_call_t *call, const char *message, const char *hint)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "skein: warning: %s%s%s\n", message,
                  hint[0] ? "; " : "", hint);
    if (call->json)
        report_event("warning", 0, message, hint);
}

int
cli_finish(const cli_call_t *call, int code)
{
    skn_error_t error = { 0 };
    bool flushed = fflush(stdout) == 0;
    int reason = errno;
    if ((flushed && !ferror(stdout)) || code != 0)
        return code; /* what went wrong first was told */
    if (flushed) {   /* a line before the last one was lost */
        (void)skn_fail(&error, SKN_STORAGE,
                       "standard output: not all could be written");
        (void)skn_fail_hint(&error, SKN_STORAGE, "is the disk full?");
    } else {
        (void)skn_fail(&error, SKN_STORAGE, "standard output: %s",
                       strerror(reason));
    }
    return cli_report(call, &error);
}
