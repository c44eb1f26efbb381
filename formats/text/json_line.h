/* json_line.h - checks that a text is one JSON object on one line, and finds
 * its members.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_JSON_LINE_H
#define FORMATS_TEXT_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* NULL if `text` is one JSON object without a line break, with at most blanks
 * and tabs around it. Otherwise the fault, worded to follow "it has", and in
 * *at its byte. Repeated keys are not detected. Allocates nothing. */
const char *skn_json_line_fault(const char *text, size_t *at);

/* Finds the member `key` of the object in `text`: *value is set to its first
 * byte, *value_bytes to its length in the text. False: the object has none, or
 * is not one up to there. A key that is written with escapes is not found. Of
 * repeated keys it is the first. Allocates nothing. */
bool skn_json_line_find(const char *text, const char *key, const char **value,
                        size_t *value_bytes);

#endif
