/* process.h - what the long-lived processes of the command share: the clock,
 * exit codes of others.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_PROCESS_H
#define CLI_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"

/* Reads what came on standard input, by which whoever started this process
 * holds it. True: it was let go. */
bool cli_leash_is_gone(void);

/* Waits until the process, a child of this one, has ended; *status as waitpid
 * has it, left as it is where nobody asks (NULL) or there is no such child. */
void cli_process_wait(pid_t process, int *status);

/* The status whose exit code another process of ours ended with, or said;
 * SKN_INTERNAL for one that is none. */
skn_status_t cli_status_of_code(int code);

/* The path of this program, in text[bytes]. SKN_UNAVAILABLE. */
skn_status_t cli_self_path(char *text, size_t bytes, skn_error_t *error);

/* From here on a file that grows beyond the limit of the process (ulimit -f) is
 * an error of the write, and no signal. */
void cli_outlive_file_limit(void);

/* Whether `path` is a folder. */
bool cli_is_folder(const char *path);

/* Removes a folder with all that is in it; one that is not there is removed.
 * It follows no links. SKN_STORAGE. */
skn_status_t cli_folder_remove(const char *path, skn_error_t *error);

/* Ends a worker, or any other process of ours, at once: a worker that ends in
 * another way was ended by a plug-in. Also in a signal handler. */
_Noreturn void cli_worker_exit(int code);

/* Zeroed memory that survives a worker's death. NULL: none. */
void *cli_shared_new(size_t bytes);
/* From here on cli_worker_exit sets *shared, of cli_shared_new or NULL. */
void cli_worker_marks_end(volatile bool *shared);

/* Whether standard output is a pipe that nobody reads. */
bool cli_output_unread(void);
/* Makes the process outlive whoever reads its standard output. */
void cli_output_outlive(void);
/* Ends the process as SIGPIPE does others, when all else is done; where that
 * cannot be, returns the exit code. */
int cli_output_end_unread(void);

#endif
