/* harvest_report.c - writes the account of members' time as JSON and as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/harvest_report.h"

#include <stdlib.h>

#include "cli/base/events.h"
#include "formats/text/json_text.h"

json_t *
cli_harvest_report_json(const skn_harvest_sum_t *sum)
{
    json_t *counts = json_object();
#define C(name, help)                                                          \
    if (counts && sum->name > 0)                                               \
        (void)json_object_set_new(counts, #name,                               \
                                  json_integer((json_int_t)sum->name));
    SKN_HARVEST_COUNTS(C)
#undef C
    return counts;
}

static uint64_t
count_at(const json_t *counts, const char *name)
{
    json_int_t count = json_integer_value(json_object_get(counts, name));
    return count > 0 ? (uint64_t)count : 0;
}

void
cli_harvest_report_read(const json_t *counts, skn_harvest_sum_t *sum)
{
    if (!json_is_object(counts))
        return;
#define C(name, help) sum->name = count_at(counts, #name);
    SKN_HARVEST_COUNTS(C)
#undef C
}

/* --- the event ------------------------------------------------------------ */

static void
set_real(json_t *event, const char *key, double value)
{
    (void)json_object_set_new(event, key, json_real(value));
}

static void
set_count(json_t *event, const char *key, uint64_t value)
{
    (void)json_object_set_new(event, key, json_integer((json_int_t)value));
}

json_t *
cli_harvest_report_event(const skn_harvest_sum_t *sum)
{
    skn_harvest_shares_t shares = skn_harvest_shares(sum);
    json_t *event = json_pack("{ss}", "event", "harvest");
    if (!event)
        return NULL;
    set_real(event, "core_hours", shares.core_hours);
    set_real(event, "cpu_hours", shares.cpu_hours);
    set_real(event, "useful", shares.useful);
    set_real(event, "redone", shares.redone);
    set_real(event, "waiting", shares.waiting);
    set_count(event, "batches", sum->batches);
    set_count(event, "redone_batches", sum->redone_batches);
    set_count(event, "bytes_sent", sum->sent_bytes);
    set_count(event, "generations", sum->generations);
    set_count(event, "died", sum->died);
    set_count(event, "died_batches", sum->died_batches);
    set_real(event, "died_core_hours", (double)sum->died_ns / 3.6e12);
    set_count(event, "left", sum->left);
    set_count(event, "left_batches", sum->left_batches);
    set_real(event, "left_core_hours", (double)sum->left_ns / 3.6e12);
    set_count(event, "failed", sum->failed);
    set_count(event, "failed_batches", sum->failed_batches);
    set_count(event, "partials", sum->partials);
    set_count(event, "lost_updates", sum->lost_updates);
    return event;
}

/* --- as text -------------------------------------------------------------- */

/* Prints a time: "12.3 core hours", "41 core seconds". */
static void
print_time(double hours, const char *what, FILE *file)
{
    if (hours >= 1)
        (void)skn_text_print(file, "%.1f %s hours", hours, what);
    else
        (void)skn_text_print(file, "%.0f %s seconds", hours * 3600, what);
}

static void
print_lost(const json_t *event, const char *who, const char *batches,
           const char *hours, const char *how, FILE *file)
{
    (void)skn_text_print(file, "%.0f %s, %.0f batches (",
                         skn_json_number(event, who), how,
                         skn_json_number(event, batches));
    print_time(skn_json_number(event, hours), "core", file);
    (void)fputs(")", file);
}

void
cli_harvest_report_print(const json_t *event, FILE *file)
{
    (void)fputs("time   ", file);
    print_time(skn_json_number(event, "core_hours"), "core", file);
    (void)fputs(" of members (", file);
    print_time(skn_json_number(event, "cpu_hours"), "CPU", file);
    (void)skn_text_print(file,
                         "): %.1f%% useful, %.1f%% redone, "
                         "%.1f%% waiting\n",
                         100 * skn_json_number(event, "useful"),
                         100 * skn_json_number(event, "redone"),
                         100 * skn_json_number(event, "waiting"));
    (void)fputs("lost   to ", file);
    print_lost(event, "died", "died_batches", "died_core_hours",
               "deaths without notice", file);
    (void)fputs("; to ", file);
    print_lost(event, "left", "left_batches", "left_core_hours",
               "departures with notice", file);
    (void)skn_text_print(file,
                         "\nwork   %.0f batches, %.0f more redone, in %.0f "
                         "generations; %.1f MB between nodes\n",
                         skn_json_number(event, "batches"),
                         skn_json_number(event, "redone_batches"),
                         skn_json_number(event, "generations"),
                         skn_json_number(event, "bytes_sent") * 1e-6);
    if (skn_json_number(event, "partials") > 0)
        (void)skn_text_print(
            file,
            "partial survivors kept their state %.0f times; %.0f updates of "
            "blocks were lost\n",
            skn_json_number(event, "partials"),
            skn_json_number(event, "lost_updates"));
}

void
cli_harvest_report_put(const skn_harvest_sum_t *sum, bool json)
{
    json_t *event = cli_harvest_report_event(sum);
    if (json) {
        cli_event_put(event);
        return;
    }
    if (event)
        cli_harvest_report_print(event, stdout);
    (void)fflush(stdout);
    json_decref(event);
}
