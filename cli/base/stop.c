/* stop.c - receives the signals that stop a run, and answers them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/base/bar.h"
#include "cli/base/process.h"
#include "formats/text/system_error.h"
#include "transport/socket/clock.h"

/* GNU timeout sends its signal to the process and, 0.1 ms later, to its group:
 * two SIGINT from one process within this time are one request. SIGINT from a
 * terminal has no sender, and each one counts. */
#define SAME_WISH_NS 5000000u

/* For a limit on CPU time that ends in SIGKILL: SIGXCPU is sent this much
 * before, or at three quarters of a limit shorter than four times that. */
#define CPU_SPARE_S 10u

static const struct {
    int number;
    const char *name;
} asking[] = {
    { SIGINT, "SIGINT" },   { SIGTERM, "SIGTERM" }, { SIGHUP, "SIGHUP" },
    { SIGUSR1, "SIGUSR1" }, { SIGUSR2, "SIGUSR2" }, { SIGXCPU, "SIGXCPU" },
};
#define ASKING_COUNT (sizeof(asking) / sizeof(asking[0]))

/* Whether the signal was ignored at the start by the user's choice. That is
 * only assumed for SIGHUP: shells make background jobs of scripts ignore
 * SIGINT, and a SIGINT sent to such a job is still meant. */
static bool
is_ignored(int number)
{
    struct sigaction now;
    return number == SIGHUP && sigaction(number, NULL, &now) == 0 &&
           now.sa_handler == SIG_IGN;
}

static void
all_of_them(sigset_t *set)
{
    (void)sigemptyset(set);
    for (size_t k = 0; k < ASKING_COUNT; k++)
        if (!is_ignored(asking[k].number))
            (void)sigaddset(set, asking[k].number);
}

skn_status_t
cli_stop_open(cli_stop_t *stop, skn_error_t *error)
{
    sigset_t set;
    all_of_them(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    stop->descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return stop->descriptor >= 0
               ? SKN_OK
               : skn_fail_code(error, SKN_UNAVAILABLE, errno, NULL,
                               "cannot create a signal descriptor");
}

void
cli_stop_close(cli_stop_t *stop)
{
    if (stop->descriptor >= 0)
        (void)close(stop->descriptor);
    stop->descriptor = -1;
}

bool
cli_stop_insisted(const cli_stop_t *stop)
{
    return stop->interrupts > 1;
}

int
cli_stop_code(const cli_stop_t *stop, int code)
{
    return cli_stop_insisted(stop) ? CLI_STOP_INSISTED : code;
}

cli_stop_news_t
cli_stop_note(cli_stop_t *stop, int number, pid_t sender, uint64_t now_ns)
{
    bool first = stop->asked_by == 0;
    if (number == SIGCHLD || stop->leased ||
        (number == SIGINT && stop->leashed))
        return CLI_STOP_NOTHING;
    if (number == SIGINT) {
        bool same = stop->interrupts > 0 && sender > 0 &&
                    sender == stop->interrupter &&
                    now_ns - stop->interrupt_ns < SAME_WISH_NS;
        if (same)
            return CLI_STOP_NOTHING;
        stop->interrupts++;
        stop->interrupter = sender;
        stop->interrupt_ns = now_ns;
    }
    if (first)
        stop->asked_by = number;
    return number == SIGINT && cli_stop_insisted(stop) ? CLI_STOP_AT_ONCE
           : first                                     ? CLI_STOP_ASKED
                                                       : CLI_STOP_NOTHING;
}

/* Answers the first request, and the first Ctrl-C, because the user has to know
 * what a second one does. */
static void
answer(const cli_stop_t *stop, int number, cli_stop_news_t news)
{
    const char *clearing = cli_bar_clearing();
    if (number == SIGINT && stop->interrupts == 1)
        (void)fprintf(stderr,
                      "%sskein: stopping: %s (press Ctrl-C again to %s)\n",
                      clearing, stop->doing, stop->insisting);
    else if (news == CLI_STOP_AT_ONCE)
        (void)fputs(clearing, stderr);
    for (size_t k = 0;
         news == CLI_STOP_ASKED && !stop->json && k < ASKING_COUNT; k++)
        if (asking[k].number == number && number != SIGINT)
            (void)fprintf(stderr, "%sskein: stopping: %s (%s)\n", clearing,
                          stop->doing, asking[k].name);
}

/* Reports a signal that may have reached only this process, such as the end of
 * its CPU time, to the process that decides, which reads its events. SIGINT is
 * not reported: a terminal sends it to the whole group. */
static void
report_to_starter(const cli_stop_t *stop, int number)
{
    if (!stop->leased || number == SIGINT || number == SIGCHLD)
        return;
    (void)printf("{\"event\":\"signal\",\"number\":%d}\n", number);
    (void)fflush(stdout);
}

/* From now on the next SIGINT ends the process, whatever it is doing. */
static void
let_go_of_interrupts(void)
{
    const struct sigaction end = { .sa_handler = SIG_DFL };
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaction(SIGINT, &end, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

cli_stop_news_t
cli_stop_take(cli_stop_t *stop)
{
    struct signalfd_siginfo info;
    cli_stop_news_t newest = CLI_STOP_NOTHING;
    while (stop->descriptor >= 0 &&
           read(stop->descriptor, &info, sizeof(info)) ==
               (ssize_t)sizeof(info)) {
        int number = (int)info.ssi_signo;
        uint32_t interrupts = stop->interrupts;
        report_to_starter(stop, number);
        cli_stop_news_t news = cli_stop_note(stop, number, (pid_t)info.ssi_pid,
                                             skn_monotonic_ns());
        if (news != CLI_STOP_NOTHING || stop->interrupts > interrupts)
            answer(stop, number, news);
        if (news == CLI_STOP_AT_ONCE)
            let_go_of_interrupts();
        if (news > newest)
            newest = news;
    }
    return newest;
}

cli_stop_news_t
cli_stop_wait(cli_stop_t *stop, int timeout_ms)
{
    struct pollfd polled = { stop->descriptor, POLLIN, 0 };
    (void)poll(&polled, 1, timeout_ms);
    return cli_stop_take(stop);
}

/* --- the worker's side --------------------------------------------------- */

int
cli_stop_word(void)
{
    return SIGRTMIN; /* a signal that no scheduler sends to a group */
}

static void
pass_on(int number)
{
    int saved = errno;
    (void)kill(getppid(), number);
    errno = saved;
}

/* Lowers the soft limit on CPU time: the hard limit gives no warning, and
 * `ulimit -t` sets both. */
static void
spare_cpu_time(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
        limit.rlim_cur < limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max >= 4 * CPU_SPARE_S
                         ? limit.rlim_max - CPU_SPARE_S
                         : limit.rlim_max - (limit.rlim_max + 3) / 4;
    if (limit.rlim_cur > 0)
        (void)setrlimit(RLIMIT_CPU, &limit);
}

void
cli_stop_become_worker(void)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    const struct sigaction end = { .sa_handler = SIG_DFL };
    const struct sigaction pass = { .sa_handler = pass_on,
                                    .sa_flags = SA_RESTART };
    sigset_t none;
    for (size_t k = 0; k < ASKING_COUNT; k++)
        if (!is_ignored(asking[k].number))
            (void)sigaction(asking[k].number,
                            asking[k].number == SIGINT ? &ignore : &pass, NULL);
    (void)sigaction(cli_stop_word(), &end, NULL);
    spare_cpu_time();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
