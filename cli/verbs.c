/* verbs.c - the list of all verbs, in the order of the help text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/verbs.h"

const cli_verb_t *const cli_verbs[] = {
    &cli_train,       &cli_tune,   &cli_up,      &cli_node,
    &cli_coordinator, &cli_member, &cli_torture, &cli_run,
    &cli_check,       &cli_plan,   &cli_graph,   &cli_eval,
    &cli_predict,     &cli_join,   &cli_inspect, &cli_actors,
    &cli_doctor,      &cli_keygen, &cli_bench,   &cli_recipe,
    &cli_reference,   &cli_schema, &cli_man,     &cli_completion,
    &cli_version,     NULL,
};
