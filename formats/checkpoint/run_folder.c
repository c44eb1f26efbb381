/* run_folder.c - the folder of a training run: lock, checkpoints, links.
 *
 * This file owns: run.json, the names of checkpoints and links, and the pruning
 * of checkpoints. A checkpoint is renamed to .tmp-... before it is removed, so
 * that a half removed one never appears complete.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/run_folder.h"

#include "formats/folder/folder.h"
#include "formats/folder/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RUN_FORMAT "skein-run"
#define RUN_VERSION 1u
#define RUN_FILE "run.json"
#define LOCK_FILE "lock" /* folder_lock.c's */
#define TEMP_PREFIX ".tmp-"
/* A config of 4 MiB, every byte escaped, and a few numbers. */
#define RUN_FILE_BYTES_MAX (7u * SKN_CONFIG_BYTES_MAX)
#define CREATED_BYTES 24

struct skn_run_folder {
    char *path, *config;
    int folder, lock; /* descriptors */
    char id[SKN_RUN_ID_BYTES], created[CREATED_BYTES];
    bool best_due; /* `best` could not be pointed at it */
    skn_batch_id_t best;
};

const char *
skn_run_folder_path(const skn_run_folder_t *run)
{
    return run->path;
}

const char *
skn_run_folder_id(const skn_run_folder_t *run)
{
    return run->id;
}

const char *
skn_run_folder_config(const skn_run_folder_t *run)
{
    return run->config;
}

const char *
skn_run_folder_created(const skn_run_folder_t *run)
{
    return run->created;
}

int
skn_run_folder_descriptor(const skn_run_folder_t *run)
{
    return run->folder;
}

void
skn_batch_name(uint64_t batch, uint64_t generation,
               char name[SKN_BATCH_NAME_BYTES])
{
    int used = snprintf(name, SKN_BATCH_NAME_BYTES, "batch-%012" PRIu64,
                        batch % (SKN_CHECKPOINT_BATCH_MAX + 1));
    if (generation > 0)
        (void)snprintf(name + used, SKN_BATCH_NAME_BYTES - (size_t)used,
                       "-g%06" PRIu64, generation % (SKN_GENERATION_MAX + 1));
}

bool
skn_batch_name_parse(const char *name, uint64_t *batch, uint64_t *generation)
{
    static const char digits[] = "0123456789";
    if (strncmp(name, "batch-", 6) != 0 || strspn(name + 6, digits) != 12)
        return false;
    const char *end = name + 18;
    *batch = strtoull(name + 6, NULL, 10);
    *generation = 0;
    if (!*end)
        return true;
    if (strncmp(end, "-g", 2) != 0 || strspn(end + 2, digits) != 6 || end[8])
        return false;
    *generation = strtoull(end + 2, NULL, 10);
    return *generation > 0; /* a checkpoint has one name */
}

skn_status_t
skn_batch_check_name(const char *path, uint64_t batch, skn_error_t *error)
{
    size_t end = strlen(path);
    while (end && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start && path[start - 1] != '/')
        start--;
    char name[SKN_BATCH_NAME_BYTES];
    uint64_t named = 0, generation = 0;
    if (end - start >= sizeof(name))
        return SKN_OK;
    memcpy(name, path + start, end - start);
    name[end - start] = '\0';
    if (!skn_batch_name_parse(name, &named, &generation) || named == batch)
        return SKN_OK;
    return skn_fail(error, SKN_BAD_DATA,
                    "%s: the manifest belongs to batch %" PRIu64, path, batch);
}

typedef struct batch_list {
    skn_batch_id_t *at;
    size_t count, room;
} batch_list_t;

static skn_status_t
collect_batch(void *visitor, const char *name, skn_error_t *error)
{
    batch_list_t *list = visitor;
    skn_batch_id_t id;
    if (!skn_batch_name_parse(name, &id.batch, &id.generation))
        return SKN_OK;
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        skn_batch_id_t *more = realloc(list->at, room * sizeof(*more));
        if (!more)
            return skn_fail(error, SKN_NO_MEMORY,
                            "no memory for a list of %zu checkpoints", room);
        list->at = more;
        list->room = room;
    }
    list->at[list->count++] = id;
    return SKN_OK;
}

/* -1, 0, 1: `a` is older, the same, newer. */
static int
compare_age(const skn_batch_id_t *a, const skn_batch_id_t *b)
{
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    return (a->generation > b->generation) - (a->generation < b->generation);
}

static int
newest_first(const void *left, const void *right)
{
    return compare_age(right, left);
}

skn_status_t
skn_run_folder_batches(int folder, const char *path, skn_batch_id_t **ids,
                       size_t *count, skn_error_t *error)
{
    batch_list_t list = { 0 };
    skn_status_t status =
        skn_folder_list(folder, path, collect_batch, &list, error);
    if (status != SKN_OK) {
        free(list.at);
        return status;
    }
    if (list.count > 0)
        qsort(list.at, list.count, sizeof(*list.at), newest_first);
    *ids = list.at;
    *count = list.count;
    return SKN_OK;
}

static skn_status_t
sweep_name(void *visitor, const char *name, skn_error_t *error)
{
    const skn_run_folder_t *run = visitor;
    if (strncmp(name, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0)
        return SKN_OK;
    return skn_folder_remove(run->folder, run->path, name, error);
}

skn_status_t
skn_run_id_draw(char id[SKN_RUN_ID_BYTES], skn_error_t *error)
{
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return skn_fail(error, SKN_UNAVAILABLE, "cannot get random numbers: %s",
                        strerror(errno));
    for (size_t i = 0; i < sizeof(random); i++)
        (void)snprintf(id + 2 * i, 3, "%02x", random[i]);
    return SKN_OK;
}

static skn_status_t
write_run_file(skn_run_folder_t *run, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text,
                      "{\"format\":\"" RUN_FORMAT "\",\"version\":%u,\n"
                      "\"run\":\"%s\",\"created\":\"%s\",\n\"config\":",
                      RUN_VERSION, run->id, run->created);
    skn_json_text_add_string(&text, run->config);
    skn_status_t status = skn_json_text_seal(&text, error);
    if (status == SKN_OK)
        status = skn_folder_replace_file(run->folder, run->path, RUN_FILE,
                                         text.bytes, text.count, error);
    skn_json_text_fini(&text);
    return status;
}

static bool
is_utf8(const char *text)
{
    json_t *string = json_string(text);
    json_decref(string);
    return string != NULL;
}

static skn_status_t
look_for_worth(void *visitor, const char *name, skn_error_t *error)
{
    bool *found = visitor;
    (void)error;
    *found = *found ||
             (strcmp(name, RUN_FILE) != 0 && strcmp(name, LOCK_FILE) != 0 &&
              strcmp(name, SKN_CALIBRATION_NAME) != 0 &&
              strcmp(name, SKN_LABELS_NAME) != 0 &&
              strcmp(name, SKN_TOKENIZER_NAME) != 0 &&
              strcmp(name, SKN_VOCABULARY_NAME) != 0 &&
              strncmp(name, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0);
    return SKN_OK;
}

/* Refuses to replace an old run. One that never saved, such as one that waited
 * in vain for its nodes, may be replaced; one that has a checkpoint, or any
 * file that is not ours, may not. */
static skn_status_t
refuse_old(const skn_run_folder_t *run, size_t checkpoint_count,
           skn_error_t *error)
{
    struct stat facts;
    bool found = checkpoint_count > 0;
    skn_status_t status = SKN_OK;
    if (!found &&
        fstatat(run->folder, RUN_FILE, &facts, AT_SYMLINK_NOFOLLOW) == 0)
        status = skn_folder_list(run->folder, run->path, look_for_worth, &found,
                                 error);
    if (!found)
        return status;
    skn_fail(error, SKN_CANNOT_CREATE, "%s already holds a run", run->path);
    return skn_fail_hint(error, SKN_CANNOT_CREATE,
                         "resume it, or choose another folder");
}

/* Makes a new run in a folder that must hold none. */
static skn_status_t
make_run(skn_run_folder_t *run, const skn_run_options_t *options,
         size_t checkpoint_count, skn_error_t *error)
{
    const char *config = options->config_text ? options->config_text : "";
    skn_status_t status = refuse_old(run, checkpoint_count, error);
    if (status != SKN_OK || options->only_ask)
        return status;
    if (strlen(config) > SKN_CONFIG_BYTES_MAX || !is_utf8(config))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "the config of %s is not UTF-8, or longer than %u "
                        "bytes",
                        run->path, SKN_CONFIG_BYTES_MAX);
    if (options->run_id && !skn_hash_text_good(options->run_id))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "the id of a run is not 32 lower case hex digits");
    run->config = strdup(config);
    if (!run->config)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for the config",
                        run->path);
    if (options->run_id)
        memcpy(run->id, options->run_id, SKN_RUN_ID_BYTES);
    else if (skn_run_id_draw(run->id, error) != SKN_OK)
        return SKN_UNAVAILABLE;
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) ||
        strftime(run->created, CREATED_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        (void)snprintf(run->created, CREATED_BYTES, "unknown");
    return write_run_file(run, error);
}

/* Takes the values of a sealed run.json. */
static skn_status_t
take_run(skn_run_folder_t *run, const char *path, const json_t *root,
         skn_error_t *error)
{
    uint64_t version;
    const char *format = skn_json_string(root, "format");
    const char *id = skn_json_string(root, "run");
    const char *created = skn_json_string(root, "created");
    const char *config = skn_json_string(root, "config");
    if (!format || strcmp(format, RUN_FORMAT) != 0 ||
        !skn_json_u64(root, "version", &version) || version != RUN_VERSION ||
        !id || !skn_hash_text_good(id) || !created ||
        strlen(created) >= CREATED_BYTES || !config)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: no " RUN_FORMAT " of version %u", path,
                        RUN_VERSION);
    memcpy(run->id, id, SKN_RUN_ID_BYTES);
    (void)snprintf(run->created, CREATED_BYTES, "%s", created);
    run->config = strdup(config);
    if (!run->config)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for it", path);
    return SKN_OK;
}

static skn_status_t
read_run(skn_run_folder_t *run, skn_error_t *error)
{
    char *bytes = NULL, path[SKN_TEXT_MAX + 16];
    size_t byte_count = 0;
    skn_error_t fault = { 0 };
    skn_status_t status =
        skn_folder_read_file(run->folder, run->path, RUN_FILE,
                             RUN_FILE_BYTES_MAX, &bytes, &byte_count, &fault);
    if (status == SKN_NO_INPUT)
        return skn_fail(error, SKN_NO_INPUT,
                        run->lock < 0 ? "%s does not hold a run"
                                      : "%s does not hold a run to resume",
                        run->path);
    if (status != SKN_OK)
        return skn_fail(error, status, "%s", fault.text);
    (void)snprintf(path, sizeof(path), "%s/%s", run->path, RUN_FILE);
    status = skn_json_check_seal(path, bytes, byte_count, error);
    if (status == SKN_OK) {
        json_t *root = skn_json_object_parse(path, bytes, byte_count, error);
        status = root ? take_run(run, path, root, error) : SKN_BAD_DATA;
        json_decref(root);
    }
    free(bytes);
    if (status == SKN_BAD_DATA)
        (void)skn_fail_hint(error, status,
                            "put a copy of %s in its place; the checkpoints "
                            "beside it cannot be read without it",
                            RUN_FILE);
    return status;
}

/* Gives the run the config that it continues with, where nothing was saved with
 * the one in run.json, or a manifest was put here before the run began
 * (held.h). */
static skn_status_t
complete_run(skn_run_folder_t *run, const skn_run_options_t *options,
             skn_error_t *error)
{
    const char *config = options->config_text;
    if (!config || !config[0] || strlen(config) > SKN_CONFIG_BYTES_MAX ||
        !is_utf8(config) || strcmp(config, run->config) == 0)
        return SKN_OK;
    char *copy = strdup(config);
    if (!copy)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for the config",
                        run->path);
    free(run->config);
    run->config = copy;
    return write_run_file(run, error);
}

/* The part of open after the allocation. */
static skn_status_t
enter(skn_run_folder_t *run, const skn_run_options_t *options,
      size_t *checkpoint_count, skn_error_t *error)
{
    skn_batch_id_t *list = NULL;
    skn_status_t status =
        options->resume ? skn_folder_open(run->path, &run->folder, error)
                        : skn_folder_create(run->path, &run->folder, error);
    if (status == SKN_OK)
        status = skn_folder_lock_open(run->folder, run->path, options->wait_ms,
                                      &run->lock, error);
    if (status == SKN_OK)
        status = skn_run_folder_batches(run->folder, run->path, &list,
                                        checkpoint_count, error);
    free(list);
    if (status == SKN_OK)
        status = options->resume
                     ? read_run(run, error)
                     : make_run(run, options, *checkpoint_count, error);
    if (status == SKN_OK && options->resume && !options->only_ask &&
        (!run->config[0] || *checkpoint_count == 0))
        status = complete_run(run, options, error);
    /* Last: a folder that is refused keeps all its contents. */
    if (status == SKN_OK && !options->only_ask)
        status =
            skn_folder_list(run->folder, run->path, sweep_name, run, error);
    return status;
}

/* Allocates a run folder of that path, not opened. */
static skn_run_folder_t *
folder_new(const char *path, skn_error_t *error)
{
    if (strlen(path) >= SKN_TEXT_MAX) {
        skn_fail(error, SKN_CANNOT_CREATE,
                 "the path of a run has %zu bytes, at most %u allowed",
                 strlen(path), SKN_TEXT_MAX - 1);
        return NULL;
    }
    skn_run_folder_t *run = calloc(1, sizeof(*run));
    if (!run || !(run->path = strdup(path))) {
        free(run);
        skn_fail(error, SKN_NO_MEMORY, "%s: no memory for a run", path);
        return NULL;
    }
    run->folder = run->lock = -1;
    return run;
}

skn_run_folder_t *
skn_run_folder_open(const char *path, const skn_run_options_t *options,
                    size_t *checkpoint_count, skn_error_t *error)
{
    size_t count = 0;
    skn_run_folder_t *run = folder_new(path, error);
    if (!run)
        return NULL;
    if (enter(run, options, &count, error) != SKN_OK)
        skn_run_folder_close(&run);
    else if (checkpoint_count)
        *checkpoint_count = count;
    return run;
}

bool
skn_run_folder_begun(const char *path)
{
    char file[SKN_TEXT_MAX + 64];
    (void)snprintf(file, sizeof(file), "%s/" RUN_FILE, path);
    return access(file, F_OK) == 0;
}

skn_run_folder_t *
skn_run_folder_open_read_only(const char *path, skn_error_t *error)
{
    skn_run_folder_t *run = folder_new(path, error);
    if (!run)
        return NULL;
    skn_status_t status = skn_folder_open(run->path, &run->folder, error);
    if (status == SKN_OK)
        status = read_run(run, error);
    if (status != SKN_OK)
        skn_run_folder_close(&run);
    return run;
}

void
skn_run_folder_close(skn_run_folder_t **run)
{
    if (!*run)
        return;
    int code = errno;
    skn_folder_lock_close(&(*run)->lock);
    if ((*run)->folder >= 0)
        (void)close((*run)->folder);
    free((*run)->path);
    free((*run)->config);
    free(*run);
    *run = NULL;
    errno = code;
}

static skn_status_t
mark(skn_run_folder_t *run, const char *link, uint64_t batch,
     uint64_t generation, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES];
    struct stat facts;
    skn_batch_name(batch, generation, name);
    if (fstatat(run->folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(facts.st_mode))
        return skn_fail(error, SKN_NO_INPUT, "%s/%s: no such checkpoint",
                        run->path, name);
    return skn_folder_link(run->folder, run->path, link, name, error);
}

skn_status_t
skn_run_folder_mark_best(skn_run_folder_t *run, uint64_t batch,
                         uint64_t generation, skn_error_t *error)
{
    skn_status_t status = mark(run, "best", batch, generation, error);
    run->best_due = status != SKN_OK && status != SKN_NO_INPUT;
    run->best = (skn_batch_id_t){ batch, generation };
    return status;
}

static bool
is_ours(const skn_run_folder_t *run, const char *path)
{
    struct stat named, own;
    return stat(path, &named) == 0 && fstat(run->folder, &own) == 0 &&
           named.st_dev == own.st_dev && named.st_ino == own.st_ino;
}

void
skn_run_folder_follow(skn_run_folder_t *run)
{
    char link[64], path[SKN_TEXT_MAX];
    if (is_ours(run, run->path))
        return;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", run->folder);
    ssize_t bytes = readlink(link, path, sizeof(path) - 1);
    path[bytes < 0 ? 0 : bytes] = '\0';
    char *copy = is_ours(run, path) ? strdup(path) : NULL;
    if (!copy)
        return;
    free(run->path);
    run->path = copy;
}

skn_status_t
skn_run_folder_mark_latest(skn_run_folder_t *run, uint64_t batch,
                           uint64_t generation, skn_error_t *error)
{
    struct stat facts;
    skn_status_t status = SKN_OK;
    skn_run_folder_follow(run);
    /* It may have been removed while the run continues: without it the
     * checkpoint cannot be found. */
    if (fstatat(run->folder, RUN_FILE, &facts, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno == ENOENT)
        status = write_run_file(run, error);
    return status == SKN_OK ? mark(run, "latest", batch, generation, error)
                            : status;
}

static skn_status_t
remove_checkpoint(skn_run_folder_t *run, const skn_batch_id_t *id,
                  skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES], away[SKN_BATCH_NAME_BYTES + 16];
    skn_batch_name(id->batch, id->generation, name);
    (void)snprintf(away, sizeof(away), TEMP_PREFIX "old-%s", name);
    skn_status_t status =
        skn_folder_remove(run->folder, run->path, away, error);
    if (status != SKN_OK)
        return status;
    if (renameat(run->folder, name, run->folder, away) != 0) {
        return skn_fail_errno(error, SKN_STORAGE, run->path, name,
                              "cannot rename");
    }
    return skn_folder_remove(run->folder, run->path, away, error);
}

void
skn_run_folder_after_failure(const skn_run_folder_t *run, const char *remedy,
                             char text[SKN_ERROR_HINT_BYTES])
{
    skn_batch_id_t *list = NULL;
    size_t count = 0;
    bool known = skn_run_folder_batches(run->folder, run->path, &list, &count,
                                        NULL) == SKN_OK &&
                 count > 0;
    const char *gap = remedy[0] ? "; " : "";
    if (known)
        (void)snprintf(text, SKN_ERROR_HINT_BYTES,
                       "%s%sbatch %" PRIu64 " is saved", remedy, gap,
                       list[0].batch);
    else
        (void)snprintf(text, SKN_ERROR_HINT_BYTES,
                       "%s%sno batch of this run is saved yet, so all of it "
                       "may be lost",
                       remedy, gap);
    free(list);
}

/* *best is the checkpoint that `best` links to; false when there is no such
 * link. */
static skn_status_t
read_best(const skn_run_folder_t *run, bool *found, skn_batch_id_t *best,
          skn_error_t *error)
{
    char target[SKN_NAME_MAX + 1];
    ssize_t length =
        readlinkat(run->folder, "best", target, sizeof(target) - 1);
    *found = false;
    if (length < 0 && errno == ENOENT)
        return SKN_OK;
    target[length < 0 ? 0 : length] = '\0';
    if (!skn_batch_name_parse(target, &best->batch, &best->generation))
        return skn_fail(error, SKN_BAD_DATA,
                        "%s/best does not name a checkpoint: none is removed",
                        run->path);
    *found = true;
    return SKN_OK;
}

/* `linked`: what `best` links to; NULL: there is none. */
static bool
is_best(const skn_run_folder_t *run, const skn_batch_id_t *id,
        const skn_batch_id_t *linked)
{
    return (linked && compare_age(id, linked) == 0) ||
           (run->best_due && compare_age(id, &run->best) == 0);
}

skn_status_t
skn_run_folder_prune(skn_run_folder_t *run, uint64_t batch, uint64_t generation,
                     uint32_t keep, skn_error_t *error)
{
    const skn_batch_id_t newest = { batch, generation };
    skn_batch_id_t *list = NULL, best = { 0 };
    size_t count = 0;
    bool best_found;
    if (run->best_due)
        (void)skn_run_folder_mark_best(run, run->best.batch,
                                       run->best.generation, NULL);
    skn_status_t status = read_best(run, &best_found, &best, error);
    if (status == SKN_OK)
        status = skn_run_folder_batches(run->folder, run->path, &list, &count,
                                        error);
    const skn_batch_id_t *last = NULL; /* the last that was kept */
    uint32_t kept = 0;
    for (size_t i = 0; i < count && status == SKN_OK; i++) {
        if (compare_age(&list[i], &newest) > 0)
            continue;
        bool again = last && last->batch == list[i].batch;
        if (!again && (kept < keep || kept == 0)) {
            kept++;
            last = &list[i];
        } else if (!is_best(run, &list[i], best_found ? &best : NULL)) {
            status = remove_checkpoint(run, &list[i], error);
        }
    }
    free(list);
    return status == SKN_OK ? skn_folder_remove(run->folder, run->path,
                                                SKN_SALVAGE_NAME, error)
                            : status;
}

skn_status_t
skn_run_folder_forget_after(skn_run_folder_t *run, uint64_t batch,
                            uint64_t generation, skn_error_t *error)
{
    const skn_batch_id_t newest = { batch, generation };
    skn_batch_id_t *list = NULL;
    size_t count = 0;
    skn_status_t status =
        skn_run_folder_batches(run->folder, run->path, &list, &count, error);
    for (size_t i = 0; i < count && status == SKN_OK; i++)
        if (compare_age(&list[i], &newest) > 0)
            status = remove_checkpoint(run, &list[i], error);
    free(list);
    return status;
}
