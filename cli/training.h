/* training.h - a training run in this process: what `train` and `node` do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TRAINING_H
#define CLI_TRAINING_H

#include "cli/verb.h"

typedef struct cli_training {
    const char *path;   /* of the model file */
    const char *node;   /* which of the model's nodes; NULL: it has none */
    const char *run_id; /* 32 hex digits; NULL: is drawn, or the first node's */
    bool progress;      /* tell how far it is, terminal or not */
    bool leash;         /* end well when standard input ends */
    uint32_t wait_s;    /* for the other nodes; 0: the default */
} cli_training_t;

/* Reads the model, finds where its run stands, and runs it to its end under a
 * parent that watches. Returns the exit code. */
int cli_training(const cli_call_t *call, const cli_training_t *training);

#endif
