/* model.h - the model file as a struct: checked, and with every default filled
 * in.
 *
 * A model file defines what to train (data, layers) and how (train, checkpoint,
 * resources). Reading it gives a skn_model_t: plain, typed, complete. A value
 * that the file leaves to Skein stays SKN_AUTO, or the first value of its enum,
 * until the plan resolves it from statistics of the data, never from a clock.
 * Names, types, ranges, defaults and help are in model_tables.c alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_H
#define TOPOLOGY_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/dataset/dataset.h"
#include "skein/error.h"
#include "topology/model/reasons.h"

/* `auto` in a number. No number of a model file may be negative. */
#define SKN_AUTO (-1)

/* Words of a model file: C(NAME, word). The enum, the choices of the option
 * and the printed word come from one list, in one order; AUTO is always 0. */
/* skn_normalize_t is defined in formats/dataset/dataset.h, in the same
 * order. */
#define SKN_NORMALIZES(C) C(NORMALIZE_L2, l2) C(NORMALIZE_NONE, none)
#define SKN_ACTIVATIONS(C) C(ACTIVATION_RELU, relu)
#define SKN_LOSSES(C)                                                          \
    C(LOSS_AUTO, auto) C(LOSS_SOFTMAX, softmax) C(LOSS_ONE_VS_ALL, one_vs_all)
#define SKN_WEIGHTS(C)                                                         \
    C(WEIGHTS_AUTO, auto) C(WEIGHTS_F32, f32) C(WEIGHTS_BF16, bf16)
#define SKN_SAMPLERS(C)                                                        \
    C(SAMPLER_AUTO, auto)                                                      \
    C(SAMPLER_EXACT, exact)                                                    \
    C(SAMPLER_UNIFORM, uniform)                                                \
    C(SAMPLER_LOG_UNIFORM, log_uniform)                                        \
    C(SAMPLER_SIMHASH, simhash)                                                \
    C(SAMPLER_DWTA, dwta)
#define SKN_ORDERS(C) C(ORDER_FIXED, fixed) C(ORDER_FREE, free)
#define SKN_REDUCTIONS(C) C(REDUCTION_FAST, fast) C(REDUCTION_FIXED, fixed)
#define SKN_MERGINGS(C)                                                        \
    C(MERGING_AUTO, auto) C(MERGING_EARLY, early) C(MERGING_LATE, late)
#define SKN_PRECISIONS(C)                                                      \
    C(PRECISION_AUTO, auto) C(PRECISION_F32, f32) C(PRECISION_BF16, bf16)
#define SKN_UPDATES(C) C(UPDATES_LOAN, loan) C(UPDATES_COPY, copy)
#define SKN_OPTIMIZERS(C)                                                      \
    C(OPTIMIZER_AUTO, auto)                                                    \
    C(OPTIMIZER_ADAM, adam)                                                    \
    C(OPTIMIZER_ADAGRAD, adagrad)                                              \
    C(OPTIMIZER_SGD, sgd)
#define SKN_OFFLOADS(C)                                                        \
    C(OFFLOAD_AUTO, auto)                                                      \
    C(OFFLOAD_NONE, none)                                                      \
    C(OFFLOAD_FILE, file)
#define SKN_SCHEDULES(C)                                                       \
    C(SCHEDULE_AUTO, auto)                                                     \
    C(SCHEDULE_CONSTANT, constant)                                             \
    C(SCHEDULE_WARMUP, warmup)                                                 \
    C(SCHEDULE_COSINE, cosine)
/* After AUTO, the order is that of actors/runtime/wiring.h. */
#define SKN_LINK_CODINGS(C)                                                    \
    C(LINK_CODING_AUTO, auto)                                                  \
    C(LINK_CODING_F32, f32)                                                    \
    C(LINK_CODING_BF16, bf16)                                                  \
    C(LINK_CODING_INT8, int8)                                                  \
    C(LINK_CODING_INT4, int4)
#define SKN_RECOVERIES(C)                                                      \
    C(RECOVERY_ROLLBACK, rollback) C(RECOVERY_PARTIAL, partial)

#define SKN_CHOICE_ENUM(NAME, word) SKN_##NAME,
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
    SKN_SAMPLERS(SKN_CHOICE_ENUM) SKN_SAMPLER_COUNT
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
typedef enum skn_schedule_kind {
    SKN_SCHEDULES(SKN_CHOICE_ENUM)
} skn_schedule_kind_t;
typedef enum skn_link_coding {
    SKN_LINK_CODINGS(SKN_CHOICE_ENUM)
} skn_link_coding_t;
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

/* `data:`. Paths are ready to open: relative ones were joined with the folder
 * of the model file; those of overrides are relative to the working
 * directory. */
typedef struct skn_model_data {
    const char *train;
    const char *test; /* "": none */
    skn_normalize_t normalize;
    const char *cache; /* "auto", "none" or a path */
    int64_t memory_bytes;
    int64_t feature_count, label_count; /* of the model; 0: those of the data
                                         * file */
    bool questions; /* `test` is to be predicted; not a key of the file */
} skn_model_data_t;

/* `sampler:` of the output layer. */
typedef struct skn_model_sampler {
    skn_sampler_choice_t kind;
    int64_t rows;            /* rows drawn for a batch besides the labels;
                              * SKN_AUTO: auto */
    bool labels;             /* the active set always has the batch's labels */
    int64_t tables, bits;    /* simhash, dwta; SKN_AUTO: auto */
    int64_t refresh_batches; /* SKN_AUTO: auto */
    int64_t uniform_rows;    /* tail of an indexed sampler; SKN_AUTO: auto */
    double weight_cap;       /* 0: none */
} skn_model_sampler_t;

/* One item of `model.layers`. Members for the other sort of layer have their
 * defaults. Layer 0 is the embedding of the sparse input, the last one the
 * output; those between are dense. */
typedef struct skn_model_layer {
    const char *name;
    bool output;    /* the last layer, and no other */
    int64_t shards; /* SKN_AUTO: auto */
    double init_std;
    /* hidden layers */
    int64_t units; /* SKN_AUTO: auto */
    skn_activate_t activation;
    double dropout; /* SKN_AUTO: auto */
    /* the output layer */
    skn_loss_kind_t loss;
    double label_smoothing; /* softmax; SKN_AUTO: auto */
    skn_weights_t weights;
    int64_t index_lag; /* SKN_AUTO: auto; batches */
    skn_model_sampler_t sampler;
} skn_model_layer_t;

typedef struct skn_model_optimizer {
    skn_optimizer_kind_t kind;
    double rate; /* SKN_AUTO: auto */
    double beta1, beta2, epsilon, weight_decay;
    skn_offload_choice_t offload; /* `auto` is resolved by the plan */
    const char *offload_path;     /* "": the folder of the run */
} skn_model_optimizer_t;

typedef struct skn_model_schedule {
    skn_schedule_kind_t kind;
    int64_t warmup_batches; /* SKN_AUTO: auto */
    double floor;           /* share of the rate that remains at the end */
} skn_model_schedule_t;

typedef struct skn_model_evaluate {
    int64_t every_epochs; /* 0: only at the end */
    int64_t rows;         /* 0: all */
    int64_t topk;
    int64_t sampler_batches; /* 0: the sampler is not evaluated */
} skn_model_evaluate_t;

typedef struct skn_model_train {
    int64_t seed;
    int64_t ensemble;     /* networks; SKN_AUTO: auto; 1 within a network */
    int64_t ranker_trees; /* 0: none; SKN_AUTO: auto; 0 within an ensemble's
                           * network */
    int64_t batch_rows;   /* SKN_AUTO: auto */
    int64_t epochs;       /* SKN_AUTO: auto */
    int64_t max_batches;  /* 0: no limit */
    int64_t window;       /* SKN_AUTO: auto */
    skn_order_t order;
    skn_reduction_t reduction;
    skn_merging_t merge;       /* `auto` is resolved by the plan */
    skn_precision_t precision; /* `auto` is resolved by the plan */
    skn_updates_t updates;
    double validate;  /* share of the training points held back */
    int64_t patience; /* epochs; 0: off. The plan resolves `auto` to 3 or 0 */
    skn_model_optimizer_t optimizer;
    skn_model_schedule_t schedule;
    skn_model_evaluate_t evaluate;
} skn_model_train_t;

typedef struct skn_model_checkpoint {
    const char *path;      /* "": runs/<name>-<UTC>-<id>/ */
    int64_t every_batches; /* SKN_AUTO: auto; 0: not by batches */
    int64_t every_epochs;  /* 0: not by epochs; the end is always saved */
    int64_t keep;
    int64_t copies; /* 1: complete on the first node; more: kept by the nodes */
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
    skn_model_cores_t cores;
    int64_t memory_bytes; /* SKN_AUTO: auto; refuse plans that need more */
    bool huge_pages;
} skn_model_resources_t;

/* An item of `nodes:`. */
typedef struct skn_model_node {
    const char *name;
    const char *address; /* tcp://host:port; "": a single node needs none */
    const char *via;     /* node that relays to it, as it cannot be dialled; "":
                          * none */
    const char *key;     /* path of its certificate; "": none */
    const char *ssh;     /* host for `skein up`; "": this machine, or started by
                          * hand */
    skn_model_cores_t cores;
    int64_t memory_bytes; /* SKN_AUTO: auto, not limited */
    double speed;         /* of one of its cores, relative to other nodes' */
    double notice_s;      /* warning before it is taken away; 0: its rows need
                           * not pass its link by then */
    bool is_leaving;      /* it only serves the checkpoint of the resume */
} skn_model_node_t;

typedef struct skn_model_links {
    skn_link_coding_t coding;
    double rate; /* bits a second, each way: for the plan's forecast, and for
                  * the amount of state that a node can hand over */
} skn_model_links_t;

/* `idle:`. How a process gives way to other work on its machine; each machine
 * has its own settings, and none of them changes what is trained. */
typedef struct skn_model_notice {
    const char *file;    /* path; "": none */
    const char *command; /* for /bin/sh -c; "": none */
    double every_s;
} skn_model_notice_t;

typedef struct skn_model_idle {
    bool enabled;
    int64_t reserve_cores; /* SKN_AUTO: 1 while a user is at the machine */
    double share;          /* of the cores that the process may use */
    double memory;         /* share of the memory available at the start */
    double bandwidth;      /* most Mbit/s that are sent; 0: no limit */
    double grace_s;        /* before a pause */
    skn_model_notice_t notice;
} skn_model_idle_t;
typedef struct skn_model_coordinator {
    const char *address; /* tcp://host:port; "": the nodes never change */
    const char *key;     /* path of its certificate; "": none */
    int64_t least;       /* nodes that the run needs to continue */
    bool balance;        /* rows by measured speed */
    skn_recovery_t recovery;
} skn_model_coordinator_t;

typedef struct skn_model {
    const char *name;   /* the file's name without folder and extension */
    const char *source; /* the file, as it was given */
    skn_model_data_t data;
    const char *const *plugins; /* paths, joined as in data */
    size_t plugin_count;
    const skn_model_layer_t *layers; /* at least two */
    size_t layer_count;
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

struct skn_document;
struct skn_problems;

/* Reads the model file at `path`, with `override_count` overrides of the form
 * "train.window=2" or "model.layers.hidden.units=64" laid over it. One pass
 * adds every error to `problems`; then SKN_BAD_CONFIG is returned and *model is
 * NULL. Otherwise the caller owns *model and destroys it. Any thread. */
skn_status_t skn_model_read(const char *path, const char *const *overrides,
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

#endif
