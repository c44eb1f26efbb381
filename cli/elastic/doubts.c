/* doubts.c - counts failures per checkpoint; two disqualify it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/doubts.h"

#include <stdio.h>
#include <string.h>

bool
cli_doubts_add(cli_doubts_t *doubts, const char *seal, uint64_t generation,
               skn_status_t status)
{
    if ((status != SKN_BAD_DATA && status != SKN_NO_INPUT) || !seal[0] ||
        doubts->count == CLI_DOUBTS_MAX)
        return false;
    if (strcmp(doubts->suspect, seal) != 0) {
        (void)snprintf(doubts->suspect, sizeof(doubts->suspect), "%s", seal);
        doubts->suspect_in = generation;
        return false;
    }
    if (doubts->suspect_in == generation)
        return false; /* the same failure, reported by another member */
    memcpy(doubts->seal[doubts->count++], doubts->suspect,
           sizeof(doubts->suspect));
    doubts->suspect[0] = '\0';
    return true;
}
