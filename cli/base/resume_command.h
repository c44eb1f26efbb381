/* resume_command.h - prints the shell command that resumes a stopped run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_RESUME_COMMAND_H
#define CLI_BASE_RESUME_COMMAND_H

#include <stdio.h>

#include "cli/base/verb.h"

/* cli_resume_command_write writes one line that a POSIX shell accepts
 * unchanged: the program as it was called, the verb, its operands, the options
 * that were given, and --resume if the verb has it. `path` is the run's folder
 * if the command does not name it, else NULL. cli_resume_command_print prints a
 * sentence before that line. */
void cli_resume_command_print(const cli_call_t *call, const char *sentence,
                              const char *path);
void cli_resume_command_write(const cli_call_t *call, const char *path,
                              FILE *file);

#endif
