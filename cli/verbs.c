/* verbs.c - makes the table of all verbs from their list.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/verbs.h"

#define VERB_AT(name) &cli_##name,

const cli_verb_t *const cli_verbs[] = { CLI_VERBS(VERB_AT) NULL };
