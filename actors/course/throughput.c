/* throughput.c - computes the rates of a run since its last progress report.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/throughput.h"

void
skn_throughput_work(skn_throughput_t *throughput, uint64_t now_ns)
{
    if (throughput->since_ns == 0)
        throughput->since_ns = now_ns;
}

void
skn_throughput_rest(skn_throughput_t *throughput, uint64_t now_ns)
{
    if (throughput->since_ns > 0)
        throughput->busy_ns += now_ns - throughput->since_ns;
    throughput->since_ns = 0;
}

void
skn_throughput_pause(skn_throughput_t *throughput)
{
    throughput->from_ns = 0;
}

double
skn_throughput_busy_s(const skn_throughput_t *throughput, uint64_t now_ns)
{
    uint64_t busy_ns = throughput->busy_ns;
    if (throughput->since_ns > 0)
        busy_ns += now_ns - throughput->since_ns;
    return (double)busy_ns * 1e-9;
}

bool
skn_throughput_due(skn_throughput_t *throughput, uint64_t batch,
                   uint64_t now_ns, skn_throughput_rate_t *rate)
{
    uint64_t span_ns = now_ns - throughput->from_ns;
    bool is_first = throughput->from_ns == 0;
    if (throughput->told_ns == 0)
        throughput->told_ns = now_ns;
    if (throughput->every_ns == 0 ||
        (!is_first && now_ns - throughput->told_ns < throughput->every_ns))
        return false;
    uint64_t rows = throughput->rows - throughput->from_rows;
    uint64_t batches = /* results of two batches may arrive in reverse order */
        batch > throughput->from_batch ? batch - throughput->from_batch : 0;
    throughput->from_ns = now_ns;
    throughput->from_rows = throughput->rows;
    throughput->from_batch = batch;
    if (is_first || span_ns == 0)
        return false;
    throughput->told_ns = now_ns;
    *rate =
        (skn_throughput_rate_t){ (double)rows / ((double)span_ns * 1e-9),
                                 (double)batches / ((double)span_ns * 1e-9) };
    return true;
}
