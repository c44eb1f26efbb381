/* check.h - any configuration file: which sort it is, and what is wrong.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_CHECK_H
#define TOPOLOGY_RUN_CHECK_H

#include "topology/model/model.h"
#include "topology/spec/spec.h"

/* A file that was found to be good: one of the two is set. { 0 } is empty. */
typedef struct skn_checked {
    skn_model_t *model; /* a model file */
    skn_spec_t *spec;   /* a topology file: it has the key `topology` */
} skn_checked_t;

/* Reads the file at `path` ("-": standard input) with the overrides laid over
 * it, tells by its keys which sort it is, and checks it with the built-in
 * kinds. Otherwise what is wrong is in `problems`, and what is no fault of the
 * file in `error`. Freed by skn_checked_fini. */
skn_status_t skn_check_file(const char *path, const char *const *overrides,
                            size_t override_count, skn_checked_t *checked,
                            skn_problems_t *problems, skn_error_t *error);
void skn_checked_fini(skn_checked_t *checked);

#endif
