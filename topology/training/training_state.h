/* training_state.h - what a host can ask of a training: its phase, its run, the
 * settings of its config, its last report. Set by the training's thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_TRAINING_STATE_H
#define TOPOLOGY_TRAINING_TRAINING_STATE_H

#include "topology/training/training_internal.h"

/* `idle` of a config, whose texts are the model's. */
static inline skn_training_idle_t
skn_training_idle_of(const skn_model_t *model)
{
    const skn_model_idle_t *idle = &model->idle;
    return (skn_training_idle_t){ .enabled = idle->enabled,
                                  .reserve_cores = idle->reserve_cores,
                                  .share = idle->share,
                                  .memory = idle->memory,
                                  .grace_s = idle->grace_s,
                                  .notice_every_s = idle->notice.every_s,
                                  .notice_file = idle->notice.file,
                                  .notice_command = idle->notice.command };
}

/* Each of them wakes the host. */
void skn_training_set_phase(skn_training_t *training,
                            skn_training_phase_t phase);
/* The config is read. Only the first call counts: the networks of an ensemble
 * share the settings. */
void skn_training_set_config(skn_training_t *training,
                             const skn_model_t *model);
/* The folder and the id of the whole run are known. */
void skn_training_set_run(skn_training_t *training);
/* Network `network` of `count`, counted from 1, is planned next. */
void skn_training_set_network(skn_training_t *training, uint32_t network,
                              uint32_t count);
/* The training has ended. */
void skn_training_set_over(skn_training_t *training);
/* Takes over `table`, from malloc. */
void skn_training_set_report(skn_training_t *training, char *table);

#endif
