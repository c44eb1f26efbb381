/* again.h - the command line that goes on with a run that was stopped.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_AGAIN_H
#define CLI_BASE_AGAIN_H

#include <stdio.h>

#include "cli/base/verb.h"

/* Writes one line that a POSIX shell takes as it is: the program as it was
 * called, the verb, its operands, the options that were given, and --resume
 * where the verb has it. `path` is the run's folder where the command does not
 * name it; NULL: it does. cli_again_tell prints a sentence before it. */
void cli_again_tell(const cli_call_t *call, const char *sentence,
                    const char *path);
void cli_again_write(const cli_call_t *call, const char *path, FILE *file);

#endif
