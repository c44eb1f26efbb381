/* test_payload.c - tests the layout, holders, pools and end of payloads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/sample_messages.h"
#include "transport/message/payload.h"

/* Rooms of `every`, in the order of its fields: title blob half unit note
 * stamp value norm. */
#define ROOM_COUNT 8
#define MIB ((size_t)1 << 20)

static skn_pool_t *
pool_of(size_t idle_bytes_max)
{
    skn_error_t error = { SKN_OK, "", "" };
    skn_pool_t *pool = skn_pool_new(idle_bytes_max, &error);
    cr_assert(pool, "%s", error.text);
    return pool;
}

static activation_t *
activation_of(skn_pool_t *pool, size_t value_count)
{
    skn_error_t error = { SKN_OK, "", "" };
    activation_t *activation =
        skn_payload_new(pool, &activation_schema, &value_count, &error);
    cr_assert(activation, "%s", error.text);
    return activation;
}

static bool
is_aligned(const void *at, size_t bytes)
{
    return (uintptr_t)at % bytes == 0;
}

Test(payload, a_new_message_is_zeroed_and_has_the_room_asked_for)
{
    skn_pool_t *pool = pool_of(MIB);
    size_t counts[ROOM_COUNT] = { 12, 9, 10, 11, 300, 12, 13, 14 };
    for (int round = 0; round < 3; round++) {
        every_t *every = skn_payload_new(pool, &every_schema, counts, NULL);
        cr_assert(every);
        cr_assert_eq(every->shard, 0);
        cr_assert_eq(every->batch, 0);
        cr_assert_eq(every->loss, 0.0);
        cr_assert_null(every->rows);
        cr_assert_str_empty(every->title);
        cr_assert_str_empty(every->note);
        cr_assert_eq(every->blob.count, 9);
        cr_assert_eq(every->half.count, 10);
        cr_assert_eq(every->unit.count, 11);
        cr_assert_eq(every->stamp.count, 12);
        cr_assert_eq(every->value.count, 13);
        cr_assert_eq(every->norm.count, 14);
        /* All of it can be written: the address sanitizer looks on. */
        memset((char *)(uintptr_t)every->title, 'x', 12);
        memset((char *)(uintptr_t)every->note, 'y', 300);
        memset(every->blob.at, 1, 9);
        memset(every->half.at, 2, 10 * 2);
        memset(every->unit.at, 3, 11 * 4);
        memset(every->stamp.at, 4, 12 * 8);
        memset(every->value.at, 5, 13 * 4);
        memset(every->norm.at, 6, 14 * 8);
        every->shard = 7;
        every->rows = every;
        /* Nothing overlaps. */
        cr_assert_eq(strlen(every->title), 12);
        cr_assert_eq(strlen(every->note), 300);
        cr_assert_eq(every->blob.at[8], 1);
        cr_assert_eq(every->half.at[9], 0x0202);
        cr_assert_eq(every->unit.at[10], 0x03030303);
        cr_assert_eq(every->norm.count, 14);
        skn_payload_drop(every);
    }
    skn_pool_destroy(&pool);
    cr_assert_null(pool);
}

Test(payload, runs_start_at_cache_lines_for_every_count)
{
    skn_pool_t *pool = pool_of(MIB);
    for (size_t n = 0; n <= 9; n++) {
        size_t counts[ROOM_COUNT] = { n, n, n, n * 37, n, n, n * 61, n };
        every_t *every = skn_payload_new(pool, &every_schema, counts, NULL);
        cr_assert(every);
        cr_assert(is_aligned(every, SKN_RUN_ALIGN_BYTES));
        cr_assert(is_aligned(every->blob.at, SKN_RUN_ALIGN_BYTES));
        cr_assert(is_aligned(every->half.at, SKN_RUN_ALIGN_BYTES));
        cr_assert(is_aligned(every->unit.at, SKN_RUN_ALIGN_BYTES));
        cr_assert(is_aligned(every->stamp.at, SKN_RUN_ALIGN_BYTES));
        cr_assert(is_aligned(every->value.at, SKN_RUN_ALIGN_BYTES));
        cr_assert(is_aligned(every->norm.at, SKN_RUN_ALIGN_BYTES));
        skn_payload_drop(every);
    }
    skn_pool_destroy(&pool);
}

Test(payload, no_counts_means_no_room)
{
    skn_pool_t *pool = pool_of(MIB);
    every_t *every = skn_payload_new(pool, &every_schema, NULL, NULL);
    cr_assert(every);
    cr_assert_str_empty(every->title);
    cr_assert_eq(every->value.count, 0);
    stop_t *stop = skn_payload_new(pool, &stop_schema, NULL, NULL);
    cr_assert(stop);
    cr_assert_eq(skn_payload_of(stop)->schema, &stop_schema);
    skn_payload_drop(stop);
    skn_payload_drop(every);
    skn_pool_destroy(&pool);
}

Test(payload, the_header_knows_the_schema_and_starts_at_zero)
{
    skn_pool_t *pool = pool_of(MIB);
    activation_t *activation = activation_of(pool, 5);
    skn_payload_t *payload = skn_payload_of(activation);
    cr_assert_eq(payload->schema, &activation_schema);
    cr_assert_eq(payload->from, 0);
    cr_assert_eq(payload->sequence, 0);
    cr_assert_eq(payload->sent_ns, 0);
    payload->from = 9;
    payload->sequence = 77;
    skn_payload_drop(activation);
    activation_t *again = activation_of(pool, 5);
    cr_assert_eq(again, activation, "the block is used again");
    cr_assert_eq(payload->from, 0);
    cr_assert_eq(payload->sequence, 0);
    skn_payload_drop(again);
    skn_pool_destroy(&pool);
}

Test(payload, a_count_over_its_limit_is_refused)
{
    skn_pool_t *pool = pool_of(MIB);
    size_t limits[ROOM_COUNT] = { 12, 9, 10, 65536, 300, 12, 65536, 14 };
    const char *names[ROOM_COUNT] = { "title", "blob",  "half",  "unit",
                                      "note",  "stamp", "value", "norm" };
    for (size_t k = 0; k < ROOM_COUNT; k++) {
        size_t counts[ROOM_COUNT] = { 0 };
        skn_error_t error = { SKN_OK, "", "" };
        counts[k] = limits[k];
        void *message = skn_payload_new(pool, &every_schema, counts, &error);
        cr_assert(message, "%s", error.text);
        skn_payload_drop(message);
        char want[SKN_ERROR_TEXT_BYTES];
        (void)snprintf(want, sizeof(want),
                       "every.%s has %zu items, at most %zu allowed", names[k],
                       limits[k] + 1, limits[k]);
        counts[k] = limits[k] + 1;
        cr_assert_null(skn_payload_new(pool, &every_schema, counts, &error));
        cr_assert_eq(error.status, SKN_BAD_MESSAGE);
        cr_assert_str_eq(error.text, want);
        counts[k] = SIZE_MAX;
        cr_assert_null(skn_payload_new(pool, &every_schema, counts, NULL));
    }
    skn_pool_destroy(&pool);
}

Test(payload, held_by_several_it_goes_home_with_the_last)
{
    skn_pool_t *pool = pool_of(MIB);
    skn_pool_counts_t counts;
    activation_t *activation = activation_of(pool, 100);
    activation->value.at[99] = 1.5f;
    cr_assert_eq(skn_payload_keep(activation), activation);
    skn_payload_keep_many(activation, 3);
    skn_payload_keep_many(activation, 0);
    for (int holder = 0; holder < 4; holder++) {
        skn_payload_drop(activation);
        skn_pool_collect(pool);
        skn_pool_count(pool, &counts);
        cr_assert_eq(counts.out, 1);
        cr_assert_eq(activation->value.at[99], 1.5f);
    }
    skn_payload_drop(activation);
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.out, 0);
    cr_assert_eq(counts.idle_bytes, counts.total_bytes);
    skn_pool_destroy(&pool);
}

Test(payload, dropping_nothing_is_allowed)
{
    skn_payload_drop(NULL);
    skn_pool_t *pool = NULL;
    skn_pool_destroy(&pool);
}

Test(payload, blocks_are_used_again_and_counted)
{
    skn_pool_t *pool = pool_of(MIB);
    skn_pool_counts_t counts;
    for (int round = 0; round < 1000; round++) {
        activation_t *one = activation_of(pool, 1000);
        activation_t *two = activation_of(pool, 1000);
        skn_payload_drop(one);
        skn_payload_drop(two);
    }
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.allocated, 2);
    cr_assert_eq(counts.reused, 1998);
    cr_assert_eq(counts.freed, 0);
    skn_pool_destroy(&pool);
}

Test(payload, every_size_has_a_block_with_little_waste)
{
    skn_pool_t *pool = pool_of(0);
    for (size_t count = 0; count < 3 * MIB; count += 1 + count / 7) {
        skn_pool_counts_t counts;
        activation_t *activation = activation_of(pool, count);
        size_t used_bytes = skn_payload_of(activation)->used_bytes;
        memset(activation->value.at, 0xff, count * sizeof(float));
        skn_pool_count(pool, &counts);
        cr_assert_geq(counts.total_bytes, used_bytes);
        cr_assert(counts.total_bytes <= 256 ||
                      counts.total_bytes < used_bytes + used_bytes / 2 + 1,
                  "%zu bytes take %zu", used_bytes, counts.total_bytes);
        skn_payload_drop(activation);
        skn_pool_collect(pool);
        skn_pool_count(pool, &counts);
        cr_assert_eq(counts.total_bytes, 0);
    }
    skn_pool_destroy(&pool);
}

Test(payload, large_blocks_start_at_huge_pages)
{
    skn_pool_t *pool = pool_of(0);
    for (size_t bytes = SKN_PAYLOAD_HUGE_BYTES; bytes < 40 * MIB;
         bytes += 7 * MIB / 2) {
        activation_t *activation = activation_of(pool, bytes / 4);
        cr_assert(is_aligned(skn_payload_of(activation), 2 * MIB));
        activation->value.at[0] = 1;
        activation->value.at[bytes / 4 - 1] = 2;
        skn_payload_drop(activation);
    }
    skn_pool_destroy(&pool);
}

Test(payload, no_more_than_the_cap_stays_idle)
{
    skn_pool_t *pool = pool_of(10 * 4096);
    activation_t *held[30];
    skn_pool_counts_t counts;
    for (int k = 0; k < 30; k++) /* 4096-byte blocks */
        held[k] = activation_of(pool, 960);
    for (int k = 0; k < 30; k++)
        skn_payload_drop(held[k]);
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.idle_bytes, 10 * 4096);
    cr_assert_eq(counts.total_bytes, 10 * 4096);
    cr_assert_eq(counts.freed, 20);
    cr_assert_eq(counts.out, 0);
    skn_pool_destroy(&pool);
}

Test(payload, a_new_size_takes_the_place_of_old_ones)
{
    skn_pool_t *pool = pool_of(4 * MIB);
    skn_pool_counts_t counts;
    skn_payload_drop(activation_of(pool, 3 * MIB / 4));
    skn_pool_collect(pool);
    for (int round = 0; round < 10; round++)
        skn_payload_drop(activation_of(pool, 5 * MIB / 16));
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.allocated, 2);
    cr_assert_eq(counts.reused, 9);
    cr_assert_leq(counts.idle_bytes, 4 * MIB);
    skn_pool_destroy(&pool);
}

Test(payload, messages_outlive_their_pool)
{
    for (int late_count = 0; late_count <= 4; late_count++) {
        skn_pool_t *pool = pool_of(MIB);
        activation_t *held[8];
        for (int k = 0; k < 8; k++) {
            held[k] = activation_of(pool, 10u << k);
            held[k]->value.at[0] = (float)k;
        }
        for (int k = late_count; k < 8; k++)
            skn_payload_drop(held[k]);
        skn_pool_destroy(&pool);
        for (int k = 0; k < late_count; k++) {
            cr_assert_eq(held[k]->value.at[0], (float)k);
            skn_payload_drop(held[k]);
        }
    }
}

Test(payload, small_dropped_messages_return_together)
{
    skn_pool_t *pool = pool_of(MIB);
    skn_pool_counts_t counts;
    skn_payload_returns_t returns = { 0 };
    void *small[3];
    for (size_t k = 0; k < 3; k++)
        small[k] = activation_of(pool, 5);
    void *large = activation_of(pool, 1000);
    (void)skn_payload_keep(small[1]);
    for (size_t k = 0; k < 3; k++)
        skn_payload_drop_into(&returns, small[k]);
    skn_payload_drop_into(&returns, large);
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_expect_eq(counts.out, 3); /* all but the large one */
    skn_payload_return_all(&returns);
    skn_payload_return_all(&returns); /* there is nothing more */
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_expect_eq(counts.out, 1); /* the one that is still held */
    skn_payload_drop(small[1]);
    skn_pool_destroy(&pool);
}

Test(payload, messages_of_several_pools_return_each_to_its_own)
{
    skn_pool_t *pools[2] = { pool_of(MIB), pool_of(MIB) };
    skn_pool_counts_t counts;
    skn_payload_returns_t returns = { 0 };
    for (size_t k = 0; k < 8; k++)
        skn_payload_drop_into(&returns, activation_of(pools[k / 2 % 2], 5));
    skn_payload_return_all(&returns);
    for (size_t k = 0; k < 2; k++) {
        skn_pool_collect(pools[k]);
        skn_pool_count(pools[k], &counts);
        cr_expect_eq(counts.out, 0);
        skn_payload_drop_into(&returns, activation_of(pools[k], 5));
    }
    for (size_t k = 0; k < 2; k++)
        skn_pool_destroy(&pools[k]);
    skn_payload_return_all(&returns); /* its pool has ended */
}

Test(payload, a_copy_is_equal_and_apart)
{
    skn_pool_t *pool = pool_of(MIB);
    uint8_t blob[] = { 1, 2, 3 };
    uint16_t half[] = { 4, 5 };
    uint32_t unit[] = { 6 };
    uint64_t stamp[] = { 7, 8 };
    float value[] = { 0.5f, -0.0f, 3.25f };
    double norm[] = { 1e300 };
    char title[] = "a title";
    every_t mine = { .shard = 4000,
                     .batch = UINT64_MAX,
                     .loss = -1.5,
                     .title = title,
                     .rows = unit,
                     .blob = { blob, 3 },
                     .half = { half, 2 },
                     .unit = { unit, 1 },
                     .note = "",
                     .stamp = { stamp, 2 },
                     .value = { value, 3 },
                     .norm = { norm, 1 } };
    every_t *copy = skn_payload_copy(pool, &every_schema, &mine, NULL);
    cr_assert(copy);
    title[0] = 'X';
    blob[0] = 99;
    cr_assert_eq(copy->shard, 4000);
    cr_assert_eq(copy->batch, UINT64_MAX);
    cr_assert_eq(copy->loss, -1.5);
    cr_assert_str_eq(copy->title, "a title");
    cr_assert_eq(copy->rows, (void *)unit);
    cr_assert_eq(copy->blob.count, 3);
    cr_assert_eq(copy->blob.at[0], 1);
    cr_assert_eq(copy->half.at[1], 5);
    cr_assert_eq(copy->unit.at[0], 6);
    cr_assert_str_empty(copy->note);
    cr_assert_eq(copy->stamp.at[1], 8);
    cr_assert_arr_eq(copy->value.at, value, sizeof(value));
    cr_assert_eq(copy->norm.at[0], 1e300);
    skn_payload_drop(copy);
    skn_pool_destroy(&pool);
}

Test(payload, a_text_that_was_set_to_null_is_refused)
{
    const size_t counts[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    skn_pool_t *pool = pool_of(MIB);
    skn_error_t error = { SKN_OK, "", "" };
    every_t *every = skn_payload_new(pool, &every_schema, counts, &error);
    cr_assert(every, "%s", error.text);
    cr_expect_eq(skn_payload_check(every, &error), SKN_OK);
    every->title = NULL;
    cr_expect_eq(skn_payload_check(every, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "every.title is NULL and must be a text");
    skn_payload_drop(every);
    skn_pool_destroy(&pool);
}

Test(payload, a_copy_refuses_what_points_nowhere)
{
    skn_pool_t *pool = pool_of(MIB);
    skn_error_t error = { SKN_OK, "", "" };
    every_t mine = { .title = NULL, .note = "" };
    cr_assert_null(skn_payload_copy(pool, &every_schema, &mine, &error));
    cr_assert_str_eq(error.text, "every.title is NULL and must be a text");
    mine.title = "thirteen chars";
    cr_assert_null(skn_payload_copy(pool, &every_schema, &mine, &error));
    cr_assert_str_eq(error.text,
                     "every.title has 14 items, at most 12 allowed");
    mine.title = "";
    mine.value.count = 2;
    cr_assert_null(skn_payload_copy(pool, &every_schema, &mine, &error));
    cr_assert_str_eq(error.text, "every.value has 2 items, but no memory");
    cr_assert_eq(error.status, SKN_BAD_MESSAGE);
    skn_pool_destroy(&pool);
}

#ifndef UNDER_ADDRESS_SANITIZER
Test(payload, short_memory_is_a_sentence)
{
    struct rlimit limit = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    skn_pool_t *pool = pool_of(MIB);
    skn_error_t error = { SKN_OK, "", "" };
    size_t count = (size_t)1 << 30;
    cr_assert_null(skn_payload_new(pool, &activation_schema, &count, &error));
    cr_assert_eq(error.status, SKN_NO_MEMORY);
    cr_assert_str_eq(error.text, "activation: no memory for a message of "
                                 "4294967424 bytes");
    skn_payload_drop(activation_of(pool, 10)); /* and it goes on */
    skn_pool_destroy(&pool);
}
#endif

#define FIELDS_vast(F, M)                                                      \
    F(M, u64s, a, SKN_RUN_MAX, "a")                                            \
    F(M, u64s, b, SKN_RUN_MAX, "b")                                            \
    F(M, u64s, c, SKN_RUN_MAX, "c")                                            \
    F(M, u64s, d, SKN_RUN_MAX, "d")                                            \
    F(M, u64s, e, UINT64_MAX, "beyond any limit")
SKN_MESSAGE_STRUCT(vast, FIELDS_vast)
SKN_MESSAGE_SCHEMA(vast, "vast", 5, FIELDS_vast, "larger than large")

Test(payload, an_unchecked_table_cannot_make_sizes_overflow)
{
    skn_pool_t *pool = pool_of(MIB);
    skn_error_t error = { SKN_OK, "", "" };
    size_t counts[5] = { 0, 0, 0, 0, SIZE_MAX / 8 };
    cr_assert_null(skn_payload_new(pool, &vast_schema, counts, &error));
    cr_assert_eq(error.status, SKN_BAD_MESSAGE);
    skn_pool_destroy(&pool);
}

/* --- threads: what the stress program does at length ---------------------- */

static void *
drop_all(void *held)
{
    activation_t **activation = held;
    for (; *activation; activation++)
        skn_payload_drop(*activation);
    return NULL;
}

Test(payload, other_threads_bring_messages_home)
{
    skn_pool_t *pool = pool_of(MIB);
    skn_pool_counts_t counts;
    for (int round = 0; round < 20; round++) {
        activation_t *held[33] = { NULL };
        pthread_t threads[2];
        for (int k = 0; k < 32; k++) {
            held[k] = activation_of(pool, (size_t)k * 10);
            skn_payload_keep(held[k]);
        }
        for (int k = 0; k < 2; k++)
            cr_assert_eq(pthread_create(&threads[k], NULL, drop_all, held), 0);
        for (int k = 0; k < 2; k++)
            cr_assert_eq(pthread_join(threads[k], NULL), 0);
    }
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    cr_assert_eq(counts.out, 0);
    cr_assert_eq(counts.allocated, 32);
    skn_pool_destroy(&pool);
}

/* --- holders and pools ---------------------------------------------------- */

static skn_pool_counts_t
counts_of(skn_pool_t *pool)
{
    skn_pool_counts_t counts;
    skn_pool_collect(pool);
    skn_pool_count(pool, &counts);
    return counts;
}

Test(payload, a_fan_out_goes_home_with_its_last_receiver)
{
    skn_pool_t *pool = pool_of(MIB);
    for (uint32_t more = 0; more <= 5; more++) {
        activation_t *message = activation_of(pool, 10);
        skn_payload_keep_many(message, more);
        for (uint32_t k = 0; k < more; k++) {
            skn_payload_drop(message);
            cr_expect_eq(counts_of(pool).out, 1, "%u of %u", k, more);
        }
        skn_payload_drop(message);
        cr_expect_eq(counts_of(pool).out, 0, "%u more", more);
    }
    cr_expect_eq(counts_of(pool).allocated, 1);
    cr_expect_eq(counts_of(pool).reused, 5);
    skn_pool_destroy(&pool);
}

/* Every order of four messages of two sizes; each comes back as it was. */
Test(payload, no_order_of_drops_loses_a_block)
{
    static const size_t sizes[] = { 10, 10, 3000, 3000 };
    skn_pool_t *pool = pool_of(MIB);
    for (uint32_t order = 0; order < 256; order++) {
        activation_t *held[4];
        uint32_t deferred = 0;
        for (uint32_t k = 0; k < 4; k++) {
            held[k] = activation_of(pool, sizes[k]);
            held[k]->batch = k;
        }
        for (uint32_t turn = 0; turn < 4; turn++) {
            uint32_t k = order >> (2 * turn) & 3;
            if (deferred >> k & 1)
                continue;
            cr_expect_eq(held[k]->batch, k);
            cr_expect_eq(held[k]->value.count, sizes[k]);
            skn_payload_drop(held[k]);
            deferred |= 1u << k;
        }
        for (uint32_t k = 0; k < 4; k++)
            if (!(deferred >> k & 1))
                skn_payload_drop(held[k]);
    }
    cr_expect_eq(counts_of(pool).out, 0);
    cr_expect_eq(counts_of(pool).allocated, 4);
    cr_expect_eq(counts_of(pool).reused, 4 * 255);
    cr_expect_eq(counts_of(pool).freed, 0);
    skn_pool_destroy(&pool);
}

/* The bytes that are told are those that are held, at every height. */
Test(payload, a_pool_grows_to_its_highest_water_and_stays_there)
{
    activation_t *held[40];
    skn_pool_t *pool = pool_of(MIB);
    size_t highest = 0;
    for (uint32_t height = 1; height <= 40; height++) {
        for (uint32_t k = 0; k < height; k++)
            held[k] = activation_of(pool, 100);
        skn_pool_counts_t full = counts_of(pool);
        cr_expect_eq(full.out, height);
        cr_expect_eq(full.idle_bytes, 0);
        cr_expect_gt(full.total_bytes, highest);
        highest = full.total_bytes;
        for (uint32_t k = 0; k < height; k++)
            skn_payload_drop(held[k]);
        skn_pool_counts_t empty = counts_of(pool);
        cr_expect_eq(empty.out, 0);
        cr_expect_eq(empty.idle_bytes, highest);
        cr_expect_eq(empty.total_bytes, highest);
        cr_expect_eq(empty.allocated, height);
    }
    skn_pool_destroy(&pool);
    cr_expect_null(pool);
}

#define TURNS 20000

static void *
keep_and_drop(void *message)
{
    for (int k = 0; k < TURNS; k++)
        skn_payload_drop(skn_payload_keep(message));
    skn_payload_drop(message); /* the holder that was made for this thread */
    return NULL;
}

Test(payload, holders_on_many_threads_are_counted_right)
{
    pthread_t threads[4];
    skn_pool_t *pool = pool_of(MIB);
    activation_t *message = activation_of(pool, 8);
    message->batch = 77;
    skn_payload_keep_many(message, 4);
    for (int k = 0; k < 4; k++)
        cr_assert_eq(pthread_create(&threads[k], NULL, keep_and_drop, message),
                     0);
    for (int k = 0; k < 4; k++)
        cr_assert_eq(pthread_join(threads[k], NULL), 0);
    cr_expect_eq(counts_of(pool).out, 1);
    cr_expect_eq(message->batch, 77);
    skn_payload_drop(message);
    cr_expect_eq(counts_of(pool).out, 0);
    cr_expect_eq(counts_of(pool).allocated, 1);
    skn_pool_destroy(&pool);
}

/* The owner ends first: whoever is last frees what is left. */
Test(payload, a_pool_may_end_while_others_hold_its_messages)
{
    for (int round = 0; round < 50; round++) {
        pthread_t threads[2];
        activation_t *held[17] = { NULL };
        skn_pool_t *pool = pool_of(MIB);
        for (int k = 0; k < 16; k++) {
            held[k] = activation_of(pool, (size_t)k * 100);
            skn_payload_keep(held[k]);
        }
        for (int k = 0; k < 2; k++)
            cr_assert_eq(pthread_create(&threads[k], NULL, drop_all, held), 0);
        skn_pool_destroy(&pool);
        cr_expect_null(pool);
        for (int k = 0; k < 2; k++)
            cr_assert_eq(pthread_join(threads[k], NULL), 0);
    }
}

/* A burst that came back: the pool keeps only its share of it, although every
 * message afterwards finds a block at once. */
Test(payload, after_a_burst_of_small_messages_the_pool_keeps_its_share)
{
    enum {
        BURST = 20000,
        IDLE = 64 << 10
    };
    static stop_t *burst[BURST];
    skn_pool_counts_t counts;
    skn_pool_t *pool = pool_of(IDLE);
    for (size_t k = 0; k < BURST; k++)
        cr_assert(burst[k] = skn_payload_new(pool, &stop_schema, NULL, NULL));
    for (size_t k = 0; k < BURST; k++)
        skn_payload_drop(burst[k]);
    for (size_t k = 0; k < BURST / 2; k++)
        skn_payload_drop(skn_payload_new(pool, &stop_schema, NULL, NULL));
    skn_pool_count(pool, &counts);
    cr_expect(counts.total_bytes <= 2 * IDLE, "%zu bytes", counts.total_bytes);
    skn_pool_destroy(&pool);
}
