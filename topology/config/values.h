/* values.h - checks a mapping of a configuration against a table of options.
 *
 * The table (skn_option_t, skein/actor.h) has the names, types, ranges and
 * fallbacks. Every part of a configuration is checked here, so that the same
 * mistake gives the same message everywhere. One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CONFIG_VALUES_H
#define TOPOLOGY_CONFIG_VALUES_H

#include "actors/runtime/wiring.h"
#include "topology/config/document.h"

/* The number of options in a table; 0 for NULL. */
size_t skn_values_count(const skn_option_t *options);

/* Checks `mapping` (NULL or an empty value: nothing is set) and fills `values`,
 * one for each option, in the order of the table: the value that is set, or the
 * fallback.
 *
 * `owner` names the part in messages ("train", "actor 'reader'"), `place` is
 * where a missing option is reported. `others` (may be NULL) ends with
 * NULL: keys that the caller reads itself. Text of values lives as long as
 * `document`. A relative path is joined to the document's folder, unless it
 * comes from the command line, where it starts at the working directory. Whole
 * numbers are decimal; only options named `memory` or `*_bytes` may end in KiB,
 * MiB, GiB or TiB. A number whose option has the choices "auto" may be the word
 * auto: its value is -1; a path that is one of its option's choices stays as it
 * is. SKN_OK, or problems were added. */
skn_status_t skn_values_check(skn_document_t *document,
                              const skn_node_t *mapping,
                              const skn_option_t *options,
                              const char *const *others, const char *owner,
                              skn_mark_t place, skn_value_t *values,
                              skn_problems_t *problems);

/* Parses one value, written as in YAML. False: `expected` is what it must be
 * ("an integer", "in 1..64"), to follow "must be ". value->text is `text`
 * itself. */
bool skn_value_parse(const skn_option_t *option, const char *text, bool quoted,
                     skn_value_t *value, char *expected, size_t expected_bytes);

/* The path in a scalar as the program must open it: joined as above, each line
 * of several. Lives as long as `document`; NULL when memory is short, which is
 * added to `problems`. */
const char *skn_value_path(skn_document_t *document, const skn_node_t *node,
                           skn_problems_t *problems);
/* The paths of a list, one a line; an option of paths has min 1 if it may be a
 * list. NULL: memory is short, or *bad is the item that is no path, or the list
 * if its text is too long. */
const char *skn_value_paths(skn_document_t *document, const skn_node_t *list,
                            const skn_node_t **bad, skn_problems_t *problems);

/* The value of `name` among `values` of `options`; NULL if the table has no
 * option of that name. */
const skn_value_t *skn_values_get(const skn_option_t *options,
                                  const skn_value_t *values, const char *name);

/* Reads a decimal number without sign; false for any other text or above
 * UINT64_MAX. */
bool skn_value_unsigned(const char *text, uint64_t *number);

#define SKN_REAL_TEXT_BYTES 32
/* The shortest decimal number that reads back as `real`, in the usual spelling:
 * 0.95, 1e-8, 1e9. */
void skn_value_real_text(double real, char text[SKN_REAL_TEXT_BYTES]);

#endif
