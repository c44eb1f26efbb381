/* plan.c - prints the plan of a model for a machine of a given shape.
 *
 * Usage: golden_plan UNITS topology|model|dot|text FILE [KEY=VALUE...] As
 * `skein plan`, but the number of processing units is an argument and the run
 * has a fixed id and folder: the text is the same on every machine.
 * tests/golden.py compares it with the text that is checked in.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "topology/plan/cost.h"
#include "topology/plan/plan.h"

static int
print_spec(const skn_plan_t *plan, const char *form, skn_problems_t *problems,
           skn_error_t *error)
{
    skn_plan_start_t start = { .run_path = "run",
                               .run_id = "00000000000000000000000000000001",
                               .config_text = "skein: 1\n" };
    skn_spec_t *spec = skn_plan_wire(plan, &start, skn_kinds, problems);
    if (!spec)
        return 1;
    (void)printf("# %u units, %llu parameters, %llu batches an epoch, %llu in "
                 "all, %llu bytes\n",
                 plan->units, (unsigned long long)plan->parameters,
                 (unsigned long long)plan->batches_per_epoch,
                 (unsigned long long)plan->total_batches,
                 (unsigned long long)plan->memory_bytes);
    if (skn_cost_print(plan, stdout, error) != SKN_OK)
        return 1;
    skn_status_t status;
    if (strcmp(form, "text") == 0)
        status = skn_spec_text(spec, stdout, error);
    else
        status = strcmp(form, "dot") == 0 ? skn_spec_dot(spec, stdout, error)
                                          : skn_spec_print(spec, stdout, error);
    skn_spec_destroy(&spec);
    return status != SKN_OK;
}

/* What `auto` chose, and why, without the rest of the model. */
static int
print_reasons(skn_plan_t *plan, const skn_model_t *model, skn_error_t *error)
{
    if (skn_model_write_why(model, &plan->reasons, NULL, error) != SKN_OK)
        return 1;
    for (size_t k = 0; k < plan->reasons.count; k++)
        (void)printf("%s: %s  # %s\n", plan->reasons.at[k].key,
                     plan->reasons.at[k].value, plan->reasons.at[k].note);
    return 0;
}

int
main(int count, char **words)
{
    skn_error_t error = { 0 };
    skn_plan_t plan;
    skn_model_t *model = NULL;
    int code = 1;
    if (count < 4)
        return 64;
    skn_problems_t *problems = skn_problems_new(&error);
    uint32_t units = (uint32_t)strtoul(words[1], NULL, 10);
    if (problems &&
        skn_model_read(words[3], (const char *const *)words + 4,
                       (size_t)count - 4, &model, problems, &error) == SKN_OK &&
        skn_plan_make(&plan, model, units, &error) == SKN_OK) {
        if (strcmp(words[2], "model") == 0)
            code = skn_model_write(model, stdout, &error) != SKN_OK;
        else if (strcmp(words[2], "why") == 0)
            code = print_reasons(&plan, model, &error);
        else
            code = print_spec(&plan, words[2], problems, &error);
    }
    if (code != 0) { /* a refusal is a text to be compared, too */
        if (problems && skn_problems_count(problems) > 0)
            skn_problems_print(problems, stdout);
        else
            (void)printf("%s%s%s\n", error.text, error.hint[0] ? "; " : "",
                         error.hint);
    }
    skn_model_destroy(&model);
    skn_problems_destroy(&problems);
    return 0;
}
