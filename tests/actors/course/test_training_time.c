/* test_training_time.c - tests that evaluations are left out of the training
 * time, and bytes of checkpoints out of the training bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/course/training_time.h"

#define S 1000000000ull

/* The clock of a process that has been up for `s` seconds, has used 2 CPU
 * seconds in each, and has sent 10 bytes and received 20 in each. */
static skn_clock_t
clock_at(uint64_t s)
{
    return (skn_clock_t){ .wall_ns = s * S,
                          .cpu_ns = 2 * s * S,
                          .wire_sent_bytes = 10 * s,
                          .wire_received_bytes = 20 * s };
}

static void
expect(const skn_progress_t *progress, double seconds, double cpu_seconds,
       uint64_t sent, uint64_t received)
{
    cr_expect_float_eq(progress->seconds, seconds, 1e-9);
    cr_expect_float_eq(progress->cpu_seconds, cpu_seconds, 1e-9);
    cr_expect_eq(progress->wire_bytes_sent, sent);
    cr_expect_eq(progress->wire_bytes_received, received);
}

Test(training_time, counts_from_the_start_and_cpu_from_the_beginning)
{
    skn_progress_t progress = { 0 };
    skn_training_time_t time;
    skn_training_time_init(&time, &progress);
    skn_clock_t clock = clock_at(3);
    skn_training_time_start(&time, &clock);
    clock = clock_at(7);
    skn_training_time_mark(&time, &clock, &progress);
    expect(&progress, 4, 14, 40, 80);
}

Test(training_time, an_evaluation_is_left_out)
{
    skn_progress_t progress = { 0 };
    skn_training_time_t time;
    skn_training_time_init(&time, &progress);
    skn_clock_t clock = clock_at(0);
    skn_training_time_start(&time, &clock);
    clock = clock_at(5);
    skn_training_time_mark(&time, &clock, &progress);
    clock = clock_at(9);
    skn_training_time_skip(&time, &clock);
    expect(&progress, 5, 10, 50, 100);
    clock = clock_at(10);
    skn_training_time_mark(&time, &clock, &progress);
    expect(&progress, 6, 12, 60, 120);
}

Test(training_time, a_checkpoint_takes_time_but_its_bytes_are_left_out)
{
    skn_progress_t progress = { 0 };
    skn_training_time_t time;
    skn_training_time_init(&time, &progress);
    skn_clock_t clock = clock_at(0);
    skn_training_time_start(&time, &clock);
    clock = clock_at(5);
    skn_training_time_mark(&time, &clock, &progress);
    clock = clock_at(6);
    skn_training_time_skip_bytes(&time, &clock);
    clock = clock_at(8);
    skn_training_time_mark(&time, &clock, &progress);
    expect(&progress, 8, 16, 70, 140);
}

Test(training_time, earlier_processes_are_added)
{
    skn_progress_t progress = { .seconds = 100,
                                .cpu_seconds = 150,
                                .wire_bytes_sent = 1000,
                                .wire_bytes_received = 2000 };
    skn_training_time_t time;
    skn_training_time_init(&time, &progress);
    skn_clock_t clock = clock_at(1);
    skn_training_time_start(&time, &clock);
    clock = clock_at(3);
    skn_training_time_mark(&time, &clock, &progress);
    expect(&progress, 102, 156, 1020, 2040);
}
