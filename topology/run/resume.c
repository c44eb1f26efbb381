/* resume.c - finds and checks the checkpoint from which a run continues.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/course/progress.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/folder/folder.h"
#include "formats/folder/folder_lock.h"
#include "topology/run/trained.h"
#include "topology/run/trained_missing.h"

skn_status_t
skn_from_parse(const char *text, skn_from_t *from, skn_error_t *error)
{
    static const char digits[] = "0123456789";
    size_t first = strspn(text, digits);
    const char *end = text + first;
    from->given = from->none = false;
    if (strcmp(text, "none") == 0) {
        from->none = true;
        return SKN_OK;
    }
    bool good = first > 0 && first <= 12;
    size_t second = 0;
    if (good && *end) {
        second = strncmp(end, "-g", 2) == 0 ? strspn(end + 2, digits) : 0;
        good = second > 0 && second <= 6 && end[2 + second] == '\0';
    }
    if (!good) {
        (void)skn_fail(error, SKN_USAGE,
                       "'%.40s' is not the name of a "
                       "checkpoint",
                       text);
        return skn_fail_hint(error, SKN_USAGE,
                             "give BATCH, BATCH-gGENERATION, or none; such as "
                             "1234-g7");
    }
    from->given = true;
    from->batch = strtoull(text, NULL, 10);
    from->generation = second > 0 ? strtoull(end + 2, NULL, 10) : 0;
    return SKN_OK;
}

/* Points `best` at the newest checkpoint of that batch in the folder. */
static void
mark_best(skn_run_folder_t *run, uint64_t batch)
{
    skn_batch_id_t *list = NULL;
    size_t count = 0, k = 0;
    if (skn_run_folder_batches(skn_run_folder_descriptor(run),
                               skn_run_folder_path(run), &list, &count,
                               NULL) != SKN_OK)
        return;
    while (k < count && list[k].batch != batch)
        k++;
    if (k < count)
        (void)skn_run_folder_mark_best(run, batch, list[k].generation, NULL);
    free(list);
}

bool
skn_resume_is_joined(const skn_checkpoint_t *checkpoint)
{
    json_t *metadata = skn_json_read(skn_checkpoint_metadata(checkpoint));
    bool joined = json_object_get(metadata, "joined") != NULL;
    json_decref(metadata);
    return joined;
}

bool
skn_resume_joined_in(const char *path)
{
    skn_checkpoint_t *newest = skn_checkpoint_open(path, SKN_VERIFY_LAZY, NULL);
    bool joined = newest && skn_resume_is_joined(newest);
    skn_checkpoint_close(&newest);
    return joined;
}

static skn_status_t
read_checkpoint(skn_run_folder_t *run, skn_checkpoint_t *checkpoint,
                skn_resume_t *resume, skn_error_t *error)
{
    skn_progress_t progress;
    char sha256[SKN_SHA256_TEXT_BYTES] = "";
    skn_status_t status = skn_progress_load(checkpoint, &progress, NULL, error);
    const char *path = skn_checkpoint_path(checkpoint);
    const char *name = strrchr(path, '/');
    uint64_t batch;
    resume->has_checkpoint = true;
    resume->batch = skn_checkpoint_batch(checkpoint);
    resume->epoch = status == SKN_OK ? progress.epoch : 0;
    (void)skn_batch_name_parse(name ? name + 1 : path, &batch,
                               &resume->generation);
    (void)snprintf(resume->checkpoint, sizeof(resume->checkpoint), "%s", path);
    (void)snprintf(resume->warning, sizeof(resume->warning), "%s",
                   skn_checkpoint_warning(checkpoint));
    if (status == SKN_OK && progress.best_epoch > 0)
        mark_best(run, progress.best_batch);
    if (status != SKN_OK || !progress.finished ||
        !skn_checkpoint_is_whole(checkpoint))
        return status;
    resume->finished = true;
    resume->joined = skn_resume_is_joined(checkpoint);
    status = skn_checkpoint_weights_sha256(checkpoint, sha256, error);
    if (status == SKN_OK)
        status = skn_ledger_read(checkpoint, &progress.ledger, error);
    if (status == SKN_OK)
        skn_progress_write_done(&progress, sha256, &resume->done);
    return status;
}

static skn_checkpoint_t *
open_one(const skn_run_folder_t *run, uint64_t batch, uint64_t generation,
         bool parts, skn_error_t *error)
{
    char name[SKN_BATCH_NAME_BYTES], path[SKN_TEXT_MAX + 32];
    skn_batch_name(batch, generation, name);
    (void)snprintf(path, sizeof(path), "%s/%s", skn_run_folder_path(run), name);
    return skn_checkpoint_open(path, parts ? SKN_VERIFY_HERE : SKN_VERIFY_ALL,
                               error);
}

/* If files may be on other nodes, only the manifest has to be sound. */
static skn_checkpoint_t *
open_chosen(const skn_run_folder_t *run, const skn_from_t *from,
            const skn_batch_id_t *list, size_t count, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint = NULL;
    if (from->given)
        return open_one(run, from->batch, from->generation, from->parts, error);
    if (!from->parts)
        return skn_checkpoint_open(skn_run_folder_path(run), SKN_VERIFY_ALL,
                                   error);
    for (size_t k = 0; k < count && !checkpoint; k++)
        checkpoint =
            open_one(run, list[k].batch, list[k].generation, true, error);
    return checkpoint;
}

/* Why nothing could be opened: names the node whose folder lacks a file, if
 * that is the reason. */
static skn_status_t
explain(const skn_run_folder_t *run, const skn_from_t *from, skn_error_t *error)
{
    skn_trained_place_t place = { 0 };
    skn_error_t ignored = { 0 };
    if (!from->given && !from->parts && error->status != SKN_NO_MEMORY &&
        skn_trained_find_here(skn_run_folder_path(run), &place, &ignored) ==
            SKN_OK)
        skn_trained_missing(&place, error);
    if (!from->given && !from->parts)
        skn_trained_place_fini(&place);
    return error->status;
}

/* `parts`: the folder holds run folders of nodes, which are read too. */
static skn_status_t
find_checkpoint(skn_run_folder_t *run, bool parts, const skn_from_t *from,
                skn_resume_t *resume, skn_error_t *error)
{
    skn_batch_id_t *list = NULL;
    size_t count = 0;
    skn_checkpoint_t *checkpoint = NULL;
    skn_status_t status =
        skn_run_folder_batches(skn_run_folder_descriptor(run),
                               skn_run_folder_path(run), &list, &count, error);
    if (status == SKN_OK && count > 0)
        resume->newest = list[0].batch;
    bool wanted = from->given || ((count > 0 || parts) && !from->none);
    if (status == SKN_OK && wanted) {
        checkpoint = open_chosen(run, from, list, count, error);
        status = checkpoint ? SKN_OK : explain(run, from, error);
    }
    free(list);
    if (checkpoint)
        status = read_checkpoint(run, checkpoint, resume, error);
    skn_checkpoint_close(&checkpoint);
    return status;
}

skn_status_t
skn_resume_make_top(const char *path, skn_error_t *error)
{
    skn_batch_id_t *list = NULL;
    size_t count = 0;
    int folder = -1;
    skn_status_t status = skn_folder_create(path, &folder, error);
    if (status == SKN_OK)
        status = skn_run_folder_batches(folder, path, &list, &count, error);
    if (status == SKN_OK && count > 0 && !skn_resume_joined_in(path)) {
        (void)skn_fail(error, SKN_CANNOT_CREATE,
                       "%.200s holds a run of one process, at batch %" PRIu64,
                       path, list[0].batch);
        status = skn_fail_hint(error, SKN_CANNOT_CREATE,
                               "continue it with `skein train --resume`, or "
                               "give another checkpoint.path to nodes that "
                               "come and go");
    }
    free(list);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

/* Living nodes would train beside a process that continues from their
 * folders. */
static skn_status_t
refuse_living(const char *path, const skn_node_folders_t *parts,
              skn_error_t *error)
{
    char file[SKN_TEXT_MAX + 32];
    (void)snprintf(file, sizeof(file), "%s/" SKN_COORDINATOR_JOURNAL, path);
    skn_status_t status = skn_folder_lock_ask(file, SKN_LOCK_WAIT_MS, error);
    for (size_t k = 0; k < parts->count && status == SKN_OK; k++) {
        (void)snprintf(file, sizeof(file), "%s/lock", parts->path[k]);
        status = skn_folder_lock_ask(file, SKN_LOCK_WAIT_MS, error);
    }
    return status == SKN_BUSY
               ? skn_fail_hint(error, status,
                               "nodes still train there: stop their run first, "
                               "then one process can continue it")
               : status;
}

/* The same for the folder `path` of one of them. A run without nodes may have
 * been copied to a folder beside it, and both continue. */
static skn_status_t
refuse_living_beside(const char *path, bool left, skn_error_t *error)
{
    char top[SKN_TEXT_MAX + 4];
    skn_node_folders_t parts = { 0 };
    (void)snprintf(top, sizeof(top), "%s/..", path);
    skn_status_t status =
        left ? skn_node_folders_beside(path, &parts, error) : SKN_OK;
    if (status == SKN_OK)
        status = refuse_living(top, &parts, error);
    skn_node_folders_fini(&parts);
    return status;
}

/* If `path` holds no run of its own but the folders of a run's nodes, one
 * process continues from what they hold together, in `path` itself. Their
 * folders stay as they are. */
static skn_status_t
take_over(const char *path, const skn_node_folders_t *parts, skn_error_t *error)
{
    skn_trained_place_t place = { 0 };
    skn_status_t status = refuse_living(path, parts, error);
    if (status == SKN_OK)
        status = skn_trained_find(path, &place, error);
    skn_run_options_t options = { .run_id = parts->run_id,
                                  .wait_ms = SKN_LOCK_WAIT_MS };
    if (status == SKN_OK) {
        options.config_text = skn_run_folder_config(place.run);
        skn_run_folder_t *run =
            skn_run_folder_open(path, &options, NULL, error);
        status = run ? SKN_OK : error->status;
        skn_run_folder_close(&run);
    }
    skn_trained_place_fini(&place);
    return status;
}

/* Refuses to begin a run of several nodes again over their folders. */
static skn_status_t
refuse_parts(const char *path, skn_error_t *error)
{
    skn_node_folders_t parts = { 0 };
    skn_status_t status = SKN_OK;
    if (access(path, F_OK) == 0)
        status = skn_node_folders_in(path, &parts, error);
    if (status == SKN_OK && parts.count > 0) {
        (void)skn_fail(error, SKN_CANNOT_CREATE,
                       "%.200s holds the folders of a run's nodes", path);
        status = skn_fail_hint(error, SKN_CANNOT_CREATE,
                               "continue with --resume, or choose another "
                               "folder");
    }
    skn_node_folders_fini(&parts);
    return status;
}

skn_status_t
skn_resume_refuse(const char *path, skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_run_options_t options = { .only_ask = true,
                                  .wait_ms = SKN_LOCK_WAIT_MS };
    if (!error)
        error = &own;
    if (!skn_run_folder_begun(path))
        return refuse_parts(path, error);
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, error);
    if (!run)
        return error->status;
    skn_run_folder_close(&run); /* it has saved nothing */
    return SKN_OK;
}

/* The folders of nodes in `path`; one process continues their run there. */
static skn_status_t
find_parts(const char *path, const skn_from_t *from, skn_node_folders_t *parts,
           skn_error_t *error)
{
    skn_status_t status = access(path, F_OK) == 0
                              ? skn_node_folders_in(path, parts, error)
                              : SKN_OK;
    if (status == SKN_OK && skn_run_folder_begun(path))
        return from->alone ? refuse_living_beside(path, from->left, error)
                           : SKN_OK;
    if (status != SKN_OK || parts->count == 0)
        return status;
    if (!from->parts)
        return take_over(path, parts, error);
    (void)skn_fail(error, SKN_CANNOT_CREATE,
                   "%.200s holds the folders of a run's nodes, and "
                   "checkpoint.copies wants others",
                   path);
    return skn_fail_hint(error, SKN_CANNOT_CREATE,
                         "continue on nodes that come and go (`skein up "
                         "--elastic`), in one process (`skein train "
                         "--resume`), or set checkpoint.copies=1");
}

skn_status_t
skn_resume_from(const char *path, const skn_from_t *from, skn_resume_t *resume,
                skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_run_options_t options = { .resume = true, .wait_ms = SKN_LOCK_WAIT_MS };
    if (!error)
        error = &own;
    memset(resume, 0, sizeof(*resume));
    skn_node_folders_t parts = { 0 };
    skn_status_t status = find_parts(path, from, &parts, error);
    resume->has_run = skn_run_folder_begun(path);
    if (status != SKN_OK || (!resume->has_run && !from->given)) {
        skn_node_folders_fini(&parts);
        return status;
    }
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, error);
    if (run) {
        memcpy(resume->run_id, skn_run_folder_id(run), SKN_RUN_ID_BYTES);
        status = find_checkpoint(run, parts.count > 0, from, resume, error);
    } else {
        status = error->status;
    }
    skn_run_folder_close(&run);
    skn_node_folders_fini(&parts);
    return status;
}

bool
skn_resume_is_same(const char *config, const char *line, uint64_t hash)
{
    const char *at = strstr(config, line);
    return !at || strtoull(at + strlen(line), NULL, 16) == hash;
}

static bool
is_same_data(const skn_run_folder_t *run, uint64_t train_hash)
{
    return skn_resume_is_same(skn_run_folder_config(run), SKN_RESUME_DATA,
                              train_hash);
}

static skn_status_t
misfit(const char *path, const char *key, const char *hint, skn_error_t *error)
{
    skn_status_t status =
        skn_fail(error, SKN_BAD_CONFIG,
                 "%s was started with another %s, and cannot continue with "
                 "this one",
                 path, key);
    return skn_fail_hint(error, status, "%s",
                         hint ? hint
                              : "leave it as it was, or start a new run in "
                                "another checkpoint.path");
}

/* Checks layer `k` of `model` against its weights: [features][units] for the
 * first layer, [units][units of the layer below] for the others. */
static skn_status_t
fit_layer(const skn_checkpoint_t *checkpoint, const char *path,
          const skn_model_t *model, size_t k, uint32_t features,
          uint32_t labels, skn_error_t *error)
{
    const skn_model_layer_t *layer = &model->layers[k];
    char name[SKN_TEXT_MAX];
    char key[SKN_TEXT_MAX + 32];
    (void)snprintf(name, sizeof(name), "%s.weight", layer->name);
    const skn_checkpoint_tensor_t *tensor =
        skn_checkpoint_find(checkpoint, name);
    if (!tensor)
        return misfit(path, "list of model.layers", NULL, error);
    if (skn_model_is_decoder(model) && k == SKN_DECODER_LAYER)
        return SKN_OK; /* fit_decoder has compared the shape */
    uint64_t units = k == 0 ? tensor->columns : tensor->rows;
    uint64_t below = k == 0 ? tensor->rows : tensor->columns;
    if (units != (layer->output ? labels : (uint64_t)layer->units)) {
        (void)snprintf(key, sizeof(key), "%s of layer '%s'",
                       layer->output ? "number of labels" : "number of units",
                       layer->name);
        return misfit(path, key, NULL, error);
    }
    if (below != (k == 0 ? features : (uint64_t)model->layers[k - 1].units))
        return misfit(path,
                      k == 0 ? "number of features" : "list of model.layers",
                      NULL, error);
    return SKN_OK;
}

/* The masters of a copy are f32 (updates: copy); an updater reads the format
 * that it stores. */
static skn_status_t
fit_format(const skn_checkpoint_t *checkpoint, const char *path,
           const skn_model_t *model, skn_error_t *error)
{
    const skn_model_layer_t *output = &model->layers[model->layer_count - 1];
    bool half = output->weights == SKN_WEIGHTS_BF16 &&
                model->train.updates == SKN_UPDATES_LOAN;
    char name[SKN_TEXT_MAX], key[SKN_TEXT_MAX + 32], hint[SKN_TEXT_MAX + 128];
    (void)snprintf(name, sizeof(name), "%s.weight", output->name);
    bool was_half =
        skn_checkpoint_find(checkpoint, name)->dtype == SKN_DTYPE_BF16;
    if (half == was_half)
        return SKN_OK;
    (void)snprintf(key, sizeof(key), "number format of layer '%s'",
                   output->name);
    (void)snprintf(hint, sizeof(hint),
                   "set model.layers.%s.weights=%s, or start a new run in "
                   "another checkpoint.path",
                   output->name,
                   was_half ? "bf16 and set train.updates=loan" : "f32");
    return misfit(path, key, hint, error);
}

/* The shape of a decoder, and what decides which tokens are in which
 * micro-batch. The number of stages may change. */
static skn_status_t
fit_decoder(const char *path, const skn_model_t *old, const skn_model_t *model,
            skn_error_t *error)
{
    const skn_model_decoder_t *was = &old->decoder, *is = &model->decoder;
    const struct {
        const char *key;
        int64_t was, is;
    } pairs[] = {
        { "model.layers", was->layers, is->layers },
        { "model.width", was->width, is->width },
        { "model.heads", was->heads, is->heads },
        { "model.inner", was->inner, is->inner },
        { "data.context", old->data.context, model->data.context },
        { "data.vocabulary", old->data.vocabulary, model->data.vocabulary },
        { "train.batch_tokens", old->train.batch_tokens,
          model->train.batch_tokens },
        { "train.micro_tokens", old->train.micro_tokens,
          model->train.micro_tokens },
    };
    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
        if (pairs[k].was != pairs[k].is)
            return misfit(path, pairs[k].key, NULL, error);
    return strcmp(old->data.tokenizer, model->data.tokenizer) == 0
               ? SKN_OK
               : misfit(path, "data.tokenizer", NULL, error);
}

static skn_status_t
fit_config(const char *path, const skn_model_t *old, const skn_model_t *model,
           skn_error_t *error)
{
    skn_optimizer_kind_t optimizer = model->train.optimizer.kind;
    bool is_decoder = skn_model_is_decoder(model);
    if (skn_model_is_decoder(old) != is_decoder)
        return misfit(path, "model.kind", NULL, error);
    if (is_decoder && fit_decoder(path, old, model, error) != SKN_OK)
        return error->status;
    if (old->layer_count != model->layer_count)
        return misfit(path, "list of model.layers", NULL, error);
    if (old->layers[old->layer_count - 1].loss !=
        model->layers[model->layer_count - 1].loss)
        return misfit(path, "loss of the output layer", NULL, error);
    if (old->data.normalize != model->data.normalize)
        return misfit(path, "data.normalize", NULL, error);
    /* Determines which points are held out: others have been trained on. */
    if (old->train.validate != model->train.validate)
        return misfit(path, "train.validate", NULL, error);
    /* Determines which points are in which batch, and how many batches an epoch
     * has. */
    if (old->train.seed != model->train.seed)
        return misfit(path, "train.seed", NULL, error);
    if (!is_decoder && old->train.batch_rows != model->train.batch_rows)
        return misfit(path, "train.batch_rows", NULL, error);
    if (old->train.optimizer.kind != optimizer &&
        optimizer != SKN_OPTIMIZER_SGD)
        return misfit(
            path, "train.optimizer.kind",
            "leave it as it was, take sgd, which keeps no moments, or start a "
            "new run in another checkpoint.path",
            error);
    return SKN_OK;
}

skn_status_t
skn_resume_single(const skn_resume_t *resume, const char *path,
                  skn_error_t *error)
{
    if (!resume->has_checkpoint || resume->finished)
        return SKN_OK;
    return misfit(path, "train.ensemble or train.ranker_trees",
                  "it holds one network without a ranker: set "
                  "train.ensemble=1 and set train.ranker_trees=0, or another "
                  "checkpoint.path",
                  error);
}

/* Refuses a run that has trained more than is now asked for: it could never
 * continue. */
static skn_status_t
fit_length(const skn_resume_t *resume, const char *path,
           const skn_model_train_t *train, skn_error_t *error)
{
    bool epochs = (uint64_t)train->epochs < resume->epoch;
    bool batches =
        train->max_batches > 0 && (uint64_t)train->max_batches < resume->batch;
    if (resume->finished || (!epochs && !batches))
        return SKN_OK;
    if (!epochs && train->steps > 0) {
        uint64_t step = (uint64_t)(train->max_batches / train->steps);
        (void)skn_fail(error, SKN_BAD_CONFIG,
                       "%s has done %" PRIu64
                       " steps, and train.steps is %" PRId64,
                       path, resume->batch / step, train->steps);
        return skn_fail_hint(error, SKN_BAD_CONFIG,
                             "give as many as it was started with, or more");
    }
    (void)skn_fail(error, SKN_BAD_CONFIG,
                   "%s has done %" PRIu64 " %s, and train.%s is %" PRId64, path,
                   epochs ? resume->epoch : resume->batch,
                   epochs ? "epochs" : "batches",
                   epochs ? "epochs" : "max_batches",
                   epochs ? train->epochs : train->max_batches);
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "give as many as it was started with, or more");
}

/* The run of the checkpoint; a prediction may have found it in the folder of a
 * node. */
static skn_run_folder_t *
look_at_run(const skn_resume_t *resume, const char *path, skn_error_t *error)
{
    char run[SKN_TEXT_MAX];
    if (skn_run_folder_begun(path))
        return skn_run_folder_open_read_only(path, error);
    (void)snprintf(run, sizeof(run), "%s", resume->checkpoint);
    char *slash = strrchr(run, '/');
    if (slash)
        *slash = '\0';
    return skn_run_folder_open_read_only(run, error);
}

skn_status_t
skn_resume_fits(const skn_resume_t *resume, const char *path,
                const skn_model_t *model, uint32_t features, uint32_t labels,
                uint64_t text_hash, skn_error_t *error)
{
    skn_model_t *old = NULL;
    skn_checkpoint_t *checkpoint = NULL;
    skn_run_folder_t *run =
        resume->has_checkpoint ? look_at_run(resume, path, error) : NULL;
    if (!run)
        return resume->has_checkpoint ? error->status : SKN_OK;
    /* A folder that received a manifest before the run began there has no
     * config yet (formats/checkpoint/held.h). */
    bool has_config = skn_run_folder_config(run)[0];
    skn_status_t status =
        has_config ? skn_trained_model(run, &old, error) : SKN_OK;
    if (status == SKN_OK && has_config)
        status = fit_config(path, old, model, error);
    /* Before the layers, whose sizes differ if another text has another number
     * of words: the text is the cause. */
    if (status == SKN_OK && text_hash != 0 && !is_same_data(run, text_hash))
        status = misfit(path, "data.train (its text differs)", NULL, error);
    if (status == SKN_OK) {
        checkpoint =
            skn_checkpoint_open(resume->checkpoint, SKN_VERIFY_HERE, error);
        status = checkpoint ? SKN_OK : error->status;
    }
    for (size_t k = 0; status == SKN_OK && k < model->layer_count; k++)
        status = fit_layer(checkpoint, path, model, k, features, labels, error);
    if (status == SKN_OK)
        status = fit_format(checkpoint, path, model, error);
    if (status == SKN_OK)
        status = fit_length(resume, path, &model->train, error);
    skn_checkpoint_close(&checkpoint);
    skn_model_destroy(&old);
    skn_run_folder_close(&run);
    return status;
}

skn_status_t
skn_resume_same_data(const skn_resume_t *resume, const char *path,
                     uint64_t train_hash, skn_error_t *error)
{
    skn_run_folder_t *run = resume->has_checkpoint
                                ? skn_run_folder_open_read_only(path, error)
                                : NULL;
    if (!run)
        return resume->has_checkpoint ? error->status : SKN_OK;
    bool same = is_same_data(run, train_hash);
    skn_run_folder_close(&run);
    return same ? SKN_OK
                : misfit(path, "data.train (its points differ)", NULL, error);
}

void
skn_resume_fini(skn_resume_t *resume)
{
    skn_json_text_fini(&resume->done);
}
