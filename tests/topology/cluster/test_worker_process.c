/* test_worker_process.c - tests that workers are started, read and ended, also
 * in a host that closes its streams, reaps children or ignores their end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/worker_process.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/settle.h"

TestSuite(worker_process, .timeout = 60);

static skn_worker_process_t process;
static char events[4096], complaints[4096];
static skn_error_t error;

static void
take(void *job, bool is_event, char *line)
{
    char *all = is_event ? events : complaints;
    size_t used = strlen(all);
    (void)job;
    (void)snprintf(all + used, sizeof(events) - used, "%s\n", line);
}

static void
start_program(const char *program, const char *first, const char *second)
{
    char *const arguments[] = { (char *)(uintptr_t)program,
                                (char *)(uintptr_t)first,
                                (char *)(uintptr_t)second, NULL };
    events[0] = complaints[0] = '\0';
    skn_worker_process_init(&process);
    cr_assert_eq(skn_worker_process_start(&process, program, arguments, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_gt(process.process, 0);
}

static void
start(const char *script)
{
    start_program("sh", "-c", script);
}

/* Reads until the process has ended, and then the rest. */
static void
read_to_end(void)
{
    while (!skn_worker_process_ends(&process)) {
        struct pollfd polled[SKN_WORKER_POLLED];
        skn_worker_process_polled(&process, polled);
        (void)poll(polled, SKN_WORKER_POLLED, -1);
        skn_worker_process_read(&process, take, NULL);
    }
    skn_worker_process_read(&process, take, NULL);
}

Test(worker_process, its_lines_and_its_exit_code_arrive)
{
    size_t before = settle_entries(SETTLE_DESCRIPTORS);
    start("echo one; echo two >&2; printf three; exit 3");
    read_to_end();
    cr_expect_str_eq(events, "one\nthree\n");
    cr_expect_str_eq(complaints, "two\n");
    cr_expect(process.has_status && WIFEXITED(process.status));
    cr_expect_eq(WEXITSTATUS(process.status), 3);
    cr_expect_not(skn_worker_process_ends(&process), "it ends once");
    skn_worker_process_fini(&process);
    cr_expect_eq(settle_at_most(SETTLE_DESCRIPTORS, before), before);
}

Test(worker_process, the_end_of_its_leash_ends_it)
{
    start("cat; echo over");
    cr_expect_eq(write(process.leash, "x\n", 2), 2);
    skn_worker_process_stop(&process);
    read_to_end();
    cr_expect_str_eq(events, "x\nover\n");
    skn_worker_process_fini(&process);
}

Test(worker_process, it_is_killed)
{
    start("cat; cat; sleep 1000");
    skn_worker_process_kill(&process);
    cr_expect_eq(process.process, 0);
    cr_expect(process.has_status && WIFSIGNALED(process.status));
    skn_worker_process_kill(&process);
    skn_worker_process_fini(&process);
}

Test(worker_process, it_inherits_three_descriptors)
{
    int open = dup(STDOUT_FILENO); /* without close-on-exec */
    cr_assert_geq(open, 0);
    start_program("ls", "-x", "/proc/self/fd");
    read_to_end();
    cr_expect_str_eq(events, "0  1  2  3\n", "%s", events); /* 3: the folder */
    skn_worker_process_fini(&process);
    (void)close(open);
}

/* The line of /proc/PID/status, in base 16. */
static unsigned long
signals_of(const char *key)
{
    const char *at = strstr(events, key);
    cr_assert(at, "%s", events);
    return strtoul(at + strlen(key), NULL, 16);
}

Test(worker_process, signals_that_ask_for_a_stop_are_blocked_in_it)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    const int blocked[] = { SIGHUP,  SIGINT,  SIGTERM, SIGUSR1,
                            SIGUSR2, SIGXCPU, SIGCHLD };
    unsigned long want = 0;
    for (size_t k = 0; k < sizeof(blocked) / sizeof(blocked[0]); k++)
        want |= 1ul << (blocked[k] - 1);
    cr_assert_eq(sigaction(SIGPIPE, &ignore, NULL), 0);
    start_program("cat", "/proc/self/status", NULL);
    read_to_end();
    cr_expect_eq(signals_of("SigBlk:"), want, "%s", events);
    cr_expect_eq(signals_of("SigIgn:") & (1ul << (SIGPIPE - 1)), 0ul);
    skn_worker_process_fini(&process);
}

Test(worker_process, a_host_may_have_closed_its_streams)
{
    int kept[3];
    for (int k = 0; k < 3; k++) {
        kept[k] = dup(k);
        (void)close(k);
    }
    start("cat; echo two >&2; echo one");
    skn_worker_process_stop(&process);
    read_to_end();
    skn_worker_process_fini(&process);
    for (int k = 0; k < 3; k++)
        (void)dup2(kept[k], k);
    cr_expect_str_eq(events, "one\n");
    cr_expect_str_eq(complaints, "two\n");
}

Test(worker_process, a_host_may_take_its_exit_code)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    start("exit 3");
    cr_expect_eq(waitpid(process.process, NULL, 0), process.process);
    cr_expect(skn_worker_process_ends(&process));
    cr_expect_not(process.has_status);
    skn_worker_process_fini(&process);
    cr_assert_eq(sigaction(SIGCHLD, &ignore, NULL), 0);
    start("cat");
    skn_worker_process_kill(&process);
    cr_expect(process.process == 0 && !process.has_status);
    skn_worker_process_fini(&process);
}

Test(worker_process, a_program_that_is_missing_is_named)
{
    char *const arguments[] = { "none", NULL };
    size_t before = settle_entries(SETTLE_DESCRIPTORS);
    skn_worker_process_init(&process);
    cr_expect_eq(
        skn_worker_process_start(&process, "/no/such", arguments, &error),
        SKN_NO_INPUT);
    cr_expect(strstr(error.text, "/no/such"), "%s", error.text);
    skn_worker_process_fini(&process);
    cr_expect_eq(settle_at_most(SETTLE_DESCRIPTORS, before), before);
}

Test(worker_process, a_line_that_is_too_long_comes_in_pieces)
{
    start("head -c 1200000 /dev/zero | tr '\\0' x; echo");
    read_to_end();
    cr_expect_eq(process.out.count, 0);
    cr_expect_eq(events[0], 'x');
    skn_worker_process_fini(&process);
}
