/* report.c - prints how each actor of a run spent its time, one line per actor.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "actors/runtime/figures.h"

/* A part of the run in percent, with one decimal: "12.3". */
static const char *
share(uint64_t part_ns, uint64_t whole_ns, char text[48])
{
    double of = whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0.0;
    uint64_t tenths = (uint64_t)(1000.0 * of + 0.5);
    (void)snprintf(text, 48, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
    return text;
}

/* Two or three digits and a unit: "1.0 ms", "43 us". */
static const char *
duration(uint64_t ns, char text[48])
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    uint64_t whole = ns, tenths = 0;
    size_t unit = 0;
    while (whole >= 1000 && unit < 3) {
        tenths = whole % 1000 / 100;
        whole /= 1000;
        unit++;
    }
    if (whole < 10 && unit > 0)
        (void)snprintf(text, 48, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths,
                       units[unit]);
    else
        (void)snprintf(text, 48, "%" PRIu64 " %s", whole, units[unit]);
    return text;
}

static void
print_details(const skn_actor_figures_t *actor, FILE *file)
{
    char half[48], most[48], longest[48];
    if (actor->held_max > 0)
        fprintf(file, "    %-20s %10" PRIu64 " held at most\n", "batches",
                actor->held_max);
    for (uint64_t k = 0; k < actor->handler_count; k++) {
        const skn_handler_figures_t *handler = &actor->handler[k];
        if (handler->count == 0)
            continue;
        fprintf(file,
                "    %-20s %10" PRIu64
                " handled, p50 <= %s, p99 <= %s, longest %s\n",
                handler->message, handler->count,
                duration(handler->p50_ns, half),
                duration(handler->p99_ns, most),
                duration(handler->max_ns, longest));
    }
}

void
skn_figures_table(const skn_figures_t *figures, FILE *file)
{
    char text[6][48];
    fprintf(file, "%-24s %6s %6s %6s %8s %8s %10s %10s %12s %12s\n", "actor",
            "busy %", "cpu", "queued", "waiting", "blocked", "in", "out",
            "bytes in", "bytes out");
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        const skn_actor_figures_t *actor = &figures->actors[k];
        uint64_t run_ns = figures->run_ns;
        fprintf(file,
                "%-24s %6s %6s %6s %8s %8s %10" PRIu64 " %10" PRIu64
                " %12" PRIu64 " %12" PRIu64 "\n",
                actor->name, share(actor->busy_ns, run_ns, text[0]),
                share(actor->ran_ns, run_ns, text[1]),
                share(actor->queued_ns, run_ns, text[2]),
                share(actor->waiting_ns, run_ns, text[3]),
                share(actor->blocked_ns, run_ns, text[4]), actor->messages_in,
                actor->messages_out, actor->bytes_in, actor->bytes_out);
        print_details(actor, file);
    }
    fputs(
        "(% of the run. busy: in handlers; waiting: for a message; blocked: "
        "until a pipe out\nhas room; the rest: passing messages, and the time "
        "before and after the actor's own\nrun. cpu: its thread ran; queued: "
        "its thread was ready, but had no core; both are\ncontained in the "
        "others)\n",
        file);
}

static void
write_handlers(const skn_actor_figures_t *actor, FILE *file)
{
    fputs("\"handlers\":[", file);
    for (uint64_t k = 0; k < actor->handler_count; k++) {
        const skn_handler_figures_t *handler = &actor->handler[k];
        fprintf(file,
                "%s{\"message\":\"%s\",\"count\":%" PRIu64
                ",\"sum_ns\":%" PRIu64 ",\"p50_ns\":%" PRIu64
                ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64 "}",
                k > 0 ? "," : "", handler->message, handler->count,
                handler->sum_ns, handler->p50_ns, handler->p99_ns,
                handler->max_ns);
    }
    fputs("]}", file);
}

static void
write_actor(const skn_actor_figures_t *actor, FILE *file)
{
    fprintf(file, "{\"name\":\"%s\",\"kind\":\"%s\",\"core\":%d", actor->name,
            actor->kind, actor->core);
#define N(number) fprintf(file, ",\"" #number "\":%" PRIu64, actor->number);
    SKN_ACTOR_FIGURES(N)
#undef N
    if (actor->full_ns > 0)
        fprintf(file, ",\"full_message\":\"%s\",\"full_receiver\":\"%s\"",
                actor->full_message, actor->full_receiver);
    fputc(',', file);
    write_handlers(actor, file);
}

void
skn_figures_json(const skn_figures_t *figures, FILE *file)
{
    fprintf(file, "{\"event\":\"report\",\"node\":\"%s\",\"others_known\":%s",
            figures->node, figures->others_known ? "true" : "false");
#define N(number) fprintf(file, ",\"" #number "\":%" PRIu64, figures->number);
    SKN_NODE_FIGURES(N)
#undef N
    fputs(",\"links\":[", file);
    for (uint64_t k = 0; k < figures->link_count; k++) {
        const skn_link_figures_t *link = &figures->links[k];
        fprintf(file, "%s{\"peer\":\"%s\"", k > 0 ? "," : "", link->peer);
#define N(number) fprintf(file, ",\"" #number "\":%" PRIu64, link->number);
        SKN_LINK_FIGURES(N)
#undef N
        fputc('}', file);
    }
    fputs("],\"actors\":[", file);
    for (uint64_t k = 0; k < figures->actor_count; k++) {
        fputs(k > 0 ? "," : "", file);
        write_actor(&figures->actors[k], file);
    }
    fputs("]", file);
}
