/* bar.h - a progress line on the terminal for a run.
 *
 *     epoch 3/8 [######........] 41%  30412/s  loss 5.988  P@1 .419  1:42 left
 *
 * A decoder's begins with "step 55 of 120", and its rate is in tokens/s.
 * It is redrawn in place on standard error, and cleared before anything else is
 * printed. One thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_BAR_H
#define CLI_BASE_BAR_H

#include "cli/base/verb.h"

typedef struct cli_bar_facts {
    double batch, batches; /* of the whole run */
    double step, steps;    /* of a decoder's run; 0: it is none */
    double epoch, epochs;
    double loss; /* mean of this epoch so far; a decoder's: since the last line
                  * that was printed */
    double examples_per_s, batches_per_s;
} cli_bar_facts_t;

typedef struct cli_bar {
    bool wanted, colored, shown;
    double p1;            /* P@1 of the last evaluation; < 0: none yet */
    double batches_per_s; /* smoothed; 0: unknown yet */
} cli_bar_t;

/* Whether a bar makes sense: standard error is a terminal that is not dumb, and
 * there is no --json. */
bool cli_bar_possible(const cli_call_t *call);
/* The bar is wanted if it is possible, and colored unless NO_COLOR is set. */
void cli_bar_init(cli_bar_t *bar, const cli_call_t *call);
void cli_bar_show(cli_bar_t *bar, const cli_bar_facts_t *facts);
void cli_bar_hide(cli_bar_t *bar);
/* The text to print before a sentence on standard error, in the same write: it
 * clears the line, where another process may have drawn its bar or the terminal
 * has echoed ^C. "" if standard error is not a terminal. */
const char *cli_bar_clearing(void);

/* Formats the line, at most `columns` wide: parts that do not fit are left out,
 * first the bar, then the others from the right. */
void cli_bar_format(const cli_bar_t *bar, const cli_bar_facts_t *facts,
                    unsigned columns, char *text, size_t text_bytes);
/* Formats a time: "0:07", "12:34", "1:02:03", "3 days". */
void cli_bar_time(double seconds, char *text, size_t text_bytes);

#endif
