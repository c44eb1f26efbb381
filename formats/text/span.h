/* span.h - spans: a place in memory of another owner, and a number of bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_SPAN_H
#define FORMATS_TEXT_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct skn_span {
    const char *at;
    size_t bytes;
} skn_span_t;

static inline bool
skn_span_equal(skn_span_t one, skn_span_t other)
{
    return one.bytes == other.bytes &&
           (one.bytes == 0 || memcmp(one.at, other.at, one.bytes) == 0);
}

static inline bool
skn_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* The span without blanks at its ends. */
static inline skn_span_t
skn_span_trimmed(skn_span_t span)
{
    while (span.bytes > 0 && skn_is_blank(span.at[0])) {
        span.at++;
        span.bytes--;
    }
    while (span.bytes > 0 && skn_is_blank(span.at[span.bytes - 1]))
        span.bytes--;
    return span;
}

/* Writes name k of a list for a sentence behind the `at` bytes that `list` has.
 * Returns how many it has then; `room`: it is full, and ends with dots. */
static inline size_t
skn_columns_list(char *list, size_t room, size_t at, size_t k, skn_span_t name)
{
    if (at + name.bytes + 8 > room) {
        (void)snprintf(list + at, room - at, ", ...");
        return room;
    }
    return at + (size_t)snprintf(list + at, room - at, "%s%.*s", k ? ", " : "",
                                 (int)name.bytes, name.at);
}

/* Takes the next name of a list with commas between them, without blanks around
 * it; moves *names behind it. False: there is none. */
static inline bool
skn_columns_next(const char **names, skn_span_t *name)
{
    if (!*names || !**names)
        return false;
    const size_t bytes = strcspn(*names, ",");
    *name = skn_span_trimmed((skn_span_t){ *names, bytes });
    *names += bytes + ((*names)[bytes] != '\0');
    return true;
}

#endif
