/* report.c - where the time of a run went, a line an actor.
 *
 * Read by the host's thread after the actors' threads have been joined.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "actors/system.h"
#include "actors/system_build.h"

/* Both ends of an actor's pipes, added up. */
typedef struct totals {
    uint64_t messages_in, bytes_in, messages_out, bytes_out;
    uint64_t outbox_max; /* the longest that one edge ever was */
} totals_t;

static totals_t
add_edges(const skn_actor_t *actor)
{
    totals_t totals = { 0 };
    for (uint32_t k = 0; k < actor->in_edge_count; k++) {
        totals.messages_in += actor->in_edges[k].counters.messages;
        totals.bytes_in += actor->in_edges[k].counters.bytes;
    }
    for (uint32_t k = 0; k < actor->out_edge_count; k++) {
        const skn_edge_counters_t *counters = &actor->out_edges[k].counters;
        totals.messages_out += counters->messages;
        totals.bytes_out += counters->bytes;
        if (counters->queue_max > totals.outbox_max)
            totals.outbox_max = counters->queue_max;
    }
    return totals;
}

static double
share(uint64_t part_ns, uint64_t whole_ns)
{
    return whole_ns > 0 ? 100.0 * (double)part_ns / (double)whole_ns : 0;
}

static double
microseconds(uint64_t ns)
{
    return (double)ns / 1e3;
}

static void
print_handlers(const skn_actor_t *actor, FILE *file)
{
    for (uint32_t k = 0; k < actor->in_pipe_count; k++) {
        const skn_in_pipe_t *pipe = &actor->in_pipes[k];
        if (pipe->latency.count == 0)
            continue;
        skn_text_print(
            file,
            "    %-20s %10" PRIu64 " handled, p50 <= %.1f us, "
            "p99 <= %.1f us, longest %.1f us\n",
            pipe->wired->schema->name, pipe->latency.count,
            microseconds(skn_histogram_quantile_ns(&pipe->latency, 0.5)),
            microseconds(skn_histogram_quantile_ns(&pipe->latency, 0.99)),
            microseconds(pipe->latency.max_ns));
    }
}

static void
print_table(const skn_system_t *system, uint64_t run_ns, FILE *file)
{
    fprintf(file, "%-24s %6s %8s %8s %10s %10s %12s %12s\n", "actor", "busy %",
            "waiting", "blocked", "in", "out", "bytes in", "bytes out");
    for (uint32_t k = 0; k < system->actor_count; k++) {
        const skn_actor_t *actor = &system->actors[k];
        const skn_actor_counters_t *counters = &actor->counters;
        totals_t totals = add_edges(actor);
        skn_text_print(file,
                       "%-24s %6.1f %8.1f %8.1f %10" PRIu64 " %10" PRIu64
                       " %12" PRIu64 " %12" PRIu64 "\n",
                       actor->wired->name, share(counters->handling_ns, run_ns),
                       share(counters->waiting_ns, run_ns),
                       share(counters->blocked_ns, run_ns), totals.messages_in,
                       totals.messages_out, totals.bytes_in, totals.bytes_out);
        print_handlers(actor, file);
    }
    fputs("(busy: in handlers; waiting: for a message; blocked: until a pipe "
          "out has room; % of the run)\n",
          file);
}

static void
print_json_handlers(const skn_actor_t *actor, FILE *file)
{
    const char *comma = "";
    fputs("\"handlers\":[", file);
    for (uint32_t k = 0; k < actor->in_pipe_count; k++) {
        const skn_in_pipe_t *pipe = &actor->in_pipes[k];
        fprintf(file,
                "%s{\"message\":\"%s\",\"count\":%" PRIu64
                ",\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
                ",\"max_ns\":%" PRIu64 "}",
                comma, pipe->wired->schema->name, pipe->latency.count,
                skn_histogram_quantile_ns(&pipe->latency, 0.5),
                skn_histogram_quantile_ns(&pipe->latency, 0.99),
                pipe->latency.max_ns);
        comma = ",";
    }
    fputs("]}", file);
}

static void
print_json(const skn_system_t *system, uint64_t run_ns, FILE *file)
{
    fprintf(file, "{\"run_ns\":%" PRIu64 ",\"actors\":[", run_ns);
    for (uint32_t k = 0; k < system->actor_count; k++) {
        const skn_actor_t *actor = &system->actors[k];
        const skn_actor_counters_t *counters = &actor->counters;
        totals_t totals = add_edges(actor);
        fprintf(file,
                "%s{\"name\":\"%s\",\"kind\":\"%s\",\"busy_ns\":%" PRIu64
                ",\"waiting_ns\":%" PRIu64 ",\"blocked_ns\":%" PRIu64
                ",\"wakeups\":%" PRIu64 ",\"restarts\":%" PRIu64
                ",\"messages_in\":%" PRIu64 ",\"messages_out\":%" PRIu64
                ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64
                ",\"dropped\":%" PRIu64 ",\"outbox_max\":%" PRIu64 ",",
                k > 0 ? "," : "", actor->wired->name, actor->kind->name,
                counters->handling_ns, counters->waiting_ns,
                counters->blocked_ns, counters->wakeups, counters->restarts,
                totals.messages_in, totals.messages_out, totals.bytes_in,
                totals.bytes_out, counters->dropped, totals.outbox_max);
        print_json_handlers(actor, file);
    }
    fputs("]}\n", file);
}

void
skn_system_report(const skn_system_t *system, bool json, FILE *file)
{
    uint64_t run_ns = system->end_ns - system->begin_ns;
    if (json)
        print_json(system, run_ns, file);
    else
        print_table(system, run_ns, file);
}
