/* config_warnings.c - what a config asks of this machine that it lacks, and
 * what is odd in its data.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "formats/source/files.h"
#include "topology/run/config_internal.h"
#include "topology/run/shortfall.h"

/* A skn_shortfall_tell_t. */
static void
add(const void *state, const skn_model_place_t *place, const char *message,
    const char *hint)
{
    skn_config_t *config = (skn_config_t *)(uintptr_t)state;
    config_warning_t *grown = reallocarray(
        config->warnings, config->warning_count + 1, sizeof(*grown));
    if (!grown) {
        (void)skn_problems_fail(config->problems, SKN_NO_MEMORY,
                                "no memory for a warning");
        return;
    }
    config->warnings = grown;
    config_warning_t *warning = &grown[config->warning_count++];
    (void)snprintf(warning->text, sizeof(warning->text), "%s", message);
    (void)snprintf(warning->hint, sizeof(warning->hint), "%s", hint);
    warning->place =
        place ? *place : (skn_model_place_t){ .origin = "", .line = 0 };
}

/* Warns of a path that does not exist: the file is valid, but the path may
 * still have to be created. */
static void
look_for(skn_config_t *config, const char *key, const char *path)
{
    char text[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_HINT_BYTES];
    skn_files_t files = { 0 };
    size_t k = 0;
    skn_error_t error = { 0 };
    bool is_listed = path[0] && skn_files_init(&files, path, &error) == SKN_OK;
    while (k < files.count && access(files.path[k], R_OK) == 0)
        k++;
    bool is_good = is_listed && k == files.count;
    (void)snprintf(text, sizeof(text), "%s: %.400s cannot be read", key,
                   k < files.count ? files.path[k] : path);
    skn_files_fini(&files);
    if (error.status == SKN_NO_MEMORY)
        (void)skn_problems_fail(config->problems, SKN_NO_MEMORY, "%s",
                                error.text);
    if (!path[0] || is_good || error.status == SKN_NO_MEMORY)
        return;
    (void)snprintf(hint, sizeof(hint), "set %s=PATH", key);
    add(config, NULL, text, hint);
}

/* Warns of a run on several machines that has no folder: `skein up` chooses
 * one, but the file is valid for processes that cannot. */
static void
look_for_folder(skn_config_t *config)
{
    const skn_model_t *model = config->model;
    if (model->coordinator.address[0] && !model->checkpoint.path[0])
        add(config, NULL,
            "checkpoint.path is not set, which `skein coordinator` and "
            "`skein member` need",
            "set checkpoint.path=FOLDER");
}

static void
warn_model(skn_config_t *config)
{
    const skn_plan_t *plan = &config->run.plan;
    bool is_node = config->options.node != NULL;
    bool is_process = is_node || config->options.starts;
    uint32_t node = config->info.node;
    if (!config->has_data && skn_problems_count(config->problems) == 0) {
        look_for(config, "data.train", config->model->data.train);
        look_for(config, "data.test", config->model->data.test);
    }
    look_for_folder(config);
    skn_shortfall_model(config->model, is_process ? node : SKN_SHORTFALL_NOBODY,
                        add, config);
    if (config->is_planned && plan->node_count == 0)
        skn_shortfall_quota("", plan->units, SKN_SHORTFALL_CORES, add, config);
    else if (config->is_planned && is_node)
        skn_shortfall_quota("", plan->nodes[node].units, SKN_SHORTFALL_NODE,
                            add, config);
    for (uint32_t k = 0; k < config->data.note_count; k++)
        add(config, NULL, config->data.note[k].text, config->data.note[k].hint);
}

static void
warn_topology(skn_config_t *config)
{
    const skn_wiring_t *wiring = skn_spec_wiring(config->spec);
    if (!config->options.starts)
        skn_shortfall_spec(config->spec, add, config);
    if (wiring->node_count > 0 && !config->options.node)
        return;
    skn_shortfall_quota(
        "", skn_shortfall_units(wiring, config->info.node),
        "put the actors of the file on as many cores as that, at most ", add,
        config);
}

void
skn_config_warn(skn_config_t *config)
{
    config->warning_count = 0;
    if (config->model)
        warn_model(config);
    else if (config->spec)
        warn_topology(config);
}
