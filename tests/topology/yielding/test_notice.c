/* test_notice.c - tests the files and commands that announce the loss of a
 * machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/yielding/notice.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "tests/support/temp_folder.h"

#define SECOND UINT64_C(1000000000)

static bool
look(skn_notice_t *notice, uint64_t second, const char *want)
{
    const char *source = NULL;
    bool is = skn_notice_check(notice, second * SECOND, &source);
    if (is)
        cr_expect_str_eq(source, want);
    return is;
}

/* Until the command that was asked has ended; it stays to be waited for. */
static void
let_it_end(const skn_notice_t *notice)
{
    siginfo_t facts;
    cr_assert_gt(notice->asked, 0);
    cr_assert_eq(waitid(P_PID, (id_t)notice->asked, &facts, WEXITED | WNOWAIT),
                 0);
}

Test(notice, without_file_and_command_there_is_none)
{
    skn_notice_t notice;
    skn_notice_init(&notice, "", "", 0.1);
    for (uint64_t second = 0; second < 100; second++)
        cr_expect_not(look(&notice, second, ""));
    cr_expect_eq(notice.asked, 0);
    skn_notice_fini(&notice);
}

Test(notice, a_file_is_seen_at_the_next_look)
{
    char folder[TEMP_FOLDER_BYTES], path[600];
    skn_notice_t notice;
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/leave", folder);
    skn_notice_init(&notice, path, "", 5);
    cr_expect_not(look(&notice, 100, ""));
    FILE *file = fopen(path, "we");
    cr_assert(file);
    (void)fclose(file);
    cr_expect_not(look(&notice, 101, ""));
    cr_expect_not(look(&notice, 104, ""));
    cr_expect(look(&notice, 105, "file"));
    skn_notice_init(&notice, path, "", 5);
    cr_expect(look(&notice, 0, "file")); /* at once */
    skn_notice_fini(&notice);
    temp_folder_remove(folder);
}

Test(notice, a_command_that_exits_0_is_one)
{
    skn_notice_t notice;
    skn_notice_init(&notice, "", "true", 5);
    cr_expect_not(look(&notice, 10, "")); /* it has only begun */
    let_it_end(&notice);
    cr_expect(look(&notice, 10, "command"));
    cr_expect_eq(notice.asked, 0);
    skn_notice_fini(&notice);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD);
}

Test(notice, a_command_that_fails_is_asked_again_in_time)
{
    static const char *const commands[] = { "false", "exit 7", "kill -9 $$",
                                            "no-such-command-at-all" };
    for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
        skn_notice_t notice;
        skn_notice_init(&notice, "", commands[k], 5);
        cr_expect_not(look(&notice, 10, ""));
        let_it_end(&notice);
        cr_expect_not(look(&notice, 11, ""));
        cr_expect_eq(notice.asked, 0);
        cr_expect_not(look(&notice, 14, ""));
        cr_expect_eq(notice.asked, 0);
        cr_expect_not(look(&notice, 15, ""));
        cr_expect_gt(notice.asked, 0);
        let_it_end(&notice);
        skn_notice_fini(&notice);
    }
}

Test(notice, a_command_that_hangs_is_killed_with_what_it_started)
{
    skn_notice_t notice;
    int ends[2];
    char nothing;
    cr_assert_eq(pipe(ends), 0);
    /* What it started inherits the pipe, and holds it open while it lives. */
    skn_notice_init(&notice, "", "tail -f /dev/null & wait", 1);
    cr_expect_not(look(&notice, 10, ""));
    (void)close(ends[1]);
    for (uint64_t second = 11; second < 30; second++)
        cr_expect_not(look(&notice, second, ""));
    cr_expect_gt(notice.asked, 0);
    cr_expect_not(look(&notice, 30, "")); /* killed, and asked anew */
    cr_expect_gt(notice.asked, 0);
    skn_notice_fini(&notice);
    cr_expect_eq(notice.asked, 0);
    cr_expect_eq(read(ends[0], &nothing, 1), 0);
}
