/* spec_draw.c - draws a wiring, with the senders, messages and receivers of all
 * pipes, for terminals and for graphviz.
 *
 *     source                     core 0
 *       ├─ batch ────▶ embedding.0-1       broadcast
 *       └─ labels ───▶ output.0-1          broadcast
 *
 * The shards of a row are drawn as one box; for graphviz one box per node,
 * which is a cluster. The order follows the messages: first the actors that
 * start the flow, then those that they reach.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/folder/folder.h"
#include "topology/spec/spec_internal.h"

/* Column of the notes, if names are short. */
#define NOTE_COLUMN 58

typedef struct drawing {
    const skn_wiring_t *wiring;
    uint32_t *group; /* for each actor: the first one with its stem */
    uint32_t *order; /* groups, by their first actors */
    bool *listed;    /* true if the group is in `order` */
    bool by_node;    /* each group is on one node */
    uint32_t *all;   /* every actor */
    uint32_t count;
} drawing_t;

static size_t
stem_bytes(const drawing_t *drawing, uint32_t actor)
{
    int64_t number;
    return skn_spec_stem(drawing->wiring->actors[actor].name, &number);
}

/* --- order --------------------------------------------------------------- */

static void
find_groups(const drawing_t *drawing)
{
    const skn_wired_actor_t *actors = drawing->wiring->actors;
    for (uint32_t k = 0; k < drawing->wiring->actor_count; k++) {
        size_t bytes = stem_bytes(drawing, k);
        drawing->group[k] = k;
        for (uint32_t j = 0; j < k; j++)
            if (drawing->group[j] == j && stem_bytes(drawing, j) == bytes &&
                (!drawing->by_node || actors[j].node == actors[k].node) &&
                memcmp(actors[j].name, actors[k].name, bytes) == 0) {
                drawing->group[k] = j;
                break;
            }
    }
}

static void
list_group(drawing_t *drawing, uint32_t group)
{
    if (drawing->listed[group])
        return;
    drawing->listed[group] = true;
    drawing->order[drawing->count++] = group;
}

static bool
sends(const drawing_t *drawing, const skn_wired_pipe_t *pipe, uint32_t group)
{
    for (uint32_t k = 0; k < pipe->from_count; k++)
        if (drawing->group[pipe->from[k]] == group)
            return true;
    return false;
}

/* Lists all groups that the groups from number `at` on reach. */
static void
follow(drawing_t *drawing, uint32_t at)
{
    const skn_wiring_t *wiring = drawing->wiring;
    for (; at < drawing->count; at++)
        for (uint32_t p = 0; p < wiring->pipe_count; p++) {
            const skn_wired_pipe_t *pipe = &wiring->pipes[p];
            if (!sends(drawing, pipe, drawing->order[at]))
                continue;
            for (uint32_t k = 0; k < pipe->to_count; k++)
                list_group(drawing, drawing->group[pipe->to[k]]);
        }
}

/* First the actors that produce by themselves, then the remaining ones. */
static void
find_order(drawing_t *drawing)
{
    for (int left = 0; left < 2; left++)
        for (uint32_t k = 0; k < drawing->wiring->actor_count; k++)
            if (left || drawing->wiring->actors[k].kind->produce) {
                uint32_t before = drawing->count;
                list_group(drawing, drawing->group[k]);
                follow(drawing, before);
            }
}

/* --- text ---------------------------------------------------------------- */

/* Prints "output.0-3", the members of a group among `ends`; returns the
 * columns. */
static int
print_members(const drawing_t *drawing, uint32_t group, const uint32_t *ends,
              uint32_t count, FILE *file)
{
    const skn_wired_actor_t *actors = drawing->wiring->actors;
    uint32_t found = 0, first = 0, last = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (drawing->group[ends[k]] != group)
            continue;
        first = found == 0 ? ends[k] : first;
        last = ends[k];
        found++;
    }
    if (found == 1)
        return fprintf(file, "%s", actors[first].name);
    bool row = actors[last].index - actors[first].index + 1 == found;
    return fprintf(file, row ? "%.*s.%u-%u" : "%.*s.%u..%u",
                   (int)stem_bytes(drawing, first), actors[first].name,
                   actors[first].index, actors[last].index);
}

static int
print_ends(const drawing_t *drawing, const uint32_t *ends, uint32_t count,
           FILE *file)
{
    int columns = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t group = drawing->group[ends[k]];
        bool told = false;
        for (uint32_t j = 0; j < k && !told; j++)
            told = drawing->group[ends[j]] == group;
        if (told)
            continue;
        columns += fprintf(file, "%s", columns > 0 ? ", " : "");
        columns += print_members(drawing, group, ends, count, file);
    }
    return columns;
}

static void
print_notes(const skn_wired_pipe_t *pipe, FILE *file)
{
    static const char *const words[] = { [SKN_PATTERN_ONE] = "one",
                                         [SKN_PATTERN_BROADCAST] = "broadcast",
                                         [SKN_PATTERN_SCATTER] = "scatter by",
                                         [SKN_PATTERN_ANY] = "any" };
    (void)fputs(words[pipe->pattern], file);
    if (pipe->pattern == SKN_PATTERN_SCATTER)
        (void)fprintf(file, " %s", pipe->key->name);
    static const char *const collects[] = { [SKN_COLLECT_GATHER] = "gather",
                                            [SKN_COLLECT_REDUCE] = "reduce",
                                            [SKN_COLLECT_PARTS] = "parts" };
    if (pipe->collect != SKN_COLLECT_NONE)
        (void)fprintf(file, ", %s", collects[pipe->collect]);
    (void)fputs(pipe->peer ? ", answers" : "", file);
    if (pipe->coding > 0)
        (void)fprintf(file, ", %s", skn_spec_coding(pipe->coding));
}

static void
print_pipe(const drawing_t *drawing, const skn_wired_pipe_t *pipe, bool last,
           int name_columns, FILE *file)
{
    int columns =
        fprintf(file, "  %s %s ", last ? "└─" : "├─", pipe->schema->name) -
        4; /* the branch is two characters of three bytes */
    for (; columns < name_columns + 7; columns++)
        (void)fputs("─", file);
    (void)fputs("▶ ", file);
    columns += 2 + print_ends(drawing, pipe->to, pipe->to_count, file);
    (void)fprintf(file, "%*s",
                  columns < NOTE_COLUMN ? NOTE_COLUMN - columns : 2, "");
    print_notes(pipe, file);
    (void)fputs("\n", file);
}

/* Prints `before` and "cores 0-1", "core 0" or "any core" of the group's
 * members on `node`; returns false, and prints nothing, if there are none. */
static bool
print_node_cores(const drawing_t *drawing, uint32_t group, uint32_t node,
                 const char *before, FILE *file)
{
    const skn_wired_actor_t *actors = drawing->wiring->actors;
    int least = 0, most = 0;
    bool found = false;
    for (uint32_t k = group; k < drawing->wiring->actor_count; k++) {
        if (drawing->group[k] != group || actors[k].node != node)
            continue;
        least = !found || actors[k].core < least ? actors[k].core : least;
        most = !found || actors[k].core > most ? actors[k].core : most;
        found = true;
    }
    if (!found)
        return false;
    (void)fputs(before, file);
    if (least < 0)
        (void)fputs("any core", file);
    else if (least == most)
        (void)fprintf(file, "core %d", least);
    else
        (void)fprintf(file, "cores %d-%d", least, most);
    if (drawing->wiring->node_count > 0)
        (void)fprintf(file, " of %s", drawing->wiring->nodes[node].name);
    return true;
}

/* "cores 0-1", or "cores 0-1 of a, core 0 of b". */
static void
print_cores(const drawing_t *drawing, uint32_t group, FILE *file)
{
    bool found = print_node_cores(drawing, group, 0, "", file);
    for (uint32_t k = 1; k < drawing->wiring->node_count; k++)
        found |= print_node_cores(drawing, group, k, found ? ", " : "", file);
}

static void
print_group(const drawing_t *drawing, uint32_t group, FILE *file)
{
    const skn_wiring_t *wiring = drawing->wiring;
    uint32_t pipes = 0;
    int name_columns = 0;
    int columns =
        print_members(drawing, group, drawing->all, wiring->actor_count, file);
    (void)fprintf(file, "%*s%s, ", columns < 24 ? 24 - columns : 2, "",
                  wiring->actors[group].kind->name);
    print_cores(drawing, group, file);
    (void)fputs("\n", file);
    for (uint32_t p = 0; p < wiring->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[p];
        int bytes = (int)strlen(pipe->schema->name);
        if (!sends(drawing, pipe, group))
            continue;
        name_columns = bytes > name_columns ? bytes : name_columns;
        pipes++;
    }
    for (uint32_t p = 0; p < wiring->pipe_count; p++)
        if (sends(drawing, &wiring->pipes[p], group))
            print_pipe(drawing, &wiring->pipes[p], --pipes == 0, name_columns,
                       file);
}

/* --- graphviz ------------------------------------------------------------ */

/* Prints text in quotes. */
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
dot_group(const drawing_t *drawing, uint32_t group, FILE *file)
{
    const skn_wiring_t *wiring = drawing->wiring;
    (void)fprintf(file, "  g%u [label=\"", group);
    (void)print_members(drawing, group, drawing->all, wiring->actor_count,
                        file);
    (void)fprintf(file, "\\n%s, ", wiring->actors[group].kind->name);
    print_cores(drawing, group, file);
    (void)fputs("\"];\n", file);
}

static bool
reaches(const drawing_t *drawing, const skn_wired_pipe_t *pipe, uint32_t from,
        uint32_t to)
{
    bool paired =
        pipe->pattern == SKN_PATTERN_ONE && pipe->from_count == pipe->to_count;
    if (!sends(drawing, pipe, from))
        return false;
    for (uint32_t k = 0; k < pipe->to_count; k++)
        if (drawing->group[pipe->to[k]] == to &&
            (!paired || drawing->group[pipe->from[k]] == from))
            return true;
    return false;
}

/* Prints one arrow for all pipes between two groups, with a line of its label
 * for each. Arrows against the order, and answers, do not affect the layout. */
static void
dot_arrow(const drawing_t *drawing, uint32_t from, uint32_t to, bool back,
          FILE *file)
{
    const skn_wiring_t *wiring = drawing->wiring;
    bool begun = false, answers = true;
    for (uint32_t p = 0; p < wiring->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &wiring->pipes[p];
        if (!reaches(drawing, pipe, from, to))
            continue;
        if (!begun)
            (void)fprintf(file, "  g%u -> g%u [label=\"", from, to);
        begun = true;
        answers = answers && pipe->peer;
        (void)fprintf(file, "%s: ", pipe->schema->name);
        print_notes(pipe, file);
        (void)fprintf(file, " x %u\\l", pipe->credit);
    }
    if (begun)
        (void)fprintf(file, "\"%s%s];\n", answers ? ", style=dashed" : "",
                      answers || back ? ", constraint=false" : "");
}

/* Prints the boxes of node `node`, or all if there are no nodes. */
static void
dot_groups(const drawing_t *drawing, uint32_t node, FILE *file)
{
    for (uint32_t k = 0; k < drawing->count; k++)
        if (drawing->wiring->actors[drawing->order[k]].node == node)
            dot_group(drawing, drawing->order[k], file);
}

static void
dot_nodes(const drawing_t *drawing, FILE *file)
{
    const skn_wiring_t *wiring = drawing->wiring;
    for (uint32_t k = 0; k < wiring->node_count; k++) {
        (void)fprintf(file, "  subgraph cluster_%u {\n  label=", k);
        dot_text(wiring->nodes[k].name, file);
        (void)fputs("; fontname=\"sans-serif\"; color=\"#4a5a70\"; "
                    "style=rounded;\n",
                    file);
        dot_groups(drawing, k, file);
        (void)fputs("  }\n", file);
    }
}

static void
draw_dot(const drawing_t *drawing, FILE *file)
{
    (void)fputs("digraph ", file);
    dot_text(drawing->wiring->name, file);
    (void)fputs(" {\n  rankdir=LR; ranksep=1.2; nodesep=0.5;\n"
                "  node [shape=box, style=\"rounded,filled\", "
                "fillcolor=\"#e8eef7\", fontname=\"sans-serif\"];\n"
                "  edge [fontname=\"sans-serif\", fontsize=10, "
                "color=\"#4a5a70\"];\n",
                file);
    if (drawing->wiring->node_count > 0)
        dot_nodes(drawing, file);
    else
        dot_groups(drawing, 0, file);
    for (uint32_t j = 0; j < drawing->count; j++)
        for (uint32_t k = 0; k < drawing->count; k++)
            dot_arrow(drawing, drawing->order[j], drawing->order[k], k <= j,
                      file);
    (void)fputs("}\n", file);
}

/* --- both ---------------------------------------------------------------- */

static void
draw_text(const drawing_t *drawing, FILE *file)
{
    const skn_wiring_t *wiring = drawing->wiring;
    (void)fprintf(file, "%s: %u actor%s, %u pipe%s", wiring->name,
                  wiring->actor_count, wiring->actor_count == 1 ? "" : "s",
                  wiring->pipe_count, wiring->pipe_count == 1 ? "" : "s");
    if (wiring->node_count > 0)
        (void)fprintf(file, ", %u node%s", wiring->node_count,
                      wiring->node_count == 1 ? "" : "s");
    (void)fputs("\n", file);
    for (uint32_t k = 0; k < drawing->count; k++)
        print_group(drawing, drawing->order[k], file);
}

static skn_status_t
draw(const skn_spec_t *spec, void (*print)(const drawing_t *, FILE *),
     FILE *file, skn_error_t *error)
{
    drawing_t drawing = { .wiring = &spec->wiring,
                          .by_node = print == draw_dot };
    size_t count = spec->wiring.actor_count;
    skn_status_t status = SKN_OK;
    drawing.group = calloc(count + 1, sizeof(*drawing.group));
    drawing.order = calloc(count + 1, sizeof(*drawing.order));
    drawing.listed = calloc(count + 1, sizeof(*drawing.listed));
    drawing.all = calloc(count + 1, sizeof(*drawing.all));
    for (uint32_t k = 0; drawing.all && k < count; k++)
        drawing.all[k] = k;
    if (!drawing.group || !drawing.order || !drawing.listed || !drawing.all) {
        status = skn_fail(error, SKN_NO_MEMORY, "no memory to draw %zu actors",
                          count);
    } else {
        find_groups(&drawing);
        find_order(&drawing);
        print(&drawing, file);
        status = skn_file_finish(file, "writing a drawing", error);
    }
    free(drawing.group);
    free(drawing.order);
    free(drawing.listed);
    free(drawing.all);
    return status;
}

skn_status_t
skn_spec_text(const skn_spec_t *spec, FILE *file, skn_error_t *error)
{
    return draw(spec, draw_text, file, error);
}

skn_status_t
skn_spec_dot(const skn_spec_t *spec, FILE *file, skn_error_t *error)
{
    return draw(spec, draw_dot, file, error);
}
