/* line_queue.c - the lines that a thread of the library has sent and its host
 * has not read, with a descriptor that the host can poll.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/line_queue.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "formats/text/system_error.h"
#include "transport/socket/clock.h"

skn_status_t
skn_line_queue_init(skn_line_queue_t *queue, const char *owner,
                    skn_error_t *error)
{
    memset(queue, 0, sizeof(*queue));
    queue->owner = owner;
    queue->last = &queue->first;
    (void)pthread_mutex_init(&queue->mutex, NULL);
    queue->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return queue->descriptor >= 0
               ? SKN_OK
               : skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                               "cannot create a descriptor for events");
}

void
skn_line_queue_fini(skn_line_queue_t *queue)
{
    while (queue->first) {
        skn_line_t *line = queue->first;
        queue->first = line->next;
        free(line);
    }
    if (queue->descriptor >= 0)
        (void)close(queue->descriptor);
    (void)pthread_mutex_destroy(&queue->mutex);
}

void
skn_line_queue_wake(const skn_line_queue_t *queue)
{
    uint64_t one = 1;
    int saved = errno;
    ssize_t written = write(queue->descriptor, &one, sizeof(one));
    (void)written; /* a full counter is readable already */
    errno = saved;
}

void
skn_line_queue_put(skn_line_queue_t *queue, const char *text)
{
    size_t bytes = strlen(text) + 1;
    skn_line_t *line = malloc(sizeof(*line) + bytes);
    if (!line)
        return;
    line->next = NULL;
    memcpy(line->text, text, bytes);
    (void)pthread_mutex_lock(&queue->mutex);
    assert(!queue->ended);
    *queue->last = line;
    queue->last = &line->next;
    queue->count++;
    (void)pthread_mutex_unlock(&queue->mutex);
    skn_line_queue_wake(queue);
}

void
skn_line_queue_end(skn_line_queue_t *queue)
{
    (void)pthread_mutex_lock(&queue->mutex);
    queue->ended = true;
    (void)pthread_mutex_unlock(&queue->mutex);
    skn_line_queue_wake(queue);
}

uint32_t
skn_line_queue_count(skn_line_queue_t *queue)
{
    (void)pthread_mutex_lock(&queue->mutex);
    uint32_t count = queue->count;
    (void)pthread_mutex_unlock(&queue->mutex);
    return count;
}

size_t
skn_line_queue_bytes(skn_line_queue_t *queue)
{
    (void)pthread_mutex_lock(&queue->mutex);
    size_t bytes = queue->first ? strlen(queue->first->text) + 1 : 0;
    (void)pthread_mutex_unlock(&queue->mutex);
    return bytes;
}

static skn_status_t
take_first(skn_line_queue_t *queue, char *line, size_t line_bytes,
           skn_error_t *error)
{
    skn_line_t *first = queue->first;
    size_t bytes = strlen(first->text) + 1;
    if (bytes > line_bytes)
        return skn_fail(error, SKN_TOO_SMALL,
                        "the next event needs a buffer of %zu bytes, not %zu",
                        bytes, line_bytes);
    memcpy(line, first->text, bytes);
    queue->first = first->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->count--;
    free(first);
    return SKN_OK;
}

/* Takes what is there. The descriptor stays readable while there is more, and
 * at the end: it is emptied under the lock, so that no wake is lost. */
static skn_status_t
take_now(skn_line_queue_t *queue, char *line, size_t line_bytes,
         skn_error_t *error)
{
    uint64_t count;
    skn_status_t status;
    (void)pthread_mutex_lock(&queue->mutex);
    ssize_t bytes = read(queue->descriptor, &count, sizeof(count));
    (void)bytes; /* an empty counter is fine: the read does not block */
    if (queue->first)
        status = take_first(queue, line, line_bytes, error);
    else if (queue->ended)
        status = skn_fail(error, SKN_UNAVAILABLE, "%s has ended", queue->owner);
    else
        status = skn_fail(error, SKN_BUSY, "no event has arrived yet");
    if (queue->first || queue->ended)
        skn_line_queue_wake(queue);
    (void)pthread_mutex_unlock(&queue->mutex);
    return status;
}

skn_status_t
skn_line_queue_take(skn_line_queue_t *queue, int timeout_ms, char *line,
                    size_t line_bytes, skn_error_t *error)
{
    uint64_t end_ms =
        skn_monotonic_ms() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0);
    for (;;) {
        struct pollfd polled = { queue->descriptor, POLLIN, 0 };
        skn_status_t status = take_now(queue, line, line_bytes, error);
        uint64_t now_ms = timeout_ms > 0 ? skn_monotonic_ms() : 0;
        if (status != SKN_BUSY || timeout_ms == 0 ||
            (timeout_ms > 0 && now_ms >= end_ms))
            return status;
        (void)poll(&polled, 1, timeout_ms < 0 ? -1 : (int)(end_ms - now_ms));
    }
}
