/* config_print.c - prints the parts of a config that a host asks for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model/settings.h"
#include "topology/plan/cost.h"
#include "topology/run/config_internal.h"

static skn_status_t
print_problems(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    (void)error;
    skn_problems_print(config->problems, file);
    return SKN_OK;
}

static skn_status_t
print_events(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    skn_json_text_t event = { 0 };
    skn_status_t status = SKN_OK;
    for (size_t k = 0; skn_problems_write_event(config->problems, k, &event);
         k++) {
        if (event.failed)
            status = skn_fail(error, SKN_NO_MEMORY, "no memory for an event");
        else
            (void)fprintf(file, "%s\n", event.bytes);
        skn_json_text_fini(&event);
    }
    return status;
}

static skn_status_t
print_model(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    /* It stores each value beside its reason. */
    skn_reasons_t *reasons =
        (skn_reasons_t *)(uintptr_t)&config->run.plan.reasons;
    return skn_model_write_why(skn_config_model(config),
                               config->is_planned ? reasons : NULL, file,
                               error);
}

static skn_status_t
print_settings(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    char *text = skn_settings_text(config->model, error);
    if (!text)
        return SKN_NO_MEMORY;
    (void)fputs(text, file);
    free(text);
    return SKN_OK;
}

/* Comments: what the plan costs, and what the run adds to it. */
static skn_status_t
print_costs(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    const skn_plan_t *plan = &config->run.plan;
    const skn_model_train_t *train = &config->run.model->train;
    bool is_decoder = skn_model_is_decoder(config->run.model);
    (void)skn_text_print(
        file,
        "# %s on %u core%s: %.1f million parameters, about %" PRIu64 " MiB, "
        "%" PRIu64 " %s\n",
        config->model->name, plan->units, plan->units == 1 ? "" : "s",
        (double)plan->parameters * 1e-6, plan->memory_bytes >> 20,
        is_decoder ? plan->total_batches / plan->accumulate
                   : plan->batches_per_epoch,
        is_decoder ? "steps" : "batches per epoch");
    if (plan->offload_bytes > 0)
        (void)fprintf(file,
                      "# adam's moments: %" PRIu64 " MiB more, in an unnamed "
                      "file in %s\n",
                      plan->offload_bytes >> 20,
                      skn_plan_offload_path(plan->model, config->run_path));
    if (train->ranker_trees > 0)
        (void)fprintf(file,
                      "# without the ranker (%lld tree%s), which `skein "
                      "train` grows at the end\n",
                      (long long)train->ranker_trees,
                      train->ranker_trees > 1 ? "s" : "");
    if (train->ensemble > 1)
        (void)fprintf(file,
                      "# one of %lld networks, which `skein train` trains "
                      "one after the other and joins\n",
                      (long long)train->ensemble);
    return skn_cost_print(plan, file, error);
}

static skn_status_t
print_topology(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    skn_status_t status =
        config->is_planned ? print_costs(config, file, error) : SKN_OK;
    return status == SKN_OK
               ? skn_spec_print(skn_config_spec(config), file, error)
               : status;
}

static skn_status_t
print_graph(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    return skn_spec_text(skn_config_spec(config), file, error);
}

static skn_status_t
print_dot(const skn_config_t *config, FILE *file, skn_error_t *error)
{
    return skn_spec_dot(skn_config_spec(config), file, error);
}

/* What a part is printed from. */
typedef enum source {
    FROM_PROBLEMS,
    FROM_MODEL,
    FROM_TOPOLOGY
} source_t;

static const struct {
    source_t source;
    skn_status_t (*print)(const skn_config_t *config, FILE *file,
                          skn_error_t *error);
} parts[] = {
    [SKN_CONFIG_PROBLEMS] = { FROM_PROBLEMS, print_problems },
    [SKN_CONFIG_PROBLEM_EVENTS] = { FROM_PROBLEMS, print_events },
    [SKN_CONFIG_MODEL] = { FROM_MODEL, print_model },
    [SKN_CONFIG_SETTINGS] = { FROM_MODEL, print_settings },
    [SKN_CONFIG_TOPOLOGY] = { FROM_TOPOLOGY, print_topology },
    [SKN_CONFIG_GRAPH] = { FROM_TOPOLOGY, print_graph },
    [SKN_CONFIG_DOT] = { FROM_TOPOLOGY, print_dot },
};

static skn_status_t
check_source(const skn_config_t *config, source_t source, skn_error_t *error)
{
    if (source == FROM_PROBLEMS)
        return SKN_OK;
    if (skn_config_refusal(config, error) != SKN_OK)
        return skn_config_refusal(config, NULL);
    if (source == FROM_MODEL && !config->model)
        return skn_fail(error, SKN_USAGE,
                        "%s is a topology, which has no model to print",
                        config->name);
    if (source == FROM_TOPOLOGY && config->is_taken)
        return skn_fail(error, SKN_USAGE,
                        "skn_config_print: the topology of %s was taken",
                        config->name);
    if (source == FROM_TOPOLOGY && !skn_config_spec(config))
        return skn_fail(error, SKN_USAGE,
                        "skn_config_print: %s is a model, and not yet planned",
                        config->name);
    return SKN_OK;
}

skn_status_t
skn_config_print(skn_config_t *config, skn_config_part_t part, FILE *file,
                 skn_error_t *error)
{
    if (!config || !file)
        return skn_fail(error, SKN_USAGE, "skn_config_print: the %s is NULL",
                        config ? "file" : "config");
    if ((size_t)part >= sizeof(parts) / sizeof(parts[0]))
        return skn_fail(error, SKN_USAGE,
                        "skn_config_print: there is no part %d", (int)part);
    skn_status_t status = check_source(config, parts[part].source, error);
    if (status == SKN_OK)
        status = parts[part].print(config, file, error);
    if (status == SKN_OK && (fflush(file) != 0 || ferror(file)))
        status = skn_fail(error, SKN_STORAGE, "writing a part of %s: %s",
                          config->name, strerror(errno));
    return status;
}
