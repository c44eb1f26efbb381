/* member.c - skein member: runs one machine's part of an elastic run.
 *
 *     coordinator ─messages─▶ member ──fork, exec──▶ skein node NAME FILE ...
 *                 ◀─messages─        ◀───events────   (one a generation)
 *
 * A member holds the machine's own run folder, and starts a worker for each
 * generation in which it takes part; the worker does all the work and ends with
 * the member. While the coordinator is away, the worker continues for the time
 * of its lease.  SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/instance_lock.h"
#include "cli/base/events.h"
#include "cli/member/member_end.h"
#include "cli/member/member_internal.h"
#include "cli/member/member_rest.h"
#include "cli/base/process.h"
#include "cli/base/verbs.h"
#include "formats/folder/folder_lock.h"
#include "formats/text/json_text.h"
#include "topology/run/model_run.h"
#include "topology/config/problems.h"
#include "topology/model/settings.h"
#include "transport/socket/clock.h"

#define MEMBER_TICK_MS 100
/* The time to wait for the coordinator at the start. */
#define MEMBER_WAIT_S 120u
/* The time of notice, if --grace does not set it. */
#define GRACE_S_DEFAULT 25u
/* The time for a worker to end after the end of the run. */
#define MEMBER_FAREWELL_NS (15 * SKN_SECOND_NS)

/* --- messages of the coordinator ----------------------------------------- */

/* Renews the lease: it lasts for a time from the sending of the pulse on. */
static void
take_acknowledge(cli_member_t *member, const skn_control_message_t *message)
{
    uint64_t pulse = message->acknowledge.pulse;
    if (pulse == 0 || pulse > member->pulse_count ||
        member->pulse_count - pulse >= CLI_PULSES_MAX)
        return;
    uint64_t lease_ns = member->sent_ns[pulse % CLI_PULSES_MAX] +
                        SKN_MEMBER_LEASE_MS * 1000000ull;
    if (lease_ns > member->lease_ns)
        member->lease_ns = lease_ns;
    cli_worker_feed(&member->worker, member->lease_ns);
}

static void
refuse_part(cli_member_t *member, uint64_t generation, const skn_error_t *error)
{
    member->worker.generation = generation;
    member->worker.node.error = *error;
    member->worker.node.failed = true;
    cli_member_send_ended(member);
}

static void
take_start(cli_member_t *member, const skn_control_message_t *message)
{
    skn_error_t error = { 0 };
    uint64_t generation = message->start.generation;
    if (generation <= member->worker.generation)
        return; /* from a former coordinator */
    if (skn_monotonic_ns() >= member->lease_ns)
        return; /* it may be outdated; if not, it is repeated */
    cli_worker_kill(&member->worker);
    member->has_ended = false;
    member->fault.status = SKN_OK; /* forgiven by this start */
    member->saved_told = 0;
    const cli_worker_start_t start = {
        .call = member->call,
        .model = member->model,
        .node = member->node,
        .folder = member->folder,
        .bar = &member->bar,
    };
    if (cli_worker_begin(&member->worker, &start, &message->start, &error) ==
        SKN_OK) {
        cli_worker_feed(&member->worker, member->lease_ns);
        cli_member_print_part(member, "begins");
        return;
    }
    refuse_part(member, generation, &error);
}

static void
take_identify(cli_member_t *member, const skn_control_message_t *message)
{
    (void)message;
    member->greeted = false;
}

static void
take_list(cli_member_t *member, const skn_control_message_t *message)
{
    cli_member_send_inventory(member, message->list.known);
}

static void
take_pause(cli_member_t *member, const skn_control_message_t *message)
{
    if (message->pause.generation == cli_member_generation(member))
        cli_up_stop(&member->worker.node);
}

static void
take_abort(cli_member_t *member, const skn_control_message_t *message)
{
    if (message->abort.salvage)
        cli_worker_break(&member->worker);
    else
        cli_worker_kill(&member->worker);
}

static void
take_refuse(cli_member_t *member, const skn_control_message_t *message)
{
    const skn_control_refuse_t *refuse = &message->refuse;
    skn_control_message_error(refuse->code, refuse->text, refuse->hint,
                              &member->error);
    if (member->error.status == SKN_OK)
        member->error.status = SKN_BAD_CONFIG;
}

static void
take_dismiss(cli_member_t *member, const skn_control_message_t *message)
{
    const skn_control_dismiss_t *dismiss = &message->dismiss;
    if (member->fault.status == SKN_OK && dismiss->code > 0)
        skn_control_message_error(dismiss->code, dismiss->text, dismiss->hint,
                                  &member->fault);
    member->over = true;
    member->over_ns = skn_monotonic_ns();
    member->run_done = strcmp(dismiss->how, "done") == 0;
    if (!member->leaving)
        member->reason = cli_member_reason(dismiss->how);
    cli_up_stop(&member->worker.node);
}

static void
take_message(cli_member_t *member, skn_frame_t frame)
{
    static void (*const take[SKN_CONTROL_MESSAGE_KINDS])(
        cli_member_t *, const skn_control_message_t *) = {
        [SKN_CONTROL_MESSAGE_ACKNOWLEDGE] = take_acknowledge,
        [SKN_CONTROL_MESSAGE_IDENTIFY] = take_identify,
        [SKN_CONTROL_MESSAGE_LIST] = take_list,
        [SKN_CONTROL_MESSAGE_START] = take_start,
        [SKN_CONTROL_MESSAGE_PAUSE] = take_pause,
        [SKN_CONTROL_MESSAGE_ABORT] = take_abort,
        [SKN_CONTROL_MESSAGE_REFUSE] = take_refuse,
        [SKN_CONTROL_MESSAGE_DISMISS] = take_dismiss,
    };
    skn_control_message_t message;
    skn_error_t error = { 0 };
    if (skn_control_message_read(frame, &message, &error) == SKN_OK) {
        if (take[message.kind])
            take[message.kind](member, &message);
    } else if (!member->complained) {
        member->complained = true; /* once a connection */
        cli_warn(member->call, error.text, error.hint);
    }
    skn_control_message_fini(&message);
}

static void
refuse(cli_member_t *member)
{
    if (member->ever_connected)
        return; /* the coordinator may come back as it was */
    (void)skn_fail(&member->error, SKN_NO_PERMISSION,
                   "the coordinator at %s refused this node",
                   member->model->coordinator.address);
    (void)skn_fail_hint(
        &member->error, SKN_NO_PERMISSION,
        "the coordinator's file must list node '%.64s' with the key %.200s, "
        "and the coordinator's own key must be %.200s",
        member->node->name, member->node->key, member->model->coordinator.key);
}

static void
take_arrivals(cli_member_t *member)
{
    skn_control_arrival_t arrival;
    while (skn_control_take(member->control, &arrival)) {
        switch (arrival.kind) {
        case SKN_CONTROL_CONNECTED:
            cli_member_print(member, "is connected to the coordinator at %s",
                             member->model->coordinator.address);
            member->connected = member->ever_connected = true;
            member->greeted = member->complained = false;
            cli_member_pulse(member, true);
            break;
        case SKN_CONTROL_LOST:
            if (member->connected && !member->over)
                cli_member_print(
                    member, "has lost the coordinator and is reconnecting");
            member->connected = false;
            break;
        case SKN_CONTROL_REFUSED:
            refuse(member);
            break;
        default:
            take_message(member, arrival.frame);
        }
    }
}

/* --- leaving ------------------------------------------------------------- */

static void
leave(cli_member_t *member, const char *reason)
{
    if (member->leaving)
        return;
    member->leaving = true;
    member->reason = reason;
    cli_member_print(member, "hands over its state and leaves");
    member->leave_ns = skn_monotonic_ns();
    if (member->connected)
        cli_member_send_leaving(member);
    else
        member->over = true; /* there is no peer to hand over to */
}

/* Whether the member may come back: it returned its memory, handed over or used
 * up its grace, no end was requested, and the run is not over. */
static bool
may_return(const cli_member_t *member)
{
    return member->resting && !member->stop.asked_by &&
           !member->worker.noticed && !member->worker.done &&
           member->error.status == SKN_OK;
}

static void
take_signals(cli_member_t *member)
{
    if (cli_stop_take(&member->stop) != CLI_STOP_NOTHING)
        leave(member, "signal");
}

static void
take_leash(cli_member_t *member)
{
    if (!cli_leash_is_gone())
        return;
    member->leash = member->resting = false;
    leave(member, "leash");
}

/* Whether the member has nothing left to do. */
static bool
is_over(cli_member_t *member)
{
    uint64_t time_ns = skn_monotonic_ns();
    bool idle = !cli_worker_lives(&member->worker);
    if (member->error.status != SKN_OK || cli_stop_insisted(&member->stop))
        return true;
    if (member->over)
        return idle || time_ns - member->over_ns >= MEMBER_FAREWELL_NS;
    if (member->leaving &&
        time_ns - member->leave_ns >= member->grace_s * 1000000000ull)
        return true;
    if (member->ever_connected ||
        time_ns - member->opened_ns < member->wait_s * 1000000000ull)
        return false;
    (void)skn_fail(&member->error, SKN_UNAVAILABLE,
                   "no coordinator answers at %s",
                   member->model->coordinator.address);
    (void)skn_fail_hint(&member->error, SKN_UNAVAILABLE,
                        "start `skein coordinator %.200s` there",
                        member->call->operands[1]);
    return true;
}

/* Kills a worker that outlives its lease, on its way to a marker. */
static void
see_to_lease(cli_member_t *member)
{
    if (!cli_worker_lives(&member->worker) || member->over ||
        skn_monotonic_ns() < member->lease_ns)
        return;
    cli_worker_kill(&member->worker);
    cli_warn(member->call,
             "lost contact with the coordinator; pausing until it answers",
             "the run continues when the coordinator is back");
}

static void
serve(cli_member_t *member)
{
    cli_member_print(member, "is connecting to the coordinator at %s",
                     member->model->coordinator.address);
    while (!is_over(member)) {
        cli_up_node_t *node = &member->worker.node;
        struct pollfd polled[] = {
            { member->stop.descriptor, POLLIN, 0 },
            { member->leash ? STDIN_FILENO : -1, POLLIN, 0 },
            { node->out.descriptor, POLLIN, 0 },
            { node->err.descriptor, POLLIN, 0 },
        };
        skn_control_wait(member->control, polled, 4, MEMBER_TICK_MS);
        if (polled[0].revents)
            take_signals(member);
        if (polled[1].revents)
            take_leash(member);
        take_arrivals(member);
        see_to_lease(member);
        bool ended = cli_worker_turn(&member->worker);
        if (member->worker.crowded && !member->leaving)
            member->resting = true;
        if (member->worker.noticed || member->resting)
            leave(member, member->worker.noticed ? "notice" : "memory");
        if (ended)
            cli_member_send_ended(member);
        if (!member->leaving && cli_output_unread())
            leave(member, "unread");
        cli_member_check_reach(member);
        if (member->connected)
            cli_member_pulse(member, false);
    }
    cli_worker_kill(&member->worker);
    /* The run is over, or continues without us because of our own fault. */
    if (member->over && !member->stop.asked_by && !member->leaving &&
        member->error.status == SKN_OK)
        member->error = member->fault;
}

/* --- opening ------------------------------------------------------------- */

static skn_status_t
find_node(cli_member_t *member, skn_error_t *error)
{
    const skn_model_t *model = member->model;
    const char *name = member->call->operands[0];
    if (!model->coordinator.address[0])
        return skn_fail_hint(error,
                             skn_fail(error, SKN_USAGE, "%s has no coordinator",
                                      member->call->operands[1]),
                             "give its address under coordinator:; without "
                             "one, a node is started by `skein node`");
    if (!model->checkpoint.path[0])
        return skn_fail_hint(error,
                             skn_fail(error, SKN_USAGE,
                                      "a member needs a folder for its part of "
                                      "the run"),
                             "give -o checkpoint.path=FOLDER");
    for (size_t k = 0; k < model->node_count; k++)
        if (strcmp(model->nodes[k].name, name) == 0)
            member->node = &model->nodes[k];
    if (member->node)
        return SKN_OK;
    return skn_fail_hint(error,
                         skn_fail(error, SKN_USAGE, "%s has no node '%.64s'",
                                  model->source, name),
                         "its nodes are listed under nodes:, such as %s",
                         model->nodes[0].name);
}

static void
warn_of_host(const cli_member_t *member, const char *address)
{
    char text[SKN_ERROR_TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
                   "the coordinator's host name in %.300s cannot be resolved",
                   address);
    cli_warn(member->call, text, "check its spelling; skein resolves it again");
}

static skn_status_t
open_line(cli_member_t *member, skn_error_t *error)
{
    char server_key[SKN_KEY_TEXT_BYTES] = "";
    const skn_model_coordinator_t *coordinator = &member->model->coordinator;
    skn_status_t status = SKN_OK;
    if (coordinator->key[0])
        status = skn_key_load_public(coordinator->key, server_key, error);
    if (status == SKN_OK && member->node->key[0]) {
        member->own = skn_keys_load(member->node->key, error);
        status = member->own ? SKN_OK : error->status;
    }
    if (status != SKN_OK)
        return status;
    skn_control_options_t line = {
        .address = coordinator->address,
        .keys = member->own,
        .server_key = server_key,
    };
    member->control = skn_control_dial(&line, error);
    if (member->control && skn_control_is_unknown(member->control))
        warn_of_host(member, coordinator->address);
    return member->control ? SKN_OK : error->status;
}

static skn_status_t
open_reach(cli_member_t *member, skn_error_t *error)
{
    const skn_model_t *model = member->model;
    const char *address[SKN_CLUSTER_NODES_MAX];
    assert(model->node_count <= SKN_CLUSTER_NODES_MAX);
    uint32_t count = (uint32_t)model->node_count;
    for (uint32_t k = 0; k < count; k++)
        address[k] = model->nodes[k].address;
    member->probe = skn_reachability_new(address, count, error);
    return member->probe ? SKN_OK : error->status;
}

/* Two members of a name would displace each other again and again. */
static skn_status_t
be_alone(cli_member_t *member, skn_error_t *error)
{
    char name[SKN_NAME_MAX + 16], hint[SKN_NAME_MAX + 80];
    (void)snprintf(name, sizeof(name), ".member-%.64s", member->node->name);
    (void)snprintf(
        hint, sizeof(hint),
        "member '%.64s' of this run is already running: stop it first",
        member->node->name);
    return cli_instance_lock(member->model->checkpoint.path, name, hint,
                             &member->lock, error);
}

static skn_status_t
draw_incarnation(cli_member_t *member, skn_error_t *error)
{
    if (getrandom(&member->incarnation, sizeof(member->incarnation), 0) < 0)
        return skn_fail(error, SKN_UNAVAILABLE, "cannot get random numbers: %s",
                        strerror(errno));
    member->incarnation >>= 12; /* fits a number in JSON */
    return SKN_OK;
}

static skn_status_t
open_all(cli_member_t *member, skn_error_t *error)
{
    member->wait_s = MEMBER_WAIT_S;
    member->grace_s = GRACE_S_DEFAULT;
    skn_status_t status =
        cli_count(member->call, "wait", CLI_WAIT_S_MAX, &member->wait_s, error);
    if (status == SKN_OK)
        status = cli_count(member->call, "grace", CLI_WAIT_S_MAX,
                           &member->grace_s, error);
    if (status == SKN_OK)
        status = cli_count(member->call, "patience", CLI_WAIT_S_MAX,
                           &(uint32_t){ 0 }, error);
    if (status == SKN_OK)
        status = cli_requeue_check(member->call, error);
    if (status == SKN_OK)
        status = find_node(member, error);
    if (status != SKN_OK)
        return status;
    (void)snprintf(member->folder, sizeof(member->folder), "%s/%s",
                   member->model->checkpoint.path, member->node->name);
    member->settings = skn_settings_text(member->model, error);
    status = member->settings ? draw_incarnation(member, error) : error->status;
    if (status == SKN_OK)
        status = open_reach(member, error);
    if (status == SKN_OK)
        status = be_alone(member, error);
    return status == SKN_OK ? open_line(member, error) : status;
}

static bool
rest(cli_member_t *member, skn_error_t *error)
{
    skn_control_close(&member->control); /* no answer means absent */
    return cli_member_rest(member->call, member->model, &member->stop,
                           member->leash, error);
}

/* Begins as after a restart: the coordinator has given up the earlier
 * incarnation, or has itself ended because the run is over. */
static skn_status_t
start_again(cli_member_t *member, skn_error_t *error)
{
    cli_worker_fini(&member->worker);
    cli_worker_init(&member->worker);
    skn_keys_destroy(&member->own);
    member->has_ended = false;
    member->connected = member->ever_connected = member->greeted = false;
    member->leaving = member->over = member->resting = false;
    member->run_done = false;
    member->opened_ns = skn_monotonic_ns();
    member->pulse_ns = member->pulse_count = member->lease_ns = 0;
    member->saved_told = member->misses = 0;
    skn_reachability_seek(member->probe, 0);
    skn_status_t status = draw_incarnation(member, error);
    return status == SKN_OK ? open_line(member, error) : status;
}

static void
serve_and_rest(cli_member_t *member)
{
    skn_error_t error = { 0 };
    serve(member);
    while (may_return(member) && rest(member, &error) &&
           start_again(member, &error) == SKN_OK)
        serve(member);
    if (error.status != SKN_OK && member->error.status == SKN_OK)
        member->error = error;
}

static void
close_all(cli_member_t *member)
{
    skn_control_close(&member->control);
    skn_reachability_destroy(&member->probe);
    cli_worker_fini(&member->worker);
    skn_keys_destroy(&member->own);
    skn_model_destroy(&member->model);
    free(member->settings);
    cli_stop_close(&member->stop);
    skn_folder_lock_close(&member->lock);
}

static int
member_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    const char *overrides[CLI_VALUES_MAX];
    skn_problems_t *problems = skn_problems_new(&error);
    cli_member_t *member = calloc(1, sizeof(*member));
    int code;
    if (!member || !problems) {
        (void)skn_fail(&error, SKN_NO_MEMORY, "no memory for a member");
        free(member);
        skn_problems_destroy(&problems);
        return cli_report(call, &error);
    }
    member->call = call;
    member->lock = -1;
    member->leash = cli_flag(call, "leash");
    member->opened_ns = skn_monotonic_ns();
    cli_worker_init(&member->worker);
    cli_bar_init(&member->bar, call);
    member->stop = (cli_stop_t){ .json = call->json,
                                 .doing = "handing over the state of this node",
                                 .insisting = "quit without handing over",
                                 .leashed = member->leash };
    cli_output_outlive();
    skn_status_t status = cli_stop_open(&member->stop, &error);
    if (status == SKN_OK)
        status = skn_model_read(call->operands[1], overrides,
                                cli_overrides(call, overrides), &member->model,
                                problems, &error);
    if (status == SKN_OK)
        status = open_all(member, &error);
    if (skn_problems_count(problems) > 0) {
        code = cli_report_problems(call, problems);
    } else if (status != SKN_OK) {
        code = cli_report(call, &error);
    } else {
        serve_and_rest(member);
        cli_bar_hide(&member->bar);
        bool done = member->run_done || member->worker.done;
        code = cli_member_end(call, done, member->reason, &member->stop,
                              &member->error);
    }
    close_all(member);
    free(member);
    skn_problems_destroy(&problems);
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
