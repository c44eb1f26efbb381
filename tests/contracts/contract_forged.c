/* contract_forged.c - tests that checkpoints and runs with valid seals and
 * false contents are refused.
 *
 * A seal finds damage, not malice: any program that can write a file can seal
 * it. So every claim of a manifest is compared with the files, and each
 * comparison has its own message. A row here changes one claim, seals the
 * manifest again, and names the message. Covers
 * formats/checkpoint/checkpoint.c, formats/checkpoint/manifest.c,
 * formats/checkpoint/piece.c, formats/checkpoint/run_folder.c and
 * formats/checkpoint/safetensors.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/folder/folder.h"
#include "formats/text/json_text.h"
#include "tests/support/checkpoint_fixture.h"
#include "tests/support/temp_folder.h"

#define BATCH_FOLDER "batch-000000000010"

static char folder[TEMP_FOLDER_BYTES], run_path[TEMP_FOLDER_BYTES + 8];
static char batch_path[TEMP_FOLDER_BYTES + 32];

static void
set_up(void)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .run_id = "0123456789abcdef0123456789abcdef",
                                  .config_text = "skein: 1\n" };
    temp_folder_make(folder);
    (void)snprintf(run_path, sizeof(run_path), "%s/run", folder);
    (void)snprintf(batch_path, sizeof(batch_path), "%s/" BATCH_FOLDER,
                   run_path);
    skn_run_folder_t *run =
        skn_run_folder_open(run_path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    cr_assert_eq(fixture_write(run, 10, 1, 1, 3, &error), SKN_OK, "%s",
                 error.text);
    skn_run_folder_close(&run);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(contract_forged, .init = set_up, .fini = tear_down, .timeout = 60);

/* --- editing -------------------------------------------------------------- */

static char *
read_text(const char *name, size_t *count)
{
    char path[sizeof(batch_path) + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", batch_path, name);
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    char *text = calloc(1, 1 << 16);
    *count = fread(text, 1, (1 << 16) - 1, file);
    cr_assert_eq(fclose(file), 0);
    return text;
}

static void
write_text(const char *name, const char *text, size_t count)
{
    char path[sizeof(batch_path) + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", batch_path, name);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(text, 1, count, file) == count);
    cr_assert_eq(fclose(file), 0);
}

/* `text` with the first `from` replaced; freed by the caller. */
static char *
replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *changed = NULL;
    cr_assert(at, "there is no %s in\n%s", from, text);
    cr_assert(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to,
                       at + strlen(from)) >= 0);
    return changed;
}

/* Changes a sealed file and seals it again. */
static void
edit_sealed(const char *name, const char *from, const char *to)
{
    size_t count;
    skn_json_text_t sealed = { 0 };
    skn_error_t error = { 0 };
    char *text = read_text(name, &count);
    char *seal = strstr(text, ",\"seal_xxh3_128\"");
    cr_assert(seal);
    *seal = '\0';
    char *changed = replaced(text, from, to);
    skn_json_text_add(&sealed, "%s", changed);
    cr_assert_eq(skn_json_text_seal(&sealed, &error), SKN_OK);
    write_text(name, sealed.bytes, sealed.count);
    skn_json_text_fini(&sealed);
    free(changed);
    free(text);
}

/* Changes the header of a shard in place: as many bytes as before. */
static void
edit_shard(const char *name, const char *from, const char *to)
{
    size_t count, length = strlen(from);
    char *text = read_text(name, &count);
    char *at = memmem(text, count, from, length);
    cr_assert(at && strlen(to) == length, "%s", from);
    memcpy(at, to, length);
    write_text(name, text, count);
    free(text);
}

/* Writes the true hash of the header of `name` into the manifest. */
static void
hash_header(const char *name, size_t header_bytes)
{
    size_t count, list_count;
    char hash[SKN_HASH_TEXT_BYTES], old[SKN_HASH_TEXT_BYTES];
    char *text = read_text(name, &count);
    char *list = read_text("manifest.json", &list_count);
    skn_hash_text(text, header_bytes, hash);
    char *at = strstr(strstr(list, name), "\"header_xxh3_128\":\"");
    memcpy(old, at + strlen("\"header_xxh3_128\":\""), sizeof(old) - 1);
    old[sizeof(old) - 1] = '\0';
    edit_sealed("manifest.json", old, hash);
    free(list);
    free(text);
}

/* What opening says, without the folder in front. */
static void
expect_refused(const char *want, const char *what)
{
    skn_error_t error = { 0 };
    char full[2048];
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(batch_path, SKN_VERIFY_ALL, &error);
    cr_expect_null(checkpoint, "%s is taken", what);
    cr_expect_eq(error.status, SKN_BAD_DATA, "%s: %d", what, error.status);
    (void)snprintf(full, sizeof(full), "%s/%s", batch_path, want);
    cr_expect_str_eq(error.text, full, "%s says\n%s\nnot\n%s", what, error.text,
                     full);
    skn_checkpoint_close(&checkpoint);
}

static void
start_again(void)
{
    tear_down();
    set_up();
}

/* --- manifests that lie --------------------------------------------------- */

typedef struct forgery {
    const char *from, *to, *says;
} forgery_t;

static const forgery_t manifests[] = {
    /* about a file */
    { "\"bytes\":352", "\"bytes\":353",
      "hidden.0.safetensors: 352 bytes, the manifest says 353" },
    { "\"bytes\":1270", "\"bytes\":2000",
      "output.0.safetensors: 1270 bytes, the manifest says 2000" },
    { "\"header_xxh3_128\":\"dce4c3a163ee646668eff6d5dc856086\"",
      "\"header_xxh3_128\":\"00000000000000000000000000000000\"",
      "hidden.0.safetensors: the header is damaged: XXH3-128 is "
      "dce4c3a163ee646668eff6d5dc856086, the manifest says "
      "00000000000000000000000000000000" },
    /* about a piece */
    { "\"offset\":324", "\"offset\":320",
      "hidden.0.safetensors: tensor hidden.bias is not as the manifest "
      "says" },
    { "\"offset\":184,\"xxh3", "\"offset\":188,\"xxh3",
      "hidden.0.safetensors: tensor hidden.weight is not as the manifest "
      "says" },
    { "\"name\":\"hidden.bias\"", "\"name\":\"hidden.bios\"",
      "hidden.0.safetensors: tensor hidden.bios is not as the manifest "
      "says" },
    { "{\"name\":\"hidden.bias\",\"dtype\":\"F32\"",
      "{\"name\":\"hidden.bias\",\"dtype\":\"U32\"",
      "hidden.0.safetensors: tensor hidden.bias is not as the manifest "
      "says" },
    { "\"shape\":[5,7],\"global_shape\":[5,7]",
      "\"shape\":[7,5],\"global_shape\":[7,5]",
      "hidden.0.safetensors: tensor hidden.weight is not as the manifest "
      "says" },
    { "\"shape\":[7],\"global_shape\":[7]",
      "\"shape\":[6],\"global_shape\":[6]",
      "hidden.0.safetensors: tensor hidden.bias is not as the manifest "
      "says" },
    { "\"xxh3_128\":\"71c0b262eb88e4d3f8c388728b850b67\"",
      "\"xxh3_128\":\"71c0b262eb88e4d3f8c388728b850b68\"",
      "hidden.0.safetensors: hidden.weight is damaged: XXH3-128 is "
      "71c0b262eb88e4d3f8c388728b850b67, the manifest says "
      "71c0b262eb88e4d3f8c388728b850b68" },
    /* about the whole */
    { "\"version\":1", "\"version\":2",
      "manifest.json: version 2 is not supported, only 1 is" },
    { "skein-checkpoint", "skein-rucksack",
      "manifest.json: no skein-checkpoint" },
    { "\"batch\":10", "\"batch\":-1",
      "manifest.json: run, batch, metadata or files is malformed" },
    { "output.0.safetensors", "hidden.0.safetensors",
      "manifest.json: file hidden.0.safetensors is listed twice" },
    { "output.0.safetensors", "../../safetensors",
      "manifest.json: file 1 is malformed" },
    { "\"first\":[2,0]", "\"first\":[3,0]",
      "manifest.json: tensor output.weight: the pieces at (3, 0) and "
      "(4, 0) overlap" },
    { "\"first\":[0],\"offset\":1072", "\"first\":[2],\"offset\":1072",
      "manifest.json: tensor output.bias: the pieces at (2, 0) and (2, 0) "
      "overlap" },
    { "\"name\":\"output.empty\"", "\"name\":\".empty\"",
      "manifest.json: file output.0.safetensors: tensor 13 is "
      "malformed" },
};

Test(contract_forged, every_claim_of_a_manifest_is_compared)
{
    for (size_t k = 0; k < sizeof(manifests) / sizeof(manifests[0]); k++) {
        edit_sealed("manifest.json", manifests[k].from, manifests[k].to);
        expect_refused(manifests[k].says, manifests[k].to);
        start_again();
    }
}

/* With the true hash in the manifest, the header itself is compared. */
static const forgery_t headers[] = {
    { "\"hidden.bias\"", "\"hidden.bios\"",
      "hidden.0.safetensors: tensor hidden.bias is not as the manifest "
      "says" },
    { "[5,7]", "[7,5]",
      "hidden.0.safetensors: tensor hidden.weight is not as the manifest "
      "says" },
    { "[0,140]", "[0,144]",
      "hidden.0.safetensors: tensor hidden.weight: offsets 0 to 144 for "
      "140 bytes" },
    { "[5,7],\"data_offsets\":[0,140]},\"hidden.bias\"",
      "[5,8],\"data_offsets\":[0,160]},\"hidden.bias\"",
      "hidden.0.safetensors: tensor hidden.bias starts at 140, but the one "
      "before ends at 160" },
    { "[7],\"data_offsets\":[140,168]", "[6],\"data_offsets\":[140,164]",
      "hidden.0.safetensors: the tensors end at 164, but the data at 168" },
    { "\"F32\"", "\"F64\"",
      "hidden.0.safetensors: tensor hidden.weight: its dtype is not one of "
      "F32, BF16, U32, U64, I8, U8" },
    { "\"F32\"", "\"U32\"",
      "hidden.0.safetensors: tensor hidden.weight is not as the manifest "
      "says" },
    { "\"dtype\"", "\"dtipe\"",
      "hidden.0.safetensors: tensor hidden.weight: dtype, shape (at most 4 "
      "numbers) and data_offsets (2) are expected" },
    { "\"shape\":[5,7]", "\"shape\":  5  ",
      "hidden.0.safetensors: tensor hidden.weight: dtype, shape (at most 4 "
      "numbers) and data_offsets (2) are expected" },
    { "\"hidden.weight\":", "\"hidden.we\\nht\":",
      "hidden.0.safetensors: byte 9 of a tensor's name is 0x0a" },
    { "\"hidden.weight\"", "\"\"             ",
      "hidden.0.safetensors: a tensor's name has 0 bytes, 1 to 128 "
      "allowed" },
    { "\"hidden.bias\":{\"dtype\":\"F32\",\"shape\":[7],"
      "\"data_offsets\":[140,168]}",
      "\"hidden.bias\":{\"dtype\":\"F32\",\"shape\":[3],"
      "\"data_offsets\":[140,152]}",
      "hidden.0.safetensors: the tensors end at 152, but the data at 168" },
    { ",\"hidden.bias\":{\"dtype\":\"F32\",\"shape\":[7],"
      "\"data_offsets\":[140,168]}",
      "                                   "
      "                                ",
      "hidden.0.safetensors: the tensors end at 140, but the data at 168" },
    { "{\"__metadata__\"", "[\"__metadata__\"",
      "hidden.0.safetensors:1:16: ']' expected near ':'" },
    { "\xb0", "\xb8", "hidden.0.safetensors: 176 bytes of a header of 184" },
    { "\xb0", "\xa8",
      "hidden.0.safetensors:1:168: ']' expected near end of file" },
};

Test(contract_forged, every_claim_of_a_header_is_compared)
{
    for (size_t k = 0; k < sizeof(headers) / sizeof(headers[0]); k++) {
        edit_shard("hidden.0.safetensors", headers[k].from, headers[k].to);
        hash_header("hidden.0.safetensors", 184);
        expect_refused(headers[k].says, headers[k].to);
        start_again();
    }
}

Test(contract_forged, a_piece_too_many_and_one_too_few_are_reported)
{
    size_t count;
    char *list = read_text("manifest.json", &count);
    char *at = strstr(list, ",\n{\"name\":\"output.empty\"");
    cr_assert(at);
    char *end = strchr(at + 2, '}');
    char entry[512] = "";
    memcpy(entry, at, (size_t)(end + 1 - at));
    edit_sealed("manifest.json", entry, "");
    expect_refused("output.0.safetensors: 14 tensors, the manifest lists 13",
                   "a piece too few");
    free(list);
    start_again();
    edit_sealed("manifest.json", "{\"name\":\"hidden.weight\"",
                "{\"name\":\"more\",\"dtype\":\"F32\",\"shape\":[0],"
                "\"global_shape\":[0],\"first\":[0],\"offset\":184,"
                "\"xxh3_128\":\"99aa06d3014798d86001c324468d497f\"},\n"
                "{\"name\":\"hidden.weight\"");
    expect_refused("hidden.0.safetensors: 2 tensors, the manifest lists 3",
                   "a piece too many");
}

/* A forged batch number, found when the run looks for its newest. */
Test(contract_forged, a_checkpoint_under_a_false_number_is_not_used)
{
    skn_error_t error = { 0 };
    char want[2048];
    edit_sealed("manifest.json", "\"batch\":10", "\"batch\":11");
    cr_expect_null(skn_checkpoint_open(run_path, SKN_VERIFY_ALL, &error));
    (void)snprintf(want, sizeof(want),
                   "%s: none of 1 checkpoints can be used; the newest is "
                   "refused: %s: the manifest belongs to batch 11",
                   run_path, batch_path);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(error.status, SKN_BAD_DATA);
    /* By its own path, too; a folder of another name is what it says it is. */
    cr_expect_null(skn_checkpoint_open(batch_path, SKN_VERIFY_ALL, &error));
    (void)snprintf(want, sizeof(want), "%s: the manifest belongs to batch 11",
                   batch_path);
    cr_expect_str_eq(error.text, want);
    (void)snprintf(want, sizeof(want), "%s/copy", run_path);
    cr_assert_eq(rename(batch_path, want), 0);
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(want, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_eq(skn_checkpoint_batch(checkpoint), 11u);
    skn_checkpoint_close(&checkpoint);
}

Test(contract_forged, what_is_no_sealed_text_is_reported)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "", "manifest.json is truncated: it has 0 bytes" },
        { "{}", "manifest.json is truncated: it has 2 bytes" },
        { "{\"format\":\"skein-checkpoint\"\n,\"seal_xxh3_128\":"
          "\"00000000000000000000000000000000\"}\n",
          "manifest.json: the text and its seal do not match" },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        write_text("manifest.json", cases[k].text, strlen(cases[k].text));
        expect_refused(cases[k].says, cases[k].text);
    }
}

/* --- reading what is not there -------------------------------------------- */

Test(contract_forged, what_a_checkpoint_does_not_have_is_reported)
{
    skn_error_t error = { 0 };
    char want[2048];
    float room[64];
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(batch_path, SKN_VERIFY_LAZY, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_eq(skn_checkpoint_read_block(checkpoint, "none", 0, 1, 0, 1, room,
                                           4, &error),
                 SKN_NO_INPUT);
    (void)snprintf(want, sizeof(want), "%s: tensor none is missing",
                   batch_path);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_checkpoint_read_block(checkpoint, "hidden.weight", 0, 2, 0,
                                           3, room, 8, &error),
                 SKN_INTERNAL);
    (void)snprintf(want, sizeof(want),
                   "%s: tensor hidden.weight: rows of 3 elements were "
                   "requested 8 bytes apart",
                   batch_path);
    cr_expect_str_eq(error.text, want);
    cr_expect_null(skn_checkpoint_piece_bytes(checkpoint, 1000, &error));
    (void)snprintf(want, sizeof(want), "%s: piece 1000 does not exist",
                   batch_path);
    cr_expect_str_eq(error.text, want);
    cr_expect_null(skn_checkpoint_piece(checkpoint, 1000));
    cr_expect_null(skn_checkpoint_tensor(checkpoint, 6));
    cr_expect_null(skn_checkpoint_find(checkpoint, "hidden.weigh"));
    skn_checkpoint_close(&checkpoint);
}

/* A shard that is cut short under an open checkpoint: read, and told. */
Test(contract_forged, a_file_cut_under_a_reader_is_reported)
{
    skn_error_t error = { 0 };
    char path[sizeof(batch_path) + 64], want[2048];
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(batch_path, SKN_VERIFY_LAZY, &error);
    cr_assert(checkpoint, "%s", error.text);
    (void)snprintf(path, sizeof(path), "%s/hidden.0.safetensors", batch_path);
    cr_assert_eq(truncate(path, 200), 0);
    float room[64];
    cr_expect_eq(skn_checkpoint_read_block(checkpoint, "hidden.weight", 0, 5, 0,
                                           7, room, 28, &error),
                 SKN_BAD_DATA);
    (void)snprintf(want, sizeof(want), "%s: the file ends at byte 200", path);
    cr_expect_str_eq(error.text, want);
    skn_checkpoint_close(&checkpoint);
}

/* --- runs ----------------------------------------------------------------- */

static void
expect_run_refused(const skn_run_options_t *options, const char *path,
                   skn_status_t status, const char *want)
{
    skn_error_t error = { 0 };
    skn_run_folder_t *run = skn_run_folder_open(path, options, NULL, &error);
    cr_expect_null(run);
    cr_expect_eq(error.status, status, "%s", error.text);
    cr_expect_str_eq(error.text, want);
    skn_run_folder_close(&run);
}

Test(contract_forged, a_run_that_cannot_be_is_reported)
{
    char path[TEMP_FOLDER_BYTES + 16], want[2048];
    (void)snprintf(path, sizeof(path), "%s/new", folder);
    skn_run_options_t options = { .config_text = "a\xff" };
    (void)snprintf(want, sizeof(want),
                   "the config of %s is not UTF-8, or longer than 4194304 "
                   "bytes",
                   path);
    expect_run_refused(&options, path, SKN_BAD_CONFIG, want);
    static const char *const ids[] = { "", "0123456789abcdef",
                                       "0123456789ABCDEF0123456789abcdef",
                                       "0123456789abcdef0123456789abcdef0" };
    for (size_t k = 0; k < 4; k++) {
        options = (skn_run_options_t){ .run_id = ids[k], .config_text = "" };
        expect_run_refused(&options, path, SKN_BAD_CONFIG,
                           "the id of a run is not 32 lower case hex digits");
    }
    char *far = malloc(5001);
    memset(far, 'x', 5000);
    far[5000] = '\0';
    options = (skn_run_options_t){ .config_text = "" };
    expect_run_refused(&options, far, SKN_CANNOT_CREATE,
                       "the path of a run has 5000 bytes, at most 4095 "
                       "allowed");
    free(far);
}

Test(contract_forged, marks_and_prunes_that_cannot_be_are_reported)
{
    char want[2048], link[sizeof(run_path) + 16];
    skn_error_t error = { 0 };
    skn_run_options_t options = { .resume = true };
    skn_run_folder_t *run =
        skn_run_folder_open(run_path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    cr_expect_eq(skn_run_folder_mark_best(run, 11, 0, &error), SKN_NO_INPUT);
    (void)snprintf(want, sizeof(want),
                   "%s/batch-000000000011: no such "
                   "checkpoint",
                   run_path);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_run_folder_mark_latest(run, 11, 0, &error), SKN_NO_INPUT);
    (void)snprintf(link, sizeof(link), "%s/best", run_path);
    cr_assert_eq(symlink("elsewhere", link), 0);
    cr_expect_eq(skn_run_folder_prune(run, 10, 0, 1, &error), SKN_BAD_DATA);
    (void)snprintf(want, sizeof(want),
                   "%s/best does not name a checkpoint: none is removed",
                   run_path);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(access(batch_path, F_OK), 0);
    skn_run_folder_close(&run);
}
