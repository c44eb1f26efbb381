/* bar.h - one line on a terminal that says how far a run is.
 *
 *     epoch 3/8 [######........] 41%  30412/s  loss 5.988  P@1 .419  1:42 left
 *
 * It is drawn on standard error, over itself, and taken away before anything
 * else is printed. One thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BASE_BAR_H
#define CLI_BASE_BAR_H

#include "cli/base/verb.h"

typedef struct cli_bar_facts {
    double batch, batches; /* of the whole run */
    double epoch, epochs;
    double loss; /* of this epoch so far */
    double examples_per_s, batches_per_s;
} cli_bar_facts_t;

typedef struct cli_bar {
    bool wanted, colored, shown;
    double p1;            /* of the last evaluation; < 0: none yet */
    double batches_per_s; /* smoothed; 0: not known yet */
} cli_bar_t;

/* Whether a person looks at standard error: a terminal that is not dumb, and
 * no --json. */
bool cli_bar_possible(const cli_call_t *call);
/* Wanted if it is possible; colored unless NO_COLOR is set. */
void cli_bar_init(cli_bar_t *bar, const cli_call_t *call);
void cli_bar_show(cli_bar_t *bar, const cli_bar_facts_t *facts);
void cli_bar_hide(cli_bar_t *bar);
/* What goes before a sentence on standard error, in the same write: it empties
 * the line that the bar of another process may stand on, and the ^C of a
 * person. "" where that is no terminal. */
const char *cli_bar_clearing(void);

/* The line, at most `columns` wide: what does not fit is left out, first the
 * bar, then parts from the right. */
void cli_bar_format(const cli_bar_t *bar, const cli_bar_facts_t *facts,
                    unsigned columns, char *text, size_t text_bytes);
/* "0:07", "12:34", "1:02:03", "3 days". */
void cli_bar_time(double seconds, char *text, size_t text_bytes);

#endif
