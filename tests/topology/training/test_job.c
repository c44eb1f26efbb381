/* test_job.c - tests the half of a job that faces its host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/job.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static skn_job_t job;
static skn_error_t error;

static void
set_up(void)
{
    cr_assert_eq(skn_job_init(&job, "the job", &error), SKN_OK);
}

static void
tear_down(void)
{
    skn_job_fini(&job);
}

TestSuite(job, .init = set_up, .fini = tear_down);

Test(job, owns_copies_of_texts_and_overrides)
{
    char path[] = "a/b", empty[] = "", first[] = "x=1", second[] = "y=";
    const char *const list[] = { first, second };
    const char *text[] = { path, NULL, empty };
    const char **const texts[] = { &text[0], &text[1], &text[2] };
    const char *const *overrides = list;
    cr_assert_eq(skn_job_own(&job, texts, 3, &overrides, 2, &error), SKN_OK);
    cr_expect(text[0] != path && text[2] != empty && overrides != list);
    path[0] = first[0] = second[0] = empty[0] = '?';
    cr_expect_str_eq(text[0], "a/b");
    cr_expect_null(text[1]);
    cr_expect_str_eq(text[2], "");
    cr_expect_str_eq(overrides[0], "x=1");
    cr_expect_str_eq(overrides[1], "y=");
}

Test(job, owns_what_several_calls_copied)
{
    const char *first = "first", *second = "second";
    const char **const one[] = { &first }, **const other[] = { &second };
    const char *const *overrides = NULL;
    cr_assert_eq(skn_job_own(&job, one, 1, &overrides, 0, &error), SKN_OK);
    cr_assert_eq(skn_job_own(&job, other, 1, &overrides, 0, &error), SKN_OK);
    cr_expect_str_eq(first, "first");
    cr_expect_str_eq(second, "second");
}

Test(job, an_override_that_is_NULL_is_refused)
{
    const char *const list[] = { "x=1", NULL };
    const char *const *overrides = list;
    cr_expect_eq(skn_job_own(&job, NULL, 0, &overrides, 2, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "override 1 is NULL");
    overrides = NULL;
    cr_expect_eq(skn_job_own(&job, NULL, 0, &overrides, 1, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "override 0 is NULL");
}

Test(job, orders_add_up)
{
    cr_expect_eq(skn_job_orders(&job), 0);
    skn_job_order(&job, 1);
    skn_job_order(&job, UINT64_C(1) << 32);
    cr_expect_eq(skn_job_orders(&job), (UINT64_C(1) << 32) + 1);
    cr_expect_eq(skn_job_orders(&job), 0);
}

/* Fails once an order has come. */
static void *
work(void *argument)
{
    (void)argument;
    struct pollfd polled = { job.orders, POLLIN, 0 };
    (void)poll(&polled, 1, -1);
    skn_line_queue_put(&job.queue, "a line");
    (void)skn_fail(&job.failure, SKN_INTERNAL, "it failed");
    skn_line_queue_end(&job.queue);
    return NULL;
}

Test(job, runs_once_and_keeps_its_failure)
{
    char line[16];
    cr_expect_eq(skn_job_event(&job, -1, line, sizeof(line), &error), SKN_BUSY);
    cr_expect_eq(skn_job_wait(&job, &error), SKN_OK);
    cr_assert_eq(skn_job_start(&job, work, NULL, &error), SKN_OK);
    cr_expect_eq(skn_job_start(&job, work, NULL, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "the job was started already");
    skn_job_order(&job, 1);
    cr_expect_eq(skn_job_event(&job, -1, line, sizeof(line), &error), SKN_OK);
    cr_expect_str_eq(line, "a line");
    cr_expect_eq(skn_job_wait(&job, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text, "it failed");
    cr_expect_eq(skn_job_wait(&job, NULL), SKN_INTERNAL);
    cr_expect_eq(skn_job_event(&job, -1, line, sizeof(line), &error),
                 SKN_UNAVAILABLE);
}

Test(job, a_child_made_by_fork_is_refused_once_it_was_started)
{
    int status = -1;
    cr_assert_eq(skn_job_start(&job, work, NULL, &error), SKN_OK);
    pid_t child = fork();
    if (child == 0) {
        skn_status_t code = skn_job_check(&job, "the job", "f", NULL);
        _exit(code == SKN_USAGE ? 0 : 1);
    }
    cr_expect_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect_eq(skn_job_check(&job, "the job", "f", &error), SKN_OK);
    cr_expect_eq(skn_job_check(NULL, "the job", "f", &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "f: the job is NULL");
    skn_job_order(&job, 1);
    (void)skn_job_wait(&job, NULL);
}
