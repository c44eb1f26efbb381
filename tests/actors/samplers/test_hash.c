/* test_hash.c - tests hash functions (actors/samplers/hash_simhash.c and
 * actors/samplers/hash_dwta.c) against their definitions, and the keys that
 * they can reach.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/tables.h"
#include "tests/support/sampler_fixture.h"

static skn_matrix_t
matrix_of(const float *x, size_t stride)
{
    return (skn_matrix_t){ .at = x, .row_stride = stride, .column_stride = 1 };
}

static void
hash_open(skn_hash_t *hash, const skn_hash_family_t *family, uint32_t tables,
          uint32_t bits, uint32_t hidden)
{
    skn_sampler_options_t options = { .kernels = skn_kernels_best(),
                                      .seed = 4,
                                      .tables = tables,
                                      .bits = bits,
                                      .hidden = hidden };
    skn_error_t error = { 0 };
    cr_assert_eq(skn_hash_init(hash, family, &options, &error), SKN_OK, "%s",
                 error.text);
}

/* --- every bucket can be reached ------------------------------------------ */

/* SLIDE's released code shifts 3-bit codes by 2 bits, and reaches 3.6% of its
 * buckets. Here random vectors reach every bucket of every table. */
static void
expect_coverage(const skn_hash_family_t *family, uint32_t bits)
{
    enum {
        TABLES = 4,
        VECTORS = 20000,
        HIDDEN = 40
    };
    skn_hash_t hash;
    oracle_random_t random = { 8 };
    float *x = oracle_floats(&random, VECTORS * (HIDDEN + 1), 1);
    uint32_t *key = malloc(VECTORS * TABLES * sizeof(*key));
    hash_open(&hash, family, TABLES, bits, HIDDEN);
    size_t buckets = (size_t)1 << hash.key_bits;
    uint8_t *seen = calloc(TABLES * buckets, 1);
    skn_matrix_t matrix = matrix_of(x, HIDDEN + 1);
    cr_expect_eq(hash.key_bits, bits * family->code_bits);
    skn_hash_keys(&hash, &matrix, VECTORS, key);
    for (uint32_t k = 0; k < VECTORS * TABLES; k++) {
        cr_assert_lt(key[k], buckets);
        seen[(k % TABLES) * buckets + key[k]] = 1;
    }
    size_t reached = 0;
    for (size_t k = 0; k < TABLES * buckets; k++)
        reached += seen[k];
    cr_expect_eq(reached, TABLES * buckets, "%s, %u functions: %zu of %zu",
                 family->name, bits, reached, TABLES * buckets);
    skn_hash_fini(&hash);
    free(x);
    free(key);
    free(seen);
}

Test(hash, vectors_reach_every_bucket_of_every_table)
{
    expect_coverage(&skn_hash_simhash, 1);
    expect_coverage(&skn_hash_simhash, 8);
    expect_coverage(&skn_hash_dwta, 1);
    expect_coverage(&skn_hash_dwta, 3);
}

/* The largest key of the widest table, too: all its codes are 7. */
Test(hash, keys_of_six_winners_take_all_their_18_bits)
{
    skn_hash_t hash;
    float x[49];
    uint32_t key;
    hash_open(&hash, &skn_hash_dwta, 1, 6, 48);
    for (uint32_t k = 0; k < 49; k++)
        x[k] = 1;
    for (uint32_t bin = 0; bin < 6; bin++) /* the bins of one permutation */
        x[hash.coordinate[bin * 8 + 7]] = 2;
    skn_matrix_t matrix = matrix_of(x, 49);
    skn_hash_keys(&hash, &matrix, 1, &key);
    cr_expect_eq(key, (1u << 18) - 1);
    skn_hash_fini(&hash);
}

/* --- simhash -------------------------------------------------------------- */

static double
angle_of(const float *a, const float *b, uint32_t count)
{
    double ab = 0, aa = 0, bb = 0;
    for (uint32_t k = 0; k < count; k++) {
        ab += (double)a[k] * (double)b[k];
        aa += (double)a[k] * (double)a[k];
        bb += (double)b[k] * (double)b[k];
    }
    return acos(fmin(ab / sqrt(aa * bb), 1.0));
}

/* How many of 2000 tables of 3 planes two vectors meet in, and the angle. The
 * second is `share` of another one, and the first for the rest. */
static uint32_t
meetings(uint64_t seed, float share, double *angle)
{
    enum {
        TABLES = 2000,
        HIDDEN = 127
    };
    skn_sampler_options_t options = { .kernels = skn_kernels_best(),
                                      .seed = seed,
                                      .tables = TABLES,
                                      .bits = 3,
                                      .hidden = HIDDEN };
    oracle_random_t random = { 100 + seed };
    float *x = oracle_floats(&random, 2 * (HIDDEN + 1), 1);
    uint32_t key[2][TABLES], met = 0;
    skn_error_t error = { 0 };
    skn_hash_t hash;
    cr_assert_eq(skn_hash_init(&hash, &skn_hash_simhash, &options, &error),
                 SKN_OK);
    for (uint32_t k = 0; k <= HIDDEN; k++)
        x[HIDDEN + 1 + k] = share * x[HIDDEN + 1 + k] + (1 - share) * 2 * x[k];
    skn_matrix_t matrix = matrix_of(x, HIDDEN + 1);
    skn_hash_keys(&hash, &matrix, 2, key[0]);
    for (uint32_t t = 0; t < TABLES; t++)
        met += key[0][t] == key[1][t];
    *angle = angle_of(x, x + HIDDEN + 1, HIDDEN + 1);
    skn_hash_fini(&hash);
    free(x);
    return met;
}

/* Over 16 pairs of vectors for each share: 32000 tables. */
Test(hash, simhash_collides_as_often_as_the_angle_says)
{
    for (int step = 0; step <= 8; step++) {
        double want = 0, variance = 0, met = 0;
        for (uint64_t seed = 1; seed <= 16; seed++) {
            double angle;
            met += meetings(seed, (float)step / 8, &angle);
            double p = pow(1 - angle / 3.14159265358979, 3);
            want += 2000 * p;
            variance += 2000 * p * (1 - p);
        }
        cr_expect_lt(fabs(met - want), 3 * sqrt(variance) + 1e-9,
                     "share %d / 8: %.0f, want %.1f +- %.1f", step, met, want,
                     sqrt(variance));
    }
}

Test(hash, planes_of_simhash_take_a_third_of_the_coordinates)
{
    skn_hash_t hash;
    uint32_t touched[31] = { 0 }, plus = 0;
    hash_open(&hash, &skn_hash_simhash, 40, 9, 30);
    for (uint32_t i = 0; i < 360; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < 31; k++) {
            float sign = hash.direction[i * hash.direction_stride + k];
            cr_expect(sign == 0 || sign == 1 || sign == -1);
            count += sign != 0;
            plus += sign > 0;
            touched[k] += sign != 0;
        }
        cr_expect_eq(count, 11);
    }
    for (uint32_t k = 0; k < 31; k++) /* 360 x 11/31, 4 deviations */
        cr_expect_lt(fabs(touched[k] - 127.7), 4 * 9.1);
    cr_expect_lt(fabs(plus - 1980.0), 4 * 31.5);
    skn_hash_fini(&hash);
}

Test(hash, simhash_is_the_same_for_vectors_of_any_length)
{
    enum {
        TABLES = 50,
        HIDDEN = 63
    };
    skn_hash_t hash;
    oracle_random_t random = { 6 };
    uint32_t key[2][TABLES];
    float *x = oracle_floats(&random, 2 * (HIDDEN + 1), 1);
    hash_open(&hash, &skn_hash_simhash, TABLES, 9, HIDDEN);
    for (uint32_t k = 0; k <= HIDDEN; k++)
        x[HIDDEN + 1 + k] = 1024 * x[k];
    skn_matrix_t matrix = matrix_of(x, HIDDEN + 1);
    skn_hash_keys(&hash, &matrix, 2, key[0]);
    cr_expect_eq(memcmp(key[0], key[1], sizeof(key[0])), 0);
    skn_hash_fini(&hash);
    free(x);
}

/* --- dwta ----------------------------------------------------------------- */

/* The definition, for one bin: the place of the greatest coordinate that is
 * not zero; 8: there is none. */
static uint32_t
winner(const skn_hash_t *hash, const float *x, uint32_t bin)
{
    uint32_t place = 8;
    for (uint32_t k = 0; k < 8; k++) {
        float value = x[hash->coordinate[bin * 8 + k]];
        if (value != 0 &&
            (place == 8 || value > x[hash->coordinate[bin * 8 + place]]))
            place = k;
    }
    return place;
}

Test(hash, dwta_is_the_place_of_the_greatest_in_each_bin)
{
    enum {
        HIDDEN = 20,
        BINS = 30
    };
    skn_hash_t hash;
    oracle_random_t random = { 15 };
    uint32_t key[BINS / 3];
    hash_open(&hash, &skn_hash_dwta, BINS / 3, 3, HIDDEN);
    for (int round = 0; round < 50; round++) {
        float *x = oracle_floats(&random, HIDDEN + 1, 1);
        for (uint32_t k = 0; k <= HIDDEN; k++)
            x[k] = oracle_next(&random) % 50 < (uint32_t)round ? 0 : x[k];
        skn_matrix_t matrix = matrix_of(x, HIDDEN + 1);
        skn_hash_keys(&hash, &matrix, 1, key);
        uint32_t full = 0, differ = 0;
        for (uint32_t bin = 0; bin < BINS; bin++) {
            uint32_t code = key[bin / 3] >> (6 - bin % 3 * 3) & 7;
            uint32_t want = winner(&hash, x, bin);
            full += want < 8;
            differ += want < 8 && code != want;
        }
        cr_expect_eq(differ, 0, "round %d", round);
        for (uint32_t bin = 0; bin < BINS && full > 0; bin++)
            if (winner(&hash, x, bin) == 8) { /* some full bin's code */
                uint32_t code = key[bin / 3] >> (6 - bin % 3 * 3) & 7;
                bool found = false;
                for (uint32_t other = 0; other < BINS; other++)
                    found = found || winner(&hash, x, other) == code;
                cr_expect(found, "bin %u has a code of nobody", bin);
            }
        free(x);
    }
    skn_hash_fini(&hash);
}

/* Where they fit: a winner in one bin says nothing of another. */
Test(hash, bins_of_a_table_share_no_coordinate)
{
    enum {
        HIDDEN = 128,
        BINS = 6
    };
    skn_hash_t hash;
    hash_open(&hash, &skn_hash_dwta, 10, BINS, HIDDEN);
    for (uint32_t table = 0; table < 10; table++) {
        uint8_t seen[HIDDEN + 1] = { 0 };
        for (uint32_t k = 0; k < BINS * 8; k++)
            cr_expect_eq(seen[hash.coordinate[table * BINS * 8 + k]]++, 0);
    }
    skn_hash_fini(&hash);
}

/* 21 coordinates make two bins a permutation, and a table needs 5. */
Test(hash, bins_hold_each_coordinate_once)
{
    enum {
        HIDDEN = 20
    };
    skn_hash_t hash;
    hash_open(&hash, &skn_hash_dwta, 10, 5, HIDDEN);
    for (uint32_t bin = 0; bin < 50; bin++) {
        uint32_t seen = 0;
        for (uint32_t k = 0; k < 8; k++)
            seen |= 1u << hash.coordinate[bin * 8 + k];
        cr_expect_eq(__builtin_popcount(seen), 8);
    }
    skn_hash_fini(&hash);
}

Test(hash, vectors_of_zeros_and_of_nan_have_the_key_0)
{
    enum {
        HIDDEN = 12
    };
    static const skn_hash_family_t *const families[] = { &skn_hash_simhash,
                                                         &skn_hash_dwta };
    for (int f = 0; f < 2; f++) {
        skn_hash_t hash;
        float x[2][HIDDEN + 1];
        uint32_t key[2][7];
        hash_open(&hash, families[f], 7, 3, HIDDEN);
        for (uint32_t k = 0; k <= HIDDEN; k++) {
            x[0][k] = 0;
            x[1][k] = NAN;
        }
        skn_matrix_t matrix = matrix_of(x[0], HIDDEN + 1);
        skn_hash_keys(&hash, &matrix, 2, key[0]);
        for (uint32_t t = 0; t < 7; t++) {
            cr_expect_eq(key[0][t], 0);
            cr_expect_eq(key[1][t], 0);
        }
        skn_hash_fini(&hash);
    }
}

/* --- both ----------------------------------------------------------------- */

/* A row is hashed alone when it changes, and in a crowd at the start. */
Test(hash, keys_do_not_depend_on_company)
{
    enum {
        TABLES = 5,
        HIDDEN = 33,
        VECTORS = 200
    };
    static const skn_hash_family_t *const families[] = { &skn_hash_simhash,
                                                         &skn_hash_dwta };
    oracle_random_t random = { 77 };
    float *x = oracle_floats(&random, VECTORS * (HIDDEN + 1), 1);
    uint32_t all[VECTORS][TABLES], one[TABLES];
    for (int f = 0; f < 2; f++) {
        skn_hash_t hash;
        hash_open(&hash, families[f], TABLES, 4, HIDDEN);
        skn_matrix_t matrix = matrix_of(x, HIDDEN + 1);
        skn_hash_keys(&hash, &matrix, VECTORS, all[0]);
        for (uint32_t k = 0; k < VECTORS; k++) {
            uint32_t index = VECTORS - 1 - k;
            skn_matrix_t single = matrix_of(x, HIDDEN + 1);
            single.row_index = &index;
            skn_hash_keys(&hash, &single, 1, one);
            cr_expect_eq(memcmp(one, all[index], sizeof(one)), 0, "%s, %u",
                         families[f]->name, index);
        }
        skn_hash_fini(&hash);
    }
    free(x);
}

Test(hash, keys_that_are_too_wide_are_refused)
{
    skn_sampler_options_t options = {
        .kernels = skn_kernels_best(), .tables = 2, .bits = 7, .hidden = 8
    };
    skn_error_t error = { 0 };
    skn_hash_t hash;
    cr_expect_eq(skn_hash_init(&hash, &skn_hash_dwta, &options, &error),
                 SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "dwta: 7 functions of 3 bits make keys of 21 "
                                 "bits, at most 20 allowed");
    cr_expect_str_eq(error.hint, "use at most 6 functions per table");
    skn_hash_fini(&hash);
    options.bits = 20;
    cr_expect_eq(skn_hash_init(&hash, &skn_hash_simhash, &options, &error),
                 SKN_OK);
    skn_hash_fini(&hash);
}

Test(hash, numbers_that_are_not_given_have_defaults)
{
    skn_sampler_options_t options = { .kernels = skn_kernels_best(),
                                      .hidden = 8 };
    skn_error_t error = { 0 };
    skn_hash_t hash;
    cr_assert_eq(skn_hash_init(&hash, &skn_hash_simhash, &options, &error),
                 SKN_OK);
    cr_expect_eq(hash.tables, 50);
    cr_expect_eq(hash.key_bits, 9);
    skn_hash_fini(&hash);
    cr_assert_eq(skn_hash_init(&hash, &skn_hash_dwta, &options, &error),
                 SKN_OK);
    cr_expect_eq(hash.key_bits, 18);
    skn_hash_fini(&hash);
}
