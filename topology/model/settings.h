/* settings.h - what all machines of a run must have alike, as a text.
 *
 * A line for each key that changes what is trained, or when a checkpoint is
 * written: "train.epochs 20", named as for overrides, in the order of
 * model_tables.c. Paths, nodes, resources and `idle:` are each machine's own.
 * What data files hold is not in it: workers compare that.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_SETTINGS_H
#define TOPOLOGY_MODEL_SETTINGS_H

#include <stddef.h>

#include "skein/error.h"
#include "topology/model/model.h"

/* 64 layers with names of 64 letters: 35 KiB. */
#define SKN_SETTINGS_BYTES_MAX 65536u

/* The text of a model that was read and not resolved (`auto` stays a word);
 * freed by free(). NULL: SKN_NO_MEMORY. */
char *skn_settings_text(const skn_model_t *model, skn_error_t *error);

/* Compares those of `run`, which are our own, with `theirs`, which may be
 * anything, of the node `name`. SKN_BAD_CONFIG names the first key that
 * differs, both values and what to do; SKN_BAD_MESSAGE: it is no such text. A
 * key that only one of them has is of another version, and passed over. */
skn_status_t skn_settings_compare(const char *run, const char *theirs,
                                  const char *name, skn_error_t *error);

#endif
