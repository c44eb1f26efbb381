/* harvest_report.h - writes the account of members' time as JSON and as text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_HARVEST_REPORT_H
#define CLI_ELASTIC_HARVEST_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "topology/elastic/harvest.h"

/* Makes an object of all counts by name, for the journal. NULL if memory is
 * short. */
json_t *cli_harvest_report_json(const skn_harvest_sum_t *sum);
/* Reads that; counts that are missing or malformed leave *sum unchanged. */
void cli_harvest_report_read(const json_t *counts, skn_harvest_sum_t *sum);

/* Makes the event `harvest`; docs/reference/events.md. */
json_t *cli_harvest_report_event(const skn_harvest_sum_t *sum);
/* Prints the event as three lines. */
void cli_harvest_report_print(const json_t *event, FILE *file);
/* Prints the event or the lines on standard output. */
void cli_harvest_report_put(const skn_harvest_sum_t *sum, bool json);

#endif
