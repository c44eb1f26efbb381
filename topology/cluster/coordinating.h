/* coordinating.h - the coordinator of a run: decides which members train in it.
 *
 *     skn_coordinating_t *coordinator =
 *         skn_coordinating_open(model, name, &options, &error);
 *     while (skn_coordinating_leads(coordinator)) {
 *         skn_coordinating_wait(coordinator, polled, polled_count);
 *         if (asked_to_stop)
 *             skn_coordinating_stop(coordinator);
 *         skn_coordinating_turn(coordinator);
 *     }
 *     status = skn_coordinating_finish(coordinator, &error);
 *     skn_coordinating_close(&coordinator);
 *
 * It supplies the socket, the clock and the journal to
 * topology/elastic/membership.h. It writes to no stream, starts no process and
 * handles no signal: all that it has to say is an event, given to `tell`. One
 * thread owns it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_COORDINATING_H
#define TOPOLOGY_CLUSTER_COORDINATING_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/error.h"
#include "topology/model/model.h"

typedef struct skn_coordinating skn_coordinating_t;

typedef struct skn_coordinating_options {
    uint32_t wait_s; /* for all listed nodes to connect at the start; 0: 15 */
    bool progress;   /* events `nodes`, twice a second */
    /* Gets each event, one line of JSON without its newline, which is valid
     * during the call (docs/reference/events.md). */
    void (*tell)(void *job, const char *line);
    void *job;
} skn_coordinating_options_t;

/* Listens at the coordinator's address of `model`, and opens the journal in its
 * checkpoint.path. `model` must outlive it; `name` is that of its file, in
 * messages. NULL: SKN_USAGE (no address, or no checkpoint.path), SKN_BUSY
 * (another coordinator has the journal), failures of the journal, or as
 * skn_control_listen. */
skn_coordinating_t *skn_coordinating_open(
    const skn_model_t *model, const char *name,
    const skn_coordinating_options_t *options, skn_error_t *error);
/* Sets *coordinator to NULL, which it may be already. */
void skn_coordinating_close(skn_coordinating_t **coordinator);

/* Tells an event `error`, or with the code 0 a `warning`. */
void skn_coordinating_complain(const skn_coordinating_options_t *options,
                               int code, const char *message, const char *hint);

/* Whether the journal says that the run was done before: there is nothing to
 * coordinate, as a warning has said, and no function but skn_coordinating_close
 * may be called. */
bool skn_coordinating_is_done(const skn_coordinating_t *coordinator);

/* Whether there is more to do. False when the run is over and the members have
 * had time to learn that, or the journal cannot be written. */
bool skn_coordinating_leads(const skn_coordinating_t *coordinator);
/* Waits for messages of members, a descriptor of `polled` (as poll() does) or
 * 0.1 s, and takes the messages. */
void skn_coordinating_wait(skn_coordinating_t *coordinator,
                           struct pollfd *polled, size_t polled_count);
/* Asks for the end of the run: its members save and end. */
void skn_coordinating_stop(skn_coordinating_t *coordinator);
/* Does what is due by now. */
void skn_coordinating_turn(skn_coordinating_t *coordinator);

/* Tells how the run has ended, with a last event `harvest`, if it has; the
 * journal then has its end, too. Returns the failure that ended it. */
skn_status_t skn_coordinating_finish(skn_coordinating_t *coordinator,
                                     skn_error_t *error);
/* Whether the run is over, and whether it was stopped before it was done. */
bool skn_coordinating_is_over(const skn_coordinating_t *coordinator);
bool skn_coordinating_was_stopped(const skn_coordinating_t *coordinator);

#endif
