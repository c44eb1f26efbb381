/* harvest_report.c - prints the account of members' time as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/harvest_report.h"

#include "formats/text/json_text.h"

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
