/* test_reasons.c - tests that each value that `auto` chose has a reason, and no
 * other has. Covers topology/model/reasons.c, topology/plan/plan_auto.c,
 * topology/plan/plan_auto_layers.c, topology/plan/plan_auto_formats.c,
 * topology/plan/traits.c, topology/training/chosen.c and
 * cli/base/auto_report.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/auto_report.h"
#include "tests/support/model_fixture.h"
#include "tests/support/temp_folder.h"
#include "topology/training/chosen.h"
#include "topology/plan/plan.h"

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];

static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/t.txt", folder);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(reasons, .init = set_up, .fini = tear_down, .timeout = 120);

static void
write_data(uint32_t points, uint32_t features, uint32_t labels, uint32_t step)
{
    FILE *out = fopen(file, "w");
    cr_assert(out);
    (void)fprintf(out, "%u %u %u\n", points, features, labels);
    for (uint32_t k = 0; k < points; k++)
        (void)fprintf(out, "%u %u:1\n", k * step % labels, k % features);
    cr_assert_eq(fclose(out), 0);
}

static skn_document_t *
document_of(const skn_model_t *model)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t error = { 0 };
    FILE *out = open_memstream(&text, &bytes);
    cr_assert(out);
    cr_assert_eq(skn_model_write(model, out, &error), SKN_OK, "%s", error.text);
    cr_assert_eq(fclose(out), 0);
    skn_problems_t *problems = skn_problems_new(&error);
    skn_document_t *document =
        skn_document_parse(text, bytes, "model", problems);
    cr_assert(document);
    skn_problems_destroy(&problems);
    free(text);
    return document;
}

/* The item of `list` that stands for `item` of another one. */
static const skn_node_t *
same_item(const skn_node_t *list, const skn_node_t *item, size_t at)
{
    const skn_node_t *name = skn_node_get(item, "name");
    for (const skn_node_t *one = list ? list->first : NULL; one;
         one = one->next, at--)
        if (name ? strcmp(skn_node_get(one, "name")->text, name->text) == 0
                 : at == 0)
            return one;
    return NULL;
}

typedef struct walk {
    skn_reasons_t *reasons;
    size_t chosen;
} walk_t;

static void
compare(walk_t *walk, const char *key, const skn_node_t *before,
        const skn_node_t *after)
{
    char path[512];
    size_t at = 0;
    if (after->type == SKN_NODE_SCALAR) {
        bool was = !before || (before->type == SKN_NODE_SCALAR &&
                               strcmp(before->text, "auto") == 0);
        bool chosen = was && strcmp(after->text, "auto") != 0;
        const skn_reason_t *reason = skn_reasons_find(walk->reasons, key);
        walk->chosen += chosen;
        cr_expect_eq(chosen, reason != NULL, "%s: %s", key,
                     chosen ? "auto chose it, and has no reason"
                            : "has a reason, and auto did not choose it");
        cr_expect(!reason || strcmp(reason->value, after->text) == 0, "%s",
                  key);
        cr_expect(!reason || strlen(skn_reason_why(reason)) > 3, "%s", key);
        return;
    }
    for (const skn_node_t *item = after->first; item; item = item->next, at++) {
        const skn_node_t *name = skn_node_get(item, "name");
        char number[24];
        (void)snprintf(number, sizeof(number), "%zu", at);
        (void)snprintf(path, sizeof(path), "%s%s%s", key, key[0] ? "." : "",
                       item->key ? item->key
                       : name    ? name->text
                                 : number);
        compare(walk, path,
                item->key ? skn_node_get(before, item->key)
                          : same_item(before, item, at),
                item);
    }
}

/* Plans the model with `rest`, and compares. */
static void
expect_reasons(const char *output, const char *rest)
{
    static skn_plan_t plan;
    skn_error_t error = { 0 };
    char text[4096];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
                   "  layers:\n    - { name: hidden }\n    - { name: upper }\n"
                   "    - { name: output%s }\n%s",
                   file, output, rest);
    skn_model_t *model = fixture_good(text);
    skn_document_t *before = document_of(model);
    cr_assert_eq(skn_plan_make(&plan, model, 3, &error), SKN_OK, "%s",
                 error.text);
    cr_assert_eq(skn_model_write_why(model, &plan.reasons, NULL, &error),
                 SKN_OK, "%s", error.text);
    skn_document_t *after = document_of(model);
    walk_t walk = { .reasons = &plan.reasons };
    compare(&walk, "", skn_document_root(before), skn_document_root(after));
    cr_expect_geq(walk.chosen, 10);
    size_t told = 0; /* the others mean nothing beside what was chosen */
    for (size_t k = 0; k < plan.reasons.count; k++)
        told += plan.reasons.at[k].value[0] != '\0';
    cr_expect_eq(walk.chosen, told, "%zu values, %zu reasons", walk.chosen,
                 told);
    skn_document_destroy(&before);
    skn_document_destroy(&after);
    skn_model_destroy(&model);
}

static void
expect_all(void)
{
    static const char *const rest[] = {
        "",
        "train: { epochs: 2 }\n",
        "train: { epochs: 9 }\n",
        "train: { optimizer: { rate: 0.1 }, reduction: fixed }\n",
        "train: { optimizer: { kind: adagrad }, max_batches: 5 }\n",
        "train: { epochs: 1 }\n",
        "train: { validate: 0.2 }\n",
        "train: { schedule: { kind: constant }, updates: copy }\n",
        "nodes:\n"
        "  - { name: a, address: \"tcp://127.0.0.1:7001\", cores: 1 }\n"
        "  - { name: b, address: \"tcp://127.0.0.1:7002\", cores: 1 }\n",
    };
    static const char *const outputs[] = {
        "",
        ", loss: one_vs_all",
        ", sampler: { kind: simhash }",
        ", sampler: { kind: dwta }",
        ", sampler: { kind: uniform }",
    };
    for (size_t k = 0; k < sizeof(rest) / sizeof(rest[0]); k++)
        expect_reasons("", rest[k]);
    for (size_t k = 0; k < sizeof(outputs) / sizeof(outputs[0]); k++)
        expect_reasons(outputs[k], "");
}

Test(reasons, every_choice_has_one_for_few_points)
{
    write_data(1000, 20, 2000, 1);
    expect_all();
}

Test(reasons, and_for_more_points_and_labels)
{
    write_data(6000, 200, 30, 7);
    expect_all();
    write_data(20000, 200, 9000, 7);
    expect_all();
}

Test(reasons, and_for_labels_that_are_names)
{
    write_data(70000, 200, 69000, 1);
    expect_reasons("", "");
    expect_reasons("", "train: { epochs: 2 }\n");
    write_data(70000, 200, 8000, 1);
    expect_reasons("", "");
    expect_reasons("", "train: { epochs: 5 }\n");
}

Test(reasons, a_model_with_comments_is_the_same_model)
{
    static skn_plan_t plan;
    skn_error_t error = { 0 };
    char text[1024], *plain = NULL, *said = NULL;
    size_t bytes = 0;
    write_data(1000, 20, 50, 1);
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
                   "  layers: [{ name: hidden }, { name: output }]\n"
                   "train: { epochs: 3 }\n",
                   file);
    skn_model_t *model = fixture_good(text);
    cr_assert_eq(skn_plan_make(&plan, model, 1, &error), SKN_OK);
    FILE *out = open_memstream(&plain, &bytes);
    cr_assert_eq(skn_model_write(model, out, &error), SKN_OK);
    cr_assert_eq(fclose(out), 0);
    out = open_memstream(&said, &bytes);
    cr_assert_eq(skn_model_write_why(model, &plan.reasons, out, &error),
                 SKN_OK);
    cr_assert_eq(fclose(out), 0);
    cr_expect(strstr(said, "      units: 256  # auto: 1,000 training points "
                           "are fewer than 4,096\n"));
    cr_expect(strstr(said, "    rate: 0.09  # auto: adagrad's usual 0.05, "
                           "times 1.8: 3 epochs in place of 32\n"),
              "%s", said);
    skn_model_t *again = fixture_good(said);
    free(said);
    out = open_memstream(&said, &bytes);
    cr_assert_eq(skn_model_write(again, out, &error), SKN_OK);
    cr_assert_eq(fclose(out), 0);
    cr_expect_str_eq(said, plain);
    free(said);
    free(plain);
    skn_model_destroy(&again);
    skn_model_destroy(&model);
}

Test(reasons, events_have_them_by_key)
{
    static skn_plan_t plan;
    skn_error_t error = { 0 };
    char text[1024], *said = NULL;
    size_t bytes = 0;
    write_data(1000, 20, 50, 1);
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: %s, cache: none }\nmodel:\n"
                   "  layers: [{ name: hidden }, { name: output }]\n"
                   "train: { epochs: 3 }\n",
                   file);
    skn_model_t *model = fixture_good(text);
    cr_assert_eq(skn_plan_make(&plan, model, 1, &error), SKN_OK);
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"auto\"");
    skn_chosen_write(&plan.reasons, model, &event);
    skn_json_text_add(&event, "}");
    json_t *read = skn_json_read(event.bytes);
    const json_t *chosen = json_object_get(read, "auto");
    const json_t *rate = json_object_get(chosen, "train.optimizer.rate");
    cr_expect_eq(json_number_value(json_object_get(rate, "value")), 0.09);
    cr_expect(json_is_string(json_object_get(rate, "reason")));
    cr_expect_null(json_object_get(chosen, "train.epochs"), "it was given");
    FILE *out = open_memstream(&said, &bytes);
    cli_auto_report_print(chosen, out);
    cr_assert_eq(fclose(out), 0);
    cr_expect_eq(strncmp(said, "auto   train.batch_rows=32: ", 28), 0, "%s",
                 said);
    cr_expect(strstr(said, "\n       train.optimizer.rate=0.09: adagrad's"),
              "%s", said);
    cr_expect_null(strstr(said, "shards"));
    free(said);
    json_decref(read);
    skn_json_text_fini(&event);
    skn_model_destroy(&model);
}
