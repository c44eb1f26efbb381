/* test_spec_graph.c - tests graphs of pipes: ends, cycles, gates, windows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/spec_checks.h"

#define READER                                                                 \
    "    - { name: reader, kind: word_reader, options: { path: a } }\n"
#define RELAY(name) "    - { name: " name ", kind: relay }\n"
#define PIPE(from, to, message)                                                \
    "    - { from: " from ", to: " to ", message: " message " }\n"

/* --- ends ---------------------------------------------------------------- */

Test(spec_graph, refuses_a_message_on_two_pipes_of_one_sender)
{
    expect_problems(TOPOLOGY(READER RELAY("a") RELAY("b"),
                             PIPE("reader", "a", "word")
                                 PIPE("reader", "b", "word")),
                    "t.yaml:10:7: reader sends 'word' on two pipes; list all "
                    "receivers in one pipe");
    /* A pipe is blamed once, not for each of its ends. */
    expect_problems(
        TOPOLOGY("    - { name: a, kind: relay, replicate: 9 }\n" RELAY("b"),
                 PIPE("a", "b", "word") PIPE("a", "b", "word")),
        "t.yaml:5:15: a.0 gets no message, and would never end; a pipe with "
        "`message: word` must lead to it\n"
        "t.yaml:9:7: a.0 sends 'word' on two pipes; list all receivers in "
        "one pipe");
    skn_spec_t *spec =
        load_good(TOPOLOGY(READER RELAY("a") RELAY("b") RELAY("c"),
                           PIPE("reader", "a", "word") PIPE("a", "b", "work")
                               PIPE("a", "b", "word") PIPE("b", "c", "word")));
    skn_spec_destroy(&spec);
}

Test(spec_graph, refuses_a_handler_that_gets_parts_and_single_messages)
{
    expect_problems(
        TOPOLOGY(READER "    - { name: r, kind: word_reader, options: { path: "
                        "b } }\n"
                        "    - { name: c, kind: word_counter }\n",
                 "    - { from: r, to: c, message: word, pattern: gather }\n"
                 "    - { from: reader, to: c, message: word }\n"),
        "t.yaml:10:7: c gets 'word' gathered from one pipe and singly from "
        "another; collect the same way on both");
    skn_spec_t *spec = load_good(
        TOPOLOGY(READER "    - { name: r, kind: word_reader, options: { path: "
                        "b } }\n"
                        "    - { name: c, kind: word_counter }\n",
                 "    - { from: r, to: c, message: word, pattern: reduce }\n"
                 "    - { from: reader, to: c, message: word }\n"));
    skn_spec_destroy(&spec);
}

/* It sends, so that it is in a pipe; but nothing ever comes. */
Test(spec_graph, refuses_an_actor_that_waits_for_messages_in_vain)
{
    expect_problems(TOPOLOGY(RELAY("a") RELAY("b"), PIPE("a", "b", "word")),
                    "t.yaml:5:15: a gets no message, and would never end; a "
                    "pipe with `message: word` must lead to it");
}

Test(spec_graph, refuses_actors_that_nobody_reaches)
{
    expect_problems(
        "skein: 1\ntopology:\n  name: t\n  actors:\n" READER
        "    - { name: c, kind: word_counter, replicate: 2 }\n"
        "    - { name: p, kind: total_printer }\n"
        "    - { name: h, kind: hermit }\n",
        "t.yaml:5:7: reader is not connected to any pipe; connect it, or leave "
        "it out\n"
        "t.yaml:6:7: c.0 is not connected to any pipe; connect it, or leave it "
        "out\n"
        "t.yaml:6:7: c.1 is not connected to any pipe; connect it, or leave it "
        "out\n"
        "t.yaml:7:7: p is not connected to any pipe; connect it, or leave it "
        "out");
}

/* --- cycles -------------------------------------------------------------- */

Test(spec_graph, refuses_a_cycle_without_a_gate)
{
    expect_problems(TOPOLOGY(RELAY("a") RELAY("b"),
                             PIPE("a", "b", "word") PIPE("b", "a", "word")),
                    "t.yaml:8:7: a -> b -> a is a cycle of pipes without "
                    "a gate; lead it through a gate (word_reader, "
                    "source, hermit), or give pipes that only answer "
                    "`peer: true`");
}

Test(spec_graph, refuses_an_actor_that_sends_to_itself)
{
    expect_problems(TOPOLOGY(RELAY("a"), PIPE("a", "a", "word")),
                    "t.yaml:7:7: a -> a is a cycle of pipes without a "
                    "gate; lead it through a gate (word_reader, source, "
                    "hermit), or give pipes that only answer `peer: true`");
}

Test(spec_graph, names_the_shortest_cycle_and_each_knot_once)
{
    expect_problems(
        TOPOLOGY(RELAY("a") RELAY("b") RELAY("c") RELAY("d") RELAY("e"),
                 PIPE("a", "b", "word") PIPE("b", "c", "word")
                     PIPE("c", "a", "word") PIPE("b", "a", "work")
                         PIPE("d", "e", "word") PIPE("e", "d", "word")),
        "t.yaml:11:7: a -> b -> a is a cycle of pipes "
        "without a gate; lead it through a gate "
        "(word_reader, source, hermit), or give pipes that "
        "only answer `peer: true`\n"
        "t.yaml:15:7: d -> e -> d is a cycle of pipes "
        "without a gate; lead it through a gate "
        "(word_reader, source, hermit), or give pipes that "
        "only answer `peer: true`");
}

Test(spec_graph, cuts_the_names_of_a_long_cycle)
{
#define LONG(x) x "_a_name_that_is_as_long_as_a_name_of_an_actor_may_ever_be"
#define A LONG("a")
#define B LONG("b")
#define C LONG("c")
#define D LONG("d")
#define E LONG("e")
    expect_problems(TOPOLOGY(RELAY(A) RELAY(B) RELAY(C) RELAY(D) RELAY(E),
                             PIPE(A, B, "word") PIPE(B, C, "word")
                                 PIPE(C, D, "word") PIPE(D, E, "word")
                                     PIPE(E, A, "word")),
                    "t.yaml:11:7: " A " -> " B " -> " C " -> ... -> " A
                    " is a cycle of pipes without a gate; lead it "
                    "through a gate (word_reader, source, hermit), or "
                    "give pipes that only answer `peer: true`");
}

Test(spec_graph, sees_pairs_of_pattern_one_as_pairs)
{
    /* a -> b and b -> c, each pair by itself: no cycle, although b is in both
     * lists. */
    skn_spec_t *spec = load_good(
        TOPOLOGY(READER RELAY("a") RELAY("b") RELAY("c"),
                 PIPE("reader", "a", "word") PIPE("[a, b]", "[b, c]", "word")));
    skn_spec_destroy(&spec);
    expect_problems(
        TOPOLOGY(READER RELAY("a") RELAY("b") RELAY("c"),
                 PIPE("reader", "a",
                      "word") "    - { from: [a, b], to: [b, c], message: word,"
                              "\n        pattern: any }\n"),
        "t.yaml:11:7: b -> b is a cycle of pipes without a "
        "gate; lead it through a gate (word_reader, source, "
        "hermit), or give pipes that only answer `peer: true`");
}

/* Oracle for cycles: from an actor back to itself along pipes, gates left out,
 * by the powers of the matrix of neighbours. */
static bool
naive_cycle(bool edges[5][5], const bool *gates)
{
    bool reach[5][5];
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            reach[i][j] = edges[i][j] && !gates[i] && !gates[j];
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
    for (int i = 0; i < 5; i++)
        if (reach[i][i])
            return true;
    return false;
}

/* A relay that may be a gate: kind "loop" produces. */
static const skn_kind_t loop =
    SKN_KIND(.name = "loop", .handlers = relay_handlers, .sends = relay_sends,
             .produce = word_produce, .gate = true);

static void
check_random_graph(uint32_t seed)
{
    static const skn_kind_t *const kinds[] = { &relay, &loop, NULL };
    bool edges[5][5] = { { false } }, gates[5] = { false };
    char text[2048];
    size_t used = (size_t)snprintf(
        text, sizeof(text), "skein: 1\ntopology:\n  name: t\n  actors:\n");
    uint32_t bits = seed * 2654435761u;
    for (int i = 0; i < 5; i++, bits = bits * 1664525u + 1013904223u) {
        gates[i] = (bits >> 29) < 2;
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "    - { name: a%d, kind: %s }\n", i,
                                 gates[i] ? "loop" : "relay");
    }
    used += (size_t)snprintf(text + used, sizeof(text) - used, "  pipes:\n");
    for (int i = 0; i < 5; i++, bits = bits * 1664525u + 1013904223u) {
        char to[64] = "";
        for (int j = 0; j < 5; j++) {
            edges[i][j] = (bits >> (27 - 4 * j) & 15) < 4;
            if (edges[i][j])
                (void)snprintf(to + strlen(to), sizeof(to) - strlen(to),
                               "%sa%d", to[0] ? ", " : "", j);
        }
        if (to[0])
            used += (size_t)snprintf(
                text + used, sizeof(text) - used,
                "    - { from: a%d, to: [%s], message: word, pattern: any }\n",
                i, to);
    }
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "t.yaml", problems);
    skn_spec_t *spec = skn_spec_load(&document, kinds, problems);
    bool refused = false;
    for (size_t k = 0; skn_problems_text(problems, k); k++)
        refused = refused || strstr(skn_problems_text(problems, k), "cycle");
    cr_expect_eq(refused, naive_cycle(edges, gates), "seed %u:\n%s", seed,
                 text);
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
}

Test(spec_graph, agrees_with_the_definition_on_random_graphs)
{
    for (uint32_t seed = 1; seed <= 2000; seed++)
        check_random_graph(seed);
}

/* --- windows ------------------------------------------------------------- */

#define LOOP(window, there, back)                                              \
    TOPOLOGY("    - { name: source, kind: source, options: { window: " window  \
             " } }\n"                                                          \
             "    - { name: shard, kind: shard }\n",                           \
             "    - { from: source, to: shard, message: work, credit: " there  \
             " }\n"                                                            \
             "    - { from: shard, to: source, message: done, credit: " back   \
             " }\n")

Test(spec_graph, takes_a_cycle_with_a_gate_and_credit_for_its_window)
{
    skn_spec_t *spec = load_good(LOOP("16", "16", "17"));
    skn_spec_destroy(&spec);
}

Test(spec_graph, takes_a_cycle_through_a_pipe_of_answers)
{
    skn_spec_t *spec = load_good(TOPOLOGY(
        RELAY("a") RELAY("b"),
        PIPE("a", "b",
             "word") "    - { from: b, to: a, message: word, peer: true }\n"));
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_expect_not(wiring->pipes[0].peer);
    cr_expect(wiring->pipes[1].peer);
    skn_spec_destroy(&spec);
}

/* b and c answer each other. */
#define PEERS                                                                  \
    "    - { from: b, to: c, message: word, peer: true }\n"                    \
    "    - { from: c, to: b, message: word, peer: true }\n"

Test(spec_graph, refuses_the_cycle_that_is_left_beside_the_answers)
{
    expect_problems(
        TOPOLOGY(RELAY("a") RELAY("b") RELAY("c"),
                 PIPE("a", "b", "word") PIPE("b", "a", "work") PEERS),
        "t.yaml:9:7: a -> b -> a is a cycle of pipes without a gate; lead it "
        "through a gate (word_reader, source, hermit), or give pipes that "
        "only answer `peer: true`");
}

Test(spec_graph, refuses_less_credit_than_the_window)
{
    expect_problems(LOOP("16", "15", "1"),
                    "t.yaml:8:57: the pipe of 'work' has credit 15 and is "
                    "in a cycle with source, whose window is 16; give "
                    "credit: 16 or more\n"
                    "t.yaml:9:57: the pipe of 'done' has credit 1 and is in a "
                    "cycle with source, whose window is 16; give "
                    "credit: 16 or more");
}

Test(spec_graph, leaves_pipes_outside_of_the_cycle_alone)
{
    skn_spec_t *spec = load_good(TOPOLOGY(
        "    - { name: source, kind: source, options: { window: 9 } }\n"
        "    - { name: shard, kind: shard }\n" READER RELAY("a"),
        "    - { from: source, to: shard, message: work }\n"
        "    - { from: shard, to: source, message: done }\n"
        "    - { from: reader, to: a, message: word, credit: 1 }\n"));
    skn_spec_destroy(&spec);
}
