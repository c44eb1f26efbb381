/* test_clipper.c - tests the factor of a step's gradient, and steps that are
 * left out. The probe plays one updater and, with its twin, a second one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tests/support/actor_probe.h"

#define STEPS 5

static struct {
    double square[STEPS]; /* of each step */
    uint32_t sent, received, steps;
    size_t counts[STEPS]; /* of squares; 0: two */
    double factor[STEPS];
    bool skip[STEPS];
    /* The twin plays the second updater; its layer is "head". */
    double twin_square[STEPS];
    uint32_t twin_count;
    uint64_t twin_batch; /* of its first step */
} seen;

static skn_status_t
send_next(skn_actor_t *actor, skn_error_t *error)
{
    double square[] = { seen.square[seen.sent] / 2,
                        seen.square[seen.sent] / 2 };
    skn_gradient_norm_t norm = { .batch = 8 * seen.sent + 7,
                                 .layer = "decoder",
                                 .square = { square, 2 } };
    if (seen.counts[seen.sent] > 0)
        norm.square.count = seen.counts[seen.sent];
    seen.sent++;
    return skn_actor_send(actor, &skn_gradient_norm_schema, &norm, error);
}

static skn_status_t
send_of_twin(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < STEPS && status == SKN_OK; k++) {
        double square[4] = { seen.twin_square[k] };
        const skn_gradient_norm_t norm = { .batch = seen.twin_batch + 8 * k,
                                           .layer = "head",
                                           .square = { square,
                                                       seen.twin_count } };
        status = skn_actor_send(actor, &skn_gradient_norm_schema, &norm, error);
    }
    skn_actor_finish(actor);
    return status;
}

static skn_status_t
start(skn_actor_t *actor, skn_error_t *error)
{
    return strcmp(skn_actor_name(actor), "twin") == 0
               ? send_of_twin(actor, error)
               : send_next(actor, error);
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    const skn_clip_t *clip = message;
    (void)schema;
    cr_assert_eq(clip->batch, 8 * seen.received + 7);
    seen.factor[seen.received] = clip->factor;
    seen.skip[seen.received++] = clip->skip;
    if (seen.sent < seen.steps)
        return send_next(actor, error);
    skn_actor_finish(actor);
    return SKN_OK;
}

static void
set_up(void)
{
    probe.kind = &skn_clipper;
    probe.start = start;
    probe.react = react;
    probe.to[0] = "gradient_norm";
    probe.from[0] = "clip";
    probe.gathered[0] = "gradient_norm";
    probe_option("max_norm", "2");
    seen.steps = STEPS;
    seen.twin_count = 1;
    seen.twin_batch = 7;
}

TestSuite(clipper, .init = set_up, .timeout = 60);

Test(clipper, a_greater_norm_is_scaled_down_and_a_smaller_one_is_not)
{
    static const double square[STEPS] = { 0, 1, 4, 16, 1e12 };
    memcpy(seen.square, square, sizeof(square));
    probe_run_well();
    cr_assert_eq(seen.received, STEPS);
    for (int k = 0; k < STEPS; k++) {
        double want = 2 / (sqrt(square[k]) + 1e-6);
        cr_expect_float_eq(seen.factor[k], want < 1 ? want : 1, 1e-12);
        cr_expect_not(seen.skip[k]);
    }
}

Test(clipper, a_step_that_is_not_finite_is_left_out_and_told)
{
    double square[STEPS] = { NAN, INFINITY, 1, NAN, 1 };
    memcpy(seen.square, square, sizeof(square));
    probe_run_well();
    cr_assert_eq(seen.received, STEPS);
    for (int k = 0; k < STEPS; k++)
        cr_expect_eq(seen.skip[k], !isfinite(square[k]));
    cr_expect(strstr(probe.events,
                     "{\"event\":\"skipped\",\"batch\":7,\"layer\":"
                     "\"decoder\",\"skipped\":1}"),
              "%s", probe.events);
}

Test(clipper, three_such_steps_in_a_row_end_the_run)
{
    double square[STEPS] = { 1, NAN, NAN, NAN, 1 };
    memcpy(seen.square, square, sizeof(square));
    probe_run();
    cr_expect_eq(probe.status, SKN_DIVERGED);
    cr_expect_eq(seen.received, 3);
    cr_expect(strstr(probe.error.text,
                     "batch 31: the gradient of layer 'decoder' is not finite, "
                     "for 3 steps in a row; training diverged"),
              "%s", probe.error.text);
}

static void
expect_refused(const char *says)
{
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text, says);
}

Test(clipper, a_square_below_0_is_refused)
{
    seen.square[1] = -2;
    expect_refused("clipper: a square of layer 'decoder' is -1");
    cr_expect_eq(seen.received, 1);
}

Test(clipper, an_infinity_below_0_is_refused)
{
    seen.square[0] = -INFINITY;
    expect_refused("clipper: a square of layer 'decoder' is -inf");
}

Test(clipper, squares_that_are_missing_are_refused)
{
    seen.counts[2] = 1;
    expect_refused("clipper: 1 squares of layer 'decoder', expected 2");
    cr_expect_eq(seen.received, 2);
}

Test(clipper, the_norm_is_of_all_updaters)
{
    const double square[STEPS] = { 9, 0, 1, 4, 1 };
    const double twin_square[STEPS] = { 16, 25, 0, 1e12, 0 };
    probe.twin = true;
    seen.twin_count = 3;
    memcpy(seen.square, square, sizeof(square));
    memcpy(seen.twin_square, twin_square, sizeof(twin_square));
    probe_run_well();
    cr_assert_eq(seen.received, STEPS);
    for (int k = 0; k < STEPS; k++) {
        double want = 2 / (sqrt(square[k] + twin_square[k]) + 1e-6);
        cr_expect_float_eq(seen.factor[k], want < 1 ? want : 1, 1e-12);
    }
}

Test(clipper, the_updater_that_is_not_finite_is_named)
{
    probe.twin = true;
    seen.twin_square[1] = NAN;
    seen.square[3] = seen.twin_square[3] = INFINITY;
    probe_run_well();
    cr_expect(strstr(probe.events,
                     "{\"event\":\"skipped\",\"batch\":15,\"layer\":"
                     "\"head\",\"skipped\":1}"),
              "%s", probe.events);
    cr_expect_eq(probe_told("skipped\",\"batch"), 2);
    for (int k = 0; k < STEPS; k++)
        cr_expect_eq(seen.skip[k], k == 1 || k == 3);
}

Test(clipper, squares_of_an_updater_are_as_many_as_in_its_first_step)
{
    probe.twin = true;
    seen.twin_count = 3;
    seen.counts[1] = 1;
    expect_refused("clipper: 1 squares of layer 'decoder', expected 2");
}
