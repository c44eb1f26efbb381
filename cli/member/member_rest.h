/* member_rest.h - waits until the machine's memory suffices for a member again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MEMBER_MEMBER_REST_H
#define CLI_MEMBER_MEMBER_REST_H

#include "cli/base/stop.h"
#include "cli/base/verb.h"
#include "skein/training.h"

/* Watches the machine's memory until it has been enough for a minute
 * (docs/tasks/idle.md). False: a signal requested an end, standard input closed
 * with `leash`, the machine will be taken away, or, in `error`, there is no
 * memory for the watch itself. The caller has no worker. */
bool cli_member_rest(const cli_call_t *call, const skn_training_idle_t *idle,
                     cli_stop_t *stop, bool leash, skn_error_t *error);

#endif
