/* coordinator.c - coordinates a run for a host: its options, its end, and the
 * thread that does the work.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/member.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/abi.h"
#include "topology/cluster/coordinating.h"
#include "topology/cluster/party.h"

/* The structs of the first version end with these members. */
#define COORDINATOR_OPTIONS_MIN                                                \
    (offsetof(skn_coordinator_options_t, progress) + sizeof(bool))
#define COORDINATOR_INFO_MIN                                                   \
    (offsetof(skn_coordinator_info_t, was_stopped) + sizeof(bool))

#define COORDINATOR_NOUN "the coordinator"

struct skn_coordinator {
    skn_party_t party; /* its queue's mutex guards `was_stopped` */
    uint32_t wait_s;
    bool progress, was_stopped;
    const char *nodes[SKN_CLUSTER_NODES_MAX];
    skn_coordinating_t *coordinating; /* of the thread, once it has begun */
};

static skn_status_t
check(const skn_coordinator_t *coordinator, const char *function,
      skn_error_t *error)
{
    return skn_task_check(coordinator ? &coordinator->party.task : NULL,
                          COORDINATOR_NOUN, function, error);
}

/* --- new and destroy ------------------------------------------------------ */

skn_coordinator_t *
skn_coordinator_new(const skn_coordinator_options_t *options,
                    skn_error_t *error)
{
    if (skn_abi_check_grown(
            "the coordinator's options", options ? options->struct_bytes : 0,
            COORDINATOR_OPTIONS_MIN, sizeof(*options), error) != SKN_OK)
        return NULL;
    skn_coordinator_t *coordinator = calloc(1, sizeof(*coordinator));
    if (!coordinator) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a coordinator");
        return NULL;
    }
    coordinator->wait_s = options->wait_s;
    coordinator->progress = options->progress;
    if (skn_party_init(&coordinator->party, COORDINATOR_NOUN, options->path,
                       options->overrides, options->override_count,
                       error) != SKN_OK)
        skn_coordinator_destroy(&coordinator);
    return coordinator;
}

void
skn_coordinator_destroy(skn_coordinator_t **destroyed)
{
    skn_coordinator_t *coordinator = destroyed ? *destroyed : NULL;
    if (!coordinator)
        return;
    *destroyed = NULL;
    if (check(coordinator, "", NULL) != SKN_OK)
        return; /* its thread and sockets are in the other process */
    skn_task_order(&coordinator->party.task, SKN_PARTY_BREAK);
    (void)skn_task_wait(&coordinator->party.task, NULL);
    skn_coordinating_close(&coordinator->coordinating);
    skn_party_fini(&coordinator->party);
    free(coordinator);
}

/* --- the thread ----------------------------------------------------------- */

static void
note(skn_party_t *party)
{
    skn_coordinator_t *coordinator =
        (skn_coordinator_t *)party; /* its first member */
    if (!coordinator->coordinating)
        return;
    (void)pthread_mutex_lock(&party->task.queue.mutex);
    coordinator->was_stopped =
        skn_coordinating_was_stopped(coordinator->coordinating);
    (void)pthread_mutex_unlock(&party->task.queue.mutex);
}

static void *
thread_main(void *argument)
{
    skn_coordinator_t *coordinator = argument;
    skn_party_t *party = &coordinator->party;
    skn_coordinating_t *coordinating = coordinator->coordinating;
    uint64_t orders = 0;
    while (orders < SKN_PARTY_BREAK && skn_coordinating_leads(coordinating)) {
        struct pollfd polled = { party->task.orders, POLLIN, 0 };
        skn_coordinating_wait(coordinating, &polled, 1);
        orders = skn_task_orders(&party->task);
        if (orders > 0)
            skn_coordinating_stop(coordinating);
        if (orders < SKN_PARTY_BREAK)
            skn_coordinating_turn(coordinating);
    }
    party->is_ending = true;
    if (skn_coordinating_finish(coordinating, &party->task.failure) != SKN_OK)
        skn_party_complain(party,
                           skn_status_exit_code(party->task.failure.status),
                           party->task.failure.text, party->task.failure.hint);
    skn_party_end(party);
    /* Members have received what they need: this frees the address. */
    coordinator->coordinating = NULL;
    skn_coordinating_close(&coordinating);
    return NULL;
}

/* --- the start ------------------------------------------------------------ */

static skn_status_t
open_run(void *job, bool *is_done, skn_error_t *error)
{
    skn_coordinator_t *coordinator = job;
    const skn_model_t *model = coordinator->party.model;
    const skn_coordinating_options_t options = {
        .wait_s = coordinator->wait_s,
        .progress = coordinator->progress,
        .tell = skn_party_keep,
        .job = &coordinator->party,
    };
    coordinator->party.note = note;
    for (size_t k = 0; k < model->node_count; k++)
        coordinator->nodes[k] = model->nodes[k].name;
    coordinator->coordinating =
        skn_coordinating_open(model, coordinator->party.path, &options, error);
    if (!coordinator->coordinating)
        return error->status;
    *is_done = skn_coordinating_is_done(coordinator->coordinating);
    return SKN_OK;
}

static void
close_run(void *job)
{
    skn_coordinator_t *coordinator = job;
    skn_coordinating_close(&coordinator->coordinating);
}

skn_status_t
skn_coordinator_start(skn_coordinator_t *coordinator, skn_error_t *error)
{
    const skn_party_start_t start = { open_run, close_run, thread_main,
                                      coordinator };
    skn_status_t status = check(coordinator, "skn_coordinator_start", error);
    return status == SKN_OK
               ? skn_party_begin(&coordinator->party, &start, error)
               : status;
}

/* --- while it runs -------------------------------------------------------- */

int
skn_coordinator_fd(const skn_coordinator_t *coordinator)
{
    return coordinator ? coordinator->party.task.queue.descriptor : -1;
}

skn_status_t
skn_coordinator_event(skn_coordinator_t *coordinator, int timeout_ms,
                      char *line, size_t line_bytes, skn_error_t *error)
{
    skn_status_t status = check(coordinator, "skn_coordinator_event", error);
    return status == SKN_OK
               ? skn_task_event(&coordinator->party.task, timeout_ms, line,
                                line_bytes, error)
               : status;
}

void
skn_coordinator_stop(skn_coordinator_t *coordinator)
{
    if (check(coordinator, "", NULL) == SKN_OK)
        skn_task_order(&coordinator->party.task, SKN_PARTY_LEAVE);
}

skn_status_t
skn_coordinator_wait(skn_coordinator_t *coordinator, skn_error_t *error)
{
    skn_status_t status = check(coordinator, "skn_coordinator_wait", error);
    return status == SKN_OK ? skn_task_wait(&coordinator->party.task, error)
                            : status;
}

skn_status_t
skn_coordinator_info(skn_coordinator_t *coordinator,
                     skn_coordinator_info_t *info, skn_error_t *error)
{
    skn_status_t status = check(coordinator, "skn_coordinator_info", error);
    if (status == SKN_OK)
        status = skn_abi_check_grown(
            "the coordinator's info", info ? info->struct_bytes : 0,
            COORDINATOR_INFO_MIN, sizeof(*info), error);
    if (status != SKN_OK)
        return status;
    skn_party_t *party = &coordinator->party;
    const skn_model_t *model = party->model;
    uint32_t bytes = info->struct_bytes;
    skn_coordinator_info_t found = {
        .struct_bytes = bytes,
        .node_count = model ? (uint32_t)model->node_count : 0,
        .nodes = coordinator->nodes,
        .name = model ? model->name : "",
        .address = model ? model->coordinator.address : "",
        .event_bytes = skn_line_queue_bytes(&party->task.queue),
    };
    (void)pthread_mutex_lock(&party->task.queue.mutex);
    found.leads = party->works;
    found.was_stopped = coordinator->was_stopped;
    (void)pthread_mutex_unlock(&party->task.queue.mutex);
    memcpy(info, &found, bytes);
    return SKN_OK;
}
