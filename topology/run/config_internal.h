/* config_internal.h - the fields of a config, for the sources that read, plan
 * and print one.
 *
 * Private to topology/run/config*.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_CONFIG_INTERNAL_H
#define TOPOLOGY_RUN_CONFIG_INTERNAL_H

#include "skein/config.h"
#include "topology/run/model_run.h"

typedef struct config_warning {
    char text[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_HINT_BYTES];
    skn_model_place_t place;
} config_warning_t;

struct skn_config {
    char *name; /* as it was given */
    char *text; /* NULL: it is a run folder, or cannot be read */
    size_t text_bytes;
    bool is_folder;
    skn_config_options_t options; /* its texts are ours */
    skn_problems_t *problems;
    /* Without problems one of the two is set, until the topology is taken. */
    skn_model_t *model;  /* as it was read: `auto` stays */
    skn_spec_t *spec;    /* of a topology file */
    skn_model_run_t run; /* the plan of the model */
    bool is_planned, is_taken;
    skn_plan_data_t data; /* of a model whose data were read */
    bool has_data;
    char run_path[SKN_TEXT_MAX], run_id[SKN_RUN_ID_BYTES];
    config_warning_t *warnings;
    size_t warning_count;
    /* What is lent to the host. */
    skn_config_problem_t lent;
    char lent_file[SKN_TEXT_MAX];
    const char *nodes[SKN_CLUSTER_NODES_MAX];
    skn_config_info_t info;
    skn_document_t *values; /* every value of the model; NULL: not yet made */
};

/* The model with what is decided of it; NULL: it is a topology, or refused. */
const skn_model_t *skn_config_model(const skn_config_t *config);
/* The topology that there is; NULL: none. */
const skn_spec_t *skn_config_spec(const skn_config_t *config);
/* Describes the config, after it was read or planned. config_facts.c */
void skn_config_describe(skn_config_t *config);
/* Finds its warnings, in place of those of before. config_warnings.c */
void skn_config_warn(skn_config_t *config);
/* Returns SKN_OK without problems, else the first one. */
skn_status_t skn_config_refusal(const skn_config_t *config, skn_error_t *error);

#endif
