/* test_harvest.c - tests that core time is booked once, by its outcome.
 *
 * Times are in seconds here, with arbitrary numbers of cores: shares are
 * computed by hand. SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "topology/elastic/harvest.h"

#define S 1000000000ull

static skn_harvest_t *
open_one(uint32_t count)
{
    skn_error_t error = { 0 };
    skn_harvest_t *harvest = skn_harvest_new(count, NULL, &error);
    cr_assert_not_null(harvest);
    return harvest;
}

static skn_harvest_sum_t
sum_of(const skn_harvest_t *harvest)
{
    skn_harvest_sum_t sum;
    skn_harvest_sum(harvest, &sum);
    return sum;
}

/* Member 0 leads, and says so of its generation. */
static void
trained(skn_harvest_t *harvest, uint64_t generation, uint64_t batch,
        double busy_s, double now_s)
{
    const skn_harvest_pulse_t pulse = { .generation = generation,
                                        .batch = batch,
                                        .busy_ns = (uint64_t)(busy_s * 1e9) };
    skn_harvest_pulse(harvest, 0, &pulse, (uint64_t)(now_s * 1e9));
}

static void
heard(skn_harvest_t *harvest, uint32_t member, uint64_t generation,
      double now_s)
{
    const skn_harvest_pulse_t pulse = { .generation = generation };
    skn_harvest_pulse(harvest, member, &pulse, (uint64_t)(now_s * 1e9));
}

static void
expect_ns(uint64_t found, double seconds, const char *what)
{
    cr_expect(fabs((double)found * 1e-9 - seconds) < 1e-6,
              "%s: found %.9f s, want %.9f s", what, (double)found * 1e-9,
              seconds);
}

Test(harvest, an_undisturbed_run_is_useful_but_for_its_start)
{
    skn_harvest_t *harvest = open_one(1);
    skn_harvest_hello(harvest, 0, 7, 2, 0);
    skn_harvest_begin(harvest, 1, 1, 0, 1 * S);
    trained(harvest, 1, 10, 3, 5);
    trained(harvest, 1, 20, 8, 10);
    skn_harvest_end(harvest, 10 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    expect_ns(sum.useful_ns, 16, "two cores, 8 of 10 s");
    expect_ns(sum.waiting_ns, 4, "the rest");
    expect_ns(sum.redone_ns, 0, "nothing");
    cr_expect_eq(sum.batches, 20);
    cr_expect_eq(sum.generations, 1);
    skn_harvest_destroy(&harvest);
    cr_expect_null(harvest);
}

Test(harvest, a_member_that_is_here_and_in_no_generation_waits)
{
    skn_harvest_t *harvest = open_one(2);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_hello(harvest, 1, 8, 3, 2 * S);
    skn_harvest_begin(harvest, 1, 1, 0, 2 * S);
    trained(harvest, 1, 10, 2, 4);
    skn_harvest_tick(harvest, 3, 5 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    expect_ns(sum.useful_ns, 2, "member 0, from 2 to 4");
    expect_ns(sum.waiting_ns, 2 + 1 + 9, "0 before and after, 1 all along");
    skn_harvest_destroy(&harvest);
}

Test(harvest, a_death_moves_what_is_trained_again)
{
    skn_harvest_t *harvest = open_one(2);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_hello(harvest, 1, 8, 1, 0);
    skn_harvest_begin(harvest, 1, 3, 0, 0);
    trained(harvest, 1, 10, 2, 2);
    trained(harvest, 1, 30, 4, 4);
    heard(harvest, 1, 1, 4);
    skn_harvest_tick(harvest, 3, 6 * S);
    skn_harvest_tick(harvest, 1, 7 * S); /* member 1 is found dead */
    skn_harvest_begin(harvest, 2, 1, 20, 8 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    expect_ns(sum.redone_ns, 2, "half of the second segment, two cores");
    expect_ns(sum.useful_ns, 6, "the rest of both");
    expect_ns(sum.waiting_ns, 4, "member 0 from 4 to 8; 1 was not there");
    cr_expect_eq(sum.died, 1);
    cr_expect_eq(sum.died_batches, 10);
    expect_ns(sum.died_ns, 2, "all that was redone");
    cr_expect_eq(sum.batches, 20);
    cr_expect_eq(sum.redone_batches, 10);
    trained(harvest, 2, 30, 1, 10);
    sum = sum_of(harvest);
    expect_ns(sum.useful_ns, 7, "one core, 1 s of 2");
    cr_expect_eq(sum.batches, 30);
    skn_harvest_destroy(&harvest);
}

Test(harvest, one_that_died_and_is_back_at_once_has_died)
{
    skn_harvest_t *harvest = open_one(1);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_begin(harvest, 1, 1, 0, 0);
    trained(harvest, 1, 10, 2, 2);
    skn_harvest_hello(harvest, 0, 9, 1, 3 * S);
    skn_harvest_tick(harvest, 1, 4 * S);
    skn_harvest_begin(harvest, 2, 1, 0, 4 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    cr_expect_eq(sum.died, 1);
    expect_ns(sum.redone_ns, 2, "all");
    expect_ns(sum.waiting_ns, 1, "since it is back");
    skn_harvest_destroy(&harvest);
}

Test(harvest, leaving_with_notice_loses_nothing_at_a_marker)
{
    skn_harvest_t *harvest = open_one(2);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_hello(harvest, 1, 8, 1, 0);
    skn_harvest_begin(harvest, 1, 3, 0, 0);
    skn_harvest_notice(harvest, 1);
    trained(harvest, 1, 20, 4, 4);
    skn_harvest_begin(harvest, 2, 1, 20, 5 * S);
    skn_harvest_tick(harvest, 1, 5 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    cr_expect_eq(sum.left, 1);
    cr_expect_eq(sum.died, 0);
    cr_expect_eq(sum.redone_batches, 0);
    expect_ns(sum.useful_ns, 8, "all");
    skn_harvest_destroy(&harvest);
}

Test(harvest, a_notice_that_was_too_short_is_told_apart)
{
    skn_harvest_t *harvest = open_one(2);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_hello(harvest, 1, 8, 1, 0);
    skn_harvest_begin(harvest, 1, 3, 0, 0);
    skn_harvest_notice(harvest, 1);
    trained(harvest, 1, 20, 4, 4);
    skn_harvest_tick(harvest, 1, 4 * S);
    skn_harvest_begin(harvest, 2, 1, 10, 4 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    cr_expect_eq(sum.left, 1);
    cr_expect_eq(sum.left_batches, 10);
    cr_expect_eq(sum.died_batches, 0);
    cr_expect_eq(sum.redone_batches, 10);
    skn_harvest_destroy(&harvest);
}

Test(harvest, a_failure_is_told_apart_and_a_death_goes_before_it)
{
    skn_harvest_t *harvest = open_one(2);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_hello(harvest, 1, 8, 1, 0);
    skn_harvest_begin(harvest, 1, 3, 0, 0);
    trained(harvest, 1, 5, 1, 1);
    skn_harvest_failure(harvest, 1, 9); /* of another generation */
    skn_harvest_failure(harvest, 1, 1);
    skn_harvest_begin(harvest, 2, 3, 0, 2 * S);
    trained(harvest, 2, 5, 1, 3);
    skn_harvest_failure(harvest, 0, 2);
    skn_harvest_tick(harvest, 1, 3 * S);
    skn_harvest_begin(harvest, 3, 1, 0, 4 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    cr_expect_eq(sum.failed, 2);
    cr_expect_eq(sum.failed_batches, 5);
    cr_expect_eq(sum.died_batches, 5);
    skn_harvest_destroy(&harvest);
}

Test(harvest, what_a_member_used_is_summed_over_its_processes)
{
    skn_harvest_t *harvest = open_one(1);
    skn_harvest_pulse_t pulse = { .cpu_ns = 5, .sent_bytes = 50 };
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_pulse(harvest, 0, &pulse, 1);
    cr_expect_eq(sum_of(harvest).cpu_ns, 0, "it was there before us");
    pulse = (skn_harvest_pulse_t){ .cpu_ns = 9, .sent_bytes = 90 };
    skn_harvest_pulse(harvest, 0, &pulse, 2);
    skn_harvest_hello(harvest, 0, 8, 1, 3);
    pulse = (skn_harvest_pulse_t){ 0 };
    skn_harvest_pulse(harvest, 0, &pulse, 4);
    pulse = (skn_harvest_pulse_t){ .cpu_ns = 3, .sent_bytes = 30 };
    skn_harvest_pulse(harvest, 0, &pulse, 5);
    cr_expect_eq(sum_of(harvest).cpu_ns, 7);
    cr_expect_eq(sum_of(harvest).sent_bytes, 70);
    skn_harvest_destroy(&harvest);
}

Test(harvest, a_line_that_ended_for_a_while_does_not_count_twice)
{
    skn_harvest_t *harvest = open_one(1);
    skn_harvest_pulse_t pulse = { .cpu_ns = 5 };
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_pulse(harvest, 0, &(skn_harvest_pulse_t){ 0 }, 0);
    skn_harvest_pulse(harvest, 0, &pulse, 1);
    skn_harvest_tick(harvest, 0, 2);
    skn_harvest_hello(harvest, 0, 7, 1, 3);
    pulse.cpu_ns = 6;
    skn_harvest_pulse(harvest, 0, &pulse, 4);
    cr_expect_eq(sum_of(harvest).cpu_ns, 6);
    skn_harvest_destroy(&harvest);
}

Test(harvest, after_the_end_nothing_counts)
{
    skn_harvest_t *harvest = open_one(1);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_begin(harvest, 1, 1, 0, 0);
    trained(harvest, 1, 5, 1, 1);
    skn_harvest_end(harvest, 1 * S);
    trained(harvest, 1, 9, 2, 2);
    skn_harvest_tick(harvest, 0, 9 * S);
    skn_harvest_hello(harvest, 0, 8, 1, 9 * S);
    skn_harvest_sum_t sum = sum_of(harvest);
    cr_expect_eq(sum.batches, 5);
    cr_expect_eq(sum.died, 0);
    expect_ns(sum.useful_ns + sum.waiting_ns, 1, "one second");
    skn_harvest_destroy(&harvest);
}

Test(harvest, a_coordinator_continues_with_what_was_written_down)
{
    skn_error_t error = { 0 };
    const skn_harvest_sum_t before = { .useful_ns = 40 * S,
                                       .redone_ns = 3 * S,
                                       .waiting_ns = 7 * S,
                                       .batches = 80,
                                       .died = 2 };
    skn_harvest_t *harvest = skn_harvest_new(1, &before, &error);
    cr_assert_not_null(harvest);
    skn_harvest_sum_t sum = sum_of(harvest);
    cr_expect_eq(memcmp(&sum, &before, sizeof(sum)), 0);
    skn_harvest_goes_on(harvest, 4, 1);
    skn_harvest_hello(harvest, 0, 7, 1, 100 * S);
    trained(harvest, 4, 100, 12, 101); /* 12 s of which nobody counted */
    trained(harvest, 4, 110, 13, 103);
    sum = sum_of(harvest);
    expect_ns(sum.useful_ns, 41, "one of two seconds more");
    expect_ns(sum.waiting_ns, 9, "and those before");
    cr_expect_eq(sum.batches, 110);
    skn_harvest_begin(harvest, 5, 1, 40, 104 * S);
    sum = sum_of(harvest);
    expect_ns(sum.useful_ns, 20, "half of what was written down");
    expect_ns(sum.redone_ns, 24, "the rest");
    skn_harvest_destroy(&harvest);
}

Test(harvest, a_beginning_above_what_is_known_is_believed)
{
    skn_harvest_t *harvest = open_one(1);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_begin(harvest, 3, 1, 60, 1 * S);
    heard(harvest, 0, 3, 2);
    cr_expect_eq(sum_of(harvest).batches, 60);
    expect_ns(sum_of(harvest).useful_ns, 0, "nobody counted it");
    expect_ns(sum_of(harvest).waiting_ns, 2, "all");
    skn_harvest_destroy(&harvest);
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t
draw(uint64_t *random, uint64_t below)
{
    uint64_t value = *random += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return (value ^ (value >> 31)) % below;
}

/* One member that never dies, more segments than there is room for, and going
 * back: the oracle keeps what each batch took by itself. */
Test(harvest, many_generations_sum_up_to_all_time)
{
    enum {
        BATCHES = 20000
    };
    static double took[BATCHES];
    uint64_t random = 5, batch = 0, generation = 1;
    double now_s = 0, busy_s = 0, redone_s = 0, useful_s = 0;
    skn_harvest_t *harvest = open_one(1);
    skn_harvest_hello(harvest, 0, 7, 1, 0);
    skn_harvest_begin(harvest, 1, 1, 0, 0);
    while (batch + 20 < BATCHES) {
        uint64_t more = 1 + draw(&random, 10);
        for (uint64_t k = 0; k < more; k++)
            took[batch + k] = 0.125; /* the same for all: joins are exact */
        batch += more;
        busy_s += 0.125 * (double)more;
        now_s += 0.125 * (double)more + (double)draw(&random, 3);
        trained(harvest, generation, batch, busy_s, now_s);
        if (draw(&random, 50) != 0)
            continue;
        uint64_t back = draw(&random, batch < 300 ? batch + 1 : 300);
        for (uint64_t k = batch - back; k < batch; k++)
            redone_s += took[k];
        batch -= back;
        busy_s = 0;
        skn_harvest_begin(harvest, ++generation, 1, batch,
                          (uint64_t)(now_s * 1e9));
    }
    for (uint64_t k = 0; k < batch; k++)
        useful_s += took[k];
    skn_harvest_sum_t sum = sum_of(harvest);
    cr_expect(fabs((double)sum.redone_ns * 1e-9 - redone_s) < 1e-3);
    cr_expect(fabs((double)sum.useful_ns * 1e-9 - useful_s) < 1e-3);
    cr_expect_eq(sum.batches, batch);
    expect_ns(sum.useful_ns + sum.redone_ns + sum.waiting_ns, now_s, "all");
    skn_harvest_destroy(&harvest);
}

Test(harvest, shares_sum_up_to_one_or_are_nothing)
{
    skn_harvest_sum_t sum = { .useful_ns = 3600 * S,
                              .redone_ns = 1800 * S,
                              .waiting_ns = 1800 * S,
                              .cpu_ns = 1800 * S };
    skn_harvest_shares_t shares = skn_harvest_shares(&sum);
    cr_expect_float_eq(shares.core_hours, 2, 1e-12);
    cr_expect_float_eq(shares.cpu_hours, 0.5, 1e-12);
    cr_expect_float_eq(shares.useful, 0.5, 1e-12);
    cr_expect_float_eq(shares.redone, 0.25, 1e-12);
    cr_expect_float_eq(shares.waiting, 0.25, 1e-12);
    sum = (skn_harvest_sum_t){ 0 };
    shares = skn_harvest_shares(&sum);
    cr_expect_eq(shares.useful + shares.redone + shares.waiting, 0);
}

Test(harvest, sets_have_64_bits)
{
    skn_error_t error = { 0 };
    cr_expect_null(skn_harvest_new(65, NULL, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    skn_harvest_t *harvest = skn_harvest_new(64, NULL, &error);
    cr_assert_not_null(harvest);
    skn_harvest_hello(harvest, 63, 1, 0, 0);
    skn_harvest_tick(harvest, UINT64_MAX, 1 * S);
    expect_ns(sum_of(harvest).waiting_ns, 1, "a core at least");
    skn_harvest_destroy(&harvest);
}

Test(harvest, what_survivors_kept_is_no_work_that_is_redone)
{
    skn_harvest_sum_t sum;
    skn_harvest_t *harvest = skn_harvest_new(2, NULL, NULL);
    skn_harvest_partial(harvest, 30);
    skn_harvest_partial(harvest, 4);
    skn_harvest_sum(harvest, &sum);
    cr_expect_eq(sum.partials, 2);
    cr_expect_eq(sum.lost_updates, 34);
    cr_expect_eq(sum.redone_batches, 0);
    skn_harvest_destroy(&harvest);
}
