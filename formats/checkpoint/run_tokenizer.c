/* run_tokenizer.c - keeps the tokenizer of a decoder in its run folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/run_tokenizer.h"

#include <stdio.h>
#include <unistd.h>

#include "formats/folder/folder.h"

skn_status_t
skn_run_tokenizer_keep(const skn_run_folder_t *run, const char *form,
                       size_t form_bytes, skn_error_t *error)
{
    return skn_folder_replace_file(skn_run_folder_descriptor(run),
                                   skn_run_folder_path(run), SKN_TOKENIZER_NAME,
                                   form, form_bytes, error);
}

bool
skn_run_tokenizer_find(const char *run_path,
                       char path[SKN_RUN_TOKENIZER_PATH_BYTES])
{
    (void)snprintf(path, SKN_RUN_TOKENIZER_PATH_BYTES, "%s/" SKN_TOKENIZER_NAME,
                   run_path);
    return access(path, F_OK) == 0;
}
