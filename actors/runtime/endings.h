/* endings.h - in which order the pipes of a topology end.
 *
 * An actor ends its pipes when all its work has ended. Its answers have not:
 * those who answer wait for the same end.
 *
 *     asker ──question──▶ helper         early: helper ends by it, and
 *       │  ◀───answer──────┘ (peer)        the answers end behind
 *       └──────result──▶ sink            late: when the answers have ended
 *
 * So a pipe ends late, and may be sent on by the handler of an answer to the
 * last, if the end of its sender's answers does not wait for it. Where it does,
 * it ends early. Pure bookkeeping over a wiring.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_ENDINGS_H
#define ACTORS_RUNTIME_ENDINGS_H

#include "actors/runtime/wiring.h"

/* Fills late[pipe_count]: whether the pipe ends after the answers to its
 * senders. Where two pipes would have to wait for each other, neither does, so
 * the order of the pipes makes no difference. A pipe without answers to its
 * senders ends early, and so do those of gates, which end by their own word.
 * SKN_NO_MEMORY. */
skn_status_t skn_endings_find(const skn_wiring_t *wiring, bool *late,
                              skn_error_t *error);

#endif
