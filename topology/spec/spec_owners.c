/* spec_owners.c - checks that no two peers own the same row or column.
 *
 * Every row has one actor that may write it. A kind that owns rows declares
 * them by two options, row_first and row_count (or column_first and
 * column_count).
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "topology/spec/spec_internal.h"
#include "topology/config/values.h"

typedef struct range {
    int64_t first, end;
    uint32_t actor;
} range_t;

static int
compare_ranges(const void *a, const void *b)
{
    const range_t *one = a, *other = b;
    if (one->first != other->first)
        return one->first < other->first ? -1 : 1;
    return one->actor < other->actor ? -1 : one->actor > other->actor ? 1 : 0;
}

/* Reads a whole-number option of an actor; false if its kind has none of that
 * name. */
static bool
read_int(const skn_wired_actor_t *actor, const char *name, int64_t *number)
{
    const skn_value_t *value =
        skn_values_get(actor->kind->options, actor->values, name);
    if (!value || value->option->type != SKN_OPTION_INT)
        return false;
    *number = value->number;
    return true;
}

/* Reports two overlapping ranges, at the later actor. */
static void
refuse_overlap(skn_spec_t *spec, const char *thing, const range_t *a,
               const range_t *b)
{
    char key[32];
    const range_t *later = a->actor > b->actor ? a : b;
    const range_t *earlier = later == a ? b : a;
    const skn_node_t *node = spec->actor_nodes[later->actor];
    const skn_node_t *options = skn_node_get(node, "options");
    int64_t first = a->first > b->first ? a->first : b->first;
    int64_t last = (a->end < b->end ? a->end : b->end) - 1;
    (void)snprintf(key, sizeof(key), "%s_first", thing);
    (void)skn_problems_add(spec->problems,
                           skn_spec_mark(options ? options : node, key),
                           "%s and %s both own %ss %" PRId64 "..%" PRId64,
                           spec->actors[earlier->actor].name,
                           spec->actors[later->actor].name, thing, first, last);
    (void)skn_problems_hint(spec->problems,
                            "give each %s to one of them: %s_first, %s_count",
                            thing, thing, thing);
}

/* Peers are names[first .. end), all of one kind. `ranges` has room. */
static void
check_peers(skn_spec_t *spec, uint32_t first, uint32_t end, const char *thing,
            range_t *ranges)
{
    char first_key[32], count_key[32];
    uint32_t count = 0;
    (void)snprintf(first_key, sizeof(first_key), "%s_first", thing);
    (void)snprintf(count_key, sizeof(count_key), "%s_count", thing);
    for (uint32_t k = first; k < end; k++) {
        range_t *range = &ranges[count];
        int64_t items = 0;
        range->actor = spec->names[k].actor;
        const skn_wired_actor_t *actor = &spec->actors[range->actor];
        if (!read_int(actor, first_key, &range->first) ||
            !read_int(actor, count_key, &items))
            return;
        if (items <= 0)
            continue;
        if (__builtin_add_overflow(range->first, items, &range->end))
            range->end = INT64_MAX;
        count++;
    }
    qsort(ranges, count, sizeof(*ranges), compare_ranges);
    const range_t *farthest = &ranges[0]; /* among those before k */
    for (uint32_t k = 1; k < count; k++) {
        if (ranges[k].first < farthest->end)
            refuse_overlap(spec, thing, farthest, &ranges[k]);
        if (ranges[k].end > farthest->end)
            farthest = &ranges[k];
    }
}

skn_status_t
skn_spec_check_owners(skn_spec_t *spec)
{
    size_t count_before = skn_problems_count(spec->problems);
    range_t *ranges = calloc(spec->actor_count, sizeof(*ranges));
    if (!ranges)
        return skn_problems_fail(spec->problems, SKN_NO_MEMORY,
                                 "no memory for %u actors", spec->actor_count);
    for (uint32_t first = 0, end = 0; first < spec->actor_count; first = end) {
        end = first + spec->actors[spec->names[first].actor].peers;
        check_peers(spec, first, end, "row", ranges);
        check_peers(spec, first, end, "column", ranges);
    }
    free(ranges);
    return skn_problems_count(spec->problems) > count_before ? SKN_BAD_CONFIG
                                                             : SKN_OK;
}
