/* member_rest.c - waits until the machine's memory suffices for a member again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/member/member_rest.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "cli/base/worker_yielding.h"
#include "cli/base/process.h"
#include "topology/idle/idle_policy.h"
#include "transport/socket/clock.h"

#define LOOK_MS 200

/* This watch begins without history: it has to see memory wanted and then not
 * wanted for a minute, or not wanted at all for as long. */
static bool
wait_for_memory(cli_yielding_t *yielding, cli_stop_t *stop, bool leash)
{
    uint64_t begun_ns = skn_monotonic_ns();
    bool wanted = false;
    for (;;) {
        struct pollfd polled[] = {
            { stop->descriptor, POLLIN, 0 },
            { leash ? STDIN_FILENO : -1, POLLIN, 0 },
        };
        (void)poll(polled, 2, LOOK_MS);
        if (cli_stop_take(stop) != CLI_STOP_NOTHING ||
            (polled[1].revents && cli_leash_is_gone()))
            return false;
        skn_yielding_wish_t wish = cli_yielding_step(yielding, 0);
        if (wish == SKN_YIELDING_LEAVE)
            return false;
        if (wish == SKN_YIELDING_STAY &&
            (wanted || skn_monotonic_ns() - begun_ns >= SKN_IDLE_RESUME_NS))
            return true;
        wanted = wanted || wish == SKN_YIELDING_GIVE_MEMORY;
    }
}

bool
cli_member_rest(const cli_call_t *call, const skn_training_idle_t *idle,
                cli_stop_t *stop, bool leash, skn_error_t *error)
{
    cli_yielding_options_t options;
    cli_yielding_options_of(idle, false, &options);
    cli_yielding_t *yielding = cli_yielding_open(call, &options, error);
    if (!yielding)
        return false;
    bool enough = wait_for_memory(yielding, stop, leash);
    cli_yielding_close(&yielding);
    return enough;
}
