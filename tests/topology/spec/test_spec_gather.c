/* test_spec_gather.c - tests that pipes gather if and only if the handler takes
 * parts: otherwise a handler would read one as the other. Covers what
 * topology/spec/spec_pipes.c requires of the built-in kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "topology/spec/draft.h"

TestSuite(spec_gather, .timeout = 60);

static const struct {
    const char *kind, *option[10][2];
} options[] = {
    { "source",
      { { "train", "a" },
        { "features", "3" },
        { "labels", "6" },
        { "batch_rows", "2" },
        { "owners", "1" } } },
    { "embedding",
      { { "features", "3" }, { "column_count", "8" }, { "batch_rows", "2" } } },
    { "dense",
      { { "inputs", "8" },
        { "units", "8" },
        { "row_count", "8" },
        { "batch_rows", "2" } } },
    { "output",
      { { "labels", "6" },
        { "row_count", "6" },
        { "hidden", "8" },
        { "batch_rows", "2" } } },
    { "updater",
      { { "layer_name", "top" },
        { "rows", "6" },
        { "width", "9" },
        { "global_rows", "6" },
        { "global_columns", "8" } } },
    { "table_builder",
      { { "labels", "6" },
        { "row_count", "6" },
        { "hidden", "8" },
        { "batch_rows", "2" } } },
    { "evaluator",
      { { "train", "a" }, { "features", "3" }, { "labels", "6" } } },
    { "keeper", { { "path", "run" }, { "owners", "1" } } },
    { "course", { { "batches_per_epoch", "2" }, { "epochs", "1" } } },
};

static void
add_actor(skn_draft_t *draft, const char *name, const skn_kind_t *kind)
{
    skn_draft_actor(draft, name, kind->name, SKN_CORE_FLOAT, 0);
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        for (size_t o = 0; strcmp(options[k].kind, kind->name) == 0 &&
                           options[k].option[o][0];
             o++)
            skn_draft_option(draft, options[k].option[o][0], "%s",
                             options[k].option[o][1]);
}

/* The problems of a pipe between two actors of built-in kinds, as printed; ""
 * if there is none. The caller frees it. */
static char *
problems_of(const skn_kind_t *from, const skn_kind_t *to,
            const skn_schema_t *schema, bool gathers)
{
    const char *const senders[] = { "from", NULL };
    const char *const receivers[] = { "to", NULL };
    skn_draft_pipe_t pipe = { .from = senders,
                              .to = receivers,
                              .message = schema->name,
                              .pattern = "one",
                              .collect = gathers ? "gather" : NULL,
                              .by = gathers ? "batch" : NULL,
                              .credit = 4 };
    char *text = NULL;
    size_t bytes = 0;
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_draft_t *draft = skn_draft_new("t.yaml", "t", problems);
    add_actor(draft, "from", from);
    add_actor(draft, "to", to);
    skn_draft_pipe(draft, &pipe);
    skn_spec_t *spec = skn_draft_finish(&draft, skn_kinds, problems);
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    if (!spec)
        skn_problems_print(problems, file);
    cr_assert_eq(fclose(file), 0);
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
    return text;
}

static bool
stands_in(const skn_schema_t *const *list, const skn_schema_t *schema)
{
    while (*list && *list != schema)
        list++;
    return *list != NULL;
}

static bool
has_batch(const skn_schema_t *schema)
{
    for (size_t k = 0; k < schema->field_count; k++)
        if (strcmp(schema->fields[k].name, "batch") == 0)
            return true;
    return false;
}

/* Both ways of every pipe that may join two built-in kinds. */
static size_t
try_pipe(const skn_kind_t *from, const skn_kind_t *to,
         const skn_schema_t *schema)
{
    char want[256];
    bool takes_parts = stands_in(to->gathers, schema);
    char *alone = problems_of(from, to, schema, false);
    (void)snprintf(want, sizeof(want),
                   "to (%s) takes '%s' gathered, one part of every sender; add "
                   "collect: gather, by: batch",
                   to->name, schema->name);
    cr_expect_eq(strstr(alone, want) != NULL, takes_parts, "%s", alone);
    free(alone);
    if (!has_batch(schema))
        return 1;
    char *parts = problems_of(from, to, schema, true);
    (void)snprintf(want, sizeof(want),
                   "to (%s) takes '%s' one by one; leave gather out", to->name,
                   schema->name);
    cr_expect_eq(strstr(parts, want) != NULL, !takes_parts, "%s", parts);
    free(parts);
    return 1;
}

Test(spec_gather, every_pipe_between_two_kinds_gathers_where_it_must)
{
    size_t pipes = 0;
    for (size_t a = 0; skn_kinds[a]; a++)
        for (size_t b = 0; skn_kinds[b]; b++)
            for (size_t m = 0; skn_kinds[a]->sends[m]; m++) {
                const skn_schema_t *schema = skn_kinds[a]->sends[m];
                const skn_handler_t *handler = skn_kinds[b]->handlers;
                while (handler->schema && handler->schema != schema)
                    handler++;
                if (handler->schema)
                    pipes += try_pipe(skn_kinds[a], skn_kinds[b], schema);
            }
    cr_expect_gt(pipes, 25);
}

Test(spec_gather, every_kind_says_what_it_gathers)
{
    size_t gathered = 0;
    for (size_t k = 0; skn_kinds[k]; k++) {
        cr_assert(skn_kinds[k]->gathers, "%s", skn_kinds[k]->name);
        for (size_t m = 0; skn_kinds[k]->gathers[m]; m++) {
            const skn_handler_t *handler = skn_kinds[k]->handlers;
            while (handler->schema &&
                   handler->schema != skn_kinds[k]->gathers[m])
                handler++;
            cr_expect(handler->schema, "%s does not handle %s",
                      skn_kinds[k]->name, skn_kinds[k]->gathers[m]->name);
            gathered++;
        }
    }
    cr_expect_eq(gathered, 15);
}

/* A kind that does not say is believed: those of older plug-ins. */
Test(spec_gather, a_kind_that_does_not_say_is_believed)
{
    static skn_kind_t silent, output;
    const skn_kind_t *const kinds[] = { &silent, &output, NULL };
    const char *const senders[] = { "from", NULL };
    const char *const receivers[] = { "to", NULL };
    silent = skn_evaluator;
    silent.gathers = NULL;
    output = skn_output;
    output.needs = NULL;        /* there is but one pipe here */
    output.start = output.open; /* it may begin by itself */
    for (int gathers = 0; gathers < 2; gathers++) {
        skn_draft_pipe_t pipe = { .from = senders,
                                  .to = receivers,
                                  .message = "ranking",
                                  .pattern = "one",
                                  .collect = gathers ? "gather" : NULL,
                                  .by = gathers ? "batch" : NULL,
                                  .credit = 4 };
        skn_problems_t *problems = skn_problems_new(NULL);
        skn_draft_t *draft = skn_draft_new("t.yaml", "t", problems);
        add_actor(draft, "from", &output);
        add_actor(draft, "to", &silent);
        skn_draft_pipe(draft, &pipe);
        skn_spec_t *spec = skn_draft_finish(&draft, kinds, problems);
        cr_expect(spec);
        skn_spec_destroy(&spec);
        skn_problems_destroy(&problems);
    }
}
