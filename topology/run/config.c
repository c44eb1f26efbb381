/* config.c - reads a model or topology file for a host, and plans it.
 *
 * This file owns: the config's memory, its problems, and the topology until a
 * host takes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "topology/model/model_text.h"
#include "topology/run/config_internal.h"
#include "topology/run/run_config.h"
#include "topology/run/trained.h"

const skn_model_t *
skn_config_model(const skn_config_t *config)
{
    return config->is_planned ? &config->run.whole : config->model;
}

const skn_spec_t *
skn_config_spec(const skn_config_t *config)
{
    return config->run.topology ? skn_topology_spec(config->run.topology)
                                : config->spec;
}

skn_status_t
skn_config_refusal(const skn_config_t *config, skn_error_t *error)
{
    return skn_problems_error(config->problems, error);
}

/* Adds a failure that has no place in the file. */
static void
add_failure(skn_config_t *config, const skn_error_t *error)
{
    (void)skn_problems_fail(config->problems, error->status, "%s", error->text);
    if (error->hint[0])
        (void)skn_problems_hint(config->problems, "%s", error->hint);
}

/* --- reading -------------------------------------------------------------- */

/* Recognises the sort of the document by its keys, and checks it. */
static skn_status_t
check_document(skn_config_t *config, skn_document_t **document,
               skn_error_t *error)
{
    skn_config_sort_t sort = config->options.sort;
    for (uint32_t k = 0; k < config->options.override_count; k++)
        (void)skn_document_set(*document, config->options.overrides[k],
                               config->problems);
    if (sort == SKN_CONFIG_IS_TOPOLOGY ||
        (sort != SKN_CONFIG_IS_MODEL &&
         skn_node_get(skn_document_root(*document), "topology"))) {
        config->spec = skn_spec_load(document, skn_kinds, config->problems);
        return SKN_OK;
    }
    skn_status_t status =
        skn_model_check(*document, &config->model, config->problems, error);
    if (status == SKN_OK && config->options.plugins)
        skn_spec_try_plugins(*document, skn_kinds, config->problems);
    return status;
}

/* Reads the file, and what it is called. */
static skn_status_t
read_text(skn_config_t *config, skn_error_t *error)
{
    char *name = NULL;
    config->text = skn_model_text(config->name, &name, &config->text_bytes,
                                  config->problems);
    if (!name)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a config");
    free(config->name);
    config->name = name;
    return SKN_OK;
}

static skn_status_t
read_config(skn_config_t *config, skn_error_t *error)
{
    const skn_config_options_t *how = &config->options;
    skn_status_t status = SKN_OK;
    if (config->is_folder)
        return skn_run_config_read(config->name, how->overrides,
                                   how->override_count, &config->model,
                                   config->problems, error);
    if (!config->text && (status = read_text(config, error)) != SKN_OK)
        return status;
    skn_document_t *document =
        config->text ? skn_document_parse(config->text, config->text_bytes,
                                          config->name, config->problems)
                     : NULL;
    if (document)
        status = check_document(config, &document, error);
    skn_document_destroy(&document);
    return status;
}

/* Finds the option `node` among the nodes. */
static void
find_node(skn_config_t *config)
{
    const skn_config_info_t *info = &config->info;
    const char *name = config->options.node;
    uint32_t node = 0;
    skn_error_t error = { 0 };
    while (name && node < info->node_count &&
           strcmp(info->nodes[node], name) != 0)
        node++;
    config->info.node = node;
    if (!name || node < info->node_count)
        return;
    config->info.node = 0;
    (void)skn_fail(&error, SKN_USAGE, "%s has no node '%.64s'", info->source,
                   name);
    if (info->node_count > 0)
        (void)skn_fail_hint(&error, SKN_USAGE,
                            "its nodes are listed under nodes:, such as %s",
                            info->nodes[0]);
    add_failure(config, &error);
}

/* A failure that is no fault of the file becomes a problem, too: a host looks
 * at one place. */
static void
take_failure(skn_config_t *config, skn_status_t status,
             const skn_error_t *error)
{
    if (status != SKN_OK && skn_problems_count(config->problems) == 0)
        add_failure(config, error);
}

static void
read_all(skn_config_t *config)
{
    skn_error_t error = { 0 };
    take_failure(config, read_config(config, &error), &error);
    if (skn_problems_count(config->problems) > 0) {
        skn_model_destroy(&config->model);
        skn_spec_destroy(&config->spec);
    }
    skn_config_describe(config);
    if (skn_problems_count(config->problems) == 0) {
        find_node(config);
        skn_config_warn(config);
    }
}

/* --- new and destroy ------------------------------------------------------ */

static skn_status_t
check_options(const skn_config_options_t *options, skn_error_t *error)
{
    if (options->struct_bytes != sizeof(*options))
        return skn_fail(error, SKN_USAGE,
                        "struct_bytes of the config's options is %u, and must "
                        "be %zu",
                        options->struct_bytes, sizeof(*options));
    for (uint32_t k = 0; k < options->override_count; k++)
        if (!options->overrides || !options->overrides[k])
            return skn_fail(error, SKN_USAGE, "override %u is NULL", k);
    return SKN_OK;
}

static bool
own_options(skn_config_t *config, const skn_config_options_t *options)
{
    skn_config_options_t *how = &config->options;
    const char **overrides =
        calloc((size_t)options->override_count + 1, sizeof(*overrides));
    *how = *options;
    how->overrides = overrides;
    how->node =
        options->node && options->node[0] ? strdup(options->node) : NULL;
    bool is_good =
        overrides && !how->node == !(options->node && options->node[0]);
    for (uint32_t k = 0; is_good && k < how->override_count; k++) {
        overrides[k] = strdup(options->overrides[k]);
        is_good = overrides[k] != NULL;
    }
    return is_good;
}

/* `yaml` is NULL for a file or a run folder. */
static skn_config_t *
make(const char *yaml, const char *name, const skn_config_options_t *options,
     skn_error_t *error)
{
    const skn_config_options_t none = { .struct_bytes = sizeof(none) };
    if (!options)
        options = &none;
    if (check_options(options, error) != SKN_OK)
        return NULL;
    skn_config_t *config = calloc(1, sizeof(*config));
    if (config) {
        config->name = strdup(name);
        config->text = yaml ? strdup(yaml) : NULL;
        config->text_bytes = yaml ? strlen(yaml) : 0;
        config->problems = skn_problems_new(error);
    }
    if (!config || !config->name || !config->problems ||
        (yaml && !config->text) || !own_options(config, options)) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a config");
        skn_config_destroy(&config);
        return NULL;
    }
    config->is_folder = !yaml && skn_run_config_is_folder(name);
    read_all(config);
    return config;
}

skn_config_t *
skn_config_new(const char *yaml, const char *name,
               const skn_config_options_t *options, skn_error_t *error)
{
    if (yaml)
        return make(yaml, name ? name : "config", options, error);
    skn_fail(error, SKN_USAGE, "skn_config_new: the text is NULL");
    return NULL;
}

skn_config_t *
skn_config_load(const char *path, const skn_config_options_t *options,
                skn_error_t *error)
{
    char latest[SKN_TEXT_MAX];
    if (path)
        return make(NULL, skn_trained_path(path, latest), options, error);
    skn_fail(error, SKN_USAGE, "skn_config_load: the path is NULL");
    return NULL;
}

void
skn_config_destroy(skn_config_t **config)
{
    skn_config_t *old = config ? *config : NULL;
    int saved = errno;
    if (!old)
        return;
    *config = NULL;
    skn_document_destroy(&old->values);
    skn_model_run_close(&old->run);
    skn_model_destroy(&old->model);
    skn_spec_destroy(&old->spec);
    skn_problems_destroy(&old->problems);
    for (uint32_t k = 0;
         old->options.overrides && k < old->options.override_count; k++)
        free((char *)(uintptr_t)old->options.overrides[k]);
    free((void *)(uintptr_t)old->options.overrides);
    free((char *)(uintptr_t)old->options.node);
    free(old->warnings);
    free(old->name);
    free(old->text);
    free(old);
    errno = saved;
}

/* --- the plan ------------------------------------------------------------- */

/* If the training file is refused, the test file is still checked, so that the
 * faults of both are known. */
static void
look_at_test(skn_config_t *config, const skn_error_t *first)
{
    skn_error_t error = { 0 };
    if (first->status != SKN_BAD_DATA && first->status != SKN_NO_INPUT)
        return;
    if (skn_plan_look(config->model, config->model->data.test, &error) !=
            SKN_OK &&
        strcmp(error.text, first->text) != 0)
        add_failure(config, &error);
}

static skn_status_t
plan(skn_config_t *config, skn_error_t *error)
{
    const skn_config_options_t *how = &config->options;
    const char *name = config->name;
    const skn_model_run_options_t options = {
        .path = name,
        .text = config->text,
        .text_bytes = config->text_bytes,
        .from_run = config->is_folder,
        .overrides = how->overrides,
        .override_count = how->override_count,
        .node = how->node,
        .run_path = config->run_path,
        .run_id = config->run_id,
        .whole_paths = true,
    };
    return skn_model_run_open(&config->run, &options, config->problems, error);
}

skn_status_t
skn_config_plan(skn_config_t *config, skn_error_t *error)
{
    skn_error_t failure = { 0 };
    if (!config)
        return skn_fail(error, SKN_USAGE,
                        "skn_config_plan: the config is NULL");
    if (skn_config_refusal(config, error) != SKN_OK)
        return skn_problems_error(config->problems, NULL);
    if (config->spec || config->is_planned || config->is_taken)
        return SKN_OK;
    skn_status_t status = plan(config, &failure);
    config->data = config->run.plan.data;
    config->has_data = config->data.train_points > 0;
    config->is_planned = status == SKN_OK;
    if (status != SKN_OK) {
        take_failure(config, status, &failure);
        skn_model_run_close(&config->run);
        memset(&config->run, 0, sizeof(config->run));
        if (!config->has_data)
            look_at_test(config, &failure);
    }
    skn_document_destroy(&config->values);
    skn_config_describe(config);
    skn_config_warn(config);
    return skn_config_refusal(config, error);
}

skn_topology_t *
skn_config_topology(skn_config_t *config, skn_error_t *error)
{
    skn_topology_t *topology = NULL;
    if (!config) {
        skn_fail(error, SKN_USAGE, "skn_config_topology: the config is NULL");
        return NULL;
    }
    if (skn_config_refusal(config, error) != SKN_OK)
        return NULL;
    if (config->is_taken || (!config->spec && !config->run.topology)) {
        skn_fail(error, SKN_USAGE, "skn_config_topology: %s",
                 config->is_taken ? "the topology was taken before"
                                  : "the config is not planned");
        return NULL;
    }
    config->is_taken = true;
    topology = config->spec ? skn_topology_of(&config->spec, error)
                            : config->run.topology;
    config->run.topology = NULL;
    skn_config_describe(config);
    skn_config_warn(config);
    return topology;
}

char *
skn_config_override(const char *key, const char *value, skn_error_t *error)
{
    if (key && value)
        return skn_override_of(key, value, error);
    skn_fail(error, SKN_USAGE, "skn_config_override: the %s is NULL",
             key ? "value" : "key");
    return NULL;
}
