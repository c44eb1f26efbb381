/* plan.h - makes a plan from a model and its data, and from the plan the
 * topology that trains it.
 *
 * Every value that the model file leaves to Skein is decided here. Values that
 * change the model (widths, sampler, rates, epochs) are decided from statistics
 * of the data alone, so that one file gives one model on any machine. Others
 * (shards, cores) are decided from the machine, or with several nodes from the
 * file alone, so that the plan is the same on each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PLAN_PLAN_H
#define TOPOLOGY_PLAN_PLAN_H

#include "actors/protocol/decoder.h"
#include "formats/dataset/dataset.h"
#include "formats/tokens/tokens.h"
#include "skein/limits.h"
#include "topology/model/model.h"
#include "topology/model/reasons.h"
#include "topology/spec/spec.h"

/* The most notes on the data: three for each file of points, one for names. */
#define SKN_PLAN_NOTES_MAX 7u

/* Statistics of the data, without the points held back for validation. */
typedef struct skn_plan_data {
    uint64_t train_points, validate_points, test_points;
    uint64_t files_left_out; /* of a text: they are not text */
    char first_left_out[SKN_TOKENS_NAME_BYTES]; /* the end of its path, or "" */
    uint64_t unlabelled, featureless;           /* of the training file */
    uint32_t features, labels, labels_occurring;
    double labels_per_point, features_per_point;
    double bytes_per_token; /* of the text held back; 0: none, or not a text */
    uint64_t train_hash;    /* of the training file's content */
    uint64_t content_hash;  /* skn_data_hash of both files */
    uint64_t vocabulary_hash; /* of rows of texts; 0: none */
    bool has_bad_points;      /* lines of numbered features were left out */
    uint64_t mapped_bytes;    /* both files, as a reader has them in memory */
    /* Notes for the user, which stop nothing. */
    skn_error_t note[SKN_PLAN_NOTES_MAX];
    uint32_t note_count;
} skn_plan_data_t;

/* The part of a plan that one of several nodes was dealt. */
typedef struct skn_plan_node {
    uint32_t units;         /* processing units used, by the file */
    uint64_t weight;        /* of one unit, relative to other nodes' units */
    uint64_t memory_bytes;  /* that its actors will hold, estimated */
    uint64_t offload_bytes; /* that they will keep in files */
} skn_plan_node_t;

typedef struct skn_plan {
    const skn_model_t *model; /* every auto resolved */
    skn_plan_data_t data;
    char preprocessing[SKN_PREPROCESSING_BYTES]; /* skn_model_preprocessing */
    uint32_t units; /* processing units used, of all nodes together */
    uint64_t batches_per_epoch, total_batches;
    uint32_t accumulate; /* batches of a step: micro-batches of a decoder */
    uint32_t flights;    /* decoder: micro-batches in flight */
    uint32_t stage_first[SKN_DECODER_LAYERS_MAX + 1]; /* decoder: the first
                          * layer of each stage; behind the last: all */
    uint64_t parameters;
    uint64_t memory_bytes;  /* that the actors will hold, estimated */
    uint64_t after_bytes;   /* to fit a ranker and join networks; 0: neither */
    uint64_t offload_bytes; /* that they will keep in files */
    bool offload_auto;      /* the model file leaves offload to the plan */
    uint32_t node_count;    /* 0: one process, also if one node is listed */
    uint32_t keepers;       /* the first nodes, this many, get shards and
                             * copies; the others only hand over the state that
                             * they hold */
    skn_plan_node_t nodes[SKN_CLUSTER_NODES_MAX];
    skn_reasons_t reasons; /* for the values that were auto */
} skn_plan_t;

/* How a run begins. */
typedef struct skn_plan_start {
    const char *run_path;    /* folder of the run; NULL: nothing is saved */
    const char *run_id;      /* 32 hex digits, or NULL */
    const char *config_text; /* the model as YAML, kept in the folder */
    uint32_t progress_ms;    /* between progress events; 0: none */
    uint32_t patience_s;     /* to the next marker, when stopped; 0: 2 */
    bool resume;             /* the folder already has the run */
    const char *checkpoint;  /* to begin from, or NULL: from the seed */
    uint64_t first_batch;
    uint64_t generation; /* of the nodes, in the names of checkpoints */
    bool resave;     /* the checkpoint from which it begins is saved again at
                      * once */
    uint64_t newest; /* resume: batch of the newest checkpoint in the folder */
    bool restore;    /* owners on all nodes but the first request their state of
                      * the checkpoint from there; the same on all nodes */
    bool predict;    /* one pass over the test file, whose predicted labels are
                      * reported */
} skn_plan_start_t;

/* Reads a data file of `model` alone, without comparing its sizes with those of
 * another; "" is none. A decoder's text is opened and not read. Errors as of
 * skn_plan_make. */
skn_status_t skn_plan_look(const skn_model_t *model, const char *path,
                           skn_error_t *error);
/* Opens the data (building their binary copies if need be) and resolves every
 * auto of `model`, in place; the model must outlive the plan. `unit_count` is
 * the number of processing units of this machine; a plan over several nodes
 * ignores it. */
skn_status_t skn_plan_make(skn_plan_t *plan, skn_model_t *model,
                           uint32_t unit_count, skn_error_t *error);

/* Does the same where this process may use `memory_bytes`. Only the place of
 * adam's moments depends on that, and whether a decoder recomputes. */
skn_status_t skn_plan_make_within(skn_plan_t *plan, skn_model_t *model,
                                  uint32_t unit_count, uint64_t memory_bytes,
                                  skn_error_t *error);

/* The texts of a decoder. While they are open, its plan and the actors of its
 * run, which open them too, share them. */
typedef struct skn_plan_texts {
    skn_tokens_t *train, *test; /* test: NULL if there is none */
} skn_plan_texts_t;

/* As skn_corpus_open; closed after a failure. */
skn_status_t skn_plan_texts_open(skn_plan_texts_t *texts,
                                 const skn_model_t *model, skn_error_t *error);
void skn_plan_texts_close(skn_plan_texts_t *texts);
/* A clause for a hint that says how a run needs less memory: "use fewer ...".
 */
const char *skn_plan_smaller(const skn_plan_t *plan);
/* Returns the folder of offloaded moments in a run whose folder is `run_path`,
 * or NULL if it has none. */
const char *skn_plan_offload_path(const skn_model_t *model,
                                  const char *run_path);

/* Whether each node keeps its share of the checkpoints: `checkpoint.copies`. */
bool skn_model_copies_parts(const skn_model_t *model);

/* The rate that `auto` chooses for a run of the usual length, and the factor on
 * it for a run that is `shorter` times as short: decision 0019. */
double skn_plan_usual_rate(skn_optimizer_kind_t kind);
double skn_plan_longer_steps(double shorter);

/* Whether the sampler has an index, which a table_builder keeps. */
bool skn_plan_has_index(const skn_model_sampler_t *sampler);

/* The topology that trains the plan. NULL: see `problems`. */
skn_spec_t *skn_plan_wire(const skn_plan_t *plan, const skn_plan_start_t *start,
                          const skn_kind_t *const *kinds,
                          skn_problems_t *problems);

#endif
