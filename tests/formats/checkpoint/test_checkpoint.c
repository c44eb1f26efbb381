/* test_checkpoint.c - tests that the newest complete checkpoint is found, and
 * damage refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/checkpoint_fixture.h"
#include "tests/support/temp_folder.h"

#include "formats/folder/folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[TEMP_FOLDER_BYTES];
static skn_run_folder_t *run;

static void
setup(void)
{
    skn_run_options_t options = { .config_text = "skein: 1\n" };
    temp_folder_make(folder);
    run = skn_run_folder_open(folder, &options, NULL, NULL);
    cr_assert(run);
}

static void
teardown(void)
{
    skn_run_folder_close(&run);
    temp_folder_remove(folder);
}

TestSuite(checkpoint, .init = setup, .fini = teardown);

static void
write_batch(uint64_t batch)
{
    skn_error_t error = { 0 };
    cr_assert_eq(fixture_write(run, batch, 2, 2, 9, &error), SKN_OK, "%s",
                 error.text);
}

/* A whole file, and its path. */
typedef struct victim {
    char path[2 * TEMP_FOLDER_BYTES];
    char *bytes;
    size_t count;
} victim_t;

static victim_t
take(uint64_t batch, const char *name)
{
    victim_t victim;
    (void)snprintf(victim.path, sizeof(victim.path),
                   "%s/batch-%012" PRIu64 "/%s", folder, batch, name);
    cr_assert_eq(skn_folder_read_file(AT_FDCWD, ".", victim.path, 1u << 20,
                                      &victim.bytes, &victim.count, NULL),
                 SKN_OK);
    return victim;
}

static void
put_back(const victim_t *victim)
{
    int file = open(victim->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, victim->bytes, victim->count),
                 (ssize_t)victim->count);
    (void)close(file);
}

static const char *const names[] = {
    "manifest.json",        "hidden.0.safetensors", "hidden.1.safetensors",
    "output.0.safetensors", "output.1.safetensors",
};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

/* Must fall back to batch 1, with a warning; never give batch 2. */
static void
expect_fallback(const char *name, const char *what, size_t at)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s %s %zu: %s", name, what, at, error.text);
    cr_assert_eq(skn_checkpoint_batch(checkpoint), 1, "%s %s %zu", name, what,
                 at);
    cr_assert(strstr(skn_checkpoint_warning(checkpoint),
                     "using the checkpoint of batch 1; 1 newer refused, "
                     "the newest because: "),
              "%s", skn_checkpoint_warning(checkpoint));
    skn_checkpoint_close(&checkpoint);
}

Test(checkpoint, comes_back_as_it_was_written)
{
    skn_error_t error = { 0 };
    write_batch(7);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect(fixture_good(checkpoint));
    cr_expect_eq(skn_checkpoint_batch(checkpoint), 7);
    cr_expect_str_eq(skn_checkpoint_warning(checkpoint), "");
    cr_expect_str_eq(skn_checkpoint_run_id(checkpoint), skn_run_folder_id(run));
    cr_expect_null(skn_checkpoint_tensor(checkpoint, 6));
    cr_expect_null(skn_checkpoint_piece(checkpoint, SIZE_MAX));
    skn_checkpoint_close(&checkpoint);
    skn_checkpoint_close(&checkpoint);
}

Test(checkpoint, with_any_byte_changed_falls_back)
{
    write_batch(1);
    write_batch(2);
    for (size_t i = 0; i < NAME_COUNT; i++) {
        victim_t victim = take(2, names[i]);
        int file = open(victim.path, O_WRONLY);
        for (size_t at = 0; at < victim.count; at++) {
            char changed = (char)(victim.bytes[at] ^ (1 << at % 8));
            cr_assert_eq(pwrite(file, &changed, 1, (off_t)at), 1);
            expect_fallback(names[i], "byte", at);
            cr_assert_eq(pwrite(file, &victim.bytes[at], 1, (off_t)at), 1);
        }
        (void)close(file);
        free(victim.bytes);
    }
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, NULL);
    cr_assert(checkpoint);
    cr_expect_eq(skn_checkpoint_batch(checkpoint), 2);
    skn_checkpoint_close(&checkpoint);
}

Test(checkpoint, truncated_at_any_length_or_longer_falls_back)
{
    write_batch(1);
    write_batch(2);
    for (size_t i = 0; i < NAME_COUNT; i++) {
        victim_t victim = take(2, names[i]);
        for (size_t count = victim.count; count-- > 0;) {
            cr_assert_eq(truncate(victim.path, (off_t)count), 0);
            expect_fallback(names[i], "length", count);
        }
        put_back(&victim);
        cr_assert_eq(truncate(victim.path, (off_t)victim.count + 1), 0);
        expect_fallback(names[i], "length", victim.count + 1);
        cr_assert_eq(unlink(victim.path), 0);
        if (i > 0) /* without a manifest it is no checkpoint, but listed */
            expect_fallback(names[i], "missing", 0);
        put_back(&victim);
        free(victim.bytes);
    }
}

/* Headers and manifests are read at open, tensors when they are used: what is
 * read is right, or refused. */
Test(checkpoint, read_lazily_gives_no_wrong_data)
{
    write_batch(2);
    for (size_t i = 0; i < NAME_COUNT; i++) {
        victim_t victim = take(2, names[i]);
        int file = open(victim.path, O_WRONLY);
        for (size_t at = 0; at < victim.count; at += 3) {
            char changed = (char)(victim.bytes[at] ^ 0x10);
            skn_error_t error = { 0 };
            cr_assert_eq(pwrite(file, &changed, 1, (off_t)at), 1);
            skn_checkpoint_t *checkpoint =
                skn_checkpoint_open(folder, SKN_VERIFY_LAZY, &error);
            cr_expect(checkpoint || error.status == SKN_BAD_DATA);
            cr_expect_not(checkpoint && fixture_good(checkpoint));
            skn_checkpoint_close(&checkpoint);
            cr_assert_eq(pwrite(file, &victim.bytes[at], 1, (off_t)at), 1);
        }
        (void)close(file);
        free(victim.bytes);
    }
}

Test(checkpoint, all_damaged_names_the_newest_and_its_reason)
{
    char want[3 * TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    for (uint64_t batch = 1; batch <= 3; batch++) {
        write_batch(batch);
        victim_t victim = take(batch, "hidden.1.safetensors");
        cr_assert_eq(truncate(victim.path, 100), 0);
        free(victim.bytes);
    }
    cr_expect_null(skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    (void)snprintf(want, sizeof(want),
                   "%s: none of 3 checkpoints can be used; the newest is "
                   "refused: %s/batch-000000000003/hidden.1.safetensors: 100 "
                   "bytes, the manifest says 280",
                   folder, folder);
    cr_expect_str_eq(error.text, want);
}

Test(checkpoint, none_is_told_apart_from_damage)
{
    char want[2 * TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    cr_expect_null(skn_checkpoint_open(folder, SKN_VERIFY_ALL, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    (void)snprintf(want, sizeof(want), "%s holds no checkpoint", folder);
    cr_expect_str_eq(error.text, want);
    (void)snprintf(want, sizeof(want), "%s/none", folder);
    cr_expect_null(skn_checkpoint_open(want, SKN_VERIFY_ALL, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
}

Test(checkpoint, opens_through_links_and_by_its_own_path)
{
    static const char *const tails[] = { "latest", "best",
                                         "batch-000000000001" };
    static const uint64_t want[] = { 2, 1, 1 };
    write_batch(1);
    write_batch(2);
    cr_assert_eq(skn_run_folder_mark_best(run, 1, 0, NULL), SKN_OK);
    for (size_t i = 0; i < 3; i++) {
        char path[2 * TEMP_FOLDER_BYTES];
        skn_error_t error = { 0 };
        (void)snprintf(path, sizeof(path), "%s/%s", folder, tails[i]);
        skn_checkpoint_t *checkpoint =
            skn_checkpoint_open(path, SKN_VERIFY_ALL, &error);
        cr_assert(checkpoint, "%s", error.text);
        cr_expect_eq(skn_checkpoint_batch(checkpoint), want[i]);
        cr_expect_str_eq(skn_checkpoint_path(checkpoint), path);
        skn_checkpoint_close(&checkpoint);
    }
}

Test(checkpoint, ignores_files_it_does_not_know)
{
    char path[2 * TEMP_FOLDER_BYTES];
    write_batch(1);
    (void)snprintf(path, sizeof(path), "%s/batch-000000000001/notes", folder);
    cr_assert_eq(symlink("/nowhere", path), 0);
    (void)snprintf(path, sizeof(path), "%s/notes", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_ALL, NULL);
    cr_assert(checkpoint);
    cr_expect(fixture_good(checkpoint));
    skn_checkpoint_close(&checkpoint);
}

/* A file or a folder of the checkpoint that is a link is refused: it could lead
 * anywhere. */
Test(checkpoint, follows_no_link_inside)
{
    char path[2 * TEMP_FOLDER_BYTES], away[3 * TEMP_FOLDER_BYTES];
    write_batch(1);
    write_batch(2);
    (void)snprintf(path, sizeof(path),
                   "%s/batch-000000000002/hidden.0.safetensors", folder);
    (void)snprintf(away, sizeof(away), "%s/away", folder);
    cr_assert_eq(rename(path, away), 0);
    cr_assert_eq(symlink(away, path), 0);
    expect_fallback("hidden.0", "link", 0);
    cr_assert_eq(rename(away, path), 0);
    (void)snprintf(path, sizeof(path), "%s/batch-000000000002", folder);
    cr_assert_eq(rename(path, away), 0);
    cr_assert_eq(symlink(away, path), 0);
    expect_fallback("batch", "link", 0);
}

Test(checkpoint, under_the_name_of_another_batch_is_refused)
{
    char from[2 * TEMP_FOLDER_BYTES], to[2 * TEMP_FOLDER_BYTES];
    write_batch(1);
    write_batch(5);
    (void)snprintf(from, sizeof(from), "%s/batch-000000000005", folder);
    (void)snprintf(to, sizeof(to), "%s/batch-000000000009", folder);
    cr_assert_eq(rename(from, to), 0);
    expect_fallback("batch", "renamed", 9);
    (void)snprintf(from, sizeof(from), "%s/batch-000000000003", folder);
    cr_assert_eq(rename(to, from), 0);
    expect_fallback("batch", "renamed", 3);
}

Test(checkpoint, stays_readable_while_it_is_pruned)
{
    write_batch(1);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(folder, SKN_VERIFY_LAZY, NULL);
    cr_assert(checkpoint);
    cr_assert_eq(fixture_write(run, 2, 2, 2, 1, NULL), SKN_OK);
    cr_expect(fixture_good(checkpoint));
    skn_checkpoint_close(&checkpoint);
}

/* Debian's own has numpy where another one comes first in PATH. */
static const char *
python_with_numpy(void)
{
    if (system("python3 -c 'import numpy' 2>/dev/null") == 0)
        return "python3";
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0)
        return "/usr/bin/python3";
    return NULL;
}

/* The six lines that the format promises; needs python3 with numpy. */
static const char reader[] =
    "import json, struct, sys\n"
    "import numpy as np\n"
    "raw = open(sys.argv[1], 'rb').read()\n"
    "n, = struct.unpack('<Q', raw[:8])\n"
    "for name, t in json.loads(raw[8:8 + n]).items():\n"
    "    if name == 'hidden.bias@0,0':\n"
    "        a, b = t['data_offsets']\n"
    "        x = np.frombuffer(raw[8 + n + a:8 + n + b], '<u4')\n"
    "        print(*x.reshape(t['shape']))\n";

Test(checkpoint, file_is_read_by_numpy_alone)
{
    char command[4 * TEMP_FOLDER_BYTES], got[256] = "", want[256];
    const char *python = python_with_numpy();
    if (!python)
        cr_skip_test("python3 has no numpy");
    write_batch(1);
    (void)snprintf(command, sizeof(command),
                   "%s -c \"%s\" %s/batch-000000000001/"
                   "hidden.0.safetensors",
                   python, reader, folder);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe);
    cr_assert(fgets(got, sizeof(got), pipe));
    cr_expect_eq(pclose(pipe), 0);
    size_t at = 0;
    for (uint64_t row = 0; row < 3; row++) {
        uint32_t bits;
        fixture_put("hidden.bias", SKN_DTYPE_U32, 1, row, 0,
                    (unsigned char *)&bits);
        at += (size_t)snprintf(want + at, sizeof(want) - at, "%s%u",
                               row ? " " : "", bits);
    }
    (void)snprintf(want + at, sizeof(want) - at, "\n");
    cr_expect_str_eq(got, want);
}

/* The same without Python, read by hand. */
Test(checkpoint, file_has_length_header_and_data_where_readers_look)
{
    write_batch(1);
    victim_t victim = take(1, "hidden.0.safetensors");
    uint64_t length, want_bits = 0;
    memcpy(&length, victim.bytes, 8);
    cr_expect_eq(length % 8, 0);
    const char *header = victim.bytes + 8;
    cr_expect_eq(strncmp(header,
                         "{\"__metadata__\":{\"format\":\"skein\"},"
                         "\"hidden.weight@0,0\":{\"dtype\":\"F32\",\"shape\":"
                         "[5,3],\"data_offsets\":[0,60]},"
                         "\"hidden.bias@0,0\":{\"dtype\":\"F32\",\"shape\":[3]"
                         ",\"data_offsets\":[60,72]}}",
                         172),
                 0, "%.200s", header);
    fixture_put("hidden.bias", SKN_DTYPE_F32, 1, 2, 0,
                (unsigned char *)&want_bits);
    cr_expect_eq(memcmp(header + length + 68, &want_bits, 4), 0);
    cr_expect_eq(victim.count, 8 + length + 72);
    free(victim.bytes);
}
