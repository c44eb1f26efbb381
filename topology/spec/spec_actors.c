/* spec_actors.c - reads the actors of a topology: names, kinds, options,
 * replicas.
 *
 * A name is "stem" or "stem.number". Actors with the same stem and with numbers
 * are peers; their numbers count from 0 without a gap, and are their index.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/kinds/builtin.h"
#include "topology/config/nearest.h"
#include "topology/spec/spec_internal.h"
#include "topology/config/values.h"

static const skn_option_t actor_options[] = {
    { "name", SKN_OPTION_TEXT, NULL, 0, 0, NULL, "its name in pipes" },
    { "kind", SKN_OPTION_TEXT, NULL, 0, 0, NULL, "one of 'skein actors'" },
    { "replicate", SKN_OPTION_INT, "1", 1, SKN_SHARD_MAX, NULL,
      "makes name.0, name.1, ..." },
    { "nice", SKN_OPTION_INT, "0", 0, 19, NULL, "added niceness" },
    { "cores", SKN_OPTION_TEXT, "auto", 0, 0, NULL,
      "auto, float, or the number of a core" },
    { "node", SKN_OPTION_TEXT, "", 0, 0, NULL, "one of 'nodes'" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
enum {
    ACTOR_NAME,
    KIND,
    REPLICATE,
    NICE,
    ACTOR_CORES,
    NODE,
    ACTOR_OPTION_COUNT
};
static const char *const actor_others[] = { "options", NULL };

/* --- names --------------------------------------------------------------- */

size_t
skn_spec_stem(const char *name, int64_t *number)
{
    const char *dot = strrchr(name, '.');
    uint64_t found = 0;
    *number = -1;
    if (!dot || !skn_value_unsigned(dot + 1, &found) || found > UINT32_MAX)
        return strlen(name);
    *number = (int64_t)found;
    return (size_t)(dot - name);
}

bool
skn_spec_check_name(skn_spec_t *spec, skn_mark_t mark, const char *what,
                    const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t length = strlen(name);
    if (length == 0 || length > SKN_NAME_MAX) {
        (void)skn_problems_add(spec->problems, mark,
                               "the %s must have 1 to %u letters, this has "
                               "%zu",
                               what, SKN_NAME_MAX, length);
        return false;
    }
    if (name[strspn(name, letters)] != '\0' || name[0] == '.' ||
        name[0] == '-') {
        (void)skn_problems_add(spec->problems, mark,
                               "the %s may contain letters, digits, '_', '-' "
                               "and '.' only, and starts with no '-' or '.'",
                               what);
        return false;
    }
    return true;
}

static int
compare_names(const void *a, const void *b)
{
    const spec_name_t *one = a, *other = b;
    int order = strcmp(one->stem, other->stem);
    if (order != 0)
        return order;
    if (one->number != other->number)
        return one->number < other->number ? -1 : 1;
    return one->actor < other->actor ? -1 : one->actor > other->actor ? 1 : 0;
}

/* The first of the sorted names that does not come before stem, number. */
static uint32_t
lower_bound(const skn_spec_t *spec, const char *stem, size_t stem_bytes,
            int64_t number)
{
    uint32_t low = 0, high = spec->actor_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const spec_name_t *name = &spec->names[middle];
        int order = strncmp(name->stem, stem, stem_bytes);
        if (order == 0 && name->stem[stem_bytes] != '\0')
            order = 1;
        bool before = order < 0 || (order == 0 && name->number < number);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

static bool
has_stem(const spec_name_t *name, const char *stem, size_t stem_bytes)
{
    return strncmp(name->stem, stem, stem_bytes) == 0 &&
           name->stem[stem_bytes] == '\0';
}

uint32_t
skn_spec_find(const skn_spec_t *spec, const char *text, uint32_t *first)
{
    int64_t number = -1;
    size_t stem_bytes = skn_spec_stem(text, &number);
    uint32_t at = lower_bound(spec, text, stem_bytes, number);
    *first = at;
    uint32_t count = 0;
    for (; at < spec->actor_count; at++, count++) {
        const spec_name_t *name = &spec->names[at];
        if (!has_stem(name, text, stem_bytes) ||
            (number >= 0 && name->number != number))
            break;
    }
    return count;
}

/* --- one entry of the list ----------------------------------------------- */

typedef struct entry {
    const skn_node_t *node;
    skn_value_t values[ACTOR_OPTION_COUNT];
    const skn_kind_t *kind;
    const skn_value_t *options;
    uint32_t count; /* replicas; 0: the entry's actors are not known */
    bool numbered;
    int core;
    uint32_t host; /* number of the node */
} entry_t;

/* Logical numbers of processing units that hwloc can have. A typing error is
 * caught here, an absent core when the run starts. */
#define CORE_MAX 65535u

static bool
read_cores(skn_spec_t *spec, entry_t *entry)
{
    const char *text = entry->values[ACTOR_CORES].text;
    uint64_t number = 0;
    if (text[0] == '\0')
        return false; /* it is not text, which was reported */
    entry->core = SKN_CORE_AUTO;
    if (strcmp(text, "auto") == 0)
        return true;
    entry->core = SKN_CORE_FLOAT;
    if (strcmp(text, "float") == 0)
        return true;
    if (skn_value_unsigned(text, &number) && number <= CORE_MAX) {
        entry->core = (int)number;
        return true;
    }
    (void)skn_problems_add(spec->problems, skn_spec_mark(entry->node, "cores"),
                           "option 'cores' of actor '%s' must be auto, float "
                           "or the number of a core, found '%.40s'",
                           entry->values[ACTOR_NAME].text, text);
    return false;
}

static void
refuse_kind(skn_spec_t *spec, const entry_t *entry)
{
    const char *wanted = entry->values[KIND].text;
    skn_nearest_t nearest = { .wanted = wanted };
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    for (uint32_t k = 0; k < spec->kind_count; k++) {
        skn_nearest_offer(&nearest, spec->kinds[k]->name);
        skn_spec_list(names, sizeof(names), spec->kinds[k]->name);
    }
    (void)skn_problems_add(spec->problems, skn_spec_mark(entry->node, "kind"),
                           "unknown kind '%.64s' of actor '%s'", wanted,
                           entry->values[ACTOR_NAME].text);
    if (nearest.best)
        (void)skn_problems_hint(spec->problems, "did you mean '%s'?",
                                nearest.best);
    else
        (void)skn_problems_hint(
            spec->problems, "there are %s%s", names[0] ? names : "none",
            skn_builtin_find() ? ""
                               : "; the kinds that train are in libskein, "
                                 "this program has only libskein-core");
}

static skn_status_t
read_options(skn_spec_t *spec, entry_t *entry)
{
    char owner[2 * SKN_NAME_MAX + 8];
    const skn_kind_t *kind = entry->kind;
    skn_value_t *values = skn_spec_memory(
        spec, skn_values_count(kind->options) + 1, sizeof(*values));
    if (!values)
        return SKN_NO_MEMORY;
    entry->options = values;
    (void)snprintf(owner, sizeof(owner), "%.64s '%.64s'", kind->name,
                   entry->values[ACTOR_NAME].text);
    return skn_values_check(
        spec->document, skn_node_get(entry->node, "options"), kind->options,
        NULL, owner, entry->node->mark, values, spec->problems);
}

/* Reads everything but the names. */
static skn_status_t
read_nature(skn_spec_t *spec, entry_t *entry)
{
    bool placed = read_cores(spec, entry);
    if (skn_spec_find_node(spec, entry->node, entry->values[ACTOR_NAME].text,
                           entry->values[NODE].text, &entry->host) != SKN_OK)
        placed = false;
    if (entry->values[KIND].text[0] == '\0')
        return SKN_BAD_CONFIG; /* it is missing, which was reported */
    entry->kind = skn_spec_kind(spec, entry->values[KIND].text);
    if (!entry->kind) {
        /* A plug-in that was refused may define it. */
        if (!spec->plugins_refused)
            refuse_kind(spec, entry);
        return SKN_BAD_CONFIG;
    }
    skn_status_t status = read_options(spec, entry);
    return placed ? status : SKN_BAD_CONFIG;
}

/* Checks the name that replicas extend by a dot and a number. */
static bool
check_base(skn_spec_t *spec, const entry_t *entry)
{
    const char *name = entry->values[ACTOR_NAME].text;
    skn_mark_t mark = skn_spec_mark(entry->node, "name");
    int64_t number = -1;
    (void)skn_spec_stem(name, &number);
    if (number >= 0) {
        (void)skn_problems_add(spec->problems, mark,
                               "'%s' cannot be replicated, since it ends in a "
                               "number",
                               name);
        return false;
    }
    if (strlen(name) + 5 <= SKN_NAME_MAX) /* ".1023" */
        return true;
    (void)skn_problems_add(spec->problems, mark,
                           "the name of a replicated actor must have at most "
                           "%u letters, this has %zu",
                           SKN_NAME_MAX - 5, strlen(name));
    return false;
}

static skn_status_t
read_entry(skn_spec_t *spec, const skn_node_t *node, entry_t *entry)
{
    char owner[SKN_NAME_MAX + 16] = "an actor";
    const skn_node_t *name = skn_node_get(node, "name");
    if (name && name->type == SKN_NODE_SCALAR && name->text[0])
        (void)snprintf(owner, sizeof(owner), "actor '%.64s'", name->text);
    entry->node = node;
    skn_status_t status =
        skn_values_check(spec->document, node, actor_options, actor_others,
                         owner, node->mark, entry->values, spec->problems);
    if (node->type != SKN_NODE_MAPPING)
        return status;
    entry->numbered = skn_node_get(node, "replicate") != NULL;
    int64_t replicas = entry->values[REPLICATE].number;
    bool is_in_range = replicas > 0 && replicas <= SKN_SHARD_MAX;
    entry->count = is_in_range ? (uint32_t)replicas : 0;
    if (!name || name->type != SKN_NODE_SCALAR || skn_node_is_null(name) ||
        !skn_spec_check_name(spec, name->mark, "name of an actor",
                             entry->values[ACTOR_NAME].text))
        entry->count = 0;
    else if (entry->numbered && !check_base(spec, entry))
        entry->count = 0;
    skn_status_t nature = read_nature(spec, entry);
    return status == SKN_OK ? nature : status;
}

/* --- actors -------------------------------------------------------------- */

static skn_status_t
name_actor(skn_spec_t *spec, const entry_t *entry, uint32_t replica,
           uint32_t actor)
{
    const char *base = entry->values[ACTOR_NAME].text;
    size_t bytes = strlen(base) + 12;
    char *name = skn_spec_memory(spec, bytes, 1);
    char *stem = skn_spec_memory(spec, bytes, 1);
    if (!name || !stem)
        return SKN_NO_MEMORY;
    if (entry->numbered)
        (void)snprintf(name, bytes, "%s.%u", base, replica);
    else
        (void)snprintf(name, bytes, "%s", base);
    spec_name_t *parts = &spec->names[actor];
    size_t stem_bytes = skn_spec_stem(name, &parts->number);
    memcpy(stem, name, stem_bytes);
    parts->stem = stem;
    parts->actor = actor;
    spec->actors[actor].name = name;
    return SKN_OK;
}

static skn_status_t
make_actors(skn_spec_t *spec, const entry_t *entries, uint32_t entry_count)
{
    spec->actors =
        skn_spec_memory(spec, spec->actor_count, sizeof(*spec->actors));
    spec->actor_nodes =
        skn_spec_memory(spec, spec->actor_count, sizeof(*spec->actor_nodes));
    spec->names =
        skn_spec_memory(spec, spec->actor_count, sizeof(*spec->names));
    if (!spec->actors || !spec->actor_nodes || !spec->names)
        return SKN_NO_MEMORY;
    uint32_t actor = 0;
    for (uint32_t k = 0; k < entry_count; k++) {
        const entry_t *entry = &entries[k];
        const char *plugin = skn_spec_plugin_of(spec, entry->kind);
        for (uint32_t replica = 0; replica < entry->count; replica++) {
            skn_wired_actor_t *made = &spec->actors[actor];
            made->kind = entry->kind;
            made->plugin = plugin;
            made->values = entry->options;
            made->core = entry->core;
            made->node = entry->host;
            made->nice = (int)entry->values[NICE].number;
            spec->actor_nodes[actor] = entry->node;
            skn_status_t status = name_actor(spec, entry, replica, actor++);
            if (status != SKN_OK)
                return status;
        }
    }
    return SKN_OK;
}

static skn_status_t
refuse_peers(skn_spec_t *spec, uint32_t first, uint32_t k)
{
    const spec_name_t *names = spec->names;
    const spec_name_t *name = &names[k];
    const skn_wired_actor_t *actor = &spec->actors[name->actor];
    skn_mark_t mark = skn_spec_mark(spec->actor_nodes[name->actor], "name");
    if (k > first && name->number == names[k - 1].number)
        return skn_problems_add(spec->problems, mark,
                                "there are two actors named '%s'", actor->name);
    if (names[first].number < 0) {
        (void)skn_problems_add(spec->problems, mark,
                               "'%s' and '%s': a name is one actor's, or the "
                               "stem of several",
                               name->stem, actor->name);
        return skn_problems_hint(spec->problems, "rename one of them");
    }
    if (name->number != (int64_t)(k - first)) {
        (void)skn_problems_add(spec->problems, mark,
                               "there is an actor '%s' but none named '%s.%u'",
                               actor->name, name->stem, k - first);
        return skn_problems_hint(spec->problems,
                                 "peers count from 0 without a gap");
    }
    const skn_wired_actor_t *peer = &spec->actors[names[first].actor];
    return skn_problems_add(
        spec->problems, mark, "'%s' has kind %s, but its peer '%s' has kind %s",
        actor->name, actor->kind->name, peer->name, peer->kind->name);
}

/* Peers are names[first .. end): all numbers from 0, one kind. */
static skn_status_t
number_peers(skn_spec_t *spec, uint32_t first, uint32_t end)
{
    const skn_kind_t *kind = spec->actors[spec->names[first].actor].kind;
    bool alone = spec->names[first].number < 0 && end == first + 1;
    for (uint32_t k = first; k < end; k++) {
        const spec_name_t *name = &spec->names[k];
        skn_wired_actor_t *actor = &spec->actors[name->actor];
        bool other_kind = kind && actor->kind && actor->kind != kind;
        if (!alone && (name->number != (int64_t)(k - first) || other_kind)) {
            if (k > first || name->number >= 0)
                return refuse_peers(spec, first, k);
            continue;
        }
        actor->index = k - first;
        actor->peers = end - first;
    }
    return SKN_OK;
}

static skn_status_t
check_names(skn_spec_t *spec)
{
    skn_status_t status = SKN_OK;
    qsort(spec->names, spec->actor_count, sizeof(*spec->names), compare_names);
    for (uint32_t first = 0, end = 0; first < spec->actor_count; first = end) {
        while (end < spec->actor_count &&
               strcmp(spec->names[end].stem, spec->names[first].stem) == 0)
            end++;
        skn_status_t numbered = number_peers(spec, first, end);
        status = numbered == SKN_OK ? status : numbered;
    }
    return status;
}

/* Reads every entry, also after a bad one. SKN_OK if the names of all actors
 * are known, though some actors may have other problems. */
static skn_status_t
read_entries(skn_spec_t *spec, const skn_node_t *list, entry_t *entries)
{
    uint32_t count = 0, actor_count = 0;
    bool all_known = true;
    for (const skn_node_t *item = list->first; item; item = item->next) {
        entry_t *entry = &entries[count++];
        if (read_entry(spec, item, entry) == SKN_NO_MEMORY)
            return SKN_NO_MEMORY;
        actor_count += entry->count;
        all_known = all_known && entry->count > 0;
    }
    if (actor_count > SKN_ACTORS_MAX)
        return skn_problems_add(spec->problems, list->mark,
                                "%u actors, at most %u allowed", actor_count,
                                SKN_ACTORS_MAX);
    if (!all_known)
        return SKN_BAD_CONFIG;
    spec->actor_count = actor_count;
    return make_actors(spec, entries, count);
}

skn_status_t
skn_spec_read_actors(skn_spec_t *spec, const skn_node_t *list)
{
    if (list->count > SKN_ACTORS_MAX)
        return skn_problems_add(spec->problems, list->mark,
                                "%u actors, at most %u allowed", list->count,
                                SKN_ACTORS_MAX);
    entry_t *entries = calloc(list->count, sizeof(*entries));
    if (!entries)
        return skn_problems_fail(spec->problems, SKN_NO_MEMORY,
                                 "no memory for %u actors", list->count);
    skn_status_t status = read_entries(spec, list, entries);
    free(entries);
    return status == SKN_OK ? check_names(spec) : status;
}
