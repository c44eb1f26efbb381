/* supervise.c - fork, wait, forward signals, restart.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/supervise.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RESTARTS_MAX 5
#define RESTART_SPAN_S 60
#define KEEPER_TICK_NS 200000000

void *
cli_shared_new(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

static void
watched_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGCHLD);
}

/* In the child: the parent speaks by SIGUSR1 (end well) and SIGUSR2 (now).
 * Until cli_follow has something to end well, both end the process. */
static void
become_worker(pid_t parent)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    const struct sigaction end = { .sa_handler = SIG_DFL };
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(skn_status_exit_code(SKN_UNAVAILABLE)); /* it is gone already */
    (void)sigaction(SIGINT, &ignore, NULL);
    (void)sigaction(SIGTERM, &ignore, NULL);
    (void)sigaction(SIGUSR1, &end, NULL);
    (void)sigaction(SIGUSR2, &end, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The next signal; 0: it is time for the keeper. */
static int
next_signal(const cli_keeper_t *keeper)
{
    const struct timespec tick = { 0, KEEPER_TICK_NS };
    sigset_t set;
    watched_signals(&set);
    int number =
        keeper ? sigtimedwait(&set, NULL, &tick) : sigwaitinfo(&set, NULL);
    return number > 0 ? number : 0;
}

/* To a person, who would ask again: a batch or a checkpoint may take a while.
 * The terminal has put ^C into the line. */
static void
tell_asked(int number, int times)
{
    if (number == SIGINT && times == 1 && isatty(STDERR_FILENO))
        (void)fputs("\rskein: it comes to a good end; Ctrl-C again ends it at "
                    "once\n",
                    stderr);
}

/* Waits for the worker, passing signals on, and wishes of the keeper: the last
 * one is left in *wish. Those do not count as asking a first time: SIGTERM may
 * well follow a notice. The last signal that asked is left in *asked_by.
 * Returns its wait status. */
static int
watch(pid_t worker, const cli_keeper_t *keeper, cli_polite_wish_t *wish,
      int *asked_by)
{
    int status = 0, asked = 0;
    *wish = CLI_POLITE_STAY;
    for (;;) {
        int number = next_signal(keeper);
        if (number == SIGINT || number == SIGTERM) {
            *asked_by = number;
            if (keeper && keeper->asked)
                *keeper->asked = true;
            (void)kill(worker, asked++ == 0 ? SIGUSR1 : SIGUSR2);
            tell_asked(number, asked);
            if (keeper)
                keeper->hurry(keeper->state);
            *wish = CLI_POLITE_STAY; /* it is over */
        }
        if (waitpid(worker, &status, WNOHANG) == worker)
            return status;
        if (!keeper || asked > 0)
            continue;
        cli_polite_wish_t now = keeper->look(keeper->state, worker);
        if (now == CLI_POLITE_STAY || *wish == CLI_POLITE_LEAVE ||
            now == *wish ||
            (now == CLI_POLITE_GIVE_MEMORY && !keeper->gives_memory))
            continue;
        if (*wish == CLI_POLITE_STAY) {
            (void)kill(worker, SIGUSR1);
            keeper->hurry(keeper->state);
        }
        *wish = now;
    }
}

/* Whether the run may go on: its memory is not needed any more, and nobody has
 * asked for an end meanwhile. */
static bool
wait_for_memory(const cli_keeper_t *keeper)
{
    for (;;) {
        int number = next_signal(keeper);
        if (number == SIGINT || number == SIGTERM)
            return false;
        switch (keeper->look(keeper->state, 0)) {
        case CLI_POLITE_STAY:
            return true;
        case CLI_POLITE_LEAVE:
            return false;
        case CLI_POLITE_GIVE_MEMORY:
            break;
        }
    }
}

/* Whether a worker that has ended is to be started again: it was ended for its
 * memory, before its run was done. */
static bool
goes_on(const cli_keeper_t *keeper, cli_polite_wish_t wish, int status)
{
    bool early = WIFSIGNALED(status)
                     ? WTERMSIG(status) == SIGUSR1
                     : WEXITSTATUS(status) == 0 && keeper && *keeper->stopped;
    if (keeper)
        (void)keeper->look(keeper->state, 0);
    return wish == CLI_POLITE_GIVE_MEMORY && early && wait_for_memory(keeper);
}

static bool
within_budget(time_t *restarts, int *count)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int slot = *count % RESTARTS_MAX;
    if (*count >= RESTARTS_MAX && now.tv_sec - restarts[slot] < RESTART_SPAN_S)
        return false;
    restarts[slot] = now.tv_sec;
    ++*count;
    return true;
}

static int
report_death(const cli_call_t *call, int number, int asked_by, bool saves)
{
    skn_error_t error = { 0 };
    if (number == SIGUSR2) { /* the user insisted */
        cli_warn(call, "the run was ended at once",
                 saves ? "--resume goes on from its last checkpoint" : "");
        return 128 + asked_by;
    }
    (void)skn_fail(&error, SKN_INTERNAL,
                   "the worker process was killed by signal %d (%s)", number,
                   strsignal(number));
    (void)skn_fail_hint(
        &error, SKN_INTERNAL, "%s",
        number == SIGKILL   ? "was it killed for memory? see dmesg"
        : number == SIGABRT ? "was memory or something else of the system "
                              "short? go on with --resume, or report this"
                            : "go on with --resume, and report this");
    return cli_report(call, &error);
}

/* Asked to end before there was anything to save. */
static int
report_early_end(const cli_call_t *call, const cli_keeper_t *keeper)
{
    if (keeper)
        *keeper->stopped = true;
    (void)puts(call->json ? "{\"event\":\"stopped\",\"begun\":false}"
                          : "stopped before the run began");
    return 0;
}

/* Nobody reads what the worker prints: it ends, as others do before `head`. */
static int
end_like_it(int number)
{
    const struct sigaction end = { .sa_handler = SIG_DFL };
    (void)sigaction(number, &end, NULL);
    (void)raise(number);
    return 128 + number;
}

int
cli_supervise(const cli_call_t *call, cli_work_t *work, void *job,
              const volatile bool *begun, const cli_keeper_t *keeper)
{
    cli_polite_wish_t wish;
    time_t when[RESTARTS_MAX] = { 0 };
    int restart_count = 0, asked_by = SIGTERM;
    sigset_t set;
    watched_signals(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    for (int attempt = 0;; attempt++) {
        pid_t parent = getpid(), worker;
        (void)fflush(NULL);
        worker = fork();
        if (worker < 0) {
            skn_error_t error = { 0 };
            (void)skn_fail(&error, SKN_NO_MEMORY, "no worker process: %s",
                           strerror(errno));
            return cli_report(call, &error);
        }
        if (worker == 0) {
            become_worker(parent);
            int code = cli_finish(call, work(call, job, attempt));
            _exit(code);
        }
        int status = watch(worker, keeper, &wish, &asked_by);
        if (goes_on(keeper, wish, status))
            continue;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        int number = WTERMSIG(status);
        if (number == SIGUSR1)
            return report_early_end(call, keeper);
        if (number == SIGPIPE)
            return end_like_it(number);
        if (number == SIGUSR2 || !begun || !*begun ||
            !within_budget(when, &restart_count))
            return report_death(call, number, asked_by, begun && *begun);
        char text[128];
        (void)snprintf(text, sizeof(text),
                       "the worker process died of signal %d (%s)", number,
                       strsignal(number));
        cli_warn(call, text, "it starts again from its last checkpoint");
    }
}
