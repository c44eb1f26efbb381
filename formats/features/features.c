/* features.c - learns which terms of texts are features, and makes points of
 * texts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/features/features.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/features/features_internal.h"
#include "formats/text/grow.h"
#include "formats/text/tally.h"
#include "formats/text/text.h"
#include "skein/limits.h"

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

/* Columns behind the texts; 0: there are none, or not those of the options. */
static size_t
columns_of(const skn_feature_options_t *options,
           const skn_feature_fields_t *fields)
{
    size_t columns = options->category_count + options->number_count;
    return fields->has_columns && columns <= fields->count ? columns : 0;
}

/* The text of column k behind the texts, without blanks at its ends. */
static skn_span_t
column_of(const skn_feature_options_t *options,
          const skn_feature_fields_t *fields, size_t k)
{
    size_t columns = columns_of(options, fields);
    return skn_span_trimmed(fields->text[fields->count - columns + k]);
}

/* The value of column k of categories. In front of it is what no word has. */
static bool
add_category(terms_t *terms, skn_span_t value, size_t k)
{
    char term[SKN_TERM_BYTES_MAX];
    char hash[32];
    int head = snprintf(term, sizeof(term), "=%zu=", k);
    size_t bytes = (size_t)head + value.bytes;
    if (value.bytes == 0)
        return true;
    if (bytes > sizeof(term)) { /* it is known by its hash */
        (void)snprintf(hash, sizeof(hash), "...%016" PRIx64,
                       (uint64_t)XXH3_64bits(value.at, value.bytes));
        value = (skn_span_t){ hash, strlen(hash) };
        bytes = (size_t)head + value.bytes;
    }
    memcpy(term + head, value.at, value.bytes);
    /* The file form has a line for each term. */
    for (size_t at = (size_t)head; at < bytes; at++)
        if (term[at] == '\n')
            term[at] = ' ';
    return add_term(terms, term, bytes) && (terms->count == 0 || flush(terms));
}

/* All terms of a row, in the order of its text. `words` is scratch. */
static bool
visit_terms(const skn_feature_options_t *options,
            const skn_feature_fields_t *fields, skn_words_t *words,
            visit_t *visit, void *visitor)
{
    const size_t columns = columns_of(options, fields);
    const size_t count = fields->count - columns;
    const skn_span_t *text = fields->text;
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
    for (size_t k = 0; columns > 0 && k < options->category_count; k++)
        if (!add_category(&terms, column_of(options, fields, k), k))
            return false;
    return true;
}

/* The number of column k; NaN: there is none. */
static double
number_of(const skn_feature_options_t *options,
          const skn_feature_fields_t *fields, size_t k)
{
    double number;
    if (columns_of(options, fields) == 0)
        return NAN;
    const skn_span_t text =
        column_of(options, fields, options->category_count + k);
    return skn_text_number(text.at, text.bytes, &number) ? number : NAN;
}

/* --- learning ------------------------------------------------------------- */

struct skn_feature_counts {
    skn_feature_options_t options;
    skn_tally_t *tally;
    uint64_t rows;
    skn_words_t words;
    /* Numbers of rows that are not in the samples yet, row by row. */
    double *number;
    size_t number_count, number_room;
    skn_number_sample_t *sample; /* [options.number_count] */
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
    counts->sample =
        calloc(options->number_count + 1u, sizeof(*counts->sample));
    if (!counts->tally || !counts->sample)
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
    for (uint32_t k = 0; dying->sample && k < dying->options.number_count; k++)
        skn_number_sample_fini(&dying->sample[k]);
    free(dying->sample);
    free(dying->number);
    free(dying);
}

static bool
count_terms(void *visitor, const skn_span_t *term, size_t count)
{
    skn_feature_counts_t *counts = visitor;
    return skn_tally_add_all(counts->tally, term, count, counts->rows);
}

/* False: no memory. */
static bool
keep_numbers(skn_feature_counts_t *counts, const skn_feature_fields_t *fields)
{
    void *number = counts->number;
    bool good = skn_grow(&number, &counts->number_room,
                         counts->number_count + counts->options.number_count,
                         sizeof(*counts->number));
    counts->number = number;
    for (uint32_t k = 0; good && k < counts->options.number_count; k++)
        counts->number[counts->number_count++] =
            number_of(&counts->options, fields, k);
    return good;
}

/* Moves the numbers that `part` keeps into the samples. False: no memory. */
static bool
sample_numbers(skn_feature_counts_t *counts, skn_feature_counts_t *part)
{
    bool good = true;
    for (size_t k = 0; good && k < part->number_count; k++)
        good = skn_number_sample_add(
            &counts->sample[k % counts->options.number_count], part->number[k]);
    part->number_count = 0;
    return good;
}

skn_status_t
skn_feature_counts_add(skn_feature_counts_t *counts,
                       const skn_feature_fields_t *fields, skn_error_t *error)
{
    counts->rows++;
    return keep_numbers(counts, fields) &&
                   visit_terms(&counts->options, fields, &counts->words,
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
    return sample_numbers(counts, counts) && sample_numbers(counts, part) &&
                   skn_tally_merge(counts->tally, part->tally)
               ? SKN_OK
               : skn_fail(error, SKN_NO_MEMORY, "no memory to count words");
}

/* Knots count towards SKN_UNIT_MAX, so room is kept for them. */
static uint32_t
terms_max(const skn_feature_options_t *options)
{
    const uint32_t most = SKN_UNIT_MAX - SKN_ALL_KNOTS_MAX;
    return options->features_max < most ? options->features_max : most;
}

skn_featurizer_t *
skn_feature_counts_take(skn_feature_counts_t *counts, skn_error_t *error)
{
    size_t count;
    skn_tally_entry_t *entry =
        sample_numbers(counts, counts)
            ? skn_tally_take(counts->tally, counts->options.rows_min,
                             terms_max(&counts->options), &count)
            : NULL;
    skn_featurizer_t *featurizer =
        entry ? skn_featurizer_make(&counts->options, counts->rows,
                                    (uint32_t)count)
              : NULL;
    for (uint32_t k = 0; featurizer && k < counts->options.number_count; k++) {
        skn_knots_t knots;
        skn_number_sample_knots(&counts->sample[k], &knots);
        skn_featurizer_set_knots(featurizer, k, &knots);
    }
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

static void
add_knot(skn_feature_row_t *row, uint32_t feature, float share)
{
    row->feature[row->count] = feature;
    row->value[row->count] = share;
    row->count += share > 0;
}

/* Adds the knots of the row's numbers, whose features follow all terms. */
static bool
apply_numbers(const skn_featurizer_t *featurizer,
              const skn_feature_fields_t *fields, skn_feature_row_t *row)
{
    const double rows = (double)featurizer->rows;
    uint32_t base = featurizer->terms.count, first;
    float share;
    if (!reserve(row, 2 * featurizer->options.number_count))
        return false;
    for (uint32_t k = 0; k < featurizer->options.number_count; k++) {
        const skn_knots_t *knots = &featurizer->knots[k];
        double number = number_of(&featurizer->options, fields, k);
        if (!isnan(number) && knots->count > 0) {
            skn_knots_find(knots, number, &first, &share);
            const float whole =
                (float)skn_featurizer_idf(featurizer, rows / knots->count);
            add_knot(row, base + first, whole * share);
            add_knot(row, base + first + 1, whole * (1 - share));
        }
        base += knots->count;
    }
    return true;
}

skn_status_t
skn_featurizer_apply(const skn_featurizer_t *featurizer,
                     const skn_feature_fields_t *fields, skn_feature_row_t *row,
                     skn_error_t *error)
{
    application_t application = { featurizer, row };
    row->count = 0;
    bool good = visit_terms(&featurizer->options, fields, &row->words,
                            apply_terms, &application);
    if (good)
        merge(featurizer, row);
    if (!good || !apply_numbers(featurizer, fields, row))
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the features of a text");
    return SKN_OK;
}
