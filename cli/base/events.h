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

/* The run that this process trains, as far as sentences about it need it. */
typedef struct cli_event_run {
    const char *path; /* its folder */
    bool is_named;    /* the user's command names that folder already */
    /* The folder of its last checkpoint, if another: it was moved. */
    char moved[SKN_TEXT_MAX];
    /* The network that is trained, from 1, of several that are joined; 0: it is
     * one run. */
    uint32_t network, network_count;
    bool has_network; /* that network has printed `done` */
    bool is_trained;  /* all networks have */
    bool is_joined;   /* they are one: only scores are missing */
} cli_event_run_t;

/* Prints the event as a line of JSON on standard output and releases it; it may
 * be NULL. */
void cli_event_put(json_t *event);
/* Whether the event is about an actor that waits or a handler that does not
 * return, and not about a node that waits for others at the start. */
bool cli_event_actor_waits(const json_t *event);
/* Prints one event of a run, a line of JSON, in the form that `call` requests;
 * the bar is cleared before it, or drawn from it. `run` is NULL for a run of
 * another process; it learns from checkpoints that its folder was moved, and
 * from `done` that a network is trained. */
void cli_event_print(const cli_call_t *call, const char *line, cli_bar_t *bar,
                     cli_event_run_t *run);
/* The same without a bar. */
void cli_event_show(const cli_call_t *call, const char *line);
/* Prints where a run has stopped, from its event `stopped`, and on a separate
 * line the command that resumes it. `resume_path`: the run's folder if that
 * command must name it, or NULL. */
void cli_event_tell_stop(const cli_call_t *call, const json_t *event,
                         const char *resume_path);

/* Prints that the run has stopped while no network is trained, and how to
 * continue. */
void cli_event_tell_pause(const cli_call_t *call, const cli_event_run_t *run);

#endif
