/* preemption.h - draws how long a preemptible machine lives before it is taken
 * away.
 *
 * Many are taken away soon, the rest at the end of their longest life: the
 * bathtub distribution of Kadupitiya, Jadhao, Sharma 2020 ("Modeling The
 * Temporally Constrained Preemptions of Transient Cloud VMs", HPDC), whose
 * share of machines taken by hour t is
 *
 *     F(t) = A (1 - exp(-t / early) + exp((t - b) / late)),    t <= 24
 *
 * Machines that are left at 24 hours are taken then.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_PREEMPTION_H
#define TESTS_SIM_PREEMPTION_H

#define SKN_PREEMPTION_HOURS_MAX 24.0

/* F(t): 0 below 0, and 1 from 24 on. */
double skn_preemption_share(double hours);
/* The life of a machine for `share` in [0, 1), drawn evenly. */
double skn_preemption_life(double share);

#endif
