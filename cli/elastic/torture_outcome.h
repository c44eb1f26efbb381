/* torture_outcome.h - prints and judges the result of `skein torture`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_TORTURE_OUTCOME_H
#define CLI_ELASTIC_TORTURE_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "skein/error.h"

typedef struct cli_torture_outcome {
    uint32_t kills, leaves;              /* how many were wanted */
    uint32_t killed, killed_coordinator; /* how many there were */
    uint32_t left;
    uint32_t together; /* nodes that left at the same moment */
    /* Results of the undisturbed run; want_p1 is -1 without test points. */
    char want_sha256[65];
    double want_p1;
    /* Results of the disturbed run. */
    char sha256[65];
    double p1;
    double lost, applied_twice; /* batches; -1: not reported */
    uint64_t generations;
    double back_s_sum, back_s_max; /* from a kill to the next training */
    double leave_s_median, leave_s_max;
    /* `recovery: partial`: how often it happened, and the losses it
     * reported. */
    bool partial;
    uint32_t partials;
    double told_lost;
} cli_torture_outcome_t;

/* The number of kills and leaves to come. */
uint32_t cli_torture_to_come(const cli_torture_outcome_t *outcome);
/* Prints it for people, or as one or two events. */
void cli_torture_outcome_print(const cli_torture_outcome_t *outcome, bool json,
                               FILE *file);
/* SKN_INTERNAL: the runs differ more than they may. SKN_USAGE: the run was over
 * before all kills and leaves. */
skn_status_t cli_torture_outcome_judge(const cli_torture_outcome_t *outcome,
                                       skn_error_t *error);

#endif
