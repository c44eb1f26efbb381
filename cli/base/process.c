/* process.c - system calls of the command's processes: children, folders, ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/process.h"

#include "formats/text/system_error.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void
cli_outlive_file_limit(void)
{
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    (void)sigaction(SIGXFSZ, &ignore, NULL);
}

skn_status_t
cli_self_path(char *text, size_t bytes, skn_error_t *error)
{
    ssize_t length = readlink("/proc/self/exe", text, bytes - 1);
    text[length < 0 ? 0 : length] = '\0';
    return length >= 0 ? SKN_OK
                       : skn_fail(error, SKN_UNAVAILABLE,
                                  "the path of this program cannot be read: %s",
                                  strerror(errno));
}

bool
cli_is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static int
remove_one(const char *path, const struct stat *facts, int sort,
           struct FTW *place)
{
    (void)facts, (void)sort, (void)place;
    return remove(path) == 0 || errno == ENOENT ? 0 : errno;
}

skn_status_t
cli_remove_tree(const char *path, skn_error_t *error)
{
    enum {
        OPEN_FOLDERS = 16
    }; /* at a time; deeper trees are slower */
    int failed = nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    if (failed < 0)
        failed = errno;
    return failed == 0 || failed == ENOENT
               ? SKN_OK
               : skn_fail_code(error, SKN_STORAGE, failed, NULL,
                               "cannot remove %s", path);
}

uint32_t
cli_unit_count(void)
{
    cpu_set_t units;
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof(units), &units) == 0)
        count = CPU_COUNT(&units);
    return count > 0 ? (uint32_t)count : 1; /* more than 1,024 are counted
                                             * without the affinity */
}

bool
cli_leash_is_gone(void)
{
    char nothing[256];
    ssize_t bytes = read(STDIN_FILENO, nothing, sizeof(nothing));
    return bytes == 0 || (bytes < 0 && errno != EINTR && errno != EAGAIN);
}

void
cli_process_wait(pid_t process, int *status)
{
    while (waitpid(process, status, 0) < 0 && errno == EINTR)
        continue;
}

/* --- ends ---------------------------------------------------------------- */

void *
cli_shared_new(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

static volatile bool *end_mark;

volatile bool *
cli_worker_end_mark(void)
{
    if (!end_mark)
        end_mark = cli_shared_new(sizeof(*end_mark));
    return end_mark;
}

void
cli_worker_exit(int code)
{
    if (end_mark)
        *end_mark = true;
    _exit(code);
}

bool
cli_output_unread(void)
{
    struct pollfd polled = { STDOUT_FILENO, 0, 0 };
    struct stat facts;
    /* A closed terminal has POLLERR, too, but SIGHUP reports that. */
    return poll(&polled, 1, 0) == 1 && (polled.revents & POLLERR) != 0 &&
           fstat(STDOUT_FILENO, &facts) == 0 &&
           (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
}

static void
handle_unread(void (*handler)(int))
{
    const struct sigaction action = { .sa_handler = handler };
    (void)sigaction(SIGPIPE, &action, NULL);
}

void
cli_output_outlive(void)
{
    handle_unread(SIG_IGN);
}

int
cli_output_end_unread(void)
{
    handle_unread(SIG_DFL);
    (void)raise(SIGPIPE);
    return 128 + SIGPIPE;
}
