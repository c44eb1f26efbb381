/* idle_child.h - starts a process of several threads that wait, for tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_IDLE_CHILD_H
#define TESTS_SUPPORT_IDLE_CHILD_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDLE_CHILD_TASKS_MAX 16

/* What the child is told: another thread, or that one it has binds itself. */
typedef struct idle_child {
    pid_t pid;
    int orders[2], answers[2];
} idle_child_t;

static inline void *
idle_child_wait(void *nothing)
{
    (void)nothing;
    for (;;)
        (void)pause();
    return NULL;
}

static inline void
idle_child_bind(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

static inline void
idle_child_say(int file)
{
    if (write(file, "!", 1) != 1)
        _exit(1);
}

/* Orders: 't' a thread more; a byte below 64: the first thread binds itself
 * to that processor. Each is answered when it is done. */
static inline void
idle_child_main(const idle_child_t *child, bool own_session)
{
    pthread_t thread;
    char order;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (own_session)
        (void)setsid();
    idle_child_say(child->answers[1]);
    while (read(child->orders[0], &order, 1) == 1) {
        if (order == 't')
            (void)pthread_create(&thread, NULL, idle_child_wait, NULL);
        else
            idle_child_bind(order);
        idle_child_say(child->answers[1]);
    }
    _exit(0);
}

static inline void
idle_child_answer(const idle_child_t *child)
{
    char answer;
    cr_assert_eq(read(child->answers[0], &answer, 1), 1);
}

static inline idle_child_t
idle_child_start(bool own_session)
{
    idle_child_t child;
    cr_assert_eq(pipe(child.orders), 0);
    cr_assert_eq(pipe(child.answers), 0);
    child.pid = fork();
    cr_assert_geq(child.pid, 0);
    if (child.pid == 0)
        idle_child_main(&child, own_session);
    idle_child_answer(&child);
    return child;
}

static inline void
idle_child_order(const idle_child_t *child, int order)
{
    char byte = (char)order;
    cr_assert_eq(write(child->orders[1], &byte, 1), 1);
    idle_child_answer(child);
}

static inline void
idle_child_end(idle_child_t *child)
{
    (void)kill(child->pid, SIGKILL);
    cr_assert_eq(waitpid(child->pid, NULL, 0), child->pid);
    for (int k = 0; k < 2; k++) {
        (void)close(child->orders[k]);
        (void)close(child->answers[k]);
    }
}

/* Its threads; how many there are. */
static inline size_t
idle_child_tasks(const idle_child_t *child, pid_t *task)
{
    char path[64];
    size_t count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)child->pid);
    DIR *folder = opendir(path);
    cr_assert(folder, "%s", path);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && count < IDLE_CHILD_TASKS_MAX)
            task[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    (void)closedir(folder);
    return count;
}

#endif
