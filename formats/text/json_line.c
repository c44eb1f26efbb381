/* json_line.c - checks one line of JSON (RFC 8259), and finds members of its
 * object, without building values.
 *
 * An event is checked when it is sent, so that a program that reads events line
 * by line never gets half an object or two lines. A parser that builds values
 * would allocate memory for each event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_line.h"

#include <stdbool.h>
#include <string.h>

#include "formats/text/text.h"

/* Nested objects and lists; parsers of hosts have such limits, too. */
#define DEPTH_MAX 64u

typedef struct json_look {
    const char *at, *end;
    const char *fault; /* NULL: none so far */
} json_look_t;

static bool
fail(json_look_t *look, const char *fault)
{
    if (!look->fault)
        look->fault = fault;
    return false;
}

static void
skip_blanks(json_look_t *look)
{
    look->at += strspn(look->at, " \t");
}

static bool
take(json_look_t *look, char byte)
{
    skip_blanks(look);
    if (*look->at != byte)
        return false;
    look->at++;
    return true;
}

static bool
read_escape(json_look_t *look)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    char which = *++look->at;
    if (which == '\0' || !strchr("\"\\/bfnrtu", which))
        return fail(look, "an escape that JSON does not know");
    look->at++;
    for (int k = 0; which == 'u' && k < 4; k++)
        if (*look->at == '\0' || !strchr(digits, *look->at++))
            return fail(look, "an escape \\u without four digits");
    return true;
}

static bool
read_string(json_look_t *look)
{
    if (!take(look, '"'))
        return fail(look, "no string where one is expected");
    while (*look->at != '"') {
        if (*look->at == '\\') {
            if (!read_escape(look))
                return false;
        } else if ((unsigned char)*look->at < 0x20) {
            return fail(look, *look->at ? "a control character in a string"
                                        : "a string without an end");
        } else {
            size_t bytes = skn_text_character_bytes(look->at, look->end);
            if (bytes == 0)
                return fail(look, "bytes that are not UTF-8 in a string");
            look->at += bytes;
        }
    }
    look->at++;
    return true;
}

/* Digits, at least one. */
static bool
read_digits(json_look_t *look)
{
    size_t count = strspn(look->at, "0123456789");
    look->at += count;
    return count > 0;
}

static bool
read_number(json_look_t *look)
{
    look->at += *look->at == '-';
    bool zero = *look->at == '0';
    look->at += zero;
    bool good = zero || read_digits(look);
    if (good && *look->at == '.') {
        look->at++;
        good = read_digits(look);
    }
    if (good && (*look->at == 'e' || *look->at == 'E')) {
        look->at++;
        look->at += *look->at == '-' || *look->at == '+';
        good = read_digits(look);
    }
    return good || fail(look, "no value where one is expected");
}

/* A string, a number, true, false or null. */
static bool
read_scalar(json_look_t *look)
{
    static const char *const words[] = { "true", "false", "null" };
    if (*look->at == '"')
        return read_string(look);
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        if (strncmp(look->at, words[k], strlen(words[k])) == 0) {
            look->at += strlen(words[k]);
            return true;
        }
    return read_number(look);
}

/* The key of an object's next member. */
static bool
read_key(json_look_t *look)
{
    return read_string(look) &&
           (take(look, ':') || fail(look, "a key without a ':'"));
}

/* Skips after a value: the ends of objects and lists around it, and the comma
 * before the next value. `open` has the bracket that closes each. */
static bool
read_ends(json_look_t *look, const char *open, size_t *depth)
{
    while (*depth > 0) {
        char end = open[*depth - 1];
        if (take(look, ','))
            return end == ']' || read_key(look);
        if (!take(look, end))
            return fail(look, "no ',' or end after a value");
        --*depth;
    }
    return true;
}

/* Any value. */
static bool
read_value(json_look_t *look)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    do {
        skip_blanks(look);
        char begin = *look->at;
        bool deeper = begin == '{' || begin == '[';
        if (deeper && depth == DEPTH_MAX)
            return fail(look, "more than 64 levels");
        if (deeper) {
            look->at++;
            open[depth++] = begin == '{' ? '}' : ']';
            if (take(look, open[depth - 1])) /* an empty one has ended */
                depth--;
            else if (begin == '[' || read_key(look))
                continue;
            else
                return false;
        } else if (!read_scalar(look)) {
            return false;
        }
        if (!read_ends(look, open, &depth))
            return false;
    } while (depth > 0);
    return true;
}

const char *
skn_json_line_fault(const char *text, size_t *at)
{
    json_look_t look = { .at = text, .end = text + strlen(text) };
    skip_blanks(&look);
    if (*look.at != '{')
        (void)fail(&look, "no '{' at its start");
    else if (read_value(&look)) {
        skip_blanks(&look);
        if (*look.at)
            (void)fail(&look, "more after its object");
    }
    *at = (size_t)(look.at - text);
    return look.fault;
}

bool
skn_json_line_find(const char *text, const char *key, const char **value,
                   size_t *value_bytes)
{
    json_look_t look = { .at = text, .end = text + strlen(text) };
    size_t key_bytes = strlen(key);
    if (!take(&look, '{'))
        return false;
    do {
        skip_blanks(&look);
        const char *name = look.at + 1; /* behind the quote */
        if (!read_string(&look))
            return false;
        bool is_it = (size_t)(look.at - name) == key_bytes + 1 &&
                     memcmp(name, key, key_bytes) == 0;
        if (!take(&look, ':'))
            return false;
        skip_blanks(&look);
        *value = look.at;
        if (!read_value(&look))
            return false;
        *value_bytes = (size_t)(look.at - *value);
        if (is_it)
            return true;
    } while (take(&look, ','));
    return false;
}
