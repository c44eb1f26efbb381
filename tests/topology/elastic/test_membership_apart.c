/* test_membership_apart.c - tests members that do not reach each other, event
 * by event.
 *
 * Covers topology/elastic/membership_apart.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "topology/elastic/membership.h"

#define MS 1000000ull
#define COUNT 4u
#define TOLD_BYTES 8192

enum {
    A = 1,
    B = 2,
    C = 4,
    D = 8
};

static const char *const names[] = { "a", "b", "c", "d" };

/* A run of four, which obey at once; what was told since the last look. */
typedef struct play {
    skn_membership_t *membership;
    uint64_t now_ns, batch;
    uint64_t runs[COUNT];
    uint32_t gone; /* bits of those that are silent for good */
    char told[TOLD_BYTES];
} play_t;

/* Without which of them a part of the checkpoint is missing. */
static uint64_t must_not_leave_out;

static skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    (void)job;
    if (must_not_leave_out == 0)
        return skn_fail(error, SKN_NO_INPUT, "nobody holds anything");
    point->batch = 50;
    return (set & must_not_leave_out) == must_not_leave_out
               ? SKN_OK
               : skn_fail(error, SKN_UNAVAILABLE, "parts are missing");
}

static void
obey(play_t *play)
{
    skn_duty_t duty;
    while (skn_membership_next(play->membership, &duty)) {
        size_t used = strlen(play->told);
        if (duty.kind == SKN_DUTY_REPORT)
            (void)snprintf(play->told + used, TOLD_BYTES - used, "%s\n",
                           duty.text);
        if (duty.kind == SKN_DUTY_LIST)
            skn_membership_holds(play->membership, duty.member, play->now_ns);
        if (duty.kind == SKN_DUTY_START)
            play->runs[duty.member] = duty.generation;
        if (duty.kind == SKN_DUTY_ABORT)
            play->runs[duty.member] = 0;
        if (duty.kind == SKN_DUTY_PAUSE)
            for (uint32_t k = 0; k < COUNT; k++) {
                if (play->runs[k] != duty.generation)
                    continue;
                play->runs[k] = 0;
                skn_membership_ended(play->membership, k, duty.generation,
                                     SKN_ENDING_WELL, &(skn_error_t){ 0 },
                                     play->now_ns);
            }
    }
}

static void
pass(play_t *play, uint64_t ms)
{
    for (uint64_t done = 0; done < ms; done += 100) {
        play->now_ns += 100 * MS;
        for (uint32_t k = 0; k < COUNT; k++)
            if (!(play->gone & (1u << k)))
                skn_membership_pulse(play->membership, k, play->runs[k],
                                     play->batch, play->now_ns);
        skn_membership_tick(play->membership, play->now_ns);
        obey(play);
    }
}

static void
misses(play_t *play, uint32_t member, uint64_t set)
{
    skn_membership_misses(play->membership, member, set, play->now_ns);
    obey(play);
}

/* All four train; `cores` may be NULL. Nobody can dial those of `undialled`. */
static play_t
begin_with(uint32_t least, const uint32_t *cores, uint64_t undialled)
{
    play_t play = { .now_ns = 1000 * MS };
    skn_error_t error = { 0 };
    const skn_membership_options_t options = {
        .count = COUNT,
        .least = least,
        .first_wait_ns = 5000 * MS,
        .choose = choose,
        .cores = cores,
        .undialled = undialled,
    };
    play.membership = skn_membership_new(&options, names, &error);
    cr_assert_not_null(play.membership, "%s", error.text);
    for (uint32_t k = 0; k < COUNT; k++)
        skn_membership_hello(play.membership, k, 100 + k, 0, play.now_ns);
    pass(&play, 500);
    cr_assert_eq(skn_membership_members(play.membership), A | B | C | D);
    play.batch = 50;
    pass(&play, 3000);
    play.told[0] = '\0';
    return play;
}

static play_t
begin(uint32_t least, const uint32_t *cores)
{
    return begin_with(least, cores, 0);
}

static void
finish(play_t *play)
{
    skn_membership_destroy(&play->membership);
}

#define MEMBERS(set)                                                           \
    cr_expect_eq(skn_membership_members(play.membership), (uint64_t)(set),     \
                 "members %llx, told:\n%s",                                    \
                 (unsigned long long)skn_membership_members(play.membership),  \
                 play.told)
#define GENERATION(number)                                                     \
    cr_expect_eq(skn_membership_generation(play.membership), number)
#define TOLD(text) cr_expect(strstr(play.told, text), "told:\n%s", play.told)
#define NOT_TOLD(text)                                                         \
    cr_expect_not(strstr(play.told, text), "told:\n%s", play.told)

Test(membership_apart, two_that_miss_each_other_for_3_s_end_a_generation)
{
    play_t play = begin(1, NULL);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 2900);
    GENERATION(1);
    pass(&play, 600);
    TOLD("b and c cannot reach each other\n"
         "c stays out until it and b can reach each other\n"
         "generation 2 from batch 0: a, b and d; c is cut off from another "
         "node\n");
    MEMBERS(A | B | D);
    finish(&play);
}

Test(membership_apart, a_cut_that_heals_within_3_s_changes_nothing)
{
    play_t play = begin(1, NULL);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 2000);
    misses(&play, 1, 0);
    pass(&play, 500);
    misses(&play, 1, C);
    pass(&play, 2900);
    GENERATION(1);
    MEMBERS(A | B | C | D);
    finish(&play);
}

Test(membership_apart, one_that_alone_complains_ends_nothing)
{
    play_t play = begin(1, NULL);
    misses(&play, 1, A | C | D);
    pass(&play, 20000);
    GENERATION(1);
    finish(&play);
}

/* The end of a worker, because of `set`. */
static void
fail(play_t *play, uint32_t member, uint64_t set)
{
    skn_error_t error = { .status = SKN_UNAVAILABLE };
    uint64_t generation = play->runs[member];
    misses(play, member, set);
    play->runs[member] = 0;
    skn_membership_ended(play->membership, member, generation,
                         SKN_ENDING_FAILED, &error, play->now_ns);
    obey(play);
}

Test(membership_apart, of_a_worker_that_fails_the_one_it_missed_stays_out)
{
    play_t play = begin(1, NULL);
    fail(&play, 2, A);
    pass(&play, 600);
    TOLD("a stays out until it and c can reach each other");
    MEMBERS(B | C | D);
    finish(&play);
}

Test(membership_apart, a_member_that_is_cut_off_from_most_stays_out)
{
    play_t play = begin(1, NULL);
    misses(&play, 0, B);
    misses(&play, 2, B);
    fail(&play, 1, A | C | D);
    pass(&play, 600);
    TOLD("b stays out until it and a, c and d can reach each other");
    MEMBERS(A | C | D);
    finish(&play);
}

Test(membership_apart, one_that_complains_of_all_others_stays_out_itself)
{
    play_t play = begin(1, NULL);
    fail(&play, 0, B | C | D);
    pass(&play, 600);
    MEMBERS(B | C | D);
    finish(&play);
}

Test(membership_apart, two_halves_become_one_half)
{
    play_t play = begin(1, NULL);
    misses(&play, 0, C | D);
    misses(&play, 1, C | D);
    misses(&play, 2, A | B);
    misses(&play, 3, A | B);
    pass(&play, 3700);
    MEMBERS(A | B);
    finish(&play);
}

Test(membership_apart, of_two_that_are_alike_the_one_with_fewer_cores_goes)
{
    const uint32_t cores[COUNT] = { 4, 1, 4, 4 };
    play_t play = begin(1, cores);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 3700);
    MEMBERS(A | C | D);
    finish(&play);
}

Test(membership_apart, of_two_that_are_alike_the_one_that_came_later_goes)
{
    play_t play = begin(1, NULL);
    skn_membership_hello(play.membership, 1, 999, 0, play.now_ns);
    play.runs[1] = 0;
    pass(&play, 1000);
    MEMBERS(A | B | C | D);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 3700);
    MEMBERS(A | C | D);
    finish(&play);
}

Test(membership_apart,
     a_member_that_reaches_the_others_again_is_taken_back_at_a_marker)
{
    play_t play = begin(1, NULL);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 3700);
    play.batch = 100;
    pass(&play, 30000);
    MEMBERS(A | B | D);
    GENERATION(2);
    play.told[0] = '\0';
    misses(&play, 2, 0);
    TOLD("c can reach the others again\n");
    pass(&play, 600);
    TOLD("a, b, c and d; c joins");
    MEMBERS(A | B | C | D);
    finish(&play);
}

Test(membership_apart, another_generation_leaves_it_out_without_a_word)
{
    play_t play = begin(1, NULL);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 3700);
    play.told[0] = '\0';
    skn_membership_hello(play.membership, 3, 999, 0, play.now_ns);
    play.runs[3] = 0;
    pass(&play, 1000);
    GENERATION(3);
    MEMBERS(A | B | D);
    NOT_TOLD("stays out");
    NOT_TOLD("reaches");
    finish(&play);
}

Test(membership_apart, a_dead_one_that_is_back_is_no_longer_missed)
{
    play_t play = begin(1, NULL);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 3700);
    play.batch = 100;
    skn_membership_hello(play.membership, 2, 999, 0, play.now_ns);
    pass(&play, 3000);
    MEMBERS(A | B | C | D);
    finish(&play);
}

Test(membership_apart, never_fewer_than_the_least_are_left)
{
    play_t play = begin(4, NULL);
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 15000);
    TOLD("waiting for c: it is here, but cannot reach all others\n");
    NOT_TOLD("stays out");
    MEMBERS(0);
    misses(&play, 1, 0);
    pass(&play, 100);
    MEMBERS(0);
    misses(&play, 2, 0);
    pass(&play, 500);
    MEMBERS(A | B | C | D);
    finish(&play);
}

/* c is cut off, and reaches the others as soon as it is left out. */
static void
flutter(play_t *play)
{
    play->batch += 100;
    pass(play, 2500);
    misses(play, 1, C);
    misses(play, 2, B);
    pass(play, 3700);
    misses(play, 2, 0);
}

Test(membership_apart,
     a_member_that_is_cut_off_again_and_again_stays_out_ever_longer)
{
    play_t play = begin(1, NULL);
    flutter(&play);
    play.batch += 100;
    pass(&play, 2500);
    MEMBERS(A | B | C | D);
    for (uint64_t bar_ms = 10000; bar_ms <= 40000; bar_ms *= 2) {
        flutter(&play);
        play.batch += 100;
        pass(&play, bar_ms - 1000);
        MEMBERS(A | B | D);
        pass(&play, 1500);
        MEMBERS(A | B | C | D);
    }
    finish(&play);
}

Test(membership_apart, two_minutes_later_that_is_forgotten)
{
    play_t play = begin(1, NULL);
    flutter(&play);
    pass(&play, SKN_MEMBER_FORGET_MS);
    flutter(&play);
    play.batch += 100;
    pass(&play, 2500);
    MEMBERS(A | B | C | D);
    finish(&play);
}

Test(membership_apart, a_member_that_alone_has_a_part_stays_and_the_others_go)
{
    play_t play = begin(1, NULL);
    skn_membership_saved(play.membership, 1, 50);
    must_not_leave_out = C;
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 3700);
    TOLD("b stays out until it and c can reach each other");
    MEMBERS(A | C | D);
    finish(&play);
}

Test(membership_apart, two_that_are_left_out_may_both_be_needed)
{
    play_t play = begin(1, NULL);
    skn_membership_saved(play.membership, 1, 50);
    must_not_leave_out = B | C;
    misses(&play, 0, B);
    misses(&play, 3, C);
    misses(&play, 1, A);
    misses(&play, 2, D);
    pass(&play, 3700);
    MEMBERS(B | C);
    finish(&play);
}

Test(membership_apart, parts_of_two_that_do_not_reach_each_other_are_waited_for)
{
    play_t play = begin(1, NULL);
    skn_membership_saved(play.membership, 1, 50);
    must_not_leave_out = B | C;
    misses(&play, 1, C);
    misses(&play, 2, B);
    pass(&play, 15000);
    TOLD("waiting for c: parts are missing\n");
    MEMBERS(0);
    misses(&play, 2, 0);
    misses(&play, 1, 0);
    pass(&play, 500);
    MEMBERS(A | B | C | D);
    finish(&play);
}

Test(membership_apart, reports_of_itself_or_of_strangers_are_ignored)
{
    play_t play = begin(1, NULL);
    misses(&play, 0, A | ((uint64_t)1 << 63));
    fail(&play, 0, A | ((uint64_t)1 << 63));
    pass(&play, 600);
    MEMBERS(A | B | C | D);
    finish(&play);
}

Test(membership_apart, what_the_dead_complain_of_is_not_heard)
{
    play_t play = begin(1, NULL);
    play.runs[3] = 0;
    skn_membership_lost(play.membership, 3, play.now_ns);
    play.now_ns += 1100 * MS;
    skn_membership_tick(play.membership, play.now_ns);
    cr_assert_not(skn_membership_hears(play.membership, 3));
    misses(&play, 3, A | B | C);
    skn_membership_hello(play.membership, 3, 103, 0, play.now_ns);
    pass(&play, 3000);
    MEMBERS(A | B | C | D);
    finish(&play);
}

/* --- members that nobody can dial ---------------------------------------- */

/* The connection of `member` ends, and it does not come back. */
static void
dies(play_t *play, uint32_t member)
{
    play->gone |= 1u << member;
    play->runs[member] = 0;
    skn_membership_lost(play->membership, member, play->now_ns);
    obey(play);
}

Test(membership_apart, two_that_nobody_can_dial_need_one_that_can_be)
{
    play_t play = begin_with(1, NULL, C | D);
    dies(&play, 0);
    pass(&play, 6000);
    MEMBERS(B | C | D);
    play.told[0] = '\0';
    dies(&play, 1);
    pass(&play, 6000);
    MEMBERS(C);
    TOLD("d stays out: no node that it could dial is here\n");
    play.batch += 50;
    play.told[0] = '\0';
    pass(&play, 10000);
    NOT_TOLD("d joins");
    MEMBERS(C);
    finish(&play);
}

Test(membership_apart, one_that_can_be_dialled_brings_them_together_again)
{
    play_t play = begin_with(1, NULL, C | D);
    dies(&play, 0);
    dies(&play, 1);
    pass(&play, 6000);
    MEMBERS(C);
    play.batch += 50;
    play.gone = 0;
    skn_membership_hello(play.membership, 1, 201, 0, play.now_ns);
    pass(&play, 6000);
    MEMBERS(B | C | D);
    finish(&play);
}

Test(membership_apart, a_run_that_needs_two_waits_for_one_that_can_be_dialled)
{
    play_t play = begin_with(2, NULL, C | D);
    dies(&play, 0);
    dies(&play, 1);
    pass(&play, 12000);
    cr_expect_eq(skn_membership_phase(play.membership),
                 SKN_MEMBERSHIP_GATHERING);
    finish(&play);
}

/* Once: what is full again soon is believed no more. */
Test(membership_apart, whose_disk_has_room_again_comes_back_at_once)
{
    play_t play = begin(1, NULL);
    skn_error_t full = { 0 };
    must_not_leave_out = A;
    (void)skn_fail(&full, SKN_STORAGE, "node 'b': no space left on device");
    for (uint64_t k = 0; k < 2; k++) {
        uint64_t generation = skn_membership_generation(play.membership);
        skn_membership_ended(play.membership, 0, generation, SKN_ENDING_FAILED,
                             &full, play.now_ns);
        skn_membership_saved(play.membership, 1, 50); /* before that */
        skn_membership_room(play.membership, 1, UINT64_MAX, play.now_ns);
        play.batch += 100;
        pass(&play, 3000);
        cr_expect_eq(skn_membership_members(play.membership), A | C | D);
        skn_membership_room(play.membership, 1, 4096, play.now_ns);
        pass(&play, 3000);
        cr_expect_eq(skn_membership_members(play.membership), A | C | D);
        play.batch += 100;
        for (uint32_t tries = 0; tries < 4; tries++) {
            skn_membership_room(play.membership, 1, UINT64_MAX, play.now_ns);
            pass(&play, 500);
        }
        pass(&play, 1000);
        cr_expect_eq(skn_membership_members(play.membership),
                     k == 0 ? A | B | C | D : A | C | D, "%s", play.told);
        if (k > 0)
            continue;
        skn_membership_renew(play.membership, "a", "asks for it");
        pass(&play, 1500);
        cr_expect_null(skn_membership_fault(play.membership, 1));
    }
    cr_expect_not_null(skn_membership_fault(play.membership, 1));
    finish(&play);
}

/* The journal may come from a backup. Members ignore messages of a generation
 * that they have already been part of. */
Test(membership_apart, an_older_journal_does_not_begin_an_older_generation)
{
    play_t play = { .now_ns = 1000 * MS };
    const skn_membership_options_t options = { .count = COUNT,
                                               .least = 1,
                                               .choose = choose,
                                               .generation = 1,
                                               .saved_batch = 50,
                                               .members = A | B | C | D };
    must_not_leave_out = A | B | C | D;
    play.membership = skn_membership_new(&options, names, NULL);
    cr_assert_not_null(play.membership);
    for (uint32_t k = 0; k < COUNT; k++)
        skn_membership_hello(play.membership, k, 100 + k, 0, play.now_ns);
    skn_membership_newest(play.membership, 1, 4);
    skn_membership_newest(play.membership, 2, 3);
    skn_membership_newest(play.membership, 3, UINT64_MAX);
    pass(&play, 4000);
    GENERATION(5);
    TOLD("b took part in generation 4, but the journal ends with 1: the "
         "journal is an older copy");
    finish(&play);
}

/* The journal was not told of the first checkpoint any more. */
Test(membership_apart,
     a_member_that_is_there_first_waits_for_the_parts_of_the_others)
{
    for (uint32_t comes = 0; comes < 2; comes++) {
        play_t play = { .now_ns = 1000 * MS, .gone = A | B | D };
        const skn_membership_options_t options = { .count = COUNT,
                                                   .least = 1,
                                                   .first_wait_ns = 9000 * MS,
                                                   .choose = choose,
                                                   .generation = 1,
                                                   .members = A | B | C | D };
        must_not_leave_out = A | B | C | D;
        play.membership = skn_membership_new(&options, names, NULL);
        cr_assert_not_null(play.membership);
        skn_membership_hello(play.membership, 2, 102, 0, play.now_ns);
        pass(&play, 7000);
        GENERATION(1);
        play.gone = comes ? 0 : play.gone;
        for (uint32_t k = 0; comes && k < COUNT; k++)
            skn_membership_hello(play.membership, k, 100 + k, 0, play.now_ns);
        pass(&play, 4000);
        GENERATION(2);
        TOLD(comes ? "generation 2 from batch 50" : "from batch 0: c");
        finish(&play);
    }
}
