/* fuzz_link.c - feeds any bytes to a live link, as if a peer had sent them.
 *
 * The input is a list of steps: fragments of any bytes, fragments whose header
 * is valid where it must be (or the deeper code would never be reached), time,
 * records to send, cuts. For every input, memory stays within its bound, the
 * state is in the table, and a dead link has a reason.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transport/link/fragment.h"
#include "transport/link/link.h"

#define WINDOW_BYTES ((size_t)1 << 16)
#define RECORD_BYTES_MAX ((size_t)1 << 18)
#define MEMORY_BYTES_MAX ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

typedef struct input {
    const uint8_t *at;
    size_t left;
} input_t;

typedef struct world {
    skn_link_t *link;
    uint64_t now_ns;
    input_t input;
} world_t;

static uint8_t
next_byte(input_t *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

/* 0 to 8 bytes of it, so that small numbers are cheap. */
static uint64_t
next_number(input_t *input)
{
    uint64_t number = 0;
    for (unsigned width = next_byte(input) % 9; width > 0; width--)
        number = number << 8 | next_byte(input);
    return number;
}

static skn_frame_t
next_bytes(input_t *input, size_t most)
{
    size_t count = (size_t)next_number(input);
    count = count < most ? count : most;
    count = count < input->left ? count : input->left;
    skn_frame_t frame = { input->at, count };
    input->at += count;
    input->left -= count;
    return frame;
}

static void
take(world_t *world, skn_frame_t header, skn_frame_t body)
{
    skn_error_t error = { 0 };
    skn_status_t status =
        skn_link_take(world->link, world->now_ns, header, body, &error);
    assert(status == SKN_OK || (error.status == status && *error.text));
    (void)status;
}

static void
take_sound(world_t *world)
{
    input_t *input = &world->input;
    uint8_t bytes[SKN_FRAGMENT_HEADER_BYTES_MAX];
    skn_fragment_header_t header = {
        .version = SKN_LINK_VERSION,
        .type = next_byte(input) % 8,
        .node = 1,
        .incarnation = 9 + next_byte(input) % 32 / 31,
        .peer = 8,
    };
    memset(header.run, 7, sizeof(header.run));
    header.offset = next_number(input);
    header.ack = next_number(input);
    header.credit = next_number(input);
    header.held = next_number(input);
    header.stamp = next_number(input);
    header.echo = next_number(input);
    size_t count = skn_fragment_write(&header, bytes);
    take(world, (skn_frame_t){ bytes, count },
         next_bytes(input, SKN_FRAGMENT_BYTES_MAX + 1));
}

static void
step(world_t *world)
{
    static const uint8_t zeros[5000];
    input_t *input = &world->input;
    skn_fragment_t fragment;
    skn_frame_t frame;
    switch (next_byte(input) % 8) {
    case 0:
        frame = next_bytes(input, 300);
        take(world, frame, next_bytes(input, SKN_FRAGMENT_BYTES_MAX + 1));
        break;
    case 1:
    case 2:
        take_sound(world);
        break;
    case 3:
        world->now_ns += next_number(input) % (UINT64_C(1) << 36);
        break;
    case 4:
        frame = (skn_frame_t){ zeros, next_number(input) % sizeof(zeros) };
        (void)skn_link_send(world->link, &frame, 1, NULL);
        break;
    case 5:
        while (skn_link_record(world->link, &frame))
            assert(frame.bytes >= 1 && frame.bytes <= RECORD_BYTES_MAX);
        break;
    case 6:
        if (next_byte(input) % 2)
            skn_link_connected(world->link, world->now_ns);
        else
            skn_link_disconnected(world->link, world->now_ns);
        break;
    default:
        if (next_byte(input) == 255)
            skn_link_finish(world->link);
    }
    while (skn_link_next(world->link, world->now_ns, &fragment) ||
           skn_link_next_pulse(world->link, world->now_ns, &fragment)) {
        skn_fragment_header_t header;
        skn_link_reason_t reason;
        skn_status_t status = skn_fragment_read(
            fragment.header, fragment.body.bytes, &header, &reason, NULL);
        assert(status == SKN_OK); /* what we say, we understand */
        (void)status;
    }
}

static void
check(const world_t *world)
{
    skn_link_counts_t counts;
    skn_link_count(world->link, &counts);
    assert(counts.memory_bytes < MEMORY_BYTES_MAX);
    assert(counts.arrived_bytes <= WINDOW_BYTES);
    assert(counts.in_flight_bytes <= counts.queue_bytes);
    bool dead = skn_link_state(world->link) == SKN_LINK_DEAD;
    const skn_error_t *failure = skn_link_failure(world->link);
    assert(dead == (failure != NULL));
    assert(!failure || (*failure->text && *failure->hint));
    (void)dead;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    skn_link_options_t options = {
        .node_name = "a",
        .peer_name = "b",
        .node = 0,
        .peer = 1,
        .incarnation = 8,
        .window_bytes = WINDOW_BYTES,
        .record_bytes_max = RECORD_BYTES_MAX,
        .queue_bytes_max = (size_t)1 << 20,
    };
    memset(options.run, 7, sizeof(options.run));
    world_t world = { .now_ns = 1, .input = { bytes, byte_count } };
    world.link = skn_link_new(&options, NULL);
    if (!world.link)
        return 0;
    skn_link_connected(world.link, world.now_ns);
    skn_fragment_header_t header = {
        .version = SKN_LINK_VERSION,
        .type = SKN_FRAGMENT_HELLO,
        .node = 1,
        .incarnation = 9,
        .peer = 8,
        .credit = 3000,
    };
    memset(header.run, 7, sizeof(header.run));
    uint8_t frame[SKN_FRAGMENT_HEADER_BYTES_MAX], body[SKN_HELLO_BYTES] = { 0 };
    size_t count = skn_fragment_write(&header, frame);
    if (byte_count > 0 && bytes[0] != 255) /* a few begin before the hello */
        take(&world, (skn_frame_t){ frame, count },
             (skn_frame_t){ body, sizeof(body) });
    while (world.input.left > 0) {
        step(&world);
        check(&world);
    }
    skn_link_destroy(&world.link);
    return 0;
}
