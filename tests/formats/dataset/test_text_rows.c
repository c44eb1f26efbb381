/* test_text_rows.c - tests that rows of texts become points
 * (formats/dataset/text_rows.c, formats/dataset/text_block.c,
 * formats/dataset/preprocessing.c), the same from each format, from the cache
 * and by any number of threads, and that a share of them can be held back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/preprocessing.h"
#include "formats/dataset/vocabulary.h"
#include "tests/support/data_folder.h"
#include "tests/support/sanitized.h"

#define PREPROCESSING(format, bad)                                             \
    "{\"format\":\"" format "\",\"texts\":\"text\",\"labels\":\"labels\","     \
    "\"separator\":\";\",\"bad_rows\":" bad ",\"words\":1,\"rows_min\":1,"     \
    "\"features_max\":1000,\"weight\":\"one\"}"

static folder_t place;

static void
set_up(void)
{
    folder_make(&place);
}

static void
tear_down(void)
{
    folder_remove(place.path);
}

TestSuite(text_rows, .init = set_up, .fini = tear_down);

static const char csv[] = "text,labels\n"
                          "a ball over the net,sport; tennis\n"
                          "the ball,sport\n"
                          "\"a bow, a string\",music\n"
                          ",music;music\n";
static const char json[] =
    "{\"text\": \"a ball over the net\", \"labels\": [\"sport\", \"tennis\"]}\n"
    "{\"text\": \"the ball\", \"labels\": \"sport\"}\n"
    "{\"text\": \"a bow, a string\", \"labels\": [\"music\"]}\n"
    "{\"text\": null, \"labels\": [\"music\", \"music\"]}\n";
static const char fasttext[] =
    "__label__sport __label__tennis a ball over the net\n"
    "__label__sport the ball\n"
    "__label__music a bow, a string\n"
    "__label__music\n";

static skn_dataset_t *
open_rows(const char *path, const skn_dataset_options_t *options)
{
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_dataset_open(path, options, &dataset, &error), SKN_OK,
                 "%s", error.text);
    return dataset;
}

static skn_vocabulary_t *
vocabulary_of(const skn_dataset_t *dataset)
{
    skn_vocabulary_form_t form;
    skn_error_t error = { 0 };
    cr_assert(skn_dataset_vocabulary(dataset, &form));
    skn_vocabulary_t *vocabulary = skn_vocabulary_read("f", &form, &error);
    cr_assert_not_null(vocabulary, "%s", error.text);
    return vocabulary;
}

/* All points as "labels>words|labels>words|". */
static const char *
print(const skn_dataset_t *dataset, const skn_vocabulary_t *vocabulary)
{
    static char got[2048];
    size_t at = 0, bytes;
    uint64_t count = skn_dataset_info(dataset)->point_count;
    for (uint64_t k = 0; k < count; k++) {
        skn_dataset_point_t point = skn_dataset_point(dataset, k);
        for (uint32_t l = 0; l < point.label_count; l++) {
            const char *name =
                skn_strings_at(&vocabulary->names, point.label[l], &bytes);
            at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%.*s",
                                   l ? "," : "", (int)bytes, name);
        }
        for (uint32_t f = 0; f < point.feature_count; f++) {
            const char *term = skn_featurizer_term(vocabulary->featurizer,
                                                   point.feature[f], &bytes);
            at += (size_t)snprintf(got + at, sizeof(got) - at, "%c%.*s",
                                   f ? ' ' : '>', (int)bytes, term);
        }
        at += (size_t)snprintf(got + at, sizeof(got) - at, "|");
    }
    got[at] = '\0';
    return got;
}

static const char all_points[] = "sport,tennis>a ball the net over|"
                                 "sport>ball the|"
                                 "music>a bow string|"
                                 "music|";

Test(text_rows, are_the_same_points_from_each_format_and_from_the_cache)
{
    static const struct {
        const char *text, *preprocessing;
    } files[] = {
        { csv, PREPROCESSING("csv", "0") },
        { json, PREPROCESSING("json", "0") },
        { fasttext, PREPROCESSING("fasttext", "0") },
    };
    for (size_t k = 0; k < 3; k++) {
        const skn_dataset_options_t options = { .preprocessing =
                                                    files[k].preprocessing };
        text_write(place.file, files[k].text);
        for (int turn = 0; turn < 2; turn++) {
            skn_dataset_t *dataset = open_rows(place.file, &options);
            skn_vocabulary_t *vocabulary = vocabulary_of(dataset);
            const skn_dataset_info_t *info = skn_dataset_info(dataset);
            cr_expect_eq(info->built, turn == 0);
            cr_expect_eq(info->label_count, 3u);
            cr_expect_eq(info->feature_count, 7u);
            cr_expect_eq(info->featureless_count, 1u);
            cr_expect_str_eq(print(dataset, vocabulary), all_points);
            skn_vocabulary_destroy(&vocabulary);
            skn_dataset_close(&dataset);
        }
    }
}

/* Opens both files, as a list; the caller's options. */
static skn_status_t
open_both(const skn_dataset_options_t *options, skn_dataset_t **dataset,
          skn_error_t *error)
{
    char source[1200];
    (void)snprintf(source, sizeof(source), "%s\n%s", place.file, place.other);
    return skn_dataset_open(source, options, dataset, error);
}

/* Each file has its own row of names; the cache is that of both. */
Test(text_rows, several_files_are_one_set)
{
    const skn_dataset_options_t options = { .preprocessing =
                                                PREPROCESSING("csv", "0.5") };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    text_write(place.file, "text,labels\na ball,sport\nthe ball,sport");
    text_write(place.other, "labels,more,text\nmusic,1,a bow\nbad\n");
    for (int turn = 0; turn < 3; turn++) {
        cr_assert_eq(open_both(&options, &dataset, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(skn_dataset_info(dataset)->built, turn != 1);
        skn_vocabulary_t *vocabulary = vocabulary_of(dataset);
        cr_expect_str_eq(print(dataset, vocabulary),
                         turn < 2 ? "sport>a ball|sport>ball the|music>a bow|"
                                  : "sport>ball a|sport>ball the|");
        skn_vocabulary_destroy(&vocabulary);
        skn_dataset_close(&dataset);
        if (turn == 1) /* a change of any file is one of the set */
            text_write(place.other, "labels,text\n");
    }
}

Test(text_rows, a_bad_row_of_several_files_is_named_with_its_file)
{
    char source[1200], wanted[1200];
    skn_dataset_options_t options = { .preprocessing =
                                          PREPROCESSING("csv", "0.5") };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    text_write(place.file, csv);
    text_write(place.other, "labels,text\nmusic,a bow\nbad\n");
    cr_assert_eq(open_both(&options, &dataset, &error), SKN_OK);
    (void)snprintf(source, sizeof(source), "%s\n%s", place.file, place.other);
    cr_assert(skn_dataset_note_bad(skn_dataset_info(dataset), source, &error));
    (void)snprintf(
        wanted, sizeof(wanted),
        "%s:3: the row has 1 columns, the first one 2 (first of 1 row "
        "that cannot be read and is left out)",
        place.other);
    cr_expect_str_eq(error.text, wanted);
    skn_dataset_close(&dataset);
    options.preprocessing = PREPROCESSING("csv", "0");
    cr_expect_eq(open_both(&options, &dataset, &error), SKN_BAD_DATA);
    (void)snprintf(wanted, sizeof(wanted),
                   "%s:3: the row has 1 columns, the first one 2", place.other);
    cr_expect_str_eq(error.text, wanted);
    text_write(place.other, "label,text\nmusic,a bow\n");
    cr_expect_eq(open_both(&options, &dataset, &error), SKN_BAD_DATA);
    (void)snprintf(wanted, sizeof(wanted), "%s:1: no column is named 'labels'",
                   place.other);
    cr_expect_str_eq(error.text, wanted);
}

/* Rows are read ahead: the reader is in the second file by then. */
Test(text_rows, a_row_of_too_many_labels_is_named_with_its_file)
{
    char wanted[1200];
    const skn_dataset_options_t options = { .preprocessing =
                                                PREPROCESSING("csv", "0"),
                                            .threads = 2 };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    FILE *file = fopen(place.file, "w");
    cr_assert_not_null(file);
    (void)fputs("text,labels\na ball,", file);
    for (uint32_t k = 0; k <= SKN_LINE_ITEMS_MAX; k++)
        (void)fputs("a;", file);
    (void)fclose(file);
    text_write(place.other, "labels,text\nmusic,a bow\n");
    cr_expect_eq(open_both(&options, &dataset, &error), SKN_BAD_DATA);
    (void)snprintf(wanted, sizeof(wanted),
                   "%s:2: the row has 1048577 labels, at most 1048576 allowed",
                   place.file);
    cr_expect_str_eq(error.text, wanted);
}

/* A quotation mark that is not closed takes the rest of its file, no more. */
Test(text_rows, a_row_ends_with_its_file)
{
    const skn_dataset_options_t options = { .preprocessing =
                                                PREPROCESSING("csv", "0.5") };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    text_write(place.file, "text,labels\na ball,sport\n\"the ball,sport\n");
    text_write(place.other, "labels,text\nmusic,a bow\n");
    cr_assert_eq(open_both(&options, &dataset, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(skn_dataset_info(dataset)->point_count, 2u);
    cr_expect_eq(skn_dataset_info(dataset)->bad.line, 3u);
    skn_dataset_close(&dataset);
}

Test(text_rows, files_of_different_formats_are_refused)
{
    char source[1200], wanted[1200];
    skn_error_t error = { 0 };
    const skn_records_options_t rows = { .format = SKN_RECORDS_CSV };
    text_write(place.file, csv);
    text_write(place.other, json);
    (void)snprintf(source, sizeof(source), "%s\n%s", place.file, place.other);
    cr_expect_eq(skn_records_check_files(source, &rows, &error), SKN_BAD_DATA);
    (void)snprintf(wanted, sizeof(wanted),
                   "%s:1: is json, and the file before it is csv", place.other);
    cr_expect_str_eq(error.text, wanted);
    text_write(place.other, "labels;text\na;b\n");
    cr_expect_eq(skn_records_check_files(source, &rows, &error), SKN_OK, "%s",
                 error.text);
}

/* Which the first line alone does not show: it looks like csv. */
Test(text_rows, files_of_tsv_are_of_one_format)
{
    char source[1200];
    skn_error_t error = { 0 };
    const skn_records_options_t rows = { .format = SKN_RECORDS_TSV };
    text_write(place.file, "text\tlabels\na\tb\n");
    text_write(place.other, "labels\ttext\na\tb\n");
    (void)snprintf(source, sizeof(source), "%s\n%s", place.file, place.other);
    cr_expect_eq(skn_records_check_files(source, &rows, &error), SKN_OK, "%s",
                 error.text);
    text_write(place.other, json);
    cr_expect_eq(skn_records_check_files(source, &rows, &error), SKN_BAD_DATA);
    cr_expect(strstr(error.text, ":1: is json, and the file before it is tsv"));
}

Test(text_rows, another_recipe_makes_another_cache)
{
    skn_dataset_options_t options = { .preprocessing =
                                          PREPROCESSING("csv", "0") };
    text_write(place.file, csv);
    skn_dataset_t *dataset = open_rows(place.file, &options);
    uint64_t hash = skn_dataset_info(dataset)->content_hash;
    skn_dataset_close(&dataset);
    options.preprocessing = PREPROCESSING("csv", "0.5");
    dataset = open_rows(place.file, &options);
    cr_expect(skn_dataset_info(dataset)->built);
    cr_expect_neq(skn_dataset_info(dataset)->content_hash, hash);
    skn_dataset_close(&dataset);
}

/* With the vocabulary of another file: unknown words and labels are left out,
 * and the second are counted. The file may have another format. */
Test(text_rows, of_a_test_are_read_by_the_vocabulary_of_the_training)
{
    skn_dataset_options_t options = { .preprocessing =
                                          PREPROCESSING("csv", "0") };
    text_write(place.file, csv);
    skn_dataset_t *dataset = open_rows(place.file, &options);
    skn_vocabulary_t *vocabulary = vocabulary_of(dataset);
    skn_dataset_close(&dataset);
    text_write(place.other,
               "{\"text\": \"THE bat and ball\", \"labels\": [\"cricket\", "
               "\"sport\"]}\n"
               "{\"text\": \"unknown\", \"labels\": [\"unknown\"]}\n");
    options.vocabulary = vocabulary;
    options.unknown_ignored = true;
    dataset = open_rows(place.other, &options);
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    cr_expect_str_eq(print(dataset, vocabulary), "sport>ball the||");
    cr_expect_eq(info->unknown.labels, 2u);
    cr_expect_eq(info->unknown.points, 2u);
    cr_expect_eq(info->unknown.bare_points, 1u);
    skn_vocabulary_form_t form;
    cr_expect_not(skn_dataset_vocabulary(dataset, &form));
    skn_dataset_close(&dataset);
    skn_vocabulary_destroy(&vocabulary);
}

Test(text_rows, of_questions_have_no_labels_and_bad_ones_are_marked)
{
    skn_dataset_options_t options = { .preprocessing =
                                          PREPROCESSING("csv", "0") };
    text_write(place.file, csv);
    skn_dataset_t *dataset = open_rows(place.file, &options);
    skn_vocabulary_t *vocabulary = vocabulary_of(dataset);
    skn_dataset_close(&dataset);
    options.vocabulary = vocabulary;
    options.questions = true;
    text_write(place.other, "{\"text\": \"ball\", \"labels\": \"sport\"}\n{\n"
                            "{\"text\": \"net\"}\n");
    dataset = open_rows(place.other, &options);
    cr_expect_str_eq(print(dataset, vocabulary), ">ball|sport|>net|");
    cr_expect_eq(skn_dataset_info(dataset)->unread.points, 1u);
    cr_expect_eq(skn_dataset_info(dataset)->unread.line, 2u);
    skn_dataset_close(&dataset);
    text_write(place.other, "1984, a ball\nover, the net\n");
    dataset = open_rows(place.other, &options);
    cr_expect_str_eq(print(dataset, vocabulary), ">a ball|>the net over|");
    skn_dataset_close(&dataset);
    skn_vocabulary_destroy(&vocabulary);
}

static void
expect_refusal(const char *preprocessing, const char *text, const char *why)
{
    const skn_dataset_options_t options = { .preprocessing = preprocessing };
    skn_dataset_t *dataset = NULL;
    skn_error_t error = { 0 };
    text_write(place.file, text);
    cr_expect_neq(skn_dataset_open(place.file, &options, &dataset, &error),
                  SKN_OK);
    cr_expect_null(dataset);
    cr_expect(strstr(error.text, why), "%s", error.text);
    cr_expect_neq(access(place.cache, F_OK), 0);
}

Test(text_rows, that_cannot_be_read_are_left_out_up_to_a_share)
{
    static const char text[] = "text,labels\na,b\nonly one\nc,d\ne,f\n";
    const skn_dataset_options_t options = { .preprocessing =
                                                PREPROCESSING("csv", "0.25") };
    expect_refusal(PREPROCESSING("csv", "0.2"), text,
                   "f.txt:3: the row has 1 columns, the first one 2");
    skn_dataset_t *dataset = open_rows(place.file, &options);
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    skn_error_t note = { 0 };
    cr_expect_eq(info->point_count, 3u);
    cr_expect_eq(info->bad.points, 1u);
    cr_expect_eq(info->bad.line, 3u);
    cr_expect(skn_dataset_note_bad(info, "f.txt", &note));
    cr_expect_str_eq(note.text,
                     "f.txt:3: the row has 1 columns, the first one 2 "
                     "(first of 1 row that cannot be read and is "
                     "left out)");
    skn_dataset_close(&dataset);
}

/* Whichever part is read: 3 rows of this are not, with columns of 8 bytes and
 * more, and the labels. */
Test(text_rows, that_are_not_utf8_are_counted)
{
    static const char text[] = "text,labels\n"
                               "caf\xc3\xa9 is good,a\n"
                               "a caf\xe9 that is not,b\n"
                               "plain,caf\xe9\n"
                               "cut \xc3,d\n";
    for (int part = SKN_DATASET_ALL; part <= SKN_DATASET_KEPT; part++) {
        const skn_dataset_options_t options = { .preprocessing =
                                                    PREPROCESSING("csv", "0"),
                                                .part =
                                                    (skn_dataset_part_t)part,
                                                .held_back = 0.5 };
        skn_error_t note = { 0 };
        text_write(place.file, text);
        skn_dataset_t *dataset = open_rows(place.file, &options);
        cr_assert(skn_dataset_note_odd(skn_dataset_info(dataset), "f", &note));
        cr_expect_str_eq(note.text, "f:3: first of 3 rows that are not UTF-8; "
                                    "words end at such bytes");
        cr_expect_str_eq(note.hint, "convert the file, for example with iconv "
                                    "-f latin1 -t utf8");
        skn_dataset_close(&dataset);
    }
    const skn_dataset_options_t options = { .preprocessing =
                                                PREPROCESSING("csv", "0") };
    skn_error_t note;
    text_write(place.file, csv);
    skn_dataset_t *dataset = open_rows(place.file, &options);
    cr_expect_not(skn_dataset_note_odd(skn_dataset_info(dataset), "f", &note));
    skn_dataset_close(&dataset);
}

Test(text_rows, preprocessing_are_checked)
{
    expect_refusal("{}", csv, "preprocessing");
    expect_refusal("[", csv, "preprocessing");
    expect_refusal(PREPROCESSING("xls", "0"), csv, "preprocessing");
    expect_refusal(PREPROCESSING("csv", "2"), csv, "preprocessing");
    expect_refusal(PREPROCESSING("csv", "0"), "text,labels\n", "has no rows");
    expect_refusal(PREPROCESSING("csv", "0"), "text,tags\nx,y\n",
                   "no column is named 'labels'");
}

/* Every row is in one of the two parts, equal rows in the same, and about the
 * share is held back. */
Test(text_rows, a_share_is_held_back)
{
    FILE *file = fopen(place.file, "w");
    cr_assert_not_null(file);
    (void)fputs("text,labels\n", file);
    for (int k = 0; k < 900; k++)
        (void)fprintf(file, "row%d ,l%d\n row%d,l%d\n", k, k % 3, k, k % 3);
    (void)fclose(file);
    skn_dataset_options_t options = { .preprocessing =
                                          PREPROCESSING("csv", "0"),
                                      .part = SKN_DATASET_KEPT,
                                      .held_back = 0.2 };
    skn_dataset_t *kept = open_rows(place.file, &options);
    skn_vocabulary_t *vocabulary = vocabulary_of(kept);
    options.part = SKN_DATASET_HELD_BACK;
    options.vocabulary = vocabulary;
    skn_dataset_t *held = open_rows(place.file, &options);
    uint64_t count = skn_dataset_info(held)->point_count;
    cr_expect_eq(count + skn_dataset_info(kept)->point_count, 1800u);
    cr_expect(count > 290 && count < 430, "%d", (int)count);
    /* Words of rows that are held back are in none of the others. */
    cr_expect_eq(skn_dataset_info(held)->featureless_count, count);
    cr_expect_eq(skn_featurizer_count(vocabulary->featurizer),
                 skn_dataset_info(kept)->point_count / 2);
    skn_dataset_close(&kept);
    skn_dataset_close(&held);
    skn_vocabulary_destroy(&vocabulary);
}

#define COLUMNS(more)                                                          \
    "{\"format\":\"auto\",\"texts\":\"text\",\"labels\":\"labels\"," more      \
    "\"words\":1,\"rows_min\":1,\"features_max\":1000,\"weight\":\"one\"}"
#define BOTH_COLUMNS COLUMNS("\"categories\":\"kind\",\"numbers\":\"price\",")

/* The labels of the rows of `text` that are held back, with blanks between. */
static const char *
held_back(const char *text, const char *preprocessing)
{
    static char got[3][4096];
    static unsigned turn;
    char *to = got[turn++ % 3];
    size_t at = 0, bytes;
    const skn_dataset_options_t options = { .preprocessing = preprocessing,
                                            .part = SKN_DATASET_HELD_BACK,
                                            .held_back = 0.5 };
    text_write(place.file, text);
    skn_dataset_t *dataset = open_rows(place.file, &options);
    skn_vocabulary_t *vocabulary = vocabulary_of(dataset);
    for (uint64_t k = 0; k < skn_dataset_info(dataset)->point_count; k++) {
        const uint32_t label = skn_dataset_point(dataset, k).label[0];
        const char *name = skn_strings_at(&vocabulary->names, label, &bytes);
        at += (size_t)snprintf(to + at, sizeof(got[0]) - at, "%.*s ",
                               (int)bytes, name);
    }
    skn_vocabulary_destroy(&vocabulary);
    skn_dataset_close(&dataset);
    return to;
}

/* The text of a row alone decides; other columns do where there is none. */
Test(text_rows, columns_do_not_change_what_is_held_back)
{
    static char rows[3][16384];
    size_t at[3] = { 0 };
    for (int k = 0; k < 200; k++) {
        const bool has_text = k % 2 == 0;
        char word[16] = "";
        if (has_text)
            (void)snprintf(word, sizeof(word), "word%d", k / 4);
        if (k == 0)
            at[0] += (size_t)snprintf(rows[0], sizeof(rows[0]),
                                      "text,labels,kind,price\n");
        at[0] += (size_t)snprintf(rows[0] + at[0], sizeof(rows[0]) - at[0],
                                  "%s ,l%d,k%d,%d.0\n", word, k, k, k);
        at[1] += (size_t)snprintf(rows[1] + at[1], sizeof(rows[1]) - at[1],
                                  "{\"text\": \"%s\", \"labels\": \"l%d\", "
                                  "\"kind\": \"k%d\", \"price\": %d}\n",
                                  word, k, k, k);
        if (has_text)
            at[2] += (size_t)snprintf(rows[2] + at[2], sizeof(rows[2]) - at[2],
                                      "__label__l%d %s\n", k, word);
    }
    const char *columns = held_back(rows[0], BOTH_COLUMNS);
    cr_expect_str_eq(held_back(rows[1], BOTH_COLUMNS), columns);
    const char *fewer = held_back(rows[2], COLUMNS(""));
    size_t odd = 0, even = 0;
    for (int k = 0; k < 200; k++) {
        char name[8], twin[8];
        (void)snprintf(name, sizeof(name), "l%d ", k);
        (void)snprintf(twin, sizeof(twin), "l%d ", k ^ 2);
        const bool is_held = strstr(columns, name) != NULL;
        *(k % 2 ? &odd : &even) += is_held;
        if (k % 2 == 0)
            cr_expect_eq(is_held, strstr(fewer, name) != NULL, "%s", name);
        if (k % 2 == 0)
            cr_expect_eq(is_held, strstr(columns, twin) != NULL, "%s", name);
    }
    cr_expect(odd > 30 && odd < 70 && even > 30 && even < 70);
}

Test(text_rows, a_share_of_numbered_points_is_held_back)
{
    FILE *file = fopen(place.file, "w");
    cr_assert_not_null(file);
    for (int k = 0; k < 2000; k++)
        (void)fprintf(file, "%d %d:1\n%d %d:1\n", k % 3, k, k % 5, k);
    (void)fclose(file);
    skn_dataset_options_t options = { .part = SKN_DATASET_KEPT,
                                      .held_back = 0.2 };
    skn_dataset_t *kept = open_rows(place.file, &options);
    options.part = SKN_DATASET_HELD_BACK;
    skn_dataset_t *held = open_rows(place.file, &options);
    uint64_t count = skn_dataset_info(held)->point_count;
    cr_expect_eq(count + skn_dataset_info(kept)->point_count, 4000u);
    cr_expect(count > 700 && count < 900, "%d", (int)count);
    for (uint64_t k = 0; k + 1 < count; k += 2)
        cr_expect_eq(skn_dataset_point(held, k).feature[0],
                     skn_dataset_point(held, k + 1).feature[0]);
    skn_dataset_close(&kept);
    skn_dataset_close(&held);
}

/* Rows of several blocks, with more words than are counted at once (4,096), so
 * that rare ones are forgotten; some rows cannot be read. */
static void
write_many_rows(void)
{
    uint32_t state = 1;
    FILE *file = fopen(place.file, "w");
    cr_assert_not_null(file);
    (void)fputs("text,labels\n", file);
    for (int row = 0; row < 50000; row++) {
        for (int word = 0; word < 12; word++) {
            state = state * 1664525u + 1013904223u;
            uint32_t rank = (state >> 20) * (state >> 8 & 0xfff) / 512;
            (void)fprintf(file, "word%u ", rank);
        }
        (void)fprintf(file, row % 1000 == 999 ? "\n" : ",l%d\n", row / 100);
    }
    (void)fclose(file);
}

static char *
whole_cache(size_t *bytes)
{
    struct stat status;
    FILE *file = fopen(place.cache, "rb");
    cr_assert(file && fstat(fileno(file), &status) == 0);
    char *all = malloc((size_t)status.st_size);
    cr_assert_not_null(all);
    *bytes = fread(all, 1, (size_t)status.st_size, file);
    cr_assert_eq(*bytes, (size_t)status.st_size);
    (void)fclose(file);
    return all;
}

Test(text_rows, are_the_same_bytes_by_any_number_of_threads)
{
    static const uint32_t threads[] = { 1, 1000, 2, 5, 64 };
    const size_t count = UNDER_SANITIZER ? 2 : 5; /* its reads are the same */
    char *first = NULL;
    size_t first_bytes = 0, bytes;
    write_many_rows();
    for (size_t k = 0; k < count; k++) {
        const skn_dataset_options_t options = {
            .preprocessing = PREPROCESSING("csv", "0.01"),
            .threads = threads[k],
        };
        skn_dataset_t *dataset = open_rows(place.file, &options);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        cr_expect(info->built);
        cr_expect_eq(info->point_count, 49950u);
        cr_expect_eq(info->bad.points, 50u);
        cr_expect_eq(info->label_count, 500u);
        /* After rare words were forgotten, fewer are left than may be. */
        cr_expect(info->feature_count > 100 && info->feature_count < 1000);
        skn_dataset_close(&dataset);
        char *all = whole_cache(&bytes);
        if (!first) {
            first = all;
            first_bytes = bytes;
            all = NULL;
        } else {
            cr_assert_eq(bytes, first_bytes);
            cr_expect_eq(memcmp(all, first, bytes), 0, "%u threads",
                         threads[k]);
        }
        free(all);
        cr_assert_eq(unlink(place.cache), 0);
    }
    free(first);
}
