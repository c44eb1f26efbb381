/* strings.c - numbers byte strings by a hash table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/strings.h"

#include <stdlib.h>
#include <string.h>

/* Most strings have a few bytes: a call would cost more than their hash. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "formats/text/grow.h"
#include "skein/limits.h"

#define SLOTS_FIRST 64u
/* Strings that are looked up at once: enough to wait for memory together, few
 * enough for what is fetched to stay in the nearest cache. */
#define TOGETHER 32u

void
skn_strings_fini(skn_strings_t *strings)
{
    free(strings->text);
    free(strings->end);
    free(strings->table);
    *strings = (skn_strings_t){ 0 };
}

void
skn_strings_clear(skn_strings_t *strings)
{
    strings->count = 0;
    if (strings->table)
        memset(strings->table, 0,
               (strings->table_mask + 1) * sizeof(*strings->table));
}

const char *
skn_strings_at(const skn_strings_t *strings, uint32_t number, size_t *bytes)
{
    size_t from = number == 0 ? 0 : strings->end[number - 1];
    *bytes = strings->end[number] - from;
    return strings->text + from;
}

/* --- the table ------------------------------------------------------------ */

/* The half of the hash that a slot has beside number + 1: most other strings
 * are told apart by it, and the table grows without the strings. */
static uint32_t
hash_of(const char *at, size_t bytes)
{
    return (uint32_t)XXH3_64bits(at, bytes);
}

static inline uint64_t
load_8(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof(bytes));
    return bytes;
}

/* All bytes of a string of less than 8, some of them twice. */
static inline uint64_t
load_few(const char *at, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)at;
    uint32_t first, last;
    if (bytes == 0)
        return 0;
    if (bytes < sizeof(first))
        return (uint64_t)byte[0] << 16 | (uint64_t)byte[bytes / 2] << 8 |
               byte[bytes - 1];
    memcpy(&first, at, sizeof(first));
    memcpy(&last, at + bytes - sizeof(last), sizeof(last));
    return (uint64_t)first << 32 | last;
}

/* Like memcmp == 0, without a call for the few bytes that a word has. */
static inline bool
same_bytes(const char *one, const char *other, size_t bytes)
{
    if (bytes < 8)
        return load_few(one, bytes) == load_few(other, bytes);
    for (size_t k = 0; k < bytes - 8; k += 8)
        if (load_8(one + k) != load_8(other + k))
            return false;
    return load_8(one + bytes - 8) == load_8(other + bytes - 8);
}

static bool
is_string(const skn_strings_t *strings, uint32_t number, const char *at,
          size_t bytes)
{
    size_t other_bytes;
    const char *other = skn_strings_at(strings, number, &other_bytes);
    return other_bytes == bytes && same_bytes(other, at, bytes);
}

/* The first slot from `slot` on that is free or has the hash. */
static size_t
next_slot(const skn_strings_t *strings, size_t slot, uint32_t hash)
{
    slot &= strings->table_mask;
    while (strings->table[slot] != 0 &&
           (uint32_t)(strings->table[slot] >> 32) != hash)
        slot = (slot + 1) & strings->table_mask;
    return slot;
}

/* The slot of a string, or the free one where it would be. */
static uint64_t *
slot_of(const skn_strings_t *strings, uint32_t hash, const char *at,
        size_t bytes)
{
    size_t slot = next_slot(strings, hash, hash);
    while (strings->table[slot] != 0 &&
           !is_string(strings, (uint32_t)strings->table[slot] - 1, at, bytes))
        slot = next_slot(strings, slot + 1, hash);
    return &strings->table[slot];
}

/* Makes a table of twice the slots. */
static bool
widen(skn_strings_t *strings)
{
    size_t slots = strings->table ? 2 * (strings->table_mask + 1) : SLOTS_FIRST;
    uint64_t *table = calloc(slots, sizeof(*table));
    if (!table)
        return false;
    for (size_t k = 0; strings->table && k <= strings->table_mask; k++) {
        size_t slot = (size_t)(strings->table[k] >> 32) & (slots - 1);
        if (strings->table[k] == 0)
            continue;
        while (table[slot] != 0)
            slot = (slot + 1) & (slots - 1);
        table[slot] = strings->table[k];
    }
    free(strings->table);
    strings->table = table;
    strings->table_mask = slots - 1;
    return true;
}

/* --- finding -------------------------------------------------------------- */

uint32_t
skn_strings_find(const skn_strings_t *strings, const char *at, size_t bytes)
{
    /* 0 - 1 is SKN_STRINGS_NONE. */
    return strings->table
               ? (uint32_t)*slot_of(strings, hash_of(at, bytes), at, bytes) - 1
               : SKN_STRINGS_NONE;
}

/* Finds at most TOGETHER strings step by step, and has what the next step reads
 * fetched meanwhile. */
static void
find_together(const skn_strings_t *strings, const skn_span_t *string,
              size_t count, uint32_t *number)
{
    uint32_t hash[TOGETHER];
    for (size_t k = 0; k < count; k++) {
        hash[k] = hash_of(string[k].at, string[k].bytes);
        __builtin_prefetch(&strings->table[hash[k] & strings->table_mask]);
    }
    for (size_t k = 0; k < count; k++) {
        size_t slot = next_slot(strings, hash[k], hash[k]);
        number[k] = (uint32_t)strings->table[slot] - 1;
        if (number[k] != SKN_STRINGS_NONE)
            __builtin_prefetch(&strings->end[number[k]]);
    }
    for (size_t k = 0, bytes; k < count; k++)
        if (number[k] != SKN_STRINGS_NONE)
            __builtin_prefetch(skn_strings_at(strings, number[k], &bytes));
    for (size_t k = 0; k < count; k++)
        if (number[k] != SKN_STRINGS_NONE &&
            !is_string(strings, number[k], string[k].at, string[k].bytes))
            number[k] = (uint32_t)*slot_of(strings, hash[k], string[k].at,
                                           string[k].bytes) -
                        1;
}

void
skn_strings_find_all(const skn_strings_t *strings, const skn_span_t *string,
                     size_t count, uint32_t *number)
{
    for (size_t k = 0; k < count && !strings->table; k++)
        number[k] = SKN_STRINGS_NONE;
    for (size_t k = 0; k < count && strings->table; k += TOGETHER)
        find_together(strings, string + k,
                      count - k < TOGETHER ? count - k : TOGETHER, number + k);
}

/* --- adding --------------------------------------------------------------- */

/* Room for one more string. */
static bool
reserve(skn_strings_t *strings, size_t from, size_t bytes)
{
    void *end = strings->end, *text = strings->text;
    /* Slots that are taken are passed by their hash alone, so that three of
     * four may be. */
    if ((!strings->table ||
         4 * ((size_t)strings->count + 1) > 3 * strings->table_mask) &&
        !widen(strings))
        return false;
    bool good = skn_grow(&end, &strings->end_room, (size_t)strings->count + 1,
                         sizeof(*strings->end));
    strings->end = end;
    /* Also of an empty one alone. */
    good = good && skn_grow(&text, &strings->text_room, from + bytes + 1, 1);
    strings->text = text;
    return good;
}

uint32_t
skn_strings_add(skn_strings_t *strings, const char *at, size_t bytes)
{
    uint32_t known = skn_strings_find(strings, at, bytes);
    size_t from = strings->count == 0 ? 0 : strings->end[strings->count - 1];
    if (known != SKN_STRINGS_NONE)
        return known;
    if (strings->count == SKN_UNIT_MAX || !reserve(strings, from, bytes))
        return SKN_STRINGS_NONE;
    if (bytes > 0)
        memcpy(strings->text + from, at, bytes);
    uint32_t hash = hash_of(at, bytes);
    strings->end[strings->count] = from + bytes;
    *slot_of(strings, hash, at, bytes) =
        (uint64_t)hash << 32 | (strings->count + 1);
    return strings->count++;
}
