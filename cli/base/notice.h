/* notice.h - whether somebody says that this machine will be taken away.
 *
 * A file that appears, or a command that exits 0, looked at every so often;
 * the command runs beside, and one that hangs is killed. One thread, which
 * blocks SIGCHLD or does not mind it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_NOTICE_H
#define CLI_BASE_NOTICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A command that has not answered by then is killed: no answer. */
#define CLI_NOTICE_ANSWER_NS UINT64_C(20000000000)

/* Texts are the caller's, and live as long. */
typedef struct cli_notice {
    const char *file, *command; /* "": none */
    uint64_t every_ns;
    uint64_t next_ns, asked_ns; /* the next look; when the command began */
    pid_t asked;                /* the command, while it runs; or 0 */
    bool begun;
} cli_notice_t;

void cli_notice_init(cli_notice_t *notice, const char *file,
                     const char *command, double every_s);
/* Whether there is one: then *source is "file" or "command". Never waits. */
bool cli_notice_look(cli_notice_t *notice, uint64_t now_ns,
                     const char **source);
/* Kills a command that runs. */
void cli_notice_fini(cli_notice_t *notice);

#endif
