/* spec_print.c - a wiring as a topology file again, and as a drawing.
 *
 * Values are printed as they were written, so that reals come back with the
 * same bits; fallbacks as they stand in the kind's table.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "topology/spec_parts.h"

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
print_actor(const skn_wired_actor_t *actor, FILE *file)
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
    (void)fprintf(file, ", nice: %d }\n", actor->nice);
}

/* Whether the ends are all peers of one stem, in their order. */
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
                                         [SKN_COLLECT_REDUCE] = "reduce" };
    return texts[collect];
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
    if (pipe->collect != SKN_COLLECT_NONE) {
        (void)fputs(", by: ", file);
        skn_document_write_text(pipe->by->name, true, file);
    }
    (void)fprintf(file, ", credit: %u%s }\n", pipe->credit,
                  pipe->peer ? ", peer: true" : "");
}

static skn_status_t
finish(FILE *file, const char *what, skn_error_t *error)
{
    if (ferror(file))
        return skn_fail(error, SKN_STORAGE, "writing %s: %s", what,
                        strerror(errno));
    return SKN_OK;
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
    (void)fputs("  actors:\n", file);
    for (uint32_t k = 0; k < spec->actor_count; k++)
        print_actor(&spec->actors[k], file);
    if (spec->pipe_count > 0)
        (void)fputs("  pipes:\n", file);
    for (uint32_t k = 0; k < spec->pipe_count; k++)
        print_pipe(spec, &spec->pipes[k], file);
    return finish(file, "a topology", error);
}

/* --- graphviz ------------------------------------------------------------ */

/* Pairs of a pipe that are drawn as single edges; more go through a point. */
#define DRAWN_PAIRS_MAX 16u

/* Text between quotes. */
static void
dot_text(const char *text, FILE *file)
{
    (void)fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)fputc('\\', file);
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

static void
dot_kind(const skn_spec_t *spec, uint32_t first, FILE *file)
{
    const skn_kind_t *kind = spec->actors[first].kind;
    (void)fprintf(file, "  subgraph cluster_%u {\n    label=", first);
    dot_text(kind->name, file);
    (void)fputs(";\n", file);
    for (uint32_t k = first; k < spec->actor_count; k++) {
        if (spec->actors[k].kind != kind)
            continue;
        (void)fputs("    ", file);
        dot_text(spec->actors[k].name, file);
        (void)fputs(";\n", file);
    }
    (void)fputs("  }\n", file);
}

static void
dot_edge(const char *from, const char *to, const char *label, FILE *file)
{
    (void)fputs("  ", file);
    dot_text(from, file);
    (void)fputs(" -> ", file);
    dot_text(to, file);
    if (label) {
        (void)fputs(" [label=", file);
        dot_text(label, file);
        (void)fputs("]", file);
    }
    (void)fputs(";\n", file);
}

static void
dot_pipe(const skn_spec_t *spec, uint32_t p, FILE *file)
{
    char label[SKN_NAME_MAX + 64], point[32];
    const skn_wired_pipe_t *pipe = &spec->pipes[p];
    bool collects = pipe->collect != SKN_COLLECT_NONE;
    (void)snprintf(label, sizeof(label), "%.64s x %s%s%s x %u",
                   pipe->schema->name, pattern_text(pipe->pattern),
                   collects ? " + " : "",
                   collects ? collect_text(pipe->collect) : "", pipe->credit);
    bool paired =
        pipe->pattern == SKN_PATTERN_ONE && pipe->to_count == pipe->from_count;
    if (paired || pipe->from_count * pipe->to_count <= DRAWN_PAIRS_MAX) {
        for (uint32_t j = 0; j < pipe->from_count; j++)
            for (uint32_t k = 0; k < pipe->to_count; k++)
                if (!paired || j == k)
                    dot_edge(spec->actors[pipe->from[j]].name,
                             spec->actors[pipe->to[k]].name,
                             j + k == 0 ? label : NULL, file);
        return;
    }
    (void)snprintf(point, sizeof(point), "pipe %u", p);
    (void)fputs("  ", file);
    dot_text(point, file);
    (void)fputs(" [shape=point, xlabel=", file);
    dot_text(label, file);
    (void)fputs("];\n", file);
    for (uint32_t j = 0; j < pipe->from_count; j++)
        dot_edge(spec->actors[pipe->from[j]].name, point, NULL, file);
    for (uint32_t k = 0; k < pipe->to_count; k++)
        dot_edge(point, spec->actors[pipe->to[k]].name, NULL, file);
}

skn_status_t
skn_spec_dot(const skn_spec_t *spec, FILE *file, skn_error_t *error)
{
    (void)fputs("digraph ", file);
    dot_text(spec->wiring.name, file);
    (void)fputs(" {\n  rankdir=LR;\n  node [shape=box];\n", file);
    for (uint32_t k = 0; k < spec->actor_count; k++) {
        uint32_t first = 0; /* of those of its kind */
        while (spec->actors[first].kind != spec->actors[k].kind)
            first++;
        if (first == k)
            dot_kind(spec, k, file);
    }
    for (uint32_t p = 0; p < spec->pipe_count; p++)
        dot_pipe(spec, p, file);
    (void)fputs("}\n", file);
    return finish(file, "a drawing", error);
}
