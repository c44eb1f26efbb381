/* watchdog.c - a thread that samples actors' places and reports stuck handlers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/watchdog.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "actors/runtime/system_internal.h"
#include "formats/text/json_write.h"
#include "transport/socket/clock.h"
#include "transport/socket/thread_start.h"

/* The samples taken within a system's patience: a stay is reported at most an
 * eighth of it late, and a sample costs next to nothing. */
#define LOOKS 8u
#define REPORTS_MAX 20u

/* The reports made so far about an actor's stay. */
typedef struct reported {
    uint64_t since_ns;
    uint32_t count;
    skn_stay_t stay;  /* in the current sample */
    bool due, nearly; /* a report is due; half of that time has passed */
} reported_t;

struct skn_watchdog {
    skn_system_t *system;
    skn_outlet_t *host;
    reported_t *reported; /* [actor_count] */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    bool has_thread, must_stop; /* `must_stop` is protected by the lock */
};

const skn_actor_t *
skn_watchdog_longest(const skn_system_t *system, uint64_t now_ns,
                     uint64_t least_ns, skn_stay_t *stay)
{
    const skn_actor_t *longest = NULL;
    for (uint32_t k = 0; k < system->actor_count; k++) {
        skn_stay_t other = skn_place_stay(&system->actors[k].place);
        if (other.type == SKN_PLACE_LOOP || now_ns < other.since_ns ||
            now_ns - other.since_ns < least_ns ||
            (longest && other.since_ns >= stay->since_ns))
            continue;
        longest = &system->actors[k];
        *stay = other;
    }
    return longest;
}

static void
report(skn_watchdog_t *watchdog, const skn_actor_t *actor, uint64_t now_ns,
       uint32_t more)
{
    const skn_stay_t *stay = &watchdog->reported[actor->number].stay;
    char where[SKN_PLACE_TEXT_BYTES];
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"stuck\",\"actor\":");
    skn_json_text_add_string(&text, actor->wired->name);
    skn_json_text_add(&text, ",\"kind\":");
    skn_json_text_add_string(&text, actor->kind->name);
    if (actor->wired->plugin) {
        skn_json_text_add(&text, ",\"plugin\":");
        skn_json_text_add_string(&text, actor->wired->plugin);
    }
    skn_json_text_add(&text, ",\"in\":");
    skn_json_text_add_string(
        &text, skn_place_text(stay->type, stay->name, where, sizeof(where)));
    if (more > 0)
        skn_json_text_add(&text, ",\"more\":%" PRIu32, more);
    skn_json_text_add(&text, ",\"seconds\":%" PRIu64 "}",
                      (now_ns - stay->since_ns) / SKN_SECOND_NS);
    const skn_parcel_t parcel = { .type = SKN_PARCEL_NOTICE,
                                  .pointer =
                                      text.failed ? NULL : strdup(text.bytes) };
    if (parcel.pointer)
        skn_host_report(watchdog->host, actor->wake_descriptor, &parcel);
    skn_json_text_fini(&text);
}

/* Notes whether a report of the actor's stay is due. */
static void
note_stay(skn_watchdog_t *watchdog, const skn_actor_t *actor, uint64_t now_ns)
{
    reported_t *reported = &watchdog->reported[actor->number];
    skn_stay_t stay = skn_place_stay(&actor->place);
    uint64_t due_ns = watchdog->system->patience_ns;
    if (reported->since_ns != stay.since_ns)
        *reported = (reported_t){ .since_ns = stay.since_ns };
    due_ns <<= reported->count;
    bool is_stuck = stay.type != SKN_PLACE_LOOP && now_ns >= stay.since_ns;
    reported->stay = stay;
    reported->due = is_stuck && now_ns - stay.since_ns >= due_ns;
    reported->nearly = is_stuck && now_ns - stay.since_ns >= due_ns / 2;
}

static bool
same_stay(const skn_watchdog_t *watchdog, const skn_actor_t *one,
          const skn_actor_t *other)
{
    const skn_stay_t *a = &watchdog->reported[one->number].stay;
    const skn_stay_t *b = &watchdog->reported[other->number].stay;
    return one->kind == other->kind && a->type == b->type && a->name == b->name;
}

/* Reports `first` if it, or another actor of its kind at the same place, is
 * due, together with all those that soon will be. */
static void
report_group(skn_watchdog_t *watchdog, const skn_actor_t *first,
             uint64_t now_ns)
{
    const skn_system_t *system = watchdog->system;
    bool due = false;
    uint32_t count = 0;
    for (uint32_t k = first->number; k < system->actor_count; k++)
        due = due || (watchdog->reported[k].due &&
                      same_stay(watchdog, first, &system->actors[k]));
    for (uint32_t k = first->number; due && k < system->actor_count; k++) {
        reported_t *reported = &watchdog->reported[k];
        if (!reported->nearly ||
            !same_stay(watchdog, first, &system->actors[k]))
            continue;
        reported->nearly = reported->due = false;
        reported->count += reported->count < REPORTS_MAX;
        count++;
    }
    assert(!due || count > 0); /* who is due is nearly due */
    if (due)
        report(watchdog, first, now_ns, count - 1);
}

static void
look(skn_watchdog_t *watchdog)
{
    const skn_system_t *system = watchdog->system;
    uint64_t now_ns = skn_monotonic_ns();
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (system->actors[k].here)
            note_stay(watchdog, &system->actors[k], now_ns);
    for (uint32_t k = 0; k < system->actor_count; k++)
        if (watchdog->reported[k].nearly)
            report_group(watchdog, &system->actors[k], now_ns);
}

static void *
thread_main(void *argument)
{
    skn_watchdog_t *watchdog = argument;
    (void)pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->must_stop) {
        uint64_t next_ns =
            skn_monotonic_ns() + watchdog->system->patience_ns / LOOKS + 1;
        const struct timespec next = { (time_t)(next_ns / SKN_SECOND_NS),
                                       (long)(next_ns % SKN_SECOND_NS) };
        int woken = 0;
        while (!watchdog->must_stop && woken == 0)
            woken = pthread_cond_timedwait(&watchdog->wanted, &watchdog->lock,
                                           &next);
        if (!watchdog->must_stop)
            look(watchdog);
    }
    (void)pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

skn_watchdog_t *
skn_watchdog_new(skn_system_t *system, skn_error_t *error)
{
    pthread_condattr_t attributes;
    skn_watchdog_t *watchdog = skn_system_array(1, sizeof(*watchdog), error);
    if (!watchdog)
        return NULL;
    watchdog->system = system;
    (void)pthread_mutex_init(&watchdog->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&watchdog->wanted, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    watchdog->reported =
        skn_system_array(system->actor_count, sizeof(reported_t), error);
    if (watchdog->reported)
        watchdog->host =
            skn_system_outlet(system, skn_system_host_number(system), error);
    if (!watchdog->host)
        skn_watchdog_destroy(&watchdog);
    return watchdog;
}

int
skn_watchdog_start(skn_watchdog_t *watchdog)
{
    int refused =
        skn_thread_start(&watchdog->thread, NULL, thread_main, watchdog);
    watchdog->has_thread = refused == 0;
    if (watchdog->has_thread)
        (void)pthread_setname_np(watchdog->thread, "watchdog");
    return refused;
}

void
skn_watchdog_stop(skn_watchdog_t *watchdog)
{
    if (!watchdog->has_thread)
        return;
    (void)pthread_mutex_lock(&watchdog->lock);
    watchdog->must_stop = true;
    (void)pthread_cond_signal(&watchdog->wanted);
    (void)pthread_mutex_unlock(&watchdog->lock);
    (void)pthread_join(watchdog->thread, NULL);
    watchdog->has_thread = false;
}

void
skn_watchdog_destroy(skn_watchdog_t **watchdog)
{
    if (!*watchdog)
        return;
    skn_watchdog_stop(*watchdog);
    if ((*watchdog)->host)
        skn_outlet_close(&(*watchdog)->host);
    (void)pthread_cond_destroy(&(*watchdog)->wanted);
    (void)pthread_mutex_destroy(&(*watchdog)->lock);
    free((*watchdog)->reported);
    free(*watchdog);
    *watchdog = NULL;
}
