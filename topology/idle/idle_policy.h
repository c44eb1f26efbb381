/* idle_policy.h - decides how much of a machine a run may use beside its
 * owner's work.
 *
 * A pure function of samples, about one a second: what others use, how long
 * tasks wait for memory and disk, whether the machine runs on its battery.
 * idle_sample.h reads the samples and idle_apply.h carries out the decisions.
 * Rules: the number of threads is reduced at once and raised gradually; one
 * thread always stays, since users of such programs ask for fewer threads, not
 * for none; a pause needs a reason that lasts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_IDLE_IDLE_POLICY_H
#define TOPOLOGY_IDLE_IDLE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* How long a reason must be gone before a pause or a shortage of memory
 * ends. */
#define SKN_IDLE_RESUME_NS UINT64_C(60000000000)
/* Time between two steps up. */
#define SKN_IDLE_RISE_NS UINT64_C(10000000000)
/* Others are busy if they use half of the cores or more for this long. */
#define SKN_IDLE_BUSY_NS UINT64_C(5000000000)
/* Memory is short if it has been for this long. */
#define SKN_IDLE_SHORT_NS UINT64_C(3000000000)
#define SKN_IDLE_REASON_BYTES 120

typedef struct skn_idle_limits {
    uint32_t core_count; /* cores that the process may use; at least 1 */
    /* below 0: 1 while a user is there, else 0 */
    int64_t reserve_cores;
    double share;      /* share of the cores, 0 to 1 */
    uint64_t grace_ns; /* wait before a pause */
} skn_idle_limits_t;

/* Unknown values are below 0, or false. */
typedef struct skn_idle_sample {
    uint64_t now_ns;        /* by a clock that never goes back */
    double outside;         /* our cores that other processes use */
    double memory_pressure; /* percent of the time in which some task waits */
    double io_pressure;     /* (PSI some avg10) */
    double memory_free;     /* available, as a share of all */
    bool on_battery;
    bool somebody; /* a user has used a terminal lately */
} skn_idle_sample_t;

/* Parts of a decision that a sample has changed. */
#define SKN_IDLE_THREADS 1u
#define SKN_IDLE_PAUSE 2u
#define SKN_IDLE_MEMORY 4u

typedef struct skn_idle_decision {
    uint32_t threads; /* cores that may be computed on; at least 1 */
    bool pause;       /* no computing at all */
    bool give_memory; /* others need memory */
    unsigned changed; /* SKN_IDLE_...: differences from the last decision */
    /* the reason for each change, as text */
    char threads_reason[SKN_IDLE_REASON_BYTES];
    char pause_reason[SKN_IDLE_REASON_BYTES];
    char memory_reason[SKN_IDLE_REASON_BYTES];
} skn_idle_decision_t;

/* The times are those since which something is so; 0: it is not. */
typedef struct skn_idle_policy {
    skn_idle_limits_t limits;
    bool begun, pause, give_memory;
    uint32_t threads;
    uint64_t last_ns;  /* time of the last sample */
    uint64_t level_ns; /* when a greater number was last not possible */
    uint64_t busy_ns, battery_ns, mains_ns, short_ns, plenty_ns;
} skn_idle_policy_t;

void skn_idle_policy_init(skn_idle_policy_t *policy,
                          const skn_idle_limits_t *limits);
/* Takes the next sample. Nothing is decided before the first one, which changes
 * the number of threads unless all cores may be used. After a gap of more than
 * 5 s, conditions that have to last start again. */
void skn_idle_policy_step(skn_idle_policy_t *policy,
                          const skn_idle_sample_t *sample,
                          skn_idle_decision_t *decision);

#endif
