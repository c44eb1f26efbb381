/* worker_process.h - starts the process of a member's worker, reads its lines,
 * and ends it; who may train, and with what arguments, is decided elsewhere.
 *
 *     member ──leash──▶ standard input   the worker's lease; closed: stop
 *            ◀──out──── standard output  events, one a line
 *            ◀──err──── standard error   lines for people
 *
 * The process is a child of this one. The host may have set SIGCHLD to be
 * ignored, or wait for any child: then its exit code is unknown, and only that.
 * One thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_WORKER_PROCESS_H
#define TOPOLOGY_CLUSTER_WORKER_PROCESS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "skein/error.h"

/* The longest event: a report, some 2 KiB per actor. */
#define SKN_WORKER_LINE_BYTES ((size_t)1 << 20)

typedef struct skn_worker_stream {
    int descriptor; /* -1: it has ended */
    size_t count;
    char *text; /* [SKN_WORKER_LINE_BYTES] */
} skn_worker_stream_t;

typedef struct skn_worker_process {
    pid_t process;   /* 0: none, or it has ended */
    int process_fd;  /* names it, whatever gets its number later; -1: none */
    int leash;       /* our end of its standard input; -1: closed */
    bool has_status; /* it has ended, and `status` is that of waitpid */
    int status;
    skn_worker_stream_t out, err;
} skn_worker_process_t;

void skn_worker_process_init(skn_worker_process_t *process);
/* The process has ended, or was never started. */
void skn_worker_process_fini(skn_worker_process_t *process);

/* Starts `program`, which is looked for on the PATH if it has no slash, with
 * `arguments`: they end with NULL, the first is the program's name. It inherits
 * no descriptor but the three streams; the signals that ask for a stop are
 * blocked in it until it reads them, so that they cannot kill it before.
 * SKN_UNAVAILABLE, SKN_NO_MEMORY, SKN_NO_INPUT: there is no such program. */
skn_status_t skn_worker_process_start(skn_worker_process_t *process,
                                      const char *program,
                                      char *const *arguments,
                                      skn_error_t *error);

/* Entries for poll(): both streams and the end of the process. */
#define SKN_WORKER_POLLED 3
void skn_worker_process_polled(const skn_worker_process_t *process,
                               struct pollfd polled[SKN_WORKER_POLLED]);

/* Reads what has arrived, and gives whole lines without their newlines to
 * `take`. */
typedef void skn_worker_take_t(void *job, bool is_event, char *line);
void skn_worker_process_read(skn_worker_process_t *process,
                             skn_worker_take_t *take, void *job);

/* Asks for a clean end by closing the leash. */
void skn_worker_process_stop(skn_worker_process_t *process);
/* True, once, when the process has ended. */
bool skn_worker_process_ends(skn_worker_process_t *process);
/* Kills it and waits for its end. */
void skn_worker_process_kill(skn_worker_process_t *process);

#endif
