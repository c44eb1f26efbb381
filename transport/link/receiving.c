/* receiving.c - the receiving half of a link: assembles records from fragments.
 *
 * This file owns: the bytes that are kept, and the record at the head. It
 * trusts no length: memory grows with the bytes that have arrived.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/receiving.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transport/link/sending.h"

/* A buffer for the head up to this size is kept for the next record. */
#define KEPT_BYTES_MAX ((size_t)1 << 23)
#define CAPACITY_MIN 4096u

void
skn_receiving_init(skn_receiving_t *receiving, size_t window_bytes,
                   size_t record_bytes_max)
{
    receiving->window_bytes = window_bytes;
    receiving->record_bytes_max = record_bytes_max;
}

void
skn_receiving_fini(skn_receiving_t *receiving)
{
    skn_chunks_fini(&receiving->chunks);
    free(receiving->record);
    *receiving = (skn_receiving_t){ 0 };
}

uint64_t
skn_receiving_credit(const skn_receiving_t *receiving)
{
    return receiving->moved + receiving->window_bytes;
}

/* --- fragments ----------------------------------------------------------- */

/* Adds [from, to) to the ranges behind gaps. False: there are too many. */
static bool
hold(skn_receiving_t *receiving, uint64_t from, uint64_t to)
{
    skn_stretch_t *held = receiving->held;
    size_t count = receiving->held_count, first = 0;
    while (first < count && held[first].to < from)
        first++;
    size_t last = first; /* those that touch [from, to) are first..last-1 */
    while (last < count && held[last].from <= to)
        last++;
    if (first == last && count == SKN_STRETCHES_MAX)
        return false;
    if (first < last) {
        from = held[first].from < from ? held[first].from : from;
        to = held[last - 1].to > to ? held[last - 1].to : to;
    }
    memmove(held + first + 1, held + last, (count - last) * sizeof(*held));
    held[first] = (skn_stretch_t){ from, to };
    receiving->held_count = count + 1 - (last - first);
    assert(receiving->held_count <= SKN_STRETCHES_MAX);
    return true;
}

/* Whether all of [from, to) is held behind a gap already. */
static bool
is_held(const skn_receiving_t *receiving, uint64_t from, uint64_t to)
{
    for (size_t k = 0; k < receiving->held_count; k++)
        if (receiving->held[k].from <= from && to <= receiving->held[k].to)
            return true;
    return false;
}

/* Merges held ranges that `arrived` has reached. */
static void
close_gaps(skn_receiving_t *receiving)
{
    skn_stretch_t *held = receiving->held;
    size_t closed = 0;
    while (closed < receiving->held_count &&
           held[closed].from <= receiving->arrived) {
        assert(held[closed].from < held[closed].to);
        if (held[closed].to > receiving->arrived)
            receiving->arrived = held[closed].to;
        closed++;
    }
    receiving->held_count -= closed;
    memmove(held, held + closed, receiving->held_count * sizeof(*held));
}

skn_stretch_fate_t
skn_receiving_take(skn_receiving_t *receiving, uint64_t offset,
                   skn_frame_t body)
{
    uint64_t end = offset + body.bytes;
    if (end > receiving->granted)
        return SKN_STRETCH_CREDIT;
    if (end <= receiving->arrived || is_held(receiving, offset, end))
        return SKN_STRETCH_DUPLICATE;
    uint64_t from = offset > receiving->arrived ? offset : receiving->arrived;
    if (skn_chunks_reserve(&receiving->chunks, from, end, NULL) != SKN_OK)
        return SKN_STRETCH_FAILED;
    if (from > receiving->arrived && !hold(receiving, from, end))
        return SKN_STRETCH_GAPS;
    skn_chunks_write(&receiving->chunks, from,
                     (const uint8_t *)body.at + (from - offset),
                     (size_t)(end - from));
    if (from > receiving->arrived)
        return SKN_STRETCH_EARLY;
    receiving->arrived = end;
    close_gaps(receiving);
    return SKN_STRETCH_NEXT;
}

/* --- records ------------------------------------------------------------- */

static bool
break_off(skn_receiving_t *receiving, skn_error_t *error)
{
    receiving->head = SKN_NEXT_RECORD_BROKEN;
    if (error && error->status == SKN_OK)
        (void)skn_fail(error, SKN_BAD_MESSAGE, "the stream is broken");
    return false;
}

/* Reads the bytes of the length of the record at the head that have arrived,
 * one by one: a window may be smaller than a length. */
static bool
read_length(skn_receiving_t *receiving, skn_error_t *error)
{
    uint8_t byte = 0x80;
    while (byte >= 0x80 && receiving->moved < receiving->arrived &&
           receiving->length_count < SKN_LENGTH_BYTES_MAX) {
        skn_chunks_read(&receiving->chunks, receiving->moved, &byte, 1);
        receiving->moved++;
        receiving->length |= (uint64_t)(byte & 0x7f)
                             << 7 * receiving->length_count++;
    }
    bool whole = byte < 0x80;
    if (!whole && receiving->length_count < SKN_LENGTH_BYTES_MAX)
        return true;
    if (!whole || receiving->length > receiving->record_bytes_max) {
        (void)skn_fail(error, SKN_BAD_MESSAGE,
                       "a record of %" PRIu64 " bytes%s, at most %zu allowed",
                       receiving->length, whole ? "" : " or more",
                       receiving->record_bytes_max);
        return break_off(receiving, error);
    }
    receiving->record_bytes = (size_t)receiving->length;
    receiving->filled = 0;
    receiving->head = receiving->length == 0 ? SKN_NEXT_RECORD_ENDED
                                             : SKN_NEXT_RECORD_FILLING;
    receiving->length = receiving->length_count = 0;
    return true;
}

/* Makes room for `bytes` of the head, growing by half each time. */
static bool
grow(skn_receiving_t *receiving, size_t bytes, skn_error_t *error)
{
    assert(bytes <= receiving->record_bytes);
    size_t capacity = receiving->capacity + receiving->capacity / 2;
    if (bytes <= receiving->capacity)
        return true;
    if (capacity < bytes)
        capacity = bytes;
    if (capacity > receiving->record_bytes)
        capacity = receiving->record_bytes;
    if (capacity < CAPACITY_MIN)
        capacity = CAPACITY_MIN;
    uint8_t *record = realloc(receiving->record, capacity);
    if (!record) {
        (void)skn_fail(error, SKN_NO_MEMORY,
                       "no memory for %zu bytes of a record", bytes);
        return false;
    }
    receiving->record = record;
    receiving->capacity = capacity;
    return true;
}

static bool
fill_record(skn_receiving_t *receiving, skn_error_t *error)
{
    assert(receiving->moved <= receiving->arrived &&
           receiving->filled <= receiving->record_bytes);
    uint64_t here = receiving->arrived - receiving->moved;
    size_t missing = receiving->record_bytes - receiving->filled;
    size_t bytes = here < missing ? (size_t)here : missing;
    if (bytes == 0)
        return true;
    if (!grow(receiving, receiving->filled + bytes, error))
        return break_off(receiving, error);
    skn_chunks_read(&receiving->chunks, receiving->moved,
                    receiving->record + receiving->filled, bytes);
    receiving->filled += bytes;
    receiving->moved += bytes;
    if (receiving->filled == receiving->record_bytes)
        receiving->head = SKN_NEXT_RECORD_READY;
    return true;
}

bool
skn_receiving_fill(skn_receiving_t *receiving, skn_error_t *error)
{
    bool sound = true;
    if (error)
        error->status = SKN_OK;
    if (receiving->head == SKN_NEXT_RECORD_LENGTH)
        sound = read_length(receiving, error);
    if (receiving->head == SKN_NEXT_RECORD_FILLING)
        sound = fill_record(receiving, error);
    if (receiving->head == SKN_NEXT_RECORD_ENDED &&
        (receiving->arrived > receiving->moved || receiving->held_count > 0)) {
        (void)skn_fail(error, SKN_BAD_MESSAGE,
                       "bytes after the end of the stream");
        sound = break_off(receiving, error);
    }
    skn_chunks_trim(&receiving->chunks, receiving->moved);
    return sound;
}

bool
skn_receiving_record(skn_receiving_t *receiving, skn_frame_t *record,
                     skn_error_t *error)
{
    if (error)
        error->status = SKN_OK;
    if (receiving->head == SKN_NEXT_RECORD_TAKEN) {
        receiving->head = SKN_NEXT_RECORD_LENGTH;
        if (receiving->capacity > KEPT_BYTES_MAX) {
            free(receiving->record);
            receiving->record = NULL;
            receiving->capacity = 0;
        }
    }
    if (receiving->head != SKN_NEXT_RECORD_READY &&
        !skn_receiving_fill(receiving, error))
        return false;
    if (receiving->head != SKN_NEXT_RECORD_READY)
        return false;
    receiving->head = SKN_NEXT_RECORD_TAKEN;
    receiving->record_count++;
    receiving->record_bytes_total += receiving->record_bytes;
    *record = (skn_frame_t){ receiving->record, receiving->record_bytes };
    return true;
}
