/* test_config.c - tests configs through their public functions: problems,
 * warnings, facts, values, plans and what is printed of them.
 *
 * Covers topology/run/config_facts.c, topology/run/config_print.c and
 * topology/run/config_warnings.c.  SPDX-License-Identifier: Apache-2.0 */
#include "skein/config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/temp_folder.h"

#define MODEL                                                                  \
    "skein: 1\ndata: { train: t.txt, cache: none }\nmodel:\n  layers:\n"       \
    "    - { name: hidden, units: 8 }\n    - { name: output }\n"
#define TOPOLOGY                                                               \
    "skein: 1\ntopology:\n  name: two\n  actors:\n"                            \
    "    - { name: c, kind: course, options: "                                 \
    "{ batches_per_epoch: 1, epochs: 1 } }\n"                                  \
    "    - { name: s, kind: source, options: { train: t, features: 1, "        \
    "labels: 1, batch_rows: 1, owners: 1 } }\n"                                \
    "    - { name: e, kind: evaluator, options: { train: t, features: 1, "     \
    "labels: 1 } }\n"                                                          \
    "  pipes:\n    - { from: c, to: s, message: go }\n"                        \
    "    - { from: e, to: s, message: applied }\n"                             \
    "    - { from: s, to: e, message: labels }\n"                              \
    "    - { from: s, to: c, message: reached }\n"
#define NODES                                                                  \
    "nodes:\n"                                                                 \
    "  - { name: a, address: 'tcp://127.0.0.1:7001', key: a.key }\n"           \
    "  - { name: b, address: 'tcp://127.0.0.1:7002', key: b.key, ssh: there }\n"

static char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 16];
static skn_error_t error;

/* Points with 20 features and 30 labels, in f.yaml's folder. */
static void
write_data(const char *name, unsigned count)
{
    char data[TEMP_FOLDER_BYTES + 16];
    (void)snprintf(data, sizeof(data), "%s/%s", folder, name);
    FILE *file = fopen(data, "w");
    cr_assert(file);
    (void)fprintf(file, "%u 20 30\n", count);
    for (unsigned k = 0; k < count; k++)
        (void)fprintf(file, "%u %u:1\n", k * 7 % 30, k * 7 % 19);
    cr_assert_eq(fclose(file), 0);
}

static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/f.yaml", folder);
    write_data("t.txt", 120);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(config, .init = set_up, .fini = tear_down, .timeout = 60);

static skn_config_t *
made(const char *text, const char *const *overrides, uint32_t count)
{
    const skn_config_options_t options = {
        .struct_bytes = sizeof(options),
        .overrides = overrides,
        .override_count = count,
    };
    skn_config_t *config = skn_config_new(text, path, &options, &error);
    cr_assert(config, "%s", error.text);
    return config;
}

static skn_config_info_t
info_of(skn_config_t *config)
{
    skn_config_info_t info = { .struct_bytes = sizeof(info) };
    cr_assert_eq(skn_config_info(config, &info, &error), SKN_OK);
    return info;
}

/* The part as text, which the caller frees; NULL: it is refused. */
static char *
printed(skn_config_t *config, skn_config_part_t part)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    skn_status_t status = skn_config_print(config, part, file, &error);
    cr_assert_eq(fclose(file), 0);
    if (status == SKN_OK)
        return text;
    free(text);
    return NULL;
}

static bool
prints(skn_config_t *config, skn_config_part_t part, const char *words)
{
    char *text = printed(config, part);
    bool has = text && strstr(text, words);
    if (text && !has)
        (void)fputs(text, stderr);
    free(text);
    return has;
}

static bool
warns_of(skn_config_t *config, const char *words)
{
    const skn_config_problem_t *warning;
    for (size_t k = 0; (warning = skn_config_warning(config, k)); k++)
        if (warning->status == SKN_OK && strstr(warning->text, words))
            return true;
    return false;
}

Test(config, a_model_file_is_a_model)
{
    skn_config_t *config = made(MODEL NODES, NULL, 0);
    skn_config_info_t info = info_of(config);
    cr_expect_null(skn_config_problem(config, 0));
    cr_expect_eq(info.sort, SKN_CONFIG_IS_MODEL);
    cr_expect_str_eq(info.name, "f");
    cr_expect_str_eq(info.source, path);
    cr_expect(info.layer_count == 2 && info.node_count == 2);
    cr_expect_str_eq(info.nodes[1], "b");
    cr_expect(info.actor_count == 0 && !info.has_data && !info.is_planned);
    skn_config_destroy(&config);
    cr_expect_null(config);
}

Test(config, a_file_with_the_key_topology_is_a_topology)
{
    skn_config_t *config = made(TOPOLOGY, NULL, 0);
    skn_config_info_t info = info_of(config);
    cr_expect_null(skn_config_problem(config, 0));
    cr_expect_eq(info.sort, SKN_CONFIG_IS_TOPOLOGY);
    cr_expect_str_eq(info.name, "two");
    cr_expect(info.actor_count == 3 && info.pipe_count == 4);
    cr_expect_str_eq(info.port, "");
    cr_expect_null(skn_config_value(config, "train.epochs"));
    cr_expect(prints(config, SKN_CONFIG_TOPOLOGY, "kind: course"));
    cr_expect(prints(config, SKN_CONFIG_GRAPH, "course"));
    cr_expect(prints(config, SKN_CONFIG_DOT, "digraph"));
    cr_expect_null(printed(config, SKN_CONFIG_MODEL));
    cr_expect_eq(error.status, SKN_USAGE);
    skn_config_destroy(&config);
}

Test(config, the_other_sort_is_refused)
{
    skn_config_options_t options = { .struct_bytes = sizeof(options),
                                     .sort = SKN_CONFIG_IS_TOPOLOGY };
    skn_config_t *config = skn_config_new(MODEL, path, &options, &error);
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    cr_assert(problem);
    cr_expect(strstr(problem->text, "this is a model file"), "%s",
              problem->text);
    skn_config_destroy(&config);
    options.sort = SKN_CONFIG_IS_MODEL;
    config = skn_config_new(TOPOLOGY, path, &options, &error);
    problem = skn_config_problem(config, 0);
    cr_assert(problem);
    cr_expect(strstr(problem->text, "this is a topology file"), "%s",
              problem->text);
    skn_config_destroy(&config);
}

Test(config, a_topology_is_taken_once)
{
    skn_config_t *config = made(TOPOLOGY, NULL, 0);
    skn_topology_t *topology = skn_config_topology(config, &error);
    cr_expect(topology, "%s", error.text);
    cr_expect_null(skn_config_topology(config, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_null(printed(config, SKN_CONFIG_TOPOLOGY));
    cr_expect_eq(skn_config_plan(config, &error), SKN_OK);
    cr_expect_eq(info_of(config).actor_count, 0);
    skn_config_destroy(&config);
    skn_topology_destroy(&topology);
}

Test(config, a_port_is_named)
{
    skn_config_t *config =
        made("skein: 1\ntopology:\n  name: p\n  actors:\n"
             "    - { name: in, kind: port, options: { sends: note } }\n"
             "  pipes: []\n",
             NULL, 0);
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    if (!problem)
        cr_expect_str_eq(info_of(config).port, "in");
    skn_config_destroy(&config);
}

Test(config, overrides_are_checked_with_the_file)
{
    const char *good[] = { "train.epochs=3" }, *bad[] = { "train.epoch=3" };
    skn_config_t *config = made(MODEL, good, 1);
    cr_expect_str_eq(skn_config_value(config, "train.epochs"), "3");
    skn_config_destroy(&config);
    config = made(MODEL, bad, 1);
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    cr_assert(problem);
    cr_expect_eq(problem->status, SKN_BAD_CONFIG);
    cr_expect(strstr(problem->text, "unknown option 'epoch' of train"), "%s",
              problem->text);
    cr_expect_eq(problem->line, 0);
    cr_expect_str_eq(problem->file, "");
    cr_expect_eq(info_of(config).sort, SKN_CONFIG_REFUSED);
    skn_config_destroy(&config);
}

Test(config, all_mistakes_come_in_one_pass)
{
    skn_config_t *config =
        made(MODEL "train: { epochs: many, windw: 2 }\n", NULL, 0);
    const skn_config_problem_t *problem = skn_config_problem(config, 1);
    cr_assert(problem);
    cr_expect_str_eq(problem->file, path);
    cr_expect_eq(problem->line, 7);
    cr_expect_gt(problem->column, 1);
    cr_expect(strstr(problem->hint, "window"), "%s", problem->hint);
    cr_expect_str_eq(problem->text, "unknown option 'windw' of train");
    cr_expect_null(skn_config_problem(config, 2));
    cr_expect(prints(config, SKN_CONFIG_PROBLEMS, "     7 | train:"));
    cr_expect(prints(config, SKN_CONFIG_PROBLEM_EVENTS,
                     "{\"event\":\"error\",\"code\":78,\"file\":"));
    cr_expect_null(printed(config, SKN_CONFIG_MODEL));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    cr_expect_eq(skn_config_plan(config, &error), SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "(and 1 more)"), "%s", error.text);
    cr_expect_null(skn_config_topology(config, &error));
    skn_config_destroy(&config);
}

Test(config, a_topology_with_a_wrong_kind_is_refused)
{
    skn_config_t *config = made("skein: 1\ntopology:\n  name: one\n  actors:\n"
                                "    - { name: c, kind: sorce }\n"
                                "  pipes: []\n",
                                NULL, 0);
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    cr_assert(problem);
    cr_expect_eq(problem->line, 5);
    skn_config_destroy(&config);
}

Test(config, a_missing_file_is_a_problem)
{
    skn_config_t *config = skn_config_load("/nowhere/x.yaml", NULL, &error);
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    cr_assert(problem);
    cr_expect_eq(problem->status, SKN_NO_INPUT);
    cr_expect(strstr(problem->text, "/nowhere/x.yaml"), "%s", problem->text);
    skn_config_destroy(&config);
}

Test(config, a_file_is_read_and_a_folder_without_a_run_is_refused)
{
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fputs(MODEL, file);
    cr_assert_eq(fclose(file), 0);
    skn_config_t *config = skn_config_load(path, NULL, &error);
    cr_expect_eq(info_of(config).sort, SKN_CONFIG_IS_MODEL);
    skn_config_destroy(&config);
    config = skn_config_load(folder, NULL, &error);
    cr_assert(skn_config_problem(config, 0));
    cr_expect_eq(info_of(config).sort, SKN_CONFIG_REFUSED);
    skn_config_destroy(&config);
}

Test(config, values_are_named_as_in_overrides)
{
    const char *overrides[] = {
        "coordinator={ address: 'tcp://127.0.0.1:7000', "
        "key: c.key }",
        "nodes.a.cores=2"
    };
    skn_config_t *config = made(MODEL NODES, overrides, 2);
    cr_expect_str_eq(skn_config_value(config, "model.layers.hidden.units"),
                     "8");
    cr_expect_str_eq(skn_config_value(config, "model.layers.output.loss"),
                     "auto");
    cr_expect_str_eq(skn_config_value(config, "nodes.b.ssh"), "there");
    cr_expect_str_eq(skn_config_value(config, "coordinator.address"),
                     "tcp://127.0.0.1:7000");
    cr_expect_str_eq(skn_config_value(config, "checkpoint.path"), "");
    static const char *const none[] = { "",         "train",   "train.",
                                        "train.ep", "nodes.c", "nodes",
                                        ".",        "a",       "plugins",
                                        "resources" };
    for (size_t k = 0; k < sizeof(none) / sizeof(none[0]); k++)
        cr_expect_null(skn_config_value(config, none[k]), "%s", none[k]);
    cr_expect_null(skn_config_problem(config, 0), "%s",
                   skn_config_problem(config, 0)->text);
    cr_expect_str_eq(skn_config_value(config, "nodes.a.cores"), "2");
    cr_expect(warns_of(config, "checkpoint.path is not set"));
    cr_expect(prints(config, SKN_CONFIG_SETTINGS, "train.epochs auto"));
    skn_config_destroy(&config);
}

Test(config, a_plan_decides_and_says_why)
{
    skn_config_t *config = made(MODEL, NULL, 0);
    cr_expect_str_eq(skn_config_value(config, "train.epochs"), "auto");
    cr_expect_null(printed(config, SKN_CONFIG_TOPOLOGY));
    cr_expect(strstr(error.text, "not yet planned"), "%s", error.text);
    cr_expect_null(skn_config_topology(config, &error));
    cr_assert_eq(skn_config_plan(config, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(skn_config_plan(config, &error), SKN_OK);
    skn_config_info_t info = info_of(config);
    cr_expect(info.has_data && info.is_planned);
    cr_expect_eq(info.train_points + info.validate_points, 120);
    cr_expect(info.features == 20 && info.labels == 30);
    cr_expect(info.units > 0 && info.parameters > 0 && info.memory_bytes > 0 &&
              info.batches_per_epoch > 0 && info.actor_count > 3);
    cr_expect_str_neq(skn_config_value(config, "train.epochs"), "auto");
    cr_expect(prints(config, SKN_CONFIG_MODEL, "# auto: "));
    cr_expect(prints(config, SKN_CONFIG_TOPOLOGY, "# f on "));
    cr_expect(prints(config, SKN_CONFIG_DOT, "digraph"));
    cr_expect(prints(config, SKN_CONFIG_SETTINGS, "train.epochs auto"));
    skn_topology_t *topology = skn_config_topology(config, &error);
    cr_expect(topology);
    skn_topology_destroy(&topology);
    cr_expect(info_of(config).is_planned);
    cr_expect(prints(config, SKN_CONFIG_MODEL, "# auto: "));
    skn_config_destroy(&config);
}

Test(config, faults_of_both_data_files_are_problems)
{
    const char *overrides[] = { "data.train=/nowhere/a",
                                "data.test=/nowhere/b" };
    skn_config_t *config = made(MODEL, overrides, 2);
    cr_expect(warns_of(config, "data.train: /nowhere/a cannot be read"));
    cr_expect(warns_of(config, "data.test: /nowhere/b cannot be read"));
    cr_expect_str_eq(skn_config_warning(config, 0)->hint,
                     "set data.train=PATH");
    cr_expect_eq(skn_config_plan(config, &error), SKN_NO_INPUT);
    cr_expect_eq(skn_config_plan(config, &error), SKN_NO_INPUT);
    const skn_config_problem_t *problem = skn_config_problem(config, 1);
    cr_assert(problem);
    cr_expect(strstr(problem->text, "/nowhere/b"), "%s", problem->text);
    cr_expect(!warns_of(config, "cannot be read"));
    skn_config_destroy(&config);
}

Test(config, warnings_have_their_place)
{
    skn_config_t *config = made(MODEL "resources: { cores: 500 }\n", NULL, 0);
    const skn_config_problem_t *warning = skn_config_warning(config, 0);
    cr_assert(warning);
    cr_expect_eq(warning->line, 7);
    cr_expect_str_eq(warning->file, path);
    cr_expect(strncmp(warning->text, "'cores' of resources is 500",
                      strlen("'cores' of resources is 500")) == 0,
              "%s", warning->text);
    skn_config_destroy(&config);
}

Test(config, a_node_is_found_by_its_name)
{
    skn_config_options_t options = { .struct_bytes = sizeof(options),
                                     .node = "b" };
    skn_config_t *config = skn_config_new(MODEL NODES, NULL, &options, &error);
    cr_expect_null(skn_config_problem(config, 0));
    cr_expect_eq(info_of(config).node, 1);
    skn_config_destroy(&config);
    options.node = "c";
    config = skn_config_new(MODEL NODES, NULL, &options, &error);
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    cr_assert(problem);
    cr_expect_eq(problem->status, SKN_USAGE);
    cr_expect_str_eq(problem->text, "config has no node 'c'");
    skn_config_destroy(&config);
}

Test(config, a_full_disk_is_reported)
{
    skn_config_t *config = made(MODEL "train: { epochs: many }\n", NULL, 0);
    FILE *full = fopen("/dev/full", "w");
    cr_assert(full);
    setbuf(full, NULL);
    cr_expect_eq(skn_config_print(config, SKN_CONFIG_PROBLEMS, full, &error),
                 SKN_STORAGE);
    (void)fclose(full);
    skn_config_destroy(&config);
}
