/* ranker_tensors.h - the tensors of a ranker in a file: LAYER.ranker.*.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_RANKER_TENSORS_H
#define ACTORS_PREDICT_RANKER_TENSORS_H

#include "formats/checkpoint/safetensors.h"

enum {
    PARENT,
    LEAF,
    OFFSET,
    FEATURE,
    WEIGHT,
    BIAS,
    TENSORS
};

static const struct {
    const char *name; /* .weight and .bias are names of a model */
    skn_dtype_t dtype;
} tensors[TENSORS] = {
    [PARENT] = { "ranker.parent", SKN_DTYPE_U32 },
    [LEAF] = { "ranker.leaf", SKN_DTYPE_U32 },
    [OFFSET] = { "ranker.offset", SKN_DTYPE_U64 },
    [FEATURE] = { "ranker.feature", SKN_DTYPE_U32 },
    [WEIGHT] = { "ranker.weight", SKN_DTYPE_F32 },
    [BIAS] = { "ranker.bias", SKN_DTYPE_F32 },
};

#endif
