/* test_follow.c - tests the text that is printed for each event, letter for
 * letter.
 *
 * Standard output and standard error go into files, one line of JSON goes in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/events.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char out[4096], err[4096];

/* Puts a file in the place of `descriptor`; returns it. */
static FILE *
divert(int descriptor)
{
    FILE *file = tmpfile();
    cr_assert(file);
    cr_assert_eq(dup2(fileno(file), descriptor), descriptor);
    return file;
}

static void
read_back(FILE *file, char *text, size_t text_bytes)
{
    cr_assert_eq(fseek(file, 0, SEEK_SET), 0);
    size_t count = fread(text, 1, text_bytes - 1, file);
    text[count] = '\0';
    cr_assert_eq(fclose(file), 0);
}

/* Shows an event as --json or as text does, into `out` and `err`. */
static void
show(const char *line, bool json)
{
    static const cli_option_t options[] = { { .name = "resume" }, { 0 } };
    static const cli_verb_t verb = { .name = "train", .options = options };
    cli_call_t call = { .verb = &verb, .program = "./skein", .json = json };
    FILE *standard = divert(STDOUT_FILENO), *error = divert(STDERR_FILENO);
    cli_event_show(&call, line);
    (void)fflush(stdout);
    (void)fflush(stderr);
    read_back(standard, out, sizeof(out));
    read_back(error, err, sizeof(err));
}

static void
expect_shown(const char *line, const char *want_out, const char *want_err)
{
    char as_json[4096];
    show(line, false);
    cr_expect_str_eq(out, want_out, "%s:\n%s", line, out);
    cr_expect_str_eq(err, want_err, "%s:\n%s", line, err);
    show(line, true);
    (void)snprintf(as_json, sizeof(as_json), "%s\n", line);
    cr_expect_str_eq(out, as_json);
    cr_expect_str_eq(err, want_err);
}

TestSuite(follow, .timeout = 60);

Test(follow, giving_way_is_reported_in_words)
{
    static const char *const cases[][2] = {
        { "{\"event\":\"idle\",\"action\":\"begin\",\"way\":\"x y\","
          "\"share\":0.0042,\"cores\":2}",
          "idle   gives way by x y: takes 0.4% of a busy core\n" },
        { "{\"event\":\"idle\",\"action\":\"begin\",\"way\":\"x y\","
          "\"cores\":2}",
          "idle   gives way by x y\n" },
        { "{\"event\":\"idle\",\"action\":\"threads\",\"threads\":1,"
          "\"cores\":2,\"reason\":\"other work uses 0.9 of 2 cores\"}",
          "idle   1 of 2 cores: other work uses 0.9 of 2 cores\n" },
        { "{\"event\":\"idle\",\"action\":\"pause\",\"paused\":true,"
          "\"reason\":\"the machine runs on its battery\"}",
          "idle   pauses: the machine runs on its battery\n" },
        { "{\"event\":\"idle\",\"action\":\"pause\",\"paused\":false,"
          "\"reason\":\"the machine is on mains power again\"}",
          "idle   continues: the machine is on mains power again\n" },
        { "{\"event\":\"idle\",\"action\":\"memory\",\"needed\":true,"
          "\"reason\":\"5% of the memory is available\"}",
          "idle   5% of the memory is available\n" },
        { "{\"event\":\"idle\",\"action\":\"leave\",\"source\":\"file\","
          "\"what\":\"/x/leave\"}",
          "idle   the machine will be taken away, according to the file "
          "/x/leave\n" },
        { "{\"event\":\"idle\",\"action\":\"end\",\"seconds\":23.1,"
          "\"cores\":2,\"core_seconds\":18.2,"
          "\"outside_core_seconds\":16.3}",
          "idle   18.2 core seconds in 23.1 s, others 16.3, of 2 cores\n" },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        expect_shown(cases[k][0], cases[k][1], "");
}

Test(follow, an_epoch_is_a_line)
{
    expect_shown("{\"event\":\"epoch\",\"epoch\":3,\"batches\":30,"
                 "\"seconds\":12.345,\"cpu_seconds\":20,"
                 "\"examples_per_s\":30412.4,\"loss\":5.98801,"
                 "\"active_fraction\":0.25,\"rss_mb\":512.6}",
                 "epoch   3  loss   5.9880  30412 examples/s  12.3 s  513 MB\n",
                 "");
}

Test(follow, an_epoch_reports_its_scores)
{
    expect_shown("{\"event\":\"epoch\",\"epoch\":12,\"seconds\":0.05,"
                 "\"examples_per_s\":9.5,\"loss\":12345.678,\"p1\":0.41914,"
                 "\"p3\":0.2,\"p5\":0.1,\"psp1\":0.30005,\"psp3\":0.4,"
                 "\"psp5\":0.5,\"ndcg3\":0.6,\"ndcg5\":0.7,"
                 "\"validate_p1\":0.25,\"rss_mb\":1}",
                 "epoch  12  loss 12345.6780  P@1 0.4191  P@3 0.2000  "
                 "P@5 0.1000  PSP@1 0.3000  PSP@3 0.4000  PSP@5 0.5000  "
                 "validation P@1 0.2500  10 examples/s  0.1 s  1 MB\n",
                 "");
}

Test(follow, an_epoch_without_numbers_shows_none)
{
    expect_shown("{\"event\":\"epoch\"}",
                 "epoch   0  loss   0.0000  0.0 s  0 MB\n", "");
}

Test(follow, the_end_is_two_lines)
{
    expect_shown("{\"event\":\"done\",\"epochs\":3,\"batches\":30,"
                 "\"seconds\":61.25,\"cpu_seconds\":122.5,\"loss\":1,"
                 "\"p1\":0.5,\"weights_sha256\":\"00ff\"}",
                 "done     3 epochs in 61.2 s (122.5 CPU s)  P@1 0.5000\n"
                 "weights_sha256 00ff\n",
                 "");
    expect_shown("{\"event\":\"done\",\"epochs\":100,\"seconds\":0,"
                 "\"cpu_seconds\":0,\"best_epoch\":7,"
                 "\"weights_sha256\":\"\"}",
                 "done   100 epochs in 0.0 s (0.0 CPU s)  best: epoch 7\n"
                 "weights_sha256 \n",
                 "");
}

/* Of a host of another version. */
Test(follow, an_end_without_its_hash_shows_none)
{
    expect_shown("{\"event\":\"done\",\"epochs\":1}",
                 "done     1 epoch in 0.0 s (0.0 CPU s)\nweights_sha256 \n",
                 "");
}

Test(follow, checkpoints_and_stops_are_lines)
{
    expect_shown("{\"event\":\"checkpoint\",\"path\":\"runs/a b/\\u00e4\","
                 "\"batch\":10}",
                 "saved  runs/a b/\xc3\xa4\n", "");
    expect_shown("{\"event\":\"checkpoint\",\"batch\":10}", "saved  \n", "");
    expect_shown("{\"event\":\"stopped\",\"batch\":412,\"epoch\":3,"
                 "\"seconds\":1,\"cpu_seconds\":2}",
                 "stopped at batch 412; to continue:\n"
                 "./skein train --resume\n",
                 "");
}

/* On both ways: a person sees it though a program reads the events. */
Test(follow, a_warning_goes_to_standard_error)
{
    expect_shown("{\"event\":\"checkpoint\",\"path\":\"\"}", "saved  \n", "");
    show("{\"event\":\"warning\",\"message\":\"the disk is full\","
         "\"hint\":\"make room\"}",
         false);
    cr_expect_str_eq(out, "");
    cr_expect_str_eq(err, "skein: warning: the disk is full; make room\n");
    show("{\"event\":\"warning\",\"message\":\"the disk is full\"}", false);
    cr_expect_str_eq(out, "");
    cr_expect_str_eq(err, "skein: warning: the disk is full\n");
    show("{\"event\":\"warning\",\"message\":\"m\",\"hint\":\"h\"}", true);
    cr_expect_str_eq(out, "{\"event\":\"warning\",\"message\":\"m\","
                          "\"hint\":\"h\"}\n");
    cr_expect_str_eq(err, "skein: warning: m; h\n");
}

Test(follow, an_index_is_a_line)
{
    expect_shown("{\"event\":\"index\",\"actor\":\"table_builder.0\","
                 "\"batch\":49,\"buckets\":13107200,\"empty\":12950731,"
                 "\"greatest\":4,\"met\":1.1}",
                 "index  table_builder.0 at batch 49: buckets 13107200 "
                 "empty 12950731 greatest 4 met 1.1\n",
                 "");
}

Test(follow, what_actors_of_the_user_say_is_passed_on)
{
    static const char *const lines[] = {
        "{\"event\":\"words\",\"count\":7}",
        "{\"event\":\"weather\",\"actor\":\"tables.0\",\"batch\":9}",
        "{\"Event\":\"epoch\"}",
        "{}",
        "[1,2,3]",
        "not JSON at all",
        "",
        "{\"event\":7}",
        "{\"event\":\"epoch",
    };
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        char want[128];
        (void)snprintf(want, sizeof(want), "%s\n", lines[k]);
        expect_shown(lines[k], want, "");
    }
}

/* There is no bar here: a line in its words, as `node --progress` asks for. */
Test(follow, progress_without_a_bar_is_a_line)
{
    static const char line[] = "{\"event\":\"progress\",\"batch\":4,"
                               "\"batches\":9,\"epoch\":1,\"epochs\":3,"
                               "\"loss\":1.5,\"examples_per_s\":10,"
                               "\"batches_per_s\":2}";
    expect_shown(line,
                 "epoch 1/3 [#############.................] 44%  10/s  "
                 "loss 1.5  0:03 left\n",
                 "");
}

/* --- the bar around events ------------------------------------------------ */

static void
draw(cli_bar_t *bar, double batch, double rate)
{
    cli_bar_facts_t facts = { .batch = batch,
                              .batches = 10,
                              .epoch = 1,
                              .epochs = 1,
                              .loss = 2,
                              .examples_per_s = 5,
                              .batches_per_s = rate };
    FILE *error = divert(STDERR_FILENO);
    cli_bar_show(bar, &facts);
    (void)fflush(stderr);
    read_back(error, err, sizeof(err));
}

/* No terminal tells its width here: 80 columns, of which one stays free. */
Test(follow, a_bar_is_drawn_over_itself)
{
    cli_bar_t bar = { .wanted = true, .p1 = -1 };
    draw(&bar, 5, 1);
    cr_expect_str_eq(err, "\repoch 1/1 [###############...............] 50%  "
                          "5/s  loss 2  0:05 left\033[K");
    cr_expect(bar.shown);
    bar.colored = true;
    draw(&bar, 10, 1);
    cr_expect_str_eq(err, "\r\033[36mepoch 1/1 "
                          "[##############################] 100%  5/s  loss 2  "
                          "0:00 left\033[0m\033[K");
}

Test(follow, the_rate_of_a_bar_is_smoothed)
{
    cli_bar_t bar = { .wanted = true, .p1 = -1 };
    draw(&bar, 0, 10);
    cr_expect_float_eq(bar.batches_per_s, 10, 1e-12); /* the first as it is */
    draw(&bar, 1, 20);
    cr_expect_float_eq(bar.batches_per_s, 12, 1e-12);
    draw(&bar, 2, 12);
    cr_expect_float_eq(bar.batches_per_s, 12, 1e-12);
}

Test(follow, a_bar_is_taken_away_once)
{
    cli_bar_t bar = { .wanted = true, .p1 = -1 };
    draw(&bar, 1, 1);
    for (int turn = 0; turn < 2; turn++) {
        FILE *error = divert(STDERR_FILENO);
        cli_bar_hide(&bar);
        (void)fflush(stderr);
        read_back(error, err, sizeof(err));
        cr_expect_str_eq(err, turn == 0 ? "\r\033[K" : "");
        cr_expect_not(bar.shown);
    }
}

Test(follow, a_bar_that_is_not_wanted_draws_nothing)
{
    cli_bar_t bar = { .p1 = -1 };
    draw(&bar, 1, 1);
    cr_expect_str_eq(err, "");
    cr_expect_not(bar.shown);
}

Test(follow, the_bar_asks_the_environment)
{
    cli_call_t call = { 0 };
    cli_bar_t bar;
    cr_assert_eq(setenv("NO_COLOR", "", 1), 0);
    cli_bar_init(&bar, &call);
    cr_expect(bar.colored); /* empty is as if it were not set */
    cr_assert_eq(setenv("NO_COLOR", "1", 1), 0);
    cli_bar_init(&bar, &call);
    cr_expect_not(bar.colored);
    cr_expect_eq(bar.p1, -1.0);
    cr_assert_eq(unsetenv("TERM"), 0);
    cr_expect_not(cli_bar_possible(&call));
    call.json = true;
    cr_expect_not(cli_bar_possible(&call));
}
