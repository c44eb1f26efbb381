/* test_place.c - tests the text that describes where an actor's thread is.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/runtime/actor.h"

TestSuite(place, .timeout = 60);

static const skn_kind_t kind = SKN_KIND(.name = "log_print");
static skn_wired_actor_t wired = { .name = "print", .kind = &kind };
static skn_actor_t actor = { .wired = &wired, .kind = &kind };

static void
expect_described(skn_place_type_t type, const char *name, const char *text)
{
    char got[256];
    skn_place_enter(&actor.place, type, name, 7);
    cr_expect_str_eq(skn_place_describe(&actor, got, sizeof(got)), text);
    skn_place_leave(&actor.place);
}

Test(place, it_is_named_with_the_actor_and_its_kind)
{
    expect_described(SKN_PLACE_HANDLER, "total",
                     "print (log_print, in its handler of 'total')");
    expect_described(SKN_PLACE_COMBINE, "total",
                     "print (log_print, in its combine of 'total')");
    expect_described(SKN_PLACE_TIMER, "tick",
                     "print (log_print, in its timer 'tick')");
    expect_described(SKN_PLACE_ALARM, "bell",
                     "print (log_print, in its alarm 'bell')");
    expect_described(SKN_PLACE_OPEN, NULL, "print (log_print, in its open)");
    expect_described(SKN_PLACE_LOOP, NULL, "print (log_print)");
}

Test(place, a_plug_in_is_named_with_its_file)
{
    wired.plugin = "./crash.so";
    expect_described(SKN_PLACE_DRAIN, NULL,
                     "print (log_print of ./crash.so, in its drain)");
    wired.name = "log_print";
    expect_described(SKN_PLACE_LOOP, NULL,
                     "log_print (log_print of ./crash.so)");
}

Test(place, an_actor_that_is_called_like_its_kind_is_named_once)
{
    wired.name = "log_print";
    expect_described(SKN_PLACE_CLOSE, NULL, "log_print (in its close)");
    expect_described(SKN_PLACE_LOOP, NULL, "log_print");
    wired.name = "log_print.3";
    expect_described(SKN_PLACE_CLOSE, NULL, "log_print.3 (in its close)");
    wired.name = "log_printer";
    expect_described(SKN_PLACE_LOOP, NULL, "log_printer (log_print)");
}

Test(place, a_text_that_is_too_long_is_cut)
{
    char got[12];
    skn_place_enter(&actor.place, SKN_PLACE_START, NULL, 7);
    cr_expect_str_eq(skn_place_describe(&actor, got, sizeof(got)),
                     "print (log_");
}

static void
expect_sentence(const char *before, const char *after)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_BAD_DATA, "%s", before);
    skn_place_enter(&actor.place, SKN_PLACE_HANDLER, "total", 7);
    for (int k = 0; k < 2; k++) { /* the second time changes nothing */
        skn_place_name(&actor, &error);
        cr_expect_str_eq(error.text, after);
    }
    cr_expect_eq(error.status, SKN_BAD_DATA);
}

Test(place, a_sentence_gets_it_once)
{
#define WHO "print (log_print, in its handler of 'total')"
    expect_sentence("oh no", WHO ": oh no");
    expect_sentence("print: oh no", WHO ": oh no");
    expect_sentence("print got a total twice", WHO " got a total twice");
    expect_sentence("printer on fire", WHO ": printer on fire");
    expect_sentence("a.txt:3:5: oh no", WHO ": a.txt:3:5: oh no");
    expect_sentence("", WHO ": ");
}

Test(place, a_long_sentence_keeps_it_and_loses_its_end)
{
    skn_error_t error = { .status = SKN_INTERNAL };
    memset(error.text, 'x', sizeof(error.text) - 1);
    skn_place_name(&actor, &error);
    cr_expect_eq(strncmp(error.text, "print (log_print): xxx", 22), 0);
    cr_expect_eq(strlen(error.text), sizeof(error.text) - 1);
}
