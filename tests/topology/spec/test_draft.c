/* test_draft.c - tests that topologies made in code equal those of a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/spec_checks.h"
#include "topology/spec/draft.h"

static skn_problems_t *problems;

static void
setup(void)
{
    problems = skn_problems_new(NULL);
    cr_assert_not_null(problems);
}

static void
teardown(void)
{
    skn_problems_destroy(&problems);
}

TestSuite(draft, .init = setup, .fini = teardown);

static const char *const source_name[] = { "source", NULL };
static const char *const shard_names[] = { "shard", NULL };

static void
draw_loop(skn_draft_t *draft, uint32_t credit)
{
    skn_draft_actor(draft, "source", "source", SKN_CORE_FLOAT, 0);
    skn_draft_option(draft, "window", "%d", 8);
    for (int k = 0; k < 3; k++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "shard.%d", k);
        skn_draft_actor(draft, name, "shard", k == 2 ? SKN_CORE_AUTO : k, k);
        skn_draft_option(draft, "row_first", "%d", 10 * k);
        skn_draft_option(draft, "row_count", "%d", 10);
    }
    skn_draft_pipe(draft, &(skn_draft_pipe_t){ .from = source_name,
                                               .to = shard_names,
                                               .message = "work",
                                               .pattern = "broadcast",
                                               .credit = credit });
    skn_draft_pipe(draft, &(skn_draft_pipe_t){ .from = shard_names,
                                               .to = source_name,
                                               .message = "done",
                                               .pattern = "reduce",
                                               .by = "batch" });
}

Test(draft, gives_the_wiring_of_the_same_file)
{
    skn_draft_t *draft = skn_draft_new("m.yaml", "loop", problems);
    cr_assert_not_null(draft);
    draw_loop(draft, 8);
    skn_spec_t *spec = skn_draft_finish(&draft, word_kinds, problems);
    cr_expect_null(draft);
    cr_assert_not_null(spec, "%s", skn_problems_text(problems, 0));
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_expect_eq(skn_spec_print(spec, file, NULL), SKN_OK);
    (void)fclose(file);
    cr_expect_str_eq(
        text,
        "skein: 1\n"
        "topology:\n"
        "  name: loop\n"
        "  actors:\n"
        "    - { name: source, kind: source, options: { window: 8 }, cores: "
        "float, nice: 0 }\n"
        "    - { name: shard.0, kind: shard, options: { row_first: 0, "
        "row_count: 10, column_first: 0, column_count: 0 }, cores: 0, nice: 0 "
        "}\n"
        "    - { name: shard.1, kind: shard, options: { row_first: 10, "
        "row_count: 10, column_first: 0, column_count: 0 }, cores: 1, nice: 1 "
        "}\n"
        "    - { name: shard.2, kind: shard, options: { row_first: 20, "
        "row_count: 10, column_first: 0, column_count: 0 }, cores: auto, "
        "nice: 2 }\n"
        "  pipes:\n"
        "    - { from: source, to: shard, message: work, pattern: broadcast, "
        "collect: none, credit: 8 }\n"
        "    - { from: shard, to: source, message: done, pattern: broadcast, "
        "collect: reduce, by: batch, credit: 256 }\n",
        "%s", text);
    free(text);
    skn_spec_destroy(&spec);
}

Test(draft, is_checked_as_a_file_is)
{
    skn_draft_t *draft = skn_draft_new("m.yaml", "loop", problems);
    draw_loop(draft, 7);
    cr_expect_null(skn_draft_finish(&draft, word_kinds, problems));
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "m.yaml: the pipe of 'work' has credit 7 and is in a "
                     "cycle with source, whose window is 8");
}

Test(draft, takes_keys_bounds_paths_and_empty_text)
{
    static const uint64_t bounds[] = { 0, UINT64_MAX - 1, UINT64_MAX };
    static const char *const reader[] = { "reader", NULL };
    static const char *const counters[] = { "c.0", "c.1", NULL };
    skn_draft_t *draft = skn_draft_new("conf/m.yaml", "words", problems);
    skn_draft_actor(draft, "reader", "word_reader", SKN_CORE_AUTO, 0);
    skn_draft_option(draft, "path", "%s", "data/a.txt");
    skn_draft_option(draft, "title", "%s", "");
    skn_draft_actor(draft, "c.0", "word_counter", SKN_CORE_AUTO, 0);
    skn_draft_actor(draft, "c.1", "word_counter", SKN_CORE_AUTO, 0);
    skn_draft_pipe(draft, &(skn_draft_pipe_t){ .from = reader,
                                               .to = counters,
                                               .message = "word",
                                               .pattern = "scatter",
                                               .key = "wide",
                                               .bounds = bounds,
                                               .bound_count = 3 });
    skn_spec_t *spec = skn_draft_finish(&draft, word_kinds, problems);
    cr_assert_not_null(spec, "%s", skn_problems_text(problems, 0));
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_expect_str_eq(wiring->actors[0].values[0].text, "data/a.txt");
    cr_expect_str_eq(wiring->actors[0].values[2].text, "");
    cr_expect_eq(wiring->pipes[0].bounds[2], UINT64_MAX);
    skn_spec_destroy(&spec);
}

Test(draft, may_be_empty_or_given_up)
{
    skn_draft_t *draft = skn_draft_new("m.yaml", "none", problems);
    skn_draft_destroy(&draft);
    cr_expect_null(draft);
    skn_draft_destroy(&draft);
    draft = skn_draft_new("m.yaml", "none", problems);
    skn_draft_plugin(draft, "./absent.so");
    cr_expect_null(skn_draft_finish(&draft, word_kinds, problems));
    cr_expect_str_eq(skn_problems_text(problems, 0),
                     "m.yaml: the plug-in cannot be loaded: ./absent.so: "
                     "cannot open shared object file: No such file or "
                     "directory");
    cr_expect_str_eq(skn_problems_text(problems, 1),
                     "m.yaml: a topology needs at least one actor");
}

Test(draft, puts_actors_on_nodes_and_pipes_in_a_coding)
{
    static const char *const from[] = { "source", NULL };
    static const char *const to[] = { "shard.0", NULL };
    skn_draft_t *draft = skn_draft_new("m.yaml", "two", problems);
    cr_assert_not_null(draft);
    const skn_wired_node_t a = { .name = "1",
                                 .address = "tcp://127.0.0.1:7001",
                                 .via = "",
                                 .key = "k/a.key",
                                 .ssh = "w",
                                 .core_count = 2,
                                 .memory_bytes = 5 };
    const skn_wired_node_t b = {
        .name = "b", .address = "", .via = "1", .key = "b", .ssh = ""
    };
    skn_draft_node(draft, &a);
    skn_draft_node(draft, &b);
    skn_draft_actor(draft, "source", "source", SKN_CORE_FLOAT, 0);
    skn_draft_on(draft, "b");
    skn_draft_actor(draft, "shard.0", "shard", 0, 0);
    skn_draft_on(draft, "1");
    skn_draft_pipe(draft, &(skn_draft_pipe_t){ .from = from,
                                               .to = to,
                                               .message = "work",
                                               .coding = "f32",
                                               .credit = 8 });
    skn_draft_pipe(draft, &(skn_draft_pipe_t){
                              .from = to, .to = from, .message = "done" });
    skn_spec_t *spec = skn_draft_finish(&draft, word_kinds, problems);
    cr_assert_not_null(spec, "%s", skn_problems_text(problems, 0));
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_assert_eq(wiring->node_count, 2u);
    cr_expect_str_eq(wiring->nodes[0].name, "1");
    cr_expect_str_eq(wiring->nodes[0].address, a.address);
    cr_expect_str_eq(wiring->nodes[0].key, "k/a.key");
    cr_expect_str_eq(wiring->nodes[0].ssh, "w");
    cr_expect_eq(wiring->nodes[0].core_count, 2u);
    cr_expect_eq(wiring->nodes[0].memory_bytes, 5u);
    cr_expect_str_eq(wiring->nodes[0].via, "");
    cr_expect_str_eq(wiring->nodes[1].via, "1");
    cr_expect_str_eq(wiring->nodes[1].address, "");
    cr_expect_str_eq(wiring->nodes[1].ssh, "");
    cr_expect_eq(wiring->nodes[1].core_count, 0u);
    cr_expect_eq(wiring->actors[0].node, 1u);
    cr_expect_eq(wiring->actors[1].node, 0u);
    skn_spec_destroy(&spec);
}
