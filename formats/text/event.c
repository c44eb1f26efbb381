/* event.c - reads values of an event, a line of JSON, for programs without a
 * JSON reader.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/event.h"

#include <stdint.h>
#include <string.h>

#include "formats/text/json_line.h"
#include "formats/text/text.h"

/* A text that is written as far as it fits. */
typedef struct cut {
    char *text;
    size_t text_bytes, written, needed;
} cut_t;

/* Adds one character, whole or not at all: nothing follows one that was left
 * out. */
static void
add(cut_t *cut, const char *bytes, size_t count)
{
    bool fits =
        cut->written == cut->needed && cut->needed + count < cut->text_bytes;
    if (fits) {
        memcpy(cut->text + cut->written, bytes, count);
        cut->written += count;
    }
    cut->needed += count;
}

static uint32_t
hex_digits(const char *at)
{
    uint32_t value = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t digit = skn_text_is_digit(at[k])
                             ? (uint32_t)(at[k] - '0')
                             : (uint32_t)(skn_text_lower(at[k]) - 'a' + 10);
        value = 16 * value + digit;
    }
    return value;
}

/* UTF-8 of a code point (RFC 3629); U+FFFD for half of a surrogate pair. */
static size_t
utf8_of(uint32_t point, char bytes[4])
{
    if (point >= 0xD800 && point < 0xE000)
        point = 0xFFFD;
    if (point < 0x80) {
        bytes[0] = (char)point;
        return 1;
    }
    size_t count = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t k = count; k-- > 1; point >>= 6)
        bytes[k] = (char)(0x80 | (point & 0x3F));
    bytes[0] = (char)(lead[count] | point);
    return count;
}

/* Adds the character of the escape at `at`, behind the backslash; returns its
 * bytes in the line. */
static size_t
add_escape(cut_t *cut, const char *at)
{
    static const char names[] = "bfnrt", controls[] = "\b\f\n\r\t";
    const char *name = strchr(names, *at);
    char bytes[4];
    if (*at != 'u') {
        add(cut, name ? &controls[name - names] : at, 1);
        return 1;
    }
    uint32_t point = hex_digits(at + 1), low = 0;
    size_t used = 5;
    if (point >= 0xD800 && point < 0xDC00 && at[5] == '\\' && at[6] == 'u')
        low = hex_digits(at + 7);
    if (low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        used = 11;
    }
    add(cut, bytes, utf8_of(point, bytes));
    return used;
}

size_t
skn_event_text(const char *line, const char *key, char *text, size_t text_bytes)
{
    cut_t cut = { text, text ? text_bytes : 0, 0, 0 };
    const char *value;
    size_t value_bytes;
    if (cut.text_bytes > 0)
        text[0] = '\0';
    if (!line || !key || !skn_json_line_find(line, key, &value, &value_bytes))
        return 0;
    const char *end = value + value_bytes;
    bool is_string = *value == '"';
    value += is_string;
    end -= is_string;
    while (value < end) {
        size_t bytes = skn_text_character_bytes(value, end);
        if (is_string && *value == '\\') {
            value++;
            bytes = add_escape(&cut, value);
        } else {
            add(&cut, value, bytes);
        }
        value += bytes;
    }
    if (cut.text_bytes > 0)
        text[cut.written] = '\0';
    return cut.needed + 1;
}

bool
skn_event_number(const char *line, const char *key, double *number)
{
    const char *value;
    size_t value_bytes;
    if (!line || !key || !number ||
        !skn_json_line_find(line, key, &value, &value_bytes))
        return false;
    if (*value == '-' || skn_text_is_digit(*value))
        *number = skn_text_real(value, NULL);
    else if (*value == 't' || *value == 'f')
        *number = *value == 't';
    else
        return false;
    return true;
}

bool
skn_event_is(const char *line, const char *name)
{
    const char *value;
    size_t value_bytes;
    return line && name &&
           skn_json_line_find(line, "event", &value, &value_bytes) &&
           value_bytes == strlen(name) + 2 && *value == '"' &&
           memcmp(value + 1, name, value_bytes - 2) == 0;
}
