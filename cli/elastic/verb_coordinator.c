/* verb_coordinator.c - skein coordinator: its options, signals and output; the
 * coordinator is skein/member.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/events.h"
#include "cli/base/process.h"
#include "cli/base/resume_command.h"
#include "cli/base/stop.h"
#include "cli/base/verbs.h"
#include "cli/elastic/harvest_report.h"
#include "formats/text/json_text.h"
#include "skein/text.h"
#include "skein/member.h"

/* How often it is checked that standard output has a reader. */
#define TURN_MS 100

typedef struct lead {
    const cli_call_t *call;
    cli_stop_t stop;
    bool leash;
    skn_coordinator_t *coordinator;
} lead_t;

static skn_coordinator_info_t
info_of(const lead_t *lead)
{
    skn_coordinator_info_t info = { .struct_bytes = sizeof(info) };
    (void)skn_coordinator_info(lead->coordinator, &info, NULL);
    return info;
}

/* --- events --------------------------------------------------------------- */

static void
print_membership(const lead_t *lead, const json_t *event)
{
    (void)lead;
    (void)puts(skn_json_word(event, "text"));
}

static void
print_partial(const lead_t *lead, const json_t *event)
{
    (void)lead;
    (void)skn_text_print(
        stdout,
        "partial: %.0f blocks keep their state, %.0f return "
        "to batch %.0f; %.0f updates of blocks are lost\n",
        skn_json_number(event, "kept"), skn_json_number(event, "back"),
        skn_json_number(event, "from"), skn_json_number(event, "lost"));
}

static void
print_harvest(const lead_t *lead, const json_t *event)
{
    if (info_of(lead).was_stopped)
        cli_resume_command_print(lead->call, "to continue:", NULL);
    cli_harvest_report_print(event, stdout);
}

/* How events that only a coordinator has are printed for people. */
static const struct {
    const char *name;
    void (*print)(const lead_t *lead, const json_t *event);
} printers[] = {
    { "membership", print_membership },
    { "partial", print_partial },
    { "harvest", print_harvest },
};

static void
print_event(const lead_t *lead, const char *line)
{
    json_t *event = lead->call->json ? NULL : json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    size_t k = 0, count = sizeof(printers) / sizeof(printers[0]);
    while (k < count && strcmp(name, printers[k].name) != 0)
        k++;
    if (k < count)
        printers[k].print(lead, event);
    else
        cli_event_show(lead->call, line);
    (void)fflush(stdout);
    json_decref(event);
}

/* Prints the events that have arrived. False: there will be no more. */
static bool
print_events(const lead_t *lead)
{
    skn_status_t status = SKN_OK;
    while (status == SKN_OK) {
        size_t bytes = info_of(lead).event_bytes;
        char *line = malloc(bytes + 1);
        status = line ? skn_coordinator_event(lead->coordinator, 0, line, bytes,
                                              NULL)
                      : SKN_NO_MEMORY;
        if (status == SKN_OK)
            print_event(lead, line);
        free(line);
    }
    return status != SKN_UNAVAILABLE;
}

/* Prints the coordinator's address and the nodes that it waits for. */
static void
welcome(const lead_t *lead)
{
    skn_coordinator_info_t info = info_of(lead);
    if (lead->call->json || !info.leads)
        return;
    (void)printf("coordinating %s at %s; to take part, run `skein member NAME "
                 "%s` on any machine, as:",
                 info.name, info.address, lead->call->operands[0]);
    for (uint32_t k = 0; k < info.node_count; k++)
        (void)printf(" %s", info.nodes[k]);
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* --- the run -------------------------------------------------------------- */

/* Stops the run at a signal, when standard output has no reader any more, or
 * when the parent closes standard input. */
static void
take_stop(lead_t *lead, bool leash_is_ready)
{
    bool unleashed = leash_is_ready && cli_leash_is_gone();
    if (unleashed)
        lead->leash = false;
    if (cli_stop_take(&lead->stop) != CLI_STOP_NOTHING || cli_output_unread() ||
        unleashed)
        skn_coordinator_stop(lead->coordinator);
}

/* Prints and stops until the coordinator has ended, or has to be left. */
static int
lead_run(lead_t *lead, skn_error_t *error)
{
    skn_status_t status = skn_coordinator_start(lead->coordinator, error);
    welcome(lead);
    while (print_events(lead)) {
        struct pollfd polled[3] = {
            { lead->stop.descriptor, POLLIN, 0 },
            { lead->leash ? STDIN_FILENO : -1, POLLIN, 0 },
            { skn_coordinator_fd(lead->coordinator), POLLIN, 0 },
        };
        (void)poll(polled, 3, TURN_MS);
        take_stop(lead, polled[1].revents != 0);
        if (cli_stop_insisted(&lead->stop))
            return cli_stop_code(&lead->stop, 0);
    }
    if (status == SKN_OK)
        status = skn_coordinator_wait(lead->coordinator, error);
    return skn_status_exit_code(status);
}

static skn_status_t
open_run(lead_t *lead, skn_error_t *error)
{
    const cli_call_t *call = lead->call;
    const char *overrides[CLI_VALUES_MAX];
    skn_coordinator_options_t options = {
        .struct_bytes = sizeof(options),
        .overrides = overrides,
        .override_count = (uint32_t)cli_overrides(call, overrides),
        .path = call->operands[0],
        .progress = call->json && cli_flag(call, "progress"),
    };
    skn_status_t status = cli_stop_open(&lead->stop, error);
    if (status == SKN_OK)
        status =
            cli_count(call, "wait", CLI_WAIT_S_MAX, &options.wait_s, error);
    if (status != SKN_OK)
        return status;
    lead->coordinator = skn_coordinator_new(&options, error);
    return lead->coordinator ? SKN_OK : error->status;
}

static int
coordinator_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    bool leash = cli_flag(call, "leash");
    lead_t lead = {
        .call = call,
        .leash = leash,
        .stop = { .json = call->json,
                  .doing = "stopping the run, which saves it",
                  .insisting = "quit and leave the members running",
                  .leashed = leash },
    };
    cli_output_outlive();
    int code = open_run(&lead, &error) == SKN_OK ? lead_run(&lead, &error)
                                                 : cli_report(call, &error);
    skn_coordinator_destroy(&lead.coordinator);
    cli_stop_close(&lead.stop);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "wait", 0, "SECONDS", "longest wait for all nodes at the start (15)" },
    { "leash", 0, NULL, "stop the run when standard input ends" },
    { "progress", 0, NULL, "with --json: state of all nodes, twice a second" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_coordinator = {
    .name = "coordinator",
    .help = "decide which nodes take part in a run, while it runs",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Listens at the address under `coordinator:` of the model file, for\n"
        "the nodes that it lists: `skein member` on each machine. The nodes\n"
        "that are there train together; when one joins, leaves or dies, the\n"
        "others continue from the last checkpoint that they hold together. It\n"
        "writes a journal into checkpoint.path: killed and started again, it\n"
        "continues the run. See docs/tasks/elastic.md.",
    .run = coordinator_run,
};
