/* kind_check.h - checks the table of a kind against the rules of skein/actor.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_KIND_CHECK_H
#define ACTORS_RUNTIME_KIND_CHECK_H

#include "skein/actor.h"

/* SKN_BAD_CONFIG, naming the kind and the entry, for a table with which an
 * actor would fail or crash later: a handler without a function, a fifth timer,
 * a message whose own table is wrong. `kind` has a name. */
skn_status_t skn_kind_check(const skn_kind_t *kind, skn_error_t *error);

#endif
