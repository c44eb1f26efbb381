/* run_config.h - reads the config of a run folder in order to continue the run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_RUN_CONFIG_H
#define TOPOLOGY_RUN_RUN_CONFIG_H

#include "topology/config/document.h"
#include "topology/model/model.h"

/* An ensemble keeps its config in this file of its folder until its networks
 * are joined and run.json has the config of the whole. */
#define SKN_RUN_CONFIG_ENSEMBLE "ensemble.yaml"

/* Whether `path` is a folder of a run or a checkpoint, or of nothing that is
 * known: one of data files is not. */
bool skn_run_config_is_folder(const char *path);
/* The text of run.json's config as a document, without the keys of options that
 * are gone: a run that was begun with one can still be used. NULL when it adds
 * a problem. */
skn_document_t *skn_run_config_parse(const char *config,
                                     skn_problems_t *problems);
/* The model of the run in `folder`, with checkpoint.path there and `overrides`
 * on top. As skn_model_read; SKN_NO_INPUT: there is no run. */
skn_status_t skn_run_config_read(const char *folder,
                                 const char *const *overrides,
                                 size_t override_count, skn_model_t **model,
                                 struct skn_problems *problems,
                                 skn_error_t *error);
/* Whether the folder has that file: its networks are in their own folders. */
bool skn_run_config_is_whole(const char *folder);
/* Stores `model`, whose paths are absolute, in the folder of an ensemble, which
 * is made; a run that is resumed (`is_resume`) leaves the stored config as it
 * is. */
skn_status_t skn_run_config_keep(const char *folder, const skn_model_t *model,
                                 bool is_resume, skn_error_t *error);

#endif
