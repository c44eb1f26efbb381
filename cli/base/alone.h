/* alone.h - one process of a kind at a time in the folder of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_ALONE_H
#define CLI_BASE_ALONE_H

#include "skein/error.h"

/* Makes FOLDER/NAME and holds it until *lock is closed by skn_folder_lock_close
 * (formats/folder/folder_lock.h) or the process ends. SKN_BUSY: another process
 * does, by its number, and `hint`. */
skn_status_t cli_alone(const char *folder, const char *name, const char *hint,
                       int *lock, skn_error_t *error);

#endif
