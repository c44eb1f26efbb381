/* notice.h - detects an announcement that this machine will be taken away.
 *
 * The announcement is a file that appears, or a command that exits with 0; both
 * are checked at an interval. The command runs in the background and is killed
 * if it hangs. One thread, which blocks SIGCHLD or tolerates it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_YIELDING_NOTICE_H
#define TOPOLOGY_YIELDING_NOTICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A command that runs longer than this is killed, which counts as no notice. */
#define SKN_NOTICE_ANSWER_NS UINT64_C(20000000000)

/* The texts belong to the caller and must live as long. */
typedef struct skn_notice {
    const char *file, *command; /* "": none */
    uint64_t every_ns;
    uint64_t next_ns, asked_ns; /* the next check; when the command began */
    pid_t asked;                /* the command, while it runs; or 0 */
    bool begun;
} skn_notice_t;

void skn_notice_init(skn_notice_t *notice, const char *file,
                     const char *command, double every_s);
/* Whether there is a notice: then *source is "file" or "command". Never
 * waits. */
bool skn_notice_check(skn_notice_t *notice, uint64_t now_ns,
                      const char **source);
/* Kills the command if it runs. */
void skn_notice_fini(skn_notice_t *notice);

#endif
