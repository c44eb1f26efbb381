/* chosen.h - says what `auto` chose, and why.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_CHOSEN_H
#define CLI_BASE_CHOSEN_H

#include <jansson.h>
#include <stdio.h>

#include "topology/plan/plan.h"

/* The choices of a plan, of all of which `model` has the values: an object of
 * key -> { "value", "reason" }. NULL: no memory. Release with json_decref. */
json_t *cli_chosen(skn_plan_t *plan, const skn_model_t *model);
/* A line for each that changes what is learnt; `chosen` may be NULL. */
void cli_chosen_print(const json_t *chosen, FILE *file);

#endif
