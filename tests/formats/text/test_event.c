/* test_event.c - tests that values of events are read as a JSON reader does.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skein/event.h"

static const char epoch[] =
    " {\"event\":\"epoch\", \"epoch\":3,"
    "\"scores\":{\"p1\":0.5,\"event\":\"x\"},"
    "\"p1\":-1.25e-1,\"list\":[1,[2]],\"done\":false,\"path\":\"a\\\"b\"}";

static void
expect_text(const char *line, const char *key, const char *want)
{
    char text[256];
    cr_expect_eq(skn_event_text(line, key, text, sizeof(text)),
                 strlen(want) + 1, "%s of %s", key, line);
    cr_expect_str_eq(text, want);
}

Test(event, members_are_found_by_their_key)
{
    double number = 7;
    expect_text(epoch, "event", "epoch");
    expect_text(epoch, "path", "a\"b");
    expect_text(epoch, "scores", "{\"p1\":0.5,\"event\":\"x\"}");
    expect_text(epoch, "list", "[1,[2]]");
    expect_text(epoch, "epoch", "3");
    cr_expect(skn_event_number(epoch, "p1", &number) && number == -0.125);
    cr_expect(skn_event_number(epoch, "done", &number) && number == 0);
    cr_expect(skn_event_number("{\"a\":true}", "a", &number) && number == 1);
    cr_expect(skn_event_is(epoch, "epoch"));
    cr_expect_not(skn_event_is(epoch, "epochs"));
    cr_expect_not(skn_event_is(epoch, "x"));
    cr_expect_not(skn_event_is("{\"event\":17}", "17"));
}

Test(event, what_is_missing_is_told)
{
    static const char *const none[] = {
        "", "x", "[]", "{}", "{\"a\" 1}", "{\"b\":}", "{\"b\":\"\\q\"}"
    };
    char text[8] = "before";
    double number = 7;
    for (size_t k = 0; k < sizeof(none) / sizeof(none[0]); k++) {
        cr_expect_eq(skn_event_text(none[k], "b", text, sizeof(text)), 0u);
        cr_expect_str_eq(text, "");
        cr_expect_not(skn_event_number(none[k], "b", &number));
    }
    cr_expect_not(skn_event_number(epoch, "path", &number));
    cr_expect_not(skn_event_number(epoch, "list", &number));
    cr_expect_not(skn_event_number("{\"a\":null}", "a", &number));
    cr_expect_eq(number, 7);
    cr_expect_eq(skn_event_text(NULL, "a", text, sizeof(text)), 0u);
    cr_expect_eq(skn_event_text(epoch, NULL, NULL, 0), 0u);
    cr_expect_not(skn_event_number(NULL, "a", &number));
    cr_expect_not(skn_event_number(epoch, "p1", NULL));
    cr_expect_not(skn_event_is(NULL, "a"));
    cr_expect_not(skn_event_is(epoch, NULL));
}

/* The same strings as jansson reads, and cut between characters. */
Test(event, escapes_are_read_as_jansson_reads_them)
{
    static const char *const lines[] = {
        "{\"t\":\"\\b\\f\\n\\r\\t\\\\\\/\\\"\"}",
        "{\"t\":\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00 \xC3\xA9\xE2\x82\xAC\"}",
        "{\"t\":\"\"}",
    };
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        json_t *object = json_loads(lines[k], 0, NULL);
        const char *want = json_string_value(json_object_get(object, "t"));
        cr_assert(want, "%s", lines[k]);
        expect_text(lines[k], "t", want);
        for (size_t room = 1; room <= strlen(want); room++) {
            char text[64];
            cr_expect_eq(skn_event_text(lines[k], "t", text, room),
                         strlen(want) + 1);
            cr_expect_lt(strlen(text), room);
            cr_expect_eq(memcmp(text, want, strlen(text)), 0);
            json_t *whole = json_string(text); /* refuses what is not UTF-8 */
            cr_expect(whole);
            json_decref(whole);
        }
        json_decref(object);
    }
    expect_text("{\"t\":\"\\uD83D!\"}", "t", "\xEF\xBF\xBD!");
}
