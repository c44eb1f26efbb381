/* check.h - checks any configuration file: tells a model from a topology file
 * and lists its problems.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_CHECK_H
#define TOPOLOGY_RUN_CHECK_H

#include "topology/model/model.h"
#include "topology/spec/spec.h"

/* A file without problems: one of the two is set. { 0 } is empty. */
typedef struct skn_checked {
    skn_model_t *model; /* a model file */
    skn_spec_t *spec;   /* a topology file: it has the key `topology` */
} skn_checked_t;

/* Reads the file at `path` ("-": standard input) with the overrides laid over
 * it, recognises its sort by its keys, and checks it with the built-in kinds.
 * Otherwise the faults of the file are in `problems`, and other failures in
 * `error`. Freed by skn_checked_fini. */
skn_status_t skn_check_file(const char *path, const char *const *overrides,
                            size_t override_count, skn_checked_t *checked,
                            skn_problems_t *problems, skn_error_t *error);
void skn_checked_fini(skn_checked_t *checked);

#endif
