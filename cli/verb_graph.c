/* verb_graph.c - skein graph: draws a topology with graphviz.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "cli/base/verbs.h"
#include "topology/run/check.h"
#include "topology/run/model_run.h"

extern char **environ;

/* Starts graphviz with its standard input at *pipe_end. */
static skn_status_t
start_graphviz(pid_t *child, int *pipe_end, skn_error_t *error)
{
    static char name[] = "dot", format[] = "-Tsvg";
    char *arguments[] = { name, format, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return skn_fail(error, SKN_UNAVAILABLE,
                        "cannot create a pipe to "
                        "graphviz: %s",
                        strerror(errno));
    int code = posix_spawn_file_actions_init(&actions);
    if (code == 0)
        code =
            posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    if (code == 0)
        code = posix_spawnp(child, name, &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[0]);
    *pipe_end = ends[1];
    if (code == 0)
        return SKN_OK;
    (void)close(ends[1]);
    skn_status_t status = skn_fail(error, SKN_UNAVAILABLE,
                                   "--svg needs graphviz, and its `dot` "
                                   "cannot be started: %s",
                                   strerror(code));
    return skn_fail_hint(error, status,
                         "apt-get install graphviz, or leave out --svg");
}

static skn_status_t
print_svg(const skn_spec_t *spec, skn_error_t *error)
{
    pid_t child;
    int pipe_end = -1, code = 0;
    (void)fflush(stdout);
    skn_status_t status = start_graphviz(&child, &pipe_end, error);
    if (status != SKN_OK)
        return status;
    FILE *file = fdopen(pipe_end, "w");
    if (file) {
        status = skn_spec_dot(spec, file, error);
        (void)fclose(file);
    } else {
        (void)close(pipe_end);
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for a drawing");
    }
    cli_process_wait(child, &code);
    if (status == SKN_OK && (!WIFEXITED(code) || WEXITSTATUS(code) != 0))
        status =
            skn_fail(error, SKN_UNAVAILABLE, "graphviz failed on the drawing");
    return status;
}

static skn_status_t
draw(const cli_call_t *call, const skn_spec_t *spec, skn_error_t *error)
{
    if (cli_flag(call, "svg"))
        return print_svg(spec, error);
    return cli_flag(call, "text") ? skn_spec_text(spec, stdout, error)
                                  : skn_spec_dot(spec, stdout, error);
}

/* Draws a model, which is planned first, as in `skein plan`. */
static skn_status_t
draw_model(const cli_call_t *call, const char *const *overrides, size_t count,
           skn_problems_t *problems, skn_error_t *error)
{
    char run_path[SKN_TEXT_MAX] = "", run_id[33] = "";
    skn_model_run_t run = { 0 };
    skn_model_run_options_t options = {
        .path = call->operands[0],
        .overrides = overrides,
        .override_count = count,
        .run_path = run_path,
        .run_id = run_id,
    };
    skn_status_t status = skn_model_run_open(&run, &options, problems, error);
    if (status == SKN_OK)
        status = draw(call, skn_topology_spec(run.topology), error);
    skn_model_run_close(&run);
    return status;
}

static int
graph_run(const cli_call_t *call)
{
    const char *overrides[CLI_VALUES_MAX];
    size_t count = cli_overrides(call, overrides);
    skn_error_t error = { 0 };
    skn_checked_t checked = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    int code = 0;
    if (!problems)
        return cli_report(call, &error);
    skn_status_t status = skn_check_file(call->operands[0], overrides, count,
                                         &checked, problems, &error);
    if (status == SKN_OK)
        status = checked.spec
                     ? draw(call, checked.spec, &error)
                     : draw_model(call, overrides, count, problems, &error);
    if (skn_problems_count(problems) > 0)
        code = cli_report_problems(call, problems);
    else if (status != SKN_OK)
        code = cli_report(call, &error);
    skn_checked_fini(&checked);
    skn_problems_destroy(&problems);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "svg", 0, NULL, "draw it with graphviz" },
    { "text", 0, NULL, "draw it in characters" },
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_graph = {
    .name = "graph",
    .help = "draw the actors and pipes of a model or topology file",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Prints a drawing in the language of graphviz: a box is an actor, an\n"
        "arrow is a pipe with its message, pattern and credit. --svg draws\n"
        "it, if graphviz is installed; --text is for terminals:\n"
        "    skein graph --svg configs/wnhyp.yaml >wnhyp.svg",
    .run = graph_run,
};
