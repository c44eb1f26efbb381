/* contract_descriptors.c - tests that openers without a descriptor say so.
 *
 * One body over many subjects: each opens something that is there and whole
 * while the process may open nothing more. It fails with SKN_NO_MEMORY and the
 * remedy for that, never with a fault of the file, and succeeds afterwards.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/dataset/dataset.h"
#include "formats/folder/folder.h"
#include "formats/folder/folder_lock.h"
#include "skein/config.h"
#include "skein/points.h"
#include "tests/support/temp_folder.h"
#include "topology/training/line_queue.h"
#include "transport/socket/byte_socket.h"
#include "transport/socket/keys.h"

static char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 16];
static int folder_file;

static void
write_file(const char *name, const char *text)
{
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* --- subjects ------------------------------------------------------------- */

static void
prepare_config(void)
{
    write_file("c.yaml", "skein: 1\nactors:\n  - { name: a, kind: sink }\n");
}

static skn_status_t
problem_of(skn_config_t *config, skn_error_t *error)
{
    const skn_config_problem_t *problem =
        config ? skn_config_problem(config, 0) : NULL;
    if (problem && problem->status != SKN_BAD_CONFIG) {
        (void)skn_fail(error, problem->status, "%s", problem->text);
        (void)skn_fail_hint(error, problem->status, "%s", problem->hint);
    }
    skn_config_destroy(&config);
    return error->status;
}

static skn_status_t
load_config(skn_error_t *error)
{
    return problem_of(skn_config_load(path, NULL, error), error);
}

static void
prepare_plugin(void)
{
    write_file("p.so", "not a plug-in");
}

static skn_status_t
load_plugin(skn_error_t *error)
{
    static const char text[] = "skein: 1\ntopology:\n  name: t\n"
                               "  plugins: [./p.so]\n"
                               "  actors: [{ name: a, kind: k }]\n";
    char name[TEMP_FOLDER_BYTES + 16];
    (void)snprintf(name, sizeof(name), "%s/t.yaml", folder);
    return problem_of(skn_config_new(text, name, NULL, error), error);
}

static void
prepare_points(void)
{
    write_file("p.txt", "1 5 3\n0 2:1\n");
}

static skn_status_t
open_points(skn_error_t *error)
{
    skn_point_reader_t *reader = skn_point_reader_open(path, NULL, error);
    skn_point_reader_close(&reader);
    return error->status;
}

static skn_status_t
open_names(skn_error_t *error)
{
    skn_names_t *names = skn_names_open(path, error);
    skn_names_close(&names);
    return error->status;
}

static skn_status_t
open_dataset(skn_error_t *error)
{
    const skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    skn_dataset_t *dataset = NULL;
    skn_status_t status = skn_dataset_open(path, &options, &dataset, error);
    skn_dataset_close(&dataset);
    return status;
}

static void
prepare_new(void)
{
    (void)snprintf(path, sizeof(path), "%s/new", folder);
}

static skn_status_t
make_keys(skn_error_t *error)
{
    char public_key[SKN_KEY_TEXT_BYTES];
    return skn_keys_make(path, "a", public_key, error);
}

static void
prepare_keys(void)
{
    (void)snprintf(path, sizeof(path), "%s/load", folder);
    cr_assert_eq(make_keys(NULL), SKN_OK);
}

static skn_status_t
load_keys(skn_error_t *error)
{
    skn_keys_t *keys = skn_keys_load(path, error);
    skn_keys_destroy(&keys);
    return error->status;
}

static skn_status_t
make_folder(skn_error_t *error)
{
    int made = -1;
    skn_status_t status = skn_folder_create(path, &made, error);
    if (made >= 0)
        (void)close(made);
    return status;
}

static skn_status_t
take_lock(skn_error_t *error)
{
    int lock = -1;
    skn_status_t status =
        skn_folder_lock_open(folder_file, folder, 100, &lock, error);
    skn_folder_lock_close(&lock);
    return status;
}

static skn_status_t
listen_here(skn_error_t *error)
{
    char address[SKN_ADDRESS_BYTES];
    int listener = skn_byte_socket_listen_local(address, error);
    if (listener >= 0)
        (void)close(listener);
    return error->status;
}

static skn_status_t
make_queue(skn_error_t *error)
{
    skn_line_queue_t queue;
    skn_status_t status = skn_line_queue_init(&queue, "the test", error);
    skn_line_queue_fini(&queue);
    return status;
}

static const struct subject {
    const char *name;
    void (*prepare)(void);
    skn_status_t (*act)(skn_error_t *error);
} subjects[] = {
    { "a config", prepare_config, load_config },
    { "a plug-in", prepare_plugin, load_plugin },
    { "points", prepare_points, open_points },
    { "names", prepare_points, open_names },
    { "a data set", prepare_points, open_dataset },
    { "keys", prepare_keys, load_keys },
    { "new keys", prepare_new, make_keys },
    { "a new folder", prepare_new, make_folder },
    { "a lock", prepare_new, take_lock },
    { "a local socket", prepare_new, listen_here },
    { "a queue", prepare_new, make_queue },
};

/* --- the contract --------------------------------------------------------- */

static skn_status_t
act_without_descriptors(const struct subject *subject, skn_error_t *error)
{
    struct rlimit limit, none;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = open("/dev/null", O_RDONLY);
    cr_assert(next >= 0 && close(next) == 0);
    none = limit;
    none.rlim_cur = (rlim_t)next;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    skn_status_t status = subject->act(error);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return status;
}

Test(contract_descriptors, an_opener_without_a_descriptor_says_so)
{
    for (size_t k = 0; k < sizeof(subjects) / sizeof(subjects[0]); k++) {
        skn_error_t error = { 0 };
        temp_folder_make(folder);
        folder_file = open(folder, O_RDONLY | O_DIRECTORY);
        cr_assert(folder_file >= 0);
        subjects[k].prepare();
        skn_status_t status = act_without_descriptors(&subjects[k], &error);
        cr_expect_eq(status, SKN_NO_MEMORY, "%s: %s", subjects[k].name,
                     error.text);
        cr_expect_eq(error.status, status, "%s", subjects[k].name);
        cr_expect_str_eq(
            error.hint, "raise the limit on open files (ulimit -n)",
            "%s: %s (%s)", subjects[k].name, error.text, error.hint);
        skn_error_clear(&error);
        cr_expect_eq(subjects[k].act(&error), SKN_OK, "%s: %s",
                     subjects[k].name, error.text);
        (void)close(folder_file);
        temp_folder_remove(folder);
    }
}
