/* watched.h - progress reports of a run between its markers, and the time that
 * it has worked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_WATCHED_H
#define ACTORS_COURSE_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/actor.h"

typedef struct skn_watched {
    uint64_t every_ns; /* between two reports; 0: there are none */
    uint64_t rows;     /* samples so far */
    /* time, samples and batch of the last report; time 0: a pause has been
     * since */
    uint64_t told_ns, told_rows, told_batch;
    /* time in batches and evaluations; start of the current one, 0: none */
    uint64_t busy_ns, since_ns;
} skn_watched_t;

/* The run works from now on; or rests. */
void skn_watched_work(skn_watched_t *watched, uint64_t now_ns);
void skn_watched_rest(skn_watched_t *watched, uint64_t now_ns);
double skn_watched_busy_s(const skn_watched_t *watched, uint64_t now_ns);

typedef struct skn_watched_rate {
    double rows_per_s, batches_per_s;
} skn_watched_rate_t;
/* A result of `batch` has arrived. True: a report is due. The first result
 * after a pause only starts the clock. */
bool skn_watched_due(skn_watched_t *watched, uint64_t batch, uint64_t now_ns,
                     skn_watched_rate_t *rate);

#endif
