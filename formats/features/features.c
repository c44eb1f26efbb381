/* features.c - learns which terms of texts are features, and makes points of
 * texts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/features.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/features/features_internal.h"
#include "formats/text/tally.h"

const char *const skn_feature_weight_names[SKN_FEATURE_WEIGHT_COUNT] = {
    "one", "count", "log"
};

/* --- terms ---------------------------------------------------------------- */

/* Terms that are looked up together, as strings.h and tally.h have it. */
#define TERMS_TOGETHER SKN_TALLY_TOGETHER
/* A '*' and SKN_FEATURE_LETTERS_MAX characters of at most 4 bytes. */
#define LETTERS_BYTES (1u + 4 * SKN_FEATURE_LETTERS_MAX)

/* Takes terms of a row, at most TERMS_TOGETHER; false: no memory. */
typedef bool visit_t(void *visitor, const skn_span_t *term, size_t count);

/* Terms of a row on their way to the visitor. */
typedef struct terms {
    const skn_feature_options_t *options;
    visit_t *visit;
    void *visitor;
    size_t count;
    skn_span_t term[TERMS_TOGETHER];
    char letters[TERMS_TOGETHER][LETTERS_BYTES];
} terms_t;

static bool
flush(terms_t *terms)
{
    size_t count = terms->count;
    terms->count = 0;
    return terms->visit(terms->visitor, terms->term, count);
}

static bool
add_term(terms_t *terms, const char *at, size_t bytes)
{
    terms->term[terms->count++] = (skn_span_t){ at, bytes };
    return terms->count < TERMS_TOGETHER || flush(terms);
}

/* The groups of words that begin with word `first`, joined by blanks. */
static bool
add_words(terms_t *terms, const skn_words_t *words, size_t first)
{
    size_t bytes;
    const char *from = skn_words_at(words, first, &bytes);
    for (size_t k = first;
         k < words->count && k < first + terms->options->words_max; k++) {
        bytes = (size_t)(words->bytes + words->end[k] - from);
        if (bytes > SKN_TERM_BYTES_MAX)
            break;
        if (!add_term(terms, from, bytes))
            return false;
    }
    return true;
}

static size_t
next_character(const char *text, size_t at, size_t bytes)
{
    at++;
    while (at < bytes && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* The groups of characters of a word, with '<' before and '>' behind it. In
 * front of each is a '*', which no word has. */
static bool
add_letters(terms_t *terms, const char *word, size_t bytes)
{
    const skn_feature_options_t *options = terms->options;
    char marked[SKN_WORD_MAX_BYTES + 2];
    marked[0] = '<';
    memcpy(marked + 1, word, bytes);
    marked[bytes + 1] = '>';
    bytes += 2;
    for (size_t from = 0; from < bytes;
         from = next_character(marked, from, bytes)) {
        size_t to = from;
        for (uint32_t n = 1; n <= options->letters_max && to < bytes; n++) {
            to = next_character(marked, to, bytes);
            if (n < options->letters_min)
                continue;
            char *term = terms->letters[terms->count];
            term[0] = '*';
            memcpy(term + 1, marked + from, to - from);
            if (!add_term(terms, term, 1 + to - from))
                return false;
        }
    }
    return true;
}

/* All terms of a row, in the order of its text. `words` is scratch. */
static bool
visit_terms(const skn_feature_options_t *options, const skn_span_t *text,
            size_t count, skn_words_t *words, visit_t *visit, void *visitor)
{
    terms_t terms;
    terms.options = options;
    terms.visit = visit;
    terms.visitor = visitor;
    terms.count = 0;
    for (size_t t = 0; t < count; t++) {
        skn_words_clear(words);
        if (!skn_words_add(words, text[t].at, text[t].bytes))
            return false;
        for (size_t k = 0; k < words->count; k++) {
            size_t bytes;
            const char *word = skn_words_at(words, k, &bytes);
            if (!add_words(&terms, words, k) ||
                (options->letters_max > 0 && !add_letters(&terms, word, bytes)))
                return false;
        }
        /* The next text takes the place of these words. */
        if (!flush(&terms))
            return false;
    }
    return true;
}

/* --- learning ------------------------------------------------------------- */

struct skn_feature_counts {
    skn_feature_options_t options;
    skn_tally_t *tally;
    uint64_t rows;
    skn_words_t words;
};

skn_feature_counts_t *
skn_feature_counts_new(const skn_feature_options_t *options, size_t room)
{
    assert(skn_feature_options_good(options));
    skn_feature_counts_t *counts = calloc(1, sizeof(*counts));
    if (!counts)
        return NULL;
    counts->options = *options;
    counts->tally = skn_tally_new(room);
    if (!counts->tally)
        skn_feature_counts_destroy(&counts);
    return counts;
}

void
skn_feature_counts_destroy(skn_feature_counts_t **counts)
{
    skn_feature_counts_t *dying = *counts;
    *counts = NULL;
    if (!dying)
        return;
    skn_tally_destroy(&dying->tally);
    skn_words_fini(&dying->words);
    free(dying);
}

static bool
count_terms(void *visitor, const skn_span_t *term, size_t count)
{
    skn_feature_counts_t *counts = visitor;
    return skn_tally_add_all(counts->tally, term, count, counts->rows);
}

skn_status_t
skn_feature_counts_add(skn_feature_counts_t *counts, const skn_span_t *text,
                       size_t count, skn_error_t *error)
{
    counts->rows++;
    return visit_terms(&counts->options, text, count, &counts->words,
                       count_terms, counts)
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY, "no memory to count words");
}

skn_status_t
skn_feature_counts_merge(skn_feature_counts_t *counts,
                         skn_feature_counts_t *part, skn_error_t *error)
{
    counts->rows += part->rows;
    part->rows = 0;
    return skn_tally_merge(counts->tally, part->tally)
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY, "no memory to count words");
}

skn_featurizer_t *
skn_feature_counts_take(const skn_feature_counts_t *counts, skn_error_t *error)
{
    size_t count;
    skn_tally_entry_t *entry =
        skn_tally_take(counts->tally, counts->options.rows_min,
                       counts->options.features_max, &count);
    skn_featurizer_t *featurizer =
        entry ? skn_featurizer_make(&counts->options, counts->rows,
                                    (uint32_t)count)
              : NULL;
    for (size_t k = 0; featurizer && k < count; k++)
        if (!skn_featurizer_add(featurizer, entry[k].at, entry[k].bytes,
                                entry[k].count))
            skn_featurizer_destroy(&featurizer);
    free(entry);
    if (!featurizer)
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for the features");
    return featurizer;
}

/* --- points --------------------------------------------------------------- */

void
skn_feature_row_fini(skn_feature_row_t *row)
{
    skn_words_fini(&row->words);
    free(row->feature);
    free(row->value);
    *row = (skn_feature_row_t){ 0 };
}

typedef struct application {
    const skn_featurizer_t *featurizer;
    skn_feature_row_t *row;
} application_t;

/* Room for `more` features beside those that are there. */
static bool
reserve(skn_feature_row_t *row, size_t more)
{
    size_t room = row->room ? row->room : 256;
    while (room < row->count + more)
        room *= 2;
    if (room == row->room)
        return true;
    /* The second half is for sorting. */
    uint32_t *feature = realloc(row->feature, 2 * room * sizeof(*feature));
    if (!feature)
        return false;
    row->feature = feature;
    float *value = realloc(row->value, room * sizeof(*value));
    if (!value)
        return false;
    row->value = value;
    row->room = room;
    return true;
}

static bool
apply_terms(void *visitor, const skn_span_t *term, size_t count)
{
    const application_t *application = visitor;
    skn_feature_row_t *row = application->row;
    if (!reserve(row, count))
        return false;
    uint32_t *feature = row->feature + row->count;
    skn_strings_find_all(&application->featurizer->terms, term, count, feature);
    size_t kept = 0;
    for (size_t k = 0; k < count; k++) {
        feature[kept] = feature[k];
        kept += feature[k] != SKN_STRINGS_NONE;
    }
    row->count += kept;
    return true;
}

/* Up to this many numbers are sorted by insertion. */
#define FEW_NUMBERS 16u

static void
sort_few(uint32_t *number, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        uint32_t moved = number[k];
        size_t at = k;
        for (; at > 0 && number[at - 1] > moved; at--)
            number[at] = number[at - 1];
        number[at] = moved;
    }
}

/* Sorts by one digit of 8 bits, and keeps the order of those that have the same
 * one. */
static void
sort_by_digit(const uint32_t *from, uint32_t *to, size_t count, unsigned shift)
{
    size_t place[257] = { 0 };
    for (size_t k = 0; k < count; k++)
        place[1 + (from[k] >> shift & 0xff)]++;
    for (size_t digit = 1; digit < 256; digit++)
        place[digit] += place[digit - 1];
    for (size_t k = 0; k < count; k++)
        to[place[from[k] >> shift & 0xff]++] = from[k];
}

/* Sorts numbers of at most `most`; `spare` has room for as many. */
static void
sort_numbers(uint32_t *number, uint32_t *spare, size_t count, uint32_t most)
{
    if (count <= FEW_NUMBERS) {
        sort_few(number, count);
        return;
    }
    for (unsigned shift = 0; shift < 32 && most >> shift != 0; shift += 16) {
        sort_by_digit(number, spare, count, shift);
        sort_by_digit(spare, number, count, shift + 8);
    }
}

static double
weight_of(skn_feature_weight_t weight, size_t n)
{
    switch (weight) {
    case SKN_FEATURE_COUNT:
        return (double)n;
    case SKN_FEATURE_LOG:
        return n == 1 ? 1 : 1 + log((double)n);
    default:
        return 1;
    }
}

/* Turns the features that were met, with repetitions, into features and
 * values. */
static void
merge(const skn_featurizer_t *featurizer, skn_feature_row_t *row)
{
    size_t kept = 0;
    if (row->count > 1)
        sort_numbers(row->feature, row->feature + row->room, row->count,
                     featurizer->terms.count);
    for (size_t k = 0, end; k < row->count; k = end) {
        uint32_t feature = row->feature[k];
        for (end = k + 1; end < row->count && row->feature[end] == feature;)
            end++;
        row->feature[kept] = feature;
        row->value[kept++] =
            (float)(weight_of(featurizer->options.weight, end - k) *
                    featurizer->idf[feature]);
    }
    row->count = kept;
}

skn_status_t
skn_featurizer_apply(const skn_featurizer_t *featurizer, const skn_span_t *text,
                     size_t count, skn_feature_row_t *row, skn_error_t *error)
{
    application_t application = { featurizer, row };
    row->count = 0;
    if (!visit_terms(&featurizer->options, text, count, &row->words,
                     apply_terms, &application))
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the features of a text");
    merge(featurizer, row);
    return SKN_OK;
}
