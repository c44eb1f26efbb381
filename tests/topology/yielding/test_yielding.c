/* test_yielding.c - tests that a worker gives way on a machine whose battery
 * and memory are files of the test, through the public functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/yielding.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/idle_child.h"
#include "tests/support/temp_folder.h"

static char root[TEMP_FOLDER_BYTES];
static char line[SKN_EVENT_BYTES_MAX];
static skn_error_t error;

static void
write_file(const char *path, const char *text)
{
    char whole[TEMP_FOLDER_BYTES + 80];
    (void)snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *end = whole + strlen(root) + 1; (end = strchr(end, '/'));
         *end++ = '/') {
        *end = '\0';
        (void)mkdir(whole, 0700);
    }
    FILE *file = fopen(whole, "w");
    cr_assert(file, "%s", whole);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

static void
set_up(void)
{
    temp_folder_make(root);
    write_file("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\n");
}

static void
tear_down(void)
{
    temp_folder_remove(root);
}

TestSuite(yielding, .init = set_up, .fini = tear_down, .timeout = 120);

static const skn_training_idle_t usual = { .share = 1,
                                           .memory = 0.5,
                                           .notice_file = "",
                                           .notice_command = "" };

static skn_yielding_t *
start(const skn_training_idle_t *idle, pid_t worker)
{
    const skn_yielding_options_t options = { .struct_bytes = sizeof(options),
                                             .may_stop = true,
                                             .idle = idle,
                                             .root = root };
    skn_yielding_t *yielding = skn_yielding_new(&options, &error);
    cr_assert(yielding, "%s", error.text);
    cr_assert_eq(skn_yielding_event(yielding, line, sizeof(line), &error),
                 SKN_OK);
    cr_expect(
        strstr(line, "{\"event\":\"idle\",\"action\":\"begin\",\"way\":"));
    (void)skn_yielding_begin(yielding, worker, &error);
    return yielding;
}

/* Steps until there is an event of this action, which is in `line` then.
 * Returns the last wish. */
static skn_yielding_wish_t
step_until(skn_yielding_t *yielding, const char *action)
{
    char want[64];
    (void)snprintf(want, sizeof(want), "\"action\":\"%s\"", action);
    for (;;) {
        skn_yielding_wish_t wish = skn_yielding_step(yielding);
        while (skn_yielding_event(yielding, line, sizeof(line), NULL) == SKN_OK)
            if (strstr(line, want))
                return wish;
        (void)poll(NULL, 0, 20);
    }
}

static void
end_of(skn_yielding_t **yielding)
{
    skn_yielding_end(*yielding);
    line[0] = '\0';
    while (skn_yielding_event(*yielding, line, sizeof(line), &error) == SKN_OK)
        continue;
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect(strstr(line, "\"action\":\"end\",\"seconds\":"), "%s", line);
    cr_expect_eq(skn_yielding_step(*yielding), SKN_YIELDING_STAY);
    skn_yielding_end(*yielding);
    skn_yielding_destroy(yielding);
    cr_expect_null(*yielding);
}

Test(yielding, a_battery_halts_the_worker_and_hurry_wakes_it)
{
    idle_child_t child = idle_child_start(true);
    int status = 0;
    write_file("sys/class/power_supply/BAT0/type", "Battery\n");
    write_file("sys/class/power_supply/BAT0/status", "Discharging\n");
    skn_yielding_t *yielding = start(&usual, child.pid);
    cr_expect_eq(step_until(yielding, "pause"), SKN_YIELDING_STAY);
    cr_expect(strstr(line, "\"paused\":true,\"reason\":\""), "%s", line);
    cr_expect_eq(waitpid(child.pid, &status, WUNTRACED), child.pid);
    cr_expect(WIFSTOPPED(status));
    skn_yielding_hurry(yielding);
    cr_expect_eq(waitpid(child.pid, &status, WCONTINUED), child.pid);
    cr_expect(WIFCONTINUED(status));
    end_of(&yielding);
    idle_child_end(&child);
}

Test(yielding, the_end_wakes_a_worker_that_is_halted)
{
    idle_child_t child = idle_child_start(true);
    int status = 0;
    write_file("sys/class/power_supply/BAT0/type", "Battery\n");
    write_file("sys/class/power_supply/BAT0/status", "Discharging\n");
    skn_yielding_t *yielding = start(&usual, child.pid);
    (void)step_until(yielding, "pause");
    cr_expect_eq(waitpid(child.pid, &status, WUNTRACED), child.pid);
    skn_yielding_destroy(&yielding);
    cr_expect_eq(waitpid(child.pid, &status, WCONTINUED), child.pid);
    cr_expect(WIFCONTINUED(status));
    idle_child_end(&child);
}

Test(yielding, a_notice_is_the_last_wish)
{
    char path[TEMP_FOLDER_BYTES + 8];
    skn_training_idle_t idle = usual;
    (void)snprintf(path, sizeof(path), "%s/leave", root);
    idle.notice_file = path;
    skn_yielding_t *yielding = start(&idle, 0);
    cr_expect_eq(skn_yielding_step(yielding), SKN_YIELDING_STAY);
    write_file("leave", "");
    memset(path, 'x', 3); /* the options were copied */
    cr_expect_eq(step_until(yielding, "leave"), SKN_YIELDING_LEAVE);
    cr_expect(strstr(line, "\"source\":\"file\",\"what\":\"/"), "%s", line);
    cr_expect_eq(skn_yielding_step(yielding), SKN_YIELDING_LEAVE);
    end_of(&yielding);
}

Test(yielding, memory_that_others_need_is_a_wish)
{
    skn_yielding_t *yielding = start(&usual, 0);
    write_file("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 5 kB\n");
    cr_expect_eq(step_until(yielding, "memory"), SKN_YIELDING_GIVE_MEMORY);
    cr_expect(strstr(line, "\"needed\":true"), "%s", line);
    cr_expect_eq(skn_yielding_step(yielding), SKN_YIELDING_GIVE_MEMORY);
    end_of(&yielding);
}

Test(yielding, an_event_stays_while_its_buffer_is_too_small)
{
    skn_yielding_options_t options = { .struct_bytes = sizeof(options),
                                       .idle = &usual };
    skn_yielding_t *yielding = skn_yielding_new(&options, &error);
    cr_assert(yielding, "%s", error.text);
    cr_expect_eq(skn_yielding_event(yielding, line, 8, &error), SKN_TOO_SMALL);
    cr_expect_eq(skn_yielding_event(yielding, NULL, 8, &error), SKN_TOO_SMALL);
    cr_expect_eq(skn_yielding_event(yielding, line, sizeof(line), &error),
                 SKN_OK);
    cr_expect_eq(skn_yielding_event(yielding, line, sizeof(line), &error),
                 SKN_BUSY);
    skn_yielding_destroy(&yielding);
}

static void *
wait_for_end(void *lock)
{
    (void)pthread_mutex_lock(lock);
    (void)pthread_mutex_unlock(lock);
    return NULL;
}

Test(yielding, it_works_beside_other_threads_and_leaves_no_child)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    (void)pthread_mutex_lock(&lock);
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_end, &lock), 0);
    skn_yielding_t *yielding = start(&usual, 0);
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_join(thread, NULL);
    skn_yielding_destroy(&yielding);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD);
}

/* --- wrong calls ---------------------------------------------------------- */

static bool
is_refused(const skn_yielding_options_t *options)
{
    error.status = SKN_OK;
    return !skn_yielding_new(options, &error) && error.status == SKN_USAGE;
}

Test(yielding, wrong_options_are_refused)
{
    static const double wrong[] = { 0, -1, 1.5, 0.0 / 0.0 };
    skn_training_idle_t idle = usual;
    skn_yielding_options_t options = { .struct_bytes = sizeof(options) };
    cr_expect(is_refused(&options));
    options.idle = &idle;
    options.struct_bytes--;
    cr_expect(is_refused(&options));
    options.struct_bytes++;
    for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        idle = usual;
        idle.share = wrong[k];
        cr_expect(is_refused(&options));
        idle = usual;
        idle.memory = wrong[k];
        cr_expect(is_refused(&options));
    }
    idle = usual;
    idle.grace_s = -1;
    cr_expect(is_refused(&options));
    idle = usual;
    idle.notice_every_s = 0.0 / 0.0;
    cr_expect(is_refused(&options));
}

Test(yielding, wrong_workers_are_refused)
{
    skn_yielding_t *yielding = start(&usual, 0);
    cr_expect_eq(skn_yielding_begin(yielding, -1, &error), SKN_USAGE);
    cr_expect_eq(skn_yielding_begin(yielding, getpid(), &error), SKN_USAGE);
    skn_yielding_end(yielding);
    cr_expect_eq(skn_yielding_begin(yielding, 0, &error), SKN_USAGE);
    cr_expect_str_eq(error.text,
                     "skn_yielding_begin: skn_yielding_end was called");
    skn_yielding_hurry(yielding);
    skn_yielding_destroy(&yielding);
}
