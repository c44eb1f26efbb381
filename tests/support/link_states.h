/* link_states.h - names the state of a link in the sentences of tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_LINK_STATES_H
#define TESTS_SUPPORT_LINK_STATES_H

#include "transport/link/link.h"

static inline const char *
link_state_name(skn_link_state_t state)
{
    static const char *const names[] = { "new", "live", "suspect", "done",
                                         "dead" };
    return names[state];
}

#endif
