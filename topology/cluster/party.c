/* party.c - what coordinators and members have in common beside their task: a
 * config, a start, and events that never block their thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/party.h"

#include "formats/text/json_write.h"
#include "topology/cluster/coordinating.h"
#include "topology/config/problems.h"
#include "transport/socket/process_mark.h"

/* --- init and fini -------------------------------------------------------- */

skn_status_t
skn_party_init(skn_party_t *party, const char *noun, const char *path,
               const char *const *overrides, uint32_t override_count,
               skn_error_t *error)
{
    const char **texts[] = { &party->path };
    skn_status_t status = skn_task_init(&party->task, noun, error);
    /* A child shares the descriptor of the orders, even before the start. */
    atomic_store(&party->task.process, skn_process_mark());
    if (status == SKN_OK && (!path || !path[0]))
        status = skn_fail(error, SKN_USAGE,
                          "%s's options have no path of a config", noun);
    party->path = path;
    party->overrides = overrides;
    party->override_count = override_count;
    return status == SKN_OK
               ? skn_task_own(&party->task, texts, 1, &party->overrides,
                              override_count, error)
               : status;
}

void
skn_party_fini(skn_party_t *party)
{
    skn_model_destroy(&party->model);
    skn_task_fini(&party->task);
}

/* --- events --------------------------------------------------------------- */

void
skn_party_keep(void *job, const char *line)
{
    skn_party_t *party = job;
    if (party->note)
        party->note(party);
    if (party->is_ending ||
        skn_line_queue_count(&party->task.queue) < SKN_EVENTS_MAX)
        skn_line_queue_put(&party->task.queue, line);
}

void
skn_party_complain(skn_party_t *party, int code, const char *message,
                   const char *hint)
{
    const skn_coordinating_options_t options = { .tell = skn_party_keep,
                                                 .job = party };
    skn_coordinating_complain(&options, code, message, hint);
}

void
skn_party_end(skn_party_t *party)
{
    (void)pthread_mutex_lock(&party->task.queue.mutex);
    party->works = false;
    (void)pthread_mutex_unlock(&party->task.queue.mutex);
    skn_line_queue_end(&party->task.queue);
}

/* --- the start ------------------------------------------------------------ */

static skn_status_t
read_config(skn_party_t *party, skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    skn_json_text_t event = { 0 };
    if (!problems)
        return error->status;
    skn_status_t status =
        skn_model_read(party->path, party->overrides, party->override_count,
                       &party->model, problems, error);
    party->is_ending = status != SKN_OK;
    for (size_t k = 0; skn_problems_write_event(problems, k, &event); k++) {
        if (!event.failed)
            skn_party_keep(party, event.bytes);
        skn_json_text_fini(&event);
    }
    if (skn_problems_count(problems) > 0)
        (void)skn_problems_error(problems, error);
    skn_problems_destroy(&problems);
    return status;
}

skn_status_t
skn_party_begin(skn_party_t *party, const skn_party_start_t *start,
                skn_error_t *error)
{
    skn_error_t own = { 0 };
    bool is_done = false;
    if (!error)
        error = &own;
    if (party->has_begun)
        return skn_fail(error, SKN_USAGE, "%s was started already",
                        party->task.noun);
    party->has_begun = true;
    skn_status_t status = read_config(party, error);
    bool is_told = status == SKN_BAD_CONFIG;
    if (status == SKN_OK)
        status = start->open(start->job, &is_done, error);
    party->works = status == SKN_OK && !is_done;
    if (party->works)
        status = skn_task_start(&party->task, start->run, start->job, error);
    if (status == SKN_OK && !is_done)
        return SKN_OK;
    party->is_ending = true;
    if (status != SKN_OK)
        party->task.failure = *error;
    if (status != SKN_OK && !is_told)
        skn_party_complain(party, skn_status_exit_code(status), error->text,
                           error->hint);
    start->close(start->job);
    skn_party_end(party);
    return status;
}
