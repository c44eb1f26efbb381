/* ranking.c - fits a ranker to a trained network and reports it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/ranking.h"

#include <inttypes.h>

#include "topology/run/model_run.h"

skn_status_t
cli_rank(const cli_call_t *call, const char *path,
         const skn_rank_options_t *options, skn_ranker_t *ranker,
         skn_join_extra_t *extra, skn_error_t *error)
{
    skn_ranked_t ranked;
    skn_rank_options_t own = *options;
    if (own.threads == 0)
        own.threads = skn_unit_count(error);
    if (own.threads == 0)
        return error->status;
    skn_status_t status = skn_rank(ranker, path, &own, &ranked, error);
    extra->seconds = ranked.seconds;
    extra->cpu_seconds = ranked.cpu_seconds;
    if (status != SKN_OK)
        return status;
    if (call->json)
        (void)skn_text_print(
            stdout,
            "{\"event\":\"ranker\",\"trees\":%u,\"nodes\":%" PRIu64
            ",\"weights\":%" PRIu64 ",\"bytes\":%" PRIu64
            ",\"seconds\":%.3f,\"cpu_seconds\":%.3f}\n",
            own.trees, ranked.nodes, ranked.weights, ranked.bytes,
            ranked.seconds, ranked.cpu_seconds);
    else
        (void)skn_text_print(
            stdout,
            "ranker %u tree%s, %" PRIu64 " nodes, %.1f million "
            "weights, %" PRIu64 " MiB, in %.1f s (%.1f CPU s)\n",
            own.trees, own.trees > 1 ? "s" : "", ranked.nodes,
            (double)ranked.weights * 1e-6, ranked.bytes >> 20, ranked.seconds,
            ranked.cpu_seconds);
    (void)fflush(stdout);
    return SKN_OK;
}
