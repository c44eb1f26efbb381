/* test_pipeline.c - tests whole runs in one process: every layout against one
 * shard, against itself, and against the same training in double. It covers
 * actors/course/source.c, actors/hidden/embedding.c, actors/hidden/dense.c,
 * actors/hidden/layer.c, actors/output/output.c, actors/output/share.c,
 * actors/rows/updater.c and actors/course/evaluator.c, together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/messages.h"
#include "actors/rows/rows.h"
#include "tests/actors/course/net_oracle.h"
#include "tests/support/sanitized.h"

/* Shards of hidden and output. Nothing is even: 350 blocks over 3 and 8. */
static const uint32_t layouts[][2] = {
    { 3, 8 }, { 1, 3 }, { 1, 8 }, { 2, 1 }, { 3, 2 }, { 1, 2 },
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

static size_t
size_of(int tensor, const layout_t *layout)
{
    static const size_t one[] = { FEATURES * 24, LABELS * 24 };
    static const size_t two[] = { FEATURES * 24, 40 * 24, LABELS * 40 };
    if (tensor > (layout->dense ? 2 : 1))
        return 0;
    return layout->dense ? two[tensor] : one[tensor];
}

/* |got - want| <= bound * max |want|, weights and biases each by themselves. */
static void
expect_near(const float *got, const double *want, size_t count, double bound,
            const char *what, int tensor)
{
    double most = 0, worst = 0;
    for (size_t k = 0; k < count; k++) {
        double error = fabs((double)got[k] - want[k]);
        most = fmax(most, fabs(want[k]));
        worst = error <= worst ? worst : error;
    }
    cr_expect(worst <= bound * most, "%s, %s %d: off by %.3g of %.3g", what,
              count > 50 ? "tensor" : "bias", tensor, worst, most);
}

static void
expect_trained_near(const trained_t *got, const trained_t *want,
                    const layout_t *layout, double bound)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%u, %u, %u shards", layout->hidden,
                   layout->dense, layout->output);
    cr_expect(fabs(got->loss - want->loss) <= 1e-5 * want->loss,
              "%s: loss %.6f, want %.6f", name, got->loss, want->loss);
    for (int k = 0; size_of(k, layout) > 0; k++) {
        size_t count = size_of(k, layout);
        double *weight = malloc(count * sizeof(*weight));
        for (size_t w = 0; w < count; w++)
            weight[w] = (double)want->weight[k][w];
        expect_near(got->weight[k], weight, count, bound, name, k);
        free(weight);
    }
}

/* --- one batch, and twenty ---------------------------------------------- */

#define EXACT "model.layers.output.sampler.kind=exact"
#define UNIFORM "model.layers.output.sampler.kind=uniform"
#define SOFTMAX "model.layers.output.loss=softmax"
#define ONE_VS_ALL "model.layers.output.loss=one_vs_all"

/* NULL, the end of the words, where nothing is drawn. */
static const char *
rows_of(const char *sampler)
{
    return strcmp(sampler, UNIFORM) == 0
               ? "model.layers.output.sampler.rows=200"
               : NULL;
}

/* After one step of a great rate the weights are the gradients. */
static void
expect_layouts_agree(const char *rate, uint32_t batches, const char *sampler,
                     const char *loss)
{
    pipeline_t pipeline;
    pipeline_init(&pipeline);
    layout_t layout = { .hidden = 1,
                        .output = 1,
                        .batches = batches,
                        .word = { rate, sampler, loss, rows_of(sampler) } };
    trained_t alone = pipeline_train(&pipeline, &layout);
    for (size_t k = 0; k < LAYOUTS; k++) {
        if (is_spared(k))
            continue;
        layout.hidden = layouts[k][0];
        layout.output = layouts[k][1];
        trained_t trained = pipeline_train(&pipeline, &layout);
        expect_trained_near(&trained, &alone, &layout, 1e-5);
        trained_fini(&trained);
    }
    trained_fini(&alone);
    pipeline_fini(&pipeline);
}

Test(pipeline, one_batchs_loss_and_gradients_agree_on_any_shards)
{
    expect_layouts_agree("train.optimizer.rate=100", 1, EXACT, SOFTMAX);
    expect_layouts_agree("train.optimizer.rate=100", 1, UNIFORM, SOFTMAX);
    expect_layouts_agree("train.optimizer.rate=100", 1, EXACT, ONE_VS_ALL);
}

Test(pipeline, weights_after_20_steps_agree_on_any_shards)
{
    expect_layouts_agree("train.optimizer.rate=2", 20, EXACT, SOFTMAX);
    expect_layouts_agree("train.optimizer.rate=2", 20, UNIFORM, SOFTMAX);
    expect_layouts_agree("train.optimizer.rate=0.1", 20, UNIFORM, ONE_VS_ALL);
}

/* --- the same bits ------------------------------------------------------ */

static void
expect_same_bits(layout_t layout)
{
    pipeline_t pipeline;
    char first[65] = "";
    pipeline_init(&pipeline);
    for (size_t k = 0; k < LAYOUTS; k++) {
        if (is_spared(k))
            continue;
        layout.hidden = layouts[k][0];
        layout.output = layouts[k][1];
        layout.wire = k % 2 == 1;
        trained_t trained = pipeline_train(&pipeline, &layout);
        if (!first[0])
            memcpy(first, trained.sha256, sizeof(first));
        cr_expect_str_eq(trained.sha256, first, "%u and %u shards, %s",
                         layout.hidden, layout.output, layout.word[0]);
        trained_fini(&trained);
    }
    pipeline_fini(&pipeline);
}

Test(pipeline, the_fixed_reduction_gives_the_same_bits_on_any_shards)
{
    static const char *const samplers[] = { EXACT, UNIFORM };
    static const char *const losses[] = { SOFTMAX, ONE_VS_ALL };
    for (size_t s = 0; s < 2; s++)
        for (size_t l = 0; l < 2; l++)
            for (uint32_t window = 1; window <= 3; window += 2)
                expect_same_bits((layout_t){
                    .window = window,
                    .word = { samplers[s], losses[l], "train.reduction=fixed",
                              "train.optimizer.rate=0.1",
                              rows_of(samplers[s]) } });
}

Test(pipeline, adam_and_dropout_keep_the_bits_too)
{
    expect_same_bits((layout_t){
        .window = 4,
        .word = { "train.optimizer.kind=adam", "train.optimizer.rate=0.01",
                  "train.reduction=fixed",
                  "model.layers.hidden.dropout=0.5" } });
}

Test(pipeline, rounding_at_random_keeps_the_bits_too)
{
    expect_same_bits((layout_t){ .window = 2,
                                 .word = { "model.layers.output.weights=bf16",
                                           "train.reduction=fixed" } });
}

/* Every number of shards of every layer: 24 hidden units in slices of 8, 40
 * dense ones in slices of 8, 16 or 40, 350 blocks of labels. */
static void
expect_every_layout_alike(const char *optimizer, const char *rate)
{
    static const uint32_t hidden[] = { 1, 2, 4 }, output[] = { 1, 2, 3, 8 };
    pipeline_t pipeline;
    char first[65] = "";
    pipeline_init(&pipeline);
    for (uint32_t dense = 1; dense <= 3; dense++)
        for (size_t h = 0; h < 3; h++)
            for (size_t o = 0; o < 4; o++) {
                if (is_spared(12 * (dense - 1) + 4 * h + o))
                    continue;
                layout_t layout = { .hidden = hidden[h],
                                    .dense = dense,
                                    .output = output[o],
                                    .window = 2,
                                    .batches = 8,
                                    .wire = (h + o) % 2 == 1,
                                    .word = { optimizer, rate,
                                              "model.layers.hidden.units=64",
                                              "train.reduction=fixed" } };
                trained_t trained = pipeline_train(&pipeline, &layout);
                if (!first[0])
                    memcpy(first, trained.sha256, sizeof(first));
                cr_expect_str_eq(trained.sha256, first, "%s: %u, %u, %u shards",
                                 optimizer, hidden[h], dense, output[o]);
                trained_fini(&trained);
            }
    pipeline_fini(&pipeline);
}

Test(pipeline, adam_keeps_the_bits_in_every_layout)
{
    expect_every_layout_alike("train.optimizer.kind=adam",
                              "train.optimizer.rate=0.01");
}

Test(pipeline, adagrad_keeps_the_bits_in_every_layout)
{
    expect_every_layout_alike("train.optimizer.kind=adagrad",
                              "train.optimizer.rate=0.05");
}

Test(pipeline, sgd_keeps_the_bits_in_every_layout)
{
    expect_every_layout_alike("train.optimizer.kind=sgd",
                              "train.optimizer.rate=0.5");
}

/* --- packed gradients ----------------------------------------------------- */

/* Gradients at open positions only give the bits of all gradients. */
static void
expect_packed_alike(layout_t layout)
{
    pipeline_t pipeline;
    pipeline_init(&pipeline);
    for (size_t k = 1; k < LAYOUTS; k += 2) {
        if (is_spared(k))
            continue;
        layout.hidden = layouts[k][0];
        layout.output = layouts[k][1];
        layout.packed = false;
        trained_t whole = pipeline_train(&pipeline, &layout);
        layout.packed = true;
        layout.wire = k % 4 == 1;
        trained_t packed = pipeline_train(&pipeline, &layout);
        cr_expect_str_eq(packed.sha256, whole.sha256,
                         "%u, %u, %u shards, %s, %s", layout.hidden,
                         layout.dense, layout.output, layout.word[0],
                         layout.word[1]);
        cr_expect_eq(packed.loss, whole.loss);
        trained_fini(&whole);
        trained_fini(&packed);
    }
    pipeline_fini(&pipeline);
}

Test(pipeline, packed_gradients_give_the_same_bits)
{
    static const char *const losses[] = { SOFTMAX, ONE_VS_ALL };
    static const char *const reductions[] = { "train.reduction=fast",
                                              "train.reduction=fixed" };
    static const char *const dropouts[] = { "model.layers.hidden.dropout=0",
                                            "model.layers.hidden.dropout=0.6" };
    for (uint32_t k = 0; k < 8; k++)
        expect_packed_alike(
            (layout_t){ .window = 1 + k % 2,
                        .batches = 8,
                        .word = { losses[k % 2], reductions[k / 2 % 2],
                                  dropouts[k / 4], "train.optimizer.rate=0.1",
                                  UNIFORM, rows_of(UNIFORM) } });
}

Test(pipeline, packed_gradients_of_dense_layers_give_the_same_bits)
{
    static const char *const reductions[] = { "train.reduction=fast",
                                              "train.reduction=fixed" };
    for (uint32_t dense = 1; dense <= 3; dense++)
        for (size_t k = 0; k < 2; k++)
            expect_packed_alike((layout_t){
                .dense = dense,
                .window = 2,
                .batches = 8,
                .word = { reductions[k], "train.optimizer.kind=adam",
                          "train.optimizer.rate=0.01",
                          "model.layers.hidden.dropout=0.3",
                          "model.layers.second.dropout=0.5" } });
}

/* --- copies ------------------------------------------------------------- */

#define COPY "train.updates=copy"
#define BF16 "model.layers.output.weights=bf16"
#define ADAM "train.optimizer.kind=adam"
#define RATE "train.optimizer.rate=0.01"

/* Bits do not depend on where the rows lie: a shard that has a copy sees the
 * rows that it would have been lent. */
static void
expect_copies_as_loans(const char *sampler, uint32_t dense)
{
    pipeline_t pipeline;
    pipeline_init(&pipeline);
    for (uint32_t window = 1; window <= 4; window += 3)
        for (uint32_t wire = 0; wire < 2; wire++) {
            layout_t layout = { .hidden = 2,
                                .dense = dense,
                                .output = 3,
                                .window = window,
                                .word = { "train.updates=loan", ADAM, RATE,
                                          "model.layers.hidden.dropout=0.3",
                                          sampler } };
            trained_t lent = pipeline_train(&pipeline, &layout);
            layout.word[0] = COPY;
            layout.wire = wire == 1;
            trained_t copied = pipeline_train(&pipeline, &layout);
            cr_expect_str_eq(copied.sha256, lent.sha256,
                             "%s, window %u, wire %u", sampler, window, wire);
            cr_expect_eq(copied.loss, lent.loss);
            trained_fini(&lent);
            trained_fini(&copied);
        }
    pipeline_fini(&pipeline);
}

#define SAMPLER "model.layers.output.sampler="

Test(pipeline, copies_give_the_bits_of_loans)
{
    expect_copies_as_loans(SAMPLER "{kind: exact}", 0);
    expect_copies_as_loans(SAMPLER "{kind: uniform, rows: 50}", 0);
    expect_copies_as_loans(SAMPLER "{kind: log_uniform, rows: 50}", 0);
}

Test(pipeline, copies_give_the_bits_of_loans_with_an_index)
{
    expect_copies_as_loans(SAMPLER
                           "{kind: simhash, tables: 4, bits: 4, rows: 20,"
                           " refresh_batches: 3, uniform_rows: 20}",
                           0);
    expect_copies_as_loans(SAMPLER "{kind: dwta, tables: 4, bits: 2, rows: 20,"
                                   " refresh_batches: 3, uniform_rows: 20}",
                           0);
}

Test(pipeline, copies_give_the_bits_of_loans_in_dense_layers)
{
    expect_copies_as_loans(SAMPLER "{kind: exact}", 2);
}

/* Of 1,024 hidden units the rows of a shard are more than one message. */
Test(pipeline, a_first_copy_comes_in_parts)
{
    pipeline_t pipeline;
    layout_t layout = { .hidden = 1,
                        .output = 1,
                        .batches = 3,
                        .word = { "train.updates=loan", ADAM, RATE,
                                  "model.layers.hidden.units=1024" } };
    pipeline_init(&pipeline);
    cr_assert_gt((size_t)LABELS * 1025 * sizeof(float), 2 * SKN_CHUNK_BYTES);
    trained_t lent = pipeline_train(&pipeline, &layout);
    layout.word[0] = COPY;
    layout.wire = true;
    trained_t copied = pipeline_train(&pipeline, &layout);
    cr_expect_str_eq(copied.sha256, lent.sha256);
    trained_fini(&lent);
    trained_fini(&copied);
    pipeline_fini(&pipeline);
}

/* f32 masters are moved by steps that bf16 rows would lose; the copies that
 * gradients are computed from are off by 2^-9 at most. */
Test(pipeline, masters_of_bf16_copies_stay_near_f32)
{
    pipeline_t pipeline;
    layout_t layout = { .hidden = 1,
                        .output = 2,
                        .word = { COPY, "train.optimizer.rate=0.5",
                                  "model.layers.output.weights=f32" } };
    pipeline_init(&pipeline);
    trained_t full = pipeline_train(&pipeline, &layout);
    layout.word[2] = BF16;
    trained_t half = pipeline_train(&pipeline, &layout);
    double most = 0, worst = 0;
    uint32_t fine = 0;
    for (size_t k = 0; k < (size_t)LABELS * 24; k++) {
        double want = (double)full.weight[1][k];
        double error = fabs((double)half.weight[1][k] - want);
        uint32_t bits;
        memcpy(&bits, &half.weight[1][k], sizeof(bits));
        fine += (bits & 0xffff) != 0;
        most = fmax(most, fabs(want));
        worst = fmax(worst, error);
    }
    cr_expect_str_neq(half.sha256, full.sha256);
    cr_expect(worst <= 4e-3 * most, "off by %.3g of %.3g", worst, most);
    cr_expect(worst > 0);
    cr_expect_gt(fine, LABELS * 24 / 2, "a checkpoint holds f32 masters");
    trained_fini(&full);
    trained_fini(&half);
    pipeline_fini(&pipeline);
}

Test(pipeline, bf16_copies_keep_the_bits_on_any_shards_and_on_the_wire)
{
    static const char *const kinds[] = { ADAM, "train.optimizer.kind=adagrad",
                                         "train.optimizer.kind=sgd" };
    for (size_t k = 0; k < 3; k++)
        expect_same_bits((layout_t){
            .window = 2,
            .word = { COPY, BF16, RATE, kinds[k], "train.reduction=fixed" } });
}

static void
expect_ten_alike(layout_t layout)
{
    pipeline_t pipeline;
    char first[65] = "";
    pipeline_init(&pipeline);
    for (size_t k = 0; k < 10; k++) {
        if (is_spared(k))
            continue;
        layout.wire = k % 2 == 1; /* neither way changes a bit */
        trained_t trained = pipeline_train(&pipeline, &layout);
        if (!first[0])
            memcpy(first, trained.sha256, sizeof(first));
        cr_expect_str_eq(trained.sha256, first, "window %u, run %zu",
                         layout.window, k);
        trained_fini(&trained);
    }
    pipeline_fini(&pipeline);
}

Test(pipeline, ten_runs_are_one)
{
    for (uint32_t window = 1; window <= 4; window += 3)
        expect_ten_alike((layout_t){
            .hidden = 2, .output = 3, .window = window, .word = { UNIFORM } });
}

Test(pipeline, ten_runs_with_steps_of_several_batches_are_one)
{
    for (uint32_t shards = 1; shards <= 2; shards++)
        expect_ten_alike((layout_t){
            .hidden = 1, .output = shards, .window = 1, .accumulates = true });
}

Test(pipeline, ten_runs_with_dense_layers_are_one)
{
    expect_ten_alike(
        (layout_t){ .hidden = 2,
                    .dense = 2,
                    .output = 3,
                    .window = 4,
                    .word = { "train.optimizer.kind=adam",
                              "model.layers.second.dropout=0.3" } });
}

Test(pipeline, free_order_trains_every_batch)
{
    pipeline_t pipeline;
    pipeline_init(&pipeline);
    for (uint32_t window = 1; window <= 4; window++) {
        layout_t layout = {
            .hidden = 2, .output = 3, .window = window, .free_order = true
        };
        trained_t trained = pipeline_train(&pipeline, &layout);
        cr_expect(trained.loss > 1 && trained.loss < 7);
        trained_fini(&trained);
    }
    pipeline_fini(&pipeline);
}

/* --- the same training in double ---------------------------------------------
 */

static void
expect_net(const trained_t *trained, const net_t *net, double bound,
           const char *name)
{
    for (int k = 0; k < net->layers; k++) {
        uint32_t below = net->below[k], units = net->units[k];
        double *weight = malloc(units * below * sizeof(*weight));
        double *bias = malloc(units * sizeof(*bias));
        for (uint32_t u = 0; u < units; u++) {
            const double *w = net->w[k] + u * (below + 1);
            for (uint32_t i = 0; i < below; i++)
                weight[k == 0 ? i * units + u : u * below + i] = w[i];
            bias[u] = w[below];
        }
        expect_near(trained->weight[k], weight, units * below, bound, name, k);
        expect_near(trained->bias[k], bias, units, bound, name, k);
        free(weight);
        free(bias);
    }
}

Test(pipeline, the_loss_of_points_held_back_is_what_it_is_in_double)
{
    pipeline_t pipeline;
    pipeline_init(&pipeline);
    for (uint32_t shards = 1; shards <= 3; shards += 2) {
        net_t net;
        layout_t layout = { .hidden = 1,
                            .output = shards,
                            .batches = 4,
                            .has_nats = true,
                            .word = { "train.validate=0.3" } };
        trained_t trained = pipeline_train(&pipeline, &layout);
        net_init(&net, false);
        net_take(&net, &trained);
        double want = net_nats(&net, &pipeline);
        cr_expect(fabs(trained.nats - want) <= 2e-6 * want,
                  "%u shards: %.6f, in double %.6f", shards, trained.nats,
                  want);
        net_fini(&net);
        trained_fini(&trained);
    }
    pipeline_fini(&pipeline);
}

static void
expect_as_in_double(layout_t layout, double rate)
{
    pipeline_t pipeline;
    net_t net;
    char name[64], word[64];
    pipeline_init(&pipeline);
    net_init(&net, layout.dense > 0);
    net_draw(&net);
    net.is_linear = layout.is_linear;
    (void)skn_text_write(word, sizeof(word), "train.optimizer.rate=%g", rate);
    layout.word[0] = word;
    (void)snprintf(name, sizeof(name), "window %u, %u batches", layout.window,
                   layout.batches);
    /* A step of five batches is five of a fifth, which see the same weights. */
    double loss =
        layout.accumulates
            ? net_train(&pipeline, &net, layout.batches, PER_EPOCH,
                        rate / PER_EPOCH)
            : net_train(&pipeline, &net, layout.batches, layout.window, rate);
    trained_t trained = pipeline_train(&pipeline, &layout);
    cr_expect(fabs(trained.loss - loss) <= 1e-5 * loss,
              "%s: loss %.6f, in double %.6f", name, trained.loss, loss);
    expect_net(&trained, &net, 1e-5, name);
    trained_fini(&trained);
    net_fini(&net);
    pipeline_fini(&pipeline);
}

Test(pipeline, one_batch_is_what_it_is_in_double)
{
    expect_as_in_double(
        (layout_t){ .hidden = 2, .output = 3, .window = 1, .batches = 1 }, 100);
    expect_as_in_double(
        (layout_t){
            .hidden = 2, .dense = 2, .output = 3, .window = 1, .batches = 1 },
        100);
}

Test(pipeline, twenty_steps_are_what_they_are_in_double)
{
    for (uint32_t window = 1; window <= 4; window++)
        expect_as_in_double(
            (layout_t){
                .hidden = 2, .output = 3, .window = window, .batches = 20 },
            2);
}

/* As in a language model, between whose ends a linear trunk lies. */
Test(pipeline, twenty_steps_without_relu_or_bias_are_what_they_are_in_double)
{
    for (uint32_t window = 1; window <= 2; window++)
        expect_as_in_double((layout_t){ .hidden = 2,
                                        .output = 3,
                                        .window = window,
                                        .batches = 20,
                                        .is_linear = true },
                            2);
}

/* One output shard adds up the step by itself, several send each batch's. */
Test(pipeline, steps_of_several_batches_are_what_they_are_in_double)
{
    for (uint32_t shards = 1; shards <= 3; shards++)
        expect_as_in_double((layout_t){ .hidden = 1,
                                        .output = shards,
                                        .window = 1,
                                        .batches = 20,
                                        .accumulates = true },
                            2);
}

Test(pipeline, twenty_steps_with_dense_layers_are_what_they_are_in_double)
{
    for (uint32_t window = 1; window <= 4; window++)
        for (uint32_t dense = 1; dense <= 4; dense += is_spared(1) ? 3 : 1)
            expect_as_in_double((layout_t){ .hidden = 3,
                                            .dense = dense,
                                            .output = 2,
                                            .window = window,
                                            .batches = 20 },
                                0.5);
}

Test(pipeline, dense_layers_agree_on_any_shards)
{
    pipeline_t pipeline;
    pipeline_init(&pipeline);
    layout_t layout = { .hidden = 1,
                        .dense = 1,
                        .output = 1,
                        .word = { "train.reduction=fixed",
                                  "train.optimizer.rate=0.5" } };
    trained_t alone = pipeline_train(&pipeline, &layout);
    for (size_t k = 0; k < LAYOUTS; k++) {
        for (layout.dense = 1; layout.dense <= 4; layout.dense++) {
            if (is_spared(4 * k + layout.dense - 1))
                continue;
            layout.hidden = layouts[k][0];
            layout.output = layouts[k][1];
            trained_t trained = pipeline_train(&pipeline, &layout);
            expect_trained_near(&trained, &alone, &layout, 1e-5);
            cr_expect_str_eq(trained.sha256, alone.sha256);
            trained_fini(&trained);
        }
    }
    trained_fini(&alone);
    pipeline_fini(&pipeline);
}
