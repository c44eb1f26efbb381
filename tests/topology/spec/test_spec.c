/* test_spec.c - tests the wiring of valid topologies, and the messages on
 * others. Covers topology/spec/spec.c, topology/spec/spec_kinds.c,
 * topology/spec/spec_actors.c and topology/spec/spec_owners.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/version.h"
#include "tests/support/spec_checks.h"

#define READER                                                                 \
    "    - { name: reader, kind: word_reader, options: { path: a } }\n"
#define COUNTERS "    - { name: counter, kind: word_counter, replicate: 4 }\n"
#define PRINTER "    - { name: printer, kind: total_printer }\n"
#define TOTALS "    - { from: counter, to: printer, message: total }\n"
#define GOOD(pipe)                                                             \
    TOPOLOGY(READER COUNTERS PRINTER, TOTALS "    - { " pipe " }\n")

#define WORDS "from: reader, to: counter, message: word"

/* --- what is wired ------------------------------------------------------- */

Test(spec, wires_replicas_and_a_scatter)
{
    skn_spec_t *spec = load_good(
        GOOD(WORDS ", pattern: scatter, key: hash, bounds: [0, 10, 20, 30, "
                   "400], credit: 8"));
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_expect_str_eq(wiring->name, "t");
    cr_assert_eq(wiring->actor_count, 6u);
    cr_expect_str_eq(wiring->actors[0].name, "reader");
    cr_expect_eq(wiring->actors[0].index, 0u);
    cr_expect_eq(wiring->actors[0].peers, 1u);
    cr_expect_eq(wiring->actors[0].core, SKN_CORE_AUTO);
    for (uint32_t k = 0; k < 4; k++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "counter.%u", k);
        cr_expect_str_eq(wiring->actors[1 + k].name, name);
        cr_expect_eq(wiring->actors[1 + k].index, k);
        cr_expect_eq(wiring->actors[1 + k].peers, 4u);
        cr_expect_eq(wiring->actors[1 + k].kind, &word_counter);
    }
    cr_assert_eq(wiring->pipe_count, 2u);
    const skn_wired_pipe_t *pipe = &wiring->pipes[1];
    static const uint64_t bounds[] = { 0, 10, 20, 30, 400 };
    cr_expect_eq(pipe->schema, &word_schema);
    cr_expect_eq(pipe->pattern, SKN_PATTERN_SCATTER);
    cr_expect_eq(pipe->collect, SKN_COLLECT_NONE);
    cr_expect_eq(pipe->from_count, 1u);
    cr_expect_eq(pipe->to_count, 4u);
    for (uint32_t k = 0; k < 4; k++)
        cr_expect_eq(pipe->to[k], 1 + k);
    cr_expect_str_eq(pipe->key->name, "hash");
    cr_expect_eq(memcmp(pipe->bounds, bounds, sizeof(bounds)), 0);
    cr_expect_eq(pipe->credit, 8u);
    cr_expect_eq(wiring->pipes[0].pattern, SKN_PATTERN_ONE);
    cr_expect_eq(wiring->pipes[0].credit, 1024u);
    skn_spec_destroy(&spec);
    cr_expect_null(spec);
    skn_spec_destroy(&spec);
}

Test(spec, gives_actors_their_options_cores_and_niceness)
{
    skn_spec_t *spec = load_good(TOPOLOGY(
        "    - { name: r, kind: word_reader, options: { path: a, rate: 0.5 },\n"
        "        cores: float }\n"
        "    - { name: c, kind: word_counter, cores: 3, nice: 19 }\n",
        "    - { from: r, to: c, message: word }\n"));
    const skn_wired_actor_t *actors = skn_spec_wiring(spec)->actors;
    cr_expect_str_eq(actors[0].values[0].text, "a");
    cr_expect_eq(actors[0].values[1].real, 0.5);
    cr_expect_eq(actors[0].values[5].number, 1 << 20);
    cr_expect_eq(actors[0].core, SKN_CORE_FLOAT);
    cr_expect_eq(actors[1].core, 3);
    cr_expect_eq(actors[1].nice, 19);
    skn_spec_destroy(&spec);
}

Test(spec, counts_names_that_are_written_out_as_peers)
{
    skn_spec_t *spec = load_good(
        TOPOLOGY("    - { name: c.1, kind: word_counter }\n"
                 "    - { name: c.0, kind: word_counter }\n"
                 "    - { name: r, kind: word_reader, options: { path: a } }\n",
                 "    - { from: r, to: c, message: word, pattern: any }\n"));
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    cr_expect_eq(wiring->actors[0].index, 1u);
    cr_expect_eq(wiring->actors[1].index, 0u);
    cr_expect_eq(wiring->actors[0].peers, 2u);
    cr_expect_eq(wiring->pipes[0].to[0], 1u);
    cr_expect_eq(wiring->pipes[0].to[1], 0u);
    skn_spec_destroy(&spec);
}

Test(spec, takes_lists_of_names_and_stems_as_ends)
{
    skn_spec_t *spec = load_good(
        TOPOLOGY(READER "    - { name: a, kind: word_counter }\n"
                        "    - { name: b, kind: word_counter, replicate: 1 }\n"
                        "    - { name: c, kind: word_counter, replicate: 3 }\n",
                 "    - { from: reader, to: [c.2, a, b, c.0, c.1],\n"
                 "        message: word, pattern: broadcast }\n"));
    const skn_wired_pipe_t *pipe = &skn_spec_wiring(spec)->pipes[0];
    static const uint32_t to[] = { 5, 1, 2, 3, 4 };
    cr_assert_eq(pipe->to_count, 5u);
    cr_expect_eq(memcmp(pipe->to, to, sizeof(to)), 0);
    skn_spec_destroy(&spec);
}

Test(spec, understands_gather_and_reduce_as_short_forms)
{
    static const char *const pipes[] = {
        GOOD(WORDS ", pattern: reduce"),
        GOOD(WORDS ", pattern: gather, collect: gather, by: hash"),
        GOOD(WORDS ", pattern: broadcast, collect: reduce, by: wide"),
    };
    static const skn_collect_t collects[] = { SKN_COLLECT_REDUCE,
                                              SKN_COLLECT_GATHER,
                                              SKN_COLLECT_REDUCE };
    static const char *const fields[] = { "batch", "hash", "wide" };
    for (size_t k = 0; k < 3; k++) {
        skn_spec_t *spec = load_good(pipes[k]);
        const skn_wired_pipe_t *pipe = &skn_spec_wiring(spec)->pipes[1];
        cr_expect_eq(pipe->pattern, SKN_PATTERN_BROADCAST);
        cr_expect_eq(pipe->collect, collects[k]);
        cr_expect_str_eq(pipe->by->name, fields[k]);
        skn_spec_destroy(&spec);
    }
}

Test(spec, splits_a_limited_key_evenly)
{
    skn_spec_t *spec = load_good(GOOD(WORDS ", pattern: scatter, key: hash"));
    static const uint64_t hash[] = { 0, 100, 200, 300, 400 };
    cr_expect_eq(
        memcmp(skn_spec_wiring(spec)->pipes[1].bounds, hash, sizeof(hash)), 0);
    skn_spec_destroy(&spec);
    spec = load_good(GOOD(WORDS ", pattern: scatter, key: narrow"));
    static const uint64_t narrow[] = { 0, 1ull << 30, 2ull << 30, 3ull << 30,
                                       4ull << 30 };
    cr_expect_eq(
        memcmp(skn_spec_wiring(spec)->pipes[1].bounds, narrow, sizeof(narrow)),
        0);
    skn_spec_destroy(&spec);
}

Test(spec, takes_a_lone_actor_that_needs_no_other)
{
    skn_spec_t *spec = load_good("skein: 1\ntopology:\n  name: t\n"
                                 "  actors: [{ name: h, kind: hermit }]\n");
    cr_expect_eq(skn_spec_wiring(spec)->pipe_count, 0u);
    skn_spec_destroy(&spec);
}

/* --- the file ------------------------------------------------------------ */

Test(spec, refuses_files_without_a_topology)
{
    expect_problems("", "t.yaml:1:1: option 'skein' of the file is missing; "
                        "skein: the format's version, 1\n"
                        "t.yaml:1:1: the file has no 'topology'");
    expect_problems("skein: 2\ntopologie: {}\n",
                    "t.yaml:1:1: the file has no 'topology'\n"
                    "t.yaml:1:8: option 'skein' of the file must be 1, found "
                    "'2'\n"
                    "t.yaml:2:1: unknown option 'topologie' of the file; did "
                    "you mean 'topology'?");
    expect_problems("skein: 1\ntopology: [a]\n",
                    "t.yaml:2:11: topology must be a mapping, found a list");
    expect_problems("skein: 1\ntopology: {}\n",
                    "t.yaml:2:11: option 'name' of topology is missing; name: "
                    "what the run is called\n"
                    "t.yaml:2:11: a topology needs at least one actor");
    expect_problems("skein: 1\ntopology: { name: a b, actors: 3, pipes: {} }\n",
                    "t.yaml:2:19: the name of a topology may contain letters, "
                    "digits, '_', '-' and '.' only, and starts with no '-' or "
                    "'.'\n"
                    "t.yaml:2:32: 'actors' of topology must be a list, found "
                    "'3'\n"
                    "t.yaml:2:42: 'pipes' of topology must be a list, found a "
                    "mapping");
    expect_problems("skein: 1\ntopology: { name: '', actors: [] }\n",
                    "t.yaml:2:19: the name of a topology must have 1 to 64 "
                    "letters, this has 0\n"
                    "t.yaml:2:31: a topology needs at least one actor");
}

/* --- actors -------------------------------------------------------------- */

#define EXPECT_ACTORS(actors, want)                                            \
    expect_problems(TOPOLOGY(actors, "    []\n"), want)

Test(spec, refuses_unknown_kinds_with_the_nearest)
{
    EXPECT_ACTORS("    - { name: a, kind: word_readr }\n",
                  "t.yaml:5:24: unknown kind 'word_readr' of actor 'a'; did "
                  "you mean 'word_reader'?");
    EXPECT_ACTORS("    - { name: a, kind: x }\n",
                  "t.yaml:5:24: unknown kind 'x' of actor 'a'; there are "
                  "word_reader, word_counter, total_printer, source, shard, "
                  "relay, hermit, port");
}

Test(spec, refuses_actors_that_are_not_complete)
{
    EXPECT_ACTORS("    - { kind: hermit, nice: 20 }\n    - x\n"
                  "    - { name: b, replicate: 0 }\n"
                  "    - { name: [b], kind: hermit, coers: 1 }\n"
                  "    - { name: c, kind: hermit, cores: all }\n"
                  "    - { name: d, kind: hermit, cores: 65536 }\n",
                  "t.yaml:5:7: option 'name' of an actor is missing; name: "
                  "its name in pipes\n"
                  "t.yaml:5:29: option 'nice' of an actor must be in 0..19, "
                  "found '20'\n"
                  "t.yaml:6:7: an actor must be a mapping, found 'x'\n"
                  "t.yaml:7:7: option 'kind' of actor 'b' is missing; kind: "
                  "one of 'skein actors'\n"
                  "t.yaml:7:29: option 'replicate' of actor 'b' must be in "
                  "1..1024, found '0'\n"
                  "t.yaml:8:15: option 'name' of an actor must be text, found "
                  "a list\n"
                  "t.yaml:8:34: unknown option 'coers' of an actor; did you "
                  "mean 'cores'?\n"
                  "t.yaml:9:39: option 'cores' of actor 'c' must be auto, "
                  "float or the number of a core, found 'all'\n"
                  "t.yaml:10:39: option 'cores' of actor 'd' must be auto, "
                  "float or the number of a core, found '65536'");
}

Test(spec, refuses_names_that_are_none)
{
    EXPECT_ACTORS("    - { name: '', kind: hermit }\n"
                  "    - { name: a/b, kind: hermit }\n"
                  "    - { name: .a, kind: hermit }\n"
                  "    - { name: a.1, kind: hermit, replicate: 2 }\n",
                  "t.yaml:5:15: the name of an actor must have 1 to 64 "
                  "letters, this has 0\n"
                  "t.yaml:6:15: the name of an actor may contain letters, "
                  "digits, '_', '-' and '.' only, and starts with no '-' or "
                  "'.'\n"
                  "t.yaml:7:15: the name of an actor may contain letters, "
                  "digits, '_', '-' and '.' only, and starts with no '-' or "
                  "'.'\n"
                  "t.yaml:8:15: 'a.1' cannot be replicated, since it ends in "
                  "a number");
#define TEN "aaaaaaaaaa"
    skn_spec_t *spec = load_good(
        "skein: 1\ntopology:\n  name: t\n  actors:\n"
        "    - { name: " TEN TEN TEN TEN TEN TEN "aaaa, kind: hermit }\n"
        "    - { name: b" TEN TEN TEN TEN TEN "aaaaaaaa, kind: hermit,\n"
        "        replicate: 1 }\n");
    skn_spec_destroy(&spec);
    EXPECT_ACTORS(
        "    - { name: " TEN TEN TEN TEN TEN TEN "aaaaa, kind: hermit }\n"
        "    - { name: b" TEN TEN TEN TEN TEN "aaaaaaaaa, kind: hermit,\n"
        "        replicate: 1 }\n",
        "t.yaml:5:15: the name of an actor must have 1 to 64 letters, this "
        "has 65\n"
        "t.yaml:6:15: the name of a replicated actor must have at most 59 "
        "letters, this has 60");
}

Test(spec, refuses_duplicate_names_and_broken_rows_of_peers)
{
    EXPECT_ACTORS("    - { name: a, kind: hermit }\n"
                  "    - { name: a, kind: hermit }\n"
                  "    - { name: b, kind: hermit, replicate: 2 }\n"
                  "    - { name: b.1, kind: hermit }\n"
                  "    - { name: c, kind: hermit }\n"
                  "    - { name: c.0, kind: hermit }\n"
                  "    - { name: d.0, kind: hermit }\n"
                  "    - { name: d.2, kind: hermit }\n"
                  "    - { name: e.1, kind: hermit }\n"
                  "    - { name: f.0, kind: hermit }\n"
                  "    - { name: f.1, kind: relay }\n"
                  "    - { name: g.01, kind: hermit }\n",
                  "t.yaml:6:15: there are two actors named 'a'\n"
                  "t.yaml:8:15: there are two actors named 'b.1'\n"
                  "t.yaml:10:15: 'c' and 'c.0': a name is one actor's, or the "
                  "stem of several; rename one of them\n"
                  "t.yaml:12:15: there is an actor 'd.2' but none named "
                  "'d.1'; peers count from 0 without a gap\n"
                  "t.yaml:13:15: there is an actor 'e.1' but none named "
                  "'e.0'; peers count from 0 without a gap\n"
                  "t.yaml:15:15: 'f.1' has kind relay, but its peer 'f.0' has "
                  "kind hermit");
}

Test(spec, refuses_options_that_the_kind_does_not_take)
{
    EXPECT_ACTORS(
        "    - { name: a, kind: word_reader, options: { pth: x, rate: 2 } }\n"
        "    - { name: b, kind: hermit, options: { x: 1 } }\n"
        "    - { name: c, kind: hermit, options: 3 }\n",
        "t.yaml:5:7: option 'path' of word_reader 'a' is missing; path: the "
        "text file to read\n"
        "t.yaml:5:48: unknown option 'pth' of word_reader 'a'; did you mean "
        "'path'?\n"
        "t.yaml:5:62: option 'rate' of word_reader 'a' must be in 0..1, found "
        "'2'\n"
        "t.yaml:6:43: unknown option 'x' of hermit 'b'; it has no options\n"
        "t.yaml:7:41: hermit 'c' must be a mapping, found '3'");
}

Test(spec, limits_the_number_of_actors)
{
    EXPECT_ACTORS("    - { name: a, kind: hermit, replicate: 1024 }\n"
                  "    - { name: b, kind: hermit, replicate: 1024 }\n"
                  "    - { name: c, kind: hermit, replicate: 1024 }\n"
                  "    - { name: d, kind: hermit, replicate: 1024 }\n"
                  "    - { name: e, kind: hermit }\n",
                  "t.yaml:5:5: 4097 actors, at most 4096 allowed");
    EXPECT_ACTORS("    - { name: a, kind: hermit, replicate: -1 }\n",
                  "t.yaml:5:43: option 'replicate' of actor 'a' must be in "
                  "1..1024, found '-1'");
    EXPECT_ACTORS("    - { name: a, kind: hermit, replicate: 5000 }\n",
                  "t.yaml:5:43: option 'replicate' of actor 'a' must be in "
                  "1..1024, found '5000'");
}

/* --- owners -------------------------------------------------------------- */

#define SHARD(name, options)                                                   \
    "    - { name: " name ", kind: shard, options: { " options " } }\n"
#define LOOP(actors)                                                           \
    TOPOLOGY("    - { name: source, kind: source }\n" actors,                  \
             "    - { from: source, to: output, message: work,\n"              \
             "        pattern: broadcast }\n"                                  \
             "    - { from: output, to: source, message: done }\n")

Test(spec, refuses_two_owners_of_a_row)
{
    expect_problems(
        LOOP(SHARD("output.0", "row_first: 0, row_count: 100")
                 SHARD("output.1", "row_first: 99, row_count: 101")
                     SHARD("output.2", "row_first: 10, row_count: 5")),
        "t.yaml:7:60: output.0 and output.1 both own rows 99..99; give each "
        "row to one of them: row_first, row_count\n"
        "t.yaml:8:60: output.0 and output.2 both own rows 10..14; give each "
        "row to one of them: row_first, row_count");
    expect_problems(LOOP("    - { name: output, kind: shard, replicate: 2,\n"
                         "        options: { column_count: 7 } }\n"),
                    "t.yaml:7:18: output.0 and output.1 both own columns "
                    "0..6; give each column to one of them: column_first, "
                    "column_count");
}

Test(spec, takes_owners_that_share_nothing)
{
    skn_spec_t *spec = load_good(
        LOOP(SHARD("output.0", "row_first: 100, row_count: 100")
                 SHARD("output.1", "row_first: 0, row_count: 100")
                     SHARD("output.2", "row_first: 50, row_count: 0")));
    skn_spec_destroy(&spec);
}

Test(spec, says_everything_in_one_pass)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_spec_t *spec = load(
        TOPOLOGY("    - { name: a, kind: word_readr }\n"
                 "    - { name: b, kind: word_counter, options: { x: 1 } }\n",
                 "    - { from: a, to: c, message: word }\n"
                 "    - { from: a, to: b, message: w, credit: x }\n"),
        problems);
    cr_expect_null(spec);
    cr_expect_eq(skn_problems_count(problems), 5u);
    skn_error_t error = { 0 };
    cr_expect_eq(skn_problems_error(problems, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text, "t.yaml:5:24: unknown kind 'word_readr' of "
                                 "actor 'a' (and 4 more)");
    cr_expect_str_eq(error.hint, "did you mean 'word_reader'?");
    skn_problems_destroy(&problems);
}

/* --- kinds and plug-ins -------------------------------------------------- */

static void
expect_kinds_refused(const skn_kind_t *const *kinds, const char *want)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document = skn_document_new("t.yaml", problems);
    cr_expect_null(skn_spec_load(&document, kinds, problems));
    cr_expect_str_eq(skn_problems_text(problems, 0), want);
    skn_problems_destroy(&problems);
}

Test(spec, refuses_kinds_that_contradict_each_other)
{
    static const skn_kind_t *const twice[] = { &hermit, &relay, &hermit, NULL };
    expect_kinds_refused(twice, "t.yaml: kind 'hermit' is already known");
    static const skn_schema_t other = { .name = "word",
                                        .id = 1007,
                                        .help = "" };
    static const skn_schema_t *const sends[] = { &other, NULL };
    static const skn_kind_t liar = SKN_KIND(.name = "liar", .sends = sends);
    static const skn_kind_t *const pair[] = { &relay, &liar, NULL };
    expect_kinds_refused(pair, "t.yaml: message 'word' (1007) of kind 'liar' "
                               "is not the message 'word' (1000) that other "
                               "kinds know");
    static const skn_kind_t nameless = SKN_KIND(.produce = word_produce);
    static const skn_kind_t *const one[] = { &nameless, NULL };
    expect_kinds_refused(one, "t.yaml: a kind of actor has no name");
    static const skn_kind_t sizeless = { .name = "sizeless" };
    static const skn_kind_t *const other_size[] = { &sizeless, NULL };
    char want[256];
    (void)snprintf(want, sizeof(want),
                   "t.yaml: a kind of actor: struct_bytes is 0, and must be "
                   "%zu in Skein " SKN_VERSION_TEXT ": initialise it with "
                   "SKN_KIND, and compile with the headers of this library",
                   sizeof(skn_kind_t));
    expect_kinds_refused(other_size, want);
}

Test(spec, knows_more_kinds_than_one_piece_of_memory_holds)
{
    static skn_kind_t many[100];
    static char names[100][8];
    static const skn_kind_t *kinds[101];
    for (size_t k = 0; k < 100; k++) {
        (void)snprintf(names[k], sizeof(names[k]), "k%zu", k);
        many[k] =
            (skn_kind_t)SKN_KIND(.name = names[k], .produce = word_produce);
        kinds[k] = &many[k];
    }
    static const char text[] = "skein: 1\ntopology:\n  name: t\n"
                               "  actors: [{ name: h, kind: k99 }]\n";
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document =
        skn_document_parse(text, sizeof(text) - 1, "t.yaml", problems);
    skn_spec_t *spec = skn_spec_load(&document, kinds, problems);
    cr_assert_not_null(spec, "%s", skn_problems_text(problems, 0));
    cr_expect_eq(skn_spec_wiring(spec)->actors[0].kind, &many[99]);
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
}

#define PLUGIN(list)                                                           \
    "skein: 1\ntopology:\n  name: t\n  plugins: " list                         \
    "\n  actors: [{ name: h, kind: hermit }]\n"

Test(spec, refuses_plug_ins_that_are_none)
{
    expect_problems(PLUGIN("x"), "t.yaml:4:12: 'plugins' of topology must be a "
                                 "list, found 'x'");
    expect_problems(PLUGIN("[[a], '']"),
                    "t.yaml:4:13: a plug-in is a path, found a list\n"
                    "t.yaml:4:18: a plug-in is a path, found ''");
    expect_problems(PLUGIN("[absent.so]"),
                    "t.yaml:4:13: the plug-in cannot be loaded: ./absent.so: "
                    "cannot open shared object file: No such file or "
                    "directory");
}

#ifdef SKN_TEST_PLUGIN_2
Test(spec, takes_the_kinds_of_a_plug_in)
{
    char text[4096];
    (void)snprintf(text, sizeof(text), "%s",
                   "skein: 1\ntopology:\n  name: t\n  plugins: "
                   "['" SKN_TEST_PLUGIN_2 "']\n"
                   "  actors: [{ name: h, kind: plugged }]\n");
    skn_spec_t *spec = load_good(text);
    cr_expect_str_eq(skn_spec_wiring(spec)->actors[0].kind->name, "plugged");
    skn_spec_destroy(&spec);
    char want[4096];
    (void)snprintf(want, sizeof(want),
                   "t.yaml:4:13: plug-in %s has version 1, this program needs "
                   "2; compile it again",
                   SKN_TEST_PLUGIN_1);
    expect_problems(PLUGIN("['" SKN_TEST_PLUGIN_1 "']"), want);
    (void)snprintf(want, sizeof(want),
                   "t.yaml:4:13: %s is not a plug-in: it exports no "
                   "symbol 'skn_plugin'",
                   SKN_TEST_PLUGIN_0);
    expect_problems(PLUGIN("['" SKN_TEST_PLUGIN_0 "']"), want);
}
#endif
