/* up_command.c - builds the command line of a node, for here or over ssh.
 *
 *     skein node b FILE --json --leash ...
 *     ssh -o BatchMode=yes -o ConnectTimeout=10 HOST --                       \
 *         "cd 'HERE' && exec 'skein' 'node' 'b' ..."
 *
 * `ssh` may be any program that takes its options; the port, key and known
 * hosts are set in the user's ssh config. --ssh is split at spaces, as most
 * uses of $GIT_SSH_COMMAND need.  SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/bar.h"
#include "cli/base/process.h"
#include "cli/up/up.h"
#include "skein/config.h"
#include "topology/config/shell_word.h"

/* Options given by --ssh take precedence: ssh uses the first value of an
 * option. */
#define SSH_DEFAULT "ssh"
#define SSH_PATIENCE "ConnectTimeout=10"
/* The most arguments after the words of --ssh, with the NULL. */
#define SSH_ARGUMENTS 8

static void
add(cli_up_command_t *command, const char *text)
{
    assert(command->count + 1 < CLI_UP_ARGUMENTS_MAX);
    command->argument[command->count++] = (char *)(uintptr_t)text;
    command->argument[command->count] = NULL;
}

static void
add_option(cli_up_command_t *command, const char *name, const char *value)
{
    if (value) {
        add(command, name);
        add(command, value);
    }
}

/* Those of the user, --text and its like among them, and ours. */
static void
add_overrides(const cli_call_t *call, const cli_up_local_t *local,
              cli_up_command_t *command)
{
    const char *given[CLI_VALUES_MAX + 8];
    size_t count = cli_overrides(call, given);
    for (size_t k = 0; k < count; k++)
        add_option(command, "-o", given[k]);
    for (size_t k = 0; k < local->override_count; k++)
        add_option(command, "-o", local->overrides[k]);
}

static skn_status_t
list_arguments(const cli_call_t *call, const cli_up_local_t *local,
               const cli_up_node_t *node, cli_up_command_t *command,
               skn_error_t *error)
{
    char path[SKN_TEXT_MAX + SKN_NAME_MAX + 2];
    add(command, "node");
    add(command, node->name);
    add(command, call->operands[0]);
    add(command, "--json");
    add(command, "--leash");
    if (cli_flag(call, "resume"))
        add(command, "--resume");
    if (node->is_first && cli_bar_possible(call))
        add(command, "--progress");
    if (cli_flag(call, "report"))
        add(command, "--report");
    if (node->trace_origin_ns > 0) {
        (void)snprintf(command->origin, sizeof(command->origin), "%" PRIu64,
                       node->trace_origin_ns);
        add_option(command, "--trace-events", command->origin);
    }
    add_option(command, "--wait", cli_value(call, "wait"));
    add_option(command, "--predict", cli_value(call, "predict"));
    add_option(command, "-k", cli_value(call, "top"));
    add_overrides(call, local, command);
    if (!node->path)
        return SKN_OK;
    (void)snprintf(path, sizeof(path), "%s-%s", node->path, node->name);
    command->folder = skn_config_override("checkpoint.path", path, error);
    add_option(command, "-o", command->folder);
    return command->folder ? SKN_OK : error->status;
}

/* Writes the arguments as one line for the shell of another machine, with a
 * change to the same folder there, so that paths mean the same. */
static skn_status_t
write_line(cli_up_command_t *command, skn_error_t *error)
{
    size_t bytes = 0;
    char *here = getcwd(NULL, 0);
    FILE *file = here ? open_memstream(&command->line, &bytes) : NULL;
    if (!file) {
        free(here);
        return skn_fail(error, SKN_NO_MEMORY, "cannot make a command line: %s",
                        strerror(errno));
    }
    (void)fputs("cd ", file);
    skn_shell_quote(here, file);
    (void)fputs(" && exec", file);
    for (size_t k = 0; k < command->count; k++) {
        (void)fputc(' ', file);
        skn_shell_quote(command->argument[k], file);
    }
    free(here);
    return fclose(file) == 0
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY, "no memory for a command line");
}

static skn_status_t
wrap_in_ssh(const cli_call_t *call, const cli_up_node_t *node,
            cli_up_command_t *command, skn_error_t *error)
{
    const char *ssh = cli_value(call, "ssh");
    char *rest = NULL;
    skn_status_t status = write_line(command, error);
    if (status != SKN_OK)
        return status;
    command->words = strdup(ssh ? ssh : SSH_DEFAULT);
    if (!command->words)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a command line");
    command->count = 0;
    for (char *word = strtok_r(command->words, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        if (command->count == CLI_UP_ARGUMENTS_MAX - SSH_ARGUMENTS)
            return skn_fail(error, SKN_USAGE, "--ssh has more than %d words",
                            CLI_UP_ARGUMENTS_MAX - SSH_ARGUMENTS);
        add(command, word);
    }
    if (command->count == 0)
        return skn_fail(error, SKN_USAGE, "--ssh needs a program");
    add_option(command, "-o", "BatchMode=yes");
    add_option(command, "-o", SSH_PATIENCE);
    add(command, node->ssh);
    add(command, "--");
    add(command, command->line);
    return SKN_OK;
}

skn_status_t
cli_up_command(const cli_call_t *call, const cli_up_local_t *local,
               const cli_up_node_t *node, cli_up_command_t *command,
               skn_error_t *error)
{
    const char *remote = cli_value(call, "remote-program");
    *command = (cli_up_command_t){ 0 };
    skn_status_t status =
        node->ssh[0]
            ? SKN_OK
            : cli_self_path(command->self, sizeof(command->self), error);
    if (status != SKN_OK)
        return status;
    add(command, !node->ssh[0] ? command->self : remote ? remote : "skein");
    status = list_arguments(call, local, node, command, error);
    return status == SKN_OK && node->ssh[0]
               ? wrap_in_ssh(call, node, command, error)
               : status;
}

skn_status_t
cli_up_role_command(const cli_call_t *call, const cli_up_local_t *local,
                    const cli_up_node_t *node, const cli_up_role_t *role,
                    cli_up_command_t *command, skn_error_t *error)
{
    const char *remote = cli_value(call, "remote-program");
    bool is_member = strcmp(role->verb, "member") == 0;
    bool leads = strcmp(role->verb, "coordinator") == 0;
    *command = (cli_up_command_t){ 0 };
    skn_status_t status =
        node->ssh[0]
            ? SKN_OK
            : cli_self_path(command->self, sizeof(command->self), error);
    if (status == SKN_OK && role->path) {
        command->folder =
            skn_config_override("checkpoint.path", role->path, error);
        status = command->folder ? SKN_OK : error->status;
    }
    if (status != SKN_OK)
        return status;
    add(command, !node->ssh[0] ? command->self : remote ? remote : "skein");
    add(command, role->verb);
    if (is_member)
        add(command, node->name);
    add(command, role->file);
    add(command, "--json");
    if (is_member || leads)
        add(command, "--leash");
    if (is_member || leads)
        add(command, "--progress");
    if (is_member)
        add_option(command, "--patience", role->patience_s);
    if (leads && cli_value(call, "wait"))
        add_option(command, "--wait", cli_value(call, "wait"));
    add_overrides(call, local, command);
    add_option(command, "-o", command->folder);
    return node->ssh[0] ? wrap_in_ssh(call, node, command, error) : SKN_OK;
}

void
cli_up_command_fini(cli_up_command_t *command)
{
    free(command->line);
    free(command->words);
    free(command->folder);
    command->line = command->words = command->folder = NULL;
}
