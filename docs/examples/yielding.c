/* yielding.c - runs a command that gives way to all other work on the machine.
 * cc yielding.c $(pkg-config --cflags --libs skein) -o yielding
 * ./yielding COMMAND...    a file "leave" ends the command
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */
#endif
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <skein/yielding.h>

extern char **environ;

/* Starts the command in a session of its own, which gives way as a whole. */
static pid_t
start(char **words)
{
    posix_spawnattr_t own;
    pid_t worker = 0;
    posix_spawnattr_init(&own);
    posix_spawnattr_setflags(&own, POSIX_SPAWN_SETSID);
    if (posix_spawnp(&worker, words[0], NULL, &own, words, environ) != 0)
        worker = 0;
    posix_spawnattr_destroy(&own);
    return worker;
}

static void
print_events(skn_yielding_t *yielding)
{
    static char line[SKN_EVENT_BYTES_MAX];
    while (skn_yielding_event(yielding, line, sizeof(line), NULL) == SKN_OK)
        fprintf(stderr, "%s\n", line);
}

int
main(int count, char **words)
{
    skn_error_t error = SKN_ZERO;
    skn_training_idle_t idle = SKN_ZERO;
    skn_yielding_options_t options = SKN_ZERO;
    int status = 0;
    idle.share = 1, idle.memory = 1;
    idle.reserve_cores = -1; /* one while somebody is there */
    idle.notice_file = "leave";
    options.struct_bytes = sizeof(options);
    options.may_stop = true;
    options.idle = &idle;
    skn_yielding_t *yielding = skn_yielding_new(&options, &error);
    pid_t worker = yielding && count > 1 ? start(words + 1) : 0;
    if (worker == 0)
        return fprintf(stderr, "nothing was started: %s\n", error.text), 1;
    if (skn_yielding_begin(yielding, worker, &error) != SKN_OK)
        fprintf(stderr, "%s\n", error.text);
    for (bool asked = false; waitpid(worker, &status, WNOHANG) == 0;) {
        poll(NULL, 0, 200); /* and all else that the host waits for */
        /* This host has nothing that would start the command again, so it
         * keeps its memory, whatever SKN_YIELDING_GIVE_MEMORY asks. */
        if (skn_yielding_step(yielding) == SKN_YIELDING_LEAVE && !asked) {
            skn_yielding_hurry(yielding);
            kill(worker, SIGTERM);
            asked = true;
        }
        print_events(yielding);
    }
    skn_yielding_begin(yielding, 0, NULL);
    skn_yielding_end(yielding);
    print_events(yielding);
    skn_yielding_destroy(&yielding);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
