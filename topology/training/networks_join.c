/* networks_join.c - joins networks for a host, with a ranker if it wants one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "formats/checkpoint/checkpoint.h"
#include "formats/text/abi.h"
#include "skein/join.h"
#include "skein/limits.h"
#include "topology/predict/calibrate.h"
#include "topology/predict/join.h"
#include "topology/predict/rank.h"
#include "topology/training/networks.h"

#define JOIN_OPTIONS_MIN sizeof(skn_join_options_t)
/* The struct of the first version ends with this member. */
#define JOINED_BYTES_MIN                                                       \
    (offsetof(skn_joined_t, ranker_cpu_seconds) + sizeof(double))

static skn_status_t
check_call(const char *into, const char *const *paths, size_t count,
           const skn_join_options_t *options, const skn_joined_t *joined,
           skn_error_t *error)
{
    if (!into || !paths || !joined)
        return skn_fail(error, SKN_USAGE, "skn_networks_join: %s NULL",
                        !into    ? "the folder is"
                        : !paths ? "the paths are"
                                 : "the result is");
    for (size_t k = 0; k < count; k++)
        if (!paths[k])
            return skn_fail(error, SKN_USAGE, "path %zu is NULL", k);
    skn_status_t status =
        options
            ? skn_abi_check_grown("the join's options", options->struct_bytes,
                                  JOIN_OPTIONS_MIN, sizeof(*options), error)
            : SKN_OK;
    if (status == SKN_OK)
        status = skn_abi_check_grown("the join's result", joined->struct_bytes,
                                     JOINED_BYTES_MIN, sizeof(*joined), error);
    if (status != SKN_OK)
        return status;
    if (options && options->trees > SKN_RANKER_TREES_MAX)
        return skn_fail(error, SKN_USAGE,
                        "a ranker of %u trees was requested, at most %u "
                        "allowed",
                        options->trees, SKN_RANKER_TREES_MAX);
    return SKN_OK;
}

/* Refuses a folder that is taken before a ranker is fitted, which takes long.
 * `train` removes its networks after the join. */
static skn_status_t
check_folder(const char *into, skn_error_t *error)
{
    skn_error_t none = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(into, SKN_VERIFY_LAZY, &none);
    bool taken = checkpoint != NULL;
    skn_checkpoint_close(&checkpoint);
    if (skn_networks_begun(into, 0))
        (void)skn_fail(error, SKN_CANNOT_CREATE,
                       "%.200s holds networks of `skein train`", into);
    else if (taken)
        (void)skn_fail(error, SKN_CANNOT_CREATE, "%.200s holds a run already",
                       into);
    else
        return SKN_OK;
    return skn_fail_hint(error, SKN_CANNOT_CREATE, "choose another folder");
}

static skn_status_t
fit_ranker(const char *path, const skn_join_options_t *options,
           skn_ranker_t *ranker, skn_ranked_t *ranked, skn_error_t *error)
{
    skn_rank_options_t how = {
        .trees = options->trees,
        .threads = options->threads ? options->threads : skn_unit_count(error),
    };
    if (how.threads == 0)
        return error->status;
    return skn_rank(ranker, path, &how, ranked, error);
}

skn_status_t
skn_networks_join(const char *into, const char *const *paths, size_t count,
                  const skn_join_options_t *options, skn_joined_t *joined,
                  skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_joined_t made = { 0 };
    skn_ranker_t ranker = { 0 };
    skn_ranked_t ranked = { 0 };
    if (!error)
        error = &own;
    skn_status_t status =
        check_call(into, paths, count, options, joined, error);
    if (status == SKN_OK)
        status = check_folder(into, error);
    bool ranks = options && options->trees > 0 && count > 0;
    if (status == SKN_OK && ranks)
        status = fit_ranker(paths[0], options, &ranker, &ranked, error);
    const skn_join_extra_t extra = {
        .ranker = &ranker,
        .seconds = ranked.seconds,
        .cpu_seconds = ranked.cpu_seconds,
    };
    if (status == SKN_OK)
        status =
            skn_join(into, paths, count, ranks ? &extra : NULL, &made, error);
    skn_ranker_fini(&ranker);
    if (status != SKN_OK)
        return status;
    skn_calibrated_t calibrated;
    skn_error_t why = { 0 }; /* the joined model is whole without */
    if (skn_calibrate(into, into, NULL, &calibrated, &why) == SKN_OK) {
        made.calibration_points = calibrated.calibration.points;
        made.calibration_error_before = calibrated.error_before;
        made.calibration_error = calibrated.error;
    }
    uint32_t bytes = joined->struct_bytes;
    made.struct_bytes = bytes;
    made.ranker_nodes = ranked.nodes;
    made.ranker_weights = ranked.weights;
    made.ranker_bytes = ranked.bytes;
    made.ranker_seconds = ranked.seconds;
    made.ranker_cpu_seconds = ranked.cpu_seconds;
    memcpy(joined, &made, bytes);
    return SKN_OK;
}
