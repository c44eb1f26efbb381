/* contract_kernels.c - tests, for every kernel, the promises of kernels.h.
 *
 * One body over many subjects: a kernel that writes one value per element gives
 * the same bits for any start and length of the slice, reads and writes nothing
 * outside it, leaves errno alone, and takes not-a-numbers, infinities, zeros of
 * both signs and denormals as IEEE 754 requires. The oracles are the
 * definitions in kernels.h, an element at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "kernels/philox.h"
#include "tests/support/oracle.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

/* Four of the widest vectors, and every rest behind them. */
#define COUNT_MAX (4 * LANES_MAX + LANES_MAX - 1)
#define ROOM (COUNT_MAX + 2 * LANES_MAX)
/* Random bits are dealt in blocks of 8 columns. */
#define NOISE_STEP 8u
/* What stands beside a slice: a value that no kernel here makes. */
#define GUARD 0x7fabcdefu
#define GUARD_HALF 0x7fabu

#define EACH_VARIANT(kernels)                                                  \
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++)

/* What a kernel reads and writes; out, m and v hold their old values before.
 * All start `shift` elements behind an aligned address. */
typedef struct arrays {
    float *out, *m, *v;
    uint16_t *half;
    const float *a, *b;
    const uint16_t *half_in;
    uint32_t first; /* global column of element 0 */
} arrays_t;

typedef struct subject {
    const char *name;
    void (*run)(const skn_kernels_t *kernels, const arrays_t *arrays, size_t n);
    /* Element i by the definition; NAN where `exact` is false. */
    double (*want)(const arrays_t *old, size_t i);
    bool noise; /* slices start at multiples of NOISE_STEP */
    bool half;  /* writes `half`, not `out` */
    bool tame;  /* defined for ordinary numbers only */
} subject_t;

#define FACTOR 0.3f
static const skn_adam_t adam = { 0.01f, 0.9f, 0.999f, 0.1f,  0.001f,
                                 1.5f,  2.0f, 1e-8f,  0.125f };

static skn_noise_t
noise_of(const arrays_t *arrays)
{
    return (skn_noise_t){
        .key = 77, .stream = 5, .row = 3, .first_column = arrays->first
    };
}

/* --- the subjects --------------------------------------------------------- */

static void
run_axpy(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->axpy(x->out, FACTOR, x->a, n);
}

static void
run_scale(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->scale(x->out, FACTOR, n);
}

static double
want_scale(const arrays_t *old, size_t i)
{
    return (double)(old->out[i] * FACTOR);
}

static void
run_add(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->add(x->out, x->a, x->b, n);
}

static double
want_add(const arrays_t *old, size_t i)
{
    return (double)(old->a[i] + old->b[i]);
}

static void
run_add_in_place(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->add(x->out, x->out, x->b, n);
}

static double
want_add_in_place(const arrays_t *old, size_t i)
{
    return (double)(old->out[i] + old->b[i]);
}

static void
run_mul(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->mul(x->out, x->a, x->b, n);
}

static double
want_mul(const arrays_t *old, size_t i)
{
    return (double)(old->a[i] * old->b[i]);
}

static void
run_exp(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    (void)kernels->exp_weight_sum(x->out, x->a, x->b, n, 0.5f);
}

static void
run_exp_of_ones(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    (void)kernels->exp_weight_sum(x->out, x->a, NULL, n, 0.5f);
}

static void
run_exp_each(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->exp_each(x->out, NULL, x->a, x->b, 0.5f, x->m, n);
}

static void
run_exp_each_bf16(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->exp_each(NULL, x->half, x->a, x->b, 0.5f, x->m, n);
}

static void
run_raise(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->raise(x->out, x->a, n);
}

static double
want_raise(const arrays_t *old, size_t i)
{
    return (double)(old->a[i] > old->out[i] ? old->a[i] : old->out[i]);
}

static void
run_sigmoid(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->sigmoid_weight(x->out, x->a, x->b, n);
}

static void
run_relu(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->relu(x->out, n);
}

static double
want_relu(const arrays_t *old, size_t i)
{
    return old->out[i] > 0 ? (double)old->out[i] : 0;
}

static void
run_relu_mask(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->relu_mask_mul(x->out, x->a, n);
}

static double
want_relu_mask(const arrays_t *old, size_t i)
{
    return old->a[i] > 0 ? (double)old->out[i] : 0;
}

static void
run_dropout(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    skn_noise_t noise = noise_of(x);
    kernels->dropout(x->out, n, 0.75f, &noise);
}

static void
run_gather(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    /* Two rows of a table that are the two inputs. */
    static const uint32_t row[] = { 0, 1 };
    static const float value[] = { 2, -0.5f };
    if (x->b > x->a)
        kernels->gather_add(x->out, x->a, (size_t)(x->b - x->a), row, value, 2,
                            n);
}

static void
run_adam(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->adam_row(x->out, x->m, x->v, x->a, n, &adam);
}

static void
run_adagrad(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->adagrad_row(x->out, x->a, n, 0.01f, 2.5f, 1e-8f);
}

static void
run_sgd(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->sgd_row(x->out, x->a, n, 0.01f, 0.125f);
}

static void
run_sgd_bf16(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    skn_noise_t noise = noise_of(x);
    kernels->sgd_row_bf16(x->half, x->a, n, 0.01f, 0.125f, &noise);
}

static void
run_to_bf16(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->f32_to_bf16(x->half, x->a, n);
}

/* Nearest, ties to even, in whole numbers. */
static uint16_t
nearest_half(float x)
{
    uint32_t bits = oracle_bits(x);
    uint32_t below = bits & 0xffffu, half = bits >> 16;
    if (isnan(x))
        return (uint16_t)(half | 0x40u);
    if (below > 0x8000u || (below == 0x8000u && (half & 1)))
        half++;
    return (uint16_t)half;
}

static double
want_to_bf16(const arrays_t *old, size_t i)
{
    return (double)oracle_of_bf16(nearest_half(old->a[i]));
}

static void
run_to_bf16_random(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    skn_noise_t noise = noise_of(x);
    kernels->f32_to_bf16_random(x->half, x->a, n, &noise);
}

static void
run_of_bf16(const skn_kernels_t *kernels, const arrays_t *x, size_t n)
{
    kernels->bf16_to_f32(x->out, x->half_in, n);
}

static double
want_of_bf16(const arrays_t *old, size_t i)
{
    return (double)oracle_of_bf16(old->half_in[i]);
}

static const subject_t subjects[] = {
    { "axpy", run_axpy, NULL, false, false, false },
    { "scale", run_scale, want_scale, false, false, false },
    { "add", run_add, want_add, false, false, false },
    { "add in place", run_add_in_place, want_add_in_place, false, false,
      false },
    { "mul", run_mul, want_mul, false, false, false },
    { "exp_weight_sum", run_exp, NULL, false, false, false },
    { "exp of ones", run_exp_of_ones, NULL, false, false, false },
    { "exp_each", run_exp_each, NULL, false, false, false },
    { "exp_each in bf16", run_exp_each_bf16, NULL, false, true, false },
    { "raise", run_raise, want_raise, false, false, false },
    { "sigmoid_weight", run_sigmoid, NULL, false, false, false },
    { "relu", run_relu, want_relu, false, false, false },
    { "relu_mask_mul", run_relu_mask, want_relu_mask, false, false, false },
    { "dropout", run_dropout, NULL, true, false, false },
    { "gather_add", run_gather, NULL, false, false, false },
    { "adam_row", run_adam, NULL, false, false, true },
    { "adagrad_row", run_adagrad, NULL, false, false, false },
    { "sgd_row", run_sgd, NULL, false, false, false },
    { "sgd_row_bf16", run_sgd_bf16, NULL, true, true, true },
    { "f32_to_bf16", run_to_bf16, want_to_bf16, false, true, false },
    { "f32_to_bf16_random", run_to_bf16_random, NULL, true, true, false },
    { "bf16_to_f32", run_of_bf16, want_of_bf16, false, false, false },
};
#define SUBJECT_COUNT (sizeof(subjects) / sizeof(subjects[0]))

/* --- the arrays ----------------------------------------------------------- */

static const uint32_t special_bits[] = {
    0x00000000u, 0x80000000u, /* zeros */
    0x00000001u, 0x80000001u, /* the least denormals */
    0x007fffffu, 0x807fffffu, /* the greatest ones */
    0x00800000u, 0x80800000u, /* the least normal numbers */
    0x7f7fffffu, 0xff7fffffu, /* the greatest finite numbers */
    0x7f800000u, 0xff800000u, /* infinities */
    0x7fc00000u, 0xffc12345u, /* quiet not-a-numbers */
    0x3f800000u, 0xbf800000u, /* ones */
    0x3f808000u, 0x3f818000u, /* halfway between two bf16 numbers */
    0x7f7f8000u, 0xff7fffffu, /* that bf16 rounds to infinity */
};
#define SPECIAL_COUNT (sizeof(special_bits) / sizeof(special_bits[0]))

/* The values at global column `column` of array number `which`: the same in
 * every slice. Every fourth is special unless the kernel is tame. */
static float
value_at(const subject_t *subject, uint32_t which, uint32_t column)
{
    skn_philox_t random = skn_philox_at(which, column, 1);
    bool special = !subject->tame && random.word[1] % 4 == 0;
    if (special)
        return oracle_of_bits(special_bits[random.word[2] % SPECIAL_COUNT]);
    float x = 4 * skn_philox_unit(random.word[0]) - 2;
    return which == 2 && subject->tame ? fabsf(x) : x; /* v is a square */
}

typedef struct memory {
    _Alignas(64) float out[ROOM], m[ROOM], v[ROOM], a[2 * ROOM];
    _Alignas(64) uint16_t half[ROOM], half_in[ROOM];
} memory_t;

/* Fills the slice [first, first + n) of every array, guards around it. */
static arrays_t
arrays_fill(memory_t *memory, const subject_t *subject, uint32_t first,
            size_t n, size_t shift)
{
    float *b = memory->a + ROOM + shift;
    arrays_t arrays = { memory->out + shift,     memory->m + shift,
                        memory->v + shift,       memory->half + shift,
                        memory->a + shift,       b,
                        memory->half_in + shift, first };
    for (size_t k = 0; k < ROOM; k++) {
        memory->out[k] = memory->m[k] = memory->v[k] = oracle_of_bits(GUARD);
        memory->half[k] = GUARD_HALF;
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t column = first + (uint32_t)k;
        arrays.out[k] = value_at(subject, 0, column);
        arrays.m[k] = value_at(subject, 1, column);
        arrays.v[k] = value_at(subject, 2, column);
        memory->a[shift + k] = value_at(subject, 3, column);
        b[k] = value_at(subject, 4, column);
        memory->half_in[shift + k] =
            (uint16_t)(oracle_bits(value_at(subject, 5, column)) >> 16);
        memory->half[shift + k] =
            (uint16_t)(oracle_bits(value_at(subject, 6, column)) >> 16);
    }
    return arrays;
}

static bool
same_float(float a, float b)
{
    return oracle_bits(a) == oracle_bits(b) || (isnan(a) && isnan(b));
}

static bool
same_half(uint16_t a, uint16_t b)
{
    return a == b || (isnan(oracle_of_bf16(a)) && isnan(oracle_of_bf16(b)));
}

/* Nothing beside [shift, shift + n) was written. */
static bool
guards_stand(const memory_t *memory, size_t n, size_t shift)
{
    for (size_t k = 0; k < ROOM; k++) {
        if (k >= shift && k < shift + n)
            continue;
        if (oracle_bits(memory->out[k]) != GUARD ||
            oracle_bits(memory->m[k]) != GUARD ||
            oracle_bits(memory->v[k]) != GUARD || memory->half[k] != GUARD_HALF)
            return false;
    }
    return true;
}

static memory_t whole, part;

/* Is the slice [first, first + n), alone and shifted, what it is in whole? */
static bool
slice_agrees(const skn_kernels_t *kernels, const subject_t *subject,
             uint32_t first, size_t n, size_t shift)
{
    arrays_t got = arrays_fill(&part, subject, first, n, shift);
    subject->run(kernels, &got, n);
    if (!guards_stand(&part, n, shift))
        return false;
    for (size_t k = 0; k < n; k++)
        if (!same_float(got.out[k], whole.out[first + k]) ||
            !same_float(got.m[k], whole.m[first + k]) ||
            !same_float(got.v[k], whole.v[first + k]) ||
            !same_half(got.half[k], whole.half[first + k]))
            return false;
    return true;
}

Test(contract_kernels, an_element_is_the_same_in_every_slice)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        const subject_t *subject = &subjects[s];
        arrays_t all = arrays_fill(&whole, subject, 0, COUNT_MAX, 0);
        subject->run(kernels, &all, COUNT_MAX);
        cr_assert(guards_stand(&whole, COUNT_MAX, 0), "%s %s", kernels->isa,
                  subject->name);
        uint32_t step = subject->noise ? NOISE_STEP : 1;
        for (uint32_t first = 0; first < COUNT_MAX; first += step)
            for (size_t n = 0; n <= COUNT_MAX - first; n++)
                cr_assert(slice_agrees(kernels, subject, first, n,
                                       (first * 7 + n) % LANES_MAX),
                          "%s %s: [%u, %u)", kernels->isa, subject->name, first,
                          first + (unsigned)n);
    }
}

Test(contract_kernels, every_length_works_at_every_alignment)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        arrays_t all = arrays_fill(&whole, &subjects[s], 0, COUNT_MAX, 0);
        subjects[s].run(kernels, &all, COUNT_MAX);
        for (size_t shift = 0; shift < LANES_MAX; shift++)
            for (size_t n = 0; n <= COUNT_MAX; n++)
                cr_assert(slice_agrees(kernels, &subjects[s], 0, n, shift),
                          "%s %s: n %zu, shifted by %zu", kernels->isa,
                          subjects[s].name, n, shift);
    }
}

Test(contract_kernels, special_numbers_are_taken_as_the_definition_says)
{
    static memory_t before;
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        const subject_t *subject = &subjects[s];
        if (!subject->want)
            continue;
        arrays_t old = arrays_fill(&before, subject, 0, COUNT_MAX, 3);
        arrays_t got = arrays_fill(&part, subject, 0, COUNT_MAX, 3);
        subject->run(kernels, &got, COUNT_MAX);
        for (size_t k = 0; k < COUNT_MAX; k++) {
            float value =
                subject->half ? oracle_of_bf16(got.half[k]) : got.out[k];
            float want = (float)subject->want(&old, k);
            cr_assert(same_float(value, want) || (value == 0 && want == 0),
                      "%s %s, element %zu: got %.9g (%08x), want %.9g",
                      kernels->isa, subject->name, k, (double)value,
                      oracle_bits(value), (double)want);
        }
    }
}

/* A fused product and sum, or a rounded product: both are axpy. */
Test(contract_kernels, axpy_of_special_numbers_is_one_of_two)
{
    static memory_t before;
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    {
        arrays_t old = arrays_fill(&before, &subjects[0], 0, COUNT_MAX, 1);
        arrays_t got = arrays_fill(&part, &subjects[0], 0, COUNT_MAX, 1);
        run_axpy(kernels, &got, COUNT_MAX);
        for (size_t k = 0; k < COUNT_MAX; k++) {
            float product = FACTOR * old.a[k];
            float two_steps = old.out[k] + product;
            float one_step = fmaf(FACTOR, old.a[k], old.out[k]);
            cr_assert(same_float(got.out[k], two_steps) ||
                          same_float(got.out[k], one_step),
                      "%s, element %zu: %.9g", kernels->isa, k,
                      (double)got.out[k]);
        }
    }
}

/* --- those that answer with one value ------------------------------------- */

Test(contract_kernels, reductions_do_not_look_beside_their_slice)
{
    const skn_kernels_t *kernels;
    static const subject_t tame = { .name = "reduction", .tame = true };
    EACH_VARIANT(kernels)
    for (size_t shift = 0; shift < LANES_MAX; shift++)
        for (size_t n = 0; n <= COUNT_MAX; n++) {
            arrays_t x = arrays_fill(&part, &tame, 0, n, shift);
            /* Beside `out` stand not-a-numbers; beside `a`, old values. */
            double squares = 0;
            float greatest = -INFINITY;
            size_t above = 0;
            uint32_t index[COUNT_MAX + 1];
            for (size_t k = 0; k < n; k++) {
                squares += (double)x.out[k] * (double)x.out[k];
                greatest = fmaxf(greatest, x.out[k]);
                above += x.out[k] > 0.25f;
            }
            cr_assert(kernels->finite_all(x.out, n), "%s %zu", kernels->isa, n);
            cr_assert_eq(kernels->row_max(x.out, n), greatest);
            double sum = kernels->sum_squares(x.out, n);
            cr_assert(fabs(sum - squares) <=
                      64 * (double)FLT_EPSILON * squares);
            index[above] = 12345;
            cr_assert_eq(kernels->above(x.out, n, 0.25f, index), above);
            cr_assert(above == 0 || above == n || index[above] == 12345u,
                      "%s: written behind its room", kernels->isa);
        }
}

Test(contract_kernels, one_special_number_anywhere_decides_a_reduction)
{
    const skn_kernels_t *kernels;
    static const subject_t tame = { .name = "reduction", .tame = true };
    EACH_VARIANT(kernels)
    for (size_t n = 1; n <= COUNT_MAX; n++)
        for (size_t at = 0; at < n; at++) {
            arrays_t x = arrays_fill(&part, &tame, 0, n, n % LANES_MAX);
            uint32_t index[COUNT_MAX];
            x.out[at] = INFINITY;
            cr_assert(!kernels->finite_all(x.out, n));
            cr_assert_eq(kernels->row_max(x.out, n), INFINITY);
            cr_assert(isinf(kernels->sum_squares(x.out, n)));
            cr_assert_eq(kernels->above(x.out, n, FLT_MAX, index), 1u);
            cr_assert_eq(index[0], at);
            cr_assert(isinf(kernels->softplus_sum(x.out, NULL, n)));
            x.out[at] = NAN;
            cr_assert(!kernels->finite_all(x.out, n));
            cr_assert(!isnan(kernels->row_max(x.out, n)));
            cr_assert(isnan(kernels->sum_squares(x.out, n)));
            cr_assert(isnan(kernels->dot(x.out, x.a, n)));
            cr_assert(isnan(kernels->softplus_sum(x.out, NULL, n)));
            cr_assert_eq(kernels->above(x.out, n, FLT_MAX, index), 0u);
        }
}

Test(contract_kernels, errno_stays_as_it_was)
{
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        arrays_t x = arrays_fill(&part, &subjects[s], 0, COUNT_MAX, 5);
        errno = ENOTTY;
        subjects[s].run(kernels, &x, COUNT_MAX);
        cr_expect_eq(errno, ENOTTY, "%s %s", kernels->isa, subjects[s].name);
    }
}

/* --- rounding to 16 bits -------------------------------------------------- */

/* Every bf16 number, and what lies just below, at and above each halfway. */
Test(contract_kernels, all_of_bf16_rounds_to_nearest)
{
    static const uint32_t below[] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff };
    static float from[65536];
    static uint16_t to[65536];
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (size_t k = 0; k < sizeof(below) / sizeof(below[0]); k++) {
        for (uint32_t half = 0; half < 65536; half++)
            from[half] = oracle_of_bits(half << 16 | below[k]);
        kernels->f32_to_bf16(to, from, 65536);
        for (uint32_t half = 0; half < 65536; half++)
            cr_assert(same_half(to[half], nearest_half(from[half])),
                      "%s: %08x gives %04x", kernels->isa,
                      oracle_bits(from[half]), to[half]);
    }
}

/* Down or up, nothing else, and up as often as the distance says. */
Test(contract_kernels, random_rounding_gives_one_of_two_neighbours)
{
    static float from[65536];
    static uint16_t to[65536];
    const skn_kernels_t *kernels;
    EACH_VARIANT(kernels)
    for (uint32_t below = 0; below < 65536; below += 4681) {
        skn_noise_t noise = { .key = below, .stream = 1, .row = 2 };
        size_t up = 0, finite = 0;
        for (uint32_t half = 0; half < 65536; half++)
            from[half] = oracle_of_bits(half << 16 | below);
        kernels->f32_to_bf16_random(to, from, 65536, &noise);
        for (uint32_t half = 0; half < 65536; half++) {
            if (isnan(from[half])) {
                cr_assert(isnan(oracle_of_bf16(to[half])));
                continue;
            }
            if (isinf(from[half])) {
                cr_assert_eq(to[half], half);
                continue;
            }
            cr_assert(to[half] == half || (to[half] == half + 1 && below > 0),
                      "%s: %08x gives %04x", kernels->isa,
                      oracle_bits(from[half]), to[half]);
            up += to[half] != half;
            finite++;
        }
        /* Six standard deviations of a binomial. */
        double chance = below / 65536.0, n = (double)finite;
        cr_assert(fabs((double)up - n * chance) <=
                      6 * sqrt(n * chance * (1 - chance)) + 1,
                  "%s: %zu of %zu go up, %g expected", kernels->isa, up, finite,
                  n * chance);
    }
}

/* What one instruction set rounds at random, all round so: a model must not
 * depend on the machine. */
Test(contract_kernels, random_bits_are_the_same_on_every_variant)
{
    const skn_kernels_t *kernels, *scalar = skn_kernels_named("scalar");
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        const subject_t *subject = &subjects[s];
        if (!subject->noise)
            continue;
        arrays_t want = arrays_fill(&whole, subject, 16, COUNT_MAX, 0);
        subject->run(scalar, &want, COUNT_MAX);
        EACH_VARIANT(kernels)
        {
            arrays_t got = arrays_fill(&part, subject, 16, COUNT_MAX, 0);
            subject->run(kernels, &got, COUNT_MAX);
            for (size_t k = 0; k < COUNT_MAX; k++) {
                cr_assert(same_half(got.half[k], want.half[k]), "%s %s %zu",
                          kernels->isa, subject->name, k);
                cr_assert(same_float(got.out[k], want.out[k]), "%s %s %zu",
                          kernels->isa, subject->name, k);
            }
        }
    }
}
