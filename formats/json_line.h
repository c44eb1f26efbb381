/* json_line.h - whether a text is one JSON object on one line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_JSON_LINE_H
#define FORMATS_JSON_LINE_H

#include <stddef.h>

/* NULL if `text` is one JSON object without a line break, with at most blanks
 * and tabs around it. Otherwise what is wrong, to follow "it has", and in *at
 * the byte where. Bytes above 127 in strings are not looked at: paths need not
 * be UTF-8. Takes no memory. */
const char *skn_json_line_fault(const char *text, size_t *at);

#endif
