/* test_cache_place.c - tests where caches are stored
 * (formats/source/cache_place.c), and how they are written and found
 * (formats/source/cache.c, formats/source/cache_write.c), with those of data
 * files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/dataset.h"
#include "formats/source/cache.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/support/data_folder.h"

Test(cache_place, a_cache_can_be_put_where_the_user_says)
{
    folder_t folder;
    folder_make(&folder);
    skn_dataset_options_t options = { .cache = SKN_CACHE_PATH,
                                      .cache_path = folder.other };
    text_write(folder.file, sample_text);
    skn_dataset_t *dataset = open_good(folder.file, &options);
    cr_expect_str_eq(skn_dataset_info(dataset)->cache_path, folder.other);
    skn_dataset_close(&dataset);
    cr_expect(!open_builds(folder.file, &options));
    cr_expect_neq(access(folder.cache, F_OK), 0);
    folder_remove(folder.path);
}

Test(cache_place, a_place_that_holds_another_file_is_not_overwritten)
{
    folder_t folder;
    char sentence[512];
    folder_make(&folder);
    text_write(folder.file, sample_text);
    /* The likeliest slip: the data file itself. */
    skn_dataset_options_t options = { .cache = SKN_CACHE_PATH,
                                      .cache_path = folder.file };
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: is not a cache of Skein, so it is not overwritten",
                   folder.file);
    expect_refused(folder.file, &options, SKN_CANNOT_CREATE, sentence);
    size_t bytes;
    uint8_t *text = file_read(folder.file, &bytes);
    cr_expect_eq(bytes, strlen(sample_text));
    free(text);
    options.cache_path = folder.path;
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: is not a cache of Skein, so it is not overwritten",
                   folder.path);
    expect_refused(folder.file, &options, SKN_CANNOT_CREATE, sentence);
    options.cache_path = "/nonexistent/folder/f.skc";
    expect_refused(folder.file, &options, SKN_CANNOT_CREATE,
                   "/nonexistent/folder/f.skc: the cache cannot be created: "
                   "No such file or directory");
    folder_remove(folder.path);
}

Test(cache_place, a_cache_need_not_have_a_name)
{
    folder_t folder;
    folder_make(&folder);
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    text_write(folder.file, sample_text);
    cr_assert_eq(setenv("TMPDIR", folder.path, 1), 0);
    skn_dataset_t *dataset = open_good(folder.file, &options);
    cr_expect_null(skn_dataset_info(dataset)->cache_path);
    cr_expect_eq(folder_count(folder.path), 1u);
    expect_same_as_text(dataset, folder.file);
    skn_dataset_close(&dataset);
    cr_assert_eq(setenv("TMPDIR", folder.other, 1), 0);
    char sentence[700];
    (void)snprintf(sentence, sizeof(sentence),
                   "a temporary file in %s (TMPDIR): the cache cannot be "
                   "created: No such file or directory",
                   folder.other);
    expect_refused(folder.file, &options, SKN_CANNOT_CREATE, sentence);
    folder_remove(folder.path);
}

/* A folder that cannot be written sends the cache to the user's own. */
static void
expect_user_place(const folder_t *folder, const char *under)
{
    char start[600];
    for (int turn = 0; turn < 2; turn++) {
        skn_dataset_t *dataset = open_good(folder->file, NULL);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        (void)snprintf(start, sizeof(start), "%s%s/f.txt-", folder->other,
                       under);
        cr_expect_eq(info->built, turn == 0);
        cr_expect_eq(strncmp(info->cache_path, start, strlen(start)), 0, "%s",
                     info->cache_path);
        expect_same_as_text(dataset, folder->file);
        skn_dataset_close(&dataset);
    }
}

/* Lets nobody write into the folder of the file, and everybody into the
 * other. */
static void
forbid(const folder_t *folder)
{
    cr_assert_eq(chmod(folder->file, 0644), 0);
    cr_assert_eq(mkdir(folder->other, 0777), 0);
    cr_assert_eq(chmod(folder->other, 0777), 0);
    cr_assert_eq(chmod(folder->path, 0555), 0);
    cr_assert(geteuid() != 0 || seteuid(65534) == 0); /* root writes all */
    cr_assert_eq(setenv("XDG_CACHE_HOME", folder->other, 1), 0);
}

Test(cache_place, a_folder_that_cannot_be_written_sends_the_cache_home)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    forbid(&folder);
    expect_user_place(&folder, "/skein");
    cr_assert_eq(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    cr_assert_eq(setenv("HOME", folder.other, 1), 0);
    expect_user_place(&folder, "/.cache/skein");
    cr_assert_eq(unsetenv("XDG_CACHE_HOME"), 0);
    cr_assert_eq(setenv("HOME", "/nonexistent", 1), 0);
    skn_dataset_t *dataset = open_good(folder.file, NULL);
    cr_expect_null(skn_dataset_info(dataset)->cache_path);
    skn_dataset_close(&dataset);
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    folder_remove(folder.path);
}

/* Their name is that of the first and more, and no file has it. */
Test(cache_place, several_files_have_a_place_there_as_well)
{
    folder_t folder;
    char source[1200], start[600];
    folder_make(&folder);
    text_write(folder.file, sample_text);
    (void)snprintf(source, sizeof(source), "%s\n%s", folder.file, folder.file);
    (void)snprintf(start, sizeof(start), "%s/skein/f.txt.and-1-more-",
                   folder.other);
    forbid(&folder);
    for (int turn = 0; turn < 2; turn++) {
        skn_dataset_t *dataset = open_good(source, NULL);
        const skn_dataset_info_t *info = skn_dataset_info(dataset);
        cr_expect_eq(info->built, turn == 0);
        cr_assert_not_null(info->cache_path);
        cr_expect_eq(strncmp(info->cache_path, start, strlen(start)), 0, "%s",
                     info->cache_path);
        skn_dataset_close(&dataset);
    }
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    folder_remove(folder.path);
}

Test(cache_place, a_name_without_room_for_the_suffix_sends_the_cache_home)
{
    folder_t folder;
    char path[600];
    folder_make(&folder);
    cr_assert_eq(setenv("XDG_CACHE_HOME", folder.other, 1), 0);
    int bytes = snprintf(path, sizeof(path), "%s/", folder.path);
    memset(path + bytes, 'n', 250);
    path[bytes + 250] = '\0';
    text_write(path, sample_text);
    cr_expect(open_builds(path, NULL));
    cr_expect(!open_builds(path, NULL));
    folder_remove(folder.path);
}

Test(cache_place, a_cache_is_as_secret_as_its_source)
{
    folder_t folder;
    struct stat status;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    cr_assert_eq(chmod(folder.file, 0640), 0);
    (void)open_builds(folder.file, NULL);
    cr_assert_eq(stat(folder.cache, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0640u);
    folder_remove(folder.path);
}

Test(cache_place, a_pipe_can_be_read_once)
{
    folder_t folder;
    folder_make(&folder);
    cr_assert_eq(mkfifo(folder.file, 0600), 0);
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open(folder.file, O_WRONLY);
        size_t bytes = strlen(sample_text);
        _exit(write(fd, sample_text, bytes) == (ssize_t)bytes ? 0 : 1);
    }
    skn_dataset_t *dataset = open_good(folder.file, NULL);
    expect_sample_info(skn_dataset_info(dataset));
    cr_expect_null(skn_dataset_info(dataset)->cache_path);
    skn_dataset_close(&dataset);
    int code;
    cr_assert_eq(waitpid(writer, &code, 0), writer);
    cr_expect_eq(code, 0);
    folder_remove(folder.path);
}

Test(cache_place, a_named_cache_is_replaced_when_it_does_not_fit)
{
    folder_t folder;
    folder_make(&folder);
    skn_dataset_options_t options = { .cache = SKN_CACHE_PATH,
                                      .cache_path = folder.other };
    text_write(folder.other, "");
    text_write(folder.file, sample_text);
    cr_expect(open_builds(folder.file, &options));
    options.normalize = SKN_NORMALIZE_NONE;
    cr_expect(open_builds(folder.file, &options));
    cr_expect(!open_builds(folder.file, &options));
    folder_remove(folder.path);
}

Test(cache_place, a_named_cache_that_cannot_be_read_is_kept)
{
    folder_t folder;
    char sentence[512];
    folder_make(&folder);
    skn_dataset_options_t options = { .cache = SKN_CACHE_PATH,
                                      .cache_path = folder.other };
    text_write(folder.file, sample_text);
    text_write(folder.other, "precious");
    cr_assert_eq(chmod(folder.file, 0644), 0);
    cr_assert_eq(chmod(folder.other, 0), 0);
    cr_assert_eq(chmod(folder.path, 0777), 0);
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: cannot be read, so it is not overwritten: Permission "
                   "denied",
                   folder.other);
    expect_refused(folder.file, &options, SKN_NO_PERMISSION, sentence);
    cr_assert(getuid() != 0 || seteuid(0) == 0);
    folder_remove(folder.path);
}

Test(cache_place, a_folder_in_the_place_of_a_cache_sends_it_home)
{
    folder_t folder;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    cr_assert_eq(mkdir(folder.cache, 0700), 0);
    cr_assert_eq(setenv("XDG_CACHE_HOME", folder.other, 1), 0);
    expect_user_place(&folder, "/skein");
    folder_remove(folder.path);
}

/* The size that files may have here stands for a disk without room. */
static void
full(rlim_t bytes)
{
    struct rlimit limit = { bytes, RLIM_INFINITY };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    cr_assert_eq(sigaction(SIGXFSZ, &ignore, NULL), 0);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Writes a part of a cache, and waits for its death. */
static skn_status_t
write_and_die(void *owner, skn_cache_temp_t *temp, skn_error_t *error)
{
    (void)owner;
    (void)error;
    cr_assert_eq(write(temp->fd, "part", 4), 4);
    (void)raise(SIGKILL);
    return SKN_OK;
}

Test(cache_place, a_process_that_is_killed_leaves_no_part_of_a_cache)
{
    folder_t folder;
    skn_cache_t cache;
    int state = 0;
    folder_make(&folder);
    int probe = open(folder.path, O_TMPFILE | O_RDWR, 0600);
    if (probe < 0)
        cr_skip_test("%s cannot have files without names", folder.path);
    (void)close(probe);
    const skn_cache_form_t form = { .magic = "SKEIN" };
    skn_cache_places_t places = { .form = &form,
                                  .count = 1,
                                  .path = { folder.other } };
    pid_t child = fork();
    if (child == 0) {
        (void)skn_cache_build(&places, write_and_die, NULL, &cache, NULL);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &state, 0), child);
    cr_expect(WIFSIGNALED(state));
    cr_expect_eq(rmdir(folder.path), 0, "the folder is empty");
}

static bool refuses_links;
int __real_linkat(int folder, const char *from, int other, const char *to,
                  int flags);
int __wrap_linkat(int folder, const char *from, int other, const char *to,
                  int flags);

int
__wrap_linkat(int folder, const char *from, int other, const char *to,
              int flags)
{
    if (!refuses_links)
        return __real_linkat(folder, from, other, to, flags);
    errno = EPERM;
    return -1;
}

Test(cache_place, a_file_that_cannot_get_a_name_is_copied_to_one_that_has)
{
    folder_t folder;
    struct stat status;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    cr_assert_eq(chmod(folder.file, 0640), 0);
    refuses_links = true;
    skn_dataset_t *dataset = open_good(folder.file, NULL);
    cr_expect_str_eq(skn_dataset_info(dataset)->cache_path, folder.cache);
    expect_same_as_text(dataset, folder.file);
    skn_dataset_close(&dataset);
    cr_assert_eq(stat(folder.cache, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0640u);
    cr_expect_eq(folder_count(folder.path), 2u, "the text and the cache");
    cr_expect(!open_builds(folder.file, NULL));
    folder_remove(folder.path);
}

Test(cache_place, a_full_disk_is_reported_with_what_to_do_for_each_place)
{
    folder_t folder;
    char sentence[700];
    skn_error_t error = { 0 };
    skn_dataset_t *dataset;
    folder_make(&folder);
    text_write(folder.file, sample_text);
    skn_dataset_options_t options = { .cache = SKN_CACHE_PATH,
                                      .cache_path = folder.other };
    full(100);
    cr_expect_eq(skn_dataset_open(folder.file, &options, &dataset, &error),
                 SKN_STORAGE);
    (void)snprintf(sentence, sizeof(sentence),
                   "%s: the cache cannot be written: File too large",
                   folder.other);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_str_eq(error.hint, "free some space, or set data.cache to a path "
                                 "in a folder that has room");
    cr_assert_eq(setenv("TMPDIR", folder.path, 1), 0);
    options = (skn_dataset_options_t){ .cache = SKN_CACHE_ANONYMOUS };
    cr_expect_eq(skn_dataset_open(folder.file, &options, &dataset, &error),
                 SKN_STORAGE);
    (void)snprintf(sentence, sizeof(sentence),
                   "a temporary file in %s (TMPDIR): the cache cannot be "
                   "written: File too large",
                   folder.path);
    cr_expect_str_eq(error.text, sentence);
    cr_expect_str_eq(error.hint, "set TMPDIR to a folder that you may write to "
                                 "and that has room");
    full(RLIM_INFINITY);
    folder_remove(folder.path);
}
