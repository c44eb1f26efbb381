/* stress_payload.c - exercises payloads and pools between threads, for the
 * thread sanitizer, under which Criterion does not start.
 *
 * Several makers, each with a pool of its own, hand messages through mailboxes
 * to several readers, who keep, read and drop them; makers end while their
 * messages are still out. A wrong item, a lost block or a report of the
 * sanitizer fails. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sample_messages.h"
#include "transport/message/payload.h"

#define MAKER_COUNT 2u
#define READER_COUNT 3u
#define BOX_COUNT 64u
#define MESSAGE_COUNT 20000u
#define ROUND_COUNT 5u

/* A mailbox holds one message or NULL; whoever swaps it out owns it. */
static _Atomic(activation_t *) boxes[BOX_COUNT];
static atomic_uint makers_left, wrong_count;
static atomic_ullong read_count;

static void
expect(bool holds, const char *what)
{
    if (holds)
        return;
    if (atomic_fetch_add(&wrong_count, 1) == 0)
        (void)fprintf(stderr, "stress_payload: %s\n", what);
}

/* Leaves one reference in a box; what was in there is dropped. */
static void
put(activation_t *activation, uint32_t box)
{
    skn_payload_drop(atomic_exchange_explicit(
        &boxes[box % BOX_COUNT], activation, memory_order_acq_rel));
}

static void *
make(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed;
    skn_error_t error = { SKN_OK, "", "" };
    skn_pool_t *pool = skn_pool_new((size_t)64 << 10, &error);
    expect(pool, "no pool");
    for (uint32_t k = 0; pool && k < MESSAGE_COUNT; k++) {
        state = state * 1664525u + 1013904223u;
        size_t count = 1 + (state >> 16) % 2000;
        activation_t *activation =
            skn_payload_new(pool, &activation_schema, &count, &error);
        expect(activation, error.text);
        if (!activation)
            break;
        activation->batch = k;
        activation->shard = (uint32_t)count;
        activation->value.at[0] = (float)count;
        activation->value.at[count - 1] = (float)count;
        skn_payload_keep_many(activation, 2);
        put(activation, state >> 8);
        put(activation, state >> 9);
        put(activation, state >> 10);
    }
    skn_pool_destroy(&pool); /* while many are out */
    atomic_fetch_sub(&makers_left, 1);
    return NULL;
}

static void *
take(void *seed)
{
    uint32_t box = (uint32_t)(uintptr_t)seed;
    while (atomic_load(&makers_left) > 0) {
        box = box * 1664525u + 1013904223u;
        activation_t *activation = atomic_exchange_explicit(
            &boxes[(box >> 8) % BOX_COUNT], NULL, memory_order_acq_rel);
        if (!activation)
            continue;
        skn_payload_keep(activation);
        size_t count = activation->value.count;
        expect(count == activation->shard, "the count has changed");
        expect(activation->value.at[0] == (float)count &&
                   activation->value.at[count - 1] == (float)count,
               "an item has changed");
        skn_payload_drop(activation);
        skn_payload_drop(activation);
        atomic_fetch_add_explicit(&read_count, 1, memory_order_relaxed);
    }
    return NULL;
}

static int
run_round(uint32_t round)
{
    pthread_t threads[MAKER_COUNT + READER_COUNT];
    atomic_store(&makers_left, MAKER_COUNT);
    for (uint32_t k = 0; k < MAKER_COUNT + READER_COUNT; k++) {
        uintptr_t seed = round * 100 + k + 1;
        if (pthread_create(&threads[k], NULL, k < MAKER_COUNT ? make : take,
                           (void *)seed) != 0) {
            (void)fprintf(stderr, "stress_payload: no thread\n");
            return 1;
        }
    }
    for (uint32_t k = 0; k < MAKER_COUNT + READER_COUNT; k++)
        (void)pthread_join(threads[k], NULL);
    for (uint32_t k = 0; k < BOX_COUNT; k++) /* the pools end here */
        put(NULL, k);
    return 0;
}

int
main(void)
{
    for (uint32_t round = 0; round < ROUND_COUNT; round++)
        if (run_round(round) != 0)
            return 1;
    (void)printf("%u made, %llu read, %u wrong\n",
                 ROUND_COUNT * MAKER_COUNT * MESSAGE_COUNT,
                 (unsigned long long)atomic_load(&read_count),
                 atomic_load(&wrong_count));
    return atomic_load(&wrong_count) > 0;
}
