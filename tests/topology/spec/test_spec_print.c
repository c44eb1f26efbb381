/* test_spec_print.c - tests specs printed as YAML that gives the same wiring.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/spec_checks.h"

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

/* --- oracle: equal wirings, field by field ------------------------------- */

static void
expect_same_actor(const skn_wired_actor_t *a, const skn_wired_actor_t *b)
{
    cr_expect_str_eq(a->name, b->name);
    cr_expect_eq(a->kind, b->kind);
    cr_expect_eq(a->index, b->index, "%s", a->name);
    cr_expect_eq(a->peers, b->peers, "%s", a->name);
    cr_expect_eq(a->core, b->core, "%s", a->name);
    cr_expect_eq(a->nice, b->nice, "%s", a->name);
    const skn_option_t *options = a->kind->options;
    for (size_t k = 0; options && options[k].name; k++) {
        const skn_value_t *x = &a->values[k], *y = &b->values[k];
        cr_expect_eq(x->option, y->option);
        cr_expect_eq(x->truth, y->truth);
        cr_expect_eq(x->number, y->number);
        cr_expect_eq(memcmp(&x->real, &y->real, sizeof(x->real)), 0);
        cr_expect_str_eq(x->text, y->text);
    }
}

static void
expect_same_pipe(const skn_wired_pipe_t *a, const skn_wired_pipe_t *b)
{
    cr_expect_eq(a->schema, b->schema);
    cr_expect_eq(a->pattern, b->pattern);
    cr_expect_eq(a->collect, b->collect);
    cr_expect_eq(a->credit, b->credit);
    cr_expect_eq(a->key, b->key);
    cr_expect_eq(a->by, b->by);
    cr_assert_eq(a->from_count, b->from_count);
    cr_assert_eq(a->to_count, b->to_count);
    for (uint32_t k = 0; k < a->from_count; k++)
        cr_expect_eq(a->from[k], b->from[k]);
    for (uint32_t k = 0; k < a->to_count; k++)
        cr_expect_eq(a->to[k], b->to[k]);
    cr_expect_eq(a->bounds == NULL, b->bounds == NULL);
    for (uint32_t k = 0; a->bounds && k <= a->to_count; k++)
        cr_expect_eq(a->bounds[k], b->bounds[k]);
}

static void
expect_round_trip(const char *text)
{
    skn_spec_t *spec = load_good(text);
    char *once = printed(spec, skn_spec_print);
    skn_spec_t *again = load_good(once);
    const skn_wiring_t *a = skn_spec_wiring(spec), *b = skn_spec_wiring(again);
    cr_expect_str_eq(a->name, b->name);
    cr_assert_eq(a->actor_count, b->actor_count);
    cr_assert_eq(a->pipe_count, b->pipe_count);
    for (uint32_t k = 0; k < a->actor_count; k++)
        expect_same_actor(&a->actors[k], &b->actors[k]);
    for (uint32_t k = 0; k < a->pipe_count; k++)
        expect_same_pipe(&a->pipes[k], &b->pipes[k]);
    char *twice = printed(again, skn_spec_print);
    cr_expect_str_eq(once, twice);
    free(once);
    free(twice);
    skn_spec_destroy(&spec);
    skn_spec_destroy(&again);
}

#define WORDS                                                                  \
    TOPOLOGY("    - { name: reader, kind: word_reader, cores: float,\n"        \
             "        options: { path: 'a b', rate: 0.1, title: '1' } }\n"     \
             "    - { name: counter, kind: word_counter, replicate: 2,\n"      \
             "        nice: 7, cores: 1 }\n"                                   \
             "    - { name: printer, kind: total_printer }\n",                 \
             "    - { from: reader, to: counter, message: word,\n"             \
             "        pattern: scatter, key: hash, credit: 3 }\n"              \
             "    - { from: counter, to: printer, message: total,\n"           \
             "        collect: gather, by: count }\n")

/* --- YAML ---------------------------------------------------------------- */

Test(spec_print, shows_every_value)
{
    skn_spec_t *spec = load_good(WORDS);
    char *text = printed(spec, skn_spec_print);
    cr_expect_str_eq(
        text,
        "skein: 1\n"
        "topology:\n"
        "  name: t\n"
        "  actors:\n"
        "    - { name: reader, kind: word_reader, options: { path: a b, rate: "
        "0.1, title: \"1\", order: fixed, repeat: false, room_bytes: 1MiB }, "
        "cores: float, nice: 0 }\n"
        "    - { name: counter.0, kind: word_counter, cores: 1, nice: 7 }\n"
        "    - { name: counter.1, kind: word_counter, cores: 1, nice: 7 }\n"
        "    - { name: printer, kind: total_printer, cores: auto, nice: 0 }\n"
        "  pipes:\n"
        "    - { from: reader, to: counter, message: word, pattern: scatter, "
        "key: hash, bounds: [0, 200, 400], collect: none, credit: 3 }\n"
        "    - { from: counter, to: printer, message: total, pattern: one, "
        "collect: gather, by: count, credit: 256 }\n",
        "%s", text);
    free(text);
    skn_spec_destroy(&spec);
}

Test(spec_print, gives_the_same_wiring_again)
{
    expect_round_trip(WORDS);
    expect_round_trip(TOPOLOGY(
        "    - { name: true, kind: relay }\n"
        "    - { name: '12', kind: relay }\n"
        "    - { name: a.3.1, kind: relay }\n"
        "    - { name: a.3.0, kind: relay }\n"
        "    - { name: b, kind: relay, replicate: 1 }\n"
        "    - { name: r, kind: word_reader, options: { path: 'a b', rate: "
        "1.7976931348623157e-308, title: \"a'\\\"\\\\, {é}\\n#: \" } }\n",
        "    - { from: r, to: [a.3.1, a.3.0, true, b], message: word,\n"
        "        pattern: broadcast }\n"
        "    - { from: [a.3.0, a.3.1], to: ['12', b], message: word }\n"));
    expect_round_trip("skein: 1\ntopology:\n  name: t\n"
                      "  actors: [{ name: h, kind: hermit }]\n");
}

Test(spec_print, keeps_the_bits_of_reals)
{
    static const char *const reals[] = {
        "0.1", "1e-3", "0.30000000000000004", "4.9e-324", "1", "0", "1E-0"
    };
    for (size_t k = 0; k < sizeof(reals) / sizeof(reals[0]); k++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "skein: 1\ntopology:\n  name: t\n  actors:\n"
                       "    - { name: r, kind: word_reader, options: { path: "
                       "a, rate: %s } }\n    - { name: c, kind: relay }\n"
                       "  pipes: [{ from: r, to: c, message: word }]\n",
                       reals[k]);
        expect_round_trip(text);
    }
}

Test(spec_print, says_when_the_disk_is_full)
{
    skn_spec_t *spec = load_good(WORDS);
    skn_error_t error = { 0 };
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    (void)setvbuf(full, NULL, _IONBF, 0);
    cr_expect_eq(skn_spec_print(spec, full, &error), SKN_STORAGE);
    cr_expect_str_eq(error.text, "writing a topology: No space left on device");
    (void)fclose(full);
    skn_spec_destroy(&spec);
}
