/* test_crash.c - tests that a crash report names the actor, and that the
 * process ends as it would without the report.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/runtime/crash.h"
#include "tests/support/flow_fixture.h"
#include "tests/support/sanitized.h"

TestSuite(crash, .timeout = 60);

static flow_t flow;
static volatile sig_atomic_t the_hosts_ran;

static void
of_the_host(int number)
{
    (void)number;
    the_hosts_ran = 1;
    _exit(77);
}

static void
overflow(volatile unsigned *depth)
{
    volatile char room[4096];
    room[*depth % sizeof(room)] = 1;
    *depth += (unsigned)room[*depth % sizeof(room)];
    if (*depth > 0)
        overflow(depth);
    room[0] = 2;
}

/* By its number n. */
static skn_status_t
crasher_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    volatile unsigned depth = 0;
    (void)state, (void)error;
    int number = (int)skn_actor_option_int(actor, "n");
    if (number == 0)
        overflow(&depth);
    else
        (void)raise(number);
    skn_actor_finish(actor);
    return SKN_OK;
}
static const skn_kind_t crasher =
    SKN_KIND(.name = "crasher", .options = flow_options,
             .start = crasher_start);

/* Runs it in a process of its own; its line in text[bytes]. */
static int
crash_by(int number, bool watches, char *text, size_t bytes)
{
    int ends[2], status = 0;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        const struct sigaction host = { .sa_handler = of_the_host };
        const struct sigaction plain = { .sa_handler = SIG_DFL };
        skn_error_t error = { 0 };
        skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
        for (int k = 1; k < NSIG; k++)
            if (k != SIGKILL && k != SIGSTOP)
                (void)sigaction(k, &plain, NULL);
        (void)sigaction(SIGBUS, &host, NULL);
        if (watches && skn_crash_watch(ends[1], &error) != SKN_OK)
            _exit(1);
        flow_actors(&flow, &crasher, 1, number, 0);
        skn_system_t *system = skn_system_new(&flow.wiring, &options, &error);
        (void)skn_system_start(system, NULL, NULL, &error);
        (void)skn_system_wait(system, &error);
        _exit(0);
    }
    (void)close(ends[1]);
    ssize_t count = read(ends[0], text, bytes - 1);
    text[count > 0 ? count : 0] = '\0';
    (void)close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

Test(crash, each_signal_is_reported_with_its_actor_and_ends_the_process)
{
    static const struct {
        int number;
        const char *text;
    } cases[] = { { SIGSEGV, "11 (Segmentation fault)" },
                  { SIGFPE, "8 (Floating point exception)" },
                  { SIGILL, "4 (Illegal instruction)" },
                  { SIGABRT, "6 (Aborted)" },
                  { SIGTRAP, "5 (Trace/breakpoint trap)" },
                  { SIGSYS, "31 (Bad system call)" } };
    char got[512], want[512];
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        int status = crash_by(cases[k].number, true, got, sizeof(got));
        (void)snprintf(want, sizeof(want),
                       "signal %s in actor crasher.0 (in its start)\n",
                       cases[k].text);
        cr_expect_str_eq(got, want);
        cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == cases[k].number,
                  "%s: status %x", cases[k].text, (unsigned)status);
    }
}

Test(crash, a_full_stack_is_reported, .disabled = UNDER_SANITIZER)
{
    char got[512];
    int status = crash_by(0, true, got, sizeof(got));
    cr_expect(strstr(got, "signal 11 (Segmentation fault) in actor "
                          "crasher.0 (in its start): its stack overflowed"),
              "%s", got);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

Test(crash, the_handler_that_the_host_had_runs_too)
{
    char got[512];
    int status = crash_by(SIGBUS, true, got, sizeof(got));
    cr_expect(strstr(got, "signal 7 (Bus error) in actor crasher.0"), "%s",
              got);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

Test(crash, a_host_that_did_not_ask_has_its_own_handler_alone)
{
    char got[512];
    int status = crash_by(SIGBUS, false, got, sizeof(got));
    cr_expect_str_eq(got, "");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

Test(crash, what_is_no_descriptor_is_refused)
{
    skn_error_t error = { 0 };
    struct sigaction then, now;
    cr_assert_eq(sigaction(SIGBUS, NULL, &then), 0);
    cr_expect_eq(skn_crash_watch(-1, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "-1 is not a file descriptor, so crashes "
                                 "cannot be reported to it");
    cr_assert_eq(sigaction(SIGBUS, NULL, &now), 0);
    cr_expect(now.sa_handler == then.sa_handler, "a handler was installed");
}

Test(crash, a_crash_outside_of_any_actor_is_reported_as_such)
{
    char got[256];
    skn_crash_describe(SIGFPE, NULL, got, sizeof(got));
    cr_expect_str_eq(got, "signal 8 (Floating point exception) outside of any "
                          "actor");
    skn_crash_describe(64, NULL, got, sizeof(got));
    cr_expect_str_eq(got, "signal 64 outside of any actor");
}
