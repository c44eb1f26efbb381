/* records_fasttext.c - rows of fastText: labels, which begin with __label__,
 * and a text.
 *
 * Words are separated by blanks. Labels stand before the text as a rule; one
 * behind it is a label, too, as in fastText.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/records/records_internal.h"

static bool
is_label(const char *at, size_t bytes)
{
    return bytes >= SKN_FASTTEXT_PREFIX_BYTES &&
           memcmp(at, SKN_FASTTEXT_PREFIX, SKN_FASTTEXT_PREFIX_BYTES) == 0;
}

static bool
looks(const skn_records_t *records, skn_span_t line)
{
    (void)records;
    size_t at = 0;
    while (at < line.bytes && skn_is_fasttext_blank(line.at[at]))
        at++;
    return is_label(line.at + at, line.bytes - at);
}

/* The text is what lies between labels: usually one span, whatever words are
 * in it. */
static const char *
past_blanks(const char *at, const char *end)
{
    while (at < end && skn_is_fasttext_blank(*at))
        at++;
    return at;
}

static bool
add_text(skn_records_t *records, const char *from, const char *to)
{
    return from == to ||
           skn_span_list_add(&records->texts,
                             (skn_span_t){ from, (size_t)(to - from) });
}

static skn_status_t
read_line(skn_records_t *records, skn_span_t line, bool *complete,
          skn_error_t *error)
{
    const char *end = line.at + line.bytes;
    const char *text = past_blanks(line.at, end), *at = text;
    bool good = true;
    *complete = true;
    while (good && at < end) {
        const char *word = at;
        while (at < end && !skn_is_fasttext_blank(*at))
            at++;
        size_t bytes = (size_t)(at - word);
        at = past_blanks(at, end);
        if (!is_label(word, bytes))
            continue;
        const skn_span_t label = { word + SKN_FASTTEXT_PREFIX_BYTES,
                                   bytes - SKN_FASTTEXT_PREFIX_BYTES };
        good = add_text(records, text, word) &&
               skn_records_add_label(records, label);
        text = at;
    }
    return good && add_text(records, text, end)
               ? SKN_OK
               : skn_records_no_memory(records, error);
}

const skn_records_reader_t skn_records_fasttext = { .looks = looks,
                                                    .line = read_line };
