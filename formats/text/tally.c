/* tally.c - counts byte strings in a hash table that forgets the rare ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/tally.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/text/grow.h"

typedef struct string {
    uint64_t count, group;
    uint32_t at; /* in text, which is shorter than 4 GiB: see skn_tally_new */
    uint32_t bytes;
} string_t;

struct skn_tally {
    string_t *string; /* [string_room]; string_count are in use */
    size_t string_count, string_room;
    size_t room; /* the most strings that are counted at once */
    size_t string_bytes;
    char *text; /* of the strings, one after the other */
    size_t text_bytes, text_room;
    uint32_t *table; /* [table_mask + 1] string + 1; 0: free */
    size_t table_mask;
    uint64_t floor; /* strings that were met this often were forgotten */
};

skn_tally_t *
skn_tally_new(size_t room, size_t string_bytes)
{
    assert(room >= 2 && string_bytes > 0 && room <= UINT32_MAX / string_bytes);
    skn_tally_t *tally = calloc(1, sizeof(*tally));
    if (!tally)
        return NULL;
    tally->room = room;
    tally->string_bytes = string_bytes;
    tally->table_mask = 1023;
    tally->table = calloc(tally->table_mask + 1, sizeof(*tally->table));
    if (!tally->table)
        skn_tally_destroy(&tally);
    return tally;
}

void
skn_tally_destroy(skn_tally_t **tally)
{
    skn_tally_t *dying = *tally;
    *tally = NULL;
    if (!dying)
        return;
    free(dying->string);
    free(dying->text);
    free(dying->table);
    free(dying);
}

/* The slot of a string, or the free one where it would be. */
static uint32_t *
slot_of(const skn_tally_t *tally, const char *text, size_t bytes)
{
    size_t at = (size_t)XXH3_64bits(text, bytes) & tally->table_mask;
    for (;; at = (at + 1) & tally->table_mask) {
        if (tally->table[at] == 0)
            return &tally->table[at];
        const string_t *string = &tally->string[tally->table[at] - 1];
        if (string->bytes == bytes &&
            memcmp(tally->text + string->at, text, bytes) == 0)
            return &tally->table[at];
    }
}

static void
table_fill(skn_tally_t *tally)
{
    memset(tally->table, 0, (tally->table_mask + 1) * sizeof(*tally->table));
    for (size_t k = 0; k < tally->string_count; k++)
        *slot_of(tally, tally->text + tally->string[k].at,
                 tally->string[k].bytes) = (uint32_t)k + 1;
}

/* Forgets the strings that were met most seldom, until half of the room is
 * free. */
static void
forget(skn_tally_t *tally)
{
    while (tally->string_count > tally->room / 2) {
        size_t kept = 0, text_bytes = 0;
        tally->floor++;
        for (size_t k = 0; k < tally->string_count; k++) {
            string_t string = tally->string[k];
            if (string.count <= tally->floor)
                continue;
            memmove(tally->text + text_bytes, tally->text + string.at,
                    string.bytes);
            string.at = (uint32_t)text_bytes;
            text_bytes += string.bytes;
            tally->string[kept++] = string;
        }
        tally->string_count = kept;
        tally->text_bytes = text_bytes;
    }
    table_fill(tally);
}

/* Makes room for one more string. False: no memory. */
static bool
room_make(skn_tally_t *tally)
{
    if (tally->string_count == tally->room)
        forget(tally);
    if (tally->string_count == tally->string_room) {
        void *string = tally->string;
        if (!skn_grow(&string, &tally->string_room, tally->string_count + 1,
                      sizeof(*tally->string)))
            return false;
        tally->string = string;
    }
    if (tally->text_room - tally->text_bytes < tally->string_bytes) {
        void *text = tally->text;
        if (!skn_grow(&text, &tally->text_room,
                      tally->text_bytes + tally->string_bytes, 1))
            return false;
        tally->text = text;
    }
    if (2 * tally->string_count > tally->table_mask) {
        size_t slots = 2 * (tally->table_mask + 1);
        uint32_t *table = malloc(slots * sizeof(*table));
        if (!table)
            return false;
        free(tally->table);
        tally->table = table;
        tally->table_mask = slots - 1;
        table_fill(tally);
    }
    return true;
}

bool
skn_tally_add(skn_tally_t *tally, const char *text, size_t bytes,
              uint64_t group)
{
    assert(bytes <= tally->string_bytes);
    uint32_t *slot = slot_of(tally, text, bytes);
    if (*slot != 0) {
        string_t *known = &tally->string[*slot - 1];
        known->count += group == 0 || known->group != group;
        known->group = group;
        return true;
    }
    if (!room_make(tally))
        return false;
    /* A string that is met again after it was forgotten may have been met as
     * often as those that were forgotten with it, and is not favoured. */
    string_t string = { 1, group, (uint32_t)tally->text_bytes,
                        (uint32_t)bytes };
    memcpy(tally->text + string.at, text, bytes);
    tally->text_bytes += bytes;
    tally->string[tally->string_count] = string;
    *slot_of(tally, text, bytes) = (uint32_t)++tally->string_count;
    return true;
}

/* --- the most frequent ones ----------------------------------------------- */

static int
by_count_and_bytes(const void *left, const void *right)
{
    const skn_tally_entry_t *one = left, *other = right;
    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    size_t shorter = one->bytes < other->bytes ? one->bytes : other->bytes;
    int order = memcmp(one->at, other->at, shorter);
    if (order != 0)
        return order;
    return one->bytes < other->bytes ? -1 : one->bytes > other->bytes;
}

skn_tally_entry_t *
skn_tally_take(const skn_tally_t *tally, uint64_t count_min, size_t most,
               size_t *taken)
{
    size_t found = 0;
    skn_tally_entry_t *entry =
        malloc((tally->string_count + 1) * sizeof(*entry));
    if (!entry)
        return NULL;
    for (size_t k = 0; k < tally->string_count; k++) {
        const string_t *string = &tally->string[k];
        if (string->count >= count_min)
            entry[found++] =
                (skn_tally_entry_t){ tally->text + string->at, string->bytes,
                                     string->count };
    }
    qsort(entry, found, sizeof(*entry), by_count_and_bytes);
    *taken = found < most ? found : most;
    return entry;
}
