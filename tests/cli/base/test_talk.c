/* test_talk.c - tests the messages between coordinator and members, and which
 * are accepted. Covers cli/base/talk.c, cli/elastic/orders.c and
 * cli/elastic/balancing.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/elastic/balancing.h"
#include "cli/elastic/orders.h"
#include "cli/base/talk.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/text/json_text.h"
#include "tests/support/temp_folder.h"

static json_t *
read_text(const char *text, skn_error_t *error)
{
    const skn_frame_t frame = { text, strlen(text) };
    return cli_talk_read(frame, error);
}

Test(talk, an_object_is_read)
{
    skn_error_t error = { 0 };
    json_t *message =
        read_text("{\"say\":\"pulse\",\"batch\":12,\"x\":-4}", &error);
    cr_assert_not_null(message);
    cr_assert_str_eq(skn_json_word(message, "say"), "pulse");
    cr_assert_str_eq(skn_json_word(message, "batch"), "", "no text");
    cr_assert_eq(cli_talk_number(message, "batch"), 12);
    cr_assert_eq(cli_talk_number(message, "x"), 0, "less than nothing");
    cr_assert_eq(cli_talk_number(message, "nothing"), 0);
    json_decref(message);
}

Test(talk, what_is_no_object_is_refused)
{
    static const char *const texts[] = {
        "", "[]", "1", "{", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "\xff\xfe"
    };
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        skn_error_t error = { 0 };
        cr_assert_null(read_text(texts[k], &error), "%s", texts[k]);
        cr_assert_eq(error.status, SKN_BAD_MESSAGE);
    }
}

Test(talk, how_a_part_ended_is_a_word_or_an_error_of_printable_words)
{
    skn_error_t error = { 0 };
    json_t *message = read_text("{\"how\":\"done\",\"text\":\"x\"}", &error);
    cr_assert_eq(cli_talk_ending(message, &error), SKN_ENDING_DONE);
    cr_assert_eq(error.status, SKN_OK);
    json_decref(message);
    message = read_text("{\"how\":\"failed\",\"code\":65,\"text\":\"red "
                        "\\u001b[31m\\nfake: done\",\"hint\":\"\\u0007\"}",
                        &error);
    cr_assert_eq(cli_talk_ending(message, &error), SKN_ENDING_FAILED);
    cr_assert_eq(error.status, SKN_BAD_DATA);
    cr_assert_str_eq(error.text, "red \\x1b[31m\\nfake: done");
    cr_assert_str_eq(error.hint, "\\x07");
    json_decref(message);
}

Test(talk, sets_of_nodes_are_names)
{
    static const skn_model_node_t nodes[] = { { .name = "a" },
                                              { .name = "b" },
                                              { .name = "c" } };
    const skn_model_t model = { .nodes = nodes, .node_count = 3 };
    for (uint64_t set = 0; set < 8; set++) {
        json_t *names = cli_talk_names(&model, set);
        cr_assert_eq(json_array_size(names), (size_t)__builtin_popcountll(set));
        cr_assert_eq(cli_talk_set(&model, names), set);
        json_decref(names);
    }
    skn_error_t error = { 0 };
    json_t *odd = read_text("{\"nodes\":[\"c\",7,null,\"d\",\"c\"]}", &error);
    cr_assert_eq(cli_talk_set(&model, json_object_get(odd, "nodes")), 4);
    cr_assert_eq(cli_talk_set(&model, odd), 0, "no array");
    cr_assert_eq(cli_talk_set(&model, NULL), 0);
    json_decref(odd);
}

#define SEAL "0123456789abcdef0123456789abcdef"

static skn_status_t
take(const char *checkpoints, skn_held_t **list, size_t *count)
{
    char text[4096];
    skn_error_t error = { 0 };
    (void)snprintf(text, sizeof(text), "{\"checkpoints\":%s}", checkpoints);
    json_t *message = read_text(text, &error);
    cr_assert_not_null(message, "%s", text);
    skn_status_t status = cli_talk_take_holds(message, list, count, &error);
    json_decref(message);
    return status;
}

Test(talk, what_is_held_is_read)
{
    skn_held_t *list = NULL;
    size_t count = 0;
    cr_assert_eq(take("[{\"batch\":40,\"layout\":3,\"seal\":\"" SEAL
                      "\",\"run\":\"" SEAL "\",\"finished\":true,\"files\":"
                      "[[\"a.safetensors\",true],[\"b.safetensors\",false]]}]",
                      &list, &count),
                 SKN_OK);
    cr_assert_eq(count, 1);
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

Test(talk, nothing_is_held_by_who_says_nothing)
{
    skn_held_t *list = NULL;
    size_t count = 7;
    cr_assert_eq(take("[]", &list, &count), SKN_OK);
    cr_assert_eq(count, 0);
    skn_held_free(&list, count);
}

Test(talk, what_no_member_says_is_refused)
{
    static const char *const lists[] = {
        "[{}]",
        "[1]",
        "[{\"batch\":1,\"seal\":\"short\"}]",
        "[{\"batch\":1,\"seal\":\"" SEAL SEAL "\"}]",
        "[{\"batch\":1,\"seal\":\"" SEAL "\",\"run\":\"" SEAL SEAL "\"}]",
        "[{\"batch\":1,\"seal\":\"" SEAL "\",\"files\":[[]]}]",
        "[{\"batch\":1,\"seal\":\"" SEAL "\",\"files\":[[5,true]]}]",
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

/* --- orders --------------------------------------------------------------- */

static const skn_model_node_t nodes[] = {
    { .name = "a",
      .address = "tcp://a:1",
      .via = "",
      .cores = { .limit = 4 },
      .memory_bytes = SKN_AUTO,
      .speed = 1 },
    { .name = "b",
      .address = "tcp://b:1",
      .via = "",
      .cores = { .limit = SKN_AUTO },
      .memory_bytes = 1 << 20,
      .speed = 0.5,
      .notice_s = 30 },
};
static const skn_model_t model = { .nodes = nodes, .node_count = 2 };

static void
expect_json(json_t *message, const char *want)
{
    char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(6));
    cr_assert_not_null(text);
    cr_expect_str_eq(text, want);
    free(text);
    json_decref(message);
}

Test(talk, an_order_to_begin_says_all_of_the_plan)
{
    const double none[2] = { 0 };
    const char *const keys[] = { "KA", "KB" };
    const cli_manifests_t manifests = { 0 };
    cli_orders_t orders = {
        .model = &model,
        .keys = keys,
        .run_id = "0123",
        .manifests = &manifests,
        .seal = "",
        .how = "left",
        .balance = cli_balancing_new(&model, none, NULL),
    };
    skn_duty_t duty = { .kind = SKN_DUTY_START,
                        .generation = 3,
                        .set = 3,
                        .point = { .saved = true, .batch = 40, .layout = 2 } };
    expect_json(cli_orders_message(&orders, &duty),
                "{\"order\":\"start\",\"generation\":3,\"run\":\"0123\","
                "\"batch\":40,\"layout\":2,\"saved\":true,\"nodes\":["
                "{\"name\":\"a\",\"address\":\"tcp://a:1\",\"via\":\"\","
                "\"key\":\"KA\","
                "\"cores\":4,\"memory\":0,\"speed\":1.0,\"notice\":0.0},"
                "{\"name\":\"b\",\"address\":\"tcp://b:1\",\"via\":\"\","
                "\"key\":\"KB\","
                "\"cores\":\"auto\",\"memory\":1048576,\"speed\":0.5,"
                "\"notice\":30.0}]}");
    /* Who leaves comes last, and only gives what it holds. */
    duty.serving = 1;
    json_t *order = cli_orders_message(&orders, &duty);
    json_t *list = json_object_get(order, "nodes");
    cr_expect_str_eq(skn_json_word(json_array_get(list, 0), "name"), "b");
    cr_expect_null(json_object_get(json_array_get(list, 0), "leaves"));
    cr_expect_str_eq(skn_json_word(json_array_get(list, 1), "name"), "a");
    cr_expect(json_is_true(json_object_get(json_array_get(list, 1), "leaves")));
    json_decref(order);
    duty.kind = SKN_DUTY_ABORT;
    duty.cut = true;
    expect_json(cli_orders_message(&orders, &duty),
                "{\"order\":\"abort\",\"cut\":true}");
    duty.kind = SKN_DUTY_PAUSE;
    expect_json(cli_orders_message(&orders, &duty),
                "{\"order\":\"pause\",\"generation\":3}");
    duty.kind = SKN_DUTY_BYE;
    expect_json(cli_orders_message(&orders, &duty),
                "{\"order\":\"bye\",\"how\":\"left\"}");
    skn_error_t full = { .status = SKN_STORAGE, .text = "no", .hint = "room" };
    orders.fault = &full;
    orders.how = "stopped";
    expect_json(cli_orders_message(&orders, &duty),
                "{\"order\":\"bye\",\"how\":\"stopped\",\"code\":74,"
                "\"text\":\"no\","
                "\"hint\":\"room\"}");
    duty.kind = SKN_DUTY_TELL;
    cr_expect_null(cli_orders_message(&orders, &duty));
    skn_balance_t *balance = (skn_balance_t *)(uintptr_t)orders.balance;
    skn_balance_destroy(&balance);
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
Test(talk, manifests_go_along_as_far_as_there_is_room)
{
    static const char *const told[] = { "yes", "yes", "no", "no" };
    char parent[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
    skn_error_t error = { 0 };
    temp_folder_make(parent);
    (void)snprintf(path, sizeof(path), "%s/run", parent);
    fill_run(path, 4, SKN_CONTROL_BYTES_MAX / 4 - 4096);
    json_t *known = json_array();
    json_t *message = cli_talk_holds(path, known, &error);
    const json_t *items = json_object_get(message, "checkpoints");
    cr_assert_eq(json_array_size(items), 4, "%s", error.text);
    for (size_t k = 0; k < 4; k++) {
        const json_t *item = json_array_get(items, k);
        cr_expect_eq(cli_talk_number(item, "batch"), 4 - k);
        cr_expect_str_eq(json_object_get(item, "manifest") ? "yes" : "no",
                         told[k]);
        if (k < 2)
            (void)json_array_append(known, json_object_get(item, "seal"));
    }
    char *text = json_dumps(message, JSON_COMPACT);
    cr_expect_leq(strlen(text), SKN_CONTROL_BYTES_MAX);
    free(text);
    json_decref(message);
    message = cli_talk_holds(path, known, &error);
    items = json_object_get(message, "checkpoints");
    cr_expect_null(json_object_get(json_array_get(items, 0), "manifest"));
    cr_expect_not_null(json_object_get(json_array_get(items, 2), "manifest"));
    json_decref(message);
    json_decref(known);
    temp_folder_remove(parent);
}

/* By its seal: two checkpoints may be of the same batch and layout. */
Test(talk, an_order_to_begin_has_the_manifest_that_was_chosen)
{
    const double none[2] = { 0 };
    const char *const keys[] = { "KA", "KB" };
    skn_error_t error = { 0 };
    skn_json_text_t text = { 0 };
    char seal[SKN_HASH_TEXT_BYTES];
    cli_manifests_t manifests = { 0 };
    skn_json_text_add(&text, "{\"batch\":40");
    cr_assert_eq(skn_json_text_seal(&text, &error), SKN_OK);
    skn_json_seal_text(text.bytes, text.count, seal);
    json_t *holds = json_pack("{s[{ss ss}]}", "checkpoints", "seal", seal,
                              "manifest", text.bytes);
    cli_manifests_keep(&manifests, holds);
    json_decref(holds);
    cli_orders_t orders = {
        .model = &model,
        .keys = keys,
        .run_id = "0123",
        .manifests = &manifests,
        .seal = seal,
        .balance = cli_balancing_new(&model, none, NULL),
    };
    skn_duty_t duty = { .kind = SKN_DUTY_START,
                        .generation = 3,
                        .set = 3,
                        .point = { .saved = true, .batch = 40, .layout = 2 } };
    json_t *order = cli_orders_message(&orders, &duty);
    cr_expect_str_eq(skn_json_word(order, "manifest"), text.bytes);
    json_decref(order);
    seal[0] ^= 1;
    order = cli_orders_message(&orders, &duty);
    cr_expect_null(json_object_get(order, "manifest"));
    json_decref(order);
    skn_balance_t *balance = (skn_balance_t *)(uintptr_t)orders.balance;
    skn_balance_destroy(&balance);
    cli_manifests_drop(&manifests, NULL, NULL);
    skn_json_text_fini(&text);
}

/* --- speeds --------------------------------------------------------------- */

Test(talk, speeds_outlive_a_coordinator)
{
    double speeds[2] = { 0 };
    double measured[2] = { 0.25, 0 };
    skn_balance_t *balance = cli_balancing_new(&model, measured, NULL);
    cr_expect_eq(skn_balance_speed(balance, 1), 0.5, "as the file says");
    json_t *object = cli_balancing_json(balance, &model);
    cli_balancing_read(object, &model, speeds);
    cr_expect_eq(speeds[0], 0.25);
    cr_expect_eq(speeds[1], 0.5);
    json_decref(object);
    skn_balance_destroy(&balance);
    balance = cli_balancing_new(&model, speeds, NULL);
    cr_expect_eq(skn_balance_speed(balance, 0), 0.25);
    skn_balance_destroy(&balance);
    object = json_pack("{sf sf ss}", "z", 1.0, "a", -1.0, "b", "fast");
    cli_balancing_read(object, &model, speeds);
    cr_expect_eq(speeds[0], 0.25, "what is none is none");
    cr_expect_eq(speeds[1], 0.5);
    json_decref(object);
    cli_balancing_read(NULL, &model, speeds);
}
