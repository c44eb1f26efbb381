/* idle_trial.c - measures whether a process gives way, by two spinning
 * processes on one core.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/idle/idle_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWNER 0
#define GUEST 1

/* Shared by the three processes. */
typedef struct trial {
    volatile uint64_t cpu_ns[2], begin_ns;
    volatile bool owner_works, over;
    int gate[2]; /* a pipe; closing one end lets both begin */
} trial_t;

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* If the core has other work too, the owner may not have had its turn yet, and
 * the trial lasts longer. */
static bool
is_over(trial_t *trial)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t ms = (now_ns - trial->begin_ns) / 1000000;
    if (ms >= SKN_IDLE_TRIAL_MS_MAX ||
        (ms >= SKN_IDLE_TRIAL_MS &&
         trial->cpu_ns[OWNER] >= SKN_IDLE_TRIAL_OWN_MS * UINT64_C(1000000)))
        trial->over = true;
    return trial->over;
}

/* Runs in the child and never returns. */
_Noreturn static void
spin(trial_t *trial, int who, int cpu, pid_t parent)
{
    cpu_set_t one;
    char nothing;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || sched_setaffinity(0, sizeof(one), &one) != 0)
        _exit(1);
    if (who == GUEST)
        (void)setsid();
    (void)close(trial->gate[1]);
    while (read(trial->gate[0], &nothing, 1) < 0 && errno == EINTR)
        continue;
    /* Until the owner works, the guest may use the whole core. */
    trial->owner_works = trial->owner_works || who == OWNER;
    while (!trial->owner_works && !is_over(trial))
        continue;
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    while (!is_over(trial))
        trial->cpu_ns[who] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    _exit(0);
}

/* The last processor, since interrupts usually arrive at the first. */
static int
trial_cpu(void)
{
    cpu_set_t all;
    int cpu = CPU_SETSIZE - 1;
    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        return -1;
    while (cpu >= 0 && !CPU_ISSET((size_t)cpu, &all))
        cpu--;
    return cpu;
}

/* Makes both processes wait at the gate, in their own sessions; the guest gives
 * way. They never run the signal handlers of this process, and call nothing
 * that another thread of it may have locked. */
static skn_status_t
run(const skn_idle_place_t *place, trial_t *trial, pid_t *child,
    skn_error_t *error)
{
    int cpu = trial_cpu(), code = 0;
    pid_t parent = getpid();
    skn_status_t status = SKN_OK;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int who = OWNER; who <= GUEST; who++) {
        child[who] = cpu < 0 ? -1 : fork();
        if (child[who] == 0)
            spin(trial, who, cpu, parent);
        if (child[who] < 0)
            status = skn_fail(error, SKN_UNAVAILABLE,
                              "cannot start a process to measure with: %s",
                              strerror(errno));
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* The guest is in its own session once it has called setsid. Until then it
     * shares ours, which must not be changed. */
    while (status == SKN_OK && getsid(child[GUEST]) == getsid(0) &&
           waitpid(child[GUEST], &code, WNOHANG) == 0)
        (void)sched_yield();
    if (status == SKN_OK)
        status = skn_idle_place_join(place, child[GUEST], error);
    return status;
}

skn_status_t
skn_idle_trial(const skn_idle_place_t *place, double *share, skn_error_t *error)
{
    pid_t child[2] = { -1, -1 };
    trial_t *trial = mmap(NULL, sizeof(*trial), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *share = -1.0;
    if (trial == MAP_FAILED || pipe2(trial->gate, O_CLOEXEC) != 0) {
        if (trial != MAP_FAILED)
            (void)munmap(trial, sizeof(*trial));
        return skn_fail(error, SKN_UNAVAILABLE,
                        "cannot set up a measurement: %s", strerror(errno));
    }
    skn_status_t status = run(place, trial, child, error);
    for (int who = OWNER; status != SKN_OK && who <= GUEST; who++)
        if (child[who] > 0)
            (void)kill(child[who], SIGKILL);
    trial->begin_ns = clock_ns(CLOCK_MONOTONIC);
    (void)close(trial->gate[0]);
    (void)close(trial->gate[1]);
    for (int who = OWNER; who <= GUEST; who++)
        while (child[who] > 0 && waitpid(child[who], NULL, 0) < 0 &&
               errno == EINTR)
            continue;
    double owner = (double)trial->cpu_ns[OWNER];
    double guest = (double)trial->cpu_ns[GUEST];
    (void)munmap(trial, sizeof(*trial));
    if (status != SKN_OK)
        return status;
    if (owner + guest <= 0.0)
        return skn_fail(error, SKN_UNAVAILABLE, "the measurement did not run");
    *share = guest / (owner + guest);
    return SKN_OK;
}

void
skn_idle_choose(skn_idle_place_t *place, double *share)
{
    skn_idle_place_clean();
    for (skn_idle_way_t way = 0;; way++) {
        skn_error_t nothing = { 0 };
        *share = -1.0;
        if (skn_idle_place_open(place, way, &nothing) != SKN_OK)
            continue; /* the last one can always be opened */
        bool measured = skn_idle_trial(place, share, &nothing) == SKN_OK;
        if (way == SKN_IDLE_WAY_SESSION ||
            (measured && *share <= SKN_IDLE_TRIAL_SHARE_MAX))
            return;
        skn_idle_place_close(place);
    }
}
