/* verb_convert.c - skein convert: writes the rows of a file in another format.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/base/verbs.h"
#include "skein/convert.h"

/* The bad rows that are reported one by one on standard error. */
#define BAD_ROWS_SHOWN 10u

typedef struct refusals {
    uint64_t count;
} refusals_t;

static void
on_refused(void *listener, const skn_error_t *why)
{
    refusals_t *refusals = listener;
    if (refusals->count++ < BAD_ROWS_SHOWN)
        cli_print_sentence("skein: ", why->text, why->hint);
    if (refusals->count == BAD_ROWS_SHOWN)
        (void)fputs("skein: further bad rows are only counted\n", stderr);
}

/* Says what was left out and what the format could not hold, once. */
static void
warn_changes(const cli_call_t *call, const skn_converted_t *converted)
{
    char text[SKN_ERROR_TEXT_BYTES];
    const uint64_t columns = converted->left_out_columns;
    if (columns > 0) {
        (void)snprintf(text, sizeof(text), "%" PRIu64 " column%s left out: %s",
                       columns, columns == 1 ? " is" : "s are",
                       converted->left_out);
        cli_warn(call, text, "--text COLUMN,... takes several");
    }
    const struct {
        uint64_t count;
        const char *what, *hint;
    } changes[] = {
        { converted->changed_labels, "label",
          "'_' is in place of blanks, or of what divides labels" },
        { converted->changed_texts, "text",
          "line ends, __label__ and what is not UTF-8 were replaced" },
    };
    for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++) {
        if (changes[k].count == 0)
            continue;
        (void)snprintf(text, sizeof(text),
                       "%" PRIu64 " %s%s had characters that %s cannot hold",
                       changes[k].count, changes[k].what,
                       changes[k].count == 1 ? "" : "s", converted->to);
        cli_warn(call, text, changes[k].hint);
    }
}

static void
print_converted(const cli_call_t *call, const skn_converted_t *converted)
{
    const char *in = call->operands[0], *out = call->operands[1];
    if (!call->json) {
        cli_print_paths(in);
        (void)printf(" (%s): %" PRIu64 " row%s", converted->from,
                     converted->rows, converted->rows == 1 ? "" : "s");
        if (converted->bad_rows > 0)
            (void)printf(", %" PRIu64 " left out", converted->bad_rows);
        cli_print_path(" -> ", out, "");
        (void)printf(" (%s)\n", converted->to);
        return;
    }
    (void)fputs("{\"event\":\"converted\",\"path\":", stdout);
    cli_json_string(in, stdout);
    (void)printf(",\"format\":\"%s\",\"to\":", converted->from);
    cli_json_string(out, stdout);
    (void)printf(",\"to_format\":\"%s\",\"rows\":%" PRIu64
                 ",\"bad_rows\":%" PRIu64 ",\"changed_labels\":%" PRIu64
                 ",\"changed_texts\":%" PRIu64 "}\n",
                 converted->to, converted->rows, converted->bad_rows,
                 converted->changed_labels, converted->changed_texts);
}

static int
convert_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    refusals_t refusals = { 0 };
    skn_converted_t converted = { .struct_bytes = sizeof(converted) };
    const skn_convert_options_t options = {
        .struct_bytes = sizeof(options),
        .strict = cli_flag(call, "strict"),
        .format = cli_value(call, "format"),
        .to = cli_value(call, "to"),
        .text_columns = cli_value(call, "text"),
        .label_column = cli_value(call, "labels"),
        .label_separator = cli_value(call, "separator"),
        .refused = cli_flag(call, "strict") ? NULL : on_refused,
        .listener = &refusals,
    };
    if (skn_rows_convert(call->operands[0], call->operands[1], &options,
                         &converted, &error) != SKN_OK)
        return cli_report(call, &error);
    warn_changes(call, &converted);
    print_converted(call, &converted);
    return 0;
}

static const cli_option_t options[] = {
    { "text", 0, "COLUMNS", "columns of text, separated by commas (text)" },
    { "labels", 0, "COLUMN", "column of labels (labels)" },
    { "separator", 0, "TEXT", "what divides labels in their column" },
    { "format", 0, "NAME", "format of IN: fasttext, csv, tsv, json or points" },
    { "to", 0, "NAME", "format of OUT, also svmlight, xmc; or its ending" },
    { "strict", 0, NULL, "stop at the first bad row" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_convert = {
    .name = "convert",
    .help = "write the rows of a data file in another format",
    .operands = "IN... OUT",
    .operands_min = 2,
    .operands_max = 2,
    .several = 1,
    .options = options,
    .description =
        "Rows have texts and labels: those of fastText (.ft, .txt), CSV\n"
        "(.csv), TSV (.tsv) and JSON lines (.jsonl). The first line of IN (-:\n"
        "standard input) says its format, the ending of OUT that of OUT; with\n"
        ".gz or .zst behind it OUT is packed. OUT must not exist; it is there\n"
        "when it is whole.\n"
        "What divides the labels of a column is found as by `skein train`; an\n"
        "empty --separator means that it is one label. OUT has the same, or\n"
        "';' where IN has none.\n"
        "A label of fastText has no blanks: '_' takes their place, and so it\n"
        "does where a label has what divides labels. A warning counts them. A\n"
        "row that cannot be read is named on standard error and left out.\n"
        "With svmlight (.svm) or xmc (.xmc, with a header) OUT has numbered\n"
        "features: a word is one, and its value how often the row has it.\n"
        "OUT.labels and OUT.features have the names, the first line that of\n"
        "number 0. Such rows are read twice, so IN must be a file. It may\n"
        "have numbered features, too, which cannot become texts.\n"
        "    skein convert titles.csv titles.jsonl.zst --text title,body\n"
        "    skein convert titles.csv titles.svm --text title",
    .run = convert_run,
};
