/* trained_find.c - finds the checkpoint and the config of a trained model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/trained.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/course/progress.h"
#include "formats/folder/folder.h"
#include "formats/text/system_error.h"
#include "topology/run/resume.h"
#include "topology/run/run_config.h"
#include "topology/config/shell_word.h"
#include "topology/run/trained_missing.h"

#define BEST_GONE                                                              \
    "`best` names a checkpoint that is missing: the newest one is used"

/* True if the folder `path` holds the file `name`. */
static bool
holds(const char *path, const char *name)
{
    char file[SKN_TEXT_MAX + 128];
    (void)snprintf(file, sizeof(file), "%s/%s", path, name);
    return access(file, F_OK) == 0;
}

/* --- finding the place ---------------------------------------------------- */

static skn_status_t
find_checkpoint(const char *path, skn_trained_place_t *place,
                skn_error_t *error)
{
    char *whole = realpath(path, NULL); /* RUN/best is a link into RUN */
    skn_status_t status = SKN_OK;
    if (!whole)
        return skn_fail_code(error, SKN_NO_INPUT, errno, NULL, "%s", path);
    char *end = strrchr(whole, '/');
    if (end > whole)
        *end = '\0';
    if (skn_run_folder_begun(whole)) {
        place->run = skn_run_folder_open_read_only(whole, error);
        status = place->run ? SKN_OK : error->status;
    } else {
        (void)skn_fail(error, SKN_NO_INPUT,
                       "%s: the checkpoint is not in a run folder, which has "
                       "its config",
                       path);
        status = skn_fail_hint(error, SKN_NO_INPUT, "keep it beside run.json");
    }
    free(whole);
    return status;
}

/* Finds a node folder that has a config: a folder that received a manifest
 * before its run began has none yet (held.h). */
static skn_status_t
find_config(skn_trained_place_t *place, skn_error_t *error)
{
    for (size_t k = 0; k < place->nodes.count; k++) {
        place->run = skn_run_folder_open_read_only(place->nodes.path[k], error);
        if (!place->run)
            return error->status;
        if (skn_run_folder_config(place->run)[0])
            return SKN_OK;
        skn_run_folder_close(&place->run);
    }
    return skn_fail(error, SKN_NO_INPUT,
                    "%s: none of its run folders has a config", place->path);
}

/* True if the run in `path` has finished; false also if nothing in it can be
 * read. */
static bool
is_done(const char *path, bool *any)
{
    skn_progress_t progress = { 0 };
    skn_checkpoint_t *newest = skn_checkpoint_open(path, SKN_VERIFY_LAZY, NULL);
    *any = newest != NULL;
    if (newest && skn_progress_read(skn_checkpoint_metadata(newest), &progress,
                                    NULL, NULL) != SKN_OK)
        progress.finished = false;
    skn_checkpoint_close(&newest);
    return progress.finished;
}

/* The number of networks that the run in `path` should have, and whether it
 * should have a ranker; 0: it has no config of the whole. */
static uint32_t
wanted_networks(const char *path, bool *ranker)
{
    skn_error_t ignored = { 0 };
    skn_problems_t *problems = skn_problems_new(&ignored);
    skn_document_t *document = NULL;
    skn_model_t *model = NULL;
    char *text = NULL;
    size_t bytes = 0;
    int folder = -1;
    uint32_t networks = 0;
    if (problems && skn_folder_open(path, &folder, &ignored) == SKN_OK &&
        skn_folder_read_file(folder, path, SKN_RUN_CONFIG_ENSEMBLE,
                             SKN_CONFIG_BYTES_MAX, &text, &bytes,
                             &ignored) == SKN_OK)
        document = skn_document_parse(text, bytes, "ensemble", problems);
    if (document &&
        skn_model_check(document, &model, problems, &ignored) == SKN_OK) {
        networks = (uint32_t)model->train.ensemble;
        *ranker = model->train.ranker_trees > 0;
    }
    if (folder >= 0)
        (void)close(folder);
    skn_model_destroy(&model);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    free(text);
    return networks;
}

/* Notes which network is used instead of the joined one. */
static void
note_network(skn_trained_place_t *place, const char *path, uint32_t begun,
             uint32_t trained, uint32_t chosen)
{
    bool ranker = false;
    uint32_t wanted = wanted_networks(path, &ranker);
    const char *more = wanted > 1 && ranker
                           ? ", none are joined and the ranker "
                             "is not fitted yet"
                       : wanted > 1 ? ", and none are joined yet"
                                    : ", and the ranker is not fitted "
                                      "yet";
    if (wanted > 0)
        (void)snprintf(place->note, sizeof(place->note),
                       "%.200s is unfinished: %u of its %u network%s %s "
                       "trained%s; this is network %u of %u alone",
                       path, trained, wanted, wanted > 1 ? "s" : "",
                       wanted > 1 ? "are" : "is", more, chosen, wanted);
    else
        (void)snprintf(place->note, sizeof(place->note),
                       "%.200s is unfinished: its networks (%u started, %u "
                       "trained) are not joined and no ranker is fitted yet; "
                       "this is network %u alone",
                       path, begun, trained, chosen);
}

/* Finds a network of a run that is not joined yet: the first one that is
 * trained, else the first one that has saved anything. The joined network will
 * be the mean of several; the note names the one used and how many there
 * are. */
static skn_status_t
find_network(const char *path, skn_trained_place_t *place, skn_error_t *error)
{
    uint32_t begun = 0, trained = 0, chosen = 0;
    for (uint32_t k = 1; k <= SKN_ENSEMBLE_MAX; k++) {
        char network[SKN_TEXT_MAX + 32];
        bool any = false;
        (void)snprintf(network, sizeof(network), "%s/network-%u", path, k);
        if (!skn_run_folder_begun(network))
            continue;
        begun++;
        bool done = is_done(network, &any);
        if ((any && chosen == 0) || (done && trained == 0))
            chosen = k;
        trained += done;
    }
    if (chosen == 0) {
        char word[SKN_SHELL_WORD_BYTES];
        (void)skn_fail(error, SKN_NO_INPUT,
                       "%s: none of its networks has a checkpoint yet", path);
        return skn_fail_hint(error, SKN_NO_INPUT,
                             "continue them with `skein train FILE --resume -o "
                             "checkpoint.path=%s`",
                             skn_shell_word(path, word));
    }
    (void)snprintf(place->path, sizeof(place->path), "%s/network-%u", path,
                   chosen);
    note_network(place, path, begun, trained, chosen);
    place->run = skn_run_folder_open_read_only(place->path, error);
    return place->run ? SKN_OK : error->status;
}

static skn_status_t
refuse(const char *path, const skn_node_folders_t *parts, skn_error_t *error)
{
    (void)skn_fail(error, SKN_NO_INPUT,
                   "%s is neither a run folder, a checkpoint nor an "
                   "exported model",
                   path);
    if (parts->other[0][0])
        return skn_fail_hint(error, SKN_NO_INPUT,
                             "it holds several runs, such as %.60s and %.60s: "
                             "give one of them",
                             parts->other[0], parts->other[1]);
    return skn_fail_hint(error, SKN_NO_INPUT,
                         "`skein train` prints the run folder as it starts");
}

/* -1: nothing in the folder can be used. */
static int64_t
newest_batch(const char *path)
{
    skn_checkpoint_t *newest = skn_checkpoint_open(path, SKN_VERIFY_LAZY, NULL);
    int64_t batch = newest ? (int64_t)skn_checkpoint_batch(newest) : -1;
    skn_checkpoint_close(&newest);
    return batch;
}

/* The run folder `path` may be one node's. If the folder `top` that holds it is
 * that run's, and the run has gone on there without the node (one process has
 * resumed it, the other nodes have, or its ranker is there), the place becomes
 * `top`, if that can be opened. */
static skn_status_t
follow_run(skn_trained_place_t *place, const char *path, const char *top,
           skn_error_t *error)
{
    skn_node_folders_t nodes = { 0 };
    skn_run_folder_t *run = NULL;
    skn_error_t fault = { 0 };
    bool begun = skn_run_folder_begun(top);
    if (!begun && !holds(top, SKN_COORDINATOR_JOURNAL))
        return SKN_OK;
    if (skn_node_folders_in(top, &nodes, &fault) == SKN_NO_MEMORY)
        return skn_fail(error, SKN_NO_MEMORY, "%s", fault.text);
    bool is_newer = nodes.count > 0 &&
                    strcmp(nodes.run_id, skn_run_folder_id(place->run)) == 0 &&
                    (newest_batch(top) > newest_batch(path) ||
                     (begun && skn_resume_joined_in(top)));
    if (is_newer && begun)
        run = skn_run_folder_open_read_only(top, &fault);
    if (!is_newer || (begun && !run)) {
        skn_node_folders_fini(&nodes);
        return SKN_OK;
    }
    if (run) {
        skn_run_folder_close(&place->run);
        place->run = run;
    }
    skn_node_folders_fini(&place->nodes);
    place->nodes = nodes;
    (void)snprintf(place->path, sizeof(place->path), "%s", top);
    (void)snprintf(place->note, sizeof(place->note),
                   "%.200s lacks the newest checkpoint of its run; this is "
                   "%.200s",
                   path, top);
    return SKN_OK;
}

/* Opens the run folder `path`, or, if it `follows`, the one where its run has
 * gone on. */
static skn_status_t
find_run(const char *path, bool follows, skn_trained_place_t *place,
         skn_error_t *error)
{
    place->run = skn_run_folder_open_read_only(path, error);
    if (!place->run || !follows)
        return place->run ? SKN_OK : error->status;
    char *top = realpath(path, NULL);
    char *slash = top ? strrchr(top, '/') : NULL;
    skn_status_t status = SKN_OK;
    if (slash > top && strlen(top) < SKN_TEXT_MAX) {
        *slash = '\0';
        status = follow_run(place, path, top, error);
    }
    free(top);
    return status;
}

/* How good a folder is as the newest run: 2: it has a model; 1: it is a run
 * that has saved nothing yet; 0: it is none, or the folder of a tuning, which
 * may have the run of a trial. */
static int
rank_of(const char *path)
{
    skn_trained_place_t place;
    bool gone;
    if (holds(path, SKN_TUNING_JOURNAL))
        return 0;
    bool is_run = skn_trained_find(path, &place, NULL) == SKN_OK;
    bool is_whole = skn_run_config_is_whole(path); /* without a checkpoint */
    skn_checkpoint_t *checkpoint =
        is_run ? skn_trained_checkpoint(&place, SKN_VERIFY_LAZY, &gone, NULL)
               : NULL;
    int rank = checkpoint ? 2 : is_run || is_whole;
    skn_checkpoint_close(&checkpoint);
    skn_trained_place_fini(&place);
    return rank;
}

static bool
is_newer(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

const char *
skn_trained_path(const char *path, char latest[SKN_TEXT_MAX])
{
    const char *slash = strrchr(path, '/');
    char top[SKN_TEXT_MAX];
    struct timespec newest = { 0 };
    struct stat facts;
    int best = 0;
    if (strcmp(slash ? slash + 1 : path, "latest") != 0 ||
        strlen(path) >= SKN_TEXT_MAX || stat(path, &facts) == 0)
        return path;
    (void)snprintf(top, sizeof(top), "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    DIR *folder = opendir(top);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char one[SKN_TEXT_MAX];
        if (entry->d_name[0] == '.' ||
            snprintf(one, sizeof(one), "%s/%s", top, entry->d_name) >=
                (int)sizeof(one) ||
            stat(one, &facts) != 0 || !S_ISDIR(facts.st_mode) ||
            (best == 2 && !is_newer(&facts.st_mtim, &newest)))
            continue;
        int rank = rank_of(one);
        if (rank < best || rank == 0 ||
            (rank == best && !is_newer(&facts.st_mtim, &newest)))
            continue;
        best = rank;
        newest = facts.st_mtim;
        memcpy(latest, one, sizeof(one));
    }
    if (folder)
        (void)closedir(folder);
    return best > 0 ? latest : path;
}

/* `follows`: a run that has gone on elsewhere is found there. */
static skn_status_t
find(const char *path, bool follows, skn_trained_place_t *place,
     skn_error_t *error)
{
    char latest[SKN_TEXT_MAX];
    struct stat facts;
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    memset(place, 0, sizeof(*place));
    if (strlen(path) >= SKN_TEXT_MAX)
        return skn_fail(error, SKN_NO_INPUT, "%.80s...: File name too long",
                        path);
    path = skn_trained_path(path, latest);
    if (stat(path, &facts) != 0)
        return skn_fail_code(error, SKN_NO_INPUT, errno, NULL, "%s", path);
    (void)snprintf(place->path, sizeof(place->path), "%s", path);
    place->one = holds(path, "manifest.json");
    if (place->one)
        return find_checkpoint(path, place, error);
    if (!S_ISDIR(facts.st_mode))
        return refuse(path, &place->nodes, error);
    skn_status_t status = skn_node_folders_in(path, &place->nodes, error);
    if (status != SKN_OK)
        return status;
    if (skn_run_folder_begun(path))
        return find_run(path, follows, place, error);
    if (holds(path, "network-1/run.json"))
        return find_network(path, place, error);
    return place->nodes.count > 0 ? find_config(place, error)
                                  : refuse(path, &place->nodes, error);
}

skn_status_t
skn_trained_find(const char *path, skn_trained_place_t *place,
                 skn_error_t *error)
{
    return find(path, true, place, error);
}

skn_status_t
skn_trained_find_here(const char *path, skn_trained_place_t *place,
                      skn_error_t *error)
{
    return find(path, false, place, error);
}

void
skn_trained_place_fini(skn_trained_place_t *place)
{
    skn_run_folder_close(&place->run);
    skn_node_folders_fini(&place->nodes);
}

bool
skn_trained_form(const skn_trained_place_t *place, const char *name,
                 char path[SKN_RUN_FORM_PATH_BYTES])
{
    bool found = false;
    for (size_t k = 0; k < place->nodes.count && !found; k++)
        found = skn_run_form_find(place->nodes.path[k], name, path);
    return found ||
           skn_run_form_find(skn_run_folder_path(place->run), name, path);
}

skn_status_t
skn_trained_check_tokenizer(const skn_trained_place_t *place,
                            const skn_tokenizer_t *tokenizer, uint32_t ids,
                            skn_error_t *error)
{
    const char *path = skn_run_folder_path(place->run);
    skn_status_t status = skn_tokenizer_check_ids(tokenizer, path, ids, error);
    if (status != SKN_OK ||
        skn_resume_is_same(skn_run_folder_config(place->run),
                           SKN_RESUME_TOKENIZER, skn_tokenizer_hash(tokenizer)))
        return status;
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%.400s: its tokenizer is that of another run, with other "
                   "words",
                   path);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "use the tokenizer that the model was trained with");
}

skn_status_t
skn_trained_model(const skn_run_folder_t *run, skn_model_t **model,
                  skn_error_t *error)
{
    return skn_trained_model_of(skn_run_folder_config(run), model, error);
}

skn_status_t
skn_trained_model_of(const char *config, skn_model_t **model,
                     skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return SKN_NO_MEMORY;
    skn_document_t *document = skn_run_config_parse(config, problems);
    skn_status_t status =
        document ? skn_model_check(document, model, problems, error) : SKN_OK;
    if (skn_problems_count(problems) > 0)
        status = skn_problems_error(problems, error);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return status;
}

/* --- which checkpoint ----------------------------------------------------- */

/* Each node marks its own best checkpoint; the newest checkpoint of the run
 * states which is the run's. */
static skn_checkpoint_t *
best_of_parts(const skn_trained_place_t *place, skn_verify_t verify, bool *gone,
              skn_error_t *error)
{
    skn_progress_t progress = { 0 };
    skn_checkpoint_t *newest = skn_checkpoint_open(place->path, verify, error);
    if (!newest ||
        skn_progress_read(skn_checkpoint_metadata(newest), &progress, NULL,
                          NULL) != SKN_OK ||
        progress.best_epoch == 0 ||
        progress.best_batch == skn_checkpoint_batch(newest))
        return newest;
    skn_checkpoint_t *best = skn_checkpoint_open_batch(
        place->path, progress.best_batch, verify, NULL);
    *gone = best == NULL;
    if (!best)
        return newest;
    skn_checkpoint_close(&newest);
    return best;
}

static skn_checkpoint_t *
best_of_run(const skn_trained_place_t *place, skn_verify_t verify, bool *gone,
            skn_error_t *error)
{
    char best[SKN_TEXT_MAX + 64];
    struct stat facts;
    (void)snprintf(best, sizeof(best), "%s/best", place->path);
    if (holds(best, "manifest.json"))
        return skn_checkpoint_open(best, verify, error);
    *gone = lstat(best, &facts) == 0;
    return skn_checkpoint_open(place->path, verify, error);
}

skn_checkpoint_t *
skn_trained_checkpoint(const skn_trained_place_t *place, skn_verify_t verify,
                       bool *gone, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint =
        place->one ? skn_checkpoint_open(place->path, verify, error)
        : place->nodes.count > 0 ? best_of_parts(place, verify, gone, error)
                                 : best_of_run(place, verify, gone, error);
    if (!checkpoint && error && error->status != SKN_NO_MEMORY)
        skn_trained_missing(place, error);
    return checkpoint;
}

skn_status_t
skn_trained_open(skn_trained_t *trained, const char *path, skn_verify_t verify,
                 skn_error_t *error)
{
    skn_trained_place_t *place = &trained->place;
    skn_error_t own = { 0 };
    bool gone = false;
    if (!error)
        error = &own;
    memset(trained, 0, sizeof(*trained));
    skn_status_t status = skn_trained_find(path, place, error);
    if (status == SKN_OK)
        status = skn_trained_model(place->run, &trained->model, error);
    if (status != SKN_OK)
        return status;
    trained->checkpoint = skn_trained_checkpoint(place, verify, &gone, error);
    if (!trained->checkpoint)
        return error->status;
    if (place->note[0])
        (void)snprintf(trained->warning, sizeof(trained->warning),
                       "%s, batch %" PRIu64, place->note,
                       skn_checkpoint_batch(trained->checkpoint));
    else
        (void)snprintf(trained->warning, sizeof(trained->warning), "%s",
                       gone ? BEST_GONE
                            : skn_checkpoint_warning(trained->checkpoint));
    return SKN_OK;
}

void
skn_trained_close(skn_trained_t *trained)
{
    skn_checkpoint_close(&trained->checkpoint);
    skn_trained_place_fini(&trained->place);
    skn_model_destroy(&trained->model);
}
