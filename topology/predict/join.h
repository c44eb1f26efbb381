/* join.h - several trained networks as one.
 *
 * The mean of the logits of networks of the same layers is one network again:
 * their hidden units side by side, and an output row that is their rows side by
 * side, divided by their number. So an ensemble needs nothing of its own to be
 * evaluated, served or copied: it is a run folder as any other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_JOIN_H
#define TOPOLOGY_PREDICT_JOIN_H

#include "actors/predict/ranker.h"
#include "formats/checkpoint/manifest.h"

typedef struct skn_joined {
    char run_id[SKN_RUN_ID_BYTES];
    uint64_t batch; /* the greatest of theirs */
    uint64_t features, labels, parameters;
    uint64_t units; /* of the first layer */
} skn_joined_t;

/* What goes with the networks. { 0 }: nothing. */
typedef struct skn_join_extra {
    const skn_ranker_t *ranker;  /* NULL, or of no label: none */
    double seconds, cpu_seconds; /* that it took, for the run's sum */
} skn_join_extra_t;

/* Makes the run folder `into` of the `count` models `path`, which are all that
 * skn_trained_open takes. They stay as they are; memory
 * for some rows at a time is all that it takes. The new run has the config of
 * the first one, is finished, and holds weights alone, no moments.
 * A ranker that one of the networks has is not taken over: it was fitted to
 * that one. With a ranker one network is enough, and without
 * one where several nodes have a part of it each: it is whole in `into`.
 * SKN_USAGE: too few, too many, the same twice, or one does not fit the first
 * (its layers, loss, features, labels), nor the ranker; SKN_CANNOT_CREATE: a
 * run is there already.
 * After a failure `into` holds no checkpoint. Any thread. */
skn_status_t skn_join(const char *into, const char *const *path, size_t count,
                      const skn_join_extra_t *extra, skn_joined_t *joined,
                      skn_error_t *error);

#endif
