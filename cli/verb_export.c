/* verb_export.c - skein export: writes a trained decoder for other programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/base/verbs.h"
#include "skein/generator.h"

static int
export_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    const char *into = call->operands[1];
    const skn_generator_info_t *info;
    skn_generator_t *generator =
        skn_generator_open(call->operands[0], &info, &error);
    if (!generator)
        return cli_report(call, &error);
    if (info->warning[0])
        cli_warn(call, info->warning, "");
    skn_status_t status = skn_generator_export(generator, into, &error);
    if (status == SKN_OK && call->json) {
        (void)printf("{\"event\":\"export\",\"run\":\"%s\",\"path\":",
                     info->run_id);
        cli_json_string(info->path, stdout);
        (void)fputs(",\"into\":", stdout);
        cli_json_string(into, stdout);
        (void)printf(",\"parameters\":%" PRIu64 ",\"batch\":%" PRIu64 "}\n",
                     info->parameter_count, info->batch);
    } else if (status == SKN_OK) {
        cli_print_path("model  ", info->path, "\n");
        cli_print_path("into   ", into, "");
        (void)skn_text_print(stdout, ": %.1f million parameters\n",
                             (double)info->parameter_count * 1e-6);
    }
    skn_generator_close(&generator);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static const cli_option_t options[] = {
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_export = {
    .name = "export",
    .help = "write a trained decoder as other programs read it",
    .operands = "PATH FOLDER",
    .operands_min = 2,
    .operands_max = 2,
    .options = options,
    .description =
        "PATH is a run folder (its best model, or its newest), a checkpoint\n"
        "in one, or the folder with those of a run's nodes; its model is a\n"
        "decoder. FOLDER, which is made if it is not there, gets three files:\n"
        "model.safetensors and config.json, with the names and shapes of\n"
        "LlamaForCausalLM, in f32, and the tokenizer as Skein has it: other\n"
        "programs read the model, and are given ids of tokens.",
    .run = export_run,
};
