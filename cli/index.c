/* index.c - an index of the labels, as the command line wants it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/index.h"

#include <errno.h>
#include <stdlib.h>

static skn_status_t
read_count(const cli_call_t *call, const char *name, uint32_t *count,
           skn_error_t *error)
{
    const char *text = cli_value(call, name);
    char *end = NULL;
    if (!text)
        return SKN_OK;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
        number == 0 || number > SKN_UNIT_MAX)
        return skn_fail(error, SKN_USAGE,
                        "--%s must be a whole number above 0, found '%.40s'",
                        name, text);
    *count = (uint32_t)number;
    return SKN_OK;
}

skn_status_t
cli_index(const cli_call_t *call, skn_predictor_t *predictor,
          skn_error_t *error)
{
    uint32_t lists = 0, probes = 0;
    skn_status_t status = read_count(call, "lists", &lists, error);
    if (status == SKN_OK)
        status = read_count(call, "probes", &probes, error);
    if (status != SKN_OK)
        return status;
    if (cli_flag(call, "index"))
        return skn_predictor_index(predictor, lists, probes, error);
    if (lists == 0 && probes == 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_USAGE, "--lists and --probes are of an index");
    return skn_fail_hint(error, SKN_USAGE, "say --index too");
}
