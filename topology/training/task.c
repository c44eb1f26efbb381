/* task.c - the part of a training, tuning, coordinator or member that faces its
 * host: copies of the options' texts, orders, events, and the working thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "formats/text/system_error.h"
#include "transport/socket/process_mark.h"
#include "transport/socket/thread_start.h"

/* The copies of one call of skn_task_own; the texts are behind `list`. */
typedef struct copies {
    struct copies *next;
    const char *list[];
} copies_t;

skn_status_t
skn_task_init(skn_task_t *task, const char *noun, skn_error_t *error)
{
    task->noun = noun;
    task->orders = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = errno;
    skn_status_t status = skn_line_queue_init(&task->queue, noun, error);
    return status == SKN_OK && task->orders < 0
               ? skn_fail_code(error, SKN_NO_MEMORY, code, NULL,
                               "cannot create a descriptor for orders")
               : status;
}

void
skn_task_fini(skn_task_t *task)
{
    while (task->copies) {
        copies_t *copies = task->copies;
        task->copies = copies->next;
        free(copies);
    }
    skn_line_queue_fini(&task->queue);
    if (task->orders >= 0)
        (void)close(task->orders);
}

/* Replaces *text by a copy at `end`, and returns the end of the copy. */
static char *
own(const char **text, char *end)
{
    size_t bytes = strlen(*text) + 1;
    *text = memcpy(end, *text, bytes);
    return end + bytes;
}

skn_status_t
skn_task_own(skn_task_t *task, const char **const *texts, size_t text_count,
             const char *const **overrides, uint32_t override_count,
             skn_error_t *error)
{
    size_t bytes = sizeof(copies_t) + override_count * sizeof(char *);
    for (uint32_t k = 0; k < override_count; k++) {
        if (!*overrides || !(*overrides)[k])
            return skn_fail(error, SKN_USAGE, "override %u is NULL", k);
        bytes += strlen((*overrides)[k]) + 1;
    }
    for (size_t k = 0; k < text_count; k++)
        bytes += *texts[k] ? strlen(*texts[k]) + 1 : 0;
    copies_t *copies = malloc(bytes);
    if (!copies)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %s", task->noun);
    copies->next = task->copies;
    task->copies = copies;
    char *end = (char *)(copies->list + override_count);
    for (uint32_t k = 0; k < override_count; k++) {
        copies->list[k] = (*overrides)[k];
        end = own(&copies->list[k], end);
    }
    *overrides = copies->list;
    for (size_t k = 0; k < text_count; k++)
        if (*texts[k])
            end = own(texts[k], end);
    return SKN_OK;
}

skn_status_t
skn_task_check(const skn_task_t *task, const char *noun, const char *function,
               skn_error_t *error)
{
    return task ? skn_process_check(atomic_load(&task->process), function, noun,
                                    error)
                : skn_fail(error, SKN_USAGE, "%s: %s is NULL", function, noun);
}

/* --- orders and events ---------------------------------------------------- */

void
skn_task_order(const skn_task_t *task, uint64_t order)
{
    int saved = errno;
    ssize_t written = write(task->orders, &order, sizeof(order));
    (void)written; /* a full counter is readable already */
    errno = saved;
}

uint64_t
skn_task_orders(const skn_task_t *task)
{
    uint64_t orders = 0;
    ssize_t bytes = read(task->orders, &orders, sizeof(orders));
    return bytes == (ssize_t)sizeof(orders) ? orders : 0;
}

skn_status_t
skn_task_event(skn_task_t *task, int timeout_ms, char *line, size_t line_bytes,
               skn_error_t *error)
{
    return skn_line_queue_take(&task->queue, task->has_thread ? timeout_ms : 0,
                               line, line ? line_bytes : 0, error);
}

/* --- the thread ----------------------------------------------------------- */

skn_status_t
skn_task_start(skn_task_t *task, void *(*run)(void *), void *argument,
               skn_error_t *error)
{
    if (task->was_started)
        return skn_fail(error, SKN_USAGE, "%s was started already", task->noun);
    atomic_store(&task->process, skn_process_mark());
    int refused = skn_thread_start(&task->thread, NULL, run, argument);
    if (refused != 0)
        return skn_fail(error, SKN_NO_MEMORY,
                        "cannot start the thread of %s: %s", task->noun,
                        strerror(refused));
    (void)pthread_setname_np(task->thread, task->noun + strlen("the "));
    task->was_started = task->has_thread = true;
    return SKN_OK;
}

skn_status_t
skn_task_wait(skn_task_t *task, skn_error_t *error)
{
    if (task->has_thread)
        (void)pthread_join(task->thread, NULL);
    task->has_thread = false;
    if (error && task->failure.status != SKN_OK)
        *error = task->failure;
    return task->failure.status;
}
