/* predictor.h - loads a trained model and ranks the labels of texts or points.
 *
 *     skn_predictor_t *predictor = skn_predictor_open("runs/x", &error);
 *     const char *text = "a ball over the net";
 *     status = skn_predictor_best_texts(predictor, &text, NULL, 1, 5, label,
 *                                       score, &error);
 *     puts(skn_predictor_label(predictor, label[0]));
 *     skn_predictor_close(&predictor);
 *
 * (`skn_model_t` is the model *file*; a predictor is the trained result.) Only
 * weights are loaded, no moments. Every label is scored, so that the result is
 * exact, unless skn_predictor_index has built an index. After that a predictor
 * does not change: any number of threads may use it at once; each call has
 * memory of its own, which the predictor keeps for later ones. A slot lets a
 * service replace its predictor under load.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_PREDICTOR_H
#define SKEIN_PREDICTOR_H

#include "skein/actor.h"
#include "skein/points.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_predictor skn_predictor_t;

/* The most labels that can be requested for one point. */
#define SKN_PREDICTOR_LABELS_MAX 128u

/* Opens a model that was trained: a file that skn_predictor_export has written,
 * a run folder (its `best` checkpoint if it has one, else the newest that is
 * whole) or one checkpoint, which must still be in its run folder, where the
 * config is. For a run on several nodes the folders
 * of the nodes are read together, in place: `path` is the folder that holds
 * them, or any one of them. For a run whose networks are not joined yet one
 * network is opened, and the warning names it. NULL and SKN_NO_INPUT (also for
 * missing parts, naming the folder and the part), SKN_BAD_DATA (also for
 * weights that do not fit the config), SKN_NO_MEMORY (with the numbers, before
 * it is allocated). */
SKN_API skn_predictor_t *skn_predictor_open(const char *path,
                                            skn_error_t *error);
/* Gives up one reference, the one of skn_predictor_open, of
 * skn_predictor_slot_acquire or of skn_batcher_best, and sets *predictor to
 * NULL, which it may be already. The last one frees the model. */
SKN_API void skn_predictor_close(skn_predictor_t **predictor);

/* Lives as long as the predictor. Members may be added at the end within one
 * SONAME: a library that is older than the host has fewer. */
typedef struct skn_predictor_info_s {
    size_t struct_bytes; /* of the members that this library has */
    const char *path;    /* of the checkpoint */
    const char *run_id;  /* 32 hex digits */
    const char *warning; /* "", or newer checkpoints that were refused, or the
                          * unfinished part of the run */
    const char *config;  /* the model file with every value, YAML */
    uint64_t batch;      /* trained batches */
    uint32_t feature_count, label_count;
    uint32_t layer_count;
    uint64_t parameter_count;
    bool softmax;    /* scores that are not calibrated sum to 1 over all labels;
                      * else each is a probability by itself (one-vs-all) */
    bool normalizes; /* the values of a point are scaled to length 1 */
    /* Lists and probes of the index; 0: there is none, and results are
     * exact. */
    uint32_t index_lists, index_probes;
    /* Weights of the ranker (train.ranker_trees), which reorders the thirty
     * best labels of the network and recomputes their probabilities; other
     * labels follow them, at most as probable as the last of them. 0: there is
     * none. */
    uint64_t ranker_weights;
    size_t label_name_count; /* names that the model has; 0: none */
    bool texts; /* it was trained on rows of texts, and knows their words */
    /* Scores were fitted to points that were held back, so that of the answers
     * with a score of .7 seven in ten are right: each is a probability by
     * itself, whatever `softmax` is. False: there were no such points, or the
     * model is older. */
    bool calibrated;
} skn_predictor_info_t;

/* Describes the model; NULL for a NULL. Any number of threads. */
SKN_API const skn_predictor_info_t *skn_predictor_info(
    const skn_predictor_t *predictor);

/* The name of a label, as the training rows of texts have it, or from the file
 * `data.labels` of the config, of which the run folder has a copy: without a
 * line end, UTF-8 as far as the file is. "" if the label has none, or does not
 * exist, and for a NULL. Lives as long as the predictor. Any number of
 * threads. */
SKN_API const char *skn_predictor_label(const skn_predictor_t *predictor,
                                        uint32_t label);

/* Divides the labels into `lists` lists of similar ones (k-means over the
 * output layer). From now on a point is ranked against the labels of the
 * `probes` most promising lists, which gains more the more labels there are;
 * some of its best labels may be missed, and probabilities are shares of the
 * labels scored. More probes find more and take longer. 0 lists: 4
 * sqrt(labels); 0 probes: a twentieth of the lists. At most 128 probes. Takes
 * seconds for 10^5 labels. No thread may use the predictor meanwhile. SKN_USAGE
 * for numbers out of range; SKN_NO_MEMORY, after which the predictor is as
 * before. */
SKN_API skn_status_t skn_predictor_index(skn_predictor_t *predictor,
                                         uint32_t lists, uint32_t probes,
                                         skn_error_t *error);

/* The k best labels of each point, best first (of equal ones the lower label):
 * label[i * k + r] and its probability score[i * k + r]. If the model has fewer
 * than k labels the rest are UINT32_MAX and 0. 1 <= k <=
 * SKN_PREDICTOR_LABELS_MAX. The values are used as the model was trained:
 * scaled to length 1 first if info->normalizes. Fastest with some hundred
 * points a call; more than 256 are split into such calls.
 *
 * Features that the model does not have (feature >= info->feature_count) are
 * left out, before values are scaled: a point of such features alone is a point
 * without features. skn_predictor_unknown counts them; skn_predictor_strict
 * makes them an error.
 *
 * SKN_BAD_DATA if a point cannot be ranked: a value, a sum of values of one
 * feature, or a sum inside the network is not finite. `error` names the first
 * such point. All others are ranked nevertheless; those that are not have
 * UINT32_MAX and NaN. So have all points if the offsets are wrong, which is
 * SKN_BAD_DATA, too. SKN_USAGE for a k out of range or a missing argument;
 * SKN_NO_MEMORY. After these two the results are undefined. */
SKN_API skn_status_t skn_predictor_best(const skn_predictor_t *predictor,
                                        const skn_points_t *points, uint32_t k,
                                        uint32_t *label, float *score,
                                        skn_error_t *error);

/* Opens the file `path` ("-": standard input), packed or not, for points that
 * this model can be asked: with its sizes, and with skn_predictor_strict as it
 * is set. If the model knows texts (info->texts), the file has rows of them:
 * fastText's, CSV or TSV with the columns of the training file, JSON lines, or
 * else a text in each line; labels in it are not looked at. The predictor
 * outlives the reader. As skn_point_reader_open; SKN_BAD_DATA: the columns are
 * missing. */
SKN_API skn_point_reader_t *skn_predictor_read(const skn_predictor_t *predictor,
                                               const char *path,
                                               skn_error_t *error);
/* The k best labels of each of `count` texts: skn_predictor_best for the points
 * that the model makes of them. Text i has text_bytes[i] bytes, or ends with a
 * NUL if `text_bytes` is NULL; it may be empty, and bytes that are not UTF-8
 * separate words. Words that the model does not have are left out. Besides, as
 * skn_predictor_best; SKN_USAGE if the model knows no texts. Any number of
 * threads. */
SKN_API skn_status_t skn_predictor_best_texts(const skn_predictor_t *predictor,
                                              const char *const *text,
                                              const size_t *text_bytes,
                                              size_t count, uint32_t k,
                                              uint32_t *label, float *score,
                                              skn_error_t *error);

/* A field of a row: a column that the model was trained on, by its name, and
 * what the row has there, both with a NUL behind. NULL or a blank text: it is
 * not known. */
typedef struct skn_row_field {
    const char *column, *text;
} skn_row_field_t;
/* As skn_predictor_best_texts, for `count` rows of named fields: row i has
 * field[offset[i]] to field[offset[i + 1] - 1], in any order, so that `offset`
 * has count + 1 elements. `field` may be NULL if no row has any. Columns are
 * those of data.text_column ("text" for a file of fastText),
 * data.category_columns and data.number_columns of the model file; those that a
 * row does not have are not known. Besides, SKN_USAGE for a column that the
 * model does not have or that a row has twice, and SKN_BAD_DATA for a number
 * that is none: no row is ranked then. Any number of threads. */
SKN_API skn_status_t skn_predictor_best_rows(const skn_predictor_t *predictor,
                                             const skn_row_field_t *field,
                                             const size_t *offset, size_t count,
                                             uint32_t k, uint32_t *label,
                                             float *score, skn_error_t *error);

/* The number of features of `points` that the model does not have, repeated
 * ones counted each time. If there are any, *point and *feature are set to the
 * first; both may be NULL. 0 also for points that skn_predictor_best refuses
 * for their offsets. Any number of threads. */
SKN_API uint64_t skn_predictor_unknown(const skn_predictor_t *predictor,
                                       const skn_points_t *points,
                                       size_t *point, uint32_t *feature);

/* From now on skn_predictor_best refuses points with features that the model
 * does not have (true), or leaves such features out (false, the default). No
 * thread may use the predictor meanwhile. */
SKN_API void skn_predictor_strict(skn_predictor_t *predictor, bool strict);

/* How the rows of weights are stored in an exported model. */
typedef enum skn_export_rows {
    SKN_EXPORT_F32,  /* as they were trained */
    SKN_EXPORT_BF16, /* two bytes a weight */
    SKN_EXPORT_INT8  /* one byte a weight, and one scale a row */
} skn_export_rows_t;

/* Zeros are the defaults. */
typedef struct skn_export_options {
    uint32_t struct_bytes; /* sizeof(skn_export_options_t) */
    skn_export_rows_t rows;
    /* The file has at most so many bytes: with shorter rows than `rows` if
     * needed, and if int8 is still too large, without the rows of the features
     * that matter least. 0: of any size. */
    uint64_t bytes_max;
} skn_export_options_t;

typedef struct skn_exported {
    uint32_t struct_bytes; /* set by the caller before the call */
    skn_export_rows_t rows;
    uint64_t bytes;
    uint32_t feature_count, kept_count; /* features, and those with a row */
} skn_exported_t;

/* Writes the model as one file: weights, ranker, words, names of labels and
 * config (docs/reference/checkpoint.md). skn_predictor_open takes it in place
 * of a run folder: it maps the file, which must not be changed meanwhile, so
 * that processes share its memory. With SKN_EXPORT_F32 and bytes_max 0 it
 * answers with the same bits. The file appears whole or not at all. `options`
 * and `exported` may be NULL. SKN_USAGE; SKN_CANNOT_CREATE if `path` exists;
 * SKN_BAD_DATA if the model cannot become so small; SKN_STORAGE;
 * SKN_NO_MEMORY. */
SKN_API skn_status_t skn_predictor_export(const skn_predictor_t *predictor,
                                          const char *path,
                                          const skn_export_options_t *options,
                                          skn_exported_t *exported,
                                          skn_error_t *error);

/* Holds the current predictor of a service: its threads acquire it here, and a
 * reload stores the next one. SKN_ZERO is an empty slot. Caller's memory, which
 * the two functions alone touch; an empty slot needs no cleaning up. A child
 * made by fork() has a slot of its own with the same predictor. */
typedef struct skn_predictor_slot {
    skn_predictor_t *current;
} skn_predictor_slot_t;

/* Puts *predictor into the slot, takes over its reference and sets *predictor
 * to NULL. The former predictor is closed: calls that hold it continue with it,
 * and the last of them frees it. With `predictor` NULL the slot is empty
 * afterwards. SKN_USAGE if the slot or *predictor is NULL (the open failed, for
 * example); SKN_NO_MEMORY. After these the slot is as before. Any number of
 * threads. */
SKN_API skn_status_t skn_predictor_slot_store(skn_predictor_slot_t *slot,
                                              skn_predictor_t **predictor,
                                              skn_error_t *error);

/* The current predictor, with a reference that the caller gives up with
 * skn_predictor_close. It stays as it is until then, whatever is stored
 * meanwhile. NULL and SKN_UNAVAILABLE if the slot is empty; NULL and SKN_USAGE
 * if `slot` is NULL. Any number of threads. */
SKN_API skn_predictor_t *skn_predictor_slot_acquire(skn_predictor_slot_t *slot,
                                                    skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
