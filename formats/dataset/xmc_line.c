/* xmc_line.c - parses one line of the Extreme Classification format.
 *
 * This file owns: nothing. It is pure: the input is a line, the output a point
 * or a sentence. Not here: reading lines from files (xmc.c).
 * Format: The Extreme Classification Repository (Bhatia et al. 2016).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/xmc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/pairs.h"

/* The most bytes of a refused word that are shown. */
#define WORD_SHOWN_BYTES 24u

typedef struct line_cursor {
    const char *at, *end;
    const skn_xmc_line_t *line;
    const skn_xmc_bounds_t *bounds;
} line_cursor_t;

/* One of the two lists of a line: its name, and the limit of its indices. */
typedef struct list {
    const char *noun; /* "label" or "feature" */
    uint32_t limit;
    uint32_t header_count, expected_count;
    bool
        may_ignore; /* indices from `limit` on, below this one, are left out: */
    uint64_t ignored_last;
} list_t;

static inline bool
is_digit(char letter)
{
    return (unsigned char)(letter - '0') < 10;
}

static inline bool
is_blank(char letter)
{
    return letter == ' ' || letter == '\t';
}

/* Reads a run of digits, at least one. An index too large to be one becomes
 * UINT64_MAX. Returns NULL if there is no digit. */
static inline const char *
index_read(const char *at, const char *end, uint64_t *index)
{
    const char *start = at;
    uint64_t read = 0;
    for (; at < end && is_digit(*at); at++)
        read =
            read > UINT32_MAX ? UINT64_MAX : read * 10 + (uint64_t)(*at - '0');
    *index = read;
    return at == start ? NULL : at;
}

/* --- sentences ---------------------------------------------------------- */

#define PLACE_FORMAT "%s:%" PRIu64 ":%zu: "
#define PLACE(cursor, where)                                                   \
    skn_stream_name_shown((cursor)->line->file), (cursor)->line->number,       \
        (size_t)((where) - (cursor)->line->text) + 1

/* The word around `at`: from `start` to the next blank, cut for a sentence. */
static int
word_bytes(const line_cursor_t *cursor, const char *start)
{
    const char *at = start;
    while (at < cursor->end && !is_blank(*at) &&
           (size_t)(at - start) < WORD_SHOWN_BYTES)
        at++;
    return (int)(at - start);
}

/* Refuses the word at `start`, where `wanted` was expected. A byte that no text
 * contains shows more than that: the file is of another type. */
static skn_status_t
say_word(const line_cursor_t *cursor, const char *start, const char *wanted,
         skn_error_t *error)
{
    int bytes = word_bytes(cursor, start);
    for (int k = 0; k < bytes; k++) {
        unsigned char byte = (unsigned char)start[k];
        if (byte >= 0x20 && byte < 0x7f)
            continue;
        return skn_fail(error, SKN_BAD_DATA,
                        PLACE_FORMAT "byte 0x%02x does not belong in a data "
                                     "file, which is plain text",
                        PLACE(cursor, start + k), byte);
    }
    if (bytes == 0)
        return skn_fail(error, SKN_BAD_DATA,
                        PLACE_FORMAT "expected %s, found nothing",
                        PLACE(cursor, start), wanted);
    return skn_fail(error, SKN_BAD_DATA,
                    PLACE_FORMAT "expected %s, found \"%.*s\"",
                    PLACE(cursor, start), wanted, bytes, start);
}

static skn_status_t
refuse_word(const line_cursor_t *cursor, const char *start, const char *wanted,
            skn_error_t *error)
{
    (void)say_word(cursor, start, wanted, error);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "a line is label,label feature:value feature:value");
}

/* Whether the limit is the model's: a header with the same limit is reported
 * instead. */
static bool
is_models_limit(const list_t *list, const skn_xmc_bounds_t *bounds)
{
    return list->expected_count && list->limit == list->expected_count &&
           !list->may_ignore &&
           !(bounds && bounds->has_header &&
             list->header_count == list->expected_count);
}

static skn_status_t
say_range(const line_cursor_t *cursor, const char *start, const list_t *list,
          skn_error_t *error)
{
    const skn_xmc_bounds_t *bounds = cursor->bounds;
    const char *by = bounds && bounds->expected_by
                         ? skn_stream_name_shown(bounds->expected_by)
                         : "the model";
    const char *end = start;
    while (end < cursor->end && is_digit(*end))
        end++;
    int shown = end - start > 20 ? 20 : (int)(end - start);
    const char *more = end - start > 20 ? "..." : "";
    bool expected = is_models_limit(list, bounds);
    if (expected && bounds->has_header)
        return skn_fail(
            error, SKN_BAD_DATA,
            PLACE_FORMAT "%s %.*s%s is out of range: %s has %u "
                         "%ss (0 to %u), this file's header says %u",
            PLACE(cursor, start), list->noun, shown, start, more, by,
            list->limit, list->noun, list->limit - 1, list->header_count);
    if (expected)
        return skn_fail(error, SKN_BAD_DATA,
                        PLACE_FORMAT "%s %.*s%s is out of range: %s has %u "
                                     "%ss (0 to %u), this file has no header",
                        PLACE(cursor, start), list->noun, shown, start, more,
                        by, list->limit, list->noun, list->limit - 1);
    if (bounds && bounds->has_header)
        return skn_fail(error, SKN_BAD_DATA,
                        PLACE_FORMAT "%s %.*s%s is out of range: the header "
                                     "says %u %ss, counted from 0",
                        PLACE(cursor, start), list->noun, shown, start, more,
                        list->header_count, list->noun);
    return skn_fail(error, SKN_BAD_DATA,
                    PLACE_FORMAT "%s %.*s%s is out of range: the maximum is %u",
                    PLACE(cursor, start), list->noun, shown, start, more,
                    SKN_UNIT_MAX - 1);
}

static skn_status_t
refuse_range(const line_cursor_t *cursor, const char *start, const list_t *list,
             skn_error_t *error)
{
    const skn_xmc_bounds_t *bounds = cursor->bounds;
    (void)say_range(cursor, start, list, error);
    if (is_models_limit(list, bounds))
        return skn_fail_hint(error, SKN_BAD_DATA,
                             "choose a file that fits the model, or train "
                             "with a larger data.%s_count",
                             list->noun);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         bounds && bounds->has_header
                             ? "correct the header or the line"
                             : "correct the line");
}

/* The second occurrence of `index`. The words were read once without an error,
 * so this needs no checks. */
static const char *
repeat_find(const line_cursor_t *cursor, const char *from, bool features,
            uint32_t index)
{
    uint64_t found = 0;
    bool seen = false;
    for (const char *at = from; at < cursor->end;) {
        const char *word = at;
        const char *next = index_read(at, cursor->end, &found);
        if (next && found == index && seen)
            return word;
        seen = seen || (next && found == index);
        at = next ? next : at + 1;
        if (features && next)
            while (at < cursor->end && !is_blank(*at))
                at++;
    }
    return from;
}

static skn_status_t
refuse_repeat(const line_cursor_t *cursor, const char *from, uint32_t label,
              skn_error_t *error)
{
    (void)skn_fail(
        error, SKN_BAD_DATA, PLACE_FORMAT "label %u occurs twice in this line",
        PLACE(cursor, repeat_find(cursor, from, false, label)), label);
    return skn_fail_hint(error, SKN_BAD_DATA, "keep one of them");
}

static skn_status_t
refuse_sum(const line_cursor_t *cursor, const char *from, uint32_t feature,
           skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA,
                   PLACE_FORMAT "the values of feature %u add up to more than "
                                "a float can hold",
                   PLACE(cursor, repeat_find(cursor, from, true, feature)),
                   feature);
    return skn_fail_hint(error, SKN_BAD_DATA, "scale the values");
}

static skn_status_t
refuse_count(const line_cursor_t *cursor, const char *where, const list_t *list,
             skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_DATA,
                    PLACE_FORMAT "more than %u %ss in one line",
                    PLACE(cursor, where), SKN_LINE_ITEMS_MAX, list->noun);
}

/* --- points ------------------------------------------------------------- */

void
skn_xmc_point_init(skn_xmc_point_t *point)
{
    *point = (skn_xmc_point_t){ 0 };
}

void
skn_xmc_point_fini(skn_xmc_point_t *point)
{
    free(point->label);
    free(point->feature);
    free(point->value);
    free(point->key);
    skn_xmc_point_init(point);
}

/* Makes room for `room_count` labels and as many features. The old contents
 * are not kept. */
static skn_status_t
point_reserve(skn_xmc_point_t *point, size_t room_count,
              const line_cursor_t *cursor, skn_error_t *error)
{
    if (room_count <= point->room_count)
        return SKN_OK;
    room_count += room_count / 2;
    skn_xmc_point_fini(point);
    point->label = malloc(room_count * sizeof(*point->label));
    point->feature = malloc(room_count * sizeof(*point->feature));
    point->value = malloc(room_count * sizeof(*point->value));
    point->key = malloc(room_count * sizeof(*point->key));
    if (!point->label || !point->feature || !point->value || !point->key) {
        skn_xmc_point_fini(point);
        return skn_fail(error, SKN_NO_MEMORY,
                        PLACE_FORMAT "no memory for %zu items",
                        PLACE(cursor, cursor->line->text), room_count);
    }
    point->room_count = room_count;
    return SKN_OK;
}

static bool
is_rising(const uint32_t *index, size_t count)
{
    size_t rising = 1;
    while (rising < count && index[rising - 1] < index[rising])
        rising++;
    return rising >= count;
}

/* Sorts the labels if needed, and refuses repeats. `from` is their start in the
 * line. */
static skn_status_t
labels_finish(const line_cursor_t *cursor, const char *from,
              skn_xmc_point_t *point, skn_error_t *error)
{
    if (is_rising(point->label, point->label_count))
        return SKN_OK;
    skn_pairs_sort(point->label, NULL, point->key, point->label_count);
    for (size_t k = 1; k < point->label_count; k++)
        if (point->label[k - 1] == point->label[k])
            return refuse_repeat(cursor, from, point->label[k], error);
    return SKN_OK;
}

/* Sorts the features if needed, and adds the values of repeats. */
static skn_status_t
features_finish(const line_cursor_t *cursor, const char *from,
                skn_xmc_point_t *point, skn_error_t *error)
{
    size_t count = point->feature_count;
    if (is_rising(point->feature, count))
        return SKN_OK;
    skn_pairs_sort(point->feature, point->value, point->key, count);
    point->feature_count = skn_pairs_add(point->feature, point->value, count);
    for (size_t k = 0; k < point->feature_count; k++)
        if (isinf(point->value[k]))
            return refuse_sum(cursor, from, point->feature[k], error);
    return SKN_OK;
}

/* --- the line ----------------------------------------------------------- */

static inline bool
is_ignored(const list_t *list, uint64_t index)
{
    return list->may_ignore && index <= list->ignored_last;
}

/* Counts an index at `at` that is beyond the expected sizes. */
static void
leave_out(const line_cursor_t *cursor, const char *at, skn_xmc_point_t *point,
          uint32_t *count)
{
    if (point->unknown_labels == 0 && point->unknown_features == 0)
        point->unknown_column = (size_t)(at - cursor->line->text) + 1;
    ++*count;
}

/* Reads `l1,l2,...` up to a blank or the end. */
static skn_status_t
labels_parse(line_cursor_t *cursor, const list_t *list, skn_xmc_point_t *point,
             skn_error_t *error)
{
    const char *from = cursor->at, *at = from, *end = cursor->end;
    size_t count = 0;
    for (;;) {
        uint64_t index;
        const char *next = index_read(at, end, &index);
        if (next && next < end && *next == ':') {
            (void)refuse_word(cursor, at, "a list of labels", error);
            return skn_fail_hint(error, SKN_BAD_DATA,
                                 "a line without labels starts with a space");
        }
        if (!next || (next < end && *next != ',' && !is_blank(*next)))
            return refuse_word(cursor, at, "a label", error);
        if (index < list->limit && count == SKN_LINE_ITEMS_MAX)
            return refuse_count(cursor, at, list, error);
        if (index < list->limit)
            point->label[count++] = (uint32_t)index;
        else if (is_ignored(list, index))
            leave_out(cursor, at, point, &point->unknown_labels);
        else
            return refuse_range(cursor, at, list, error);
        at = next;
        if (at == end || is_blank(*at))
            break;
        at++;
    }
    cursor->at = at;
    point->label_count = count;
    return labels_finish(cursor, from, point, error);
}

static skn_status_t
refuse_size(const line_cursor_t *cursor, const char *start, skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA,
                   PLACE_FORMAT "value %.*s is too large: the maximum of a "
                                "float is 3.4e38",
                   PLACE(cursor, start), word_bytes(cursor, start), start);
    return skn_fail_hint(error, SKN_BAD_DATA, "scale the values");
}

/* Reads the value after the colon of a feature at cursor->at. */
static skn_status_t
value_parse(line_cursor_t *cursor, float *value, skn_error_t *error)
{
    const char *start = cursor->at, *end = cursor->end;
    if (start == end || is_blank(*start))
        return refuse_word(cursor, start, "a value after the colon", error);
    size_t bytes = skn_xmc_number_parse(start, (size_t)(end - start), value);
    const char *next = start + bytes;
    if (bytes == 0 || (next < end && !is_blank(*next)))
        return refuse_word(cursor, start, "a finite decimal number", error);
    if (isinf(*value))
        return refuse_size(cursor, start, error);
    cursor->at = next;
    return SKN_OK;
}

/* Skips `qid:N`, which svmlight has before the features. */
static bool
query_skip(line_cursor_t *cursor)
{
    const char *at = cursor->at, *end = cursor->end;
    if (end - at < 5 || memcmp(at, "qid:", 4) != 0)
        return false;
    for (at += 4; at < end && is_digit(*at);)
        at++;
    if (at == cursor->at + 4 || (at < end && !is_blank(*at)))
        return false;
    cursor->at = at;
    return true;
}

/* Reads `f:v f:v ...` up to the end, or a comment. */
static skn_status_t
features_parse(line_cursor_t *cursor, const list_t *list,
               skn_xmc_point_t *point, skn_error_t *error)
{
    const char *from = cursor->at, *end = cursor->end;
    size_t count = 0;
    skn_status_t status = SKN_OK;
    for (bool first = true;; first = false) {
        while (cursor->at < end && is_blank(*cursor->at))
            cursor->at++;
        if (cursor->at == end)
            break;
        const char *at = cursor->at;
        uint64_t index;
        const char *next = index_read(at, end, &index);
        if (!next && *at == '#')
            break;
        if (!next && first && query_skip(cursor)) {
            from = cursor->at;
            continue;
        }
        if (!next || (next < end && *next != ':' && !is_blank(*next)))
            return refuse_word(cursor, at, "a feature", error);
        bool known = index < list->limit;
        if (!known && !is_ignored(list, index))
            return refuse_range(cursor, at, list, error);
        if (known && count == SKN_LINE_ITEMS_MAX)
            return refuse_count(cursor, at, list, error);
        float value = 1.0f;
        cursor->at = next;
        if (next < end && *next == ':') {
            cursor->at++;
            status = value_parse(cursor, &value, error);
            if (status != SKN_OK)
                return status;
        }
        if (!known) {
            leave_out(cursor, at, point, &point->unknown_features);
            continue;
        }
        point->feature[count] = (uint32_t)index;
        point->value[count++] = value;
    }
    point->feature_count = count;
    return features_finish(cursor, from, point, error);
}

static list_t
list_of(const char *noun, const skn_xmc_bounds_t *b, uint32_t header_count,
        uint32_t expected_count)
{
    bool has_header = b->has_header;
    list_t list = { .noun = noun,
                    .limit = SKN_UNIT_MAX,
                    .header_count = header_count,
                    .expected_count = expected_count };
    if (has_header)
        list.limit = header_count;
    list.may_ignore = expected_count && b->unknown_ignored &&
                      !(has_header && header_count == 0);
    list.ignored_last = has_header ? header_count - UINT64_C(1) : UINT64_MAX;
    if (expected_count && expected_count < list.limit)
        list.limit = expected_count;
    return list;
}

/* Whether the line begins with a list of labels. */
static bool
has_labels(const skn_xmc_line_t *line, const skn_xmc_bounds_t *bounds)
{
    const char *at = line->text, *end = at + line->bytes;
    if (at == end || is_blank(*at))
        return false;
    while (bounds->labels_optional && at < end && !is_blank(*at))
        if (*at++ == ':')
            return false;
    return true;
}

skn_status_t
skn_xmc_line_parse(const skn_xmc_line_t *line, const skn_xmc_bounds_t *bounds,
                   skn_xmc_point_t *point, skn_error_t *error)
{
    static const skn_xmc_bounds_t unbounded = { 0 };
    const skn_xmc_bounds_t *b = bounds ? bounds : &unbounded;
    line_cursor_t cursor = { line->text, line->text + line->bytes, line,
                             bounds };
    list_t labels = list_of("label", b, b->header_labels, b->expected_labels);
    list_t features =
        list_of("feature", b, b->header_features, b->expected_features);
    /* An item needs a digit and a separator, except for the last. */
    size_t room_count = line->bytes / 2 + 1;
    if (room_count > SKN_LINE_ITEMS_MAX)
        room_count = SKN_LINE_ITEMS_MAX;
    point->label_count = point->feature_count = 0;
    point->unknown_labels = point->unknown_features = 0;
    skn_status_t status = point_reserve(point, room_count, &cursor, error);
    if (status == SKN_OK && has_labels(line, b))
        status = labels_parse(&cursor, &labels, point, error);
    if (status == SKN_OK)
        status = features_parse(&cursor, &features, point, error);
    if (status != SKN_OK)
        point->label_count = point->feature_count = 0;
    return status;
}
