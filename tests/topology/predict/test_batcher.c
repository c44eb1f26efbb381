/* test_batcher.c - tests that calls which are joined have the answers that they
 * have alone, and that each begins, ends and fails by itself.
 *
 * No test depends on when threads run: a held batcher counts a call that never
 * comes, so that calls wait until their batch is full, the time of its first
 * call is over, or the test lets go.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/trained_fixture.h"
#include "topology/predict/batcher_internal.h"

TestSuite(batcher, .timeout = 60);

#define POINTS 200u
#define CALLS_MAX 32u
#define K_MAX SKN_PREDICTOR_LABELS_MAX

static trained_fixture_t fixture;
static skn_predictor_slot_t slot;
static skn_batcher_t *batcher;

/* All points that are asked for, of 0 to 4 features, each with the answer that
 * it has by itself. */
static size_t offset[POINTS + 1];
static uint32_t feature[POINTS * 4], label[POINTS * K_MAX];
static float value[POINTS * 4], score[POINTS * K_MAX];

static void
set_up(void)
{
    oracle_random_t random = { 11 };
    skn_error_t error = { 0 };
    fixture.names = "first";
    trained_make(&fixture);
    skn_predictor_t *predictor = skn_predictor_open(fixture.path, &error);
    cr_assert(predictor, "%s", error.text);
    for (size_t i = 0, at = 0; i < POINTS; i++) {
        for (uint32_t f = 0; f < i % 5; f++) {
            feature[at] = f * 2 + oracle_next(&random) % 2;
            value[at++] = oracle_float(&random) * 3;
        }
        offset[i + 1] = at;
    }
    skn_points_t points = { POINTS, offset, feature, value };
    cr_assert_eq(
        skn_predictor_best(predictor, &points, K_MAX, label, score, NULL),
        SKN_OK);
    cr_assert_eq(skn_predictor_slot_store(&slot, &predictor, NULL), SKN_OK);
}

static void
tear_down(void)
{
    skn_batcher_destroy(&batcher);
    cr_expect_eq(skn_predictor_slot_store(&slot, NULL, NULL), SKN_OK);
    trained_remove(&fixture);
}

static void
make_batcher(uint32_t points, bool is_held)
{
    skn_error_t error = { 0 };
    batcher = skn_batcher_new(&slot, points, SKN_BATCHER_WAIT_US_MAX, &error);
    cr_assert(batcher, "%s", error.text);
    batcher->call_count += is_held;
    if (is_held)
        batcher->wait_ns = (uint64_t)3600 * 1000000000;
}

/* --- calls -------------------------------------------------------------- */

typedef struct ask {
    uint32_t first, count, k; /* points of the table above */
    float *value;             /* NULL: those of the table */
    bool is_nameless;         /* does not ask which model answers */
    skn_status_t status;      /* of the answer */
    char name[32];            /* of its first label */
    skn_error_t error;
    uint32_t label[8 * K_MAX];
    float score[8 * K_MAX];
    pthread_t thread;
} ask_t;

static void *
ask(void *argument)
{
    ask_t *own = argument;
    size_t offsets[POINTS + 1], begin = offset[own->first];
    for (size_t i = 0; i <= own->count; i++)
        offsets[i] = offset[own->first + i] - begin;
    skn_points_t points = { own->count, offsets, feature + begin,
                            own->value ? own->value : value + begin };
    skn_predictor_t *predictor = argument; /* is overwritten */
    own->status =
        skn_batcher_best(batcher, &points, own->k, own->label, own->score,
                         own->is_nameless ? NULL : &predictor, &own->error);
    if (own->is_nameless)
        return NULL;
    cr_expect_eq(predictor != NULL, own->status == SKN_OK);
    (void)snprintf(own->name, sizeof(own->name), "%s",
                   skn_predictor_label(predictor, own->label[0]));
    skn_predictor_close(&predictor);
    return NULL;
}

static void
begin(ask_t *own)
{
    cr_assert_eq(pthread_create(&own->thread, NULL, ask, own), 0);
}

static void
end(ask_t *own)
{
    cr_assert_eq(pthread_join(own->thread, NULL), 0);
}

/* Returns when calls with that many points wait. */
static void
until_waiting(size_t points)
{
    for (size_t now = 0; now != points;) {
        (void)sched_yield();
        (void)pthread_mutex_lock(&batcher->lock);
        now = batcher->forming.point_count;
        (void)pthread_mutex_unlock(&batcher->lock);
    }
}

/* Has point i the labels of the table, and the scores to the bit? */
static void
expect_point(const ask_t *own, uint32_t i)
{
    cr_expect_arr_eq(own->label + i * own->k, label + (own->first + i) * K_MAX,
                     own->k * sizeof(*label));
    cr_expect_arr_eq(own->score + i * own->k, score + (own->first + i) * K_MAX,
                     own->k * sizeof(*score));
}

static void
expect_name(const ask_t *own, const char *names)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%s %u", names, own->label[0]);
    cr_expect_str_eq(own->name, name);
}

static void
expect_answer(const ask_t *own)
{
    cr_expect_eq(own->status, SKN_OK, "%s", own->error.text);
    for (uint32_t i = 0; i < own->count; i++)
        expect_point(own, i);
    if (!own->is_nameless)
        expect_name(own, fixture.names);
}

/* --- joined calls ------------------------------------------------------- */

static void
expect_joined(const uint32_t *k, uint32_t calls)
{
    static ask_t asks[CALLS_MAX];
    uint32_t points = 0;
    for (uint32_t c = 0; c < calls; c++) {
        asks[c] = (ask_t){ .first = c * 5,
                           .count = 1 + c % 3,
                           .k = k[c % 4],
                           .is_nameless = c % 5 == 1 };
        points += asks[c].count;
    }
    make_batcher(points, true);
    for (uint32_t c = 0; c < calls; c++)
        begin(&asks[c]);
    for (uint32_t c = 0; c < calls; c++) {
        end(&asks[c]);
        expect_answer(&asks[c]);
    }
    batcher->call_count--;
}

Test(batcher, joined_calls_have_the_answers_that_they_have_alone,
     .init = set_up, .fini = tear_down)
{
    expect_joined((uint32_t[]){ 5, 5, 5, 5 }, 24);
}

Test(batcher, joined_calls_may_ask_for_different_numbers_of_labels,
     .init = set_up, .fini = tear_down)
{
    expect_joined((uint32_t[]){ 1, 7, 128, 30 }, 32);
}

static void
set_up_dense(void)
{
    fixture = (trained_fixture_t){ .dense = true, .one_vs_all = true };
    set_up();
}

Test(batcher, other_models_have_the_same_answers_joined, .init = set_up_dense,
     .fini = tear_down)
{
    expect_joined((uint32_t[]){ 3, 40, 3, 1 }, 16);
}

static void
set_up_index(void)
{
    skn_points_t points = { POINTS, offset, feature, value };
    set_up();
    skn_predictor_t *predictor = skn_predictor_slot_acquire(&slot, NULL);
    cr_assert_eq(skn_predictor_index(predictor, 40, 6, NULL), SKN_OK);
    cr_assert_eq(
        skn_predictor_best(predictor, &points, K_MAX, label, score, NULL),
        SKN_OK);
    skn_predictor_close(&predictor);
}

Test(batcher, an_index_has_the_same_answers_joined, .init = set_up_index,
     .fini = tear_down)
{
    expect_joined((uint32_t[]){ 3, 40, 3, 1 }, 16);
}

/* --- when a batch begins ------------------------------------------------ */

Test(batcher, a_call_alone_does_not_wait, .init = set_up, .fini = tear_down)
{
    static ask_t own = { .first = 4, .count = 3, .k = 5 };
    make_batcher(256, false);
    batcher->wait_ns = (uint64_t)3600 * 1000000000;
    for (int k = 0; k < 3; k++) {
        (void)ask(&own);
        expect_answer(&own);
    }
}

Test(batcher, a_call_waits_no_longer_than_its_time, .init = set_up,
     .fini = tear_down)
{
    static ask_t own = { .first = 4, .count = 3, .k = 5 };
    make_batcher(256, true);
    for (uint64_t us = 0; us < 3; us++) {
        batcher->wait_ns = us * 1000;
        (void)ask(&own);
        expect_answer(&own);
    }
    batcher->call_count--;
}

Test(batcher, a_call_that_does_not_fit_begins_the_next_batch, .init = set_up,
     .fini = tear_down)
{
    static ask_t first = { .first = 1, .count = 6, .k = 5 },
                 second = { .first = 9, .count = 6, .k = 5 },
                 third = { .first = 20, .count = 4, .k = 5 };
    make_batcher(10, true);
    begin(&first);
    until_waiting(6);
    begin(&second);
    end(&first);
    until_waiting(6);
    begin(&third);
    end(&second);
    end(&third);
    expect_answer(&first);
    expect_answer(&second);
    expect_answer(&third);
    batcher->call_count--;
}

/* The fourth call does not fit, so that it begins the batch of three and waits;
 * the last of these to leave begins its batch. */
Test(batcher, calls_wait_for_those_that_have_not_returned, .init = set_up,
     .fini = tear_down)
{
    static ask_t waits[3], last = { .first = 50, .count = 6, .k = 4 };
    make_batcher(8, true);
    for (uint32_t c = 0; c < 3; c++) {
        waits[c] = (ask_t){ .first = c, .count = 1, .k = 3 };
        begin(&waits[c]);
    }
    until_waiting(3);
    (void)pthread_mutex_lock(&batcher->lock);
    batcher->call_count--;
    (void)pthread_mutex_unlock(&batcher->lock);
    (void)ask(&last);
    expect_answer(&last);
    for (uint32_t c = 0; c < 3; c++) {
        end(&waits[c]);
        expect_answer(&waits[c]);
    }
}

Test(batcher, a_call_as_large_as_a_batch_is_not_joined, .init = set_up,
     .fini = tear_down)
{
    static ask_t large = { .first = 3, .count = 8, .k = 5 };
    make_batcher(8, true);
    (void)ask(&large);
    expect_answer(&large);
    batcher->call_count--;
    skn_batcher_destroy(&batcher);
    make_batcher(1, true);
    large.count = 1;
    (void)ask(&large);
    expect_answer(&large);
    batcher->call_count--;
}

/* --- reloads ------------------------------------------------------------ */

static void
store_second(const trained_fixture_t *second)
{
    skn_predictor_t *predictor = skn_predictor_open(second->path, NULL);
    cr_assert_eq(skn_predictor_slot_store(&slot, &predictor, NULL), SKN_OK);
}

Test(batcher, names_are_those_of_the_model_that_answered, .init = set_up,
     .fini = tear_down)
{
    static ask_t waits = { .first = 6, .count = 2, .k = 5 },
                 filler = { .first = 9, .count = 2, .k = 5 };
    trained_fixture_t second = { .seed = 5, .names = "second" };
    trained_make(&second);
    make_batcher(4, true);
    begin(&waits);
    until_waiting(2);
    store_second(&second);
    (void)ask(&filler);
    end(&waits);
    expect_name(&waits, "second");
    expect_name(&filler, "second");
    batcher->call_count--;
    trained_remove(&second);
}

Test(batcher, a_model_lives_until_the_caller_has_its_names, .init = set_up,
     .fini = tear_down)
{
    ask_t own = { .first = 6, .k = 5 };
    trained_fixture_t second = { .seed = 5, .names = "second" };
    trained_make(&second);
    make_batcher(4, false);
    for (size_t count = 3; count <= 4; count++) { /* 4 are not joined */
        skn_predictor_t *predictor = NULL;
        skn_points_t points = { count, offset, feature, value };
        cr_assert_eq(skn_batcher_best(batcher, &points, own.k, own.label,
                                      own.score, &predictor, NULL),
                     SKN_OK);
        store_second(&second);
        (void)snprintf(own.name, sizeof(own.name), "%s",
                       skn_predictor_label(predictor, own.label[0]));
        expect_name(&own, count == 3 ? "first" : "second");
        skn_predictor_close(&predictor);
    }
    trained_remove(&second);
}

/* --- calls that are refused --------------------------------------------- */

Test(batcher, points_that_are_refused_spoil_no_other_call, .init = set_up,
     .fini = tear_down)
{
    static float bad[] = { 1, 1, NAN };
    /* points 2 and 3 of the table have 2 and 3 features */
    static ask_t good = { .first = 7, .count = 2, .k = 9 },
                 mixed = { .first = 1, .count = 2, .k = 5, .value = bad },
                 filler = { .first = 30, .count = 4, .k = 2 };
    make_batcher(8, true);
    begin(&good);
    begin(&mixed);
    until_waiting(4);
    (void)ask(&filler);
    end(&good);
    end(&mixed);
    expect_answer(&good);
    expect_answer(&filler);
    cr_expect_eq(mixed.status, SKN_BAD_DATA);
    cr_expect_str_empty(mixed.name);
    cr_expect(strstr(mixed.error.text, "point 1: the value of feature"), "%s",
              mixed.error.text);
    cr_expect_neq(mixed.label[0], UINT32_MAX, "its other point is ranked");
    cr_expect(mixed.label[5] == UINT32_MAX && isnan(mixed.score[5]));
    batcher->call_count--;
}

Test(batcher, an_empty_slot_refuses_all_calls, .init = set_up,
     .fini = tear_down)
{
    static ask_t waits = { .first = 2, .count = 2, .k = 5 },
                 filler = { .first = 5, .count = 2, .k = 5 };
    make_batcher(4, true);
    begin(&waits);
    until_waiting(2);
    cr_assert_eq(skn_predictor_slot_store(&slot, NULL, NULL), SKN_OK);
    (void)ask(&filler);
    end(&waits);
    cr_expect_eq(waits.status, SKN_UNAVAILABLE);
    cr_expect_eq(filler.status, SKN_UNAVAILABLE);
    cr_expect_str_eq(waits.error.text, "the slot has no predictor");
    batcher->call_count--;
}

Test(batcher, wrong_calls_are_refused_as_by_the_predictor, .init = set_up,
     .fini = tear_down)
{
    static const size_t fall[] = { 0, 2, 1 };
    uint32_t own_label[2];
    float own_score[2];
    skn_points_t none = { 0, NULL, NULL, NULL },
                 wrong = { 2, fall, feature, value },
                 one = { 1, offset, feature, value };
    const struct {
        const skn_points_t *points;
        uint32_t k;
        uint32_t *label;
        float *score;
    } calls[] = {
        { &none, 1, NULL, NULL },
        { NULL, 1, own_label, own_score },
        { &one, 0, own_label, own_score },
        { &one, 129, own_label, own_score },
        { &one, 1, NULL, own_score },
        { &one, 1, own_label, NULL },
        { &wrong, 1, own_label, own_score },
    };
    make_batcher(8, true); /* a call that joined would never return */
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
        skn_error_t got = { 0 }, want = { 0 };
        cr_expect_eq(
            skn_batcher_best(batcher, calls[c].points, calls[c].k,
                             calls[c].label, calls[c].score, NULL, &got),
            skn_predictor_best(slot.current, calls[c].points, calls[c].k,
                               calls[c].label, calls[c].score, &want));
        cr_expect_str_eq(got.text, want.text, "call %zu", c);
    }
    batcher->call_count--;
}

Test(batcher, a_batcher_out_of_range_is_refused)
{
    skn_error_t error = { 0 };
    cr_expect_null(skn_batcher_new(NULL, 1, 1, &error));
    cr_expect_str_eq(error.text, "skn_batcher_new: the slot is NULL");
    cr_expect_null(skn_batcher_new(&slot, 0, 1, &error));
    cr_expect_str_eq(error.text,
                     "batches of 0 points were requested, 1 to 256 allowed");
    cr_expect_null(skn_batcher_new(&slot, 257, 1, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_null(skn_batcher_new(&slot, 256, 1000001, &error));
    cr_expect_str_eq(error.text, "waits of 1000001 microseconds were "
                                 "requested, at most 1000000 allowed");
    cr_expect_eq(error.status, SKN_USAGE);
}

/* --- the end ------------------------------------------------------------ */

Test(batcher, calls_that_wait_are_answered_when_it_is_destroyed, .init = set_up,
     .fini = tear_down)
{
    static ask_t waits[5];
    make_batcher(256, true);
    for (uint32_t c = 0; c < 5; c++) {
        waits[c] = (ask_t){ .first = c * 7, .count = 2, .k = 5 };
        begin(&waits[c]);
    }
    until_waiting(10);
    (void)pthread_mutex_lock(&batcher->lock);
    batcher->call_count--;
    (void)pthread_mutex_unlock(&batcher->lock);
    skn_batcher_destroy(&batcher);
    cr_expect_null(batcher);
    for (uint32_t c = 0; c < 5; c++) {
        end(&waits[c]);
        expect_answer(&waits[c]);
    }
}

static void *
ask_on(void *argument)
{
    ask_t *own = argument;
    uint32_t turn = 0;
    do {
        own->first = (own->first + 3) % (POINTS - 8);
        own->count = 1 + turn++ % 4;
        (void)ask(own);
        if (own->status == SKN_OK)
            expect_answer(own);
    } while (own->status == SKN_OK);
    return NULL;
}

Test(batcher, threads_leave_their_loops_when_the_slot_is_emptied,
     .init = set_up, .fini = tear_down)
{
    static ask_t asks[8];
    make_batcher(6, false);
    for (uint32_t c = 0; c < 8; c++) {
        asks[c] = (ask_t){ .first = c * 13, .k = 1 + c };
        cr_assert_eq(pthread_create(&asks[c].thread, NULL, ask_on, &asks[c]),
                     0);
    }
    for (uint32_t k = 0; k < 200; k++) {
        ask_t own = { .first = k % 100, .count = 1 + k % 4, .k = 3 };
        (void)ask(&own);
        expect_answer(&own);
    }
    cr_expect_eq(skn_predictor_slot_store(&slot, NULL, NULL), SKN_OK);
    for (uint32_t c = 0; c < 8; c++) {
        end(&asks[c]);
        cr_expect_eq(asks[c].status, SKN_UNAVAILABLE, "%s", asks[c].error.text);
    }
}

Test(batcher, a_child_made_by_fork_is_refused, .init = set_up,
     .fini = tear_down)
{
    int code = 0;
    make_batcher(8, true);
    pid_t child = fork();
    if (child == 0) {
        static ask_t own = { .count = 1, .k = 1 };
        (void)ask(&own);
        bool is_refused = own.status == SKN_USAGE &&
                          strstr(own.error.text, "made this one by fork()");
        skn_batcher_destroy(&batcher); /* waits for no call */
        _exit(is_refused && !batcher ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &code, 0), child);
    cr_expect_eq(code, 0);
    batcher->call_count--;
}
