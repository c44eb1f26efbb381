/* verb_check.c - skein check: validates a model or topology file, and its data.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/auto_report.h"
#include "cli/base/verbs.h"
#include "topology/run/check.h"
#include "topology/run/model_run.h"
#include "topology/run/shortfall.h"

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

/* Warns of a path that does not exist: the file is valid, but the path may
 * still have to be created. */
static void
look_for(const cli_call_t *call, const char *key, const char *path)
{
    char text[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_HINT_BYTES];
    if (!path[0] || access(path, R_OK) == 0)
        return;
    (void)snprintf(text, sizeof(text), "%s: %.400s cannot be read", key, path);
    (void)snprintf(hint, sizeof(hint), "give -o %s=PATH", key);
    cli_warn(call, text, hint);
}

/* Warns of a run on several machines that has no folder: `skein up` chooses
 * one, but the file is valid for processes that cannot. */
static void
look_for_folder(const cli_call_t *call, const skn_model_t *model)
{
    if (model->coordinator.address[0] && !model->checkpoint.path[0])
        cli_warn(call,
                 "checkpoint.path is not set, which `skein coordinator` and "
                 "`skein member` need",
                 "give -o checkpoint.path=FOLDER");
}

static void
say_data(const cli_call_t *call, const skn_plan_data_t *data)
{
    (void)printf(
        call->json ? "{\"event\":\"data\",\"train_points\":%" PRIu64
                     ",\"validate_points\":%" PRIu64 ",\"test_points\":%" PRIu64
                     ",\"features\":%" PRIu32 ",\"labels\":%" PRIu32 "}\n"
                   : "data: %" PRIu64 " training points, %" PRIu64
                     " held back, %" PRIu64 " test points, %" PRIu32
                     " features, %" PRIu32 " labels\n",
        data->train_points, data->validate_points, data->test_points,
        data->features, data->labels);
}

/* Reads the data as a run would, and plans for it. If the training file is
 * refused, the test file is still checked, so that each error is reported. */
static int
read_data(const cli_call_t *call, skn_model_t *model)
{
    skn_error_t error = { 0 }, also = { 0 };
    skn_plan_t plan;
    uint32_t units = skn_unit_count(&error);
    if (units == 0)
        return cli_report(call, &error);
    if (skn_plan_make(&plan, model, units, &error) == SKN_OK) {
        say_data(call, &plan.data);
        cli_plan_notes(call, &plan);
        return 0;
    }
    int code = cli_report(call, &error);
    if (skn_plan_look(model, model->data.test, &also) != SKN_OK &&
        strcmp(also.text, error.text) != 0)
        (void)cli_report(call, &also);
    return code;
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
    bool with_data = cli_flag(call, "data");
    int code = 0;
    if (!problems)
        return cli_report(call, &error);
    skn_status_t status = skn_check_file(path, overrides, override_count,
                                         &checked, problems, &error);
    if (skn_problems_count(problems) > 0) {
        code = cli_report_problems(call, problems);
    } else if (status != SKN_OK) {
        code = cli_report(call, &error);
    } else if (checked.spec && with_data) {
        (void)skn_fail(&error, SKN_USAGE,
                       "--data is for model files, and %.300s is a topology",
                       path);
        code = cli_report(call, &error);
    } else if (checked.spec) {
        say_topology(call, path, skn_spec_wiring(checked.spec));
        skn_shortfall_spec(checked.spec, cli_warn_to, call);
    } else {
        say_model(call, path, checked.model);
        if (!with_data) {
            look_for(call, "data.train", checked.model->data.train);
            look_for(call, "data.test", checked.model->data.test);
        }
        look_for_folder(call, checked.model);
        skn_shortfall_model(checked.model, SKN_SHORTFALL_NOBODY, cli_warn_to,
                            call);
        if (with_data)
            code = read_data(call, checked.model);
    }
    skn_checked_fini(&checked);
    skn_problems_destroy(&problems);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "data", 0, NULL, "read the data files, too" },
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
        "Reads the file, and starts nothing. All mistakes are printed at\n"
        "once, each with its line and column, and the exit code is 78. Where\n"
        "the file asks for more than this machine has, a warning says so.\n"
        "Data files are opened with --data alone: each line is read as `skein\n"
        "train` would, the first mistake of each file is printed, and the\n"
        "exit code is 65, or 66 for a file that is missing. The cache that\n"
        "data.cache asks for is written, so that the run need not read them\n"
        "again.",
    .run = check_run,
};
