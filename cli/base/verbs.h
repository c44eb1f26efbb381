/* verbs.h - declares the tables of all verbs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_VERBS_H
#define CLI_BASE_VERBS_H

#include "cli/base/verb.h"

extern const cli_verb_t cli_train;
extern const cli_verb_t cli_tune;
extern const cli_verb_t cli_run;
extern const cli_verb_t cli_up;
extern const cli_verb_t cli_node;
extern const cli_verb_t cli_coordinator;
extern const cli_verb_t cli_member;
extern const cli_verb_t cli_torture;
extern const cli_verb_t cli_check;
extern const cli_verb_t cli_plan;
extern const cli_verb_t cli_graph;
extern const cli_verb_t cli_eval;
extern const cli_verb_t cli_inspect;
extern const cli_verb_t cli_join;
extern const cli_verb_t cli_predict;
extern const cli_verb_t cli_actors;
extern const cli_verb_t cli_doctor;
extern const cli_verb_t cli_keygen;
extern const cli_verb_t cli_bench;
extern const cli_verb_t cli_recipe;
extern const cli_verb_t cli_reference;
extern const cli_verb_t cli_schema;
extern const cli_verb_t cli_man;
extern const cli_verb_t cli_completion;
extern const cli_verb_t cli_version;

#endif
