/* test_spec_hash.c - tests the hash on which all nodes of a run must agree.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/spec_checks.h"

static const skn_option_t own_options[] = {
    { "truth", SKN_OPTION_BOOL, "false", 0, 0, NULL, "a truth" },
    { "number", SKN_OPTION_INT, "1", -9, 9, NULL, "a number" },
    { "real", SKN_OPTION_REAL, "1", 0, 9, NULL, "a real" },
    { "text", SKN_OPTION_TEXT, "x", 0, 0, NULL, "a text" },
    { "word", SKN_OPTION_CHOICE, "one", 0, 0, "one|two", "a choice" },
    { "file", SKN_OPTION_PATH, "f", 0, 0, NULL, "a path" },
    { "cache", SKN_OPTION_TEXT, "auto", 0, 0, NULL, "local" },
    { "checkpoint", SKN_OPTION_TEXT, "", 0, 0, NULL, "local" },
    { "first_batch", SKN_OPTION_INT, "0", 0, 9, NULL, "local" },
    { "config", SKN_OPTION_TEXT, "", 0, 0, NULL, "local" },
    { "newest", SKN_OPTION_INT, "0", 0, 9, NULL, "local" },
    { "progress_ms", SKN_OPTION_INT, "0", 0, 9, NULL, "local" },
    { "resume", SKN_OPTION_TEXT, "", 0, 0, NULL, "local" },
    { "run", SKN_OPTION_TEXT, "", 0, 0, NULL, "local" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
static const skn_kind_t maker =
    SKN_KIND(.name = "maker", .options = own_options, .sends = relay_sends,
             .produce = word_produce, .gate = true);
static const skn_kind_t other =
    SKN_KIND(.name = "other", .options = own_options, .sends = relay_sends,
             .produce = word_produce, .gate = true);
/* It may stand at the start of a topology. */
static const skn_kind_t gate =
    SKN_KIND(.name = "relay", .handlers = relay_handlers, .sends = relay_sends,
             .gate = true);
static const skn_kind_t *const kinds[] = { &maker, &other, &gate, NULL };

static uint64_t
hash_of(const char *text)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "t.yaml", problems);
    skn_spec_t *spec =
        document ? skn_spec_load(&document, kinds, problems) : NULL;
    cr_assert_not_null(spec, "%s\n%s", text, skn_problems_text(problems, 0));
    uint64_t hash = skn_spec_hash(spec);
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
    return hash;
}

static const char base[] =
    "skein: 1\n"
    "topology:\n"
    "  name: t\n"
    "  nodes:\n"
    "    - { name: a, address: 'tcp://127.0.0.1:7001', key: ka, cores: 1 }\n"
    "    - { name: b, address: 'tcp://127.0.0.1:7002', key: kb, ssh: s }\n"
    "  actors:\n"
    "    - { name: m, kind: maker, node: a, cores: 1, nice: 1,\n"
    "        options: { truth: true, number: 2, real: 0.5, text: y,\n"
    "          word: two, file: g, cache: none, checkpoint: p,\n"
    "          first_batch: 4, config: c, newest: 1,\n"
    "          progress_ms: 2, resume: r, run: n } }\n"
    "    - { name: r.0, kind: relay, node: a }\n"
    "    - { name: r.1, kind: relay, node: b }\n"
    "    - { name: s, kind: relay, node: b }\n"
    "  pipes:\n"
    "    - { from: m, to: r, message: word, pattern: scatter, key: hash,\n"
    "        bounds: [0, 5, 9], credit: 3 }\n"
    "    - { from: r, to: s, message: work, collect: gather, by: batch }\n";

/* `base` with the first `from` behind `after` replaced. */
static uint64_t
hash_with(const char *after, const char *from, const char *to)
{
    char text[2048];
    const char *at = strstr(base, after);
    cr_assert(at, "%s", after);
    at = strstr(at, from);
    cr_assert(at, "%s", from);
    (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - base), base, to,
                   at + strlen(from));
    return hash_of(text);
}

typedef struct change {
    const char *after, *from, *to;
} change_t;

Test(spec_hash, sees_what_must_be_equal)
{
    static const change_t changes[] = {
        { "actors", "truth: true", "truth: false" },
        { "actors", "number: 2", "number: 3" },
        { "actors", "real: 0.5", "real: 0.25" },
        { "actors", "text: y", "text: z" },
        { "actors", "word: two", "word: one" },
        { "actors", "kind: maker", "kind: other" },
        { "r.0", "node: a", "node: b" },
        { "pipes", "key: hash", "key: wide" },
        { "pipes", "bounds: [0, 5, 9]", "bounds: [0, 6, 9]" },
        { "pipes", "bounds: [0, 5, 9]", "bounds: [0, 5, 8]" },
        { "pipes", "credit: 3", "credit: 4" },
        { "pipes", "to: r", "to: [r.1, r.0]" },
        { "pipes", "collect: gather", "collect: none" },
        { "pipes", "gather, by: batch", "gather, by: batch, peer: true" },
        { "pipes", "collect: gather, by: batch", "pattern: any" },
    };
    uint64_t hash = hash_of(base);
    uint64_t seen[sizeof(changes) / sizeof(changes[0])];
    for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++) {
        const change_t *c = &changes[k];
        if (strcmp(c->to, "collect: none") == 0)
            seen[k] = hash_with(c->after, "collect: gather, by: batch", "");
        else
            seen[k] = hash_with(c->after, c->from, c->to);
        cr_expect_neq(seen[k], hash, "%s to %s", c->from, c->to);
        for (size_t j = 0; j < k; j++)
            cr_expect_neq(seen[k], seen[j], "%s and %s", c->to, changes[j].to);
    }
}

Test(spec_hash, does_not_see_what_is_a_nodes_own)
{
    static const change_t changes[] = {
        { "skein", "name: t\n", "name: u\n" },
        { "nodes", "127.0.0.1:7001", "127.0.0.9:7003" },
        { "nodes", "key: ka", "key: other" },
        { "nodes", "ssh: s", "ssh: q" },
        { "nodes", "cores: 1", "cores: 4, memory: 1GiB" },
        { "actors", "cores: 1", "cores: float" },
        { "actors", "nice: 1", "nice: 2" },
        { "actors", "file: g", "file: /elsewhere/h" },
        { "actors", "cache: none", "cache: /x" },
        { "actors", "config: c", "config: 'd: e'" },
        { "actors", "newest: 1", "newest: 2" },
        { "actors", "checkpoint: p", "checkpoint: q" },
        { "actors", "first_batch: 4", "first_batch: 5" },
        { "actors", "progress_ms: 2", "progress_ms: 0" },
        { "actors", "resume: r", "resume: q" },
        { "actors", "run: n", "run: m" },
    };
    uint64_t hash = hash_of(base);
    for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++)
        cr_expect_eq(
            hash_with(changes[k].after, changes[k].from, changes[k].to), hash,
            "%s to %s", changes[k].from, changes[k].to);
}

Test(spec_hash, sees_values_not_how_they_are_written)
{
    uint64_t hash = hash_of(base);
    cr_expect_eq(hash_with("actors", "real: 0.5", "real: 5e-1"), hash);
    cr_expect_eq(hash_with("actors", "word: two", "word: \"two\""), hash);
    cr_expect_eq(hash_with("pipes", "to: r", "to: [r.0, r.1]"), hash);
}

/* Other builds and machines compute it, too. */
Test(spec_hash, is_the_same_number_everywhere)
{
    cr_expect_eq(hash_of("skein: 1\ntopology:\n  name: t\n  actors:\n"
                         "    - { name: m, kind: relay }\n"
                         "    - { name: n, kind: relay }\n"
                         "  pipes: [{ from: m, to: n, message: word, "
                         "credit: 16 }]\n"),
                 UINT64_C(0x9bc65a02c7ab1b25));
}
