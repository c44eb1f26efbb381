/* balance.h - compares the speeds of a generation's nodes, and decides whether
 * to deal their rows differently or to continue without one of them.
 *
 * Each node reports how long its busiest core was busy, and for how many
 * batches. All nodes train the same batches, so a core that is busy for a
 * fraction f of the time does its part in f of a batch's time, and at f = 1 the
 * others wait for it. With shares that make all f equal a batch takes 1 - f_max
 * + f of the time it took.
 *
 * The cost of a batch at a node is modelled as a + b * share: b for its rows, a
 * for the work that does not shrink with them (links, its batches). At first a
 * is 0; once a node's share has changed by a quarter, its two costs determine
 * both. No share makes a batch cheaper than the greatest a. If that limits all
 * nodes, and the others could do that node's rows in less time, it is left out
 * for two minutes, then for twice as long each time, up to an hour: never for
 * ever. If after ten seconds a batch takes no less time without it, it is taken
 * back.
 *
 * Rules against flapping: a move must pay by 5% for a whole minute, or by a
 * third for ten seconds; moves are at least 10 s apart, then twice as long each
 * time, up to 10 minutes; no node's speed changes by more than a factor of
 * eight in a move. Pure: the caller passes in the time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_ELASTIC_BALANCE_H
#define TOPOLOGY_ELASTIC_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"

/* shortest time between two evaluations of the load */
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

/* What to do about the running generation. */
typedef enum skn_balance_kind {
    SKN_BALANCE_GO_ON,
    SKN_BALANCE_DEAL,      /* deal its rows again, by the measured speeds */
    SKN_BALANCE_LEAVE_OUT, /* the same without `node`, for `for_ms` */
    SKN_BALANCE_TAKE_BACK  /* take back `node`, which is not left out again */
} skn_balance_kind_t;
typedef struct skn_balance_verdict {
    skn_balance_kind_t kind;
    uint32_t node;
    uint64_t for_ms;
} skn_balance_verdict_t;

/* `count` nodes, at most 64, with their numbers of cores and the speeds of a
 * core that the plan assumes; at least `least` of them must train.
 * NULL: SKN_NO_MEMORY, SKN_USAGE. */
skn_balance_t *skn_balance_new(uint32_t count, uint32_t least,
                               const uint32_t *cores, const double *speeds,
                               skn_error_t *error);
void skn_balance_destroy(skn_balance_t **balance);

/* A generation of the nodes of `set` begins to train. */
void skn_balance_begin(skn_balance_t *balance, uint64_t set, uint64_t now_ns);
/* Node `node` was busy for `busy_us` since its start, at `at_us` of its own
 * monotonic clock, when the generation had reached `batch`. */
void skn_balance_load(skn_balance_t *balance, uint32_t node, uint64_t busy_us,
                      uint64_t at_us, uint64_t batch);
/* Any verdict but GO_ON: the generation should be ended, and the next verdict
 * comes after another one has begun. */
skn_balance_verdict_t skn_balance_due(skn_balance_t *balance, uint64_t now_ns);
/* The others cannot do without `node`: it is not left out again. */
void skn_balance_need(skn_balance_t *balance, uint32_t node);

/* The speed of a core of `node`. A node that was never measured counts as the
 * mean of the others. */
double skn_balance_speed(const skn_balance_t *balance, uint32_t node);
/* The share of the output layer's rows that `node`, one of `set`, is dealt
 * among them, as far as the plan follows the speeds. */
double skn_balance_share(const skn_balance_t *balance, uint64_t set,
                         uint32_t node);
/* The share of the time that the busiest core of `node` was busy in the last
 * window; -1: not known. The second is what dealing again would gain;
 * 0: nothing. */
double skn_balance_busy(const skn_balance_t *balance, uint32_t node);
double skn_balance_gain(const skn_balance_t *balance);

#endif
