/* verbs.c - the list of verbs.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs.h"

const cli_verb_t *const cli_verbs[] = {
    &cli_train,
    &cli_run,
    &cli_plan,
    NULL,
};
