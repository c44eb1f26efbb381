/* local_cluster.h - runs the coordinator and the members of a run as child
 * processes.
 *
 *     cluster ─┬─ skein coordinator FILE       prints the run's events
 *            ├─ skein member a FILE          so does the lead
 *            └─ ssh HOST skein member b ...
 *
 * A process that ends before the run does is restarted. Used by `skein up` and
 * by `skein torture`.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_LOCAL_CLUSTER_H
#define CLI_ELASTIC_LOCAL_CLUSTER_H

#include <jansson.h>

#include "cli/base/stop.h"
#include "cli/up/up.h"
#include "skein/config.h"

/* Place 0 is the coordinator's, place k + 1 that of node k's member. */
#define CLI_LOCAL_CLUSTER_MAX (SKN_CLUSTER_NODES_MAX + 1)

typedef struct cli_local_cluster cli_local_cluster_t;

/* Called for each event of a process that is not an error; `line` is its
 * text. */
typedef void cli_local_cluster_event_t(void *job, cli_local_cluster_t *cluster,
                                       uint32_t place, const json_t *event,
                                       const char *line);

struct cli_local_cluster {
    const cli_call_t *call;
    const char *file;            /* the model file */
    skn_config_t *config;        /* of it; only read by open */
    const cli_up_local_t *local; /* its overrides are passed to all processes */
    const char *path;            /* of the run, for all: checkpoint.path */
    const char *patience_s;      /* --patience of workers; NULL: the default */
    cli_local_cluster_event_t *take;
    void *job;
    /* Called for lines of their standard error; NULL: they are copied to
     * ours. */
    void (*complain)(void *job, const char *name, const char *line);
    void *complain_job;
    /* --- inside --- */
    cli_up_node_t process[CLI_LOCAL_CLUSTER_MAX];
    uint64_t due_ns[CLI_LOCAL_CLUSTER_MAX]; /* when to restart it; 0: not */
    uint32_t
        absence_ms[CLI_LOCAL_CLUSTER_MAX]; /* from a leave to the restart; 0:
                                        * none */
    uint32_t
        ends[CLI_LOCAL_CLUSTER_MAX]; /* ends in a row before it was of use */
    uint32_t count;                  /* number of places */
    cli_stop_t stop;
    int lock;      /* on the run folder: it allows one cluster */
    bool stopping; /* a stop was requested, or stdout has no reader */
    bool over;     /* the coordinator has ended for good */
    uint64_t over_ns;
    skn_error_t error;
};

/* The caller has set the first fields of `cluster`. Blocks the signals of
 * cli/base/stop.h. SKN_BUSY if another cluster works on the run of `path`. */
skn_status_t cli_local_cluster_open(cli_local_cluster_t *cluster,
                                    skn_error_t *error);
/* Starts all processes. */
skn_status_t cli_local_cluster_start(cli_local_cluster_t *cluster,
                                     skn_error_t *error);
/* Waits at most `timeout_ms` for output and ends of processes, and handles
 * them. False: all have ended. */
bool cli_local_cluster_turn(cli_local_cluster_t *cluster, int timeout_ms);
/* Kills process `place` by SIGKILL and restarts it `after_ms` later. */
void cli_local_cluster_kill(cli_local_cluster_t *cluster, uint32_t place,
                            uint32_t after_ms);
/* Gives the member at `place` notice to leave, and restarts it `after_ms` (not
 * 0) after it has left. */
void cli_local_cluster_dismiss(cli_local_cluster_t *cluster, uint32_t place,
                               uint32_t after_ms);
/* Kills the processes that are left. */
void cli_local_cluster_close(cli_local_cluster_t *cluster);

#endif
