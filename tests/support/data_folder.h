/* data_folder.h - makes folders, files and a sample set for the tests of
 * datasets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_DATA_FOLDER_H
#define TESTS_SUPPORT_DATA_FOLDER_H

#include <criterion/criterion.h>

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "formats/dataset/dataset.h"
#include "formats/dataset/xmc.h"

/* A folder for one test; every Criterion test is a process of its own, so the
 * environment may be changed. */
typedef struct folder {
    char path[256], file[300], cache[320], other[300];
} folder_t;

static inline void
folder_make(folder_t *folder)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder->path, sizeof(folder->path), "%s/skn_data_XXXXXX",
                   base ? base : "/tmp");
    cr_assert(mkdtemp(folder->path));
    (void)snprintf(folder->file, sizeof(folder->file), "%s/f.txt",
                   folder->path);
    (void)snprintf(folder->cache, sizeof(folder->cache), "%s.skc",
                   folder->file);
    (void)snprintf(folder->other, sizeof(folder->other), "%s/other",
                   folder->path);
}

static inline void
folder_remove(const char *path)
{
    char name[600];
    DIR *listing = opendir(path);
    if (listing) {
        for (struct dirent *entry; (entry = readdir(listing));) {
            if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
                continue;
            (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
            if (unlink(name) != 0)
                folder_remove(name);
        }
        (void)closedir(listing);
    }
    cr_expect_eq(rmdir(path), 0, "%s", path);
}

static inline size_t
folder_count(const char *path)
{
    size_t count = 0;
    DIR *listing = opendir(path);
    cr_assert(listing);
    while (readdir(listing))
        count++;
    (void)closedir(listing);
    return count - 2; /* . and .. */
}

static inline void
file_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
    cr_assert_eq(fclose(file), 0);
}

static inline void
text_write(const char *path, const char *text)
{
    file_write(path, text, strlen(text));
}

static inline uint8_t *
file_read(const char *path, size_t *count)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    cr_assert(file && fstat(fileno(file), &status) == 0);
    *count = (size_t)status.st_size;
    uint8_t *bytes = malloc(*count + 1);
    cr_assert_eq(fread(bytes, 1, *count, file), *count);
    cr_assert_eq(fclose(file), 0);
    return bytes;
}

static inline skn_dataset_t *
open_good(const char *path, const skn_dataset_options_t *options)
{
    skn_error_t error = { 0 };
    skn_dataset_t *dataset;
    cr_assert_eq(skn_dataset_open(path, options, &dataset, &error), SKN_OK,
                 "%s", error.text);
    return dataset;
}

/* Opens, and says whether the cache was built by it. */
static inline bool
open_builds(const char *path, const skn_dataset_options_t *options)
{
    skn_dataset_t *dataset = open_good(path, options);
    bool built = skn_dataset_info(dataset)->built;
    skn_dataset_close(&dataset);
    cr_assert_null(dataset);
    return built;
}

static inline void
expect_refused(const char *path, const skn_dataset_options_t *options,
               skn_status_t want, const char *sentence)
{
    skn_error_t error = { 0 };
    skn_dataset_t *dataset;
    cr_expect_eq(skn_dataset_open(path, options, &dataset, &error), want);
    if (sentence)
        cr_expect_str_eq(error.text, sentence);
    cr_expect_null(dataset);
}

/* Compares every point with the text, read again by the line parser. */
static inline void
expect_same_as_text(const skn_dataset_t *dataset, const char *path)
{
    skn_xmc_reader_t *reader;
    skn_xmc_point_t want;
    skn_error_t error = { 0 };
    bool more;
    const skn_dataset_info_t *info = skn_dataset_info(dataset);
    skn_xmc_point_init(&want);
    cr_assert_eq(skn_xmc_open(path, NULL, &reader, &error), SKN_OK);
    for (uint64_t at = 0; at < info->point_count; at++) {
        cr_assert_eq(skn_xmc_next(reader, &want, &more, &error), SKN_OK);
        skn_dataset_point_t got = skn_dataset_point(dataset, at);
        cr_assert(more && got.label_count == want.label_count &&
                  got.feature_count == want.feature_count);
        double square = 0;
        for (size_t k = 0; k < want.feature_count; k++)
            square += pow((double)want.value[k], 2);
        double length = info->normalize == SKN_NORMALIZE_L2 && square > 0
                            ? sqrt(square)
                            : 1;
        for (size_t k = 0; k < want.label_count; k++)
            cr_expect_eq(got.label[k], want.label[k]);
        for (size_t k = 0; k < want.feature_count; k++) {
            double value = (double)want.value[k] / length;
            cr_expect_eq(got.feature[k], want.feature[k]);
            cr_expect(fabs((double)got.value[k] - value) <=
                          1.2e-7 * fabs(value),
                      "point %lu: got %g, want %g", (unsigned long)at,
                      (double)got.value[k], value);
        }
    }
    cr_assert_eq(skn_xmc_next(reader, &want, &more, &error), SKN_OK);
    cr_expect(!more);
    skn_xmc_close(&reader);
    skn_xmc_point_fini(&want);
}

static const char *const sample_text = "6 12 7\n"
                                       "0,3 1:0.5 7:-1.25 11:3\n"
                                       " 2:1 4\n"
                                       "5\n"
                                       "3,1,0 9:2 8:1\n"
                                       "\n"
                                       "3 2:0 3:0\n";

static inline void
expect_sample_info(const skn_dataset_info_t *info)
{
    static const uint32_t frequency[] = { 2, 1, 0, 3, 0, 1, 0 };
    cr_expect_eq(info->point_count, 6u);
    cr_expect_eq(info->feature_count, 12u);
    cr_expect_eq(info->label_count, 7u);
    cr_expect_eq(info->feature_total, 9u);
    cr_expect_eq(info->label_total, 7u);
    cr_expect_eq(info->point_features_max, 3u);
    cr_expect_eq(info->point_labels_max, 3u);
    cr_expect_eq(info->featureless_count, 2u);
    cr_expect_eq(info->unlabelled_count, 2u);
    cr_expect_eq(info->labels_occurring, 4u);
    cr_expect_eq(info->content_hash,
                 XXH3_64bits(sample_text, strlen(sample_text)));
    cr_expect(info->has_header);
    for (uint32_t label = 0; label < 7; label++)
        cr_expect_eq(info->label_frequency[label], frequency[label]);
}

#endif
