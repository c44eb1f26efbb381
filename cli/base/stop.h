/* stop.h - the signals that ask a run to save and stop: which they are, and
 * what each one that comes means.
 *
 *     SIGTERM, SIGHUP, SIGUSR1,    save and end, once, however often they come,
 *     SIGUSR2, SIGXCPU             in any order: schedulers repeat themselves
 *     SIGINT                       the first time the same; the second time end
 *                                  at once; the third time the system ends us
 *
 * SIGHUP that is ignored when the process starts (nohup) stays ignored. For the
 * processes of the command: a library takes no signals.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_STOP_H
#define CLI_BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "skein/error.h"

typedef enum cli_stop_news {
    CLI_STOP_NOTHING, /* or what is being done already */
    CLI_STOP_ASKED,   /* save and end */
    CLI_STOP_AT_ONCE  /* end now */
} cli_stop_news_t;

/* The exit code of what a second Ctrl-C has ended, as shells have it. */
#define CLI_STOP_INSISTED 130

/* { .descriptor = -1 } is closed. The first five are the caller's to set. */
typedef struct cli_stop {
    const char *doing;     /* "saving a checkpoint": what it brings about */
    const char *insisting; /* "quit without saving": the second Ctrl-C does */
    bool leashed;          /* SIGINT is for whoever started this process */
    bool leased;    /* so is every other of these signals: they are passed on */
    bool json;      /* only Ctrl-C is answered: events say the rest */
    pid_t starter;  /* who that was; 0: nobody is passed anything */
    int descriptor; /* readable when a signal has come, or a child ended */
    int asked_by;   /* the first signal that did; 0: none yet */
    uint32_t interrupts;
    pid_t interrupter; /* who sent the last SIGINT; 0: the terminal */
    uint64_t interrupt_ns;
} cli_stop_t;

/* Blocks these signals and SIGCHLD for this process, for good, and opens the
 * descriptor, which is not inherited by programs. SKN_UNAVAILABLE. */
skn_status_t cli_stop_open(cli_stop_t *stop, skn_error_t *error);
/* Takes what has come, without waiting, and answers it with one sentence on
 * standard error. */
cli_stop_news_t cli_stop_take(cli_stop_t *stop);
/* The same after a wait for it, of `timeout_ms` at most; -1: without end. */
cli_stop_news_t cli_stop_wait(cli_stop_t *stop, int timeout_ms);
void cli_stop_close(cli_stop_t *stop);

/* Whether Ctrl-C was pressed again; and the exit code that says so, in place of
 * `code` if it was. */
bool cli_stop_insisted(const cli_stop_t *stop);
int cli_stop_code(const cli_stop_t *stop, int code);

/* What signal `number` of process `sender` means at `now_ns`: counts it. Pure
 * but for *stop. */
cli_stop_news_t cli_stop_note(cli_stop_t *stop, int number, pid_t sender,
                              uint64_t now_ns);

/* In a child that works for its parent, which has opened a cli_stop_t: what is
 * sent to a whole group must not end it, and what is sent to it alone goes to
 * the parent, which alone decides. The parent's own word is the signal
 * cli_stop_word(); it ends the child until somebody handles it. */
void cli_stop_become_worker(void);
int cli_stop_word(void);

/* From here on, until the next cli_stop_open, these signals write `text` to
 * standard output and end the process with `code`, those that have come already
 * at once. Takes `text` (of malloc; NULL is ""). */
void cli_stop_farewell(char *text, int code);

#endif
