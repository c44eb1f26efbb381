/* test_task.c - tests the texts, orders, events and thread of a task.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/task.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static skn_task_t task;
static skn_error_t error;

static void
set_up(void)
{
    cr_assert_eq(skn_task_init(&task, "the task", &error), SKN_OK);
}

static void
tear_down(void)
{
    skn_task_fini(&task);
}

TestSuite(task, .init = set_up, .fini = tear_down);

Test(task, owns_copies_of_texts_and_overrides)
{
    char path[] = "a/b", empty[] = "", first[] = "x=1", second[] = "y=";
    const char *const list[] = { first, second };
    const char *text[] = { path, NULL, empty };
    const char **const texts[] = { &text[0], &text[1], &text[2] };
    const char *const *overrides = list;
    cr_assert_eq(skn_task_own(&task, texts, 3, &overrides, 2, &error), SKN_OK);
    cr_expect(text[0] != path && text[2] != empty && overrides != list);
    path[0] = first[0] = second[0] = empty[0] = '?';
    cr_expect_str_eq(text[0], "a/b");
    cr_expect_null(text[1]);
    cr_expect_str_eq(text[2], "");
    cr_expect_str_eq(overrides[0], "x=1");
    cr_expect_str_eq(overrides[1], "y=");
}

Test(task, owns_what_several_calls_copied)
{
    const char *first = "first", *second = "second";
    const char **const one[] = { &first }, **const other[] = { &second };
    const char *const *overrides = NULL;
    cr_assert_eq(skn_task_own(&task, one, 1, &overrides, 0, &error), SKN_OK);
    cr_assert_eq(skn_task_own(&task, other, 1, &overrides, 0, &error), SKN_OK);
    cr_expect_str_eq(first, "first");
    cr_expect_str_eq(second, "second");
}

Test(task, an_override_that_is_NULL_is_refused)
{
    const char *const list[] = { "x=1", NULL };
    const char *const *overrides = list;
    cr_expect_eq(skn_task_own(&task, NULL, 0, &overrides, 2, &error),
                 SKN_USAGE);
    cr_expect_str_eq(error.text, "override 1 is NULL");
    overrides = NULL;
    cr_expect_eq(skn_task_own(&task, NULL, 0, &overrides, 1, &error),
                 SKN_USAGE);
    cr_expect_str_eq(error.text, "override 0 is NULL");
}

Test(task, orders_add_up)
{
    cr_expect_eq(skn_task_orders(&task), 0);
    skn_task_order(&task, 1);
    skn_task_order(&task, UINT64_C(1) << 32);
    cr_expect_eq(skn_task_orders(&task), (UINT64_C(1) << 32) + 1);
    cr_expect_eq(skn_task_orders(&task), 0);
}

/* Fails once an order has come. */
static void *
work(void *argument)
{
    (void)argument;
    struct pollfd polled = { task.orders, POLLIN, 0 };
    (void)poll(&polled, 1, -1);
    skn_line_queue_put(&task.queue, "a line");
    (void)skn_fail(&task.failure, SKN_INTERNAL, "it failed");
    skn_line_queue_end(&task.queue);
    return NULL;
}

Test(task, runs_once_and_keeps_its_failure)
{
    char line[16];
    cr_expect_eq(skn_task_event(&task, -1, line, sizeof(line), &error),
                 SKN_BUSY);
    cr_expect_eq(skn_task_wait(&task, &error), SKN_OK);
    cr_assert_eq(skn_task_start(&task, work, NULL, &error), SKN_OK);
    cr_expect_eq(skn_task_start(&task, work, NULL, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "the task was started already");
    skn_task_order(&task, 1);
    cr_expect_eq(skn_task_event(&task, -1, line, sizeof(line), &error), SKN_OK);
    cr_expect_str_eq(line, "a line");
    cr_expect_eq(skn_task_wait(&task, &error), SKN_INTERNAL);
    cr_expect_str_eq(error.text, "it failed");
    cr_expect_eq(skn_task_wait(&task, NULL), SKN_INTERNAL);
    cr_expect_eq(skn_task_event(&task, -1, line, sizeof(line), &error),
                 SKN_UNAVAILABLE);
}

Test(task, a_child_made_by_fork_is_refused_once_it_was_started)
{
    int status = -1;
    cr_assert_eq(skn_task_start(&task, work, NULL, &error), SKN_OK);
    pid_t child = fork();
    if (child == 0) {
        skn_status_t code = skn_task_check(&task, "the task", "f", NULL);
        _exit(code == SKN_USAGE ? 0 : 1);
    }
    cr_expect_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect_eq(skn_task_check(&task, "the task", "f", &error), SKN_OK);
    cr_expect_eq(skn_task_check(NULL, "the task", "f", &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "f: the task is NULL");
    skn_task_order(&task, 1);
    (void)skn_task_wait(&task, NULL);
}
