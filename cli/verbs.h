/* verbs.h - one table a verb, each in the file of its name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "cli/verb.h"

extern const cli_verb_t cli_train;
extern const cli_verb_t cli_run;
extern const cli_verb_t cli_plan;

#endif
