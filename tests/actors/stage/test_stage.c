/* test_stage.c - tests a stage against the oracle: activations, gradients of
 * its input, and the sum of those of its weights over the batches of a step.
 * The probe plays the layers around it and its updater.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/block.h"
#include "actors/rows/rows.h"
#include "tests/actors/stage/decoder_oracle.h"
#include "tests/support/actor_probe.h"
#include "tests/support/oracle.h"

/* Two layers, sequences of 4 tokens, 2 of them a batch, 3 batches a step. */
#define WIDTH 16
#define INNER 24
#define CONTEXT 4
#define TOKENS 8
#define BATCHES 3
#define LAYER_ROWS (2 + 4 * WIDTH + 3 * INNER)
#define ROWS (2 * LAYER_ROWS + 1)

static struct {
    skn_rows_t rows;
    float input[BATCHES][TOKENS * WIDTH], by[BATCHES][TOKENS * WIDTH];
    float up[BATCHES][TOKENS * WIDTH], down[BATCHES][TOKENS * WIDTH];
    float sum[ROWS * WIDTH];
    uint32_t ups, downs, gradients, tokens;
    uint32_t order[BATCHES]; /* in which gradients come from above */
    bool wrong_rows;
} seen;

static double weight_d[ROWS * WIDTH], sum_d[ROWS * WIDTH];

static void
set_rows(void)
{
    oracle_random_t random = { 11 };
    skn_error_t error = { 0 };
    cr_assert_eq(
        skn_rows_init(&seen.rows, SKN_ROWS_ADAM, ROWS, WIDTH, false, &error),
        SKN_OK);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t c = 0; c < WIDTH; c++) {
            float *weight = &skn_rows_weight(&seen.rows, row)[c];
            *weight = row % LAYER_ROWS < 2 ? 1 + oracle_float(&random) / 2
                                           : oracle_float(&random) / 2;
            weight_d[row * WIDTH + c] = (double)*weight;
        }
    for (uint32_t b = 0; b < BATCHES; b++)
        for (uint32_t i = 0; i < TOKENS * WIDTH; i++) {
            seen.input[b][i] = 2 * oracle_float(&random);
            seen.by[b][i] = oracle_float(&random);
        }
}

static skn_status_t
send_activation(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    size_t count = TOKENS * WIDTH;
    skn_activation_t *activation =
        skn_actor_message(actor, &skn_activation_schema, &count, error);
    if (!activation)
        return error->status;
    activation->batch = batch;
    activation->horizon = BATCHES - 1;
    activation->rows = seen.wrong_rows ? TOKENS - 1 : TOKENS;
    activation->columns = WIDTH;
    memcpy(activation->value.at, seen.input[batch], sizeof(seen.input[0]));
    activation->value.count = (size_t)activation->rows * WIDTH;
    return skn_actor_post(actor, activation, error);
}

static skn_status_t
send_gradient(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    const size_t counts[] = { 0, 1, (size_t)TOKENS * WIDTH, 0 };
    skn_hidden_gradient_t *gradient =
        skn_actor_message(actor, &skn_hidden_gradient_schema, counts, error);
    if (!gradient)
        return error->status;
    gradient->batch = batch;
    gradient->rows = TOKENS;
    gradient->columns = WIDTH;
    gradient->node.at[0] = skn_node_place(0, 0);
    memcpy(gradient->value.at, seen.by[batch], sizeof(seen.by[0]));
    return skn_actor_post(actor, gradient, error);
}

static skn_status_t
start(skn_actor_t *actor, skn_error_t *error)
{
    const skn_lease_t lease = { .rows = &seen.rows };
    skn_status_t status =
        skn_actor_send(actor, &skn_lease_schema, &lease, error);
    for (uint32_t b = 0; b < BATCHES && status == SKN_OK; b++)
        status = send_activation(actor, b, error);
    return status;
}

static skn_status_t
on_up(skn_actor_t *actor, const skn_activation_t *activation,
      skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    cr_assert_eq(activation->batch, seen.ups);
    memcpy(seen.up[seen.ups++], activation->value.at, sizeof(seen.up[0]));
    for (uint32_t k = 0; k < BATCHES && seen.ups == BATCHES; k++)
        if (status == SKN_OK)
            status = send_gradient(actor, seen.order[k], error);
    return status;
}

/* All but the last batch of a step send an empty gradient, and keep the
 * rows. */
static void
on_sum(skn_actor_t *actor, const skn_gradient_t *gradient)
{
    bool is_last = gradient->batch == BATCHES - 1;
    cr_assert_eq(gradient->batch, seen.gradients++);
    cr_assert_eq(gradient->unit.count, is_last ? ROWS : 0);
    cr_assert_eq(gradient->rows, is_last ? &seen.rows : NULL);
    if (!is_last)
        return;
    memcpy(seen.sum, gradient->value.at, sizeof(seen.sum));
    skn_actor_finish(actor);
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    const skn_hidden_gradient_t *down = message;
    if (schema == &skn_activation_schema)
        return on_up(actor, message, error);
    if (schema == &skn_hidden_gradient_schema) {
        cr_assert_lt(down->batch, BATCHES);
        memcpy(seen.down[down->batch], down->value.at, sizeof(seen.down[0]));
        seen.downs++;
    } else if (schema == &skn_gradient_schema)
        on_sum(actor, message);
    return SKN_OK;
}

static void
set_up(void)
{
    static const char *const options[][2] = {
        { "decoder_layers", "2" }, { "stage_layers", "2" },
        { "last", "true" },        { "width", "16" },
        { "heads", "2" },          { "inner", "24" },
        { "context", "4" },        { "batch_rows", "8" },
        { "accumulate", "3" },     { "flights", "3" },
        { "huge_pages", "false" },
    };
    probe.kind = &skn_stage;
    probe.name = "stage.0";
    probe.start = start;
    probe.react = react;
    probe.to[0] = "activation";
    probe.to[1] = "lease";
    probe.to[2] = "hidden_gradient";
    probe.from[0] = "activation";
    probe.from[1] = "hidden_gradient";
    probe.from[2] = "gradient";
    probe.gathered[0] = "activation";
    probe.gathered[1] = "hidden_gradient";
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        probe_option(options[k][0], options[k][1]);
    for (uint32_t k = 0; k < BATCHES; k++)
        seen.order[k] = k;
    set_rows();
}

TestSuite(stage, .init = set_up, .timeout = 60);

static void
expect_close(const float *got, const double *want, size_t count, double bound,
             const char *what)
{
    double most = 0;
    for (size_t k = 0; k < count; k++)
        most = fmax(most, fabs(want[k]));
    for (size_t k = 0; k < count; k++)
        cr_assert_float_eq(got[k], want[k], bound * most, "%s %zu", what, k);
}

/* Every number that the stage sent differs from the oracle by at most `bound`
 * times the greatest number of its array. */
static void
expect_oracle(double bound)
{
    static oracle_decoder_t oracle;
    static double input[TOKENS * WIDTH], by[TOKENS * WIDTH];
    static double out[TOKENS * WIDTH], down[TOKENS * WIDTH];
    oracle.shape = (skn_decoder_shape_t){ .layers = 2,
                                          .width = WIDTH,
                                          .heads = 2,
                                          .inner = INNER,
                                          .context = CONTEXT,
                                          .epsilon = 1e-5f,
                                          .rope_base = 10000 };
    oracle.layers = oracle.sequences = 2;
    oracle.length = CONTEXT;
    oracle.weights = weight_d;
    for (uint32_t b = 0; b < BATCHES; b++) {
        for (uint32_t i = 0; i < TOKENS * WIDTH; i++) {
            input[i] = (double)seen.input[b][i];
            by[i] = (double)seen.by[b][i];
        }
        oracle_forward(&oracle, input);
        for (uint32_t i = 0; i < TOKENS * WIDTH; i++)
            out[i] = oracle.out[i / WIDTH][i % WIDTH];
        oracle_backward(&oracle, by, down, sum_d);
        expect_close(seen.up[b], out, TOKENS * WIDTH, bound, "activation");
        expect_close(seen.down[b], down, TOKENS * WIDTH, bound,
                     "gradient of input");
    }
    expect_close(seen.sum, sum_d, ROWS * WIDTH, bound, "gradient of weights");
}

Test(stage, batches_pass_up_and_gradients_down_and_a_step_sums_all)
{
    probe_run_well();
    cr_assert_eq(seen.downs, BATCHES);
    cr_assert_eq(seen.gradients, BATCHES);
    expect_oracle(1e-4);
}

/* Runs once more, with gradients in this order. */
static void
expect_the_same_bits(const uint32_t order[BATCHES])
{
    static float sum[ROWS * WIDTH], down[BATCHES][TOKENS * WIDTH];
    memcpy(sum, seen.sum, sizeof(sum));
    memcpy(down, seen.down, sizeof(down));
    memcpy(seen.order, order, sizeof(seen.order));
    seen.ups = seen.downs = seen.gradients = 0;
    memset(seen.sum, 0, sizeof(seen.sum));
    memset(seen.down, 0, sizeof(seen.down));
    probe_run_well();
    cr_assert_eq(seen.downs, BATCHES);
    cr_assert_eq(seen.gradients, BATCHES);
    cr_expect_arr_eq(seen.sum, sum, sizeof(sum));
    cr_expect_arr_eq(seen.down, down, sizeof(down));
}

static const uint32_t orders[][BATCHES] = { { 0, 1, 2 },
                                            { 2, 1, 0 },
                                            { 1, 2, 0 } };
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

Test(stage, the_order_of_gradients_does_not_change_a_bit)
{
    probe_run_well();
    for (size_t k = 0; k < ORDERS; k++)
        expect_the_same_bits(orders[k]);
}

Test(stage, what_is_recomputed_has_the_same_bits)
{
    probe_run_well();
    probe_option("recompute", "true");
    for (size_t k = 0; k < ORDERS; k++)
        expect_the_same_bits(orders[k]);
    expect_oracle(1e-4);
}

/* The factors of products have 8 bits. */
Test(stage, in_bf16_all_is_near_and_recomputed_the_same)
{
    probe_option("precision", "bf16");
    probe_run_well();
    expect_oracle(5e-2);
    for (size_t k = 0; k < ORDERS; k++)
        expect_the_same_bits(orders[k]);
    probe_option("recompute", "true");
    for (size_t k = 0; k < ORDERS; k++)
        expect_the_same_bits(orders[k]);
}

Test(stage, with_room_for_one_batch_the_next_one_is_out_of_turn)
{
    probe_option("flights", "1");
    probe_run();
    /* The probe sends three at once, which no source would. */
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text,
                     "stage.0: batch 1 with floor 0 and horizon 2 is out of "
                     "turn: one of 0 to 0 can come"),
              "%s", probe.error.text);
}

Test(stage, tokens_of_no_whole_sequences_are_refused)
{
    seen.wrong_rows = true;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text,
                     "stage.0: batch 0 has 7 tokens, which are not whole "
                     "sequences of 4"),
              "%s", probe.error.text);
}

Test(stage, a_shape_that_does_not_fit_is_refused)
{
    probe_option("heads", "3");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
}

Test(stage, a_window_of_several_steps_is_refused)
{
    probe_option("window", "2");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
    cr_expect(strstr(probe.error.text,
                     "stage.0: a stage has a window of one step, not 2"),
              "%s", probe.error.text);
}
