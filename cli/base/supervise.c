/* supervise.c - forks the worker, forwards signals to it, and restarts it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/supervise.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "cli/base/stop.h"
#include "skein/topology.h"

#define WORKER_RESTARTS_MAX 5
#define RESTART_SPAN_S 60
#define PARENT_TICK_MS 200

static void
become_worker(pid_t parent, int note)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        /* The parent has died already. */
        _exit(skn_status_exit_code(SKN_UNAVAILABLE));
    cli_stop_become_worker();
    (void)skn_report_crashes(note >= 0 ? note : STDERR_FILENO, NULL);
}

static cli_stop_news_t
take_news(cli_stop_t *stop, const cli_parent_work_t *parent)
{
    return cli_stop_wait(stop, parent ? PARENT_TICK_MS : -1);
}

/* Waits for the worker and forwards requests to stop, from signals and from the
 * parent; *wish becomes its last one. Returns the wait status. */
static int
watch(pid_t worker, cli_stop_t *stop, const cli_parent_work_t *parent,
      skn_yielding_wish_t *wish)
{
    int status = 0;
    *wish = SKN_YIELDING_STAY;
    for (;;) {
        cli_stop_news_t news = take_news(stop, parent);
        if (news == CLI_STOP_AT_ONCE)
            (void)kill(worker, SIGKILL);
        else if (news == CLI_STOP_ASKED)
            (void)kill(worker, cli_stop_word());
        if (parent && news != CLI_STOP_NOTHING) {
            parent->hurry(parent->state);
            *wish = SKN_YIELDING_STAY; /* a signal replaces its wish */
        }
        if (waitpid(worker, &status, WNOHANG) == worker)
            return status;
        if (!parent || stop->asked_by)
            continue;
        skn_yielding_wish_t now = parent->step(parent->state, worker);
        if (now == SKN_YIELDING_STAY || *wish == SKN_YIELDING_LEAVE ||
            now == *wish ||
            (now == SKN_YIELDING_GIVE_MEMORY && !parent->gives_memory))
            continue;
        if (*wish == SKN_YIELDING_STAY) {
            (void)kill(worker, cli_stop_word());
            parent->hurry(parent->state);
        }
        *wish = now;
    }
}

/* Waits until others do not need the run's memory any more; false if a stop was
 * requested meanwhile, or the machine will be taken away. */
static bool
wait_for_memory(cli_stop_t *stop, const cli_parent_work_t *parent)
{
    for (;;) {
        if (take_news(stop, parent) != CLI_STOP_NOTHING)
            return false;
        switch (parent->step(parent->state, 0)) {
        case SKN_YIELDING_STAY:
            return true;
        case SKN_YIELDING_LEAVE:
            return false;
        case SKN_YIELDING_GIVE_MEMORY:
            break;
        }
    }
}

/* Whether to restart a worker that has ended: it was stopped to return its
 * memory, before its run was done. */
static bool
goes_on(cli_stop_t *stop, const cli_parent_work_t *parent,
        skn_yielding_wish_t wish, int status)
{
    bool early = WIFSIGNALED(status)
                     ? WTERMSIG(status) == cli_stop_word()
                     : WEXITSTATUS(status) == 0 && parent && *parent->stopped;
    if (parent)
        (void)parent->step(parent->state, 0);
    return wish == SKN_YIELDING_GIVE_MEMORY && early &&
           wait_for_memory(stop, parent);
}

static bool
within_budget(time_t *restarts, int *count)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int slot = *count % WORKER_RESTARTS_MAX;
    if (*count >= WORKER_RESTARTS_MAX &&
        now.tv_sec - restarts[slot] < RESTART_SPAN_S)
        return false;
    restarts[slot] = now.tv_sec;
    ++*count;
    return true;
}

/* Reads the line that the worker wrote into `note` when it crashed; if there is
 * none, describes the signal. */
static void
describe_death(int note, int number, char *text, size_t bytes)
{
    int by = 0;
    ssize_t count = note >= 0 ? pread(note, text, bytes - 1, 0) : 0;
    text[count > 0 ? count : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (sscanf(text, "signal %d", &by) != 1 || by != number)
        (void)snprintf(text, bytes, "signal %d (%s)", number,
                       strsignal(number));
}

/* Adds advice about a death that `text` describes. `saves`: the run may have a
 * checkpoint. */
static void
advise(const cli_call_t *call, int number, const char *text, bool saves,
       skn_error_t *error)
{
    const char *resume =
        saves && number != SIGKILL && cli_has_option(call->verb, "resume")
            ? "continue with --resume; "
            : "";
    char plugin[160] = "";
    (void)sscanf(text,
                 "signal %*d (%*[^)]) in actor %*s (%*[^ ,)] of %159[^,)]",
                 plugin);
    if (plugin[0])
        (void)skn_fail_hint(error, error->status,
                            "%sthe fault is in %s or in what it calls: a "
                            "debugger or a core dump shows the line",
                            resume, plugin);
    else
        (void)skn_fail_hint(
            error, error->status, "%s%s", resume,
            number == SIGKILL ? "did memory run out? see dmesg"
            : number == SIGABRT
                ? "did the system run out of memory or of another resource? if "
                  "not, please report this"
                : "please report this");
}

static const char *
resume_point(const cli_parent_work_t *parent)
{
    return parent && parent->resumes ? parent->resumes
                                     : "from its last checkpoint";
}

static int
report_death(const cli_call_t *call, int number, const char *text,
             bool insisted, const volatile bool *begun,
             const cli_parent_work_t *parent)
{
    skn_error_t error = { 0 };
    char how[80];
    (void)snprintf(how, sizeof(how), "--resume continues %s",
                   resume_point(parent));
    if (insisted) {
        cli_warn(call, "the run was stopped at once",
                 begun && *begun ? how : "");
        return CLI_STOP_INSISTED;
    }
    (void)skn_fail(&error, SKN_INTERNAL, "the worker process was killed by %s",
                   text);
    advise(call, number, text, !begun || *begun, &error);
    return cli_report(call, &error);
}

static int
report_exit(const cli_call_t *call, int code, const volatile bool *begun)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_INTERNAL,
                   "the worker process exited on its own, with code %d", code);
    (void)skn_fail_hint(&error, error.status,
                        "%sa plug-in, or a library that it calls, must not "
                        "call exit()",
                        begun && *begun && cli_has_option(call->verb, "resume")
                            ? "continue with --resume; "
                            : "");
    return cli_report(call, &error);
}

void
cli_tell_early_end(const cli_call_t *call, bool begun)
{
    if (call->json)
        (void)printf("{\"event\":\"stopped\",\"begun\":%s}\n",
                     begun ? "true" : "false");
    else
        (void)puts(begun ? "stopped before the run continued; --resume "
                           "continues from its last checkpoint"
                         : "stopped before the run began");
}

/* Reports that the run was asked to stop before there was anything to save. */
static int
report_early_end(const cli_call_t *call, const cli_parent_work_t *parent,
                 bool begun)
{
    if (parent)
        *parent->stopped = true;
    cli_tell_early_end(call, begun);
    return 0;
}

/* Forks a worker, which never returns. -1: the fork failed and was reported. */
static pid_t
start_worker(const cli_call_t *call, cli_work_t *work, void *job, int attempt,
             int note)
{
    skn_error_t error = { 0 };
    pid_t parent = getpid();
    volatile bool *end_mark = cli_worker_end_mark();
    if (end_mark)
        *end_mark = false;
    (void)fflush(NULL);
    pid_t worker = fork();
    if (worker == 0) {
        become_worker(parent, note);
        cli_worker_exit(cli_finish(call, work(call, job, attempt)));
    }
    if (worker < 0) {
        (void)skn_fail(&error, SKN_NO_MEMORY,
                       "cannot start a worker process: "
                       "%s",
                       strerror(errno));
        (void)cli_report(call, &error);
    }
    return worker;
}

/* Starts the worker as often as necessary; returns the exit code. `note` is the
 * descriptor for a crash report of the worker; -1: none. */
static int
repeat(const cli_call_t *call, cli_work_t *work, void *job,
       const volatile bool *begun, const cli_parent_work_t *parent,
       cli_stop_t *stop, int note)
{
    skn_yielding_wish_t wish;
    time_t when[WORKER_RESTARTS_MAX] = { 0 };
    int restart_count = 0;
    const volatile bool *end_mark = cli_worker_end_mark();
    for (int attempt = 0;; attempt++) {
        char text[SKN_ERROR_TEXT_BYTES], died[SKN_ERROR_TEXT_BYTES];
        char again[80];
        bool empty = ftruncate(note, 0) == 0 && lseek(note, 0, SEEK_SET) == 0;
        note = empty ? note : -1;
        pid_t worker = start_worker(call, work, job, attempt, note);
        if (worker < 0)
            return skn_status_exit_code(SKN_NO_MEMORY);
        int status = watch(worker, stop, parent, &wish);
        if (WIFEXITED(status) && end_mark && !*end_mark)
            return report_exit(call, WEXITSTATUS(status), begun);
        if (goes_on(stop, parent, wish, status))
            continue;
        if (WIFEXITED(status))
            return WEXITSTATUS(status);
        int number = WTERMSIG(status);
        describe_death(note, number, text, sizeof(text));
        if (number == cli_stop_word())
            return report_early_end(call, parent, begun && *begun);
        if (number == SIGPIPE) /* its output has no reader */
            return cli_output_end_unread();
        if (stop->asked_by || !begun || !*begun ||
            !within_budget(when, &restart_count))
            return report_death(call, number, text, cli_stop_insisted(stop),
                                begun, parent);
        (void)snprintf(died, sizeof(died),
                       "the worker process was killed by %.440s", text);
        (void)snprintf(again, sizeof(again), "it starts again %s",
                       resume_point(parent));
        cli_warn(call, died, again);
    }
}

int
cli_supervise(const cli_call_t *call, cli_work_t *work, void *job,
              const volatile bool *begun, const cli_parent_work_t *parent)
{
    skn_error_t error = { 0 };
    bool saves = begun || parent;
    cli_stop_t stop = {
        .doing = parent && parent->doing ? parent->doing
                 : saves                 ? "saving a checkpoint"
                                         : "finishing the current work",
        .insisting = parent && parent->insisting ? parent->insisting
                     : saves                     ? "quit without saving"
                                                 : "quit at once",
        .json = call->json,
        .leashed = parent && parent->leashed,
        .leased = parent && parent->leased,
    };
    cli_output_outlive();
    if (cli_stop_open(&stop, &error) != SKN_OK)
        return cli_report(call, &error);
    int note = memfd_create("skein-crash", MFD_CLOEXEC);
    int code = repeat(call, work, job, begun, parent, &stop, note);
    if (note >= 0)
        (void)close(note);
    cli_stop_close(&stop);
    return code;
}
