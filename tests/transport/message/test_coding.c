/* test_coding.c - tests messages that cross a link in fewer bytes.
 *
 * transport/message/coding.c: random messages under each coding, what they
 * lose, and how many bytes they take. The forms of single runs have tests of
 * their own (test_coding_values.c, test_coding_numbers.c); refusals are in
 * contract_coding.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <float.h>

#include "actors/protocol/messages.h"
#include "tests/support/coding_fixture.h"
#include "tests/support/sample_messages.h"

TestSuite(coding, .init = set_up, .fini = tear_down, .timeout = 120);

/* What no coding may change. */
static void
expect_exact_part(const coded_t *sent, const coded_t *got)
{
    cr_assert_eq(got->columns, sent->columns);
    cr_assert_str_eq(got->title, sent->title);
    cr_assert(same_numbers(sent->unit, got->unit));
    cr_assert(same_numbers(sent->late, got->late));
    cr_assert(same(sent->plain, got->plain));
    cr_assert_eq(sent->norm.count, got->norm.count);
    cr_assert_arr_eq(sent->norm.at, got->norm.at, 8 * sent->norm.count);
}

Test(coding, f32_is_bit_equal_whatever_the_values)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        coded_t *sent = coded_new(seed, (uint32_t)(seed * 7 % 41),
                                  (uint32_t)(seed % 20), true);
        coded_t *got = over_and_back(&coded_schema, sent, SKN_CODING_F32, seed);
        expect_exact_part(sent, got);
        cr_assert(same(sent->wide, got->wide));
        cr_assert(same(sent->open, got->open));
        cr_assert(same(sent->ragged, got->ragged));
        cr_assert(same(sent->holes, got->holes));
        cr_assert(same(sent->flat, got->flat));
        skn_payload_drop(sent);
        skn_payload_drop(got);
    }
    expect_all_home();
}

/* |error| of each value of a row whose greatest magnitude is `greatest`; what
 * is rounded in the arithmetic of the step is below 2^-15 steps. */
static double
error_max(skn_coding_t coding, float x, float greatest)
{
    double slack = 1 + 0x1p-15;
    switch (coding) {
    case SKN_CODING_BF16:
        return fabs((double)x) * 0x1p-8 + FLT_MIN;
    case SKN_CODING_INT8:
        return (double)greatest / 127 * slack + 128 * (double)FLT_MIN;
    case SKN_CODING_INT4:
        return (double)greatest / 7 * slack + 8 * (double)FLT_MIN;
    default:
        return 0;
    }
}

static void
expect_row_near(skn_coding_t coding, bool sparse, const float *sent,
                const float *got, size_t length)
{
    float greatest = 0;
    for (size_t k = 0; k < length; k++)
        greatest = fmaxf(greatest, fabsf(sent[k]));
    for (size_t k = 0; k < length; k++) {
        cr_assert(fabs((double)got[k] - (double)sent[k]) <=
                      error_max(coding, sent[k], greatest),
                  "%s: %g became %g, greatest %g", coding_word(coding),
                  (double)sent[k], (double)got[k], (double)greatest);
        cr_assert(sent[k] != 0 || got[k] == 0, "zero stays zero");
        cr_assert(!sparse || (sent[k] == 0) == (got[k] == 0), "and it alone");
    }
}

Test(coding, every_value_is_within_the_error_of_its_coding)
{
    EACH_CODING(coding)
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint32_t columns = 1 + (uint32_t)(seed * 5 % 60);
        uint32_t rows = 1 + (uint32_t)(seed % 20);
        coded_t *sent = coded_new(seed, columns, rows, false);
        coded_t *got = over_and_back(&coded_schema, sent, coding, seed);
        expect_exact_part(sent, got);
        for (size_t r = 0; r < rows; r++) {
            size_t at = r * columns;
            expect_row_near(coding, false, sent->wide.at + at,
                            got->wide.at + at, columns);
            expect_row_near(coding, true, sent->open.at + at, got->open.at + at,
                            columns);
        }
        for (size_t at = 0, r = 0; at < sent->ragged.count; r++) {
            size_t length = sent->late.at[r % rows];
            expect_row_near(coding, false, sent->ragged.at + at,
                            got->ragged.at + at, length);
            expect_row_near(coding, true, sent->holes.at + at,
                            got->holes.at + at, length);
            at += length;
        }
        expect_row_near(coding, true, sent->flat.at, got->flat.at,
                        sent->flat.count);
        skn_payload_drop(sent);
        skn_payload_drop(got);
    }
    expect_all_home();
}

Test(coding, a_row_that_is_not_finite_arrives_as_such)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY };
    for (size_t o = 0; o < 3; o++)
        EACH_CODING(coding)
        {
            coded_t *sent = coded_new(4, 32, 4, false);
            sent->wide.at[40] = odd[o];
            sent->open.at[40] = odd[o];
            coded_t *got = over_and_back(&coded_schema, sent, coding, 9);
            cr_assert_not(isfinite(got->wide.at[40]));
            cr_assert_not(isfinite(got->open.at[40]));
            for (size_t k = 0; k < 128; k++) {
                bool spoilt = k / 32 == 1 && coding >= SKN_CODING_INT8;
                if (k != 40)
                    cr_assert_eq(isnan(got->wide.at[k]), spoilt, "%zu", k);
                if (k != 40)
                    cr_assert_eq(isnan(got->open.at[k]),
                                 spoilt && sent->open.at[k] != 0, "%zu", k);
            }
            skn_payload_drop(sent);
            skn_payload_drop(got);
        }
    expect_all_home();
}

Test(coding, the_bytes_depend_on_message_coding_and_key_alone)
{
    const skn_kernels_t *kernels;
    for (uint64_t seed = 1; seed <= 10; seed++)
        EACH_CODING(coding)
        {
            coded_t *sent = coded_new(seed, 37, 9, seed % 2);
            frames_t first = frames_new(&coded_schema, sent, coding, seed);
            for (unsigned rank = 0; (kernels = skn_kernels_variant(rank));
                 rank++) {
                skn_coder_destroy(&coder);
                coder = skn_coder_new(kernels, NULL);
                cr_assert(coder);
                frames_t again = frames_new(&coded_schema, sent, coding, seed);
                cr_assert_eq(again.count, first.count);
                for (size_t k = 0; k < first.count; k++) {
                    cr_assert_eq(again.at[k].bytes, first.at[k].bytes);
                    cr_assert_arr_eq(again.at[k].at, first.at[k].at,
                                     first.at[k].bytes, "%s, %s, frame %zu",
                                     kernels->isa, coding_word(coding), k);
                }
                frames_free(&again);
            }
            frames_t other = frames_new(&coded_schema, sent, coding, seed + 1);
            bool equal =
                memcmp(other.at[1].at, first.at[1].at, first.at[1].bytes) == 0;
            cr_assert_eq(equal, coding <= SKN_CODING_BF16);
            frames_free(&other);
            frames_free(&first);
            skn_payload_drop(sent);
        }
    expect_all_home();
}

/* Two rows of one message, or one row of two fields, do not share their random
 * bits. */
Test(coding, equal_rows_are_rounded_apart)
{
    coded_t *sent = coded_new(3, 32, 2, false);
    for (size_t k = 0; k < 32; k++)
        sent->wide.at[k] = sent->wide.at[32 + k] = sent->open.at[k] =
            k == 0 ? 127.0f : (float)k + 0.5f;
    coded_t *got = over_and_back(&coded_schema, sent, SKN_CODING_INT8, 1);
    cr_expect(memcmp(got->wide.at, got->wide.at + 32, 128) != 0);
    cr_expect(memcmp(got->wide.at, got->open.at, 128) != 0);
    skn_payload_drop(sent);
    skn_payload_drop(got);
}

/* Over many keys, every value comes out as itself on average. */
Test(coding, random_rounding_is_unbiased)
{
    enum {
        KEYS = 3000
    };
    static const skn_coding_t codings[] = { SKN_CODING_INT8, SKN_CODING_INT4 };
    for (size_t c = 0; c < 2; c++) {
        coded_t *sent = coded_new(8, 24, 1, false);
        double sum[24] = { 0 }, greatest = 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            coded_t *got = over_and_back(&coded_schema, sent, codings[c], key);
            for (size_t k = 0; k < 24; k++)
                sum[k] += (double)got->wide.at[k];
            skn_payload_drop(got);
        }
        for (size_t k = 0; k < 24; k++)
            greatest = fmax(greatest, fabs((double)sent->wide.at[k]));
        double scale = greatest / (codings[c] == SKN_CODING_INT8 ? 127 : 7);
        for (size_t k = 0; k < 24; k++) {
            double x = (double)sent->wide.at[k] / scale, share = x - floor(x);
            double sigma = scale * sqrt(share * (1 - share) / KEYS);
            double error = sum[k] / KEYS - (double)sent->wide.at[k];
            cr_expect(fabs(error) <= 4 * sigma + 1e-4 * scale,
                      "value %zu, in steps %g, is %g steps off", k, x,
                      error / scale);
        }
        skn_payload_drop(sent);
    }
}

/* --- how many bytes ------------------------------------------------------- */

/* A batch of 1,024 samples, 128 units, half of them open: B H (1/8 + d b), and
 * a scale a sample in int8 and int4 (docs/concepts/equations.md, (61)). */
Test(coding, activations_take_the_bytes_of_the_formula)
{
    enum {
        B = 1024,
        H = 128
    };
    static const double value_bytes[] = { 4, 2, 1, 0.5 };
    size_t counts[] = { B * H };
    oracle_random_t random = { 77 };
    skn_activation_t *sent =
        skn_payload_new(pool, &skn_activation_schema, counts, NULL);
    cr_assert(sent);
    sent->rows = B;
    sent->columns = H;
    for (size_t k = 0; k < B * H; k++)
        sent->value.at[k] =
            oracle_next(&random) % 2 ? fabsf(oracle_float(&random)) : 0.0f;
    EACH_CODING(coding)
    {
        double formula = B * H * (0.125 + 0.5 * value_bytes[coding]);
        if (coding >= SKN_CODING_INT8)
            formula += 4.0 * B;
        frames_t frames = frames_new(&skn_activation_schema, sent, coding, 5);
        double bytes = (double)frames_bytes(&frames);
        cr_log_info("activation, %s: %.1f bytes a sample, formula %.1f",
                    coding_word(coding), bytes / B, formula / B);
        cr_expect(bytes <= 1.05 * formula, "%s: %g bytes, formula %g",
                  coding_word(coding), bytes, formula);
        frames_free(&frames);
    }
    skn_payload_drop(sent);
}

/* A gradient where only the open half of each row is sent: B H d b, a scale a
 * sample in int8 and int4, and a byte a sample for the lengths here. */
Test(coding, ragged_rows_take_the_bytes_of_the_formula)
{
    enum {
        B = 1024,
        OPEN = 64
    };
    static const double value_bytes[] = { 4, 2, 1, 0.5 };
    size_t counts[] = { 0, 0, 0, 0, B * OPEN, 0, 0, 0, B, 0 };
    coded_t *sent = skn_payload_new(pool, &coded_schema, counts, NULL);
    oracle_random_t random = { 78 };
    cr_assert(sent);
    for (size_t r = 0; r < B; r++)
        sent->late.at[r] = OPEN - 20 + (uint32_t)(r % 2 ? 40 : 0);
    fill_values(sent->ragged, &random, false, false);
    EACH_CODING(coding)
    {
        double formula = B * OPEN * value_bytes[coding] + B;
        if (coding >= SKN_CODING_INT8)
            formula += 4.0 * B;
        frames_t frames = frames_new(&coded_schema, sent, coding, 5);
        cr_expect((double)frames_bytes(&frames) <= 1.01 * formula + 64);
        frames_free(&frames);
    }
    skn_payload_drop(sent);
}

/* Packed: open[i] values of sample i in each of two nodes, and of v where the
 * shard has a positive. */
Test(coding, packed_gradients_cross)
{
    enum {
        B = 50,
        H = 16
    };
    uint32_t open[B], pushed[B];
    size_t sum = 0, pushed_sum = 0;
    oracle_random_t random = { 14 };
    for (size_t i = 0; i < B; i++) {
        sum += open[i] = oracle_next(&random) % (H + 1);
        pushed_sum += pushed[i] = i % 3 ? 0 : open[i];
    }
    size_t counts[] = { B, B, 2, 2 * sum, 2 * pushed_sum, 0 };
    skn_output_gradient_t *sent =
        skn_payload_new(pool, &skn_output_gradient_schema, counts, NULL);
    cr_assert(sent);
    sent->rows = B;
    sent->columns = H;
    memcpy(sent->open.at, open, sizeof(open));
    memcpy(sent->pushed.at, pushed, sizeof(pushed));
    sent->node.at[0] = sent->node.at[1] = 1;
    fill_values(sent->pull, &random, false, false);
    fill_values(sent->push, &random, false, false);
    EACH_CODING(coding)
    {
        skn_output_gradient_t *got =
            over_and_back(&skn_output_gradient_schema, sent, coding, 4);
        cr_assert(same_numbers(sent->open, got->open));
        cr_assert(same_numbers(sent->pushed, got->pushed));
        for (size_t r = 0, at = 0; r < 2 * B; at += open[r++ % B])
            expect_row_near(coding, false, sent->pull.at + at,
                            got->pull.at + at, open[r % B]);
        for (size_t r = 0, at = 0; r < 2 * B; at += pushed[r++ % B])
            expect_row_near(coding, false, sent->push.at + at,
                            got->push.at + at, pushed[r % B]);
        skn_payload_drop(got);
    }
    skn_payload_drop(sent);
    expect_all_home();
}

/* What a run will be on the other side is known before it is sent, rows of all
 * kinds and odd values too. */
Test(coding, what_will_arrive_is_known_before)
{
    static const char *const names[] = { "wide", "open", "ragged", "holes",
                                         "flat" };
    static float told[8192];
    for (uint64_t seed = 1; seed <= 20; seed++)
        EACH_CODING(coding)
        {
            coded_t *sent = coded_new(seed, 17, 12, seed % 2);
            coded_t *got = over_and_back(&coded_schema, sent, coding, seed);
            const skn_f32s_t runs[] = { got->wide, got->open, got->ragged,
                                        got->holes, got->flat };
            for (size_t k = 0; k < 5; k++) {
                cr_assert_leq(runs[k].count, 8192u);
                cr_assert_eq(skn_coding_round(&coded_schema, sent, names[k],
                                              coding, seed, coder, told, NULL),
                             SKN_OK);
                cr_assert(same((skn_f32s_t){ told, runs[k].count }, runs[k]),
                          "%s in %s, seed %d", names[k], coding_word(coding),
                          (int)seed);
            }
            skn_payload_drop(sent);
            skn_payload_drop(got);
        }
    expect_all_home();
}

Test(coding, a_message_without_coded_runs_is_that_of_skn_encode)
{
    static float values[3] = { 0.5f, -1.0f, 3.25f };
    activation_t activation = { .batch = 5,
                                .shard = 300,
                                .value = { values, 3 } };
    skn_scratch_t *scratch = skn_scratch_new(NULL);
    skn_wire_t plain, wire;
    cr_assert(scratch);
    cr_assert_eq(
        skn_encode(&activation_schema, &activation, scratch, &plain, NULL),
        SKN_OK);
    cr_assert_eq(skn_coding_encode(&activation_schema, &activation,
                                   SKN_CODING_INT4, 1, coder, &wire, NULL),
                 SKN_OK);
    cr_assert_eq(wire.frame_count, plain.frame_count);
    cr_assert_eq(wire.frame[0].bytes, plain.frame[0].bytes);
    cr_assert_arr_eq(wire.frame[0].at, plain.frame[0].at, plain.frame[0].bytes);
    cr_assert_eq(wire.frame[1].at, (void *)values, "not copied");
    skn_scratch_destroy(&scratch);
}

/* All messages of the pipelines that can leave the process, empty: their
 * tables and the codings agree. */
Test(coding, every_message_of_the_pipelines_crosses)
{
    for (size_t k = 0; skn_messages[k]; k++) {
        const skn_schema_t *schema = skn_messages[k];
        if (skn_schema_lends(schema))
            continue;
        void *sent = skn_payload_new(pool, schema, NULL, NULL);
        cr_assert(sent, "%s", schema->name);
        skn_payload_drop(over_and_back(schema, sent, SKN_CODING_BF16, k));
        skn_payload_drop(sent);
    }
    expect_all_home();
}

/* A normal number, by Box and Muller 1958. */
static float
draw_normal(oracle_random_t *random)
{
    double u = (oracle_next(random) + 1.0) * 0x1p-32;
    double turn = oracle_next(random) * 0x1p-32 * 6.283185307179586;
    return (float)(sqrt(-2 * log(u)) * cos(turn));
}

/* |x^ - x| / |x| over rows of normal numbers, 64 and 128 wide: what
 * docs/concepts/codings.md says, and what the formulas say. */
Test(coding, the_error_of_normal_rows_is_that_of_the_formula)
{
    enum {
        ROWS = 400
    };
    static const double documented[2][SKN_CODING_COUNT] = {
        { 0, 0.0017, 0.0086, 0.156 }, { 0, 0.0017, 0.0093, 0.169 }
    };
    for (uint32_t wide = 0; wide < 2; wide++) {
        uint32_t columns = 64u << wide;
        size_t counts[] = { (size_t)columns * ROWS, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
        oracle_random_t random = { 5 };
        coded_t *sent = skn_payload_new(pool, &coded_schema, counts, NULL);
        cr_assert(sent);
        sent->columns = columns;
        for (size_t k = 0; k < counts[0]; k++)
            sent->wide.at[k] = draw_normal(&random);
        EACH_CODING(coding)
        {
            coded_t *got = over_and_back(&coded_schema, sent, coding, 3);
            double errors = 0, squares = 0, formula = 0;
            for (size_t r = 0; r < ROWS; r++) {
                double greatest = 0;
                for (size_t k = r * columns; k < (r + 1) * columns; k++) {
                    double x = (double)sent->wide.at[k];
                    errors += pow((double)got->wide.at[k] - x, 2);
                    squares += x * x;
                    greatest = fmax(greatest, fabs(x));
                }
                /* A step's error is f (1 - f) of its square on average 1/6. */
                double step = greatest / (coding == SKN_CODING_INT8 ? 127 : 7);
                formula += columns * step * step / 6;
            }
            double error = sqrt(errors / squares);
            cr_log_info("%s, %u wide: %.5f, formula %.5f", coding_word(coding),
                        columns, error, sqrt(formula / squares));
            cr_expect(fabs(error - documented[wide][coding]) <=
                          0.05 * documented[wide][coding],
                      "%s, %u wide: %g", coding_word(coding), columns, error);
            if (coding >= SKN_CODING_INT8)
                cr_expect(fabs(error - sqrt(formula / squares)) <=
                          0.05 * error);
            skn_payload_drop(got);
        }
        skn_payload_drop(sent);
    }
}
