/* candidates.h - configs around the one that `auto` chooses.
 *
 * Candidate 0 is that choice; each further one differs from it in one to three
 * of the keys below. They follow from the seed and their number alone, so that
 * more candidates begin with the same ones. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_CANDIDATES_H
#define CLI_TUNE_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/model/model.h"

/* T(NAME, what it is called in a line, its key; %s: name of the layer). */
#define CLI_TUNED(T)                                                           \
    T(RATE, "rate", "train.optimizer.rate")                                    \
    T(EPOCHS, "epochs", "train.epochs")                                        \
    T(UNITS, "units", "model.layers.%s.units")                                 \
    T(DROPOUT, "dropout", "model.layers.%s.dropout")                           \
    T(SMOOTHING, "smoothing", "model.layers.%s.label_smoothing")               \
    T(BATCH, "batch", "train.batch_rows")                                      \
    T(ROWS, "rows", "model.layers.%s.sampler.rows")                            \
    T(OPTIMIZER, "optimizer", "train.optimizer.kind")                          \
    T(LOSS, "loss", "model.layers.%s.loss")

typedef enum cli_tuned {
#define T(name, word, key) CLI_TUNED_##name,
    CLI_TUNED(T)
#undef T
    CLI_TUNED_COUNT
} cli_tuned_t;

/* A value a key; words by their number in model.h. */
typedef struct cli_candidate {
    double value[CLI_TUNED_COUNT];
} cli_candidate_t;

typedef struct cli_space {
    const skn_model_t *model; /* resolved; lives as long */
    cli_candidate_t base;
    bool free[CLI_TUNED_COUNT]; /* the key may be varied */
    double points, labels, labels_per_point;
} cli_space_t;

/* Of several hidden layers, the first one is varied. `points` without those
 * that are held back. */
void cli_space_init(cli_space_t *space, const skn_model_t *model,
                    uint64_t points, uint32_t labels, double labels_per_point);
/* Keys that an override KEY=VALUE sets stay as they are; call it for all. */
void cli_space_fix(cli_space_t *space, const char *override);

/* Fills `list` with up to `count` candidates that differ. Returns how many;
 * fewer where there are no more. */
uint32_t cli_candidates_draw(const cli_space_t *space, uint64_t seed,
                             uint32_t count, cli_candidate_t *list);
/* What it takes to train it, against candidate 0: an estimate. */
double cli_candidate_cost(const cli_space_t *space,
                          const cli_candidate_t *candidate);

/* How long a trial is that has a share of the candidate's epochs. */
typedef struct cli_length {
    uint64_t epochs, max_batches; /* 0: all of the epochs */
} cli_length_t;
cli_length_t cli_candidate_length(const cli_space_t *space,
                                  const cli_candidate_t *candidate,
                                  double share);

/* The candidate as a trial of that share trains it: a shorter run takes longer
 * steps, as auto would have it (topology/plan/plan_make.c, decision 0019). */
cli_candidate_t cli_candidate_shorter(const cli_candidate_t *candidate,
                                      double share);

/* Writes the value of a key. Returns `text`. */
const char *cli_candidate_value(const cli_candidate_t *candidate,
                                cli_tuned_t which, char *text, size_t bytes);
/* Writes the key with its layer. Returns `text`. */
const char *cli_space_key(const cli_space_t *space, cli_tuned_t which,
                          char *text, size_t bytes);
/* "rate 0.0057, units 512", or "auto": in what it differs. Returns `text`. */
const char *cli_candidate_describe(const cli_space_t *space,
                                   const cli_candidate_t *candidate, char *text,
                                   size_t bytes);

#endif
