/* run_config.h - the config that a run folder has, to go on with the run there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_RUN_CONFIG_H
#define TOPOLOGY_RUN_RUN_CONFIG_H

#include "topology/model/model.h"

/* Until its networks are joined, and run.json has the config of the whole, an
 * ensemble keeps it in a file of its folder. */
#define SKN_RUN_CONFIG_ENSEMBLE "ensemble.yaml"

/* The model of the run in `folder`, with checkpoint.path there and `overrides`
 * on top. As skn_model_read; SKN_NO_INPUT: there is no run. */
skn_status_t skn_run_config_read(const char *folder,
                                 const char *const *overrides,
                                 size_t override_count, skn_model_t **model,
                                 struct skn_problems *problems,
                                 skn_error_t *error);
/* Keeps `model`, whose paths hold from anywhere, in the folder of an ensemble,
 * which is made; a run that `resumes` leaves what is there. */
skn_status_t skn_run_config_keep(const char *folder, const skn_model_t *model,
                                 bool resumes, skn_error_t *error);

#endif
