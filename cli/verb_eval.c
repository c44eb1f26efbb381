/* verb_eval.c - skein eval: computes the scores of a trained model.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/index.h"
#include "cli/base/verbs.h"
#include "topology/config/document.h"
#include "topology/predict/evaluate.h"

/* The files that -o may set; NULL is the run's own file. */
typedef struct files {
    skn_problems_t *problems;
    skn_document_t *document; /* holds the texts */
    const char *test, *train;
} files_t;

/* The path at `key` of data; NULL if it is not set. */
static const char *
path_of(const files_t *files, const char *key)
{
    const skn_node_t *data =
        skn_node_get(skn_document_root(files->document), "data");
    const skn_node_t *node = skn_node_get(data, key);
    const char *path = node ? skn_node_words(node) : NULL;
    if (node && (!path || !path[0]))
        (void)skn_problems_add(files->problems, node->mark,
                               "data.%s must be a path, but it is empty", key);
    return path;
}

/* Reads the overrides: a trained model cannot change, only its data files. */
static skn_status_t
read_files(const cli_call_t *call, files_t *files, skn_error_t *error)
{
    const char *overrides[CLI_VALUES_MAX];
    size_t count = cli_overrides(call, overrides);
    files->problems = skn_problems_new(error);
    files->document =
        files->problems ? skn_document_new("-o", files->problems) : NULL;
    if (!files->document)
        return SKN_NO_MEMORY;
    for (size_t k = 0; k < count; k++) {
        if (strncmp(overrides[k], "data.test=", 10) != 0 &&
            strncmp(overrides[k], "data.train=", 11) != 0) {
            (void)skn_fail(error, SKN_USAGE,
                           "-o %.200s: only the data files can be set for a "
                           "trained model",
                           overrides[k]);
            return skn_fail_hint(error, SKN_USAGE,
                                 "set data.test or data.train");
        }
        (void)skn_document_set(files->document, overrides[k], files->problems);
    }
    files->test = path_of(files, "test");
    files->train = path_of(files, "train");
    return skn_problems_error(files->problems, error);
}

static void
files_fini(files_t *files)
{
    skn_document_destroy(&files->document);
    skn_problems_destroy(&files->problems);
}

/* S(name in JSON, name for people) */
#define EVAL_SCORES(S)                                                         \
    S(p1, "P@1")                                                               \
    S(p3, "P@3")                                                               \
    S(p5, "P@5")                                                               \
    S(psp1, "PSP@1")                                                           \
    S(psp3, "PSP@3")                                                           \
    S(psp5, "PSP@5") S(ndcg3, "nDCG@3") S(ndcg5, "nDCG@5")

static void
print_json(const skn_predictor_info_t *info, const skn_evaluation_t *found,
           double seconds)
{
    (void)fputs("{\"event\":\"eval\",\"path\":", stdout);
    cli_json_string(info->path, stdout);
    (void)printf(",\"run\":\"%s\",\"batch\":%" PRIu64 ",\"test\":",
                 info->run_id, info->batch);
    cli_json_string(found->test, stdout);
    (void)printf(",\"points\":%" PRIu64 ",\"unlabelled\":%" PRIu64,
                 found->points, found->unlabelled);
    if (found->unknown.points > 0)
        (void)printf(",\"unknown_labels\":%" PRIu64
                     ",\"unknown_features\":%" PRIu64
                     ",\"unknown_points\":%" PRIu64,
                     found->unknown.labels, found->unknown.features,
                     found->unknown.points);
    if (found->overflows > 0)
        (void)printf(",\"overflows\":%" PRIu64, found->overflows);
#define S(name, text)                                                          \
    if (found->scores.name >= 0)                                               \
        (void)skn_text_print(stdout, ",\"" #name "\":%.5f", found->scores.name);
    EVAL_SCORES(S)
#undef S
    if (info->index_lists > 0)
        (void)printf(",\"index_lists\":%u,\"index_probes\":%u",
                     info->index_lists, info->index_probes);
    (void)skn_text_print(stdout, ",\"seconds\":%.3f}\n", seconds);
}

static void
print_text(const skn_predictor_info_t *info, const skn_evaluation_t *found,
           double seconds)
{
    cli_print_path("model  ", info->path, "\n");
    cli_print_path("test   ", found->test, "");
    (void)printf(": %" PRIu64 " points", found->points);
    if (found->unlabelled > 0)
        (void)printf(", %" PRIu64 " without labels, which count as misses",
                     found->unlabelled);
    (void)skn_text_print(stdout, "\ntime   %.2f s\n", seconds);
    if (info->index_lists > 0)
        (void)printf("index  %u lists, of which each point searches %u\n",
                     info->index_lists, info->index_probes);
#define S(name, text)                                                          \
    if (found->scores.name >= 0)                                               \
        (void)skn_text_print(stdout, "%-6s %.4f\n", text, found->scores.name);
    EVAL_SCORES(S)
#undef S
}

static void
warn_data(const cli_call_t *call, const skn_evaluation_t *found)
{
    char text[SKN_ERROR_TEXT_BYTES];
    for (uint32_t k = 0; k < found->note_count; k++)
        cli_warn(call, found->note[k].text, found->note[k].hint);
    if (found->overflows == 0)
        return;
    (void)snprintf(text, sizeof(text),
                   "%.300s: points whose logits are not finite: %" PRIu64
                   ", which count as wrong; the first is point %" PRIu64
                   ", counted from 0",
                   found->test, found->overflows, found->overflow_first);
    cli_warn(call, text, "scale the values, or train with data.normalize: l2");
}

static double
now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static skn_status_t
evaluate(const cli_call_t *call, const files_t *files,
         const skn_predictor_t *predictor, skn_error_t *error)
{
    const skn_predictor_info_t *info = skn_predictor_info(predictor);
    skn_evaluation_t found = { 0 };
    double begin_seconds = now_seconds();
    skn_status_t status =
        skn_evaluate(predictor, files->test, files->train, &found, error);
    double seconds = now_seconds() - begin_seconds;
    if (status == SKN_OK)
        warn_data(call, &found);
    if (status == SKN_OK && found.warning[0])
        cli_warn(call, found.warning, "give -o data.train=FILE");
    if (status == SKN_OK)
        (call->json ? print_json : print_text)(info, &found, seconds);
    return status;
}

static int
eval_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    files_t files = { 0 };
    skn_predictor_t *predictor = NULL;
    skn_status_t status = read_files(call, &files, &error);
    if (status == SKN_OK) {
        predictor = skn_predictor_open(call->operands[0], &error);
        status = predictor ? SKN_OK : error.status;
    }
    if (predictor && skn_predictor_info(predictor)->warning[0])
        cli_warn(call, skn_predictor_info(predictor)->warning, "");
    if (status == SKN_OK)
        status = cli_index(call, predictor, &error);
    if (status == SKN_OK)
        status = evaluate(call, &files, predictor, &error);
    skn_predictor_close(&predictor);
    files_fini(&files);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "override", 'o', "KEY=VALUE",
      "other files: data.test=FILE or data.train=FILE" },
    CLI_INDEX_OPTIONS,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_eval = {
    .name = "eval",
    .help = "score a trained model on a test file",
    .operands = "PATH",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "PATH is a run folder (its best model, or its newest), a checkpoint\n"
        "in one, or the folder with those of a run's nodes.\n"
        "Ranks all labels for every point of data.test (with --index, only\n"
        "those that the index finds: the difference is what the index costs)\n"
        "and prints P@k, PSP@k (propensities from data.train) and nDCG@k.",
    .run = eval_run,
};
