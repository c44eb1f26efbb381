/* model_tables.c - the tree of sections of a model file, each with a table of
 * options and one of slots for its keys.
 *
 * The keys themselves are declared in model_keys.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_tables.h"

#include "formats/records/records.h"
#include "topology/model/model.h"

/* The enum of formats/dataset is in the order of the words. */
_Static_assert(SKN_NORMALIZE_L2 == 0 && SKN_NORMALIZE_NONE == 1,
               "SKN_NORMALIZES is in another order than skn_normalize_t");

_Static_assert((int)SKN_DATA_FORMAT_FASTTEXT == (int)SKN_RECORDS_FASTTEXT &&
                   (int)SKN_DATA_FORMAT_JSON == (int)SKN_RECORDS_JSON &&
                   (int)SKN_DATA_FORMAT_POINTS == (int)SKN_RECORDS_POINTS &&
                   (int)SKN_DATA_FORMAT_CSV == (int)SKN_RECORDS_CSV &&
                   (int)SKN_DATA_FORMAT_TSV == (int)SKN_RECORDS_TSV,
               "SKN_DATA_FORMATS is in another order than "
               "skn_records_format_t");

/* The rows of model_keys.h as options and slots. A size is a number that may
 * have a unit. */
#define SKN_OPTION_SIZE SKN_OPTION_INT
#define OPTION(struct_type, member_type, member, key, type, fallback, least,   \
               greatest, choices, help)                                        \
    { key, SKN_OPTION_##type, fallback, least, greatest, choices, help },
#define SLOT(struct_type, member_type, member, key, type, ...)                 \
    { SKN_SLOT_##type, offsetof(struct_type, member) },
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

static const skn_slot_t no_slots[] = { { SKN_SLOT_NONE, 0 } };
static const skn_part_t no_parts[] = { NO_PART };

/* --- data ---------------------------------------------------------------- */

TABLES(data, SKN_DATA_KEYS)

static const skn_section_t data_section = {
    "data", "What to learn from. Paths start at the folder of this file.",
    data_options, data_slots, no_parts
};

/* --- model --------------------------------------------------------------- */

#define HIDDEN(O) SKN_LAYER_NAME_KEY(O) SKN_HIDDEN_KEYS(O) SKN_LAYER_KEYS(O)
TABLES(hidden, HIDDEN)

#define OUTPUT(O) SKN_LAYER_NAME_KEY(O) SKN_OUTPUT_KEYS(O) SKN_LAYER_KEYS(O)
TABLES(output, OUTPUT)

TABLES(sampler, SKN_SAMPLER_KEYS)

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
TABLES(head, SKN_HEAD_KEYS)
const skn_section_t skn_head_section = {
    "model.head", "The output layer of a decoder: one row per token.",
    head_options, head_slots, output_parts
};
TABLES(decoder, SKN_DECODER_KEYS)
static const skn_part_t model_parts[] = {
    { "layers", SKN_FORM_LAYERS, 0, NULL,
      "the layers, from the input to the labels; each has a name of its own; "
      "of a decoder: their number" },
    { "head", SKN_FORM_MAPPING, offsetof(skn_model_decoder_t, head),
      &skn_head_section, "the output layer of a decoder" },
    NO_PART
};
static const skn_section_t model_section = {
    "model", "The network: hidden layers, then the output layer.",
    decoder_options, decoder_slots, model_parts
};

/* --- train --------------------------------------------------------------- */

TABLES(optimizer, SKN_OPTIMIZER_KEYS)

static const skn_section_t optimizer_section = {
    "train.optimizer", "How a gradient changes the weights.", optimizer_options,
    optimizer_slots, no_parts
};

TABLES(schedule, SKN_SCHEDULE_KEYS)

static const skn_section_t schedule_section = {
    "train.schedule", "How the learning rate changes during the run.",
    schedule_options, schedule_slots, no_parts
};

TABLES(evaluate, SKN_EVALUATE_KEYS)

static const skn_section_t evaluate_section = {
    "train.evaluate", "How the test points are used, if there are any.",
    evaluate_options, evaluate_slots, no_parts
};

TABLES(train, SKN_TRAIN_KEYS)

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

TABLES(checkpoint, SKN_CHECKPOINT_KEYS)

static const skn_section_t checkpoint_section = {
    "checkpoint", "When and where the state of the run is saved.",
    checkpoint_options, checkpoint_slots, no_parts
};

TABLES(resources, SKN_RESOURCES_KEYS)

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

TABLES(node, SKN_NODE_KEYS)

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

TABLES(links, SKN_LINKS_KEYS)

static const skn_section_t links_section = {
    "links", "What passes between nodes.", links_options, links_slots, no_parts
};

/* --- idle ---------------------------------------------------------------- */

TABLES(notice, SKN_NOTICE_KEYS)

static const skn_section_t notice_section = {
    "idle.notice",
    "How the run learns that this machine will soon be taken "
    "away.",
    notice_options, notice_slots, no_parts
};

TABLES(idle, SKN_IDLE_KEYS)

static const skn_part_t idle_parts[] = {
    { "notice", SKN_FORM_MAPPING, offsetof(skn_model_idle_t, notice),
      &notice_section, "how it learns that the machine will be taken away" },
    NO_PART
};
static const skn_section_t idle_section = {
    "idle", "How this process gives way to other work on its machine.",
    idle_options, idle_slots, idle_parts
};

TABLES(coordinator, SKN_COORDINATOR_KEYS)

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
      "shared libraries that provide further kinds of actors" },
    { "model", SKN_FORM_MAPPING, offsetof(skn_model_t, decoder), &model_section,
      "the network" },
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
