/* test_held_list.c - tests the message that lists the checkpoints of a node.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "topology/cluster/held_list.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/text/json_text.h"
#include "tests/support/temp_folder.h"

#define SEAL "0123456789abcdef0123456789abcdef"

/* Reads an inventory of these checkpoints. */
static char manifest[16]; /* of the first one that was taken */

static skn_status_t
take(const char *checkpoints, skn_held_t **list, size_t *count)
{
    char text[4096];
    skn_error_t error = { 0 };
    skn_control_message_t message;
    const char *text_of[SKN_HELD_LIST_MAX] = { "" };
    (void)snprintf(text, sizeof(text),
                   "{\"type\":\"inventory\",\"checkpoints\":%s}", checkpoints);
    const skn_frame_t frame = { text, strlen(text) };
    skn_status_t status = skn_control_message_read(frame, &message, &error);
    if (status == SKN_OK)
        status = skn_held_list_read(&message.inventory, list, count, text_of,
                                    &error);
    (void)snprintf(manifest, sizeof(manifest), "%s", text_of[0]);
    skn_control_message_fini(&message);
    return status;
}

Test(held_list, what_is_held_is_read)
{
    skn_held_t *list = NULL;
    size_t count = 0;
    cr_assert_eq(take("[{\"batch\":40,\"layout\":3,\"seal\":\"" SEAL
                      "\",\"run\":\"" SEAL "\",\"finished\":true,\"files\":"
                      "[[\"a.safetensors\",true],[\"b.safetensors\",false]],"
                      "\"manifest\":\"text\"}]",
                      &list, &count),
                 SKN_OK);
    cr_assert_eq(count, 1);
    cr_assert_str_eq(manifest, "text");
    cr_assert_eq(list[0].batch, 40);
    cr_assert_eq(list[0].generation, 3);
    cr_assert(list[0].finished);
    cr_assert_str_eq(list[0].run_id, SEAL);
    cr_assert_eq(list[0].file_count, 2);
    cr_assert(list[0].file[0].here);
    cr_assert_not(list[0].file[1].here);
    cr_assert_str_eq(list[0].file[1].name, "b.safetensors");
    skn_held_free(&list, count);
}

Test(held_list, an_empty_list_holds_nothing)
{
    skn_held_t *list = NULL;
    size_t count = 7;
    cr_assert_eq(take("[]", &list, &count), SKN_OK);
    cr_assert_eq(count, 0);
    skn_held_free(&list, count);
}

/* clang-format off */
#define ITEM(seal, run, files)                                                 \
    "{\"batch\":1,\"layout\":1,\"seal\":\"" seal "\",\"run\":\"" run       \
    "\",\"finished\":false,\"files\":" files "}"
/* clang-format on */

Test(held_list, an_item_with_all_fields_is_read)
{
    skn_held_t *list = NULL;
    size_t count = 0;
    cr_expect_eq(take("[" ITEM(SEAL, SEAL, "[]") "]", &list, &count), SKN_OK);
    cr_expect_eq(count, 1);
    cr_expect_str_eq(manifest, "");
    skn_held_free(&list, count);
}

Test(held_list, what_no_member_sends_is_refused)
{
    static const char *const lists[] = {
        "[{}]",
        "[1]",
        "[" ITEM("short", SEAL, "[]") "]",
        "[" ITEM(SEAL SEAL, SEAL, "[]") "]",
        "[" ITEM(SEAL, SEAL SEAL, "[]") "]",
        "[" ITEM(SEAL, SEAL, "[[]]") "]",
        "[" ITEM(SEAL, SEAL, "[[5,true]]") "]",
        "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
    };
    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
        skn_held_t *list = NULL;
        size_t count = 0;
        cr_assert_eq(take(lists[k], &list, &count), SKN_BAD_MESSAGE, "%s",
                     lists[k]);
        cr_assert_eq(count, 0);
        skn_held_free(&list, count);
    }
}

/* Checkpoints of batch 1 to `count`: a file, and so many bytes of metadata. */
static void
fill_run(const char *path, unsigned count, size_t bytes)
{
    static const skn_piece_t piece = {
        "w", SKN_DTYPE_U64, 1, 1, 1, 1, 1, 0, 0
    };
    static const uint64_t number = 7;
    skn_error_t error = { 0 };
    skn_run_options_t options = { .run_id = SEAL, .config_text = "" };
    skn_run_folder_t *run = skn_run_folder_open(path, &options, NULL, &error);
    for (unsigned batch = 1; batch <= count; batch++) {
        skn_json_text_t text = { 0 };
        skn_json_text_add(&text, "{\"batch\":%u,\"filled\":\"%*s\"}", batch,
                          (int)bytes, "");
        skn_checkpoint_writer_t *writer =
            skn_checkpoint_begin(run, batch, 1, &error);
        skn_checkpoint_shard_t *file = skn_checkpoint_shard_open(
            writer, "w.safetensors", &piece, 1, &error);
        cr_assert_eq(skn_checkpoint_shard_write(file, 0, 0, &number,
                                                sizeof(number), &error),
                     SKN_OK);
        cr_assert_eq(skn_checkpoint_shard_close(&file, &error), SKN_OK);
        cr_assert_eq(
            skn_checkpoint_finish(&writer, text.bytes, 99, NULL, &error),
            SKN_OK, "%s", error.text);
        skn_json_text_fini(&text);
    }
    skn_run_folder_close(&run);
}

/* A message that is too long is never sent, and its member never in. */
Test(held_list, manifests_are_included_while_there_is_room)
{
    static const bool is_sent[] = { true, true, false, false };
    char parent[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    skn_error_t error = { 0 };
    skn_control_message_t message;
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
    fill_run(path, 4, SKN_CONTROL_BYTES_MAX / 4 - 4096);
    json_t *known = json_array();
    skn_held_list_make(path, known, &message, &error);
    const json_t *items = message.inventory.checkpoints;
    cr_assert_eq(json_array_size(items), 4, "%s", error.text);
    for (size_t k = 0; k < 4; k++) {
        const json_t *item = json_array_get(items, k);
        cr_expect_eq(skn_json_number(item, "batch"), (double)(4 - k));
        cr_expect_eq(json_object_get(item, "manifest") != NULL, is_sent[k]);
        if (k < 2)
            (void)json_array_append(known, json_object_get(item, "seal"));
    }
    char *text = skn_control_message_write(&message);
    cr_expect_leq(strlen(text), SKN_CONTROL_BYTES_MAX);
    free(text);
    skn_control_message_fini(&message);
    skn_held_list_make(path, known, &message, &error);
    items = message.inventory.checkpoints;
    cr_expect_null(json_object_get(json_array_get(items, 0), "manifest"));
    cr_expect_not_null(json_object_get(json_array_get(items, 2), "manifest"));
    skn_control_message_fini(&message);
    json_decref(known);
    temp_folder_remove(parent);
}

Test(held_list, a_node_without_a_run_folder_lists_nothing)
{
    skn_error_t error = { 0 };
    skn_control_message_t message;
    skn_held_list_make("/nonexistent/run", NULL, &message, &error);
    char *text = skn_control_message_write(&message);
    cr_expect_str_eq(text, "{\"checkpoints\":[],\"type\":\"inventory\"}");
    free(text);
    skn_control_message_fini(&message);
}
