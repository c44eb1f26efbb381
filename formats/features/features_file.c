/* features_file.c - keeps the features of a featurizer, and writes and reads
 * them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/features/features_internal.h"
#include "formats/text/text.h"
#include "skein/limits.h"

#define FORMAT "skein-features"
#define FORM_VERSION 2u
#define HEAD_BYTES 192u
#define FORM_HASH_DIGITS 16u
/* Room for a number as %.17g writes it. */
#define REAL_BYTES 32u

bool
skn_feature_options_good(const skn_feature_options_t *options)
{
    return options->words_max >= 1 &&
           options->words_max <= SKN_FEATURE_WORDS_MAX &&
           options->letters_max <= SKN_FEATURE_LETTERS_MAX &&
           options->letters_min <= options->letters_max &&
           (options->letters_max == 0 || options->letters_min >= 2) &&
           options->rows_min >= 1 && options->features_max >= 1 &&
           options->features_max <= SKN_UNIT_MAX &&
           (unsigned)options->weight < SKN_FEATURE_WEIGHT_COUNT &&
           options->category_count <= SKN_FEATURE_COLUMNS_MAX &&
           options->number_count <= SKN_FEATURE_COLUMNS_MAX;
}

skn_featurizer_t *
skn_featurizer_make(const skn_feature_options_t *options, uint64_t rows,
                    uint32_t count)
{
    skn_featurizer_t *made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;
    made->options = *options;
    made->rows = rows;
    made->room = count;
    made->rows_of = calloc(count + 1u, sizeof(*made->rows_of));
    made->idf = calloc(count + 1u, sizeof(*made->idf));
    made->knots = calloc(options->number_count + 1u, sizeof(*made->knots));
    if (!made->rows_of || !made->idf || !made->knots)
        skn_featurizer_destroy(&made);
    return made;
}

void
skn_featurizer_set_knots(skn_featurizer_t *featurizer, uint32_t k,
                         const skn_knots_t *knots)
{
    featurizer->knots[k] = *knots;
    featurizer->knot_count += knots->count;
}

void
skn_featurizer_destroy(skn_featurizer_t **featurizer)
{
    skn_featurizer_t *dying = *featurizer;
    *featurizer = NULL;
    if (!dying)
        return;
    free(dying->rows_of);
    free(dying->idf);
    free(dying->knots);
    skn_strings_fini(&dying->terms);
    free(dying);
}

uint32_t
skn_featurizer_count(const skn_featurizer_t *featurizer)
{
    return featurizer->terms.count + featurizer->knot_count;
}

const skn_feature_options_t *
skn_featurizer_options(const skn_featurizer_t *featurizer)
{
    return &featurizer->options;
}

double
skn_featurizer_idf(const skn_featurizer_t *featurizer, double rows)
{
    return featurizer->options.idf
               ? log((1 + (double)featurizer->rows) / (1 + rows)) + 1
               : 1;
}

double
skn_featurizer_mass(const skn_featurizer_t *featurizer, uint32_t feature)
{
    uint32_t knot = feature - featurizer->terms.count;
    if (feature >= featurizer->terms.count) {
        uint32_t column = 0;
        while (knot >= featurizer->knots[column].count)
            knot -= featurizer->knots[column++].count;
        const double rows =
            (double)featurizer->rows / (double)featurizer->knots[column].count;
        const double knot_idf = skn_featurizer_idf(featurizer, rows);
        return rows * knot_idf * knot_idf;
    }
    double idf = featurizer->idf[feature];
    return (double)featurizer->rows_of[feature] * idf * idf;
}

const char *
skn_featurizer_term(const skn_featurizer_t *featurizer, uint32_t feature,
                    size_t *bytes)
{
    *bytes = 0;
    return feature < featurizer->terms.count
               ? skn_strings_at(&featurizer->terms, feature, bytes)
               : "";
}

bool
skn_featurizer_add(skn_featurizer_t *featurizer, const char *term, size_t bytes,
                   uint64_t rows)
{
    uint32_t feature = skn_strings_add(&featurizer->terms, term, bytes);
    if (feature == SKN_STRINGS_NONE)
        return false;
    featurizer->rows_of[feature] = rows;
    featurizer->idf[feature] = skn_featurizer_idf(featurizer, (double)rows);
    return true;
}

/* --- the file form -------------------------------------------------------- */

static void
write_head(const skn_featurizer_t *featurizer, const char *lines, size_t bytes,
           char head[HEAD_BYTES])
{
    const skn_feature_options_t *options = &featurizer->options;
    (void)snprintf(
        head, HEAD_BYTES,
        FORMAT " %u %u %u-%u %s %s %u %u %" PRIu64 " %u %016" PRIx64 "\n",
        FORM_VERSION, options->words_max, options->letters_min,
        options->letters_max, skn_feature_weight_names[options->weight],
        options->idf ? "idf" : "plain", options->category_count,
        options->number_count, featurizer->rows, featurizer->terms.count,
        (uint64_t)XXH3_64bits(lines, bytes));
}

char *
skn_featurizer_write(const skn_featurizer_t *featurizer, size_t *bytes)
{
    char *lines = NULL, head[HEAD_BYTES];
    size_t line_bytes = 0;
    FILE *file = open_memstream(&lines, &line_bytes);
    if (!file)
        return NULL;
    for (uint32_t k = 0; k < featurizer->options.number_count; k++) {
        const skn_knots_t *knots = &featurizer->knots[k];
        for (uint32_t n = 0; n < knots->count; n++)
            (void)skn_text_print(file, n ? " %.17g" : "%.17g", knots->at[n]);
        (void)fputc('\n', file);
    }
    for (uint32_t k = 0; k < featurizer->terms.count; k++) {
        size_t term_bytes;
        const char *term = skn_featurizer_term(featurizer, k, &term_bytes);
        (void)fprintf(file, "%" PRIu64 " ", featurizer->rows_of[k]);
        (void)fwrite(term, 1, term_bytes, file);
        (void)fputc('\n', file);
    }
    bool good = !ferror(file);
    good = fclose(file) == 0 && good;
    if (good)
        write_head(featurizer, lines, line_bytes, head);
    char *form = good ? malloc(strlen(head) + line_bytes + 1) : NULL;
    if (form) {
        *bytes = strlen(head) + line_bytes;
        memcpy(form, head, strlen(head));
        memcpy(form + strlen(head), lines, line_bytes);
        form[*bytes] = '\0';
    }
    free(lines);
    return form;
}

static const char no_memory[] = "no memory for the feature";

static skn_featurizer_t *
refuse(const char *name, size_t line, const char *what, skn_error_t *error)
{
    (void)skn_fail(error, what == no_memory ? SKN_NO_MEMORY : SKN_BAD_DATA,
                   "%s:%zu: %s", name, line, what);
    return NULL;
}

/* Reads a whole number at *at, without zeros in front, which `behind` follows.
 * Moves *at behind it. */
static bool
take_number(const char **at, const char *end, char behind, uint64_t *number)
{
    const char *digit = *at;
    *number = 0;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
        if (*number > UINT64_MAX / 10 - 1)
            return false;
        *number = 10 * *number + (uint64_t)(*digit - '0');
    }
    bool has_zeros = digit - *at > 1 && **at == '0';
    if (digit == *at || digit == end || *digit != behind || has_zeros)
        return false;
    *at = digit + 1;
    return true;
}

static bool
take_word(const char **at, const char *end, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(end - *at) <= bytes || memcmp(*at, word, bytes) != 0 ||
        (*at)[bytes] != ' ')
        return false;
    *at += bytes + 1;
    return true;
}

typedef struct head {
    skn_feature_options_t options;
    uint64_t version, rows, count;
    const char *hash; /* of FORM_HASH_DIGITS */
} head_t;

static bool
take_options(const char **at, const char *end, skn_feature_options_t *options)
{
    uint64_t words, least, most;
    if (!take_number(at, end, ' ', &words) ||
        !take_number(at, end, '-', &least) || !take_number(at, end, ' ', &most))
        return false;
    *options = (skn_feature_options_t){
        .words_max = words > 100 ? 100 : (uint32_t)words,
        .letters_min = least > 100 ? 100 : (uint32_t)least,
        .letters_max = most > 100 ? 100 : (uint32_t)most,
        .rows_min = 1,
        .features_max = SKN_UNIT_MAX,
        .weight = SKN_FEATURE_WEIGHT_COUNT
    };
    for (int k = 0; k < SKN_FEATURE_WEIGHT_COUNT; k++)
        if (take_word(at, end, skn_feature_weight_names[k])) {
            options->weight = (skn_feature_weight_t)k;
            break;
        }
    uint64_t categories, numbers;
    options->idf = take_word(at, end, "idf");
    if ((!options->idf && !take_word(at, end, "plain")) ||
        !take_number(at, end, ' ', &categories) ||
        !take_number(at, end, ' ', &numbers))
        return false;
    options->category_count = categories > 1000 ? 1000 : (uint32_t)categories;
    options->number_count = numbers > 1000 ? 1000 : (uint32_t)numbers;
    return skn_feature_options_good(options);
}

/* Reads the head; *at is behind it then. */
static bool
take_head(const char **at, const char *end, head_t *head)
{
    if (!take_word(at, end, FORMAT) ||
        !take_number(at, end, ' ', &head->version))
        return false;
    if (head->version != FORM_VERSION)
        return true;
    if (!take_options(at, end, &head->options) ||
        !take_number(at, end, ' ', &head->rows) ||
        !take_number(at, end, ' ', &head->count) ||
        head->count > SKN_UNIT_MAX - SKN_ALL_KNOTS_MAX ||
        (size_t)(end - *at) <= FORM_HASH_DIGITS ||
        (*at)[FORM_HASH_DIGITS] != '\n')
        return false;
    head->hash = *at;
    *at += FORM_HASH_DIGITS + 1;
    return true;
}

/* Reads a number as %.17g writes it, and no other way. */
static bool
take_real(const char *at, size_t bytes, double *number)
{
    char again[REAL_BYTES];
    return skn_text_number(at, bytes, number) &&
           (size_t)skn_text_write(again, sizeof(again), "%.17g", *number) ==
               bytes &&
           memcmp(again, at, bytes) == 0;
}

/* Reads the line of a column of numbers. */
static bool
take_knots(const char **at, const char *end, skn_knots_t *knots)
{
    const char *line_end = memchr(*at, '\n', (size_t)(end - *at));
    const char *blank = line_end && *at < line_end ? *at : NULL;
    knots->count = 0;
    while (blank && knots->count < SKN_COLUMN_KNOTS_MAX) {
        blank = memchr(*at, ' ', (size_t)(line_end - *at));
        const char *behind = blank ? blank : line_end;
        if (!take_real(*at, (size_t)(behind - *at), &knots->at[knots->count++]))
            return false;
        *at = behind + (blank != NULL);
    }
    if (!line_end || blank || *at != line_end || !skn_knots_good(knots))
        return false;
    *at = line_end + 1;
    return true;
}

/* The lines of all columns of numbers; false: one is wrong. */
static bool
take_all_knots(skn_featurizer_t *featurizer, const char **at, const char *end,
               size_t *line)
{
    for (uint32_t k = 0; k < featurizer->options.number_count; k++) {
        skn_knots_t knots;
        ++*line;
        if (!take_knots(at, end, &knots))
            return false;
        skn_featurizer_set_knots(featurizer, k, &knots);
    }
    return true;
}

/* A term is not empty, in one line, and no feature yet. */
static const char *
take_term(skn_featurizer_t *featurizer, const char **at, const char *end)
{
    uint64_t rows;
    if (!take_number(at, end, ' ', &rows))
        return "expected the number of rows of a feature";
    const char *line_end = memchr(*at, '\n', (size_t)(end - *at));
    if (!line_end || line_end == *at)
        return "expected a feature";
    size_t bytes = (size_t)(line_end - *at);
    if (bytes > SKN_TERM_BYTES_MAX)
        return "the feature is too long";
    if (skn_strings_find(&featurizer->terms, *at, bytes) != SKN_STRINGS_NONE)
        return "the feature stands twice";
    if (!skn_featurizer_add(featurizer, *at, bytes, rows))
        return no_memory;
    *at = line_end + 1;
    return NULL;
}

skn_featurizer_t *
skn_featurizer_read(const char *name, const char *text, size_t bytes,
                    skn_error_t *error)
{
    const char *at = text, *end = text + bytes;
    char hash[FORM_HASH_DIGITS + 1];
    head_t head = { 0 };
    if (!take_head(&at, end, &head))
        return refuse(name, 1, "is not a file of features", error);
    if (head.version != FORM_VERSION)
        return refuse(name, 1, "was written by another version of Skein",
                      error);
    (void)snprintf(hash, sizeof(hash), "%016" PRIx64,
                   (uint64_t)XXH3_64bits(at, (size_t)(end - at)));
    /* A line has at least 4 bytes: a number of features that cannot be there
     * takes no memory. */
    if (memcmp(hash, head.hash, FORM_HASH_DIGITS) != 0 ||
        head.count > (size_t)(end - at) / 4)
        return refuse(name, 1, "is damaged: its hash does not fit", error);
    skn_featurizer_t *featurizer =
        skn_featurizer_make(&head.options, head.rows, (uint32_t)head.count);
    if (!featurizer) {
        (void)skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its features",
                       name);
        return NULL;
    }
    size_t line = 1;
    const char *wrong =
        take_all_knots(featurizer, &at, end, &line)
            ? NULL
            : "expected the knots of a column, in ascending order";
    while (!wrong && featurizer->terms.count < head.count && ++line)
        wrong = take_term(featurizer, &at, end);
    if (!wrong && at != end)
        wrong = "there are more features than its first line says";
    if (wrong)
        skn_featurizer_destroy(&featurizer);
    return wrong ? refuse(name, line, wrong, error) : featurizer;
}
