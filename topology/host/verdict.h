/* verdict.h - writes one sentence on what bounds a run, and what to change.
 *
 * Each candidate (an actor, a link, credit, cores, others' load, ...) is given
 * the share of the run that it costs, from the measured figures. The one that
 * costs most is named, and the next one if it costs a good part of that. A pure
 * function of the figures.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_HOST_VERDICT_H
#define TOPOLOGY_HOST_VERDICT_H

#include "actors/runtime/figures.h"

#define SKN_VERDICT_BYTES 1400

typedef enum skn_bound {
    SKN_BOUND_NONE, /* too short a run, or no actor has anything to do */
    SKN_BOUND_ACTOR,
    SKN_BOUND_READING,
    SKN_BOUND_CREDIT,
    SKN_BOUND_BATCHES, /* too little in each message */
    SKN_BOUND_CORES,
    SKN_BOUND_OTHERS,
    SKN_BOUND_QUOTA,
    SKN_BOUND_DISK,
    SKN_BOUND_CHECKPOINTS,
    SKN_BOUND_RATE,    /* rate of a link */
    SKN_BOUND_LATENCY, /* latency of a link */
    SKN_BOUND_NODE,    /* one of several is slow */
    SKN_BOUND_START,
    SKN_BOUND_COUNT
} skn_bound_t;

typedef struct skn_verdict {
    skn_bound_t bound;
    double cost;                  /* share of the run, 0 to 1 */
    char text[SKN_VERDICT_BYTES]; /* the sentence, without a full stop */
} skn_verdict_t;

/* The verdict on the run of these nodes, in any order; at least one. Where they
 * share a machine, none of them is slow by itself. */
void skn_verdict_find(const skn_figures_t *const *nodes, size_t count,
                      bool one_machine, skn_verdict_t *verdict);
/* "actor", "credit", ...: the word in an event. */
const char *skn_bound_word(skn_bound_t bound);
/* Prints the verdict as the last line of a report, "bound by ...". With `json`,
 * the text before it: as the last members of a line of JSON, and its end. */
void skn_verdict_print(const skn_verdict_t *verdict, const char *json,
                       FILE *file);

#endif
