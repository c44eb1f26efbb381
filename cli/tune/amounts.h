/* amounts.h - reads times and shares of the command line of `skein tune`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TUNE_AMOUNTS_H
#define CLI_TUNE_AMOUNTS_H

#include <stdbool.h>

/* Reads "90", "90s", "10m" or "1.5h". False: the text is not a time. */
bool cli_read_time(const char *text, double *seconds);
/* Reads "1/3" or "0.33": between 0 and 1. */
bool cli_read_share(const char *text, double *share);

#endif
