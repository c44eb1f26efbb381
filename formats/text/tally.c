/* tally.c - counts byte strings in a hash table that forgets the rare ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/tally.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/grow.h"
#include "formats/text/strings.h"

typedef struct meetings {
    uint64_t count, group;
} meetings_t;

struct skn_tally {
    skn_strings_t strings;
    meetings_t *met; /* [strings.count] */
    size_t met_room;
    size_t room;    /* the most strings that are counted at once */
    uint64_t floor; /* strings that were met this often were forgotten */
};

skn_tally_t *
skn_tally_new(size_t room)
{
    assert(room >= 2);
    skn_tally_t *tally = calloc(1, sizeof(*tally));
    if (tally)
        tally->room = room;
    return tally;
}

void
skn_tally_destroy(skn_tally_t **tally)
{
    skn_tally_t *dying = *tally;
    *tally = NULL;
    if (!dying)
        return;
    skn_strings_fini(&dying->strings);
    free(dying->met);
    free(dying);
}

/* Forgets the strings that were met most seldom, until half of the room is
 * free. False: no memory. */
static bool
forget(skn_tally_t *tally)
{
    size_t kept = tally->strings.count;
    while (kept > tally->room / 2) {
        tally->floor++;
        kept = 0;
        for (size_t k = 0; k < tally->strings.count; k++)
            kept += tally->met[k].count > tally->floor;
    }
    skn_strings_t strings = { 0 };
    for (uint32_t k = 0; k < tally->strings.count; k++) {
        size_t bytes;
        const char *at = skn_strings_at(&tally->strings, k, &bytes);
        if (tally->met[k].count <= tally->floor)
            continue;
        tally->met[strings.count] = tally->met[k];
        if (skn_strings_add(&strings, at, bytes) == SKN_STRINGS_NONE) {
            skn_strings_fini(&strings);
            return false;
        }
    }
    skn_strings_fini(&tally->strings);
    tally->strings = strings;
    return true;
}

/* Adds a string that is not there. False: no memory. */
static bool
add(skn_tally_t *tally, skn_span_t string, meetings_t meetings)
{
    void *met = tally->met;
    if (tally->strings.count == tally->room && !forget(tally))
        return false;
    bool good = skn_grow(&met, &tally->met_room,
                         (size_t)tally->strings.count + 1, sizeof(*tally->met));
    tally->met = met;
    if (!good)
        return false;
    /* A string that is met again after it was forgotten may have been met as
     * often as those that were forgotten with it, and is not favoured. */
    tally->met[tally->strings.count] = meetings;
    return skn_strings_add(&tally->strings, string.at, string.bytes) !=
           SKN_STRINGS_NONE;
}

/* Counts a string, which has this number or none. */
static bool
meet(skn_tally_t *tally, skn_span_t string, uint32_t number,
     meetings_t meetings)
{
    if (number == SKN_STRINGS_NONE)
        return add(tally, string, meetings);
    meetings_t *met = &tally->met[number];
    if (meetings.group == 0 || met->group != meetings.group)
        met->count += meetings.count;
    met->group = meetings.group;
    return true;
}

bool
skn_tally_add(skn_tally_t *tally, const char *text, size_t bytes,
              uint64_t group)
{
    return meet(tally, (skn_span_t){ text, bytes },
                skn_strings_find(&tally->strings, text, bytes),
                (meetings_t){ 1, group });
}

/* Counts `count` strings, which wait for memory together. */
static bool
meet_all(skn_tally_t *tally, const skn_span_t *string,
         const meetings_t *meetings, size_t count)
{
    uint32_t number[SKN_TALLY_TOGETHER];
    const uint64_t floor = tally->floor;
    skn_strings_find_all(&tally->strings, string, count, number);
    for (size_t k = 0; k < count; k++)
        if (number[k] != SKN_STRINGS_NONE)
            __builtin_prefetch(&tally->met[number[k]], 1);
    for (size_t k = 0; k < count; k++) {
        /* A new string may stand twice, and forgetting changes the numbers. */
        if (number[k] == SKN_STRINGS_NONE || tally->floor != floor)
            number[k] = skn_strings_find(&tally->strings, string[k].at,
                                         string[k].bytes);
        if (!meet(tally, string[k], number[k], meetings[k]))
            return false;
    }
    return true;
}

bool
skn_tally_add_all(skn_tally_t *tally, const skn_span_t *string, size_t count,
                  uint64_t group)
{
    meetings_t meetings[SKN_TALLY_TOGETHER];
    assert(count <= SKN_TALLY_TOGETHER);
    for (size_t k = 0; k < count; k++)
        meetings[k] = (meetings_t){ 1, group };
    return meet_all(tally, string, meetings, count);
}

bool
skn_tally_merge(skn_tally_t *tally, skn_tally_t *part)
{
    const skn_strings_t *strings = &part->strings;
    for (uint32_t first = 0, count; first < strings->count; first += count) {
        skn_span_t string[SKN_TALLY_TOGETHER];
        meetings_t meetings[SKN_TALLY_TOGETHER];
        count = strings->count - first < SKN_TALLY_TOGETHER
                    ? strings->count - first
                    : SKN_TALLY_TOGETHER;
        for (uint32_t k = 0; k < count; k++) {
            string[k].at = skn_strings_at(strings, first + k, &string[k].bytes);
            meetings[k] = (meetings_t){ part->met[first + k].count, 0 };
        }
        if (!meet_all(tally, string, meetings, count))
            return false;
    }
    skn_strings_clear(&part->strings);
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
        malloc(((size_t)tally->strings.count + 1) * sizeof(*entry));
    if (!entry)
        return NULL;
    for (uint32_t k = 0; k < tally->strings.count; k++) {
        skn_tally_entry_t one = { .count = tally->met[k].count };
        one.at = skn_strings_at(&tally->strings, k, &one.bytes);
        if (one.count >= count_min)
            entry[found++] = one;
    }
    qsort(entry, found, sizeof(*entry), by_count_and_bytes);
    *taken = found < most ? found : most;
    return entry;
}
