/* test_combinations.c - tests options that need, or exclude, each other.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/combinations.h"
#include "cli/base/verbs.h"

static const cli_option_t *
option_of(const cli_verb_t *verb, const char *name)
{
    for (const cli_option_t *option = verb->options; option->name; option++)
        if (strcmp(option->name, name) == 0)
            return option;
    cr_assert_fail("%s has no --%s", verb->name, name);
    return NULL;
}

/* The status of `verb` with these options; "" is none. */
static skn_status_t
status_of(const cli_verb_t *verb, const char *one, const char *two,
          const char *three, skn_error_t *error)
{
    static cli_call_t call;
    const char *names[] = { one, two, three };
    call = (cli_call_t){ .verb = verb };
    for (size_t k = 0; k < 3; k++)
        if (names[k][0]) {
            call.given[call.given_count].value = "1";
            call.given[call.given_count++].option = option_of(verb, names[k]);
        }
    return cli_combinations_check(&call, error);
}

Test(combinations, what_one_mode_would_ignore_is_refused)
{
    static const struct {
        const cli_verb_t *verb;
        const char *one, *two, *three;
    } bad[] = {
        { &cli_up, "elastic", "", "" },
        { &cli_up, "top", "local-nodes", "" },
        { &cli_up, "resume", "predict", "" },
        { &cli_up, "predict", "elastic", "local-nodes" },
        { &cli_up, "plain", "predict", "" },
        { &cli_up, "ssh", "local-nodes", "" },
        { &cli_up, "remote-program", "local-nodes", "" },
        { &cli_node, "top", "", "" },
        { &cli_node, "from", "predict", "" },
        { &cli_predict, "lists", "", "" },
        { &cli_eval, "probes", "", "" },
        { &cli_graph, "svg", "text", "" },
        { &cli_coordinator, "progress", "", "" },
    };
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        skn_error_t error = { 0 };
        skn_status_t status = status_of(bad[k].verb, bad[k].one, bad[k].two,
                                        bad[k].three, &error);
        bool allowed = k == 3; /* an elastic run's folders are predicted from */
        cr_expect_eq(status, allowed ? SKN_OK : SKN_USAGE, "%s --%s --%s: %s",
                     bad[k].verb->name, bad[k].one, bad[k].two, error.text);
        cr_expect(allowed || error.hint[0]);
    }
}

Test(combinations, the_sentence_names_both)
{
    skn_error_t error = { 0 };
    cr_expect_eq(status_of(&cli_up, "resume", "predict", "", &error),
                 SKN_USAGE);
    cr_expect_str_eq(error.text, "--resume has no effect with --predict");
    cr_expect_eq(status_of(&cli_up, "top", "", "", &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "--top has no effect without --predict");
    cr_expect_eq(status_of(&cli_eval, "data", "override", "", &error),
                 SKN_USAGE);
    cr_expect_str_eq(error.text, "--override has no effect with --data");
}

Test(combinations, the_rest_is_allowed)
{
    skn_error_t error = { 0 };
    cr_expect_eq(status_of(&cli_up, "elastic", "local-nodes", "notes", &error),
                 SKN_OK);
    cr_expect_eq(status_of(&cli_up, "predict", "top", "wait", &error), SKN_OK);
    cr_expect_eq(status_of(&cli_train, "resume", "report", "json", &error),
                 SKN_OK);
}
