/* harvest_json.h - writes the account of members' time as JSON, and reads it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_HARVEST_JSON_H
#define TOPOLOGY_CLUSTER_HARVEST_JSON_H

#include "formats/text/json_text.h"
#include "topology/elastic/harvest.h"

/* Makes an object of all counts by name, for the journal. NULL if memory is
 * short. */
json_t *skn_harvest_json(const skn_harvest_sum_t *sum);
/* Reads that; counts that are missing or malformed leave *sum unchanged. */
void skn_harvest_json_read(const json_t *counts, skn_harvest_sum_t *sum);

/* Makes the event `harvest`; docs/reference/events.md. */
json_t *skn_harvest_json_event(const skn_harvest_sum_t *sum);

#endif
