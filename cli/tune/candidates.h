/* candidates.h - draws configs near the one that `auto` chooses.
 *
 * Candidate 0 is that choice; each other one differs from it in one to three of
 * the keys below. A candidate depends only on the seed and its number, so a
 * longer list begins with the same candidates. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_CANDIDATES_H
#define CLI_TUNE_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/model/model.h"

/* T(NAME, its name in printed lines, its key; %s: name of the layer). */
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

/* One value for each key; words by their number in model.h. */
typedef struct cli_candidate {
    double value[CLI_TUNED_COUNT];
} cli_candidate_t;

typedef struct cli_space {
    const skn_model_t *model; /* resolved; must outlive the space */
    cli_candidate_t base;
    bool free[CLI_TUNED_COUNT]; /* the key may be varied */
    double points, labels, labels_per_point;
} cli_space_t;

/* Only the first hidden layer is varied. `points` is without those that are
 * held back. */
void cli_space_init(cli_space_t *space, const skn_model_t *model,
                    uint64_t points, uint32_t labels, double labels_per_point);
/* Keeps the key that an override KEY=VALUE sets; call it for every override. */
void cli_space_fix(cli_space_t *space, const char *override);

/* Fills `list` with up to `count` different candidates. Returns their number,
 * which is less if there are no more. */
uint32_t cli_candidates_draw(const cli_space_t *space, uint64_t seed,
                             uint32_t count, cli_candidate_t *list);
/* The estimated cost of training the candidate, relative to candidate 0. */
double cli_candidate_cost(const cli_space_t *space,
                          const cli_candidate_t *candidate);

/* The length of a trial that has a share of the candidate's epochs. */
typedef struct cli_length {
    uint64_t epochs, max_batches; /* 0: whole epochs */
} cli_length_t;
cli_length_t cli_candidate_length(const cli_space_t *space,
                                  const cli_candidate_t *candidate,
                                  double share);

/* The candidate as trained in a trial of that share: a shorter run has a
 * greater rate, as `auto` would choose (topology/plan/plan_make.c, decision
 * 0019). */
cli_candidate_t cli_candidate_shorter(const cli_candidate_t *candidate,
                                      double share);

/* Writes the value of a key. Returns `text`. */
const char *cli_candidate_value(const cli_candidate_t *candidate,
                                cli_tuned_t which, char *text, size_t bytes);
/* Writes the key with its layer. Returns `text`. */
const char *cli_space_key(const cli_space_t *space, cli_tuned_t which,
                          char *text, size_t bytes);
/* Writes the differences: "rate 0.0057, units 512", or "auto". Returns
 * `text`. */
const char *cli_candidate_describe(const cli_space_t *space,
                                   const cli_candidate_t *candidate, char *text,
                                   size_t bytes);

#endif
