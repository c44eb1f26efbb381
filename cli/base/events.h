/* events.h - prints the events of a run as people read them, or as they are.
 *
 * An event is a line of JSON (docs/events.md); with --json it is printed as it
 * came. Nothing here follows a run: follow.h does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_EVENTS_H
#define CLI_BASE_EVENTS_H

#include <jansson.h>

#include "cli/base/bar.h"
#include "cli/base/verb.h"

/* How the event `stopped` is shown. */
typedef struct cli_event_stop {
    /* The run's folder, where the command that goes on has to name it; NULL:
     * it does. */
    const char *resume_path;
    bool is_part; /* of what another process prints the end of: not at all */
} cli_event_stop_t;

/* Prints it, a line of JSON on standard output, and releases it; it may be
 * NULL. */
void cli_event_put(json_t *event);
/* Whether it is an actor that waits, or a handler that does not return, and not
 * a node that waits for others at the start. */
bool cli_event_actor_waits(const json_t *event);
/* Prints one event of a run, a line of JSON, in the form that `call` asks for;
 * the bar gives way to it, or shows it. `stop` may be NULL. */
void cli_event_print(const cli_call_t *call, const char *line, cli_bar_t *bar,
                     const cli_event_stop_t *stop);
/* The same without a bar. */
void cli_event_show(const cli_call_t *call, const char *line);
/* Prints where a run has stopped, by its event `stopped`, and on a line of its
 * own the command that goes on; resume_path as in cli_event_stop_t. */
void cli_event_tell_stop(const cli_call_t *call, const json_t *event,
                         const char *resume_path);

#endif
