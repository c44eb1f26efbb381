/* search.c - prepares the search of a tuning, and writes its result.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/tuning/search.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "formats/text/json_text.h"
#include "skein/text.h"
#include "topology/run/model_run.h"
#include "topology/run/shortfall.h"
#include "topology/run/trained.h"
#include "topology/tuning/rounds.h"
#include "topology/tuning/tuning_events.h"

/* The share that is held back if the file sets none. */
#define VALIDATE_DEFAULT 0.05
/* To wait for the journal, and between two attempts. */
#define JOURNAL_WAIT_MS 2000u
#define JOURNAL_POLL_MS 20

/* --- the model ------------------------------------------------------------ */

static skn_status_t
read_with(skn_tuning_t *tuning, const char *const *overrides, size_t count,
          skn_error_t *error)
{
    return skn_model_read(tuning->options.path, overrides, count,
                          &tuning->model, tuning->problems, error);
}

/* Reads the user's model, with points held back and without its test file. */
static skn_status_t
read_model(skn_tuning_t *tuning, skn_error_t *error)
{
    const skn_tuning_options_t *how = &tuning->options;
    size_t count = how->override_count;
    const char **overrides = calloc(count + 2, sizeof(*overrides));
    char held[64];
    if (!overrides)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for overrides");
    for (size_t k = 0; k < count; k++)
        overrides[k] = how->overrides[k];
    (void)skn_text_write(held, sizeof(held), "train.validate=%g",
                         VALIDATE_DEFAULT);
    overrides[count++] = "data.test=\"\"";
    skn_status_t status = read_with(tuning, overrides, count, error);
    if (status == SKN_OK && tuning->model->node_count > 1) {
        status = skn_fail(error, SKN_USAGE,
                          "%s has %zu nodes; trials are of one process",
                          how->path, tuning->model->node_count);
        (void)skn_fail_hint(error, status, "set 'nodes=[]'");
    }
    if (status == SKN_OK && !(tuning->model->train.validate > 0)) {
        skn_model_destroy(&tuning->model);
        overrides[count++] = held;
        status = read_with(tuning, overrides, count, error);
    }
    free(overrides);
    return status;
}

skn_status_t
skn_search_prepare(skn_tuning_t *tuning, skn_error_t *error)
{
    skn_plan_data_t *data = &tuning->plan.data;
    skn_status_t status = read_model(tuning, error);
    if (status != SKN_OK)
        return status;
    if (skn_model_is_decoder(tuning->model))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: is a decoder; the search is for models of layers",
                        tuning->model->source);
    skn_tuning_set_config(tuning);
    const skn_model_t *model = tuning->model;
    bool is_half =
        model->layers[model->layer_count - 1].weights == SKN_WEIGHTS_BF16 &&
        model->train.updates == SKN_UPDATES_LOAN;
    uint32_t units = skn_unit_count(error);
    if (units == 0)
        return error->status;
    status = skn_plan_make(&tuning->plan, tuning->model, units, error);
    if (status == SKN_OK && data->validate_points == 0) {
        status = skn_fail(error, SKN_BAD_DATA,
                          "%s: none of %" PRIu64 " points is held back",
                          tuning->model->data.train, data->train_points);
        (void)skn_fail_hint(error, status, "set train.validate=0.2");
    }
    if (status != SKN_OK)
        return status;
    skn_shortfall_model(tuning->model, SKN_SHORTFALL_NOBODY, skn_tuning_warn_at,
                        tuning);
    skn_shortfall_quota("", tuning->plan.units, SKN_SHORTFALL_CORES,
                        skn_tuning_warn_at, tuning);
    skn_space_init(&tuning->space, tuning->model, data->train_points,
                   data->labels, data->labels_per_point);
    for (size_t k = 0; k < tuning->options.override_count; k++)
        skn_space_fix(&tuning->space, tuning->options.overrides[k]);
    if (is_half) /* set by the file, not the plan: adam is refused */
        tuning->space.free[SKN_TUNED_OPTIMIZER] = false;
    tuning->halving.candidates =
        skn_candidates_draw(&tuning->space, tuning->options.seed,
                            tuning->halving.candidates, tuning->candidate);
    for (uint32_t k = 0; k < tuning->halving.candidates; k++)
        tuning->cost[k] =
            skn_candidate_cost(&tuning->space, &tuning->candidate[k]);
    return SKN_OK;
}

/* --- the journal's head --------------------------------------------------- */

/* Hashes the model with all values decided. Returns `hash`. */
static const char *
hash_model(const skn_model_t *model, char hash[SKN_HASH_TEXT_BYTES])
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t nothing = { 0 };
    FILE *file = open_memstream(&text, &bytes);
    bool good = file && skn_model_write(model, file, &nothing) == SKN_OK;
    good = file && fclose(file) == 0 && good;
    skn_hash_text(good ? text : "", good ? bytes : 0, hash);
    free(text);
    return hash;
}

/* Makes the head: everything that determines the scores. */
static json_t *
head_of(const skn_tuning_t *tuning)
{
    char model[SKN_HASH_TEXT_BYTES], data[32];
    (void)snprintf(data, sizeof(data), "%016" PRIx64,
                   tuning->plan.data.content_hash);
    json_t *overrides = json_array();
    for (size_t k = 0; k < tuning->options.override_count; k++)
        (void)json_array_append_new(overrides,
                                    json_string(tuning->options.overrides[k]));
    return json_pack(
        "{sisssosssssIsIsIsfsfss}", "tune", 1, "file", tuning->options.path,
        "overrides", overrides, "model", hash_model(tuning->model, model),
        "data", data, "seed", (json_int_t)tuning->options.seed, "candidates",
        (json_int_t)tuning->halving.candidates, "rounds",
        (json_int_t)tuning->halving.rounds, "keep", tuning->halving.keep,
        "validate", tuning->model->train.validate, "metric",
        tuning->options.metric);
}

/* A process that was killed may still be exiting, and hold the journal. */
static skn_status_t
open_journal(skn_tuning_t *tuning, const char *path, json_t *head,
             skn_error_t *error)
{
    for (uint32_t waited_ms = 0;; waited_ms += JOURNAL_POLL_MS) {
        skn_status_t status = skn_trials_open(&tuning->trials, path, head,
                                              tuning->options.resume, error);
        if (status != SKN_BUSY || waited_ms >= JOURNAL_WAIT_MS ||
            atomic_load(&tuning->stop))
            return status;
        (void)poll(NULL, 0, JOURNAL_POLL_MS);
    }
}

skn_status_t
skn_search_open(skn_tuning_t *tuning, skn_error_t *error)
{
    const char *given = tuning->options.folder;
    const char *run = tuning->model->checkpoint.path;
    bool resume = tuning->options.resume;
    char path[SKN_TEXT_MAX + 16];
    int folder = -1;
    if (given || run[0])
        (void)snprintf(tuning->folder, sizeof(tuning->folder), "%s%s",
                       given ? given : run, given ? "" : "-tune");
    else
        (void)snprintf(tuning->folder, sizeof(tuning->folder),
                       "runs/%.128s-tune", tuning->model->name);
    skn_status_t status =
        resume ? SKN_OK : skn_folder_create(tuning->folder, &folder, error);
    if (folder >= 0)
        (void)close(folder);
    if (status != SKN_OK)
        return status;
    json_t *head = head_of(tuning);
    (void)snprintf(path, sizeof(path), "%s/" SKN_TUNING_JOURNAL,
                   tuning->folder);
    status = head ? open_journal(tuning, path, head, error)
                  : skn_fail(error, SKN_NO_MEMORY, "no memory for a line");
    json_decref(head);
    return status;
}

/* --- the result ----------------------------------------------------------- */

static void
comment(const skn_tuning_t *tuning, const skn_tuned_result_t *result,
        const char *said, skn_json_text_t *text)
{
    char what[SKN_DIFFERS_BYTES];
    skn_json_text_add(text,
                      "# tune.yaml - the best variant of %s that `skein tune` "
                      "found: %u candidates, %u round%s,\n"
                      "# seed %u, %u trials.\n",
                      tuning->options.path, tuning->halving.candidates,
                      tuning->halving.ends,
                      tuning->halving.ends == 1 ? "" : "s",
                      tuning->options.seed, tuning->trials.count);
    skn_json_text_add(text, "# Differs from auto: %s.\n",
                      result->best
                          ? skn_tuning_differs(tuning, result->best, what)
                          : "in nothing");
    skn_json_text_add(text,
                      "# %s of the %" PRIu64 " training points that were held "
                      "back: %.4f,\n# %s.\n",
                      tuning->options.metric, tuning->plan.data.validate_points,
                      result->score, said);
}

skn_status_t
skn_search_conclude(skn_tuning_t *tuning, skn_error_t *error)
{
    skn_tuned_result_t result;
    skn_json_text_t text = { 0 };
    char said[256];
    if (!skn_rounds_judge(tuning, &result))
        return skn_fail_hint(
            error,
            skn_fail(error, SKN_USAGE,
                     "the budget was used up before a trial was done"),
            "give a larger --budget, or fewer epochs");
    (void)skn_tuned_describe(&result, said, sizeof(said));
    comment(tuning, &result, said, &text);
    const skn_tuned_file_t file = {
        .file = tuning->options.path,
        .overrides = tuning->options.overrides,
        .override_count = tuning->options.override_count,
        .space = &tuning->space,
        .best = &tuning->candidate[result.best],
        .comment = text.bytes,
        .folder = tuning->folder,
    };
    skn_status_t status =
        text.failed ? skn_fail(error, SKN_NO_MEMORY, "no memory for a comment")
                    : skn_tuned_write(&file, tuning->problems, error);
    skn_json_text_fini(&text);
    if (status != SKN_OK)
        return status;
    skn_tuning_send_result(tuning, &result, said);
    return SKN_OK;
}
