/* combinations.c - the table of options that need or exclude each other.
 *
 * No option is silently ignored: an option that a mode of a verb would not use
 * is refused here, before the verb runs. If that depends on the model file,
 * too, the verb itself refuses it.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/combinations.h"

#include <string.h>

typedef enum bond {
    NEEDS,   /* `option` has no effect without `other` */
    EXCLUDES /* `option` has no effect with `other` */
} bond_t;

typedef struct combination {
    const char *verb, *option;
    bond_t bond;
    const char *other;
    const char *hint; /* what to do */
} combination_t;

#define NO_TRAINING "nothing is trained with --predict: leave one of them out"
#define OWN_MACHINE                                                            \
    "--local-nodes are processes of this machine: leave one of them out"
#define INDEX_TOO "give --index, too"

/* clang-format off */
static const combination_t combinations[] = {
    { "coordinator", "progress", NEEDS, "json", "give --json, too" },
    { "eval", "index", EXCLUDES, "data", "a decoder has no index" },
    { "eval", "lists", NEEDS, "index", INDEX_TOO },
    { "eval", "override", EXCLUDES, "data",
      "a text is scored as it is: leave one of them out" },
    { "eval", "probes", NEEDS, "index", INDEX_TOO },
    { "eval", "test", EXCLUDES, "data",
      "a text is scored as it is: leave one of them out" },
    { "graph", "svg", EXCLUDES, "text", "give one of them" },
    { "node", "from", EXCLUDES, "predict", NO_TRAINING },
    { "node", "generation", EXCLUDES, "predict", NO_TRAINING },
    { "node", "resume", EXCLUDES, "predict", NO_TRAINING },
    { "node", "top", NEEDS, "predict", "give --predict DATA, too" },
    { "predict", "lists", NEEDS, "index", INDEX_TOO },
    { "predict", "probes", NEEDS, "index", INDEX_TOO },
    { "up", "elastic", NEEDS, "local-nodes",
      "a run on several machines is elastic where the file has "
      "`coordinator:`" },
    { "up", "notes", EXCLUDES, "json", "give one of them" },
    { "up", "notes", EXCLUDES, "plain", "give one of them" },
    { "up", "notes", EXCLUDES, "predict", NO_TRAINING },
    { "up", "plain", EXCLUDES, "predict", NO_TRAINING },
    { "up", "remote-program", EXCLUDES, "local-nodes", OWN_MACHINE },
    { "up", "resume", EXCLUDES, "predict", NO_TRAINING },
    { "up", "ssh", EXCLUDES, "local-nodes", OWN_MACHINE },
    { "up", "top", NEEDS, "predict", "give --predict DATA, too" },
};
/* clang-format on */

skn_status_t
cli_combinations_check(const cli_call_t *call, skn_error_t *error)
{
    size_t count = sizeof(combinations) / sizeof(combinations[0]);
    for (size_t k = 0; k < count; k++) {
        const combination_t *row = &combinations[k];
        char option[CLI_WRITTEN_BYTES], other[CLI_WRITTEN_BYTES];
        if (strcmp(call->verb->name, row->verb) != 0 ||
            !cli_flag(call, row->option) ||
            cli_flag(call, row->other) == (row->bond == NEEDS))
            continue;
        (void)skn_fail(error, SKN_USAGE,
                       row->bond == NEEDS ? "%s has no effect without %s"
                                          : "%s has no effect with %s",
                       cli_written(call, row->option, option),
                       cli_written(call, row->other, other));
        return skn_fail_hint(error, SKN_USAGE, "%s", row->hint);
    }
    return SKN_OK;
}
