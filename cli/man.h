/* man.h - prints manual pages from the tables of verbs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MAN_H
#define CLI_MAN_H

#include "cli/base/verb.h"

void cli_man_verb(const cli_verb_t *verb, FILE *file);
/* Prints skein(1), which refers to the others. */
void cli_man_all(FILE *file);

#endif
