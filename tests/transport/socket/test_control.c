/* test_control.c - tests the line between a coordinator and members, on
 * loopback.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/held_port.h"
#include "transport/socket/byte_socket.h"
#include "transport/socket/control.h"

/* What no test waits for longer; a bound, not a measure. */
#define PATIENCE_MS 20000

typedef struct pair {
    skn_keys_t *server_keys, *keys[2], *stranger;
    skn_control_t *server, *member[2];
    char address[64];
    bool needs_admission;
} pair_t;

static uint64_t
now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
open_server(pair_t *pair)
{
    skn_error_t error = { 0 };
    const char *keys[2] = { skn_keys_public(pair->keys[0]),
                            skn_keys_public(pair->keys[1]) };
    (void)snprintf(pair->address, sizeof(pair->address), "tcp://127.0.0.1:%u",
                   (unsigned)held_port());
    const skn_control_options_t options = {
        .address = pair->address,
        .keys = pair->server_keys,
        .member_keys = keys,
        .member_count = 2,
        .needs_admission = pair->needs_admission,
    };
    pair->server = skn_control_listen(&options, &error);
    cr_assert(pair->server, "%s", error.text);
}

static skn_control_t *
dial(const pair_t *pair, const skn_keys_t *keys)
{
    skn_error_t error = { 0 };
    const skn_control_options_t options = {
        .address = pair->address,
        .keys = keys,
        .server_key = skn_keys_public(pair->server_keys),
    };
    skn_control_t *control = skn_control_dial(&options, &error);
    cr_assert_not_null(control, "%s", error.text);
    return control;
}

static void
open_pair_that(pair_t *pair, bool needs_admission)
{
    *pair = (pair_t){ .needs_admission = needs_admission };
    pair->server_keys = skn_keys_new(NULL);
    pair->stranger = skn_keys_new(NULL);
    for (size_t k = 0; k < 2; k++)
        pair->keys[k] = skn_keys_new(NULL);
    open_server(pair);
    for (size_t k = 0; k < 2; k++)
        pair->member[k] = dial(pair, pair->keys[k]);
}

static void
open_pair(pair_t *pair)
{
    open_pair_that(pair, false);
}

static void
close_pair(pair_t *pair)
{
    for (size_t k = 0; k < 2; k++) {
        skn_control_close(&pair->member[k]);
        skn_keys_destroy(&pair->keys[k]);
    }
    skn_control_close(&pair->server);
    skn_keys_destroy(&pair->server_keys);
    skn_keys_destroy(&pair->stranger);
}

/* The next arrival of `kind`. */
static skn_control_arrival_t
await(skn_control_t *control, skn_control_kind_t kind)
{
    uint64_t until = now_ms() + PATIENCE_MS;
    skn_control_arrival_t arrival;
    while (now_ms() < until) {
        while (skn_control_take(control, &arrival))
            if (arrival.kind == kind)
                return arrival;
        skn_control_wait(control, NULL, 0, 50);
    }
    cr_assert_fail("no arrival of kind %d", kind);
    return arrival;
}

static void
send_text(skn_control_t *control, uint32_t member, const char *text)
{
    uint64_t until = now_ms() + PATIENCE_MS;
    const skn_frame_t frame = { text, strlen(text) };
    skn_status_t status = SKN_BUSY;
    while (status == SKN_BUSY && now_ms() < until) {
        status = skn_control_send(control, member, frame, NULL);
        if (status == SKN_BUSY)
            skn_control_wait(control, NULL, 0, 20);
    }
    cr_assert_eq(status, SKN_OK);
}

static void
expect_text(const skn_control_arrival_t *arrival, const char *text)
{
    cr_assert_eq(arrival->frame.bytes, strlen(text));
    cr_assert_arr_eq(arrival->frame.at, text, strlen(text));
}

Test(control, members_speak_and_are_answered)
{
    pair_t pair;
    open_pair(&pair);
    for (uint32_t k = 0; k < 2; k++) {
        send_text(pair.member[k], 0, k == 0 ? "from a" : "from b");
        skn_control_arrival_t heard = await(pair.server, SKN_CONTROL_MESSAGE);
        cr_assert_eq(heard.member, k, "known by its key");
        cr_expect(heard.fresh);
        expect_text(&heard, k == 0 ? "from a" : "from b");
        send_text(pair.server, k, "answer");
        heard = await(pair.member[k], SKN_CONTROL_MESSAGE);
        expect_text(&heard, "answer");
    }
    close_pair(&pair);
}

Test(control, many_messages_come_in_their_order)
{
    pair_t pair;
    char text[32];
    open_pair(&pair);
    for (int k = 0; k < 40; k++) { /* fewer than may wait */
        (void)snprintf(text, sizeof(text), "message %d", k);
        send_text(pair.member[0], 0, text);
    }
    for (int k = 0; k < 40; k++) {
        skn_control_arrival_t heard = await(pair.server, SKN_CONTROL_MESSAGE);
        (void)snprintf(text, sizeof(text), "message %d", k);
        expect_text(&heard, text);
        cr_assert_eq(heard.member, 0);
        cr_expect_eq(heard.fresh, k == 0, "message %d", k);
    }
    close_pair(&pair);
}

Test(control, a_long_message_passes)
{
    pair_t pair;
    size_t bytes = SKN_CONTROL_BYTES_MAX;
    char *text = malloc(bytes + 1);
    open_pair(&pair);
    memset(text, 'x', bytes + 1);
    const skn_frame_t over = { text, bytes + 1 }, none = { text, 0 };
    cr_assert_eq(skn_control_send(pair.member[0], 0, over, NULL), SKN_INTERNAL);
    cr_assert_eq(skn_control_send(pair.member[0], 0, none, NULL), SKN_INTERNAL);
    text[bytes] = '\0';
    send_text(pair.member[0], 0, text);
    skn_control_arrival_t heard = await(pair.server, SKN_CONTROL_MESSAGE);
    cr_assert_eq(heard.frame.bytes, bytes);
    free(text);
    close_pair(&pair);
}

Test(control, the_end_of_a_member_is_seen)
{
    pair_t pair;
    open_pair(&pair);
    send_text(pair.member[1], 0, "hello");
    (void)await(pair.server, SKN_CONTROL_MESSAGE);
    skn_control_close(&pair.member[1]);
    skn_control_arrival_t heard = await(pair.server, SKN_CONTROL_LOST);
    cr_assert_eq(heard.member, 1);
    const skn_frame_t frame = { "x", 1 };
    cr_assert_eq(skn_control_send(pair.server, 1, frame, NULL), SKN_BUSY);
    close_pair(&pair);
}

Test(control, a_member_finds_a_coordinator_that_comes_back)
{
    pair_t pair;
    open_pair(&pair);
    send_text(pair.member[0], 0, "one");
    (void)await(pair.server, SKN_CONTROL_MESSAGE);
    (void)await(pair.member[0], SKN_CONTROL_CONNECTED);
    skn_control_close(&pair.server);
    (void)await(pair.member[0], SKN_CONTROL_LOST);
    char before[64];
    memcpy(before, pair.address, sizeof(before));
    skn_error_t error = { 0 };
    const char *keys[2] = { skn_keys_public(pair.keys[0]),
                            skn_keys_public(pair.keys[1]) };
    const skn_control_options_t options = { .address = before,
                                            .keys = pair.server_keys,
                                            .member_keys = keys,
                                            .member_count = 2 };
    pair.server = skn_control_listen(&options, &error);
    cr_assert_not_null(pair.server, "%s", error.text);
    (void)await(pair.member[0], SKN_CONTROL_CONNECTED);
    send_text(pair.member[0], 0, "two");
    skn_control_arrival_t heard = await(pair.server, SKN_CONTROL_MESSAGE);
    expect_text(&heard, "two");
    close_pair(&pair);
}

Test(control, a_stranger_is_refused_and_reported)
{
    pair_t pair;
    open_pair(&pair);
    skn_control_t *stranger = dial(&pair, pair.stranger);
    cr_expect(await(stranger, SKN_CONTROL_REFUSED).over);
    skn_control_arrival_t heard = await(pair.server, SKN_CONTROL_STRANGER);
    cr_assert_not_null(
        memmem(heard.frame.at, heard.frame.bytes, "refused a stranger", 18));
    skn_control_close(&stranger);
    close_pair(&pair);
}

/* The line before may not have been found dead yet. */
Test(control, a_member_that_dials_again_is_heard_afresh)
{
    pair_t pair;
    open_pair(&pair);
    send_text(pair.member[0], 0, "one");
    (void)await(pair.server, SKN_CONTROL_MESSAGE);
    skn_control_t *again = dial(&pair, pair.keys[0]);
    send_text(again, 0, "two");
    cr_expect(await(pair.server, SKN_CONTROL_MESSAGE).fresh);
    send_text(pair.server, 0, "answer");
    skn_control_arrival_t heard = await(again, SKN_CONTROL_MESSAGE);
    expect_text(&heard, "answer");
    skn_control_close(&again);
    close_pair(&pair);
}

/* Nobody is behind the port, or somebody who hangs up: it may come. */
/* Its descriptor is likely that of the line before, whose end is told late. */
Test(control, the_end_of_an_older_line_is_not_taken_for_that_of_a_new_one)
{
    pair_t pair;
    skn_control_arrival_t arrival;
    open_pair(&pair);
    send_text(pair.member[1], 0, "from b");
    (void)await(pair.server, SKN_CONTROL_MESSAGE);
    for (int k = 0; k < 5; k++) {
        struct pollfd polled[2];
        send_text(pair.member[0], 0, "old");
        (void)await(pair.server, SKN_CONTROL_MESSAGE);
        skn_control_close(&pair.member[0]);
        skn_control_polled(pair.server, polled);
        cr_assert_eq(poll(&polled[1], 1, PATIENCE_MS), 1, "it has ended");
        pair.member[0] = dial(&pair, pair.keys[0]);
        send_text(pair.member[0], 0, "new");
        (void)poll(NULL, 0, 100); /* so that it is there before the end is */
        (void)await(pair.server, SKN_CONTROL_MESSAGE);
        while (skn_control_take(pair.server, &arrival))
            cr_assert_neq(arrival.kind, SKN_CONTROL_LOST, "round %d", k);
        const skn_frame_t answer = { "answer", 6 };
        cr_assert_eq(skn_control_send(pair.server, 0, answer, NULL), SKN_OK);
        (void)await(pair.member[0], SKN_CONTROL_MESSAGE);
    }
    /* ... and its own is. */
    skn_control_close(&pair.member[0]);
    arrival = await(pair.server, SKN_CONTROL_LOST);
    cr_expect_eq(arrival.member, 0);
    close_pair(&pair);
}

Test(control, a_member_that_is_hung_up_on_dials_again_by_itself)
{
    pair_t pair = { 0 };
    skn_address_t address;
    open_pair(&pair);
    for (size_t k = 0; k < 2; k++)
        skn_control_close(&pair.member[k]);
    skn_control_close(&pair.server);
    cr_assert_eq(skn_address_read(pair.address, true, &address, NULL), SKN_OK);
    int listener = skn_byte_socket_listen(&address, NULL);
    cr_assert_geq(listener, 0);
    pair.member[0] = dial(&pair, pair.keys[0]);
    for (int tries = 0; tries < 2; tries++) {
        struct pollfd item = { listener, POLLIN, 0 };
        cr_assert_eq(poll(&item, 1, PATIENCE_MS), 1);
        (void)close(skn_byte_socket_accept(listener, 0));
        cr_expect_not(await(pair.member[0], SKN_CONTROL_REFUSED).over);
    }
    (void)close(listener);
    close_pair(&pair);
}

Test(control, beyond_loopback_there_is_no_line_without_a_key)
{
    skn_error_t error = { 0 };
    const skn_control_options_t options = { .address = "tcp://10.1.2.3:7000" };
    cr_assert_null(skn_control_dial(&options, &error));
    cr_assert_eq(error.status, SKN_BAD_CONFIG);
    cr_assert_not_null(strstr(error.text, "has no key"), "%s", error.text);
}

Test(control, a_port_in_use_is_named)
{
    pair_t pair;
    skn_error_t error = { 0 };
    open_pair(&pair);
    const skn_control_options_t options = { .address = pair.address,
                                            .keys = pair.server_keys };
    cr_assert_null(skn_control_listen(&options, &error));
    cr_assert_eq(error.status, SKN_UNAVAILABLE);
    cr_assert_not_null(strstr(error.text, pair.address), "%s", error.text);
    close_pair(&pair);
}

Test(control, a_connection_with_a_members_key_is_that_member_once_admitted)
{
    pair_t pair;
    const skn_frame_t frame = { "answer", 6 };
    open_pair_that(&pair, true);
    send_text(pair.member[0], 0, "first");
    skn_control_arrival_t heard = await(pair.server, SKN_CONTROL_MESSAGE);
    cr_expect(heard.other && heard.fresh);
    cr_expect(skn_control_send(pair.server, 0, frame, NULL) == SKN_BUSY);
    cr_expect_str_eq(skn_control_where(pair.server, 0, true), "127.0.0.1");
    cr_assert(skn_control_admit(pair.server, 0));
    cr_expect_not(skn_control_admit(pair.server, 0), "nobody else is there");
    send_text(pair.member[0], 0, "again");
    heard = await(pair.server, SKN_CONTROL_MESSAGE);
    cr_expect(!heard.other && !heard.fresh);

    skn_control_t *second = dial(&pair, pair.keys[0]);
    send_text(second, 0, "second");
    heard = await(pair.server, SKN_CONTROL_MESSAGE);
    cr_expect(heard.member == 0 && heard.other && heard.fresh);
    send_text(pair.server, 0, "to the first");
    cr_assert(skn_control_answer(pair.server, 0, frame, NULL) == SKN_OK);
    heard = await(second, SKN_CONTROL_MESSAGE);
    expect_text(&heard, "answer");
    heard = await(pair.member[0], SKN_CONTROL_MESSAGE);
    expect_text(&heard, "to the first");

    cr_assert(skn_control_admit(pair.server, 0));
    send_text(pair.member[0], 0, "late");
    heard = await(pair.server, SKN_CONTROL_MESSAGE);
    cr_expect(heard.other, "the first is the other one now");
    skn_control_close(&second);
    heard = await(pair.server, SKN_CONTROL_LOST);
    cr_expect_eq(heard.member, 0);
    close_pair(&pair);
}
