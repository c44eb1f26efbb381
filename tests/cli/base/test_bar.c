/* test_bar.c - tests that the progress line shows what is known, and fits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/bar.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cli_bar_facts_t facts = {
    .batch = 41,
    .batches = 100,
    .epoch = 3,
    .epochs = 8,
    .loss = 5.98801,
    .examples_per_s = 30412.4,
    .batches_per_s = 0.5,
};

static void
expect_line(const cli_bar_t *bar, unsigned columns, const char *want)
{
    char text[512];
    cli_bar_format(bar, &facts, columns, text, sizeof(text));
    cr_expect_str_eq(text, want, "%u columns: '%s'", columns, text);
}

Test(bar, a_wide_line_says_everything)
{
    cli_bar_t bar = { .p1 = 0.4191, .batches_per_s = 0.5 };
    expect_line(&bar, 200,
                "epoch 3/8 [############..................] 41%  30412/s  "
                "loss 5.988  P@1 0.419  1:58 left");
    expect_line(&bar, 79,
                "epoch 3/8 [########............] 41%  30412/s  loss 5.988  "
                "P@1 0.419  1:58 left");
}

Test(bar, a_decoder_counts_steps_and_tokens)
{
    cli_bar_facts_t text = facts;
    cli_bar_t bar = { .p1 = -1 };
    char line[512];
    text.step = 55;
    text.steps = 120;
    cli_bar_format(&bar, &text, 60, line, sizeof(line));
    cr_expect_str_eq(line, "step 55 of 120 [#####......] 41%  30412 "
                           "tokens/s  loss 5.988");
}

Test(bar, what_is_not_known_is_left_out)
{
    cli_bar_t bar = { .p1 = -1 };
    expect_line(&bar, 60,
                "epoch 3/8 [#########..............] 41%  30412/s  "
                "loss 5.988");
}

Test(bar, a_narrow_line_loses_parts)
{
    cli_bar_t bar = { .p1 = 0.4191, .batches_per_s = 0.5 };
    expect_line(&bar, 40, "epoch 3/8 41%  30412/s  loss 5.988");
    expect_line(&bar, 22, "epoch 3/8 41%  30412/s");
    expect_line(&bar, 21, "epoch 3/8 41%");
    expect_line(&bar, 9, "epoch 3/8");
    expect_line(&bar, 8, "");
    expect_line(&bar, 0, "");
}

Test(bar, no_width_is_exceeded)
{
    cli_bar_t bar = { .p1 = 0.4191, .batches_per_s = 1e-9 };
    for (unsigned columns = 0; columns < 300; columns++) {
        char text[512];
        cli_bar_format(&bar, &facts, columns, text, sizeof(text));
        cr_expect_leq(strlen(text), columns, "'%s'", text);
    }
}

Test(bar, a_run_that_is_over_fills_the_bar)
{
    cli_bar_t bar = { .p1 = -1 };
    cli_bar_facts_t end = facts;
    char text[512];
    end.batch = 120; /* more than was planned */
    cli_bar_format(&bar, &end, 79, text, sizeof(text));
    cr_expect(strstr(text, "[##############################] 100%"), "%s",
              text);
    end.batches = 0;
    cli_bar_format(&bar, &end, 79, text, sizeof(text));
    cr_expect(strstr(text, "] 0%"), "%s", text);
}

static void
expect_time(double seconds, const char *want)
{
    char text[32];
    cli_bar_time(seconds, text, sizeof(text));
    cr_expect_str_eq(text, want, "%g s: '%s'", seconds, text);
}

Test(bar, times_are_read_at_a_glance)
{
    expect_time(0, "0:00");
    expect_time(7.4, "0:07");
    expect_time(59.6, "1:00");
    expect_time(754, "12:34");
    expect_time(3599, "59:59");
    expect_time(3600, "1:00:00");
    expect_time(3723, "1:02:03");
    expect_time(172799, "47:59:59");
    expect_time(172800, "2 days");
    expect_time(1e300, "long");
    expect_time(NAN, "long");
}

Test(bar, without_a_terminal_there_is_none)
{
    cli_call_t call = { 0 };
    cli_bar_t bar;
    cr_assert(freopen("/dev/null", "w", stderr));
    cr_expect_not(cli_bar_possible(&call));
    cli_bar_init(&bar, &call);
    cr_expect_not(bar.wanted);
    cli_bar_show(&bar, &facts);
    cr_expect_not(bar.shown);
    cli_bar_hide(&bar);
}
