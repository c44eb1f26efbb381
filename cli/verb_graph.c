/* verb_graph.c - skein graph: draws a topology with graphviz.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/read_config.h"
#include "cli/base/process.h"
#include "cli/base/verbs.h"
#include "formats/text/system_error.h"

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
        return skn_fail_code(error, SKN_UNAVAILABLE, errno, NULL,
                             "cannot create a pipe to graphviz");
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
print_svg(skn_config_t *config, skn_error_t *error)
{
    pid_t child;
    int pipe_end = -1, code = 0;
    (void)fflush(stdout);
    skn_status_t status = start_graphviz(&child, &pipe_end, error);
    if (status != SKN_OK)
        return status;
    FILE *file = fdopen(pipe_end, "w");
    if (file) {
        status = skn_config_print(config, SKN_CONFIG_DOT, file, error);
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

static int
draw(const cli_call_t *call, skn_config_t *config)
{
    skn_error_t error = { 0 };
    skn_config_part_t part =
        cli_flag(call, "text") ? SKN_CONFIG_GRAPH : SKN_CONFIG_DOT;
    if (skn_config_plan(config, &error) != SKN_OK)
        return cli_config_report(call, config);
    skn_status_t status = cli_flag(call, "svg")
                              ? print_svg(config, &error)
                              : skn_config_print(config, part, stdout, &error);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static int
graph_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_config_t *config =
        cli_config_load(call, 0, (skn_config_options_t){ 0 }, &error);
    int code = config ? draw(call, config) : cli_report(call, &error);
    skn_config_destroy(&config);
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
