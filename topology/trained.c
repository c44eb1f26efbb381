/* trained.c - finds the checkpoint and the config of a trained model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/trained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/folder.h"
#include "topology/document.h"
#include "topology/shell_word.h"

/* Whether the folder `path` holds the file `name`. */
static bool
holds(const char *path, const char *name)
{
    char file[SKN_TEXT_MAX + 32];
    (void)snprintf(file, sizeof(file), "%s/%s", path, name);
    return access(file, F_OK) == 0;
}

static skn_run_folder_t *
run_of_checkpoint(const char *path, skn_error_t *error)
{
    char *whole = realpath(path, NULL); /* RUN/best is a link into RUN */
    skn_run_folder_t *run = NULL;
    if (!whole) {
        skn_fail(error, skn_errno_status(errno, SKN_NO_INPUT), "%s: %s", path,
                 strerror(errno));
        return NULL;
    }
    char *end = strrchr(whole, '/');
    if (end > whole)
        *end = '\0';
    if (skn_run_folder_begun(whole))
        run = skn_run_folder_look(whole, error);
    else
        (void)skn_fail_hint(
            error,
            skn_fail(error, SKN_NO_INPUT,
                     "%s: the checkpoint lies in no run folder, which has its "
                     "config",
                     path),
            "keep it beside run.json");
    free(whole);
    return run;
}

skn_run_folder_t *
skn_trained_run(const char *path, bool *one, skn_error_t *error)
{
    struct stat facts;
    *one = false;
    if (stat(path, &facts) != 0) {
        int code = errno;
        skn_fail(error, skn_errno_status(code, SKN_NO_INPUT), "%s: %s", path,
                 strerror(code));
        return NULL;
    }
    *one = holds(path, "manifest.json");
    if (*one)
        return run_of_checkpoint(path, error);
    if (S_ISDIR(facts.st_mode) && skn_run_folder_begun(path))
        return skn_run_folder_look(path, error);
    (void)skn_fail(error, SKN_NO_INPUT,
                   "%s is neither a run folder nor a checkpoint", path);
    if (holds(path, "network-1/run.json")) {
        (void)skn_fail(error, SKN_NO_INPUT,
                       "%s is unfinished: its networks are not joined yet",
                       path);
        char word[SKN_SHELL_WORD_BYTES];
        (void)skn_fail_hint(error, SKN_NO_INPUT,
                            "go on with `skein train FILE --resume -o "
                            "checkpoint.path=%s`, or give one of them, such as "
                            "%s/network-1",
                            skn_shell_word(path, word), path);
    } else if (holds(path, "coordinator.journal"))
        (void)skn_fail_hint(error, SKN_NO_INPUT,
                            "its nodes have a run folder each: give that of "
                            "the one that led, such as %s/NAME",
                            path);
    else
        (void)skn_fail_hint(error, SKN_NO_INPUT,
                            "`skein train` prints the run folder as it starts");
    return NULL;
}

skn_status_t
skn_trained_model(const skn_run_folder_t *run, skn_model_t **model,
                  skn_error_t *error)
{
    const char *config = skn_run_folder_config(run);
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return SKN_NO_MEMORY;
    /* A name without a folder: its paths are resolved already. */
    skn_document_t *document =
        skn_document_parse(config, strlen(config), "run.json", problems);
    skn_status_t status =
        document ? skn_model_check(document, model, problems, error) : SKN_OK;
    if (skn_problems_count(problems) > 0)
        status = skn_problems_error(problems, error);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return status;
}

skn_checkpoint_t *
skn_trained_checkpoint(const char *path, skn_verify_t verify,
                       skn_error_t *error)
{
    skn_checkpoint_t *checkpoint = skn_checkpoint_open(path, verify, error);
    if (checkpoint || !holds(path, "manifest.json"))
        return checkpoint;
    checkpoint = skn_checkpoint_open(path, SKN_VERIFY_HERE, NULL);
    size_t missing = 0, count = 0;
    if (checkpoint)
        count = skn_checkpoint_manifest(checkpoint)->file_count;
    for (size_t k = 0; k < count; k++)
        missing += !skn_checkpoint_has_file(checkpoint, k);
    if (missing > 0 && !skn_checkpoint_warning(checkpoint)[0]) {
        (void)skn_fail(error, SKN_NO_INPUT, "%s: %zu of %zu files are not here",
                       path, missing, count);
        (void)skn_fail_hint(error, SKN_NO_INPUT,
                            "if other nodes keep them, copy them from their "
                            "folders; else name a checkpoint that is whole; "
                            "`skein inspect` lists them");
    }
    skn_checkpoint_close(&checkpoint);
    return NULL;
}

skn_status_t
skn_trained_open(skn_trained_t *trained, const char *path, skn_verify_t verify,
                 skn_error_t *error)
{
    char best[SKN_TEXT_MAX + 8];
    struct stat facts;
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    memset(trained, 0, sizeof(*trained));
    trained->run = skn_trained_run(path, &trained->one, error);
    if (!trained->run)
        return error->status;
    skn_status_t status =
        skn_trained_model(trained->run, &trained->model, error);
    if (status != SKN_OK)
        return status;
    (void)snprintf(best, sizeof(best), "%s/best", path);
    if (!trained->one && holds(best, "manifest.json"))
        path = best;
    trained->checkpoint = skn_trained_checkpoint(path, verify, error);
    if (!trained->checkpoint)
        return error->status;
    trained->warning = skn_checkpoint_warning(trained->checkpoint);
    if (!trained->one && path != best && lstat(best, &facts) == 0)
        trained->warning = "`best` names a checkpoint that is gone: the newest "
                           "is used";
    return SKN_OK;
}

void
skn_trained_close(skn_trained_t *trained)
{
    skn_checkpoint_close(&trained->checkpoint);
    skn_run_folder_close(&trained->run);
    skn_model_destroy(&trained->model);
}
