/* member.c - takes part in a run for a host: its options, its end, and the
 * thread that does the work.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/member.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/abi.h"
#include "topology/cluster/participant.h"
#include "topology/cluster/party.h"

/* The structs of the first version end with these members. */
#define MEMBER_OPTIONS_MIN                                                     \
    (offsetof(skn_member_options_t, progress) + sizeof(bool))
#define MEMBER_INFO_MIN                                                        \
    (offsetof(skn_member_info_t, is_connected) + sizeof(bool))

#define MEMBER_NOUN "the member"
#define PROGRAM_DEFAULT "skein"

struct skn_member {
    skn_party_t party; /* its queue's mutex guards the next two */
    uint64_t generation;
    bool is_connected;
    const char *node, *program;
    uint32_t wait_s, grace_s, patience_s;
    bool progress;
    skn_training_idle_t idle;
    skn_participant_t *participant; /* of the thread, once it has begun */
};

static skn_status_t
check(const skn_member_t *member, const char *function, skn_error_t *error)
{
    return skn_task_check(member ? &member->party.task : NULL, MEMBER_NOUN,
                          function, error);
}

/* --- new and destroy ------------------------------------------------------ */

static skn_status_t
copy_options(skn_member_t *member, const skn_member_options_t *options,
             skn_error_t *error)
{
    const char **texts[] = { &member->node, &member->program };
    const char *const *none = NULL;
    member->wait_s = options->wait_s;
    member->grace_s = options->grace_s;
    member->patience_s = options->patience_s;
    member->progress = options->progress;
    if (!options->node || !options->node[0])
        return skn_fail(error, SKN_USAGE,
                        "the member's options have no name of a node");
    member->node = options->node;
    member->program = options->program && options->program[0] ? options->program
                                                              : PROGRAM_DEFAULT;
    return skn_task_own(&member->party.task, texts, 2, &none, 0, error);
}

skn_member_t *
skn_member_new(const skn_member_options_t *options, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (skn_abi_check_grown(
            "the member's options", options ? options->struct_bytes : 0,
            MEMBER_OPTIONS_MIN, sizeof(*options), error) != SKN_OK)
        return NULL;
    skn_member_t *member = calloc(1, sizeof(*member));
    if (!member) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a member");
        return NULL;
    }
    skn_status_t status =
        skn_party_init(&member->party, MEMBER_NOUN, options->path,
                       options->overrides, options->override_count, error);
    if (status == SKN_OK)
        status = copy_options(member, options, error);
    if (status != SKN_OK)
        skn_member_destroy(&member);
    return member;
}

void
skn_member_destroy(skn_member_t **destroyed)
{
    skn_member_t *member = destroyed ? *destroyed : NULL;
    if (!member)
        return;
    *destroyed = NULL;
    if (check(member, "", NULL) != SKN_OK)
        return; /* its thread, sockets and worker are the other process's */
    skn_member_stop(member);
    (void)skn_task_wait(&member->party.task, NULL);
    skn_participant_close(&member->participant);
    skn_party_fini(&member->party);
    free(member);
}

/* --- the thread ----------------------------------------------------------- */

static void
note(skn_party_t *party)
{
    skn_member_t *member = (skn_member_t *)party; /* its first member */
    if (!member->participant)
        return;
    (void)pthread_mutex_lock(&member->party.task.queue.mutex);
    member->generation = skn_participant_generation(member->participant);
    member->is_connected = skn_participant_is_connected(member->participant);
    (void)pthread_mutex_unlock(&member->party.task.queue.mutex);
}

static void *
thread_main(void *argument)
{
    skn_member_t *member = argument;
    skn_party_t *party = &member->party;
    skn_participant_t *participant = member->participant;
    uint64_t orders = 0;
    while (orders < SKN_PARTY_BREAK && skn_participant_works(participant)) {
        skn_participant_wait(participant, party->task.orders);
        orders = skn_task_orders(&party->task);
        if (orders > 0)
            skn_participant_leave(participant);
        if (orders < SKN_PARTY_BREAK)
            skn_participant_turn(participant);
        note(party);
    }
    party->is_ending = true;
    (void)skn_participant_finish(participant, &party->task.failure);
    note(party);
    /* This frees the node for another member, before the events end. */
    skn_participant_close(&member->participant);
    skn_party_end(party);
    return NULL;
}

/* --- the start ------------------------------------------------------------ */

static void
keep_idle(skn_member_t *member)
{
    const skn_model_idle_t *idle = &member->party.model->idle;
    member->idle = (skn_training_idle_t){
        .enabled = idle->enabled,
        .reserve_cores = idle->reserve_cores,
        .share = idle->share,
        .memory = idle->memory,
        .grace_s = idle->grace_s,
        .notice_every_s = idle->notice.every_s,
        .notice_file = idle->notice.file,
        .notice_command = idle->notice.command,
    };
}

static skn_status_t
open_part(void *job, bool *is_done, skn_error_t *error)
{
    skn_member_t *member = job;
    const skn_participant_options_t options = {
        .party = &member->party,
        .node = member->node,
        .program = member->program,
        .wait_s = member->wait_s,
        .grace_s = member->grace_s,
        .patience_s = member->patience_s,
        .progress = member->progress,
    };
    (void)is_done;
    keep_idle(member);
    member->party.note = note;
    member->participant = skn_participant_open(&options, error);
    return member->participant ? SKN_OK : error->status;
}

static void
close_part(void *job)
{
    skn_member_t *member = job;
    skn_participant_close(&member->participant);
}

skn_status_t
skn_member_start(skn_member_t *member, skn_error_t *error)
{
    const skn_party_start_t start = { open_part, close_part, thread_main,
                                      member };
    skn_status_t status = check(member, "skn_member_start", error);
    return status == SKN_OK ? skn_party_begin(&member->party, &start, error)
                            : status;
}

/* --- while it runs -------------------------------------------------------- */

int
skn_member_fd(const skn_member_t *member)
{
    return member ? member->party.task.queue.descriptor : -1;
}

skn_status_t
skn_member_event(skn_member_t *member, int timeout_ms, char *line,
                 size_t line_bytes, skn_error_t *error)
{
    skn_status_t status = check(member, "skn_member_event", error);
    return status == SKN_OK ? skn_task_event(&member->party.task, timeout_ms,
                                             line, line_bytes, error)
                            : status;
}

void
skn_member_leave(skn_member_t *member)
{
    if (check(member, "", NULL) == SKN_OK)
        skn_task_order(&member->party.task, SKN_PARTY_LEAVE);
}

void
skn_member_stop(skn_member_t *member)
{
    if (check(member, "", NULL) == SKN_OK)
        skn_task_order(&member->party.task, SKN_PARTY_BREAK);
}

skn_status_t
skn_member_wait(skn_member_t *member, skn_error_t *error)
{
    skn_status_t status = check(member, "skn_member_wait", error);
    return status == SKN_OK ? skn_task_wait(&member->party.task, error)
                            : status;
}

skn_status_t
skn_member_info(skn_member_t *member, skn_member_info_t *info,
                skn_error_t *error)
{
    skn_status_t status = check(member, "skn_member_info", error);
    if (status == SKN_OK)
        status = skn_abi_check_grown("the member's info",
                                     info ? info->struct_bytes : 0,
                                     MEMBER_INFO_MIN, sizeof(*info), error);
    if (status != SKN_OK)
        return status;
    skn_party_t *party = &member->party;
    const skn_model_t *model = party->model;
    uint32_t bytes = info->struct_bytes;
    skn_member_info_t found = {
        .struct_bytes = bytes,
        .name = model ? model->name : "",
        .address = model ? model->coordinator.address : "",
        .idle = model ? &member->idle : NULL,
        .event_bytes = skn_line_queue_bytes(&party->task.queue),
    };
    (void)pthread_mutex_lock(&party->task.queue.mutex);
    found.works = party->works;
    found.is_connected = party->works && member->is_connected;
    found.generation = party->works ? member->generation : 0;
    (void)pthread_mutex_unlock(&party->task.queue.mutex);
    memcpy(info, &found, bytes);
    return SKN_OK;
}
