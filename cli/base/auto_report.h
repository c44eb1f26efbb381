/* auto_report.h - reports the values that `auto` chose, with the reasons.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_AUTO_REPORT_H
#define CLI_BASE_AUTO_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "topology/plan/plan.h"

/* Makes an object of the choices of a plan: key -> { "value", "reason" }.
 * `model` must have the values of all of them. NULL if memory is short. Release
 * with json_decref. */
json_t *cli_auto_report(skn_plan_t *plan, const skn_model_t *model);
/* Prints one line for each choice that affects the trained model; `chosen` may
 * be NULL. */
void cli_auto_report_print(const json_t *chosen, FILE *file);

#endif
