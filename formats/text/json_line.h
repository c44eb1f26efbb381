/* json_line.h - checks that a text is one JSON object on one line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_JSON_LINE_H
#define FORMATS_TEXT_JSON_LINE_H

#include <stddef.h>

/* NULL if `text` is one JSON object without a line break, with at most blanks
 * and tabs around it. Otherwise the fault, worded to follow "it has", and in
 * *at its byte. Repeated keys are not detected. Allocates nothing. */
const char *skn_json_line_fault(const char *text, size_t *at);

#endif
