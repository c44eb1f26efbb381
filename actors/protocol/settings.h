/* settings.h - the settings that keys of a model file and options of actors
 * have in common: type, range, choices and help of each, declared once.
 *
 * SKN_SETTING_<NAME> is the list `type, least, greatest, choices, help`. A kind
 * of actor makes an option of it with SKN_OPTION_OF, which adds the option's
 * name and its default; topology/model/model_keys.h makes a key of it, which
 * adds the key's name, its default and what `auto` means.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_PROTOCOL_SETTINGS_H
#define ACTORS_PROTOCOL_SETTINGS_H

#include "formats/tokens/tokenizer.h"
#include "kernels/topk.h"
#include "skein/actor.h"
#include "skein/limits.h"

/* The value of a whole number whose range is within 0..UINT32_MAX. */
static inline uint32_t
skn_option_u32(const skn_actor_t *actor, const char *name)
{
    return (uint32_t)skn_actor_option_int(actor, name);
}

/* An entry of a table of skn_option_t: SKN_OPTION_OF(name, fallback,
 * SKN_SETTING_<NAME>). `fallback` is the default as text; NULL: the option must
 * be set. */
#define SKN_OPTION_OF(...) SKN_OPTION_FIELDS(__VA_ARGS__)
#define SKN_OPTION_FIELDS(name, fallback, type, least, greatest, choices,      \
                          help)                                                \
    {                                                                          \
        name, SKN_OPTION_##type, fallback, least, greatest, choices, help      \
    }

/* "a|b|c" of a list C(NAME, word): "|a|b|c" without its first character. */
#define SKN_CHOICE_WORD(NAME, word) "|" #word
#define SKN_CHOICES(LIST) (&(LIST(SKN_CHOICE_WORD))[1])

/* Epochs, batches and the like: no run takes a billion of them. */
#define SKN_COUNT_MAX 1e9

/* Words of settings: C(NAME, word). A model file may have `auto` before
 * them. */
#define SKN_NORMALIZES(C) C(NORMALIZE_L2, l2) C(NORMALIZE_NONE, none)
#define SKN_LOSS_NAMES(C)                                                      \
    C(LOSS_SOFTMAX, softmax) C(LOSS_ONE_VS_ALL, one_vs_all)
#define SKN_WEIGHT_NAMES(C) C(WEIGHTS_F32, f32) C(WEIGHTS_BF16, bf16)
/* Samplers (actors/samplers), by the keys that they take: no other, those of a
 * draw, and those of a draw and an index. */
#define SKN_FULL_SAMPLERS(C) C(SAMPLER_EXACT, exact)
#define SKN_RANDOM_SAMPLERS(C)                                                 \
    C(SAMPLER_UNIFORM, uniform) C(SAMPLER_LOG_UNIFORM, log_uniform)
#define SKN_INDEXED_SAMPLERS(C)                                                \
    C(SAMPLER_SIMHASH, simhash) C(SAMPLER_DWTA, dwta)
#define SKN_SAMPLER_NAMES(C)                                                   \
    SKN_FULL_SAMPLERS(C) SKN_RANDOM_SAMPLERS(C) SKN_INDEXED_SAMPLERS(C)
#define SKN_ORDERS(C) C(ORDER_FIXED, fixed) C(ORDER_FREE, free)
#define SKN_REDUCTIONS(C) C(REDUCTION_FAST, fast) C(REDUCTION_FIXED, fixed)
#define SKN_MERGING_NAMES(C) C(MERGING_EARLY, early) C(MERGING_LATE, late)
#define SKN_PRECISION_NAMES(C) C(PRECISION_F32, f32) C(PRECISION_BF16, bf16)
#define SKN_UPDATES(C) C(UPDATES_LOAN, loan) C(UPDATES_COPY, copy)
#define SKN_OPTIMIZER_NAMES(C)                                                 \
    C(OPTIMIZER_ADAM, adam)                                                    \
    C(OPTIMIZER_ADAGRAD, adagrad)                                              \
    C(OPTIMIZER_SGD, sgd)
#define SKN_SCHEDULE_NAMES(C)                                                  \
    C(SCHEDULE_CONSTANT, constant)                                             \
    C(SCHEDULE_WARMUP, warmup)                                                 \
    C(SCHEDULE_COSINE, cosine)

/* --- data ----------------------------------------------------------------- */

#define SKN_SETTING_NORMALIZE                                                  \
    CHOICE, 0, 0, SKN_CHOICES(SKN_NORMALIZES),                                 \
        "scale the features of each point to length 1 (l2), or take them as "  \
        "they are"
#define SKN_HELD_BACK_MAX 0.5
#define SKN_SETTING_HELD_BACK                                                  \
    REAL, 0, SKN_HELD_BACK_MAX, NULL,                                          \
        "share of the training file's rows that are the test set: the same "   \
        "rows each time, chosen by what is in them, and equal rows together"
#define SKN_SETTING_VALIDATE                                                   \
    REAL, 0, 0.5, NULL,                                                        \
        "share of the training points that are held back to measure progress"
#define SKN_SETTING_TEST_ROWS                                                  \
    INT, 0, UINT32_MAX, NULL,                                                  \
        "greatest number of points that are evaluated; 0: all"
#define SKN_SETTING_TOKENIZER                                                  \
    TEXT, 0, 0, NULL,                                                          \
        "how text becomes tokens: bytes; words, the most frequent ones and "   \
        "bytes for the rest; or the path of a tokenizer's file"
#define SKN_SETTING_VOCABULARY                                                 \
    INT, SKN_TOKEN_WORDS + 1, SKN_VOCABULARY_MAX, NULL,                        \
        "words: greatest number of tokens, 257 for bytes and end included"
#define SKN_SETTING_CONTEXT                                                    \
    INT, 1, SKN_BATCH_ROWS_MAX, NULL, "tokens of a sequence of text"
#define SKN_SETTING_BATCH_ROWS                                                 \
    INT, 1, SKN_BATCH_ROWS_MAX, NULL, "points per batch"
#define SKN_SETTING_SEED                                                       \
    INT, 0, SKN_WHOLE_MAX, NULL, "seed of all random numbers"

/* --- layers --------------------------------------------------------------- */

#define SKN_SETTING_LAYER                                                      \
    INT, 0, SKN_LAYER_MAX, NULL, "index of the layer, counted from the input"
#define SKN_SETTING_INIT_STD                                                   \
    REAL, 0, 10, NULL,                                                         \
        "standard deviation of the normal distribution of initial weights"
#define SKN_SETTING_DROPOUT                                                    \
    REAL, 0, 0.95, NULL,                                                       \
        "share of the units that are dropped from a training batch at random"
#define SKN_SETTING_LOSS                                                       \
    CHOICE, 0, 0, SKN_CHOICES(SKN_LOSS_NAMES),                                 \
        "what training minimises: the cross entropy of a softmax over all "    \
        "labels, or one logistic loss per label"
#define SKN_SETTING_LABEL_SMOOTHING                                            \
    REAL, 0, 0.95, NULL,                                                       \
        "softmax: share of a point's target that is spread evenly over all "   \
        "labels, so that rare labels are not memorised"
#define SKN_SETTING_WEIGHTS                                                    \
    CHOICE, 0, 0, SKN_CHOICES(SKN_WEIGHT_NAMES),                               \
        "number format of the rows used in computation; bf16 needs adagrad "   \
        "or sgd, which round at random, or `updates: copy`, which keeps f32 "  \
        "masters"
#define SKN_SETTING_HUGE_PAGES                                                 \
    BOOL, 0, 0, NULL, "ask for 2 MiB pages for the weights"

/* --- sampler -------------------------------------------------------------- */

#define SKN_SETTING_SAMPLER_ROWS                                               \
    INT, 0, SKN_UNIT_MAX, NULL,                                                \
        "rows chosen for a batch, beside its labels; 0: the labels alone; "    \
        "not for exact"
#define SKN_SETTING_UNIFORM_ROWS                                               \
    INT, 0, SKN_UNIT_MAX, NULL,                                                \
        "simhash, dwta: rows drawn uniformly, beside those found by hashing"
#define SKN_SETTING_WEIGHT_CAP                                                 \
    REAL, 0, 1e12, NULL,                                                       \
        "greatest weight of a sampled row, which keeps rare draws from "       \
        "dominating; epochs report how many it capped; 0: no cap"
#define SKN_SETTING_REFRESH_BATCHES                                            \
    INT, 1, SKN_COUNT_MAX, NULL,                                               \
        "simhash, dwta: batches between rebuilds of the index"

/* --- optimizer and schedule ----------------------------------------------- */

#define SKN_SETTING_OPTIMIZER                                                  \
    CHOICE, 0, 0, SKN_CHOICES(SKN_OPTIMIZER_NAMES),                            \
        "the rule that turns gradients into updates"
#define SKN_SETTING_RATE                                                       \
    REAL, 0, 100, NULL, "learning rate; 0: the weights stay as they are"
#define SKN_SETTING_BETA1                                                      \
    REAL, 0, 0.999999, NULL, "adam: decay of the first moment"
#define SKN_SETTING_BETA2                                                      \
    REAL, 0, 0.99999999, NULL, "adam: decay of the second moment"
#define SKN_SETTING_EPSILON                                                    \
    REAL, 1e-30, 1, NULL,                                                      \
        "adam, adagrad: added to the root of the second moment"
#define SKN_SETTING_WEIGHT_DECAY                                               \
    REAL, 0, 1, NULL, "share of a touched weight that a step at rate 1 removes"
#define SKN_SETTING_CLIP_NORM                                                  \
    REAL, 0, 1e9, NULL,                                                        \
        "greatest norm of a step's gradient over all layers; a greater one "   \
        "is scaled down to it; 0: no limit"
#define SKN_SETTING_SCHEDULE                                                   \
    CHOICE, 0, 0, SKN_CHOICES(SKN_SCHEDULE_NAMES),                             \
        "the rate stays (constant), rises and stays (warmup), or rises and "   \
        "falls along a cosine"
#define SKN_SETTING_WARMUP_BATCHES                                             \
    INT, 0, SKN_COUNT_MAX, NULL,                                               \
        "warmup, cosine: batches (decoder: steps) until the full rate is "     \
        "reached"
#define SKN_SETTING_FLOOR                                                      \
    REAL, 0, 1, NULL, "cosine: final rate, as a share of the full rate"

/* --- course --------------------------------------------------------------- */

#define SKN_SETTING_EPOCHS                                                     \
    INT, 1, SKN_COUNT_MAX, NULL, "passes over the training points"
#define SKN_SETTING_MAX_BATCHES                                                \
    INT, 0, SKN_COUNT_MAX, NULL, "stop after this many batches; 0: no limit"
#define SKN_SETTING_WINDOW                                                     \
    INT, 1, SKN_WINDOW_MAX, NULL,                                              \
        "batches that a shard may compute ahead of its updates, the current "  \
        "one included: staleness is never more; at most 2 x window - 1 "       \
        "batches are in flight"
#define SKN_SETTING_ACCUMULATE                                                 \
    INT, 1, SKN_COUNT_MAX, NULL,                                               \
        "batches whose gradients are added up for one step of the optimizer"
#define SKN_SETTING_ORDER                                                      \
    CHOICE, 0, 0, SKN_CHOICES(SKN_ORDERS),                                     \
        "fixed: updates are applied in batch order and runs repeat bit for "   \
        "bit; free: as they arrive, faster under jitter"
#define SKN_SETTING_REDUCTION                                                  \
    CHOICE, 0, 0, SKN_CHOICES(SKN_REDUCTIONS),                                 \
        "fixed: sums have the same bits for every number of shards; fast: "    \
        "only for the same number"
#define SKN_SETTING_MERGE                                                      \
    CHOICE, 0, 0, SKN_CHOICES(SKN_MERGING_NAMES),                              \
        "where the parts of a softmax's hidden gradient are normalised; "      \
        "early: below, which need not wait for normalisers; late: by each "    \
        "shard, once it has them all, so that fewer bytes travel"
#define SKN_SETTING_PRECISION                                                  \
    CHOICE, 0, 0, SKN_CHOICES(SKN_PRECISION_NAMES),                            \
        "number format in which matrix products multiply; weights and sums "   \
        "are f32. bf16 is several times faster on processors that have AMX, "  \
        "or AVX-512 BF16, and no slower elsewhere"
#define SKN_SETTING_UPDATES                                                    \
    CHOICE, 0, 0, SKN_CHOICES(SKN_UPDATES),                                    \
        "loan: the updater writes the shard's rows in place; copy: the shard " \
        "has a copy of weights, which the updater renews from its own in f32"
#define SKN_SETTING_PATIENCE                                                   \
    INT, 0, SKN_COUNT_MAX, NULL,                                               \
        "epochs (decoder: evaluations) without progress on the points held "   \
        "back until the run stops; 0: never"
#define SKN_SETTING_EVALUATE_EVERY                                             \
    INT, 0, SKN_COUNT_MAX, NULL,                                               \
        "epochs between evaluations; 0: only at the end"
#define SKN_SETTING_TOPK                                                       \
    INT, 1, SKN_TOPK_MAX, NULL, "labels ranked per point: P@1 to P@topk"
#define SKN_SETTING_SAMPLER_BATCHES                                            \
    INT, 0, SKN_COUNT_MAX, NULL,                                               \
        "batches between two measurements of the sampler: epochs then report " \
        "the recall of the exact top 10 and the softmax mass covered; 0: never"

/* --- checkpoints ---------------------------------------------------------- */

#define SKN_SETTING_EVERY_BATCHES                                              \
    INT, 0, SKN_COUNT_MAX, NULL,                                               \
        "batches between checkpoints; 0: not by batches; decoder: "            \
        "micro-batches, rounded up to whole steps"
#define SKN_SETTING_EVERY_EPOCHS                                               \
    INT, 0, SKN_COUNT_MAX, NULL,                                               \
        "epochs between checkpoints; 0: not by epochs. The end of a run is "   \
        "always kept"
#define SKN_SETTING_KEEP                                                       \
    INT, 1, 1e6, NULL,                                                         \
        "newest checkpoints that stay on disk, beside the best one"

#endif
