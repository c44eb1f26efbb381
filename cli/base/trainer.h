/* trainer.h - runs one training, for the verbs `train` and `node`, in a worker
 * process under a parent that watches it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_TRAINER_H
#define CLI_BASE_TRAINER_H

#include "cli/base/verb.h"

typedef struct cli_training {
    const char *path;    /* path of the model file, or of a run folder */
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
    bool *stopped;       /* set to true when it was asked to stop before it was
                    * done */
} cli_training_t;

/* Options of the verbs that can predict on several nodes. */
#define CLI_PREDICT_OPTIONS                                                    \
    { "predict", 0, "DATA",                                                    \
      "do not train: print the best labels of each point" },                   \
    {                                                                          \
        "top", 'k', "N", "with --predict: labels per point (default 5)"        \
    }

/* Trains the model to its end. Returns the exit code. */
int cli_training(const cli_call_t *call, const cli_training_t *training);

#endif
