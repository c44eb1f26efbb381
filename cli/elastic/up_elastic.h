/* up_elastic.h - skein up for a run with a coordinator.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_UP_ELASTIC_H
#define CLI_ELASTIC_UP_ELASTIC_H

#include "cli/up/up.h"
#include "skein/config.h"

/* Writes the folder of the run: checkpoint.path, or a folder below runs/. */
void cli_up_elastic_path(skn_config_t *config, char path[SKN_TEXT_MAX]);
/* Starts a coordinator and all members of `config`, restarts those that die and
 * follows the run to its end. Returns the exit code. */
int cli_up_elastic(const cli_call_t *call, skn_config_t *config,
                   const cli_up_local_t *local);

#endif
