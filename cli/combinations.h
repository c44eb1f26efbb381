/* combinations.h - which options of a verb go together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMBINATIONS_H
#define CLI_COMBINATIONS_H

#include "cli/base/verb.h"

/* SKN_USAGE where an option was given that another one given leaves without a
 * meaning, or that has none without one that is missing. */
skn_status_t cli_combinations_check(const cli_call_t *call, skn_error_t *error);

#endif
