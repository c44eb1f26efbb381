/* config_facts.c - describes a config to a host: its problems and warnings, its
 * counts and its values.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topology/run/config_internal.h"

#define PORT_KIND "port"

/* --- problems and warnings ------------------------------------------------ */

static const skn_config_problem_t *
lend(skn_config_t *config, skn_status_t status, const char *text,
     const char *hint)
{
    config->lent = (skn_config_problem_t){
        .struct_bytes = sizeof(config->lent),
        .status = status,
        .text = text,
        .hint = hint,
        .file = config->lent_file,
    };
    config->lent_file[0] = '\0';
    return &config->lent;
}

/* Moves the place of the lent problem from its text to its fields. */
static void
add_place(skn_config_t *config, const char *file, size_t file_bytes,
          uint32_t line, uint32_t column)
{
    char place[32];
    (void)snprintf(config->lent_file, sizeof(config->lent_file), "%.*s",
                   (int)file_bytes, file);
    (void)snprintf(place, sizeof(place), ":%u:%u: ", line, column);
    const char *before = strstr(config->lent.text, place);
    if (before)
        config->lent.text = before + strlen(place);
    config->lent.line = line;
    config->lent.column = column;
}

const skn_config_problem_t *
skn_config_problem(skn_config_t *config, size_t index)
{
    skn_error_t error = { 0 };
    size_t file_bytes = 0;
    uint32_t line = 0, column = 0;
    const char *text =
        config ? skn_problems_text(config->problems, index) : NULL;
    if (!text)
        return NULL;
    skn_status_t status = skn_problems_get(config->problems, index, &error);
    (void)lend(config, status, text,
               skn_problems_hint_text(config->problems, index));
    if (skn_problems_place(config->problems, index, &file_bytes, &line,
                           &column))
        add_place(config, text, file_bytes, line, column);
    return &config->lent;
}

const skn_config_problem_t *
skn_config_warning(skn_config_t *config, size_t index)
{
    if (!config || index >= config->warning_count)
        return NULL;
    const config_warning_t *warning = &config->warnings[index];
    (void)lend(config, SKN_OK, warning->text, warning->hint);
    if (warning->place.line > 0)
        add_place(config, warning->place.origin, strlen(warning->place.origin),
                  warning->place.line, warning->place.column);
    return &config->lent;
}

/* --- counts --------------------------------------------------------------- */

static void
describe_model(skn_config_t *config, const skn_model_t *model)
{
    skn_config_info_t *info = &config->info;
    info->sort = SKN_CONFIG_IS_MODEL;
    info->name = model->name;
    info->source = model->source;
    info->node_count = (uint32_t)model->node_count;
    for (uint32_t k = 0; k < info->node_count; k++)
        config->nodes[k] = model->nodes[k].name;
    info->layer_count = skn_model_is_decoder(model)
                            ? (uint32_t)model->decoder.layers
                            : (uint32_t)model->layer_count;
    info->cores = skn_model_cores_count(&model->resources.cores);
    info->keeps_parts = skn_model_copies_parts(model);
}

static void
describe_wiring(skn_config_t *config, const skn_wiring_t *wiring)
{
    skn_config_info_t *info = &config->info;
    info->actor_count = wiring->actor_count;
    info->pipe_count = wiring->pipe_count;
    for (uint32_t k = 0; k < wiring->actor_count && !info->port[0]; k++)
        if (strcmp(wiring->actors[k].kind->name, PORT_KIND) == 0)
            info->port = wiring->actors[k].name;
}

static void
describe_topology(skn_config_t *config, const skn_wiring_t *wiring)
{
    skn_config_info_t *info = &config->info;
    info->sort = SKN_CONFIG_IS_TOPOLOGY;
    info->name = wiring->name;
    info->node_count = wiring->node_count;
    for (uint32_t k = 0; k < info->node_count; k++)
        config->nodes[k] = wiring->nodes[k].name;
    describe_wiring(config, wiring);
}

static void
describe_data(skn_config_info_t *info, const skn_plan_data_t *data)
{
    info->has_data = true;
    info->train_points = data->train_points;
    info->validate_points = data->validate_points;
    info->test_points = data->test_points;
    info->features = data->features;
    info->labels = data->labels;
}

static void
describe_plan(skn_config_t *config, const skn_plan_t *plan)
{
    skn_config_info_t *info = &config->info;
    info->is_planned = true;
    info->units = plan->units;
    info->parameters = plan->parameters;
    info->batches_per_epoch = plan->batches_per_epoch;
    info->memory_bytes = plan->memory_bytes;
    if (!config->is_taken)
        describe_wiring(config, skn_spec_wiring(skn_config_spec(config)));
}

void
skn_config_describe(skn_config_t *config)
{
    config->info = (skn_config_info_t){
        .struct_bytes = sizeof(config->info),
        .name = "",
        .source = config->name,
        .nodes = config->nodes,
        .node = config->info.node,
        .port = "",
    };
    if (config->model)
        describe_model(config, config->model);
    else if (config->spec)
        describe_topology(config, skn_spec_wiring(config->spec));
    if (config->has_data)
        describe_data(&config->info, &config->data);
    if (config->is_planned)
        describe_plan(config, &config->run.plan);
}

skn_status_t
skn_config_info(skn_config_t *config, skn_config_info_t *info,
                skn_error_t *error)
{
    if (!config || !info)
        return skn_fail(error, SKN_USAGE, "skn_config_info: the %s is NULL",
                        config ? "info" : "config");
    if (info->struct_bytes != sizeof(*info))
        return skn_fail(error, SKN_USAGE,
                        "skn_config_info: struct_bytes is %u, and must be %zu",
                        info->struct_bytes, sizeof(*info));
    *info = config->info;
    return SKN_OK;
}

/* --- values --------------------------------------------------------------- */

/* The child under the first name of *path, which moves behind it: a key of a
 * mapping, or the name of a list's item. */
static const skn_node_t *
enter(const skn_node_t *node, const char **path)
{
    for (const skn_node_t *child = node->first; child; child = child->next) {
        const skn_node_t *item = skn_node_get(child, "name");
        const char *name = child->key ? child->key : item ? item->text : NULL;
        size_t bytes = name ? strlen(name) : 0;
        if (bytes == 0 || strncmp(*path, name, bytes) != 0 ||
            ((*path)[bytes] != '.' && (*path)[bytes] != '\0'))
            continue;
        *path += bytes + ((*path)[bytes] == '.');
        return child;
    }
    return NULL;
}

const char *
skn_config_value(skn_config_t *config, const char *key)
{
    const skn_model_t *model = config ? skn_config_model(config) : NULL;
    if (!model || !key)
        return NULL;
    if (!config->values)
        config->values = skn_model_document(model, NULL, NULL);
    const skn_node_t *node =
        config->values ? skn_document_root(config->values) : NULL;
    while (node && *key)
        node = enter(node, &key);
    return node && node->type == SKN_NODE_SCALAR ? node->text : NULL;
}
