/* training.h - runs one training, for the verbs `train` and `node`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TRAINING_H
#define CLI_BASE_TRAINING_H

#include "cli/base/verb.h"
#include "skein/limits.h"
#include "topology/plan/plan.h"

/* The outcome of a run, for `train` only. If there are several networks, the
 * caller has to train and join them, and nothing was trained. */
typedef struct cli_outcome {
    uint32_t networks;
    uint32_t ranker_trees;   /* trees to fit to the first network's
                              * predictions */
    uint32_t threads;        /* threads for that */
    int64_t seed;            /* seed of the first network */
    char path[SKN_TEXT_MAX]; /* folder of the joined network */
    bool named;              /* repeating the command uses that folder */
    bool stopped;            /* it was asked to stop before it was done */
    bool asked;              /* it was asked to stop */
    bool joined;             /* it is complete: the caller evaluates it */
} cli_outcome_t;

typedef struct cli_training {
    const char *path;    /* path of the model file */
    const char *node;    /* name of this node; NULL: the model has no nodes */
    const char *run_id;  /* 32 hex digits; NULL: drawn, or the first node's */
    const char *from;    /* start from exactly this checkpoint; NULL: the
                         * newest */
    uint64_t generation; /* generation of the nodes */
    bool progress;       /* report progress even without a terminal */
    bool leash;          /* stop cleanly when standard input closes */
    const char
        *predict;    /* data file to predict with the run's model, or NULL */
    uint32_t labels; /* labels to predict for each point */
    uint32_t wait_s; /* time to wait for the other nodes; 0: the default */
    bool lease;      /* leases arrive on standard input: end before they
                      * expire */
    uint32_t patience_s; /* time to the next marker when stopped; 0: default */
    cli_outcome_t *outcome; /* NULL: an ensemble is not considered */
    bool *stopped; /* set to true when it was asked to stop before it was done;
                    * or NULL */
    bool member;   /* part of an ensemble, which prints how to resume */
} cli_training_t;

/* Options of the verbs that can predict on several nodes. */
#define CLI_PREDICT_OPTIONS                                                    \
    { "predict", 0, "DATA",                                                    \
      "do not train: print the best labels of each point" },                   \
    {                                                                          \
        "top", 'k', "N", "with --predict: labels per point (default 5)"        \
    }
#define CLI_LABELS_DEFAULT 5u

/* Prints the plan's notes about the data files as warnings. */
void cli_training_notes(const cli_call_t *call, const skn_plan_t *plan);

/* Reads the model, finds the state of its run, and runs it to its end under a
 * parent that watches it. Returns the exit code. */
int cli_training(const cli_call_t *call, const cli_training_t *training);

#endif
