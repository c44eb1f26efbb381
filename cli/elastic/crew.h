/* crew.h - a coordinator and the members of a run, as processes of this one.
 *
 *     crew ──┬─ skein coordinator FILE       its words are the run's
 *            ├─ skein member a FILE          so are those of who leads
 *            └─ ssh HOST skein member b ...
 *
 * One that ends before the run does is started again. Used by `skein up` and by
 * `skein torture`.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_CREW_H
#define CLI_ELASTIC_CREW_H

#include <jansson.h>

#include "cli/base/stop.h"
#include "cli/up/up.h"

/* Place 0 is the coordinator's, place k + 1 that of node k. */
#define CLI_CREW_MAX (SKN_CLUSTER_NODES_MAX + 1)

typedef struct cli_crew cli_crew_t;

/* An event of a process that is no complaint; `line` is its text. */
typedef void cli_crew_event_t(void *job, cli_crew_t *crew, uint32_t place,
                              const json_t *event, const char *line);

struct cli_crew {
    const cli_call_t *call;
    const char *file; /* the model file */
    const skn_model_t *model;
    const cli_up_local_t *local; /* whose overrides all are given, too */
    const char *path;            /* of the run, for all: checkpoint.path */
    const char *patience_s;      /* of workers; NULL: the default */
    cli_crew_event_t *take;
    void *job;
    /* Lines of standard error, in place of ours; NULL: there they go. */
    void (*complain)(void *job, const char *name, const char *line);
    void *complain_job;
    /* --- inside --- */
    cli_up_node_t process[CLI_CREW_MAX];
    uint64_t due_ns[CLI_CREW_MAX];     /* when it is started again; 0: not */
    uint32_t absence_ms[CLI_CREW_MAX]; /* after a leave; 0: it stays away */
    uint32_t ends[CLI_CREW_MAX];       /* in a row, before it was of use */
    uint32_t count;                    /* of places */
    cli_stop_t stop;
    int lock;      /* on the folder of the run: nobody else starts these */
    bool stopping; /* it was asked to, or nobody reads what is said */
    bool over;     /* the coordinator has ended, and as it should */
    uint64_t over_ns;
    skn_error_t error;
};

/* `crew` has its first members filled. Blocks the signals of cli/base/stop.h.
 * SKN_BUSY where another crew is at work on the run of `path`. */
skn_status_t cli_crew_open(cli_crew_t *crew, skn_error_t *error);
/* Starts all. */
skn_status_t cli_crew_start(cli_crew_t *crew, skn_error_t *error);
/* Waits at most `timeout_ms` for words and ends, and sees to them. False: all
 * have ended. */
bool cli_crew_turn(cli_crew_t *crew, int timeout_ms);
/* Ends process `place` with SIGKILL, and starts it again `after_ms` later. */
void cli_crew_kill(cli_crew_t *crew, uint32_t place, uint32_t after_ms);
/* Gives the member at `place` notice; it is started again `after_ms` (not 0)
 * after it has left. */
void cli_crew_dismiss(cli_crew_t *crew, uint32_t place, uint32_t after_ms);
/* What is still there is killed. */
void cli_crew_close(cli_crew_t *crew);

#endif
