/* trunk.h - the layers of a decoder that a stage of bench_schedules.c computes,
 * with what they keep of each micro-batch that the stage holds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_SCHEDULES_TRUNK_H
#define BENCH_SCHEDULES_TRUNK_H

#include "actors/stage/decoder_layer.h"
#include "skein/actor.h"

#define LAYERS_MAX 16

typedef enum work {
    F,
    B,
    W,
    A, /* B and W */
    WORKS
} work_t;

typedef struct trunk {
    uint32_t layers; /* 0: there is none */
    uint32_t pieces; /* of W */
    skn_decoder_t decoder;
    size_t sequences, tokens, values; /* of a micro-batch */
    size_t weights;                   /* floats of a layer */
    float *angles, *table, *memory;
    float *x;                 /* [tokens][width]: what F and B replace */
    float *gradient;          /* [layers][weights]: what W adds to */
    skn_decoder_kept_t *kept; /* [slots][layers] */
    void *scratch;
} trunk_t;

/* clang-format off */
/* The options of a trunk, in a kind's table. */
#define TRUNK_OPTIONS                                                          \
    { "layers", SKN_OPTION_INT, "0", 0, LAYERS_MAX, NULL,                      \
      "layers that it computes; 0: work is a wait" },                          \
    { "width", SKN_OPTION_INT, "256", 1, 4096, NULL, "columns of a token" },   \
    { "heads", SKN_OPTION_INT, "8", 1, 256, NULL, "heads of attention" },      \
    { "inner", SKN_OPTION_INT, "704", 1, 16384, NULL, "inner units" },         \
    { "context", SKN_OPTION_INT, "256", 1, 4096, NULL,                         \
      "tokens of a sequence" },                                                \
    { "sequences", SKN_OPTION_INT, "2", 1, 256, NULL, "of a micro-batch" }
/* clang-format on */

/* Reads the options and allocates, for `slots` micro-batches at once. Freed by
 * trunk_close, also after a failure. */
skn_status_t trunk_open(trunk_t *trunk, const skn_actor_t *actor,
                        uint32_t slots, skn_error_t *error);
void trunk_close(trunk_t *trunk);

/* F, B, or pieces [first, end) of W of the micro-batch in a slot. */
void trunk_work(trunk_t *trunk, work_t work, uint32_t slot, uint32_t first,
                uint32_t end);
/* A hash of the gradient, which is then zero. */
uint64_t trunk_end_step(trunk_t *trunk);

#endif
