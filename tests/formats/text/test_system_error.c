/* test_system_error.c - tests the status, the sentence and the remedy of an
 * errno.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "formats/text/system_error.h"

Test(system_error, maps_errno_to_a_status)
{
    cr_expect_eq(skn_errno_status(EACCES, SKN_STORAGE), SKN_NO_PERMISSION);
    cr_expect_eq(skn_errno_status(EROFS, SKN_STORAGE), SKN_NO_PERMISSION);
    cr_expect_eq(skn_errno_status(ENOMEM, SKN_STORAGE), SKN_NO_MEMORY);
    cr_expect_eq(skn_errno_status(EMFILE, SKN_STORAGE), SKN_NO_MEMORY);
    cr_expect_eq(skn_errno_status(ENFILE, SKN_NO_INPUT), SKN_NO_MEMORY);
    cr_expect_eq(skn_errno_status(ENOSPC, SKN_STORAGE), SKN_STORAGE);
}

Test(system_error, a_shortage_has_its_own_remedy_or_none)
{
    cr_expect_str_eq(skn_errno_remedy(EMFILE, "check the path"),
                     "raise the limit on open files (ulimit -n)");
    cr_expect(strstr(skn_errno_remedy(ENFILE, "check the path"), "file-max"));
    cr_expect_null(skn_errno_remedy(ENOMEM, "check the path"));
    cr_expect_str_eq(skn_errno_remedy(ENOENT, "check the path"),
                     "check the path");
    cr_expect_null(skn_errno_remedy(ENOENT, NULL));
}

Test(system_error, a_failure_has_a_sentence_a_reason_and_a_remedy)
{
    skn_error_t error = { 0 };
    cr_expect_eq(skn_fail_code(&error, SKN_NO_INPUT, ENOENT, "check the path",
                               "%s: cannot be opened", "f"),
                 SKN_NO_INPUT);
    cr_expect_eq(error.status, SKN_NO_INPUT);
    cr_expect_str_eq(error.text, "f: cannot be opened: "
                                 "No such file or directory");
    cr_expect_str_eq(error.hint, "check the path");
    cr_expect_eq(skn_fail_code(&error, SKN_NO_INPUT, ENOMEM, "check the path",
                               "%s", "f"),
                 SKN_NO_MEMORY);
    cr_expect_str_eq(error.text, "f: Cannot allocate memory");
    cr_expect_str_eq(error.hint, "");
    cr_expect_eq(skn_fail_code(NULL, SKN_NO_INPUT, EMFILE, NULL, "f"),
                 SKN_NO_MEMORY);
}

Test(system_error, a_sentence_that_is_too_long_keeps_its_reason)
{
    char path[4000];
    skn_error_t error = { 0 };
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    (void)skn_fail_code(&error, SKN_NO_INPUT, ENOENT, NULL, "%s", path);
    cr_expect(strstr(error.text, "aaa: No such file or directory"), "%s",
              error.text);
}
