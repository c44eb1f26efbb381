/* tuned.h - writes the model file that a tuning results in.
 *
 * It is the user's file with the keys that were found.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_TUNED_H
#define TOPOLOGY_TUNING_TUNED_H

#include "topology/tuning/candidates.h"
#include "topology/config/problems.h"

/* The result of the last round. */
typedef struct skn_tuned_result {
    uint32_t round, best;     /* `best`: number of a candidate; 0: auto */
    double score, auto_score; /* NAN: auto's trial failed */
    double error;             /* of their difference; NAN: unknown */
    double share;             /* share of the full length that its trials had */
} skn_tuned_result_t;

/* Writes in one sentence whether it is better than auto. Returns `text`. */
const char *skn_tuned_describe(const skn_tuned_result_t *verdict, char *text,
                               size_t bytes);

typedef struct skn_tuned_file {
    const char *file; /* the user's model file, and its overrides */
    const char *const *overrides;
    size_t override_count;
    const skn_space_t *space;
    const skn_candidate_t *best;
    const char *comment; /* its first lines, each with '#' and newline */
    const char *folder;  /* folder for tune.yaml, written atomically */
} skn_tuned_file_t;

/* Writes the file. Relative paths become absolute, since the file is in another
 * folder. Errors in the user's file go to `problems`. */
skn_status_t skn_tuned_write(const skn_tuned_file_t *tuned,
                             skn_problems_t *problems, skn_error_t *error);

#endif
