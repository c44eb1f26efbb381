/* verb_export.c - skein export: writes a trained model for use elsewhere, a
 * decoder for other programs, a model of labels as one file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/base/verbs.h"
#include "skein/evaluation.h"
#include "skein/generator.h"
#include "skein/predictor.h"
#include "skein/text.h"

/* In the order of skn_export_rows_t. */
static const char *const row_names[] = { "f32", "bf16", "int8" };
#define ROW_NAMES (sizeof(row_names) / sizeof(row_names[0]))

/* --- a decoder ------------------------------------------------------------ */

/* The beginning of the event, which both kinds of models have. */
static void
print_event(const char *run_id, const char *path, const char *into)
{
    (void)printf("{\"event\":\"export\",\"run\":\"%s\",\"path\":", run_id);
    cli_json_string(path, stdout);
    (void)fputs(",\"into\":", stdout);
    cli_json_string(into, stdout);
}

/* Takes the generator over. */
static int
export_decoder(const cli_call_t *call, skn_generator_t *generator,
               const skn_generator_info_t *info)
{
    static const char *const others[] = { "rows", "max-size" };
    skn_error_t error = { 0 };
    char option[CLI_WRITTEN_BYTES];
    const char *into = call->operands[1];
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < 2 && status == SKN_OK; k++)
        if (cli_flag(call, others[k]))
            status =
                skn_fail(&error, SKN_USAGE, "%s cannot be used with a decoder",
                         cli_written(call, others[k], option));
    if (status == SKN_OK && info->warning[0])
        cli_warn(call, info->warning, "");
    if (status == SKN_OK)
        status = skn_generator_export(generator, into, &error);
    if (status == SKN_OK && call->json) {
        print_event(info->run_id, info->path, into);
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

/* --- a model of labels ---------------------------------------------------- */

/* Reads a size such as 10MB, 1.5GiB or 4096. */
static bool
read_size(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = { { "", 1 },        { "KB", 1e3 },     { "MB", 1e6 },
                  { "GB", 1e9 },    { "KiB", 0x1p10 }, { "MiB", 0x1p20 },
                  { "GiB", 0x1p30 } };
    size_t digits = strspn(text, "0123456789.");
    double number = 0;
    for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++) {
        if (strcmp(text + digits, units[k].name) != 0)
            continue;
        if (!cli_read_real(text, digits, &number) || number <= 0 ||
            number * units[k].bytes >= 0x1p63)
            return false;
        *bytes = (uint64_t)(number * units[k].bytes);
        return *bytes > 0;
    }
    return false;
}

static skn_status_t
read_options(const cli_call_t *call, skn_export_options_t *options,
             skn_error_t *error)
{
    const char *rows = cli_value(call, "rows");
    const char *size = cli_value(call, "max-size");
    size_t k = 0;
    while (rows && k < ROW_NAMES && strcmp(rows, row_names[k]) != 0)
        k++;
    if (k == ROW_NAMES)
        return skn_fail(error, SKN_USAGE,
                        "--rows %.40s: f32, bf16 and int8 are possible", rows);
    options->rows = (skn_export_rows_t)k;
    if (size && !read_size(size, &options->bytes_max))
        return skn_fail(error, SKN_USAGE,
                        "--max-size %.40s is not a size such as 10MB", size);
    return SKN_OK;
}

/* The P@1 of a model on the test set of its run; -1: it has none. */
static double
measure(const cli_call_t *call, const skn_predictor_t *predictor)
{
    skn_error_t error = { 0 };
    skn_evaluation_t evaluation = { .struct_bytes = sizeof(evaluation) };
    skn_status_t status =
        skn_predictor_evaluate(predictor, NULL, &evaluation, &error);
    if (status == SKN_OK)
        return evaluation.scores.p1;
    if (status != SKN_USAGE) /* else the run has no test set */
        cli_warn(call, error.text, "so the accuracy that it costs is unknown");
    return -1;
}

/* Prints what was exported; scores below 0 are not known. */
static void
print_labels(const cli_call_t *call, const skn_predictor_info_t *info,
             const skn_exported_t *made, double before, double after)
{
    const char *into = call->operands[1], *rows = row_names[made->rows];
    if (call->json) {
        print_event(info->run_id, info->path, into);
        (void)printf(",\"parameters\":%" PRIu64 ",\"batch\":%" PRIu64
                     ",\"rows\":\"%s\",\"bytes\":%" PRIu64
                     ",\"features\":%u,\"kept\":%u",
                     info->parameter_count, info->batch, rows, made->bytes,
                     made->feature_count, made->kept_count);
        if (after >= 0)
            (void)skn_text_print(stdout, ",\"p1_before\":%.6f,\"p1\":%.6f",
                                 before, after);
        (void)fputs("}\n", stdout);
        return;
    }
    cli_print_path("model  ", info->path, "\n");
    cli_print_path("into   ", into, "");
    (void)skn_text_print(stdout, ": %.3f MB, rows in %s",
                         (double)made->bytes * 1e-6, rows);
    if (made->kept_count < made->feature_count)
        (void)printf(", of %u of %u features", made->kept_count,
                     made->feature_count);
    (void)fputc('\n', stdout);
    if (after >= 0)
        (void)skn_text_print(stdout, "P@1    %.4f, before %.4f\n", after,
                             before);
}

/* Takes the predictor over. */
static int
export_labels(const cli_call_t *call, skn_predictor_t *predictor,
              const skn_export_options_t *options)
{
    skn_error_t error = { 0 };
    const char *into = call->operands[1];
    const skn_predictor_info_t *info = skn_predictor_info(predictor);
    skn_exported_t made = { .struct_bytes = sizeof(made) };
    double before = -1, after = -1;
    if (info->warning[0])
        cli_warn(call, info->warning, "");
    skn_status_t status =
        skn_predictor_export(predictor, into, options, &made, &error);
    bool is_rounded =
        made.rows != SKN_EXPORT_F32 || made.kept_count < made.feature_count;
    if (status == SKN_OK && is_rounded)
        before = measure(call, predictor);
    if (before >= 0) {
        skn_predictor_t *again = skn_predictor_open(into, &error);
        status = again ? SKN_OK : error.status;
        if (again)
            after = measure(call, again);
        skn_predictor_close(&again);
    }
    if (status == SKN_OK)
        print_labels(call, info, &made, before, after);
    skn_predictor_close(&predictor);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

/* --- the verb ------------------------------------------------------------- */

static int
export_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_export_options_t options = { .struct_bytes = sizeof(options) };
    const skn_generator_info_t *info;
    if (read_options(call, &options, &error) != SKN_OK)
        return cli_report(call, &error);
    skn_generator_t *generator =
        skn_generator_open(call->operands[0], &info, &error);
    if (generator)
        return export_decoder(call, generator, info);
    if (error.status != SKN_USAGE) /* usage: it is no decoder */
        return cli_report(call, &error);
    skn_predictor_t *predictor = skn_predictor_open(call->operands[0], &error);
    return predictor ? export_labels(call, predictor, &options)
                     : cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "rows", 0, "FORMAT", "labels: rows in f32 (as trained), bf16 or int8" },
    { "max-size", 0, "SIZE", "labels: a file of at most 10MB, for example" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_export = {
    .name = "export",
    .help = "write a trained model as one file, or for other programs",
    .operands = "PATH OUT",
    .operands_min = 2,
    .operands_max = 2,
    .options = options,
    .description =
        "PATH is a run folder (its best model, or its newest), a checkpoint\n"
        "in one, or the folder with those of a run's nodes. OUT is new.\n"
        "A model of labels becomes one file, OUT, which predict, eval,\n"
        "inspect and libskein take in place of a run folder: weights without\n"
        "moments, ranker, words, names of labels, and config. It is mapped,\n"
        "and its memory is shared by all processes that use it. --max-size\n"
        "chooses shorter rows as needed, then leaves out the rows of the\n"
        "features that matter least. Where weights are not as trained, the\n"
        "accuracy before and after is printed, if the run has a test set.\n"
        "A decoder becomes a folder, OUT, with three files:\n"
        "model.safetensors and config.json, with the names and shapes of\n"
        "LlamaForCausalLM, in f32, and the tokenizer as Skein has it: other\n"
        "programs read the model, and are given ids of tokens.",
    .run = export_run,
};
