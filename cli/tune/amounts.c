/* amounts.c - reads times and shares of the command line of `skein tune`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/tune/amounts.h"

#include <string.h>

#include "cli/base/verb.h"

/* Thirty years: in nanoseconds, a sum of two is still below 2^64. */
#define TIME_MAX_S 9.5e8

bool
cli_read_time(const char *text, double *seconds)
{
    static const char units[] = "smh";
    size_t bytes = strlen(text);
    const char *unit = bytes > 0 ? strchr(units, text[bytes - 1]) : NULL;
    double value = 0;
    if (!cli_read_real(text, unit ? bytes - 1 : bytes, &value))
        return false;
    for (; unit && unit > units; unit--)
        value *= 60;
    *seconds = value;
    return value > 0 && value <= TIME_MAX_S;
}

bool
cli_read_share(const char *text, double *share)
{
    size_t above = strcspn(text, "/");
    const char *rest = text + above;
    double value = 0, below = 1;
    if (!cli_read_real(text, above, &value) ||
        (*rest && !cli_read_real(rest + 1, strlen(rest + 1), &below)))
        return false;
    *share = value / below;
    return *share > 0 && *share < 1;
}
