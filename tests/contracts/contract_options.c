/* contract_options.c - tests every option of every kind of actor, at its limits
 * and beyond.
 *
 * The open of a kind must handle every value that its table allows: a value at
 * a limit is accepted, or refused with a message that gives the reason (memory,
 * or another option); one step beyond is refused before any actor exists. A
 * probe that fails in start with its own message shows that the actor opened.
 * Address space is bounded, so that the greatest sizes are refused quickly.
 * Covers the `open` of all kinds of actors/protocol/kinds.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/actor_probe.h"
#include "tests/support/sample_messages.h"
#include "tests/support/temp_folder.h"

/* The actors' own stacks are 8 MiB each. */
#define ADDRESS_BYTES_MAX ((rlim_t)1 << 30)
#define OPENED "it opened"

static char folder[TEMP_FOLDER_BYTES], points[TEMP_FOLDER_BYTES + 16];
static char run_path[TEMP_FOLDER_BYTES + 16];
static uint32_t run_count;

static skn_status_t
say_opened(skn_actor_t *actor, skn_error_t *error)
{
    (void)actor;
    return skn_fail(error, SKN_BUSY, OPENED);
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    (void)actor, (void)schema, (void)message, (void)error;
    return SKN_OK;
}

static void
set_up(void)
{
    struct rlimit room = { ADDRESS_BYTES_MAX, ADDRESS_BYTES_MAX };
    temp_folder_make(folder);
    /* Paths among the options are names in this folder. */
    cr_assert_eq(chdir(folder), 0);
    (void)snprintf(points, sizeof(points), "%s/points.txt", folder);
    FILE *file = fopen(points, "w");
    cr_assert(file);
    (void)fputs("4 3 6\n0 0:1\n1 1:2\n2,3 2:1\n4 0:1 2:1\n", file);
    cr_assert_eq(fclose(file), 0);
    probe.start = say_opened;
    probe.react = react;
#ifndef UNDER_ADDRESS_SANITIZER
    cr_assert_eq(setrlimit(RLIMIT_AS, &room), 0);
#else
    (void)room;
#endif
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(contract_options, .init = set_up, .fini = tear_down, .timeout = 100);

/* --- options that open ---------------------------------------------------- */

typedef struct base {
    const skn_kind_t *kind;
    const char *into;          /* a message that it takes, none is sent */
    const char *option[12][2]; /* "DATA": the points, "RUN": a new folder */
} base_t;

static const base_t bases[] = {
    { &skn_source,
      "go",
      { { "train", "DATA" },
        { "cache", "none" },
        { "features", "3" },
        { "labels", "6" },
        { "batch_rows", "2" },
        { "owners", "1" } } },
    { &skn_reader,
      "issue",
      { { "train", "DATA" },
        { "cache", "none" },
        { "features", "3" },
        { "labels", "6" },
        { "batch_rows", "2" } } },
    { &skn_embedding,
      "batch",
      { { "features", "3" },
        { "column_count", "8" },
        { "batch_rows", "2" },
        { "huge_pages", "false" } } },
    { &skn_dense,
      "halt",
      { { "inputs", "8" },
        { "units", "8" },
        { "row_count", "8" },
        { "batch_rows", "2" },
        { "huge_pages", "false" } } },
    { &skn_stage,
      "halt",
      { { "decoder_layers", "1" },
        { "stage_layers", "1" },
        { "width", "16" },
        { "heads", "2" },
        { "inner", "16" },
        { "context", "2" },
        { "batch_rows", "2" },
        { "huge_pages", "false" } } },
    { &skn_output,
      "labels",
      { { "labels", "6" },
        { "row_count", "6" },
        { "hidden", "8" },
        { "batch_rows", "2" },
        { "cache", "none" },
        { "huge_pages", "false" } } },
    { &skn_clipper, "gradient_norm", { { "max_norm", "1" } } },
    { &skn_combiner,
      "partition",
      { { "shards", "2" },
        { "leaves", "2" },
        { "leaf_count", "2" },
        { "columns", "8" },
        { "batch_rows", "2" } } },
    { &skn_updater,
      "save",
      { { "layer_name", "top" },
        { "rows", "6" },
        { "width", "9" },
        { "global_rows", "6" },
        { "global_columns", "8" },
        { "huge_pages", "false" } } },
    { &skn_table_builder,
      "dirty",
      { { "labels", "6" },
        { "row_count", "6" },
        { "hidden", "8" },
        { "batch_rows", "2" },
        { "sampler", "simhash" },
        { "uniform_rows", "2" },
        { "tables", "2" },
        { "bits", "2" } } },
    { &skn_evaluator,
      "labels",
      { { "train", "DATA" },
        { "cache", "none" },
        { "features", "3" },
        { "labels", "6" } } },
    { &skn_keeper, "save", { { "path", "RUN" }, { "owners", "1" } } },
    { &skn_course,
      "saved",
      { { "batches_per_epoch", "2" }, { "epochs", "1" } } },
};
#define BASE_COUNT (sizeof(bases) / sizeof(bases[0]))

static const char *
text_of(const char *text)
{
    if (strcmp(text, "DATA") == 0)
        return points;
    if (strcmp(text, "RUN") != 0)
        return text;
    (void)snprintf(run_path, sizeof(run_path), "%s/run%u", folder, run_count++);
    return run_path;
}

static void
take_base(const base_t *base)
{
    memset(probe.option, 0, sizeof(probe.option));
    memset(&probe.error, 0, sizeof(probe.error));
    probe.kind = base->kind;
    probe.to[0] = base->into;
    probe.gathered[0] = base->kind == &skn_clipper ? base->into : NULL;
    for (size_t k = 0; base->option[k][0]; k++)
        probe_option(base->option[k][0], text_of(base->option[k][1]));
}

/* --- what becomes of a value ---------------------------------------------- */

/* The refusal of a topology with these options, or NULL: it is taken. The
 * caller frees it. */
static char *
refusal(void)
{
    skn_error_t error = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    skn_problems_t *problems = skn_problems_new(&error);
    skn_spec_t *spec = probe_spec(problems);
    if (!spec) {
        FILE *file = open_memstream(&text, &bytes);
        cr_assert(file);
        skn_problems_print(problems, file);
        cr_assert_eq(fclose(file), 0);
    }
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
    return text;
}

/* Refused before there is an actor, with a line that names the option. */
static void
expect_refused(const base_t *base, const char *name, const char *value)
{
    take_base(base);
    probe_option(name, value);
    char *text = refusal();
    cr_expect(text, "%s: %s = '%.40s' is taken", base->kind->name, name, value);
    cr_expect(!text || strstr(text, name), "%s: %s = '%.40s': %s",
              base->kind->name, name, value, text);
    free(text);
}

/* It opens, or says in a sentence why not: no bug, no crash, no silence. */
static void
expect_borne(const base_t *base, const char *name, const char *value)
{
    take_base(base);
    probe_option(name, value);
    char *text = refusal();
    if (text) { /* a word about several options, such as a text of none */
        cr_expect(strstr(text, name), "%s: %s = '%.40s': %s", base->kind->name,
                  name, value, text);
        free(text);
        return;
    }
    probe_run();
    if (probe.status == SKN_BUSY) {
        cr_expect_str_eq(probe_said(OPENED), OPENED);
        return;
    }
    cr_expect(probe.status != SKN_OK && probe.status != SKN_INTERNAL &&
                  probe.status != SKN_BAD_MESSAGE,
              "%s: %s = '%.40s': status %d", base->kind->name, name, value,
              (int)probe.status);
    cr_expect_gt(strlen(probe.error.text), 10, "%s: %s = '%.40s': '%s'",
                 base->kind->name, name, value, probe.error.text);
}

static void
try_number(const base_t *base, const skn_option_t *option, double value,
           bool is_within)
{
    char text[64];
    bool whole = option->type == SKN_OPTION_INT;
    (void)snprintf(text, sizeof(text), whole ? "%.0f" : "%.17g", value);
    if (is_within)
        expect_borne(base, option->name, text);
    else
        expect_refused(base, option->name, text);
}

static void
try_numbers(const base_t *base, const skn_option_t *option)
{
    double step = option->type == SKN_OPTION_INT ? 1.0 : 1e-6;
    step = option->max > 1e9 ? option->max * 1e-6 : step;
    try_number(base, option, option->min, true);
    try_number(base, option, option->max, true);
    try_number(base, option, option->max - step, true);
    try_number(base, option, option->max + step, false);
    try_number(base, option, option->min - 1, false);
    try_number(base, option, -1e300, false);
    expect_refused(base, option->name, "nan");
    expect_refused(base, option->name, "inf");
    expect_refused(base, option->name, "");
    expect_refused(base, option->name, "1x");
    if (option->type == SKN_OPTION_INT)
        expect_refused(base, option->name, "1.5");
}

static void
try_choices(const base_t *base, const skn_option_t *option)
{
    char choices[256];
    char *rest = NULL;
    (void)snprintf(choices, sizeof(choices), "%s", option->choices);
    for (char *choice = strtok_r(choices, "|", &rest); choice;
         choice = strtok_r(NULL, "|", &rest))
        expect_borne(base, option->name, choice);
    expect_refused(base, option->name, option->choices);
    expect_refused(base, option->name, "Fixed ");
    expect_refused(base, option->name, "");
}

static void
try_texts(const base_t *base, const skn_option_t *option)
{
    static char longest[SKN_TEXT_MAX + 2];
    memset(longest, 'x', SKN_TEXT_MAX);
    longest[SKN_TEXT_MAX] = '\0';
    expect_borne(base, option->name, "nowhere");
    expect_borne(base, option->name, "../\"odd\"\tname");
    expect_borne(base, option->name, "\xc3\xa4/\xe2\x82\xac");
    expect_borne(base, option->name, longest);
    longest[200] = '\0';
    expect_borne(base, option->name, longest);
}

static void
try_option(const base_t *base, const skn_option_t *option)
{
    switch (option->type) {
    case SKN_OPTION_INT:
    case SKN_OPTION_REAL:
        try_numbers(base, option);
        break;
    case SKN_OPTION_BOOL:
        expect_borne(base, option->name, "true");
        expect_borne(base, option->name, "false");
        expect_refused(base, option->name, "2");
        expect_refused(base, option->name, "maybe");
        break;
    case SKN_OPTION_CHOICE:
        try_choices(base, option);
        break;
    default:
        try_texts(base, option);
        break;
    }
}

static void
try_kind(const skn_kind_t *kind)
{
    for (size_t k = 0; k < BASE_COUNT; k++) {
        const skn_option_t *option = bases[k].kind->options;
        for (; bases[k].kind == kind && option->name; option++)
            try_option(&bases[k], option);
    }
}

/* --- tests ---------------------------------------------------------------- */

Test(contract_options, every_kind_has_a_base_here_and_it_opens)
{
    size_t count = 0;
    for (; skn_kinds[count]; count++)
        ;
    cr_assert_eq(count, BASE_COUNT, "a kind is missing here");
    for (size_t k = 0; k < BASE_COUNT; k++) {
        take_base(&bases[k]);
        probe_run();
        cr_expect_str_eq(probe_said(OPENED), OPENED, "%s: %s",
                         bases[k].kind->name, probe.error.text);
    }
}

Test(contract_options, what_is_required_is_missed)
{
    for (size_t k = 0; k < BASE_COUNT; k++)
        for (size_t o = 0; bases[k].kind->options[o].name; o++) {
            const skn_option_t *option = &bases[k].kind->options[o];
            if (option->fallback)
                continue;
            base_t less = bases[k];
            size_t at = 0;
            while (less.option[at][0] &&
                   strcmp(less.option[at][0], option->name) != 0)
                at++;
            cr_assert(less.option[at][0], "%s: %s", less.kind->name,
                      option->name);
            memmove(&less.option[at], &less.option[at + 1],
                    (11 - at) * sizeof(less.option[0]));
            take_base(&less);
            char *text = refusal();
            cr_expect(text && strstr(text, option->name), "%s: %s: %s",
                      less.kind->name, option->name, text ? text : "taken");
            free(text);
        }
}

Test(contract_options, an_option_that_no_table_has_is_refused)
{
    for (size_t k = 0; k < BASE_COUNT; k++) {
        expect_refused(&bases[k], "colour", "blue");
        expect_refused(&bases[k], "seeds", "1");
    }
}

#define TRY_KIND(name)                                                         \
    Test(contract_options, name##_bears_its_limits)                            \
    {                                                                          \
        try_kind(&skn_##name);                                                 \
    }
TRY_KIND(source)
TRY_KIND(reader)
TRY_KIND(embedding)
TRY_KIND(dense)
TRY_KIND(output)
TRY_KIND(combiner)
TRY_KIND(updater)
TRY_KIND(table_builder)
TRY_KIND(evaluator)
TRY_KIND(keeper)
TRY_KIND(course)
