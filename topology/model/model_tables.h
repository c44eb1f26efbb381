/* model_tables.h - the sections and keys that a model file may have, as const
 * tables.
 *
 * One tree of const tables. The reader (model_read.c), the writer
 * (model_write.c), the reference (reference.c) and the JSON Schema
 * (json_schema.c) all walk it, so that a key is declared once, in
 * model_keys.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_TABLES_H
#define TOPOLOGY_MODEL_MODEL_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "actors/runtime/wiring.h"
#include "skein/actor.h"

/* The text of a number, a word of a list, or "auto". */
#define SKN_VALUE_TEXT_BYTES 40

/* How the struct of a section stores a checked value. */
typedef enum skn_slot_kind {
    SKN_SLOT_NONE,  /* not kept: `skein: 1` */
    SKN_SLOT_BOOL,  /* bool */
    SKN_SLOT_INT,   /* int64_t; `auto` is SKN_AUTO */
    SKN_SLOT_REAL,  /* double; `auto` is SKN_AUTO */
    SKN_SLOT_SIZE,  /* the same, in bytes; may have a unit in the file */
    SKN_SLOT_TEXT,  /* const char * */
    SKN_SLOT_PATH,  /* const char *, joined with the file's folder; "" and
                     * the words of `choices` stay as they are */
    SKN_SLOT_CHOICE /* an enum in the order of `choices` */
} skn_slot_kind_t;

typedef struct skn_slot {
    skn_slot_kind_t kind;
    size_t offset;
} skn_slot_t;

/* The form of the value under a key that is not a single scalar. */
typedef enum skn_form {
    SKN_FORM_MAPPING, /* one section */
    SKN_FORM_LAYERS,  /* list of hidden layers, then the output layer */
    SKN_FORM_PATHS,   /* list of paths */
    SKN_FORM_CORES,   /* auto, a number, a range, or a list of numbers */
    SKN_FORM_NODES    /* list of nodes */
} skn_form_t;

struct skn_section;

typedef struct skn_part {
    const char *name; /* NULL ends a table of parts */
    skn_form_t form;
    size_t offset; /* of the section's struct in its parent's struct */
    const struct skn_section *section; /* NULL: the part has no mapping */
    const char *help;
} skn_part_t;

typedef struct skn_section {
    const char *path; /* "train.optimizer"; "" is the whole file */
    const char *help;
    const skn_option_t *options; /* ends with a NULL name */
    const skn_slot_t *slots;     /* one an option */
    const skn_part_t *parts;     /* ends with a NULL name */
} skn_section_t;

/* The whole file; its struct is skn_model_t. */
extern const skn_section_t skn_model_section;
/* The two sorts of layer; their struct is skn_model_layer_t. */
extern const skn_section_t skn_hidden_section;
extern const skn_section_t skn_output_section;
/* The output layer of a decoder; the same struct. */
extern const skn_section_t skn_head_section;
/* `sampler`; its struct is skn_model_sampler_t. */
extern const skn_section_t skn_sampler_section;

/* An item of `nodes`; its struct is skn_model_node_t. */
extern const skn_section_t skn_node_section;

/* Whether a file without the part is refused: something in it is required. */
bool skn_part_is_required(const skn_part_t *part);

/* Whether the option takes the word `auto` in place of a number, or as a word
 * of its own. */
bool skn_option_takes_auto(const skn_option_t *option);

/* Prints the value in the slot of the struct at `base`, as YAML has it (without
 * quotes): the shortest text that reads as the same value. Returns `text`, or
 * for text and choices the value itself. */
const char *skn_slot_text(const skn_option_t *option, skn_slot_t slot,
                          const void *base, char *text, size_t text_bytes);
/* Whether the value in the slot is the option's default. */
bool skn_slot_is_default(const skn_option_t *option, skn_slot_t slot,
                         const void *base);
/* Fills the struct at `base` with the defaults of the section, as far as it
 * has them; its parts are left alone. */
void skn_section_defaults(const skn_section_t *section, void *base);
/* Puts a checked value into its slot. Text is not copied. */
void skn_slot_fill(skn_slot_t slot, const skn_value_t *value, void *base);

#endif
