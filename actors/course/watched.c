/* watched.c - computes the rates of a run since its last progress report.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/watched.h"

void
skn_watched_work(skn_watched_t *watched, uint64_t now_ns)
{
    if (watched->since_ns == 0)
        watched->since_ns = now_ns;
}

void
skn_watched_rest(skn_watched_t *watched, uint64_t now_ns)
{
    if (watched->since_ns > 0)
        watched->busy_ns += now_ns - watched->since_ns;
    watched->since_ns = 0;
}

double
skn_watched_busy_s(const skn_watched_t *watched, uint64_t now_ns)
{
    uint64_t busy_ns = watched->busy_ns;
    if (watched->since_ns > 0)
        busy_ns += now_ns - watched->since_ns;
    return (double)busy_ns * 1e-9;
}

bool
skn_watched_due(skn_watched_t *watched, uint64_t batch, uint64_t now_ns,
                skn_watched_rate_t *rate)
{
    uint64_t span_ns = now_ns - watched->told_ns;
    bool starts = watched->told_ns == 0;
    if (watched->every_ns == 0 || (!starts && span_ns < watched->every_ns))
        return false;
    uint64_t rows = watched->rows - watched->told_rows;
    uint64_t batches = /* results of two batches may arrive in reverse order */
        batch > watched->told_batch ? batch - watched->told_batch : 0;
    watched->told_ns = now_ns;
    watched->told_rows = watched->rows;
    watched->told_batch = batch;
    *rate = (skn_watched_rate_t){ (double)rows / ((double)span_ns * 1e-9),
                                  (double)batches / ((double)span_ns * 1e-9) };
    return !starts;
}
