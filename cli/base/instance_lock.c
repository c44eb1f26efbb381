/* instance_lock.c - takes the lock that allows one process of a kind per run
 * folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/instance_lock.h"

#include <stdio.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "formats/folder/folder_lock.h"
#include "skein/limits.h"

/* The time to wait for the lock: a process that was killed may still be
 * exiting. */
#define WAIT_MS 2000u

skn_status_t
cli_instance_lock(const char *folder, const char *name, const char *hint,
                  int *lock, skn_error_t *error)
{
    char path[SKN_TEXT_MAX + SKN_NAME_MAX + 16];
    int descriptor = -1;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    skn_status_t status = skn_folder_create(path, &descriptor, error);
    if (status != SKN_OK)
        return status;
    status = skn_folder_lock_open(descriptor, path, WAIT_MS, lock, error);
    (void)close(descriptor);
    return status == SKN_BUSY ? skn_fail_hint(error, status, "%s", hint)
                              : status;
}
