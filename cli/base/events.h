/* events.h - prints the events of a run, as text for people or unchanged.
 *
 * An event is a line of JSON (docs/reference/events.md); with --json it is
 * printed unchanged. Following a run is the job of follow.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_EVENTS_H
#define CLI_BASE_EVENTS_H

#include <jansson.h>

#include "cli/base/bar.h"
#include "cli/base/verb.h"
#include "skein/limits.h"

/* How the event `stopped` is printed. */
typedef struct cli_event_stop {
    const char *run_path; /* the run's folder at its start; NULL: unknown */
    bool is_named;        /* the user's command names that folder already */
    /* The folder of its last checkpoint, if another. */
    char moved[SKN_TEXT_MAX];
    bool is_part; /* part of a run whose end another process prints: print
                   * nothing */
} cli_event_stop_t;

/* Prints the event as a line of JSON on standard output and releases it; it may
 * be NULL. */
void cli_event_put(json_t *event);
/* Whether the event is about an actor that waits or a handler that does not
 * return, and not about a node that waits for others at the start. */
bool cli_event_actor_waits(const json_t *event);
/* Prints one event of a run, a line of JSON, in the form that `call` requests;
 * the bar is cleared before it, or drawn from it. `stop` may be NULL; it learns
 * from checkpoints that the run's folder was moved. */
void cli_event_print(const cli_call_t *call, const char *line, cli_bar_t *bar,
                     cli_event_stop_t *stop);
/* The same without a bar. */
void cli_event_show(const cli_call_t *call, const char *line);
/* Prints where a run has stopped, from its event `stopped`, and on a separate
 * line the command that resumes it. `resume_path`: the run's folder if that
 * command must name it, or NULL. */
void cli_event_tell_stop(const cli_call_t *call, const json_t *event,
                         const char *resume_path);

#endif
