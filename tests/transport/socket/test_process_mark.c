/* test_process_mark.c - tests that a process is told from its children.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/process_mark.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

/* Runs `check` in a child; whether it was true there. */
static bool
holds_in_child(bool (*check)(uint32_t mark), uint32_t mark)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(check(mark) ? 0 : 1);
    return waitpid(child, &status, 0) == child && status == 0;
}

static bool
is_other(uint32_t mark)
{
    return skn_process_is_other(mark) && skn_process_mark() != 0 &&
           !skn_process_is_other(skn_process_mark());
}

/* Whether a grandchild recognises neither its parent nor its grandparent as
 * itself. */
static bool
is_other_in_grandchild(uint32_t mark)
{
    return is_other(mark) && holds_in_child(is_other, mark) &&
           holds_in_child(is_other, skn_process_mark());
}

static void *
take(void *mark)
{
    *(uint32_t *)mark = skn_process_mark();
    return NULL;
}

/* The threads are the first in this process to ask. */
static bool
agrees_with_threads(uint32_t parent)
{
    pthread_t thread[THREADS];
    uint32_t mark[THREADS];
    bool good = true;
    for (int k = 0; k < THREADS; k++)
        good = pthread_create(&thread[k], NULL, take, &mark[k]) == 0 && good;
    for (int k = 0; good && k < THREADS; k++)
        (void)pthread_join(thread[k], NULL);
    for (int k = 0; k < THREADS; k++)
        good = good && mark[k] == skn_process_mark() && mark[k] != parent;
    return good;
}

Test(process_mark, is_one_for_all_threads_and_calls_of_a_process)
{
    cr_expect(agrees_with_threads(0));
    cr_expect(holds_in_child(agrees_with_threads, skn_process_mark()));
    cr_expect_not(skn_process_is_other(0));
    cr_expect_not(skn_process_is_other(skn_process_mark()));
}

Test(process_mark, differs_in_a_child_and_in_its_child)
{
    cr_expect(holds_in_child(is_other_in_grandchild, skn_process_mark()));
}

Test(process_mark, a_handle_of_an_ancestor_is_refused)
{
    skn_error_t error;
    uint32_t mark = skn_process_mark();
    cr_expect_eq(skn_process_check(mark, "f", "the port", &error), SKN_OK);
    cr_expect_eq(skn_process_check(mark + 1, "f", "the port", &error),
                 SKN_USAGE);
    cr_expect_str_eq(error.text, "f: the port belongs to the process that made "
                                 "this one by fork()");
}
