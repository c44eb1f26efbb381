/* tuned.h - writes the model file that a tuning results in.
 *
 * It is the user's file with the keys that were found.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_TUNED_H
#define CLI_TUNE_TUNED_H

#include "cli/tune/candidates.h"
#include "topology/config/problems.h"

/* The result of the last round. */
typedef struct cli_verdict {
    uint32_t round, best;     /* `best`: number of a candidate; 0: auto */
    double score, auto_score; /* NAN: auto's trial failed */
    double error;             /* of their difference; NAN: unknown */
    double share;             /* share of the full length that its trials had */
} cli_verdict_t;

/* Writes in one sentence whether it is better than auto. Returns `text`. */
const char *cli_verdict_describe(const cli_verdict_t *verdict, char *text,
                                 size_t bytes);

typedef struct cli_tuned_file {
    const char *file; /* the user's model file, and its overrides */
    const char *const *overrides;
    size_t override_count;
    const cli_space_t *space;
    const cli_candidate_t *best;
    const char *comment; /* its first lines, each with '#' and newline */
    const char *folder;  /* folder for tune.yaml, written atomically */
} cli_tuned_file_t;

/* Writes the file. Relative paths become absolute, since the file is in another
 * folder. Errors in the user's file go to `problems`. */
skn_status_t cli_tuned_write(const cli_tuned_file_t *tuned,
                             skn_problems_t *problems, skn_error_t *error);

#endif
