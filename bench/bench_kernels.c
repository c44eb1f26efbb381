/* bench_kernels.c - measures all kernels of an instruction set against roofs.
 *
 * Usage: bench_kernels [--json] [--runs N] [NAME]
 * Measures each kernel whose name contains NAME, with N runs behind each median
 * (25), on one core, with the instruction set that training would use
 * (SKEIN_ISA forces a lower one); first what the core can do at most:
 * operations in registers, bytes from its second-level cache and from memory. A
 * kernel's bound is the limit that it would meet first; its percentage says how
 * near it comes. Takes 15 to 30 s and 400 MB.
 *
 * Shapes are those of training: batches of 512 points, 512 hidden units and a
 * bias, 4,096 negatives and the labels of the batch.
 * SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdlib.h>

#include "actors/protocol/workspace.h"
#include "bench/bench.h"
#include "bench/kernels/roofs.h"

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

static skn_status_t
measure(bench_session_t *session, skn_error_t *error)
{
    session->kernels = skn_kernels_pick(error);
    if (!session->kernels)
        return error->status;
    session->counting = true;
    skn_status_t status = all_cases(session, error);
    if (status == SKN_OK && session->case_count == 0)
        return skn_fail(error, SKN_USAGE, "no kernel is called '%.60s'",
                        session->wanted);
    session->counting = false;
    session->case_count = 0;
    if (status == SKN_OK)
        status = bench_session_init(session, error);
    if (status == SKN_OK)
        status = all_cases(session, error);
    bench_session_fini(session);
    return status;
}

/* Reads the arguments into `session`; false: they are none of the usage. */
static bool
read_arguments(int argc, char **argv, bench_session_t *session)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "runs", required_argument, NULL, 'r' },
        { 0 },
    };
    int word;
    while ((word = getopt_long(argc, argv, "", options, NULL)) != -1) {
        char *end = optarg;
        long runs = session->runs;
        if (word == 'j')
            session->json = true;
        else if (word == 'r')
            runs = strtol(optarg, &end, 10);
        if (word == '?' || (end && *end) || runs < 1 || runs > BENCH_RUNS)
            return false;
        session->runs = (int)runs;
    }
    if (optind < argc)
        session->wanted = argv[optind++];
    return optind == argc;
}

int
main(int argc, char **argv)
{
    bench_session_t session = { .wanted = "", .runs = BENCH_RUNS };
    skn_error_t error = { 0 };
    if (!read_arguments(argc, argv, &session)) {
        (void)fprintf(stderr,
                      "usage: bench_kernels [--json] [--runs 1..%d] [NAME]\n",
                      BENCH_RUNS);
        return skn_status_exit_code(SKN_USAGE);
    }
    if (measure(&session, &error) != SKN_OK) {
        (void)fprintf(stderr, "bench_kernels: %s\n", error.text);
        return skn_status_exit_code(error.status);
    }
    if (session.json)
        printf("{\"below\":%u,\"kernels\":%u,\"wanted_percent\":%d}\n",
               session.below_count, session.case_count, BENCH_PERCENT_WANTED);
    else
        printf("%u of %u kernels below %d%% of their bound\n"
               "Above 100%%: some of its data is in a nearer cache than the "
               "one that the\n"
               "roof was measured on. bench/results/kernels.md says more.\n",
               session.below_count, session.case_count, BENCH_PERCENT_WANTED);
    return 0;
}
