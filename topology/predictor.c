/* predictor.c - a trained model in memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model_run.h"
#include "topology/predictor_parts.h"

static skn_status_t
load(skn_predictor_t *predictor, const char *path, skn_verify_t verify,
     skn_error_t *error)
{
    const char *names[SKN_NETWORK_LAYERS_MAX];
    skn_trained_t *trained = &predictor->trained;
    skn_status_t status = skn_trained_open(trained, path, verify, error);
    if (status != SKN_OK)
        return status;
    const skn_model_t *model = trained->model;
    size_t count = model->layer_count;
    for (size_t k = 0; k < count && k < SKN_NETWORK_LAYERS_MAX; k++)
        names[k] = model->layers[k].name;
    predictor->network.softmax =
        model->layers[count - 1].loss != SKN_LOSS_ONE_VS_ALL;
    return skn_network_load(&predictor->network, trained->checkpoint, names,
                            (uint32_t)count, skn_memory_available_bytes(),
                            error);
}

static void
unload(skn_predictor_t *predictor)
{
    skn_network_fini(&predictor->network);
    skn_trained_close(&predictor->trained);
}

static void
describe(skn_predictor_t *predictor)
{
    const skn_trained_t *trained = &predictor->trained;
    const skn_network_t *network = &predictor->network;
    predictor->info = (skn_predictor_info_t){
        .path = skn_checkpoint_path(trained->checkpoint),
        .run_id = skn_checkpoint_run_id(trained->checkpoint),
        .warning = trained->warning,
        .config = skn_run_folder_config(trained->place.run),
        .batch = skn_checkpoint_batch(trained->checkpoint),
        .feature_count = network->feature_count,
        .label_count = network->units[network->layer_count - 1],
        .layer_count = network->layer_count,
        .parameter_count = network->parameter_count,
        .softmax = network->softmax,
        .normalizes = trained->model->data.normalize == SKN_NORMALIZE_L2,
        .ranker_weights = network->ranker.weight_count,
    };
}

skn_predictor_t *
skn_predictor_open(const char *path, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_predictor_t *predictor = calloc(1, sizeof(*predictor));
    if (!predictor) {
        skn_fail(error, SKN_NO_MEMORY, "no room for a predictor");
        return NULL;
    }
    /* Weights are proved as they are read; the moments need not be. Only where
     * that finds damage does everything need a look, for an older one. */
    skn_status_t status = load(predictor, path, SKN_VERIFY_LAZY, error);
    if (status == SKN_BAD_DATA && predictor->trained.checkpoint &&
        !predictor->trained.place.one) {
        unload(predictor);
        status = load(predictor, path, SKN_VERIFY_ALL, error);
    }
    if (status == SKN_OK)
        describe(predictor);
    else
        skn_predictor_close(&predictor);
    return predictor;
}

void
skn_predictor_close(skn_predictor_t **predictor)
{
    if (!*predictor)
        return;
    unload(*predictor);
    free(*predictor);
    *predictor = NULL;
}

skn_status_t
skn_predictor_index(skn_predictor_t *predictor, uint32_t lists, uint32_t probes,
                    skn_error_t *error)
{
    skn_network_t *network = &predictor->network;
    skn_status_t status = skn_network_index(network, lists, probes, error);
    predictor->info.index_lists = network->shortlist.list_count;
    predictor->info.index_probes = network->shortlist.probes;
    return status;
}

skn_data_t
skn_predictor_data(const skn_predictor_t *predictor)
{
    const skn_model_data_t *data = &predictor->trained.model->data;
    return (skn_data_t){
        .normalize = data->normalize == SKN_NORMALIZE_NONE ? "none" : "l2",
        .cache = data->cache,
        .memory_bytes = (uint64_t)data->memory_bytes,
        .features = predictor->info.feature_count,
        .labels = predictor->info.label_count,
    };
}

const skn_predictor_info_t *
skn_predictor_info(const skn_predictor_t *predictor)
{
    return &predictor->info;
}

static skn_status_t
check(const skn_predictor_t *predictor, const skn_points_t *points,
      skn_error_t *error)
{
    uint32_t features = predictor->info.feature_count;
    for (size_t i = 0; i < points->count; i++)
        for (size_t k = points->offset[i]; k < points->offset[i + 1]; k++) {
            if (points->feature[k] >= features)
                return skn_fail(error, SKN_BAD_DATA,
                                "point %zu has feature %u, the model has %u", i,
                                points->feature[k], features);
            if (!isfinite(points->value[k]))
                return skn_fail(error, SKN_BAD_DATA,
                                "point %zu: the value of feature %u is not "
                                "finite",
                                i, points->feature[k]);
        }
    return SKN_OK;
}

/* At most SKN_NETWORK_POINTS_MAX points, their values scaled in a copy. */
static skn_status_t
best_scaled(const skn_predictor_t *predictor, const skn_points_t *points,
            uint32_t k, uint32_t *label, float *score, skn_error_t *error)
{
    size_t first = points->offset[0];
    size_t total = points->offset[points->count] - first;
    float *value = malloc((total + 1) * sizeof(*value));
    if (!value)
        return skn_fail(error, SKN_NO_MEMORY, "no room for %zu values", total);
    if (total > 0) /* else there may be no array at all */
        memcpy(value, points->value + first, total * sizeof(*value));
    for (size_t i = 0; i < points->count; i++)
        skn_values_normalize(value + (points->offset[i] - first),
                             points->offset[i + 1] - points->offset[i]);
    skn_points_t scaled = *points;
    /* Shifted back by `first`, so that the offsets fit. */
    size_t *offset = malloc((points->count + 1) * sizeof(*offset));
    skn_status_t status = SKN_OK;
    if (!offset)
        status = skn_fail(error, SKN_NO_MEMORY, "no room for %zu points",
                          points->count);
    for (size_t i = 0; offset && i <= points->count; i++)
        offset[i] = points->offset[i] - first;
    scaled.offset = offset;
    scaled.value = value;
    if (points->feature)
        scaled.feature = points->feature + first;
    if (status == SKN_OK)
        status = skn_network_best(&predictor->network, &scaled, k, label, score,
                                  error);
    free(offset);
    free(value);
    return status;
}

skn_status_t
skn_predictor_best(const skn_predictor_t *predictor, const skn_points_t *points,
                   uint32_t k, uint32_t *label, float *score,
                   skn_error_t *error)
{
    if (k < 1 || k > SKN_PREDICTOR_LABELS_MAX)
        return skn_fail(error, SKN_USAGE,
                        "%u labels a point were asked for, 1 to %u are allowed",
                        k, SKN_PREDICTOR_LABELS_MAX);
    skn_status_t status = check(predictor, points, error);
    for (size_t first = 0; first < points->count && status == SKN_OK;
         first += SKN_NETWORK_POINTS_MAX) {
        skn_points_t part = *points;
        part.count = points->count - first;
        if (part.count > SKN_NETWORK_POINTS_MAX)
            part.count = SKN_NETWORK_POINTS_MAX;
        part.offset = points->offset + first;
        status =
            predictor->info.normalizes
                ? best_scaled(predictor, &part, k, label + first * k,
                              score + first * k, error)
                : skn_network_best(&predictor->network, &part, k,
                                   label + first * k, score + first * k, error);
    }
    return status;
}
