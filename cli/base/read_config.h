/* read_config.h - reads the config of a command line, and reports its
 * problems.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_READ_CONFIG_H
#define CLI_BASE_READ_CONFIG_H

#include "cli/base/verb.h"
#include "skein/config.h"

/* Reads the file of operand `operand` with all values of -o, the overrides of
 * `how` after them, and --node if the verb has that. NULL: without memory. */
skn_config_t *cli_config_load(const cli_call_t *call, size_t operand,
                              skn_config_options_t how, skn_error_t *error);
/* Reports all problems of the config: each on one line, with the source, and
 * with --json each as an event. Returns the exit code; 0: there are none. */
int cli_config_report(const cli_call_t *call, skn_config_t *config);
/* Prints its warnings. */
void cli_config_warn(const cli_call_t *call, skn_config_t *config);
/* Its facts; it has a config, so this does not fail. */
skn_config_info_t cli_config_info(skn_config_t *config);
/* A value that is not there is "". */
const char *cli_config_value(skn_config_t *config, const char *key);
/* The machine that ssh reaches node `name` by; "": it is here. */
const char *cli_config_ssh(skn_config_t *config, const char *name);

#endif
