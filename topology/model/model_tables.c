/* model_tables.c - declares every section and key of a model file, with type,
 * range, default and help.
 *
 * This is the only file that knows names, types, ranges, defaults and help.
 * Each section is one list, from which both the option table and the table of
 * offsets in the section's struct are made. Defaults: seeds and Adam's beta1,
 * beta2, epsilon are those of Kingma & Ba 2015, section 2; others are `auto`
 * (the plan decides from the data) or off.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_tables.h"

#include "skein/limits.h"
#include "topology/model/model.h"

/* No limit except that of the type. */
#define ENDLESS ((double)INT64_MAX)
/* Epochs, batches and the like: no run takes a billion of them. */
#define COUNT_MAX 1e9

/* "|a|b" without its first character. */
#define WORD(NAME, word) "|" #word
#define WORDS(LIST) (&(LIST(WORD))[1])

#define OPTION(struct_type, member, key, type, slot, fallback, min, max,       \
               choices, help)                                                  \
    { key, SKN_OPTION_##type, fallback, min, max, choices, help },
#define SLOT(struct_type, member, key, type, slot, fallback, min, max,         \
             choices, help)                                                    \
    { SKN_SLOT_##slot, offsetof(struct_type, member) },
#define NO_OPTION                                                              \
    {                                                                          \
        NULL, SKN_OPTION_BOOL, NULL, 0.0, 0.0, NULL, NULL                      \
    }
#define NO_PART                                                                \
    {                                                                          \
        NULL, SKN_FORM_MAPPING, 0, NULL, NULL                                  \
    }

/* Defines <name>_options and <name>_slots from the list FIELDS. */
#define TABLES(name, FIELDS)                                                   \
    static const skn_option_t name##_options[] = { FIELDS(OPTION) NO_OPTION }; \
    static const skn_slot_t name##_slots[] = { FIELDS(SLOT){ SKN_SLOT_NONE,    \
                                                             0 } };

static const skn_option_t no_options[] = { NO_OPTION };
static const skn_slot_t no_slots[] = { { SKN_SLOT_NONE, 0 } };
static const skn_part_t no_parts[] = { NO_PART };

/* --- data ---------------------------------------------------------------- */

#define DATA(O)                                                                \
    O(skn_model_data_t, train, "train", PATH, PATH, NULL, 0, 0, NULL,          \
      "training points: XMC text, plain or compressed (.gz, .zst)")            \
    O(skn_model_data_t, test, "test", PATH, PATH, "", 0, 0, NULL,              \
      "test points, for evaluation only; empty: none")                         \
    O(skn_model_data_t, normalize, "normalize", CHOICE, CHOICE, "l2", 0, 0,    \
      WORDS(SKN_NORMALIZES),                                                   \
      "scale the features of each point to length 1 "                          \
      "(l2), or take them as they are")                                        \
    O(skn_model_data_t, cache, "cache", PATH, PATH, "auto", 0, 0, "auto|none", \
      "where the parsed points are kept for the next run: beside the file, "   \
      "or in the user's cache where it cannot be written (auto); in an "       \
      "unnamed file in $TMPDIR or /tmp, for this run alone (none); or in "     \
      "files whose names begin with this path (PATH-train.skc)")               \
    O(skn_model_data_t, memory_bytes, "memory", INT, SIZE, "1GiB", 1, ENDLESS, \
      NULL, "memory that building the cache may use")                          \
    O(skn_model_data_t, feature_count, "feature_count", INT, INT, "0", 0,      \
      SKN_UNIT_MAX, NULL,                                                      \
      "features of the model, at least those of the training file; a higher "  \
      "number makes room for features that only later files have; 0: as many " \
      "as the training file has")                                              \
    O(skn_model_data_t, label_count, "label_count", INT, INT, "0", 0,          \
      SKN_UNIT_MAX, NULL, "labels of the model, likewise")
TABLES(data, DATA)

static const skn_section_t data_section = {
    "data", "What to learn from. Paths start at the folder of this file.",
    data_options, data_slots, no_parts
};

/* --- model --------------------------------------------------------------- */

#define LAYER_COMMON(O)                                                        \
    O(skn_model_layer_t, shards, "shards", INT, INT, "auto", 1, SKN_SHARD_MAX, \
      "auto", "actors that the layer is split over; auto: by the cores")       \
    O(skn_model_layer_t, init_std, "init_std", REAL, REAL, "0.05", 0, 10,      \
      NULL,                                                                    \
      "standard deviation of the normal distribution of initial weights")

#define HIDDEN(O)                                                              \
    O(skn_model_layer_t, name, "name", TEXT, TEXT, NULL, 0, 0, NULL,           \
      "name of the layer, for overrides, checkpoints and reports")             \
    O(skn_model_layer_t, units, "units", INT, INT, "auto", 1, SKN_HIDDEN_MAX,  \
      "auto",                                                                  \
      "width of the layer; auto: from the number of points and labels")        \
    O(skn_model_layer_t, activation, "activation", CHOICE, CHOICE, "relu", 0,  \
      0, WORDS(SKN_ACTIVATIONS), "function applied to the sum of a unit")      \
    O(skn_model_layer_t, dropout, "dropout", REAL, REAL, "auto", 0, 0.95,      \
      "auto",                                                                  \
      "share of the units that are dropped from a training batch at random; "  \
      "auto: from the width")                                                  \
    LAYER_COMMON(O)
TABLES(hidden, HIDDEN)

#define OUTPUT(O)                                                              \
    O(skn_model_layer_t, name, "name", TEXT, TEXT, NULL, 0, 0, NULL,           \
      "name of the layer, for overrides, checkpoints and reports")             \
    O(skn_model_layer_t, loss, "loss", CHOICE, CHOICE, "auto", 0, 0,           \
      WORDS(SKN_LOSSES),                                                       \
      "what training minimises: the cross entropy of a softmax over all "      \
      "labels, or one logistic loss per label")                                \
    O(skn_model_layer_t, label_smoothing, "label_smoothing", REAL, REAL,       \
      "auto", 0, 0.95, "auto",                                                 \
      "softmax: share of a point's target that is spread evenly over all "     \
      "labels, so that rare labels are not memorised; auto: from the points "  \
      "per label")                                                             \
    O(skn_model_layer_t, weights, "weights", CHOICE, CHOICE, "auto", 0, 0,     \
      WORDS(SKN_WEIGHTS),                                                      \
      "number format of the rows used in computation; bf16 needs adagrad or "  \
      "sgd, which round at random, or `updates: copy`, which keeps f32 "       \
      "masters; auto: bf16 with adagrad and precision bf16")                   \
    O(skn_model_layer_t, index_lag, "index_lag", INT, INT, "auto", 1, 4096,    \
      "auto",                                                                  \
      "batches between building a sampler's index and using it; "              \
      "auto: twice the window")                                                \
    LAYER_COMMON(O)
TABLES(output, OUTPUT)

#define SAMPLER(O)                                                             \
    O(skn_model_sampler_t, kind, "kind", CHOICE, CHOICE, "auto", 0, 0,         \
      WORDS(SKN_SAMPLERS),                                                     \
      "how the rows of a batch are chosen: all (exact), "                      \
      "at random, or by hash tables")                                          \
    O(skn_model_sampler_t, tables, "tables", INT, INT, "auto", 1, 4096,        \
      "auto", "simhash, dwta: number of hash tables (L)")                      \
    O(skn_model_sampler_t, bits, "bits", INT, INT, "auto", 1, 30, "auto",      \
      "simhash, dwta: hash functions per table (K)")                           \
    O(skn_model_sampler_t, refresh_batches, "refresh_batches", INT, INT,       \
      "auto", 1, COUNT_MAX, "auto",                                            \
      "simhash, dwta: batches between rebuilds of the index")                  \
    O(skn_model_sampler_t, rows, "rows", INT, INT, "auto", 0, SKN_UNIT_MAX,    \
      "auto",                                                                  \
      "rows chosen for a batch, beside its labels; 0: the labels alone; not "  \
      "for exact")                                                             \
    O(skn_model_sampler_t, labels, "labels", BOOL, BOOL, "true", 0, 0, NULL,   \
      "every row that is a label of the batch serves all its points")          \
    O(skn_model_sampler_t, uniform_rows, "uniform_rows", INT, INT, "auto", 0,  \
      SKN_UNIT_MAX, "auto",                                                    \
      "simhash, dwta: rows drawn uniformly, beside those found by hashing")    \
    O(skn_model_sampler_t, weight_cap, "weight_cap", REAL, REAL, "0", 0, 1e12, \
      NULL,                                                                    \
      "greatest weight of a sampled row, which keeps rare draws from "         \
      "dominating; epochs report how many it capped; 0: no cap")
TABLES(sampler, SAMPLER)

const skn_section_t skn_sampler_section = {
    "model.layers.output.sampler",
    "Which rows of the output layer are computed for a batch.", sampler_options,
    sampler_slots, no_parts
};
const skn_section_t skn_hidden_section = {
    "model.layers.hidden",
    "Every layer but the last. The first one sums the sparse features; those "
    "that follow are dense.",
    hidden_options, hidden_slots, no_parts
};
static const skn_part_t output_parts[] = {
    { "sampler", SKN_FORM_MAPPING, offsetof(skn_model_layer_t, sampler),
      &skn_sampler_section, "how the rows of a batch are chosen" },
    NO_PART
};
const skn_section_t skn_output_section = { "model.layers.output",
                                           "The last layer: one row per label.",
                                           output_options, output_slots,
                                           output_parts };
static const skn_part_t model_parts[] = {
    { "layers", SKN_FORM_LAYERS, 0, NULL,
      "the layers, from the input to the labels; each has a name of its own" },
    NO_PART
};
static const skn_section_t model_section = {
    "model", "The network: hidden layers, then the output layer.", no_options,
    no_slots, model_parts
};

/* --- train --------------------------------------------------------------- */

#define OPTIMIZER(O)                                                           \
    O(skn_model_optimizer_t, kind, "kind", CHOICE, CHOICE, "auto", 0, 0,       \
      WORDS(SKN_OPTIMIZERS),                                                   \
      "the rule that turns gradients into updates; auto: adagrad with many "   \
      "rare labels or few epochs, else adam; adam where a rate is set")        \
    O(skn_model_optimizer_t, rate, "rate", REAL, REAL, "auto", 1e-9, 100,      \
      "auto", "learning rate; auto: by the optimizer and the epochs")          \
    O(skn_model_optimizer_t, beta1, "beta1", REAL, REAL, "0.9", 0, 0.999999,   \
      NULL, "adam: decay of the first moment")                                 \
    O(skn_model_optimizer_t, beta2, "beta2", REAL, REAL, "0.999", 0,           \
      0.99999999, NULL, "adam: decay of the second moment")                    \
    O(skn_model_optimizer_t, epsilon, "epsilon", REAL, REAL, "1e-8", 1e-30, 1, \
      NULL, "adam, adagrad: added to the root of the second moment")           \
    O(skn_model_optimizer_t, weight_decay, "weight_decay", REAL, REAL, "0", 0, \
      1, NULL, "share of a touched weight that a step at rate 1 removes")      \
    O(skn_model_optimizer_t, offload, "offload", CHOICE, CHOICE, "auto", 0, 0, \
      WORDS(SKN_OFFLOADS),                                                     \
      "adam: where the moments are kept: in memory (none), or in a file on "   \
      "disk (file), cached in free memory; the model is the same either way; " \
      "auto: a file if they do not fit into memory")                           \
    O(skn_model_optimizer_t, offload_path, "offload_path", PATH, PATH, "", 0,  \
      0, NULL,                                                                 \
      "adam: folder of that file, which is unnamed and vanishes with the "     \
      "process; empty: the folder of the run")
TABLES(optimizer, OPTIMIZER)

static const skn_section_t optimizer_section = {
    "train.optimizer", "How a gradient changes the weights.", optimizer_options,
    optimizer_slots, no_parts
};

#define SCHEDULE(O)                                                            \
    O(skn_model_schedule_t, kind, "kind", CHOICE, CHOICE, "auto", 0, 0,        \
      WORDS(SKN_SCHEDULES),                                                    \
      "the rate stays (constant), rises and stays "                            \
      "(warmup), or rises and falls along a cosine")                           \
    O(skn_model_schedule_t, warmup_batches, "warmup_batches", INT, INT,        \
      "auto", 0, COUNT_MAX, "auto",                                            \
      "warmup, cosine: batches until the full "                                \
      "rate is reached")                                                       \
    O(skn_model_schedule_t, floor, "floor", REAL, REAL, "0", 0, 1, NULL,       \
      "cosine: final rate, as a share of the full rate")
TABLES(schedule, SCHEDULE)

static const skn_section_t schedule_section = {
    "train.schedule", "How the learning rate changes during the run.",
    schedule_options, schedule_slots, no_parts
};

#define EVALUATE(O)                                                            \
    O(skn_model_evaluate_t, every_epochs, "every_epochs", INT, INT, "1", 0,    \
      COUNT_MAX, NULL, "epochs between evaluations; 0: only at the end")       \
    O(skn_model_evaluate_t, rows, "rows", INT, INT, "0", 0, SKN_UNIT_MAX,      \
      NULL, "greatest number of points that are evaluated; 0: all")            \
    O(skn_model_evaluate_t, topk, "topk", INT, INT, "5", 1, 100, NULL,         \
      "labels ranked per point: P@1 to P@topk")                                \
    O(skn_model_evaluate_t, sampler_batches, "sampler_batches", INT, INT, "0", \
      0, COUNT_MAX, NULL,                                                      \
      "batches between two measurements of the sampler: epochs then report "   \
      "the recall of the exact top 10 and the softmax mass covered; 0: never")
TABLES(evaluate, EVALUATE)

static const skn_section_t evaluate_section = {
    "train.evaluate", "How the test points are used, if there are any.",
    evaluate_options, evaluate_slots, no_parts
};

#define TRAIN(O)                                                               \
    O(skn_model_train_t, seed, "seed", INT, INT, "1", 0, SKN_WHOLE_MAX, NULL,  \
      "seed of all random numbers")                                            \
    O(skn_model_train_t, ensemble, "ensemble", INT, INT, "auto", 1,            \
      SKN_ENSEMBLE_MAX, "auto",                                                \
      "networks that `skein train` trains one after the other, each from the " \
      "next seed, and then joins into one that has all their units and the "   \
      "mean of their logits; auto: 3 if labels are many and rare, there are "  \
      "no ranker and no nodes, and epochs is auto, too; otherwise 1")          \
    O(skn_model_train_t, ranker_trees, "ranker_trees", INT, INT, "auto", 0,    \
      SKN_RANKER_TREES_MAX, "auto",                                            \
      "trees of labels with linear models over the features, which sort the "  \
      "network's best labels again once it is trained; 0: none; auto: 1 (2 "   \
      "if labels are rare) if points have four features or more, there are a " \
      "thousand labels or more and no nodes, and epochs is auto, too; "        \
      "otherwise 0")                                                           \
    O(skn_model_train_t, batch_rows, "batch_rows", INT, INT, "auto", 1,        \
      SKN_BATCH_ROWS_MAX, "auto", "points per batch")                          \
    O(skn_model_train_t, epochs, "epochs", INT, INT, "auto", 1, COUNT_MAX,     \
      "auto", "passes over the training points")                               \
    O(skn_model_train_t, max_batches, "max_batches", INT, INT, "0", 0,         \
      COUNT_MAX, NULL, "stop after this many batches; 0: no limit")            \
    O(skn_model_train_t, window, "window", INT, INT, "auto", 1,                \
      SKN_WINDOW_MAX, "auto",                                                  \
      "batches that a shard may compute ahead of its updates, the current "    \
      "one included: staleness is never more; at most 2 x window - 1 batches " \
      "are in flight")                                                         \
    O(skn_model_train_t, order, "order", CHOICE, CHOICE, "fixed", 0, 0,        \
      WORDS(SKN_ORDERS),                                                       \
      "fixed: updates are applied in batch order and runs repeat bit for "     \
      "bit; free: as they arrive, faster under jitter")                        \
    O(skn_model_train_t, reduction, "reduction", CHOICE, CHOICE, "fast", 0, 0, \
      WORDS(SKN_REDUCTIONS),                                                   \
      "fixed: sums have the same bits for every number "                       \
      "of shards; fast: only for the same number")                             \
    O(skn_model_train_t, merge, "merge", CHOICE, CHOICE, "auto", 0, 0,         \
      WORDS(SKN_MERGINGS),                                                     \
      "where the parts of a softmax's hidden gradient are normalised; "        \
      "early: below, which need not wait for normalisers; late: by each "      \
      "shard, once it has them all, so that fewer bytes travel; auto: late "   \
      "over several nodes with reduction fast, otherwise early")               \
    O(skn_model_train_t, precision, "precision", CHOICE, CHOICE, "auto", 0, 0, \
      WORDS(SKN_PRECISIONS),                                                   \
      "number format in which matrix products multiply; weights and sums "     \
      "are f32. bf16 is several times faster on processors that have AMX, "    \
      "or AVX-512 BF16, and no slower elsewhere; auto: bf16 where a hidden "   \
      "layer has 256 units or more, with reduction fast")                      \
    O(skn_model_train_t, updates, "updates", CHOICE, CHOICE, "loan", 0, 0,     \
      WORDS(SKN_UPDATES),                                                      \
      "loan: the updater writes the shard's rows in "                          \
      "place; copy: the shard has a copy of weights, which the updater "       \
      "renews from its own in f32")                                            \
    O(skn_model_train_t, validate, "validate", REAL, REAL, "0", 0, 0.5, NULL,  \
      "share of the training points that are held back to measure "            \
      "progress")                                                              \
    O(skn_model_train_t, patience, "patience", INT, INT, "auto", 0, 1000,      \
      "auto",                                                                  \
      "epochs without progress on the points held back until the run "         \
      "stops; 0: never; auto: 3 with validate, otherwise 0")
TABLES(train, TRAIN)

static const skn_part_t train_parts[] = {
    { "optimizer", SKN_FORM_MAPPING, offsetof(skn_model_train_t, optimizer),
      &optimizer_section, "how a gradient changes the weights" },
    { "schedule", SKN_FORM_MAPPING, offsetof(skn_model_train_t, schedule),
      &schedule_section, "how the learning rate changes" },
    { "evaluate", SKN_FORM_MAPPING, offsetof(skn_model_train_t, evaluate),
      &evaluate_section, "how the test points are used" },
    NO_PART
};
static const skn_section_t train_section = { "train",
                                             "How the model is trained.",
                                             train_options, train_slots,
                                             train_parts };

/* --- checkpoint, resources ----------------------------------------------- */

#define CHECKPOINT(O)                                                          \
    O(skn_model_checkpoint_t, path, "path", PATH, PATH, "", 0, 0, NULL,        \
      "folder of the run's checkpoints; empty: runs/<name>-<UTC>-<id>")        \
    O(skn_model_checkpoint_t, every_batches, "every_batches", INT, INT,        \
      "auto", 0, COUNT_MAX, "auto",                                            \
      "batches between checkpoints; 0: not by "                                \
      "batches; auto: only where epochs are long")                             \
    O(skn_model_checkpoint_t, every_epochs, "every_epochs", INT, INT, "1", 0,  \
      COUNT_MAX, NULL,                                                         \
      "epochs between checkpoints; 0: not by epochs. The "                     \
      "end of a run is always kept")                                           \
    O(skn_model_checkpoint_t, keep, "keep", INT, INT, "3", 1, 1000, NULL,      \
      "newest checkpoints that stay on disk, beside the best one")             \
    O(skn_model_checkpoint_t, copies, "copies", INT, INT, "1", 1,              \
      SKN_CLUSTER_NODES_MAX, NULL,                                             \
      "with several nodes: 1: the first one keeps whole checkpoints; 2 and "   \
      "more: each node keeps its share in its own folder, and each part is "   \
      "in this many folders, all but one of which may be lost")
TABLES(checkpoint, CHECKPOINT)

static const skn_section_t checkpoint_section = {
    "checkpoint", "When and where the state of the run is saved.",
    checkpoint_options, checkpoint_slots, no_parts
};

#define RESOURCES(O)                                                           \
    O(skn_model_resources_t, memory_bytes, "memory", INT, SIZE, "auto", 1,     \
      ENDLESS, "auto",                                                         \
      "memory that the run may use; a plan that needs more is refused; auto: " \
      "what the machine has free")                                             \
    O(skn_model_resources_t, huge_pages, "huge_pages", BOOL, BOOL, "true", 0,  \
      0, NULL, "ask for 2 MiB pages for the large dense arrays")
TABLES(resources, RESOURCES)

static const skn_part_t resources_parts[] = {
    { "cores", SKN_FORM_CORES, offsetof(skn_model_resources_t, cores), NULL,
      "processing units for the compute actors: auto (all that the process may "
      "use), how many, a range (0-3) or a list of their numbers, counted from "
      "0 within those that it may use (taskset, cpuset); a warning names those "
      "that are missing" },
    NO_PART
};
static const skn_section_t resources_section = {
    "resources", "What the run may use of this machine.", resources_options,
    resources_slots, resources_parts
};

/* --- nodes, links -------------------------------------------------------- */

#define NODE(O)                                                                \
    O(skn_model_node_t, name, "name", TEXT, TEXT, NULL, 0, 0, NULL,            \
      "name of the node, for overrides, `skein node` and reports")             \
    O(skn_model_node_t, address, "address", TEXT, TEXT, "", 0, 0, NULL,        \
      "where it listens, as the other nodes reach it: tcp://host:port; "       \
      "required if there are several nodes, unless 'via' is given")            \
    O(skn_model_node_t, via, "via", TEXT, TEXT, "", 0, 0, NULL,                \
      "in place of an address, for a node that dials out and cannot be "       \
      "dialled (behind a NAT): the node with an address that relays between "  \
      "it and others of its kind")                                             \
    O(skn_model_node_t, key, "key", PATH, PATH, "", 0, 0, NULL,                \
      "its certificate (skein keygen); required on every node as soon as an "  \
      "address is beyond this machine")                                        \
    O(skn_model_node_t, memory_bytes, "memory", INT, SIZE, "auto", 1, ENDLESS, \
      "auto",                                                                  \
      "memory that the node may use; a plan whose share for it needs more is " \
      "refused; auto: no limit")                                               \
    O(skn_model_node_t, speed, "speed", REAL, REAL, "1", 0.001, 1000, NULL,    \
      "speed of one of its cores relative to those of the other nodes: it "    \
      "gets rows and hidden units in proportion; measured and set by `skein "  \
      "coordinator`")                                                          \
    O(skn_model_node_t, notice_s, "notice", REAL, REAL, "0", 0, 86400, NULL,   \
      "seconds of notice before its machine is taken away; it gets no more "   \
      "of the model than its link (links.rate) carries in half of them; 0: "   \
      "no limit")                                                              \
    O(skn_model_node_t, is_leaving, "leaves", BOOL, BOOL, "false", 0, 0, NULL, \
      "it only hands over its part of the checkpoint that the run continues "  \
      "from: it gets no rows and no copies, and the run pauses as soon as "    \
      "the others have that part; such nodes come last; set by `skein "        \
      "coordinator`")                                                          \
    O(skn_model_node_t, ssh, "ssh", TEXT, TEXT, "", 0, 0, NULL,                \
      "host that `skein up` starts the node on, by ssh; empty: this machine")
TABLES(node, NODE)

static const skn_part_t node_parts[] = {
    { "cores", SKN_FORM_CORES, offsetof(skn_model_node_t, cores), NULL,
      "processing units for its compute actors: how many, a range (0-3) or a "
      "list of their numbers; the layers are divided in proportion; auto: "
      "one" },
    NO_PART
};
const skn_section_t skn_node_section = {
    "nodes",
    "The processes of the run, usually one per machine; the first one leads. A "
    "list of up to 64.",
    node_options, node_slots, node_parts
};

#define LINKS(O)                                                               \
    O(skn_model_links_t, coding, "coding", CHOICE, CHOICE, "auto", 0, 0,       \
      WORDS(SKN_LINK_CODINGS),                                                 \
      "how activations and their gradients travel between nodes; auto: bf16, " \
      "but f32 with `reduction: fixed`")                                       \
    O(skn_model_links_t, rate, "rate", REAL, REAL, "1e9", 1e3, 1e12, NULL,     \
      "bits per second that a link carries each way: for the forecast of "     \
      "`skein plan`, and nodes.notice")
TABLES(links, LINKS)

static const skn_section_t links_section = {
    "links", "What passes between nodes.", links_options, links_slots, no_parts
};

/* --- idle ---------------------------------------------------------------- */

#define NOTICE(O)                                                              \
    O(skn_model_notice_t, file, "file", PATH, PATH, "", 0, 0, NULL,            \
      "the run ends with success when this file appears; empty: none")         \
    O(skn_model_notice_t, command, "command", TEXT, TEXT, "", 0, 0, NULL,      \
      "the run ends with success when this shell command exits 0; empty: "     \
      "none; docs/tasks/idle.md has those of the large clouds")                \
    O(skn_model_notice_t, every_s, "every_s", REAL, REAL, "5", 0.1, 3600,      \
      NULL, "seconds between two checks")
TABLES(notice, NOTICE)

static const skn_section_t notice_section = {
    "idle.notice",
    "How the run learns that this machine will soon be taken "
    "away.",
    notice_options, notice_slots, no_parts
};

/* Memory: half of what is available; grace: shared/notes, "Load back-off". */
#define IDLE(O)                                                                \
    O(skn_model_idle_t, enabled, "enabled", BOOL, BOOL, "false", 0, 0, NULL,   \
      "give way to all other work on this machine; each machine has its own "  \
      "`idle:`, and none of it changes what is trained")                       \
    O(skn_model_idle_t, reserve_cores, "reserve_cores", INT, INT, "auto", 0,   \
      SKN_ACTORS_MAX, "auto",                                                  \
      "cores that are always left free; auto: 1 while a terminal was used "    \
      "within the last 5 minutes, otherwise 0")                                \
    O(skn_model_idle_t, share, "share", REAL, REAL, "1", 0.01, 1, NULL,        \
      "greatest share of the cores that may be used; one core always may")     \
    O(skn_model_idle_t, memory, "memory", REAL, REAL, "0.5", 0.01, 1, NULL,    \
      "share of the memory available at the start that the run may need; a "   \
      "plan that needs more is refused")                                       \
    O(skn_model_idle_t, bandwidth, "bandwidth", REAL, REAL, "0", 0, 1e6, NULL, \
      "Mbit/s that this node may send to others; 0: no limit")                 \
    O(skn_model_idle_t, grace_s, "grace_s", REAL, REAL, "3", 0, 3600, NULL,    \
      "seconds that a reason to pause must last before the run pauses")
TABLES(idle, IDLE)

static const skn_part_t idle_parts[] = {
    { "notice", SKN_FORM_MAPPING, offsetof(skn_model_idle_t, notice),
      &notice_section, "how it learns that the machine will be taken away" },
    NO_PART
};
static const skn_section_t idle_section = {
    "idle", "How this process gives way to other work on its machine.",
    idle_options, idle_slots, idle_parts
};

#define COORDINATOR(O)                                                         \
    O(skn_model_coordinator_t, address, "address", TEXT, TEXT, "", 0, 0, NULL, \
      "where `skein coordinator` listens, as the nodes reach it: "             \
      "tcp://host:port; empty: a run whose nodes never change")                \
    O(skn_model_coordinator_t, key, "key", PATH, PATH, "", 0, 0, NULL,         \
      "its certificate (skein keygen); required as soon as its address is "    \
      "beyond this machine")                                                   \
    O(skn_model_coordinator_t, least, "least", INT, INT, "1", 1, 64, NULL,     \
      "nodes that must be there for the run to continue")                      \
    O(skn_model_coordinator_t, balance, "balance", BOOL, BOOL, "true", 0, 0,   \
      NULL,                                                                    \
      "measure how fast the nodes are, and divide the output layer again, at " \
      "a marker, where that pays")                                             \
    O(skn_model_coordinator_t, recovery, "recovery", CHOICE, CHOICE,           \
      "rollback", 0, 0, WORDS(SKN_RECOVERIES),                                 \
      "after a death without notice; rollback: all go back to the last "       \
      "checkpoint, and nothing is lost; partial: survivors keep their state, " \
      "and the dead node's blocks lose their updates since that checkpoint, "  \
      "whose number is reported")
TABLES(coordinator, COORDINATOR)

static const skn_section_t coordinator_section = {
    "coordinator",
    "The process that decides which nodes take part in a run, "
    "and from when.",
    coordinator_options, coordinator_slots, no_parts
};

/* --- the whole file ------------------------------------------------------ */

static const skn_option_t file_options[] = {
    { "skein", SKN_OPTION_INT, NULL, 1, 1, NULL, "format version of the file" },
    NO_OPTION
};
static const skn_part_t file_parts[] = {
    { "data", SKN_FORM_MAPPING, offsetof(skn_model_t, data), &data_section,
      "what to learn from" },
    { "plugins", SKN_FORM_PATHS, 0, NULL,
      "shared libraries that provide further actor kinds and samplers" },
    { "model", SKN_FORM_MAPPING, 0, &model_section, "the network" },
    { "train", SKN_FORM_MAPPING, offsetof(skn_model_t, train), &train_section,
      "how it is trained" },
    { "checkpoint", SKN_FORM_MAPPING, offsetof(skn_model_t, checkpoint),
      &checkpoint_section, "when and where it is saved" },
    { "resources", SKN_FORM_MAPPING, offsetof(skn_model_t, resources),
      &resources_section, "what it may use of this machine" },
    { "nodes", SKN_FORM_NODES, 0, &skn_node_section,
      "the processes of a run on several machines" },
    { "links", SKN_FORM_MAPPING, offsetof(skn_model_t, links), &links_section,
      "what passes between nodes" },
    { "coordinator", SKN_FORM_MAPPING, offsetof(skn_model_t, coordinator),
      &coordinator_section, "a run whose nodes come, leave and die" },
    { "idle", SKN_FORM_MAPPING, offsetof(skn_model_t, idle), &idle_section,
      "how it gives way to other work on its machine" },
    NO_PART
};
const skn_section_t skn_model_section = {
    "", "A model file: what to train, and how.", file_options, no_slots,
    file_parts
};

const skn_refused_key_t skn_refused_keys[] = {
    { NULL, NULL, NULL },
};

bool
skn_part_is_required(const skn_part_t *part)
{
    if (part->form != SKN_FORM_MAPPING)
        return part->form == SKN_FORM_LAYERS;
    for (const skn_option_t *option = part->section->options; option->name;
         option++)
        if (!option->fallback)
            return true;
    for (const skn_part_t *inner = part->section->parts; inner->name; inner++)
        if (skn_part_is_required(inner))
            return true;
    return false;
}
