/* kind_check.h - checks the table of a kind against the rules of skein/actor.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_KINDS_KIND_CHECK_H
#define ACTORS_KINDS_KIND_CHECK_H

#include "skein/actor.h"

/* SKN_USAGE unless the kind, called `what` in the sentence, was compiled with
 * the struct of this library. To be called before any other member is read. */
skn_status_t skn_kind_check_size(const skn_kind_t *kind, const char *what,
                                 skn_error_t *error);

/* SKN_BAD_CONFIG, naming the kind and the entry, for a table with which an
 * actor would fail or crash later: a handler without a function, a fifth timer,
 * a message whose own table is wrong. `kind` has a name. */
skn_status_t skn_kind_check(const skn_kind_t *kind, skn_error_t *error);

#endif
