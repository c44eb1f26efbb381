/* plan.h - from a model and its data to the topology that trains it.
 *
 * Everything that the model file left to Skein is decided here: what changes
 * the model (widths, sampler, rates, epochs) from statistics of the data alone,
 * so that one file gives one model on any machine; what does not (shards,
 * cores) from the machine, or from the file alone where there are several
 * nodes, so that the plan is the same on each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_PLAN_H
#define TOPOLOGY_PLAN_PLAN_H

#include "formats/dataset/dataset.h"
#include "skein/limits.h"
#include "topology/model/model.h"
#include "topology/model/reasons.h"
#include "topology/spec/spec.h"

/* Most notes on the data: three of each file. */
#define SKN_PLAN_NOTES_MAX 6u

/* What the data say, after the validation points were taken out. */
typedef struct skn_plan_data {
    uint64_t train_points, validate_points, test_points;
    uint64_t unlabelled, featureless; /* of the training file */
    uint32_t features, labels, labels_occurring;
    double labels_per_point, features_per_point;
    uint64_t train_hash;   /* of what the training file holds */
    uint64_t content_hash; /* skn_data_hash of both files */
    uint64_t mapped_bytes; /* both files, as a reader has them in memory */
    /* What the user should know; it stops nothing. */
    skn_error_t note[SKN_PLAN_NOTES_MAX];
    uint32_t note_count;
} skn_plan_data_t;

/* What several nodes were dealt. */
typedef struct skn_plan_node {
    uint32_t units;         /* processing units used, as the file has them */
    uint64_t weight;        /* of one of them, against those of other nodes */
    uint64_t memory_bytes;  /* what its actors will hold, estimated */
    uint64_t offload_bytes; /* and keep in files */
} skn_plan_node_t;

typedef struct skn_plan {
    const skn_model_t *model; /* every auto resolved */
    skn_plan_data_t data;
    uint32_t units; /* processing units used, of all nodes together */
    uint64_t batches_per_epoch, total_batches;
    uint64_t parameters;
    uint64_t memory_bytes;  /* what the actors will hold, estimated */
    uint64_t offload_bytes; /* and keep in files */
    bool offload_auto;      /* the model file leaves that to us */
    uint32_t node_count;    /* 0: one process, also where one node is listed */
    uint32_t keepers;       /* the first so many get shards and copies; those
                             * behind them only hand over what they hold */
    skn_plan_node_t nodes[SKN_CLUSTER_NODES_MAX];
    skn_reasons_t reasons; /* of what was auto, and is not any more */
} skn_plan_t;

/* How a run begins. */
typedef struct skn_plan_start {
    const char *run_path;    /* folder of the run; NULL: nothing is saved */
    const char *run_id;      /* 32 hex digits, or NULL */
    const char *config_text; /* the model as YAML, kept in the folder */
    uint32_t progress_ms;    /* between progress events; 0: none */
    uint32_t patience_s;     /* to the next marker, when stopped; 0: 2 */
    bool resume;             /* the folder holds the run already */
    const char *checkpoint;  /* to begin from, or NULL: from the seed */
    uint64_t first_batch;
    uint64_t generation; /* of the nodes, in the names of checkpoints */
    bool resave; /* the checkpoint it begins from is written again at once */
    uint64_t newest; /* resume: batch of the newest checkpoint in the folder */
    bool restore;    /* owners of other nodes than the first get their state of
                      * the checkpoint from there; the same on all nodes */
    bool predict;    /* one pass over the test file, whose labels are told */
} skn_plan_start_t;

/* Reads a data file of `model` by itself, against no other's sizes; "" is none.
 * Errors as of skn_plan_make. */
skn_status_t skn_plan_look(const skn_model_t *model, const char *path,
                           skn_error_t *error);
/* `unit_count`: what this machine has; several nodes do not look at it.
 * Opens the data (building their binary copies if need be) and resolves every
 * auto of `model`, in place; it outlives the plan. */
skn_status_t skn_plan_make(skn_plan_t *plan, skn_model_t *model,
                           uint32_t unit_count, skn_error_t *error);

/* The same where this process may take `memory_bytes`: of what is decided, that
 * changes only where adam's moments lie. */
skn_status_t skn_plan_make_within(skn_plan_t *plan, skn_model_t *model,
                                  uint32_t unit_count, uint64_t memory_bytes,
                                  skn_error_t *error);

/* The folder of offloaded moments in a run whose folder is `run_path`; NULL:
 * it has none. */
const char *skn_plan_offload_path(const skn_model_t *model,
                                  const char *run_path);

/* Whether each node keeps its share of the checkpoints: `checkpoint.copies`. */
bool skn_model_is_kept(const skn_model_t *model);

/* The rate that `auto` takes for a run of its own length, and how many times as
 * great it is for one that is `shorter` times as short: decision 0019. */
double skn_plan_usual_rate(skn_optimizer_kind_t kind);
double skn_plan_longer_steps(double shorter);

/* Whether the sampler has an index, which a table_builder keeps. */
bool skn_plan_has_index(const skn_model_sampler_t *sampler);

/* The topology that trains the plan. NULL: see `problems`. */
skn_spec_t *skn_plan_wire(const skn_plan_t *plan, const skn_plan_start_t *start,
                          const skn_kind_t *const *kinds,
                          skn_problems_t *problems);

#endif
