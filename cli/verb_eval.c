/* verb_eval.c - skein eval: computes the scores of a trained model.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/index.h"
#include "cli/base/verbs.h"
#include "skein/evaluation.h"
#include "skein/generator.h"

/* S(name in JSON, name for people) */
#define EVAL_SCORES(S)                                                         \
    S(p1, "P@1")                                                               \
    S(p3, "P@3")                                                               \
    S(p5, "P@5")                                                               \
    S(psp1, "PSP@1")                                                           \
    S(psp3, "PSP@3")                                                           \
    S(psp5, "PSP@5") S(ndcg3, "nDCG@3") S(ndcg5, "nDCG@5")

static void
print_json(const skn_predictor_info_t *info, const skn_evaluation_t *found)
{
    (void)fputs("{\"event\":\"eval\",\"path\":", stdout);
    cli_json_string(info->path, stdout);
    (void)printf(",\"run\":\"%s\",\"batch\":%" PRIu64 ",\"test\":",
                 info->run_id, info->batch);
    cli_json_string(found->test, stdout);
    (void)printf(",\"points\":%" PRIu64 ",\"unlabelled\":%" PRIu64,
                 found->points, found->unlabelled);
    if (found->unknown_points > 0)
        (void)printf(",\"unknown_labels\":%" PRIu64
                     ",\"unknown_features\":%" PRIu64
                     ",\"unknown_points\":%" PRIu64,
                     found->unknown_labels, found->unknown_features,
                     found->unknown_points);
    if (found->overflows > 0)
        (void)printf(",\"overflows\":%" PRIu64, found->overflows);
#define S(name, text)                                                          \
    if (found->scores.name >= 0)                                               \
        (void)skn_text_print(stdout, ",\"" #name "\":%.5f", found->scores.name);
    EVAL_SCORES(S)
#undef S
    (void)skn_text_print(stdout,
                         ",\"calibrated\":%s,\"calibration_error\":%.5f"
                         ",\"calibration_error_5\":%.5f",
                         info->calibrated ? "true" : "false",
                         found->calibration_error, found->calibration_error_5);
    if (info->index_lists > 0)
        (void)printf(",\"index_lists\":%u,\"index_probes\":%u",
                     info->index_lists, info->index_probes);
    (void)skn_text_print(stdout, ",\"seconds\":%.3f}\n", found->seconds);
}

static void
print_text(const skn_predictor_info_t *info, const skn_evaluation_t *found)
{
    cli_print_path("model  ", info->path, "\n");
    (void)fputs("test   ", stdout);
    cli_print_paths(found->test);
    (void)printf(": %" PRIu64 " points", found->points);
    if (found->unlabelled > 0)
        (void)printf(", %" PRIu64 " without labels, which count as misses",
                     found->unlabelled);
    (void)skn_text_print(stdout, "\ntime   %.2f s\n", found->seconds);
    if (info->index_lists > 0)
        (void)printf("index  %u lists, of which each point searches %u\n",
                     info->index_lists, info->index_probes);
#define S(name, text)                                                          \
    if (found->scores.name >= 0)                                               \
        (void)skn_text_print(stdout, "%-6s %.4f\n", text, found->scores.name);
    EVAL_SCORES(S)
#undef S
    (void)skn_text_print(stdout, "%-6s %.4f%s\n%-6s %.4f\n", "ECE",
                         found->calibration_error,
                         info->calibrated ? "" : "  (not calibrated)", "ECE@5",
                         found->calibration_error_5);
}

static skn_status_t
evaluate(const cli_call_t *call, const skn_predictor_t *predictor,
         skn_error_t *error)
{
    const char *overrides[CLI_VALUES_MAX];
    const skn_evaluation_options_t options = {
        .struct_bytes = sizeof(options),
        .override_count = (uint32_t)cli_overrides(call, overrides),
        .overrides = overrides,
    };
    skn_evaluation_t found = { .struct_bytes = sizeof(found) };
    skn_status_t status =
        skn_predictor_evaluate(predictor, &options, &found, error);
    if (status != SKN_OK)
        return status;
    for (uint32_t k = 0; k < found.warning_count; k++)
        cli_warn(call, found.warnings[k].text, found.warnings[k].hint);
    (call->json ? print_json : print_text)(skn_predictor_info(predictor),
                                           &found);
    return SKN_OK;
}

static int
eval_labels(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    if (cli_value(call, "data")) {
        (void)skn_fail(&error, SKN_USAGE,
                       "--data is the text of a decoder, and this model ranks "
                       "labels");
        (void)skn_fail_hint(&error, SKN_USAGE, "set data.test=FILE");
        return cli_report(call, &error);
    }
    skn_predictor_t *predictor = skn_predictor_open(call->operands[0], &error);
    if (predictor && skn_predictor_info(predictor)->warning[0])
        cli_warn(call, skn_predictor_info(predictor)->warning, "");
    skn_status_t status =
        predictor ? cli_index(call, predictor, &error) : error.status;
    if (status == SKN_OK)
        status = evaluate(call, predictor, &error);
    skn_predictor_close(&predictor);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

/* --- a decoder ------------------------------------------------------------ */

static void
print_score_json(const skn_generator_info_t *info,
                 const skn_text_score_t *score)
{
    (void)fputs("{\"event\":\"eval\",\"path\":", stdout);
    cli_json_string(info->path, stdout);
    (void)printf(",\"run\":\"%s\",\"batch\":%" PRIu64 ",\"data\":",
                 info->run_id, info->batch);
    cli_json_string(score->text, stdout);
    (void)printf(",\"tokens\":%" PRIu64 ",\"bytes\":%" PRIu64, score->tokens,
                 score->bytes);
    (void)skn_text_print(stdout, ",\"%s\":%.6f,\"perplexity\":%.5g,",
                         score->is_validation ? "validation_nats" : "nats",
                         score->nats, score->perplexity);
    if (score->bytes > 0)
        (void)skn_text_print(stdout, "\"bits_per_byte\":%.5f,",
                             score->bits_per_byte);
    (void)skn_text_print(stdout, "\"tokens_per_s\":%.1f,\"seconds\":%.3f}\n",
                         (double)score->tokens / score->seconds,
                         score->seconds);
}

static void
print_score_text(const skn_generator_info_t *info,
                 const skn_text_score_t *score)
{
    cli_print_path("model       ", info->path, "\n");
    cli_print_path(score->is_validation ? "held back   " : "text        ",
                   score->text, "");
    (void)printf(": %" PRIu64 " token%s, %" PRIu64 " bytes\n", score->tokens,
                 score->tokens == 1 ? "" : "s", score->bytes);
    (void)skn_text_print(stdout,
                         "time        %.2f s, %.0f tokens/s\n"
                         "nats/token  %.4f\n"
                         "perplexity  %.5g\n",
                         score->seconds, (double)score->tokens / score->seconds,
                         score->nats, score->perplexity);
    if (score->bytes > 0) /* an end of a text has none */
        (void)skn_text_print(stdout, "bits/byte   %.4f\n",
                             score->bits_per_byte);
}

/* Takes the generator over. */
static int
eval_text(const cli_call_t *call, skn_generator_t *generator,
          const skn_generator_info_t *info)
{
    static const char *const others[] = { "override", "test", "index" };
    skn_error_t error = { 0 };
    char option[CLI_WRITTEN_BYTES];
    skn_text_score_t score;
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < 3 && status == SKN_OK; k++)
        if (cli_flag(call, others[k])) {
            status =
                skn_fail(&error, SKN_USAGE, "%s cannot be used with a decoder",
                         cli_written(call, others[k], option));
            (void)skn_fail_hint(&error, SKN_USAGE,
                                "give a text with --data, or leave it out");
        }
    if (status == SKN_OK && info->warning[0])
        cli_warn(call, info->warning, "");
    if (status == SKN_OK)
        status = skn_generator_score(generator, cli_value(call, "data"), &score,
                                     &error);
    if (status == SKN_OK)
        (call->json ? print_score_json : print_score_text)(info, &score);
    skn_generator_close(&generator);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static int
eval_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    const skn_generator_info_t *info;
    skn_generator_t *generator =
        skn_generator_open(call->operands[0], &info, &error);
    if (generator)
        return eval_text(call, generator, info);
    /* Usage: it is no decoder. */
    return error.status == SKN_USAGE ? eval_labels(call)
                                     : cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "test", 0, "FILE", "labels: the file to score: data.test" },
    { "override", 'o', "KEY=VALUE",
      "other files: data.test=FILE or data.train=FILE" },
    { "data", 0, "PATH", "decoder: the file or folder to score, all of it" },
    CLI_INDEX_OPTIONS,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_eval = {
    .name = "eval",
    .help = "score a trained model on a test file or a text",
    .operands = "PATH",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "PATH is a run folder (its best model, or its newest), a checkpoint\n"
        "in one, or the folder with those of a run's nodes.\n"
        "Ranks all labels for every point of data.test, the run's or --test\n"
        "(with --index, only those that the index finds: the difference is\n"
        "what the index costs) and prints P@k, PSP@k (propensities from\n"
        "data.train), nDCG@k, and the expected calibration error of the\n"
        "best labels (ECE) and of the first five (ECE@5): 0 if labels named\n"
        "with .7 are right seven times of ten.\n"
        "Of a decoder it prints nats a token, perplexity and bits a byte of\n"
        "the text that its run held back (train.validate), or of --data.",
    .run = eval_run,
};
