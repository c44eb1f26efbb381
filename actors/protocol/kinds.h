/* kinds.h - the built-in kinds of actors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_KINDS_H
#define ACTORS_PROTOCOL_KINDS_H

#include "skein/actor.h"

extern const skn_kind_t skn_source;
extern const skn_kind_t skn_reader;
extern const skn_kind_t skn_embedding;
extern const skn_kind_t skn_dense;
extern const skn_kind_t skn_output;
extern const skn_kind_t skn_combiner;
extern const skn_kind_t skn_updater;
extern const skn_kind_t skn_table_builder;
extern const skn_kind_t skn_evaluator;
extern const skn_kind_t skn_keeper;
extern const skn_kind_t skn_course;

/* All built-in kinds; ends with NULL. */
extern const skn_kind_t *const skn_kinds[];

#endif
