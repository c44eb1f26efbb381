/* fuzz_vocabulary.c - feeds any bytes to the readers of a vocabulary and of a
 * featurizer, as a file and behind good first lines.
 *
 * A featurizer that is accepted must be written as it was read, and make points
 * of any text whose features it has.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "formats/dataset/vocabulary.h"

#define HEAD_BYTES 160u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
require(bool promise)
{
    if (!promise)
        __builtin_trap();
}

static void
use(const skn_vocabulary_t *vocabulary, const skn_vocabulary_form_t *form,
    skn_span_t text)
{
    skn_feature_row_t row = { 0 };
    size_t bytes, name_bytes;
    uint64_t names_bytes;
    char *again = skn_featurizer_write(vocabulary->featurizer, &bytes);
    require(!again || (bytes == form->features_bytes &&
                       memcmp(again, form->features, bytes) == 0));
    free(again);
    again = skn_names_write(&vocabulary->names, &names_bytes);
    require(!again || (names_bytes == form->names_bytes &&
                       memcmp(again, form->names, names_bytes) == 0));
    free(again);
    for (uint32_t k = 0; k < vocabulary->names.count; k++)
        (void)skn_strings_at(&vocabulary->names, k, &name_bytes);
    /* A text, a category and a number, if there are columns of both. */
    const skn_span_t spans[] = { text, { "red", 3 }, { "2.5", 3 } };
    const skn_feature_options_t *options =
        skn_featurizer_options(vocabulary->featurizer);
    const bool has_columns =
        options->category_count == 1 && options->number_count == 1;
    const skn_feature_fields_t fields = { spans, has_columns ? 3 : 1,
                                          has_columns };
    require(skn_featurizer_apply(vocabulary->featurizer, &fields, &row, NULL) ==
            SKN_OK);
    for (size_t k = 0; k < row.count; k++)
        require(row.feature[k] < skn_featurizer_count(vocabulary->featurizer));
    skn_feature_row_fini(&row);
}

static void
read_forms(const skn_vocabulary_form_t *form, skn_span_t text)
{
    skn_vocabulary_t *vocabulary = skn_vocabulary_read("fuzz", form, NULL);
    if (vocabulary)
        use(vocabulary, form, text);
    skn_vocabulary_destroy(&vocabulary);
}

/* The bytes as lines of features, behind a first line that fits them. */
static void
read_features(const char *bytes, size_t count, skn_span_t names)
{
    char *file = malloc(count + HEAD_BYTES);
    uint32_t lines = 0;
    if (!file)
        return;
    for (size_t k = 0; k < count; k++)
        lines += bytes[k] == '\n';
    /* The first line begins with a number either way. */
    const unsigned has_columns = lines > 0 && count % 2;
    int head =
        snprintf(file, HEAD_BYTES,
                 "skein-features 2 2 2-4 log idf %u %u 9 %u %016" PRIx64 "\n",
                 has_columns, has_columns, lines - has_columns,
                 (uint64_t)XXH3_64bits(bytes, count));
    memcpy(file + head, bytes, count);
    const skn_vocabulary_form_t form = { .features = file,
                                         .features_bytes = (size_t)head + count,
                                         .names = names.at,
                                         .names_bytes = names.bytes };
    read_forms(&form, (skn_span_t){ bytes, count });
    free(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *given, size_t count)
{
    const char *bytes = (const char *)given;
    skn_vocabulary_form_t form = { 0 };
    if (skn_vocabulary_find("fuzz", bytes, count, &form, NULL) == SKN_OK)
        read_forms(&form, (skn_span_t){ bytes, count });
    const char *gap = memmem(bytes, count, "\n\n", 2);
    size_t features = gap ? (size_t)(gap - bytes) + 1 : count;
    read_features(bytes, features,
                  (skn_span_t){ bytes + features, count - features });
    return 0;
}
