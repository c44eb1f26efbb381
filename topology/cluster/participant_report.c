/* participant_report.c - what a participant reports: messages to the
 * coordinator, and events.  SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "formats/text/json_write.h"
#include "skein/text.h"
#include "topology/cluster/held_list.h"
#include "topology/cluster/participant_internal.h"
#include "transport/socket/clock.h"

/* A node that only itself can test counts as missed so long after the end. */
#define UNTRIED_NS (5 * SKN_SECOND_NS)

/* After so many pulses, the last end and all else that holds are repeated. */
#define REPEAT_PULSES 4u

/* --- messages to the coordinator ------------------------------------------ */

/* Sends a message, if the connection accepts one: whatever matters is repeated
 * with a later pulse. */
static bool
send_message(skn_participant_t *participant,
             const skn_control_message_t *message)
{
    return skn_control_message_send(participant->control, 0, message, NULL) ==
           SKN_OK;
}

uint64_t
skn_participant_generation(const skn_participant_t *participant)
{
    return skn_worker_lives(&participant->worker)
               ? participant->worker.generation
               : 0;
}

static void
send_unreachable(skn_participant_t *participant)
{
    json_t *names =
        skn_control_node_names(participant->model, participant->misses);
    const skn_control_message_t message = { .kind =
                                                SKN_CONTROL_MESSAGE_UNREACHABLE,
                                            .unreachable.nodes = names };
    (void)send_message(participant, &message);
    json_decref(names);
}

void
skn_participant_send_leaving(skn_participant_t *participant)
{
    const skn_control_message_t message = { .kind =
                                                SKN_CONTROL_MESSAGE_LEAVING };
    (void)send_message(participant, &message);
}

static void
send_end(skn_participant_t *participant)
{
    const skn_control_message_t message = { .kind = SKN_CONTROL_MESSAGE_ENDED,
                                            .ended = participant->ended };
    (void)send_message(participant, &message);
}

/* Everything that holds is repeated: a connection that breaks loses what is on
 * it, and another coordinator process knows nothing. */
static void
repeat(skn_participant_t *participant)
{
    if (participant->has_missed)
        send_unreachable(participant);
    if (participant->has_ended)
        send_end(participant);
    if (participant->leaving)
        skn_participant_send_leaving(participant);
}

/* Keeps the set of nodes that were missed, and sends a change of it. */
static void
set_misses(skn_participant_t *participant, uint64_t misses)
{
    if (misses == participant->misses)
        return;
    participant->misses = misses;
    participant->has_missed = true;
    send_unreachable(participant);
}

/* While a worker runs, it knows which nodes it hears; later, we dial these. */
void
skn_participant_check_reach(skn_participant_t *participant)
{
    const skn_worker_t *worker = &participant->worker;
    uint64_t misses = participant->misses;
    if (skn_worker_lives(worker)) {
        misses = worker->misses;
    } else if (misses && participant->probe) {
        uint64_t undialled = skn_model_undialled(participant->model);
        skn_reachability_seek(participant->probe, misses & ~undialled);
        misses &= ~skn_reachability_found(participant->probe);
        if (skn_monotonic_ns() - participant->ended_ns >= UNTRIED_NS)
            misses &= ~undialled;
    }
    if (misses != participant->misses && skn_worker_lives(worker) &&
        participant->probe)
        skn_reachability_seek(participant->probe, 0);
    set_misses(participant, misses);
}

/* Reports the nodes that were missed at the end, before the end itself. */
static void
keep_misses(skn_participant_t *participant)
{
    const skn_worker_t *worker = &participant->worker;
    participant->ended_ns = skn_monotonic_ns();
    set_misses(participant, worker->failed ? worker->misses : 0);
}

/* An open connection may accept nothing for a moment: it is tried again with
 * the next pulse. */
static void
send_hello(skn_participant_t *participant)
{
    const skn_control_message_t message = {
        .kind = SKN_CONTROL_MESSAGE_HELLO,
        .hello = { .version = SKN_CONTROL_VERSION,
                   .incarnation = participant->incarnation,
                   .generation = skn_participant_generation(participant),
                   .newest = participant->worker.generation,
                   .cores = skn_model_cores_count(&participant->node->cores),
                   .settings = participant->compared },
    };
    participant->greeted = send_message(participant, &message);
    if (participant->greeted)
        repeat(participant);
}

static void
send_saved(skn_participant_t *participant, bool again)
{
    const skn_worker_t *worker = &participant->worker;
    if (worker->saved_batch > participant->saved_told)
        participant->fault.status = SKN_OK;
    else if (worker->saved_batch == 0 || !again)
        return;
    participant->saved_told = worker->saved_batch;
    const skn_control_message_t message = {
        .kind = SKN_CONTROL_MESSAGE_SAVED,
        .saved = { .generation = worker->generation,
                   .batch = participant->saved_told },
    };
    (void)send_message(participant, &message);
}

void
skn_participant_pulse(skn_participant_t *participant, bool now)
{
    uint64_t time_ns = skn_monotonic_ns();
    skn_worker_t *worker = &participant->worker;
    if (!now &&
        time_ns - participant->pulse_ns < SKN_MEMBER_PULSE_MS * 1000000ull)
        return;
    participant->pulse_ns = time_ns;
    if (!participant->greeted)
        send_hello(participant);
    participant->sent_ns[++participant->pulse_count % SKN_PULSES_MAX] = time_ns;
    skn_worker_look(worker);
    const skn_control_message_t message = {
        .kind = SKN_CONTROL_MESSAGE_PULSE,
        .pulse = { .pulse = participant->pulse_count,
                   .generation = skn_participant_generation(participant),
                   .batch = worker->batch,
                   .worked = worker->generation,
                   .busy_ns = worker->busy_ns,
                   .cpu_ns = worker->cpu_before_ns + worker->cpu_ns,
                   .sent_bytes = worker->sent_before_bytes + worker->sent_bytes,
                   .load_us = worker->load_us,
                   .load_at_us = worker->load_at_us,
                   .room_bytes = skn_room_bytes(participant->folder) },
    };
    (void)send_message(participant, &message);
    bool again = participant->pulse_count % REPEAT_PULSES == 0;
    if (again)
        repeat(participant);
    send_saved(participant, again);
}

void
skn_participant_send_inventory(skn_participant_t *participant,
                               const json_t *known)
{
    skn_control_message_t message;
    skn_error_t error = { 0 };
    skn_held_list_make(participant->folder, known, &message, &error);
    if (error.status != SKN_OK)
        skn_party_complain(participant->party, 0, error.text, error.hint);
    (void)send_message(participant, &message);
    skn_control_message_fini(&message);
}

/* --- events --------------------------------------------------------------- */

static void
begin_event(const skn_participant_t *participant, const char *name,
            skn_json_text_t *event)
{
    skn_json_text_add(event, "{\"event\":\"%s\",\"node\":", name);
    skn_json_text_add_string(event, participant->node->name);
}

static void
add_text(skn_json_text_t *event, const char *key, const char *text)
{
    skn_json_text_add(event, ",\"%s\":", key);
    skn_json_text_add_string(event, text);
}

static void
end_event(const skn_participant_t *participant, skn_json_text_t *event)
{
    skn_json_text_add(event, "}");
    if (!event->failed)
        skn_party_keep(participant->party, event->bytes);
    skn_json_text_fini(event);
}

void
skn_participant_tell(skn_participant_t *participant, const char *name,
                     const char *key, const char *format, ...)
{
    char text[SKN_ERROR_TEXT_BYTES];
    skn_json_text_t event = { 0 };
    va_list arguments;
    begin_event(participant, name, &event);
    if (key) {
        va_start(arguments, format);
        (void)skn_text_write_list(text, sizeof(text), format, arguments);
        va_end(arguments);
        add_text(&event, key, text);
    }
    end_event(participant, &event);
}

/* Whether it is a failure of its own and not the echo of another member's. */
static bool
is_fault(const skn_error_t *error)
{
    return error->status != SKN_OK && !skn_membership_is_echo(error);
}

/* A failure of our own is in the event: no other process reports it on this
 * machine. */
void
skn_participant_tell_part(skn_participant_t *participant, const char *how)
{
    const skn_worker_t *worker = &participant->worker;
    bool failed = strcmp(how, "failed") == 0;
    skn_json_text_t event = { 0 };
    begin_event(participant, "part", &event);
    skn_json_text_add(&event, ",\"generation\":%" PRIu64, worker->generation);
    add_text(&event, "how", how);
    if (failed && is_fault(&worker->error)) {
        add_text(&event, "message", worker->error.text);
        add_text(&event, "hint", worker->error.hint);
    }
    end_event(participant, &event);
}

void
skn_participant_send_ended(skn_participant_t *participant)
{
    const skn_worker_t *worker = &participant->worker;
    const char *how = skn_worker_ending(worker);
    participant->has_ended = false;
    participant->ended_error = worker->error;
    participant->ended = (skn_control_ended_t){
        .generation = worker->generation,
        .how = how,
        .code = (uint64_t)skn_status_exit_code(worker->error.status),
        .text = participant->ended_error.text,
        .hint = participant->ended_error.hint,
    };
    if (!worker->failed)
        participant->fault.status = SKN_OK;
    else if (is_fault(&worker->error))
        participant->fault = worker->error;
    skn_participant_pulse(participant, true); /* reports what it saved, first */
    keep_misses(participant);
    skn_participant_tell_part(participant, how);
    participant->has_ended = true;
    send_end(participant);
}
