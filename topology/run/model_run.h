/* model_run.h - from a model file to a topology that can be started: read,
 * plan, find where the run stands, wire.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_MODEL_RUN_H
#define TOPOLOGY_RUN_MODEL_RUN_H

#include "topology/run/host.h"
#include "topology/plan/plan.h"
#include "topology/run/resume.h"

typedef struct skn_model_run_options {
    const char *path; /* of the model file */
    bool from_run;    /* it is a run folder, whose config is the model */
    const char *const *overrides;
    size_t override_count;
    uint32_t progress_ms; /* between progress events; 0: none */
    uint32_t patience_s;  /* to the next marker, when stopped; 0: the default */
    bool resume;         /* the user asks to go on with the run of the folder */
    const char *from;    /* from exactly this checkpoint; NULL: the newest */
    uint64_t generation; /* of the nodes */
    bool again;     /* the worker died: go on with run_path, whatever it has */
    char *run_path; /* [SKN_TEXT_MAX] "": is chosen and written here */
    char *run_id;   /* [33] "": is drawn and written here */
    bool must_be_new;    /* refuse a folder that holds a run before all else */
    bool unsaved;        /* no checkpoints, no run folder: for plans */
    const char *node;    /* which of the model's nodes this is; NULL: the model
                       * has none, or one, or is only planned */
    const char *predict; /* a data file: predict it by the model that the run
                          * in checkpoint.path has; NULL: train */
    uint32_t predict_labels; /* for each point of it */
    bool whole_paths;        /* the topology's paths hold from any folder */
    /* Called as soon as the model file is read, before its data is; or NULL. */
    void (*on_model)(void *state, const skn_model_t *model);
    void *on_model_state;
} skn_model_run_options_t;

typedef struct skn_model_run {
    skn_model_t *model;
    skn_model_t whole; /* the same, resolved, with paths from the root on */
    char *whole_path[7], **whole_plugin;
    skn_model_node_t *whole_node; /* whole.nodes, with keys of their own */
    skn_plan_t plan;
    skn_resume_t resume;
    skn_topology_t *topology; /* NULL if the run has finished already */
    uint32_t actor_count;
    uint32_t node;     /* its place among the model's nodes */
    size_t left_nodes; /* that it goes on without, in this one process */
    uint64_t data_hash;
} skn_model_run_t;

/* What is wrong with the file goes to `problems`, all else to `error`; either
 * means failure. Close it in any case. */
skn_status_t skn_model_run_open(skn_model_run_t *run,
                                const skn_model_run_options_t *options,
                                skn_problems_t *problems, skn_error_t *error);
void skn_model_run_close(skn_model_run_t *run);

/* Processing units that this process may use. 0 and a filled `error`. */
uint32_t skn_unit_count(skn_error_t *error);
/* Memory that this process may still take: the least of what is free, the
 * limits of its control group, and RLIMIT_AS. */
uint64_t skn_memory_available_bytes(void);

#endif
