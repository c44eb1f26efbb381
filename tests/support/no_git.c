/* no_git.c - replaces libgit2, which Criterion would load.
 *
 * Criterion compares strings with it when an assertion has failed. libgit2
 * brings 12 libraries with it, and Criterion maps every library five times for
 * each test case: that was a third of a case's time. A failed assertion prints
 * the two strings, as it does where libgit2 fails.
 * SPDX-License-Identifier: Apache-2.0 */

/* libgit2's own declarations, as far as its caller looks at what comes back. */
int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(void);

__attribute__((visibility("default"))) int
git_libgit2_init(void)
{
    return 1;
}

__attribute__((visibility("default"))) int
git_libgit2_shutdown(void)
{
    return 0;
}

__attribute__((visibility("default"))) int
git_diff_buffers(void)
{
    return -1;
}
