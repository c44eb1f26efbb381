/* test_flat.c - tests frames in one block of memory, and damaged ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/flat.h"

static void
expect_no_split(const void *flat, size_t flat_bytes, const char *want)
{
    skn_wire_t wire;
    skn_error_t error = { SKN_OK, "", "" };
    cr_expect_eq(skn_wire_split(flat, flat_bytes, &wire, &error),
                 SKN_BAD_MESSAGE, "accepted, but: %s", want);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(wire.frame_count, 0);
}

Test(flat, the_flat_form_holds_the_same_frames)
{
    skn_wire_t wire, again;
    char flat[64];
    wire.frame_count = 2;
    wire.frame[0] = (skn_frame_t){ "header", 6 };
    wire.frame[1] = (skn_frame_t){ "values", 5 };
    size_t flat_bytes = flat_bytes_of(&wire);
    cr_assert_eq(flat_bytes, 8 + 2 * 8 + 6 + 5);
    flat_write(&wire, flat);
    cr_assert_eq(skn_wire_split(flat, flat_bytes, &again, NULL), SKN_OK);
    cr_assert_eq(again.frame_count, 2);
    for (size_t k = 0; k < 2; k++) {
        cr_expect_eq(again.frame[k].bytes, wire.frame[k].bytes);
        cr_expect_arr_eq(again.frame[k].at, wire.frame[k].at,
                         wire.frame[k].bytes);
    }
    for (size_t cut = 0; cut < flat_bytes; cut++)
        cr_expect_eq(skn_wire_split(flat, cut, &again, NULL), SKN_BAD_MESSAGE);
}

Test(flat, broken_flat_bytes_are_sentences)
{
    expect_no_split("", 0, "0 flat bytes do not start like a message");
    expect_no_split("\0\0\0\0\0\0\0", 8,
                    "8 flat bytes do not start like a message");
    expect_no_split("\x22\0\0\0\0\0\0", 8,
                    "8 flat bytes do not start like a message");
    expect_no_split("\1\0\0\0\1\0\0", 8,
                    "8 flat bytes do not start like a message");
    expect_no_split("\1\0\0\0\0\0\0", 8,
                    "8 flat bytes have no room for the sizes of 1 frames");
    expect_no_split("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0a", 17,
                    "frame 0: 2 bytes announced, 1 left");
    expect_no_split("\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0ab", 18,
                    "1 flat bytes after the last frame");
    expect_no_split(
        "\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
        "a",
        25, "frame 1: 18446744073709551615 bytes announced, 0 left");
}

Test(flat, empty_frames_and_the_longest_list_survive)
{
    skn_wire_t wire, again;
    char flat[8 + SKN_FRAMES_MAX * 9];
    wire.frame_count = SKN_FRAMES_MAX;
    for (size_t k = 0; k < SKN_FRAMES_MAX; k++)
        wire.frame[k] = k % 2 ? (skn_frame_t){ NULL, 0 }
                              : (skn_frame_t){ &"0123456789"[k % 10], 1 };
    size_t flat_bytes = flat_bytes_of(&wire);
    cr_assert_leq(flat_bytes, sizeof(flat));
    flat_write(&wire, flat);
    cr_assert_eq(skn_wire_split(flat, flat_bytes, &again, NULL), SKN_OK);
    cr_assert_eq(again.frame_count, SKN_FRAMES_MAX);
    for (size_t k = 0; k < SKN_FRAMES_MAX; k++) {
        cr_expect_eq(again.frame[k].bytes, wire.frame[k].bytes);
        if (again.frame[k].bytes > 0)
            cr_expect_eq(*(const char *)again.frame[k].at,
                         *(const char *)wire.frame[k].at);
    }
}
