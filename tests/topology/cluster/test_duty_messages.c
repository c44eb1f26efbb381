/* test_duty_messages.c - tests the messages that follow from a coordinator's
 * duties, and that speeds outlive it. Covers
 * topology/cluster/duty_messages.c and topology/cluster/balancing.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "topology/cluster/balancing.h"
#include "topology/cluster/duty_messages.h"
#include "formats/text/json_text.h"

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

static const double no_speeds[2];
static const char *const keys[] = { "KA", "KB" };
static skn_manifests_t manifests;
static skn_balance_t *balance;
static skn_duty_messages_t messages;

static void
setup(void)
{
    balance = skn_balancing_new(&model, no_speeds, NULL);
    messages = (skn_duty_messages_t){
        .model = &model,
        .keys = keys,
        .run_id = "0123",
        .manifests = &manifests,
        .seal = "",
        .how = "left",
        .balance = balance,
    };
}

static void
teardown(void)
{
    skn_balance_destroy(&balance);
    skn_manifests_drop(&manifests, NULL, NULL);
}

TestSuite(duty_messages, .init = setup, .fini = teardown);

static void
expect_text(const skn_duty_t *duty, const char *want)
{
    skn_control_message_t message;
    skn_duty_messages_make(&messages, duty, &message);
    char *text = skn_control_message_write(&message);
    cr_assert_not_null(text);
    cr_expect_str_eq(text, want);
    free(text);
    skn_control_message_fini(&message);
}

Test(duty_messages, a_start_has_all_of_the_plan)
{
    skn_duty_t duty = { .kind = SKN_DUTY_START,
                        .generation = 3,
                        .set = 3,
                        .point = { .saved = true, .batch = 40, .layout = 2 } };
    expect_text(&duty,
                "{\"generation\":3,\"run\":\"0123\",\"batch\":40,\"layout\":2,"
                "\"saved\":true,\"nodes\":["
                "{\"name\":\"a\",\"address\":\"tcp://a:1\",\"key\":\"KA\","
                "\"cores\":4,\"speed\":1.0},"
                "{\"name\":\"b\",\"address\":\"tcp://b:1\",\"key\":\"KB\","
                "\"cores\":\"auto\",\"memory\":1048576,\"speed\":0.5,"
                "\"notice\":30.0}],\"type\":\"start\"}");
    /* The one that leaves comes last, and only gives what it holds. */
    duty.serving = 1;
    skn_control_message_t message;
    skn_duty_messages_make(&messages, &duty, &message);
    const json_t *list = message.start.nodes;
    cr_expect_str_eq(skn_json_word(json_array_get(list, 0), "name"), "b");
    cr_expect_null(json_object_get(json_array_get(list, 0), "leaves"));
    cr_expect_str_eq(skn_json_word(json_array_get(list, 1), "name"), "a");
    cr_expect(json_is_true(json_object_get(json_array_get(list, 1), "leaves")));
    skn_control_message_fini(&message);
}

Test(duty_messages, the_others_are_short)
{
    skn_duty_t duty = { .kind = SKN_DUTY_ABORT,
                        .generation = 3,
                        .salvage = true };
    expect_text(&duty, "{\"salvage\":true,\"type\":\"abort\"}");
    duty.kind = SKN_DUTY_PAUSE;
    expect_text(&duty, "{\"generation\":3,\"type\":\"pause\"}");
    duty.kind = SKN_DUTY_IDENTIFY;
    expect_text(&duty, "{\"type\":\"identify\"}");
    duty.kind = SKN_DUTY_LIST;
    expect_text(&duty, "{\"known\":[],\"type\":\"list\"}");
    duty.kind = SKN_DUTY_DISMISS;
    expect_text(&duty, "{\"how\":\"left\",\"type\":\"dismiss\"}");
    skn_error_t full = { .status = SKN_STORAGE, .text = "no", .hint = "room" };
    messages.fault = &full;
    messages.how = "stopped";
    expect_text(&duty, "{\"how\":\"stopped\",\"code\":74,\"text\":\"no\","
                       "\"hint\":\"room\",\"type\":\"dismiss\"}");
    duty.kind = SKN_DUTY_REPORT;
    skn_control_message_t message;
    skn_duty_messages_make(&messages, &duty, &message);
    cr_expect_eq(message.kind, SKN_CONTROL_MESSAGE_UNKNOWN);
    cr_expect_null(skn_control_message_write(&message));
}

/* By its seal: two checkpoints may be of the same batch and layout. */
Test(duty_messages, a_start_has_the_manifest_that_was_chosen)
{
    skn_error_t error = { 0 };
    skn_json_text_t text = { 0 };
    char seal[SKN_HASH_TEXT_BYTES];
    skn_json_text_add(&text, "{\"batch\":40");
    cr_assert_eq(skn_json_text_seal(&text, &error), SKN_OK);
    skn_json_seal_text(text.bytes, text.count, seal);
    skn_manifests_keep(&manifests, seal, text.bytes);
    messages.seal = seal;
    skn_duty_t duty = { .kind = SKN_DUTY_START,
                        .generation = 3,
                        .set = 3,
                        .point = { .saved = true, .batch = 40, .layout = 2 } };
    skn_control_message_t message;
    skn_duty_messages_make(&messages, &duty, &message);
    cr_expect_str_eq(message.start.manifest, text.bytes);
    skn_control_message_fini(&message);
    seal[0] ^= 1;
    skn_duty_messages_make(&messages, &duty, &message);
    cr_expect_null(message.start.manifest);
    skn_control_message_fini(&message);
    skn_json_text_fini(&text);
}

/* --- speeds --------------------------------------------------------------- */

Test(duty_messages, speeds_outlive_a_coordinator)
{
    double speeds[2] = { 0 };
    double measured[2] = { 0.25, 0 };
    skn_balance_destroy(&balance);
    balance = skn_balancing_new(&model, measured, NULL);
    cr_expect_eq(skn_balance_speed(balance, 1), 0.5, "as the file says");
    json_t *object = skn_balancing_json(balance, &model);
    skn_balancing_read(object, &model, speeds);
    cr_expect_eq(speeds[0], 0.25);
    cr_expect_eq(speeds[1], 0.5);
    json_decref(object);
    skn_balance_destroy(&balance);
    balance = skn_balancing_new(&model, speeds, NULL);
    cr_expect_eq(skn_balance_speed(balance, 0), 0.25);
    skn_balance_destroy(&balance);
    object = json_pack("{sf sf ss}", "z", 1.0, "a", -1.0, "b", "fast");
    skn_balancing_read(object, &model, speeds);
    cr_expect_eq(speeds[0], 0.25, "what is none is none");
    cr_expect_eq(speeds[1], 0.5);
    json_decref(object);
    skn_balancing_read(NULL, &model, speeds);
}
