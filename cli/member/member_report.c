/* member_report.c - what a member reports: messages to the coordinator, and
 * lines for people.  SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/base/process.h"
#include "topology/cluster/held_list.h"
#include "cli/member/member_internal.h"
#include "transport/socket/clock.h"

/* A node that only itself can test counts as missed so long after the end. */
#define UNTRIED_NS (5 * SKN_SECOND_NS)

/* After so many pulses, the last end and all else that holds are repeated. */
#define REPEAT_PULSES 4u

/* --- messages to the coordinator ------------------------------------------ */

bool
cli_member_send(cli_member_t *member, const skn_control_message_t *message)
{
    return skn_control_message_send(member->control, 0, message, NULL) ==
           SKN_OK;
}

uint64_t
cli_member_generation(const cli_member_t *member)
{
    return member->worker.node.process > 0 ? member->worker.generation : 0;
}

static void
send_unreachable(cli_member_t *member)
{
    json_t *names = skn_control_node_names(member->model, member->misses);
    const skn_control_message_t message = { .kind =
                                                SKN_CONTROL_MESSAGE_UNREACHABLE,
                                            .unreachable.nodes = names };
    (void)cli_member_send(member, &message);
    json_decref(names);
}

void
cli_member_send_leaving(cli_member_t *member)
{
    const skn_control_message_t message = { .kind =
                                                SKN_CONTROL_MESSAGE_LEAVING };
    (void)cli_member_send(member, &message);
}

static void
send_end(cli_member_t *member)
{
    const skn_control_message_t message = { .kind = SKN_CONTROL_MESSAGE_ENDED,
                                            .ended = member->ended };
    (void)cli_member_send(member, &message);
}

/* Everything that holds is repeated: a connection that breaks loses what is on
 * it, and another coordinator process knows nothing. */
static void
repeat(cli_member_t *member)
{
    if (member->has_missed)
        send_unreachable(member);
    if (member->has_ended)
        send_end(member);
    if (member->leaving)
        cli_member_send_leaving(member);
}

/* Keeps the set of nodes that were missed, and sends a change of it. */
static void
set_misses(cli_member_t *member, uint64_t misses)
{
    if (misses == member->misses)
        return;
    member->misses = misses;
    member->has_missed = true;
    send_unreachable(member);
}

/* While a worker runs, it knows which nodes it hears; later, we dial these. */
void
cli_member_check_reach(cli_member_t *member)
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
    if (misses != member->misses && cli_worker_lives(worker) && member->probe)
        skn_reachability_seek(member->probe, 0);
    set_misses(member, misses);
}

/* Reports the nodes that were missed at the end, before the end itself. */
static void
keep_misses(cli_member_t *member)
{
    const cli_worker_t *worker = &member->worker;
    member->ended_ns = skn_monotonic_ns();
    set_misses(member, worker->node.failed ? worker->misses : 0);
}

/* An open connection may accept nothing for a moment: it is tried again with
 * the next pulse. */
static void
send_hello(cli_member_t *member)
{
    const skn_control_message_t message = {
        .kind = SKN_CONTROL_MESSAGE_HELLO,
        .hello = { .version = SKN_CONTROL_VERSION,
                   .incarnation = member->incarnation,
                   .generation = cli_member_generation(member),
                   .newest = member->worker.generation,
                   .cores = skn_model_cores_count(&member->node->cores),
                   .settings = member->settings },
    };
    member->greeted = cli_member_send(member, &message);
    if (member->greeted)
        repeat(member);
}

static void
send_saved(cli_member_t *member, bool again)
{
    const cli_worker_t *worker = &member->worker;
    if (worker->saved_batch > member->saved_told)
        member->fault.status = SKN_OK;
    else if (worker->saved_batch == 0 || !again)
        return;
    member->saved_told = worker->saved_batch;
    const skn_control_message_t message = {
        .kind = SKN_CONTROL_MESSAGE_SAVED,
        .saved = { .generation = worker->generation,
                   .batch = member->saved_told },
    };
    (void)cli_member_send(member, &message);
}

void
cli_member_pulse(cli_member_t *member, bool now)
{
    uint64_t time_ns = skn_monotonic_ns();
    cli_worker_t *worker = &member->worker;
    if (!now && time_ns - member->pulse_ns < SKN_MEMBER_PULSE_MS * 1000000ull)
        return;
    member->pulse_ns = time_ns;
    if (!member->greeted)
        send_hello(member);
    member->sent_ns[++member->pulse_count % CLI_PULSES_MAX] = time_ns;
    cli_worker_look(worker);
    const skn_control_message_t message = {
        .kind = SKN_CONTROL_MESSAGE_PULSE,
        .pulse = { .pulse = member->pulse_count,
                   .generation = cli_member_generation(member),
                   .batch = worker->batch,
                   .worked = worker->generation,
                   .busy_ns = worker->busy_ns,
                   .cpu_ns = worker->cpu_before_ns + worker->cpu_ns,
                   .sent_bytes = worker->sent_before_bytes + worker->sent_bytes,
                   .load_us = worker->load_us,
                   .load_at_us = worker->load_at_us,
                   .room_bytes = skn_room_bytes(member->folder) },
    };
    (void)cli_member_send(member, &message);
    bool again = member->pulse_count % REPEAT_PULSES == 0;
    if (again)
        repeat(member);
    send_saved(member, again);
}

void
cli_member_send_inventory(cli_member_t *member, const json_t *known)
{
    skn_control_message_t message;
    skn_error_t error = { 0 };
    skn_held_list_make(member->folder, known, &message, &error);
    if (error.status != SKN_OK)
        cli_warn(member->call, error.text, error.hint);
    (void)cli_member_send(member, &message);
    skn_control_message_fini(&message);
}

/* --- lines for people ----------------------------------------------------- */

void
cli_member_print(cli_member_t *member, const char *format, ...)
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
print_failure(const cli_member_t *member, const skn_error_t *error)
{
    if (!member->call->json && is_fault(error))
        cli_warn(member->call, error->text, error->hint);
}

void
cli_member_print_part(cli_member_t *member, const char *how)
{
    cli_member_print(member, "%s generation %" PRIu64,
                     strcmp(how, "begins") == 0             ? "starts"
                     : strcmp(how, "failed") != 0           ? "has ended"
                     : is_fault(&member->worker.node.error) ? "has failed in"
                                                            : "has broken off",
                     member->worker.generation);
    if (!member->call->json)
        return;
    (void)printf("{\"event\":\"part\",\"node\":\"%s\",\"generation\":%" PRIu64
                 ",\"how\":\"%s\"}\n",
                 member->node->name, member->worker.generation, how);
    (void)fflush(stdout);
}

void
cli_member_send_ended(cli_member_t *member)
{
    const cli_worker_t *worker = &member->worker;
    const char *how = cli_worker_ending(worker);
    member->has_ended = false;
    member->ended_error = worker->node.error;
    member->ended = (skn_control_ended_t){
        .generation = worker->generation,
        .how = how,
        .code = (uint64_t)skn_status_exit_code(worker->node.error.status),
        .text = member->ended_error.text,
        .hint = member->ended_error.hint,
    };
    if (!worker->node.failed)
        member->fault.status = SKN_OK;
    else if (is_fault(&worker->node.error))
        member->fault = worker->node.error;
    cli_member_pulse(member, true); /* reports what it saved, first */
    keep_misses(member);
    cli_member_print_part(member, how);
    print_failure(member, &worker->node.error);
    member->has_ended = true;
    send_end(member);
}
