/* worker_yielding.c - makes a worker of the command give way, and prints the
 * events of that.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/worker_yielding.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/base/events.h"

struct cli_yielding {
    const cli_call_t *call;
    skn_yielding_t *yielding;
    pid_t worker;
    char line[SKN_EVENT_BYTES_MAX];
};

void
cli_yielding_options_of(const skn_training_idle_t *idle, bool may_stop,
                        cli_yielding_options_t *options)
{
    options->may_stop = may_stop;
    options->idle = *idle;
    (void)snprintf(options->file, sizeof(options->file), "%s",
                   idle->notice_file);
    (void)snprintf(options->command, sizeof(options->command), "%s",
                   idle->notice_command);
}

static void
show_events(cli_yielding_t *yielding)
{
    while (skn_yielding_event(yielding->yielding, yielding->line,
                              sizeof(yielding->line), NULL) == SKN_OK)
        cli_event_show(yielding->call, yielding->line);
}

cli_yielding_t *
cli_yielding_open(const cli_call_t *call, const cli_yielding_options_t *options,
                  skn_error_t *error)
{
    skn_training_idle_t idle = options->idle;
    idle.notice_file = options->file;
    idle.notice_command = options->command;
    const skn_yielding_options_t wanted = {
        .struct_bytes = sizeof(wanted),
        .may_stop = options->may_stop,
        .idle = &idle,
        /* Tests supply a simulated machine: tests/e2e/idle.sh. */
        .root = getenv("SKEIN_IDLE_ROOT"),
    };
    cli_yielding_t *yielding = calloc(1, sizeof(*yielding));
    if (!yielding) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to give way");
        return NULL;
    }
    yielding->call = call;
    yielding->yielding = skn_yielding_new(&wanted, error);
    if (!yielding->yielding) {
        free(yielding);
        return NULL;
    }
    show_events(yielding);
    return yielding;
}

void
cli_yielding_close(cli_yielding_t **yielding)
{
    cli_yielding_t *old = *yielding;
    if (!old)
        return;
    skn_yielding_end(old->yielding);
    show_events(old);
    skn_yielding_destroy(&old->yielding);
    free(old);
    *yielding = NULL;
}

void
cli_yielding_share(cli_yielding_share_t *share, const skn_training_idle_t *idle,
                   bool may_stop)
{
    static char room[1 << 16];
    if (!idle->enabled || share->known)
        return;
    /* The autogroup of the terminal is shared with the owner's shell. */
    (void)setsid();
    if (!isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, room, _IOFBF, sizeof(room));
    cli_yielding_options_of(idle, may_stop, &share->options);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    share->known = true;
}

skn_yielding_wish_t
cli_yielding_step(cli_yielding_t *yielding, pid_t worker)
{
    skn_error_t error = { 0 };
    if (worker != yielding->worker &&
        skn_yielding_begin(yielding->yielding, worker, &error) != SKN_OK)
        cli_warn(yielding->call, error.text,
                 "the run gives way less than it should; `skein doctor` shows "
                 "why");
    yielding->worker = worker;
    skn_yielding_wish_t wish = skn_yielding_step(yielding->yielding);
    show_events(yielding);
    return wish;
}

void
cli_yielding_hurry(cli_yielding_t *yielding)
{
    skn_yielding_hurry(yielding->yielding);
}

/* --- beside a worker ------------------------------------------------------ */

skn_yielding_wish_t
cli_yielding_look(void *state, pid_t worker)
{
    cli_yielding_watch_t *watch = state;
    skn_error_t error = { 0 };
    if (!watch->share->known)
        return SKN_YIELDING_STAY;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!watch->yielding && !watch->tried) {
        watch->tried = true;
        watch->yielding =
            cli_yielding_open(watch->call, &watch->share->options, &error);
        if (!watch->yielding)
            cli_warn(watch->call, error.text, "the run does not give way");
    }
    return watch->yielding ? cli_yielding_step(watch->yielding, worker)
                           : SKN_YIELDING_STAY;
}

void
cli_yielding_hasten(void *state)
{
    cli_yielding_watch_t *watch = state;
    if (watch->yielding)
        cli_yielding_hurry(watch->yielding);
}
