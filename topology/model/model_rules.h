/* model_rules.h - the rules between the keys of a model file.
 *
 * Type and range of each key were checked before; these rules need two keys.
 * Private to topology/model*.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_MODEL_RULES_H
#define TOPOLOGY_MODEL_MODEL_RULES_H

#include "topology/config/document.h"
#include "topology/model/model.h"

/* Each adds errors to `problems`, with the place of the key in the document.
 * `layers` is the list's node; `train` and `root` may be NULL or lack keys:
 * then the place is the nearest that exists. */
void skn_rules_layers(const skn_model_t *model, const skn_node_t *layers,
                      skn_problems_t *problems);
void skn_rules_train(const skn_model_t *model, const skn_node_t *root,
                     skn_problems_t *problems);
/* Rules between layers and train. */
void skn_rules_data(const skn_model_t *model, const skn_node_t *root,
                    skn_problems_t *problems);
void skn_rules_both(const skn_model_t *model, const skn_node_t *root,
                    skn_problems_t *problems);

/* Rules of the nodes, and between them and resources. */
void skn_rules_nodes(const skn_model_t *model, const skn_node_t *root,
                     skn_problems_t *problems);
/* Rules between the coordinator and the nodes. */
void skn_rules_coordinator(const skn_model_t *model, const skn_node_t *root,
                           skn_problems_t *problems);
/* Rules between links and train. */
void skn_rules_links(const skn_model_t *model, const skn_node_t *root,
                     skn_problems_t *problems);

/* Rules of a decoder, and keys that are for another kind of model. */
void skn_rules_decoder(const skn_model_t *model, const skn_node_t *root,
                       skn_problems_t *problems);

struct skn_section;
/* Whether the key is for models of this kind. */
bool skn_rules_suit(skn_model_kind_t kind, const struct skn_section *section,
                    const char *key);
bool skn_rules_concern(const skn_model_t *model,
                       const struct skn_section *section, const char *key);
/* Whether `key` of the section has a meaning given the other values of the
 * section's struct at `base`: `tables` has one for simhash, not for uniform. */
bool skn_rules_mean(const struct skn_section *section, const char *key,
                    const void *base);

/* Returns the place of the value of `key` in `mapping`, or else that of the
 * mapping. */
skn_mark_t skn_rules_mark(const skn_node_t *mapping, const char *key);

#endif
