/* participant.c - one machine's part in an elastic run: follows the
 * coordinator's messages, and starts a worker for each generation.
 *
 *     coordinator ─messages─▶ participant ──starts──▶ skein node NAME FILE ...
 *                 ◀─messages─             ◀──events── (one a generation)
 *
 * It holds the machine's own run folder. The worker does all the work and
 * ends with the participant; while the coordinator is away, it continues for
 * the time of its lease.  SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/participant.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "formats/folder/folder_lock.h"
#include "skein/member.h"
#include "topology/cluster/participant_internal.h"
#include "topology/model/settings.h"
#include "transport/socket/clock.h"

#define TICK_MS 100
/* The time to wait for the coordinator at the start. */
#define MEMBER_WAIT_S 120u
/* The time of notice. */
#define MEMBER_GRACE_S 25u
/* The time for a worker to end after the end of the run. */
#define FAREWELL_NS (15 * SKN_SECOND_NS)
/* The time to wait for the lock: a process that was killed may still be
 * exiting. */
#define LOCK_MS 2000u

/* --- messages of the coordinator ----------------------------------------- */

/* Renews the lease: it lasts for a time from the sending of the pulse on. */
static void
take_acknowledge(skn_participant_t *participant,
                 const skn_control_message_t *message)
{
    uint64_t pulse = message->acknowledge.pulse;
    if (pulse == 0 || pulse > participant->pulse_count ||
        participant->pulse_count - pulse >= SKN_PULSES_MAX)
        return;
    uint64_t lease_ns = participant->sent_ns[pulse % SKN_PULSES_MAX] +
                        SKN_MEMBER_LEASE_MS * 1000000ull;
    if (lease_ns > participant->lease_ns)
        participant->lease_ns = lease_ns;
    skn_worker_feed(&participant->worker, participant->lease_ns);
}

static void
refuse_part(skn_participant_t *participant, uint64_t generation,
            const skn_error_t *error)
{
    participant->worker.generation = generation;
    participant->worker.error = *error;
    participant->worker.failed = true;
    skn_participant_send_ended(participant);
}

static void
take_start(skn_participant_t *participant, const skn_control_message_t *message)
{
    skn_error_t error = { 0 };
    uint64_t generation = message->start.generation;
    if (generation <= participant->worker.generation)
        return; /* from a former coordinator */
    if (skn_monotonic_ns() >= participant->lease_ns)
        return; /* it may be outdated; if not, it is repeated */
    skn_worker_kill(&participant->worker);
    participant->has_ended = false;
    participant->fault.status = SKN_OK; /* forgiven by this start */
    participant->saved_told = 0;
    if (skn_worker_begin(&participant->worker, &message->start, &error) ==
        SKN_OK) {
        skn_worker_feed(&participant->worker, participant->lease_ns);
        skn_participant_tell_part(participant, "begins");
        return;
    }
    refuse_part(participant, generation, &error);
}

static void
take_identify(skn_participant_t *participant,
              const skn_control_message_t *message)
{
    (void)message;
    participant->greeted = false;
}

static void
take_list(skn_participant_t *participant, const skn_control_message_t *message)
{
    skn_participant_send_inventory(participant, message->list.known);
}

static void
take_pause(skn_participant_t *participant, const skn_control_message_t *message)
{
    if (message->pause.generation == skn_participant_generation(participant))
        skn_worker_stop(&participant->worker);
}

static void
take_abort(skn_participant_t *participant, const skn_control_message_t *message)
{
    if (message->abort.salvage)
        skn_worker_break(&participant->worker);
    else
        skn_worker_kill(&participant->worker);
}

static void
take_refuse(skn_participant_t *participant,
            const skn_control_message_t *message)
{
    const skn_control_refuse_t *refuse = &message->refuse;
    skn_control_message_error(refuse->code, refuse->text, refuse->hint,
                              &participant->error);
    if (participant->error.status == SKN_OK)
        participant->error.status = SKN_BAD_CONFIG;
}

/* Why a `dismiss` with that `how` ends a member that did not ask to leave. */
static const char *
reason_of(const char *how)
{
    return strcmp(how, "stopped") == 0  ? "stopped"
           : strcmp(how, "failed") == 0 ? "failed"
                                        : "sent";
}

static void
take_dismiss(skn_participant_t *participant,
             const skn_control_message_t *message)
{
    const skn_control_dismiss_t *dismiss = &message->dismiss;
    if (participant->fault.status == SKN_OK && dismiss->code > 0)
        skn_control_message_error(dismiss->code, dismiss->text, dismiss->hint,
                                  &participant->fault);
    participant->over = true;
    participant->over_ns = skn_monotonic_ns();
    participant->run_done = strcmp(dismiss->how, "done") == 0;
    if (!participant->leaving)
        participant->reason = reason_of(dismiss->how);
    skn_worker_stop(&participant->worker);
}

static void
take_message(skn_participant_t *participant, skn_frame_t frame)
{
    static void (*const take[SKN_CONTROL_MESSAGE_KINDS])(
        skn_participant_t *, const skn_control_message_t *) = {
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
            take[message.kind](participant, &message);
    } else if (!participant->complained) {
        participant->complained = true; /* once a connection */
        skn_party_complain(participant->party, 0, error.text, error.hint);
    }
    skn_control_message_fini(&message);
}

static void
refuse(skn_participant_t *participant)
{
    if (participant->ever_connected)
        return; /* the coordinator may come back as it was */
    (void)skn_fail(&participant->error, SKN_NO_PERMISSION,
                   "the coordinator at %s refused this node",
                   participant->model->coordinator.address);
    (void)skn_fail_hint(
        &participant->error, SKN_NO_PERMISSION,
        "the coordinator's file must list node '%.64s' with the key %.200s, "
        "and the coordinator's own key must be %.200s",
        participant->node->name, participant->node->key,
        participant->model->coordinator.key);
}

static void
take_arrivals(skn_participant_t *participant)
{
    skn_control_arrival_t arrival;
    while (skn_control_take(participant->control, &arrival)) {
        switch (arrival.kind) {
        case SKN_CONTROL_CONNECTED:
            skn_participant_tell(participant, "member", "text",
                                 "is connected to the coordinator at %s",
                                 participant->model->coordinator.address);
            participant->connected = participant->ever_connected = true;
            participant->greeted = participant->complained = false;
            skn_participant_pulse(participant, true);
            break;
        case SKN_CONTROL_LOST:
            if (participant->connected && !participant->over)
                skn_participant_tell(
                    participant, "member", "text",
                    "has lost the coordinator and is reconnecting");
            participant->connected = false;
            break;
        case SKN_CONTROL_REFUSED:
            refuse(participant);
            break;
        default:
            take_message(participant, arrival.frame);
        }
    }
}

/* --- leaving ------------------------------------------------------------- */

static void
leave(skn_participant_t *participant, const char *reason)
{
    bool already = participant->leaving;
    /* Only what leaves for want of memory may come back: any other reason
     * replaces that one. */
    if (already && strcmp(participant->reason, "memory") != 0)
        return;
    participant->leaving = true;
    participant->reason = reason;
    if (already)
        return;
    skn_participant_tell(participant, "member", "text",
                         "hands over its state and leaves");
    participant->leave_ns = skn_monotonic_ns();
    if (participant->connected)
        skn_participant_send_leaving(participant);
    else
        participant->over = true; /* there is no peer to hand over to */
}

void
skn_participant_leave(skn_participant_t *participant)
{
    leave(participant, "asked");
}

bool
skn_participant_works(skn_participant_t *participant)
{
    uint64_t time_ns = skn_monotonic_ns();
    bool idle = !skn_worker_lives(&participant->worker);
    if (participant->error.status != SKN_OK)
        return false;
    if (participant->over)
        return !idle && time_ns - participant->over_ns < FAREWELL_NS;
    if (participant->leaving &&
        time_ns - participant->leave_ns >= participant->grace_s * SKN_SECOND_NS)
        return false;
    if (participant->ever_connected ||
        time_ns - participant->opened_ns < participant->wait_s * SKN_SECOND_NS)
        return true;
    (void)skn_fail(&participant->error, SKN_UNAVAILABLE,
                   "no coordinator answers at %s",
                   participant->model->coordinator.address);
    (void)skn_fail_hint(&participant->error, SKN_UNAVAILABLE,
                        "start `skein coordinator %.200s` there",
                        participant->party->path);
    return false;
}

/* Kills a worker that outlives its lease, on its way to a marker. */
static void
see_to_lease(skn_participant_t *participant)
{
    if (!skn_worker_lives(&participant->worker) || participant->over ||
        skn_monotonic_ns() < participant->lease_ns)
        return;
    skn_worker_kill(&participant->worker);
    skn_party_complain(
        participant->party, 0,
        "lost contact with the coordinator; pausing until it answers",
        "the run continues when the coordinator is back");
}

void
skn_participant_wait(skn_participant_t *participant, int orders)
{
    struct pollfd polled[1 + SKN_WORKER_POLLED] = { { orders, POLLIN, 0 } };
    skn_worker_process_polled(&participant->worker.process, polled + 1);
    skn_control_wait(participant->control, polled, 1 + SKN_WORKER_POLLED,
                     TICK_MS);
}

void
skn_participant_turn(skn_participant_t *participant)
{
    const skn_worker_t *worker = &participant->worker;
    take_arrivals(participant);
    see_to_lease(participant);
    bool ended = skn_worker_turn(&participant->worker);
    if (worker->noticed || (worker->crowded && !participant->leaving))
        leave(participant, worker->noticed ? "notice" : "memory");
    if (worker->signalled)
        leave(participant, "signal");
    if (ended)
        skn_participant_send_ended(participant);
    skn_participant_check_reach(participant);
    if (participant->connected)
        skn_participant_pulse(participant, false);
}

skn_status_t
skn_participant_finish(skn_participant_t *participant, skn_error_t *error)
{
    skn_worker_kill(&participant->worker);
    /* The run is over, or continues without us because of our own fault. */
    if (participant->over && !participant->leaving &&
        participant->error.status == SKN_OK)
        participant->error = participant->fault;
    skn_status_t status = participant->error.status;
    if (status != SKN_OK)
        skn_party_complain(participant->party, skn_status_exit_code(status),
                           participant->error.text, participant->error.hint);
    if (status == SKN_OK && (participant->run_done || participant->worker.done))
        skn_participant_tell(participant, "over", NULL, "%s", "");
    else
        skn_participant_tell(participant, "left", "reason", "%s",
                             status != SKN_OK ? "failed" : participant->reason);
    if (status != SKN_OK)
        *error = participant->error;
    return status;
}

/* --- opening ------------------------------------------------------------- */

static skn_status_t
find_node(skn_participant_t *participant, const char *name, skn_error_t *error)
{
    const skn_model_t *model = participant->model;
    const char *path = participant->party->path;
    if (!model->coordinator.address[0])
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE, "%.400s has no coordinator", path),
            "give its address under coordinator:; without one, a node is "
            "started by `skein node`");
    if (!model->checkpoint.path[0])
        return skn_fail_hint(error,
                             skn_fail(error, SKN_USAGE,
                                      "a member needs a folder for its part of "
                                      "the run"),
                             "set checkpoint.path=FOLDER");
    for (size_t k = 0; k < model->node_count; k++)
        if (strcmp(model->nodes[k].name, name) == 0)
            participant->node = &model->nodes[k];
    if (participant->node)
        return SKN_OK;
    return skn_fail_hint(error,
                         skn_fail(error, SKN_USAGE, "%s has no node '%.64s'",
                                  model->source, name),
                         "its nodes are listed under nodes:, such as %s",
                         model->nodes[0].name);
}

static void
warn_of_host(const skn_participant_t *participant, const char *address)
{
    char text[SKN_ERROR_TEXT_BYTES];
    (void)snprintf(text, sizeof(text),
                   "the coordinator's host name in %.300s cannot be resolved",
                   address);
    skn_party_complain(participant->party, 0, text,
                       "check its spelling; skein resolves it again");
}

static skn_status_t
open_line(skn_participant_t *participant, skn_error_t *error)
{
    char server_key[SKN_KEY_TEXT_BYTES] = "";
    const skn_model_coordinator_t *coordinator =
        &participant->model->coordinator;
    skn_status_t status = SKN_OK;
    if (coordinator->key[0])
        status = skn_key_load_public(coordinator->key, server_key, error);
    if (status == SKN_OK && participant->node->key[0]) {
        participant->own = skn_keys_load(participant->node->key, error);
        status = participant->own ? SKN_OK : error->status;
    }
    if (status != SKN_OK)
        return status;
    skn_control_options_t line = {
        .address = coordinator->address,
        .keys = participant->own,
        .server_key = server_key,
    };
    participant->control = skn_control_dial(&line, error);
    if (participant->control && skn_control_is_unknown(participant->control))
        warn_of_host(participant, coordinator->address);
    return participant->control ? SKN_OK : error->status;
}

static skn_status_t
open_reach(skn_participant_t *participant, skn_error_t *error)
{
    const skn_model_t *model = participant->model;
    const char *address[SKN_CLUSTER_NODES_MAX];
    assert(model->node_count <= SKN_CLUSTER_NODES_MAX);
    uint32_t count = (uint32_t)model->node_count;
    for (uint32_t k = 0; k < count; k++)
        address[k] = model->nodes[k].address;
    participant->probe = skn_reachability_new(address, count, error);
    return participant->probe ? SKN_OK : error->status;
}

/* Two members of a name would displace each other again and again. */
static skn_status_t
be_alone(skn_participant_t *participant, skn_error_t *error)
{
    char path[sizeof(participant->folder) + sizeof("/.member-")];
    int descriptor = -1;
    (void)snprintf(path, sizeof(path), "%s/.member-%.64s",
                   participant->model->checkpoint.path,
                   participant->node->name);
    skn_status_t status = skn_folder_create(path, &descriptor, error);
    if (status != SKN_OK)
        return status;
    status = skn_folder_lock_open(descriptor, path, LOCK_MS, &participant->lock,
                                  error);
    (void)close(descriptor);
    return status == SKN_BUSY
               ? skn_fail_hint(error, status,
                               "member '%.64s' of this run is already running: "
                               "stop it first",
                               participant->node->name)
               : status;
}

static skn_status_t
draw_incarnation(skn_participant_t *participant, skn_error_t *error)
{
    if (getrandom(&participant->incarnation, sizeof(participant->incarnation),
                  0) < 0)
        return skn_fail(error, SKN_UNAVAILABLE, "cannot get random numbers: %s",
                        strerror(errno));
    participant->incarnation >>= 12; /* fits a number in JSON */
    return SKN_OK;
}

static skn_status_t
open_all(skn_participant_t *participant, const char *node, skn_error_t *error)
{
    if (strcmp(participant->party->path, "-") == 0)
        return skn_fail(error, SKN_USAGE,
                        "the config of a member must be a file: its workers "
                        "read it, too");
    skn_status_t status = find_node(participant, node, error);
    if (status != SKN_OK)
        return status;
    (void)snprintf(participant->folder, sizeof(participant->folder), "%s/%s",
                   participant->model->checkpoint.path,
                   participant->node->name);
    participant->settings.node = participant->node;
    participant->compared = skn_settings_text(participant->model, error);
    status = participant->compared ? draw_incarnation(participant, error)
                                   : error->status;
    if (status == SKN_OK)
        status = open_reach(participant, error);
    if (status == SKN_OK)
        status = be_alone(participant, error);
    return status == SKN_OK ? open_line(participant, error) : status;
}

skn_participant_t *
skn_participant_open(const skn_participant_options_t *options,
                     skn_error_t *error)
{
    skn_participant_t *participant = calloc(1, sizeof(*participant));
    if (!participant) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a member");
        return NULL;
    }
    participant->party = options->party;
    participant->model = options->party->model;
    participant->wait_s = options->wait_s > 0 ? options->wait_s : MEMBER_WAIT_S;
    participant->grace_s =
        options->grace_s > 0 ? options->grace_s : MEMBER_GRACE_S;
    participant->reason = "asked";
    participant->lock = -1;
    participant->opened_ns = skn_monotonic_ns();
    participant->settings = (skn_worker_settings_t){
        .party = options->party,
        .folder = participant->folder,
        .program = options->program,
        .patience_s = options->patience_s,
        .progress = options->progress,
    };
    skn_worker_init(&participant->worker, &participant->settings);
    if (open_all(participant, options->node, error) != SKN_OK)
        skn_participant_close(&participant);
    else
        skn_participant_tell(participant, "member", "text",
                             "is connecting to the coordinator at %s",
                             participant->model->coordinator.address);
    return participant;
}

void
skn_participant_close(skn_participant_t **closed)
{
    skn_participant_t *participant = *closed;
    if (!participant)
        return;
    *closed = NULL;
    skn_control_close(&participant->control);
    skn_reachability_destroy(&participant->probe);
    skn_worker_kill(&participant->worker);
    skn_worker_fini(&participant->worker);
    skn_keys_destroy(&participant->own);
    skn_folder_lock_close(&participant->lock);
    free(participant->compared);
    free(participant);
}

const char *
skn_participant_folder(const skn_participant_t *participant)
{
    return participant->folder;
}

bool
skn_participant_is_connected(const skn_participant_t *participant)
{
    return participant->connected;
}
