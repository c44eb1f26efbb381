/* words.c - cuts text into words: ASCII by a table, the rest by utf8proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/words.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "formats/text/grow.h"

/* Characters beyond ASCII are normalised in runs of at most this many bytes,
 * which ends a word in the middle if it is longer. */
#define RUN_BYTES 1024u
/* NFKC makes at most 18 characters of one (The Unicode Standard 15, UAX 15,
 * table 8). */
#define EXPANSION 18u
/* ASCII bytes that are taken in one step. */
#define EIGHT sizeof(uint64_t)

enum byte_class {
    OTHER,
    LOWER, /* and digits */
    UPPER,
    BEYOND /* ASCII */
};

static const uint8_t class_of[256] = {
    ['0' ... '9'] = LOWER,
    ['a' ... 'z'] = LOWER,
    ['A' ... 'Z'] = UPPER,
    [0x80 ... 0xff] = BEYOND,
};

void
skn_words_fini(skn_words_t *words)
{
    free(words->bytes);
    free(words->end);
    free(words->points);
    *words = (skn_words_t){ 0 };
}

/* Room for `bytes` more bytes, among which are the blanks behind words, and for
 * half as many words; and for a step of take_eight beyond them. */
static bool
reserve(skn_words_t *words, size_t bytes)
{
    void *to = words->bytes, *end = words->end;
    bool good =
        skn_grow(&to, &words->byte_room, words->byte_count + bytes + EIGHT, 1);
    words->bytes = to;
    good = good && skn_grow(&end, &words->end_room,
                            words->count + bytes / 2 + 1, sizeof(*words->end));
    words->end = end;
    return good;
}

/* Ends the word that was written from `from` on, if there is any. */
static void
end_word(skn_words_t *words, size_t from)
{
    size_t bytes = words->byte_count - from;
    if (bytes == 0)
        return;
    if (bytes > SKN_WORD_MAX_BYTES) {
        bytes = SKN_WORD_MAX_BYTES;
        while (((unsigned char)words->bytes[from + bytes] & 0xc0) == 0x80)
            bytes--;
        words->byte_count = from + bytes;
    }
    words->end[words->count++] = (uint32_t)words->byte_count;
    words->bytes[words->byte_count++] = ' ';
}

/* --- beyond ASCII --------------------------------------------------------- */

/* Scripts that are written without blanks between words (Unicode blocks). */
static bool
is_alone(int32_t point)
{
    static const struct {
        int32_t first, last;
    } blocks[] = {
        { 0x0e00, 0x0eff },   /* Thai, Lao */
        { 0x1000, 0x109f },   /* Myanmar */
        { 0x1780, 0x17ff },   /* Khmer */
        { 0x2e80, 0x31ff },   /* radicals, kana, Bopomofo */
        { 0x3400, 0x9fff },   /* CJK */
        { 0xf900, 0xfaff },   /* CJK compatibility */
        { 0x20000, 0x3ffff }, /* CJK extensions */
    };
    for (size_t k = 0; k < sizeof(blocks) / sizeof(blocks[0]); k++)
        if (point >= blocks[k].first && point <= blocks[k].last)
            return true;
    return false;
}

typedef enum point_class {
    SEPARATOR,
    MARK,
    LETTER
} point_class_t;

static point_class_t
class_of_point(int32_t point)
{
    switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return MARK;
    default:
        return SEPARATOR;
    }
}

/* Cuts normalised characters into words. */
static bool
cut_points(skn_words_t *words, size_t count)
{
    /* Each may be a word of 4 bytes. */
    if (!reserve(words, 5 * count))
        return false;
    size_t from = words->byte_count;
    for (size_t k = 0; k < count; k++) {
        int32_t point = words->points[k];
        point_class_t class = class_of_point(point);
        if (class == SEPARATOR || (class == LETTER && is_alone(point))) {
            end_word(words, from);
            from = words->byte_count;
        }
        if (class == SEPARATOR || (class == MARK && words->byte_count == from))
            continue;
        words->byte_count += (size_t)utf8proc_encode_char(
            point, (utf8proc_uint8_t *)words->bytes + words->byte_count);
        bool more_marks =
            k + 1 < count && class_of_point(words->points[k + 1]) == MARK;
        if (is_alone(point) && !more_marks) {
            end_word(words, from);
            from = words->byte_count;
        }
    }
    end_word(words, from);
    return true;
}

/* Bytes of the valid UTF-8 at the start of the run. */
static size_t
valid_bytes(const char *run, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        utf8proc_int32_t point;
        utf8proc_ssize_t got =
            utf8proc_iterate((const utf8proc_uint8_t *)run + at,
                             (utf8proc_ssize_t)(bytes - at), &point);
        if (got <= 0)
            break;
        at += (size_t)got;
    }
    return at;
}

/* Adds the words of a run of valid UTF-8, normalised. */
static bool
add_valid(skn_words_t *words, const char *run, size_t bytes)
{
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPAT |
                                      UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD;
    size_t room = EXPANSION * RUN_BYTES;
    if (bytes == 0)
        return true;
    if (words->point_room < room) {
        words->points = malloc(room * sizeof(*words->points));
        if (!words->points)
            return false;
        words->point_room = room;
    }
    utf8proc_ssize_t count = utf8proc_decompose(
        (const utf8proc_uint8_t *)run, (utf8proc_ssize_t)bytes, words->points,
        (utf8proc_ssize_t)room, options);
    if (count >= 0)
        count = utf8proc_normalize_utf32(words->points, count, options);
    return count < 0 || cut_points(words, (size_t)count);
}

/* Adds the words of a run that has characters beyond ASCII; *used bytes of it
 * were taken. */
static bool
add_run(skn_words_t *words, const char *run, size_t bytes, size_t *used)
{
    bool is_cut = bytes > RUN_BYTES;
    if (is_cut)
        bytes = RUN_BYTES;
    size_t valid = valid_bytes(run, bytes);
    /* A byte that is not UTF-8 separates words. At the end of a piece that was
     * cut off, a character may only be incomplete. */
    *used = valid < bytes && !(is_cut && bytes - valid < 4) ? valid + 1 : valid;
    if (*used == 0)
        *used = 1;
    return add_valid(words, run, valid);
}

/* --- the whole ------------------------------------------------------------ */

/* The same byte eight times. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Writes eight bytes with capital letters made small; returns how many at their
 * start are ASCII letters and digits. No sum of two bytes carries: each of the
 * first has 7 bits, and what is added makes the 8th from a bound on. */
static size_t
take_eight(const unsigned char *at, char *to)
{
    uint64_t bytes;
    memcpy(&bytes, at, EIGHT);
    bytes = le64toh(bytes);
    const uint64_t low = bytes & EACH(0x7f), folded = low | EACH(0x20);
    const uint64_t letters =
        (folded + EACH(0x80 - 'a')) & ~(folded + EACH(0x7f - 'z'));
    const uint64_t digits =
        (low + EACH(0x80 - '0')) & ~(low + EACH(0x7f - '9'));
    const uint64_t others = (~(letters | digits) | bytes) & EACH(0x80);
    bytes = htole64(low | (letters & EACH(0x80)) >> 2);
    memcpy(to, &bytes, EIGHT);
    return others ? (size_t)__builtin_ctzll(others) / 8 : EIGHT;
}

/* Adds an ASCII word; returns where it ends, or `run` if the word has a
 * character beyond ASCII. */
static const unsigned char *
add_ascii(skn_words_t *words, const unsigned char *run,
          const unsigned char *end)
{
    const unsigned char *at = run;
    size_t from = words->byte_count;
    char *to = words->bytes + from;
    size_t taken = EIGHT;
    for (; taken == EIGHT && (size_t)(end - at) >= EIGHT; to += taken) {
        taken = take_eight(at, to);
        at += taken;
    }
    while (at < end && (class_of[*at] == LOWER || class_of[*at] == UPPER)) {
        *to++ = (char)(class_of[*at] == UPPER ? *at | 0x20 : *at);
        at++;
    }
    if (at < end && class_of[*at] == BEYOND)
        return run;
    words->byte_count = from + (size_t)(at - run);
    end_word(words, from);
    return at;
}

bool
skn_words_add(skn_words_t *words, const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
    const unsigned char *run_end = at; /* of the last run beyond ASCII */
    /* ASCII words have the bytes that they are written with. */
    if (!reserve(words, bytes + 1))
        return false;
    while (at < end) {
        while (at < end && class_of[*at] == OTHER)
            at++;
        if (at >= run_end) {
            const unsigned char *run = at;
            at = add_ascii(words, run, end);
            if (at > run || at == end)
                continue;
            /* The run is looked at once, however many pieces it has. */
            for (run_end = at; run_end < end && class_of[*run_end] != OTHER;)
                run_end++;
        }
        size_t used;
        if (!add_run(words, (const char *)at, (size_t)(run_end - at), &used))
            return false;
        at += used;
        if (!reserve(words, (size_t)(end - at) + 1))
            return false;
    }
    return true;
}
