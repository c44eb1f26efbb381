/* tuned.h - the model file that a tuning ends with: the user's, with the keys
 * that were found.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_TUNED_H
#define CLI_TUNE_TUNED_H

#include "cli/tune/candidates.h"
#include "topology/config/problems.h"

/* What the last round has shown. */
typedef struct cli_verdict {
    uint32_t round, best;     /* `best`: a candidate; 0: auto */
    double score, auto_score; /* NAN: auto's has failed */
    double error;             /* of their difference; NAN: not known */
    double share;             /* of its full length that a trial had */
} cli_verdict_t;

/* In one sentence, whether it is better than auto. Returns `text`. */
const char *cli_verdict_describe(const cli_verdict_t *verdict, char *text,
                                 size_t bytes);

typedef struct cli_tuned_file {
    const char *file; /* the user's model file, and what was laid over it */
    const char *const *overrides;
    size_t override_count;
    const cli_space_t *space;
    const cli_candidate_t *best;
    const char *comment; /* its first lines, each with its '#' and newline */
    const char *folder;  /* tune.yaml is written there, in one piece */
} cli_tuned_file_t;

/* Relative paths become whole ones, as the file stands elsewhere. What is wrong
 * with the user's file goes to `problems`. */
skn_status_t cli_tuned_write(const cli_tuned_file_t *tuned,
                             skn_problems_t *problems, skn_error_t *error);

#endif
