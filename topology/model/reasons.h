/* reasons.h - the reasons for the values that `auto` chose, one sentence a
 * value.
 *
 * The sentence is written where the value is chosen (plan_auto*.c), in the same
 * branch, so that it is the reason and not a guess at it. Keys are named as for
 * -o.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_REASONS_H
#define TOPOLOGY_MODEL_REASONS_H

#include <stddef.h>
#include <stdint.h>

#include "skein/limits.h"

/* A network of eight layers has 50 reasons. Reasons beyond this number are
 * dropped. */
#define SKN_REASONS_MAX 128u
#define SKN_REASON_KEY_BYTES 144u
#define SKN_REASON_WHY_BYTES 128u

typedef char skn_why_t[SKN_REASON_WHY_BYTES];

typedef struct skn_reason {
    char key[SKN_REASON_KEY_BYTES]; /* "train.optimizer.rate" */
    char value[40]; /* as in a model file; see skn_model_write_why */
    char note[SKN_REASON_WHY_BYTES + 8]; /* "auto: " and the sentence */
} skn_reason_t;

typedef struct skn_reasons {
    size_t count;
    skn_reason_t at[SKN_REASONS_MAX];
} skn_reasons_t;

/* Adds a reason, or replaces an older one for that key. */
void skn_reasons_add(skn_reasons_t *reasons, const char *key, const char *why);
/* The sentence alone. */
const char *skn_reason_why(const skn_reason_t *reason);
/* NULL: `auto` did not choose it. */
skn_reason_t *skn_reasons_find(skn_reasons_t *reasons, const char *key);

/* Prints a sentence into `why`. */
__attribute__((format(printf, 2, 3))) void skn_why(skn_why_t why,
                                                   const char *format, ...);
/* "29,515" */
typedef char skn_count_text_t[32];
const char *skn_count_text(uint64_t count, skn_count_text_t text);

#endif
