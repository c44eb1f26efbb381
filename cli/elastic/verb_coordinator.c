/* verb_coordinator.c - skein coordinator: its options, signals and output; the
 * coordinator is topology/cluster/coordinator.h.
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
#include "topology/cluster/coordinator.h"
#include "topology/config/problems.h"
#include "topology/model/model.h"

typedef struct lead {
    const cli_call_t *call;
    cli_stop_t stop;
    bool leash;
    skn_coordinator_t *coordinator;
} lead_t;

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
    if (skn_coordinator_was_stopped(lead->coordinator))
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
tell(void *job, const char *line)
{
    const lead_t *lead = job;
    json_t *event = lead->call->json ? NULL : skn_json_read(line);
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

/* Prints the coordinator's address and the nodes that it waits for. */
static void
welcome(const cli_call_t *call, const skn_model_t *model)
{
    if (call->json)
        return;
    (void)printf("coordinating %s at %s; to take part, run `skein member NAME "
                 "%s` on any machine, as:",
                 model->name, model->coordinator.address, call->operands[0]);
    for (size_t k = 0; k < model->node_count; k++)
        (void)printf(" %s", model->nodes[k].name);
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

static int
lead_run(lead_t *lead)
{
    skn_error_t error = { 0 };
    while (!cli_stop_insisted(&lead->stop) &&
           skn_coordinator_leads(lead->coordinator)) {
        struct pollfd polled[2] = {
            { lead->stop.descriptor, POLLIN, 0 },
            { lead->leash ? STDIN_FILENO : -1, POLLIN, 0 },
        };
        skn_coordinator_wait(lead->coordinator, polled, 2);
        take_stop(lead, polled[1].revents != 0);
        skn_coordinator_turn(lead->coordinator);
    }
    if (skn_coordinator_finish(lead->coordinator, &error) != SKN_OK)
        return cli_report(lead->call, &error);
    return skn_coordinator_is_over(lead->coordinator)
               ? 0
               : cli_stop_code(&lead->stop, 0);
}

static skn_status_t
open_run(lead_t *lead, skn_model_t **model, skn_problems_t *problems,
         skn_error_t *error)
{
    const cli_call_t *call = lead->call;
    const char *overrides[CLI_VALUES_MAX];
    skn_coordinator_options_t options = {
        .progress = call->json && cli_flag(call, "progress"),
        .tell = tell,
        .job = lead,
    };
    skn_status_t status = cli_stop_open(&lead->stop, error);
    if (status == SKN_OK)
        status = skn_model_read(call->operands[0], overrides,
                                cli_overrides(call, overrides), model, problems,
                                error);
    if (status == SKN_OK)
        status =
            cli_count(call, "wait", CLI_WAIT_S_MAX, &options.wait_s, error);
    if (status != SKN_OK)
        return status;
    lead->coordinator =
        skn_coordinator_open(*model, call->operands[0], &options, error);
    return lead->coordinator ? SKN_OK : error->status;
}

static int
coordinator_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_problems_t *problems = skn_problems_new(&error);
    lead_t lead = { .call = call, .leash = cli_flag(call, "leash") };
    int code = 0;
    if (!problems)
        return cli_report(call, &error);
    lead.stop = (cli_stop_t){ .json = call->json,
                              .doing = "stopping the run, which saves it",
                              .insisting = "quit and leave the members running",
                              .leashed = lead.leash };
    cli_output_outlive();
    skn_status_t status = open_run(&lead, &model, problems, &error);
    if (skn_problems_count(problems) > 0) {
        code = cli_report_problems(call, problems);
    } else if (status != SKN_OK) {
        code = cli_report(call, &error);
    } else if (skn_coordinator_is_done(lead.coordinator)) {
        cli_warn(call, "this run is done: there is nothing to coordinate",
                 "another run needs another checkpoint.path");
    } else {
        welcome(call, model);
        code = lead_run(&lead);
    }
    skn_coordinator_close(&lead.coordinator);
    skn_model_destroy(&model);
    cli_stop_close(&lead.stop);
    skn_problems_destroy(&problems);
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
