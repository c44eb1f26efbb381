/* idle_policy.c - decides the number of threads to use (reduced at once, raised
 * gradually), pauses, and the return of memory.
 *
 * Threads: round(0.9 (c - o)) - reserve, of c cores of which others use o.
 * Rounded, not cut off: the cores are used at idle priority, and of two free
 * cores, cutting off would leave one unused. This file owns the rules and their
 * numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/idle/idle_policy.h"

#include <stdio.h>
#include <string.h>

#include "skein/text.h"

/* Share of the free cores that is used. */
#define FREE_SHARE 0.9
/* Others are busy if they use at least this share of the cores. */
#define BUSY_SHARE 0.5
/* Percent of the time; above it, one thread is enough. */
#define MEMORY_TIGHT 5.0
#define IO_TIGHT 10.0
/* Above it, or with less memory available, memory is given back. */
#define MEMORY_SHORT 20.0
#define MEMORY_FREE_MIN 0.10
/* After a longer gap between samples nothing is known of the time in it. */
#define GAP_NS UINT64_C(5000000000)

void
skn_idle_policy_init(skn_idle_policy_t *policy, const skn_idle_limits_t *limits)
{
    memset(policy, 0, sizeof(*policy));
    policy->limits = *limits;
    if (policy->limits.core_count == 0)
        policy->limits.core_count = 1;
    policy->threads = policy->limits.core_count;
}

/* Keeps the time since which `is` holds. */
static void
keep_since(uint64_t *since_ns, bool is, uint64_t now_ns)
{
    if (!is)
        *since_ns = 0;
    else if (*since_ns == 0)
        *since_ns = now_ns > 0 ? now_ns : 1;
}

static bool
lasts(uint64_t since_ns, uint64_t span_ns, uint64_t now_ns)
{
    return since_ns > 0 && now_ns >= since_ns && now_ns - since_ns >= span_ns;
}

static double
at_least_0(double value)
{
    return value > 0.0 ? value : 0.0;
}

/* --- threads ------------------------------------------------------------- */

static uint32_t
most_threads(const skn_idle_limits_t *limits)
{
    double most = limits->share * (double)limits->core_count;
    return most >= 1.0 ? (uint32_t)most : 1u;
}

/* The number of threads that is right now, and why it is not greater. */
static uint32_t
target_threads(const skn_idle_policy_t *policy, const skn_idle_sample_t *sample,
               char *reason)
{
    const skn_idle_limits_t *limits = &policy->limits;
    double cores = (double)limits->core_count;
    double outside = at_least_0(sample->outside);
    int64_t reserve =
        limits->reserve_cores >= 0 ? limits->reserve_cores : sample->somebody;
    int64_t count = (int64_t)(FREE_SHARE * at_least_0(cores - outside) + 0.5);
    size_t bytes = SKN_IDLE_REASON_BYTES;
    bool one = true;
    if (sample->memory_pressure > MEMORY_TIGHT)
        (void)skn_text_write(reason, bytes,
                             "tasks wait for memory %.0f%% of the time",
                             sample->memory_pressure);
    else if (sample->io_pressure > IO_TIGHT)
        (void)skn_text_write(reason, bytes,
                             "tasks wait for disks %.0f%% of the time",
                             sample->io_pressure);
    else if (policy->give_memory)
        (void)snprintf(reason, bytes, "memory is short");
    else if (lasts(policy->busy_ns, SKN_IDLE_BUSY_NS, sample->now_ns))
        (void)skn_text_write(reason, bytes,
                             "other work uses %.1f of %.0f cores", outside,
                             cores);
    else
        one = false;
    if (one)
        return 1;
    if (reserve > 0 && count > 1)
        (void)skn_text_write(
            reason, bytes, "other work uses %.1f of %.0f cores, %lld stay free",
            outside, cores, (long long)reserve);
    else
        (void)skn_text_write(reason, bytes,
                             "other work uses %.1f of %.0f cores", outside,
                             cores);
    count -= reserve;
    if (count > (int64_t)most_threads(limits))
        count = (int64_t)most_threads(limits);
    return count > 1 ? (uint32_t)count : 1u;
}

static void
decide_threads(skn_idle_policy_t *policy, const skn_idle_sample_t *sample,
               skn_idle_decision_t *decision)
{
    uint32_t before = policy->threads;
    uint32_t target = target_threads(policy, sample, decision->threads_reason);
    if (target <= policy->threads || !policy->begun) {
        policy->threads = target;
        policy->level_ns = sample->now_ns;
    } else if (sample->now_ns - policy->level_ns >= SKN_IDLE_RISE_NS) {
        policy->threads++;
        policy->level_ns = sample->now_ns;
    }
    if (policy->threads != before)
        decision->changed |= SKN_IDLE_THREADS;
}

/* --- pauses and memory --------------------------------------------------- */

static void
decide_pause(skn_idle_policy_t *policy, const skn_idle_sample_t *sample,
             skn_idle_decision_t *decision)
{
    uint64_t now_ns = sample->now_ns;
    bool before = policy->pause;
    keep_since(&policy->battery_ns, sample->on_battery, now_ns);
    keep_since(&policy->mains_ns, !sample->on_battery, now_ns);
    if (lasts(policy->battery_ns, policy->limits.grace_ns, now_ns))
        policy->pause = true;
    else if (lasts(policy->mains_ns, SKN_IDLE_RESUME_NS, now_ns))
        policy->pause = false;
    if (policy->pause == before)
        return;
    decision->changed |= SKN_IDLE_PAUSE;
    (void)snprintf(decision->pause_reason, SKN_IDLE_REASON_BYTES, "%s",
                   policy->pause ? "the machine runs on its battery"
                                 : "the machine is on mains power again");
}

static void
decide_memory(skn_idle_policy_t *policy, const skn_idle_sample_t *sample,
              skn_idle_decision_t *decision)
{
    uint64_t now_ns = sample->now_ns;
    bool before = policy->give_memory;
    bool is_short = sample->memory_pressure > MEMORY_SHORT;
    bool little =
        sample->memory_free >= 0.0 && sample->memory_free < MEMORY_FREE_MIN;
    keep_since(&policy->short_ns, is_short || little, now_ns);
    keep_since(&policy->plenty_ns, !is_short && !little, now_ns);
    if (lasts(policy->short_ns, SKN_IDLE_SHORT_NS, now_ns))
        policy->give_memory = true;
    else if (lasts(policy->plenty_ns, SKN_IDLE_RESUME_NS, now_ns))
        policy->give_memory = false;
    if (policy->give_memory == before)
        return;
    decision->changed |= SKN_IDLE_MEMORY;
    if (!policy->give_memory)
        (void)snprintf(decision->memory_reason, SKN_IDLE_REASON_BYTES,
                       "memory is available again");
    else if (little)
        (void)skn_text_write(decision->memory_reason, SKN_IDLE_REASON_BYTES,
                             "%.0f%% of the memory is available",
                             100.0 * sample->memory_free);
    else
        (void)skn_text_write(decision->memory_reason, SKN_IDLE_REASON_BYTES,
                             "tasks wait for memory %.0f%% of the time",
                             sample->memory_pressure);
}

void
skn_idle_policy_step(skn_idle_policy_t *policy, const skn_idle_sample_t *sample,
                     skn_idle_decision_t *decision)
{
    uint64_t now_ns = sample->now_ns;
    memset(decision, 0, sizeof(*decision));
    if (policy->begun && now_ns - policy->last_ns > GAP_NS) {
        policy->busy_ns = policy->battery_ns = policy->mains_ns = 0;
        policy->short_ns = policy->plenty_ns = 0;
        policy->level_ns = now_ns;
    }
    policy->last_ns = now_ns;
    keep_since(&policy->busy_ns,
               sample->outside > BUSY_SHARE * (double)policy->limits.core_count,
               now_ns);
    decide_memory(policy, sample, decision);
    decide_pause(policy, sample, decision);
    decide_threads(policy, sample, decision);
    policy->begun = true;
    decision->threads = policy->threads;
    decision->pause = policy->pause;
    decision->give_memory = policy->give_memory;
}
