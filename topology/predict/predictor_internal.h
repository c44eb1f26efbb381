/* predictor_internal.h - the fields of a predictor, for sources that evaluate
 * it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_PREDICT_PREDICTOR_INTERNAL_H
#define TOPOLOGY_PREDICT_PREDICTOR_INTERNAL_H

#include <stdatomic.h>

#include "actors/protocol/data.h"
#include "actors/predict/calibration.h"
#include "actors/predict/network.h"
#include "formats/checkpoint/slim.h"
#include "topology/predict/points_clean.h"
#include "topology/run/trained.h"

/* Calls at the same time whose memory is kept for later ones. */
#define SKN_PREDICTOR_KEPT_MAX 32u

/* NULL where a call has it, or none was made. */
typedef struct skn_predictor_kept {
    _Atomic(skn_points_clean_t *) clean[SKN_PREDICTOR_KEPT_MAX];
} skn_predictor_kept_t;

struct skn_predictor {
    skn_slim_t *slim;      /* NULL: it was read from a run */
    skn_trained_t trained; /* of a file: the model alone */
    skn_network_t network;
    skn_calibration_t calibration; /* of its scores; { 0 }: none */
    skn_predictor_info_t info;
    skn_names_t *names;           /* of the labels; NULL: none */
    skn_vocabulary_t *vocabulary; /* of texts; NULL: features are numbered */
    char preprocessing[SKN_PREPROCESSING_BYTES]; /* of texts, or "" */
    bool strict;                                 /* skn_predictor_strict */
    /* One for the host that opened it or the slot that it is in, and one for
     * each skn_predictor_share. */
    atomic_uint references;
    skn_predictor_kept_t *kept;
};

/* Adds a reference, beside one that the caller has, and returns `predictor`. */
skn_predictor_t *skn_predictor_share(skn_predictor_t *predictor);

/* predictor_slim.c: maps the exported file `path`, with names and words. */
skn_status_t skn_predictor_load_slim(skn_predictor_t *predictor,
                                     const char *path, skn_error_t *error);
/* Refuses a decoder; lists the names of the model's layers. */
skn_status_t skn_predictor_layers(const skn_model_t *model, const char *path,
                                  const char *names[SKN_NETWORK_LAYERS_MAX],
                                  skn_error_t *error);
/* Whether the vocabulary can be the model's. SKN_BAD_DATA. */
skn_status_t skn_predictor_check_words(const skn_predictor_t *predictor,
                                       const char *path, skn_error_t *error);

/* How the run's files are opened: as in training, with the model's sizes. */
skn_data_t skn_predictor_data(const skn_predictor_t *predictor);

#endif
