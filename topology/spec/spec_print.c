/* spec_print.c - prints a wiring as a topology file.
 *
 * Values are printed as they were written, so that reals come back with the
 * same bits; fallbacks are printed as in the kind's table.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/folder/folder.h"
#include "topology/spec/spec_internal.h"

/* --- YAML ---------------------------------------------------------------- */

static void
print_value(const skn_value_t *value, FILE *file)
{
    skn_option_type_t type = value->option->type;
    bool is_text = type == SKN_OPTION_TEXT || type == SKN_OPTION_PATH ||
                   type == SKN_OPTION_CHOICE;
    skn_document_write_text(value->option->name, false, file);
    (void)fputs(": ", file);
    skn_document_write_text(value->text, is_text, file);
}

static void
print_options(const skn_wired_actor_t *actor, FILE *file)
{
    const skn_option_t *options = actor->kind->options;
    if (!options || !options[0].name)
        return;
    (void)fputs(", options: { ", file);
    for (size_t k = 0; options[k].name; k++) {
        (void)fputs(k ? ", " : "", file);
        print_value(&actor->values[k], file);
    }
    (void)fputs(" }", file);
}

static void
print_text(const char *key, const char *text, FILE *file)
{
    if (!text[0])
        return;
    (void)fprintf(file, ", %s: ", key);
    skn_document_write_text(text, true, file);
}

static void
print_node(const skn_wired_node_t *node, FILE *file)
{
    (void)fputs("    - { name: ", file);
    skn_document_write_text(node->name, true, file);
    print_text("address", node->address, file);
    print_text("via", node->via, file);
    print_text("key", node->key, file);
    print_text("ssh", node->ssh, file);
    if (node->core_count > 0)
        (void)fprintf(file, ", cores: %" PRIu32, node->core_count);
    if (node->memory_bytes > 0)
        (void)fprintf(file, ", memory: %" PRIu64, node->memory_bytes);
    (void)fputs(" }\n", file);
}

static void
print_actor(const skn_spec_t *spec, const skn_wired_actor_t *actor, FILE *file)
{
    (void)fputs("    - { name: ", file);
    skn_document_write_text(actor->name, true, file);
    (void)fputs(", kind: ", file);
    skn_document_write_text(actor->kind->name, true, file);
    print_options(actor, file);
    if (actor->core >= 0)
        (void)fprintf(file, ", cores: %d", actor->core);
    else
        (void)fprintf(file, ", cores: %s",
                      actor->core == SKN_CORE_AUTO ? "auto" : "float");
    (void)fprintf(file, ", nice: %d", actor->nice);
    if (spec->node_count > 0)
        print_text("node", spec->nodes[actor->node].name, file);
    (void)fputs(" }\n", file);
}

/* True if the ends are all peers of one stem, in their order. */
static bool
is_whole_stem(const skn_spec_t *spec, const uint32_t *ends, uint32_t count)
{
    int64_t number = -1;
    const char *first = spec->actors[ends[0]].name;
    size_t stem_bytes = skn_spec_stem(first, &number);
    if (number != 0 || spec->actors[ends[0]].peers != count || count < 2)
        return false;
    char stem[SKN_NAME_MAX + 1]; /* "a.3" would be read as one actor */
    (void)snprintf(stem, sizeof(stem), "%.*s", (int)stem_bytes, first);
    if (skn_spec_stem(stem, &number) != stem_bytes)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        const skn_wired_actor_t *actor = &spec->actors[ends[k]];
        if (skn_spec_stem(actor->name, &number) != stem_bytes ||
            strncmp(actor->name, first, stem_bytes) != 0 || actor->index != k)
            return false;
    }
    return true;
}

static void
print_ends(const skn_spec_t *spec, const uint32_t *ends, uint32_t count,
           FILE *file)
{
    int64_t number = -1;
    const char *first = spec->actors[ends[0]].name;
    char stem[SKN_NAME_MAX + 1];
    if (is_whole_stem(spec, ends, count)) {
        (void)snprintf(stem, sizeof(stem), "%.*s",
                       (int)skn_spec_stem(first, &number), first);
        skn_document_write_text(stem, true, file);
        return;
    }
    (void)fputs(count > 1 ? "[" : "", file);
    for (uint32_t k = 0; k < count; k++) {
        (void)fputs(k ? ", " : "", file);
        skn_document_write_text(spec->actors[ends[k]].name, true, file);
    }
    (void)fputs(count > 1 ? "]" : "", file);
}

static const char *
pattern_text(skn_pattern_t pattern)
{
    static const char *const texts[] = { [SKN_PATTERN_ONE] = "one",
                                         [SKN_PATTERN_BROADCAST] = "broadcast",
                                         [SKN_PATTERN_SCATTER] = "scatter",
                                         [SKN_PATTERN_ANY] = "any" };
    return texts[pattern];
}

static const char *
collect_text(skn_collect_t collect)
{
    static const char *const texts[] = { [SKN_COLLECT_NONE] = "none",
                                         [SKN_COLLECT_GATHER] = "gather",
                                         [SKN_COLLECT_REDUCE] = "reduce",
                                         [SKN_COLLECT_PARTS] = "parts" };
    return texts[collect];
}

const char *
skn_spec_coding(uint32_t coding)
{
    static const char *const texts[] = { "f32", "bf16", "int8", "int4" };
    return texts[coding];
}

static void
print_pipe(const skn_spec_t *spec, const skn_wired_pipe_t *pipe, FILE *file)
{
    (void)fputs("    - { from: ", file);
    print_ends(spec, pipe->from, pipe->from_count, file);
    (void)fputs(", to: ", file);
    print_ends(spec, pipe->to, pipe->to_count, file);
    (void)fputs(", message: ", file);
    skn_document_write_text(pipe->schema->name, true, file);
    (void)fprintf(file, ", pattern: %s", pattern_text(pipe->pattern));
    if (pipe->pattern == SKN_PATTERN_SCATTER) {
        (void)fputs(", key: ", file);
        skn_document_write_text(pipe->key->name, true, file);
        (void)fputs(", bounds: ", file);
        for (uint32_t k = 0; k <= pipe->to_count; k++)
            (void)fprintf(file, "%s%" PRIu64, k ? ", " : "[", pipe->bounds[k]);
        (void)fputs("]", file);
    }
    (void)fprintf(file, ", collect: %s", collect_text(pipe->collect));
    if (skn_collect_waits(pipe->collect)) {
        (void)fputs(", by: ", file);
        skn_document_write_text(pipe->by->name, true, file);
    }
    (void)fprintf(file, ", credit: %u%s", pipe->credit,
                  pipe->peer ? ", peer: true" : "");
    if (pipe->coding > 0)
        (void)fprintf(file, ", coding: %s", skn_spec_coding(pipe->coding));
    (void)fputs(" }\n", file);
}

skn_status_t
skn_spec_print(const skn_spec_t *spec, FILE *file, skn_error_t *error)
{
    (void)fputs("skein: 1\ntopology:\n  name: ", file);
    skn_document_write_text(spec->wiring.name, true, file);
    (void)fputs("\n", file);
    for (uint32_t k = 0; k < spec->plugin_count; k++) {
        (void)fputs(k ? "    - " : "  plugins:\n    - ", file);
        skn_document_write_text(spec->plugin_paths[k], true, file);
        (void)fputs("\n", file);
    }
    (void)fputs(spec->node_count > 0 ? "  nodes:\n" : "", file);
    for (uint32_t k = 0; k < spec->node_count; k++)
        print_node(&spec->nodes[k], file);
    (void)fputs("  actors:\n", file);
    for (uint32_t k = 0; k < spec->actor_count; k++)
        print_actor(spec, &spec->actors[k], file);
    if (spec->pipe_count > 0)
        (void)fputs("  pipes:\n", file);
    for (uint32_t k = 0; k < spec->pipe_count; k++)
        print_pipe(spec, &spec->pipes[k], file);
    return skn_file_finish(file, "writing a topology", error);
}
