/* member_worker.c - starts, reads and ends a member's worker for a generation.
 *
 * The worker is `skein node`.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/member/member_worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/events.h"
#include "cli/base/train_loop.h"
#include "cli/base/process.h"
#include "topology/cluster/held_list.h"
#include "formats/folder/folder.h"
#include "formats/checkpoint/held.h"
#include "formats/text/json_text.h"
#include "topology/config/document.h"
#include "topology/idle/idle_sample.h"
#include "transport/socket/clock.h"
#include "transport/socket/keys.h"

/* The time to wait for the other nodes of a generation: a node that is missing
 * then is dead. */
#define NODE_WAIT_S "30"
/* A worker that is asked to pause continues to the next marker if that takes no
 * longer than this (actors/course/course.c). An extra marker would change what
 * is trained, so with reduction `fixed` it continues however long that
 * takes. */
#define PATIENCE_S "2"
#define PATIENCE_FIXED_S "86400"
/* The depth of the process tree: `skein node` has a worker, which may have
 * children of its own. */
#define TREE_DEPTH 4
#define FOLDER_BYTES (SKN_TEXT_MAX + 2 * SKN_NAME_MAX)
#define WORKER_PATH_BYTES (FOLDER_BYTES + SKN_NAME_MAX + 8)

void
cli_worker_init(cli_worker_t *worker)
{
    *worker = (cli_worker_t){ .ended = true };
    worker->node.leash = -1;
    worker->node.out.descriptor = worker->node.err.descriptor = -1;
}

void
cli_worker_fini(cli_worker_t *worker)
{
    cli_up_fini(&worker->node);
}

/* --- the nodes of a generation -------------------------------------------- */

/* Saves the key file of a node in a folder of this node; our own file stays
 * beside its secret half. `path` is "" for a node without a key. */
static skn_status_t
save_key(const cli_worker_start_t *start, const skn_control_node_t *node,
         char *path, size_t path_bytes, skn_error_t *error)
{
    char folder[FOLDER_BYTES];
    int descriptor = -1;
    path[0] = '\0';
    if (!skn_name_good(node->name))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "start: '%.64s' cannot be the name of a node",
                        node->name);
    if (!node->key[0])
        return SKN_OK;
    if (strcmp(node->name, start->node->name) == 0) {
        (void)snprintf(path, path_bytes, "%s", start->node->key);
        return SKN_OK;
    }
    (void)snprintf(folder, sizeof(folder), "%s.keys", start->folder);
    (void)snprintf(path, path_bytes, "%s/%s.key", folder, node->name);
    skn_status_t status = skn_folder_create(folder, &descriptor, error);
    if (descriptor >= 0)
        (void)close(descriptor);
    return status == SKN_OK
               ? skn_key_save_public(path, node->name, node->key, error)
               : status;
}

/* Makes nodes=[...], to be freed by the caller: the records of the message, in
 * JSON, which YAML contains, with the paths of the keys. The first node
 * leads. */
static char *
nodes_override(const cli_worker_start_t *start, const json_t *list,
               bool *is_leader, skn_error_t *error)
{
    char path[WORKER_PATH_BYTES];
    size_t k;
    const json_t *item;
    json_t *nodes = json_array();
    skn_status_t status = SKN_OK;
    *is_leader = false;
    json_array_foreach(list, k, item)
    {
        skn_control_node_t node;
        if (status == SKN_OK)
            status = skn_json_record_read(&skn_control_node_record, item, &node,
                                          error);
        if (status == SKN_OK)
            status = save_key(start, &node, path, sizeof(path), error);
        if (status != SKN_OK)
            break;
        *is_leader =
            *is_leader || (k == 0 && strcmp(node.name, start->node->name) == 0);
        node.key = path;
        (void)json_array_append_new(
            nodes, skn_json_record_write(&skn_control_node_record, &node));
    }
    char *json = status == SKN_OK ? skn_json_write(nodes, JSON_COMPACT) : NULL;
    size_t bytes = sizeof("nodes=") + (json ? strlen(json) : 0);
    char *text = json ? malloc(bytes) : NULL;
    if (text)
        (void)snprintf(text, bytes, "nodes=%s", json);
    else if (status == SKN_OK)
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for the nodes");
    free(json);
    json_decref(nodes);
    return text;
}

/* --- its command line ----------------------------------------------------- */

typedef struct worker_line {
    char *argument[CLI_UP_ARGUMENTS_MAX];
    size_t count;
} worker_line_t;

static void
add(worker_line_t *line, const char *text)
{
    assert(line->count + 1 <
           sizeof(line->argument) / sizeof(line->argument[0]));
    line->argument[line->count++] = (char *)(uintptr_t)text;
    line->argument[line->count] = NULL;
}

static void
add_two(worker_line_t *line, const char *option, const char *value)
{
    add(line, option);
    add(line, value);
}

static skn_status_t
exec_worker(cli_worker_t *worker, const cli_worker_start_t *start,
            const skn_control_start_t *message, const char *nodes,
            skn_error_t *error)
{
    char self[4096], number[32], copies[64];
    char from[64] = "none";
    worker_line_t line = { .count = 0 };
    if (cli_self_path(self, sizeof(self), error) != SKN_OK)
        return error->status;
    if (message->saved)
        (void)snprintf(from, sizeof(from), "%" PRIu64 "-g%" PRIu64,
                       message->batch, message->layout);
    char *path = skn_override_of("checkpoint.path", start->folder, error);
    if (!path)
        return error->status;
    (void)snprintf(copies, sizeof(copies), "checkpoint.copies=%d",
                   SKN_COPIES_MIN);
    (void)snprintf(number, sizeof(number), "%" PRIu64, worker->generation);
    add(&line, self);
    add_two(&line, "node", start->node->name);
    add(&line, start->call->operands[1]);
    add(&line, "--json");
    add(&line, "--leash");
    add(&line, "--lease");
    add(&line, "--progress");
    add(&line, "--resume");
    add_two(&line, "--wait", NODE_WAIT_S);
    add_two(&line, "--patience",
            cli_value(start->call, "patience")
                ? cli_value(start->call, "patience")
            : start->model->train.reduction == SKN_REDUCTION_FIXED
                ? PATIENCE_FIXED_S
                : PATIENCE_S);
    add_two(&line, "--run", message->run);
    add_two(&line, "--generation", number);
    add_two(&line, "--from", from);
    for (size_t k = 0; cli_value_at(start->call, "override", k); k++)
        add_two(&line, "-o", cli_value_at(start->call, "override", k));
    add_two(&line, "-o", nodes);
    add_two(&line, "-o", path);
    if (start->model->checkpoint.copies < SKN_COPIES_MIN)
        add_two(&line, "-o", copies);
    skn_status_t status = cli_up_start(&worker->node, line.argument, error);
    free(path);
    return status;
}

/* Refuses a folder of another run: the worker would continue that run. */
static skn_status_t
check_folder(const char *folder, const char *run, skn_error_t *error)
{
    skn_error_t nothing = { 0 };
    skn_run_folder_t *found = skn_run_folder_open_read_only(folder, &nothing);
    bool other = found && strcmp(skn_run_folder_id(found), run) != 0;
    skn_run_folder_close(&found);
    if (!other)
        return SKN_OK;
    return skn_fail_hint(
        error,
        skn_fail(error, SKN_CANNOT_CREATE, "%.400s holds another run", folder),
        "give another checkpoint.path, or move that folder away; if the "
        "coordinator lost its journal, restore that");
}

skn_status_t
cli_worker_begin(cli_worker_t *worker, const cli_worker_start_t *start,
                 const skn_control_start_t *message, skn_error_t *error)
{
    const char *manifest = message->manifest;
    const char *run = message->run;
    skn_status_t (*take)(const char *, const char *, uint64_t, uint64_t,
                         const char *, size_t, skn_error_t *) =
        message->composed ? skn_held_compose : skn_held_adopt;
    skn_status_t status = SKN_OK;
    const uint64_t cpu_ns = worker->cpu_before_ns + worker->cpu_ns;
    const uint64_t sent_bytes = worker->sent_before_bytes + worker->sent_bytes;
    cli_up_fini(&worker->node);
    cli_worker_init(worker);
    worker->cpu_before_ns = cpu_ns;
    worker->sent_before_bytes = sent_bytes;
    worker->call = start->call;
    worker->bar = start->bar;
    worker->model = start->model;
    worker->generation = message->generation;
    worker->batch = message->batch;
    (void)snprintf(worker->name, sizeof(worker->name), "%s", start->node->name);
    worker->node.name = worker->name;
    worker->node.ssh = "";
    worker->node.must_die_with_us = true;
    if (!skn_hash_text_good(run)) /* the same form: 32 hex digits */
        status = skn_fail(error, SKN_BAD_MESSAGE,
                          "start: the id of the run is malformed");
    if (status == SKN_OK)
        status = check_folder(start->folder, run, error);
    if (status == SKN_OK && manifest[0])
        status = take(start->folder, run, message->batch, message->layout,
                      manifest, strlen(manifest), error);
    if (status != SKN_OK)
        return status;
    char *nodes =
        nodes_override(start, message->nodes, &worker->is_leader, error);
    if (!nodes)
        return error->status;
    status = exec_worker(worker, start, message, nodes, error);
    free(nodes);
    worker->ended = status != SKN_OK;
    if (worker->node.leash >= 0)
        (void)fcntl(worker->node.leash, F_SETFL, O_NONBLOCK);
    return status;
}

/* --- its output ----------------------------------------------------------- */

bool
cli_worker_repeats(const char *name)
{
    static const char *const names[] = { "start", "resume", "joined", "waiting",
                                         "link",  "links",  "stopped" };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    return false;
}

static bool
is_for_people(const cli_worker_t *worker, const char *name)
{
    if (strcmp(name, "warning") == 0 || strcmp(name, "idle") == 0 ||
        strcmp(name, "stuck") == 0)
        return true;
    if (!worker->is_leader || strcmp(name, "traffic") == 0 ||
        strcmp(name, "load") == 0)
        return false;
    if (strcmp(name, "progress") == 0)
        return worker->call->json ? cli_flag(worker->call, "progress")
                                  : cli_bar_possible(worker->call);
    if (worker->call->json)
        return true;
    /* After a worker has stopped, the run continues by itself. */
    return strcmp(name, "stopped") != 0 &&
           (worker->generation <= 1 || !cli_worker_repeats(name));
}

static void
take_event(void *job, cli_up_node_t *node, char *line)
{
    cli_worker_t *worker = job;
    json_t *event = json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    double batch = skn_json_number(event, "batch");
    double busy_s = skn_json_number(event, "busy_s");
    node->spoke = node->spoke || event;
    if (strcmp(name, "traffic") == 0)
        worker->sent_bytes = (uint64_t)skn_json_number(event, "bytes_sent");
    if (busy_s > 0)
        worker->busy_ns = (uint64_t)(busy_s * 1e9);
    if (strcmp(name, "load") == 0) {
        worker->load_us = (uint64_t)skn_json_number(event, "busy_us");
        worker->load_at_us = (uint64_t)skn_json_number(event, "at_us");
    }
    if (strcmp(name, "error") == 0) {
        cli_up_keep_error(node, event);
    } else if (event) {
        worker->done = worker->done || strcmp(name, "done") == 0;
        worker->stopped = worker->stopped || strcmp(name, "stopped") == 0;
        worker->noticed =
            worker->noticed ||
            (strcmp(name, "idle") == 0 &&
             strcmp(skn_json_word(event, "action"), "leave") == 0);
        if (strcmp(name, "idle") == 0 &&
            strcmp(skn_json_word(event, "action"), "memory") == 0)
            worker->crowded = json_is_true(json_object_get(event, "needed"));
        if (strcmp(name, "silent") == 0)
            worker->misses = skn_control_node_set(
                worker->model, json_object_get(event, "peers"));
        if (strcmp(name, "progress") == 0 && batch > 0)
            worker->batch = (uint64_t)batch;
        if (strcmp(name, "checkpoint") == 0 && batch > 0)
            worker->saved_batch = worker->batch = (uint64_t)batch;
        if (is_for_people(worker, name))
            cli_event_print(worker->call, line, worker->bar, NULL);
    }
    json_decref(event);
}

static void
take_complaint(void *job, cli_up_node_t *node, char *line)
{
    cli_worker_t *worker = job;
    if (strncmp(line, "skein:", 6) == 0 || strncmp(line, "hint:", 5) == 0)
        return; /* there is also an event for it */
    (void)snprintf(node->last, sizeof(node->last), "%s", line);
    cli_bar_hide(worker->bar);
    (void)fprintf(stderr, "[%s] %s\n", node->name, line);
}

/* --- what it uses --------------------------------------------------------- */

static size_t
read_file(const char *path, char *text, size_t text_bytes)
{
    FILE *file = fopen(path, "re");
    size_t count = file ? fread(text, 1, text_bytes - 1, file) : 0;
    if (file)
        (void)fclose(file);
    text[count] = '\0';
    return count;
}

/* The CPU time of a process and everything that it has started. */
static uint64_t
cpu_ticks(long process, int depth)
{
    char path[64], text[1024], *at, *end;
    skn_idle_task_t task;
    uint64_t ticks = 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", process);
    if (read_file(path, text, sizeof(text)) > 0 &&
        skn_idle_task_read(text, &task))
        ticks = task.ticks;
    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", process,
                   process);
    if (depth == 0 || read_file(path, text, sizeof(text)) == 0)
        return ticks;
    for (at = text;; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at)
            return ticks;
        ticks += cpu_ticks(child, depth - 1);
    }
}

void
cli_worker_look(cli_worker_t *worker)
{
    long per_s = sysconf(_SC_CLK_TCK);
    if (worker->node.process <= 0 || per_s <= 0)
        return;
    uint64_t cpu_ns = cpu_ticks(worker->node.process, TREE_DEPTH) *
                      (1000000000u / (uint64_t)per_s);
    if (cpu_ns > worker->cpu_ns) /* killed children are not counted */
        worker->cpu_ns = cpu_ns;
}

/* --- its end -------------------------------------------------------------- */

bool
cli_worker_lives(const cli_worker_t *worker)
{
    return worker->node.process > 0;
}

void
cli_worker_feed(const cli_worker_t *worker, uint64_t until_ns)
{
    /* A failure is ignored: a worker that does not read its lease loses it. */
    if (worker->node.leash >= 0)
        (void)!write(worker->node.leash, &until_ns, sizeof(until_ns));
}

static void
read_all(cli_worker_t *worker)
{
    if (worker->node.out.descriptor >= 0)
        (void)cli_up_read(&worker->node.out, &worker->node, take_event, worker);
    if (worker->node.err.descriptor >= 0)
        (void)cli_up_read(&worker->node.err, &worker->node, take_complaint,
                          worker);
}

static void
bury(cli_worker_t *worker)
{
    cli_up_node_t *node = &worker->node;
    node->process = 0;
    node->failed = !WIFEXITED(node->status) || WEXITSTATUS(node->status) != 0;
    cli_up_stop(node);
    if (!node->failed || node->error.status != SKN_OK)
        return;
    if (WIFSIGNALED(node->status))
        (void)skn_fail(&node->error, SKN_INTERNAL,
                       "the worker was killed by signal %d (%s)",
                       WTERMSIG(node->status),
                       strsignal(WTERMSIG(node->status)));
    else
        (void)skn_fail(&node->error, SKN_INTERNAL,
                       "the worker ended with exit code %d and gave no reason",
                       WEXITSTATUS(node->status));
}

bool
cli_worker_turn(cli_worker_t *worker)
{
    cli_up_node_t *node = &worker->node;
    read_all(worker);
    if (worker->break_ns > 0 && skn_monotonic_ns() >= worker->break_ns)
        cli_worker_kill(worker);
    if (node->process > 0 && worker->done)
        cli_worker_look(worker); /* sample now: it will end soon */
    if (node->process > 0 &&
        waitpid(node->process, &node->status, WNOHANG) == node->process) {
        bury(worker);
        read_all(worker); /* the rest of its output */
    }
    if (worker->ended || node->process > 0)
        return false;
    worker->ended = true;
    return true;
}

const char *
cli_worker_ending(const cli_worker_t *worker)
{
    return worker->node.failed ? "failed"
           : worker->done      ? "done"
           : worker->stopped   ? "stopped"
                               : "well";
}

/* Records that the worker was stopped with its generation, not by its own
 * failure. */
static void
end_with_others(cli_worker_t *worker)
{
    cli_worker_look(worker);
    if (worker->node.error.status == SKN_OK)
        (void)skn_fail(&worker->node.error, SKN_UNAVAILABLE,
                       "was stopped with its generation");
}

void
cli_worker_break(cli_worker_t *worker)
{
    if (worker->node.process <= 0 || worker->break_ns > 0)
        return;
    end_with_others(worker);
    worker->break_ns = skn_monotonic_ns() + CLI_WORKER_SALVAGE_MS * 1000000ull;
    cli_worker_feed(worker, CLI_LEASE_BREAK);
}

void
cli_worker_kill(cli_worker_t *worker)
{
    cli_up_node_t *node = &worker->node;
    if (node->process <= 0)
        return;
    end_with_others(worker);
    cli_up_kill(node, SIGKILL);
    cli_process_wait(node->process, &node->status);
    bury(worker);
    read_all(worker);
}
