/* sequences.h - splits tokens into a training and a validation part, and cuts
 * each into sequences.
 *
 * A part is a stream: its documents, or blocks, one after the other. Sequence k
 * of a context of C tokens is the stream's tokens [k C, k C + C]: C + 1 of
 * them, the first C are inputs and the last C are their targets. What is left
 * at the end of the stream is in no sequence.
 *
 * Validation holds back whole documents where there are at least
 * SKN_SEQUENCES_DOCUMENTS_MIN, in the order of a hash of their text and the
 * seed, until their tokens are the share, and one sequence at least; a document
 * that is longer than that is passed over, and copies of one document are held
 * back together. Where there are fewer documents, or all are too long, it holds
 * back blocks, by a hash of their number and the seed: of SKN_SEQUENCES_BLOCK
 * contexts, or as many as the share has, so that a short text can be split,
 * too. Splits are the same everywhere; any thread may read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TOKENS_SEQUENCES_H
#define FORMATS_TOKENS_SEQUENCES_H

#include "formats/tokens/tokens.h"

/* With fewer, one document would be more than a twentieth of the whole. */
#define SKN_SEQUENCES_DOCUMENTS_MIN 20u
/* Long enough that the text of a block is of one kind, and that the jumps at
 * its ends are rare. */
#define SKN_SEQUENCES_BLOCK 64u

/* One stream. { 0 }: it is empty. */
typedef struct skn_sequences {
    const skn_tokens_t *tokens; /* outlives the sequences */
    uint32_t context, count;
    /* [range_count] the stream's positions first[k] and on are the tokens
     * from[k] and on. */
    uint64_t *first, *from;
    size_t range_count;
    uint64_t token_count;
} skn_sequences_t;

typedef struct skn_sequences_split {
    skn_sequences_t train, validate; /* validate: empty if the share is 0 */
} skn_sequences_split_t;

/* Splits `tokens`, the corpus `name` in sentences; 0 <= share < 1, context > 0.
 * SKN_BAD_DATA if a part would be shorter than one sequence; SKN_NO_MEMORY. */
skn_status_t skn_sequences_split(const skn_tokens_t *tokens, const char *name,
                                 uint32_t context, double share, uint64_t seed,
                                 skn_sequences_split_t *split,
                                 skn_error_t *error);
/* Makes one stream of all tokens, which may be shorter than a sequence:
 * SKN_BAD_DATA if it has no token to predict; SKN_NO_MEMORY. */
skn_status_t skn_sequences_whole(const skn_tokens_t *tokens, const char *name,
                                 uint32_t context, skn_sequences_t *sequences,
                                 skn_error_t *error);
/* Free; they are empty afterwards. */
void skn_sequences_fini(skn_sequences_t *sequences);
void skn_sequences_split_fini(skn_sequences_split_t *split);

/* Copies sequence `which` < count to id[context + 1]. */
void skn_sequences_read(const skn_sequences_t *sequences, uint32_t which,
                        uint32_t *id);
/* Copies what is left at the end of the stream, a shorter sequence, to
 * id[context + 1], and returns the number of its targets < context; 0: nothing
 * is left. */
uint32_t skn_sequences_read_rest(const skn_sequences_t *sequences,
                                 uint32_t *id);
/* Bytes of text of all targets of the first `count` sequences: a loss in nats,
 * summed over them, is bits a byte after a division by it and by ln 2. Reads
 * all of them. */
uint64_t skn_sequences_bytes(const skn_sequences_t *sequences, uint32_t count);

#endif
