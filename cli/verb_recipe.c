/* verb_recipe.c - skein recipe: prints a script that runs a model on a cluster.
 *
 * A recipe is a text with placeholders for values of the file and the options.
 * tests/e2e/slurm.sh and mpi.sh run the texts of Slurm and mpirun;
 * docs/tasks/slurm.md explains how to use them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/recipes.h"
#include "cli/base/read_config.h"
#include "cli/base/verbs.h"
#include "topology/config/nearest.h"
#include "topology/config/shell_word.h"

/* The number of nodes without --nodes and without a list in the file: the least
 * that is several. */
#define NODES_DEFAULT 2u

typedef struct recipe {
    const cli_call_t *call;
    const cli_engine_t *engine;
    skn_config_t *config;
    skn_config_info_t info; /* of it */
    uint32_t nodes;
} recipe_t;

/* --- values of the placeholders ------------------------------------------- */

static void
print_file(const recipe_t *recipe)
{
    char word[SKN_SHELL_WORD_BYTES];
    (void)fputs(skn_shell_word(recipe->info.source, word), stdout);
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
    (void)printf("%u", recipe->info.cores > 0 ? recipe->info.cores : 1);
}

static void
print_names(const recipe_t *recipe)
{
    for (size_t k = 0; k < recipe->info.node_count; k++)
        (void)printf("%s%s", k > 0 ? " " : "", recipe->info.nodes[k]);
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

/* Whether the file sets the text of the key. */
static bool
has(const recipe_t *recipe, const char *key)
{
    return cli_config_value(recipe->config, key)[0];
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
    const char *source = recipe->info.source;
    if (!recipe->engine->elastic)
        return skn_fail(error, SKN_USAGE,
                        "%s starts all nodes at once and none later: it has no "
                        "--elastic recipe",
                        recipe->engine->title);
    if (has(recipe, "coordinator.address") && has(recipe, "checkpoint.path"))
        return SKN_OK;
    if (has(recipe, "coordinator.address")) {
        (void)skn_fail(error, SKN_USAGE,
                       "%s has no checkpoint.path, where the members of a run "
                       "keep their checkpoints",
                       source);
        return skn_fail_hint(error, SKN_USAGE,
                             "give the file checkpoint: { path: FOLDER }, the "
                             "same for the coordinator and its members");
    }
    (void)skn_fail(error, SKN_USAGE,
                   "%s has no `coordinator:`, which --elastic needs", source);
    return skn_fail_hint(error, SKN_USAGE,
                         "give the file coordinator: { address: ..., key: ... "
                         "} and under nodes: each host that may take part; "
                         "docs/tasks/slurm.md has the commands");
}

static skn_status_t
check_fixed(const recipe_t *recipe, skn_error_t *error)
{
    const char *source = recipe->info.source;
    if (has(recipe, "coordinator.address") && recipe->engine->elastic)
        return skn_fail(error, SKN_USAGE,
                        "%s has a `coordinator:`: its nodes come and go, which "
                        "needs --elastic",
                        source);
    if (has(recipe, "coordinator.address"))
        return skn_fail(error, SKN_USAGE,
                        "%s has a `coordinator:`, and %s starts all nodes at "
                        "once and none later: leave it out",
                        source, recipe->engine->title);
    const char *copies = cli_config_value(recipe->config, "checkpoint.copies");
    if (recipe->engine->has_nodes && strtol(copies, NULL, 10) > 1) {
        (void)skn_fail(error, SKN_USAGE,
                       "%s keeps checkpoints in parts (checkpoint.copies is "
                       "%s), but the next start may have other nodes",
                       source, copies);
        return skn_fail_hint(error, SKN_USAGE,
                             "give -o checkpoint.copies=1, which keeps them "
                             "whole in the job's folder");
    }
    if (recipe->engine->has_nodes || recipe->info.node_count > 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_USAGE, "%s has no nodes", source);
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
    uint32_t listed = recipe->info.node_count;
    bool chosen = recipe->engine->has_nodes; /* of the list, if elastic */
    recipe->nodes = listed > 0 ? listed : NODES_DEFAULT;
    skn_status_t status = cli_count(
        recipe->call, "nodes", SKN_CLUSTER_NODES_MAX, &recipe->nodes, error);
    if (status != SKN_OK || recipe->nodes == listed ||
        (chosen && (!elastic || recipe->nodes < listed)))
        return status;
    return skn_fail(error, SKN_USAGE, "--nodes is %u, but %s lists %u",
                    recipe->nodes, recipe->info.source, listed);
}

/* --- the verb ------------------------------------------------------------ */

static skn_status_t
print_recipe(recipe_t *recipe, skn_error_t *error)
{
    bool elastic = cli_flag(recipe->call, "elastic");
    if (recipe->info.sort != SKN_CONFIG_IS_MODEL)
        return skn_fail(error, SKN_USAGE,
                        "%s is a topology; recipes are for model files",
                        recipe->call->operands[1]);
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
    skn_error_t error = { 0 };
    recipe_t recipe = { .call = call };
    recipe.engine = find_engine(call->operands[0], &error);
    if (!recipe.engine || check_name(call->operands[1], &error) != SKN_OK)
        return cli_report(call, &error);
    recipe.config = cli_config_load(
        call, 1, (skn_config_options_t){ .plugins = true }, &error);
    if (!recipe.config)
        return cli_report(call, &error);
    recipe.info = cli_config_info(recipe.config);
    int code = cli_config_report(call, recipe.config);
    if (code == 0 && print_recipe(&recipe, &error) != SKN_OK)
        code = cli_report(call, &error);
    skn_config_destroy(&recipe.config);
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
