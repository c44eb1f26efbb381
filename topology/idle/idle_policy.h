/* idle_policy.h - how much of a machine may be used beside its owner's work.
 *
 * A pure function of samples, one about a second: what others use, how long
 * tasks wait for memory and disk, whether the machine runs on its battery.
 * What is read comes from idle_sample.h, what follows is done by idle_apply.h.
 * Rules: less at once, more slowly; one thread always stays, as users of such
 * programs ask for fewer and not for none; pauses need a reason that lasts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_POLICY_H
#define TOPOLOGY_IDLE_IDLE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* How long a reason must be gone before a pause or a want of memory is over. */
#define SKN_IDLE_RESUME_NS UINT64_C(60000000000)
/* Between two steps up. */
#define SKN_IDLE_RISE_NS UINT64_C(10000000000)
/* Others are busy: half of the cores or more for so long. */
#define SKN_IDLE_BUSY_NS UINT64_C(5000000000)
/* Memory is short when it is for so long. */
#define SKN_IDLE_SHORT_NS UINT64_C(3000000000)
#define SKN_IDLE_REASON_BYTES 120

typedef struct skn_idle_limits {
    uint32_t core_count;   /* that the process may use; at least 1 */
    int64_t reserve_cores; /* below 0: 1 while somebody is there, else 0 */
    double share;          /* of the cores, 0 to 1 */
    uint64_t grace_ns;     /* before a pause */
} skn_idle_limits_t;

/* What is not known is below 0, or false. */
typedef struct skn_idle_sample {
    uint64_t now_ns;        /* of a clock that never goes back */
    double outside;         /* cores, of ours, that others use */
    double memory_pressure; /* percent of the time in which some task waits */
    double io_pressure;     /* (PSI some avg10) */
    double memory_free;     /* available, as a share of all */
    bool on_battery;
    bool somebody; /* has used a terminal lately */
} skn_idle_sample_t;

/* What has changed by a sample. */
#define SKN_IDLE_THREADS 1u
#define SKN_IDLE_PAUSE 2u
#define SKN_IDLE_MEMORY 4u

typedef struct skn_idle_decision {
    uint32_t threads; /* cores that may be computed on; at least 1 */
    bool pause;       /* not at all */
    bool give_memory; /* memory is needed by others */
    unsigned changed; /* SKN_IDLE_... of what differs from the one before */
    /* Why, in words, of what has changed. */
    char threads_reason[SKN_IDLE_REASON_BYTES];
    char pause_reason[SKN_IDLE_REASON_BYTES];
    char memory_reason[SKN_IDLE_REASON_BYTES];
} skn_idle_decision_t;

/* Since when something is so; 0: it is not. */
typedef struct skn_idle_policy {
    skn_idle_limits_t limits;
    bool begun, pause, give_memory;
    uint32_t threads;
    uint64_t last_ns;  /* of the sample before */
    uint64_t level_ns; /* no more was possible at that time */
    uint64_t busy_ns, battery_ns, mains_ns, short_ns, plenty_ns;
} skn_idle_policy_t;

void skn_idle_policy_init(skn_idle_policy_t *policy,
                          const skn_idle_limits_t *limits);
/* The next sample; before the first one nothing is decided, and it changes
 * the number of threads unless all cores may be used. After a gap of more than
 * 5 s what lasts must last anew. */
void skn_idle_policy_step(skn_idle_policy_t *policy,
                          const skn_idle_sample_t *sample,
                          skn_idle_decision_t *decision);

#endif
