/* throughput.h - progress reports of a run between its markers, and the time
 * that it has worked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_THROUGHPUT_H
#define ACTORS_COURSE_THROUGHPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/actor.h"

typedef struct skn_throughput {
    uint64_t every_ns; /* between two reports; 0: there are none */
    uint64_t rows;     /* samples so far */
    uint64_t told_ns;  /* time of the last report, or of the first result */
    /* Time, samples and batch from which the next report counts: those of the
     * last one, or of the first result after a pause; time 0: it is paused. */
    uint64_t from_ns, from_rows, from_batch;
    /* time in batches and evaluations; start of the current one, 0: none */
    uint64_t busy_ns, since_ns;
} skn_throughput_t;

/* The run works from now on; or rests. A pause is no time of training; the next
 * report is as soon after the last one as without it. */
void skn_throughput_work(skn_throughput_t *throughput, uint64_t now_ns);
void skn_throughput_rest(skn_throughput_t *throughput, uint64_t now_ns);
double skn_throughput_busy_s(const skn_throughput_t *throughput,
                             uint64_t now_ns);

typedef struct skn_throughput_rate {
    double rows_per_s, batches_per_s;
} skn_throughput_rate_t;
void skn_throughput_pause(skn_throughput_t *throughput);
/* A result of `batch` has arrived. True: a report is due. The first result, and
 * the first after a pause, only starts the clock. */
bool skn_throughput_due(skn_throughput_t *throughput, uint64_t batch,
                        uint64_t now_ns, skn_throughput_rate_t *rate);

#endif
