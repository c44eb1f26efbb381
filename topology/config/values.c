/* values.c - checks a mapping of a configuration against a table of options.
 *
 * This file owns the syntax of numbers, booleans, choices and paths, and the
 * messages about values that do not follow it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/config/values.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/config/nearest.h"

size_t
skn_values_count(const skn_option_t *options)
{
    size_t count = 0;
    while (options && options[count].name)
        count++;
    return count;
}

const skn_value_t *
skn_values_get(const skn_option_t *options, const skn_value_t *values,
               const char *name)
{
    for (size_t k = 0; options && options[k].name; k++)
        if (strcmp(options[k].name, name) == 0)
            return &values[k];
    return NULL;
}

/* --- numbers ------------------------------------------------------------- */

/* Digits without a sign; a leading 0 is octal to some readers, so refused. */
static bool
is_decimal(const char *text, size_t length)
{
    if (length == 0 || (length > 1 && text[0] == '0'))
        return false;
    for (size_t k = 0; k < length; k++)
        if (text[k] < '0' || text[k] > '9')
            return false;
    return true;
}

bool
skn_value_unsigned(const char *text, uint64_t *number)
{
    if (!is_decimal(text, strlen(text)))
        return false;
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return errno == 0;
}

static bool
takes_sizes(const char *name)
{
    size_t length = strlen(name);
    return strcmp(name, "memory") == 0 ||
           (length > 6 && strcmp(name + length - 6, "_bytes") == 0);
}

/* The shift for "KiB", "MiB", "GiB" or "TiB"; 0 for any other `suffix`. */
static int
size_shift(const char *suffix)
{
    static const char *const suffixes[] = { "KiB", "MiB", "GiB", "TiB" };
    for (int k = 0; k < 4; k++)
        if (strcmp(suffix, suffixes[k]) == 0)
            return 10 * (k + 1);
    return 0;
}

/* False: it is not an integer. One that does not fit an int64_t becomes the
 * nearest that does, and sets *too_large. */
static bool
parse_int(const skn_option_t *option, const char *text, int64_t *number,
          bool *too_large)
{
    bool negative = text[0] == '-';
    const char *digits = text + (negative ? 1 : 0);
    size_t length = strspn(digits, "0123456789");
    int shift = 0;
    if (digits[length] != '\0') {
        shift = takes_sizes(option->name) ? size_shift(digits + length) : 0;
        if (shift == 0)
            return false;
    }
    if (!is_decimal(digits, length))
        return false;
    errno = 0;
    long long found = strtoll(text, NULL, 10);
    int64_t factor = (int64_t)1 << shift;
    *too_large = errno != 0 || __builtin_mul_overflow(found, factor, number);
    if (*too_large)
        *number = negative ? INT64_MIN : INT64_MAX;
    return true;
}

static bool
parse_real(const char *text, double *real)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0')
        return false;
    char *end = NULL;
    *real = skn_text_real(text, &end);
    return *end == '\0' && isfinite(*real);
}

/* A table that gives no range (both 0) sets no limit. */
static bool
in_range(const skn_option_t *option, double number)
{
    return (option->min == 0 && option->max == 0) ||
           (number >= option->min && number <= option->max);
}

/* As a double 2^53 + 1 is 2^53: limits that are integers are compared as
 * integers. */
static bool
is_within(const skn_option_t *option, int64_t number)
{
    return in_range(option, (double)number) &&
           (option->max == 0 || option->max >= (double)INT64_MAX ||
            number <= (int64_t)option->max);
}

/* A number may be `auto` if the table's choices allow it. */
static const char *
or_auto(const skn_option_t *option)
{
    return option->choices && strcmp(option->choices, "auto") == 0 ? " or auto"
                                                                   : "";
}

/* The range of an integer, in digits, since 9.007199255e+15 is hard to read. */
static void
say_whole_range(const skn_option_t *option, bool too_large, char *text,
                size_t text_bytes)
{
    bool endless = option->max >= (double)INT64_MAX ||
                   (option->min == 0 && option->max == 0);
    int64_t min = (int64_t)option->min;
    int64_t max = endless ? INT64_MAX : (int64_t)option->max;
    if (endless && too_large && takes_sizes(option->name))
        (void)snprintf(text, text_bytes, "at most %" PRId64 "TiB%s", max >> 40,
                       or_auto(option));
    else if (endless && too_large)
        (void)snprintf(text, text_bytes, "at most %" PRId64 "%s", max,
                       or_auto(option));
    else if (endless)
        (void)snprintf(text, text_bytes, "at least %" PRId64 "%s", min,
                       or_auto(option));
    else if (min == max)
        (void)snprintf(text, text_bytes, "%" PRId64, min);
    else
        (void)snprintf(text, text_bytes, "in %" PRId64 "..%" PRId64 "%s", min,
                       max, or_auto(option));
}

static void
say_range(const skn_option_t *option, char *text, size_t text_bytes)
{
    if (option->min == option->max)
        (void)skn_text_write(text, text_bytes, "%.10g", option->min);
    else if (option->max >= DBL_MAX || option->max >= (double)INT64_MAX)
        (void)skn_text_write(text, text_bytes, "at least %.10g%s", option->min,
                             or_auto(option));
    else
        (void)skn_text_write(text, text_bytes, "in %.10g..%.10g%s", option->min,
                             option->max, or_auto(option));
}

static bool
parse_number(const skn_option_t *option, const char *text, bool quoted,
             skn_value_t *value, char *expected, size_t expected_bytes)
{
    bool is_int = option->type == SKN_OPTION_INT, too_large = false;
    if (or_auto(option)[0] && strcmp(text, "auto") == 0) {
        value->number = -1;
        value->real = -1.0;
        return true;
    }
    bool good =
        !quoted && (is_int ? parse_int(option, text, &value->number, &too_large)
                           : parse_real(text, &value->real));
    if (!good) {
        const char *what = !is_int ? "a number"
                           : takes_sizes(option->name)
                               ? "an integer or a size such as 8GiB"
                               : "an integer";
        (void)snprintf(expected, expected_bytes, "%s%s%s", what,
                       or_auto(option), quoted ? " without quotes" : "");
        return false;
    }
    if (is_int ? !too_large && is_within(option, value->number)
               : in_range(option, value->real))
        return true;
    if (is_int)
        say_whole_range(option, value->number > 0, expected, expected_bytes);
    else
        say_range(option, expected, expected_bytes);
    return false;
}

/* --- choices and text ---------------------------------------------------- */

/* Takes the next of "a|b|c"; returns the rest of the table's text. */
static const char *
next_choice(const char *choices, size_t *bytes)
{
    *bytes = strcspn(choices, "|");
    return choices[*bytes] == '|' ? choices + *bytes + 1 : NULL;
}

static bool
is_choice(const skn_option_t *option, const char *text)
{
    size_t bytes = 0;
    const char *next = NULL;
    for (const char *at = option->choices; at; at = next) {
        next = next_choice(at, &bytes);
        if (strlen(text) == bytes && strncmp(at, text, bytes) == 0)
            return true;
    }
    return false;
}

static bool
parse_choice(const skn_option_t *option, const char *text, char *expected,
             size_t expected_bytes)
{
    size_t bytes = 0, used = 0;
    const char *next = NULL;
    if (is_choice(option, text))
        return true;
    (void)snprintf(expected, expected_bytes, "one of");
    used = strlen(expected);
    for (const char *at = option->choices; at; at = next) {
        next = next_choice(at, &bytes);
        if (used + bytes + 3 < expected_bytes)
            used += (size_t)snprintf(
                expected + used, expected_bytes - used, "%s %.*s",
                at == option->choices ? "" : ",", (int)bytes, at);
    }
    return false;
}

/* An empty path has a meaning only if it is the fallback. */
static bool
may_be_empty(const skn_option_t *option)
{
    const char *fallback = option->fallback;
    return fallback && (fallback[0] == '\0' || strcmp(fallback, "\"\"") == 0 ||
                        strcmp(fallback, "''") == 0);
}

bool
skn_value_parse(const skn_option_t *option, const char *text, bool quoted,
                skn_value_t *value, char *expected, size_t expected_bytes)
{
    *value = (skn_value_t){ .option = option, .text = text };
    switch (option->type) {
    case SKN_OPTION_BOOL:
        value->truth = strcmp(text, "true") == 0;
        if (!quoted && (value->truth || strcmp(text, "false") == 0))
            return true;
        (void)snprintf(expected, expected_bytes, "true or false%s",
                       quoted ? " without quotes" : "");
        return false;
    case SKN_OPTION_INT:
    case SKN_OPTION_REAL:
        return parse_number(option, text, quoted, value, expected,
                            expected_bytes);
    case SKN_OPTION_CHOICE:
        return parse_choice(option, text, expected, expected_bytes);
    case SKN_OPTION_PATH:
        if (text[0] == '\0' && !may_be_empty(option)) {
            (void)snprintf(expected, expected_bytes, "a path");
            return false;
        }
        break;
    case SKN_OPTION_TEXT:
        break;
    }
    size_t room = option->max > 0 ? (size_t)option->max + 1 : SKN_TEXT_MAX;
    if (strlen(text) < room)
        return true;
    (void)snprintf(expected, expected_bytes, "shorter than %zu bytes", room);
    return false;
}

/* --- tables -------------------------------------------------------------- */

typedef struct check {
    skn_document_t *document;
    const skn_option_t *options;
    const char *const *others;
    const char *owner;
    skn_problems_t *problems;
} check_t;

static void
hint_choice(const check_t *check, const skn_option_t *option, const char *text)
{
    char names[8][SKN_NAME_MAX + 1];
    skn_nearest_t nearest = { .wanted = text };
    size_t bytes = 0, count = 0;
    const char *next = NULL;
    for (const char *at = option->choices; at && count < 8; at = next) {
        next = next_choice(at, &bytes);
        (void)snprintf(names[count], sizeof(names[count]), "%.*s", (int)bytes,
                       at);
        skn_nearest_offer(&nearest, names[count++]);
    }
    if (nearest.best)
        (void)skn_problems_hint(check->problems, "did you mean '%s'?",
                                nearest.best);
}

/* Writes a path, which starts at `folder` if it is relative, and returns its
 * bytes; NULL: only counts them. */
static size_t
write_path(const char *folder, const char *path, size_t path_bytes, char *text)
{
    bool is_whole =
        path_bytes == 0 || path[0] == '/' || strcmp(folder, ".") == 0;
    bool has_slash = folder[0] && folder[strlen(folder) - 1] == '/';
    size_t bytes = is_whole ? 0 : strlen(folder) + !has_slash;
    if (text && !is_whole) {
        memcpy(text, folder, strlen(folder));
        text[bytes - 1] = '/';
    }
    if (text)
        memcpy(text + bytes, path, path_bytes);
    return bytes + path_bytes;
}

/* The same for paths one a line. */
static size_t
write_lines(const char *folder, const char *paths, char *text)
{
    size_t used = 0;
    for (;;) {
        size_t bytes = strcspn(paths, "\n");
        used += write_path(folder, paths, bytes, text ? text + used : NULL);
        if (text)
            text[used] = paths[bytes];
        if (!paths[bytes])
            return used;
        used++;
        paths += bytes + 1;
    }
}

const char *
skn_value_path(skn_document_t *document, const skn_node_t *node,
               skn_problems_t *problems)
{
    const char *folder = skn_document_folder(document);
    bool from_command =
        strncmp(node->mark.origin, "-o ", 3) == 0 && node->mark.line == 0;
    const char *path = skn_node_words(node);
    if (!path)
        path = node->text;
    if (from_command)
        return path;
    char *joined = skn_document_memory(
        document, write_lines(folder, path, NULL) + 1, problems);
    if (joined)
        (void)write_lines(folder, path, joined);
    return joined;
}

static skn_status_t
refuse_value(const check_t *check, const skn_option_t *option,
             const skn_node_t *node, const char *expected)
{
    char found[64];
    (void)skn_problems_add(check->problems, node->mark,
                           "option '%s' of %s must be %s, found %s",
                           option->name, check->owner, expected,
                           skn_node_describe(node, found, sizeof(found)));
    if (option->type == SKN_OPTION_CHOICE && node->type == SKN_NODE_SCALAR)
        hint_choice(check, option, node->text);
    if (node->typed && !node->typed[0] && may_be_empty(option))
        (void)skn_problems_hint(check->problems,
                                "an empty one is written '\"\"'");
    skn_node_hint_flaw(node, check->problems);
    return SKN_BAD_CONFIG;
}

static const char *
type_text(skn_option_type_t type)
{
    switch (type) {
    case SKN_OPTION_BOOL:
        return "true or false";
    case SKN_OPTION_INT:
        return "an integer";
    case SKN_OPTION_REAL:
        return "a number";
    case SKN_OPTION_PATH:
        return "a path";
    case SKN_OPTION_TEXT:
        return "text";
    case SKN_OPTION_CHOICE:
        break;
    }
    return "a word";
}

/* Whether the value is a list of paths, which the option may have. */
static bool
is_path_list(const skn_option_t *option, const skn_node_t *node)
{
    return option->type == SKN_OPTION_PATH && option->min > 0 &&
           node->type == SKN_NODE_LIST && node->count > 0;
}

const char *
skn_value_paths(skn_document_t *document, const skn_node_t *list,
                const skn_node_t **bad, skn_problems_t *problems)
{
    size_t used = 0;
    char *paths = skn_document_memory(document, SKN_TEXT_MAX, problems);
    *bad = NULL;
    for (const skn_node_t *node = list->first; paths && node;
         node = node->next) {
        skn_node_t own = *node;
        own.mark = list->typed ? list->mark : node->mark;
        bool is_path = node->type == SKN_NODE_SCALAR && node->text[0] &&
                       !skn_node_is_null(node) && !strchr(node->text, '\n');
        const char *path =
            is_path ? skn_value_path(document, &own, problems) : NULL;
        bool is_long = path && used + strlen(path) + 2 > SKN_TEXT_MAX;
        if (!is_path || is_long)
            *bad = is_path ? list : node;
        if (!path || is_long)
            return NULL;
        used += (size_t)snprintf(paths + used, SKN_TEXT_MAX - used, "%s%s",
                                 used ? "\n" : "", path);
    }
    return paths;
}

/* Reads a list of paths as one text, a path a line. */
static skn_status_t
check_paths(const check_t *check, const skn_option_t *option,
            const skn_node_t *list, skn_value_t *value)
{
    const skn_node_t *bad;
    *value = (skn_value_t){ .option = option };
    value->text = skn_value_paths(check->document, list, &bad, check->problems);
    if (bad)
        return refuse_value(check, option, bad,
                            bad == list
                                ? "paths of fewer than 4096 bytes together, "
                                  "or a folder or pattern"
                                : "a list of paths");
    return value->text ? SKN_OK : SKN_NO_MEMORY;
}

static skn_status_t
check_set(const check_t *check, const skn_option_t *option,
          const skn_node_t *node, skn_value_t *value)
{
    char expected[256];
    bool any_text =
        option->type == SKN_OPTION_TEXT || option->type == SKN_OPTION_PATH;
    const char *text = node->text;
    if (is_path_list(option, node))
        return check_paths(check, option, node, value);
    if (any_text)
        text = skn_node_words(node);
    else if (node->type != SKN_NODE_SCALAR || skn_node_is_null(node))
        text = NULL;
    if (!text)
        return refuse_value(check, option, node, type_text(option->type));
    if (!skn_value_parse(option, text, node->quoted, value, expected,
                         sizeof(expected)))
        return refuse_value(check, option, node, expected);
    /* A path option may have words with a special meaning: auto, none. */
    if (option->type == SKN_OPTION_PATH && !is_choice(option, text))
        value->text = skn_value_path(check->document, node, check->problems);
    return value->text ? SKN_OK : SKN_NO_MEMORY;
}

static skn_status_t
check_unset(const check_t *check, const skn_option_t *option, skn_mark_t place,
            skn_value_t *value)
{
    char expected[256];
    const char *fallback = option->fallback;
    if (!fallback) {
        (void)skn_problems_add(check->problems, place,
                               "option '%s' of %s is missing", option->name,
                               check->owner);
        return skn_problems_hint(check->problems, "%s: %s", option->name,
                                 option->help ? option->help
                                              : type_text(option->type));
    }
    /* Fallbacks are written as in YAML, where empty text has quotes. */
    if (may_be_empty(option))
        fallback = "";
    if (skn_value_parse(option, fallback, false, value, expected,
                        sizeof(expected)))
        return SKN_OK;
    return skn_problems_add(check->problems, place,
                            "the fallback '%s' of option '%s' of %s must be "
                            "%s: its table is wrong",
                            option->fallback, option->name, check->owner,
                            expected);
}

/* Lists the names of a table, for a name that is near none of them. */
static void
hint_names(const check_t *check)
{
    char names[SKN_ERROR_HINT_BYTES - 16] = "";
    size_t used = 0;
    size_t own = skn_values_count(check->options);
    for (size_t k = 0;; k++) {
        const char *name = k < own         ? check->options[k].name
                           : check->others ? check->others[k - own]
                                           : NULL;
        if (!name || used + strlen(name) + 8 > sizeof(names)) {
            (void)snprintf(names + used, sizeof(names) - used, "%s",
                           name ? ", ..." : "");
            break;
        }
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 used ? ", " : "", name);
    }
    (void)skn_problems_hint(check->problems, "it has %s",
                            names[0] ? names : "no options");
}

static bool
is_known(const check_t *check, const char *key)
{
    for (size_t k = 0; k < skn_values_count(check->options); k++)
        if (strcmp(check->options[k].name, key) == 0)
            return true;
    for (size_t k = 0; check->others && check->others[k]; k++)
        if (strcmp(check->others[k], key) == 0)
            return true;
    return false;
}

static void
refuse_unknown(const check_t *check, const skn_node_t *node)
{
    (void)skn_problems_add(check->problems, node->key_mark,
                           "unknown option '%s' of %s", node->key,
                           check->owner);
    /* Problems beyond the kept ones are not shown, and the search takes
     * time. */
    if (skn_problems_count(check->problems) > SKN_PROBLEMS_KEPT)
        return;
    skn_nearest_t nearest = { .wanted = node->key };
    for (size_t k = 0; k < skn_values_count(check->options); k++)
        skn_nearest_offer(&nearest, check->options[k].name);
    for (size_t k = 0; check->others && check->others[k]; k++)
        skn_nearest_offer(&nearest, check->others[k]);
    if (nearest.best)
        (void)skn_problems_hint(check->problems, "did you mean '%s'?",
                                nearest.best);
    else
        hint_names(check);
}

skn_status_t
skn_values_check(skn_document_t *document, const skn_node_t *mapping,
                 const skn_option_t *options, const char *const *others,
                 const char *owner, skn_mark_t place, skn_value_t *values,
                 skn_problems_t *problems)
{
    const check_t check = { document, options, others, owner, problems };
    size_t count_before = skn_problems_count(problems);
    if (mapping && skn_node_is_null(mapping))
        mapping = NULL;
    if (mapping && mapping->type != SKN_NODE_MAPPING) {
        char found[64];
        (void)skn_problems_add(
            problems, mapping->mark, "%s must be a mapping, found %s", owner,
            skn_node_describe(mapping, found, sizeof(found)));
        skn_node_hint_flaw(mapping, problems);
        return SKN_BAD_CONFIG;
    }
    for (const skn_node_t *item = mapping ? mapping->first : NULL; item;
         item = item->next)
        if (!is_known(&check, item->key))
            refuse_unknown(&check, item);
    for (size_t k = 0; k < skn_values_count(options); k++) {
        const skn_node_t *node = skn_node_get(mapping, options[k].name);
        values[k] = (skn_value_t){ .option = &options[k], .text = "" };
        if (node)
            (void)check_set(&check, &options[k], node, &values[k]);
        else
            (void)check_unset(&check, &options[k], place, &values[k]);
    }
    return skn_problems_count(problems) > count_before ? SKN_BAD_CONFIG
                                                       : SKN_OK;
}

/* Turns 1e-08 and 1e+09 into the usual 1e-8 and 1e9. */
static void
shorten_exponent(char *text)
{
    char *digits = strchr(text, 'e');
    if (!digits)
        return;
    digits += digits[1] == '-' ? 2 : 1;
    size_t zeros = strspn(digits, "+0");
    memmove(digits, digits + zeros, strlen(digits + zeros) + 1);
}

void
skn_value_real_text(double real, char text[SKN_REAL_TEXT_BYTES])
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)skn_text_write(text, SKN_REAL_TEXT_BYTES, "%.*g", digits, real);
        if (skn_text_real(text, NULL) == real)
            break;
    }
    shorten_exponent(text);
}
