/* door.c - the thread that guards a node's accepting socket against strangers.
 *
 * This file owns: the thread, and the sentences until they are taken.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/door.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

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

/* Shared by the two threads: counters, sentences, flags. The rest is the door
 * thread's while it runs. */
struct skn_door {
    skn_door_parts_t parts;
    pthread_t thread;
    int stop_event;   /* written once, by skn_door_close */
    int notice_event; /* readable while there are sentences */
    _Atomic bool begun;
    uint32_t canaries;          /* accepted before `begun`; the door thread's */
    uint64_t refusals, empties; /* refusals and ends not reported; as above */
    uint64_t empties_told_ms;
    pthread_mutex_t lock; /* protects all below */
    skn_door_counts_t counts;
    char text[SKN_DOOR_SENTENCES_MAX][SKN_DOOR_TEXT_BYTES];
    size_t first, count;
    /* Tokens: one a second, at most SKN_DOOR_SENTENCES_MAX. */
    uint64_t token_ms;
    uint32_t tokens;
    uint64_t unsaid;
    int ended[ENDED_MAX];
    size_t ended_first, ended_count;
    uint64_t ended_ever; /* number of the last of them */
};

int
skn_door_events(void)
{
    return ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED |
           ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
           ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
}

/* --- sentences ----------------------------------------------------------- */

/* Under the lock. */
static bool
may_say(skn_door_t *door)
{
    uint64_t now = skn_monotonic_ms();
    uint64_t earned = (now - door->token_ms) / DOOR_SENTENCE_MS;
    if (earned > 0) {
        door->token_ms += earned * DOOR_SENTENCE_MS;
        door->tokens = earned + door->tokens > SKN_DOOR_SENTENCES_MAX
                           ? SKN_DOOR_SENTENCES_MAX
                           : door->tokens + (uint32_t)earned;
    }
    if (door->tokens > 0 && door->count < SKN_DOOR_SENTENCES_MAX) {
        door->tokens--;
        return true;
    }
    door->unsaid++;
    return false;
}

/* Under the lock. */
__attribute__((format(printf, 2, 3))) static void
say(skn_door_t *door, const char *format, ...)
{
    if (!may_say(door))
        return;
    char *text =
        door->text[(door->first + door->count) % SKN_DOOR_SENTENCES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(text, SKN_DOOR_TEXT_BYTES, format, arguments);
    va_end(arguments);
    size_t bytes = strlen(text);
    if (door->unsaid > 0)
        (void)snprintf(text + bytes, SKN_DOOR_TEXT_BYTES - bytes,
                       " (and %llu more since the last line)",
                       (unsigned long long)door->unsaid);
    door->unsaid = 0;
    door->count++;
    (void)eventfd_write(door->notice_event, 1);
}

bool
skn_door_take(skn_door_t *door, char text[SKN_DOOR_TEXT_BYTES])
{
    bool any;
    eventfd_t ignored;
    (void)pthread_mutex_lock(&door->lock);
    any = door->count > 0;
    if (any) {
        (void)memcpy(text, door->text[door->first], SKN_DOOR_TEXT_BYTES);
        door->first = (door->first + 1) % SKN_DOOR_SENTENCES_MAX;
        door->count--;
    }
    if (door->count == 0)
        (void)eventfd_read(door->notice_event, &ignored);
    (void)pthread_mutex_unlock(&door->lock);
    return any;
}

int
skn_door_descriptor(const skn_door_t *door)
{
    return door->notice_event;
}

void
skn_door_count(skn_door_t *door, skn_door_counts_t *counts)
{
    (void)pthread_mutex_lock(&door->lock);
    *counts = door->counts;
    (void)pthread_mutex_unlock(&door->lock);
}

void
skn_door_begin(skn_door_t *door)
{
    atomic_store(&door->begun, true);
}

/* --- the thread ---------------------------------------------------------- */

static void
refuse(skn_door_t *door, const skn_refused_t *refused)
{
    (void)pthread_mutex_lock(&door->lock);
    door->counts.strangers++;
    door->refusals++;
    say(door, "refused a stranger with key %s at %s", refused->public_key,
        refused->address);
    (void)pthread_mutex_unlock(&door->lock);
}

static void
handshake_failed(skn_door_t *door, uint16_t event, uint32_t why)
{
    if (!atomic_load(&door->begun))
        return;
    (void)pthread_mutex_lock(&door->lock);
    door->counts.handshakes_failed++;
    door->refusals++;
    bool protocol = event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
    if (!door->parts.keyed)
        say(door, "refused a connection that speaks otherwise, too slowly, or "
                  "asks for a key, which this node has not");
    else if (protocol && why == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        say(door, "refused a connection that has no key (no CURVE)");
    else if (protocol && why == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
        say(door, "refused a connection that takes our key for another one");
    else
        say(door, "refused a connection that has no key, does not speak as "
                  "nodes do, or is too slow");
    (void)pthread_mutex_unlock(&door->lock);
}

static void
accept_one(skn_door_t *door, int descriptor)
{
    skn_door_verdict_t verdict =
        skn_watch_accept(door->parts.watch, descriptor);
    if (!atomic_load(&door->begun)) {
        door->canaries++;
        return;
    }
    (void)pthread_mutex_lock(&door->lock);
    door->counts.accepted++;
    if (verdict == SKN_VERDICT_OVER) {
        door->counts.over++;
        say(door, "cut a connection: more than may be are open");
    }
    (void)pthread_mutex_unlock(&door->lock);
}

static void
keep_end(skn_door_t *door, int descriptor)
{
    (void)pthread_mutex_lock(&door->lock);
    if (door->ended_count == ENDED_MAX) {
        door->ended_first = (door->ended_first + 1) % ENDED_MAX;
        door->ended_count--;
    }
    door->ended[(door->ended_first + door->ended_count++) % ENDED_MAX] =
        descriptor;
    door->ended_ever++;
    (void)eventfd_write(door->notice_event, 1);
    (void)pthread_mutex_unlock(&door->lock);
}

bool
skn_door_ended(skn_door_t *door, int *descriptor, uint64_t *number)
{
    (void)pthread_mutex_lock(&door->lock);
    bool any = door->ended_count > 0;
    if (any) {
        *number = door->ended_ever - door->ended_count + 1;
        *descriptor = door->ended[door->ended_first];
        door->ended_first = (door->ended_first + 1) % ENDED_MAX;
        door->ended_count--;
    }
    (void)pthread_mutex_unlock(&door->lock);
    return any;
}

static void
end_one(skn_door_t *door, int descriptor)
{
    keep_end(door, descriptor);
    if (!skn_watch_close(door->parts.watch, descriptor))
        return;
    if (door->canaries > 0) { /* their end may be reported after the start */
        door->canaries--;
        return;
    }
    (void)pthread_mutex_lock(&door->lock);
    door->counts.empty++;
    if (door->refusals > 0) {
        door->refusals--;
    } else if (++door->empties >= EMPTY_TOLD + 4 * door->parts.peer_count &&
               skn_monotonic_ms() - door->empties_told_ms >= EMPTY_TOLD_MS) {
        door->empties_told_ms = skn_monotonic_ms();
        say(door,
            "%llu connections came and went without a fragment; does something "
            "scan this port?",
            (unsigned long long)door->empties);
        door->empties = 0;
    }
    (void)pthread_mutex_unlock(&door->lock);
}

static void
read_monitor(skn_door_t *door)
{
    uint16_t event;
    uint32_t value;
    while (skn_monitor_take(door->parts.monitor, &event, &value))
        switch (event) {
        case ZMQ_EVENT_ACCEPTED:
            accept_one(door, (int)value);
            break;
        case ZMQ_EVENT_DISCONNECTED:
            end_one(door, (int)value);
            break;
        default:
            handshake_failed(door, event, value);
            break;
        }
}

static void
look(skn_door_t *door)
{
    size_t cut_count = skn_watch_look(door->parts.watch, skn_monotonic_ms());
    if (cut_count == 0)
        return;
    (void)pthread_mutex_lock(&door->lock);
    door->counts.cut += cut_count;
    say(door, "cut a connection: a message without an end");
    (void)pthread_mutex_unlock(&door->lock);
}

static void *
door_thread(void *argument)
{
    skn_door_t *door = argument;
    skn_authenticator_t *authenticator = door->parts.authenticator;
    skn_refused_t refused;
    zmq_pollitem_t items[] = {
        { NULL, door->stop_event, ZMQ_POLLIN, 0 },
        { door->parts.monitor, 0, ZMQ_POLLIN, 0 },
        { skn_authenticator_socket(authenticator), 0, ZMQ_POLLIN, 0 },
    };
    int item_count = items[2].socket ? 3 : 2; /* NULL if the monitor failed: the
                                               * canary will report it */
    long look_ms = door->parts.keyed ? SKN_WATCH_MS : SKN_WATCH_MS_WITHOUT_KEYS;
    while (!(items[0].revents & ZMQ_POLLIN)) {
        bool watching = skn_watch_count(door->parts.watch) > 0;
        (void)zmq_poll(items, item_count, watching ? look_ms : -1);
        /* Read before answering: the answer to the canary is what lets us
         * begin. */
        bool begun = atomic_load(&door->begun);
        bool asked = item_count == 3 && (items[2].revents & ZMQ_POLLIN);
        /* First, and even if poll saw nothing: connections that ended before
         * this request were reported by then. */
        if (asked || (items[1].revents & ZMQ_POLLIN))
            read_monitor(door);
        if (asked &&
            skn_authenticator_answer(authenticator, door->ended_ever,
                                     &refused) &&
            begun)
            refuse(door, &refused);
        look(door);
    }
    return NULL;
}

skn_door_t *
skn_door_open(const skn_door_parts_t *parts, skn_error_t *error)
{
    skn_door_t *door = calloc(1, sizeof(*door));
    if (!door) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a door");
        return NULL;
    }
    door->parts = *parts;
    door->tokens = SKN_DOOR_SENTENCES_MAX;
    door->token_ms = skn_monotonic_ms();
    door->stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    door->notice_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&door->lock, NULL);
    int code = door->stop_event < 0 || door->notice_event < 0
                   ? errno
                   : skn_thread_start(&door->thread, NULL, door_thread, door);
    if (code == 0)
        return door;
    (void)skn_fail(error, SKN_NO_MEMORY, "no thread for the authenticator: %s",
                   strerror(code));
    if (door->stop_event >= 0)
        (void)close(door->stop_event);
    if (door->notice_event >= 0)
        (void)close(door->notice_event);
    (void)pthread_mutex_destroy(&door->lock);
    free(door);
    return NULL;
}

void
skn_door_close(skn_door_t **door)
{
    if (!*door)
        return;
    (void)eventfd_write((*door)->stop_event, 1);
    (void)pthread_join((*door)->thread, NULL);
    (void)close((*door)->stop_event);
    (void)close((*door)->notice_event);
    (void)pthread_mutex_destroy(&(*door)->lock);
    skn_authenticator_destroy(&(*door)->parts.authenticator);
    skn_watch_destroy(&(*door)->parts.watch);
    (void)zmq_close((*door)->parts.monitor);
    free(*door);
    *door = NULL;
}
