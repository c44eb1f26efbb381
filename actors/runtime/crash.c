/* crash.c - the signal handler that names the actor in which a process crashes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/crash.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* The handler's own room beside the signal frame, whose size the system knows
 * (11 KiB with the tiles of AMX): enough also for a handler of the host that
 * runs after ours. */
#define HANDLER_BYTES ((size_t)64 << 10)
/* How far below its stack a thread that overflows it may touch. */
#define OVERFLOW_BYTES ((uintptr_t)64 << 10)
#define PAGE_BYTES ((uintptr_t)4096)
#define LINE_BYTES 512

static const struct {
    int number;
    const char *text;
} signals[] = {
    { SIGSEGV, "Segmentation fault" },
    { SIGBUS, "Bus error" },
    { SIGFPE, "Floating point exception" },
    { SIGILL, "Illegal instruction" },
    { SIGABRT, "Aborted" },
    { SIGTRAP, "Trace/breakpoint trap" },
    { SIGSYS, "Bad system call" },
};
#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before[SIGNAL_COUNT];
static bool installed;
static atomic_int told_to = -1; /* descriptor for the line; -1: off */

/* These describe the calling thread. Reaching a variable of this TLS model
 * needs no call, which might allocate: a signal handler must not. */
#define THREAD_LOCAL                                                           \
    static _Thread_local __attribute__((tls_model("initial-exec")))
THREAD_LOCAL const skn_actor_t *this_actor;
THREAD_LOCAL const char *this_role;
THREAD_LOCAL uintptr_t this_stack; /* its lowest address; 0: unknown */

static void
add_number(char *text, size_t bytes, size_t *used, unsigned number)
{
    char digits[16];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    skn_place_add(text, bytes, used, digits + at);
}

void
skn_crash_describe(int number, const void *at, char *text, size_t bytes)
{
    char who[LINE_BYTES];
    size_t used = 0;
    uintptr_t touched = (uintptr_t)at;
    skn_place_add(text, bytes, &used, "signal ");
    add_number(text, bytes, &used, (unsigned)number);
    for (size_t k = 0; k < SIGNAL_COUNT; k++)
        if (signals[k].number == number) {
            skn_place_add(text, bytes, &used, " (");
            skn_place_add(text, bytes, &used, signals[k].text);
            skn_place_add(text, bytes, &used, ")");
        }
    if (this_actor) {
        skn_place_add(text, bytes, &used, " in actor ");
        skn_place_add(text, bytes, &used,
                      skn_place_describe(this_actor, who, sizeof(who)));
    } else {
        skn_place_add(text, bytes, &used, this_role ? " in " : "");
        skn_place_add(text, bytes, &used,
                      this_role ? this_role : " outside of any actor");
    }
    if (this_stack > 0 && touched >= this_stack - OVERFLOW_BYTES &&
        touched < this_stack + PAGE_BYTES)
        skn_place_add(text, bytes, &used, ": its stack overflowed");
}

/* Only these signals carry the address of the fault. */
static bool
has_address(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
           number == SIGILL;
}

static void
on_crash(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    char line[LINE_BYTES + 1];
    bool by_itself = info->si_code > 0 && has_address(number);
    size_t used;
    (void)context;
    skn_crash_describe(number, by_itself ? info->si_addr : NULL, line,
                       LINE_BYTES);
    for (used = 0; line[used]; used++)
        ;
    line[used++] = '\n';
    ssize_t written = write(atomic_load(&told_to), line, used);
    (void)written;
    for (size_t k = 0; k < SIGNAL_COUNT; k++)
        if (signals[k].number == number)
            (void)sigaction(number, &before[k], NULL);
    /* A faulting instruction runs again when we return, and a core dump shows
     * it; any other signal has to be raised again. */
    if (!by_itself)
        (void)raise(number);
    errno = saved;
}

/* Restores the host's handlers of the first `count` signals, except where the
 * host has replaced our handler since. */
static void
put_back(size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct sigaction now;
        if (sigaction(signals[k].number, NULL, &now) == 0 &&
            (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_crash)
            (void)sigaction(signals[k].number, &before[k], NULL);
    }
}

static skn_status_t
install(skn_error_t *error)
{
    struct sigaction action = { .sa_sigaction = on_crash,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK };
    (void)sigfillset(&action.sa_mask);
    for (size_t k = 0; k < SIGNAL_COUNT; k++)
        if (sigaction(signals[k].number, &action, &before[k]) != 0) {
            put_back(k);
            return skn_fail(error, SKN_UNAVAILABLE,
                            "cannot install a handler of signal %d",
                            signals[k].number);
        }
    return SKN_OK;
}

skn_status_t
skn_crash_watch(int descriptor, skn_error_t *error)
{
    static skn_crash_thread_t own;
    if (descriptor < 0)
        return skn_fail(error, SKN_USAGE,
                        "%d is not a file descriptor, so crashes cannot be "
                        "reported to it",
                        descriptor);
    (void)pthread_mutex_lock(&lock);
    bool first = !installed;
    skn_status_t status = first ? install(error) : SKN_OK;
    if (status == SKN_OK) {
        installed = true;
        atomic_store(&told_to, descriptor);
    }
    (void)pthread_mutex_unlock(&lock);
    if (status == SKN_OK && first)
        skn_crash_enter(&own, NULL, NULL);
    return status;
}

/* Unloading the library removes our signal handlers. */
__attribute__((destructor)) static void
forget(void)
{
    if (installed)
        put_back(SIGNAL_COUNT);
}

static uintptr_t
lowest_address(void)
{
    pthread_attr_t attributes;
    void *address = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    (void)pthread_attr_getstack(&attributes, &address, &bytes);
    (void)pthread_attr_destroy(&attributes);
    return (uintptr_t)address;
}

void
skn_crash_enter(skn_crash_thread_t *thread, const skn_actor_t *actor,
                const char *role)
{
    long frame_bytes = sysconf(_SC_MINSIGSTKSZ);
    *thread = (skn_crash_thread_t){ 0 };
    if (atomic_load(&told_to) < 0)
        return;
    this_actor = actor;
    this_role = role;
    this_stack = lowest_address();
    stack_t stack = { .ss_size = HANDLER_BYTES +
                                 (frame_bytes > 0 ? (size_t)frame_bytes : 0) };
    stack.ss_sp = thread->stack = malloc(stack.ss_size);
    if (!stack.ss_sp || sigaltstack(&stack, &thread->before) != 0) {
        free(thread->stack);
        thread->stack = NULL;
    }
}

void
skn_crash_leave(skn_crash_thread_t *thread)
{
    this_actor = NULL;
    this_role = NULL;
    if (thread->stack && sigaltstack(&thread->before, NULL) == 0) {
        free(thread->stack);
        thread->stack = NULL;
    }
}
