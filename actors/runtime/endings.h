/* endings.h - the order in which the pipes of a topology end.
 *
 * An actor ends its pipes when all its work has ended. At that time its answers
 * have not ended, because the actors that answer wait for the same end.
 *
 *     asker ──question──▶ helper         early: this ends the helper, and
 *       │  ◀───answer──────┘ (peer)        the answers end afterwards
 *       └──────result──▶ sink            late: when the answers have ended
 *
 * So a pipe ends late if the end of its sender's answers does not depend on it;
 * the handlers of answers may then send on it to the last. Otherwise it ends
 * early. Pure computation on a wiring.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_ENDINGS_H
#define ACTORS_RUNTIME_ENDINGS_H

#include "actors/runtime/wiring.h"

/* Sets late[pipe_count]: whether the pipe ends after the answers to its
 * senders. If two pipes would have to wait for each other, neither ends late,
 * so the order of the pipes makes no difference. A pipe without answers to its
 * senders ends early, and so does a pipe of a gate, which decides its own end.
 * SKN_NO_MEMORY. */
skn_status_t skn_endings_find(const skn_wiring_t *wiring, bool *late,
                              skn_error_t *error);

#endif
