/* connection_guard.c - the thread that guards a node's accepting socket against
 * strangers.
 *
 * This file owns: the thread, and the sentences until they are taken.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/connection_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "formats/text/system_error.h"
#include "transport/socket/clock.h"
#include "transport/socket/socket.h"
#include "transport/socket/thread_start.h"

#define DOOR_SENTENCE_MS 1000
/* Connections that ended without a message and were not refused: this many,
 * beyond those that our peers can make, are reported. */
#define EMPTY_TOLD 16u
/* At most one in this time: they must not crowd out more important
 * sentences. */
#define EMPTY_TOLD_MS 10000u
/* Ends of connections that were not taken yet. */
#define ENDED_MAX 256u

/* Shared by the two threads: counters, sentences, flags. The rest is the guard
 * thread's while it runs. */
struct skn_connection_guard {
    skn_connection_guard_parts_t parts;
    pthread_t thread;
    int stop_event;   /* written once, by skn_connection_guard_close */
    int notice_event; /* readable while there are sentences */
    _Atomic bool begun;
    uint32_t selftests;         /* accepted before `begun`; as refusals */
    uint64_t refusals, empties; /* refusals and ends not reported; as above */
    uint64_t empties_told_ms;
    pthread_mutex_t lock; /* protects all below */
    skn_connection_guard_counts_t counts;
    char text[SKN_CONNECTION_GUARD_SENTENCES_MAX]
             [SKN_CONNECTION_GUARD_TEXT_BYTES];
    size_t first, count;
    /* Tokens: one a second, at most SKN_CONNECTION_GUARD_SENTENCES_MAX. */
    uint64_t token_ms;
    uint32_t tokens;
    uint64_t unsaid;
    int ended[ENDED_MAX];
    size_t ended_first, ended_count;
    uint64_t ended_ever; /* number of the last of them */
};

int
skn_connection_guard_events(void)
{
    return ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED |
           ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
           ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
}

/* --- sentences ----------------------------------------------------------- */

/* Under the lock. */
static bool
may_say(skn_connection_guard_t *guard)
{
    uint64_t now = skn_monotonic_ms();
    uint64_t earned = (now - guard->token_ms) / DOOR_SENTENCE_MS;
    if (earned > 0) {
        guard->token_ms += earned * DOOR_SENTENCE_MS;
        guard->tokens =
            earned + guard->tokens > SKN_CONNECTION_GUARD_SENTENCES_MAX
                ? SKN_CONNECTION_GUARD_SENTENCES_MAX
                : guard->tokens + (uint32_t)earned;
    }
    if (guard->tokens > 0 &&
        guard->count < SKN_CONNECTION_GUARD_SENTENCES_MAX) {
        guard->tokens--;
        return true;
    }
    guard->unsaid++;
    return false;
}

/* Under the lock. */
__attribute__((format(printf, 2, 3))) static void
say(skn_connection_guard_t *guard, const char *format, ...)
{
    if (!may_say(guard))
        return;
    char *text = guard->text[(guard->first + guard->count) %
                             SKN_CONNECTION_GUARD_SENTENCES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(text, SKN_CONNECTION_GUARD_TEXT_BYTES, format,
                              arguments);
    va_end(arguments);
    size_t bytes = strlen(text);
    if (guard->unsaid > 0)
        (void)snprintf(text + bytes, SKN_CONNECTION_GUARD_TEXT_BYTES - bytes,
                       " (and %llu more since the last line)",
                       (unsigned long long)guard->unsaid);
    guard->unsaid = 0;
    guard->count++;
    (void)eventfd_write(guard->notice_event, 1);
}

bool
skn_connection_guard_take(skn_connection_guard_t *guard,
                          char text[SKN_CONNECTION_GUARD_TEXT_BYTES])
{
    bool any;
    eventfd_t ignored;
    (void)pthread_mutex_lock(&guard->lock);
    any = guard->count > 0;
    if (any) {
        (void)memcpy(text, guard->text[guard->first],
                     SKN_CONNECTION_GUARD_TEXT_BYTES);
        guard->first = (guard->first + 1) % SKN_CONNECTION_GUARD_SENTENCES_MAX;
        guard->count--;
    }
    if (guard->count == 0)
        (void)eventfd_read(guard->notice_event, &ignored);
    (void)pthread_mutex_unlock(&guard->lock);
    return any;
}

int
skn_connection_guard_descriptor(const skn_connection_guard_t *guard)
{
    return guard->notice_event;
}

void
skn_connection_guard_count(skn_connection_guard_t *guard,
                           skn_connection_guard_counts_t *counts)
{
    (void)pthread_mutex_lock(&guard->lock);
    *counts = guard->counts;
    (void)pthread_mutex_unlock(&guard->lock);
}

void
skn_connection_guard_begin(skn_connection_guard_t *guard)
{
    atomic_store(&guard->begun, true);
}

/* --- the thread ---------------------------------------------------------- */

static void
refuse(skn_connection_guard_t *guard, const skn_refused_t *refused)
{
    (void)pthread_mutex_lock(&guard->lock);
    guard->counts.strangers++;
    guard->refusals++;
    say(guard, "refused a stranger with key %s at %s", refused->public_key,
        refused->address);
    (void)pthread_mutex_unlock(&guard->lock);
}

static void
handshake_failed(skn_connection_guard_t *guard, uint16_t event, uint32_t why)
{
    if (!atomic_load(&guard->begun))
        return;
    (void)pthread_mutex_lock(&guard->lock);
    guard->counts.handshakes_failed++;
    guard->refusals++;
    bool protocol = event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
    if (!guard->parts.keyed)
        say(guard, "refused a connection that uses another protocol, is too "
                   "slow, or needs a key, which this node does not have");
    else if (protocol && why == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        say(guard, "refused a connection that has no key (no CURVE)");
    else if (protocol && why == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
        say(guard, "refused a connection that expects another key of this "
                   "node");
    else
        say(guard, "refused a connection that has no key, uses another "
                   "protocol, or is too slow");
    (void)pthread_mutex_unlock(&guard->lock);
}

static void
accept_one(skn_connection_guard_t *guard, int descriptor)
{
    skn_connection_guard_verdict_t verdict =
        skn_watch_accept(guard->parts.watch, descriptor);
    if (!atomic_load(&guard->begun)) {
        guard->selftests++;
        return;
    }
    (void)pthread_mutex_lock(&guard->lock);
    guard->counts.accepted++;
    if (verdict == SKN_VERDICT_OVER) {
        guard->counts.over++;
        say(guard, "closed a connection: too many are open");
    }
    (void)pthread_mutex_unlock(&guard->lock);
}

static void
keep_end(skn_connection_guard_t *guard, int descriptor)
{
    (void)pthread_mutex_lock(&guard->lock);
    if (guard->ended_count == ENDED_MAX) {
        guard->ended_first = (guard->ended_first + 1) % ENDED_MAX;
        guard->ended_count--;
    }
    guard->ended[(guard->ended_first + guard->ended_count++) % ENDED_MAX] =
        descriptor;
    guard->ended_ever++;
    (void)eventfd_write(guard->notice_event, 1);
    (void)pthread_mutex_unlock(&guard->lock);
}

bool
skn_connection_guard_ended(skn_connection_guard_t *guard, int *descriptor,
                           uint64_t *number)
{
    (void)pthread_mutex_lock(&guard->lock);
    bool any = guard->ended_count > 0;
    if (any) {
        *number = guard->ended_ever - guard->ended_count + 1;
        *descriptor = guard->ended[guard->ended_first];
        guard->ended_first = (guard->ended_first + 1) % ENDED_MAX;
        guard->ended_count--;
    }
    (void)pthread_mutex_unlock(&guard->lock);
    return any;
}

static void
end_one(skn_connection_guard_t *guard, int descriptor)
{
    keep_end(guard, descriptor);
    if (!skn_watch_close(guard->parts.watch, descriptor))
        return;
    if (guard->selftests > 0) { /* their end may be reported after the start */
        guard->selftests--;
        return;
    }
    (void)pthread_mutex_lock(&guard->lock);
    guard->counts.empty++;
    if (guard->refusals > 0) {
        guard->refusals--;
    } else if (++guard->empties >= EMPTY_TOLD + 4 * guard->parts.peer_count &&
               skn_monotonic_ms() - guard->empties_told_ms >= EMPTY_TOLD_MS) {
        guard->empties_told_ms = skn_monotonic_ms();
        say(guard,
            "%llu connections ended without sending a fragment; does "
            "something scan this port?",
            (unsigned long long)guard->empties);
        guard->empties = 0;
    }
    (void)pthread_mutex_unlock(&guard->lock);
}

static void
read_monitor(skn_connection_guard_t *guard)
{
    uint16_t event;
    uint32_t value;
    while (skn_monitor_take(guard->parts.monitor, &event, &value))
        switch (event) {
        case ZMQ_EVENT_ACCEPTED:
            accept_one(guard, (int)value);
            break;
        case ZMQ_EVENT_DISCONNECTED:
            end_one(guard, (int)value);
            break;
        default:
            handshake_failed(guard, event, value);
            break;
        }
}

static void
look(skn_connection_guard_t *guard)
{
    size_t cut_count = skn_watch_look(guard->parts.watch, skn_monotonic_ms());
    if (cut_count == 0)
        return;
    (void)pthread_mutex_lock(&guard->lock);
    guard->counts.cut += cut_count;
    say(guard, "closed a connection: it sent an endless message");
    (void)pthread_mutex_unlock(&guard->lock);
}

static void *
door_thread(void *argument)
{
    skn_connection_guard_t *guard = argument;
    skn_authenticator_t *authenticator = guard->parts.authenticator;
    skn_refused_t refused;
    zmq_pollitem_t items[] = {
        { NULL, guard->stop_event, ZMQ_POLLIN, 0 },
        { guard->parts.monitor, 0, ZMQ_POLLIN, 0 },
        { skn_authenticator_socket(authenticator), 0, ZMQ_POLLIN, 0 },
    };
    int item_count = items[2].socket ? 3 : 2; /* NULL if the monitor failed: the
                                               * self-test will report it */
    long look_ms =
        guard->parts.keyed ? SKN_WATCH_MS : SKN_WATCH_MS_WITHOUT_KEYS;
    while (!(items[0].revents & ZMQ_POLLIN)) {
        bool watching = skn_watch_count(guard->parts.watch) > 0;
        (void)zmq_poll(items, item_count, watching ? look_ms : -1);
        /* Read before answering: the answer to the self-test is what lets us
         * begin. */
        bool begun = atomic_load(&guard->begun);
        bool asked = item_count == 3 && (items[2].revents & ZMQ_POLLIN);
        /* First, and even if poll saw nothing: connections that ended before
         * this request were reported by then. */
        if (asked || (items[1].revents & ZMQ_POLLIN))
            read_monitor(guard);
        if (asked &&
            skn_authenticator_answer(authenticator, guard->ended_ever,
                                     &refused) &&
            begun)
            refuse(guard, &refused);
        look(guard);
    }
    return NULL;
}

skn_connection_guard_t *
skn_connection_guard_open(const skn_connection_guard_parts_t *parts,
                          skn_error_t *error)
{
    skn_connection_guard_t *guard = calloc(1, sizeof(*guard));
    if (!guard) {
        (void)skn_fail(error, SKN_NO_MEMORY,
                       "no memory for a connection guard");
        return NULL;
    }
    guard->parts = *parts;
    guard->tokens = SKN_CONNECTION_GUARD_SENTENCES_MAX;
    guard->token_ms = skn_monotonic_ms();
    guard->stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    guard->notice_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&guard->lock, NULL);
    int code = guard->stop_event < 0 || guard->notice_event < 0
                   ? errno
                   : skn_thread_start(&guard->thread, NULL, door_thread, guard);
    if (code == 0)
        return guard;
    (void)skn_fail_code(error, SKN_NO_MEMORY, code, NULL,
                        "cannot start the thread of the authenticator");
    if (guard->stop_event >= 0)
        (void)close(guard->stop_event);
    if (guard->notice_event >= 0)
        (void)close(guard->notice_event);
    (void)pthread_mutex_destroy(&guard->lock);
    free(guard);
    return NULL;
}

void
skn_connection_guard_close(skn_connection_guard_t **guard)
{
    if (!*guard)
        return;
    (void)eventfd_write((*guard)->stop_event, 1);
    (void)pthread_join((*guard)->thread, NULL);
    (void)close((*guard)->stop_event);
    (void)close((*guard)->notice_event);
    (void)pthread_mutex_destroy(&(*guard)->lock);
    skn_authenticator_destroy(&(*guard)->parts.authenticator);
    skn_watch_destroy(&(*guard)->parts.watch);
    (void)zmq_close((*guard)->parts.monitor);
    free(*guard);
    *guard = NULL;
}
