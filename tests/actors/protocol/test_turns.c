/* test_turns.c - tests the order of forwards and updates against its
 * definition.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "actors/protocol/turns.h"
#include "tests/support/oracle.h"

#define BATCHES 40

/* A run: markers lie behind these batches; the last is the end. */
typedef struct plan {
    uint64_t window; /* steps */
    const uint64_t *marker;
    bool free_order;
    uint64_t accumulate, flights; /* 0: of one batch a step */
} plan_t;

static uint64_t
step_batches(const plan_t *plan)
{
    return plan->accumulate > 0 ? plan->accumulate : 1;
}

static uint64_t
floor_of(const plan_t *plan, uint64_t batch)
{
    uint64_t floor = 0;
    for (int k = 0; plan->marker[k] <= batch; k++)
        floor = plan->marker[k];
    return floor;
}

static uint64_t
horizon_of(const plan_t *plan, uint64_t batch)
{
    int k = 0;
    while (plan->marker[k] <= batch)
        k++;
    return plan->marker[k] - 1;
}

/* The updates that batch t must have seen: those of exactly the first max(step
 * + 1 - window, steps at the last marker) steps. */
static uint64_t
definition(const plan_t *plan, uint64_t batch)
{
    uint64_t floor = floor_of(plan, batch);
    uint64_t m = step_batches(plan), step = batch / m;
    uint64_t seen = step >= plan->window ? (step - plan->window + 1) * m : 0;
    return seen > floor ? seen : floor;
}

static void
come_back(skn_turns_t *turns, uint64_t applied)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_turns_rows_back(turns, applied, "shard", &error), SKN_OK,
                 "%s", error.text);
}

static void
come(skn_turns_t *turns, const plan_t *plan, uint64_t batch)
{
    skn_error_t error = { 0 };
    const skn_issue_t issue = { .batch = batch,
                                .floor = floor_of(plan, batch),
                                .horizon = horizon_of(plan, batch) };
    cr_assert_eq(skn_turns_admit(turns, &issue, "shard", &error), SKN_OK, "%s",
                 error.text);
}

/* Batches are issued while the source has credit (and a marker waits for all);
 * inputs, gradients and rows come late, at random. */
static void
play(const plan_t *plan, uint64_t seed, uint64_t *seen)
{
    oracle_random_t random = { seed };
    skn_turns_t turns;
    uint64_t issued = 0, landed = 0, back = 0, steps = 0;
    bool away = true; /* the first lease has not come */
    uint64_t room = plan->flights > 0 ? plan->flights : plan->window;
    skn_turns_init(&turns, plan->window, step_batches(plan), room,
                   plan->free_order);
    while (back < BATCHES) {
        cr_assert(++steps < 100000, "window %lu: a deadlock at batch %lu",
                  (unsigned long)plan->window, (unsigned long)back);
        if (issued < BATCHES && issued - back < 2 * room - 1 &&
            floor_of(plan, issued) <= back && oracle_next(&random) % 2)
            come(&turns, plan, issued++);
        if (landed < turns.forwards && oracle_next(&random) % 3 == 0)
            landed++;
        if (away && oracle_next(&random) % 2) {
            back = turns.updates;
            come_back(&turns, back);
            away = false;
        }
        if (turns.forwards < issued &&
            skn_turns_forward_allowed(&turns, floor_of(plan, turns.forwards))) {
            cr_expect(!away);
            seen[turns.forwards] = turns.returned;
            skn_turns_forward_done(&turns);
            cr_expect_leq(turns.forwards - turns.updates, room);
        } else if (turns.updates < landed &&
                   skn_turns_update_allowed(&turns,
                                            horizon_of(plan, turns.updates))) {
            cr_expect(!away);
            away = skn_turns_update_sent(&turns);
            cr_expect_eq(away, turns.updates % step_batches(plan) == 0);
            back += !away; /* a sum needs no rows */
        }
    }
}

static const uint64_t markers[][4] = {
    { BATCHES },
    { 1, 2, 3, BATCHES },
    { 4, 5, 20, BATCHES },
    { 7, 14, 21, BATCHES },
};

Test(turns, each_batch_sees_exactly_the_updates_of_the_definition)
{
    uint64_t seen[BATCHES];
    for (uint64_t window = 1; window <= 8; window++) {
        for (size_t k = 0; k < sizeof(markers) / sizeof(markers[0]); k++) {
            plan_t plan = { .window = window, .marker = markers[k] };
            for (uint64_t seed = 1; seed <= 50; seed++) {
                play(&plan, seed, seen);
                for (uint64_t t = 0; t < BATCHES; t++)
                    cr_expect_eq(seen[t], definition(&plan, t),
                                 "window %lu, markers %zu, seed %lu: batch "
                                 "%lu saw %lu updates",
                                 (unsigned long)window, k, (unsigned long)seed,
                                 (unsigned long)t, (unsigned long)seen[t]);
            }
        }
    }
}

static const uint64_t step_markers[][4] = {
    { BATCHES },
    { 4, 8, 20, BATCHES },
};

Test(turns, all_batches_of_a_step_see_the_same_updates)
{
    uint64_t seen[BATCHES];
    for (uint64_t window = 1; window <= 3; window++)
        for (uint64_t flights = 1; flights <= 9; flights++)
            for (uint64_t seed = 1; seed <= 100; seed++) {
                /* The last update of a step waits for the whole window. */
                plan_t plan = { .window = window,
                                .marker = step_markers[seed % 2],
                                .accumulate = 4,
                                .flights = flights + 4 * (window - 1) };
                play(&plan, seed, seen);
                for (uint64_t t = 0; t < BATCHES; t++)
                    cr_expect_eq(seen[t], definition(&plan, t),
                                 "window %lu, %lu flights, seed %lu: batch "
                                 "%lu saw %lu updates",
                                 (unsigned long)window, (unsigned long)flights,
                                 (unsigned long)seed, (unsigned long)t,
                                 (unsigned long)seen[t]);
            }
}

Test(turns, free_order_sees_at_least_those_and_never_deadlocks)
{
    uint64_t seen[BATCHES];
    bool more = false;
    for (uint64_t window = 1; window <= 8; window++) {
        for (size_t k = 0; k < sizeof(markers) / sizeof(markers[0]); k++) {
            plan_t plan = { .window = window,
                            .marker = markers[k],
                            .free_order = true };
            for (uint64_t seed = 1; seed <= 50; seed++) {
                play(&plan, seed, seen);
                for (uint64_t t = 0; t < BATCHES; t++) {
                    cr_expect_geq(seen[t], definition(&plan, t));
                    cr_expect_leq(seen[t], t);
                    more = more || seen[t] > definition(&plan, t);
                }
            }
        }
    }
    cr_expect(more, "free order is never ahead: it is no free order");
}

/* The drawing of turns.h: F0 F1 U0 F2 U1 F3 U2 U3 | F4 F5 U4 ... */
Test(turns, the_sequence_is_that_of_the_drawing)
{
    static const uint64_t marker[] = { 4, BATCHES };
    plan_t plan = { .window = 2, .marker = marker };
    char got[64] = "";
    size_t used = 0;
    skn_turns_t turns;
    skn_turns_init(&turns, 2, 1, 2, false);
    come_back(&turns, 0);
    while (turns.updates < 5) {
        char *word = got + used;
        /* Everything that can be here is here: nothing is late. */
        bool issued = turns.forwards - turns.returned < 2 &&
                      floor_of(&plan, turns.forwards) <= turns.returned;
        if (issued && skn_turns_forward_allowed(
                          &turns, floor_of(&plan, turns.forwards))) {
            (void)snprintf(word, sizeof(got) - used, "F%u ",
                           (unsigned)turns.forwards);
            skn_turns_forward_done(&turns);
        } else {
            cr_assert(skn_turns_update_allowed(
                &turns, horizon_of(&plan, turns.updates)));
            (void)snprintf(word, sizeof(got) - used, "U%u ",
                           (unsigned)turns.updates);
            skn_turns_update_sent(&turns);
            come_back(&turns, turns.updates);
        }
        used += strlen(word);
    }
    cr_expect_str_eq(got, "F0 F1 U0 F2 U1 F3 U2 U3 F4 F5 U4 ");
}

Test(turns, nothing_runs_while_the_rows_are_away)
{
    skn_turns_t turns;
    skn_turns_init(&turns, 4, 1, 4, false);
    cr_expect(!skn_turns_forward_allowed(&turns, 0), "before the first lease");
    cr_expect(!skn_turns_may_rank(&turns, 0));
    come_back(&turns, 0);
    cr_expect(skn_turns_forward_allowed(&turns, 0));
    cr_expect(skn_turns_may_rank(&turns, 0));
    cr_expect(!skn_turns_may_rank(&turns, 1), "batch 0 is not applied");
    skn_turns_forward_done(&turns);
    cr_expect(!skn_turns_update_allowed(&turns, 3), "three more are to come");
    cr_expect(skn_turns_update_allowed(&turns, 0), "it was the last one");
    skn_turns_update_sent(&turns);
    cr_expect(!skn_turns_forward_allowed(&turns, 0));
    cr_expect(!skn_turns_may_rank(&turns, 0));
    cr_expect(!skn_turns_update_allowed(&turns, 0));
}

Test(turns, a_cut_lets_the_last_batches_be_updated)
{
    skn_turns_t turns;
    skn_turns_init(&turns, 4, 1, 4, false);
    come_back(&turns, 10);
    skn_turns_forward_done(&turns);
    skn_turns_forward_done(&turns);
    cr_expect(!skn_turns_update_allowed(&turns, 99));
    turns.last_batch = 11;
    for (uint64_t batch = 10; batch <= 11; batch++) {
        cr_expect(skn_turns_update_allowed(&turns, 99));
        skn_turns_update_sent(&turns);
        come_back(&turns, batch + 1);
    }
    cr_expect(!skn_turns_update_allowed(&turns, 99), "there is no batch 12");
}

/* A checkpoint on demand: the run goes on after the marker. */
Test(turns, after_a_cut_the_order_is_as_before)
{
    skn_turns_t turns;
    skn_turns_init(&turns, 3, 1, 3, false);
    come_back(&turns, 10);
    skn_turns_forward_done(&turns);
    turns.last_batch = 10;
    cr_expect(skn_turns_update_allowed(&turns, 99));
    skn_turns_update_sent(&turns);
    come_back(&turns, 11);
    for (uint64_t batch = 11; batch < 14; batch++) {
        cr_expect(!skn_turns_update_allowed(&turns, 99), "%u", (unsigned)batch);
        cr_expect(skn_turns_forward_allowed(&turns, 11));
        skn_turns_forward_done(&turns);
    }
    cr_expect(skn_turns_update_allowed(&turns, 99));
}

Test(turns, a_resumed_run_starts_at_its_batch)
{
    skn_turns_t turns;
    skn_turns_init(&turns, 3, 1, 3, false);
    come_back(&turns, 100);
    for (uint64_t batch = 100; batch < 103; batch++) {
        cr_expect(skn_turns_forward_allowed(&turns, 100));
        skn_turns_forward_done(&turns);
    }
    cr_expect(!skn_turns_forward_allowed(&turns, 100), "it must see 100");
    cr_expect(skn_turns_update_allowed(&turns, 200));
}

Test(turns, rows_of_other_batches_than_were_sent_are_refused)
{
    static const uint64_t wrong[] = { 0, 6, 8, 1000 };
    skn_turns_t turns;
    skn_turns_init(&turns, 3, 1, 3, false);
    come_back(&turns, 6);
    skn_turns_forward_done(&turns);
    skn_turns_forward_done(&turns);
    skn_turns_update_sent(&turns);
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        skn_error_t error = { 0 };
        cr_expect_eq(skn_turns_rows_back(&turns, wrong[k], "shard", &error),
                     SKN_BAD_MESSAGE);
        cr_expect(!turns.rows_here);
    }
    come_back(&turns, 7);
    cr_expect(turns.rows_here);
}
