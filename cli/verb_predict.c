/* verb_predict.c - skein predict: prints the best labels for each input line.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/index.h"
#include "cli/base/lines.h"
#include "cli/base/names.h"
#include "cli/base/verbs.h"
#include "formats/folder/folder.h"
#include "formats/dataset/stream.h"
#include "formats/dataset/xmc.h"
#include "skein/predictor.h"

/* The most lines that are ranked together: enough to make the products wide. */
#define LINES_MAX 256u
/* The refused lines that are reported one by one on standard error. */
#define REFUSALS_SHOWN 10u
#define LABELS_DEFAULT 5

typedef struct predict {
    const cli_call_t *call;
    skn_predictor_t *predictor;
    cli_lines_t *lines;
    cli_names_t names;
    uint32_t k;
    double threshold;
    bool strict;
    bool begun;         /* a point, or the header, has been read */
    bool label_doubted; /* and said so, once */
    skn_xmc_point_t point;
    uint64_t refused; /* refused lines */
    skn_xmc_unknown_t unknown;
    /* the points that wait for an answer */
    size_t count, offset[LINES_MAX + 1], room;
    uint64_t line[LINES_MAX];
    uint32_t *feature;
    float *value;
    uint32_t label[LINES_MAX * SKN_PREDICTOR_LABELS_MAX];
    float score[LINES_MAX * SKN_PREDICTOR_LABELS_MAX];
} predict_t;

/* --- answers ------------------------------------------------------------- */

static void
print_label(const predict_t *predict, uint32_t label)
{
    if (label < predict->names.count && predict->names.name[label][0])
        (void)fputs(predict->names.name[label], stdout);
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
        (void)skn_text_print(stdout, "%s%.6g", r ? "," : "", (double)score[r]);
    if (predict->names.count > 0) {
        (void)fputs("],\"names\":[", stdout);
        for (uint32_t r = 0; r < count; r++) {
            (void)fputs(r ? "," : "", stdout);
            cli_json_string(label[r] < predict->names.count
                                ? predict->names.name[label[r]]
                                : "",
                            stdout);
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
        (void)fputs(r == 0 ? "" : predict->names.count ? "\t" : " ", stdout);
        print_label(predict, label[r]);
        (void)skn_text_print(stdout, ":%.6g", (double)score[r]);
    }
    (void)fputc('\n', stdout);
}

/* --- lines without an answer --------------------------------------------- */

static skn_status_t
flush(skn_error_t *error)
{
    return skn_file_finish(stdout, "standard output", error);
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
    if (predict->names.count > 0)
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
refuse_sums(predict_t *predict, size_t i, skn_error_t *error)
{
    skn_error_t why = { 0 };
    (void)skn_fail(&why, SKN_BAD_DATA,
                   "%s:%" PRIu64 ":1: its logits are not finite",
                   cli_lines_name(predict->lines), predict->line[i]);
    (void)skn_fail_hint(&why, SKN_BAD_DATA, "scale the values");
    return refuse_line(predict, predict->line[i], &why, error);
}

/* Ranks and prints the points that wait. */
static skn_status_t
answer(predict_t *predict, skn_error_t *error)
{
    skn_points_t points = { predict->count, predict->offset, predict->feature,
                            predict->value };
    if (predict->count == 0)
        return SKN_OK;
    skn_error_t why = { 0 };
    skn_status_t status =
        skn_predictor_best(predict->predictor, &points, predict->k,
                           predict->label, predict->score, &why);
    if (status == SKN_BAD_DATA) /* some points are bad, as reported below */
        status = SKN_OK;
    else if (status != SKN_OK)
        *error = why;
    for (size_t i = 0; i < predict->count && status == SKN_OK; i++) {
        if (isnan(predict->score[i * predict->k]))
            status = refuse_sums(predict, i, error);
        else
            print_point(predict, i);
    }
    predict->count = 0;
    return status == SKN_OK ? flush(error) : status;
}

/* --- lines --------------------------------------------------------------- */

static skn_status_t
read_point(predict_t *predict, const skn_xmc_line_t *line, skn_error_t *error)
{
    skn_xmc_bounds_t bounds = {
        .expected_features =
            skn_predictor_info(predict->predictor)->feature_count,
        .expected_by = "the model",
        .labels_optional = true,
        .unknown_ignored = !predict->strict,
    };
    return skn_xmc_line_parse(line, &bounds, &predict->point, error);
}

/* Adds the point to those that wait. */
static skn_status_t
keep_point(predict_t *predict, skn_error_t *error)
{
    const skn_xmc_point_t *point = &predict->point;
    size_t first = predict->count ? predict->offset[predict->count] : 0;
    size_t end = first + point->feature_count;
    if (end > predict->room) {
        size_t room = 2 * end;
        uint32_t *feature = realloc(predict->feature, room * sizeof(*feature));
        if (feature)
            predict->feature = feature;
        float *value = realloc(predict->value, room * sizeof(*value));
        if (value)
            predict->value = value;
        if (!feature || !value)
            return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu features",
                            room);
        predict->room = room;
    }
    if (point->feature_count > 0) {
        memcpy(predict->feature + first, point->feature,
               point->feature_count * sizeof(*point->feature));
        memcpy(predict->value + first, point->value,
               point->feature_count * sizeof(*point->value));
    }
    predict->line[predict->count] = cli_lines_number(predict->lines);
    predict->offset[0] = 0;
    predict->offset[++predict->count] = end;
    return SKN_OK;
}

/* Warns about a first line of three whole numbers, which gets no answer, if
 * these are not the sizes of the model: it may have been meant as a point, and
 * its sender would wait for an answer. */
static void
pass_header(const predict_t *predict, const skn_xmc_line_t *line)
{
    const skn_predictor_info_t *info = skn_predictor_info(predict->predictor);
    char sizes[48], text[SKN_ERROR_TEXT_BYTES];
    size_t bytes = line->bytes;
    while (bytes > 0 &&
           (line->text[bytes - 1] < '0' || line->text[bytes - 1] > '9'))
        bytes--;
    (void)snprintf(sizes, sizeof(sizes), " %u %u", info->feature_count,
                   info->label_count);
    size_t sizes_bytes = strlen(sizes);
    if (bytes > sizes_bytes &&
        memcmp(line->text + bytes - sizes_bytes, sizes, sizes_bytes) == 0)
        return;
    (void)snprintf(text, sizeof(text),
                   "%s:%" PRIu64 ":1: three whole numbers count as the header "
                   "of a data file, and get no answer",
                   skn_stream_name_shown(line->file), line->number);
    cli_warn(predict->call, text,
             "if they are features, begin the line with a space");
}

/* Warns, once, about a line of whole numbers, the first of which is a label in
 * this format: it may have been meant as a feature, as the others are. */
static void
doubt_label(predict_t *predict, const skn_xmc_line_t *line)
{
    const skn_xmc_point_t *point = &predict->point;
    char text[SKN_ERROR_TEXT_BYTES];
    if (predict->label_doubted || point->label_count != 1 ||
        (point->feature_count == 0 && point->unknown_features == 0) ||
        memchr(line->text, ':', line->bytes) ||
        memchr(line->text, ',', line->bytes))
        return;
    predict->label_doubted = true;
    (void)snprintf(text, sizeof(text),
                   "%s:%" PRIu64 ":1: the first number of a line is a label, "
                   "which is ignored; only the others are features",
                   skn_stream_name_shown(line->file), line->number);
    cli_warn(predict->call, text,
             "if it is a feature, too, begin the line with a space");
}

static void
count_unknown(predict_t *predict, const skn_xmc_line_t *line)
{
    const skn_xmc_point_t *point = &predict->point;
    skn_xmc_unknown_t *unknown = &predict->unknown;
    if (point->unknown_features == 0)
        return;
    if (unknown->points++ == 0) {
        unknown->line = line->number;
        unknown->column = point->unknown_column;
    }
    unknown->features += point->unknown_features;
}

static skn_status_t
refuse_length(const skn_xmc_line_t *line, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_DATA,
                    "%s:%" PRIu64
                    ":1: the line has %zu bytes, at most %u allowed",
                    skn_stream_name_shown(line->file), line->number,
                    line->bytes, SKN_LINE_BYTES_MAX);
}

/* Answers `line` now, or adds its point to those that wait. */
static skn_status_t
take_line(predict_t *predict, skn_xmc_line_t *line, skn_error_t *error)
{
    skn_error_t why = { 0 };
    if (line->number == 1 && line->text) {
        size_t mark = skn_xmc_mark_bytes(line->text, line->bytes);
        line->text += mark;
        line->bytes -= mark;
    }
    bool comment = line->text && skn_xmc_line_is_comment(line);
    bool first = !predict->begun && !comment;
    if (comment && !predict->begun)
        return SKN_OK;
    predict->begun = true;
    if (first && line->text && skn_xmc_line_is_header(line)) {
        pass_header(predict, line);
        return SKN_OK;
    }
    skn_status_t status = SKN_OK;
    if (!line->text)
        status = refuse_length(line, &why);
    else if (!comment)
        status = read_point(predict, line, &why);
    if (status == SKN_OK && !comment) {
        doubt_label(predict, line);
        count_unknown(predict, line);
        return keep_point(predict, error);
    }
    if (status != SKN_OK && status != SKN_BAD_DATA) {
        *error = why;
        return status;
    }
    status = answer(predict, error); /* the lines before it */
    if (status == SKN_OK && comment)
        print_empty(predict, line->number, NULL);
    else if (status == SKN_OK)
        status = refuse_line(predict, line->number, &why, error);
    return status == SKN_OK ? flush(error) : status;
}

/* Reports the counts of refused lines and unknown features. */
static void
conclude(const predict_t *predict)
{
    const skn_xmc_unknown_t *unknown = &predict->unknown;
    char text[SKN_ERROR_TEXT_BYTES];
    const char *name = skn_stream_name_shown(cli_lines_name(predict->lines));
    if (unknown->features > 0) {
        (void)snprintf(text, sizeof(text),
                       "%s:%" PRIu64 ":%" PRIu64 ": %" PRIu64 " feature%s, in "
                       "%" PRIu64 " line%s, that the model does not have %s "
                       "left out (%s here)",
                       name, unknown->line, unknown->column, unknown->features,
                       unknown->features == 1 ? "" : "s", unknown->points,
                       unknown->points == 1 ? "" : "s",
                       unknown->features == 1 ? "was" : "were",
                       unknown->features == 1 ? "it is" : "the first is");
        cli_warn(predict->call, text, "--strict refuses them");
    }
    if (predict->refused > 0) {
        (void)snprintf(text, sizeof(text),
                       "%s: %" PRIu64 " of %" PRIu64 " lines %s refused, and "
                       "%s an empty answer",
                       name, predict->refused, cli_lines_number(predict->lines),
                       predict->refused == 1 ? "was" : "were",
                       predict->refused == 1 ? "has" : "have");
        cli_warn(predict->call, text, "--strict ends at the first of them");
    }
}

/* Reads line after line; answers when there are enough, or no more for now. */
static skn_status_t
stream(predict_t *predict, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (;;) {
        const char *text = NULL;
        size_t bytes = 0;
        bool more = false, wait = predict->count == 0;
        status =
            cli_lines_next(predict->lines, wait, &text, &bytes, &more, error);
        if (status != SKN_OK || (bytes == SIZE_MAX && !more))
            break;
        if (more) {
            status = answer(predict, error);
            if (status != SKN_OK)
                return status;
            continue;
        }
        skn_xmc_line_t line = { text, bytes, cli_lines_name(predict->lines),
                                cli_lines_number(predict->lines) };
        status = take_line(predict, &line, error);
        if (status == SKN_OK && predict->count == LINES_MAX)
            status = answer(predict, error);
        if (status != SKN_OK)
            break;
    }
    /* The lines before an error are still answered. */
    skn_error_t nothing = { 0 };
    skn_status_t last = answer(predict, status == SKN_OK ? error : &nothing);
    conclude(predict);
    return status == SKN_OK ? last : status;
}

/* --- the verb ------------------------------------------------------------ */

static skn_status_t
read_options(predict_t *predict, skn_error_t *error)
{
    predict->k = LABELS_DEFAULT;
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
    (void)snprintf(text, sizeof(text),
                   "%.200s has %zu names, the model has %u labels", path,
                   predict->names.count, labels);
    cli_warn(predict->call, text,
             predict->names.count < labels
                 ? "those without a name are printed as numbers"
                 : "names beyond the last label are not used");
}

static skn_status_t
open_all(predict_t *predict, skn_error_t *error)
{
    const cli_call_t *call = predict->call;
    const char *names = cli_value(call, "labels");
    const char *lines = call->operand_count > 1 ? call->operands[1] : "-";
    skn_status_t status = read_options(predict, error);
    if (status == SKN_OK && names && strcmp(names, "-") == 0 &&
        strcmp(lines, "-") == 0) {
        (void)skn_fail(error, SKN_USAGE,
                       "--labels and the lines are both standard input");
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
    if (predict->k > info->label_count)
        predict->k = info->label_count;
    status = cli_index(call, predict->predictor, error);
    if (status == SKN_OK && names)
        status = cli_names_read(&predict->names, names, error);
    if (status != SKN_OK)
        return status;
    if (names && predict->names.count != info->label_count)
        warn_names(predict, names);
    predict->lines = cli_lines_open(lines, error);
    return predict->lines ? SKN_OK : error->status;
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
    skn_xmc_point_init(&predict->point);
    skn_status_t status = open_all(predict, &error);
    if (status == SKN_OK)
        status = stream(predict, &error);
    skn_predictor_close(&predict->predictor);
    cli_lines_close(&predict->lines);
    cli_names_fini(&predict->names);
    skn_xmc_point_fini(&predict->point);
    free(predict->feature);
    free(predict->value);
    free(predict);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "top", 'k', "N", "labels per line (default 5)" },
    { "threshold", 0, "X", "leave out labels less probable than X" },
    { "labels", 0, "FILE", "names of the labels, one per line" },
    { "strict", 0, NULL, "stop at the first line with an error" },
    CLI_INDEX_OPTIONS,
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_predict = {
    .name = "predict",
    .help = "print the best labels of each line of data",
    .operands = "PATH [FILE]",
    .operands_min = 1,
    .operands_max = 2,
    .options = options,
    .description =
        "PATH is a run folder (its best model, or its newest), a checkpoint\n"
        "in one, or the folder with those of a run's nodes.\n"
        "Lines come from FILE, or from standard input (-), as in data files:\n"
        "labels, which are ignored, then feature:value; a line that begins\n"
        "with a space or with a feature:value has none. In `3 9`, 3 is a\n"
        "label and 9 a feature with the value 1. Each line is answered by one\n"
        "line, at once: label:probability, best first. A softmax sums\n"
        "to 1 over all labels of the model; with --index, over the labels\n"
        "that the index finds.\n"
        "Features that the model does not have are left out, and counted in a\n"
        "warning at the end. A line that cannot be read or ranked gets an\n"
        "empty answer and an error on standard error; with --json an event\n"
        "`error` takes the place of its answer. Neither changes the exit\n"
        "code, unless --strict is given: it stops at the first such line.\n"
        "Comments (#) at the top and a header of three whole numbers after\n"
        "them get no answer.\n"
        "    echo '17:0.5 4:1' | skein predict runs/x -k 3",
    .run = predict_run,
};
