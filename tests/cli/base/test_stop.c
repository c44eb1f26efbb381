/* test_stop.c - tests the effect of each signal, given the signals before it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/stop.h"

#define MS 1000000u

static const int yielding[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU };
#define POLITE_COUNT (sizeof(yielding) / sizeof(yielding[0]))

Test(stop, the_first_of_them_asks_and_no_other_does)
{
    for (size_t first = 0; first < POLITE_COUNT; first++) {
        cli_stop_t stop = { .descriptor = -1 };
        cr_expect_eq(cli_stop_note(&stop, yielding[first], 7, 0),
                     CLI_STOP_ASKED);
        for (size_t k = 0; k < 4 * POLITE_COUNT; k++)
            cr_expect_eq(cli_stop_note(&stop, yielding[k % POLITE_COUNT], 7,
                                       k * 10000 * MS),
                         CLI_STOP_NOTHING);
        cr_expect_eq(stop.asked_by, yielding[first]);
    }
}

Test(stop, only_a_second_interrupt_ends_at_once)
{
    cli_stop_t stop = { .descriptor = -1 };
    cr_expect_eq(cli_stop_note(&stop, SIGTERM, 7, 0), CLI_STOP_ASKED);
    cr_expect_eq(cli_stop_note(&stop, SIGINT, 0, 1), CLI_STOP_NOTHING);
    cr_expect_eq(cli_stop_note(&stop, SIGHUP, 0, 2), CLI_STOP_NOTHING);
    cr_expect_eq(cli_stop_note(&stop, SIGINT, 0, 3), CLI_STOP_AT_ONCE);
    cr_expect_eq(stop.asked_by, SIGTERM);
}

Test(stop, two_interrupts_of_one_process_are_one_wish_if_they_come_together)
{
    cli_stop_t stop = { .descriptor = -1 };
    cr_expect_eq(cli_stop_note(&stop, SIGINT, 7, 100 * MS), CLI_STOP_ASKED);
    cr_expect_eq(cli_stop_note(&stop, SIGINT, 7, 104 * MS), CLI_STOP_NOTHING);
    cr_expect_eq(cli_stop_note(&stop, SIGINT, 7, 104 * MS), CLI_STOP_NOTHING);
    cr_expect_eq(stop.interrupts, 1);
    cr_expect_eq(cli_stop_note(&stop, SIGINT, 7, 105 * MS), CLI_STOP_AT_ONCE);
}

Test(stop, those_of_two_processes_or_of_a_terminal_are_two)
{
    cli_stop_t stop = { .descriptor = -1 }, other = stop;
    (void)cli_stop_note(&stop, SIGINT, 7, 0);
    cr_expect_eq(cli_stop_note(&stop, SIGINT, 8, 1), CLI_STOP_AT_ONCE);
    (void)cli_stop_note(&other, SIGINT, 0, 0);
    cr_expect_eq(cli_stop_note(&other, SIGINT, 0, 1), CLI_STOP_AT_ONCE);
}

Test(stop, a_process_that_is_held_by_another_leaves_signals_to_it)
{
    cli_stop_t leashed = { .leashed = true, .descriptor = -1 };
    cli_stop_t leased = { .leased = true, .descriptor = -1 };
    cr_expect_eq(cli_stop_note(&leashed, SIGINT, 0, 0), CLI_STOP_NOTHING);
    cr_expect_eq(cli_stop_note(&leashed, SIGTERM, 0, 0), CLI_STOP_ASKED);
    cr_expect_eq(cli_stop_note(&leased, SIGTERM, 0, 0), CLI_STOP_NOTHING);
    cr_expect_eq(cli_stop_note(&leased, SIGINT, 0, 0), CLI_STOP_NOTHING);
    cr_expect_eq(cli_stop_note(&leased, SIGCHLD, 0, 0), CLI_STOP_NOTHING);
}

Test(stop, signals_that_came_between_two_looks_are_taken)
{
    cli_stop_t stop = { .doing = "x", .insisting = "y", .descriptor = -1 };
    skn_error_t error = { 0 };
    cr_assert_eq(cli_stop_open(&stop, &error), SKN_OK);
    cr_expect_eq(cli_stop_take(&stop), CLI_STOP_NOTHING);
    for (size_t k = 0; k < POLITE_COUNT; k++)
        (void)raise(yielding[k]);
    cr_expect_eq(cli_stop_wait(&stop, 0), CLI_STOP_ASKED);
    cr_expect_eq(cli_stop_take(&stop), CLI_STOP_NOTHING);
    cli_stop_close(&stop);
    cr_expect_eq(stop.descriptor, -1);
}

/* The end of its CPU time comes to the process that spends it. A terminal
 * interrupts whoever started it, too: reported, that would be a second one. */
Test(stop, a_leased_process_reports_signals_but_no_interrupt)
{
    skn_error_t error = { 0 };
    for (size_t k = 0; k < POLITE_COUNT; k++) {
        char said[256] = "", want[64];
        int ends[2];
        cr_assert_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            cli_stop_t leased = { .leased = true, .descriptor = -1 };
            bool good = dup2(ends[1], STDOUT_FILENO) >= 0 &&
                        cli_stop_open(&leased, &error) == SKN_OK;
            (void)raise(SIGINT);
            (void)raise(yielding[k]);
            _exit(good && cli_stop_take(&leased) == CLI_STOP_NOTHING ? 0 : 1);
        }
        int status = 1;
        (void)close(ends[1]);
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_expect_eq(status, 0);
        cr_assert_geq(read(ends[0], said, sizeof(said) - 1), 0);
        (void)close(ends[0]);
        (void)snprintf(want, sizeof(want),
                       "{\"event\":\"signal\",\"number\":%d}\n", yielding[k]);
        cr_expect_str_eq(said, want);
    }
}

Test(stop, the_exit_code_says_that_a_second_interrupt_came)
{
    cli_stop_t stop = { .descriptor = -1 };
    cr_expect_eq(cli_stop_code(&stop, 85), 85);
    (void)cli_stop_note(&stop, SIGINT, 0, 0);
    cr_expect_eq(cli_stop_code(&stop, 85), 85);
    (void)cli_stop_note(&stop, SIGINT, 0, 1);
    cr_expect_eq(cli_stop_code(&stop, 85), 130);
}

Test(stop, an_ignored_hangup_stays_ignored)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    cli_stop_t stop = { .doing = "x", .insisting = "y", .descriptor = -1 };
    skn_error_t error = { 0 };
    (void)sigaction(SIGHUP, &ignore, NULL);
    cr_assert_eq(cli_stop_open(&stop, &error), SKN_OK);
    (void)raise(SIGHUP);
    cr_expect_eq(cli_stop_take(&stop), CLI_STOP_NOTHING);
    (void)raise(SIGUSR1);
    cr_expect_eq(cli_stop_take(&stop), CLI_STOP_ASKED);
    cli_stop_close(&stop);
}
