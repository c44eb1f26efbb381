/* training.h - a training run in this process: what `train` and `node` do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TRAINING_H
#define CLI_BASE_TRAINING_H

#include "cli/base/verb.h"
#include "skein/limits.h"
#include "topology/plan/plan.h"

/* What a run turned out to be, for `train` alone. Networks: they are the
 * caller's to train and to join, and nothing was trained. */
typedef struct cli_outcome {
    uint32_t networks;
    uint32_t ranker_trees;   /* to be fitted to what the first has learnt */
    uint32_t threads;        /* to do so */
    int64_t seed;            /* of the first */
    char path[SKN_TEXT_MAX]; /* where the whole is to be */
    bool named;              /* the command, if it is given again, goes there */
    bool stopped;            /* it was asked to end, and is not done */
    bool asked;              /* it was asked to end */
    bool joined; /* it is there, whole: the caller says how good it is */
} cli_outcome_t;

typedef struct cli_training {
    const char *path;   /* of the model file */
    const char *node;   /* which of the model's nodes; NULL: it has none */
    const char *run_id; /* 32 hex digits; NULL: is drawn, or the first node's */
    const char *from;   /* from exactly this checkpoint; NULL: the newest */
    uint64_t generation; /* of the nodes */
    bool progress;       /* tell how far it is, terminal or not */
    bool leash;          /* end well when standard input ends */
    const char
        *predict;    /* a data file that the run's model predicts, or NULL */
    uint32_t labels; /* ... of each point */
    uint32_t wait_s; /* for the other nodes; 0: the default */
    bool lease;      /* a time comes there, and renewed: end before it */
    uint32_t patience_s; /* to the next marker, when stopped; 0: the default */
    cli_outcome_t *outcome; /* NULL: an ensemble is not looked for */
    bool *stopped; /* becomes true when it was told to stop, and is not done;
                    * or NULL */
    bool member;   /* of an ensemble, which says how it goes on */
} cli_training_t;

/* Of the verbs that may predict on several nodes. */
#define CLI_PREDICT_OPTIONS                                                    \
    { "predict", 0, "DATA",                                                    \
      "do not train: print the best labels of each point" },                   \
    {                                                                          \
        "top", 'k', "N", "--predict: how many labels a point (default 5)"      \
    }
#define CLI_LABELS_DEFAULT 5u

/* Warns of what the plan noticed in the data files. */
void cli_training_notes(const cli_call_t *call, const skn_plan_t *plan);

/* Reads the model, finds where its run stands, and runs it to its end under a
 * parent that watches. Returns the exit code. */
int cli_training(const cli_call_t *call, const cli_training_t *training);

#endif
