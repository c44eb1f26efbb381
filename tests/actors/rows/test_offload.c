/* test_offload.c - tests the nameless file for moments: it disappears, and a
 * disk without room is reported at the start.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "actors/rows/offload.h"
#include "actors/rows/optimizer.h"
#include "tests/support/faults.h"
#include "tests/support/settle.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"

#define BYTES ((size_t)3 << 20)

static char folder[TEMP_FOLDER_BYTES];

static void
init(void)
{
    temp_folder_make(folder);
}

static void
fini(void)
{
    temp_folder_remove(folder);
}

TestSuite(offload, .init = init, .fini = fini);

static size_t
names_in_folder(void)
{
    size_t count = 0;
    DIR *list = opendir(folder);
    cr_assert(list);
    for (struct dirent *entry; (entry = readdir(list));)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    cr_assert_eq(closedir(list), 0);
    return count;
}

static bool
is_zero(const skn_offload_t *offload)
{
    for (size_t k = 0; k < offload->bytes; k++)
        if (offload->at[k] != 0)
            return false;
    return true;
}

Test(offload, is_zero_can_be_written_and_has_no_name)
{
    skn_offload_t offload;
    skn_error_t error = { 0 };
    size_t before = settle_entries(SETTLE_DESCRIPTORS);
    cr_assert_eq(skn_offload_open(&offload, folder, BYTES, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(offload.bytes, BYTES);
    cr_expect(is_zero(&offload));
    cr_expect_eq(names_in_folder(), 0);
    cr_expect_eq(settle_entries(SETTLE_DESCRIPTORS), before + 1);
    skn_offload_expect(offload.at + 5000, 1);
    skn_offload_walk(&offload, true);
    memset(offload.at, 0xab, BYTES);
    skn_offload_walk(&offload, false);
    /* Out of memory and back: it is in the file. */
    cr_assert_eq(msync(offload.at, BYTES, MS_SYNC), 0);
    cr_assert_eq(madvise(offload.at, BYTES, MADV_DONTNEED), 0);
    skn_offload_expect(offload.at, BYTES);
    for (size_t k = 0; k < BYTES; k++)
        cr_assert_eq(offload.at[k], 0xab);
    cr_expect_eq(skn_offload_check(&offload, &error), SKN_OK, "%s", error.text);
    skn_offload_close(&offload);
    cr_expect_eq(settle_entries(SETTLE_DESCRIPTORS), before);
    cr_expect_eq(skn_offload_check(&offload, &error), SKN_OK, "there is none");
    cr_expect_null(offload.at);
    skn_offload_close(&offload); /* twice is once */
    skn_offload_walk(&offload, true);
}

Test(offload, takes_the_nearest_folder_that_is_there)
{
    char deep[TEMP_FOLDER_BYTES + 16];
    skn_offload_t offload;
    skn_offload_disk_t here = { 0 }, there = { 0 };
    (void)snprintf(deep, sizeof(deep), "%s/a/b/c", folder);
    cr_assert_eq(skn_offload_open(&offload, deep, BYTES, NULL), SKN_OK);
    cr_expect_eq(names_in_folder(), 0);
    skn_offload_close(&offload);
    cr_expect_eq(skn_offload_examine(folder, &here, NULL), SKN_OK);
    cr_expect_eq(skn_offload_examine(deep, &there, NULL), SKN_OK);
    cr_expect(here.room_bytes > 0 && there.room_bytes > 0);
    cr_expect_eq(here.memory, there.memory);
    cr_expect_eq(skn_offload_examine("none/such", &here, NULL), SKN_OK);
}

Test(offload, what_is_no_folder_is_refused)
{
    char path[TEMP_FOLDER_BYTES + 8], far[PATH_MAX + 8];
    skn_offload_t offload;
    skn_offload_disk_t disk;
    skn_error_t error = { 0 };
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fclose(file) == 0);
    cr_expect_eq(skn_offload_examine(path, &disk, &error), SKN_CANNOT_CREATE);
    cr_expect(strstr(error.text, path), "%s", error.text);
    cr_expect_eq(skn_offload_open(&offload, path, BYTES, &error),
                 SKN_CANNOT_CREATE);
    cr_expect_null(offload.at);
    memset(far, 'x', sizeof(far) - 1);
    far[sizeof(far) - 1] = '\0';
    cr_expect_eq(skn_offload_examine(far, &disk, &error), SKN_BAD_CONFIG);
    cr_expect_eq(skn_offload_open(&offload, far, BYTES, &error),
                 SKN_BAD_CONFIG);
}

/* fallocate meets the limit at once, as it meets a full disk. */
Test(offload, a_disk_without_room_is_found_at_the_start)
{
    struct rlimit limit = { BYTES - 1, RLIM_INFINITY };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    skn_offload_t offload;
    skn_offload_disk_t disk = { 0 };
    skn_error_t error = { 0 };
    cr_assert_eq(sigaction(SIGXFSZ, &ignore, NULL), 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(skn_offload_examine(folder, &disk, NULL), SKN_OK);
    cr_expect_eq(disk.room_bytes, BYTES - 1);
    cr_expect_eq(skn_offload_open(&offload, folder, BYTES, &error),
                 SKN_STORAGE);
    cr_expect(strstr(error.text, ": cannot reserve 3 MiB for the optimizer: "
                                 "File too large"),
              "%s", error.text);
    limit.rlim_cur = RLIM_INFINITY;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_null(offload.at);
    cr_expect_eq(names_in_folder(), 0);
}

/* A page that could not be written was dropped: who asks before a checkpoint is
 * complete must hear it. */
Test(offload, what_the_disk_lost_is_reported)
{
    static const struct {
        int code;
        skn_status_t status;
    } answers[] = { { EIO, SKN_STORAGE },
                    { ENOSPC, SKN_STORAGE },
                    { EINTR, SKN_OK },
                    { ESPIPE, SKN_OK } };
    skn_offload_t offload;
    cr_assert_eq(skn_offload_open(&offload, folder, BYTES, NULL), SKN_OK);
    for (size_t k = 0; k < sizeof(answers) / sizeof(answers[0]); k++) {
        skn_error_t error = { 0 };
        faults_arm(FAULT_SYSTEM, 1, answers[k].code, false);
        cr_expect_eq(skn_offload_check(&offload, &error), answers[k].status);
        cr_expect_eq(faults_hit(), 1);
        (void)faults_disarm();
        if (answers[k].status != SKN_OK)
            cr_expect(strstr(error.text, "the optimizer's file has lost "
                                         "moments: "),
                      "%s", error.text);
    }
    skn_offload_close(&offload);
}

/* open, fallocate, mmap: each refuses in turn. */
Test(offload, a_refused_call_is_a_sentence_and_keeps_nothing)
{
    static const struct {
        int code;
        skn_status_t status;
    } refusals[] = { { EACCES, SKN_NO_PERMISSION },
                     { ENOSPC, SKN_STORAGE },
                     { ENOMEM, SKN_NO_MEMORY } };
    size_t before = settle_entries(SETTLE_DESCRIPTORS);
    for (size_t k = 0; k < sizeof(refusals) / sizeof(refusals[0]); k++) {
        skn_offload_t offload;
        skn_error_t error = { 0 };
        faults_arm(FAULT_SYSTEM, k + 1, refusals[k].code, false);
        skn_status_t status = skn_offload_open(&offload, folder, BYTES, &error);
        (void)faults_disarm();
        cr_expect_eq(status, refusals[k].status, "%s: %s", faults_hit_name(),
                     error.text);
        cr_expect_eq(status == SKN_OK, error.text[0] == '\0');
        cr_expect_eq(status == SKN_OK, offload.at != NULL);
        skn_offload_close(&offload);
        cr_expect_eq(settle_entries(SETTLE_DESCRIPTORS), before);
        cr_expect_eq(names_in_folder(), 0);
    }
}

Test(offload, a_system_that_lacks_a_call_is_served_without)
{
    for (uint64_t n = 1; n <= 2; n++) { /* O_TMPFILE; fallocate */
        skn_offload_t offload;
        skn_error_t error = { 0 };
        faults_arm(FAULT_SYSTEM, n, EOPNOTSUPP, false);
        skn_status_t status = skn_offload_open(&offload, folder, BYTES, &error);
        (void)faults_disarm();
        cr_assert_eq(faults_hit(), 1);
        cr_assert_eq(status, SKN_OK, "%s", error.text);
        cr_expect(is_zero(&offload));
        memset(offload.at, 1, BYTES);
        cr_expect_eq(names_in_folder(), 0);
        skn_offload_close(&offload);
    }
}

Test(offload, its_rows_lie_apart_and_do_not_overlap)
{
    for (uint32_t width = 1; width <= 70; width++) {
        skn_rows_t rows;
        cr_assert_eq(
            skn_rows_init_offloaded(&rows, 3, width, false, folder, NULL),
            SKN_OK);
        float *m = skn_rows_moment(&rows, 1, 1);
        float *v = skn_rows_moment(&rows, 1, 2);
        cr_expect_eq((unsigned char *)m,
                     rows.offload.at + rows.moment_stride_bytes);
        cr_expect_eq(rows.moment_stride_bytes % 64, 0);
        cr_expect(v >= m + width);
        cr_expect(v + width <= skn_rows_moment(&rows, 2, 1));
        cr_expect((float *)skn_rows_step(&rows, 1) >=
                  skn_rows_weight(&rows, 1) + width);
        cr_expect((float *)skn_rows_step(&rows, 1) < skn_rows_weight(&rows, 2));
        cr_expect(skn_rows_resident_bytes(3, width) <= rows.map_bytes);
        cr_expect_eq(skn_rows_offload_bytes(3, width), rows.offload.bytes);
        skn_rows_fini(&rows);
        cr_expect_null(rows.offload.at);
    }
}

Test(offload, rows_without_room_for_their_file_are_none)
{
    skn_rows_t rows;
    skn_error_t error = { 0 };
    faults_arm(FAULT_SYSTEM, 2, ENOSPC, false); /* open, fallocate */
    skn_status_t status =
        skn_rows_init_offloaded(&rows, 100, 9, false, folder, &error);
    (void)faults_disarm();
    cr_expect_eq(status, SKN_STORAGE, "%s", error.text);
    cr_expect_null(rows.at);
    cr_expect_null(rows.offload.at);
}

Test(offload, steps_have_the_same_bits_as_in_memory)
{
    enum {
        ROWS = 40,
        WIDTH = 37,
        BATCHES = 60
    };
    oracle_random_t random = { 5 };
    skn_rows_t rows[2];
    skn_optimizer_t optimizer = { .kernels = skn_kernels_best(),
                                  .rate = 0.01,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-8 };
    skn_optimizer_init(&optimizer);
    cr_assert_eq(
        skn_rows_init(&rows[0], SKN_ROWS_ADAM, ROWS, WIDTH, false, NULL),
        SKN_OK);
    cr_assert_eq(
        skn_rows_init_offloaded(&rows[1], ROWS, WIDTH, false, folder, NULL),
        SKN_OK);
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        float *gradient = oracle_floats(&random, WIDTH, 1);
        skn_optimizer_begin(&optimizer, batch);
        for (uint32_t k = 0; k < 2; k++)
            skn_optimizer_step(&optimizer, &rows[k],
                               (uint32_t)(batch * 7 % ROWS), 0, gradient);
        free(gradient);
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        cr_expect_arr_eq(skn_rows_weight(&rows[1], row),
                         skn_rows_weight(&rows[0], row), WIDTH * sizeof(float));
        cr_expect_eq(*skn_rows_step(&rows[1], row),
                     *skn_rows_step(&rows[0], row));
        for (int part = 1; part <= 2; part++)
            cr_expect_arr_eq(skn_rows_moment(&rows[1], row, part),
                             skn_rows_moment(&rows[0], row, part),
                             WIDTH * sizeof(float));
    }
    skn_rows_fini(&rows[0]);
    skn_rows_fini(&rows[1]);
}
