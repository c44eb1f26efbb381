/* test_text_rows.c - tests that rows of texts become points
 * (formats/dataset/text_rows.c, formats/dataset/text_block.c,
 * formats/dataset/preprocessing.c), the same from each format, from the cache
 * and by any number of threads, and that a share of them can be held back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/preprocessing.h"
#include "formats/dataset/vocabulary.h"
#include "tests/support/data_folder.h"

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
    static const uint32_t threads[] = { 1, 2, 5, 64, 1000 };
    char *first = NULL;
    size_t first_bytes = 0, bytes;
    write_many_rows();
    for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
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
