/* balance.c - measures load in windows and derives the shares of nodes from it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/elastic/balance.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define NODES_MAX 64u
#define BALANCE_NS_PER_MS 1000000u
/* A node that is busy for less counts as this busy: its share of the work is
 * too small to measure its speed. */
#define BUSY_MIN 0.02
#define STEP_MAX 8.0
/* If one of two shares is less than SHARE_CHANGE of the other, the two costs
 * determine the cost of a row: at least SLOPE_MIN of what a batch would cost if
 * all of its cost were by the row. */
#define SHARE_CHANGE 0.75
#define SLOPE_MIN 0.01
/* Speeds that a plan accepts. */
#define SPEED_MIN 0.001
#define SPEED_MAX 1000.0

typedef struct sample {
    uint64_t busy_us, at_us, batch; /* at_us 0: none */
} sample_t;

/* A batch costs fixed_us + share * all_us. */
typedef struct cost {
    double fixed_us, all_us;
} cost_t;

typedef struct node {
    double speed, cores;
    /* at the start of the gain; at that of the window; the newest */
    sample_t first, window, last;
    double busy;            /* in the last window; -1: not known */
    cost_t cost;            /* over the window, or at the last move */
    cost_t known;           /* at the last move */
    double share, batch_us; /* at the last move; 0: there was none */
    uint64_t out_ms;        /* how long it was left out last */
    bool must_not_leave_out;
} node_t;

struct skn_balance {
    uint32_t count, least;
    uint64_t trial;   /* the node left out last, as a set, until judged */
    double former_us; /* time of a batch before that */
    uint64_t begun_ns;
    uint64_t set;          /* the nodes that train; 0: none does */
    uint64_t window_ns;    /* when the window began */
    uint64_t pays_ns;      /* since when a move would pay; 0: it would not */
    double gain, gain_min; /* last window's; least since a move would pay */
    double batch_us;       /* time of a batch in the last window */
    uint64_t moved_ns;     /* when rows were last dealt again; 0: never */
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
    return now_ns > then_ns ? (now_ns - then_ns) / BALANCE_NS_PER_MS : 0;
}

skn_balance_t *
skn_balance_new(uint32_t count, uint32_t least, const uint32_t *cores,
                const double *speeds, skn_error_t *error)
{
    if (count == 0 || count > NODES_MAX) {
        (void)skn_fail(error, SKN_USAGE, "%u nodes to balance", count);
        return NULL;
    }
    skn_balance_t *balance = calloc(1, sizeof(*balance));
    if (!balance) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a balance");
        return NULL;
    }
    balance->count = count;
    balance->least = least;
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
    balance->window_ns = balance->begun_ns = now_ns;
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
                 uint64_t at_us, uint64_t batch)
{
    if (number >= balance->count || !takes_part(balance, number))
        return;
    node_t *node = &balance->node[number];
    if (at_us <= node->last.at_us || busy_us < node->last.busy_us ||
        batch < node->last.batch)
        return; /* a repeated report, or one of a former worker */
    node->last = (sample_t){ busy_us, at_us, batch };
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

/* The time of a batch, including the node's waits. */
static double
batch_us_since(const node_t *node, const sample_t *since)
{
    return (double)(node->last.at_us - since->at_us) /
           (double)(node->last.batch - since->batch);
}

/* True if each node has reported most of the window, and batches in it. */
static bool
is_whole(const skn_balance_t *balance)
{
    for (uint32_t n = 0; n < balance->count; n++) {
        const node_t *node = &balance->node[n];
        if (takes_part(balance, n) &&
            (node->window.at_us == 0 ||
             node->last.at_us - node->window.at_us <
                 SKN_BALANCE_WINDOW_MS * 1000u * 3 / 5 ||
             node->last.batch == node->window.batch))
            return false;
    }
    return true;
}

/* The cost of a batch at a node since `since`. Two costs at two shares
 * determine its two parts if more rows cost more. If fewer rows cost no less,
 * rows are taken to cost next to nothing. Otherwise both parts keep their
 * proportion, on a machine that is now faster or slower. */
static cost_t
find_cost(const skn_balance_t *balance, uint32_t number, const sample_t *since)
{
    const node_t *node = &balance->node[number];
    double share = skn_balance_share(balance, balance->set, number);
    double us = batch_us_since(node, since) * busy_since(node, since);
    if (node->batch_us <= 0)
        return (cost_t){ 0, us / share };
    if (fmin(share, node->share) < SHARE_CHANGE * fmax(share, node->share) &&
        (share < node->share || us > node->batch_us)) {
        double slope = (us - node->batch_us) / (share - node->share);
        slope = fmin(fmax(slope, SLOPE_MIN * us / share), us / share);
        return (cost_t){ us - slope * share, slope };
    }
    double change = us / (node->known.fixed_us + node->known.all_us * share);
    return (cost_t){ node->known.fixed_us * change,
                     node->known.all_us * change };
}

/* The cost of a batch if rows are dealt so that it costs all of `set` the same,
 * but not less than the greatest cost of a node without rows. */
static double
find_even_us(const skn_balance_t *balance, uint64_t set)
{
    double rate = 0, fixed = 0, most = 0;
    for (uint32_t n = 0; n < balance->count; n++) {
        const cost_t *cost = &balance->node[n].cost;
        if (!(set >> n & 1u))
            continue;
        rate += 1 / cost->all_us;
        fixed += cost->fixed_us / cost->all_us;
        most = fmax(most, cost->fixed_us);
    }
    return fmax((1 + fixed) / rate, most);
}

/* The node that the others would be faster without, as a set; 0: none. *us: the
 * cost of a batch then. */
static uint64_t
find_out(const skn_balance_t *balance, double *us)
{
    uint32_t slow = 0, count = (uint32_t)__builtin_popcountll(balance->set);
    double most = -1;
    for (uint32_t n = 0; n < balance->count; n++) {
        if (!takes_part(balance, n) || balance->node[n].cost.fixed_us <= most)
            continue;
        slow = n;
        most = balance->node[n].cost.fixed_us;
    }
    uint64_t out = (uint64_t)1 << slow;
    double without_us = find_even_us(balance, balance->set & ~out);
    if (count <= balance->least || count <= 2 ||
        balance->node[slow].must_not_leave_out ||
        without_us * (1 + SKN_BALANCE_OUT_GAIN) > *us)
        return 0;
    *us = without_us;
    return out;
}

/* The gain per batch from shares that make all nodes equally busy. */
static double
find_gain(skn_balance_t *balance)
{
    double most = 0;
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (!takes_part(balance, n))
            continue;
        node->busy = busy_since(node, &node->window);
        node->cost = find_cost(balance, n, &node->window);
        if (node->busy >= most) {
            most = node->busy;
            balance->batch_us = batch_us_since(node, &node->window);
        }
    }
    double us = find_even_us(balance, balance->set);
    (void)find_out(balance, &us);
    return 1 / fmax(1 - most + us / balance->batch_us, BUSY_MIN) - 1;
}

/* The share with which a batch costs `node` `us` microseconds. */
static double
share_for(const node_t *node, double us)
{
    return fmax(us - node->cost.fixed_us, 0) / node->cost.all_us;
}

/* Measures the costs over the whole time in which a move would have paid. */
static void
learn(skn_balance_t *balance)
{
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (!takes_part(balance, n))
            continue;
        node->cost = find_cost(balance, n, &node->first);
        node->known = node->cost;
        node->share = skn_balance_share(balance, balance->set, n);
        node->batch_us = node->cost.fixed_us + node->cost.all_us * node->share;
    }
}

/* Sets the speeds of the nodes of `set` so that a batch costs each `us`. The
 * sum over their cores is kept, so that a node never measured counts as the
 * mean. */
static void
set_speeds(skn_balance_t *balance, uint64_t set, double us)
{
    double before = 0, after = 0, largest = 0;
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (!(set >> n & 1u))
            continue;
        before += node->speed * node->cores;
        largest =
            fmax(largest, share_for(node, us) / node->cores / node->speed);
    }
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (!(set >> n & 1u))
            continue;
        double speed = share_for(node, us) / node->cores;
        node->speed = fmax(speed / largest, node->speed / STEP_MAX);
        after += node->speed * node->cores;
    }
    for (uint32_t n = 0; n < balance->count; n++) {
        node_t *node = &balance->node[n];
        if (set >> n & 1u)
            node->speed =
                fmin(fmax(node->speed * before / after, SPEED_MIN), SPEED_MAX);
    }
}

/* Sets speeds from the measured costs, for all nodes or for all but one. */
static skn_balance_verdict_t
decide(skn_balance_t *balance)
{
    double us = find_even_us(balance, balance->set);
    uint64_t out = find_out(balance, &us);
    set_speeds(balance, balance->set & ~out, us);
    balance->trial = out;
    balance->former_us = balance->batch_us;
    if (!out)
        return (skn_balance_verdict_t){ .kind = SKN_BALANCE_DEAL };
    uint32_t number = (uint32_t)__builtin_ctzll(out);
    uint64_t *out_ms = &balance->node[number].out_ms;
    *out_ms = *out_ms == 0 ? SKN_BALANCE_OUT_MS : 2 * *out_ms;
    if (*out_ms > SKN_BALANCE_OUT_MS_MAX)
        *out_ms = SKN_BALANCE_OUT_MS_MAX;
    return (skn_balance_verdict_t){ SKN_BALANCE_LEAVE_OUT, number, *out_ms };
}

/* Each move doubles the least time to the next. */
static skn_balance_verdict_t
move(skn_balance_t *balance, uint64_t now_ns)
{
    if (balance->moved_ns > 0 && balance->apart_ms < SKN_BALANCE_APART_MS_MAX)
        balance->apart_ms *= 2;
    balance->moved_ns = now_ns;
    learn(balance);
    return decide(balance);
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

/* Takes the node that was left out back if a batch takes no less time without
 * it. */
static skn_balance_verdict_t
judge_trial(skn_balance_t *balance, uint64_t now_ns)
{
    static const skn_balance_verdict_t go_on = { .kind = SKN_BALANCE_GO_ON };
    uint64_t trial = balance->trial;
    if (!trial || (balance->set & trial) ||
        ms_since(balance->begun_ns, now_ns) < SKN_BALANCE_LARGE_MS)
        return go_on;
    balance->trial = 0;
    if (balance->batch_us < balance->former_us)
        return go_on;
    uint32_t number = (uint32_t)__builtin_ctzll(trial);
    skn_balance_need(balance, number);
    return (skn_balance_verdict_t){ .kind = SKN_BALANCE_TAKE_BACK,
                                    .node = number };
}

/* True if a move has paid for long enough, and the last move is long enough
 * ago. */
static bool
is_time(const skn_balance_t *balance, uint64_t now_ns)
{
    if (balance->pays_ns == 0)
        return false;
    uint64_t pays_ms = ms_since(balance->pays_ns, now_ns);
    uint64_t wanted_ms = balance->gain_min >= SKN_BALANCE_LARGE_GAIN
                             ? SKN_BALANCE_LARGE_MS
                             : SKN_BALANCE_SMALL_MS;
    return pays_ms >= wanted_ms &&
           (balance->moved_ns == 0 ||
            ms_since(balance->moved_ns, now_ns) >= balance->apart_ms);
}

skn_balance_verdict_t
skn_balance_due(skn_balance_t *balance, uint64_t now_ns)
{
    skn_balance_verdict_t verdict = { .kind = SKN_BALANCE_GO_ON };
    if (balance->set == 0 || (balance->set & (balance->set - 1)) == 0 ||
        ms_since(balance->window_ns, now_ns) < SKN_BALANCE_WINDOW_MS ||
        !is_whole(balance))
        return verdict;
    look(balance, now_ns);
    verdict = judge_trial(balance, now_ns);
    if (verdict.kind == SKN_BALANCE_GO_ON && is_time(balance, now_ns))
        verdict = move(balance, now_ns);
    if (verdict.kind != SKN_BALANCE_GO_ON)
        balance->set = 0; /* until the next generation */
    return verdict;
}

void
skn_balance_need(skn_balance_t *balance, uint32_t number)
{
    assert(number < balance->count);
    balance->node[number].must_not_leave_out = true;
}

/* --- state ---------------------------------------------------------------- */

double
skn_balance_speed(const skn_balance_t *balance, uint32_t number)
{
    assert(number < balance->count);
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

double
skn_balance_busy(const skn_balance_t *balance, uint32_t number)
{
    assert(number < balance->count);
    return balance->node[number].busy;
}

double
skn_balance_gain(const skn_balance_t *balance)
{
    return balance->gain;
}
