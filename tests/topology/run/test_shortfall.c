/* test_shortfall.c - tests the report of what a file requires and this machine
 * lacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/temp_folder.h"
#include "tests/support/word_kinds.h"
#include "topology/run/model_run.h"
#include "topology/run/shortfall.h"

TestSuite(shortfall, .timeout = 60);

static struct {
    char message[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_HINT_BYTES];
    uint32_t count, line;
} told;

static void
tell(const void *state, const skn_model_place_t *place, const char *message,
     const char *hint)
{
    told.line = place ? place->line : 0;
    cr_expect_eq(state, &told);
    told.count++;
    (void)snprintf(told.message, sizeof(told.message), "%s", message);
    (void)snprintf(told.hint, sizeof(told.hint), "%s", hint);
}

/* How many warnings there are of a model with these `resources`. */
static uint32_t
warnings(const char *resources, bool runs)
{
    char text[512];
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_problems_t *problems = skn_problems_new(&error);
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ndata: { train: x }\nmodel:\n  layers:\n"
                   "    - { name: hidden }\n    - { name: output }\n%s\n",
                   resources);
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "m.yaml", problems);
    cr_assert(document);
    cr_assert_eq(skn_model_check(document, &model, problems, &error), SKN_OK,
                 "%s", error.text);
    skn_document_destroy(&document);
    memset(&told, 0, sizeof(told));
    skn_shortfall_model(model, runs ? 0 : SKN_SHORTFALL_NOBODY, tell, &told);
    skn_model_destroy(&model);
    skn_problems_destroy(&problems);
    return told.count;
}

static bool
begins(const char *text, const char *want)
{
    return strncmp(text, want, strlen(want)) == 0;
}

Test(shortfall, cores_that_are_there_are_no_matter)
{
    cr_expect_eq(warnings("", false), 0);
    cr_expect_eq(warnings("resources: { cores: auto }", false), 0);
    cr_expect_eq(warnings("resources: { cores: 1 }", false), 0);
}

Test(shortfall, a_core_that_is_not_there_is_reported_with_those_that_are)
{
    char want[128];
    uint32_t units = skn_unit_count(NULL);
    cr_assert_gt(units, 0);
    cr_expect_eq(warnings("resources: { cores: [4000] }", false), 1);
    (void)snprintf(want, sizeof(want),
                   "m.yaml:7:21: 'cores' of resources names core 4000, and "
                   "this process may use %u core",
                   units);
    cr_expect(begins(told.message, want), "%s", told.message);
    cr_expect_eq(told.line, 7);
    cr_expect_eq(warnings("resources: { cores: 4000-4001 }", false), 1);
    cr_expect_eq(warnings("resources: { cores: [4000] }", true), 0);
    cr_expect_eq(warnings("resources: { cores: 4000 }", true), 1);
    cr_expect(
        begins(told.message, "m.yaml:7:21: 'cores' of resources is 4000, and"),
        "%s", told.message);
}

Test(shortfall, an_actor_of_a_topology_is_reported_by_its_name)
{
    static const char text[] =
        "skein: 1\ntopology:\n  name: t\n  actors:\n"
        "    - { name: r, kind: word_reader, cores: 4000, "
        "options: { path: x } }\n"
        "    - { name: c, kind: word_counter, cores: 4001 }\n"
        "  pipes:\n"
        "    - { from: r, to: c, message: word }\n";
    skn_error_t error = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    skn_document_t *document =
        skn_document_parse(text, strlen(text), "t.yaml", problems);
    skn_spec_t *spec = skn_spec_load(&document, word_kinds, problems);
    cr_assert(spec, "%s", skn_problems_text(problems, 0));
    memset(&told, 0, sizeof(told));
    skn_shortfall_spec(spec, tell, &told);
    cr_expect_eq(told.count, 1);
    cr_expect(begins(told.message,
                     "t.yaml:5:44: 'r' is to run on core 4000 (and 1 more "
                     "actor), and this process may use"),
              "%s", told.message);
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
}

static void
put(const char *root, const char *name, const char *text)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

Test(shortfall, a_quota_below_the_cores_of_a_run_is_reported)
{
    char root[TEMP_FOLDER_BYTES];
    temp_folder_make(root);
    memset(&told, 0, sizeof(told));
    put(root, "proc/self/cgroup", "0::/jobs/one\n");
    put(root, "sys/fs/cgroup/jobs/one/cpu.max", "max 100000\n");
    skn_shortfall_quota(root, 4, SKN_SHORTFALL_CORES, tell, &told);
    cr_expect_eq(told.count, 0);
    put(root, "sys/fs/cgroup/jobs/cpu.max", "250000 100000\n");
    skn_shortfall_quota(root, 2, SKN_SHORTFALL_CORES, tell, &told);
    cr_expect_eq(told.count, 0);
    skn_shortfall_quota(root, 4, SKN_SHORTFALL_CORES, tell, &told);
    cr_expect_eq(told.count, 1);
    cr_expect_str_eq(told.message,
                     "the run takes 4 cores, and the quota of its control "
                     "group is 2.50");
    cr_expect(strstr(told.hint, "or set resources.cores=2: "), "%s", told.hint);
    skn_shortfall_quota(root, 4, "list fewer: ", tell, &told);
    cr_expect(strstr(told.hint, "or list fewer: 2: "), "%s", told.hint);
    temp_folder_remove(root);
}
