/* model_keys.h - every key of a model file, declared once.
 *
 * Each section is a list, from which its struct (model.h) and its tables of
 * options and slots (model_tables.c) are made: one row a key,
 *   O(struct, member's type, member, key, type, default, least, greatest,
 *     choices, help).
 * Types, with their words in docs/reference/config.md: BOOL (truth), INT (whole
 * number), REAL (number), SIZE, TEXT, PATH, CHOICE (word).
 * A key that an actor has as an option, too, takes type, range, choices and
 * help from actors/protocol/settings.h: SKN_KEY adds the default, SKN_AUTO_KEY
 * what `auto` means. Defaults: seeds and Adam's beta1, beta2, epsilon are those
 * of Kingma & Ba 2015, section 2; others are `auto` (the plan decides from the
 * data) or off.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_KEYS_H
#define TOPOLOGY_MODEL_MODEL_KEYS_H

#include "actors/protocol/decoder.h"
#include "actors/protocol/settings.h"
#include "formats/features/features.h"
#include "skein/limits.h"

/* No limit except that of the type. */
#define SKN_ENDLESS ((double)INT64_MAX)

#define SKN_KEY(...) SKN_KEY_FIELDS(__VA_ARGS__)
#define SKN_KEY_FIELDS(O, struct_type, member_type, member, key, fallback,     \
                       type, least, greatest, choices, help)                   \
    O(struct_type, member_type, member, key, type, fallback, least, greatest,  \
      choices, help)
/* `words` are the choices with `auto`; `meaning` follows the setting's help. */
#define SKN_AUTO_KEY(...) SKN_AUTO_KEY_FIELDS(__VA_ARGS__)
#define SKN_AUTO_KEY_FIELDS(O, struct_type, member_type, member, key, words,   \
                            meaning, type, least, greatest, choices, help)     \
    O(struct_type, member_type, member, key, type, "auto", least, greatest,    \
      words, help meaning)

/* Words of a model file, beside those of settings.h: C(NAME, word). The enum,
 * the choices of the key and the printed word come from one list, in one order;
 * AUTO is always 0. */
#define SKN_ACTIVATIONS(C) C(ACTIVATION_RELU, relu)
#define SKN_LOSSES(C) C(LOSS_AUTO, auto) SKN_LOSS_NAMES(C)
#define SKN_WEIGHTS(C) C(WEIGHTS_AUTO, auto) SKN_WEIGHT_NAMES(C)
#define SKN_SAMPLERS(C) C(SAMPLER_AUTO, auto) SKN_SAMPLER_NAMES(C)
#define SKN_MERGINGS(C) C(MERGING_AUTO, auto) SKN_MERGING_NAMES(C)
#define SKN_PRECISIONS(C) C(PRECISION_AUTO, auto) SKN_PRECISION_NAMES(C)
#define SKN_OPTIMIZERS(C) C(OPTIMIZER_AUTO, auto) SKN_OPTIMIZER_NAMES(C)
#define SKN_OFFLOADS(C)                                                        \
    C(OFFLOAD_AUTO, auto)                                                      \
    C(OFFLOAD_NONE, none)                                                      \
    C(OFFLOAD_FILE, file)
#define SKN_RECOMPUTES(C)                                                      \
    C(RECOMPUTE_AUTO, auto) C(RECOMPUTE_NONE, none) C(RECOMPUTE_LAYER, layer)
#define SKN_SCHEDULES(C) C(SCHEDULE_AUTO, auto) SKN_SCHEDULE_NAMES(C)
/* After AUTO, the order is that of actors/runtime/wiring.h. */
#define SKN_LINK_CODINGS(C)                                                    \
    C(LINK_CODING_AUTO, auto)                                                  \
    C(LINK_CODING_F32, f32)                                                    \
    C(LINK_CODING_BF16, bf16)                                                  \
    C(LINK_CODING_INT8, int8)                                                  \
    C(LINK_CODING_INT4, int4)
#define SKN_MODEL_KINDS(C) C(MODEL_LAYERS, layers) C(MODEL_DECODER, decoder)
/* The order of skn_records_format_t. */
#define SKN_DATA_FORMATS(C)                                                    \
    C(DATA_FORMAT_AUTO, auto)                                                  \
    C(DATA_FORMAT_FASTTEXT, fasttext)                                          \
    C(DATA_FORMAT_JSON, json)                                                  \
    C(DATA_FORMAT_POINTS, points)                                              \
    C(DATA_FORMAT_CSV, csv)                                                    \
    C(DATA_FORMAT_TSV, tsv)
/* After AUTO, those of skn_feature_weight_t, and each with idf. */
#define SKN_TERM_VALUES(C)                                                     \
    C(TERM_VALUE_AUTO, auto)                                                   \
    C(TERM_VALUE_ONE, one)                                                     \
    C(TERM_VALUE_COUNT, count)                                                 \
    C(TERM_VALUE_LOG, log)                                                     \
    C(TERM_VALUE_ONE_IDF, one_idf)                                             \
    C(TERM_VALUE_COUNT_IDF, count_idf)                                         \
    C(TERM_VALUE_LOG_IDF, log_idf)
#define SKN_RECOVERIES(C)                                                      \
    C(RECOVERY_ROLLBACK, rollback) C(RECOVERY_PARTIAL, partial)

/* --- data ----------------------------------------------------------------- */

#define SKN_DATA_KEYS(O)                                                       \
    O(skn_model_data_t, const char *, train, "train", PATH, NULL, 1, 0, NULL,  \
      "training file, plain or compressed (.gz, .zst): rows of texts and "     \
      "labels, or numbered features; for a decoder: text; or a folder, a "     \
      "pattern such as data/*.csv, or a list of these")                        \
    O(skn_model_data_t, const char *, test, "test", PATH, "", 1, 0, NULL,      \
      "test file, for evaluation only, in any of the formats, or several as "  \
      "of train; a number: the share of the training file, as held_back; "     \
      "empty: none")                                                           \
    SKN_KEY(O, skn_model_data_t, double, held_back, "held_back", "0",          \
            SKN_SETTING_HELD_BACK)                                             \
    O(skn_model_data_t, skn_data_format_t, format, "format", CHOICE, "auto",   \
      0, 0, SKN_CHOICES(SKN_DATA_FORMATS),                                     \
      "what the files are: fastText's; JSON lines; points, which are "         \
      "numbered features as XMC sets and svmlight have them; CSV or TSV; "     \
      "auto: by their first line")                                             \
    O(skn_model_data_t, const char *, text_column, "text_column", TEXT,        \
      "text", 0, 0, NULL,                                                      \
      "csv, tsv, json: column of the text, or several, with commas between")   \
    O(skn_model_data_t, const char *, category_columns, "category_columns",    \
      TEXT, "", 0, 0, NULL,                                                    \
      "csv, tsv, json: columns whose values are features, with commas "        \
      "between; text_column then need not be there")                           \
    O(skn_model_data_t, const char *, number_columns, "number_columns", TEXT,  \
      "", 0, 0, NULL,                                                          \
      "csv, tsv, json: columns of numbers, as category_columns")               \
    O(skn_model_data_t, const char *, label_column, "label_column", TEXT,      \
      "labels", 0, 0, NULL, "csv, tsv, json: column of the labels")            \
    O(skn_model_data_t, const char *, label_separator, "label_separator",      \
      TEXT, "auto", 0, 0, "auto",                                              \
      "csv, tsv, json: text between the labels of a row; empty: a row has "    \
      "one label; auto: a semicolon, bar or comma whose parts are met again")  \
    O(skn_model_data_t, double, bad_rows, "bad_rows", REAL, "0.01", 0, 1,      \
      NULL,                                                                    \
      "greatest share of rows that cannot be read: they are left out and "     \
      "counted; 0: none may be")                                               \
    O(skn_model_data_t, int64_t, word_groups, "word_groups", INT, "auto", 1,   \
      SKN_FEATURE_WORDS_MAX, "auto",                                           \
      "texts: features are words and groups of up to this many words")         \
    O(skn_model_data_t, int64_t, letter_groups, "letter_groups", INT, "auto",  \
      0, SKN_FEATURE_LETTERS_MAX, "auto",                                      \
      "texts: features are also groups of 3 to this many letters of a word; "  \
      "0: none")                                                               \
    O(skn_model_data_t, int64_t, term_rows, "term_rows", INT, "auto", 1,       \
      SKN_COUNT_MAX, "auto",                                                   \
      "texts: rows that a word or group must be in to be a feature")           \
    O(skn_model_data_t, int64_t, terms_max, "terms_max", INT, "1000000", 1,    \
      SKN_UNIT_MAX, NULL, "texts: most features, those in the most rows")      \
    O(skn_model_data_t, skn_term_value_t, term_values, "term_values", CHOICE,  \
      "auto", 0, 0, SKN_CHOICES(SKN_TERM_VALUES),                              \
      "texts: value of a feature that a row has n times: 1; n; 1 + ln n; "     \
      "or these times the inverse document frequency")                         \
    SKN_KEY(O, skn_model_data_t, skn_normalize_t, normalize, "normalize",      \
            "l2", SKN_SETTING_NORMALIZE)                                       \
    O(skn_model_data_t, const char *, cache, "cache", PATH, "auto", 0, 0,      \
      "auto|none",                                                             \
      "where the parsed points are kept for the next run: beside the "         \
      "file, or in the user's cache where it cannot be written (auto); "       \
      "in an unnamed file in $TMPDIR or /tmp, for this run alone (none); "     \
      "or in files whose names begin with this path (PATH-train.skc; of a "    \
      "text .skt)")                                                            \
    O(skn_model_data_t, int64_t, memory_bytes, "memory", SIZE, "1GiB", 1,      \
      SKN_ENDLESS, NULL, "memory that building the cache may use")             \
    O(skn_model_data_t, int64_t, feature_count, "feature_count", INT, "0", 0,  \
      SKN_UNIT_MAX, NULL,                                                      \
      "features of the model, at least those of the training file; a "         \
      "higher number makes room for features that only later files have; "     \
      "0: as many as the training file has")                                   \
    O(skn_model_data_t, int64_t, label_count, "label_count", INT, "0", 0,      \
      SKN_UNIT_MAX, NULL, "labels of the model, likewise")                     \
    O(skn_model_data_t, const char *, labels, "labels", PATH, "", 0, 0, NULL,  \
      "names of the labels, one a line, plain or compressed, for predictions " \
      "alone: the run folder gets a copy; empty: none")                        \
    O(skn_model_data_t, const char *, tokenizer, "tokenizer", PATH, "bytes",   \
      0, 0, "bytes|words",                                                     \
      "decoder: the tokens of text: its bytes; its most frequent words, and "  \
      "bytes for the rest; or those of the tokenizer in this file")            \
    SKN_KEY(O, skn_model_data_t, int64_t, vocabulary, "vocabulary", "32768",   \
            SKN_SETTING_VOCABULARY)                                            \
    SKN_KEY(O, skn_model_data_t, int64_t, context, "context", "256",           \
            SKN_SETTING_CONTEXT)

/* --- model.layers --------------------------------------------------------- */

#define SKN_LAYER_KEYS(O)                                                      \
    O(skn_model_layer_t, int64_t, shards, "shards", INT, "auto", 1,            \
      SKN_SHARD_MAX, "auto",                                                   \
      "actors that the layer is split over; auto: by the cores")               \
    SKN_KEY(O, skn_model_layer_t, double, init_std, "init_std", "0.05",        \
            SKN_SETTING_INIT_STD)

#define SKN_LAYER_NAME_KEY(O)                                                  \
    O(skn_model_layer_t, const char *, name, "name", TEXT, NULL, 0, 0, NULL,   \
      "name of the layer, for overrides, checkpoints and reports")

#define SKN_HIDDEN_KEYS(O)                                                     \
    O(skn_model_layer_t, int64_t, units, "units", INT, "auto", 1,              \
      SKN_HIDDEN_MAX, "auto",                                                  \
      "width of the layer; auto: from the number of points and labels")        \
    O(skn_model_layer_t, skn_activate_t, activation, "activation", CHOICE,     \
      "relu", 0, 0, SKN_CHOICES(SKN_ACTIVATIONS),                              \
      "function applied to the sum of a unit")                                 \
    SKN_AUTO_KEY(O, skn_model_layer_t, double, dropout, "dropout", "auto",     \
                 "; auto: from the width", SKN_SETTING_DROPOUT)

#define SKN_OUTPUT_KEYS(O)                                                     \
    SKN_AUTO_KEY(O, skn_model_layer_t, skn_loss_kind_t, loss, "loss",          \
                 SKN_CHOICES(SKN_LOSSES), "", SKN_SETTING_LOSS)                \
    SKN_AUTO_KEY(O, skn_model_layer_t, double, label_smoothing,                \
                 "label_smoothing", "auto",                                    \
                 "; auto: from the points per label",                          \
                 SKN_SETTING_LABEL_SMOOTHING)                                  \
    SKN_AUTO_KEY(O, skn_model_layer_t, skn_weights_t, weights, "weights",      \
                 SKN_CHOICES(SKN_WEIGHTS),                                     \
                 "; auto: bf16 with adagrad and precision bf16",               \
                 SKN_SETTING_WEIGHTS)                                          \
    O(skn_model_layer_t, int64_t, index_lag, "index_lag", INT, "auto", 1,      \
      4096, "auto",                                                            \
      "batches between building a sampler's index and using it; auto: "        \
      "twice the window")

#define SKN_SAMPLER_KEYS(O)                                                    \
    O(skn_model_sampler_t, skn_sampler_choice_t, kind, "kind", CHOICE, "auto", \
      0, 0, SKN_CHOICES(SKN_SAMPLERS),                                         \
      "how the rows of a batch are chosen: all (exact), at random, or by "     \
      "hash tables")                                                           \
    O(skn_model_sampler_t, int64_t, tables, "tables", INT, "auto", 1, 4096,    \
      "auto", "simhash, dwta: number of hash tables (L)")                      \
    O(skn_model_sampler_t, int64_t, bits, "bits", INT, "auto", 1, 30, "auto",  \
      "simhash, dwta: hash functions per table (K)")                           \
    SKN_AUTO_KEY(O, skn_model_sampler_t, int64_t, refresh_batches,             \
                 "refresh_batches", "auto", "", SKN_SETTING_REFRESH_BATCHES)   \
    SKN_AUTO_KEY(O, skn_model_sampler_t, int64_t, rows, "rows", "auto", "",    \
                 SKN_SETTING_SAMPLER_ROWS)                                     \
    O(skn_model_sampler_t, bool, labels, "labels", BOOL, "true", 0, 0, NULL,   \
      "every row that is a label of the batch serves all its points")          \
    SKN_AUTO_KEY(O, skn_model_sampler_t, int64_t, uniform_rows,                \
                 "uniform_rows", "auto", "", SKN_SETTING_UNIFORM_ROWS)         \
    SKN_KEY(O, skn_model_sampler_t, double, weight_cap, "weight_cap", "0",     \
            SKN_SETTING_WEIGHT_CAP)

/* --- model of kind decoder ------------------------------------------------ */

#define SKN_DECODER_KEYS(O)                                                    \
    O(skn_model_decoder_t, skn_model_kind_t, kind, "kind", CHOICE, "layers",   \
      0, 0, SKN_CHOICES(SKN_MODEL_KINDS),                                      \
      "layers: a list of layers over sparse features; decoder: a "             \
      "transformer over text, of which 'layers' is the number of layers")      \
    O(skn_model_decoder_t, int64_t, width, "width", INT, "256", 16,            \
      SKN_HIDDEN_MAX, NULL, "decoder: width of the residual stream")           \
    O(skn_model_decoder_t, int64_t, heads, "heads", INT, "8", 1,               \
      SKN_HIDDEN_MAX, NULL, "decoder: heads of attention")                     \
    O(skn_model_decoder_t, int64_t, inner, "inner", INT, "auto", 1,            \
      SKN_HIDDEN_MAX, "auto",                                                  \
      "decoder: units of a feed-forward network; auto: 8/3 of the width")      \
    O(skn_model_decoder_t, int64_t, stages, "stages", INT, "auto", 1,          \
      SKN_SHARD_MAX, "auto",                                                   \
      "decoder: actors that its layers are divided over, one after the "       \
      "other; auto: by the cores")

#define SKN_HEAD_KEYS(O)                                                       \
    SKN_OUTPUT_KEYS(O)                                                         \
    O(skn_model_layer_t, int64_t, shards, "shards", INT, "auto", 1,            \
      SKN_SHARD_MAX, "auto", "actors that it is split over; auto: 1")          \
    SKN_KEY(O, skn_model_layer_t, double, init_std, "init_std", "0.02",        \
            SKN_SETTING_INIT_STD)

/* --- train ---------------------------------------------------------------- */

#define SKN_OPTIMIZER_KEYS(O)                                                  \
    SKN_AUTO_KEY(                                                              \
        O, skn_model_optimizer_t, skn_optimizer_kind_t, kind, "kind",          \
        SKN_CHOICES(SKN_OPTIMIZERS),                                           \
        "; auto: adagrad with many rare labels or few epochs, else adam; "     \
        "adam where a rate is set",                                            \
        SKN_SETTING_OPTIMIZER)                                                 \
    SKN_AUTO_KEY(O, skn_model_optimizer_t, double, rate, "rate", "auto",       \
                 "; auto: by the optimizer and the epochs", SKN_SETTING_RATE)  \
    SKN_KEY(O, skn_model_optimizer_t, double, beta1, "beta1", "0.9",           \
            SKN_SETTING_BETA1)                                                 \
    SKN_KEY(O, skn_model_optimizer_t, double, beta2, "beta2", "0.999",         \
            SKN_SETTING_BETA2)                                                 \
    SKN_KEY(O, skn_model_optimizer_t, double, epsilon, "epsilon", "1e-8",      \
            SKN_SETTING_EPSILON)                                               \
    SKN_KEY(O, skn_model_optimizer_t, double, weight_decay, "weight_decay",    \
            "0", SKN_SETTING_WEIGHT_DECAY)                                     \
    O(skn_model_optimizer_t, skn_offload_choice_t, offload, "offload", CHOICE, \
      "auto", 0, 0, SKN_CHOICES(SKN_OFFLOADS),                                 \
      "adam: where the moments are kept: in memory (none), or in a file "      \
      "on disk (file), cached in free memory; the model is the same "          \
      "either way; auto: a file if they do not fit into memory")               \
    O(skn_model_optimizer_t, const char *, offload_path, "offload_path", PATH, \
      "", 0, 0, NULL,                                                          \
      "adam: folder of that file, which is unnamed and vanishes with the "     \
      "process; empty: the folder of the run")

#define SKN_SCHEDULE_KEYS(O)                                                   \
    SKN_AUTO_KEY(O, skn_model_schedule_t, skn_schedule_kind_t, kind, "kind",   \
                 SKN_CHOICES(SKN_SCHEDULES), "", SKN_SETTING_SCHEDULE)         \
    SKN_AUTO_KEY(O, skn_model_schedule_t, int64_t, warmup_batches,             \
                 "warmup_batches", "auto", "", SKN_SETTING_WARMUP_BATCHES)     \
    SKN_KEY(O, skn_model_schedule_t, double, floor, "floor", "0",              \
            SKN_SETTING_FLOOR)

#define SKN_EVALUATE_KEYS(O)                                                   \
    SKN_KEY(O, skn_model_evaluate_t, int64_t, every_epochs, "every_epochs",    \
            "1", SKN_SETTING_EVALUATE_EVERY)                                   \
    O(skn_model_evaluate_t, int64_t, every_steps, "every_steps", INT, "auto",  \
      0, SKN_COUNT_MAX, "auto",                                                \
      "decoder: steps between evaluations on text held back; 0: only at the "  \
      "ends of epochs; auto: so that they take a twentieth of the time")       \
    SKN_KEY(O, skn_model_evaluate_t, int64_t, rows, "rows", "0",               \
            SKN_SETTING_TEST_ROWS)                                             \
    SKN_KEY(O, skn_model_evaluate_t, int64_t, topk, "topk", "5",               \
            SKN_SETTING_TOPK)                                                  \
    SKN_KEY(O, skn_model_evaluate_t, int64_t, sampler_batches,                 \
            "sampler_batches", "0", SKN_SETTING_SAMPLER_BATCHES)

#define SKN_TRAIN_KEYS(O)                                                      \
    SKN_KEY(O, skn_model_train_t, int64_t, seed, "seed", "1",                  \
            SKN_SETTING_SEED)                                                  \
    O(skn_model_train_t, int64_t, ensemble, "ensemble", INT, "auto", 1,        \
      SKN_ENSEMBLE_MAX, "auto",                                                \
      "networks that are trained one after the other, each from the next "     \
      "seed, and then joined into one that has all their units and the "       \
      "mean of their logits; auto: 3 if labels are many and rare, there "      \
      "are no ranker and no coordinator, and epochs is auto, too; "            \
      "otherwise 1")                                                           \
    O(skn_model_train_t, int64_t, ranker_trees, "ranker_trees", INT, "auto",   \
      0, SKN_RANKER_TREES_MAX, "auto",                                         \
      "trees of labels with linear models over the features, which sort "      \
      "the network's best labels again once it is trained; 0: none; "          \
      "auto: 1 (2 if labels are rare) if points have four features or "        \
      "more, there are a thousand labels or more (200, if points have "        \
      "several), and epochs is auto, too; otherwise 0")                        \
    SKN_AUTO_KEY(O, skn_model_train_t, int64_t, batch_rows, "batch_rows",      \
                 "auto", "", SKN_SETTING_BATCH_ROWS)                           \
    O(skn_model_train_t, int64_t, batch_tokens, "batch_tokens", INT, "auto",   \
      1, SKN_COUNT_MAX, "auto", "decoder: tokens of a step; auto: 16,384")     \
    O(skn_model_train_t, int64_t, micro_tokens, "micro_tokens", INT, "auto",   \
      1, SKN_BATCH_ROWS_MAX, "auto",                                           \
      "decoder: tokens of a micro-batch, several of which make a step; auto: " \
      "the most whole sequences, up to 2,048 tokens, that divide a step")      \
    O(skn_model_train_t, int64_t, steps, "steps", INT, "0", 0, SKN_COUNT_MAX,  \
      NULL, "decoder: stop after this many steps; 0: after the epochs")        \
    O(skn_model_train_t, double, clip_norm, "clip_norm", REAL, "auto", 0, 1e9, \
      "auto",                                                                  \
      "decoder: greatest norm of a step's gradient over all layers; a "        \
      "greater one is scaled down to it; 0: no limit; auto: 1")                \
    O(skn_model_train_t, skn_recompute_t, recompute, "recompute", CHOICE,      \
      "auto", 0, 0, SKN_CHOICES(SKN_RECOMPUTES),                               \
      "decoder: what the backward pass computes again: nothing (none), or "    \
      "what a layer made of its input (layer), which takes a third more "      \
      "work and less memory and gives the same bits; auto: layer where the "   \
      "run needs more memory than there is or, of several nodes, than "        \
      "nodes.memory and resources.memory allow")                               \
    SKN_AUTO_KEY(O, skn_model_train_t, int64_t, epochs, "epochs", "auto", "",  \
                 SKN_SETTING_EPOCHS)                                           \
    SKN_KEY(O, skn_model_train_t, int64_t, max_batches, "max_batches", "0",    \
            SKN_SETTING_MAX_BATCHES)                                           \
    SKN_AUTO_KEY(O, skn_model_train_t, int64_t, window, "window", "auto", "",  \
                 SKN_SETTING_WINDOW)                                           \
    SKN_KEY(O, skn_model_train_t, skn_order_t, order, "order", "fixed",        \
            SKN_SETTING_ORDER)                                                 \
    SKN_KEY(O, skn_model_train_t, skn_reduction_t, reduction, "reduction",     \
            "fast", SKN_SETTING_REDUCTION)                                     \
    SKN_AUTO_KEY(                                                              \
        O, skn_model_train_t, skn_merging_t, merge, "merge",                   \
        SKN_CHOICES(SKN_MERGINGS),                                             \
        "; auto: late over several nodes with reduction fast, otherwise "      \
        "early",                                                               \
        SKN_SETTING_MERGE)                                                     \
    SKN_AUTO_KEY(                                                              \
        O, skn_model_train_t, skn_precision_t, precision, "precision",         \
        SKN_CHOICES(SKN_PRECISIONS),                                           \
        "; auto: bf16 where a hidden layer has 256 units or more, with "       \
        "reduction fast",                                                      \
        SKN_SETTING_PRECISION)                                                 \
    SKN_KEY(O, skn_model_train_t, skn_updates_t, updates, "updates", "loan",   \
            SKN_SETTING_UPDATES)                                               \
    SKN_KEY(O, skn_model_train_t, double, validate, "validate", "0",           \
            SKN_SETTING_VALIDATE)                                              \
    SKN_AUTO_KEY(O, skn_model_train_t, int64_t, patience, "patience", "auto",  \
                 "; auto: 3 with validate, otherwise 0; of a decoder 0",       \
                 SKN_SETTING_PATIENCE)

/* --- checkpoint, resources ------------------------------------------------ */

#define SKN_CHECKPOINT_KEYS(O)                                                 \
    O(skn_model_checkpoint_t, const char *, path, "path", PATH, "", 0, 0,      \
      NULL, "folder of the run's checkpoints; empty: runs/<name>-<UTC>-<id>")  \
    SKN_AUTO_KEY(O, skn_model_checkpoint_t, int64_t, every_batches,            \
                 "every_batches", "auto",                                      \
                 "; auto: only where epochs are long",                         \
                 SKN_SETTING_EVERY_BATCHES)                                    \
    SKN_KEY(O, skn_model_checkpoint_t, int64_t, every_epochs, "every_epochs",  \
            "1", SKN_SETTING_EVERY_EPOCHS)                                     \
    SKN_KEY(O, skn_model_checkpoint_t, int64_t, keep, "keep", "3",             \
            SKN_SETTING_KEEP)                                                  \
    O(skn_model_checkpoint_t, int64_t, copies, "copies", INT, "1", 1,          \
      SKN_CLUSTER_NODES_MAX, NULL,                                             \
      "with several nodes: 1: the first one keeps whole checkpoints; 2 "       \
      "and more: each node keeps its share in its own folder, and each "       \
      "part is in this many folders, all but one of which may be lost")

#define SKN_RESOURCES_KEYS(O)                                                  \
    O(skn_model_resources_t, int64_t, memory_bytes, "memory", SIZE, "auto", 1, \
      SKN_ENDLESS, "auto",                                                     \
      "memory that the run may use; a plan that needs more is refused; "       \
      "auto: what the machine has free")                                       \
    SKN_KEY(O, skn_model_resources_t, bool, huge_pages, "huge_pages", "true",  \
            SKN_SETTING_HUGE_PAGES)

/* --- nodes, links --------------------------------------------------------- */

#define SKN_NODE_KEYS(O)                                                       \
    O(skn_model_node_t, const char *, name, "name", TEXT, NULL, 0, 0, NULL,    \
      "name of the node, for overrides, `skein node` and reports")             \
    O(skn_model_node_t, const char *, address, "address", TEXT, "", 0, 0,      \
      NULL,                                                                    \
      "where it listens, as the other nodes reach it: tcp://host:port; "       \
      "required if there are several nodes, unless 'via' is given")            \
    O(skn_model_node_t, const char *, via, "via", TEXT, "", 0, 0, NULL,        \
      "in place of an address, for a node that dials out and cannot be "       \
      "dialled (behind a NAT): the node with an address that relays "          \
      "between it and others of its kind")                                     \
    O(skn_model_node_t, const char *, key, "key", PATH, "", 0, 0, NULL,        \
      "its certificate (skein keygen); required on every node as soon as "     \
      "an address is beyond this machine")                                     \
    O(skn_model_node_t, int64_t, memory_bytes, "memory", SIZE, "auto", 1,      \
      SKN_ENDLESS, "auto",                                                     \
      "memory that the node may use; a plan whose share for it needs "         \
      "more is refused; auto: no limit")                                       \
    O(skn_model_node_t, double, speed, "speed", REAL, "1", 0.001, 1000, NULL,  \
      "speed of one of its cores relative to those of the other nodes: "       \
      "it gets rows and hidden units in proportion; measured and set by "      \
      "`skein coordinator`")                                                   \
    O(skn_model_node_t, double, notice_s, "notice", REAL, "0", 0, 86400, NULL, \
      "seconds of notice before its machine is taken away; it gets no "        \
      "more of the model than its link (links.rate) carries in half of "       \
      "them; 0: no limit")                                                     \
    O(skn_model_node_t, bool, is_leaving, "leaves", BOOL, "false", 0, 0, NULL, \
      "it only hands over its part of the checkpoint that the run "            \
      "continues from: it gets no rows and no copies, and the run pauses "     \
      "as soon as the others have that part; such nodes come last; set "       \
      "by `skein coordinator`")                                                \
    O(skn_model_node_t, const char *, ssh, "ssh", TEXT, "", 0, 0, NULL,        \
      "host that `skein up` starts the node on, by ssh; empty: this "          \
      "machine")

#define SKN_LINKS_KEYS(O)                                                      \
    O(skn_model_links_t, skn_link_coding_t, coding, "coding", CHOICE, "auto",  \
      0, 0, SKN_CHOICES(SKN_LINK_CODINGS),                                     \
      "how activations and their gradients travel between nodes; auto: "       \
      "bf16, but f32 with `reduction: fixed`")                                 \
    O(skn_model_links_t, double, rate, "rate", REAL, "1e9", 1e3, 1e12, NULL,   \
      "bits per second that a link carries each way: for the forecast of "     \
      "`skein plan`, nodes.notice, and the micro-batches in flight of a "      \
      "decoder")                                                               \
    O(skn_model_links_t, double, latency, "latency", REAL, "0.0005", 0, 60,    \
      NULL,                                                                    \
      "seconds that a message takes from node to node, one way: while it is "  \
      "on its way, the stages of a decoder work on more micro-batches; "       \
      "within a process it is 0")

/* --- idle, coordinator ---------------------------------------------------- */

#define SKN_NOTICE_KEYS(O)                                                     \
    O(skn_model_notice_t, const char *, file, "file", PATH, "", 0, 0, NULL,    \
      "the run ends with success when this file appears; empty: none")         \
    O(skn_model_notice_t, const char *, command, "command", TEXT, "", 0, 0,    \
      NULL,                                                                    \
      "the run ends with success when this shell command exits 0; empty: "     \
      "none; docs/tasks/idle.md has those of the large clouds")                \
    O(skn_model_notice_t, double, every_s, "every_s", REAL, "5", 0.1, 3600,    \
      NULL, "seconds between two checks")

#define SKN_IDLE_KEYS(O)                                                       \
    O(skn_model_idle_t, bool, enabled, "enabled", BOOL, "false", 0, 0, NULL,   \
      "give way to all other work on this machine; each machine has its "      \
      "own `idle:`, and none of it changes what is trained")                   \
    O(skn_model_idle_t, int64_t, reserve_cores, "reserve_cores", INT, "auto",  \
      0, SKN_ACTORS_MAX, "auto",                                               \
      "cores that are always left free; auto: 1 while a terminal was used "    \
      "within the last 5 minutes, otherwise 0")                                \
    O(skn_model_idle_t, double, share, "share", REAL, "1", 0.01, 1, NULL,      \
      "greatest share of the cores that may be used; one core always may")     \
    O(skn_model_idle_t, double, memory, "memory", REAL, "0.5", 0.01, 1, NULL,  \
      "share of the memory available at the start that the run may need; "     \
      "a plan that needs more is refused")                                     \
    O(skn_model_idle_t, double, bandwidth, "bandwidth", REAL, "0", 0, 1e6,     \
      NULL, "Mbit/s that this node may send to others; 0: no limit")           \
    O(skn_model_idle_t, double, grace_s, "grace_s", REAL, "3", 0, 3600, NULL,  \
      "seconds that a reason to pause must last before the run pauses")

#define SKN_COORDINATOR_KEYS(O)                                                \
    O(skn_model_coordinator_t, const char *, address, "address", TEXT, "", 0,  \
      0, NULL,                                                                 \
      "where `skein coordinator` listens, as the nodes reach it: "             \
      "tcp://host:port; empty: a run whose nodes never change")                \
    O(skn_model_coordinator_t, const char *, key, "key", PATH, "", 0, 0, NULL, \
      "its certificate (skein keygen); required as soon as its address "       \
      "is beyond this machine")                                                \
    O(skn_model_coordinator_t, int64_t, least, "least", INT, "1", 1, 64, NULL, \
      "nodes that must be there for the run to continue")                      \
    O(skn_model_coordinator_t, bool, balance, "balance", BOOL, "true", 0, 0,   \
      NULL,                                                                    \
      "measure how fast the nodes are, and divide the output layer "           \
      "again, at a marker, where that pays")                                   \
    O(skn_model_coordinator_t, skn_recovery_t, recovery, "recovery", CHOICE,   \
      "rollback", 0, 0, SKN_CHOICES(SKN_RECOVERIES),                           \
      "after a death without notice; rollback: all go back to the last "       \
      "checkpoint, and nothing is lost; partial: survivors keep their "        \
      "state, and the dead node's blocks lose their updates since that "       \
      "checkpoint, whose number is reported")

#endif
