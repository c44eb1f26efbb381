/* balance.h - how fast the nodes of a generation are, and whether it would pay
 * to deal their rows anew, or to go on without one of them.
 *
 * Each node tells how long its busiest core had work in hand, and for how many
 * batches. All of them train the same ones, so a core that is busy for f of the
 * time does its part in f of a batch's time, and at f = 1 the others wait for
 * it. With shares that make all f equal a batch takes 1 - f_max + f of what it
 * took.
 *
 * What a batch costs a node is taken to be a + b * share: b for its rows, a for
 * what does not shrink with them (links, its batches). At first a is 0; once
 * a node has a share that is another one by a quarter, its two costs tell both.
 * No share makes a batch cheaper than the greatest a. Where that bounds all,
 * and the others could do that node's rows in less time, it is left out for two
 * minutes, then for twice as long each time, up to an hour: never for ever. If
 * ten seconds show that a batch takes no less without it, it is taken back.
 *
 * Rules against fluttering: it pays by 5% for a minute on end, or by a third
 * for ten seconds; moves are at least 10 s apart, then twice as long each time,
 * up to 10 minutes; nobody's speed changes by more than eight times in a
 * move. Pure: whoever drives it says what time it is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_BALANCE_H
#define TOPOLOGY_ELASTIC_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* What two looks at a load are apart, at least. */
#define SKN_BALANCE_WINDOW_MS 5000u
#define SKN_BALANCE_SMALL_GAIN 0.05
#define SKN_BALANCE_SMALL_MS 60000u
#define SKN_BALANCE_LARGE_GAIN 0.33
#define SKN_BALANCE_LARGE_MS 10000u
#define SKN_BALANCE_APART_MS 10000u
#define SKN_BALANCE_APART_MS_MAX 600000u
#define SKN_BALANCE_OUT_GAIN 0.10
#define SKN_BALANCE_OUT_MS 120000u
#define SKN_BALANCE_OUT_MS_MAX 3600000u

typedef struct skn_balance skn_balance_t;

/* What is to be done about a generation that runs. */
typedef enum skn_balance_kind {
    SKN_BALANCE_GO_ON,
    SKN_BALANCE_DEAL,      /* its rows anew, by the speeds that were measured */
    SKN_BALANCE_LEAVE_OUT, /* ... and without `node`, for so long */
    SKN_BALANCE_TAKE_BACK  /* `node`, which is not left out again */
} skn_balance_kind_t;
typedef struct skn_balance_verdict {
    skn_balance_kind_t kind;
    uint32_t node;
    uint64_t for_ms;
} skn_balance_verdict_t;

/* `count` nodes, at most 64, with so many cores each, and the speeds of a core
 * that the plan counts with; at least `least` of them are to train. NULL:
 * SKN_NO_MEMORY, SKN_USAGE. */
skn_balance_t *skn_balance_new(uint32_t count, uint32_t least,
                               const uint32_t *cores, const double *speeds,
                               skn_error_t *error);
void skn_balance_destroy(skn_balance_t **balance);

/* A generation of the nodes of `set` begins to train. */
void skn_balance_begin(skn_balance_t *balance, uint64_t set, uint64_t now_ns);
/* Node `node` was busy for `busy_us` since its start, at `at_us` by its own
 * monotonic clock, when the generation had come to `batch`. */
void skn_balance_load(skn_balance_t *balance, uint32_t node, uint64_t busy_us,
                      uint64_t at_us, uint64_t batch);
/* Other than to go on: the generation should be ended; the next verdict comes
 * when one is begun. */
skn_balance_verdict_t skn_balance_due(skn_balance_t *balance, uint64_t now_ns);
/* The others cannot do without `node`: it is not left out any more. */
void skn_balance_need(skn_balance_t *balance, uint32_t node);

/* Of a core of `node`. One that was never measured is as fast as the mean of
 * those that were. */
double skn_balance_speed(const skn_balance_t *balance, uint32_t node);
/* The share of the output layer's rows that `node` is dealt among the nodes of
 * `set`, which it is one of; as far as the plan follows the speeds. */
double skn_balance_share(const skn_balance_t *balance, uint64_t set,
                         uint32_t node);
/* As a coordinator before this one had it. */
void skn_balance_set_speed(skn_balance_t *balance, uint32_t node, double speed);
/* The share of the time that the busiest core of `node` had work in the last
 * window; -1: not known. And what dealing anew would gain; 0: nothing. */
double skn_balance_busy(const skn_balance_t *balance, uint32_t node);
double skn_balance_gain(const skn_balance_t *balance);

#endif
