/* auto_report.h - prints what a plan has chosen and noted, for people.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_AUTO_REPORT_H
#define CLI_BASE_AUTO_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/verb.h"
#include "topology/plan/plan.h"

/* Prints one line for each choice of `auto` that affects the trained model;
 * `chosen` is the member `auto` of an event, or NULL. */
void cli_auto_report_print(const json_t *chosen, FILE *file);
/* Prints the plan's notes about the data files as warnings. */
void cli_plan_notes(const cli_call_t *call, const skn_plan_t *plan);

#endif
