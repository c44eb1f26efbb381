/* model_run.c - makes a topology from a model file: reads, plans, resumes,
 * wires.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/model_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "actors/protocol/kinds.h"
#include "actors/rows/offload.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/folder/folder.h"
#include "formats/text/system_error.h"
#include "topology/config/shell_word.h"
#include "topology/run/run_config.h"
#include "topology/run/trained.h"

/* runs/<config>-<UTC>-<id>, unless the file has a path. */
static void
choose_path(const skn_model_t *model, const char *run_id, char *path)
{
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    if (model->checkpoint.path[0]) {
        (void)snprintf(path, SKN_TEXT_MAX, "%s", model->checkpoint.path);
        return;
    }
    (void)gmtime_r(&now, &utc);
    (void)strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
    (void)snprintf(path, SKN_TEXT_MAX, "runs/%.128s-%s-%.6s", model->name, when,
                   run_id);
}

/* True if one process is to continue the run of several nodes: it was given
 * their folder, or one of theirs, in place of a file that lists them; or their
 * folders are in checkpoint.path. */
static skn_status_t
find_left(const skn_model_t *model, const skn_model_run_options_t *options,
          bool *left, skn_error_t *error)
{
    const char *path = model->checkpoint.path;
    skn_node_folders_t nodes = { 0 };
    *left = false;
    if (!options->resume || !options->must_be_new || options->node ||
        !path[0] || access(path, F_OK) != 0)
        return SKN_OK;
    skn_status_t status = skn_node_folders_in(path, &nodes, error);
    *left = nodes.count > 0 || (options->from_run && model->node_count > 1);
    skn_node_folders_fini(&nodes);
    /* A folder that is damaged, or belongs to no run, is reported when it is
     * opened. */
    return status == SKN_NO_MEMORY ? status : SKN_OK;
}

/* Turns the run of several nodes into that of one process. Networks in folders
 * of their own are joined at the end; a network in the run's folder stays
 * one. */
static void
leave_nodes(skn_model_run_t *run)
{
    skn_model_t *model = run->model;
    run->left_nodes = model->node_count;
    model->node_count = 0;
    model->coordinator.address = "";
    model->checkpoint.copies = 1;
    if (skn_run_config_is_whole(model->checkpoint.path))
        return;
    run->left_trees =
        model->train.ranker_trees > 0 ? (uint32_t)model->train.ranker_trees : 0;
    model->train.ensemble = 1;
    model->train.ranker_trees = 0;
}

/* Finds which node this process is. A run with nodes never trains as one
 * process, unless that continues from what the nodes have left. */
static skn_status_t
find_node(skn_model_run_t *run, const skn_model_run_options_t *options,
          skn_error_t *error)
{
    const skn_model_t *model = run->model;
    skn_status_t status;
    for (size_t k = 0; options->node && k < model->node_count; k++)
        if (strcmp(model->nodes[k].name, options->node) == 0) {
            run->node = (uint32_t)k;
            return SKN_OK;
        }
    if (options->node && model->node_count == 0) {
        status =
            skn_fail(error, SKN_USAGE, "%s has no `nodes:`", model->source);
        return skn_fail_hint(error, status,
                             "list the nodes there, train it in one process "
                             "with `skein train`, or on nodes of this machine "
                             "with `skein up FILE --local-nodes N`");
    }
    if (options->node) {
        status = skn_fail(error, SKN_USAGE, "%s has no node '%.64s'",
                          model->source, options->node);
        return skn_fail_hint(error, status,
                             "its nodes are listed under nodes:, such as %s",
                             model->nodes[0].name);
    }
    bool left;
    status = find_left(model, options, &left, error);
    if (status != SKN_OK)
        return status;
    if (left)
        leave_nodes(run);
    if (!options->must_be_new || model->node_count < 2)
        return SKN_OK;
    status = skn_fail(error, SKN_USAGE,
                      "%s has %zu nodes, but this is one "
                      "process",
                      model->source, model->node_count);
    char word[SKN_SHELL_WORD_BYTES];
    return skn_fail_hint(error, status,
                         "start them all with `skein up %s`, or each by hand, "
                         "such as `skein node %s %s`",
                         skn_shell_word(options->path, word),
                         model->nodes[0].name, word);
}

/* On a node other than the first no run is opened: the first node sends how far
 * it has come, and which parts this node has. */
static skn_status_t
find_run_elsewhere(const skn_model_run_t *run,
                   const skn_model_run_options_t *options, skn_error_t *error)
{
    /* Nodes on one machine have separate folders. */
    const char *name = run->model->nodes[run->node].name;
    if (!options->run_path[0])
        choose_path(run->model, options->run_id[0] ? options->run_id : name,
                    options->run_path);
    if (!skn_model_copies_parts(run->model) || options->predict)
        return SKN_OK;
    skn_status_t status = skn_folder_check(options->run_path, error);
    if (status == SKN_OK && options->must_be_new && !options->resume &&
        !options->from)
        status = skn_resume_refuse(options->run_path, error);
    return status;
}

static skn_status_t
find_old_run(skn_model_run_t *run, const skn_model_run_options_t *options,
             skn_error_t *error)
{
    skn_from_t from = { .parts = skn_model_copies_parts(run->model),
                        .alone = !options->node,
                        .left = run->left_nodes > 1 };
    /* The checkpoint is one of a network: this folder has none yet. */
    bool is_given =
        options->from && !skn_run_config_is_whole(options->run_path);
    skn_status_t status =
        is_given ? skn_from_parse(options->from, &from, error) : SKN_OK;
    return status == SKN_OK
               ? skn_resume_from(options->run_path, &from, &run->resume, error)
               : status;
}

/* The folder holds another run than the one to begin or continue: that is
 * replaced only if it has saved nothing. */
static skn_status_t
refuse_other(skn_model_run_t *run, const skn_model_run_options_t *options,
             skn_error_t *error)
{
    char found[SKN_RUN_ID_BYTES];
    memcpy(found, run->resume.run_id, sizeof(found));
    skn_resume_fini(&run->resume);
    memset(&run->resume, 0, sizeof(run->resume));
    skn_status_t status = skn_resume_refuse(options->run_path, error);
    if (status != SKN_CANNOT_CREATE)
        return status;
    (void)skn_fail(error, status, "%.200s holds run %s, not %s",
                   options->run_path, found, options->run_id);
    return skn_fail_hint(error, status,
                         "give that run_id to continue it, or choose another "
                         "folder");
}

static skn_status_t
find_run(skn_model_run_t *run, const skn_model_run_options_t *options,
         skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    bool is_resume = options->resume || options->from;
    bool again = options->again && options->run_path[0];
    if (is_resume && !run->model->checkpoint.path[0] && !options->run_path[0]) {
        status = skn_fail(error, SKN_USAGE,
                          "--resume needs to know which run to continue");
        return skn_fail_hint(error, status, "set checkpoint.path=FOLDER");
    }
    if (!options->run_id[0])
        status = skn_run_id_draw(options->run_id, error);
    if (status == SKN_OK && !options->run_path[0])
        choose_path(run->model, options->run_id, options->run_path);
    /* Before the data is read, which takes long. */
    if (status == SKN_OK)
        status = skn_folder_check(options->run_path, error);
    if (status == SKN_OK && options->must_be_new && !is_resume && !again)
        return skn_resume_refuse(options->run_path, error);
    if (status != SKN_OK || (!is_resume && !again))
        return status;
    status = find_old_run(run, options, error);
    if (status != SKN_OK || !run->resume.has_run)
        return status;
    if (!is_resume && strcmp(run->resume.run_id, options->run_id) != 0)
        return refuse_other(run, options, error);
    memcpy(options->run_id, run->resume.run_id, SKN_RUN_ID_BYTES);
    return SKN_OK;
}

/* --- prediction ---------------------------------------------------------- */

/* The same network for reading only: no moments, no index, and hidden vectors
 * that are not rounded on their way, since they are few. */
static void
only_look(skn_model_t *model, const skn_model_run_options_t *options)
{
    skn_model_train_t *train = &model->train;
    /* The reader made the layers, and this run owns them. */
    skn_model_layer_t *output =
        (skn_model_layer_t *)(uintptr_t)&model->layers[model->layer_count - 1];
    bool half = train->optimizer.kind != SKN_OPTIMIZER_ADAM &&
                train->updates == SKN_UPDATES_LOAN;
    train->ensemble = 1; /* the run is one network */
    train->ranker_trees = 0;
    model->data.test = options->predict;
    model->data.questions = true;
    train->optimizer.kind = SKN_OPTIMIZER_SGD;
    train->updates = SKN_UPDATES_LOAN;
    train->evaluate.rows = 0;
    train->evaluate.topk = options->predict_labels;
    model->links.coding = SKN_LINK_CODING_F32;
    if (!half) /* the masters of a copy in bf16 are f32 */
        output->weights = SKN_WEIGHTS_F32;
    /* Nothing is drawn: all rows are computed. */
    output->sampler = (skn_model_sampler_t){ .kind = SKN_SAMPLER_UNIFORM,
                                             .rows = 1,
                                             .labels = true,
                                             .tables = SKN_AUTO,
                                             .bits = SKN_AUTO,
                                             .refresh_batches = SKN_AUTO,
                                             .uniform_rows = SKN_AUTO };
}

/* Nodes, each with a share of the network, have no use for a ranker. */
static void
note_ranker(skn_model_run_t *run, const skn_checkpoint_t *checkpoint)
{
    const skn_model_t *model = run->model;
    char name[SKN_TEXT_MAX];
    (void)snprintf(name, sizeof(name), "%s.ranker.parent",
                   model->layers[model->layer_count - 1].name);
    run->has_ranker = skn_checkpoint_find(checkpoint, name) != NULL;
}

/* Finds the best model of the run, or its newest; only on the first node. */
static skn_status_t
find_trained(skn_model_run_t *run, const skn_model_run_options_t *options,
             skn_error_t *error)
{
    skn_trained_place_t place;
    skn_resume_t *resume = &run->resume;
    const char *path = run->model->checkpoint.path;
    if (!path[0])
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "a prediction needs to know the run of the model"),
            "set checkpoint.path=FOLDER");
    (void)snprintf(options->run_path, SKN_TEXT_MAX, "%s", path);
    bool gone = false;
    skn_checkpoint_t *checkpoint = NULL;
    if (skn_trained_find(path, &place, error) == SKN_OK)
        checkpoint =
            skn_trained_checkpoint(&place, SKN_VERIFY_LAZY, &gone, error);
    skn_trained_place_fini(&place);
    if (!checkpoint)
        return error->status;
    resume->has_run = resume->has_checkpoint = true;
    resume->batch = skn_checkpoint_batch(checkpoint);
    note_ranker(run, checkpoint);
    (void)snprintf(resume->checkpoint, sizeof(resume->checkpoint), "%s",
                   skn_checkpoint_path(checkpoint));
    skn_checkpoint_close(&checkpoint);
    return options->run_id[0] ? SKN_OK
                              : skn_run_id_draw(options->run_id, error);
}

/* The config that the run folder stores. */
static char *
model_text(const skn_model_run_t *run, skn_error_t *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    skn_status_t status =
        file ? skn_model_write(&run->whole, file, error)
             : skn_fail(error, SKN_NO_MEMORY, "no memory for the config");
    if (file)
        (void)fprintf(file, SKN_RESUME_DATA "%016" PRIx64 "\n",
                      run->plan.data.train_hash);
    if (file && run->texts.train)
        (void)fprintf(
            file, SKN_RESUME_TOKENIZER "%016" PRIx64 "\n",
            skn_tokenizer_hash(skn_tokens_tokenizer(run->texts.train)));
    if (file && run->plan.data.vocabulary_hash)
        (void)fprintf(file, SKN_RESUME_VOCABULARY "%016" PRIx64 "\n",
                      run->plan.data.vocabulary_hash);
    if (file && fclose(file) != 0 && status == SKN_OK)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for the config");
    if (status == SKN_OK)
        return text;
    free(text);
    return NULL;
}

/* `path` as an absolute path, and so each line of several; the caller frees it.
 * An empty path, and a word with a special meaning, stays as it is. */
static char *
whole_path(const char *path, skn_error_t *error)
{
    char *whole = NULL, *folder = getcwd(NULL, 0);
    size_t whole_bytes = 0;
    FILE *file = open_memstream(&whole, &whole_bytes);
    bool is_word = strcmp(path, "auto") == 0 || strcmp(path, "none") == 0;
    for (const char *at = path; file && at;) {
        int bytes = (int)strcspn(at, "\n");
        if (bytes > 0 && at[0] != '/' && !is_word && folder)
            (void)fprintf(file, "%s/", folder);
        (void)fprintf(file, "%.*s%s", bytes, at, at[bytes] ? "\n" : "");
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    free(folder);
    if (file && fclose(file) == 0)
        return whole;
    free(whole);
    skn_fail(error, SKN_NO_MEMORY, "no memory for the path %.200s", path);
    return NULL;
}

/* Copies the model with absolute paths: `skein eval` is called from any folder,
 * and a plan may be kept in any. */
static skn_status_t
make_whole(skn_model_run_t *run, const char *run_path, skn_error_t *error)
{
    const skn_model_t *model = run->model;
    const char *path[] = { model->data.train,
                           model->data.test,
                           model->data.cache,
                           model->checkpoint.path,
                           run_path,
                           model->idle.notice.file,
                           model->train.optimizer.offload_path,
                           model->data.labels };
    for (size_t k = 0; k < sizeof(path) / sizeof(path[0]); k++) {
        run->whole_path[k] = whole_path(path[k], error);
        if (!run->whole_path[k])
            return SKN_NO_MEMORY;
    }
    run->whole_plugin =
        calloc(model->plugin_count + 1, sizeof(*run->whole_plugin));
    if (!run->whole_plugin)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu plug-ins",
                        model->plugin_count);
    for (size_t k = 0; k < model->plugin_count; k++) {
        run->whole_plugin[k] = whole_path(model->plugins[k], error);
        if (!run->whole_plugin[k])
            return SKN_NO_MEMORY;
    }
    run->whole_node = calloc(model->node_count + 1, sizeof(*run->whole_node));
    if (!run->whole_node)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu nodes",
                        model->node_count);
    for (size_t k = 0; k < model->node_count; k++) {
        run->whole_node[k] = model->nodes[k];
        run->whole_node[k].key = whole_path(model->nodes[k].key, error);
        if (!run->whole_node[k].key)
            return SKN_NO_MEMORY;
    }
    run->whole = *model;
    run->whole.nodes = run->whole_node;
    run->whole.plugins = (const char *const *)run->whole_plugin;
    run->whole.data.train = run->whole_path[0];
    run->whole.data.test = run->whole_path[1];
    run->whole.data.cache = run->whole_path[2];
    run->whole.checkpoint.path = run->whole_path[3];
    run->whole.idle.notice.file = run->whole_path[5];
    run->whole.train.optimizer.offload_path = run->whole_path[6];
    run->whole.data.labels = run->whole_path[7];
    return SKN_OK;
}

/* The memory that the run may need: less if it gives way to others. */
static uint64_t
memory_allowed(const skn_model_t *model)
{
    uint64_t bytes = skn_memory_available_bytes();
    return model->idle.enabled ? (uint64_t)((double)bytes * model->idle.memory)
                               : bytes;
}

/* If there are several nodes, this process will hold the share of one, or
 * none. */
static skn_status_t
check_memory(const skn_model_run_t *run, const skn_model_run_options_t *options,
             skn_error_t *error)
{
    const skn_plan_t *plan = &run->plan;
    uint64_t available = memory_allowed(run->model);
    skn_status_t status;
    if (plan->node_count > 0) {
        uint64_t share = plan->nodes[run->node].memory_bytes;
        if (!options->node || share <= available)
            return SKN_OK;
        status = skn_fail(error, SKN_NO_MEMORY,
                          "node '%.64s' needs about %llu MiB of memory for its "
                          "share, %llu MiB are available",
                          run->model->nodes[run->node].name,
                          (unsigned long long)(share >> 20),
                          (unsigned long long)(available >> 20));
        return skn_fail_hint(error, status,
                             "give it fewer of the cores, add a node, or %s",
                             skn_plan_smaller(plan));
    }
    if (plan->memory_bytes <= available)
        return SKN_OK;
    status = skn_fail(
        error, SKN_NO_MEMORY,
        "the run needs about %llu MiB of memory, %llu MiB are available",
        (unsigned long long)(plan->memory_bytes >> 20),
        (unsigned long long)(available >> 20));
    if (run->model->idle.enabled)
        return skn_fail_hint(error, status,
                             "idle.memory allows it %g of the memory available "
                             "at the start",
                             run->model->idle.memory);
    return skn_fail_hint(
        error, status,
        "%s; or use %sseveral nodes, or optimizer adagrad or sgd%s",
        skn_plan_smaller(&run->plan),
        run->model->train.optimizer.kind == SKN_OPTIMIZER_ADAM &&
                plan->offload_bytes == 0
            ? "train.optimizer.offload: file, "
            : "",
        skn_model_is_decoder(run->model) ? "" : " with weights: bf16");
}

/* A file in memory offloads nothing: then both together must fit. */
static skn_status_t
refuse_memory_disk(const char *place, const char *folder, uint64_t bytes,
                   uint64_t available, skn_error_t *error)
{
    skn_status_t status = skn_fail(
        error, SKN_NO_MEMORY,
        "%s: %.100s is itself in memory (tmpfs): with the optimizer's file the "
        "run needs about %llu MiB, %llu MiB are available",
        place, folder, (unsigned long long)(bytes >> 20),
        (unsigned long long)(available >> 20));
    return skn_fail_hint(error, status,
                         "set train.optimizer.offload_path=FOLDER on a "
                         "disk");
}

/* The moments of this process must fit where they are to be stored. */
static skn_status_t
check_offload(const skn_model_run_t *run,
              const skn_model_run_options_t *options, skn_error_t *error)
{
    const skn_plan_t *plan = &run->plan;
    bool nodes = plan->node_count > 0;
    uint64_t bytes =
        nodes ? plan->nodes[run->node].offload_bytes : plan->offload_bytes;
    uint64_t memory =
        nodes ? plan->nodes[run->node].memory_bytes : plan->memory_bytes;
    uint64_t available = memory_allowed(run->model);
    const char *folder = skn_plan_offload_path(run->model, options->run_path);
    skn_offload_disk_t disk = { 0 };
    skn_status_t status;
    char text[256];
    if (bytes == 0 || (nodes && !options->node))
        return SKN_OK;
    const char *place =
        skn_model_place_text(&run->model->offload_place, text, sizeof(text));
    /* A missing folder may be a disk that is not mounted: no other folder will
     * do. */
    if (run->model->train.optimizer.offload_path[0] &&
        access(folder, F_OK) != 0)
        return skn_fail_code(
            error, SKN_CANNOT_CREATE, errno, "make the folder, or mount it",
            "%s: train.optimizer.offload_path: %.100s", place, folder);
    status = skn_offload_examine(folder, &disk, error);
    if (status != SKN_OK)
        return status;
    int64_t most = run->model->resources.memory_bytes;
    if (!nodes && most != SKN_AUTO && (uint64_t)most < available)
        available = (uint64_t)most;
    if (disk.memory && memory + bytes > available)
        return refuse_memory_disk(place, folder, memory + bytes, available,
                                  error);
    if (bytes <= disk.room_bytes)
        return SKN_OK;
    status = skn_fail(error, SKN_STORAGE,
                      "%s: adam's moments need a file of %llu MiB in %.100s, "
                      "where %llu MiB are free",
                      place, (unsigned long long)(bytes >> 20), folder,
                      (unsigned long long)(disk.room_bytes >> 20));
    return skn_fail_hint(error, status,
                         "set train.optimizer.offload_path=FOLDER on a "
                         "disk with more, take fewer model.layers.hidden.units,"
                         " or optimizer adagrad, which needs no file");
}

static skn_status_t
wire(skn_model_run_t *run, const skn_model_run_options_t *options,
     skn_problems_t *problems, skn_error_t *error)
{
    skn_status_t status = make_whole(run, options->run_path, error);
    char *text = status == SKN_OK ? model_text(run, error) : NULL;
    if (!text)
        return error->status;
    const char *run_path =
        options->whole_paths ? run->whole_path[4] : options->run_path;
    if (options->whole_paths)
        run->plan.model = &run->whole;
    skn_plan_start_t start = {
        .run_path = options->unsaved ? NULL : run_path,
        .run_id = options->run_id,
        .config_text = text,
        .progress_ms = options->progress_ms,
        .patience_s = options->patience_s,
        .resume = run->resume.has_run,
        .checkpoint =
            run->resume.has_checkpoint ? run->resume.checkpoint : NULL,
        .first_batch = run->resume.batch,
        .newest = run->resume.newest,
        .restore = (options->resume || options->from || options->predict) &&
                   run->model->node_count > 1,
        .generation = options->generation,
        .resave = options->generation > 0 && run->resume.has_checkpoint,
        .predict = options->predict,
    };
    skn_spec_t *spec = skn_plan_wire(&run->plan, &start, skn_kinds, problems);
    free(text);
    if (!spec)
        return skn_problems_error(problems, error);
    run->actor_count = skn_spec_wiring(spec)->actor_count;
    run->data_hash = run->plan.data.content_hash;
    run->topology = skn_topology_of(&spec, error);
    return run->topology ? SKN_OK : error->status;
}

static skn_status_t
read_model(skn_model_run_t *run, const skn_model_run_options_t *options,
           skn_problems_t *problems, skn_error_t *error)
{
    const char *const *overrides = options->overrides;
    size_t count = options->override_count;
    if (options->from_run)
        return skn_run_config_read(options->path, overrides, count, &run->model,
                                   problems, error);
    return options->text ? skn_model_parse(options->text, options->text_bytes,
                                           options->path, overrides, count,
                                           &run->model, problems, error)
                         : skn_model_read(options->path, overrides, count,
                                          &run->model, problems, error);
}

skn_status_t
skn_model_run_open(skn_model_run_t *run, const skn_model_run_options_t *options,
                   skn_problems_t *problems, skn_error_t *error)
{
    memset(run, 0, sizeof(*run));
    uint32_t units = skn_unit_count(error);
    if (units == 0)
        return error->status;
    skn_status_t status = read_model(run, options, problems, error);
    if (status == SKN_OK)
        status = find_node(run, options, error);
    if (status == SKN_OK && options->on_model)
        options->on_model(options->on_model_state, run->model);
    if (status == SKN_OK && options->predict)
        only_look(run->model, options);
    if (status == SKN_OK && !options->unsaved)
        status = run->node > 0      ? find_run_elsewhere(run, options, error)
                 : options->predict ? find_trained(run, options, error)
                                    : find_run(run, options, error);
    if (options->begins_with_others)
        run->resume.finished = false;
    if (status != SKN_OK || run->resume.finished)
        return status;
    if (skn_model_is_decoder(run->model))
        status = skn_plan_texts_open(&run->texts, run->model, error);
    if (status != SKN_OK)
        return status;
    status = skn_plan_make_within(&run->plan, run->model, units,
                                  memory_allowed(run->model), error);
    if (status == SKN_OK)
        status = check_memory(run, options, error);
    if (status == SKN_OK)
        status = check_offload(run, options, error);
    if (status == SKN_OK)
        status = skn_resume_fits(&run->resume, options->run_path, run->model,
                                 run->plan.data.features, run->plan.data.labels,
                                 skn_model_is_decoder(run->model) &&
                                         !options->predict
                                     ? run->plan.data.train_hash
                                     : 0,
                                 error);
    if (status == SKN_OK && !options->predict)
        status = skn_resume_same_data(&run->resume, options->run_path,
                                      run->plan.data.train_hash, error);
    return status == SKN_OK ? wire(run, options, problems, error) : status;
}

void
skn_model_run_close(skn_model_run_t *run)
{
    skn_topology_destroy(&run->topology);
    skn_plan_texts_close(&run->texts);
    skn_resume_fini(&run->resume);
    for (size_t k = 0; run->whole_plugin && k < run->model->plugin_count; k++)
        free(run->whole_plugin[k]);
    free(run->whole_plugin);
    run->whole_plugin = NULL;
    for (size_t k = 0; run->whole_node && k < run->model->node_count; k++)
        free((char *)(uintptr_t)run->whole_node[k].key);
    free(run->whole_node);
    run->whole_node = NULL;
    skn_model_destroy(&run->model);
    for (size_t k = 0; k < sizeof(run->whole_path) / sizeof(char *); k++)
        free(run->whole_path[k]);
    memset(run->whole_path, 0, sizeof(run->whole_path));
}
