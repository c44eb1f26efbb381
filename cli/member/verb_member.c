/* verb_member.c - skein member: its options, signals and exit code; the member
 * is skein/member.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "cli/base/resume_command.h"
#include "cli/base/stop.h"
#include "cli/base/verbs.h"
#include "cli/member/member_lines.h"
#include "cli/member/member_rest.h"
#include "skein/member.h"

/* How often it is checked that standard output has a reader. */
#define MEMBER_TURN_MS 100
/* This program, even after an upgrade has replaced its file: a run has workers
 * of one version. */
#define PROGRAM "/proc/self/exe"

typedef struct part {
    const cli_call_t *call;
    cli_stop_t stop;
    bool leash;
    const char *asked; /* why this process asked to leave; NULL: it did not */
    cli_member_lines_t lines;
    skn_member_t *member;
} part_t;

/* --- events --------------------------------------------------------------- */

/* Prints the events that have arrived. False: there will be no more. */
static bool
print_events(part_t *part)
{
    skn_status_t status = SKN_OK;
    while (status == SKN_OK) {
        skn_member_info_t info = { .struct_bytes = sizeof(info) };
        (void)skn_member_info(part->member, &info, NULL);
        char *line = malloc(info.event_bytes + 1);
        status = line ? skn_member_event(part->member, 0, line,
                                         info.event_bytes, NULL)
                      : SKN_NO_MEMORY;
        if (status == SKN_OK)
            cli_member_lines_print(&part->lines, line);
        free(line);
    }
    return status != SKN_UNAVAILABLE;
}

/* --- leaving -------------------------------------------------------------- */

static void
leave(part_t *part, const char *reason)
{
    if (part->asked)
        return;
    part->asked = reason;
    skn_member_leave(part->member);
}

static void
take_stop(part_t *part, bool leash_is_ready)
{
    if (cli_stop_take(&part->stop) != CLI_STOP_NOTHING)
        leave(part, "signal");
    if (leash_is_ready && cli_leash_is_gone()) {
        part->leash = false;
        leave(part, "leash");
    }
    if (!part->asked && cli_output_unread())
        leave(part, "unread");
    if (cli_stop_insisted(&part->stop))
        skn_member_stop(part->member);
}

/* Takes part until the run is over or the member leaves it. */
static skn_status_t
take_part(part_t *part, const skn_member_options_t *options, skn_error_t *error)
{
    skn_member_destroy(&part->member);
    part->member = skn_member_new(options, error);
    if (!part->member) {
        (void)cli_report(part->call, error);
        return error->status;
    }
    skn_status_t status = skn_member_start(part->member, error);
    while (print_events(part)) {
        struct pollfd polled[3] = {
            { part->stop.descriptor, POLLIN, 0 },
            { part->leash ? STDIN_FILENO : -1, POLLIN, 0 },
            { skn_member_fd(part->member), POLLIN, 0 },
        };
        (void)poll(polled, 3, MEMBER_TURN_MS);
        take_stop(part, polled[1].revents != 0);
    }
    return status == SKN_OK ? skn_member_wait(part->member, error) : status;
}

/* Waits until there is memory to take part again. False: it does not return. */
static bool
rest(part_t *part, skn_error_t *error)
{
    skn_member_info_t info = { .struct_bytes = sizeof(info) };
    if (part->asked || strcmp(part->lines.reason, "memory") != 0)
        return false;
    (void)skn_member_info(part->member, &info, NULL);
    bool enough =
        cli_member_rest(part->call, info.idle, &part->stop, part->leash, error);
    if (error->status != SKN_OK)
        (void)cli_report(part->call, error);
    return enough;
}

/* --- the end -------------------------------------------------------------- */

static int
end(part_t *part, skn_status_t status)
{
    const cli_call_t *call = part->call;
    int code = skn_status_exit_code(status);
    cli_member_lines_end(&part->lines, status, part->asked);
    if (part->lines.is_over)
        return code;
    if (status == SKN_OK && !call->json)
        cli_resume_command_print(call, "to take part again:", NULL);
    return cli_stop_code(&part->stop, cli_requeue(call, code, true));
}

static skn_status_t
read_options(const cli_call_t *call, skn_member_options_t *options,
             const char **overrides, skn_error_t *error)
{
    const struct {
        const char *name;
        uint32_t *count;
    } counts[] = { { "wait", &options->wait_s },
                   { "grace", &options->grace_s },
                   { "patience", &options->patience_s } };
    options->overrides = overrides;
    options->override_count = (uint32_t)cli_overrides(call, overrides);
    options->node = call->operands[0];
    options->path = call->operands[1];
    options->program = PROGRAM;
    options->progress =
        call->json ? cli_flag(call, "progress") : cli_bar_possible(call);
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < 3 && status == SKN_OK; k++)
        status = cli_count(call, counts[k].name, CLI_WAIT_S_MAX,
                           counts[k].count, error);
    return status == SKN_OK ? cli_requeue_check(call, error) : status;
}

static int
member_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    const char *overrides[CLI_VALUES_MAX];
    bool leash = cli_flag(call, "leash");
    skn_member_options_t options = { .struct_bytes = sizeof(options) };
    part_t part = {
        .call = call,
        .leash = leash,
        .stop = { .json = call->json,
                  .doing = "handing over the state of this node",
                  .insisting = "quit without handing over",
                  .leashed = leash,
                  .descriptor = -1 },
    };
    skn_status_t status = read_options(call, &options, overrides, &error);
    cli_output_outlive();
    if (status == SKN_OK)
        status = cli_stop_open(&part.stop, &error);
    if (status != SKN_OK)
        return cli_report(call, &error);
    cli_member_lines_init(&part.lines, call);
    do {
        status = take_part(&part, &options, &error);
    } while (status == SKN_OK && rest(&part, &error));
    if (error.status != SKN_OK)
        status = error.status;
    int code = part.lines.has_begun ? end(&part, status)
                                    : skn_status_exit_code(status);
    skn_member_destroy(&part.member);
    cli_stop_close(&part.stop);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "wait", 0, "SECONDS",
      "longest wait for the coordinator at the start (120)" },
    { "grace", 0, "SECONDS", "longest time from SIGTERM to the end (25)" },
    { "patience", 0, "SECONDS",
      "wait for a marker, when pausing (2; any, if fixed)" },
    { "leash", 0, NULL, "leave when standard input ends" },
    CLI_REQUEUE_OPTION,
    { "progress", 0, NULL, "print progress five times a second" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_member = {
    .name = "member",
    .help = "take part in a run whose nodes come and go",
    .operands = "NAME FILE",
    .operands_min = 2,
    .operands_max = 2,
    .options = options,
    .description =
        "Dials the coordinator of the model file and takes part as node NAME,\n"
        "whenever the coordinator wants it to. Its part of the run is kept in\n"
        "checkpoint.path/NAME. On SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU\n"
        "or Ctrl-C it hands over its state and exits; killed, it may be\n"
        "started again at any time, with its folder or without. See\n"
        "docs/tasks/elastic.md.",
    .run = member_run,
};
