/* test_inspection.c - tests what an inspection of sound, damaged and missing
 * checkpoints shows.
 *
 * Covers topology/run/inspection.c, topology/run/inspection_print.c and
 * topology/run/checkpoint_inventory.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/inspection.h"

#include <string.h>
#include <unistd.h>

#include "tests/support/trained_fixture.h"

#define NAME1 "batch-000000000001"
#define NAME7 "batch-000000000007"

typedef struct shown {
    trained_fixture_t fixture;
    skn_inspection_t *inspection;
    const skn_inspection_info_t *info;
} shown_t;

/* A run with checkpoints of batch 1 and, as `latest` and `best`, batch 7. */
static void
make(shown_t *shown)
{
    skn_error_t error = { 0 };
    const skn_run_options_t resume = { .resume = true };
    memset(shown, 0, sizeof(*shown));
    trained_make(&shown->fixture);
    skn_run_folder_t *run =
        skn_run_folder_open(shown->fixture.path, &resume, NULL, &error);
    cr_assert(run, "%s", error.text);
    trained_save(&shown->fixture, run, 7);
    cr_assert_eq(skn_run_folder_mark_best(run, 7, 0, &error), SKN_OK, "%s",
                 error.text);
    skn_run_folder_close(&run);
}

/* Opens the run folder, or `name` in it. */
static void
look(shown_t *shown, const char *name)
{
    char path[TEMP_FOLDER_BYTES + 64];
    skn_error_t error = { 0 };
    (void)snprintf(path, sizeof(path), "%s%s", shown->fixture.path, name);
    shown->inspection = skn_inspection_open(path, &error);
    cr_assert(shown->inspection, "%s", error.text);
    shown->info = skn_inspection_info(shown->inspection);
    cr_expect_str_eq(shown->info->path, path);
    cr_expect_eq(shown->info->struct_bytes, sizeof(*shown->info));
}

static void
drop(shown_t *shown)
{
    skn_inspection_close(&shown->inspection);
    cr_expect_null(shown->inspection);
    trained_remove(&shown->fixture);
}

static char *
print(const shown_t *shown, skn_inspection_format_t format)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t error = { 0 };
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    cr_expect_eq(skn_inspection_print(shown->inspection, format, file, &error),
                 SKN_OK, "%s", error.text);
    (void)fclose(file);
    return text;
}

static void
change_byte(const shown_t *shown, const char *name)
{
    char path[TEMP_FOLDER_BYTES + 64];
    (void)snprintf(path, sizeof(path), "%s/%s/output.safetensors",
                   shown->fixture.path, name);
    FILE *file = fopen(path, "r+");
    cr_assert(file && fseek(file, -9, SEEK_END) == 0);
    int byte = fgetc(file);
    cr_assert(byte != EOF && fseek(file, -1, SEEK_CUR) == 0);
    cr_assert(fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
}

Test(inspection, a_run_shows_its_checkpoints_and_the_tensors_of_the_newest)
{
    shown_t shown;
    make(&shown);
    look(&shown, "");
    const skn_inspection_info_t *info = shown.info;
    cr_expect_eq(strlen(info->run_id), 32u);
    cr_expect(strstr(info->config, "name: hidden"));
    cr_expect(!info->is_damaged && !info->failure && info->warning_count == 0);
    cr_expect(info->batch == 7 && info->epoch == 0 && !info->is_finished);
    cr_expect_eq(strlen(info->weights_sha256), 64u);
    cr_expect(strstr(info->metadata, "\"batch\":7"), "%s", info->metadata);
    cr_expect(strstr(info->checkpoint_path, NAME7));
    cr_expect(info->file_count == 2 && !info->has_ledger);
    cr_expect_gt(info->bytes, 4u * TRAINED_LABELS * TRAINED_HIDDEN);

    cr_assert_eq(info->checkpoint_count, 2u);
    for (size_t k = 0; k < 2; k++) {
        const skn_inspection_checkpoint_t *checkpoint =
            skn_inspection_checkpoint(shown.inspection, k);
        cr_expect_str_eq(checkpoint->name, k ? NAME1 : NAME7);
        cr_expect_eq(checkpoint->state, SKN_INSPECTION_WHOLE);
        cr_expect(checkpoint->batch == (k ? 1 : 7) &&
                  checkpoint->is_best == !k && checkpoint->is_latest == !k);
        cr_expect(!checkpoint->folders && checkpoint->folder_count == 0);
    }
    cr_expect_null(skn_inspection_checkpoint(shown.inspection, 2));

    cr_assert_eq(info->tensor_count, 4u);
    const skn_inspection_tensor_t *tensor =
        skn_inspection_tensor(shown.inspection, 3);
    cr_expect_str_eq(tensor->name, "output.weight");
    cr_expect_str_eq(tensor->dtype, "F32");
    cr_expect(tensor->dims == 2 && tensor->rows == TRAINED_LABELS &&
              tensor->columns == TRAINED_HIDDEN);
    cr_assert_eq(tensor->piece_count, 1u);
    cr_expect(tensor->pieces[0].rows == TRAINED_LABELS &&
              tensor->pieces[0].row_first == 0);
    char hash[SKN_HASH_TEXT_BYTES];
    skn_hash_text(shown.fixture.weight[1], 4u * TRAINED_LABELS * TRAINED_HIDDEN,
                  hash);
    cr_expect_str_eq(tensor->pieces[0].xxh3_128, hash);
    cr_expect_null(skn_inspection_tensor(shown.inspection, 4));
    drop(&shown);
}

Test(inspection, of_one_checkpoint_the_others_are_not_read)
{
    shown_t shown;
    make(&shown);
    change_byte(&shown, NAME7);
    look(&shown, "/" NAME1);
    cr_expect(shown.info->batch == 1 && !shown.info->is_damaged);
    cr_expect_eq(shown.info->checkpoint_count, 2u);
    cr_expect_eq(skn_inspection_checkpoint(shown.inspection, 0)->state,
                 SKN_INSPECTION_UNREAD);
    drop(&shown);
}

Test(inspection, damage_is_a_warning_and_an_older_checkpoint_is_shown)
{
    shown_t shown;
    make(&shown);
    change_byte(&shown, NAME7);
    look(&shown, "");
    cr_expect(shown.info->is_damaged && !shown.info->failure);
    cr_assert_eq(shown.info->warning_count, 1u);
    cr_expect(strstr(shown.info->warnings[0].text, NAME7 " cannot be used: "),
              "%s", shown.info->warnings[0].text);
    cr_expect_eq(skn_inspection_checkpoint(shown.inspection, 0)->state,
                 SKN_INSPECTION_DAMAGED);
    cr_expect_eq(shown.info->batch, 1u);
    char *text = print(&shown, SKN_INSPECTION_TEXT);
    cr_expect(strstr(text, "holds    " NAME7 "  best  latest  DAMAGED\n"
                           "         " NAME1 "\n"),
              "%s", text);
    free(text);
    drop(&shown);
}

Test(inspection, without_a_sound_checkpoint_the_list_and_the_reason_remain)
{
    shown_t shown;
    make(&shown);
    change_byte(&shown, NAME7);
    change_byte(&shown, NAME1);
    look(&shown, "");
    cr_assert(shown.info->failure);
    cr_expect_eq(shown.info->failure->status, SKN_BAD_DATA);
    cr_expect(shown.info->failure->text[0]);
    cr_expect_eq(shown.info->warning_count, 2u);
    cr_expect(shown.info->checkpoint_count == 2 && shown.info->is_damaged);
    cr_expect(!shown.info->checkpoint_path && !shown.info->weights_sha256 &&
              !skn_inspection_tensor(shown.inspection, 0));
    drop(&shown);
}

/* Two nodes hold the run, one of them a checkpoint without its files. */
Test(inspection, copies_are_of_the_file_that_the_fewest_nodes_have)
{
    shown_t shown;
    char command[8 * TEMP_FOLDER_BYTES];
    make(&shown);
    const char *path = shown.fixture.path;
    (void)snprintf(command, sizeof(command),
                   "mkdir '%ss' && cp -r '%s' '%ss/a' && cp -r '%s' '%ss/b' && "
                   "rm '%ss/b/" NAME1 "/output.safetensors'",
                   path, path, path, path, path, path);
    cr_assert_eq(system(command), 0);
    look(&shown, "s");
    cr_assert_eq(shown.info->checkpoint_count, 2u);
    for (size_t k = 0; k < 2; k++) {
        const skn_inspection_checkpoint_t *checkpoint =
            skn_inspection_checkpoint(shown.inspection, k);
        cr_expect_eq(checkpoint->folder_count, 2u);
        cr_expect_eq(checkpoint->copy_count, k == 0 ? 2u : 1u);
    }
    drop(&shown);
}

Test(inspection, a_link_that_leads_nowhere_is_damage)
{
    shown_t shown;
    char path[TEMP_FOLDER_BYTES + 64], hidden[TEMP_FOLDER_BYTES + 64];
    make(&shown);
    (void)snprintf(path, sizeof(path), "%s/" NAME7, shown.fixture.path);
    (void)snprintf(hidden, sizeof(hidden), "%s/elsewhere",
                   shown.fixture.folder);
    cr_assert_eq(rename(path, hidden), 0);
    look(&shown, "");
    cr_expect(shown.info->is_damaged && shown.info->warning_count == 1);
    cr_expect(strstr(shown.info->warnings[0].text, "`best`"));
    cr_expect_eq(shown.info->batch, 1u);
    drop(&shown);
}

Test(inspection, json_is_one_object_on_one_line_with_the_same_numbers)
{
    shown_t shown;
    skn_error_t error = { 0 };
    uint64_t batch = 0;
    make(&shown);
    look(&shown, "");
    char *text = print(&shown, SKN_INSPECTION_JSON);
    size_t bytes = strlen(text);
    cr_assert(bytes > 1 && strchr(text, '\n') == text + bytes - 1);
    json_t *event = skn_json_object_parse("it", text, bytes, &error);
    cr_assert(event, "%s", error.text);
    cr_expect(skn_json_u64(event, "batch", &batch) && batch == 7);
    cr_expect_str_eq(skn_json_word(event, "weights_sha256"),
                     shown.info->weights_sha256);
    cr_expect_str_eq(skn_json_word(event, "config"), shown.info->config);
    cr_expect_eq(json_array_size(json_object_get(event, "tensors")), 4u);
    cr_expect_eq(json_array_size(json_object_get(event, "checkpoints")), 2u);
    json_decref(event);
    free(text);
    drop(&shown);
}

Test(inspection, what_is_no_run_is_refused)
{
    char folder[TEMP_FOLDER_BYTES];
    skn_error_t error = { 0 };
    temp_folder_make(folder);
    cr_expect_null(skn_inspection_open(folder, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT, "%s", error.text);
    cr_expect_null(skn_inspection_open("", &error));
    cr_expect(error.text[0]);
    temp_folder_remove(folder);
}

Test(inspection, a_format_that_does_not_exist_is_refused)
{
    shown_t shown;
    skn_error_t error = { 0 };
    make(&shown);
    look(&shown, "");
    cr_expect_eq(skn_inspection_print(shown.inspection,
                                      (skn_inspection_format_t)9, stderr,
                                      &error),
                 SKN_USAGE);
    cr_expect_eq(skn_inspection_print(shown.inspection, SKN_INSPECTION_TEXT,
                                      NULL, &error),
                 SKN_USAGE);
    drop(&shown);
}
