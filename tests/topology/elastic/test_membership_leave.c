/* test_membership_leave.c - tests members that leave, one or several at once:
 * the members that are awaited, and when each may go.
 *
 * Covers topology/elastic/membership_leave.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/membership_play.h"

#define A 1u
#define B 2u
#define C 4u
#define D 8u

/* Each of those of `set` holds its own part and that of the one before it, as
 * with two copies in a ring. */
static void
hold(play_t *play, uint64_t set, uint64_t batch)
{
    held_t *held = &play->held;
    uint32_t last = 63u - (uint32_t)__builtin_clzll(set);
    *held =
        (held_t){ .status = SKN_OK, .point = { .batch = batch }, .parts = set };
    for (uint32_t k = 0, before = last; k < 4; k++) {
        if (!(set >> k & 1))
            continue;
        held->of[k] = (uint64_t)1 << k | (uint64_t)1 << before;
        before = k;
    }
}

/* All of `count` train in generation 1, which has saved batch 7. */
static void
begin_all(play_t *play, uint32_t count, uint32_t least)
{
    open_play_by(play, (skn_membership_options_t){
                           .count = count, .least = least, .copies = 2 });
    for (uint32_t k = 0; k < count; k++)
        arrive(play, k, 11 + k);
    pass(play, 4000, 7);
    skn_membership_saved(play->membership, 1, 7);
    hold(play, (1u << count) - 1, 7);
    cr_assert_eq(skn_membership_generation(play->membership), 1);
}

static void
leave(play_t *play, uint64_t set)
{
    for (uint32_t k = 0; k < 4; k++)
        if (set >> k & 1)
            skn_membership_leaving(play->membership, k, play->now_ns);
}

/* The members of the generation end: who leads said where it stopped. */
static void
end_all(play_t *play)
{
    uint64_t set = skn_membership_members(play->membership);
    uint32_t lead =
        skn_membership_lead(set & ~skn_membership_serving(play->membership));
    for (uint32_t k = 0; k < 4; k++)
        if (set >> k & 1)
            end(play, k, k == lead ? SKN_ENDING_STOPPED : SKN_ENDING_WELL);
}

/* Those that were told that they may go, and go. */
static uint64_t
let_go(play_t *play)
{
    uint64_t set = 0;
    for (size_t k = 0; k < play->duty_count; k++)
        if (play->duty[k].kind == SKN_DUTY_DISMISS)
            set |= (uint64_t)1 << play->duty[k].member;
    for (uint32_t k = 0; k < 4; k++)
        if (set >> k & 1)
            die(play, k);
    return set;
}

/* The generation that runs saves its first checkpoint, in copies of its own. */
static void
save(play_t *play)
{
    uint64_t set = skn_membership_members(play->membership) &
                   ~skn_membership_serving(play->membership);
    hold(play, set, play->held.point.batch);
    skn_membership_saved(play->membership,
                         skn_membership_generation(play->membership),
                         play->held.point.batch);
}

static uint64_t
serving(const play_t *play)
{
    return skn_membership_serving(play->membership);
}

static uint64_t
trains(const play_t *play)
{
    return skn_membership_members(play->membership) & ~serving(play);
}

/* The holders of batch 7 are gone, and the run goes on from batch 5: nobody is
 * kept for the seventh any more. */
Test(membership_leave, an_abandoned_checkpoint_holds_no_member_back)
{
    play_t play;
    begin_all(&play, 3, 3);
    end_all(&play);
    hold(&play, A | B | C, 5);
    pass(&play, 3000, 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    skn_membership_saved(play.membership, 1, 7); /* told late */
    save(&play);
    leave(&play, C);
    pass(&play, 200, 5);
    end_all(&play);
    pass(&play, 3000, 0);
    cr_assert_eq(serving(&play), C);
    save(&play);
    pass(&play, 200, 0);
    end_all(&play);
    play.duty_count = 0;
    pass(&play, 3000, 0);
    cr_expect_eq(let_go(&play), C);
    cr_expect_eq(skn_membership_generation(play.membership), 3);
    skn_membership_destroy(&play.membership);
}

/* Three at least are to train. The two that stay hold everything, some of it
 * once: c gives it to them before it goes, though they will not train. */
Test(membership_leave, too_few_to_train_get_their_copies_first)
{
    play_t play;
    begin_all(&play, 3, 3);
    leave(&play, C);
    pass(&play, 200, 7);
    end_all(&play);
    pass(&play, 3000, 0);
    cr_assert_eq(trains(&play), A | B);
    cr_assert_eq(serving(&play), C);
    save(&play);
    pass(&play, 200, 0);
    end_all(&play);
    play.duty_count = 0;
    pass(&play, 3000, 0);
    cr_expect_eq(let_go(&play), C);
    cr_expect_eq(skn_membership_members(play.membership), 0, "two are too few");
    skn_membership_destroy(&play.membership);
}

/* A coordinator that comes back hears of a leaver before it hears how far the
 * generation is, which has not saved yet. */
Test(membership_leave,
     what_a_generation_has_trained_is_kept_by_another_coordinator)
{
    play_t play;
    open_play_by(&play, (skn_membership_options_t){ .count = 2,
                                                    .least = 1,
                                                    .copies = 2,
                                                    .generation = 1,
                                                    .members = A | B });
    arrive(&play, 0, 11);
    arrive(&play, 1, 12);
    play.runs[0] = play.runs[1] = 1;
    skn_membership_hello(play.membership, 0, 11, 1, play.now_ns);
    skn_membership_hello(play.membership, 1, 12, 1, play.now_ns);
    skn_membership_leaving(play.membership, 1, play.now_ns);
    skn_membership_tick(play.membership, play.now_ns);
    skn_membership_tick(play.membership, play.now_ns + 1000000);
    pass(&play, 3000, 400);
    cr_expect_eq(count_of(&play, SKN_DUTY_ABORT), 0);
    cr_expect_eq(skn_membership_batch(play.membership), 400);
    cr_expect_eq(skn_membership_generation(play.membership), 1);
    skn_membership_destroy(&play.membership);
}

Test(membership_leave, one_is_let_go_after_the_marker)
{
    play_t play;
    begin_two(&play);
    pass(&play, 1000, 7);
    skn_membership_leaving(play.membership, 1, play.now_ns);
    pass(&play, 200, 7);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 0,
                 "its state is on its way");
    end(&play, 0, SKN_ENDING_STOPPED);
    end(&play, 1, SKN_ENDING_WELL);
    play.held = (held_t){ .status = SKN_OK, .point = { .batch = 9 } };
    pass(&play, 600, 0);
    cr_assert_geq(count_of(&play, SKN_DUTY_DISMISS), 1);
    cr_assert_eq(skn_membership_members(play.membership), 1);
    cr_assert_eq(play.held.asked, 1, "who leaves holds nothing any more");
    skn_membership_destroy(&play.membership);
}

/* Its neighbour dies before the marker: it has the only copy of its part. It
 * used to train in a generation that was paused at once, before its workers had
 * met, and again and again: nothing was handed over. */
Test(membership_leave, one_stays_while_it_holds_what_others_lack)
{
    play_t play;
    begin_all(&play, 3, 1);
    leave(&play, B);
    pass(&play, 200, 8);
    die(&play, 2);
    pass(&play, 2000, 8);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    cr_assert_eq(trains(&play), A);
    cr_assert_eq(serving(&play), B);
    pass(&play, 20000, 7);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0, "nothing is saved yet");
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    save(&play);
    pass(&play, 200, 7);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    end_all(&play);
    pass(&play, 1000, 7);
    cr_assert_eq(let_go(&play), B);
    cr_assert_eq(skn_membership_members(play.membership), A);
    skn_membership_destroy(&play.membership);
}

/* Of four, every set that leaves at once, but for all. */
Test(membership_leave, any_number_leaves_in_two_generations_at_most)
{
    for (uint64_t set = 1; set < 15; set++) {
        play_t play;
        uint64_t gone = 0, stay = 15 & ~set;
        begin_all(&play, 4, 1);
        leave(&play, set);
        pass(&play, 200, 8);
        cr_expect_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
        hold(&play, 15, 8);
        end_all(&play);
        for (uint64_t generation = 2; gone != set && generation < 5;
             generation++) {
            pass(&play, 1000, 8);
            gone |= let_go(&play);
            if (skn_membership_generation(play.membership) < generation)
                continue;
            cr_expect_eq(skn_membership_generation(play.membership),
                         generation);
            cr_expect_eq(trains(&play), stay, "rows for who leaves: %x",
                         (unsigned)trains(&play));
            save(&play);
            bool only = serving(&play) != 0;
            pass(&play, 1500, only ? 8 : 9);
            cr_expect_eq(count_of(&play, SKN_DUTY_PAUSE), only);
            gone |= let_go(&play);
            if (only)
                end_all(&play);
        }
        cr_expect_eq(gone, set, "of %x that leave %x are let go", (unsigned)set,
                     (unsigned)gone);
        cr_expect_leq(skn_membership_generation(play.membership), 3);
        skn_membership_destroy(&play.membership);
    }
}

/* What the others lack lies with one of those that leave: another one, that may
 * die meanwhile, does not take part. */
Test(membership_leave, only_members_that_are_needed_serve)
{
    play_t play;
    begin_all(&play, 4, 1);
    leave(&play, B | C | D);
    pass(&play, 200, 8);
    end_all(&play);
    play.held.of[3] = 15;
    pass(&play, 1000, 8);
    cr_assert_eq(trains(&play), A);
    cr_assert_eq(serving(&play), D);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 0, "nothing is saved yet");
    cr_assert(was_told(&play, "generation 2 from batch 7: a; d hands over its "
                              "state"));
    skn_membership_destroy(&play.membership);
}

Test(membership_leave,
     a_member_that_dies_while_it_serves_is_replaced_by_another)
{
    play_t play;
    begin_all(&play, 4, 1);
    leave(&play, B | C | D);
    pass(&play, 200, 8);
    end_all(&play);
    play.held.of[2] = play.held.of[3] = 15;
    pass(&play, 1000, 8);
    uint32_t first = serving(&play) == C ? 2 : 3;
    cr_assert_eq(serving(&play), (uint64_t)1 << first);
    die(&play, first);
    pass(&play, 3000, 8);
    cr_assert_eq(skn_membership_generation(play.membership), 3);
    cr_assert_eq(serving(&play), (C | D) & ~((uint64_t)1 << first));
    skn_membership_destroy(&play.membership);
}

Test(membership_leave, members_that_all_leave_are_dismissed_at_once)
{
    play_t play;
    begin_all(&play, 3, 1);
    leave(&play, A | B | C);
    pass(&play, 200, 7);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 0, "they are to save it");
    end_all(&play);
    pass(&play, 300, 0);
    cr_assert_eq(let_go(&play), A | B | C);
    skn_membership_destroy(&play.membership);
}

/* One of them failed, and stays out for a while: it may take over later. */
Test(membership_leave,
     a_member_that_is_out_for_a_while_counts_as_one_that_stays)
{
    play_t play;
    skn_error_t why = { .status = SKN_STORAGE, .text = "no room" };
    begin_all(&play, 3, 1);
    skn_membership_ended(play.membership, 2, 1, SKN_ENDING_FAILED, &why,
                         play.now_ns);
    play.runs[2] = 0;
    leave(&play, A | B);
    pass(&play, 4000, 7);
    cr_assert_eq(skn_membership_phase(play.membership),
                 SKN_MEMBERSHIP_GATHERING);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 0);
    pass(&play, 8000, 7);
    cr_assert_eq(trains(&play), C);
    cr_assert_neq(serving(&play), 0);
    skn_membership_destroy(&play.membership);
}

/* Fewer than train stay: they take over what the others hold, and no more. */
Test(membership_leave, fewer_than_the_least_take_over_and_do_not_train)
{
    play_t play;
    begin_all(&play, 3, 2);
    leave(&play, B | C);
    pass(&play, 200, 7);
    end_all(&play);
    pass(&play, 500, 7);
    cr_assert_eq(trains(&play), A);
    cr_assert_neq(serving(&play), 0);
    save(&play);
    pass(&play, 200, 7);
    end_all(&play);
    pass(&play, 500, 7);
    cr_assert_eq(let_go(&play), B | C);
    pass(&play, 15000, 7);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    cr_assert(was_told(&play, "waiting for b and c: they are not here"));
    skn_membership_destroy(&play.membership);
}

/* One copy of each part is with them; the second one comes with their own
 * generation, which is not one that only serves. */
Test(membership_leave, a_member_that_is_not_needed_waits_for_the_second_copy)
{
    play_t play;
    begin_all(&play, 3, 1);
    leave(&play, C);
    pass(&play, 200, 8);
    end_all(&play);
    pass(&play, 1000, 7);
    cr_assert_eq(skn_membership_members(play.membership), A | B);
    cr_assert_eq(serving(&play), 0);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 0);
    die(&play, 1); /* with the second copy that there was */
    play.held.of[1] = 0;
    pass(&play, 2000, 7);
    cr_assert_eq(trains(&play), A);
    cr_assert_eq(serving(&play), C);
    save(&play);
    pass(&play, 200, 7);
    end_all(&play);
    pass(&play, 500, 7);
    cr_assert_eq(let_go(&play), C);
    skn_membership_destroy(&play.membership);
}

/* A second wave, of those who take over: nothing is begun anew for it before
 * what is on its way has come. */
Test(membership_leave, a_member_that_takes_over_may_leave_meanwhile)
{
    play_t play;
    begin_all(&play, 4, 1);
    leave(&play, C | D);
    pass(&play, 200, 8);
    end_all(&play);
    pass(&play, 1000, 8);
    cr_assert_eq(trains(&play), A | B);
    cr_assert_neq(serving(&play), 0);
    leave(&play, A);
    pass(&play, 5000, 7);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    save(&play);
    pass(&play, 200, 7);
    end_all(&play);
    pass(&play, 500, 7);
    cr_assert_eq(let_go(&play), C | D | A, "b holds all of it");
    cr_assert_eq(skn_membership_members(play.membership), B);
    skn_membership_destroy(&play.membership);
}

Test(membership_leave,
     a_member_that_leaves_before_the_first_batch_need_not_pause)
{
    play_t play;
    begin_two(&play);
    leave(&play, A);
    pass(&play, 300, 0);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0,
                 "its lead would end before it had met the other");
    cr_assert_eq(count_of(&play, SKN_DUTY_ABORT), 2);
    pass(&play, 4000, 0);
    cr_assert_eq(skn_membership_members(play.membership), B);
    skn_membership_destroy(&play.membership);
}

/* The coordinator dies while others take over; their workers end by themselves
 * when they have all, and what then lies where is asked. */
Test(membership_leave, a_coordinator_that_returns_finds_the_serving_members)
{
    play_t play;
    open_play_by(&play, (skn_membership_options_t){ .count = 3,
                                                    .least = 1,
                                                    .copies = 2,
                                                    .generation = 7,
                                                    .members = A | B | C,
                                                    .serving = B | C,
                                                    .saved_batch = 20 });
    hold(&play, A | B | C, 20);
    for (uint32_t k = 0; k < 3; k++) {
        play.here[k] = true;
        play.runs[k] = 7;
        skn_membership_hello(play.membership, k, 11 + k, 7, play.now_ns);
    }
    leave(&play, B | C);
    pass(&play, 2000, 20);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_RUNNING);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0);
    cr_assert_eq(serving(&play), B | C);
    hold(&play, A, 20);
    end_all(&play);
    pass(&play, 1000, 20);
    cr_assert_eq(let_go(&play), B | C);
    cr_assert_eq(skn_membership_members(play.membership), A);
    skn_membership_destroy(&play.membership);
}

/* One alone has no memory for all of it, say: the run goes on when the others
 * are back, and is not tried again ten times a second. */
Test(membership_leave, members_that_cannot_take_over_do_not_end_the_run)
{
    play_t play;
    skn_error_t why = { 0 };
    (void)skn_fail(&why, SKN_BAD_CONFIG, "it needs more than it may");
    begin_all(&play, 3, 1);
    leave(&play, B | C);
    pass(&play, 200, 8);
    end_all(&play);
    for (uint64_t ms = 0; ms < 20000; ms += 100) {
        pass(&play, 100, 7);
        if (skn_membership_phase(play.membership) != SKN_MEMBERSHIP_RUNNING)
            continue;
        uint64_t generation = skn_membership_generation(play.membership);
        skn_membership_ended(play.membership, 0, generation, SKN_ENDING_FAILED,
                             &why, play.now_ns);
        play.runs[0] = 0;
    }
    cr_assert_neq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_OVER);
    cr_assert_leq(skn_membership_generation(play.membership), 10);
    skn_membership_destroy(&play.membership);
}

Test(membership_leave, a_stop_waits_for_what_is_handed_over)
{
    play_t play;
    begin_all(&play, 3, 1);
    leave(&play, B | C);
    pass(&play, 200, 8);
    end_all(&play);
    pass(&play, 1000, 7);
    cr_assert_neq(serving(&play), 0);
    skn_membership_stop(play.membership, play.now_ns);
    pass(&play, 500, 7);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0);
    save(&play);
    end_all(&play);
    pass(&play, 300, 7);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_OVER);
    skn_membership_destroy(&play.membership);
}

/* Left out for the sake of the others, and it alone holds a part. */
Test(membership_leave, a_member_that_is_spared_hands_over_too)
{
    play_t play;
    begin_all(&play, 3, 1);
    play.held.of[0] = play.held.of[1] = A | B;
    play.held.of[2] = C;
    cr_assert(skn_membership_leave_out(play.membership, 2, UINT64_MAX));
    skn_membership_renew(play.membership, "c", "is left out");
    pass(&play, 200, 8);
    end_all(&play);
    pass(&play, 600, 7);
    cr_assert_eq(trains(&play), A | B);
    cr_assert_eq(serving(&play), C);
    save(&play);
    pass(&play, 200, 7);
    end_all(&play);
    pass(&play, 600, 7);
    cr_assert_eq(skn_membership_members(play.membership), A | B);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 0, "it is not told to go");
    skn_membership_destroy(&play.membership);
}
