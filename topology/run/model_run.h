/* model_run.h - makes a model file into a topology that can be started: reads,
 * plans, finds the state of the run, wires.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_MODEL_RUN_H
#define TOPOLOGY_RUN_MODEL_RUN_H

#include "topology/host/host.h"
#include "topology/plan/plan.h"
#include "topology/run/resume.h"

typedef struct skn_model_run_options {
    const char *path; /* path of the model file */
    const char *text; /* its content, named `path`; NULL: it is read */
    size_t text_bytes;
    bool from_run; /* it is a run folder, whose config is the model */
    const char *const *overrides;
    size_t override_count;
    uint32_t progress_ms; /* between progress events; 0: none */
    /* from a stop to the next marker, at most; 0: the default */
    uint32_t patience_s;
    bool resume;             /* continue the run of the folder */
    const char *from;        /* exactly this checkpoint; NULL: the newest */
    uint64_t generation;     /* generation of the nodes */
    bool begins_with_others; /* plan a finished run, too: other nodes begin it,
                              * and it ends at once */
    bool again;       /* the worker died: continue run_path, whatever it has */
    char *run_path;   /* [SKN_TEXT_MAX] "": chosen and written here */
    char *run_id;     /* [33] "": drawn and written here */
    bool must_be_new; /* refuse a folder that holds a run before all else */
    bool unsaved;     /* no checkpoints, no run folder: for plans */
    const char *node; /* the name of this node; NULL: the model has none, or
                       * one, or is only planned */
    const char *predict; /* a data file to predict by the model of the run in
                          * checkpoint.path; NULL: train */
    uint32_t predict_labels; /* for each point of it */
    bool whole_paths;        /* the topology's paths hold from any folder */
    /* Called as soon as the model file is read, before its data is; or NULL. */
    void (*on_model)(void *state, const skn_model_t *model);
    void *on_model_state;
} skn_model_run_options_t;

typedef struct skn_model_run {
    skn_model_t *model;
    skn_model_t whole; /* the same, resolved, with absolute paths */
    char *whole_path[8], **whole_plugin;
    skn_model_node_t *whole_node; /* whole.nodes, with keys of their own */
    skn_plan_texts_t texts;       /* of a decoder */
    skn_plan_t plan;
    skn_resume_t resume;
    skn_topology_t *topology; /* NULL if the run has already finished */
    uint32_t actor_count;
    uint32_t node;       /* the index of this node in the model */
    size_t left_nodes;   /* nodes that this one process continues without */
    bool has_ranker;     /* a run that predicts: it does not use its ranker */
    uint32_t left_trees; /* of the ranker that it leaves out */
    uint64_t data_hash;
} skn_model_run_t;

/* Faults of the file go to `problems`, other failures to `error`; either means
 * failure. Call skn_model_run_close in any case. */
skn_status_t skn_model_run_open(skn_model_run_t *run,
                                const skn_model_run_options_t *options,
                                skn_problems_t *problems, skn_error_t *error);
void skn_model_run_close(skn_model_run_t *run);

/* The number of processing units that this process may use; 0 with a filled
 * `error`. */
uint32_t skn_unit_count(skn_error_t *error);
/* The memory that this process may still use: the least of what is free, the
 * limits of its control group, and RLIMIT_AS. */
uint64_t skn_memory_available_bytes(void);

#endif
