/* spec_fields.c - reads the message fields that a pipe uses: the key of a
 * scatter with its bounds, and the number of a set of parts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "topology/config/nearest.h"
#include "topology/spec/spec_pipe.h"

/* --- fields -------------------------------------------------------------- */

static const char *
kind_text(skn_field_kind_t kind)
{
    static const char *const texts[] = {
#define K(name, type, bytes, help) #name,
        SKN_FIELD_KINDS(K)
#undef K
    };
    return kind < SKN_FIELD_KIND_COUNT ? texts[kind] : "of no kind";
}

static bool
can_be_key(skn_field_kind_t kind)
{
    return kind == SKN_FIELD_u32 || kind == SKN_FIELD_u64 ||
           kind == SKN_FIELD_u32s || kind == SKN_FIELD_u64s;
}

static bool
can_be_by(skn_field_kind_t kind)
{
    return kind == SKN_FIELD_u64;
}

/* The field named by option `key`; NULL after adding a problem. */
static const skn_field_t *
find_field(spec_pipe_t *reading, const char *key, const char *name,
           bool (*fits)(skn_field_kind_t), const char *wanted)
{
    const skn_schema_t *schema = reading->pipe->schema;
    skn_problems_t *problems = reading->spec->problems;
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    skn_nearest_t nearest = { .wanted = name };
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (strcmp(field->name, name) == 0 && fits(field->kind))
            return field;
        if (strcmp(field->name, name) == 0) {
            (void)skn_problems_add(problems, skn_spec_place(reading, key),
                                   "field '%s' of message '%s' is %s; '%s' "
                                   "must be %s",
                                   name, schema->name, kind_text(field->kind),
                                   key, wanted);
            return NULL;
        }
        if (fits(field->kind)) {
            skn_nearest_offer(&nearest, field->name);
            skn_spec_list(names, sizeof(names), field->name);
        }
    }
    (void)skn_problems_add(problems, skn_spec_place(reading, key),
                           "message '%s' has no field '%.64s' for '%s'",
                           schema->name, name, key);
    if (nearest.best)
        (void)skn_problems_hint(problems, "did you mean '%s'?", nearest.best);
    else
        (void)skn_problems_hint(problems, "possible fields: %s",
                                names[0] ? names : "none");
    return NULL;
}

/* Refuses an option that the pattern does not use. */
static skn_status_t
refuse_idle(spec_pipe_t *reading, const char *key, const char *reason)
{
    if (!skn_spec_is_set(reading, key))
        return SKN_OK;
    return skn_problems_add(reading->spec->problems,
                            skn_spec_place(reading, key), "'%s' is only for %s",
                            key, reason);
}

/* --- bounds -------------------------------------------------------------- */

/* Splits [0, max + 1) into even parts, if the field declares its maximum. */
static skn_status_t
split_evenly(spec_pipe_t *reading, uint64_t *bounds)
{
    const skn_wired_pipe_t *pipe = reading->pipe;
    const skn_field_t *key = pipe->key;
    bool is_number = key->kind == SKN_FIELD_u32 || key->kind == SKN_FIELD_u64;
    uint64_t max = key->kind == SKN_FIELD_u32 && key->max > UINT32_MAX
                       ? UINT32_MAX
                       : key->max;
    if (!is_number || max == UINT64_MAX || max + 1 < pipe->to_count) {
        (void)skn_problems_add(reading->spec->problems, reading->node->mark,
                               "scatter by '%s' needs 'bounds'", key->name);
        return skn_problems_hint(reading->spec->problems,
                                 "%u ascending numbers: where each receiver's "
                                 "range starts, and the end",
                                 pipe->to_count + 1);
    }
    for (uint32_t k = 0; k <= pipe->to_count; k++)
        bounds[k] =
            (uint64_t)((unsigned __int128)(max + 1) * k / pipe->to_count);
    return SKN_OK;
}

static skn_status_t
copy_bounds(spec_pipe_t *reading, const skn_node_t *list, uint64_t *bounds)
{
    char found[64];
    skn_problems_t *problems = reading->spec->problems;
    uint32_t wanted = reading->pipe->to_count + 1, count = 0;
    if (list->type != SKN_NODE_LIST)
        return skn_problems_add(problems, list->mark,
                                "'bounds' must be a list, found %s",
                                skn_node_describe(list, found, sizeof(found)));
    if (list->count != wanted) {
        (void)skn_problems_add(problems, list->mark,
                               "%u bounds for %u receivers, which need %u",
                               list->count, wanted - 1, wanted);
        return skn_problems_hint(problems, "where each one's range starts, "
                                           "and the end of the last");
    }
    for (const skn_node_t *item = list->first; item; item = item->next) {
        uint64_t number = 0;
        if (item->type != SKN_NODE_SCALAR || item->quoted ||
            !skn_value_unsigned(item->text, &number))
            return skn_problems_add(
                problems, item->mark,
                "a bound must be an integer from 0, found %s",
                skn_node_describe(item, found, sizeof(found)));
        if (count > 0 && number <= bounds[count - 1])
            return skn_problems_add(problems, item->mark,
                                    "bounds must ascend, but %" PRIu64
                                    " follows %" PRIu64,
                                    number, bounds[count - 1]);
        bounds[count++] = number;
    }
    return SKN_OK;
}

skn_status_t
skn_spec_read_scatter(spec_pipe_t *reading)
{
    skn_wired_pipe_t *pipe = reading->pipe;
    skn_spec_t *spec = reading->spec;
    if (pipe->pattern != SKN_PATTERN_SCATTER) {
        skn_status_t key = refuse_idle(reading, "key", "pattern scatter");
        skn_status_t list = refuse_idle(reading, "bounds", "pattern scatter");
        return key == SKN_OK ? list : key;
    }
    if (!skn_spec_is_set(reading, "key"))
        return skn_problems_add(spec->problems, reading->node->mark,
                                "scatter needs a 'key': a field of '%s'",
                                pipe->schema->name);
    pipe->key = find_field(reading, "key", reading->values[KEY].text,
                           can_be_key, "u32, u64, u32s or u64s");
    if (!pipe->key)
        return SKN_BAD_CONFIG;
    uint64_t *bounds =
        skn_spec_memory(spec, pipe->to_count + 1u, sizeof(*bounds));
    if (!bounds)
        return SKN_NO_MEMORY;
    pipe->bounds = bounds;
    const skn_node_t *list = skn_node_get(reading->node, "bounds");
    return list ? copy_bounds(reading, list, bounds)
                : split_evenly(reading, bounds);
}

skn_status_t
skn_spec_read_collect(spec_pipe_t *reading)
{
    skn_wired_pipe_t *pipe = reading->pipe;
    if (!skn_collect_waits(pipe->collect))
        return refuse_idle(reading, "by", "pipes that gather or reduce");
    pipe->by =
        find_field(reading, "by", reading->values[BY].text, can_be_by, "u64");
    return pipe->by ? SKN_OK : SKN_BAD_CONFIG;
}
