/* combinations.h - checks which options of a verb can be combined.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMBINATIONS_H
#define CLI_COMBINATIONS_H

#include "cli/base/verb.h"

/* SKN_USAGE if an option has no effect because of another one that was given,
 * or without one that is missing. */
skn_status_t cli_combinations_check(const cli_call_t *call, skn_error_t *error);

#endif
