/* test_check.c - tests that models and topologies are distinguished, and both
 * checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/check.h"

#include <string.h>

#include "tests/support/temp_folder.h"

#define MODEL                                                                  \
    "skein: 1\ndata: { train: t }\nmodel:\n  layers:\n"                        \
    "    - { name: hidden }\n    - { name: output }\n"
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

typedef struct answer {
    skn_status_t status;
    bool model, topology;
    size_t problems;
    char first[512];
} answer_t;

static answer_t
check_text(const char *text, const char *const *overrides, size_t count)
{
    char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    skn_checked_t checked = { 0 };
    answer_t answer = { 0 };
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/f.yaml", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fputs(text, file);
    (void)fclose(file);
    skn_problems_t *problems = skn_problems_new(&error);
    answer.status =
        skn_check_file(path, overrides, count, &checked, problems, &error);
    answer.model = checked.model != NULL;
    answer.topology = checked.spec != NULL;
    answer.problems = skn_problems_count(problems);
    const char *first = skn_problems_text(problems, 0);
    if (first) /* without the folder, which differs each time */
        (void)snprintf(answer.first, sizeof(answer.first), "%s",
                       strncmp(first, folder, strlen(folder)) == 0
                           ? first + strlen(folder) + 1
                           : first);
    skn_checked_fini(&checked);
    skn_problems_destroy(&problems);
    temp_folder_remove(folder);
    return answer;
}

Test(check, a_model_file_is_a_model)
{
    answer_t answer = check_text(MODEL, NULL, 0);
    cr_expect_eq(answer.status, SKN_OK, "%s", answer.first);
    cr_expect(answer.model && !answer.topology);
}

Test(check, a_file_with_the_key_topology_is_a_topology)
{
    answer_t answer = check_text(TOPOLOGY, NULL, 0);
    cr_expect_eq(answer.status, SKN_OK, "%s", answer.first);
    cr_expect(answer.topology && !answer.model);
}

Test(check, overrides_are_checked_with_the_file)
{
    const char *good[] = { "train.epochs=3" }, *bad[] = { "train.epoch=3" };
    cr_expect_eq(check_text(MODEL, good, 1).status, SKN_OK);
    answer_t answer = check_text(MODEL, bad, 1);
    cr_expect_eq(answer.status, SKN_BAD_CONFIG);
    cr_expect(!answer.model);
    cr_expect(strstr(answer.first, "unknown option 'epoch' of train"), "%s",
              answer.first);
}

Test(check, all_mistakes_come_in_one_pass)
{
    answer_t answer =
        check_text(MODEL "train: { epochs: many, windw: 2 }\n", NULL, 0);
    cr_expect_eq(answer.status, SKN_BAD_CONFIG);
    cr_expect_eq(answer.problems, 2);
}

Test(check, a_topology_with_a_wrong_kind_is_refused)
{
    answer_t answer = check_text("skein: 1\ntopology:\n  name: one\n  actors:\n"
                                 "    - { name: c, kind: sorce }\n"
                                 "  pipes: []\n",
                                 NULL, 0);
    cr_expect_eq(answer.status, SKN_BAD_CONFIG);
    cr_expect(!answer.topology);
    cr_expect(strncmp(answer.first, "f.yaml:5:", 9) == 0, "%s", answer.first);
}

Test(check, a_missing_file_is_no_input)
{
    skn_error_t error = { 0 };
    skn_checked_t checked = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    cr_expect_eq(
        skn_check_file("/nowhere/x.yaml", NULL, 0, &checked, problems, &error),
        SKN_NO_INPUT);
    skn_problems_destroy(&problems);
}
