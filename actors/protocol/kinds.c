/* kinds.c - the list of built-in kinds.  SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/kinds.h"

const skn_kind_t *const skn_kinds[] = {
    &skn_source,    &skn_reader,   &skn_embedding, &skn_dense,
    &skn_output,    &skn_combiner, &skn_updater,   &skn_table_builder,
    &skn_evaluator, &skn_keeper,   &skn_course,    NULL,
};
