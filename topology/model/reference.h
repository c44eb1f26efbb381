/* reference.h - prints the reference of the model file, as Markdown for readers
 * and as JSON Schema for editors.
 *
 * Both are printed from the tables that the reader checks with, so they cannot
 * disagree with it. The output is the same every time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_MODEL_REFERENCE_H
#define TOPOLOGY_MODEL_REFERENCE_H

#include <stdio.h>

#include "skein/error.h"

/* Prints Markdown: one table a section, with key, type, range, default and
 * meaning. SKN_STORAGE when writing fails. Any thread. */
skn_status_t skn_model_reference_print(FILE *file, skn_error_t *error);

/* Prints a JSON Schema, draft 2020-12, for editors that check YAML as it is
 * typed. It knows keys, types and ranges, but not the rules between keys.
 * SKN_STORAGE when writing fails. Any thread. */
skn_status_t skn_json_schema_print(FILE *file, skn_error_t *error);

#endif
