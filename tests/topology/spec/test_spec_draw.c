/* test_spec_draw.c - tests drawings of topologies.
 *
 * Plans of models, drawn by topology/spec/spec_draw.c too, are in
 * tests/golden/.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/spec_checks.h"

static void
expect_drawn(const char *topology, const char *want,
             skn_status_t (*draw)(const skn_spec_t *, FILE *, skn_error_t *))
{
    skn_spec_t *spec = load_good(topology);
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_not_null(file);
    cr_expect_eq(draw(spec, file, NULL), SKN_OK);
    (void)fclose(file);
    cr_expect_str_eq(text, want, "got:\n%s", text);
    free(text);
    skn_spec_destroy(&spec);
}

static void
expect_drawing(const char *topology, const char *want)
{
    expect_drawn(topology, want, skn_spec_text);
}

Test(spec_draw, draws_shards_as_one_in_the_order_of_the_messages)
{
    expect_drawing(
        TOPOLOGY("    - { name: printer, kind: total_printer }\n"
                 "    - { name: counter, kind: word_counter, replicate: 3,\n"
                 "        cores: 1 }\n"
                 "    - { name: reader, kind: word_reader, cores: float,\n"
                 "        options: { path: a } }\n",
                 "    - { from: counter, to: printer, message: total,\n"
                 "        collect: gather, by: count }\n"
                 "    - { from: reader, to: counter, message: word,\n"
                 "        pattern: scatter, key: hash }\n"),
        "t: 5 actors, 2 pipes\n"
        "reader                  word_reader, any core\n"
        "  └─ word ─▶ counter.0-2                                  "
        "scatter by hash\n"
        "counter.0-2             word_counter, core 1\n"
        "  └─ total ─▶ printer                                     "
        "one, gather\n"
        "printer                 total_printer, any core\n");
}

Test(spec_draw, names_parts_of_a_row_and_several_receivers)
{
    expect_drawing(
        TOPOLOGY("    - { name: r, kind: word_reader, options: { path: a } }\n"
                 "    - { name: a, kind: relay, replicate: 3 }\n"
                 "    - { name: b, kind: relay }\n"
                 "    - { name: s, kind: word_reader, options: { path: a } }\n",
                 "    - { from: r, to: [a.0, a.2, b], message: word,\n"
                 "        pattern: any }\n"
                 "    - { from: s, to: a.1, message: word }\n"),
        "t: 6 actors, 2 pipes\n"
        "r                       word_reader, any core\n"
        "  └─ word ─▶ a.0..2, b                                    any\n"
        "a.0-2                   relay, any core\n"
        "b                       relay, any core\n"
        "s                       word_reader, any core\n"
        "  └─ word ─▶ a.1                                          one\n");
}

Test(spec_draw, draws_a_lonely_actor)
{
    expect_drawing("skein: 1\ntopology:\n  name: t\n"
                   "  actors: [{ name: h, kind: hermit }]\n",
                   "t: 1 actor, 0 pipes\n"
                   "h                       hermit, any core\n");
}

Test(spec_draw, long_names_push_the_notes_aside)
{
    expect_drawing(
        TOPOLOGY("    - { name: a_reader_with_quite_a_long_name, kind: "
                 "word_reader,\n        options: { path: a } }\n"
                 "    - { name: a_receiver_whose_name_is_longer_than_that, "
                 "kind: relay }\n",
                 "    - { from: a_reader_with_quite_a_long_name,\n"
                 "        to: a_receiver_whose_name_is_longer_than_that,\n"
                 "        message: word }\n"),
        "t: 2 actors, 1 pipe\n"
        "a_reader_with_quite_a_long_name  word_reader, any core\n"
        "  └─ word ─▶ a_receiver_whose_name_is_longer_than_that    one\n"
        "a_receiver_whose_name_is_longer_than_that  relay, any core\n");
}

Test(spec_draw, says_when_the_disk_is_full)
{
    skn_spec_t *spec = load_good("skein: 1\ntopology:\n  name: t\n"
                                 "  actors: [{ name: h, kind: hermit }]\n");
    skn_error_t error = { 0 };
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    (void)setvbuf(full, NULL, _IONBF, 0);
    cr_expect_eq(skn_spec_text(spec, full, &error), SKN_STORAGE);
    cr_expect_str_eq(error.text, "writing a drawing: No space left on device");
    cr_expect_eq(skn_spec_dot(spec, full, &error), SKN_STORAGE);
    cr_expect_str_eq(error.text, "writing a drawing: No space left on device");
    (void)fclose(full);
    skn_spec_destroy(&spec);
}

#define DOT_HEAD                                                               \
    "  rankdir=LR; ranksep=1.2; nodesep=0.5;\n"                                \
    "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#e8eef7\", "     \
    "fontname=\"sans-serif\"];\n"                                              \
    "  edge [fontname=\"sans-serif\", fontsize=10, color=\"#4a5a70\"];\n"

Test(spec_draw, graphviz_gets_a_box_a_row_and_an_arrow_a_pair)
{
    expect_drawn(
        TOPOLOGY("    - { name: s, kind: source }\n"
                 "    - { name: shard, kind: shard, replicate: 2 }\n",
                 "    - { from: s, to: shard, message: work,\n"
                 "        pattern: broadcast, credit: 5 }\n"
                 "    - { from: shard, to: s, message: done }\n"),
        "digraph \"t\" {\n" DOT_HEAD "  g0 [label=\"s\\nsource, any core\"];\n"
        "  g1 [label=\"shard.0-1\\nshard, any core\"];\n"
        "  g0 -> g1 [label=\"work: broadcast x 5\\l\"];\n"
        "  g1 -> g0 [label=\"done: one x 1024\\l\", constraint=false];\n"
        "}\n",
        skn_spec_dot);
}
