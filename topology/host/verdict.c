/* verdict.c - finds what bounds a run by comparing what each candidate costs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/host/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A core is full if its actors use this share of it. */
#define FULL 0.7
/* An actor that does this share of its core's work is itself the bound. */
#define ALONE 0.8
/* If cores are scarce, actors wait for them: measured, .39 to .62 of the time
 * that they could have run (.18 with two of them reading at the same time). */
#define LATE 0.25
/* Shorter runs give no verdict: threads have hardly begun. */
#define RUN_NS_MIN UINT64_C(10000000)
/* If messages are handled this quickly, their own cost matters: a wake-up and a
 * few system calls, some tens of microseconds. */
#define SHORT_NS 300000u
/* CPU time between handlers is a third of what small messages cost: handlers
 * have fixed parts, too, and waiting actors are woken late (measured:
 * bench/results/bottlenecks.md). */
#define PASSING_COST 3.0
/* For a checkpoint that takes less, the advice is about the number of
 * checkpoints, not about the disk. */
#define SLOW_SAVE_NS 300000000u
/* Up to this many checkpoints do not count as frequent. */
#define FEW_SAVES 3u
/* A pipe with more credit than this is seldom limited by it. */
#define SCARCE_CREDIT 4u
/* The second candidate is mentioned if it costs at least a tenth of the run and
 * half as much as the first. */
#define NEXT_COST 0.1
#define NEXT_SHARE 0.5
/* Times in a node below this are not the latency of a link. */
#define LATENCY_NS 1000000u
/* A link is bound by its configured rate if that limited it for this share of
 * the run. */
#define CAPPED 0.2

typedef struct verdict_candidate {
    skn_bound_t bound;
    double cost;
    char what[512], change[256]; /* "the actor x, ..."; "split it" */
} verdict_candidate_t;

typedef struct inquiry {
    const skn_figures_t *const *nodes;
    size_t count;
    verdict_candidate_t best, next;
    const skn_actor_figures_t *actor; /* the busiest, of all nodes */
    const skn_figures_t *home;        /* its node */
    double work, second; /* its share of the run; that of the next one */
    double credit;       /* cost of scarce credit */
} inquiry_t;

static const char *const words[SKN_BOUND_COUNT] = {
    "none",  "actor", "reading",     "credit", "batches", "cores", "others",
    "quota", "disk",  "checkpoints", "link",   "latency", "node",  "start",
};

const char *
skn_bound_word(skn_bound_t bound)
{
    return words[bound];
}

/* --- figures -------------------------------------------------------------- */

static double
share(uint64_t part_ns, uint64_t whole_ns)
{
    double of = whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0.0;
    return of < 1.0 ? of : 1.0;
}

static int
percent(double of)
{
    return (int)(100.0 * of + 0.5);
}

static uint64_t
less(uint64_t from, uint64_t by)
{
    return from > by ? from - by : 0;
}

static double
at_most(double value, double most)
{
    return value < most ? value : most;
}

/* The work of the actor itself, assuming it always has a core: CPU time, and
 * the time that its handlers wait. Without a core it waits in its handlers,
 * too. */
static uint64_t
work_ns(const skn_actor_figures_t *actor)
{
    uint64_t busy_ns = less(actor->busy_ns, actor->open_ns);
    uint64_t ran_ns = actor->ran_ns < busy_ns ? actor->ran_ns : busy_ns;
    uint64_t rest_ns = less(busy_ns, actor->queued_ns);
    return rest_ns > ran_ns ? rest_ns : ran_ns;
}

/* Time in handlers that is neither work nor waiting for a core: for the disk,
 * say. */
static uint64_t
asleep_ns(const skn_actor_figures_t *actor)
{
    return actor->ran_ns > 0
               ? less(less(actor->busy_ns, actor->ran_ns), actor->queued_ns)
               : 0;
}

static bool
reads(const skn_actor_figures_t *actor)
{
    return strcmp(actor->kind, "source") == 0 ||
           strcmp(actor->kind, "reader") == 0;
}

static bool
saves(const skn_actor_figures_t *actor)
{
    return strcmp(actor->kind, "keeper") == 0;
}

/* " of node b", or "" if there is one node. */
static const char *
of_node(const inquiry_t *inquiry, const skn_figures_t *figures, char *text,
        size_t bytes)
{
    bool named = inquiry->count > 1 && figures->node[0];
    (void)snprintf(text, bytes, "%s%s", named ? " of node " : "",
                   named ? figures->node : "");
    return text;
}

static const skn_handler_figures_t *
longest_handler(const skn_actor_figures_t *actor)
{
    const skn_handler_figures_t *most = NULL;
    for (uint64_t k = 0; k < actor->handler_count; k++)
        if (!most || actor->handler[k].sum_ns > most->sum_ns)
            most = &actor->handler[k];
    return most;
}

static void
offer(inquiry_t *inquiry, const verdict_candidate_t *candidate)
{
    if (candidate->cost > inquiry->best.cost) {
        if (inquiry->best.bound != candidate->bound)
            inquiry->next = inquiry->best;
        inquiry->best = *candidate;
    } else if (candidate->cost > inquiry->next.cost &&
               candidate->bound != inquiry->best.bound) {
        inquiry->next = *candidate;
    }
}

/* --- an actor, reading ---------------------------------------------------- */

static void
find_busiest(inquiry_t *inquiry)
{
    for (size_t n = 0; n < inquiry->count; n++)
        for (uint64_t k = 0; k < inquiry->nodes[n]->actor_count; k++) {
            const skn_actor_figures_t *actor = &inquiry->nodes[n]->actors[k];
            double work = share(work_ns(actor), inquiry->nodes[n]->run_ns);
            if (work > inquiry->work) {
                inquiry->second = inquiry->work;
                inquiry->work = work;
                inquiry->actor = actor;
                inquiry->home = inquiry->nodes[n];
            } else if (work > inquiry->second) {
                inquiry->second = work;
            }
        }
}

static void
weigh_actor(inquiry_t *inquiry)
{
    const skn_actor_figures_t *actor = inquiry->actor;
    char node[96];
    if (!actor)
        return;
    const skn_handler_figures_t *handler = longest_handler(actor);
    /* Without this actor the run would last as long as the next one works, if
     * nothing else limited it; 0.3 of that time is subtracted. */
    verdict_candidate_t candidate = {
        .bound = reads(actor) ? SKN_BOUND_READING : SKN_BOUND_ACTOR,
        .cost = inquiry->work - 0.3 * inquiry->second
    };
    (void)of_node(inquiry, inquiry->home, node, sizeof(node));
    if (reads(actor)) {
        (void)snprintf(candidate.what, sizeof(candidate.what),
                       "reading the data (%s%s works %d%% of the run)",
                       actor->name, node, percent(inquiry->work));
        (void)snprintf(candidate.change, sizeof(candidate.change),
                       "keep the cache beside the file (data.cache), or put "
                       "the file on a faster disk");
    } else {
        (void)snprintf(candidate.what, sizeof(candidate.what),
                       "the actor %s (%s)%s, which works %d%% of the run%s%s%s",
                       actor->name, actor->kind, node, percent(inquiry->work),
                       handler ? ", mostly in its handler of '" : "",
                       handler ? handler->message : "", handler ? "'" : "");
        (void)snprintf(candidate.change, sizeof(candidate.change),
                       "make that cheaper, or split it over more actors, each "
                       "with a core");
    }
    offer(inquiry, &candidate);
}

static void
weigh_start(inquiry_t *inquiry, const skn_figures_t *figures)
{
    const skn_actor_figures_t *slowest = NULL;
    uint64_t all_ns = figures->run_ns + figures->prepare_ns;
    char node[96];
    for (uint64_t k = 0; k < figures->actor_count; k++)
        if (!slowest || figures->actors[k].open_ns > slowest->open_ns)
            slowest = &figures->actors[k];
    verdict_candidate_t candidate = { .bound = SKN_BOUND_START };
    (void)of_node(inquiry, figures, node, sizeof(node));
    if (figures->prepare_ns > 0) {
        candidate.bound = SKN_BOUND_READING;
        candidate.cost = share(figures->prepare_ns, all_ns);
        (void)snprintf(candidate.what, sizeof(candidate.what),
                       "reading the data before the run (%d%% of the whole%s)",
                       percent(candidate.cost), node);
        (void)snprintf(candidate.change, sizeof(candidate.change),
                       "keep the cache beside the file (data.cache): the next "
                       "run has it");
        offer(inquiry, &candidate);
    }
    if (!slowest || slowest->open_ns == 0)
        return;
    candidate.bound = reads(slowest) ? SKN_BOUND_READING : SKN_BOUND_START;
    candidate.cost = share(slowest->open_ns, all_ns);
    (void)snprintf(candidate.what, sizeof(candidate.what),
                   "the actor %s%s, whose start takes %d%% of the run",
                   slowest->name, node, percent(candidate.cost));
    (void)snprintf(candidate.change, sizeof(candidate.change), "%s",
                   reads(slowest) ? "keep the cache beside the file "
                                    "(data.cache), or put it on a faster disk"
                                  : "the longer the run, the less this "
                                    "matters");
    offer(inquiry, &candidate);
}

/* --- credit, small messages ----------------------------------------------- */

static const skn_actor_figures_t *
find_actor(const skn_figures_t *figures, const char *name)
{
    for (uint64_t k = 0; k < figures->actor_count; k++)
        if (strcmp(figures->actors[k].name, name) == 0)
            return &figures->actors[k];
    return NULL;
}

/* A sender that is blocked by a receiver which has time. */
static void
weigh_credit(inquiry_t *inquiry, const skn_figures_t *figures)
{
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        const skn_actor_figures_t *sender = &figures->actors[k];
        const skn_actor_figures_t *receiver =
            find_actor(figures, sender->full_receiver);
        if (sender->full_ns == 0 || !receiver)
            continue;
        double blocked = share(sender->full_ns, figures->run_ns);
        double work = share(work_ns(receiver), figures->run_ns);
        verdict_candidate_t candidate = { .bound = SKN_BOUND_CREDIT,
                                          .cost = at_most(blocked,
                                                          1 - inquiry->work) };
        /* A receiver that is always in its handlers is no faster with more
         * messages waiting. */
        candidate.cost = at_most(candidate.cost,
                                 1 - share(receiver->busy_ns, figures->run_ns));
        if (sender->full_credit > SCARCE_CREDIT)
            candidate.cost *= 0.5;
        else if (candidate.cost > inquiry->credit)
            inquiry->credit = candidate.cost;
        (void)snprintf(candidate.what, sizeof(candidate.what),
                       "the credit of %s from %s to %s, %" PRIu64
                       " (it was blocked %d%% of the run, and %s works %d%%)",
                       sender->full_message, sender->name, receiver->name,
                       sender->full_credit, percent(blocked), receiver->name,
                       percent(work));
        (void)snprintf(candidate.change, sizeof(candidate.change),
                       "raise `credit` of that pipe, or train.window");
        offer(inquiry, &candidate);
    }
}

/* Many messages, each handled in hardly any time. */
static void
weigh_batches(inquiry_t *inquiry, const skn_figures_t *figures)
{
    uint64_t beside_ns = 0, busy_ns = 0, count = 0;
    char node[96];
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        const skn_actor_figures_t *actor = &figures->actors[k];
        uint64_t handling_ns = less(actor->busy_ns, actor->open_ns);
        beside_ns += less(actor->ran_ns, actor->busy_ns);
        busy_ns += handling_ns;
        for (uint64_t h = 0; h < actor->handler_count; h++)
            count += actor->handler[h].count;
    }
    if (count == 0 || busy_ns / count > SHORT_NS)
        return;
    double passing = share(beside_ns, beside_ns + busy_ns);
    verdict_candidate_t candidate = { .bound = SKN_BOUND_BATCHES,
                                      .cost = at_most(PASSING_COST * passing,
                                                      1 - inquiry->credit) };
    (void)of_node(inquiry, figures, node, sizeof(node));
    (void)snprintf(candidate.what, sizeof(candidate.what),
                   "messages that are too small%s (%" PRIu64 " were handled in "
                   "%" PRIu64 " us each, and %d%% of the CPU time went into "
                   "passing them)",
                   node, count, busy_ns / count / 1000, percent(passing));
    (void)snprintf(candidate.change, sizeof(candidate.change),
                   "a larger train.batch_rows, or larger messages");
    offer(inquiry, &candidate);
}

/* --- cores ---------------------------------------------------------------- */

typedef struct core {
    double ran, top; /* CPU time of all its actors, of the busiest one */
    double queued;   /* longest wait of an actor beyond the others' CPU time */
    double late;     /* waiting as a share of waiting and running */
    double units;    /* cores of the group */
    uint32_t actors; /* actors that worked */
} core_t;

/* Adds up the actors that are bound to core `number`; < 0: all, on `units`. */
static core_t
add_core(const skn_figures_t *figures, int number, double units)
{
    core_t core = { .units = units };
    double ran = 0.0, late = 0.0;
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        if (number >= 0 && figures->actors[k].core != number)
            continue;
        ran += (double)figures->actors[k].ran_ns;
        late += (double)figures->actors[k].queued_ns;
    }
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        const skn_actor_figures_t *actor = &figures->actors[k];
        double own = (double)actor->ran_ns;
        double queued = (double)actor->queued_ns - (ran - own) / units;
        if (number >= 0 && actor->core != number)
            continue;
        core.actors += own > 0.01 * (double)figures->run_ns;
        core.top = own > core.top ? own : core.top;
        core.queued = queued > core.queued ? queued : core.queued;
    }
    core.late = late > 0 ? late / (ran + late) : 1.0; /* 0: unknown */
    core.ran = ran / units / (double)figures->run_ns;
    core.top /= units * (double)figures->run_ns;
    core.queued /= (double)figures->run_ns;
    return core;
}

static uint32_t
bound_cores(const skn_figures_t *figures)
{
    uint32_t count = 0;
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        bool first = figures->actors[k].core >= 0;
        for (uint64_t j = 0; j < k && first; j++)
            first = figures->actors[j].core != figures->actors[k].core;
        count += first;
    }
    return count;
}

/* The fullest core that actors are bound to, or all cores if they are not
 * bound. */
static core_t
fullest_core(const skn_figures_t *figures)
{
    double units = figures->units > 0 ? (double)figures->units : 1.0;
    core_t fullest = add_core(figures, -1, units);
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        if (figures->actors[k].core < 0)
            continue;
        core_t core = add_core(figures, figures->actors[k].core, 1.0);
        if (core.ran > fullest.ran)
            fullest.ran = core.ran, fullest.top = core.top,
            fullest.late = core.late, fullest.actors = core.actors,
            fullest.units = core.units;
        if (core.queued > fullest.queued)
            fullest.queued = core.queued;
    }
    return fullest;
}

static void
weigh_cores(inquiry_t *inquiry, const skn_figures_t *figures,
            const core_t *core)
{
    uint32_t cores = bound_cores(figures), of = (uint32_t)core->units;
    char node[96];
    if (core->ran < FULL || core->top > ALONE * core->ran ||
        core->actors <= of || core->late < LATE)
        return;
    verdict_candidate_t candidate = { .bound = SKN_BOUND_CORES,
                                      .cost = core->ran };
    (void)of_node(inquiry, figures, node, sizeof(node));
    if (cores == 0 || (figures->units > 0 && cores > figures->units))
        cores = (uint32_t)figures->units;
    (void)snprintf(candidate.what, sizeof(candidate.what),
                   "too few cores%s (%" PRIu32 " actors keep %" PRIu32
                   " core%s busy %d%% of the run, none of them more than "
                   "%d%%)",
                   node, core->actors, of, of == 1 ? "" : "s",
                   percent(core->ran), percent(core->top * core->units));
    (void)snprintf(candidate.change, sizeof(candidate.change),
                   "give it another core than the %" PRIu32
                   " that it has (resources.cores, the affinity of the "
                   "process), or another node",
                   cores);
    offer(inquiry, &candidate);
}

static void
weigh_others(inquiry_t *inquiry, const skn_figures_t *figures,
             const core_t *core)
{
    double throttled = share(figures->throttled_ns, figures->run_ns);
    double units = figures->units > 0 ? (double)figures->units : 1.0;
    double others = (double)figures->others_ns / (double)figures->run_ns;
    double cost = at_most(core->queued, 1.0) - throttled;
    char node[96];
    if (figures->others_known && others < 0.1)
        return;
    verdict_candidate_t candidate = { .bound = SKN_BOUND_OTHERS, .cost = cost };
    (void)of_node(inquiry, figures, node, sizeof(node));
    if (figures->others_known)
        (void)snprintf(
            candidate.what, sizeof(candidate.what),
            "other programs on its cores%s (of %d core%s they took %d%%, "
            "the run %d%%)",
            node, (int)units, (int)units == 1 ? "" : "s",
            percent(at_most(others / units, 1.0)),
            percent(
                at_most(share(figures->cpu_ns, figures->run_ns) / units, 1.0)));
    else
        (void)snprintf(candidate.what, sizeof(candidate.what),
                       "other programs on its cores%s (an actor waited %d%% of "
                       "the run for its core)",
                       node, percent(core->queued));
    (void)snprintf(candidate.change, sizeof(candidate.change),
                   "end them, or give the run cores of its own");
    offer(inquiry, &candidate);
}

static void
weigh_quota(inquiry_t *inquiry, const skn_figures_t *figures)
{
    double quota = (double)figures->quota_milli * 1e-3;
    double throttled = share(figures->throttled_ns, figures->run_ns);
    double used = (double)figures->cpu_ns / (double)figures->run_ns;
    char node[96];
    if (quota <= 0.0 || throttled < 0.05)
        return;
    verdict_candidate_t candidate = { .bound = SKN_BOUND_QUOTA,
                                      .cost = throttled };
    if (used > FULL * quota)
        candidate.cost = at_most(used / quota, 1.0);
    (void)of_node(inquiry, figures, node, sizeof(node));
    (void)snprintf(candidate.what, sizeof(candidate.what),
                   "the CPU quota of its control group%s (%" PRIu64
                   ".%02" PRIu64 " cores; it was held back %d%% of the run)",
                   node, figures->quota_milli / 1000,
                   figures->quota_milli % 1000 / 10, percent(throttled));
    (void)snprintf(candidate.change, sizeof(candidate.change),
                   "raise the quota (cpu.max, cpu.cfs_quota_us, the limit of "
                   "the container)");
    offer(inquiry, &candidate);
}

/* --- links ---------------------------------------------------------------- */

/* The link that sends most. */
static const skn_link_figures_t *
slow_link(const skn_figures_t *figures)
{
    const skn_link_figures_t *slow = NULL;
    for (uint64_t k = 0; k < figures->link_count; k++)
        if (!slow || figures->links[k].bytes_sent > slow->bytes_sent)
            slow = &figures->links[k];
    return slow;
}

/* The reason why a link is slow: round trips far above the least mean a
 * queue. */
static skn_bound_t
is_slow(const skn_figures_t *figures, const skn_link_figures_t *link)
{
    if (share(figures->capped_ns, figures->run_ns) > CAPPED ||
        link->rtt_ns > 2 * link->rtt_min_ns + 2 * LATENCY_NS)
        return SKN_BOUND_RATE;
    return link->rtt_min_ns >= LATENCY_NS ? SKN_BOUND_LATENCY : SKN_BOUND_NONE;
}

/* --- checkpoints ---------------------------------------------------------- */

/* True if a checkpoint waits for data from a link rather than for its disk. */
static bool
saves_over_link(const skn_figures_t *figures)
{
    const skn_link_figures_t *link = slow_link(figures);
    for (uint64_t k = 0; k < figures->actor_count; k++)
        if (link && saves(&figures->actors[k]) &&
            is_slow(figures, link) != SKN_BOUND_NONE &&
            figures->actors[k].remote_ns > figures->saving_ns / 2 &&
            asleep_ns(&figures->actors[k]) < figures->saving_ns / 2)
            return true;
    return false;
}

static void
weigh_checkpoints(inquiry_t *inquiry, const skn_figures_t *figures)
{
    uint64_t asleep = 0;
    if (figures->saves == 0 || saves_over_link(figures))
        return;
    uint64_t each_ns = figures->saving_ns / figures->saves;
    for (uint64_t k = 0; k < figures->actor_count; k++)
        if (saves(&figures->actors[k]) &&
            asleep_ns(&figures->actors[k]) > asleep)
            asleep = asleep_ns(&figures->actors[k]);
    bool slow = each_ns >= SLOW_SAVE_NS && asleep > figures->saving_ns / 2;
    verdict_candidate_t candidate = {
        .bound = slow ? SKN_BOUND_DISK : SKN_BOUND_CHECKPOINTS,
        .cost = share(figures->saving_ns, figures->run_ns),
    };
    (void)snprintf(candidate.what, sizeof(candidate.what),
                   "%s (%" PRIu64 " of them took %d%% of the run, %" PRIu64
                   ".%02" PRIu64 " s each%s)",
                   slow ? "the disk that checkpoints are written to"
                   : figures->saves > FEW_SAVES ? "frequent checkpoints"
                                                : "checkpoints",
                   figures->saves, percent(candidate.cost),
                   each_ns / 1000000000u, each_ns % 1000000000u / 10000000u,
                   slow ? ", most of it waiting for the disk" : "");
    (void)snprintf(candidate.change, sizeof(candidate.change), "%s",
                   slow ? "a faster disk for checkpoint.path, or fewer of them "
                          "(checkpoint.every_epochs, checkpoint.every_batches)"
                   : figures->saves > FEW_SAVES
                       ? "a larger checkpoint.every_epochs, and "
                         "checkpoint.every_batches if it is set"
                       : "the longer the run, the less they matter");
    offer(inquiry, &candidate);
}

/* --- several nodes -------------------------------------------------------- */

static double
load_of(const skn_figures_t *figures)
{
    double load = share(figures->core_busy_ns, figures->run_ns);
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        double work = share(work_ns(&figures->actors[k]), figures->run_ns);
        load = work > load ? work : load;
    }
    return load;
}

/* A node that is busy while all others are not. */
static void
weigh_nodes(inquiry_t *inquiry)
{
    const skn_figures_t *slowest = NULL;
    double most = 0.0, next = 0.0;
    for (size_t n = 0; n < inquiry->count; n++) {
        double load = load_of(inquiry->nodes[n]);
        if (load > most) {
            next = most;
            most = load;
            slowest = inquiry->nodes[n];
        } else if (load > next) {
            next = load;
        }
    }
    if (inquiry->count < 2 || !slowest || next > 0.8 * most)
        return;
    verdict_candidate_t candidate = { .bound = SKN_BOUND_NODE, .cost = most };
    (void)snprintf(candidate.what, sizeof(candidate.what),
                   "node %s, the slowest one (it works %d%% of the run, the "
                   "others at most %d%%)",
                   slowest->node, percent(most), percent(next));
    (void)snprintf(candidate.change, sizeof(candidate.change),
                   "see what else runs there, or give it fewer blocks than "
                   "the others, or leave it out");
    offer(inquiry, &candidate);
}

/* The remote wait of the busiest actor that gets messages from other nodes. */
static double
remote_wait(const skn_figures_t *figures)
{
    const skn_actor_figures_t *busiest = NULL;
    for (uint64_t k = 0; k < figures->actor_count; k++)
        if (figures->actors[k].remote_ns > 0 &&
            (!busiest || work_ns(&figures->actors[k]) > work_ns(busiest)))
            busiest = &figures->actors[k];
    return busiest ? share(busiest->remote_ns, figures->run_ns) : 0.0;
}

static void
weigh_link(inquiry_t *inquiry, const skn_figures_t *figures)
{
    const skn_link_figures_t *link = slow_link(figures);
    double waits = remote_wait(figures), most = 0.0;
    if (!link)
        return;
    for (size_t n = 0; n < inquiry->count; n++)
        if (load_of(inquiry->nodes[n]) > most)
            most = load_of(inquiry->nodes[n]);
    verdict_candidate_t candidate = { .bound = is_slow(figures, link),
                                      .cost = at_most(waits, 1 - most) };
    bool is_far = candidate.bound == SKN_BOUND_LATENCY;
    if (candidate.bound == SKN_BOUND_NONE)
        return;
    uint64_t kbit_s =
        (uint64_t)((double)link->bytes_sent * 8e6 / (double)figures->run_ns);
    if (is_far)
        (void)snprintf(candidate.what, sizeof(candidate.what),
                       "the latency of the link from %s to %s (a round trip "
                       "of %" PRIu64 " ms; actors wait %d%% of the run for "
                       "other nodes)",
                       figures->node, link->peer, link->rtt_min_ns / 1000000u,
                       percent(waits));
    else
        (void)snprintf(candidate.what, sizeof(candidate.what),
                       "the link from %s to %s, which carries %" PRIu64
                       ".%02" PRIu64 " Mbit/s%s (actors wait %d%% of the run "
                       "for other nodes)",
                       figures->node, link->peer, kbit_s / 1000,
                       kbit_s % 1000 / 10,
                       share(figures->capped_ns, figures->run_ns) > CAPPED
                           ? ", the rate that was set"
                           : "",
                       percent(waits));
    (void)snprintf(candidate.change, sizeof(candidate.change), "%s",
                   is_far ? "a larger train.window or train.batch_rows hides it"
                          : "a faster link, fewer bytes (links.coding), or a "
                            "larger train.batch_rows");
    offer(inquiry, &candidate);
}

/* --- the sentence --------------------------------------------------------- */

static void
write_sentence(const inquiry_t *inquiry, skn_verdict_t *verdict)
{
    const verdict_candidate_t *best = &inquiry->best, *next = &inquiry->next;
    verdict->bound = best->bound;
    verdict->cost = best->cost;
    if (best->bound == SKN_BOUND_NONE) {
        (void)snprintf(verdict->text, sizeof(verdict->text),
                       "bound by nothing that was measured: the run was too "
                       "short, or its actors had nothing to do");
        return;
    }
    bool also =
        next->cost >= NEXT_COST && next->cost >= NEXT_SHARE * best->cost;
    (void)snprintf(verdict->text, sizeof(verdict->text), "bound by %s: %s%s%s",
                   best->what, best->change, also ? "; then by " : "",
                   also ? next->what : "");
}

void
skn_verdict_find(const skn_figures_t *const *nodes, size_t count,
                 bool one_machine, skn_verdict_t *verdict)
{
    inquiry_t inquiry = { .nodes = nodes, .count = count };
    bool long_enough = count > 0 && nodes[0]->run_ns >= RUN_NS_MIN;
    if (long_enough)
        find_busiest(&inquiry);
    for (size_t n = 0; long_enough && n < count; n++) {
        core_t core = fullest_core(nodes[n]);
        weigh_start(&inquiry, nodes[n]);
        weigh_credit(&inquiry, nodes[n]);
        weigh_batches(&inquiry, nodes[n]);
        weigh_cores(&inquiry, nodes[n], &core);
        weigh_others(&inquiry, nodes[n], &core);
        weigh_quota(&inquiry, nodes[n]);
        weigh_checkpoints(&inquiry, nodes[n]);
        weigh_link(&inquiry, nodes[n]);
    }
    if (long_enough)
        weigh_actor(&inquiry);
    if (long_enough && !one_machine)
        weigh_nodes(&inquiry);
    write_sentence(&inquiry, verdict);
}

void
skn_verdict_print(const skn_verdict_t *verdict, const char *json, FILE *file)
{
    if (!json) {
        (void)fprintf(file, "%s.\n", verdict->text);
        return;
    }
    /* The names of actors, kinds and messages need no escaping. */
    (void)fprintf(file,
                  "%s\"bound_by\":\"%s\",\"bound_percent\":%d,"
                  "\"verdict\":\"%s\"}\n",
                  json, skn_bound_word(verdict->bound), percent(verdict->cost),
                  verdict->text);
}
