/* settings.h - the settings that all machines of a run must share, as text.
 *
 * A line for each key that changes what is trained, or when a checkpoint is
 * written: "train.epochs 20", named as for overrides, in the order of
 * model_tables.c. Paths, nodes, resources and `idle:` are each machine's own.
 * The content of data files is not included: workers compare it themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_SETTINGS_H
#define TOPOLOGY_MODEL_SETTINGS_H

#include <stddef.h>

#include "skein/error.h"
#include "topology/model/model.h"

/* 64 layers with names of 64 letters: 35 KiB. */
#define SKN_SETTINGS_BYTES_MAX 65536u

/* Returns the settings of a model that was read and not resolved (`auto` stays
 * a word); the caller frees the text with free(). NULL: SKN_NO_MEMORY. */
char *skn_settings_text(const skn_model_t *model, skn_error_t *error);

/* Compares our own settings `run` with `theirs`, any text that the node `name`
 * sent. SKN_BAD_CONFIG names the first key that differs, both values and what
 * to do; SKN_BAD_MESSAGE: `theirs` is not such a text. A key that only one of
 * them has belongs to another version and is skipped. */
skn_status_t skn_settings_compare(const char *run, const char *theirs,
                                  const char *name, skn_error_t *error);

#endif
