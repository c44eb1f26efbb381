/* verb_recipe.c - skein recipe: prints a script that runs a model on a cluster.
 *
 * A recipe is a text with placeholders for values of the file and the options.
 * tests/e2e/slurm.sh and mpi.sh run the texts of Slurm and mpirun;
 * docs/tasks/slurm.md explains how to use them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/recipes.h"
#include "cli/base/verbs.h"
#include "topology/run/check.h"
#include "topology/config/nearest.h"
#include "topology/config/shell_word.h"

/* The number of nodes without --nodes and without a list in the file: the least
 * that is several. */
#define NODES_DEFAULT 2u

typedef struct recipe {
    const cli_call_t *call;
    const cli_engine_t *engine;
    const skn_model_t *model;
    uint32_t nodes;
} recipe_t;

/* --- values of the placeholders ------------------------------------------- */

static void
print_file(const recipe_t *recipe)
{
    char word[SKN_SHELL_WORD_BYTES];
    (void)fputs(skn_shell_word(recipe->model->source, word), stdout);
}

/* Prints each -o of the call on a separate line of the command. */
static void
print_overrides(const recipe_t *recipe)
{
    const char *overrides[CLI_VALUES_MAX];
    size_t count = cli_overrides(recipe->call, overrides);
    for (size_t k = 0; k < count; k++) {
        (void)fputs("    -o ", stdout);
        skn_shell_quote(overrides[k], stdout);
        (void)fputs(" \\\n", stdout);
    }
}

static void
print_nodes(const recipe_t *recipe)
{
    (void)printf("%u", recipe->nodes);
}

static void
print_last(const recipe_t *recipe)
{
    (void)printf("%u", recipe->nodes - 1);
}

static void
print_cores(const recipe_t *recipe)
{
    const skn_model_cores_t *cores = &recipe->model->resources.cores;
    uint32_t count = skn_model_cores_count(cores);
    (void)printf("%u", count > 0 ? count : 1);
}

static void
print_names(const recipe_t *recipe)
{
    for (size_t k = 0; k < recipe->model->node_count; k++)
        (void)printf("%s%s", k > 0 ? " " : "", recipe->model->nodes[k].name);
}

static const struct {
    const char *name;
    void (*print)(const recipe_t *recipe);
} places[] = {
    { "@file@", print_file },   { "@overrides@\n", print_overrides },
    { "@nodes@", print_nodes }, { "@last@", print_last },
    { "@cores@", print_cores }, { "@names@", print_names },
};

static void
print_text(const recipe_t *recipe, const char *text)
{
    while (*text) {
        size_t plain = strcspn(text, "@"), k = 0;
        (void)fwrite(text, 1, plain, stdout);
        text += plain;
        while (k < sizeof(places) / sizeof(places[0]) &&
               strncmp(text, places[k].name, strlen(places[k].name)) != 0)
            k++;
        if (k < sizeof(places) / sizeof(places[0])) {
            places[k].print(recipe);
            text += strlen(places[k].name);
        } else if (*text) {
            (void)fputc(*text++, stdout);
        }
    }
}

/* --- checks -------------------------------------------------------------- */

static const cli_engine_t *
find_engine(const char *name, skn_error_t *error)
{
    skn_nearest_t nearest = { .wanted = name };
    char names[128] = "";
    for (size_t k = 0; cli_engines[k].name; k++) {
        size_t used = strlen(names);
        if (strcmp(cli_engines[k].name, name) == 0)
            return &cli_engines[k];
        skn_nearest_offer(&nearest, cli_engines[k].name);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s",
                       k > 0 ? ", " : "", cli_engines[k].name);
    }
    (void)skn_fail(error, SKN_USAGE, "there is no recipe for '%.80s'", name);
    (void)skn_fail_hint(error, SKN_USAGE, "available: %s%s%s%s", names,
                        nearest.best ? "; did you mean '" : "",
                        nearest.best ? nearest.best : "",
                        nearest.best ? "'?" : "");
    return NULL;
}

/* Checks the file's name: it is printed in comments, too, which a line break
 * would end. */
static skn_status_t
check_name(const char *path, skn_error_t *error)
{
    if (strcmp(path, "-") == 0)
        return skn_fail(error, SKN_USAGE,
                        "a recipe needs a file that the nodes can read, and - "
                        "is standard input");
    for (size_t k = 0; path[k]; k++)
        if ((unsigned char)path[k] < 0x20 || path[k] == 0x7F)
            return skn_fail(error, SKN_USAGE,
                            "the name of %.200s has a line break or another "
                            "control character, which a recipe cannot hold",
                            path);
    return SKN_OK;
}

/* For nodes that come and go, the file must list the nodes and the
 * coordinator. */
static skn_status_t
check_elastic(const recipe_t *recipe, skn_error_t *error)
{
    const skn_model_t *model = recipe->model;
    if (!recipe->engine->elastic)
        return skn_fail(error, SKN_USAGE,
                        "%s starts all nodes at once and none later: it has no "
                        "--elastic recipe",
                        recipe->engine->title);
    if (model->coordinator.address[0] && model->checkpoint.path[0])
        return SKN_OK;
    if (model->coordinator.address[0]) {
        (void)skn_fail(error, SKN_USAGE,
                       "%s has no checkpoint.path, where the members of a run "
                       "keep their checkpoints",
                       model->source);
        return skn_fail_hint(error, SKN_USAGE,
                             "give the file checkpoint: { path: FOLDER }, the "
                             "same for the coordinator and its members");
    }
    (void)skn_fail(error, SKN_USAGE,
                   "%s has no `coordinator:`, which --elastic needs",
                   model->source);
    return skn_fail_hint(error, SKN_USAGE,
                         "give the file coordinator: { address: ..., key: ... "
                         "} and under nodes: each host that may take part; "
                         "docs/tasks/slurm.md has the commands");
}

static skn_status_t
check_fixed(const recipe_t *recipe, skn_error_t *error)
{
    const skn_model_t *model = recipe->model;
    if (model->coordinator.address[0] && recipe->engine->elastic)
        return skn_fail(error, SKN_USAGE,
                        "%s has a `coordinator:`: its nodes come and go, which "
                        "needs --elastic",
                        model->source);
    if (model->coordinator.address[0])
        return skn_fail(error, SKN_USAGE,
                        "%s has a `coordinator:`, and %s starts all nodes at "
                        "once and none later: leave it out",
                        model->source, recipe->engine->title);
    if (recipe->engine->has_nodes && model->checkpoint.copies > 1) {
        (void)skn_fail(error, SKN_USAGE,
                       "%s keeps checkpoints in parts (checkpoint.copies is "
                       "%lld), but the next start may have other nodes",
                       model->source, (long long)model->checkpoint.copies);
        return skn_fail_hint(error, SKN_USAGE,
                             "give -o checkpoint.copies=1, which keeps them "
                             "whole in the job's folder");
    }
    if (recipe->engine->has_nodes || model->node_count > 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_USAGE, "%s has no nodes", model->source);
    return skn_fail_hint(error, SKN_USAGE,
                         "list them under nodes:, in the order of the ranks "
                         "that %s starts",
                         recipe->engine->title);
}

/* Sets the number of nodes: the requested one, or that of the file if the
 * file's list is used. */
static skn_status_t
count_nodes(recipe_t *recipe, bool elastic, skn_error_t *error)
{
    size_t listed = recipe->model->node_count;
    bool chosen = recipe->engine->has_nodes; /* of the list, if elastic */
    recipe->nodes = listed > 0 ? (uint32_t)listed : NODES_DEFAULT;
    skn_status_t status = cli_count(
        recipe->call, "nodes", SKN_CLUSTER_NODES_MAX, &recipe->nodes, error);
    if (status != SKN_OK || recipe->nodes == listed ||
        (chosen && (!elastic || recipe->nodes < listed)))
        return status;
    return skn_fail(error, SKN_USAGE, "--nodes is %u, but %s lists %zu",
                    recipe->nodes, recipe->model->source, listed);
}

/* --- the verb ------------------------------------------------------------ */

static skn_status_t
print_recipe(recipe_t *recipe, const skn_checked_t *checked, skn_error_t *error)
{
    bool elastic = cli_flag(recipe->call, "elastic");
    if (!checked->model)
        return skn_fail(error, SKN_USAGE,
                        "%s is a topology; recipes are for model files",
                        recipe->call->operands[1]);
    recipe->model = checked->model;
    skn_status_t status =
        elastic ? check_elastic(recipe, error) : check_fixed(recipe, error);
    if (status == SKN_OK)
        status = count_nodes(recipe, elastic, error);
    if (status == SKN_OK)
        print_text(recipe,
                   elastic ? recipe->engine->elastic : recipe->engine->fixed);
    return status;
}

static int
recipe_run(const cli_call_t *call)
{
    const char *overrides[CLI_VALUES_MAX], *path = call->operands[1];
    size_t override_count = cli_overrides(call, overrides);
    skn_error_t error = { 0 };
    skn_checked_t checked = { 0 };
    recipe_t recipe = { .call = call };
    skn_problems_t *problems = skn_problems_new(&error);
    if (!problems)
        return cli_report(call, &error);
    recipe.engine = find_engine(call->operands[0], &error);
    skn_status_t status =
        recipe.engine ? check_name(path, &error) : error.status;
    if (status == SKN_OK)
        status = skn_check_file(path, overrides, override_count, &checked,
                                problems, &error);
    if (status == SKN_OK && skn_problems_count(problems) == 0)
        status = print_recipe(&recipe, &checked, &error);
    int code = 0;
    if (skn_problems_count(problems) > 0)
        code = cli_report_problems(call, problems);
    else if (status != SKN_OK)
        code = cli_report(call, &error);
    skn_checked_fini(&checked);
    skn_problems_destroy(&problems);
    return code;
}

static const cli_option_t options[] = {
    { "nodes", 0, "N", "nodes to ask for (those of the file, or 2)" },
    { "elastic", 0, NULL, "nodes that come, leave and die: an array of jobs" },
    CLI_OVERRIDE_OPTION,
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_recipe = {
    .name = "recipe",
    .help = "print the script that trains a model on a cluster",
    .operands = "slurm|mpi FILE",
    .operands_min = 2,
    .operands_max = 2,
    .options = options,
    .description =
        "Prints a commented script: read it, change it, and submit it to the\n"
        "cluster. For Slurm it is a batch file:\n\n"
        "    skein recipe slurm model.yaml --nodes 4 >run.sbatch\n"
        "    sbatch run.sbatch\n\n"
        "The run takes the nodes that Slurm gives, saves when they are taken\n"
        "away, and continues when Slurm starts it again. With --elastic each\n"
        "node is a job of its own, and the others continue while it is away;\n"
        "the file then has `coordinator:`. For mpirun it is the script that\n"
        "each rank runs. docs/tasks/slurm.md has all commands, and what each\n"
        "signal and exit code means.",
    .run = recipe_run,
};
