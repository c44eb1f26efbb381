/* run_tokenizer.c - keeps the tokenizer of a decoder in its run folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/run_tokenizer.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "formats/folder/folder.h"

/* The run folder removes what a process that was killed has left. */
#define TOKENIZER_FRESH ".tmp-" SKN_TOKENIZER_NAME

skn_status_t
skn_run_tokenizer_keep(const skn_run_folder_t *run, const char *form,
                       size_t form_bytes, skn_error_t *error)
{
    int folder = skn_run_folder_descriptor(run);
    const char *path = skn_run_folder_path(run);
    skn_status_t status =
        skn_folder_remove(folder, path, TOKENIZER_FRESH, error);
    if (status == SKN_OK)
        status = skn_folder_write_file(folder, path, TOKENIZER_FRESH, form,
                                       form_bytes, error);
    if (status != SKN_OK)
        return status;
    if (renameat(folder, TOKENIZER_FRESH, folder, SKN_TOKENIZER_NAME) == 0)
        return skn_folder_sync(folder, path, error);
    status = skn_fail_errno(error, SKN_STORAGE, path, SKN_TOKENIZER_NAME,
                            "cannot rename");
    (void)unlinkat(folder, TOKENIZER_FRESH, 0);
    return status;
}

bool
skn_run_tokenizer_find(const char *run_path,
                       char path[SKN_RUN_TOKENIZER_PATH_BYTES])
{
    (void)snprintf(path, SKN_RUN_TOKENIZER_PATH_BYTES, "%s/" SKN_TOKENIZER_NAME,
                   run_path);
    return access(path, F_OK) == 0;
}
