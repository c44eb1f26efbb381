/* verb_plan.c - skein plan: prints the topology that a model file becomes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/base/auto_report.h"
#include "cli/base/verbs.h"
#include "topology/plan/cost.h"
#include "topology/run/model_run.h"
#include "topology/run/shortfall.h"

/* Prints the topology with comments. */
static skn_status_t
print_plan(const skn_model_run_t *run, const char *run_path, skn_error_t *error)
{
    (void)skn_text_print(
        stdout,
        "# %s on %u unit%s: %.1f million parameters, about %" PRIu64 " MiB, "
        "%" PRIu64 " batches per epoch\n",
        run->model->name, run->plan.units, run->plan.units == 1 ? "" : "s",
        (double)run->plan.parameters * 1e-6, run->plan.memory_bytes >> 20,
        run->plan.batches_per_epoch);
    if (run->plan.offload_bytes > 0)
        (void)printf("# adam's moments: %" PRIu64 " MiB more, in an unnamed "
                     "file in %s\n",
                     run->plan.offload_bytes >> 20,
                     skn_plan_offload_path(run->plan.model, run_path));
    if (run->model->train.ranker_trees > 0)
        (void)printf("# without the ranker (%lld tree%s), which `skein "
                     "train` grows at the end\n",
                     (long long)run->model->train.ranker_trees,
                     run->model->train.ranker_trees > 1 ? "s" : "");
    if (run->model->train.ensemble > 1)
        (void)printf("# one of %lld networks, which `skein train` trains "
                     "one after the other and joins\n",
                     (long long)run->model->train.ensemble);
    skn_status_t status = skn_cost_print(&run->plan, stdout, error);
    if (status == SKN_OK)
        status =
            skn_spec_print(skn_topology_spec(run->topology), stdout, error);
    return status;
}

static int
plan_run(const cli_call_t *call)
{
    const char *overrides[CLI_VALUES_MAX];
    char run_path[SKN_TEXT_MAX] = "", run_id[33] = "";
    skn_error_t error = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    skn_model_run_t run = { 0 };
    int code = 0;
    skn_model_run_options_t options = {
        .path = call->operands[0],
        .overrides = overrides,
        .override_count = cli_overrides(call, overrides),
        .run_path = run_path,
        .run_id = run_id,
        .whole_paths = true,
    };
    if (!problems)
        return cli_report(call, &error);
    skn_status_t status = skn_model_run_open(&run, &options, problems, &error);
    if (status == SKN_OK) {
        skn_shortfall_model(run.model, SKN_SHORTFALL_NOBODY, cli_warn_to, call);
        if (run.plan.node_count == 0)
            skn_shortfall_quota("", run.plan.units, SKN_SHORTFALL_CORES,
                                cli_warn_to, call);
        cli_plan_notes(call, &run.plan);
    }
    if (status == SKN_OK && cli_flag(call, "model")) {
        status =
            skn_model_write_why(&run.whole, &run.plan.reasons, stdout, &error);
    } else if (status == SKN_OK) {
        status = print_plan(&run, run_path, &error);
    }
    if (skn_problems_count(problems) > 0)
        code = cli_report_problems(call, problems);
    else if (status != SKN_OK)
        code = cli_report(call, &error);
    skn_model_run_close(&run);
    skn_problems_destroy(&problems);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "model", 0, NULL, "print the model file with every value instead" },
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_plan = {
    .name = "plan",
    .help = "print the topology that a model file becomes",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Decides everything that the model file leaves open and prints every\n"
        "actor and pipe as a topology file, which `skein run` runs as it is:\n"
        "`skein plan FILE | skein run -` trains what `skein train FILE` does,\n"
        "without the ensemble and the ranker that it may add. With --model, a\n"
        "comment gives the reason for each value that was auto; what is\n"
        "still auto is decided by the run, or has no effect.\n"
        "For several nodes, comments at its head forecast what each node\n"
        "holds, bytes and seconds per batch, and the bottleneck; if one node\n"
        "alone should be faster, they say `use one node`.",
    .run = plan_run,
};
