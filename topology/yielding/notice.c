/* notice.c - polls a file or command for notice that the machine will go away.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/yielding/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void
skn_notice_init(skn_notice_t *notice, const char *file, const char *command,
                double every_s)
{
    memset(notice, 0, sizeof(*notice));
    notice->file = file;
    notice->command = command;
    notice->every_ns = (uint64_t)(every_s * 1e9);
}

/* Starts the command in its own process group, so that its children can be
 * ended with it; without our streams and blocked signals. */
static pid_t
start(const char *command)
{
    char shell[] = "/bin/sh", option[] = "-c";
    char *const words[] = { shell, option, (char *)(uintptr_t)command, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    pid_t pid = 0;
    (void)sigemptyset(&none);
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGPIPE); /* this process ignores it */
    (void)sigaddset(&usual, SIGXFSZ);
    if (posix_spawn_file_actions_init(&files) != 0)
        return 0;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        return 0;
    }
    int refused =
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETPGROUP) |
        posix_spawnattr_setsigmask(&attributes, &none) |
        posix_spawnattr_setsigdefault(&attributes, &usual) |
        posix_spawnattr_setpgroup(&attributes, 0);
    for (int stream = 0; stream <= 2; stream++)
        refused |= posix_spawn_file_actions_addopen(
            &files, stream, "/dev/null", stream ? O_WRONLY : O_RDONLY, 0);
    if (refused ||
        posix_spawn(&pid, shell, &files, &attributes, words, environ) != 0)
        pid = 0;
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return pid;
}

static void
end(skn_notice_t *notice)
{
    (void)kill(-notice->asked, SIGKILL);
    while (waitpid(notice->asked, NULL, 0) < 0 && errno == EINTR)
        continue;
    notice->asked = 0;
}

/* Whether the running command has exited with 0. A host that ignores SIGCHLD
 * never learns that. */
static bool
answered(skn_notice_t *notice, uint64_t now_ns)
{
    int status = 0;
    if (notice->asked == 0)
        return false;
    pid_t ended = waitpid(notice->asked, &status, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) {
        notice->asked = 0;
        return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    if (now_ns - notice->asked_ns >= SKN_NOTICE_ANSWER_NS)
        end(notice);
    return false;
}

bool
skn_notice_check(skn_notice_t *notice, uint64_t now_ns, const char **source)
{
    if (answered(notice, now_ns)) {
        *source = "command";
        return true;
    }
    if (notice->begun && now_ns < notice->next_ns)
        return false;
    notice->begun = true;
    notice->next_ns = now_ns + notice->every_ns;
    if (notice->file[0] && access(notice->file, F_OK) == 0) {
        *source = "file";
        return true;
    }
    if (notice->command[0] && notice->asked == 0) {
        notice->asked = start(notice->command);
        notice->asked_ns = now_ns;
    }
    return false;
}

void
skn_notice_fini(skn_notice_t *notice)
{
    if (notice->asked > 0)
        end(notice);
}
