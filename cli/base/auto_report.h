/* auto_report.h - prints what `auto` has chosen, for people.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_AUTO_REPORT_H
#define CLI_BASE_AUTO_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/verb.h"

/* Prints one line for each choice of `auto` that affects the trained model;
 * `chosen` is the member `auto` of an event, or NULL. */
void cli_auto_report_print(const json_t *chosen, FILE *file);

#endif
