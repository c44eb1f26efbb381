/* index.c - builds the index of the labels that the command line requests.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/index.h"

skn_status_t
cli_index(const cli_call_t *call, skn_predictor_t *predictor,
          skn_error_t *error)
{
    uint32_t lists = 0, probes = 0;
    skn_status_t status = cli_count(call, "lists", SKN_UNIT_MAX, &lists, error);
    if (status == SKN_OK)
        status = cli_count(call, "probes", SKN_UNIT_MAX, &probes, error);
    if (status != SKN_OK)
        return status;
    return cli_flag(call, "index")
               ? skn_predictor_index(predictor, lists, probes, error)
               : SKN_OK;
}
