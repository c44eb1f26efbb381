/* pretokens.c - cuts text into words and single bytes; knows no vocabulary.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/pretokens.h"

#include <assert.h>
#include <stdint.h>

#include "formats/text/text.h"

/* Characters beyond ASCII that are no part of a word; all others count as
 * letters, so that no table of Unicode is needed. A sign that this list lacks
 * makes a word less frequent, and breaks nothing. The Unicode Standard 15,
 * blocks. */
static const struct {
    uint32_t first, last;
} signs[] = {
    { 0x80, 0xa9 }, /* Latin-1 Supplement: controls and signs, but */
    { 0xab, 0xb4 }, /* not the two ordinal indicators and the micro */
    { 0xb6, 0xb9 }, /* sign, which are letters */
    { 0xbb, 0xbf },       { 0xd7, 0xd7 }, /* times */
    { 0xf7, 0xf7 },                       /* divided by */
    { 0x2000, 0x2bff },   /* General Punctuation to Symbols and Arrows */
    { 0x3000, 0x303f },   /* CJK Symbols and Punctuation */
    { 0xe000, 0xf8ff },   /* Private Use Area */
    { 0xfe10, 0xfe6f },   /* Vertical Forms to Small Form Variants */
    { 0xfeff, 0xff20 },   /* byte order mark; full-width punctuation, digits */
    { 0xfff0, 0xffff },   /* Specials */
    { 0x1f000, 0x1faff }, /* pictographs */
};

static uint32_t
code_point(const char *at, size_t bytes)
{
    uint32_t code = (unsigned char)at[0] & (0xffu >> (bytes + 1));
    for (size_t k = 1; k < bytes; k++)
        code = code << 6 | ((unsigned char)at[k] & 0x3f);
    return code;
}

/* The bytes of the letter, digit or underscore at `at`; 0 if there is none. */
static size_t
letter_bytes(const char *at, const char *end)
{
    if ((unsigned char)*at < 0x80)
        return skn_text_is_letter(*at) || skn_text_is_digit(*at) || *at == '_';
    size_t bytes = skn_text_character_bytes(at, end);
    if (bytes == 0)
        return 0;
    uint32_t code = code_point(at, bytes);
    for (size_t k = 0; k < sizeof(signs) / sizeof(signs[0]); k++)
        if (code >= signs[k].first && code <= signs[k].last)
            return 0;
    return bytes;
}

skn_pretoken_t
skn_pretoken_next(const char *at, const char *end)
{
    assert(at < end);
    bool has_space = *at == ' ';
    const char *word = at + has_space;
    size_t bytes = 0;
    while (word + bytes < end) {
        size_t more = letter_bytes(word + bytes, end);
        if (more == 0 || bytes + more > SKN_WORD_BYTES_MAX)
            break;
        bytes += more;
    }
    if (bytes == 0)
        return (skn_pretoken_t){ .bytes = 1 };
    return (skn_pretoken_t){ has_space + bytes, true, has_space };
}
