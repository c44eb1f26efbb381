/* test_json_schema.c - tests that the JSON Schema is valid, and has every key.
 *
 * The oracle is a small validator for the keywords of JSON Schema that are
 * printed; it takes a YAML tree and reads scalars like YAML.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "topology/config/document.h"
#include "topology/model/model_tables.h"
#include "topology/model/reference.h"

#ifndef SKN_CONFIGS
#define SKN_CONFIGS "configs"
#endif

static json_t *
load_schema(void)
{
    char *text = NULL;
    size_t text_bytes = 0;
    skn_error_t error = { 0 };
    json_error_t where;
    FILE *file = open_memstream(&text, &text_bytes);
    cr_assert(file);
    cr_assert(skn_json_schema_print(file, &error) == SKN_OK, "%s", error.text);
    cr_assert(fclose(file) == 0);
    json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    cr_assert(schema, "%d:%d: %s", where.line, where.column, where.text);
    free(text);
    return schema;
}

static bool is_valid(const json_t *schema, const skn_node_t *node);

static bool
is_number(const skn_node_t *node, bool whole, double *number)
{
    char *end = NULL;
    if (node->type != SKN_NODE_SCALAR || node->quoted || !node->text[0])
        return false;
    *number = skn_text_real(node->text, &end);
    if (*end != '\0')
        return false;
    return !whole || strspn(node->text, "-0123456789") == strlen(node->text);
}

static bool
is_type(const char *type, const skn_node_t *node)
{
    double number = 0.0;
    bool is_truth =
        node->type == SKN_NODE_SCALAR &&
        (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0);
    if (strcmp(type, "object") == 0)
        return node->type == SKN_NODE_MAPPING;
    if (strcmp(type, "array") == 0)
        return node->type == SKN_NODE_LIST;
    if (strcmp(type, "boolean") == 0)
        return is_truth;
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return is_number(node, type[0] == 'i', &number);
    cr_assert_str_eq(type, "string");
    return node->type == SKN_NODE_SCALAR &&
           (node->quoted || (!is_truth && !is_number(node, false, &number)));
}

static bool
is_valid_object(const json_t *schema, const skn_node_t *node)
{
    const json_t *known = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    for (const skn_node_t *item = node->first; item; item = item->next) {
        const json_t *property = json_object_get(known, item->key);
        if (known && (!property || !is_valid(property, item)))
            return false;
    }
    for (size_t k = 0; k < json_array_size(required); k++)
        if (!skn_node_get(node, json_string_value(json_array_get(required, k))))
            return false;
    return true;
}

static bool
is_valid_list(const json_t *schema, const skn_node_t *node)
{
    const json_t *min = json_object_get(schema, "minItems");
    if (min && node->count < json_integer_value(min))
        return false;
    for (const skn_node_t *item = node->first; item; item = item->next)
        if (!is_valid(json_object_get(schema, "items"), item))
            return false;
    return true;
}

static bool
is_valid_scalar(const json_t *schema, const skn_node_t *node)
{
    const json_t *word = json_object_get(schema, "const");
    const json_t *words = json_object_get(schema, "enum");
    const json_t *min = json_object_get(schema, "minimum");
    const json_t *pattern = json_object_get(schema, "pattern");
    double number = 0.0;
    bool found = !words;
    if (word && strcmp(json_string_value(word), node->text) != 0)
        return false;
    for (size_t k = 0; k < json_array_size(words); k++)
        found |= strcmp(json_string_value(json_array_get(words, k)),
                        node->text) == 0;
    if (min && is_number(node, false, &number) &&
        (number < json_number_value(min) ||
         (json_object_get(schema, "maximum") &&
          number > json_number_value(json_object_get(schema, "maximum")))))
        return false;
    if (pattern) {
        regex_t regex;
        cr_assert(regcomp(&regex, json_string_value(pattern),
                          REG_EXTENDED | REG_NOSUB) == 0);
        found &= regexec(&regex, node->text, 0, NULL, 0) == 0;
        regfree(&regex);
    }
    return found;
}

/* Whether the node has the type, or one of several. */
static bool
is_one_of(const json_t *type, const skn_node_t *node)
{
    bool is_one =
        json_is_string(type) && is_type(json_string_value(type), node);
    for (size_t k = 0; k < json_array_size(type); k++)
        is_one |= is_type(json_string_value(json_array_get(type, k)), node);
    return is_one;
}

static bool
is_valid(const json_t *schema, const skn_node_t *node)
{
    const json_t *type = json_object_get(schema, "type");
    const json_t *any = json_object_get(schema, "anyOf");
    bool found = !any;
    for (size_t k = 0; k < json_array_size(any); k++)
        found |= is_valid(json_array_get(any, k), node);
    if (!found || (type && !is_one_of(type, node)))
        return false;
    if (node->type == SKN_NODE_MAPPING)
        return is_valid_object(schema, node);
    if (node->type == SKN_NODE_LIST && json_object_get(schema, "const"))
        return false;
    if (node->type == SKN_NODE_LIST)
        return is_valid_list(schema, node);
    return is_valid_scalar(schema, node);
}

static bool
file_is_valid(const json_t *schema, const char *path, const char *assignment)
{
    skn_error_t error = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    cr_assert(problems);
    skn_document_t *document = skn_document_load(path, problems);
    cr_assert(document, "%s: %s", path, skn_problems_text(problems, 0));
    if (assignment)
        cr_assert(skn_document_set(document, assignment, problems) == SKN_OK,
                  "%s", skn_problems_text(problems, 0));
    bool valid = is_valid(schema, skn_document_root(document));
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return valid;
}

Test(json_schema, every_file_of_configs_is_valid)
{
    static const char *const paths[] = {
        SKN_CONFIGS "/sample.yaml",         SKN_CONFIGS "/xmc.yaml",
        SKN_CONFIGS "/wnhyp.yaml",          SKN_CONFIGS "/wnrel.yaml",
        SKN_CONFIGS "/sample_decoder.yaml", SKN_CONFIGS "/gpt-small.yaml"
    };
    json_t *schema = load_schema();
    for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++)
        cr_expect(file_is_valid(schema, paths[k], NULL), "%s", paths[k]);
    json_decref(schema);
}

Test(json_schema, what_the_reader_refuses_is_not_valid)
{
    static const char *const assignments[] = {
        "trian.window=1",
        "train.window=0",
        "train.window=65",
        "train.window=many",
        "train.window=1.5",
        "train.order=loose",
        "train.validate=0.51",
        "train.optimizer.kind=adma",
        "data.memory=1GB",
        "data.memory=1.5GiB",
        "data.cache=[a]",
        "model.layers=[]",
        "model.layers.hidden.units=65537",
        "model.layers.hidden.loss=softmax",
        "model.layers.output.dropout=0.5",
        "model.layers.output.sampler.of=[{kind: uniform}]",
        "resources.huge_pages=maybe",
        "resources.cores=0",
        "resources.cores=[]",
        "resources.cores=[one]",
        "plugins=a.so",
        "nodes=[{ address: a }]",
        "nodes=[{ name: a, core: 1 }]",
        "nodes=[{ name: a, cores: a-b }]",
        "links.coding=int7",
        "links.rate=10",
        "idle.share=2",
        "idle.notice={ files: x }",
        "skein=2",
    };
    json_t *schema = load_schema();
    for (size_t k = 0; k < sizeof(assignments) / sizeof(assignments[0]); k++)
        cr_expect_not(
            file_is_valid(schema, SKN_CONFIGS "/sample.yaml", assignments[k]),
            "%s", assignments[k]);
    json_decref(schema);
}

Test(json_schema, what_the_reader_takes_is_valid)
{
    static const char *const assignments[] = {
        "train.window=64",      "train.validate=0.5",
        "data.memory=2TiB",     "data.memory=4096",
        "data.cache=none",      "resources.memory=8GiB",
        "resources.cores=4",    "resources.cores=[0, 2]",
        "plugins=[a.so, b.so]", "model.layers.output.sampler={kind: exact}",
        "resources.cores=0-3",  "nodes=[{ name: a }, { name: b, cores: 2 }]",
        "links.coding=int8",    "nodes=[{ name: a, key: k, memory: 1GiB }]",
        "links.rate=1e8",       "idle={ enabled: true, notice: { file: x } }",
    };
    json_t *schema = load_schema();
    for (size_t k = 0; k < sizeof(assignments) / sizeof(assignments[0]); k++)
        cr_expect(
            file_is_valid(schema, SKN_CONFIGS "/sample.yaml", assignments[k]),
            "%s", assignments[k]);
    json_decref(schema);
}

Test(json_schema, it_names_its_draft_and_closes_every_object)
{
    json_t *schema = load_schema();
    cr_expect_str_eq(json_string_value(json_object_get(schema, "$schema")),
                     "https://json-schema.org/draft/2020-12/schema");
    const json_t *train =
        json_object_get(json_object_get(schema, "properties"), "train");
    cr_expect(json_is_false(json_object_get(schema, "additionalProperties")));
    cr_expect(json_is_false(json_object_get(train, "additionalProperties")));
    json_decref(schema);
}

Test(json_schema, defaults_have_the_type_of_their_key)
{
    json_t *schema = load_schema();
    const json_t *train = json_object_get(
        json_object_get(json_object_get(schema, "properties"), "train"),
        "properties");
#define DEFAULT(key) json_object_get(json_object_get(train, key), "default")
    cr_expect(json_integer_value(DEFAULT("seed")) == 1);
    cr_expect_str_eq(json_string_value(DEFAULT("window")), "auto");
    cr_expect_str_eq(json_string_value(DEFAULT("order")), "fixed");
    cr_expect(json_is_number(DEFAULT("validate")));
#undef DEFAULT
    json_decref(schema);
}

Test(json_schema, a_full_disk_is_reported)
{
    skn_error_t error = { 0 };
    FILE *file = fopen("/dev/full", "w");
    cr_assert(file);
    cr_expect(skn_json_schema_print(file, &error) == SKN_STORAGE);
    cr_expect_str_eq(error.text, "writing the schema: No space left on device");
    (void)fclose(file);
}
