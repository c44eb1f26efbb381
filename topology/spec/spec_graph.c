/* spec_graph.c - checks the graph of all actors and pipes of a topology:
 * cycles, windows, unconnected actors.
 *
 * It runs when every actor and pipe is right by itself. The graph has a node
 * for each actor and for each lane: a pipe or, with pattern one between many,
 * each of its pairs. Edges go from senders to the lane and on to receivers, so
 * their number is that of the ends of pipes, not of pairs of actors.
 * Cycles: strongly connected components, Tarjan 1972, without recursion.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/runtime/port.h"
#include "topology/spec/spec_internal.h"
#include "topology/config/values.h"

#define NONE UINT32_MAX

typedef struct graph {
    uint32_t actor_count, node_count; /* actors come first */
    uint32_t *lane_pipe;              /* pipe of node - actor_count */
    uint32_t *edges;                  /* node k's: start[k] to start[k + 1] */
    uint32_t *start;
    uint32_t *component; /* component of each node; NONE: left out */
    uint32_t component_count;
    uint32_t *index, *low, *next_edge, *stack, *path; /* Tarjan's */
    uint8_t *on_stack;
} graph_t;

/* --- building ------------------------------------------------------------ */

static uint32_t
lanes_of(const skn_wired_pipe_t *pipe)
{
    bool paired =
        pipe->pattern == SKN_PATTERN_ONE && pipe->from_count == pipe->to_count;
    return paired ? pipe->from_count : 1;
}

static void
free_graph(graph_t *graph)
{
    free(graph->lane_pipe);
    free(graph->edges);
    free(graph->start);
    free(graph->component);
    free(graph->index);
    free(graph->low);
    free(graph->next_edge);
    free(graph->stack);
    free(graph->path);
    free(graph->on_stack);
}

static bool
allocate(graph_t *graph, uint32_t lane_count, uint32_t edge_count)
{
    uint32_t nodes = graph->node_count;
    graph->lane_pipe = calloc(lane_count + 1u, sizeof(uint32_t));
    graph->edges = calloc(edge_count + 1u, sizeof(uint32_t));
    graph->start = calloc(nodes + 2u, sizeof(uint32_t));
    graph->component = calloc(nodes, sizeof(uint32_t));
    graph->index = calloc(nodes, sizeof(uint32_t));
    graph->low = calloc(nodes, sizeof(uint32_t));
    graph->next_edge = calloc(nodes, sizeof(uint32_t));
    graph->stack = calloc(nodes, sizeof(uint32_t));
    graph->path = calloc(nodes, sizeof(uint32_t));
    graph->on_stack = calloc(nodes, 1);
    return graph->lane_pipe && graph->edges && graph->start &&
           graph->component && graph->index && graph->low && graph->next_edge &&
           graph->stack && graph->path && graph->on_stack;
}

/* Calls `add` for each edge, in the order of the pipes. */
static void
each_edge(const skn_spec_t *spec, graph_t *graph,
          void (*add)(graph_t *graph, uint32_t from, uint32_t to))
{
    uint32_t lane = graph->actor_count;
    for (uint32_t p = 0; p < spec->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &spec->pipes[p];
        uint32_t lanes = lanes_of(pipe);
        for (uint32_t k = 0; k < pipe->from_count; k++)
            add(graph, pipe->from[k], lane + (lanes > 1 ? k : 0));
        for (uint32_t k = 0; k < pipe->to_count; k++)
            add(graph, lane + (lanes > 1 ? k : 0), pipe->to[k]);
        for (uint32_t k = 0; k < lanes; k++)
            graph->lane_pipe[lane++ - graph->actor_count] = p;
    }
}

/* Counts are stored two places up at first, so that filling leaves the
 * starts. */
static void
count_edge(graph_t *graph, uint32_t from, uint32_t to)
{
    (void)to;
    graph->start[from + 2]++;
}

static void
put_edge(graph_t *graph, uint32_t from, uint32_t to)
{
    graph->edges[graph->start[from + 1]++] = to;
}

static bool
build_graph(const skn_spec_t *spec, graph_t *graph)
{
    uint32_t lane_count = 0, edge_count = 0;
    for (uint32_t p = 0; p < spec->pipe_count; p++) {
        lane_count += lanes_of(&spec->pipes[p]);
        edge_count += spec->pipes[p].from_count + spec->pipes[p].to_count;
    }
    graph->actor_count = spec->actor_count;
    graph->node_count = spec->actor_count + lane_count;
    if (!allocate(graph, lane_count, edge_count))
        return false;
    each_edge(spec, graph, count_edge);
    for (uint32_t k = 2; k < graph->node_count + 2; k++)
        graph->start[k] += graph->start[k - 1];
    each_edge(spec, graph, put_edge);
    assert(graph->start[graph->node_count] == edge_count);
    return true;
}

/* --- components ---------------------------------------------------------- */

static bool
is_gate(const skn_spec_t *spec, uint32_t actor)
{
    return spec->actors[actor].kind->gate;
}

/* Closes the component whose root is `node`. */
static void
close_component(graph_t *graph, uint32_t node, uint32_t *stacked)
{
    uint32_t member = NONE;
    while (member != node) {
        assert(*stacked > 0);
        member = graph->stack[--*stacked];
        graph->on_stack[member] = 0;
        graph->component[member] = graph->component_count;
    }
    graph->component_count++;
}

/* Depth first from `root`, with graph->path as the stack of calls. Nodes with
 * index NONE are not visited yet; nodes that are left out have component NONE
 * and an index. */
static void
visit(graph_t *graph, uint32_t root, uint32_t *count)
{
    uint32_t depth = 0, stacked = 0;
    graph->path[depth++] = root;
    while (depth > 0) {
        uint32_t node = graph->path[depth - 1];
        if (graph->index[node] == NONE) {
            graph->index[node] = graph->low[node] = (*count)++;
            graph->next_edge[node] = graph->start[node];
            graph->stack[stacked++] = node;
            graph->on_stack[node] = 1;
        }
        if (graph->next_edge[node] < graph->start[node + 1]) {
            uint32_t other = graph->edges[graph->next_edge[node]++];
            if (graph->index[other] == NONE)
                graph->path[depth++] = other;
            else if (graph->on_stack[other] &&
                     graph->index[other] < graph->low[node])
                graph->low[node] = graph->index[other];
            continue;
        }
        if (graph->low[node] == graph->index[node])
            close_component(graph, node, &stacked);
        if (--depth > 0 &&
            graph->low[node] < graph->low[graph->path[depth - 1]])
            graph->low[graph->path[depth - 1]] = graph->low[node];
    }
}

/* True if a cycle may pass through this node: a gate, or a pipe of answers,
 * whose number is that of the messages answered. */
static bool
is_open(const skn_spec_t *spec, const graph_t *graph, uint32_t node)
{
    if (node < graph->actor_count)
        return is_gate(spec, node);
    return spec->pipes[graph->lane_pipe[node - graph->actor_count]].peer;
}

static void
find_components(const skn_spec_t *spec, graph_t *graph, bool with_gates)
{
    uint32_t count = 0;
    graph->component_count = 0;
    for (uint32_t node = 0; node < graph->node_count; node++) {
        bool out = !with_gates && is_open(spec, graph, node);
        graph->component[node] = NONE;
        graph->index[node] = out ? 0 : NONE;
        graph->on_stack[node] = 0;
    }
    for (uint32_t node = 0; node < graph->node_count; node++)
        if (graph->index[node] == NONE)
            visit(graph, node, &count);
}

/* --- cycles without a gate ----------------------------------------------- */

/* Names of the shortest cycle through `actor` within its component, by breadth
 * first search; graph->low is each node's predecessor. */
static void
describe_cycle(const skn_spec_t *spec, graph_t *graph, uint32_t actor,
               char *text, size_t text_bytes)
{
    uint32_t head = 0, tail = 0, last = NONE;
    uint32_t component = graph->component[actor];
    for (uint32_t node = 0; node < graph->node_count; node++)
        graph->low[node] = NONE;
    graph->path[tail++] = actor;
    while (last == NONE) {
        assert(head < tail);
        uint32_t node = graph->path[head++];
        for (uint32_t k = graph->start[node]; k < graph->start[node + 1]; k++) {
            uint32_t other = graph->edges[k];
            if (other == actor)
                last = node;
            if (graph->component[other] != component || other == actor ||
                graph->low[other] != NONE)
                continue;
            graph->low[other] = node;
            graph->path[tail++] = other;
        }
    }
    uint32_t length = 0; /* the cycle's actors, last first, in stack */
    for (uint32_t node = last; node != NONE; node = graph->low[node])
        if (node < graph->actor_count)
            graph->stack[length++] = node;
    size_t used = 0;
    uint32_t k = length;
    for (; k > 0 && used + 2 * SKN_NAME_MAX + 16 < text_bytes; k--)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s -> ",
                                 spec->actors[graph->stack[k - 1]].name);
    (void)snprintf(text + used, text_bytes - used, "%s%s",
                   k > 0 ? "... -> " : "", spec->actors[actor].name);
}

static void
refuse_cycle(skn_spec_t *spec, graph_t *graph, uint32_t actor, uint32_t pipe)
{
    char cycle[320], gates[SKN_ERROR_HINT_BYTES - 64] = "";
    describe_cycle(spec, graph, actor, cycle, sizeof(cycle));
    for (uint32_t k = 0; k < spec->kind_count; k++)
        if (spec->kinds[k]->gate && spec->kinds[k] != &skn_port_kind)
            skn_spec_list(gates, sizeof(gates), spec->kinds[k]->name);
    (void)skn_problems_add(spec->problems, spec->pipe_nodes[pipe]->mark,
                           "%s is a cycle of pipes without a gate", cycle);
    (void)skn_problems_hint(spec->problems,
                            "lead it through a gate (%s), or give pipes that "
                            "only answer `peer: true`",
                            gates[0] ? gates : "there is none");
}

/* A node of the graph is in a cycle if its component has another one: no edge
 * leads from a node to itself. One problem for each component. */
static void
check_gates(skn_spec_t *spec, graph_t *graph)
{
    find_components(spec, graph, false);
    uint32_t *first_actor = graph->next_edge;
    for (uint32_t k = 0; k < graph->component_count; k++)
        first_actor[k] = NONE;
    for (uint32_t k = graph->actor_count; k-- > 0;)
        if (graph->component[k] != NONE)
            first_actor[graph->component[k]] = k;
    for (uint32_t k = graph->actor_count; k < graph->node_count; k++) {
        uint32_t component = graph->component[k];
        if (component == NONE)
            continue; /* a pipe of answers */
        uint32_t actor = first_actor[component];
        if (actor == NONE ||
            skn_problems_count(spec->problems) > SKN_PROBLEMS_KEPT)
            continue;
        first_actor[component] = NONE;
        refuse_cycle(spec, graph, actor,
                     graph->lane_pipe[k - graph->actor_count]);
    }
}

/* --- windows ------------------------------------------------------------- */

static int64_t
window_of(const skn_spec_t *spec, uint32_t actor)
{
    const skn_wired_actor_t *wired = &spec->actors[actor];
    const skn_value_t *window =
        skn_values_get(wired->kind->options, wired->values, "window");
    bool is_window = window && window->option->type == SKN_OPTION_INT &&
                     is_gate(spec, actor);
    return is_window ? window->number : 0;
}

static void
refuse_credit(skn_spec_t *spec, uint32_t pipe, uint32_t gate)
{
    int64_t window = window_of(spec, gate);
    (void)skn_problems_add(
        spec->problems, skn_spec_mark(spec->pipe_nodes[pipe], "credit"),
        "the pipe of '%s' has credit %u and is in a cycle with %s, whose "
        "window is %" PRId64,
        spec->pipes[pipe].schema->name, spec->pipes[pipe].credit,
        spec->actors[gate].name, window);
    (void)skn_problems_hint(spec->problems, "give credit: %" PRId64 " or more",
                            window);
}

/* A pipe in a cycle must have credit for all messages that the gate admits at a
 * time. */
static void
check_windows(skn_spec_t *spec, graph_t *graph)
{
    find_components(spec, graph, true);
    uint32_t *widest = graph->next_edge; /* gate of each component */
    for (uint32_t k = 0; k < graph->component_count; k++)
        widest[k] = NONE;
    for (uint32_t k = 0; k < graph->actor_count; k++) {
        uint32_t *gate = &widest[graph->component[k]];
        int64_t window = window_of(spec, k);
        if (window > 0 && (*gate == NONE || window > window_of(spec, *gate)))
            *gate = k;
    }
    uint32_t refused = NONE; /* lanes of a pipe are neighbours */
    for (uint32_t k = graph->actor_count; k < graph->node_count; k++) {
        uint32_t pipe = graph->lane_pipe[k - graph->actor_count];
        uint32_t gate = widest[graph->component[k]];
        if (gate == NONE || pipe == refused ||
            (int64_t)spec->pipes[pipe].credit >= window_of(spec, gate))
            continue;
        refuse_credit(spec, pipe, gate);
        refused = pipe;
    }
}

/* --- ends ---------------------------------------------------------------- */

/* One end of a pipe: an actor and the message that it sends or handles
 * there. */
typedef struct end {
    uint32_t actor, message, pipe;
} end_t;

static int
compare_ends(const void *a, const void *b)
{
    const end_t *one = a, *other = b;
    if (one->actor != other->actor)
        return one->actor < other->actor ? -1 : 1;
    if (one->message != other->message)
        return one->message < other->message ? -1 : 1;
    return one->pipe < other->pipe ? -1 : one->pipe > other->pipe ? 1 : 0;
}

/* Senders, or receivers, of all pipes, sorted; `ends` has room. */
static uint32_t
list_ends(const skn_spec_t *spec, bool senders, end_t *ends)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < spec->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &spec->pipes[p];
        const uint32_t *actors = senders ? pipe->from : pipe->to;
        uint32_t actor_count = senders ? pipe->from_count : pipe->to_count;
        for (uint32_t k = 0; k < actor_count; k++)
            ends[count++] = (end_t){ actors[k], pipe->schema->id, p };
    }
    assert(count <= spec->end_count);
    qsort(ends, count, sizeof(*ends), compare_ends);
    return count;
}

static void
check_senders(skn_spec_t *spec, end_t *ends, uint8_t *blamed)
{
    uint32_t count = list_ends(spec, true, ends);
    for (uint32_t k = 1; k < count; k++) {
        if (ends[k].actor != ends[k - 1].actor ||
            ends[k].message != ends[k - 1].message || blamed[ends[k].pipe])
            continue;
        blamed[ends[k].pipe] = 1;
        (void)skn_problems_add(
            spec->problems, spec->pipe_nodes[ends[k].pipe]->mark,
            "%s sends '%s' on two pipes", spec->actors[ends[k].actor].name,
            spec->pipes[ends[k].pipe].schema->name);
        (void)skn_problems_hint(spec->problems,
                                "list all receivers in one pipe");
    }
}

/* A handler gets either parts or single messages, not both. */
static void
check_receivers(skn_spec_t *spec, end_t *ends, uint8_t *blamed)
{
    uint32_t count = list_ends(spec, false, ends);
    for (uint32_t k = 1; k < count; k++) {
        const skn_wired_pipe_t *pipe = &spec->pipes[ends[k].pipe];
        const skn_wired_pipe_t *before = &spec->pipes[ends[k - 1].pipe];
        if (ends[k].actor != ends[k - 1].actor ||
            ends[k].message != ends[k - 1].message ||
            skn_collect_parts(pipe->collect) ==
                skn_collect_parts(before->collect) ||
            blamed[ends[k].pipe])
            continue;
        blamed[ends[k].pipe] = 1;
        (void)skn_problems_add(
            spec->problems, spec->pipe_nodes[ends[k].pipe]->mark,
            "%s gets '%s' gathered from one pipe and singly "
            "from another",
            spec->actors[ends[k].actor].name, pipe->schema->name);
        (void)skn_problems_hint(spec->problems, "collect the same way on both");
    }
}

/* An actor in no pipe must need none: it sends nothing, and it produces its own
 * work or handles nothing. */
static skn_status_t
check_connected(skn_spec_t *spec)
{
    uint8_t *connected = calloc(spec->actor_count, 1);
    if (!connected)
        return SKN_NO_MEMORY;
    for (uint32_t p = 0; p < spec->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &spec->pipes[p];
        for (uint32_t k = 0; k < pipe->from_count; k++)
            connected[pipe->from[k]] = 1;
        for (uint32_t k = 0; k < pipe->to_count; k++)
            connected[pipe->to[k]] = 1;
    }
    for (uint32_t k = 0; k < spec->actor_count; k++) {
        const skn_kind_t *kind = spec->actors[k].kind;
        bool can_send = kind->sends && kind->sends[0];
        bool can_receive = kind->handlers && kind->handlers[0].schema;
        if (connected[k] || (!can_send && (kind->produce || !can_receive)))
            continue;
        (void)skn_problems_add(spec->problems, spec->actor_nodes[k]->mark,
                               "%s is not connected to any pipe",
                               spec->actors[k].name);
        (void)skn_problems_hint(spec->problems, "connect it, or leave it out");
    }
    free(connected);
    return SKN_OK;
}

/* The bit of `schema` among the messages that the kind needs; 0: not needed. */
static uint32_t
need_bit(const skn_kind_t *kind, const skn_schema_t *schema)
{
    for (uint32_t k = 0; kind && kind->needs && kind->needs[k]; k++)
        if (kind->needs[k]->id == schema->id)
            return 1u << k;
    return 0;
}

/* Marks actors that are in any pipe, and at the end of one, beside the bits of
 * their needs. */
#define IN_A_PIPE (UINT64_C(1) << 32)
#define GETS_A_MESSAGE (UINT64_C(1) << 33)

/* Whether an actor of this kind does nothing, and so never ends, unless a
 * message comes. */
static bool
waits_for_messages(const skn_kind_t *kind)
{
    return kind && !kind->needs && kind->handlers && kind->handlers[0].schema &&
           !kind->gate && !kind->produce && !kind->start && !kind->ready &&
           !(kind->timers && kind->timers[0].name);
}

/* Whether the pipe leads from one actor to others of its kind: these need
 * nothing else. */
static bool
has_leader(const skn_spec_t *spec, const skn_wired_pipe_t *pipe)
{
    if (pipe->from_count != 1)
        return false;
    const skn_kind_t *kind = spec->actors[pipe->from[0]].kind;
    for (uint32_t k = 0; k < pipe->to_count; k++)
        if (pipe->to[k] == pipe->from[0] ||
            spec->actors[pipe->to[k]].kind != kind)
            return false;
    return true;
}

/* Checks that every actor gets the messages without which it would wait for
 * ever. An actor that is in no pipe was already reported. */
static skn_status_t
check_needs(skn_spec_t *spec)
{
    uint64_t *got = calloc(spec->actor_count + 1u, sizeof(*got));
    if (!got)
        return SKN_NO_MEMORY;
    for (uint32_t p = 0; p < spec->pipe_count; p++) {
        const skn_wired_pipe_t *pipe = &spec->pipes[p];
        bool is_led = has_leader(spec, pipe);
        for (uint32_t k = 0; k < pipe->to_count; k++)
            got[pipe->to[k]] |=
                is_led ? UINT64_MAX
                       : IN_A_PIPE | GETS_A_MESSAGE |
                             need_bit(spec->actors[pipe->to[k]].kind,
                                      pipe->schema);
        for (uint32_t k = 0; k < pipe->from_count; k++)
            got[pipe->from[k]] |= IN_A_PIPE;
    }
    for (uint32_t a = 0; a < spec->actor_count; a++) {
        const skn_wired_actor_t *actor = &spec->actors[a];
        if (!(got[a] & IN_A_PIPE))
            continue;
        if (!(got[a] & GETS_A_MESSAGE) && waits_for_messages(actor->kind)) {
            if (a > 0 && spec->actor_nodes[a] == spec->actor_nodes[a - 1])
                continue; /* another one of `replicate` */
            (void)skn_problems_add(
                spec->problems, skn_spec_mark(spec->actor_nodes[a], "name"),
                "%s gets no message, and would never end", actor->name);
            (void)skn_problems_hint(spec->problems,
                                    "a pipe with `message: %s` must lead to it",
                                    actor->kind->handlers[0].schema->name);
            continue;
        }
        for (uint32_t k = 0;
             actor->kind && actor->kind->needs && actor->kind->needs[k]; k++) {
            const char *name = actor->kind->needs[k]->name;
            if (got[a] >> k & 1)
                continue;
            (void)skn_problems_add(spec->problems,
                                   skn_spec_mark(spec->actor_nodes[a], "name"),
                                   "%s gets no '%s'", actor->name, name);
            (void)skn_problems_hint(spec->problems,
                                    "a pipe with `message: %s` must lead to it",
                                    name);
        }
    }
    free(got);
    return SKN_OK;
}

/* Each pipe is reported once, whatever the number of its ends. */
static skn_status_t
check_ends(skn_spec_t *spec)
{
    skn_status_t status = SKN_NO_MEMORY;
    end_t *ends = calloc(spec->end_count + 1u, sizeof(*ends));
    uint8_t *blamed = calloc(spec->pipe_count + 1u, 1);
    if (ends && blamed) {
        check_senders(spec, ends, blamed);
        check_receivers(spec, ends, blamed);
        status = check_connected(spec);
        if (status == SKN_OK)
            status = check_needs(spec);
    }
    free(ends);
    free(blamed);
    return status;
}

skn_status_t
skn_spec_check_graph(skn_spec_t *spec)
{
    graph_t graph = { 0 };
    size_t count_before = skn_problems_count(spec->problems);
    skn_status_t status = check_ends(spec);
    if (status == SKN_OK && !build_graph(spec, &graph))
        status = SKN_NO_MEMORY;
    if (status != SKN_OK) {
        (void)skn_problems_fail(spec->problems, status,
                                "no memory for the graph of %u pipes",
                                spec->pipe_count);
        goto done;
    }
    check_gates(spec, &graph);
    check_windows(spec, &graph);
    if (skn_problems_count(spec->problems) > count_before)
        status = SKN_BAD_CONFIG;
done:
    free_graph(&graph);
    return status;
}
