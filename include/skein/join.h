/* join.h - makes one model of several trained networks, as `skein join` does.
 *
 *     const char *paths[] = { "runs/1", "runs/2" };
 *     skn_joined_t joined = SKN_ZERO;
 *     joined.struct_bytes = sizeof(joined);
 *     status = skn_networks_join("runs/both", paths, 2, NULL, &joined, &error);
 *
 * The joined model has the units of the networks side by side and the mean of
 * their logits. It is a run folder like any other, and as large and as slow as
 * all of them together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_JOIN_H
#define SKEIN_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeros are the defaults. */
typedef struct skn_join_options {
    uint32_t struct_bytes; /* sizeof(skn_join_options_t) */
    /* Trees of a ranker, which reorders the best labels of the joined model: it
     * is fitted to the training points of the first network, which takes
     * minutes. At most SKN_RANKER_TREES_MAX; 0: none. */
    uint32_t trees;
    uint32_t threads; /* that fit it; 0: one a core that the process may use */
} skn_join_options_t;

typedef struct skn_joined {
    uint32_t struct_bytes; /* set by the caller before the call */
    char run_id[33];       /* of the joined model, 32 hex digits */
    uint64_t batch;        /* the greatest of the networks' */
    uint64_t features, labels, parameters;
    uint64_t units; /* of the first layer */
    /* The size of the ranker, and what fitting it has cost. */
    uint64_t ranker_nodes, ranker_weights, ranker_bytes;
    double ranker_seconds, ranker_cpu_seconds;
    /* Points of the first network's test set that the scores were calibrated
     * on, and the expected calibration error of the best labels before and
     * after. 0 points: there is no test set, or it is not at hand. */
    uint64_t calibration_points;
    double calibration_error_before, calibration_error;
} skn_joined_t;

/* Joins the `count` models `paths`, each of which may be anything that
 * skn_predictor_open accepts, in the run folder `into`, which is created. They
 * stay as they are. They have the same layers, features and labels, as runs of
 * one config with another train.seed have. 2 to SKN_ENSEMBLE_MAX; one is enough
 * with a ranker, or if several nodes have a part of it each: it is whole in
 * `into` then. Rankers that the networks have are left out. The new run has the
 * config and the names of labels of the first network, and no moments, so that
 * it cannot be trained further. Works on the calling thread, in memory for some
 * rows at a time, and on `threads` of its own for a ranker. `options` may be
 * NULL.
 *
 * SKN_USAGE: a NULL, wrong options, too few or too many networks, one of them
 * twice, or one that does not fit the first. SKN_CANNOT_CREATE: `into` holds a
 * run. SKN_NO_INPUT, SKN_BAD_DATA, SKN_STORAGE, SKN_NO_MEMORY. After a failure
 * `into` holds no checkpoint. */
SKN_API skn_status_t skn_networks_join(const char *into,
                                       const char *const *paths, size_t count,
                                       const skn_join_options_t *options,
                                       skn_joined_t *joined,
                                       skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
