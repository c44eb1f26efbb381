/* bad_checkpoints.c - counts failures per checkpoint; two disqualify it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/bad_checkpoints.h"

#include <stdio.h>
#include <string.h>

bool
skn_bad_checkpoints_add(skn_bad_checkpoints_t *bad_checkpoints,
                        const char *seal, uint64_t generation,
                        skn_status_t status)
{
    if ((status != SKN_BAD_DATA && status != SKN_NO_INPUT) || !seal[0] ||
        bad_checkpoints->count == SKN_BAD_CHECKPOINTS_MAX)
        return false;
    if (strcmp(bad_checkpoints->suspect, seal) != 0) {
        (void)snprintf(bad_checkpoints->suspect,
                       sizeof(bad_checkpoints->suspect), "%s", seal);
        bad_checkpoints->suspect_in = generation;
        return false;
    }
    if (bad_checkpoints->suspect_in == generation)
        return false; /* the same failure, reported by another member */
    memcpy(bad_checkpoints->seal[bad_checkpoints->count++],
           bad_checkpoints->suspect, sizeof(bad_checkpoints->suspect));
    bad_checkpoints->suspect[0] = '\0';
    return true;
}
