/* predictor_slim.c - opens an exported model: one file with weights, words,
 * names and config.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "actors/predict/network_slim.h"
#include "formats/dataset/names.h"
#include "topology/predict/calibrate.h"
#include "topology/predict/predictor_internal.h"
#include "topology/run/model_run.h"

/* The bytes of the tensor `name`; NULL: there is none. */
static const char *
form(const skn_slim_t *slim, const char *name, size_t *bytes)
{
    const skn_safetensor_t *tensor = skn_slim_find(slim, NULL, name);
    *bytes = 0;
    if (!tensor || tensor->dtype != SKN_DTYPE_U8)
        return NULL;
    *bytes = (size_t)tensor->size_bytes;
    return skn_slim_bytes(slim, tensor);
}

static skn_status_t
load_words(skn_predictor_t *predictor, skn_error_t *error)
{
    const skn_slim_t *slim = predictor->slim;
    skn_vocabulary_form_t forms;
    size_t bytes;
    skn_status_t status = skn_model_preprocessing(
        predictor->trained.model, predictor->preprocessing, error);
    if (status != SKN_OK || !predictor->preprocessing[0])
        return status;
    const char *text = form(slim, SKN_VOCABULARY_NAME, &bytes);
    if (!text)
        return skn_fail(error, SKN_BAD_DATA, "%.300s: there is no vocabulary",
                        slim->path);
    status = skn_vocabulary_find(slim->path, text, bytes, &forms, error);
    if (status != SKN_OK)
        return status;
    predictor->vocabulary = skn_vocabulary_read(slim->path, &forms, error);
    return predictor->vocabulary
               ? skn_predictor_check_words(predictor, slim->path, error)
               : error->status;
}

/* Names that the vocabulary has are not in the file twice. */
static skn_status_t
load_names(skn_predictor_t *predictor, skn_error_t *error)
{
    size_t bytes;
    skn_vocabulary_form_t forms;
    const char *text = form(predictor->slim, SKN_LABELS_NAME, &bytes);
    if (!text && predictor->vocabulary) {
        const char *whole = form(predictor->slim, SKN_VOCABULARY_NAME, &bytes);
        if (skn_vocabulary_find(predictor->slim->path, whole, bytes, &forms,
                                error) != SKN_OK)
            return SKN_BAD_DATA;
        text = forms.names;
        bytes = (size_t)forms.names_bytes;
    }
    if (!text)
        return SKN_OK;
    predictor->names = skn_names_read(text, bytes, error);
    return predictor->names ? SKN_OK : error->status;
}

static skn_status_t
load_calibration(skn_predictor_t *predictor, skn_error_t *error)
{
    const skn_slim_t *slim = predictor->slim;
    size_t bytes;
    const char *text = form(slim, SKN_CALIBRATION_NAME, &bytes);
    return text ? skn_calibration_read(slim->path, text, bytes,
                                       slim->facts.batch,
                                       &predictor->calibration, error)
                : SKN_OK;
}

skn_status_t
skn_predictor_load_slim(skn_predictor_t *predictor, const char *path,
                        skn_error_t *error)
{
    const char *names[SKN_NETWORK_LAYERS_MAX];
    predictor->slim = skn_slim_open(path, error);
    if (!predictor->slim)
        return error->status;
    skn_status_t status = skn_trained_model_of(
        predictor->slim->facts.config, &predictor->trained.model, error);
    const skn_model_t *model = predictor->trained.model;
    if (status == SKN_OK && !model)
        status =
            skn_fail(error, SKN_BAD_DATA, "%.300s: its config is empty", path);
    if (status == SKN_OK)
        status = skn_predictor_layers(model, path, names, error);
    if (status != SKN_OK)
        return status;
    predictor->network.softmax =
        model->layers[model->layer_count - 1].loss != SKN_LOSS_ONE_VS_ALL;
    status = skn_network_map(&predictor->network, predictor->slim, names,
                             (uint32_t)model->layer_count, error);
    if (status == SKN_OK)
        status = load_calibration(predictor, error);
    if (status == SKN_OK)
        status = load_words(predictor, error);
    return status == SKN_OK ? load_names(predictor, error) : status;
}
