/* verb_actors.c - skein actors: lists the kinds of actors and their options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/verbs.h"
#include "topology/model/kinds_reference.h"

static int
unknown_kind(const cli_call_t *call, const char *name, const char *nearest)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_USAGE, "unknown actor kind '%s'", name);
    if (nearest)
        (void)skn_fail_hint(&error, SKN_USAGE, "did you mean '%s'?", nearest);
    else
        (void)skn_fail_hint(&error, SKN_USAGE, "skein actors lists them");
    return cli_report(call, &error);
}

static int
actors_run(const cli_call_t *call)
{
    const skn_kind_t *const *kinds = skn_kinds_list();
    const char *nearest = NULL;
    bool all = call->operand_count == 0;
    for (size_t k = 0; all && kinds[k]; k++) {
        if (call->json)
            skn_kind_print_json(kinds[k], stdout);
        else
            (void)printf("%-14s %s\n", kinds[k]->name, kinds[k]->help);
    }
    for (size_t k = 0; k < call->operand_count; k++) {
        const skn_kind_t *kind = skn_kinds_find(call->operands[k], &nearest);
        if (!kind)
            return unknown_kind(call, call->operands[k], nearest);
        if (call->json)
            skn_kind_print_json(kind, stdout);
        else
            skn_kind_print(kind, true, stdout);
    }
    return 0;
}

static const cli_option_t options[] = {
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_actors = {
    .name = "actors",
    .help = "list the kinds of actors, or describe one",
    .operands = "[KIND...]",
    .operands_min = 0,
    .operands_max = CLI_VALUES_MAX,
    .options = options,
    .description =
        "Without KIND: one line per kind. With it: its options with type,\n"
        "range and default, and the messages that it handles and sends, with\n"
        "their fields.",
    .run = actors_run,
};
