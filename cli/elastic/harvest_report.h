/* harvest_report.h - prints the account of members' time as text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_HARVEST_REPORT_H
#define CLI_ELASTIC_HARVEST_REPORT_H

#include <jansson.h>
#include <stdio.h>

/* Prints the event `harvest` as three lines. */
void cli_harvest_report_print(const json_t *event, FILE *file);

#endif
