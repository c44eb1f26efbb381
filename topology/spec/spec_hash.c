/* spec_hash.c - hashes a topology, to check that all nodes have the same one.
 *
 * FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923), over numbers in little-endian
 * and texts with their NUL, so that it is the same on every machine. It detects
 * mistakes, not attacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topology/spec/spec_internal.h"

#define SPEC_FNV_START UINT64_C(0xcbf29ce484222325)
#define SPEC_FNV_PRIME UINT64_C(0x00000100000001b3)

static uint64_t
add_number(uint64_t hash, uint64_t number)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        hash = (hash ^ (number >> shift & 0xff)) * SPEC_FNV_PRIME;
    return hash;
}

static uint64_t
add_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * SPEC_FNV_PRIME;
    while (*text++);
    return hash;
}

/* Options that may differ between nodes: where a node's files are, the name of
 * the run, and what it displays. Paths may differ too, by their type. */
static bool
is_local(const skn_option_t *option)
{
    static const char *const names[] = {
        "cache",       "config",     "newest",     "resume",
        "progress_ms", "run",        "checkpoint", "first_batch",
        "resaves",     "patience_s", "huge_pages",
    };
    if (option->type == SKN_OPTION_PATH)
        return true;
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (strcmp(option->name, names[k]) == 0)
            return true;
    return false;
}

/* Hashes the meaning of the value, not its spelling. */
static uint64_t
add_value(uint64_t hash, const skn_value_t *value)
{
    uint64_t bits = 0;
    hash = add_text(hash, value->option->name);
    if (is_local(value->option))
        return hash;
    switch (value->option->type) {
    case SKN_OPTION_BOOL:
        return add_number(hash, value->truth);
    case SKN_OPTION_INT:
        return add_number(hash, (uint64_t)value->number);
    case SKN_OPTION_REAL:
        memcpy(&bits, &value->real, sizeof(bits));
        return add_number(hash, bits);
    case SKN_OPTION_TEXT:
    case SKN_OPTION_CHOICE:
    case SKN_OPTION_PATH:
        break;
    }
    return add_text(hash, value->text);
}

static uint64_t
add_actor(uint64_t hash, const skn_wired_actor_t *actor)
{
    const skn_option_t *options = actor->kind->options;
    hash = add_text(hash, actor->name);
    hash = add_text(hash, actor->kind->name);
    hash = add_number(hash, actor->node);
    for (size_t k = 0; options && options[k].name; k++)
        hash = add_value(hash, &actor->values[k]);
    return add_text(hash, "");
}

static uint64_t
add_ends(uint64_t hash, const uint32_t *ends, uint32_t count)
{
    hash = add_number(hash, count);
    for (uint32_t k = 0; k < count; k++)
        hash = add_number(hash, ends[k]);
    return hash;
}

static uint64_t
add_pipe(uint64_t hash, const skn_wired_pipe_t *pipe)
{
    hash = add_text(hash, pipe->schema->name);
    hash = add_number(hash, pipe->schema->id);
    hash = add_number(hash, pipe->pattern);
    hash = add_number(hash, pipe->collect);
    hash = add_number(hash, pipe->credit);
    hash = add_number(hash, pipe->peer);
    hash = add_number(hash, pipe->coding);
    hash = add_text(hash, pipe->key ? pipe->key->name : "");
    hash = add_text(hash, pipe->by ? pipe->by->name : "");
    hash = add_ends(hash, pipe->from, pipe->from_count);
    hash = add_ends(hash, pipe->to, pipe->to_count);
    for (uint32_t k = 0; pipe->bounds && k <= pipe->to_count; k++)
        hash = add_number(hash, pipe->bounds[k]);
    return hash;
}

uint64_t
skn_spec_hash(const skn_spec_t *spec)
{
    uint64_t hash = add_number(SPEC_FNV_START, spec->node_count);
    for (uint32_t k = 0; k < spec->node_count; k++)
        hash = add_text(hash, spec->nodes[k].name);
    hash = add_number(hash, spec->actor_count);
    for (uint32_t k = 0; k < spec->actor_count; k++)
        hash = add_actor(hash, &spec->actors[k]);
    hash = add_number(hash, spec->pipe_count);
    for (uint32_t k = 0; k < spec->pipe_count; k++)
        hash = add_pipe(hash, &spec->pipes[k]);
    return hash;
}
