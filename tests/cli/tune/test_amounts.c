/* test_amounts.c - tests times and shares on the command line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/tune/amounts.h"

#include <criterion/criterion.h>

Test(amounts, times_have_units)
{
    static const struct {
        const char *text;
        double seconds; /* 0: refused */
    } cases[] = {
        { "90", 90 },  { "90s", 90 },     { "10m", 600 }, { "1.5h", 5400 },
        { "", 0 },     { "m", 0 },        { "10 m", 0 },  { "10mm", 0 },
        { "-1m", 0 },  { "0", 0 },        { "1d", 0 },    { "inf", 0 },
        { "nanm", 0 }, { "1e5h", 3.6e8 }, { "1e6h", 0 },  { "1e300h", 0 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        double seconds = 0;
        bool good = cli_read_time(cases[k].text, &seconds);
        cr_expect_eq(good, cases[k].seconds > 0, "'%s'", cases[k].text);
        if (good)
            cr_expect_eq(seconds, cases[k].seconds, "'%s'", cases[k].text);
    }
}

Test(amounts, shares_are_between_0_and_1)
{
    static const struct {
        const char *text;
        double share; /* 0: refused */
    } cases[] = {
        { "1/3", 1.0 / 3 }, { "0.25", .25 }, { "2/5", .4 }, { "1/", 0 },
        { "1", 0 },         { "0", 0 },      { "3/2", 0 },  { "", 0 },
        { "1/0", 0 },       { "1/3x", 0 },   { "-1/3", 0 }, { "nan", 0 },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        double share = 0;
        bool good = cli_read_share(cases[k].text, &share);
        cr_expect_eq(good, cases[k].share > 0, "'%s'", cases[k].text);
        if (good)
            cr_expect_float_eq(share, cases[k].share, 1e-12);
    }
}
