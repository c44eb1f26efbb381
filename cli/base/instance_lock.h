/* instance_lock.h - allows one process of a kind at a time in a run folder.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_INSTANCE_LOCK_H
#define CLI_BASE_INSTANCE_LOCK_H

#include "skein/error.h"

/* Creates the folder FOLDER/NAME and locks it until *lock, a descriptor, is
 * closed or the process ends. SKN_BUSY, naming the other process by its number,
 * and with `hint`, if another process holds the lock. */
skn_status_t cli_instance_lock(const char *folder, const char *name,
                               const char *hint, int *lock, skn_error_t *error);

#endif
