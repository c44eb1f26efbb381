/* candidates.h - draws configs near the one that `auto` chooses.
 *
 * Candidate 0 is that choice; each other one differs from it in one to three of
 * the keys below. A candidate depends only on the seed and its number, so a
 * longer list begins with the same candidates. Pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_CANDIDATES_H
#define TOPOLOGY_TUNING_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/model/model.h"

/* T(NAME, its name in printed lines, its key; %s: name of the layer). */
#define SKN_TUNED(T)                                                           \
    T(RATE, "rate", "train.optimizer.rate")                                    \
    T(EPOCHS, "epochs", "train.epochs")                                        \
    T(UNITS, "units", "model.layers.%s.units")                                 \
    T(DROPOUT, "dropout", "model.layers.%s.dropout")                           \
    T(SMOOTHING, "smoothing", "model.layers.%s.label_smoothing")               \
    T(BATCH, "batch", "train.batch_rows")                                      \
    T(ROWS, "rows", "model.layers.%s.sampler.rows")                            \
    T(OPTIMIZER, "optimizer", "train.optimizer.kind")                          \
    T(LOSS, "loss", "model.layers.%s.loss")

typedef enum skn_tuned {
#define T(name, word, key) SKN_TUNED_##name,
    SKN_TUNED(T)
#undef T
    SKN_TUNED_COUNT
} skn_tuned_t;

/* One value for each key; words by their number in model.h. */
typedef struct skn_candidate {
    double value[SKN_TUNED_COUNT];
} skn_candidate_t;

typedef struct skn_space {
    const skn_model_t *model; /* resolved; must outlive the space */
    skn_candidate_t base;
    bool free[SKN_TUNED_COUNT]; /* the key may be varied */
    double points, labels, labels_per_point;
} skn_space_t;

/* Only the first hidden layer is varied. `points` is without those that are
 * held back. */
void skn_space_init(skn_space_t *space, const skn_model_t *model,
                    uint64_t points, uint32_t labels, double labels_per_point);
/* Keeps the key that an override KEY=VALUE sets; call it for every override. */
void skn_space_fix(skn_space_t *space, const char *override);

/* Fills `list` with up to `count` different candidates. Returns their number,
 * which is less if there are no more. */
uint32_t skn_candidates_draw(const skn_space_t *space, uint64_t seed,
                             uint32_t count, skn_candidate_t *list);
/* The estimated cost of training the candidate, relative to candidate 0. */
double skn_candidate_cost(const skn_space_t *space,
                          const skn_candidate_t *candidate);

/* The length of a trial that has a share of the candidate's epochs. */
typedef struct skn_trial_length {
    uint64_t epochs, max_batches; /* 0: whole epochs */
} skn_trial_length_t;
skn_trial_length_t skn_candidate_length(const skn_space_t *space,
                                        const skn_candidate_t *candidate,
                                        double share);

/* The candidate as trained in a trial of that share: a shorter run has a
 * greater rate, as `auto` would choose (topology/plan/plan_make.c, decision
 * 0019). */
skn_candidate_t skn_candidate_shorter(const skn_candidate_t *candidate,
                                      double share);

/* Writes the value of a key. Returns `text`. */
const char *skn_candidate_value(const skn_candidate_t *candidate,
                                skn_tuned_t which, char *text, size_t bytes);
/* Writes the key with its layer. Returns `text`. */
const char *skn_space_key(const skn_space_t *space, skn_tuned_t which,
                          char *text, size_t bytes);
/* Writes the differences: "rate 0.0057, units 512", or "auto". Returns
 * `text`. */
const char *skn_candidate_describe(const skn_space_t *space,
                                   const skn_candidate_t *candidate, char *text,
                                   size_t bytes);

#endif
