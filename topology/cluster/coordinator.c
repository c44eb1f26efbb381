/* coordinator.c - coordinates a run for a host: its options, its orders, its
 * events, and the thread that does the work.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/member.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "formats/text/json_write.h"
#include "topology/cluster/coordinating.h"
#include "topology/config/problems.h"
#include "topology/training/line_queue.h"
#include "transport/socket/thread_start.h"

/* The structs of the first version end with these members. */
#define COORDINATOR_OPTIONS_MIN                                                \
    (offsetof(skn_coordinator_options_t, progress) + sizeof(bool))
#define COORDINATOR_INFO_MIN                                                   \
    (offsetof(skn_coordinator_info_t, was_stopped) + sizeof(bool))

/* Orders add up in the counter of a descriptor: a signal handler may give one,
 * and the thread has to share nothing else. */
#define ORDER_STOP UINT64_C(1)
#define ORDER_BREAK (UINT64_C(1) << 32)

struct skn_coordinator {
    char *path, **overrides;
    uint32_t override_count, wait_s;
    bool progress;
    pid_t process; /* that made it */
    int orders;
    skn_line_queue_t queue; /* its mutex guards `leads` and `was_stopped` */
    bool leads, was_stopped;
    bool is_ending; /* the thread's: no event is dropped any more */
    bool was_started, has_thread;
    pthread_t thread;
    skn_model_t *model;
    const char *nodes[SKN_CLUSTER_NODES_MAX];
    skn_coordinating_t *coordinating; /* of the thread, once it has begun */
    skn_error_t failure;              /* valid when the thread is joined */
};

static skn_status_t
check(const skn_coordinator_t *coordinator, const char *function,
      skn_error_t *error)
{
    if (!coordinator)
        return skn_fail(error, SKN_USAGE, "%s: the coordinator is NULL",
                        function);
    if (coordinator->process != getpid())
        return skn_fail(error, SKN_USAGE,
                        "%s: the coordinator belongs to the process that made "
                        "it, and this one is a child made by fork()",
                        function);
    return SKN_OK;
}

static void
order(const skn_coordinator_t *coordinator, uint64_t what)
{
    int saved = errno;
    ssize_t written = write(coordinator->orders, &what, sizeof(what));
    (void)written; /* it is full after 2^32 orders to break: never */
    errno = saved;
}

/* --- new and destroy ------------------------------------------------------ */

static skn_status_t
check_options(const skn_coordinator_options_t *options, skn_error_t *error)
{
    if (!options || options->struct_bytes < COORDINATOR_OPTIONS_MIN)
        return skn_fail(error, SKN_USAGE,
                        "struct_bytes of the coordinator's options is %u, at "
                        "least %zu are needed",
                        options ? options->struct_bytes : 0,
                        COORDINATOR_OPTIONS_MIN);
    if (!options->path || !options->path[0])
        return skn_fail(error, SKN_USAGE,
                        "the coordinator's options have no path of a config");
    for (uint32_t k = 0; k < options->override_count; k++)
        if (!options->overrides || !options->overrides[k])
            return skn_fail(error, SKN_USAGE, "override %u is NULL", k);
    return SKN_OK;
}

static bool
copy_options(skn_coordinator_t *coordinator,
             const skn_coordinator_options_t *options)
{
    uint32_t count = options->override_count;
    coordinator->wait_s = options->wait_s;
    coordinator->progress = options->progress;
    coordinator->path = strdup(options->path);
    coordinator->overrides =
        calloc((size_t)count + 1, sizeof(*coordinator->overrides));
    if (!coordinator->path || !coordinator->overrides)
        return false;
    for (; coordinator->override_count < count; coordinator->override_count++) {
        char *copy = strdup(options->overrides[coordinator->override_count]);
        if (!copy)
            return false;
        coordinator->overrides[coordinator->override_count] = copy;
    }
    return true;
}

skn_coordinator_t *
skn_coordinator_new(const skn_coordinator_options_t *options,
                    skn_error_t *error)
{
    if (check_options(options, error) != SKN_OK)
        return NULL;
    skn_coordinator_t *coordinator = calloc(1, sizeof(*coordinator));
    if (!coordinator) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a coordinator");
        return NULL;
    }
    coordinator->process = getpid();
    coordinator->orders = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    skn_status_t status =
        skn_line_queue_init(&coordinator->queue, "the coordinator", error);
    if (status == SKN_OK && coordinator->orders < 0)
        status = skn_fail(error, SKN_NO_MEMORY,
                          "cannot create a descriptor for orders: %s",
                          strerror(errno));
    if (status == SKN_OK && !copy_options(coordinator, options))
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for a coordinator");
    if (status != SKN_OK)
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
    if (coordinator->process != getpid())
        return; /* its thread and sockets are in the other process */
    order(coordinator, ORDER_BREAK);
    (void)skn_coordinator_wait(coordinator, NULL);
    skn_coordinating_close(&coordinator->coordinating);
    skn_model_destroy(&coordinator->model);
    skn_line_queue_fini(&coordinator->queue);
    if (coordinator->orders >= 0)
        (void)close(coordinator->orders);
    for (uint32_t k = 0; k < coordinator->override_count; k++)
        free(coordinator->overrides[k]);
    free(coordinator->overrides);
    free(coordinator->path);
    free(coordinator);
}

/* --- the thread ----------------------------------------------------------- */

/* Keeps an event for the host. The coordinator must not wait for its host:
 * members would take it for dead. */
static void
keep(void *job, const char *line)
{
    skn_coordinator_t *coordinator = job;
    (void)pthread_mutex_lock(&coordinator->queue.mutex);
    coordinator->was_stopped =
        coordinator->coordinating &&
        skn_coordinating_was_stopped(coordinator->coordinating);
    (void)pthread_mutex_unlock(&coordinator->queue.mutex);
    if (coordinator->is_ending ||
        skn_line_queue_count(&coordinator->queue) < SKN_EVENTS_MAX)
        skn_line_queue_put(&coordinator->queue, line);
}

/* Ends the events, with the failure if there is one that `tells`. */
static void
end(skn_coordinator_t *coordinator, bool tells)
{
    const skn_error_t *failure = &coordinator->failure;
    const skn_coordinating_options_t options = { .tell = keep,
                                                 .job = coordinator };
    if (tells && failure->status != SKN_OK)
        skn_coordinating_complain(&options,
                                  skn_status_exit_code(failure->status),
                                  failure->text, failure->hint);
    (void)pthread_mutex_lock(&coordinator->queue.mutex);
    coordinator->leads = false;
    (void)pthread_mutex_unlock(&coordinator->queue.mutex);
    skn_line_queue_end(&coordinator->queue);
}

static void *
thread_main(void *argument)
{
    skn_coordinator_t *coordinator = argument;
    skn_coordinating_t *coordinating = coordinator->coordinating;
    uint64_t orders = 0;
    while (orders < ORDER_BREAK && skn_coordinating_leads(coordinating)) {
        struct pollfd polled = { coordinator->orders, POLLIN, 0 };
        skn_coordinating_wait(coordinating, &polled, 1);
        if (read(coordinator->orders, &orders, sizeof(orders)) ==
            sizeof(orders))
            skn_coordinating_stop(coordinating);
        if (orders < ORDER_BREAK)
            skn_coordinating_turn(coordinating);
    }
    coordinator->is_ending = true;
    (void)skn_coordinating_finish(coordinating, &coordinator->failure);
    end(coordinator, true);
    /* Members have received what they need: this frees the address. */
    coordinator->coordinating = NULL;
    skn_coordinating_close(&coordinating);
    return NULL;
}

/* --- the start ------------------------------------------------------------ */

static skn_status_t
read_config(skn_coordinator_t *coordinator, skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    skn_json_text_t event = { 0 };
    if (!problems)
        return error->status;
    skn_status_t status = skn_model_read(
        coordinator->path, (const char *const *)coordinator->overrides,
        coordinator->override_count, &coordinator->model, problems, error);
    coordinator->is_ending = status != SKN_OK;
    for (size_t k = 0; skn_problems_write_event(problems, k, &event); k++) {
        if (!event.failed)
            keep(coordinator, event.bytes);
        skn_json_text_fini(&event);
    }
    if (skn_problems_count(problems) > 0)
        (void)skn_problems_error(problems, error);
    skn_problems_destroy(&problems);
    return status;
}

static skn_status_t
open_all(skn_coordinator_t *coordinator, bool *is_told, skn_error_t *error)
{
    const skn_coordinating_options_t options = {
        .wait_s = coordinator->wait_s,
        .progress = coordinator->progress,
        .tell = keep,
        .job = coordinator,
    };
    skn_status_t status = read_config(coordinator, error);
    *is_told = status == SKN_BAD_CONFIG;
    if (status != SKN_OK)
        return status;
    for (size_t k = 0; k < coordinator->model->node_count; k++)
        coordinator->nodes[k] = coordinator->model->nodes[k].name;
    coordinator->coordinating = skn_coordinating_open(
        coordinator->model, coordinator->path, &options, error);
    return coordinator->coordinating ? SKN_OK : error->status;
}

static skn_status_t
start_thread(skn_coordinator_t *coordinator, skn_error_t *error)
{
    coordinator->leads = true;
    int refused =
        skn_thread_start(&coordinator->thread, NULL, thread_main, coordinator);
    coordinator->has_thread = refused == 0;
    if (refused != 0)
        return skn_fail(error, SKN_NO_MEMORY,
                        "cannot start the thread of a coordinator: %s",
                        strerror(refused));
    (void)pthread_setname_np(coordinator->thread, "coordinator");
    return SKN_OK;
}

skn_status_t
skn_coordinator_start(skn_coordinator_t *coordinator, skn_error_t *error)
{
    skn_error_t own = { 0 };
    bool is_told = false;
    if (!error)
        error = &own;
    skn_status_t status = check(coordinator, "skn_coordinator_start", error);
    if (status != SKN_OK)
        return status;
    if (coordinator->was_started)
        return skn_fail(error, SKN_USAGE,
                        "the coordinator was started already");
    coordinator->was_started = true;
    status = open_all(coordinator, &is_told, error);
    bool is_done =
        status == SKN_OK && skn_coordinating_is_done(coordinator->coordinating);
    if (status == SKN_OK && !is_done)
        status = start_thread(coordinator, error);
    if (status == SKN_OK && !is_done)
        return SKN_OK;
    if (status != SKN_OK)
        coordinator->failure = *error;
    skn_coordinating_close(&coordinator->coordinating);
    end(coordinator, !is_told);
    return status;
}

/* --- while it runs -------------------------------------------------------- */

int
skn_coordinator_fd(const skn_coordinator_t *coordinator)
{
    return coordinator ? coordinator->queue.descriptor : -1;
}

skn_status_t
skn_coordinator_event(skn_coordinator_t *coordinator, int timeout_ms,
                      char *line, size_t line_bytes, skn_error_t *error)
{
    skn_status_t status = check(coordinator, "skn_coordinator_event", error);
    return status != SKN_OK
               ? status
               : skn_line_queue_take(&coordinator->queue,
                                     coordinator->was_started ? timeout_ms : 0,
                                     line, line ? line_bytes : 0, error);
}

void
skn_coordinator_stop(skn_coordinator_t *coordinator)
{
    if (coordinator && coordinator->process == getpid())
        order(coordinator, ORDER_STOP);
}

skn_status_t
skn_coordinator_wait(skn_coordinator_t *coordinator, skn_error_t *error)
{
    skn_status_t status = check(coordinator, "skn_coordinator_wait", error);
    if (status != SKN_OK)
        return status;
    if (coordinator->has_thread)
        (void)pthread_join(coordinator->thread, NULL);
    coordinator->has_thread = false;
    if (error && coordinator->failure.status != SKN_OK)
        *error = coordinator->failure;
    return coordinator->failure.status;
}

skn_status_t
skn_coordinator_info(skn_coordinator_t *coordinator,
                     skn_coordinator_info_t *info, skn_error_t *error)
{
    skn_status_t status = check(coordinator, "skn_coordinator_info", error);
    if (status != SKN_OK)
        return status;
    if (!info || info->struct_bytes < COORDINATOR_INFO_MIN)
        return skn_fail(error, SKN_USAGE,
                        "struct_bytes of the coordinator's info is %u, at "
                        "least %zu are needed",
                        info ? info->struct_bytes : 0, COORDINATOR_INFO_MIN);
    const skn_model_t *model = coordinator->model;
    uint32_t bytes = info->struct_bytes;
    skn_coordinator_info_t found = {
        .struct_bytes = bytes,
        .node_count = model ? (uint32_t)model->node_count : 0,
        .nodes = coordinator->nodes,
        .name = model ? model->name : "",
        .address = model ? model->coordinator.address : "",
        .event_bytes = skn_line_queue_bytes(&coordinator->queue),
    };
    (void)pthread_mutex_lock(&coordinator->queue.mutex);
    found.leads = coordinator->leads;
    found.was_stopped = coordinator->was_stopped;
    (void)pthread_mutex_unlock(&coordinator->queue.mutex);
    memset(info, 0, bytes);
    memcpy(info, &found, bytes < sizeof(found) ? bytes : sizeof(found));
    return SKN_OK;
}
