/* check.c - skein check: is this file good, and what is it?
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/verbs.h"
#include "topology/check.h"

static void
say_model(const cli_call_t *call, const char *path, const skn_model_t *model)
{
    if (call->json) {
        (void)fputs("{\"event\":\"ok\",\"file\":", stdout);
        cli_json_string(path, stdout);
        (void)fputs(",\"sort\":\"model\",\"name\":", stdout);
        cli_json_string(model->name, stdout);
        (void)printf(",\"layers\":%zu}\n", model->layer_count);
    } else {
        (void)printf("ok: %s is a model of %zu layers\n", path,
                     model->layer_count);
    }
}

static void
say_topology(const cli_call_t *call, const char *path,
             const skn_wiring_t *wiring)
{
    if (call->json) {
        (void)fputs("{\"event\":\"ok\",\"file\":", stdout);
        cli_json_string(path, stdout);
        (void)fputs(",\"sort\":\"topology\",\"name\":", stdout);
        cli_json_string(wiring->name, stdout);
        (void)printf(",\"actors\":%u,\"pipes\":%u}\n", wiring->actor_count,
                     wiring->pipe_count);
    } else {
        (void)printf("ok: %s is a topology of %u actors and %u pipes\n", path,
                     wiring->actor_count, wiring->pipe_count);
    }
}

/* The file is good; what it names may still have to be made. */
static void
look_for(const cli_call_t *call, const char *key, const char *path)
{
    char text[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_HINT_BYTES];
    if (!path[0] || access(path, R_OK) == 0)
        return;
    (void)snprintf(text, sizeof(text), "%s: %.400s cannot be read now", key,
                   path);
    (void)snprintf(hint, sizeof(hint), "give -o %s=PATH", key);
    cli_warn(call, text, hint);
}

static int
check_run(const cli_call_t *call)
{
    const char *path = call->operands[0];
    const char *overrides[CLI_VALUES_MAX];
    size_t override_count = cli_overrides(call, overrides);
    skn_error_t error = { 0 };
    skn_checked_t checked = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    int code = 0;
    if (!problems)
        return cli_report(call, &error);
    skn_status_t status = skn_check_file(path, overrides, override_count,
                                         &checked, problems, &error);
    if (skn_problems_count(problems) > 0) {
        code = cli_report_problems(call, problems);
    } else if (status != SKN_OK) {
        code = cli_report(call, &error);
    } else if (checked.spec) {
        say_topology(call, path, skn_spec_wiring(checked.spec));
    } else {
        say_model(call, path, checked.model);
        look_for(call, "data.train", checked.model->data.train);
        look_for(call, "data.test", checked.model->data.test);
    }
    skn_checked_fini(&checked);
    skn_problems_destroy(&problems);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_check = {
    .name = "check",
    .help = "look for mistakes in a model or topology file",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Reads the file, and starts nothing. All mistakes are told in one\n"
        "pass, with their place; then the exit code is 78. Data files are\n"
        "not opened.",
    .run = check_run,
};
