/* strings.c - numbers byte strings by a hash table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/strings.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "skein/limits.h"

#define SLOTS_FIRST 64u

void
skn_strings_fini(skn_strings_t *strings)
{
    free(strings->text);
    free(strings->end);
    free(strings->table);
    *strings = (skn_strings_t){ 0 };
}

const char *
skn_strings_at(const skn_strings_t *strings, uint32_t number, size_t *bytes)
{
    size_t from = number == 0 ? 0 : strings->end[number - 1];
    *bytes = strings->end[number] - from;
    return strings->text + from;
}

/* The slot of a string, or the free one where it would be. */
static uint32_t *
slot_of(const skn_strings_t *strings, const char *at, size_t bytes)
{
    size_t slot = (size_t)XXH3_64bits(at, bytes) & strings->table_mask;
    for (;; slot = (slot + 1) & strings->table_mask) {
        uint32_t *found = &strings->table[slot];
        size_t other_bytes;
        if (*found == 0)
            return found;
        const char *other = skn_strings_at(strings, *found - 1, &other_bytes);
        if (other_bytes == bytes &&
            (bytes == 0 || memcmp(other, at, bytes) == 0))
            return found;
    }
}

uint32_t
skn_strings_find(const skn_strings_t *strings, const char *at, size_t bytes)
{
    /* 0 - 1 is SKN_STRINGS_NONE. */
    return strings->table ? *slot_of(strings, at, bytes) - 1 : SKN_STRINGS_NONE;
}

/* Makes a table of twice the slots. */
static bool
widen(skn_strings_t *strings)
{
    size_t slots = strings->table ? 2 * (strings->table_mask + 1) : SLOTS_FIRST;
    uint32_t *table = calloc(slots, sizeof(*table));
    if (!table)
        return false;
    free(strings->table);
    strings->table = table;
    strings->table_mask = slots - 1;
    for (uint32_t k = 0; k < strings->count; k++) {
        size_t bytes;
        const char *at = skn_strings_at(strings, k, &bytes);
        *slot_of(strings, at, bytes) = k + 1;
    }
    return true;
}

/* Room for one more string. */
static bool
reserve(skn_strings_t *strings, size_t from, size_t bytes)
{
    if (2 * ((size_t)strings->count + 1) > strings->table_mask &&
        !widen(strings))
        return false;
    if (strings->count == strings->end_room) {
        size_t room = 2 * strings->end_room + 64;
        size_t *end = realloc(strings->end, room * sizeof(*end));
        if (!end)
            return false;
        strings->end = end;
        strings->end_room = room;
    }
    if (from + bytes >= strings->text_room) { /* also of an empty one alone */
        size_t room = 2 * (from + bytes) + 1024;
        char *text = realloc(strings->text, room);
        if (!text)
            return false;
        strings->text = text;
        strings->text_room = room;
    }
    return true;
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
    *slot_of(strings, at, bytes) = strings->count + 1;
    strings->end[strings->count] = from + bytes;
    return strings->count++;
}
