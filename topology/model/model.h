/* model.h - the model file as a struct: checked, and with every default filled
 * in.
 *
 * A model file defines what to train (data, layers) and how (train, checkpoint,
 * resources). Reading it gives a skn_model_t: plain, typed, complete. A value
 * that the file leaves to Skein stays SKN_AUTO, or the first value of its enum,
 * until the plan resolves it from statistics of the data, never from a clock.
 * The keys, their ranges, defaults and help are declared in model_keys.h, and
 * the members for them are made from it: what a member is for stands there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_H
#define TOPOLOGY_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/dataset/dataset.h"
#include "skein/error.h"
#include "topology/model/model_keys.h"
#include "topology/model/reasons.h"

/* `auto` in a number. No number of a model file may be negative. */
#define SKN_AUTO (-1)

#define SKN_CHOICE_ENUM(NAME, word) SKN_##NAME,
typedef enum skn_data_format {
    SKN_DATA_FORMATS(SKN_CHOICE_ENUM)
} skn_data_format_t;
typedef enum skn_term_value {
    SKN_TERM_VALUES(SKN_CHOICE_ENUM)
} skn_term_value_t;
typedef enum skn_activate {
    SKN_ACTIVATIONS(SKN_CHOICE_ENUM)
} skn_activate_t;
typedef enum skn_loss_kind {
    SKN_LOSSES(SKN_CHOICE_ENUM)
} skn_loss_kind_t;
typedef enum skn_weights {
    SKN_WEIGHTS(SKN_CHOICE_ENUM)
} skn_weights_t;
typedef enum skn_sampler_choice {
    SKN_SAMPLERS(SKN_CHOICE_ENUM)
} skn_sampler_choice_t;
typedef enum skn_order {
    SKN_ORDERS(SKN_CHOICE_ENUM)
} skn_order_t;
typedef enum skn_reduction {
    SKN_REDUCTIONS(SKN_CHOICE_ENUM)
} skn_reduction_t;
typedef enum skn_merging {
    SKN_MERGINGS(SKN_CHOICE_ENUM)
} skn_merging_t;
typedef enum skn_precision {
    SKN_PRECISIONS(SKN_CHOICE_ENUM)
} skn_precision_t;
typedef enum skn_updates {
    SKN_UPDATES(SKN_CHOICE_ENUM)
} skn_updates_t;
typedef enum skn_optimizer_kind {
    SKN_OPTIMIZERS(SKN_CHOICE_ENUM)
} skn_optimizer_kind_t;
typedef enum skn_offload_choice {
    SKN_OFFLOADS(SKN_CHOICE_ENUM)
} skn_offload_choice_t;
typedef enum skn_recompute {
    SKN_RECOMPUTES(SKN_CHOICE_ENUM)
} skn_recompute_t;
typedef enum skn_schedule_kind {
    SKN_SCHEDULES(SKN_CHOICE_ENUM)
} skn_schedule_kind_t;
typedef enum skn_link_coding {
    SKN_LINK_CODINGS(SKN_CHOICE_ENUM)
} skn_link_coding_t;
typedef enum skn_model_kind {
    SKN_MODEL_KINDS(SKN_CHOICE_ENUM)
} skn_model_kind_t;
typedef enum skn_recovery {
    SKN_RECOVERIES(SKN_CHOICE_ENUM)
} skn_recovery_t;

/* The place of a value in the model file, for messages that come after reading.
 * With line 0, `origin` is the whole place. */
typedef struct skn_model_place {
    const char *origin;
    uint32_t line, column;
} skn_model_place_t;
/* Prints "FILE:LINE:COLUMN", or the option of the command line. Returns
 * `text`. */
const char *skn_model_place_text(const skn_model_place_t *place, char *text,
                                 size_t bytes);

/* A row of model_keys.h as the member of a struct. */
#define SKN_KEY_MEMBER(struct_type, member_type, member, ...)                  \
    member_type member;

/* `data:`. Paths are ready to open: relative ones were joined with the folder
 * of the model file; those of overrides are relative to the working
 * directory. */
typedef struct skn_model_data {
    SKN_DATA_KEYS(SKN_KEY_MEMBER)
    bool questions; /* `test` is to be predicted; not a key of the file */
} skn_model_data_t;

/* `sampler:` of the output layer. */
typedef struct skn_model_sampler {
    SKN_SAMPLER_KEYS(SKN_KEY_MEMBER)
} skn_model_sampler_t;

/* One item of `model.layers`. Members for the other sort of layer have their
 * defaults. Layer 0 is the embedding of the sparse input, the last one the
 * output; those between are dense. A decoder is three of them: the embedding of
 * its tokens, its own layers as one, whose shards are the stages, and the
 * head. */
typedef struct skn_model_layer {
    SKN_LAYER_NAME_KEY(SKN_KEY_MEMBER)
    bool output; /* the last layer, and no other */
    SKN_LAYER_KEYS(SKN_KEY_MEMBER)
    SKN_HIDDEN_KEYS(SKN_KEY_MEMBER)
    SKN_OUTPUT_KEYS(SKN_KEY_MEMBER)
    skn_model_sampler_t sampler; /* of the output layer */
} skn_model_layer_t;

/* `model:` of kind decoder. */
typedef struct skn_model_decoder {
    SKN_DECODER_KEYS(SKN_KEY_MEMBER)
    int64_t layers;         /* `layers` as a number */
    skn_model_layer_t head; /* as it was read; the plan resolves the model's
                             * last layer */
} skn_model_decoder_t;

typedef struct skn_model_optimizer {
    SKN_OPTIMIZER_KEYS(SKN_KEY_MEMBER)
} skn_model_optimizer_t;

typedef struct skn_model_schedule {
    SKN_SCHEDULE_KEYS(SKN_KEY_MEMBER)
} skn_model_schedule_t;

typedef struct skn_model_evaluate {
    SKN_EVALUATE_KEYS(SKN_KEY_MEMBER)
} skn_model_evaluate_t;

typedef struct skn_model_train {
    SKN_TRAIN_KEYS(SKN_KEY_MEMBER)
    skn_model_optimizer_t optimizer;
    skn_model_schedule_t schedule;
    skn_model_evaluate_t evaluate;
} skn_model_train_t;

typedef struct skn_model_checkpoint {
    SKN_CHECKPOINT_KEYS(SKN_KEY_MEMBER)
} skn_model_checkpoint_t;

/* `cores: 4` sets the limit, `cores: [0, 2]` and `cores: 0-3` the list (logical
 * numbers within the process's mask, without repeats). With SKN_AUTO and no
 * list, one process uses every unit that it may, and each of several nodes uses
 * one. */
typedef struct skn_model_cores {
    int64_t limit;
    const uint32_t *list;
    size_t count;
    skn_model_place_t place; /* of the value in the file; unset for auto */
} skn_model_cores_t;

/* The number of cores that a plan over several nodes counts. It depends on the
 * file alone, so that it is the same on each node. */
uint32_t skn_model_cores_count(const skn_model_cores_t *cores);

typedef struct skn_model_resources {
    SKN_RESOURCES_KEYS(SKN_KEY_MEMBER)
    skn_model_cores_t cores;
} skn_model_resources_t;

/* An item of `nodes:`. */
typedef struct skn_model_node {
    SKN_NODE_KEYS(SKN_KEY_MEMBER)
    skn_model_cores_t cores;
} skn_model_node_t;

typedef struct skn_model_links {
    SKN_LINKS_KEYS(SKN_KEY_MEMBER)
} skn_model_links_t;

/* `idle:`. How a process gives way to other work on its machine; each machine
 * has its own settings, and none of them changes what is trained. */
typedef struct skn_model_notice {
    SKN_NOTICE_KEYS(SKN_KEY_MEMBER)
} skn_model_notice_t;

typedef struct skn_model_idle {
    SKN_IDLE_KEYS(SKN_KEY_MEMBER)
    skn_model_notice_t notice;
} skn_model_idle_t;
typedef struct skn_model_coordinator {
    SKN_COORDINATOR_KEYS(SKN_KEY_MEMBER)
} skn_model_coordinator_t;

typedef struct skn_model {
    const char *name;   /* the file's name without folder and extension */
    const char *source; /* the file, as it was given */
    skn_model_data_t data;
    const char *const *plugins; /* paths, joined as in data */
    size_t plugin_count;
    const skn_model_layer_t *layers; /* at least two */
    size_t layer_count;
    skn_model_decoder_t decoder;
    skn_model_train_t train;
    skn_model_checkpoint_t checkpoint;
    skn_model_resources_t resources;
    const skn_model_node_t *nodes; /* none: one process */
    size_t node_count;
    skn_model_links_t links;
    skn_model_idle_t idle;
    skn_model_coordinator_t coordinator;
    skn_model_place_t offload_place; /* of train.optimizer.offload_path or
                                      * offload, or the nearest place */
} skn_model_t;

static inline bool
skn_model_is_decoder(const skn_model_t *model)
{
    return model->decoder.kind == SKN_MODEL_DECODER;
}
/* The decoder's own layers among model->layers. */
#define SKN_DECODER_LAYER 1u

/* The shape of a decoder whose `inner` is known. */
skn_decoder_shape_t skn_model_shape(const skn_model_t *model);

/* Writes how rows of texts become points (formats/dataset/preprocessing.h),
 * every auto decided; "": the features are numbered. SKN_BAD_CONFIG: it
 * is too long; SKN_NO_MEMORY. */
#define SKN_PREPROCESSING_BYTES 4096u
skn_status_t skn_model_preprocessing(
    const skn_model_t *model, char preprocessing[SKN_PREPROCESSING_BYTES],
    skn_error_t *error);

struct skn_document;
struct skn_problems;

/* Reads the model file at `path`, with `override_count` overrides of the form
 * "train.window=2" or "model.layers.hidden.units=64" laid over it. One pass
 * adds every error to `problems`; then SKN_BAD_CONFIG is returned and *model is
 * NULL. Otherwise the caller owns *model and destroys it. Any thread. */
skn_status_t skn_model_read(const char *path, const char *const *overrides,
                            size_t override_count, skn_model_t **model,
                            struct skn_problems *problems, skn_error_t *error);

/* Does the same for the text of a model file; `name` as in skn_document_parse.
 */
skn_status_t skn_model_parse(const char *text, size_t text_bytes,
                             const char *name, const char *const *overrides,
                             size_t override_count, skn_model_t **model,
                             struct skn_problems *problems, skn_error_t *error);

/* Does the same for a document that is parsed already. The document may be
 * destroyed before the model. */
skn_status_t skn_model_check(struct skn_document *document, skn_model_t **model,
                             struct skn_problems *problems, skn_error_t *error);

/* Frees the model and sets *model to NULL. *model may be NULL already. */
void skn_model_destroy(skn_model_t **model);

/* Returns the nodes that cannot be dialled (they have `via`), as bits. */
uint64_t skn_model_undialled(const skn_model_t *model);

/* Prints every value, defaults included, as a model file that reads as the same
 * model (paths as joined, `name` aside). SKN_STORAGE when writing fails. */
skn_status_t skn_model_write(const skn_model_t *model, FILE *file,
                             skn_error_t *error);
/* Does the same with a comment behind each value that has a reason, and stores
 * each value with its reason. If `file` is NULL, it only stores them. */
skn_status_t skn_model_write_why(const skn_model_t *model,
                                 skn_reasons_t *reasons, FILE *file,
                                 skn_error_t *error);
/* The tree that these print, which the caller destroys; `reasons` may be NULL.
 * NULL: SKN_NO_MEMORY. */
struct skn_document *skn_model_document(const skn_model_t *model,
                                        skn_reasons_t *reasons,
                                        skn_error_t *error);

#endif
