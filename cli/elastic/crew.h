/* crew.h - runs the coordinator and the members of a run as child processes.
 *
 *     crew ──┬─ skein coordinator FILE       prints the run's events
 *            ├─ skein member a FILE          so does the lead
 *            └─ ssh HOST skein member b ...
 *
 * A process that ends before the run does is restarted. Used by `skein up` and
 * by `skein torture`.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_CREW_H
#define CLI_ELASTIC_CREW_H

#include <jansson.h>

#include "cli/base/stop.h"
#include "cli/up/up.h"

/* Place 0 is the coordinator's, place k + 1 that of node k's member. */
#define CLI_CREW_MAX (SKN_CLUSTER_NODES_MAX + 1)

typedef struct cli_crew cli_crew_t;

/* Called for each event of a process that is not an error; `line` is its
 * text. */
typedef void cli_crew_event_t(void *job, cli_crew_t *crew, uint32_t place,
                              const json_t *event, const char *line);

struct cli_crew {
    const cli_call_t *call;
    const char *file; /* the model file */
    const skn_model_t *model;
    const cli_up_local_t *local; /* its overrides are passed to all processes */
    const char *path;            /* of the run, for all: checkpoint.path */
    const char *patience_s;      /* --patience of workers; NULL: the default */
    cli_crew_event_t *take;
    void *job;
    /* Called for lines of their standard error; NULL: they are copied to
     * ours. */
    void (*complain)(void *job, const char *name, const char *line);
    void *complain_job;
    /* --- inside --- */
    cli_up_node_t process[CLI_CREW_MAX];
    uint64_t due_ns[CLI_CREW_MAX];     /* when to restart it; 0: not */
    uint32_t absence_ms[CLI_CREW_MAX]; /* from a leave to the restart; 0:
                                        * none */
    uint32_t ends[CLI_CREW_MAX];       /* ends in a row before it was of use */
    uint32_t count;                    /* number of places */
    cli_stop_t stop;
    int lock;      /* on the run folder: it allows one crew */
    bool stopping; /* a stop was requested, or stdout has no reader */
    bool over;     /* the coordinator has ended for good */
    uint64_t over_ns;
    skn_error_t error;
};

/* The caller has set the first fields of `crew`. Blocks the signals of
 * cli/base/stop.h. SKN_BUSY if another crew works on the run of `path`. */
skn_status_t cli_crew_open(cli_crew_t *crew, skn_error_t *error);
/* Starts all processes. */
skn_status_t cli_crew_start(cli_crew_t *crew, skn_error_t *error);
/* Waits at most `timeout_ms` for output and ends of processes, and handles
 * them. False: all have ended. */
bool cli_crew_turn(cli_crew_t *crew, int timeout_ms);
/* Kills process `place` by SIGKILL and restarts it `after_ms` later. */
void cli_crew_kill(cli_crew_t *crew, uint32_t place, uint32_t after_ms);
/* Gives the member at `place` notice to leave, and restarts it `after_ms` (not
 * 0) after it has left. */
void cli_crew_dismiss(cli_crew_t *crew, uint32_t place, uint32_t after_ms);
/* Kills the processes that are left. */
void cli_crew_close(cli_crew_t *crew);

#endif
