/* strings.h - byte strings with numbers: each once, in the order in which they
 * were added.
 *
 * Strings may have any bytes and any length, 2^40 bytes together. One thread
 * adds; any number of them may look up meanwhile nothing is added.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_STRINGS_H
#define FORMATS_TEXT_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/text/span.h"

#define SKN_STRINGS_NONE UINT32_MAX

/* { 0 } is empty. Its members are for strings.c alone. */
typedef struct skn_strings {
    char *text; /* one string after the other */
    size_t *end;
    uint64_t *table; /* [table_mask + 1] hash, number + 1; 0: free */
    size_t text_room, end_room, table_mask;
    uint32_t count;
} skn_strings_t;

void skn_strings_fini(skn_strings_t *strings);
/* Forgets all strings, and keeps the memory for others. */
void skn_strings_clear(skn_strings_t *strings);

/* The number of a string, SKN_STRINGS_NONE if it is not there. */
uint32_t skn_strings_find(const skn_strings_t *strings, const char *at,
                          size_t bytes);
/* The numbers of `count` strings, faster than one by one: they wait for memory
 * together. */
void skn_strings_find_all(const skn_strings_t *strings,
                          const skn_span_t *string, size_t count,
                          uint32_t *number);
/* The number of a string; adds it if it is not there, with the next number.
 * SKN_STRINGS_NONE: no memory, or too many. */
uint32_t skn_strings_add(skn_strings_t *strings, const char *at, size_t bytes);
/* String `number` < count, without a NUL; lives until the next one is added. */
const char *skn_strings_at(const skn_strings_t *strings, uint32_t number,
                           size_t *bytes);

#endif
