/* verbs.h - lists all verbs, and declares their tables.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_VERBS_H
#define CLI_BASE_VERBS_H

#include "cli/base/verb.h"

/* clang-format off */
/* V(name) of every verb, in the order of the help text: cli_train, ... */
#define CLI_VERBS(V)                                                           \
    V(train) V(tune) V(up) V(node) V(coordinator) V(member) V(torture) V(run)  \
    V(check) V(plan) V(graph) V(eval) V(predict) V(generate) V(export) V(join) \
    V(convert) V(new)                                                          \
    V(inspect) V(actors) V(doctor) V(keygen) V(bench) V(recipe) V(reference)   \
    V(schema) V(man) V(completion) V(version)
/* clang-format on */

#define CLI_VERB_DECLARE(name) extern const cli_verb_t cli_##name;
CLI_VERBS(CLI_VERB_DECLARE)

#endif
