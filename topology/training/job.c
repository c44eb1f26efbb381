/* job.c - the half of a job that faces its host: copies of the texts in its
 * options, orders, events, and the thread that does the work.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "formats/text/system_error.h"
#include "transport/socket/process_mark.h"
#include "transport/socket/thread_start.h"

/* The copies of one call: behind `list` are the texts. */
typedef struct copies {
    struct copies *next;
    const char *list[];
} copies_t;

skn_status_t
skn_job_init(skn_job_t *job, const char *noun, skn_error_t *error)
{
    job->noun = noun;
    job->orders = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = errno;
    skn_status_t status = skn_line_queue_init(&job->queue, noun, error);
    return status == SKN_OK && job->orders < 0
               ? skn_fail_code(error, SKN_NO_MEMORY, code, NULL,
                               "cannot create a descriptor for orders")
               : status;
}

void
skn_job_fini(skn_job_t *job)
{
    while (job->copies) {
        copies_t *copies = job->copies;
        job->copies = copies->next;
        free(copies);
    }
    skn_line_queue_fini(&job->queue);
    if (job->orders >= 0)
        (void)close(job->orders);
}

/* Replaces *text by a copy at `end`, and returns the end of that. */
static char *
own(const char **text, char *end)
{
    size_t bytes = strlen(*text) + 1;
    *text = memcpy(end, *text, bytes);
    return end + bytes;
}

skn_status_t
skn_job_own(skn_job_t *job, const char **const *texts, size_t text_count,
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
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %s", job->noun);
    copies->next = job->copies;
    job->copies = copies;
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
skn_job_check(const skn_job_t *job, const char *noun, const char *function,
              skn_error_t *error)
{
    return job ? skn_process_check(atomic_load(&job->process), function, noun,
                                   error)
               : skn_fail(error, SKN_USAGE, "%s: %s is NULL", function, noun);
}

/* --- orders and events ---------------------------------------------------- */

void
skn_job_order(const skn_job_t *job, uint64_t order)
{
    int saved = errno;
    ssize_t written = write(job->orders, &order, sizeof(order));
    (void)written; /* a full counter is readable already */
    errno = saved;
}

uint64_t
skn_job_orders(const skn_job_t *job)
{
    uint64_t orders = 0;
    ssize_t bytes = read(job->orders, &orders, sizeof(orders));
    return bytes == (ssize_t)sizeof(orders) ? orders : 0;
}

skn_status_t
skn_job_event(skn_job_t *job, int timeout_ms, char *line, size_t line_bytes,
              skn_error_t *error)
{
    return skn_line_queue_take(&job->queue, job->has_thread ? timeout_ms : 0,
                               line, line ? line_bytes : 0, error);
}

/* --- the thread ----------------------------------------------------------- */

skn_status_t
skn_job_start(skn_job_t *job, void *(*run)(void *), void *argument,
              skn_error_t *error)
{
    if (job->was_started)
        return skn_fail(error, SKN_USAGE, "%s was started already", job->noun);
    atomic_store(&job->process, skn_process_mark());
    int refused = skn_thread_start(&job->thread, NULL, run, argument);
    if (refused != 0)
        return skn_fail(error, SKN_NO_MEMORY,
                        "cannot start the thread of %s: %s", job->noun,
                        strerror(refused));
    (void)pthread_setname_np(job->thread, job->noun + strlen("the "));
    job->was_started = job->has_thread = true;
    return SKN_OK;
}

skn_status_t
skn_job_wait(skn_job_t *job, skn_error_t *error)
{
    if (job->has_thread)
        (void)pthread_join(job->thread, NULL);
    job->has_thread = false;
    if (error && job->failure.status != SKN_OK)
        *error = job->failure;
    return job->failure.status;
}
