/* balance.c - windows of load, a verdict on each, and what follows of some.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/balance.h"

#include <math.h>
#include <stdlib.h>

#define NODES_MAX 64u
#define NS_PER_MS 1000000u
/* What is busy for less is as fast as that: its share of the work says too
 * little about it. */
#define BUSY_MIN 0.02
#define STEP_MAX 8.0
/* Speeds that a plan takes. */
#define SPEED_MIN 0.001
#define SPEED_MAX 1000.0

typedef struct sample {
    uint64_t busy_us, at_us; /* at_us 0: none */
} sample_t;

typedef struct node {
    double speed, cores;
    sample_t first, window, last; /* of what pays; of the window; newest */
    double busy;                  /* of the last window; -1: not known */
} node_t;

struct skn_balance {
    uint32_t count;
    uint64_t set;          /* that trains; 0: none does */
    uint64_t window_ns;    /* when the window began */
    uint64_t pays_ns;      /* since when it pays; 0: it does not */
    double gain, gain_min; /* of the last window, least since it pays */
    uint64_t moved_ns;     /* when it was dealt anew last; 0: never */
    uint64_t apart_ms;
    node_t node[NODES_MAX];
};

static bool
takes_part(const skn_balance_t *balance, uint32_t node)
{
    return (balance->set >> node & 1u) != 0;
}

static uint64_t
ms_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0;
}

skn_balance_t *
skn_balance_new(uint32_t count, const uint32_t *cores, const double *speeds,
                skn_error_t *error)
{
    if (count == 0 || count > NODES_MAX) {
        (void)skn_fail(error, SKN_USAGE, "%u nodes to balance", count);
        return NULL;
    }
    skn_balance_t *balance = calloc(1, sizeof(*balance));
    if (!balance) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no room for a balance");
        return NULL;
    }
    balance->count = count;
    balance->apart_ms = SKN_BALANCE_APART_MS;
    for (uint32_t n = 0; n < count; n++)
        balance->node[n] =
            (node_t){ .speed = speeds[n], .cores = cores[n], .busy = -1 };
    return balance;
}

void
skn_balance_destroy(skn_balance_t **balance)
{
    free(*balance);
    *balance = NULL;
}

void
skn_balance_begin(skn_balance_t *balance, uint64_t set, uint64_t now_ns)
{
    balance->set = set;
    balance->window_ns = now_ns;
    balance->pays_ns = 0;
    balance->gain = 0;
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        node->first = node->window = node->last = (sample_t){ .at_us = 0 };
        node->busy = -1;
    }
}

void
skn_balance_load(skn_balance_t *balance, uint32_t number, uint64_t busy_us,
                 uint64_t at_us)
{
    if (number >= balance->count || !takes_part(balance, number))
        return;
    node_t *node = &balance->node[number];
    if (at_us <= node->last.at_us || busy_us < node->last.busy_us)
        return; /* the same again, or a worker that is no more */
    node->last = (sample_t){ busy_us, at_us };
    if (node->window.at_us == 0)
        node->first = node->window = node->last;
}

/* --- a window ------------------------------------------------------------- */

static double
busy_since(const node_t *node, const sample_t *since)
{
    double us = (double)(node->last.at_us - since->at_us);
    double busy =
        us > 0 ? (double)(node->last.busy_us - since->busy_us) / us : 0;
    return fmin(fmax(busy, BUSY_MIN), 1.0);
}

/* Whether each node has told of most of the window. */
static bool
is_whole(const skn_balance_t *balance)
{
    for (uint32_t n = 0; n < balance->count; n++) {
        const node_t *node = &balance->node[n];
        if (takes_part(balance, n) &&
            (node->window.at_us == 0 ||
             node->last.at_us - node->window.at_us <
                 SKN_BALANCE_WINDOW_MS * 1000u * 3 / 5))
            return false;
    }
    return true;
}

/* What a batch would gain by shares that make all nodes equally busy. */
static double
find_gain(skn_balance_t *balance)
{
    double most = 0, shares = 0, rows = 0;
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (!takes_part(balance, n))
            continue;
        node->busy = busy_since(node, &node->window);
        most = fmax(most, node->busy);
        shares += node->speed * node->cores;
        rows += node->speed * node->cores / node->busy;
    }
    double even = shares / rows;
    return 1 / fmax(1 - most + even, BUSY_MIN) - 1;
}

/* Speeds over all of the time that it has paid. Their sum over cores stays, so
 * that who was never measured counts as the mean. */
static void
measure(skn_balance_t *balance)
{
    double before = 0, after = 0, most = BUSY_MIN;
    for (uint32_t n = 0; n < balance->count; n++)
        if (takes_part(balance, n))
            most = fmax(most,
                        busy_since(&balance->node[n], &balance->node[n].first));
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (!takes_part(balance, n))
            continue;
        before += node->speed * node->cores;
        node->speed *= fmin(most / busy_since(node, &node->first), STEP_MAX);
        after += node->speed * node->cores;
    }
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (takes_part(balance, n))
            node->speed =
                fmin(fmax(node->speed * before / after, SPEED_MIN), SPEED_MAX);
    }
}

static void
look(skn_balance_t *balance, uint64_t now_ns)
{
    balance->gain = find_gain(balance);
    if (balance->gain < SKN_BALANCE_SMALL_GAIN) {
        balance->pays_ns = 0;
    } else if (balance->pays_ns == 0) {
        balance->pays_ns = balance->window_ns;
        balance->gain_min = balance->gain;
        for (uint32_t n = 0; n < balance->count; n++)
            balance->node[n].first = balance->node[n].window;
    }
    balance->gain_min = fmin(balance->gain_min, balance->gain);
    balance->window_ns = now_ns;
    for (uint32_t n = 0; n < balance->count; n++)
        balance->node[n].window = balance->node[n].last;
}

bool
skn_balance_due(skn_balance_t *balance, uint64_t now_ns)
{
    if (balance->set == 0 || (balance->set & (balance->set - 1)) == 0 ||
        ms_since(balance->window_ns, now_ns) < SKN_BALANCE_WINDOW_MS ||
        !is_whole(balance))
        return false;
    look(balance, now_ns);
    if (balance->pays_ns == 0)
        return false;
    uint64_t pays_ms = ms_since(balance->pays_ns, now_ns);
    uint64_t wanted_ms = balance->gain_min >= SKN_BALANCE_LARGE_GAIN
                             ? SKN_BALANCE_LARGE_MS
                             : SKN_BALANCE_SMALL_MS;
    if (pays_ms < wanted_ms ||
        (balance->moved_ns > 0 &&
         ms_since(balance->moved_ns, now_ns) < balance->apart_ms))
        return false;
    if (balance->moved_ns > 0 && balance->apart_ms < SKN_BALANCE_APART_MS_MAX)
        balance->apart_ms *= 2;
    balance->moved_ns = now_ns;
    measure(balance);
    balance->set = 0; /* until the next generation */
    return true;
}

/* --- what is known -------------------------------------------------------- */

double
skn_balance_speed(const skn_balance_t *balance, uint32_t number)
{
    return balance->node[number].speed;
}

double
skn_balance_share(const skn_balance_t *balance, uint64_t set, uint32_t number)
{
    const node_t *own = &balance->node[number];
    double all = 0;
    for (uint32_t n = 0; n < balance->count; n++)
        if (set >> n & 1u)
            all += balance->node[n].speed * balance->node[n].cores;
    return all > 0 ? own->speed * own->cores / all : 0;
}

void
skn_balance_set_speed(skn_balance_t *balance, uint32_t number, double speed)
{
    if (number < balance->count && speed >= SPEED_MIN && speed <= SPEED_MAX)
        balance->node[number].speed = speed;
}

double
skn_balance_busy(const skn_balance_t *balance, uint32_t number)
{
    return balance->node[number].busy;
}

double
skn_balance_gain(const skn_balance_t *balance)
{
    return balance->gain;
}
