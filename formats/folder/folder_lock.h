/* folder_lock.h - lets only one process at a time write in a folder.
 *
 * The lock is flock() on the file `lock` in the folder; it is released when its
 * process ends in any way. The file holds the owner's pid for people, and is
 * never removed: otherwise two processes could lock two files of one name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_FOLDER_FOLDER_LOCK_H
#define FORMATS_FOLDER_FOLDER_LOCK_H

#include "skein/error.h"

#include <stdint.h>

/* Locks `folder`, waiting at most `wait_ms`; *lock is the descriptor that holds
 * the lock. SKN_BUSY: "PATH is held by process PID". A child made by fork holds
 * the lock too, as long as it lives or until it execs. */
skn_status_t skn_folder_lock_open(int folder, const char *path,
                                  uint32_t wait_ms, int *lock,
                                  skn_error_t *error);
/* SKN_BUSY if another process has locked the file `path`, and still has after
 * `wait_ms`. Keeps no lock, changes nothing. A missing file is SKN_OK. */
skn_status_t skn_folder_lock_ask(const char *path, uint32_t wait_ms,
                                 skn_error_t *error);
/* Releases the folder and sets *lock to -1, which it may be already. */
void skn_folder_lock_close(int *lock);

#endif
