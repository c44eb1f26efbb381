/* test_model_rules.c - tests the rules between two keys of a model file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "actors/samplers/sampler.h"
#include "tests/support/model_fixture.h"
#include "topology/model/model_rules.h"
#include "topology/model/model_tables.h"

typedef struct rule {
    const char *part, *want; /* what differs; what is said, or "" */
} rule_t;

/* Checks each case: `part` stands at %s in `format`. */
static void
expect_rules(const char *format, const rule_t *rules, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        char text[1024];
        char *at = NULL;
        (void)snprintf(text, sizeof(text), "%s", format);
        at = strchr(text, '%');
        cr_assert(at);
        (void)snprintf(at, sizeof(text) - (size_t)(at - text), "%s%s",
                       rules[k].part, strchr(format, '%') + 1);
        if (rules[k].want[0]) {
            fixture_refused(text, rules[k].want);
        } else {
            skn_model_t *model = fixture_good(text);
            skn_model_destroy(&model);
        }
    }
}
#define EXPECT(format, rules)                                                  \
    expect_rules(format, rules, sizeof(rules) / sizeof(rules[0]))

/* % stands in line 7, column 3. */
#define SAMPLER                                                                \
    "skein: 1\ndata: { train: t }\nmodel:\n  layers:\n"                        \
    "    - name: h\n    - name: o\n      sampler: { % }\n"
#define LAYER                                                                  \
    "skein: 1\ndata: { train: t }\nmodel:\n  layers:\n"                        \
    "    - { name: h }\n    - { name: o, % }\n"
/* The kinds with an index, and those that draw. */
#define INDEXED "simhash, dwta"
#define SAMPLED "uniform, log_uniform, " INDEXED
#define TRAIN FIXTURE "train: { % }\n"

Test(model_rules, a_key_that_means_nothing_for_the_sampler_is_refused)
{
    static const rule_t rules[] = {
        { "kind: uniform, rows: 10, tables: 50",
          "m.yaml:7:51: 'tables' has no effect with kind 'uniform'; it is "
          "for " INDEXED "\n" },
        { "kind: uniform, bits: 9",
          "m.yaml:7:39: 'bits' has no effect with kind 'uniform'; it is "
          "for " INDEXED "\n" },
        { "kind: log_uniform, refresh_batches: 9",
          "m.yaml:7:54: 'refresh_batches' has no effect with "
          "kind 'log_uniform'; it is for " INDEXED "\n" },
        { "kind: uniform, uniform_rows: 9",
          "m.yaml:7:47: 'uniform_rows' has no effect with kind 'uniform'; it "
          "is for " INDEXED "\n" },
        { "kind: exact, rows: 9",
          "m.yaml:7:37: 'rows' has no effect with kind 'exact'; it is "
          "for " SAMPLED "\n" },
        { "kind: exact, labels: false",
          "m.yaml:7:39: 'labels' has no effect with kind 'exact'; it is "
          "for " SAMPLED "\n" },
        { "kind: exact, weight_cap: 2",
          "m.yaml:7:43: 'weight_cap' has no effect with kind 'exact'; it is "
          "for " SAMPLED "\n" },
        { "tables: 3",
          "m.yaml:7:26: 'tables' has no effect with kind 'auto'; it is "
          "for " INDEXED "\n" },
    };
    EXPECT(SAMPLER, rules);
}

Test(model_rules, a_key_that_has_its_default_may_stand_anywhere)
{
    static const rule_t rules[] = {
        { "kind: exact, rows: auto, labels: true, weight_cap: 0", "" },
        { "kind: uniform, tables: auto, bits: auto", "" },
        { "kind: auto, rows: 100, labels: false, weight_cap: 3", "" },
        { "kind: simhash, tables: 50, bits: 9, uniform_rows: 5", "" },
        { "kind: dwta, tables: 50, bits: 6, refresh_batches: 5", "" },
    };
    EXPECT(SAMPLER, rules);
}

Test(model_rules, a_batch_needs_negatives)
{
#define NOTHING(column)                                                        \
    "m.yaml:7:" column ": labels would have no negatives: 'rows' is 0 and "    \
    "'labels' is false; set 'rows', or leave 'labels' true\n"
    static const rule_t rules[] = {
        { "kind: uniform, rows: 0, labels: false", NOTHING("39") },
        { "kind: simhash, rows: 0, labels: false", NOTHING("39") },
        { "kind: simhash, rows: 0, labels: false, uniform_rows: 0",
          NOTHING("39") },
        { "kind: simhash, rows: 0, labels: false, uniform_rows: 1", "" },
        { "kind: uniform, rows: 0", "" },
        { "kind: uniform, rows: 1, labels: false", "" },
        { "kind: uniform, labels: false", "" },
    };
    EXPECT(SAMPLER, rules);
}

/* The choices of a model file are the samplers that there are. */
Test(model_rules, every_sampler_but_auto_is_built)
{
    const skn_option_t *option = skn_sampler_section.options;
    char word[64];
    while (strcmp(option->name, "kind") != 0)
        option++;
    for (const char *at = option->choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, "|"), at);
        cr_expect(strcmp(word, "auto") == 0 || skn_sampler_find(word), "%s",
                  word);
    }
}

Test(model_rules, smoothed_labels_need_a_softmax)
{
    static const rule_t rules[] = {
        { "label_smoothing: 0.3", "" },
        { "label_smoothing: 0.3, loss: softmax", "" },
        { "label_smoothing: 0, loss: one_vs_all", "" },
        { "label_smoothing: 0.3, loss: one_vs_all",
          "m.yaml:6:35: 'label_smoothing' has no effect with one logistic "
          "loss per label; leave it out, or set 'loss: softmax'\n" },
    };
    EXPECT(LAYER, rules);
}

Test(model_rules, an_index_lag_needs_an_index)
{
    static const rule_t rules[] = {
        { "index_lag: 4, sampler: { kind: uniform }",
          "m.yaml:6:29: 'index_lag' has no effect with a sampler that has "
          "no index; it is for " INDEXED "\n" },
        { "index_lag: 4", "" },
        { "index_lag: auto, sampler: { kind: uniform }", "" },
        { "index_lag: 4, sampler: { kind: dwta }", "" },
    };
    EXPECT(LAYER, rules);
}

#define NAMED(name)                                                            \
    "skein: 1\ndata: { train: t }\nmodel: { layers: [ { name: " name           \
    " }, { name: out } ] }\n"
#define NAME_HINT                                                              \
    "; use a letter, then letters, digits, '_' and '-', 64 at most\n"
#define LETTERS_64                                                             \
    "abcdefghijklmnopabcdefghijklmnopabcdefghijklmnopabcdefghijklmnop"

Test(model_rules, a_layers_name_is_a_word)
{
    static const char *const good[] = { NAMED("a"), NAMED("Layer_2-b"),
                                        NAMED(LETTERS_64) };
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        skn_model_t *model = fixture_good(good[k]);
        skn_model_destroy(&model);
    }
    fixture_refused(NAMED("\"\""),
                    "m.yaml:3:28: '' is not a valid layer name" NAME_HINT);
    fixture_refused(NAMED("a.b"),
                    "m.yaml:3:28: 'a.b' is not a valid layer name" NAME_HINT);
    fixture_refused(NAMED("2a"),
                    "m.yaml:3:28: '2a' is not a valid layer name" NAME_HINT);
    fixture_refused(NAMED("\"a b\""),
                    "m.yaml:3:28: 'a b' is not a valid layer name" NAME_HINT);
    fixture_refused(NAMED(LETTERS_64 "q"),
                    "m.yaml:3:28: '" LETTERS_64 "' is not a valid "
                    "layer name" NAME_HINT);
}

Test(model_rules, layers_have_names_of_their_own)
{
    fixture_refused(NAMED("out"),
                    "m.yaml:3:43: there are two layers named 'out'\n");
    fixture_refused("skein: 1\ndata: { train: t }\nmodel: { layers: [ { name: "
                    "a }, { name: a }, { name: a } ] }\n",
                    "m.yaml:3:41: there are two layers named 'a'\n"
                    "m.yaml:3:54: there are two layers named 'a'\n");
}

Test(model_rules, patience_needs_points_held_back)
{
    static const rule_t rules[] = {
        { "patience: 1",
          "m.yaml:7:20: 'patience' needs points that are held back, but "
          "'validate' is 0; set 'validate', for example 0.05\n" },
        { "patience: 0", "" },
        { "patience: auto", "" },
        { "patience: 1, validate: 0.01", "" },
    };
    EXPECT(TRAIN, rules);
}

#define DATA                                                                   \
    "skein: 1\nmodel:\n  layers: [{ name: h }, { name: o }]\n"                 \
    "data: { train: t, % }\n"

Test(model_rules, the_labels_are_no_feature)
{
    static const rule_t rules[] = {
        { "text_column: \"a, L\", label_column: L",
          "m.yaml:4:32: 'text_column' has 'L', the column of the labels, which "
          "are to be predicted; leave it out, or set 'label_column'\n" },
        { "category_columns: labels",
          "m.yaml:4:37: 'category_columns' has 'labels', the column of the "
          "labels, which are to be predicted; leave it out, or set "
          "'label_column'\n" },
        { "number_columns: \"b,c,L\", label_column: L",
          "m.yaml:4:35: 'number_columns' has 'L', the column of the labels, "
          "which are to be predicted; leave it out, or set 'label_column'\n" },
        { "text_column: labels, label_column: text", "" },
        { "number_columns: \"labels2\"", "" },
    };
    EXPECT(DATA, rules);
}

Test(model_rules, a_test_that_is_a_number_is_a_share)
{
    static const rule_t rules[] = {
        { "test: 0.5", "" },
        { "test: 0", "" },
        { "test: \"30\"", "" },
        { "test: 30",
          "m.yaml:4:25: 'test' as a share of the training file must be in "
          "0..0.5, found 30; a file of that name is ./30\n" },
        { "test: -0.1",
          "m.yaml:4:25: 'test' as a share of the training file must be in "
          "0..0.5, found -0.1; a file of that name is ./-0.1\n" },
    };
    EXPECT(DATA, rules);
}

Test(model_rules, columns_are_counted)
{
    static const char *const keys[] = { "category_columns", "number_columns" };
    for (size_t k = 0; k < 2; k++) {
        char names[512], part[600], want[256];
        size_t used = 0;
        for (unsigned c = 1; c <= 129; c++) {
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%x",
                                     c > 1 ? "," : "", c);
            if (c < 128)
                continue;
            (void)snprintf(part, sizeof(part), "%s: \"%s\"", keys[k], names);
            (void)snprintf(want, sizeof(want),
                           "m.yaml:4:%zu: '%s' has 129 names, at most 128 "
                           "allowed; leave some out\n",
                           strlen(keys[k]) + 21, keys[k]);
            const rule_t rule = { part, c == 128 ? "" : want };
            expect_rules(DATA, &rule, 1);
        }
    }
}

Test(model_rules, fixed_reduction_excludes_what_has_other_bits)
{
    static const rule_t rules[] = {
        { "reduction: fixed", "" },
        { "reduction: fixed, order: free",
          "m.yaml:7:21: 'reduction: fixed' promises the same bits, which "
          "'order: free' excludes; set 'order: fixed', or 'reduction: "
          "fast'\n" },
        { "precision: bf16", "" },
        { "precision: f32, reduction: fixed", "" },
        { "precision: bf16, reduction: fixed",
          "m.yaml:7:21: 'precision: bf16' sums as each processor does, so that "
          "bits depend on the machine, which 'reduction: fixed' excludes; set "
          "'precision: f32', or 'reduction: fast'\n" },
        { "merge: late", "" },
        { "merge: early, reduction: fixed", "" },
        { "merge: late, reduction: fixed",
          "m.yaml:7:17: 'merge: late' rounds each shard's part by itself, so "
          "that bits depend on the shards, which 'reduction: fixed' excludes; "
          "set 'merge: early', or 'reduction: fast'\n" },
    };
    EXPECT(TRAIN, rules);
}

Test(model_rules, a_key_that_means_nothing_for_the_optimizer_is_refused)
{
    static const rule_t rules[] = {
        { "optimizer: { kind: sgd, beta1: 0.5 }",
          "m.yaml:7:41: 'beta1' has no effect with kind 'sgd'; it is for "
          "adam\n" },
        { "optimizer: { kind: adagrad, beta2: 0.5 }",
          "m.yaml:7:45: 'beta2' has no effect with kind 'adagrad'; it is for "
          "adam\n" },
        { "optimizer: { kind: sgd, epsilon: 0.5 }",
          "m.yaml:7:43: 'epsilon' has no effect with kind 'sgd'; it is for "
          "adam, adagrad\n" },
        { "optimizer: { kind: adagrad, weight_decay: 0.5 }",
          "m.yaml:7:52: 'weight_decay' has no effect with kind 'adagrad'; it "
          "is for adam, sgd\n" },
        { "optimizer: { kind: sgd, offload: file }",
          "m.yaml:7:43: 'offload' has no effect with kind 'sgd'; it is for "
          "adam\n" },
        { "optimizer: { offload: none, offload_path: x }",
          "m.yaml:7:52: 'offload_path' has no effect with 'offload: none'; "
          "leave it out, or set 'offload: file'\n" },
        { "optimizer: { offload_path: x }", "" },
        { "optimizer: { kind: adam, offload: file, offload_path: x }", "" },
        { "optimizer: { beta1: 0.5, beta2: 0.5, epsilon: 0.5 }", "" },
        { "optimizer: { kind: adam, beta1: 0.5, weight_decay: 0.1 }", "" },
        { "optimizer: { kind: sgd, beta1: 0.9, epsilon: 1e-8 }", "" },
        { "optimizer: { kind: sgd, rate: 0.1, weight_decay: 0.1 }", "" },
    };
    EXPECT(TRAIN, rules);
}

Test(model_rules, a_key_that_means_nothing_for_the_schedule_is_refused)
{
    static const rule_t rules[] = {
        { "schedule: { kind: constant, warmup_batches: 5 }",
          "m.yaml:7:54: 'warmup_batches' has no effect with kind 'constant'; "
          "it is for warmup, cosine\n" },
        { "schedule: { kind: warmup, floor: 0.5 }",
          "m.yaml:7:43: 'floor' has no effect with kind 'warmup'; it is for "
          "cosine\n" },
        { "schedule: { kind: warmup, warmup_batches: 5 }", "" },
        { "schedule: { kind: cosine, warmup_batches: 5, floor: 0.1 }", "" },
        { "schedule: { warmup_batches: 5, floor: 0.1 }", "" },
    };
    EXPECT(TRAIN, rules);
}

Test(model_rules, rows_in_bf16_need_masters_or_random_rounding)
{
    static const char *const kinds[] = { "auto", "adam", "adagrad", "sgd" };
    for (size_t k = 0; k < 4; k++)
        for (int copy = 0; copy < 2; copy++) {
            char text[512], want[256];
            bool lossy = k == 1 && !copy;
            (void)snprintf(text, sizeof(text),
                           "skein: 1\ndata: { train: t }\nmodel: { layers: [ { "
                           "name: h }, { name: o, weights: bf16 } ] }\ntrain: "
                           "{ updates: %s, optimizer: { kind: %s } }\n",
                           copy ? "copy" : "loan", kinds[k]);
            (void)snprintf(want, sizeof(want),
                           "m.yaml:3:53: weights in bf16 lose the small steps "
                           "of '%s'; set 'updates: copy' in 'train', which "
                           "keeps f32 masters, or use adagrad or sgd, which "
                           "round at random\n",
                           kinds[k]);
            if (lossy) {
                fixture_refused(text, want);
            } else {
                skn_model_t *model = fixture_good(text);
                skn_model_destroy(&model);
            }
        }
}

/* Without a kind, a rate is one of Adam's. */
Test(model_rules, rows_in_bf16_and_a_rate_need_a_kind)
{
    fixture_refused("skein: 1\ndata: { train: t }\nmodel: { layers: [ { name: "
                    "h }, { name: o, weights: bf16 } ] }\ntrain: { optimizer: "
                    "{ rate: 0.01 } }\n",
                    "m.yaml:3:53: weights in bf16 lose the small steps of "
                    "'adam'; set 'updates: copy' in 'train', which keeps f32 "
                    "masters, or use adagrad or sgd, which round at random\n");
}

Test(model_rules, sections_without_refused_values_are_judged_all_the_same)
{
    /* In the layers a value is refused, so only train is judged. */
    fixture_refused("skein: 1\ndata: { train: t }\nmodel: { layers: [ { name: "
                    "2, units: 0 }, { name: o } ] }\ntrain: { patience: 1 }\n",
                    "m.yaml:3:38: option 'units' of layer '2' must be in "
                    "1..65536 or auto, found '0'\n"
                    "m.yaml:4:20: 'patience' needs points that are held back, "
                    "but 'validate' is 0; set 'validate', for example 0.05\n");
    /* And the other way round. */
    fixture_refused("skein: 1\ndata: { train: t }\nmodel: { layers: [ { name: "
                    "a.b }, { name: o } ] }\ntrain: { patience: 1, window: 0 "
                    "}\n",
                    "m.yaml:3:28: 'a.b' is not a valid layer name" NAME_HINT
                    "m.yaml:4:31: option 'window' of train must be in 1..64 or "
                    "auto, found '0'\n");
}

Test(model_rules, the_place_is_the_key_or_else_its_mapping)
{
    skn_error_t error = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    cr_assert(problems);
    skn_document_t *document =
        skn_document_parse("a:\n  b: 1\n", 10, "x", problems);
    cr_assert(document);
    const skn_node_t *a = skn_node_get(skn_document_root(document), "a");
    cr_expect(skn_rules_mark(a, "b").line == 2);
    cr_expect(skn_rules_mark(a, "b").column == 6);
    cr_expect(skn_rules_mark(a, "c").line == a->mark.line);
    cr_expect(skn_rules_mark(a, "c").column == a->mark.column);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
}
