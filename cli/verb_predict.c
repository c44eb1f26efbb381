/* verb_predict.c - skein predict: prints the best labels for each input line.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/index.h"
#include "cli/base/verbs.h"
#include "skein/points.h"
#include "skein/predictor.h"

/* The refused lines that are reported one by one on standard error. */
#define REFUSALS_SHOWN 10u
#define LABELS_DEFAULT 5

typedef struct predict {
    const cli_call_t *call;
    skn_predictor_t *predictor;
    skn_point_reader_t *reader;
    skn_names_t *names; /* NULL: those of the model, if it has any */
    uint32_t k;
    double threshold;
    bool strict;
    uint64_t refused; /* refused lines */
    uint32_t label[SKN_READ_POINTS_MAX * SKN_PREDICTOR_LABELS_MAX];
    float score[SKN_READ_POINTS_MAX * SKN_PREDICTOR_LABELS_MAX];
} predict_t;

/* --- answers ------------------------------------------------------------- */

/* "" if it has none. */
static const char *
name_of(const predict_t *predict, uint32_t label)
{
    if (!predict->names)
        return skn_predictor_label(predict->predictor, label);
    return label < predict->names->count ? predict->names->name[label] : "";
}

static bool
has_names(const predict_t *predict)
{
    return predict->names
               ? predict->names->count > 0
               : skn_predictor_info(predict->predictor)->label_name_count > 0;
}

static void
print_label(const predict_t *predict, uint32_t label)
{
    const char *name = name_of(predict, label);
    if (name[0])
        (void)fputs(name, stdout);
    else
        (void)printf("%u", label);
}

static void
print_json(const predict_t *predict, const uint32_t *label, const float *score,
           uint32_t count)
{
    (void)fputs("{\"labels\":[", stdout);
    for (uint32_t r = 0; r < count; r++)
        (void)printf("%s%u", r ? "," : "", label[r]);
    (void)fputs("],\"scores\":[", stdout);
    for (uint32_t r = 0; r < count; r++)
        /* Nine digits identify a float. */
        (void)skn_text_print(stdout, "%s%.9g", r ? "," : "", (double)score[r]);
    if (has_names(predict)) {
        (void)fputs("],\"names\":[", stdout);
        for (uint32_t r = 0; r < count; r++) {
            (void)fputs(r ? "," : "", stdout);
            cli_json_string(name_of(predict, label[r]), stdout);
        }
    }
    (void)fputs("]}\n", stdout);
}

static void
print_point(const predict_t *predict, size_t i)
{
    const uint32_t *label = predict->label + i * predict->k;
    const float *score = predict->score + i * predict->k;
    uint32_t count = 0;
    while (count < predict->k && label[count] != UINT32_MAX &&
           (double)score[count] >= predict->threshold)
        count++;
    if (predict->call->json) {
        print_json(predict, label, score, count);
        return;
    }
    /* Names may contain spaces, so a tab separates them. */
    for (uint32_t r = 0; r < count; r++) {
        (void)fputs(r == 0 ? "" : has_names(predict) ? "\t" : " ", stdout);
        print_label(predict, label[r]);
        (void)skn_text_print(stdout, ":%.6g", (double)score[r]);
    }
    (void)fputc('\n', stdout);
}

/* --- lines without an answer --------------------------------------------- */

/* A failure ends the answers without a sentence: cli_finish has it. */
static skn_status_t
flush(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? SKN_OK : SKN_STORAGE;
}

/* Prints the line for an input line without an answer, so that there is one
 * line of output for each line of input. `why` NULL: it is not an error. */
static void
print_empty(const predict_t *predict, uint64_t line, const skn_error_t *why)
{
    if (!predict->call->json) {
        (void)fputc('\n', stdout);
        return;
    }
    (void)fputc('{', stdout);
    if (why) {
        (void)printf("\"event\":\"error\",\"line\":%" PRIu64 ",\"message\":",
                     line);
        cli_json_string(why->text, stdout);
        (void)fputs(",\"hint\":", stdout);
        cli_json_string(why->hint, stdout);
        (void)fputc(',', stdout);
    }
    (void)fputs("\"labels\":[],\"scores\":[]", stdout);
    if (has_names(predict))
        (void)fputs(",\"names\":[]", stdout);
    (void)fputs("}\n", stdout);
}

/* Refuses a line that cannot be answered: the stream continues or, with
 * --strict, ends with `why`. */
static skn_status_t
refuse_line(predict_t *predict, uint64_t line, const skn_error_t *why,
            skn_error_t *error)
{
    if (predict->strict) {
        *error = *why;
        return why->status;
    }
    print_empty(predict, line, why);
    if (predict->refused++ < REFUSALS_SHOWN) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "skein: %s%s%s\n", why->text,
                      why->hint[0] ? "; " : "", why->hint);
    }
    if (predict->refused == REFUSALS_SHOWN)
        (void)fputs("skein: further refused lines are only counted\n", stderr);
    return SKN_OK;
}

static skn_status_t
refuse_sums(predict_t *predict, const skn_read_t *read, size_t i,
            skn_error_t *error)
{
    skn_error_t why = { 0 };
    (void)skn_fail(&why, SKN_BAD_DATA,
                   "%s:%" PRIu64 ":1: its logits are not finite", read->name,
                   read->line[i]);
    (void)skn_fail_hint(&why, SKN_BAD_DATA, "scale the values");
    return refuse_line(predict, read->line[i], &why, error);
}

/* Ranks the labels of the points, and prints them. */
static skn_status_t
answer(predict_t *predict, const skn_read_t *read, skn_error_t *error)
{
    skn_error_t why = { 0 };
    skn_status_t status =
        skn_predictor_best(predict->predictor, &read->points, predict->k,
                           predict->label, predict->score, &why);
    if (status == SKN_BAD_DATA) /* some points are bad, as reported below */
        status = SKN_OK;
    else if (status != SKN_OK)
        *error = why;
    for (size_t i = 0; i < read->points.count && status == SKN_OK; i++) {
        if (isnan(predict->score[i * predict->k]))
            status = refuse_sums(predict, read, i, error);
        else
            print_point(predict, i);
    }
    return status;
}

/* --- the text ------------------------------------------------------------ */

/* Reports the counts of refused lines and unknown features. */
static void
conclude(const predict_t *predict, const skn_read_t *read)
{
    char text[SKN_ERROR_TEXT_BYTES];
    const char *name = read->name;
    uint64_t features = read->unknown_features, points = read->unknown_points;
    if (features > 0) {
        (void)snprintf(text, sizeof(text),
                       "%s:%" PRIu64 ":%" PRIu64 ": %" PRIu64 " feature%s, in "
                       "%" PRIu64 " line%s, that the model does not have %s "
                       "left out (%s here)",
                       name, read->unknown_line, read->unknown_column, features,
                       features == 1 ? "" : "s", points, points == 1 ? "" : "s",
                       features == 1 ? "was" : "were",
                       features == 1 ? "it is" : "the first is");
        cli_warn(predict->call, text, "--strict refuses them");
    }
    if (predict->refused > 0) {
        (void)snprintf(text, sizeof(text),
                       "%s: %" PRIu64 " of %" PRIu64 " lines %s refused, and "
                       "%s an empty answer",
                       name, predict->refused, read->line_count,
                       predict->refused == 1 ? "was" : "were",
                       predict->refused == 1 ? "has" : "have");
        cli_warn(predict->call, text, "--strict ends at the first of them");
    }
}

/* Answers what was read. */
static skn_status_t
take(predict_t *predict, const skn_read_t *read, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    if (read->warning)
        cli_warn(predict->call, read->warning->text, read->warning->hint);
    if (read->kind == SKN_READ_POINTS)
        status = answer(predict, read, error);
    else if (read->kind == SKN_READ_REFUSED)
        status = refuse_line(predict, read->line[0], read->refusal, error);
    else if (read->kind == SKN_READ_COMMENT)
        print_empty(predict, read->line[0], NULL);
    return status == SKN_OK ? flush() : status;
}

/* Reads to the end; the points before an error are answered, too. */
static skn_status_t
stream(predict_t *predict, skn_error_t *error)
{
    const skn_read_t *read = NULL, *last = NULL;
    skn_status_t status = SKN_OK;
    while (status == SKN_OK) {
        read = skn_point_reader_next(predict->reader, error);
        last = read ? read : last;
        if (!read || read->kind == SKN_READ_END)
            break;
        status = take(predict, read, error);
    }
    if (last)
        conclude(predict, last);
    return read ? status : error->status;
}

/* --- the verb ------------------------------------------------------------ */

static skn_status_t
read_options(predict_t *predict, skn_error_t *error)
{
    /* A threshold chooses by itself how many labels are printed. */
    predict->k = cli_flag(predict->call, "threshold") ? SKN_PREDICTOR_LABELS_MAX
                                                      : LABELS_DEFAULT;
    predict->strict = cli_flag(predict->call, "strict");
    skn_status_t status = cli_count(
        predict->call, "top", SKN_PREDICTOR_LABELS_MAX, &predict->k, error);
    return status == SKN_OK ? cli_real(predict->call, "threshold", 0, 1,
                                       &predict->threshold, error)
                            : status;
}

/* Warns about a number of names that does not fit: usually they belong to other
 * data. */
static void
warn_names(const predict_t *predict, const char *path)
{
    char text[SKN_ERROR_TEXT_BYTES];
    uint32_t labels = skn_predictor_info(predict->predictor)->label_count;
    size_t count = predict->names->count;
    if (count == labels)
        return;
    (void)snprintf(text, sizeof(text),
                   "%.200s has %zu names, the model has %u labels", path, count,
                   labels);
    cli_warn(predict->call, text,
             count < labels ? "those without a name are printed as numbers"
                            : "names beyond the last label are not used");
}

static skn_status_t
open_reader(predict_t *predict, const char *path, skn_error_t *error)
{
    skn_predictor_strict(predict->predictor, predict->strict);
    predict->reader = skn_predictor_read(predict->predictor, path, error);
    skn_predictor_strict(predict->predictor, false);
    return predict->reader ? SKN_OK : error->status;
}

/* Answers the text of --text. */
static skn_status_t
answer_text(predict_t *predict, const char *text, skn_error_t *error)
{
    skn_status_t status =
        skn_predictor_best_texts(predict->predictor, &text, NULL, 1, predict->k,
                                 predict->label, predict->score, error);
    if (status != SKN_OK)
        return status;
    print_point(predict, 0);
    return flush();
}

static skn_status_t
open_all(predict_t *predict, skn_error_t *error)
{
    const cli_call_t *call = predict->call;
    const char *names = cli_value(call, "label-names");
    const char *text = cli_value(call, "text");
    const char *lines = call->operand_count > 1 ? call->operands[1] : "-";
    skn_status_t status = read_options(predict, error);
    if (status == SKN_OK && text && call->operand_count > 1) {
        (void)skn_fail(error, SKN_USAGE, "--text and FILE exclude each other");
        status = skn_fail_hint(error, SKN_USAGE, "give one of them");
    }
    if (status == SKN_OK && !text && names && strcmp(names, "-") == 0 &&
        strcmp(lines, "-") == 0) {
        (void)skn_fail(error, SKN_USAGE,
                       "--label-names and the lines are both standard input");
        status = skn_fail_hint(error, SKN_USAGE, "give one of them as a file");
    }
    if (status != SKN_OK)
        return status;
    predict->predictor = skn_predictor_open(call->operands[0], error);
    if (!predict->predictor)
        return error->status;
    const skn_predictor_info_t *info = skn_predictor_info(predict->predictor);
    if (info->warning[0])
        cli_warn(call, info->warning, "");
    if (predict->threshold > 0 && !info->calibrated)
        cli_warn(call,
                 "the model is not calibrated: --threshold goes by its scores, "
                 "which say little about how often it is right",
                 "train it with a test set, such as --test 0.1");
    if (predict->k > info->label_count)
        predict->k = info->label_count;
    status = cli_index(call, predict->predictor, error);
    if (status != SKN_OK)
        return status;
    if (names) {
        predict->names = skn_names_open(names, error);
        if (!predict->names)
            return error->status;
        warn_names(predict, names);
    }
    return text ? SKN_OK : open_reader(predict, lines, error);
}

static int
predict_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    struct sigaction ordinary = { .sa_handler = SIG_DFL };
    predict_t *predict = calloc(1, sizeof(*predict));
    if (!predict) {
        (void)skn_fail(&error, SKN_NO_MEMORY, "no memory for predictions");
        return cli_report(call, &error);
    }
    /* `skein predict ... | head` ends quietly, even if the parent ignores
     * SIGPIPE. */
    (void)sigaction(SIGPIPE, &ordinary, NULL);
    predict->call = call;
    skn_status_t status = open_all(predict, &error);
    if (status == SKN_OK)
        status = predict->reader
                     ? stream(predict, &error)
                     : answer_text(predict, cli_value(call, "text"), &error);
    skn_predictor_close(&predict->predictor);
    skn_point_reader_close(&predict->reader);
    skn_names_close(&predict->names);
    free(predict);
    return status == SKN_OK || !error.text[0] ? 0 : cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "top", 'k', "N", "labels per line, at most (5; with --threshold 128)" },
    { "threshold", 0, "P", "only labels that are right with probability P" },
    { "text", 0, "TEXT", "answer this text alone" },
    { "label-names", 0, "FILE", "names of the labels, one per line" },
    { "strict", 0, NULL, "stop at the first line with an error" },
    CLI_INDEX_OPTIONS,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_predict = {
    .name = "predict",
    .help = "print the best labels of each line or text",
    .operands = "PATH [FILE...]",
    .operands_min = 1,
    .operands_max = 2,
    .several = 2,
    .options = options,
    .description =
        "PATH is a run folder (its best model, or its newest), a checkpoint\n"
        "in one, or the folder with those of a run's nodes.\n"
        "Each row of FILE, or of standard input (-), is answered by one line,\n"
        "at once: label:probability, best first.\n"
        "For a model that was trained on texts a row is one of fastText's,\n"
        "CSV, TSV (a first line names the columns) or JSON lines; else each\n"
        "line is a text. For one of numbered features it is as in data files:\n"
        "labels, then feature:value; a line that begins with a space or with\n"
        "a feature:value has no labels. In `3 9`, 3 is a label and 9 a\n"
        "feature with the value 1. Labels are ignored.\n"
        "A label is its name if the model or --label-names has one. A\n"
        "probability is how often answers as sure as this one were right on\n"
        "the test set of the run. A run without one is not calibrated: a\n"
        "softmax sums to 1 over all labels then, or over those that the index\n"
        "finds. With --threshold a line may be empty.\n"
        "Words and features that the model does not have are left out;\n"
        "features are counted in a warning at the end. A row that cannot be\n"
        "read or ranked gets an empty answer and an error on standard error;\n"
        "with --json an event `error` takes the place of its answer. Neither\n"
        "changes the exit code, unless --strict is given: it stops at the\n"
        "first such row. Comments (#) before points and a header of three\n"
        "whole numbers after them get no answer.\n"
        "    skein predict runs/x --text 'a ball over the net' -k 3\n"
        "    echo '17:0.5 4:1' | skein predict runs/x -k 3",
    .run = predict_run,
};
