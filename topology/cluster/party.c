/* party.c - the half of a coordinator or a member that faces its host: the
 * config, orders, events and the thread that does the work.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/party.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "formats/text/json_write.h"
#include "formats/text/system_error.h"
#include "topology/cluster/coordinating.h"
#include "topology/config/problems.h"
#include "transport/socket/process_mark.h"
#include "transport/socket/thread_start.h"

/* --- init and fini -------------------------------------------------------- */

static bool
copy_config(skn_party_t *party, const char *path, const char *const *overrides,
            uint32_t count)
{
    party->path = strdup(path);
    party->overrides = calloc((size_t)count + 1, sizeof(*party->overrides));
    if (!party->path || !party->overrides)
        return false;
    for (; party->override_count < count; party->override_count++) {
        char *copy = strdup(overrides[party->override_count]);
        if (!copy)
            return false;
        party->overrides[party->override_count] = copy;
    }
    return true;
}

skn_status_t
skn_party_init(skn_party_t *party, const char *noun, const char *path,
               const char *const *overrides, uint32_t override_count,
               skn_error_t *error)
{
    party->noun = noun;
    party->process = skn_process_mark();
    party->orders = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    skn_status_t status = skn_line_queue_init(&party->queue, noun, error);
    if (status == SKN_OK && party->orders < 0)
        status = skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                               "cannot create a descriptor for orders");
    if (status == SKN_OK && (!path || !path[0]))
        status = skn_fail(error, SKN_USAGE,
                          "%s's options have no path of a config", noun);
    for (uint32_t k = 0; k < override_count && status == SKN_OK; k++)
        if (!overrides || !overrides[k])
            status = skn_fail(error, SKN_USAGE, "override %u is NULL", k);
    if (status == SKN_OK &&
        !copy_config(party, path, overrides, override_count))
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for %s", noun);
    return status;
}

void
skn_party_fini(skn_party_t *party)
{
    skn_model_destroy(&party->model);
    skn_line_queue_fini(&party->queue);
    if (party->orders >= 0)
        (void)close(party->orders);
    for (uint32_t k = 0; k < party->override_count; k++)
        free(party->overrides[k]);
    free(party->overrides);
    free(party->path);
}

skn_status_t
skn_party_check(const skn_party_t *party, const char *noun,
                const char *function, skn_error_t *error)
{
    if (!party)
        return skn_fail(error, SKN_USAGE, "%s: %s is NULL", function, noun);
    return skn_process_check(party->process, function, noun, error);
}

/* --- orders and events ---------------------------------------------------- */

void
skn_party_order(const skn_party_t *party, uint64_t order)
{
    int saved = errno;
    ssize_t written = write(party->orders, &order, sizeof(order));
    (void)written; /* it is full after 2^32 orders to break: never */
    errno = saved;
}

uint64_t
skn_party_orders(const skn_party_t *party)
{
    uint64_t orders = 0;
    ssize_t bytes = read(party->orders, &orders, sizeof(orders));
    return bytes == (ssize_t)sizeof(orders) ? orders : 0;
}

void
skn_party_keep(void *job, const char *line)
{
    skn_party_t *party = job;
    if (party->is_ending ||
        skn_line_queue_count(&party->queue) < SKN_EVENTS_MAX)
        skn_line_queue_put(&party->queue, line);
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
    (void)pthread_mutex_lock(&party->queue.mutex);
    party->works = false;
    (void)pthread_mutex_unlock(&party->queue.mutex);
    skn_line_queue_end(&party->queue);
}

skn_status_t
skn_party_event(skn_party_t *party, int timeout_ms, char *line,
                size_t line_bytes, skn_error_t *error)
{
    return skn_line_queue_take(&party->queue,
                               party->was_started ? timeout_ms : 0, line,
                               line ? line_bytes : 0, error);
}

skn_status_t
skn_party_wait(skn_party_t *party, skn_error_t *error)
{
    if (party->has_thread)
        (void)pthread_join(party->thread, NULL);
    party->has_thread = false;
    if (error && party->failure.status != SKN_OK)
        *error = party->failure;
    return party->failure.status;
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
        skn_model_read(party->path, (const char *const *)party->overrides,
                       party->override_count, &party->model, problems, error);
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

static skn_status_t
start_thread(skn_party_t *party, const skn_party_start_t *start,
             skn_error_t *error)
{
    party->works = true;
    int refused =
        skn_thread_start(&party->thread, NULL, start->run, start->job);
    party->has_thread = refused == 0;
    if (refused != 0)
        return skn_fail(error, SKN_NO_MEMORY,
                        "cannot start the thread of %s: %s", party->noun,
                        strerror(refused));
    (void)pthread_setname_np(party->thread, party->noun + strlen("the "));
    return SKN_OK;
}

skn_status_t
skn_party_begin(skn_party_t *party, const skn_party_start_t *start,
                skn_error_t *error)
{
    skn_error_t own = { 0 };
    bool is_done = false;
    if (!error)
        error = &own;
    if (party->was_started)
        return skn_fail(error, SKN_USAGE, "%s was started already",
                        party->noun);
    party->was_started = true;
    skn_status_t status = read_config(party, error);
    bool is_told = status == SKN_BAD_CONFIG;
    if (status == SKN_OK)
        status = start->open(start->job, &is_done, error);
    if (status == SKN_OK && !is_done)
        status = start_thread(party, start, error);
    if (status == SKN_OK && !is_done)
        return SKN_OK;
    party->is_ending = true;
    if (status != SKN_OK)
        party->failure = *error;
    if (status != SKN_OK && !is_told)
        skn_party_complain(party, skn_status_exit_code(status), error->text,
                           error->hint);
    start->close(start->job);
    skn_party_end(party);
    return status;
}
