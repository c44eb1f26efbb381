/* payload.c - messages that threads pass by pointer, and pools to make them in.
 *
 * This file owns: the layout of a payload, its count of holders, the idle lists
 * of a pool, and the return of payloads to it.
 *
 * Payloads return by a stack without locks: the thread that drops the last
 * holder pushes the payload; the owner takes the whole stack with one exchange.
 * As no thread pops a single element, the ABA problem of such stacks cannot
 * arise (the stack is that of Treiber 1986, IBM RJ 5118, pushing half only).
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/message/payload.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "skein/limits.h"
#include "transport/message/field.h"
#include "transport/message/thread_order.h"

#if defined(__SANITIZE_ADDRESS__)
#define SKN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SKN_ASAN 1
#endif
#endif
#ifdef SKN_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

/* Classes are 256, 384, 512, 768, 1024, ... bytes: at most a third is wasted.
 * 256 is the header, a struct and a short run; 66 classes end at 1.5 TiB. */
#define CLASS_BYTES_MIN UINT64_C(256)
#define CLASS_COUNT 66u
/* Payloads of more bytes return to their pool at once, because their memory is
 * worth more than the time that this takes. */
#define SMALL_BYTES_MAX 1024u

struct skn_pool {
    /* Accessed by the owner only. */
    skn_payload_t *idle[CLASS_COUNT];
    size_t idle_bytes_max;
    skn_payload_t *collected; /* taken off `returned`, and still counted out */
    skn_pool_counts_t counts;
    /* Accessed by all threads: on a cache line of its own. `returned` is the
     * stack, or &closed after the owner destroyed the pool; `late` then counts
     * the payloads that are still held. */
    _Alignas(64) _Atomic(skn_payload_t *) returned;
    _Atomic int64_t late;
};

static skn_payload_t closed;

/* --- blocks -------------------------------------------------------------- */

static size_t
class_bytes(uint32_t size_class)
{
    uint64_t bytes = size_class & 1 ? 384 : CLASS_BYTES_MIN;
    return (size_t)(bytes << (size_class / 2));
}

/* The smallest class with room for `bytes`; CLASS_COUNT or more: too large. */
static uint32_t
class_of(size_t bytes)
{
    if (bytes <= CLASS_BYTES_MIN)
        return 0;
    /* 256 * 2^power < bytes <= 512 * 2^power. */
    uint32_t power = 63u - (uint32_t)__builtin_clzll((bytes - 1) >> 8);
    return bytes <= UINT64_C(384) << power ? 2 * power + 1 : 2 * power + 2;
}

/* A map of `bytes` that starts at a huge page: one huge page more is mapped,
 * and the ends are unmapped. */
static void *
map_huge(size_t bytes)
{
    assert(bytes % SKN_HUGE_PAGE_BYTES == 0);
    size_t room_bytes = bytes + SKN_HUGE_PAGE_BYTES;
    char *map = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    size_t skip = (size_t)(-(uintptr_t)map & (SKN_HUGE_PAGE_BYTES - 1));
    if (skip > 0)
        (void)munmap(map, skip);
    if (skip < SKN_HUGE_PAGE_BYTES)
        (void)munmap(map + skip + bytes, SKN_HUGE_PAGE_BYTES - skip);
    (void)madvise(map + skip, bytes, MADV_HUGEPAGE); /* a hint: may fail */
    return map + skip;
}

static skn_payload_t *
block_new(uint32_t size_class)
{
    size_t bytes = class_bytes(size_class);
    if (bytes >= SKN_PAYLOAD_HUGE_BYTES)
        return map_huge(bytes);
    if (bytes < SKN_PAYLOAD_MAP_BYTES)
        return aligned_alloc(SKN_RUN_ALIGN_BYTES, bytes);
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

static void
block_free(skn_payload_t *payload)
{
    size_t bytes = class_bytes(payload->size_class);
    /* A later map may get the same addresses. */
    ASAN_UNPOISON_MEMORY_REGION(payload, bytes);
    if (bytes >= SKN_PAYLOAD_MAP_BYTES)
        (void)munmap(payload, bytes);
    else
        free(payload);
}

/* --- pools --------------------------------------------------------------- */

skn_pool_t *
skn_pool_new(size_t idle_bytes_max, skn_error_t *error)
{
    skn_pool_t *pool = aligned_alloc(_Alignof(skn_pool_t), sizeof(*pool));
    if (!pool) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a message pool");
        return NULL;
    }
    memset(pool, 0, sizeof(*pool));
    pool->idle_bytes_max = idle_bytes_max;
    atomic_init(&pool->returned, NULL);
    atomic_init(&pool->late, 0);
    return pool;
}

/* Owner only: frees a block. */
static void
give_back(skn_pool_t *pool, skn_payload_t *payload)
{
    assert(pool->counts.total_bytes >= class_bytes(payload->size_class));
    pool->counts.total_bytes -= class_bytes(payload->size_class);
    pool->counts.freed++;
    block_free(payload);
}

/* Owner only: puts a block into its idle list, or frees it if the lists are
 * full. */
static void
lay_idle(skn_pool_t *pool, skn_payload_t *payload)
{
    uint32_t size_class = payload->size_class;
    size_t bytes = class_bytes(size_class);
    assert(pool->counts.out > 0 &&
           pool->counts.idle_bytes <= pool->idle_bytes_max);
    pool->counts.out--;
    if (bytes > pool->idle_bytes_max - pool->counts.idle_bytes) {
        give_back(pool, payload);
        return;
    }
    payload->next = pool->idle[size_class];
    pool->idle[size_class] = payload;
    pool->counts.idle_bytes += bytes;
}

/* Owner only: takes an idle block; NULL if the class has none. */
static skn_payload_t *
take_idle(skn_pool_t *pool, uint32_t size_class)
{
    skn_payload_t *payload = pool->idle[size_class];
    if (payload) {
        assert(payload->size_class == size_class &&
               pool->counts.idle_bytes >= class_bytes(size_class));
        pool->idle[size_class] = payload->next;
        pool->counts.idle_bytes -= class_bytes(size_class);
    }
    return payload;
}

/* Frees idle blocks of other sizes to make room for a class that grows:
 * otherwise blocks from the first messages of a run would fill the pool
 * forever. */
static void
make_place(skn_pool_t *pool, uint32_t size_class)
{
    size_t bytes = class_bytes(size_class);
    if (bytes > pool->idle_bytes_max)
        return;
    for (uint32_t other = CLASS_COUNT; other-- > 0;) {
        while (bytes > pool->idle_bytes_max - pool->counts.idle_bytes) {
            skn_payload_t *payload = take_idle(pool, other);
            if (!payload)
                break;
            give_back(pool, payload);
        }
    }
}

/* Owner only: takes a payload that returned; NULL: there is none. Another core
 * used it last, so the memory of the one after it is prefetched. */
static skn_payload_t *
take_returned(skn_pool_t *pool)
{
    /* Acquire: reads of the payloads by other threads happen before reuse. */
    if (!pool->collected &&
        atomic_load_explicit(&pool->returned, memory_order_relaxed))
        pool->collected = atomic_exchange_explicit(&pool->returned, NULL,
                                                   memory_order_acquire);
    skn_payload_t *payload = pool->collected;
    if (!payload)
        return NULL;
    pool->collected = payload->next;
    __builtin_prefetch(pool->collected, 1);
    if (pool->collected)
        __builtin_prefetch(pool->collected + 1, 1);
    return payload;
}

void
skn_pool_collect(skn_pool_t *pool)
{
    skn_payload_t *payload;
    while ((payload = take_returned(pool)))
        lay_idle(pool, payload);
}

static void
free_chain(skn_pool_t *pool, skn_payload_t *payload)
{
    while (payload) {
        skn_payload_t *next = payload->next;
        assert(pool->counts.out > 0);
        block_free(payload);
        pool->counts.out--;
        payload = next;
    }
}

void
skn_pool_destroy(skn_pool_t **pool_at)
{
    skn_pool_t *pool = *pool_at;
    if (!pool)
        return;
    *pool_at = NULL;
    pool->idle_bytes_max = 0;
    for (uint32_t size_class = 0; size_class < CLASS_COUNT; size_class++) {
        skn_payload_t *payload;
        while ((payload = take_idle(pool, size_class)))
            block_free(payload);
    }
    assert(pool->counts.idle_bytes == 0);
    free_chain(pool, pool->collected);
    /* From here on the threads that drop payloads free them; see free_late. */
    free_chain(pool, atomic_exchange_explicit(&pool->returned, &closed,
                                              memory_order_acq_rel));
    /* Threads may have counted `late` below zero already: the one that brings
     * it to exactly zero, after this addition, drops the last payload. */
    int64_t out = (int64_t)pool->counts.out;
    if (atomic_fetch_add_explicit(&pool->late, out, memory_order_acq_rel) +
            out ==
        0)
        free(pool);
}

void
skn_pool_count(const skn_pool_t *pool, skn_pool_counts_t *counts)
{
    *counts = pool->counts;
}

/* --- making -------------------------------------------------------------- */

static size_t
round_up(size_t bytes)
{
    return (bytes + SKN_RUN_ALIGN_BYTES - 1) &
           ~(size_t)(SKN_RUN_ALIGN_BYTES - 1);
}

_Static_assert(SIZE_MAX / SKN_FIELDS_MAX / 2 > SKN_RUN_MAX * sizeof(uint64_t),
               "the bytes of a payload fit a size_t");

/* Computes the bytes of a payload with room for `counts`, and whether it has
 * texts. */
static skn_status_t
measure(const skn_schema_t *schema, const size_t *counts, size_t *used_bytes,
        bool *has_texts, skn_error_t *error)
{
    size_t bytes = sizeof(skn_payload_t) + round_up(schema->struct_bytes);
    size_t text_bytes = 0;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (!skn_field_has_room(field->kind))
            continue;
        size_t count = counts ? *counts++ : 0;
        if (count > field->max || count > SKN_RUN_MAX)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s.%s has %zu items, at most %llu allowed",
                            schema->name, field->name, count,
                            (unsigned long long)field->max);
        if (field->kind == SKN_FIELD_str)
            text_bytes += count + 1;
        else
            bytes += round_up(count * skn_field_item_bytes(field->kind));
    }
    *used_bytes = bytes + text_bytes;
    *has_texts = text_bytes > 0;
    return SKN_OK;
}

/* Points the runs and strings of a zeroed struct to their room. */
static void
lay_out(const skn_schema_t *schema, const size_t *counts, char *message)
{
    char *at = message + round_up(schema->struct_bytes);
    const size_t *count = counts;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (!skn_field_has_room(field->kind))
            continue;
        size_t items = counts ? *count++ : 0;
        if (field->kind == SKN_FIELD_str)
            continue;
        skn_run_t run = { at, items };
        skn_field_set(field, message, &run, sizeof(run));
        at += round_up(items * skn_field_item_bytes(field->kind));
    }
    count = counts;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (!skn_field_has_room(field->kind))
            continue;
        size_t letters = counts ? *count++ : 0;
        if (field->kind != SKN_FIELD_str)
            continue;
        at[0] = '\0';
        at[letters] = '\0';
        skn_field_set(field, message, &at, sizeof(at));
        at += letters + 1;
    }
    const skn_payload_t *payload = skn_payload_of(message);
    assert((size_t)(at - (const char *)payload) == payload->used_bytes);
}

/* A block of `size_class`: an idle one, a returned one, or a new one. */
static skn_payload_t *
take_block(skn_pool_t *pool, uint32_t size_class)
{
    /* A large payload that returned last is used first: it is most likely still
     * in a cache. A pool that has more than it may keep looks for payloads that
     * it has to free. */
    if (class_bytes(size_class) > SMALL_BYTES_MAX ||
        pool->counts.total_bytes > pool->idle_bytes_max)
        skn_pool_collect(pool);
    skn_payload_t *payload = take_idle(pool, size_class);
    if (payload)
        pool->counts.out++;
    else
        while ((payload = take_returned(pool)) &&
               payload->size_class != size_class)
            lay_idle(pool, payload);
    if (payload) {
        pool->counts.reused++;
    } else {
        make_place(pool, size_class);
        payload = block_new(size_class);
        if (!payload)
            return NULL;
        pool->counts.allocated++;
        pool->counts.out++;
        pool->counts.total_bytes += class_bytes(size_class);
    }
    return payload;
}

void *
skn_payload_new(skn_pool_t *pool, const skn_schema_t *schema,
                const size_t *counts, skn_error_t *error)
{
    size_t used_bytes = 0;
    bool has_texts = false;
    if (measure(schema, counts, &used_bytes, &has_texts, error) != SKN_OK)
        return NULL;
    uint32_t size_class = class_of(used_bytes);
    skn_payload_t *payload =
        size_class < CLASS_COUNT ? take_block(pool, size_class) : NULL;
    if (!payload) {
        (void)skn_fail(error, SKN_NO_MEMORY,
                       "%s: no memory for a message of %zu bytes", schema->name,
                       used_bytes);
        return NULL;
    }
    assert(class_bytes(size_class) >= used_bytes);
    ASAN_UNPOISON_MEMORY_REGION(payload, used_bytes);
    ASAN_POISON_MEMORY_REGION((char *)payload + used_bytes,
                              class_bytes(size_class) - used_bytes);
    skn_happens_after(payload);
    memset(payload, 0, sizeof(*payload) + schema->struct_bytes);
    payload->size_class = size_class;
    payload->schema = schema;
    payload->pool = pool;
    payload->used_bytes = used_bytes;
    payload->has_texts = has_texts;
    /* Release and acquire come with passing it to another thread. */
    atomic_init(&payload->holders, 1);
    char *message = (char *)(payload + 1);
    lay_out(schema, counts, message);
    return message;
}

static skn_status_t
check_text(const skn_schema_t *schema, const skn_field_t *field,
           const void *message, skn_error_t *error)
{
    return skn_field_text(field, message)
               ? SKN_OK
               : skn_fail(error, SKN_USAGE, "%s.%s is NULL and must be a text",
                          schema->name, field->name);
}

skn_status_t
skn_payload_check_texts(const void *message, skn_error_t *error)
{
    const skn_schema_t *schema = skn_payload_of(message)->schema;
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < schema->field_count && status == SKN_OK; k++)
        if (schema->fields[k].kind == SKN_FIELD_str)
            status = check_text(schema, &schema->fields[k], message, error);
    return status;
}

static bool
has_rooms(const skn_schema_t *schema)
{
    size_t k = 0;
    while (k < schema->field_count &&
           !skn_field_has_room(schema->fields[k].kind))
        k++;
    return k < schema->field_count;
}

/* Counts the room for the runs and strings of a caller's struct. */
static skn_status_t
count_rooms(const skn_schema_t *schema, const void *message, size_t *counts,
            skn_error_t *error)
{
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (!skn_field_has_room(field->kind))
            continue;
        if (field->kind == SKN_FIELD_str) {
            skn_status_t status = check_text(schema, field, message, error);
            if (status != SKN_OK)
                return status;
            *counts++ =
                strnlen(skn_field_text(field, message), SKN_TEXT_MAX + 1);
            continue;
        }
        skn_run_t run = skn_field_run(field, message);
        if (!run.at && run.count > 0)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s.%s has %zu items, but no memory", schema->name,
                            field->name, run.count);
        *counts++ = run.count;
    }
    return SKN_OK;
}

static void *
copy_with_rooms(skn_pool_t *pool, const skn_schema_t *schema,
                const void *message, skn_error_t *error)
{
    size_t counts[SKN_FIELDS_MAX] = { 0 };
    assert(schema->field_count <= SKN_FIELDS_MAX);
    if (count_rooms(schema, message, counts, error) != SKN_OK)
        return NULL;
    char *copy = skn_payload_new(pool, schema, counts, error);
    if (!copy)
        return NULL;
    const size_t *count = counts;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (field->kind == SKN_FIELD_str) {
            char *text = (char *)(uintptr_t)skn_field_text(field, copy);
            memcpy(text, skn_field_text(field, message), *count++);
        } else if (skn_field_has_room(field->kind)) {
            skn_run_t run = skn_field_run(field, message);
            if (run.count > 0)
                memcpy(skn_field_run(field, copy).at, run.at,
                       run.count * skn_field_item_bytes(field->kind));
            count++;
        } else {
            skn_field_set(field, copy, skn_field_at(field, message),
                          skn_field_struct_bytes(field->kind));
        }
    }
    return copy;
}

void *
skn_payload_copy(skn_pool_t *pool, const skn_schema_t *schema,
                 const void *message, skn_error_t *error)
{
    if (has_rooms(schema))
        return copy_with_rooms(pool, schema, message, error);
    void *copy = skn_payload_new(pool, schema, NULL, error);
    return copy ? memcpy(copy, message, schema->struct_bytes) : NULL;
}

/* --- holding ------------------------------------------------------------- */

void
skn_payload_keep_many(const void *message, uint32_t more_count)
{
    /* Relaxed: the caller holds it, so that it cannot return meanwhile. */
    uint32_t holders = atomic_fetch_add_explicit(
        &skn_payload_of(message)->holders, more_count, memory_order_relaxed);
    assert(holders > 0 && holders <= UINT32_MAX - more_count);
    (void)holders;
}

const void *
skn_payload_keep(const void *message)
{
    skn_payload_keep_many(message, 1);
    return message;
}

/* The pool's owner has destroyed it: the payload is freed here, and the last
 * one frees the pool too. */
static void
free_late(skn_pool_t *pool, skn_payload_t *payload)
{
    block_free(payload);
    if (atomic_fetch_sub_explicit(&pool->late, 1, memory_order_acq_rel) == 1)
        free(pool);
}

/* Removes one holder, and reports whether it was the last one. */
static bool
remove_holder(skn_payload_t *payload)
{
    skn_happens_before(payload);
    /* A single holder needs no read-modify-write: no other thread can add one.
     * Acquire: the reads of earlier holders happen before the reuse. */
    uint32_t holders =
        atomic_load_explicit(&payload->holders, memory_order_acquire);
    if (holders != 1)
        holders = atomic_fetch_sub_explicit(&payload->holders, 1,
                                            memory_order_acq_rel);
    assert(holders > 0);
    if (holders != 1)
        return false;
    atomic_store_explicit(&payload->holders, 0, memory_order_relaxed);
    ASAN_POISON_MEMORY_REGION(payload + 1,
                              payload->used_bytes - sizeof(*payload));
    return true;
}

/* Returns the payloads from `first` to `last`, linked by `next`, to the pool of
 * all of them. */
static void
return_chain(skn_payload_t *first, skn_payload_t *last)
{
    skn_pool_t *pool = first->pool;
    skn_payload_t *head =
        atomic_load_explicit(&pool->returned, memory_order_acquire);
    do {
        if (head == &closed)
            break;
        last->next = head;
        /* Release: pairs with the exchange of take_returned. */
    } while (!atomic_compare_exchange_weak_explicit(&pool->returned, &head,
                                                    first, memory_order_acq_rel,
                                                    memory_order_acquire));
    bool is_late = head == &closed;
    for (bool is_last = false; is_late && !is_last;) {
        skn_payload_t *next = first->next;
        is_last = first == last;
        free_late(pool, first);
        first = next;
    }
}

void
skn_payload_drop(const void *message)
{
    skn_payload_t *payload = message ? skn_payload_of(message) : NULL;
    if (payload && remove_holder(payload))
        return_chain(payload, payload);
}

void
skn_payload_drop_into(skn_payload_returns_t *returns, const void *message)
{
    skn_payload_t *payload = skn_payload_of(message);
    if (payload->used_bytes > SMALL_BYTES_MAX) {
        skn_payload_drop(message);
        return;
    }
    if (!remove_holder(payload))
        return;
    if (returns->first && returns->first->pool != payload->pool)
        skn_payload_return_all(returns);
    payload->next = returns->first;
    returns->first = payload;
    if (!returns->last)
        returns->last = payload;
}

void
skn_payload_return_all(skn_payload_returns_t *returns)
{
    if (returns->first)
        return_chain(returns->first, returns->last);
    *returns = (skn_payload_returns_t){ 0 };
}
