/* decoder_network.h - the weights of a trained decoder, and readers that pass
 * one sequence through them, some tokens at a time.
 *
 * A reader keeps the keys and values of the tokens that it has read, so that
 * the next token costs one row of products. The arithmetic is that of training
 * (actors/stage, actors/hidden/embedding.c), with products of f32: logits equal
 * those of one pass over the whole sequence, however it is divided.
 *
 * A loaded network is read only: any number of threads may read with it, each
 * with a reader of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PREDICT_DECODER_NETWORK_H
#define ACTORS_PREDICT_DECODER_NETWORK_H

#include "actors/stage/decoder_layer.h"
#include "formats/checkpoint/checkpoint.h"

/* Names of the layers whose weights a checkpoint has. */
typedef struct skn_decoder_names {
    const char *embedding, *trunk, *head;
} skn_decoder_names_t;

/* { 0 } is empty. */
typedef struct skn_decoder_network {
    skn_decoder_t decoder;
    uint32_t ids;     /* of tokens */
    float *embedding; /* [ids][width] */
    float *trunk;     /* [skn_decoder_stage_rows][width] */
    float *head;      /* [ids][width] */
    float *angles;
    uint64_t parameter_count;
} skn_decoder_network_t;

/* Reads the weights of a decoder of `shape`, which has passed
 * skn_decoder_check; they and one reader may use `memory_bytes_max`. Freed with
 * skn_decoder_network_fini, also after a failure. SKN_BAD_DATA if they do not
 * fit the shape, or are damaged; SKN_NO_MEMORY. */
skn_status_t skn_decoder_network_load(skn_decoder_network_t *network,
                                      skn_checkpoint_t *checkpoint,
                                      const skn_decoder_shape_t *shape,
                                      const skn_decoder_names_t *names,
                                      uint64_t memory_bytes_max,
                                      skn_error_t *error);
void skn_decoder_network_fini(skn_decoder_network_t *network);

/* Tokens of one call of skn_decoder_read: products of more are no faster. */
#define SKN_DECODER_READ_MAX 256u

/* { 0 } is empty. */
typedef struct skn_decoder_reader {
    const skn_decoder_network_t *network; /* outlives the reader */
    uint32_t count;                       /* tokens that it has read */
    uint32_t fresh;                       /* those of the last call */
    skn_kept_rows_t *cache;               /* [layers] of [context][3 width] */
    float *memory; /* of the cache, of x and of what a pass keeps */
    float *x;      /* [fresh][width]: what the head reads */
    float *kept;   /* of one layer */
    void *scratch;
} skn_decoder_reader_t;

/* Freed with skn_decoder_reader_fini, also after a failure: SKN_NO_MEMORY. */
skn_status_t skn_decoder_reader_init(skn_decoder_reader_t *reader,
                                     const skn_decoder_network_t *network,
                                     skn_error_t *error);
void skn_decoder_reader_fini(skn_decoder_reader_t *reader);

/* Reads the next `count` tokens of the sequence, 1 to SKN_DECODER_READ_MAX:
 * ids below network->ids, and no more than the context has room for. A reader
 * whose `count` is set to a smaller number, as 0 for a new sequence, continues
 * behind that many of its tokens. */
void skn_decoder_read(skn_decoder_reader_t *reader, const uint32_t *id,
                      uint32_t count);
/* Writes the logits [count][ids] of the tokens after those from `first` on of
 * the last read. */
void skn_decoder_logits(const skn_decoder_reader_t *reader, uint32_t first,
                        uint32_t count, float *logits);

#endif
