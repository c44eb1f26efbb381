/* load_report.c - sends the event `load` once a second: how busy a node of an
 * elastic run is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/load_report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "actors/machine/groups.h"
#include "topology/host/host.h"
#include "topology/training/training_events.h"
#include "transport/socket/clock.h"

void
skn_load_report_init(skn_load_report_t *report, bool sends)
{
    memset(report, 0, sizeof(*report));
    report->sends = sends;
    report->quota = sends ? skn_groups_units("") : 0;
}

static uint64_t
cpu_ns(void)
{
    struct timespec used = { 0 };
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SKN_SECOND_NS + (uint64_t)used.tv_nsec;
}

void
skn_load_report_step(skn_load_report_t *report, skn_training_t *training,
                     const skn_topology_t *topology)
{
    uint64_t now_ns = skn_monotonic_ns();
    if (!report->sends || now_ns < report->next_ns)
        return;
    report->next_ns = now_ns + SKN_SECOND_NS;
    skn_load_thread_t threads[SKN_LOAD_THREADS];
    const skn_load_sample_t sample = {
        .at_ns = now_ns,
        .core_ns = skn_topology_busy_ns(topology),
        .cpu_ns = cpu_ns(),
        .quota = report->quota,
        .throttled_ns = report->quota > 0 ? skn_groups_throttled_ns("") : 0,
        .threads = threads,
        .thread_count = skn_load_threads(threads, SKN_LOAD_THREADS),
    };
    skn_node_load_add(&report->load, &sample);
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event,
                      "{\"event\":\"load\",\"busy_us\":%" PRIu64
                      ",\"at_us\":%" PRIu64 "}",
                      report->load.busy_ns / 1000, now_ns / 1000);
    skn_training_send(training, &event);
}

int
skn_load_report_timeout_ms(const skn_load_report_t *report)
{
    if (!report->sends)
        return -1;
    uint64_t now_ns = skn_monotonic_ns();
    return now_ns >= report->next_ns
               ? 0
               : (int)((report->next_ns - now_ns) / 1000000u) + 1;
}
