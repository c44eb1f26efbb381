/* check.c - lists the problems of a model or topology file, or prints its plan.
 * cc check.c $(pkg-config --cflags --libs skein) -o check
 * SPDX-License-Identifier: Apache-2.0 */
#include <skein/config.h>

static void
complain(const char *what, const skn_config_problem_t *problem)
{
    if (problem->line > 0)
        fprintf(stderr, "%s:%u:%u: ", problem->file, problem->line,
                problem->column);
    fprintf(stderr, "%s: %s%s%s\n", what, problem->text,
            problem->hint[0] ? "; " : "", problem->hint);
}

int
main(int count, char **words)
{
    skn_error_t error = SKN_ZERO;
    const skn_config_problem_t *problem;
    skn_config_t *config =
        skn_config_load(count > 1 ? words[1] : "-", NULL, &error);
    if (!config)
        return fprintf(stderr, "%s\n", error.text), 1;
    if (skn_config_plan(config, &error) == SKN_OK)
        (void)skn_config_print(config, SKN_CONFIG_TOPOLOGY, stdout, &error);
    for (size_t k = 0; (problem = skn_config_warning(config, k)); k++)
        complain("warning", problem);
    for (size_t k = 0; (problem = skn_config_problem(config, k)); k++)
        complain("error", problem);
    skn_config_destroy(&config);
    return skn_status_exit_code(error.status);
}
