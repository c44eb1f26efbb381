/* test_json_line.c - tests which texts are accepted as one JSON object on one
 * line.
 *
 * The oracle is jansson, which builds values.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_line.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t at;

Test(json_line, takes_objects)
{
    static const char *const good[] = {
        "{}",
        " {\t} ",
        "{\"a\":1}",
        "{\"a\":{\"b\":[1,[],{}]},\"c\":null}",
        "{\"a\":-0.5e+10,\"b\":true,\"c\":false,\"d\":\"\\u00e4\\n\\\\\"}",
        "{ \"a\" : [ \"x\" , 2 ] , \"\" : 0 }",
        "{\"a\":\"\xc3\xa4\"}"
    };
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++)
        cr_expect_null(skn_json_line_fault(good[k], &at), "%s: %zu", good[k],
                       at);
}

Test(json_line, refuses_the_rest_with_its_place)
{
    static const struct {
        const char *text, *fault;
        size_t at;
    } bad[] = {
        { "", "no '{' at its start", 0 },
        { "not json at all", "no '{' at its start", 0 },
        { "[1]", "no '{' at its start", 0 },
        { "{\"a\":1}\n{\"b\":2}", "more after its object", 7 },
        { "{\"a\":1} {}", "more after its object", 8 },
        { "{\"a\":\n1}", "no value where one is expected", 5 },
        { "{\"a\":0,5}", "no string where one is expected", 7 },
        { "{\"a\":nan}", "no value where one is expected", 5 },
        { "{\"a\":01}", "no ',' or end after a value", 6 },
        { "{\"a\":1.}", "no value where one is expected", 7 },
        { "{\"a\"1}", "a key without a ':'", 4 },
        { "{\"a\":1,}", "no string where one is expected", 7 },
        { "{\"a\":[1}", "no ',' or end after a value", 7 },
        { "{\"a\":\"x", "a string without an end", 7 },
        { "{\"a\":\"\t\"}", "a control character in a string", 6 },
        { "{\"a\":\"\\x\"}", "an escape that JSON does not know", 7 },
        { "{\"a\":\"\\u00g0\"}", "an escape \\u without four digits", 11 },
        { "{\"a\":\"\xe4\"}", "bytes that are not UTF-8 in a string", 6 },
        { "{\"a\":\"\xc3", "bytes that are not UTF-8 in a string", 6 },
        { "{\"a\":", "no value where one is expected", 5 },
        { "{", "no string where one is expected", 1 },
    };
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        const char *fault = skn_json_line_fault(bad[k].text, &at);
        cr_assert(fault, "%s", bad[k].text);
        cr_expect_str_eq(fault, bad[k].fault, "%s", bad[k].text);
        cr_expect_eq(at, bad[k].at, "%s: %zu", bad[k].text, at);
    }
}

Test(json_line, stops_at_64_levels)
{
    char text[256];
    for (size_t depth = 63; depth <= 65; depth++) {
        size_t used = 0;
        (void)snprintf(text, sizeof(text), "{\"a\":");
        used = strlen(text);
        memset(text + used, '[', depth - 1);
        memset(text + used + depth - 1, ']', depth - 1);
        (void)snprintf(text + used + 2 * (depth - 1), 2, "}");
        cr_expect_eq(!skn_json_line_fault(text, &at), depth <= 64, "%zu",
                     depth);
    }
}

/* Objects with a few bytes changed: jansson and we agree. */
Test(json_line, agrees_with_a_parser)
{
    static const char text[] =
        "{\"a\":[1,-2.5e3,true,{\"b\":null}],\"c\":\"\\u0041\\n \xC3\xA9\"}";
    static const char bytes[] = "{}[]\",:0123.eE+-tfn \\ux\xC3\xA9\xED\xA0";
    uint64_t seed = 1;
    for (int round = 0; round < 200000; round++) {
        char changed[sizeof(text)];
        memcpy(changed, text, sizeof(text));
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            changed[(seed >> 33) % (sizeof(text) - 1)] =
                bytes[(seed >> 45) % (sizeof(bytes) - 1)];
        }
        json_error_t why;
        json_t *value = json_loads(changed, 0, &why);
        bool is_object = json_is_object(value);
        /* It reads numbers beyond a double, and \u0000, more strictly. */
        bool strict = !value && (strstr(why.text, "too big") ||
                                 strstr(why.text, "\\u0000") ||
                                 strstr(why.text, "Unicode"));
        json_decref(value);
        if (!strict)
            cr_assert_eq(!skn_json_line_fault(changed, &at), is_object, "%s",
                         changed);
    }
}
