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
    /* time, samples and batch of the last report; time 0: a pause has been
     * since */
    uint64_t told_ns, told_rows, told_batch;
    /* time in batches and evaluations; start of the current one, 0: none */
    uint64_t busy_ns, since_ns;
} skn_throughput_t;

/* The run works from now on; or rests. */
void skn_throughput_work(skn_throughput_t *throughput, uint64_t now_ns);
void skn_throughput_rest(skn_throughput_t *throughput, uint64_t now_ns);
double skn_throughput_busy_s(const skn_throughput_t *throughput,
                             uint64_t now_ns);

typedef struct skn_throughput_rate {
    double rows_per_s, batches_per_s;
} skn_throughput_rate_t;
/* A result of `batch` has arrived. True: a report is due. The first result
 * after a pause only starts the clock. */
bool skn_throughput_due(skn_throughput_t *throughput, uint64_t batch,
                        uint64_t now_ns, skn_throughput_rate_t *rate);

#endif
