/* test_spec_nodes.c - tests topologies of several nodes: wired, refused,
 * printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/spec_checks.h"

/* --- kinds whose messages lend memory, and carry numbers ----------------- */

#define FIELDS_lent(F, M)                                                      \
    F(M, u64, batch, UINT64_MAX, "its batch")                                  \
    F(M, f32s, value, 64, "numbers")                                           \
    F(M, loan, rows, 0, "memory")
SKN_MESSAGE_STRUCT(lent, FIELDS_lent)
SKN_MESSAGE_SCHEMA(lent, "lent", 1010, FIELDS_lent, "a loan")
#define FIELDS_sum(F, M) F(M, f32s, value, 64, "numbers")
SKN_MESSAGE_STRUCT(sum, FIELDS_sum)
SKN_MESSAGE_SCHEMA(sum, "sum", 1011, FIELDS_sum, "numbers")

static const skn_schema_t *const maker_sends[] = { &lent_schema, &sum_schema,
                                                   &word_schema, NULL };
static const skn_handler_t taker_handlers[] = {
    { &lent_schema, word_handle, NULL },
    { &sum_schema, word_handle, NULL },
    { &word_schema, word_handle, NULL },
    { NULL, NULL, NULL }
};
static const skn_kind_t maker = SKN_KIND(.name = "maker", .sends = maker_sends,
                                         .produce = word_produce, .gate = true);
static const skn_kind_t taker =
    SKN_KIND(.name = "taker", .handlers = taker_handlers);
static const skn_kind_t *const kinds[] = { &maker, &taker, NULL };

/* A spec, or what is said, one problem a line; either is the caller's. */
static skn_spec_t *
read_spec(const char *text, char **said)
{
    size_t said_bytes = 0;
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "t.yaml", problems);
    cr_assert_not_null(document, "%s\n%s", text,
                       skn_problems_text(problems, 0));
    skn_spec_t *spec = skn_spec_load(&document, kinds, problems);
    FILE *file = open_memstream(said, &said_bytes);
    cr_assert_not_null(file);
    for (size_t k = 0; skn_problems_text(problems, k); k++) {
        const char *hint = skn_problems_hint_text(problems, k);
        (void)fprintf(file, "%s%s%s\n", skn_problems_text(problems, k),
                      hint[0] ? "; " : "", hint);
    }
    cr_assert_eq(fclose(file), 0);
    cr_expect_eq(spec == NULL, (*said)[0] != '\0');
    skn_problems_destroy(&problems);
    return spec;
}

static void
expect_said(const char *text, const char *want)
{
    char *said = NULL;
    skn_spec_t *spec = read_spec(text, &said);
    cr_expect_str_eq(said, want, "%s\nsays\n%snot\n%s", text, said, want);
    skn_spec_destroy(&spec);
    free(said);
}

static skn_spec_t *
good_spec(const char *text)
{
    char *said = NULL;
    skn_spec_t *spec = read_spec(text, &said);
    cr_assert_not_null(spec, "%s\nsays\n%s", text, said);
    free(said);
    return spec;
}

static char *
printed(const skn_spec_t *spec,
        skn_status_t (*print)(const skn_spec_t *, FILE *, skn_error_t *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_not_null(file);
    cr_expect_eq(print(spec, file, NULL), SKN_OK);
    (void)fclose(file);
    return text;
}

#define HEAD "skein: 1\ntopology:\n  name: t\n"
#define NODES                                                                  \
    "  nodes:\n"                                                               \
    "    - { name: a, address: 'tcp://127.0.0.1:7001', cores: 2 }\n"           \
    "    - { name: b, address: 'tcp://127.0.0.1:7002', memory: 1GiB }\n"
#define ACTORS                                                                 \
    "  actors:\n"                                                              \
    "    - { name: m, kind: maker, node: a }\n"                                \
    "    - { name: t.0, kind: taker, node: a, cores: 1 }\n"                    \
    "    - { name: t.1, kind: taker, node: b }\n"
#define SUMS(more)                                                             \
    "  pipes:\n"                                                               \
    "    - { from: m, to: t, message: sum, pattern: broadcast" more " }\n"

/* --- what is wired ------------------------------------------------------- */

Test(spec_nodes, puts_actors_on_their_nodes)
{
    skn_spec_t *spec = good_spec(HEAD NODES ACTORS SUMS(", coding: int8"));
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_assert_eq(wiring->node_count, 2u);
    cr_expect_str_eq(wiring->nodes[0].name, "a");
    cr_expect_str_eq(wiring->nodes[1].name, "b");
    cr_expect_str_eq(wiring->nodes[1].address, "tcp://127.0.0.1:7002");
    cr_expect_str_eq(wiring->nodes[1].key, "");
    cr_expect_str_eq(wiring->nodes[1].ssh, "");
    cr_expect_eq(wiring->nodes[0].core_count, 2u);
    cr_expect_eq(wiring->nodes[1].core_count, 0u);
    cr_expect_eq(wiring->nodes[0].memory_bytes, 0u);
    cr_expect_eq(wiring->nodes[1].memory_bytes, 1u << 30);
    cr_assert_eq(wiring->actor_count, 3u);
    cr_expect_eq(wiring->actors[0].node, 0u);
    cr_expect_eq(wiring->actors[1].node, 0u);
    cr_expect_eq(wiring->actors[2].node, 1u);
    cr_expect_eq(wiring->pipes[0].coding, 2u);
    skn_spec_destroy(&spec);
}

Test(spec_nodes, a_file_without_nodes_is_one_process)
{
    skn_spec_t *spec = good_spec(HEAD "  actors:\n"
                                      "    - { name: m, kind: maker }\n"
                                      "    - { name: t, kind: taker }\n"
                                      "  pipes:\n"
                                      "    - { from: m, to: t, message: sum }"
                                      "\n");
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_expect_eq(wiring->node_count, 0u);
    cr_expect_eq(wiring->actors[1].node, 0u);
    cr_expect_eq(wiring->pipes[0].coding, 0u);
    skn_spec_destroy(&spec);
}

Test(spec_nodes, one_node_needs_no_address_and_replicas_share_one)
{
    skn_spec_t *spec = good_spec(
        HEAD "  nodes: [{ name: only }]\n"
             "  actors:\n"
             "    - { name: m, kind: maker, node: only }\n"
             "    - { name: t, kind: taker, node: only, replicate: 3 }\n"
             "  pipes:\n"
             "    - { from: m, to: t, message: lent, pattern: broadcast }\n");
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_expect_eq(wiring->node_count, 1u);
    cr_assert_eq(wiring->actor_count, 4u);
    for (uint32_t k = 0; k < 4; k++)
        cr_expect_eq(wiring->actors[k].node, 0u);
    skn_spec_destroy(&spec);
}

Test(spec_nodes, knows_every_coding)
{
    static const char *const texts[] = {
        HEAD NODES ACTORS SUMS(", coding: f32"),
        HEAD NODES ACTORS SUMS(", coding: bf16"),
        HEAD NODES ACTORS SUMS(", coding: int8"),
        HEAD NODES ACTORS SUMS(", coding: int4")
    };
    for (uint32_t k = 0; k < 4; k++) {
        skn_spec_t *spec = good_spec(texts[k]);
        cr_expect_eq(skn_spec_wiring(spec)->pipes[0].coding, k);
        skn_spec_destroy(&spec);
    }
}

/* --- what is refused ----------------------------------------------------- */

Test(spec_nodes, refuses_what_is_no_list_of_nodes)
{
    expect_said(
        HEAD "  nodes: []\n" ACTORS SUMS(""),
        "t.yaml:4:10: 'nodes' of topology is an empty list; leave it out "
        "for a run in one process\n");
    expect_said(HEAD "  nodes: a\n" ACTORS SUMS(""),
                "t.yaml:4:10: 'nodes' of topology must be a list, found 'a'\n");
    expect_said(HEAD "  nodes: [a]\n" ACTORS SUMS(""),
                "t.yaml:4:11: a node must be a mapping, found 'a'\n");
}

Test(spec_nodes, refuses_bad_keys_and_names_of_nodes)
{
    expect_said(
        HEAD "  nodes:\n"
             "    - { nam: a, address: 'tcp://a:1' }\n"
             "    - { name: 'b c', address: 'tcp://b:1' }\n" ACTORS SUMS(""),
        "t.yaml:5:7: option 'name' of a node is missing; name: its name "
        "in actors\n"
        "t.yaml:5:9: unknown option 'nam' of a node; did you mean "
        "'name'?\n"
        "t.yaml:6:15: the name of a node may contain letters, digits, "
        "'_', '-' and '.' only, and starts with no '-' or '.'\n");
}

Test(spec_nodes, refuses_nodes_that_do_not_fit_together)
{
    expect_said(HEAD "  nodes:\n"
                     "    - { name: a, address: 'tcp://127.0.0.1:7001' }\n"
                     "    - { name: a, address: 'tcp://127.0.0.1:7002' }\n"
                     "  actors: [{ name: m, kind: maker, node: a }]\n",
                "t.yaml:6:15: there are two nodes named 'a'\n");
}

Test(spec_nodes, refuses_more_nodes_than_there_may_be)
{
    char text[16384] = HEAD "  nodes:\n";
    for (unsigned k = 0; k <= SKN_CLUSTER_NODES_MAX; k++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof(text) - used,
                       "    - { name: n%u, address: 'tcp://h%u:1' }\n", k, k);
    }
    size_t used = strlen(text);
    (void)snprintf(text + used, sizeof(text) - used, "%s", ACTORS);
    expect_said(text, "t.yaml:5:5: 65 nodes, at most 64 allowed\n");
}

Test(spec_nodes, refuses_actors_that_are_nowhere)
{
    expect_said(HEAD NODES "  actors:\n"
                           "    - { name: m, kind: maker, node: c }\n"
                           "    - { name: t.0, kind: taker, node: a }\n"
                           "    - { name: t.1, kind: taker }\n" SUMS(""),
                "t.yaml:8:37: unknown node 'c' of actor 'm'; there are a, b\n"
                "t.yaml:10:7: actor 't.1' is on no node; there are a, b\n");
    expect_said(HEAD "  nodes: [{ name: left }, { name: right }]\n"
                     "  actors: [{ name: m, kind: maker, node: lefd }]\n",
                "t.yaml:4:11: node 'left' has no address; give "
                "tcp://host:port as the other nodes reach it, for example "
                "tcp://10.0.0.1:7001\n"
                "t.yaml:4:27: node 'right' has no address; give "
                "tcp://host:port as the other nodes reach it, for example "
                "tcp://10.0.0.1:7001\n"
                "t.yaml:5:42: unknown node 'lefd' of actor 'm'; did you mean "
                "'left'?\n");
    expect_said(HEAD "  actors: [{ name: m, kind: maker, node: a }]\n",
                "t.yaml:4:42: actor 'm' is on node 'a', but the topology has "
                "no nodes; list them under 'nodes'\n");
}

Test(spec_nodes, refuses_nodes_without_actors)
{
    expect_said(
        HEAD NODES "  actors:\n"
                   "    - { name: m, kind: maker, node: b }\n"
                   "    - { name: t, kind: taker, node: b }\n"
                   "  pipes: [{ from: m, to: t, message: sum }]\n",
        "t.yaml:5:15: node 'a' has no actor; put one there with `node: a`, "
        "or leave the node out\n");
}

/* Every way in which a sender and a receiver can be apart. */
Test(spec_nodes, refuses_loans_that_would_leave_a_node)
{
    expect_said(HEAD NODES ACTORS
                "  pipes:\n"
                "    - { from: m, to: t, message: lent, pattern: broadcast }\n",
                "t.yaml:12:34: 'lent' lends memory, which cannot leave a node: "
                "m is on a, t.1 on b; put both on one node\n");
    expect_said(HEAD NODES
                "  actors:\n"
                "    - { name: m.0, kind: maker, node: a }\n"
                "    - { name: m.1, kind: maker, node: b }\n"
                "    - { name: t, kind: taker, node: a }\n"
                "  pipes:\n    - { from: m, to: t, message: lent }\n",
                "t.yaml:12:34: 'lent' lends memory, which cannot leave a node: "
                "m.1 is on b, t on a; put both on one node\n");
}

Test(spec_nodes, loans_between_pairs_may_stand_on_many_nodes)
{
#define PAIRS(first, second)                                                   \
    HEAD NODES "  actors:\n"                                                   \
               "    - { name: m.0, kind: maker, node: a }\n"                   \
               "    - { name: m.1, kind: maker, node: b }\n"                   \
               "    - { name: t.0, kind: taker, node: " first " }\n"           \
               "    - { name: t.1, kind: taker, node: " second " }\n"          \
               "  pipes:\n    - { from: m, to: t, message: lent }\n"
    skn_spec_t *spec = good_spec(PAIRS("a", "b"));
    skn_spec_destroy(&spec);
    expect_said(PAIRS("b", "a"),
                "t.yaml:13:34: 'lent' lends memory, which cannot leave a node: "
                "m.0 is on a, t.0 on b; put both on one node\n");
    expect_said(PAIRS("a", "a"),
                "t.yaml:13:34: 'lent' lends memory, which cannot leave a node: "
                "m.1 is on b, t.1 on a; put both on one node\n");
}

Test(spec_nodes, refuses_codings_that_are_none_or_have_nothing_to_code)
{
    expect_said(HEAD NODES ACTORS SUMS(", coding: int7"),
                "t.yaml:12:67: option 'coding' of a pipe must be one of f32, "
                "bf16, int8, int4, found 'int7'; did you mean 'int8'?\n");
    expect_said(HEAD NODES ACTORS
                "  pipes:\n"
                "    - { from: m, to: t, message: word, pattern: broadcast,\n"
                "        coding: bf16 }\n",
                "t.yaml:13:17: message 'word' has no run of f32 to send as "
                "bf16; leave 'coding' out\n");
}

/* --- what is printed ----------------------------------------------------- */

static const char full[] =
    HEAD "  nodes:\n"
         "    - { name: a, address: 'tcp://10.0.0.1:7001', key: /k/a.key,\n"
         "        ssh: w1, cores: 3, memory: 2KiB }\n"
         "    - { name: b, address: 'tcp://10.0.0.2:7001', key: /k/b.key "
         "}\n" ACTORS SUMS(", coding: int4");

Test(spec_nodes, prints_nodes_and_codings_so_that_they_come_back)
{
    skn_spec_t *spec = good_spec(full);
    char *once = printed(spec, skn_spec_print);
    cr_expect_str_eq(
        once,
        HEAD "  nodes:\n"
             "    - { name: a, address: tcp://10.0.0.1:7001, key: "
             "/k/a.key, ssh: w1, cores: 3, memory: 2048 }\n"
             "    - { name: b, address: tcp://10.0.0.2:7001, key: "
             "/k/b.key }\n"
             "  actors:\n"
             "    - { name: m, kind: maker, cores: auto, nice: 0, node: a }\n"
             "    - { name: t.0, kind: taker, cores: 1, nice: 0, node: a }\n"
             "    - { name: t.1, kind: taker, cores: auto, nice: 0, node: b "
             "}\n"
             "  pipes:\n"
             "    - { from: m, to: t, message: sum, pattern: broadcast, "
             "collect: none, credit: 1024, coding: int4 }\n",
        "%s", once);
    skn_spec_t *again = good_spec(once);
    char *twice = printed(again, skn_spec_print);
    cr_expect_str_eq(once, twice);
    free(once);
    free(twice);
    skn_spec_destroy(&spec);
    skn_spec_destroy(&again);
}

Test(spec_nodes, draws_a_cluster_a_node)
{
    skn_spec_t *spec = good_spec(HEAD NODES ACTORS SUMS(", coding: bf16"));
    char *text = printed(spec, skn_spec_dot);
    cr_expect_str_eq(
        strstr(text, "  subgraph"),
        "  subgraph cluster_0 {\n"
        "  label=\"a\"; fontname=\"sans-serif\"; color=\"#4a5a70\"; "
        "style=rounded;\n"
        "  g0 [label=\"m\\nmaker, any core of a\"];\n"
        "  g1 [label=\"t.0\\ntaker, core 1 of a\"];\n"
        "  }\n"
        "  subgraph cluster_1 {\n"
        "  label=\"b\"; fontname=\"sans-serif\"; color=\"#4a5a70\"; "
        "style=rounded;\n"
        "  g2 [label=\"t.1\\ntaker, any core of b\"];\n"
        "  }\n"
        "  g0 -> g1 [label=\"sum: broadcast, bf16 x 1024\\l\"];\n"
        "  g0 -> g2 [label=\"sum: broadcast, bf16 x 1024\\l\"];\n"
        "}\n",
        "%s", text);
    free(text);
    text = printed(spec, skn_spec_text);
    cr_expect_str_eq(
        text,
        "t: 3 actors, 1 pipe, 2 nodes\n"
        "m                       maker, any core of a\n"
        "  └─ sum ─▶ t.0-1                                         broadcast, "
        "bf16\n"
        "t.0-1                   taker, core 1 of a, any core of b\n",
        "%s", text);
    free(text);
    skn_spec_destroy(&spec);
}
