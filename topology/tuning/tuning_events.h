/* tuning_events.h - the events and the state that a tuning shows its host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TUNING_TUNING_EVENTS_H
#define TOPOLOGY_TUNING_TUNING_EVENTS_H

#include "topology/tuning/tuning_internal.h"

/* Writes in what a candidate differs from auto. Returns `text`. */
const char *skn_tuning_differs(const skn_tuning_t *tuning, uint32_t candidate,
                               char text[SKN_DIFFERS_BYTES]);

/* Sends `warning`; a skn_shortfall_tell_t for a tuning. */
void skn_tuning_warn_at(const void *tuning, const skn_model_place_t *place,
                        const char *message, const char *hint);
/* Sends `error`, one for each problem of the config if it has any, and keeps
 * the failure of the tuning. */
void skn_tuning_fail(skn_tuning_t *tuning, const skn_error_t *error);

/* Sends `tune`, and the notes on the data as warnings. */
void skn_tuning_send_begin(skn_tuning_t *tuning);
/* Sends `forecast`: the time of all trials. */
void skn_tuning_send_forecast(skn_tuning_t *tuning, double seconds);
/* Sends `trial`, with `why` if it has failed. */
void skn_tuning_send_trial(skn_tuning_t *tuning, uint32_t round,
                           uint32_t candidate, const char *why);
/* Sends `tuned`, with the sentence `said`. */
void skn_tuning_send_result(skn_tuning_t *tuning,
                            const skn_tuned_result_t *result, const char *said);
/* Sends `stopped`. */
void skn_tuning_send_stopped(skn_tuning_t *tuning);

/* Set what skn_tuning_info reports: the config is read; a trial begins, counted
 * from 0; the tuning has ended. They wake the host. */
void skn_tuning_set_config(skn_tuning_t *tuning);
void skn_tuning_set_trial(skn_tuning_t *tuning, uint32_t round,
                          uint32_t candidate);
void skn_tuning_set_over(skn_tuning_t *tuning);

#endif
