/* up.h - starts, reads and ends the node processes of a run.
 *
 *     up ──┬─ skein node a FILE --json       standard output: events
 *          ├─ skein node b FILE --json       standard error: errors
 *          └─ ssh HOST skein node c ...      standard input: the leash
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_UP_UP_H
#define CLI_UP_UP_H

#include <jansson.h>
#include <sys/types.h>

#include "cli/base/verb.h"
#include "skein/limits.h"

#define CLI_UP_ARGUMENTS_MAX (2 * CLI_VALUES_MAX + 48)
/* The longest event: a report, some 2 KiB per actor. */
#define CLI_UP_LINE_BYTES ((size_t)1 << 20)

/* A stream of lines from a process. */
typedef struct cli_up_stream {
    int descriptor; /* -1: it has ended */
    size_t count;
    char *text; /* [CLI_UP_LINE_BYTES] */
} cli_up_stream_t;

typedef struct cli_up_node {
    const char *name, *ssh;
    const char *path; /* folder of the run; the node's is PATH/NAME */
    pid_t process;    /* 0: it has ended */
    int status;       /* from waitpid */
    int leash;        /* our end of its standard input; -1: closed */
    cli_up_stream_t out, err;
    skn_error_t error;        /* the error that it reported */
    char last[512];           /* last line of its standard error */
    bool is_first;            /* first of the list: it leads */
    bool spoke;               /* an event has arrived from it */
    bool joined;              /* it has had a link to another node */
    bool cut;                 /* it was killed because it outlived others */
    bool failed;              /* it ended by itself with a failure */
    bool must_die_with_us;    /* killed at once when we die */
    uint64_t trace_origin_ns; /* origin of its trace; 0: none wanted */
    bool own_group;           /* it leads its own process group */
} cli_up_node_t;

/* The resources of --local-nodes: keys, until they were read, and ports, until
 * the end. */
typedef struct cli_up_local {
    char folder[64];
    bool elastic;       /* the run has a coordinator */
    char *overrides[8]; /* malloc'ed: nodes=..., resources.cores=auto, ... */
    size_t override_count;
    uint32_t count;
    int held[SKN_CLUSTER_NODES_MAX + 1]; /* sockets that hold the ports */
    size_t held_count;
} cli_up_local_t;

/* up_local.c: makes keys in a temporary folder, holds ports that the system
 * chooses, and writes the override that gives the model `count` nodes. Close
 * `local` even if it fails. */
skn_status_t cli_up_local_open(cli_up_local_t *local, uint32_t count,
                               skn_error_t *error);
/* Removes the keys and their folder, which are not needed any more. */
void cli_up_local_forget(cli_up_local_t *local);
void cli_up_local_close(cli_up_local_t *local);

/* up_command.c: the arguments that start a node; they end with NULL, and point
 * into this struct, the call and the node. SKN_USAGE, SKN_NO_MEMORY,
 * SKN_UNAVAILABLE. */
typedef struct cli_up_command {
    char *argument[CLI_UP_ARGUMENTS_MAX];
    size_t count;
    char *line, *words; /* malloc'ed: command for ssh; words of --ssh */
    char *folder;       /* malloc'ed: an override, with the run's folder */
    char self[4096], origin[24];
} cli_up_command_t;
skn_status_t cli_up_command(const cli_call_t *call, const cli_up_local_t *local,
                            const cli_up_node_t *node,
                            cli_up_command_t *command, skn_error_t *error);
void cli_up_command_fini(cli_up_command_t *command);
/* The same for a process of a run with a coordinator. */
typedef struct cli_up_role {
    const char *verb; /* "coordinator", "member", "train" */
    const char *file; /* the model file */
    const char *path; /* the run's folder, added to the overrides; or NULL */
    const char *patience_s; /* of a member's workers; NULL: the default */
} cli_up_role_t;
skn_status_t cli_up_role_command(const cli_call_t *call,
                                 const cli_up_local_t *local,
                                 const cli_up_node_t *node,
                                 const cli_up_role_t *role,
                                 cli_up_command_t *command, skn_error_t *error);

/* up_process.c */
/* Starts node `node`; `arguments` ends with NULL, its first is the program. */
skn_status_t cli_up_start(cli_up_node_t *node, char *const *arguments,
                          skn_error_t *error);
/* Reads what has arrived, and passes on whole lines without their newlines.
 * False: the stream has ended. */
typedef void cli_up_take_t(void *job, cli_up_node_t *node, char *line);
bool cli_up_read(cli_up_stream_t *stream, cli_up_node_t *node,
                 cli_up_take_t *take, void *job);
/* Asks for a clean end by closing the leash or by a signal. */
void cli_up_stop(cli_up_node_t *node);
void cli_up_kill(cli_up_node_t *node, int number);
void cli_up_fini(cli_up_node_t *node);
/* Keeps the error in an event "error" of the node. */
void cli_up_keep_error(cli_up_node_t *node, const json_t *event);

#endif
