/* chosen.h - writes the choices of `auto`, with their reasons, as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_CHOSEN_H
#define TOPOLOGY_TRAINING_CHOSEN_H

#include "formats/text/json_text.h"
#include "topology/model/model.h"

/* Appends ,"auto":{...}: a key for each value that `auto` chose, with its
 * `value` and `reason`. `model` must have the values of all of them. */
void skn_chosen_write(skn_reasons_t *reasons, const skn_model_t *model,
                      skn_json_text_t *event);

#endif
