/* test_admission.c - tests which members with a key the coordinator admits.
 * Covers topology/cluster/admission.c; real processes: tests/e2e/admitted.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <time.h>
#include <unistd.h>

#include "topology/cluster/admission.h"
#include "tests/support/model_fixture.h"

/* What no test waits for longer; a bound, not a measure. */
#define PATIENCE_MS 20000
#define SECOND 1000000000ull

static skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    (void)job, (void)set, (void)point, (void)error;
    return SKN_NO_INPUT;
}

/* A coordinator of node c, and two processes with its key. */
typedef struct scene {
    skn_keys_t *server_keys, *keys;
    skn_control_t *server, *member[2];
    skn_membership_t *membership;
    skn_model_t *model;
    skn_admission_t admission;
    uint64_t now_ns;
} scene_t;

static const char *const names[] = { "c" };

Test(admission, malformed_messages_are_reported_once_a_second)
{
    static skn_admission_t admission;
    uint32_t told = 0;
    for (uint64_t now_ns = SECOND; now_ns < 4 * SECOND; now_ns += SECOND / 100)
        told += skn_admission_complains(&admission, 2, now_ns);
    cr_expect_eq(told, 3);
    cr_expect(skn_admission_complains(&admission, 1, SECOND), "of another");
}

static void
open_lines(scene_t *scene)
{
    skn_error_t error = { 0 };
    const char *key = skn_keys_public(scene->keys);
    const skn_control_options_t is_listener = { .address = "tcp://127.0.0.1:0",
                                                .keys = scene->server_keys,
                                                .member_keys = &key,
                                                .member_count = 1,
                                                .needs_admission = true };
    scene->server = skn_control_listen(&is_listener, &error);
    cr_assert(scene->server, "%s", error.text);
    const skn_control_options_t options = {
        .address = skn_control_address(scene->server),
        .keys = scene->keys,
        .server_key = skn_keys_public(scene->server_keys),
    };
    for (int k = 0; k < 2; k++) {
        scene->member[k] = skn_control_dial(&options, &error);
        cr_assert(scene->member[k], "%s", error.text);
    }
}

static void
open_scene(scene_t *scene)
{
    const skn_membership_options_t options = { .count = 1,
                                               .least = 1,
                                               .choose = choose };
    *scene = (scene_t){ .now_ns = 100 * SECOND };
    scene->server_keys = skn_keys_new(NULL);
    scene->keys = skn_keys_new(NULL);
    open_lines(scene);
    scene->membership = skn_membership_new(&options, names, NULL);
    scene->model = fixture_good(FIXTURE);
    cr_assert(skn_admission_init(&scene->admission, scene->model, names,
                                 NULL) == SKN_OK);
    scene->admission.control = scene->server;
    scene->admission.membership = scene->membership;
}

static void
close_scene(scene_t *scene)
{
    skn_admission_fini(&scene->admission);
    skn_model_destroy(&scene->model);
    skn_membership_destroy(&scene->membership);
    for (int k = 0; k < 2; k++)
        skn_control_close(&scene->member[k]);
    skn_control_close(&scene->server);
    skn_keys_destroy(&scene->keys);
    skn_keys_destroy(&scene->server_keys);
}

/* No line ends before it is closed. */
static skn_control_arrival_t
await(skn_control_t *control, skn_control_kind_t kind)
{
    skn_control_arrival_t arrival;
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 20) {
        while (skn_control_take(control, &arrival)) {
            if (arrival.kind == kind)
                return arrival;
            cr_assert_neq(arrival.kind, SKN_CONTROL_LOST);
        }
        skn_control_wait(control, NULL, 0, 20);
    }
    cr_assert_fail("no arrival of kind %d", kind);
    return arrival;
}

/* Process k sends hello; true if it counts as the member's message. NULL: the
 * settings of the run. */
static bool
says_hello(scene_t *scene, int k, int incarnation, const char *settings,
           const char **news)
{
    skn_error_t error = { 0 };
    const skn_control_message_t hello = {
        .kind = SKN_CONTROL_MESSAGE_HELLO,
        .hello = { .version = SKN_CONTROL_VERSION,
                   .incarnation = (uint64_t)incarnation,
                   .settings =
                       settings ? settings : scene->admission.settings },
    };
    skn_status_t sent;
    while ((sent = skn_control_message_send(scene->member[k], 0, &hello,
                                            &error)) == SKN_BUSY)
        skn_control_wait(scene->member[k], NULL, 0, 20);
    cr_assert_eq(sent, SKN_OK, "%s", error.text);
    skn_control_arrival_t arrival = await(scene->server, SKN_CONTROL_MESSAGE);
    skn_control_message_t message;
    cr_assert_eq(skn_control_message_read(arrival.frame, &message, &error),
                 SKN_OK, "%s", error.text);
    bool taken = skn_admission_take(&scene->admission, &arrival, &message,
                                    scene->now_ns, news);
    skn_control_message_fini(&message);
    if (taken)
        skn_membership_hello(scene->membership, 0, (uint64_t)incarnation, 0,
                             scene->now_ns);
    return taken;
}

/* The message that process k receives. */
static void
expect_message(scene_t *scene, int k, skn_control_message_kind_t kind, int code,
               const char *part)
{
    skn_error_t error = { 0 };
    skn_control_message_t message;
    skn_control_arrival_t arrival =
        await(scene->member[k], SKN_CONTROL_MESSAGE);
    cr_assert_eq(skn_control_message_read(arrival.frame, &message, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_eq(message.kind, kind);
    if (code > 0) {
        cr_expect_eq(message.refuse.code, (uint64_t)code);
        cr_expect(strstr(message.refuse.text, part), "%s", message.refuse.text);
    }
    skn_control_message_fini(&message);
}

Test(admission, a_member_with_other_settings_is_refused_and_reported_once)
{
    scene_t scene;
    const char *news = NULL;
    open_scene(&scene);
    cr_expect_not(says_hello(&scene, 0, 1, "train.seed 9\n", &news));
    cr_assert(news);
    cr_expect(strstr(news, "refused: node 'c' has another config"), "%s", news);
    expect_message(&scene, 0, SKN_CONTROL_MESSAGE_REFUSE, 78,
                   "train.seed is 9 there");
    news = NULL;
    cr_expect_not(says_hello(&scene, 1, 2, "train.seed 9\n", &news));
    cr_expect_null(news);
    expect_message(&scene, 1, SKN_CONTROL_MESSAGE_REFUSE, 78,
                   "train.seed is 9 there");
    cr_expect_not(says_hello(&scene, 1, 2, "\n", &news));
    expect_message(&scene, 1, SKN_CONTROL_MESSAGE_REFUSE, 76, "an unknown way");
    cr_expect(says_hello(&scene, 1, 2, NULL, &news));
    close_scene(&scene);
}

Test(admission, a_member_that_dials_again_is_let_in)
{
    scene_t scene;
    const char *news = NULL;
    open_scene(&scene);
    cr_expect(says_hello(&scene, 0, 1, NULL, &news));
    cr_expect(says_hello(&scene, 1, 1, NULL, &news), "its new line");
    cr_expect_null(news);
    close_scene(&scene);
}

Test(admission, a_second_process_waits_until_the_first_has_answered)
{
    scene_t scene;
    const char *news = NULL;
    uint32_t member;
    skn_control_hello_t hello;
    open_scene(&scene);
    cr_expect(says_hello(&scene, 0, 1, NULL, &news));
    cr_expect_not(says_hello(&scene, 1, 2, NULL, &news));
    cr_expect_null(news);
    cr_expect_not(
        skn_admission_next(&scene.admission, scene.now_ns, &member, &hello));
    expect_message(&scene, 0, SKN_CONTROL_MESSAGE_IDENTIFY, 0, NULL);
    cr_expect_not(says_hello(&scene, 0, 1, NULL, &news));
    cr_assert(news);
    expect_message(&scene, 1, SKN_CONTROL_MESSAGE_REFUSE, 75,
                   "is already a member, from 127.0.");
    cr_expect(says_hello(&scene, 0, 1, NULL, &news), "as ever");
    close_scene(&scene);
}

Test(admission, one_that_does_not_answer_is_asked_again)
{
    scene_t scene;
    const char *news = NULL;
    uint32_t member;
    skn_control_hello_t hello;
    open_scene(&scene);
    cr_expect(says_hello(&scene, 0, 1, NULL, &news));
    cr_expect_not(says_hello(&scene, 1, 2, NULL, &news));
    expect_message(&scene, 0, SKN_CONTROL_MESSAGE_IDENTIFY, 0, NULL);
    scene.now_ns += SECOND;
    cr_expect_not(
        skn_admission_next(&scene.admission, scene.now_ns, &member, &hello));
    expect_message(&scene, 0, SKN_CONTROL_MESSAGE_IDENTIFY, 0, NULL);
    /* ... until it is dead. */
    scene.now_ns += 4 * SECOND;
    skn_membership_tick(scene.membership, scene.now_ns);
    cr_assert(
        skn_admission_next(&scene.admission, scene.now_ns, &member, &hello));
    cr_expect_eq(member, 0);
    cr_expect_eq(hello.incarnation, 2);
    cr_expect(says_hello(&scene, 1, 2, NULL, &news));
    close_scene(&scene);
}

Test(admission, a_second_process_is_let_in_when_the_firsts_line_has_ended)
{
    scene_t scene;
    const char *news = NULL;
    uint32_t member;
    skn_control_hello_t hello;
    open_scene(&scene);
    cr_expect(says_hello(&scene, 0, 1, NULL, &news));
    cr_expect_not(says_hello(&scene, 1, 2, NULL, &news));
    skn_control_close(&scene.member[0]);
    (void)await(scene.server, SKN_CONTROL_LOST);
    skn_admission_lost(&scene.admission, 0);
    cr_assert(
        skn_admission_next(&scene.admission, scene.now_ns, &member, &hello));
    cr_expect_null(news);
    close_scene(&scene);
}
