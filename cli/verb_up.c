/* verb_up.c - skein up: starts and watches all nodes of a model from one place.
 *
 * The first node's events are those of the run, and are printed as `train`
 * prints its own; of the other nodes only warnings are printed. When a node
 * fails, the others learn it over their links and fail with the same error;
 * only the first error is printed, and its exit code is ours.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/events.h"
#include "cli/base/process.h"
#include "cli/base/read_config.h"
#include "cli/base/stop.h"
#include "cli/base/supervise.h"
#include "cli/base/trainer.h"
#include "cli/up/up.h"
#include "cli/elastic/up_elastic.h"
#include "cli/up/up_report.h"
#include "cli/base/verbs.h"
#include "formats/text/json_text.h"

/* The time for the other nodes to report an end after one node has failed.
 * Nodes that it never joined cannot know of it, so they get less time. */
#define UP_FAREWELL_MS 15000
#define STRANGERS_MS 1000
/* The time for the other nodes to end after the first one. If it finds that a
 * run is over, they would still wait for it to join them. */
#define FOLLOW_MS 1000

typedef struct up {
    const cli_call_t *call;
    cli_call_t kept; /* the call with the file that standard input became */
    skn_config_t *config;
    cli_up_local_t local;
    cli_up_node_t nodes[SKN_CLUSTER_NODES_MAX];
    uint32_t count;
    cli_bar_t bar;
    cli_up_report_t report;
    cli_stop_t stop;
    bool failing, alone;     /* a node failed; it had joined no other node */
    bool unread;             /* standard output has no reader */
    bool done, stopped;      /* what the first node reported */
    cli_event_run_t run;     /* the run, as the first node reports it */
    char path[SKN_TEXT_MAX]; /* its folder */
} up_t;

static skn_status_t
start_node(up_t *up, cli_up_node_t *node, skn_error_t *error)
{
    cli_up_command_t command = { 0 };
    node->trace_origin_ns = up->report.trace ? up->report.origin_ns : 0;
    skn_status_t status =
        cli_up_command(up->call, &up->local, node, &command, error);
    if (status == SKN_OK)
        status = cli_up_start(node, command.argument, error);
    cli_up_command_fini(&command);
    return status;
}

/* --- output of nodes ----------------------------------------------------- */

static void
print_complaint(up_t *up, const cli_up_node_t *node, const char *line)
{
    cli_bar_hide(&up->bar);
    (void)fprintf(stderr, "[%s] %s\n", node->name, line);
}

/* Removes the keys once every node has joined another one and so has read its
 * keys, in the last network: if this process were killed later, no secrets
 * would be left. */
static void
forget_keys(up_t *up)
{
    if (up->run.network < up->run.network_count)
        return;
    for (uint32_t k = 0; k < up->count; k++)
        if (!up->nodes[k].joined)
            return;
    cli_up_local_forget(&up->local);
}

static void
tell_stop(up_t *up, const json_t *event, const char *line)
{
    if (json_object_get(event, "batch") || json_object_get(event, "path")) {
        cli_event_print(up->call, line, &up->bar, &up->run);
        return;
    }
    cli_bar_hide(&up->bar);
    cli_tell_early_end(up->call, json_is_true(json_object_get(event, "begun")));
    (void)fflush(stdout);
}

/* Keeps what later sentences, and the end, need of the first node's events. */
static void
follow_first(up_t *up, const json_t *event, const char *name)
{
    cli_event_run_t *run = &up->run;
    bool is_network = strcmp(name, "network") == 0;
    if (is_network || (strcmp(name, "start") == 0 && run->network_count == 0))
        (void)snprintf(up->path, sizeof(up->path), "%s",
                       skn_json_word(event, is_network ? "whole" : "path"));
    if (is_network) {
        run->network = (uint32_t)skn_json_number(event, "network");
        run->network_count = (uint32_t)skn_json_number(event, "of");
        for (uint32_t k = 0; k < up->count; k++)
            up->nodes[k].joined = false; /* they will read their keys again */
    }
    run->is_joined = run->is_joined || strcmp(name, "join") == 0;
    run->is_trained = run->has_network && run->network == run->network_count;
    if (strcmp(name, "done") == 0)
        up->done = run->network_count == 0 || run->is_joined;
}

static void
take_event(void *job, cli_up_node_t *node, char *line)
{
    up_t *up = job;
    if (cli_up_report_trace(&up->report, line))
        return;
    json_t *event = json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    if (event && !node->spoke && node->last[0])
        print_complaint(up, node, node->last);
    node->spoke = node->spoke || event;
    if (node->is_first)
        follow_first(up, event, name);
    if (!node->joined && strcmp(name, "joined") == 0) {
        node->joined = true;
        forget_keys(up);
    }
    up->stopped = up->stopped || strcmp(name, "stopped") == 0;
    if (strcmp(name, "error") == 0)
        cli_up_keep_error(node, event);
    else if (node->is_first && strcmp(name, "stopped") == 0 && !up->call->json)
        tell_stop(up, event, line);
    else if (cli_up_report_take(&up->report, (size_t)(node - up->nodes), event,
                                line))
        cli_bar_hide(&up->bar);
    else if (node->is_first || strcmp(name, "warning") == 0 ||
             cli_event_actor_waits(event) ||
             (up->call->json &&
              (strcmp(name, "link") == 0 || strcmp(name, "links") == 0)))
        cli_event_print(up->call, line, &up->bar,
                        node->is_first ? &up->run : NULL);
    json_decref(event);
}

/* Prints a line of standard error, except errors, which are also events. What
 * ssh prints before its node starts may be why the node sends no events, so it
 * is kept. */
static void
take_complaint(void *job, cli_up_node_t *node, char *line)
{
    up_t *up = job;
    if (strncmp(line, "skein:", 6) == 0 || strncmp(line, "hint:", 5) == 0)
        return;
    (void)snprintf(node->last, sizeof(node->last), "%.*s",
                   (int)strcspn(line, "\r"), line);
    if (!node->ssh[0] || node->spoke)
        print_complaint(up, node, line);
}

/* --- how nodes end ------------------------------------------------------- */

static void
fail_of_signal(cli_up_node_t *node)
{
    int number = WTERMSIG(node->status);
    (void)skn_fail(&node->error, SKN_UNAVAILABLE,
                   "was killed by signal %d (%s)", number, strsignal(number));
    (void)skn_fail_hint(&node->error, SKN_UNAVAILABLE,
                        "continue from the last checkpoint with --resume");
}

/* ssh returns the exit code of the command, or 255; shells return 126 and 127
 * for a program that they cannot start. */
static void
fail_of_ssh(cli_up_node_t *node)
{
    int code = WEXITSTATUS(node->status);
    if (node->last[0])
        (void)skn_fail(&node->error, SKN_UNAVAILABLE, "ssh %.80s: %.300s",
                       node->ssh, node->last);
    else
        (void)skn_fail(&node->error, SKN_UNAVAILABLE,
                       "ssh %.80s ended with exit code %d and no message",
                       node->ssh, code);
    if (code == 126 || code == 127)
        (void)skn_fail_hint(&node->error, SKN_UNAVAILABLE,
                            "install skein there, or give its path: "
                            "--remote-program PATH");
    else if (code != 255)
        (void)skn_fail_hint(&node->error, SKN_UNAVAILABLE,
                            "the folder that `up` runs in must be there, too");
    else if (node->spoke)
        (void)skn_fail_hint(&node->error, SKN_UNAVAILABLE,
                            "the node was killed there, or the connection is "
                            "gone; continue with --resume");
    else
        (void)skn_fail_hint(&node->error, SKN_UNAVAILABLE,
                            "`ssh %.80s true` must work without a prompt; set "
                            "ports and keys in ~/.ssh/config, or give --ssh "
                            "COMMAND",
                            node->ssh);
}

static void
bury(up_t *up, cli_up_node_t *node)
{
    node->process = 0;
    node->failed = !node->cut &&
                   (!WIFEXITED(node->status) || WEXITSTATUS(node->status) != 0);
    cli_up_stop(node);
    if (!node->failed)
        return;
    if (WIFSIGNALED(node->status) && node->error.status == SKN_OK)
        fail_of_signal(node);
    else if (node->ssh[0] && node->error.status == SKN_OK)
        fail_of_ssh(node);
    up->failing = true;
    up->alone = up->alone || !node->joined;
}

static void
wait_for_dead(up_t *up)
{
    for (uint32_t k = 0; k < up->count; k++) {
        cli_up_node_t *node = &up->nodes[k];
        if (node->process > 0 &&
            waitpid(node->process, &node->status, WNOHANG) == node->process)
            bury(up, node);
    }
}

static void
take_signals(up_t *up)
{
    cli_stop_news_t news = cli_stop_take(&up->stop);
    if (news == CLI_STOP_ASKED)
        cli_up_stop(&up->nodes[0]); /* it stops the others */
    if (news != CLI_STOP_AT_ONCE)
        return;
    for (uint32_t k = 0; k < up->count; k++) {
        cli_up_stop(&up->nodes[k]); /* over ssh, the leash ends it */
        cli_up_kill(&up->nodes[k], SIGKILL);
    }
}

/* Stops the run when standard output has no reader (`skein up ... | head`). */
static void
stop_unread(up_t *up)
{
    if (up->unread || !cli_output_unread())
        return;
    up->unread = true;
    cli_up_stop(&up->nodes[0]);
}

static uint32_t
alive(const up_t *up)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < up->count; k++)
        count += up->nodes[k].process > 0 || up->nodes[k].out.descriptor >= 0 ||
                 up->nodes[k].err.descriptor >= 0;
    return count;
}

static void
listen_once(up_t *up, int timeout_ms)
{
    struct pollfd polled[2 * SKN_CLUSTER_NODES_MAX + 1];
    assert(up->count <= SKN_CLUSTER_NODES_MAX);
    for (uint32_t k = 0; k < up->count; k++) {
        polled[2 * k] =
            (struct pollfd){ up->nodes[k].out.descriptor, POLLIN, 0 };
        polled[2 * k + 1] =
            (struct pollfd){ up->nodes[k].err.descriptor, POLLIN, 0 };
    }
    polled[2 * up->count] = (struct pollfd){ up->stop.descriptor, POLLIN, 0 };
    (void)poll(polled, 2 * up->count + 1, timeout_ms);
    for (uint32_t k = 0; k < up->count; k++) {
        cli_up_node_t *node = &up->nodes[k];
        if (node->out.descriptor >= 0 && polled[2 * k].revents)
            (void)cli_up_read(&node->out, node, take_event, up);
        if (node->err.descriptor >= 0 && polled[2 * k + 1].revents)
            (void)cli_up_read(&node->err, node, take_complaint, up);
    }
    take_signals(up);
    stop_unread(up);
    wait_for_dead(up);
}

/* Waits until all nodes have ended. Nodes that do not end after the first one
 * are asked to stop, and nodes that do not end after a failed one are
 * killed. */
static void
watch(up_t *up)
{
    int waited_ms = 0, step_ms = 200;
    while (alive(up) > 0) {
        listen_once(up, step_ms);
        if (up->nodes[0].process > 0 && !up->failing)
            continue;
        waited_ms += step_ms; /* a lower bound: a turn may be shorter */
        for (uint32_t k = 0; k < up->count; k++)
            if (waited_ms >= FOLLOW_MS && !up->failing)
                cli_up_stop(&up->nodes[k]);
        if (waited_ms < (up->alone ? STRANGERS_MS : UP_FAREWELL_MS))
            continue;
        for (uint32_t k = 0; k < up->count; k++) {
            up->nodes[k].cut = up->nodes[k].process > 0;
            cli_up_kill(&up->nodes[k], SIGKILL);
        }
    }
}

/* --- the result ---------------------------------------------------------- */

/* Whether a node's error only repeats another node's. */
static bool
is_echo(const cli_up_node_t *node)
{
    return strncmp(node->error.text, "node '", 6) == 0;
}

static int
report(up_t *up)
{
    const cli_up_node_t *blamed = NULL;
    for (uint32_t k = 0; k < up->count; k++) {
        const cli_up_node_t *node = &up->nodes[k];
        if (node->failed && (!blamed || (is_echo(blamed) && !is_echo(node))))
            blamed = node;
    }
    if (!blamed) {
        bool asked = up->stop.asked_by != 0;
        bool over = up->unread || up->done;
        if (asked && !over && !up->stopped)
            cli_tell_early_end(up->call, false);
        return cli_requeue(up->call, 0, !over && (asked || up->stopped));
    }
    skn_error_t error = blamed->error;
    if (error.status == SKN_OK)
        (void)skn_fail(&error, SKN_UNAVAILABLE,
                       "ended with exit code %d and gave no reason",
                       WEXITSTATUS(blamed->status));
    skn_error_t named = { .status = error.status };
    (void)snprintf(named.text, sizeof(named.text), "%s%s%s%.400s",
                   is_echo(blamed) ? "" : "node '",
                   is_echo(blamed) ? "" : blamed->name,
                   is_echo(blamed) ? "" : "': ", error.text);
    memcpy(named.hint, error.hint, sizeof(named.hint));
    if (cli_stop_insisted(&up->stop))
        return CLI_STOP_INSISTED;
    return cli_report(up->call, &named);
}

/* --- the verb ------------------------------------------------------------ */

static skn_status_t
make_local(up_t *up, skn_error_t *error)
{
    uint32_t count = 0, wait_s = 0; /* only checked here; the nodes use it */
    skn_status_t status =
        cli_count(up->call, "wait", CLI_WAIT_S_MAX, &wait_s, error);
    if (status == SKN_OK)
        status = cli_requeue_check(up->call, error);
    if (status == SKN_OK)
        status = cli_count(up->call, "local-nodes", SKN_CLUSTER_NODES_MAX,
                           &count, error);
    /* Nodes that predict need no coordinator. */
    up->local.elastic =
        cli_flag(up->call, "elastic") && !cli_value(up->call, "predict");
    return status == SKN_OK && count > 0
               ? cli_up_local_open(&up->local, count, error)
               : status;
}

static skn_status_t
list_nodes(up_t *up, skn_error_t *error)
{
    const skn_config_info_t info = cli_config_info(up->config);
    const char *path = cli_config_value(up->config, "checkpoint.path");
    if (info.node_count == 0)
        return skn_fail_hint(error,
                             skn_fail(error, SKN_USAGE, "%s has no nodes",
                                      up->call->operands[0]),
                             "list them under nodes:, or give --local-nodes N");
    for (uint32_t k = 0; k < info.node_count; k++) {
        cli_up_node_t *node = &up->nodes[up->count++];
        node->name = info.nodes[k];
        node->ssh = cli_config_ssh(up->config, node->name);
        node->is_first = k == 0;
        /* Each node has its own folder, here and elsewhere. */
        if (info.keeps_parts && !node->ssh[0] && k > 0 && path[0] &&
            !cli_value(up->call, "predict"))
            node->path = path;
        node->leash = node->out.descriptor = node->err.descriptor = -1;
    }
    return SKN_OK;
}

static skn_status_t
read_config(up_t *up, skn_error_t *error)
{
    up->config = cli_config_load(
        up->call, 0,
        (skn_config_options_t){
            .sort = SKN_CONFIG_IS_MODEL,
            .overrides = (const char *const *)up->local.overrides,
            .override_count = (uint32_t)up->local.override_count },
        error);
    if (!up->config)
        return error->status;
    const char *source = cli_config_info(up->config).source;
    if (strcmp(up->call->operands[0], "-") == 0 && source[0] == '/') {
        up->kept = *up->call;
        up->kept.operands[0] = source;
        up->call = &up->kept;
    }
    return SKN_OK;
}

/* Checks options that depend on the file, which decides whether a run is
 * elastic: an elastic run, whose nodes come and go, has no joint report. */
static skn_status_t
check_mode(const up_t *up, skn_error_t *error)
{
    static const char *const view[] = { "plain", "notes" };
    static const char *const whole[] = { "report", "trace" };
    bool elastic = cli_config_value(up->config, "coordinator.address")[0];
    for (size_t k = 0; k < sizeof(view) / sizeof(view[0]); k++)
        if (!elastic && cli_flag(up->call, view[k]))
            return skn_fail_hint(
                error,
                skn_fail(error, SKN_USAGE,
                         "--%s is for runs whose nodes come and go", view[k]),
                "give --elastic with --local-nodes, or `coordinator:` in the "
                "file");
    for (size_t k = 0; k < sizeof(whole) / sizeof(whole[0]); k++)
        if (elastic && cli_flag(up->call, whole[k]))
            return skn_fail_hint(
                error,
                skn_fail(error, SKN_USAGE, "--%s is for runs whose nodes stay",
                         whole[k]),
                "leave it out, or run without --elastic and `coordinator:`");
    if (elastic && cli_flag(up->call, "resume") &&
        !cli_config_value(up->config, "checkpoint.path")[0])
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "--resume needs to know which run to continue"),
            "give -o checkpoint.path=FOLDER");
    return SKN_OK;
}

/* True if all nodes are on this machine. */
static bool
is_one_machine(const up_t *up)
{
    for (uint32_t k = 0; k < up->count; k++)
        if (up->nodes[k].ssh[0])
            return false;
    return true;
}

static int
work(up_t *up)
{
    skn_error_t error = { 0 };
    cli_output_outlive();
    skn_status_t status = cli_stop_open(&up->stop, &error);
    if (status == SKN_OK)
        status = make_local(up, &error);
    if (status == SKN_OK)
        status = read_config(up, &error);
    if (status == SKN_OK && skn_config_problem(up->config, 0))
        return cli_config_report(up->call, up->config);
    if (status == SKN_OK)
        status = list_nodes(up, &error);
    if (status == SKN_OK)
        status = check_mode(up, &error);
    if (status == SKN_OK &&
        cli_config_value(up->config, "coordinator.address")[0] &&
        !cli_value(up->call, "predict"))
        return cli_up_elastic(up->call, up->config, &up->local);
    if (status == SKN_OK)
        status = cli_up_report_open(&up->report, up->call, &error);
    cli_bar_init(&up->bar, up->call);
    up->run.path = up->path;
    up->run.is_named = cli_config_value(up->config, "checkpoint.path")[0];
    for (uint32_t k = 0; k < up->count && status == SKN_OK; k++)
        status = start_node(up, &up->nodes[k], &error);
    if (status != SKN_OK)
        for (uint32_t k = 0; k < up->count; k++)
            cli_up_kill(&up->nodes[k], SIGKILL);
    watch(up);
    cli_bar_hide(&up->bar);
    cli_up_report_print(&up->report, is_one_machine(up));
    return status == SKN_OK ? report(up) : cli_report(up->call, &error);
}

static int
up_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    up_t *up = calloc(1, sizeof(*up));
    if (!up) {
        (void)skn_fail(&error, SKN_NO_MEMORY, "no memory for the nodes");
        return cli_report(call, &error);
    }
    up->call = call;
    up->stop = (cli_stop_t){ .json = call->json,
                             .doing = "saving a checkpoint",
                             .insisting = "quit without saving",
                             .descriptor = -1 };
    int code = work(up);
    bool unread = up->unread && code == 0;
    for (uint32_t k = 0; k < up->count; k++)
        cli_up_fini(&up->nodes[k]);
    cli_up_local_close(&up->local);
    cli_up_report_close(&up->report);
    skn_config_destroy(&up->config);
    cli_stop_close(&up->stop);
    free(up);
    return unread ? cli_output_end_unread() : code;
}

static const cli_option_t options[] = {
    CLI_MODEL_OPTIONS,
    { "local-nodes", 0, "N",
      "N nodes of this machine, with keys of their own" },
    { "elastic", 0, NULL, "--local-nodes that may die, leave and come back" },
    { "plain", 0, NULL, "with --elastic: print lines, also on a terminal" },
    { "notes", 0, "FILE",
      "with --elastic: show new lines of FILE in the "
      "view" },
    { "report", 0, NULL, "print at the end where the time went, per node" },
    { "trace", 0, "FILE", "write a trace of all nodes, for Chrome / Perfetto" },
    { "resume", 0, NULL, "continue the run in checkpoint.path" },
    CLI_PREDICT_OPTIONS,
    { "wait", 0, "SECONDS", "longest wait for all nodes (120)" },
    CLI_REQUEUE_OPTION,
    { "ssh", 0, "COMMAND", "replaces ssh, such as 'ssh -F file'" },
    { "remote-program", 0, "PATH",
      "path of skein on the `ssh:` machines "
      "(skein)" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_up = {
    .name = "up",
    .help = "train a model on all of its nodes",
    .operands = "FILE...",
    .operands_min = 1,
    .operands_max = 1,
    .several = 1,
    .options = options,
    .description =
        "Starts every node that the model file lists: here, or over ssh where\n"
        "it has `ssh:` (the same folder must be there, and ssh must log in\n"
        "without a prompt). Its output is that of `train`. With --local-nodes\n"
        "any model file is run on N nodes of this machine, which share its\n"
        "cores and connect over loopback.\n"
        "With --predict DATA nothing is trained: the best model of the run in\n"
        "checkpoint.path, or its newest, ranks all labels for each point of\n"
        "DATA, and every node holds its share of the model; this works with\n"
        "--elastic, too. DATA is a data file, the same on all nodes, like the\n"
        "model's own. Where the file has `coordinator:`, or with --elastic,\n"
        "nodes may die, leave and come back while the run continues: see\n"
        "docs/tasks/elastic.md.\n"
        "Ctrl-C, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU save a\n"
        "checkpoint and stop; a second Ctrl-C stops at once.",
    .run = up_run,
};
