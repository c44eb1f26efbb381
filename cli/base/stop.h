/* stop.h - receives the signals that ask a run to save and stop.
 *
 *     SIGTERM, SIGHUP, SIGUSR1,    save and end, once, however often and in
 *     SIGUSR2, SIGXCPU             which order: schedulers repeat them
 *     SIGINT                       the first time the same; the second time end
 *                                  at once; the third time the system ends us
 *
 * SIGHUP stays ignored if it is ignored when the process starts (nohup). For
 * the processes of the command: a library handles no signals.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_STOP_H
#define CLI_BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"

typedef enum cli_stop_news {
    CLI_STOP_NOTHING, /* or a repetition */
    CLI_STOP_ASKED,   /* save and end */
    CLI_STOP_AT_ONCE  /* end now */
} cli_stop_news_t;

/* The exit code after a second Ctrl-C, as in shells. */
#define CLI_STOP_INSISTED 130

/* { .descriptor = -1 } is closed. The caller sets the first five fields. */
typedef struct cli_stop {
    const char *doing;     /* "saving a checkpoint": the effect of a signal */
    const char *insisting; /* "quit without saving": of a second Ctrl-C */
    bool leashed;          /* SIGINT is left to the parent process */
    bool leased;           /* so are the other signals, which are events */
    bool json;             /* only Ctrl-C is answered: events report the rest */
    int descriptor; /* readable when a signal has arrived or a child ended */
    int asked_by;   /* the first signal that asked; 0: none yet */
    uint32_t interrupts;
    pid_t interrupter; /* sender of the last SIGINT; 0: the terminal */
    uint64_t interrupt_ns;
} cli_stop_t;

/* Blocks these signals and SIGCHLD for this process, permanently, and opens the
 * descriptor, which programs do not inherit. SKN_UNAVAILABLE. */
skn_status_t cli_stop_open(cli_stop_t *stop, skn_error_t *error);
/* Takes the signals that have arrived, without waiting, and answers with one
 * sentence on standard error. */
cli_stop_news_t cli_stop_take(cli_stop_t *stop);
/* The same after waiting at most `timeout_ms` for one; -1: forever. */
cli_stop_news_t cli_stop_wait(cli_stop_t *stop, int timeout_ms);
void cli_stop_close(cli_stop_t *stop);

/* Whether Ctrl-C was pressed again; and the exit code for that, or `code` if it
 * was not. */
bool cli_stop_insisted(const cli_stop_t *stop);
int cli_stop_code(const cli_stop_t *stop, int code);

/* Counts signal `number` from process `sender` at `now_ns` and returns what it
 * means. Changes nothing but *stop. */
cli_stop_news_t cli_stop_note(cli_stop_t *stop, int number, pid_t sender,
                              uint64_t now_ns);

/* Call this in a child that works for a parent with a cli_stop_t: signals to
 * the whole group must not end the child, and signals to the child alone go to
 * the parent, which alone decides. The parent stops the child by the signal
 * cli_stop_word(), which ends it until it installs a handler. */
void cli_stop_become_worker(void);
int cli_stop_word(void);

#endif
