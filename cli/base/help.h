/* help.h - prints help texts from the tables of verbs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_HELP_H
#define CLI_BASE_HELP_H

#include "cli/base/verb.h"

void cli_help_verbs(FILE *file);
void cli_help_verb(const cli_verb_t *verb, FILE *file);

#endif
