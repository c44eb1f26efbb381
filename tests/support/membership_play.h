/* membership_play.h - drives a membership step by step: members that obey, and
 * its clock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_MEMBERSHIP_PLAY_H
#define TESTS_SUPPORT_MEMBERSHIP_PLAY_H

#include <criterion/criterion.h>
#include <string.h>

#include "topology/elastic/membership.h"

#define MS 1000000ull

static const char *const names[] = { "a", "b", "c", "d" };

/* What the members hold, for the choice of a point. */
typedef struct held {
    skn_status_t status;
    skn_point_t point;
    uint64_t asked;              /* the set that was asked about */
    uint64_t must_not_leave_out; /* of any that is enough */
    /* In place of `must_not_leave_out`: parts of the checkpoint, and those of
     * each member. 0: it is not looked at. */
    uint64_t parts, of[4];
} held_t;

/* How many of `set` have the part that fewest have. */
static inline uint32_t
copies_of(const held_t *held, uint64_t set)
{
    uint32_t fewest = 4;
    for (uint32_t p = 0; p < 64; p++) {
        uint32_t copies = 0;
        for (uint32_t k = 0; k < 4; k++)
            copies += (set >> k & 1) && (held->of[k] >> p & 1);
        if ((held->parts >> p & 1) && copies < fewest)
            fewest = copies;
    }
    return fewest;
}

static inline skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    held_t *held = job;
    held->asked = set;
    *point = held->point;
    if (held->parts)
        point->copies = copies_of(held, set);
    if (held->parts && point->copies == 0)
        return skn_fail(error, SKN_UNAVAILABLE, "parts are missing");
    return held->status == SKN_OK &&
                   (set & held->must_not_leave_out) == held->must_not_leave_out
               ? SKN_OK
               : skn_fail(error, held->status ? held->status : SKN_UNAVAILABLE,
                          "parts are missing");
}

/* A run of `count` members, its clock, and the duties of the last step. */
typedef struct play {
    skn_membership_t *membership;
    held_t held;
    uint64_t now_ns;
    skn_duty_t duty[64];
    size_t duty_count;
    uint64_t runs[4]; /* what each member runs */
    bool here[4];
} play_t;

/* `options` lack what a play has for all. */
static inline void
open_play_by(play_t *play, skn_membership_options_t options)
{
    skn_error_t error = { 0 };
    options.first_wait_ns = 5000 * MS;
    options.choose = choose;
    options.job = &play->held;
    *play = (play_t){ .now_ns = 1000 * MS };
    play->held.status = SKN_NO_INPUT;
    play->membership = skn_membership_new(&options, names, &error);
    cr_assert_not_null(play->membership, "%s", error.text);
}

static inline void
open_play_of(play_t *play, uint32_t count, uint32_t least, uint64_t generation,
             uint64_t members, bool partial)
{
    open_play_by(play, (skn_membership_options_t){ .count = count,
                                                   .least = least,
                                                   .generation = generation,
                                                   .members = members,
                                                   .partial = partial });
}

static inline void
open_play(play_t *play, uint32_t count, uint32_t least, uint64_t generation,
          uint64_t members)
{
    open_play_of(play, count, least, generation, members, false);
}

/* Takes the duties; members that are here carry them out at once. */
static inline void
obey(play_t *play)
{
    skn_duty_t duty;
    play->duty_count = 0;
    while (skn_membership_next(play->membership, &duty)) {
        cr_assert_lt(play->duty_count, 64);
        play->duty[play->duty_count++] = duty;
        if (!play->here[duty.member])
            continue;
        if (duty.kind == SKN_DUTY_LIST)
            skn_membership_holds(play->membership, duty.member, play->now_ns);
        if (duty.kind == SKN_DUTY_START)
            play->runs[duty.member] = duty.generation;
        if (duty.kind == SKN_DUTY_ABORT)
            play->runs[duty.member] = 0;
    }
}

static inline size_t
count_of(const play_t *play, skn_duty_kind_t kind)
{
    size_t count = 0;
    for (size_t k = 0; k < play->duty_count; k++)
        count += play->duty[k].kind == kind;
    return count;
}

static inline bool
was_told(const play_t *play, const char *text)
{
    for (size_t k = 0; k < play->duty_count; k++)
        if (play->duty[k].kind == SKN_DUTY_REPORT &&
            strstr(play->duty[k].text, text))
            return true;
    return false;
}

/* `ms` pass, in steps; members that are here send pulses. The duties of all
 * steps are kept. */
static inline void
pass(play_t *play, uint64_t ms, uint64_t batch)
{
    skn_duty_t all[64];
    size_t count = 0;
    for (uint64_t done = 0; done < ms; done += 100) {
        play->now_ns += 100 * MS;
        for (uint32_t k = 0; k < 4; k++)
            if (play->here[k])
                skn_membership_pulse(play->membership, k, play->runs[k], batch,
                                     play->now_ns);
        skn_membership_tick(play->membership, play->now_ns);
        obey(play);
        for (size_t k = 0; k < play->duty_count && count < 64; k++)
            all[count++] = play->duty[k];
    }
    memcpy(play->duty, all, count * sizeof(all[0]));
    play->duty_count = count;
}

static inline void
arrive(play_t *play, uint32_t member, uint64_t incarnation)
{
    play->here[member] = true;
    play->runs[member] = 0;
    skn_membership_hello(play->membership, member, incarnation, 0,
                         play->now_ns);
    obey(play);
}

static inline void
die(play_t *play, uint32_t member)
{
    play->here[member] = false;
    play->runs[member] = 0;
    skn_membership_lost(play->membership, member, play->now_ns);
}

static inline void
end(play_t *play, uint32_t member, skn_ending_t ending)
{
    skn_error_t error = { 0 };
    uint64_t generation = play->runs[member];
    play->runs[member] = 0;
    skn_membership_ended(play->membership, member, generation, ending, &error,
                         play->now_ns);
}

/* Two members that train in generation 1. */
static inline void
begin_two_of(play_t *play, bool partial)
{
    open_play_of(play, 2, 1, 0, 0, partial);
    arrive(play, 0, 11);
    arrive(play, 1, 22);
    pass(play, 300, 0);
    cr_assert_eq(skn_membership_phase(play->membership),
                 SKN_MEMBERSHIP_RUNNING);
    cr_assert_eq(skn_membership_members(play->membership), 3);
}

static inline void
begin_two(play_t *play)
{
    begin_two_of(play, false);
}

#endif
