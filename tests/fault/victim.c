/* victim.c - a plug-in whose actors fail, crash or hang at a chosen hook.
 *
 * `victim_sender` sends `count` totals, `victim` takes them. Option `at` names
 * the hook, `how` what goes wrong there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

#include "skein/actor.h"

#define FIELDS_total(F, M) F(M, u64, number, UINT64_MAX, "counted from 0")
SKN_MESSAGE_STRUCT(total, FIELDS_total)
SKN_MESSAGE_SCHEMA(total, "total", 1000, FIELDS_total, "a number")
static const skn_schema_t *const sends[] = { &total_schema, NULL };

typedef struct victim {
    uint64_t sent;
} victim_t;

static unsigned
overflow(unsigned depth)
{
    volatile char room[4096];
    memset((char *)(uintptr_t)room, (int)depth, sizeof(room));
    return depth > 1u << 30 ? 0 : overflow(depth + 1) + (unsigned char)room[7];
}

static void
crash(const char *how)
{
    volatile int zero = 0;
    if (strcmp(how, "segv") == 0)
        *(volatile int *)(uintptr_t)zero = 1;
    if (strcmp(how, "fpe") == 0)
        (void)raise(SIGFPE);
    if (strcmp(how, "ill") == 0)
        __builtin_trap();
    if (strcmp(how, "bus") == 0)
        (void)raise(SIGBUS);
    if (strcmp(how, "trap") == 0)
        (void)raise(SIGTRAP);
    if (strcmp(how, "sys") == 0)
        (void)raise(SIGSYS);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "exit") == 0)
        _exit(0);
    if (strcmp(how, "overflow") == 0)
        (void)overflow(0);
}

/* CPU time of the thread, so that a core that others share takes longer. */
static void
burn(int64_t microseconds)
{
    struct timespec now;
    int64_t end_ns = -1, now_ns;
    do {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        end_ns = end_ns < 0 ? now_ns + microseconds * 1000 : end_ns;
    } while (now_ns < end_ns);
}

static skn_status_t
suffer(skn_actor_t *actor, const char *here, skn_error_t *error)
{
    const char *how = skn_actor_option_text(actor, "how");
    const struct timespec nap = { .tv_sec =
                                      skn_actor_option_int(actor, "seconds") };
    if (strcmp(skn_actor_option_text(actor, "at"), here) != 0)
        return SKN_OK;
    crash(how);
    if (strcmp(how, "hang") == 0)
        (void)nanosleep(&nap, NULL);
    if (strcmp(how, "burn") == 0)
        burn(skn_actor_option_int(actor, "microseconds"));
    if (strcmp(how, "mute") == 0)
        return SKN_STORAGE;
    return strcmp(how, "fail") == 0 ? skn_fail(error, SKN_BAD_DATA, "oh no")
                                    : SKN_OK;
}

#define HOOK(name)                                                             \
    static skn_status_t victim_##name(skn_actor_t *actor, void *state,         \
                                      skn_error_t *error)                      \
    {                                                                          \
        (void)state;                                                           \
        return suffer(actor, #name, error);                                    \
    }
HOOK(open)
HOOK(drain)
HOOK(timer)
HOOK(alarm)

static skn_status_t
victim_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)state;
    skn_actor_alarm(actor, 1, skn_actor_time_ns(actor));
    return suffer(actor, "start", error);
}

static void
victim_close(skn_actor_t *actor, void *state)
{
    (void)state;
    (void)suffer(actor, "close", NULL);
}

static skn_status_t
on_total(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    (void)state, (void)message;
    return suffer(actor, "handler", error);
}

static skn_status_t
sender_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    victim_t *victim = state;
    total_t total = { victim->sent };
    skn_status_t status = suffer(actor, "produce", error);
    if (status != SKN_OK)
        return status;
    if (strcmp(skn_actor_option_text(actor, "how"), "rest") == 0) {
        skn_actor_rest(actor); /* and never finishes */
        return SKN_OK;
    }
    if (victim->sent++ < (uint64_t)skn_actor_option_int(actor, "count"))
        return skn_actor_send(actor, &total_schema, &total, error);
    skn_actor_finish(actor);
    return SKN_OK;
}

static const skn_option_t options[] = {
    { "at", SKN_OPTION_TEXT, "nowhere", 0, 32, NULL, "the hook" },
    { "how", SKN_OPTION_TEXT, "fail", 0, 32, NULL, "what goes wrong" },
    { "seconds", SKN_OPTION_INT, "1000", 0, 1e6, NULL, "of hang" },
    { "microseconds", SKN_OPTION_INT, "100", 0, 1e9, NULL, "of burn" },
    { "count", SKN_OPTION_INT, "3", 0, 1e6, NULL, "messages to send" },
    { 0 },
};
static const skn_handler_t handlers[] = { { &total_schema, on_total, NULL },
                                          { 0 } };
static const skn_timer_t timers[] = { { "tick", 10, victim_timer },
                                      { "bell", 0, victim_alarm },
                                      { 0 } };
static const skn_kind_t sender =
    SKN_KIND(.name = "victim_sender", .state_bytes = sizeof(victim_t),
             .options = options, .sends = sends, .produce = sender_produce);
static const skn_kind_t victim =
    SKN_KIND(.name = "victim", .state_bytes = sizeof(victim_t),
             .options = options, .handlers = handlers, .timers = timers,
             .open = victim_open, .start = victim_start, .drain = victim_drain,
             .close = victim_close);
static const skn_kind_t *const kinds[] = { &sender, &victim, NULL };

SKN_API extern const skn_plugin_t skn_plugin;
const skn_plugin_t skn_plugin = { SKN_PLUGIN_VERSION, kinds };
