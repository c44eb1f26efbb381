/* member.c - skein member: runs one machine's part of an elastic run.
 *
 *     coordinator ──orders──▶ member ──fork, exec──▶ skein node NAME FILE ...
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
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/elastic/admission.h"
#include "cli/base/instance_lock.h"
#include "cli/base/events.h"
#include "cli/elastic/member_end.h"
#include "cli/elastic/member_rest.h"
#include "cli/elastic/member_worker.h"
#include "cli/base/process.h"
#include "cli/base/stop.h"
#include "cli/base/control_messages.h"
#include "cli/base/verbs.h"
#include "formats/folder/folder_lock.h"
#include "formats/text/json_text.h"
#include "topology/elastic/membership.h"
#include "topology/run/model_run.h"
#include "topology/config/problems.h"
#include "topology/model/settings.h"
#include "transport/socket/clock.h"
#include "transport/socket/reachability.h"

#define MEMBER_TICK_MS 100
/* The time to wait for the coordinator at the start. */
#define MEMBER_WAIT_S 120u
/* The time of notice, if --grace does not set it. */
#define GRACE_S_DEFAULT 25u
/* The time for a worker to end after the end of the run. */
#define MEMBER_FAREWELL_NS (15 * SKN_SECOND_NS)

/* A node that only itself can test counts as missed so long after the end. */
#define UNTRIED_NS (5 * SKN_SECOND_NS)

/* Pulses that may be in flight; an answer to an older one renews no lease. */
#define PULSES 32u
/* After so many pulses, the last end and all else that holds are repeated. */
#define ENDED_PULSES 4u

typedef struct client {
    const cli_call_t *call;
    skn_model_t *model;
    const skn_model_node_t *node;
    skn_keys_t *own;
    skn_control_t *control;
    cli_worker_t worker;
    char folder[SKN_TEXT_MAX + SKN_NAME_MAX + 2]; /* run folder of this node */
    uint64_t incarnation;
    char *settings; /* settings that the coordinator compares */
    bool connected, ever_connected, leash;
    bool greeted;       /* the coordinator has our hello */
    bool leaving, over; /* leaving: on notice; over: dismissed */
    bool run_done;      /* dismissed because the run is done */
    const char *reason; /* why it leaves if the run is not done */
    bool resting;       /* leaves to return memory, and comes back */
    cli_stop_t stop;
    int lock;
    uint64_t opened_ns, pulse_ns, leave_ns, over_ns, saved_told;
    /* When pulse k was sent, at k % PULSES; and the end of the lease. */
    uint64_t pulse_count, sent_ns[PULSES], lease_ns;
    uint32_t wait_s, grace_s;
    json_t *ended;     /* the last `ended`, until the next start */
    skn_error_t fault; /* our own failure, until the next start */
    skn_reachability_t *probe;
    uint64_t misses;   /* nodes that our worker did not hear */
    bool has_missed;   /* misses were sent: repeat even an empty set */
    uint64_t ended_ns; /* when the worker ended */
    cli_bar_t bar;
    skn_error_t error;
} client_t;

static bool
say(client_t *member, json_t *message)
{
    skn_error_t nothing = { 0 };
    return cli_control_send(member->control, 0, message, &nothing) == SKN_OK;
}

/* --- messages to the coordinator ----------------------------------------- */

static uint64_t
runs(const client_t *member)
{
    return member->worker.node.process > 0 ? member->worker.generation : 0;
}

static void
say_misses(client_t *member)
{
    (void)say(member, json_pack("{ss so}", "say", "misses", "nodes",
                                cli_node_names(member->model, member->misses)));
}

/* While a worker runs, it knows which nodes it hears; later, we dial these. */
static void
look_for_others(client_t *member)
{
    const cli_worker_t *worker = &member->worker;
    uint64_t misses = member->misses;
    if (cli_worker_lives(worker)) {
        misses = worker->misses;
    } else if (misses && member->probe) {
        uint64_t undialled = skn_model_undialled(member->model);
        skn_reachability_seek(member->probe, misses & ~undialled);
        misses &= ~skn_reachability_found(member->probe);
        if (skn_monotonic_ns() - member->ended_ns >= UNTRIED_NS)
            misses &= ~undialled;
    }
    if (misses == member->misses)
        return;
    if (cli_worker_lives(worker) && member->probe)
        skn_reachability_seek(member->probe, 0);
    member->misses = misses;
    member->has_missed = true;
    say_misses(member);
}

/* Reports the nodes that were missed at the end, before the end itself. */
static void
keep_misses(client_t *member)
{
    const cli_worker_t *worker = &member->worker;
    uint64_t misses = worker->node.failed ? worker->misses : 0;
    member->ended_ns = skn_monotonic_ns();
    if (misses == member->misses)
        return;
    member->misses = misses;
    member->has_missed = true;
    say_misses(member);
}

/* Repeats what an earlier coordinator process was sent. An open connection may
 * accept nothing for a moment. */
static void
say_hello(client_t *member)
{
    member->greeted =
        say(member, json_pack("{ss si sI sI sI si ss}", "say", "hello",
                              "version", CLI_CONTROL_VERSION, "incarnation",
                              (json_int_t)member->incarnation, "generation",
                              (json_int_t)runs(member), "newest",
                              (json_int_t)member->worker.generation, "cores",
                              (int)skn_model_cores_count(&member->node->cores),
                              "settings", member->settings));
    if (member->greeted && member->has_missed)
        say_misses(member);
    if (member->greeted && member->ended)
        (void)say(member, json_incref(member->ended));
    if (member->greeted && member->leaving)
        (void)say(member, json_pack("{ss}", "say", "leaving"));
}

static void
say_pulse(client_t *member, bool now)
{
    uint64_t time_ns = skn_monotonic_ns();
    cli_worker_t *worker = &member->worker;
    if (!now && time_ns - member->pulse_ns < SKN_MEMBER_PULSE_MS * 1000000ull)
        return;
    member->pulse_ns = time_ns;
    if (!member->greeted)
        say_hello(member);
    member->sent_ns[++member->pulse_count % PULSES] = time_ns;
    cli_worker_look(worker);
    (void)say(
        member,
        json_pack("{ss sI sI sI sI sI sI sI sI sI sI}", "say", "pulse", "pulse",
                  (json_int_t)member->pulse_count, "generation",
                  (json_int_t)runs(member), "batch", (json_int_t)worker->batch,
                  "worked", (json_int_t)worker->generation, "busy_ns",
                  (json_int_t)worker->busy_ns, "cpu_ns",
                  (json_int_t)(worker->cpu_before_ns + worker->cpu_ns),
                  "sent_bytes",
                  (json_int_t)(worker->sent_before_bytes + worker->sent_bytes),
                  "load_us", (json_int_t)worker->load_us, "load_at_us",
                  (json_int_t)worker->load_at_us, "room_bytes",
                  (json_int_t)cli_control_room_bytes(member->folder)));
    /* Everything is repeated: a connection that breaks loses what is on it. */
    bool again = member->pulse_count % ENDED_PULSES == 0;
    if (member->has_missed && again)
        say_misses(member);
    if (member->ended && again)
        (void)say(member, json_incref(member->ended));
    if (member->leaving && again)
        (void)say(member, json_pack("{ss}", "say", "leaving"));
    if (worker->saved_batch > member->saved_told)
        member->fault.status = SKN_OK;
    else if (worker->saved_batch == 0 || !again)
        return;
    member->saved_told = worker->saved_batch;
    (void)say(member, json_pack("{ss sI sI}", "say", "saved", "generation",
                                (json_int_t)worker->generation, "batch",
                                (json_int_t)member->saved_told));
}

/* Prints a line for people about the state of this node. */
__attribute__((format(printf, 2, 3))) static void
tell(client_t *member, const char *format, ...)
{
    va_list arguments;
    if (member->call->json)
        return;
    cli_bar_hide(&member->bar);
    va_start(arguments, format);
    (void)printf("%s ", member->node->name);
    (void)skn_text_print_list(stdout, format, arguments);
    (void)putchar('\n');
    va_end(arguments);
    (void)fflush(stdout);
}

/* Whether it is a failure of its own and not the echo of another member's. */
static bool
is_fault(const skn_error_t *error)
{
    return error->status != SKN_OK && !skn_membership_is_echo(error);
}

/* Prints our own failure: no other process may print it on this machine. */
static void
tell_failure(const client_t *member, const skn_error_t *error)
{
    if (!member->call->json && is_fault(error))
        cli_warn(member->call, error->text, error->hint);
}

/* Prints a line, or the event `part`, for logs of several members. */
static void
tell_part(client_t *member, const char *how)
{
    tell(member, "%s generation %" PRIu64,
         strcmp(how, "begins") == 0             ? "takes part in"
         : strcmp(how, "failed") != 0           ? "is through with"
         : is_fault(&member->worker.node.error) ? "fails in"
                                                : "breaks off its part in",
         member->worker.generation);
    if (!member->call->json)
        return;
    (void)printf("{\"event\":\"part\",\"node\":\"%s\",\"generation\":%" PRIu64
                 ",\"how\":\"%s\"}\n",
                 member->node->name, member->worker.generation, how);
    (void)fflush(stdout);
}

static void
say_ended(client_t *member)
{
    const cli_worker_t *worker = &member->worker;
    json_t *message = json_pack(
        "{ss sI ss si ss ss}", "say", "ended", "generation",
        (json_int_t)worker->generation, "how", cli_worker_ending(worker),
        "code", skn_status_exit_code(worker->node.error.status), "text",
        worker->node.error.text, "hint", worker->node.error.hint);
    if (!worker->node.failed)
        member->fault.status = SKN_OK;
    else if (is_fault(&worker->node.error))
        member->fault = worker->node.error;
    say_pulse(member, true); /* reports what it saved, first */
    keep_misses(member);
    tell_part(member, cli_worker_ending(worker));
    tell_failure(member, &worker->node.error);
    json_decref(member->ended);
    member->ended = message;
    (void)say(member, json_incref(message));
}

/* --- orders -------------------------------------------------------------- */

/* Renews the lease: it lasts for a time from the sending of the pulse on. */
static void
take_heard(client_t *member, uint64_t pulse)
{
    if (pulse == 0 || pulse > member->pulse_count ||
        member->pulse_count - pulse >= PULSES)
        return;
    uint64_t lease_ns =
        member->sent_ns[pulse % PULSES] + SKN_MEMBER_LEASE_MS * 1000000ull;
    if (lease_ns > member->lease_ns)
        member->lease_ns = lease_ns;
    cli_worker_feed(&member->worker, member->lease_ns);
}

static void
refuse_part(client_t *member, uint64_t generation, const skn_error_t *error)
{
    member->worker.generation = generation;
    member->worker.node.error = *error;
    member->worker.node.failed = true;
    say_ended(member);
}

static void
begin(client_t *member, const json_t *order)
{
    skn_error_t error = { 0 };
    uint64_t generation = cli_control_number(order, "generation");
    if (generation <= member->worker.generation)
        return; /* from a former coordinator */
    if (skn_monotonic_ns() >= member->lease_ns)
        return; /* it may be outdated; if not, it is repeated */
    cli_worker_kill(&member->worker);
    json_decref(member->ended);
    member->ended = NULL;
    member->fault.status = SKN_OK; /* forgiven by this start */
    member->saved_told = 0;
    const cli_worker_start_t start = {
        .call = member->call,
        .model = member->model,
        .node = member->node,
        .folder = member->folder,
        .bar = &member->bar,
    };
    if (cli_worker_begin(&member->worker, &start, order, &error) == SKN_OK) {
        cli_worker_feed(&member->worker, member->lease_ns);
        tell_part(member, "begins");
        return;
    }
    refuse_part(member, generation, &error);
}

static void
take_order(client_t *member, const json_t *order)
{
    const char *what = skn_json_word(order, "order");
    skn_error_t error = { 0 };
    if (strcmp(what, "heard") == 0) {
        take_heard(member, cli_control_number(order, "pulse"));
    } else if (strcmp(what, "who") == 0) {
        member->greeted = false;
    } else if (strcmp(what, "ask") == 0) {
        json_t *holds =
            cli_holds(member->folder, json_object_get(order, "known"), &error);
        if (!holds) {
            cli_warn(member->call, error.text, error.hint);
            holds = json_pack("{ss s[]}", "say", "holds", "checkpoints");
        }
        (void)say(member, holds);
    } else if (strcmp(what, "start") == 0) {
        begin(member, order);
    } else if (strcmp(what, "pause") == 0) {
        if (cli_control_number(order, "generation") == runs(member))
            cli_up_stop(&member->worker.node);
    } else if (strcmp(what, "abort") == 0) {
        if (json_is_true(json_object_get(order, "cut")))
            cli_worker_break(&member->worker);
        else
            cli_worker_kill(&member->worker);
    } else if (strcmp(what, "refused") == 0) {
        cli_admission_refused(order, &member->error);
    } else if (strcmp(what, "bye") == 0) {
        if (member->fault.status == SKN_OK &&
            cli_control_number(order, "code") > 0)
            cli_control_error(order, &member->fault);
        member->over = true;
        member->over_ns = skn_monotonic_ns();
        member->run_done = strcmp(skn_json_word(order, "how"), "done") == 0;
        if (!member->leaving)
            member->reason = cli_member_reason(order);
        cli_up_stop(&member->worker.node);
    }
}

static void
refuse(client_t *member)
{
    if (member->ever_connected)
        return; /* the coordinator may come back as it was */
    (void)skn_fail(&member->error, SKN_NO_PERMISSION,
                   "the coordinator at %s does not let this node in",
                   member->model->coordinator.address);
    (void)skn_fail_hint(&member->error, SKN_NO_PERMISSION,
                        "its file must list node '%.64s' with the key %.200s; "
                        "and is %.200s the coordinator's?",
                        member->node->name, member->node->key,
                        member->model->coordinator.key);
}

static void
take_arrivals(client_t *member)
{
    skn_control_arrival_t arrival;
    while (skn_control_take(member->control, &arrival)) {
        skn_error_t error = { 0 };
        json_t *order = NULL;
        switch (arrival.kind) {
        case SKN_CONTROL_CONNECTED:
            tell(member, "is in line with the coordinator at %s",
                 member->model->coordinator.address);
            member->connected = member->ever_connected = true;
            member->greeted = false;
            say_pulse(member, true);
            break;
        case SKN_CONTROL_LOST:
            if (member->connected && !member->over)
                tell(member, "has lost the coordinator, and dials it again");
            member->connected = false;
            break;
        case SKN_CONTROL_REFUSED:
            refuse(member);
            break;
        default:
            order = cli_control_read(arrival.frame, &error);
            if (order)
                take_order(member, order);
            json_decref(order);
        }
    }
}

/* --- leaving ------------------------------------------------------------- */

static void
leave(client_t *member, const char *reason)
{
    if (member->leaving)
        return;
    member->leaving = true;
    member->reason = reason;
    tell(member, "hands over what it has, and leaves");
    member->leave_ns = skn_monotonic_ns();
    if (member->connected)
        (void)say(member, json_pack("{ss}", "say", "leaving"));
    else
        member->over = true; /* there is no peer to hand over to */
}

/* Whether the member may come back: it returned its memory, handed over or used
 * up its grace, no end was requested, and the run is not over. */
static bool
may_return(const client_t *member)
{
    return member->resting && !member->stop.asked_by &&
           !member->worker.noticed && !member->worker.done &&
           member->error.status == SKN_OK;
}

static void
take_signals(client_t *member)
{
    if (cli_stop_take(&member->stop) != CLI_STOP_NOTHING)
        leave(member, "signal");
}

static void
take_leash(client_t *member)
{
    if (!cli_leash_is_gone())
        return;
    member->leash = member->resting = false;
    leave(member, "leash");
}

/* Whether the member has nothing left to do. */
static bool
is_over(client_t *member)
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
see_to_lease(client_t *member)
{
    if (!cli_worker_lives(&member->worker) || member->over ||
        skn_monotonic_ns() < member->lease_ns)
        return;
    cli_worker_kill(&member->worker);
    cli_warn(member->call, "nothing is heard of the coordinator: we pause",
             "the run goes on when it is back");
}

static void
serve(client_t *member)
{
    tell(member, "looks for the coordinator at %s",
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
            say_ended(member);
        if (!member->leaving && cli_output_unread())
            leave(member, "unread");
        look_for_others(member);
        if (member->connected)
            say_pulse(member, false);
    }
    cli_worker_kill(&member->worker);
    /* The run is over, or continues without us because of our own fault. */
    if (member->over && !member->stop.asked_by && !member->leaving &&
        member->error.status == SKN_OK)
        member->error = member->fault;
}

/* --- opening ------------------------------------------------------------- */

static skn_status_t
find_node(client_t *member, skn_error_t *error)
{
    const skn_model_t *model = member->model;
    const char *name = member->call->operands[0];
    if (!model->coordinator.address[0])
        return skn_fail_hint(error,
                             skn_fail(error, SKN_USAGE,
                                      "%s names no coordinator",
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
                         "its nodes stand under nodes:, such as %s",
                         model->nodes[0].name);
}

static skn_status_t
open_line(client_t *member, skn_error_t *error)
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
    member->control = cli_control_dial(member->call, &line, error);
    return member->control ? SKN_OK : error->status;
}

static skn_status_t
open_reach(client_t *member, skn_error_t *error)
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
be_alone(client_t *member, skn_error_t *error)
{
    char name[SKN_NAME_MAX + 16], hint[SKN_NAME_MAX + 80];
    (void)snprintf(name, sizeof(name), ".member-%.64s", member->node->name);
    (void)snprintf(hint, sizeof(hint),
                   "member '%.64s' of this run is there already: end it first",
                   member->node->name);
    return cli_instance_lock(member->model->checkpoint.path, name, hint,
                             &member->lock, error);
}

static skn_status_t
draw_incarnation(client_t *member, skn_error_t *error)
{
    if (getrandom(&member->incarnation, sizeof(member->incarnation), 0) < 0)
        return skn_fail(error, SKN_UNAVAILABLE, "no random bytes: %s",
                        strerror(errno));
    member->incarnation >>= 12; /* fits a number in JSON */
    return SKN_OK;
}

static skn_status_t
open_all(client_t *member, skn_error_t *error)
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
rest(client_t *member, skn_error_t *error)
{
    skn_control_close(&member->control); /* no answer means absent */
    return cli_member_rest(member->call, member->model, &member->stop,
                           member->leash, error);
}

/* Begins as after a restart: the coordinator has given up the earlier
 * incarnation, or has itself ended because the run is over. */
static skn_status_t
begin_anew(client_t *member, skn_error_t *error)
{
    cli_worker_fini(&member->worker);
    cli_worker_init(&member->worker);
    skn_keys_destroy(&member->own);
    json_decref(member->ended);
    member->ended = NULL;
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
serve_and_rest(client_t *member)
{
    skn_error_t error = { 0 };
    serve(member);
    while (may_return(member) && rest(member, &error) &&
           begin_anew(member, &error) == SKN_OK)
        serve(member);
    if (error.status != SKN_OK && member->error.status == SKN_OK)
        member->error = error;
}

static void
close_all(client_t *member)
{
    skn_control_close(&member->control);
    skn_reachability_destroy(&member->probe);
    cli_worker_fini(&member->worker);
    skn_keys_destroy(&member->own);
    skn_model_destroy(&member->model);
    json_decref(member->ended);
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
    client_t *member = calloc(1, sizeof(*member));
    int code;
    if (!member || !problems) {
        (void)skn_fail(&error, SKN_NO_MEMORY, "no room for a member");
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
                                 .doing = "handing over what this node has",
                                 .insisting = "quit without",
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
    { "wait", 0, "SECONDS", "for the coordinator, at the start (120)" },
    { "grace", 0, "SECONDS", "from SIGTERM to the end, at most (25)" },
    { "patience", 0, "SECONDS",
      "to a marker, when told to pause (2; any, if fixed)" },
    { "leash", 0, NULL, "leave when standard input ends" },
    CLI_REQUEUE_OPTION,
    { "progress", 0, NULL, "tell how far the run is, five times a second" },
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
        "or Ctrl-C it hands over what it has and ends; killed, it may be\n"
        "started again at any time, with its folder or without. See\n"
        "docs/tasks/elastic.md.",
    .run = member_run,
};
