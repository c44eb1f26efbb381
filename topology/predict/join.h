/* join.h - joins several trained networks into one.
 *
 * The mean of the logits of networks with the same layers is itself one
 * network: their hidden units side by side, and output rows that are theirs
 * side by side, divided by their number. So an ensemble needs nothing special
 * to be evaluated, served or copied: it is a run folder like any other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_JOIN_H
#define TOPOLOGY_PREDICT_JOIN_H

#include "actors/predict/ranker.h"
#include "formats/checkpoint/manifest.h"
#include "skein/join.h"

/* Additions to the networks. { 0 }: none. */
typedef struct skn_join_extra {
    const skn_ranker_t *ranker;  /* NULL, or without labels: none */
    double seconds, cpu_seconds; /* time of making it, for the run's total */
    const char *run_id;          /* of the new run; NULL: drawn at random */
    uint64_t generation;         /* in the name of its checkpoint */
} skn_join_extra_t;

/* skn_networks_join without its checks of `into` and with a ranker that was
 * fitted already; the ranker's members of *joined stay 0.
 *
 * Makes the run folder `into` of the `count` models `path`, which may be
 * anything that skn_trained_open accepts. They stay as they are. It needs
 * memory for only some rows at a time. The new run has the config of the first
 * model, is finished, and holds only weights, no moments.
 * The ranker of a single network is not taken over, since it was fitted to that
 * network. One network is enough with a ranker, or if several nodes have a part
 * of it each: it is whole in `into`.
 * SKN_USAGE: too few, too many, the same twice, or one does not fit the first
 * (its layers, loss, features, labels), or the ranker does not.
 * SKN_CANNOT_CREATE: there is a run already.
 * After a failure `into` holds no checkpoint. Any thread. */
skn_status_t skn_join(const char *into, const char *const *path, size_t count,
                      const skn_join_extra_t *extra, skn_joined_t *joined,
                      skn_error_t *error);

#endif
