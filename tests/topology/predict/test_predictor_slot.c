/* test_predictor_slot.c - tests the place of a service's predictor: who has a
 * reference, and what a reload does to those who have one.
 * tests/stress/stress_batcher.c has reloads under load.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/trained_fixture.h"
#include "topology/predict/predictor_internal.h"

TestSuite(predictor_slot, .timeout = 60);

static trained_fixture_t fixture;
static skn_predictor_slot_t slot;

static skn_predictor_t *
open_model(void)
{
    skn_error_t error = { 0 };
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    return predictor;
}

static void
store(skn_predictor_t **predictor)
{
    skn_error_t error = { 0 };
    cr_assert_eq(skn_predictor_slot_store(&slot, predictor, &error), SKN_OK,
                 "%s", error.text);
}

Test(predictor_slot, an_empty_one_has_no_predictor)
{
    skn_error_t error = { 0 };
    cr_expect_null(skn_predictor_slot_acquire(&slot, &error));
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect_str_eq(error.text, "the slot has no predictor");
    cr_expect_null(skn_predictor_slot_acquire(&slot, NULL));
    store(NULL);
}

Test(predictor_slot, takes_over_the_reference_and_gives_others)
{
    trained_make(&fixture);
    skn_predictor_t *first = open_model(), *same = first;
    store(&first);
    cr_expect_null(first);
    skn_predictor_t *one = skn_predictor_slot_acquire(&slot, NULL);
    skn_predictor_t *two = skn_predictor_slot_acquire(&slot, NULL);
    cr_expect(one == same && two == same);
    cr_expect_eq(atomic_load(&same->references), 3);
    skn_predictor_close(&two);
    cr_expect_null(two);
    cr_expect_eq(atomic_load(&same->references), 2);
    skn_predictor_close(&one);
    store(NULL);
    cr_expect_null(skn_predictor_slot_acquire(&slot, NULL));
    trained_remove(&fixture);
}

Test(predictor_slot, a_reload_leaves_the_former_to_those_who_have_it)
{
    size_t offset[] = { 0, 1 };
    uint32_t feature[] = { 3 }, label[2][1];
    float value[] = { 1 }, score[2][1];
    skn_points_t points = { 1, offset, feature, value };
    trained_make(&fixture);
    skn_predictor_t *next = open_model();
    store(&next);
    skn_predictor_t *held = skn_predictor_slot_acquire(&slot, NULL);
    cr_assert_eq(skn_predictor_best(held, &points, 1, label[0], score[0], NULL),
                 SKN_OK);
    next = open_model();
    store(&next);
    cr_expect_eq(atomic_load(&held->references), 1, "the slot gave up its own");
    cr_expect_neq(slot.current, held);
    cr_expect_eq(skn_predictor_best(held, &points, 1, label[1], score[1], NULL),
                 SKN_OK);
    cr_expect_eq(label[0][0], label[1][0]);
    cr_expect_eq(score[0][0], score[1][0]);
    skn_predictor_close(&held);
    store(NULL);
    trained_remove(&fixture);
}

Test(predictor_slot, a_reload_that_failed_changes_nothing)
{
    skn_error_t error = { 0 };
    trained_make(&fixture);
    skn_predictor_t *first = open_model();
    store(&first);
    skn_predictor_t *now = slot.current;
    skn_predictor_t *next = skn_predictor_open("/nowhere", &error);
    cr_expect_eq(skn_predictor_slot_store(&slot, &next, &error), SKN_USAGE);
    cr_expect_str_eq(error.text,
                     "skn_predictor_slot_store: the predictor is NULL");
    cr_expect_eq(slot.current, now);
    cr_expect_eq(skn_predictor_slot_store(NULL, &now, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "skn_predictor_slot_store: the slot is NULL");
    cr_expect_not_null(now, "it is still the caller's");
    store(NULL);
    trained_remove(&fixture);
}

/* --- fork --------------------------------------------------------------- */

static atomic_bool is_over;

static void *
take_and_close(void *nothing)
{
    while (!atomic_load(&is_over)) {
        skn_predictor_t *held = skn_predictor_slot_acquire(&slot, NULL);
        skn_predictor_close(&held);
    }
    return nothing;
}

/* Without the handler of pthread_atfork the lock would be closed for ever in
 * some of the children. */
Test(predictor_slot, a_child_has_its_own_whatever_other_threads_did)
{
    pthread_t thread;
    size_t offset[] = { 0, 1 };
    uint32_t feature[] = { 3 }, label[1];
    float value[] = { 1 }, score[1];
    skn_points_t points = { 1, offset, feature, value };
    trained_make(&fixture);
    skn_predictor_t *first = open_model();
    store(&first);
    cr_assert_eq(pthread_create(&thread, NULL, take_and_close, NULL), 0);
    for (int k = 0; k < 100; k++) {
        int code = 0;
        pid_t child = fork();
        if (child == 0) {
            skn_predictor_t *held = skn_predictor_slot_acquire(&slot, NULL);
            skn_status_t status = skn_predictor_slot_store(&slot, NULL, NULL);
            if (status == SKN_OK)
                status =
                    skn_predictor_best(held, &points, 1, label, score, NULL);
            skn_predictor_close(&held);
            _exit(status == SKN_OK ? 0 : 1);
        }
        cr_assert_eq(waitpid(child, &code, 0), child);
        cr_assert_eq(code, 0);
    }
    atomic_store(&is_over, true);
    (void)pthread_join(thread, NULL);
    store(NULL);
    trained_remove(&fixture);
}
