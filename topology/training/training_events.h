/* training_events.h - the events that a training sends itself, beside those of
 * its actors: JSON lines for the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_TRAINING_EVENTS_H
#define TOPOLOGY_TRAINING_TRAINING_EVENTS_H

#include "topology/training/training_internal.h"

/* Sends the event, unless memory was short, and empties it. */
void skn_training_send(skn_training_t *training, skn_json_text_t *event);

/* Sends `warning`. The second one is a skn_shortfall_tell_t for a training. */
void skn_training_warn(skn_training_t *training, const char *message,
                       const char *hint);
void skn_training_warn_at(const void *training, const skn_model_place_t *place,
                          const char *message, const char *hint);

/* Send `error`, and keep it as the failure of the training unless there is one:
 * for a failure, and for each problem of a config. Return its status. */
skn_status_t skn_training_fail(skn_training_t *training,
                               const skn_error_t *error);
skn_status_t skn_training_refuse(skn_training_t *training,
                                 const skn_problems_t *problems);

/* Send `start`; `auto`, the choices for several networks; `resume`. */
void skn_training_send_start(skn_training_t *training,
                             skn_network_run_t *network);
void skn_training_send_auto(skn_training_t *training, skn_model_run_t *run);
void skn_training_send_resume(skn_training_t *training,
                              const skn_network_run_t *network);
/* Sends `stopped`: nothing was trained, or all that was is saved in `path`. */
void skn_training_send_unbegun(skn_training_t *training);
void skn_training_send_stopped(skn_training_t *training, const char *path);

#endif
