/* harvested.h - what a run made of its members' time: in the journal, as an
 * event, in words.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_HARVESTED_H
#define CLI_ELASTIC_HARVESTED_H

#include <jansson.h>
#include <stdio.h>

#include "topology/elastic/harvest.h"

/* For the journal: all counts by their names. NULL: no memory. */
json_t *cli_harvested_json(const skn_harvest_sum_t *sum);
/* Reads that; what is missing or no such thing leaves *sum as it is. */
void cli_harvested_read(const json_t *counts, skn_harvest_sum_t *sum);

/* The event `harvest`; docs/events.md. */
json_t *cli_harvested_event(const skn_harvest_sum_t *sum);
/* The event in three lines. */
void cli_harvested_print(const json_t *event, FILE *file);
/* Either of them, on standard output. */
void cli_harvested_tell(const skn_harvest_sum_t *sum, bool json);

#endif
