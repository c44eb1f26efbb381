/* member_rest.c - waiting for memory.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/member_rest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/polite.h"
#include "cli/process.h"
#include "topology/idle_policy.h"

#define LOOK_MS 200

static bool
asked_to_end(int signals)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            return true;
    return false;
}

/* A look that begins here knows nothing of what went before: it has to see
 * memory wanted, and then not for a minute, or not at all for as long. */
static bool
wait_for_memory(cli_polite_t *polite, int signals, bool leash)
{
    uint64_t begun_ns = cli_now_ns();
    bool wanted = false;
    for (;;) {
        struct pollfd polled[] = {
            { signals, POLLIN, 0 },
            { leash ? STDIN_FILENO : -1, POLLIN, 0 },
        };
        (void)poll(polled, 2, LOOK_MS);
        if ((polled[0].revents && asked_to_end(signals)) ||
            (polled[1].revents && cli_leash_is_gone()))
            return false;
        cli_polite_wish_t wish = cli_polite_step(polite, 0);
        if (wish == CLI_POLITE_LEAVE)
            return false;
        if (wish == CLI_POLITE_STAY &&
            (wanted || cli_now_ns() - begun_ns >= SKN_IDLE_RESUME_NS))
            return true;
        wanted = wanted || wish == CLI_POLITE_GIVE_MEMORY;
    }
}

bool
cli_member_rest(const cli_call_t *call, const skn_model_t *model, int signals,
                bool leash, skn_error_t *error)
{
    cli_polite_options_t options;
    cli_polite_options_of(&model->idle, false, &options);
    cli_polite_t *polite = cli_polite_open(call, &options, error);
    if (!polite)
        return false;
    bool enough = wait_for_memory(polite, signals, leash);
    cli_polite_close(&polite);
    return enough;
}
