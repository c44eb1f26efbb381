/* watched.h - what people who watch a run are told between its markers, and how
 * long it has worked.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_COURSE_WATCHED_H
#define ACTORS_COURSE_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "skein/actor.h"

typedef struct skn_watched {
    uint64_t every_ns; /* between two words; 0: there are none */
    uint64_t rows;     /* seen so far */
    /* When the last word was, 0: a pause has been since; and of what. */
    uint64_t told_ns, told_rows, told_batch;
    /* In batches and evaluations; and since when in one, 0: in none. */
    uint64_t busy_ns, since_ns;
} skn_watched_t;

/* From now on it works; or rests. */
void skn_watched_work(skn_watched_t *watched, uint64_t now_ns);
void skn_watched_rest(skn_watched_t *watched, uint64_t now_ns);
double skn_watched_busy_s(const skn_watched_t *watched, uint64_t now_ns);

typedef struct skn_watched_rate {
    double rows_per_s, batches_per_s;
} skn_watched_rate_t;
/* A result of `batch` is here. True: it is time for a word. The first one after
 * a pause only starts the clock. */
bool skn_watched_due(skn_watched_t *watched, uint64_t batch, uint64_t now_ns,
                     skn_watched_rate_t *rate);

#endif
