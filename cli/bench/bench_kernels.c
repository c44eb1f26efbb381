/* bench_kernels.c - measures all kernels of an instruction set against roofs.
 *
 * Shapes are those of training: batches of 512 points, 512 hidden units and a
 * bias, 4,096 negatives and the labels of the batch.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/bench_kernels.h"

#include "actors/protocol/workspace.h"
#include "cli/bench/bench_roofs.h"

/* Runs all cases, or only counts them while `session->counting`. */
static skn_status_t
all_cases(bench_session_t *session, skn_error_t *error)
{
    skn_status_t status = bench_products(session, error);
    if (status == SKN_OK) {
        bench_table(session);
        bench_rows(session);
    }
    return status;
}

skn_status_t
skn_bench_kernels(FILE *out, bool json, const char *wanted, int runs,
                  skn_error_t *error)
{
    bench_session_t session = {
        .out = out, .json = json, .wanted = wanted, .runs = runs
    };
    session.kernels = skn_kernels_pick(error);
    if (!session.kernels)
        return error->status;
    session.counting = true;
    skn_status_t status = all_cases(&session, error);
    if (status == SKN_OK && session.case_count == 0) {
        (void)skn_fail(error, SKN_USAGE, "no kernel is called '%.60s'", wanted);
        return skn_fail_hint(error, SKN_USAGE, "see skein bench kernels");
    }
    session.counting = false;
    session.case_count = 0;
    if (status == SKN_OK)
        status = bench_session_init(&session, error);
    if (status == SKN_OK)
        status = all_cases(&session, error);
    bench_session_fini(&session);
    if (status != SKN_OK)
        return status;
    if (json)
        fprintf(out, "{\"below\":%u,\"kernels\":%u,\"wanted_percent\":%d}\n",
                session.below_count, session.case_count, BENCH_PERCENT_WANTED);
    else
        fprintf(out,
                "%u of %u kernels below %d%% of their bound\n"
                "Above 100%%: some of its data is in a nearer cache than the "
                "one that the\n"
                "roof was measured on. bench/results/kernels.md says more.\n",
                session.below_count, session.case_count, BENCH_PERCENT_WANTED);
    return SKN_OK;
}
