/* process.h - system calls of the command's processes: children, folders, ends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_PROCESS_H
#define CLI_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"

/* Reads and drops standard input, by which the parent holds this process. True:
 * it was closed. */
bool cli_leash_is_gone(void);

/* Waits until the process, a child of this one, has ended; *status is as in
 * waitpid. It is not written if `status` is NULL or there is no such child. */
void cli_process_wait(pid_t process, int *status);

/* Writes the path of this program to text[bytes]. SKN_UNAVAILABLE. */
skn_status_t cli_self_path(char *text, size_t bytes, skn_error_t *error);

/* From this call on, a file that grows beyond the limit of the process (ulimit
 * -f) is a write error and not a signal. */
void cli_outlive_file_limit(void);

/* Whether `path` is a folder. */
bool cli_is_folder(const char *path);
/* Removes the folder `path` with everything in it; a missing one is not an
 * error. Follows no links. SKN_STORAGE. */
skn_status_t cli_remove_tree(const char *path, skn_error_t *error);

/* The number of processing units that this process may use. */
uint32_t cli_unit_count(void);

/* A flag shared with the workers, which the first call creates: cli_worker_exit
 * sets it. NULL: there is no memory for it. */
volatile bool *cli_worker_end_mark(void);
/* Ends this process, a worker or any other, at once: a worker that ends in
 * another way was ended by a plug-in. May be called in a signal handler. */
_Noreturn void cli_worker_exit(int code);

/* Allocates zeroed, shared memory that survives a worker's death; NULL on
 * failure. */
void *cli_shared_new(size_t bytes);

/* Whether standard output is a pipe without a reader. */
bool cli_output_unread(void);
/* Lets the process survive the end of its standard output's reader. */
void cli_output_outlive(void);
/* Ends the process by SIGPIPE, after everything else is done; if that fails,
 * returns the exit code. */
int cli_output_end_unread(void);

#endif
