/* test_membership.c - tests the duties of the membership, event by event.
 *
 * Covers topology/elastic/membership.c, topology/elastic/membership_duties.c,
 * topology/elastic/membership_faults.c and
 * topology/elastic/membership_gather.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/membership_play.h"

Test(membership, all_that_are_listed_begin_together)
{
    play_t play;
    begin_two(&play);
    cr_assert_eq(count_of(&play, SKN_DUTY_START), 2);
    cr_assert_eq(count_of(&play, SKN_DUTY_RECORD), 1);
    cr_assert(was_told(&play, "generation 1 from batch 0: a and b"));
    skn_membership_destroy(&play.membership);
}

Test(membership, a_generation_is_recorded_before_it_is_announced)
{
    play_t play;
    bool recorded = false;
    begin_two(&play);
    for (size_t k = 0; k < play.duty_count; k++) {
        recorded = recorded || play.duty[k].kind == SKN_DUTY_RECORD;
        if (play.duty[k].kind == SKN_DUTY_START)
            cr_assert(recorded);
    }
    skn_membership_destroy(&play.membership);
}

Test(membership, those_that_do_not_come_are_waited_for_and_then_not)
{
    play_t play;
    open_play(&play, 3, 1, 0, 0);
    arrive(&play, 0, 11);
    pass(&play, 4000, 0);
    cr_assert_eq(skn_membership_phase(play.membership),
                 SKN_MEMBERSHIP_GATHERING);
    pass(&play, 1500, 0);
    cr_assert_eq(skn_membership_members(play.membership), 1);
    skn_membership_destroy(&play.membership);
}

Test(membership, fewer_than_the_least_never_begin)
{
    play_t play;
    open_play(&play, 3, 2, 0, 0);
    arrive(&play, 0, 11);
    pass(&play, 60000, 0);
    cr_assert_eq(skn_membership_phase(play.membership),
                 SKN_MEMBERSHIP_GATHERING);
    cr_assert(was_told(&play, "waiting for b and c: they are not here"));
    skn_membership_destroy(&play.membership);
}

Test(membership, a_dead_member_ends_the_generation_within_4_s)
{
    play_t play;
    begin_two(&play);
    pass(&play, 3000, 40);
    play.here[1] = false; /* without a word, and its line stands */
    uint64_t died_ns = play.now_ns;
    while (skn_membership_phase(play.membership) == SKN_MEMBERSHIP_RUNNING)
        pass(&play, 100, 40);
    cr_assert_leq(play.now_ns - died_ns, 4000 * MS);
    play.held = (held_t){ .status = SKN_OK, .point = { .batch = 20 } };
    pass(&play, 1000, 40);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    cr_assert_eq(skn_membership_members(play.membership), 1);
    cr_assert_eq(play.held.asked, 1, "only who is here can hold anything");
    skn_membership_destroy(&play.membership);
}

Test(membership, a_coordinator_that_stood_still_says_so)
{
    play_t play;
    begin_two(&play);
    play.now_ns += 1800 * MS;
    pass(&play, 100, 0);
    cr_assert_not(was_told(&play, "stood still"));
    play.now_ns += 20000 * MS;
    pass(&play, 100, 0);
    cr_assert(was_told(&play, "the coordinator itself was suspended for 20 s"));
    skn_membership_destroy(&play.membership);
}

Test(membership, the_end_of_a_line_is_a_death_after_one_second)
{
    play_t play;
    begin_two(&play);
    die(&play, 1);
    pass(&play, 800, 5);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_RUNNING);
    pass(&play, 400, 5);
    cr_assert_neq(skn_membership_phase(play.membership),
                  SKN_MEMBERSHIP_RUNNING);
    skn_membership_destroy(&play.membership);
}

Test(membership, a_line_that_is_dialled_again_is_no_death)
{
    play_t play;
    begin_two(&play);
    skn_membership_lost(play.membership, 1, play.now_ns);
    skn_membership_hello(play.membership, 1, 22, 1, play.now_ns + 500 * MS);
    pass(&play, 3000, 5);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_RUNNING);
    cr_assert_eq(skn_membership_generation(play.membership), 1);
    skn_membership_destroy(&play.membership);
}

Test(membership, another_incarnation_means_that_the_first_has_died)
{
    play_t play;
    begin_two(&play);
    arrive(&play, 1, 33);
    cr_assert(was_told(&play, "b died and is back"));
    cr_assert_eq(count_of(&play, SKN_DUTY_ABORT), 1);
    cr_assert_eq(play.duty[0].kind == SKN_DUTY_ABORT ||
                     play.duty[1].kind == SKN_DUTY_ABORT,
                 true);
    pass(&play, 600, 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    cr_assert_eq(skn_membership_members(play.membership), 3);
    skn_membership_destroy(&play.membership);
}

/* Whether the duty to end lets a survivor keep its state (salvage). */
static bool
salvages(play_t *play)
{
    for (size_t k = 0; k < play->duty_count; k++)
        if (play->duty[k].kind == SKN_DUTY_ABORT)
            return play->duty[k].salvage;
    cr_assert_fail("no duty to end");
    return false;
}

Test(membership, survivors_cut_what_they_have_after_a_death_where_that_is_kept)
{
    for (int partial = 0; partial < 2; partial++) {
        play_t play;
        begin_two_of(&play, partial);
        die(&play, 1);
        pass(&play, 1200, 7);
        cr_expect_eq(salvages(&play), partial == 1);
        cr_expect_eq(skn_membership_keeps(play.membership), partial == 1);
        skn_membership_destroy(&play.membership);
    }
}

/* Their weights may be why one of them failed. */
Test(membership, no_member_salvages_weights_that_made_another_fail)
{
    static const skn_status_t how[] = { SKN_DIVERGED, SKN_INTERNAL };
    for (size_t k = 0; k < 2; k++) {
        play_t play;
        skn_error_t error = { .status = how[k], .text = "it is so" };
        begin_two_of(&play, true);
        pass(&play, 500, 7);
        play.runs[1] = 0;
        skn_membership_ended(play.membership, 1, 1, SKN_ENDING_FAILED, &error,
                             play.now_ns);
        obey(&play);
        cr_expect_eq(salvages(&play), how[k] == SKN_INTERNAL);
        pass(&play, 1500, 0); /* the next generation is another one */
        cr_expect(skn_membership_generation(play.membership) == 2);
        cr_expect(skn_membership_keeps(play.membership));
        skn_membership_destroy(&play.membership);
    }
}

Test(membership, one_that_joins_is_taken_in_at_a_marker)
{
    play_t play;
    open_play(&play, 3, 1, 0, 0);
    arrive(&play, 0, 11);
    arrive(&play, 1, 22);
    pass(&play, 6000, 0);
    cr_assert_eq(skn_membership_members(play.membership), 3);
    arrive(&play, 2, 44);
    pass(&play, 3000, 30);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_PAUSING);
    end(&play, 1, SKN_ENDING_WELL);
    end(&play, 0, SKN_ENDING_STOPPED);
    play.held = (held_t){ .status = SKN_OK, .point = { .batch = 40 } };
    pass(&play, 600, 0);
    cr_assert_eq(skn_membership_members(play.membership), 7);
    cr_assert(was_told(&play, "generation 2 from batch 40: a, b and c; c "
                              "joins"));
    skn_membership_destroy(&play.membership);
}

Test(membership, the_same_members_may_begin_again)
{
    play_t play;
    open_play(&play, 2, 1, 0, 0);
    skn_membership_renew(play.membership, "rows", "are divided by speed");
    arrive(&play, 0, 11);
    arrive(&play, 1, 22);
    pass(&play, 3000, 30);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0, "nothing ran then");
    skn_membership_renew(play.membership, "rows", "are divided by speed");
    pass(&play, 200, 30);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    end(&play, 1, SKN_ENDING_WELL);
    end(&play, 0, SKN_ENDING_STOPPED);
    play.held = (held_t){ .status = SKN_OK, .point = { .batch = 40 } };
    pass(&play, 600, 0);
    cr_assert(was_told(&play, "generation 2 from batch 40: a and b; rows are "
                              "divided by speed"));
    pass(&play, 5000, 50);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0, "and once only");
    skn_membership_destroy(&play.membership);
}

/* a, b and c train; two have to. */
static void
open_three(play_t *play)
{
    open_play(play, 3, 2, 0, 0);
    for (uint32_t k = 0; k < 3; k++)
        arrive(play, k, 11 * (k + 1));
    pass(play, 3000, 30);
}

/* c is spared: the generation ends, and the next begins. */
static void
go_on_without_c(play_t *play)
{
    skn_membership_renew(play->membership, "c", "is left out");
    pass(play, 200, 30);
    for (uint32_t k = 3; k-- > 0;)
        end(play, k, k ? SKN_ENDING_WELL : SKN_ENDING_STOPPED);
    play->held = (held_t){ .status = SKN_OK, .point = { .batch = 40 } };
    pass(play, 600, 0);
}

/* The others are faster without c: they go on, and it is asked again later. */
Test(membership, a_member_that_is_spared_comes_back)
{
    play_t play;
    open_three(&play);
    cr_assert_eq(skn_membership_members(play.membership), 7);
    cr_assert_not(skn_membership_leave_out(play.membership, 3, UINT64_MAX),
                  "it takes no part");
    cr_assert(
        skn_membership_leave_out(play.membership, 2, play.now_ns + 20000 * MS));
    go_on_without_c(&play);
    cr_assert_eq(skn_membership_members(play.membership), 3);
    cr_assert(skn_membership_is_left_out(play.membership, 2));
    cr_assert_not(skn_membership_is_left_out(play.membership, 1));
    pass(&play, 15000, 60);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0, "not yet");
    pass(&play, 6000, 70);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1, "and then it joins");
    cr_assert_not(skn_membership_is_left_out(play.membership, 2));
    for (uint32_t k = 2; k-- > 0;)
        end(&play, k, k ? SKN_ENDING_WELL : SKN_ENDING_STOPPED);
    pass(&play, 600, 0);
    cr_assert_eq(skn_membership_members(play.membership), 7);
    skn_membership_destroy(&play.membership);
}

/* Two at least are to train, and one of the two that do dies. */
Test(membership, a_member_that_is_spared_is_wanted_when_another_dies)
{
    play_t play;
    open_three(&play);
    cr_assert(skn_membership_leave_out(play.membership, 2, UINT64_MAX));
    go_on_without_c(&play);
    cr_assert_eq(skn_membership_members(play.membership), 3);
    play.here[1] = false;
    skn_membership_lost(play.membership, 1, play.now_ns);
    pass(&play, 1500, 40);
    end(&play, 0, SKN_ENDING_WELL);
    pass(&play, 5000, 40);
    cr_assert_eq(skn_membership_members(play.membership), 5, "a and c");
    cr_assert_not(skn_membership_leave_out(play.membership, 2, UINT64_MAX),
                  "nothing was trained without it");
    skn_membership_destroy(&play.membership);
}

/* Its lead lost the message to begin, and the one to pause came before it was
 * said again: a run stood still for ever (sim_membership, seed 1876). */
Test(membership, a_member_that_begins_while_others_pause_is_told_to_pause)
{
    play_t play;
    begin_two(&play);
    play.runs[0] = 0;
    skn_membership_renew(play.membership, "rows", "are divided by speed");
    pass(&play, 200, 0);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    cr_assert_eq(count_of(&play, SKN_DUTY_START), 0, "not at once");
    pass(&play, 1200, 0);
    cr_assert_eq(count_of(&play, SKN_DUTY_START), 1);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    pass(&play, 5000, 0);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0, "twice would end it");
    end(&play, 1, SKN_ENDING_WELL);
    end(&play, 0, SKN_ENDING_STOPPED);
    pass(&play, 600, 0);
    cr_assert(was_told(&play, "generation 2 from batch 0: a and b"));
    skn_membership_destroy(&play.membership);
}

Test(membership, no_member_joins_a_generation_that_has_trained_nothing)
{
    play_t play;
    open_play(&play, 3, 1, 0, 0);
    arrive(&play, 0, 11);
    pass(&play, 6000, 0);
    arrive(&play, 1, 22);
    pass(&play, 60000, 0);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_RUNNING);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 0);
    skn_membership_destroy(&play.membership);
}

Test(membership, those_that_do_not_follow_the_lead_are_ended)
{
    play_t play;
    begin_two(&play);
    skn_membership_leaving(play.membership, 1, play.now_ns);
    pass(&play, 200, 0);
    end(&play, 0, SKN_ENDING_STOPPED); /* b still waits for it */
    play.held = (held_t){ .status = SKN_OK };
    pass(&play, 5000, 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    cr_assert_eq(skn_membership_members(play.membership), 1);
    skn_membership_destroy(&play.membership);
}

Test(membership, the_end_of_the_run_is_told_to_all)
{
    play_t play;
    bool stopped = true;
    skn_error_t error = { 0 };
    begin_two(&play);
    end(&play, 0, SKN_ENDING_DONE);
    obey(&play);
    cr_assert_eq(count_of(&play, SKN_DUTY_DISMISS), 2);
    cr_assert_eq(skn_membership_result(play.membership, &stopped, &error),
                 SKN_OK);
    cr_assert_not(stopped);
    skn_membership_destroy(&play.membership);
}

Test(membership, a_stop_is_a_pause_without_another_generation)
{
    play_t play;
    bool stopped = false;
    skn_error_t error = { 0 };
    begin_two(&play);
    skn_membership_stop(play.membership, play.now_ns);
    pass(&play, 100, 3);
    cr_assert_eq(count_of(&play, SKN_DUTY_PAUSE), 1);
    end(&play, 0, SKN_ENDING_STOPPED);
    end(&play, 1, SKN_ENDING_WELL);
    pass(&play, 100, 3);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_OVER);
    cr_assert_eq(skn_membership_result(play.membership, &stopped, &error),
                 SKN_OK);
    cr_assert(stopped);
    skn_membership_destroy(&play.membership);
}

/* Three members, of which c dies after a checkpoint, with a part of it. */
static void
lose_c(play_t *play)
{
    open_play(play, 3, 1, 0, 0);
    for (uint32_t k = 0; k < 3; k++)
        arrive(play, k, 11 + k);
    pass(play, 300, 0);
    cr_assert_eq(skn_membership_members(play->membership), 7);
    skn_membership_saved(play->membership, 1, 20);
    die(play, 2);
    play->held.status = SKN_UNAVAILABLE;
    pass(play, 12000, 0);
}

Test(membership, parts_that_no_present_member_holds_are_waited_for)
{
    play_t play;
    lose_c(&play);
    cr_assert_eq(skn_membership_phase(play.membership),
                 SKN_MEMBERSHIP_GATHERING);
    cr_assert(was_told(&play, "waiting for c: parts are missing"));
    play.held.status = SKN_NO_INPUT; /* not from the seed: it was saved */
    pass(&play, 1000, 0);
    cr_assert_eq(skn_membership_phase(play.membership),
                 SKN_MEMBERSHIP_GATHERING);
    play.held.status = SKN_OK;
    pass(&play, 1000, 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    skn_membership_destroy(&play.membership);
}

Test(membership, parts_that_no_member_at_all_holds_end_the_run)
{
    play_t play;
    bool stopped;
    skn_error_t error = { 0 };
    lose_c(&play);
    arrive(&play, 2, 99);
    pass(&play, 1000, 0);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_OVER);
    cr_assert_eq(skn_membership_result(play.membership, &stopped, &error),
                 SKN_NO_INPUT);
    cr_assert_not_null(strstr(error.text, "the newest was of batch 20"), "%s",
                       error.text);
    skn_membership_destroy(&play.membership);
}

Test(membership, what_was_never_whole_is_not_missed)
{
    play_t play;
    begin_two(&play);
    play.held.status = SKN_UNAVAILABLE;
    arrive(&play, 1, 33);
    pass(&play, 1000, 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    skn_membership_destroy(&play.membership);
}

Test(membership, an_unseen_end_is_waited_for_until_no_lease_is_left)
{
    play_t play;
    open_play(&play, 2, 1, 0, 0);
    arrive(&play, 0, 11);
    pass(&play, 6000, 0); /* a alone */
    arrive(&play, 1, 22);
    die(&play, 0);
    uint64_t died_ns = play.now_ns;
    pass(&play, 3200, 0);
    cr_assert_eq(skn_membership_generation(play.membership), 1,
                 "a may still train");
    pass(&play, 800, 0);
    cr_assert_eq(skn_membership_generation(play.membership), 2);
    cr_assert_geq(play.now_ns - died_ns, SKN_MEMBER_LEASE_MS * MS);
    skn_membership_destroy(&play.membership);
}

Test(membership, a_mistake_in_the_config_ends_the_run)
{
    play_t play;
    bool stopped;
    skn_error_t error = { 0 }, why = { 0 };
    begin_two(&play);
    (void)skn_fail(&why, SKN_BAD_CONFIG, "no such file");
    skn_membership_ended(play.membership, 0, 1, SKN_ENDING_FAILED, &why,
                         play.now_ns);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_OVER);
    cr_assert_eq(skn_membership_result(play.membership, &stopped, &error),
                 SKN_BAD_CONFIG);
    cr_assert_str_eq(error.text, "no such file");
    skn_membership_destroy(&play.membership);
}

Test(membership, one_that_fails_again_and_again_stays_out_for_a_while)
{
    play_t play;
    skn_error_t why = { 0 };
    begin_two(&play);
    (void)skn_fail(&why, SKN_NO_MEMORY, "no room");
    for (uint64_t generation = 1; generation < 4; generation++) {
        if (generation == 3) /* barred: the others went on without it */
            break;
        skn_membership_ended(play.membership, 1, generation, SKN_ENDING_FAILED,
                             &why, play.now_ns);
        play.runs[1] = 0;
        pass(&play, 1200, 0);
    }
    cr_assert_eq(skn_membership_members(play.membership), 1);
    pass(&play, 20000, 10); /* ... and takes it in again later */
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_PAUSING);
    skn_membership_destroy(&play.membership);
}

/* Its worker has tried again and again already. */
Test(membership, one_whose_disk_fails_stays_out_at_once)
{
    play_t play;
    skn_error_t why = { 0 };
    begin_two(&play);
    (void)skn_fail(&why, SKN_STORAGE, "node 'b': cannot write: no space");
    skn_membership_ended(play.membership, 0, 1, SKN_ENDING_FAILED, &why,
                         play.now_ns);
    play.runs[0] = 0;
    pass(&play, 1200, 0);
    cr_assert_eq(skn_membership_members(play.membership), 1);
    cr_assert_not_null(skn_membership_fault(play.membership, 1));
    pass(&play, 20000, 10);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_PAUSING);
    skn_membership_destroy(&play.membership);
}

/* What `who` says twice in a row of a failure; who takes part then. */
static uint64_t
left_after(uint32_t who, const char *text)
{
    play_t play;
    skn_error_t why = { .status = SKN_STORAGE };
    (void)snprintf(why.text, sizeof(why.text), "%s", text);
    begin_two(&play);
    for (uint64_t generation = 1; generation < 3; generation++) {
        skn_membership_ended(play.membership, who, generation,
                             SKN_ENDING_FAILED, &why, play.now_ns);
        play.runs[who] = 0;
        pass(&play, 1200, 0);
    }
    uint64_t members = skn_membership_members(play.membership);
    skn_membership_destroy(&play.membership);
    return members;
}

Test(membership, a_member_that_is_named_by_others_is_the_one_that_failed)
{
    cr_expect_eq(left_after(0, "run/a: no room"), 2);
    cr_expect_eq(left_after(0, "node 'b': run/b: no room"), 1);
    cr_expect_eq(left_after(1, "node 'a': node 'b': run/b: no room"), 1);
    cr_expect_eq(left_after(1, "node 'a': run/a: no room"), 2);
    cr_expect_eq(left_after(0, "node 'b' is said to have failed"), 2);
    cr_expect_eq(left_after(0, "node 'x': run/x: no room"), 2);
    cr_expect_eq(left_after(0, "node 'b"), 2);
    cr_expect_eq(left_after(0, "node 'bb': node ''"), 2);
}

Test(membership, a_generation_that_runs_outlives_its_coordinator)
{
    play_t play;
    open_play(&play, 2, 1, 7, 3);
    play.here[0] = play.here[1] = true;
    play.runs[0] = play.runs[1] = 7;
    skn_membership_hello(play.membership, 0, 11, 7, play.now_ns);
    pass(&play, 500, 90);
    cr_assert_eq(skn_membership_phase(play.membership),
                 SKN_MEMBERSHIP_GATHERING);
    cr_assert_eq(count_of(&play, SKN_DUTY_ABORT), 0);
    skn_membership_hello(play.membership, 1, 22, 7, play.now_ns);
    pass(&play, 500, 90);
    cr_assert_eq(skn_membership_phase(play.membership), SKN_MEMBERSHIP_RUNNING);
    cr_assert_eq(skn_membership_generation(play.membership), 7);
    cr_assert_eq(count_of(&play, SKN_DUTY_START), 0);
    skn_membership_destroy(&play.membership);
}

Test(membership, a_coordinator_that_returns_to_less_begins_a_new_generation)
{
    play_t play;
    open_play(&play, 2, 1, 7, 3);
    play.here[0] = true;
    play.runs[0] = 7;
    skn_membership_hello(play.membership, 0, 11, 7, play.now_ns);
    play.held = (held_t){ .status = SKN_OK, .point = { .batch = 60 } };
    pass(&play, 6000, 90);
    cr_assert_eq(skn_membership_generation(play.membership), 8);
    cr_assert_eq(skn_membership_members(play.membership), 1);
    skn_membership_destroy(&play.membership);
}

Test(membership, what_runs_an_older_generation_is_ended)
{
    play_t play;
    begin_two(&play);
    pass(&play, 2000, 3);
    play.here[1] = false;
    pass(&play, 5000, 3);
    cr_assert_eq(skn_membership_members(play.membership), 1);
    play.here[1] = true; /* it was only cut off, and still trains */
    play.runs[1] = 1;
    skn_membership_hello(play.membership, 1, 22, 1, play.now_ns);
    pass(&play, 200, 3);
    cr_assert_eq(count_of(&play, SKN_DUTY_ABORT), 1);
    cr_assert_eq(play.runs[1], 0);
    skn_membership_destroy(&play.membership);
}
