/* member_report.c - what a member reports: messages to the coordinator, and
 * lines for people.  SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/base/process.h"
#include "cli/control/held_list.h"
#include "cli/member/member_internal.h"
#include "transport/socket/clock.h"

/* A node that only itself can test counts as missed so long after the end. */
#define UNTRIED_NS (5 * SKN_SECOND_NS)

/* After so many pulses, the last end and all else that holds are repeated. */
#define REPEAT_PULSES 4u

/* --- messages to the coordinator ------------------------------------------ */

bool
cli_client_send(cli_client_t *client, const cli_control_message_t *message)
{
    return cli_control_send(client->control, 0, message, NULL) == SKN_OK;
}

uint64_t
cli_client_generation(const cli_client_t *client)
{
    return client->worker.node.process > 0 ? client->worker.generation : 0;
}

static void
send_unreachable(cli_client_t *client)
{
    json_t *names = cli_node_names(client->model, client->misses);
    const cli_control_message_t message = { .kind = CLI_CONTROL_UNREACHABLE,
                                            .unreachable.nodes = names };
    (void)cli_client_send(client, &message);
    json_decref(names);
}

void
cli_client_send_leaving(cli_client_t *client)
{
    const cli_control_message_t message = { .kind = CLI_CONTROL_LEAVING };
    (void)cli_client_send(client, &message);
}

static void
send_end(cli_client_t *client)
{
    const cli_control_message_t message = { .kind = CLI_CONTROL_ENDED,
                                            .ended = client->ended };
    (void)cli_client_send(client, &message);
}

/* Everything that holds is repeated: a connection that breaks loses what is on
 * it, and another coordinator process knows nothing. */
static void
repeat(cli_client_t *client)
{
    if (client->has_missed)
        send_unreachable(client);
    if (client->has_ended)
        send_end(client);
    if (client->leaving)
        cli_client_send_leaving(client);
}

/* Keeps the set of nodes that were missed, and sends a change of it. */
static void
set_misses(cli_client_t *client, uint64_t misses)
{
    if (misses == client->misses)
        return;
    client->misses = misses;
    client->has_missed = true;
    send_unreachable(client);
}

/* While a worker runs, it knows which nodes it hears; later, we dial these. */
void
cli_client_check_reach(cli_client_t *client)
{
    const cli_worker_t *worker = &client->worker;
    uint64_t misses = client->misses;
    if (cli_worker_lives(worker)) {
        misses = worker->misses;
    } else if (misses && client->probe) {
        uint64_t undialled = skn_model_undialled(client->model);
        skn_reachability_seek(client->probe, misses & ~undialled);
        misses &= ~skn_reachability_found(client->probe);
        if (skn_monotonic_ns() - client->ended_ns >= UNTRIED_NS)
            misses &= ~undialled;
    }
    if (misses != client->misses && cli_worker_lives(worker) && client->probe)
        skn_reachability_seek(client->probe, 0);
    set_misses(client, misses);
}

/* Reports the nodes that were missed at the end, before the end itself. */
static void
keep_misses(cli_client_t *client)
{
    const cli_worker_t *worker = &client->worker;
    client->ended_ns = skn_monotonic_ns();
    set_misses(client, worker->node.failed ? worker->misses : 0);
}

/* An open connection may accept nothing for a moment: it is tried again with
 * the next pulse. */
static void
send_hello(cli_client_t *client)
{
    const cli_control_message_t message = {
        .kind = CLI_CONTROL_HELLO,
        .hello = { .version = CLI_CONTROL_VERSION,
                   .incarnation = client->incarnation,
                   .generation = cli_client_generation(client),
                   .newest = client->worker.generation,
                   .cores = skn_model_cores_count(&client->node->cores),
                   .settings = client->settings },
    };
    client->greeted = cli_client_send(client, &message);
    if (client->greeted)
        repeat(client);
}

static void
send_saved(cli_client_t *client, bool again)
{
    const cli_worker_t *worker = &client->worker;
    if (worker->saved_batch > client->saved_told)
        client->fault.status = SKN_OK;
    else if (worker->saved_batch == 0 || !again)
        return;
    client->saved_told = worker->saved_batch;
    const cli_control_message_t message = {
        .kind = CLI_CONTROL_SAVED,
        .saved = { .generation = worker->generation,
                   .batch = client->saved_told },
    };
    (void)cli_client_send(client, &message);
}

void
cli_client_pulse(cli_client_t *client, bool now)
{
    uint64_t time_ns = skn_monotonic_ns();
    cli_worker_t *worker = &client->worker;
    if (!now && time_ns - client->pulse_ns < SKN_MEMBER_PULSE_MS * 1000000ull)
        return;
    client->pulse_ns = time_ns;
    if (!client->greeted)
        send_hello(client);
    client->sent_ns[++client->pulse_count % CLI_PULSES_MAX] = time_ns;
    cli_worker_look(worker);
    const cli_control_message_t message = {
        .kind = CLI_CONTROL_PULSE,
        .pulse = { .pulse = client->pulse_count,
                   .generation = cli_client_generation(client),
                   .batch = worker->batch,
                   .worked = worker->generation,
                   .busy_ns = worker->busy_ns,
                   .cpu_ns = worker->cpu_before_ns + worker->cpu_ns,
                   .sent_bytes = worker->sent_before_bytes + worker->sent_bytes,
                   .load_us = worker->load_us,
                   .load_at_us = worker->load_at_us,
                   .room_bytes = cli_room_bytes(client->folder) },
    };
    (void)cli_client_send(client, &message);
    bool again = client->pulse_count % REPEAT_PULSES == 0;
    if (again)
        repeat(client);
    send_saved(client, again);
}

void
cli_client_send_inventory(cli_client_t *client, const json_t *known)
{
    cli_control_message_t message;
    skn_error_t error = { 0 };
    cli_held_list_make(client->folder, known, &message, &error);
    if (error.status != SKN_OK)
        cli_warn(client->call, error.text, error.hint);
    (void)cli_client_send(client, &message);
    cli_control_message_fini(&message);
}

/* --- lines for people ----------------------------------------------------- */

void
cli_client_print(cli_client_t *client, const char *format, ...)
{
    va_list arguments;
    if (client->call->json)
        return;
    cli_bar_hide(&client->bar);
    va_start(arguments, format);
    (void)printf("%s ", client->node->name);
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
print_failure(const cli_client_t *client, const skn_error_t *error)
{
    if (!client->call->json && is_fault(error))
        cli_warn(client->call, error->text, error->hint);
}

void
cli_client_print_part(cli_client_t *client, const char *how)
{
    cli_client_print(client, "%s generation %" PRIu64,
                     strcmp(how, "begins") == 0             ? "starts"
                     : strcmp(how, "failed") != 0           ? "has ended"
                     : is_fault(&client->worker.node.error) ? "has failed in"
                                                            : "has broken off",
                     client->worker.generation);
    if (!client->call->json)
        return;
    (void)printf("{\"event\":\"part\",\"node\":\"%s\",\"generation\":%" PRIu64
                 ",\"how\":\"%s\"}\n",
                 client->node->name, client->worker.generation, how);
    (void)fflush(stdout);
}

void
cli_client_send_ended(cli_client_t *client)
{
    const cli_worker_t *worker = &client->worker;
    const char *how = cli_worker_ending(worker);
    client->has_ended = false;
    client->ended_error = worker->node.error;
    client->ended = (cli_ended_t){
        .generation = worker->generation,
        .how = how,
        .code = (uint64_t)skn_status_exit_code(worker->node.error.status),
        .text = client->ended_error.text,
        .hint = client->ended_error.hint,
    };
    if (!worker->node.failed)
        client->fault.status = SKN_OK;
    else if (is_fault(&worker->node.error))
        client->fault = worker->node.error;
    cli_client_pulse(client, true); /* reports what it saved, first */
    keep_misses(client);
    cli_client_print_part(client, how);
    print_failure(client, &worker->node.error);
    client->has_ended = true;
    send_end(client);
}
