/* test_packing.c - tests the counting, packing and unpacking of open positions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/messages.h"
#include "actors/combine/packing.h"
#include "tests/support/coding_fixture.h"

#define ROWS 7
#define COLUMNS_MAX 33
#define STRIDE 40
#define CELLS (ROWS * STRIDE)

TestSuite(packing, .init = set_up, .fini = tear_down, .timeout = 60);

static float mask[CELLS], x[CELLS];
static const skn_kernels_t *kernels; /* NULL: plain C */

/* Plain C, and each variant that this processor can run. */
#define EACH_WAY(rank)                                                         \
    for (unsigned rank = 0;                                                    \
         (kernels = rank > 0 ? skn_kernels_variant(rank - 1) : NULL) ||        \
         rank == 0;                                                            \
         rank++)

/* Row i is open with a chance of i / (ROWS - 1): none, some, all. */
static void
draw(oracle_random_t *random)
{
    for (uint32_t k = 0; k < CELLS; k++) {
        bool open = oracle_next(random) % (ROWS - 1) < k / STRIDE;
        mask[k] = open ? 0.25f : 0.0f;
        x[k] = (float)(k + 1);
    }
}

static uint32_t
open_of(uint32_t row, uint32_t columns)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < columns; c++)
        count += mask[row * STRIDE + c] != 0.0f;
    return count;
}

/* With the rows whose bit is set in `left_out` left out. */
static void
expect_round_trip(uint32_t columns, uint32_t left_out)
{
    skn_packing_t packing = { mask, STRIDE, ROWS, columns, kernels };
    uint32_t open[ROWS];
    float packed[CELLS], back[CELLS];
    size_t sum = 0, at = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        sum += open_of(i, columns);
    cr_assert_eq(skn_packing_count(&packing, open), sum);
    for (uint32_t i = 0; i < ROWS; i++) {
        cr_assert_eq(open[i], open_of(i, columns), "row %u", i);
        if (left_out >> i & 1)
            open[i] = 0;
    }
    for (uint32_t k = 0; k < CELLS; k++)
        packed[k] = back[k] = -1;
    skn_packing_pack(&packing, open, x, STRIDE, packed);
    skn_packing_unpack(&packing, open, packed, back);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t c = 0; c < columns; c++) {
            bool there = open[i] > 0 && mask[i * STRIDE + c] != 0.0f;
            float want = there ? x[i * STRIDE + c] : 0.0f;
            cr_assert_eq(back[i * columns + c], want, "%u, %u", i, c);
            if (there)
                cr_assert_eq(packed[at++], want);
        }
    /* Nothing is written behind the end. */
    cr_assert_eq(packed[at], -1.0f);
    cr_assert_eq(back[ROWS * columns], -1.0f);
}

Test(packing, what_is_open_comes_back_and_the_rest_is_zero)
{
    oracle_random_t random = { 3 };
    EACH_WAY(rank)
    for (uint32_t columns = 0; columns <= COLUMNS_MAX; columns++)
        for (uint32_t left_out = 0; left_out < 1u << ROWS; left_out += 21) {
            draw(&random);
            expect_round_trip(columns, left_out);
        }
}

Test(packing, all_or_nothing_may_be_open)
{
    EACH_WAY(rank)
    for (int open = 0; open < 2; open++) {
        for (uint32_t k = 0; k < CELLS; k++) {
            mask[k] = (float)open;
            x[k] = 1.0f + (float)k;
        }
        expect_round_trip(COLUMNS_MAX, 0);
    }
}

/* Any value but 0 is open, however small; of zeros there are two. */
Test(packing, only_zeros_are_closed)
{
    static const float values[] = { 0.0f,     -0.0f,     0x1p-149f, -0x1p-149f,
                                    INFINITY, -INFINITY, NAN,       1e-30f };
    float numbers[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, packed[8], back[8];
    static const float want[] = { 0, 0, 3, 4, 5, 6, 7, 8 };
    uint32_t open;
    EACH_WAY(rank)
    {
        skn_packing_t packing = { values, 8, 1, 8, kernels };
        cr_expect_eq(skn_packing_count(&packing, &open), 6);
        skn_packing_pack(&packing, &open, numbers, 8, packed);
        cr_expect_arr_eq(packed, want + 2, 6 * sizeof(float));
        skn_packing_unpack(&packing, &open, packed, back);
        cr_expect_arr_eq(back, want, sizeof(back));
    }
}

/* Values go through as they are, NaN and -0 among them. */
Test(packing, values_keep_their_bits)
{
    static const float open_mask[] = { 1, 1, 0, 1 };
    float values[] = { NAN, -0.0f, 5, -INFINITY }, packed[4], back[4];
    uint32_t open;
    EACH_WAY(rank)
    {
        skn_packing_t packing = { open_mask, 4, 1, 4, kernels };
        values[2] = 5;
        cr_expect_eq(skn_packing_count(&packing, &open), 3);
        skn_packing_pack(&packing, &open, values, 4, packed);
        skn_packing_unpack(&packing, &open, packed, back);
        values[2] = 0;
        cr_expect_arr_eq(back, values, sizeof(back));
    }
}

/* A sender that counts wrong does no harm here: who receives has checked. */
Test(packing, a_row_ends_with_its_columns)
{
    static const float open_mask[] = { 1, 0, 1 };
    float values[] = { 1, 2, 3 }, packed[4] = { 0 }, back[3] = { 0 };
    uint32_t open = 4;
    EACH_WAY(rank)
    {
        skn_packing_t packing = { open_mask, 3, 1, 3, kernels };
        skn_packing_pack(&packing, &open, values, 3, packed);
        cr_expect_eq(packed[0], 1);
        cr_expect_eq(packed[1], 3);
        skn_packing_unpack(&packing, &open, packed, back);
        cr_expect_eq(back[0], 1);
        cr_expect_eq(back[1], 0);
        cr_expect_eq(back[2], 3);
    }
}

/* One that counts too few writes no more than that. */
Test(packing, a_row_ends_with_what_was_counted)
{
    static const float open_mask[] = { 1, 0, 1, 1 };
    static const float values[] = { 1, 2, 3, 4 };
    EACH_WAY(rank)
    {
        float packed[3] = { 0 }, back[5] = { 0, 0, 0, 0, 7 };
        uint32_t open = 2;
        skn_packing_t packing = { open_mask, 4, 1, 4, kernels };
        skn_packing_pack(&packing, &open, values, 4, packed);
        cr_expect(packed[0] == 1 && packed[1] == 3 && packed[2] == 0);
        skn_packing_unpack(&packing, &open, packed, back);
        cr_expect(back[0] == 1 && back[1] == 0 && back[2] == 3);
        cr_expect(back[3] == 0 && back[4] == 7);
    }
}

/* Wider than what is looked at in one go, at each width around its end. */
Test(packing, wide_rows_come_back)
{
    enum {
        WIDE = 1100
    };
    static float wide_mask[2 * WIDE], wide[2 * WIDE], want[2 * WIDE];
    static float packed[2 * WIDE + 1], back[2 * WIDE];
    oracle_random_t random = { 5 };
    for (uint32_t k = 0; k < 2 * WIDE; k++) {
        wide_mask[k] = oracle_next(&random) % 3 == 0 ? 1.0f : 0.0f;
        wide[k] = (float)(k + 1);
    }
    EACH_WAY(rank)
    for (uint32_t columns = 500; columns <= WIDE; columns += 12) {
        skn_packing_t packing = { wide_mask, WIDE, 2, columns, kernels };
        uint32_t open[2];
        size_t sum = skn_packing_count(&packing, open);
        for (uint32_t k = 0; k < 2 * columns; k++) {
            uint32_t at = k / columns * WIDE + k % columns;
            want[k] = wide_mask[at] != 0.0f ? wide[at] : 0.0f;
        }
        packed[sum] = -1;
        skn_packing_pack(&packing, open, wide, WIDE, packed);
        cr_expect_eq(packed[sum], -1.0f);
        skn_packing_unpack(&packing, open, packed, back);
        cr_assert_arr_eq(back, want, 2 * columns * sizeof(float));
    }
}

/* --- over a link ---------------------------------------------------------- */

enum {
    SAMPLES = 50,
    UNITS = 96
};

/* What ReLU and dropout leave, tiny values among it, and one closed sample. */
static skn_activation_t *
activation_new(void)
{
    size_t count = (size_t)SAMPLES * UNITS;
    oracle_random_t random = { 8 };
    skn_activation_t *sent =
        skn_payload_new(pool, &skn_activation_schema, &count, NULL);
    cr_assert(sent);
    sent->rows = SAMPLES;
    sent->columns = UNITS;
    for (size_t k = 0; k < count; k++) {
        float value =
            ldexpf(oracle_float(&random), -(int)(oracle_next(&random) % 150));
        sent->value.at[k] = value > 0 && k / UNITS != 7 ? value : 0.0f;
    }
    return sent;
}

/* A gradient of two nodes, packed by the zeros of what has arrived; every third
 * sample has no positive here. */
static skn_output_gradient_t *
gradient_new(const skn_packing_t *packing)
{
    uint32_t open[SAMPLES], pushed[SAMPLES];
    size_t pulls = skn_packing_count(packing, open), pushes = 0;
    for (uint32_t i = 0; i < SAMPLES; i++)
        pushes += pushed[i] = i % 3 ? open[i] : 0;
    size_t counts[] = { SAMPLES, SAMPLES, 2, 2 * pulls, 2 * pushes, 0 };
    skn_output_gradient_t *sent =
        skn_payload_new(pool, &skn_output_gradient_schema, counts, NULL);
    cr_assert(sent);
    sent->rows = SAMPLES;
    sent->columns = UNITS;
    sent->normalised = 1;
    memcpy(sent->open.at, open, sizeof(open));
    memcpy(sent->pushed.at, pushed, sizeof(pushed));
    sent->node.at[0] = 3;
    sent->node.at[1] = 7;
    for (size_t k = 0; k < 2 * pulls; k++)
        sent->pull.at[k] = 1.0f + (float)(k % 50);
    for (size_t k = 0; k < 2 * pushes; k++)
        sent->push.at[k] = -1.0f - (float)(k % 50);
    return sent;
}

static void
expect_near(const skn_f32s_t *got, const skn_f32s_t *sent, double error)
{
    cr_assert_eq(got->count, sent->count);
    for (size_t k = 0; k < sent->count; k++)
        cr_assert(fabs((double)got->at[k] - (double)sent->at[k]) <= error);
}

/* Both ends see the same zeros, whatever coding is between them; and what was
 * packed by the one is unpacked by the other. */
Test(packing, both_ends_of_a_link_see_the_same_zeros)
{
    static const double errors[] = { 0, 0.125, 0.41, 7.3 };
    uint32_t here[SAMPLES], there[SAMPLES];
    EACH_CODING(coding)
    {
        skn_activation_t *up = activation_new();
        skn_activation_t *arrived =
            over_and_back(&skn_activation_schema, up, coding, 3);
        skn_packing_t own = { up->value.at, UNITS, SAMPLES, UNITS, kernels };
        skn_packing_t seen = { arrived->value.at, UNITS, SAMPLES, UNITS,
                               kernels };
        size_t sum = skn_packing_count(&own, here);
        cr_expect_gt(sum, 0);
        cr_expect_eq(skn_packing_count(&seen, there), sum);
        cr_expect_arr_eq(here, there, sizeof(here));
        for (size_t k = 0; k < up->value.count; k++)
            cr_assert_eq(up->value.at[k] == 0, arrived->value.at[k] == 0);
        skn_output_gradient_t *down = gradient_new(&seen);
        skn_output_gradient_t *back =
            over_and_back(&skn_output_gradient_schema, down, coding, 4);
        cr_expect_arr_eq(back->open.at, here, sizeof(here));
        cr_expect_arr_eq(back->pushed.at, down->pushed.at, sizeof(here));
        expect_near(&back->pull, &down->pull, errors[coding]);
        expect_near(&back->push, &down->push, errors[coding]);
        skn_payload_drop(up);
        skn_payload_drop(arrived);
        skn_payload_drop(down);
        skn_payload_drop(back);
    }
    expect_all_home();
}
