/* member_worker.c - starts, reads and ends a member's worker for a generation.
 *
 * The worker is `skein node`.  SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/member_worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/checkpoint/held.h"
#include "formats/folder/folder.h"
#include "formats/text/json_text.h"
#include "skein/member.h"
#include "topology/cluster/held_list.h"
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
#define PATIENCE_S 2u
#define PATIENCE_FIXED_S 86400u
/* The depth of the process tree: `skein node` has a worker, which may have
 * children of its own. */
#define TREE_DEPTH 4
#define FOLDER_BYTES (SKN_TEXT_MAX + 2 * SKN_NAME_MAX)
#define WORKER_PATH_BYTES (FOLDER_BYTES + SKN_NAME_MAX + 8)

void
skn_worker_init(skn_worker_t *worker, const skn_worker_settings_t *settings)
{
    *worker = (skn_worker_t){ .settings = settings, .ended = true };
    skn_worker_process_init(&worker->process);
}

void
skn_worker_fini(skn_worker_t *worker)
{
    skn_worker_process_fini(&worker->process);
}

/* --- the nodes of a generation -------------------------------------------- */

/* Saves the key file of a node in a folder of this node; our own file stays
 * beside its secret half. `path` is "" for a node without a key. */
static skn_status_t
save_key(const skn_worker_settings_t *settings, const skn_control_node_t *node,
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
    if (strcmp(node->name, settings->node->name) == 0) {
        (void)snprintf(path, path_bytes, "%s", settings->node->key);
        return SKN_OK;
    }
    (void)snprintf(folder, sizeof(folder), "%s.keys", settings->folder);
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
nodes_override(const skn_worker_settings_t *settings, const json_t *list,
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
            status = save_key(settings, &node, path, sizeof(path), error);
        if (status != SKN_OK)
            break;
        *is_leader = *is_leader ||
                     (k == 0 && strcmp(node.name, settings->node->name) == 0);
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

/* The words that are fixed, and the NULL at the end. */
#define FIXED_WORDS 32

typedef struct worker_line {
    char **word;
    size_t count;
} worker_line_t;

static void
add(worker_line_t *line, const char *word)
{
    line->word[line->count++] = (char *)(uintptr_t)word;
}

static void
add_two(worker_line_t *line, const char *option, const char *value)
{
    add(line, option);
    add(line, value);
}

/* The texts of a command line that belong to no other. */
typedef struct worker_texts {
    char generation[32], patience[32], copies[64], from[64];
    char *nodes, *path; /* malloc'ed overrides */
} worker_texts_t;

static void
write_texts(const skn_worker_t *worker, const skn_control_start_t *message,
            worker_texts_t *texts)
{
    const skn_worker_settings_t *settings = worker->settings;
    bool fixed = settings->party->model->train.reduction == SKN_REDUCTION_FIXED;
    (void)snprintf(texts->generation, sizeof(texts->generation), "%" PRIu64,
                   worker->generation);
    (void)snprintf(texts->patience, sizeof(texts->patience), "%u",
                   settings->patience_s > 0 ? settings->patience_s
                   : fixed                  ? PATIENCE_FIXED_S
                                            : PATIENCE_S);
    (void)snprintf(texts->copies, sizeof(texts->copies), "checkpoint.copies=%d",
                   SKN_COPIES_MIN);
    (void)snprintf(texts->from, sizeof(texts->from), "none");
    if (message->saved)
        (void)snprintf(texts->from, sizeof(texts->from),
                       "%" PRIu64 "-g%" PRIu64, message->batch,
                       message->layout);
}

static void
write_line(const skn_worker_t *worker, const skn_control_start_t *message,
           const worker_texts_t *texts, worker_line_t *line)
{
    const skn_worker_settings_t *settings = worker->settings;
    const skn_party_t *party = settings->party;
    add(line, "skein");
    add_two(line, "node", settings->node->name);
    add(line, party->path);
    add(line, "--json");
    add(line, "--leash");
    add(line, "--lease");
    add(line, "--progress");
    add(line, "--resume");
    add_two(line, "--wait", NODE_WAIT_S);
    add_two(line, "--patience", texts->patience);
    add_two(line, "--run", message->run);
    add_two(line, "--generation", texts->generation);
    add_two(line, "--from", texts->from);
    for (uint32_t k = 0; k < party->override_count; k++)
        add_two(line, "-o", party->overrides[k]);
    add_two(line, "-o", texts->nodes);
    add_two(line, "-o", texts->path);
    if (party->model->checkpoint.copies < SKN_COPIES_MIN)
        add_two(line, "-o", texts->copies);
    add(line, NULL);
}

static skn_status_t
start_process(skn_worker_t *worker, const skn_control_start_t *message,
              worker_texts_t *texts, skn_error_t *error)
{
    const skn_worker_settings_t *settings = worker->settings;
    texts->nodes =
        nodes_override(settings, message->nodes, &worker->is_leader, error);
    texts->path = texts->nodes ? skn_override_of("checkpoint.path",
                                                 settings->folder, error)
                               : NULL;
    if (!texts->path)
        return error->status;
    worker_line_t line = {
        .word =
            calloc(FIXED_WORDS + 2 * (size_t)settings->party->override_count,
                   sizeof(*line.word)),
    };
    if (!line.word)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a command line");
    write_texts(worker, message, texts);
    write_line(worker, message, texts, &line);
    skn_status_t status = skn_worker_process_start(
        &worker->process, settings->program, line.word, error);
    free(line.word);
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

/* Adopts the checkpoint from which the generation begins. */
static skn_status_t
take_checkpoint(const skn_worker_settings_t *settings,
                const skn_control_start_t *message, skn_error_t *error)
{
    const char *manifest = message->manifest, *run = message->run;
    skn_status_t (*take)(const char *, const char *, uint64_t, uint64_t,
                         const char *, size_t, skn_error_t *) =
        message->composed ? skn_held_compose : skn_held_adopt;
    if (!skn_hash_text_good(run)) /* the same form: 32 hex digits */
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "start: the id of the run is malformed");
    skn_status_t status = check_folder(settings->folder, run, error);
    return status == SKN_OK && manifest[0]
               ? take(settings->folder, run, message->batch, message->layout,
                      manifest, strlen(manifest), error)
               : status;
}

skn_status_t
skn_worker_begin(skn_worker_t *worker, const skn_control_start_t *message,
                 skn_error_t *error)
{
    const skn_worker_settings_t *settings = worker->settings;
    worker_texts_t texts = { .nodes = NULL };
    const uint64_t cpu_ns = worker->cpu_before_ns + worker->cpu_ns;
    const uint64_t sent_bytes = worker->sent_before_bytes + worker->sent_bytes;
    skn_worker_fini(worker);
    skn_worker_init(worker, settings);
    worker->cpu_before_ns = cpu_ns;
    worker->sent_before_bytes = sent_bytes;
    worker->generation = message->generation;
    worker->batch = message->batch;
    skn_status_t status = take_checkpoint(settings, message, error);
    if (status == SKN_OK)
        status = start_process(worker, message, &texts, error);
    free(texts.nodes);
    free(texts.path);
    worker->ended = status != SKN_OK;
    return status;
}

/* --- its output ----------------------------------------------------------- */

static bool
is_for_people(const skn_worker_t *worker, const char *name)
{
    if (strcmp(name, "warning") == 0 || strcmp(name, "idle") == 0 ||
        strcmp(name, "stuck") == 0)
        return true;
    if (!worker->is_leader || strcmp(name, "traffic") == 0 ||
        strcmp(name, "load") == 0 || strcmp(name, "signal") == 0)
        return false;
    return strcmp(name, "progress") != 0 || worker->settings->progress;
}

static void
keep_error(skn_worker_t *worker, const json_t *event)
{
    skn_status_t status =
        skn_status_of_exit_code((int)skn_json_number(event, "code"));
    /* A bad config produces one event per problem: the first one is kept. */
    if (status == SKN_BAD_CONFIG && worker->error.status == SKN_BAD_CONFIG)
        return;
    (void)skn_fail(&worker->error, status, "%s",
                   skn_json_word(event, "message"));
    (void)skn_fail_hint(&worker->error, status, "%s",
                        skn_json_word(event, "hint"));
}

static void
take_idle(skn_worker_t *worker, const json_t *event)
{
    const char *action = skn_json_word(event, "action");
    worker->noticed = worker->noticed || strcmp(action, "leave") == 0;
    if (strcmp(action, "memory") == 0)
        worker->crowded = json_is_true(json_object_get(event, "needed"));
}

static void
take_event(skn_worker_t *worker, const json_t *event, const char *name)
{
    double batch = skn_json_number(event, "batch");
    double busy_s = skn_json_number(event, "busy_s");
    if (busy_s > 0)
        worker->busy_ns = (uint64_t)(busy_s * 1e9);
    worker->done = worker->done || strcmp(name, "done") == 0;
    worker->stopped = worker->stopped || strcmp(name, "stopped") == 0;
    if (strcmp(name, "traffic") == 0)
        worker->sent_bytes = (uint64_t)skn_json_number(event, "bytes_sent");
    if (strcmp(name, "load") == 0) {
        worker->load_us = (uint64_t)skn_json_number(event, "busy_us");
        worker->load_at_us = (uint64_t)skn_json_number(event, "at_us");
    }
    worker->signalled = worker->signalled || strcmp(name, "signal") == 0;
    if (strcmp(name, "idle") == 0)
        take_idle(worker, event);
    if (strcmp(name, "silent") == 0)
        worker->misses = skn_control_node_set(worker->settings->party->model,
                                              json_object_get(event, "peers"));
    if (strcmp(name, "progress") == 0 && batch > 0)
        worker->batch = (uint64_t)batch;
    if (strcmp(name, "checkpoint") == 0 && batch > 0)
        worker->saved_batch = worker->batch = (uint64_t)batch;
}

static void
take_complaint(const skn_worker_t *worker, const char *line)
{
    skn_json_text_t event = { 0 };
    if (strncmp(line, "skein:", 6) == 0 || strncmp(line, "hint:", 5) == 0)
        return; /* there is also an event for it */
    skn_json_text_add(&event, "{\"event\":\"stderr\",\"node\":");
    skn_json_text_add_string(&event, worker->settings->node->name);
    skn_json_text_add(&event, ",\"line\":");
    skn_json_text_add_string(&event, line);
    skn_json_text_add(&event, "}");
    if (!event.failed)
        skn_party_keep(worker->settings->party, event.bytes);
    skn_json_text_fini(&event);
}

static void
take_line(void *job, bool is_event, char *line)
{
    skn_worker_t *worker = job;
    json_t *event = is_event ? skn_json_read(line) : NULL;
    const char *name = skn_json_word(event, "event");
    if (!is_event)
        take_complaint(worker, line);
    else if (strcmp(name, "error") == 0)
        keep_error(worker, event);
    else if (event)
        take_event(worker, event, name);
    if (event && strcmp(name, "error") != 0 && is_for_people(worker, name))
        skn_party_keep(worker->settings->party, line);
    json_decref(event);
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
skn_worker_look(skn_worker_t *worker)
{
    long per_s = sysconf(_SC_CLK_TCK);
    if (!skn_worker_lives(worker) || per_s <= 0)
        return;
    uint64_t cpu_ns = cpu_ticks(worker->process.process, TREE_DEPTH) *
                      (1000000000u / (uint64_t)per_s);
    if (cpu_ns > worker->cpu_ns) /* killed children are not counted */
        worker->cpu_ns = cpu_ns;
}

/* --- its end -------------------------------------------------------------- */

bool
skn_worker_lives(const skn_worker_t *worker)
{
    return worker->process.process > 0;
}

void
skn_worker_feed(const skn_worker_t *worker, uint64_t until_ns)
{
    /* A failure is ignored: a worker that does not read its lease loses it. */
    if (worker->process.leash >= 0)
        (void)!write(worker->process.leash, &until_ns, sizeof(until_ns));
}

void
skn_worker_stop(skn_worker_t *worker)
{
    skn_worker_process_stop(&worker->process);
}

/* Keeps how the process has ended. */
static void
bury(skn_worker_t *worker)
{
    const skn_worker_process_t *process = &worker->process;
    int status = process->status;
    skn_worker_process_read(&worker->process, take_line, worker);
    worker->failed = process->has_status
                         ? !WIFEXITED(status) || WEXITSTATUS(status) != 0
                         : worker->error.status != SKN_OK ||
                               (!worker->done && !worker->stopped);
    if (!worker->failed || worker->error.status != SKN_OK)
        return;
    if (!process->has_status)
        (void)skn_fail(&worker->error, SKN_INTERNAL,
                       "the worker ended and gave no reason; its host has "
                       "taken its exit code");
    else if (WIFSIGNALED(status))
        (void)skn_fail(&worker->error, SKN_INTERNAL,
                       "the worker was killed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)skn_fail(&worker->error, SKN_INTERNAL,
                       "the worker ended with exit code %d and gave no reason",
                       WEXITSTATUS(status));
}

bool
skn_worker_turn(skn_worker_t *worker)
{
    skn_worker_process_read(&worker->process, take_line, worker);
    if (worker->break_ns > 0 && skn_monotonic_ns() >= worker->break_ns)
        skn_worker_kill(worker);
    if (skn_worker_lives(worker) && worker->done)
        skn_worker_look(worker); /* sample now: it will end soon */
    if (skn_worker_process_ends(&worker->process))
        bury(worker);
    if (worker->ended || skn_worker_lives(worker))
        return false;
    worker->ended = true;
    return true;
}

const char *
skn_worker_ending(const skn_worker_t *worker)
{
    return worker->failed    ? "failed"
           : worker->done    ? "done"
           : worker->stopped ? "stopped"
                             : "well";
}

/* Records that the worker was stopped with its generation, not by its own
 * failure. */
static void
end_with_others(skn_worker_t *worker)
{
    skn_worker_look(worker);
    if (worker->error.status == SKN_OK)
        (void)skn_fail(&worker->error, SKN_UNAVAILABLE,
                       "was stopped with its generation");
}

void
skn_worker_break(skn_worker_t *worker)
{
    if (!skn_worker_lives(worker) || worker->break_ns > 0)
        return;
    end_with_others(worker);
    worker->break_ns = skn_monotonic_ns() + SKN_WORKER_SALVAGE_MS * 1000000ull;
    skn_worker_feed(worker, SKN_LEASE_BREAK);
}

void
skn_worker_kill(skn_worker_t *worker)
{
    if (!skn_worker_lives(worker))
        return;
    end_with_others(worker);
    skn_worker_process_kill(&worker->process);
    bury(worker);
}
