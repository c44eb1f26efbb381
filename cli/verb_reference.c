/* verb_reference.c - skein reference, skein schema: print a model's keys.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/base/verbs.h"
#include "skein/config.h"

static int
print(const cli_call_t *call, skn_reference_t reference)
{
    skn_error_t error = { 0 };
    return skn_reference_print(reference, NULL, stdout, &error) == SKN_OK
               ? 0
               : cli_report(call, &error);
}

static int
reference_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    const char *what = call->operand_count > 0 ? call->operands[0] : "config";
    if (strcmp(what, "messages") == 0)
        return print(call, SKN_REFERENCE_MESSAGES);
    if (strcmp(what, "config") == 0)
        return print(call, SKN_REFERENCE_CONFIG);
    (void)skn_fail(&error, SKN_USAGE, "unknown reference '%s'", what);
    (void)skn_fail_hint(&error, SKN_USAGE, "available: config, messages");
    return cli_report(call, &error);
}

static int
schema_run(const cli_call_t *call)
{
    return print(call, SKN_REFERENCE_SCHEMA);
}

static const cli_option_t options[] = {
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_reference = {
    .name = "reference",
    .help = "print the reference of model files, or of messages",
    .operands = "[config|messages]",
    .operands_min = 0,
    .operands_max = 1,
    .options = options,
    .description =
        "Prints Markdown from the tables that model files are checked with\n"
        "(config, the default), or that messages are encoded from.",
    .run = reference_run,
};

const cli_verb_t cli_schema = {
    .name = "schema",
    .help = "print the JSON Schema of model files, for editors",
    .operands = "",
    .operands_min = 0,
    .operands_max = 0,
    .options = options,
    .description =
        "An editor with a YAML language server completes and checks model\n"
        "files with it:\n"
        "    skein schema >skein.schema.json",
    .run = schema_run,
};
