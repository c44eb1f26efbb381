/* view.h - draws a run on the terminal in boxes, and restores the terminal.
 *
 *      gen 3  batch 412 of 1160 [####......]  epoch 4  loss 3.214  P@1 .581
 *     -nodes----------------------------------+-ask--------------------------
 *      n0  trains  g3  33%   12.1/s  8.2 MB/s | > a small animal with feathers
 *      n1  away                               |   animal .412  bird .201
 *     -what happened---------------------------------------------------------
 *      n1 is gone
 *
 * Drawing is pure: a view becomes lines of text. Only open, close and draw
 * touch the terminal. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_VIEW_H
#define CLI_ELASTIC_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#define CLI_VIEW_COLUMNS_MAX 200u
#define CLI_VIEW_LINES_MAX 60u
#define CLI_VIEW_NODES_MAX 64u

typedef char cli_view_line_t[CLI_VIEW_COLUMNS_MAX + 1];

typedef struct cli_view_node {
    char name[32], state[16], note[24];
    double generation, batches_per_s, bytes_per_s, cores, share;
} cli_view_node_t;

/* The last lines that were added; a ring. */
typedef struct cli_view_log {
    cli_view_line_t line[CLI_VIEW_LINES_MAX];
    size_t count;
} cli_view_log_t;

typedef struct cli_view {
    bool open;
    struct termios before;
    double batch, batches, epoch, epochs, loss, p1, generation;
    cli_view_node_t node[CLI_VIEW_NODES_MAX];
    size_t node_count;
    cli_view_log_t happened, answers;
    cli_view_line_t question; /* the text typed so far */
    bool asked;               /* it is complete, for the caller to take */
} cli_view_t;

/* Whether a view is possible: standard input and error are a terminal that is
 * not dumb. Standard output is for the results at the end. */
bool cli_view_possible(void);

/* --- pure ----------------------------------------------------------------- */

/* Updates the view from an event of a run; ignores unknown events. */
void cli_view_event(cli_view_t *view, const json_t *event);
void cli_view_say(cli_view_log_t *log, const char *text);
/* Shows the event `idle` of a node beside the node. */
void cli_view_note(cli_view_t *view, const char *node, const json_t *event);
/* Shows a line of a process's standard error; `view` is a cli_view_t. */
void cli_view_complain(void *view, const char *name, const char *line);
/* Takes a typed key, or a byte of one. */
void cli_view_key(cli_view_t *view, char key);
/* Draws the whole view: `rows` lines of at most `columns`. */
void cli_view_draw(const cli_view_t *view, size_t columns, size_t rows,
                   cli_view_line_t lines[CLI_VIEW_LINES_MAX]);

/* --- the terminal --------------------------------------------------------- */

/* Saves the state of the terminal, for cli_view_close, and takes it over. */
void cli_view_open(cli_view_t *view);
/* Reads the keys that were typed, and draws. */
void cli_view_turn(cli_view_t *view);
/* Restores the terminal; does nothing if it is not open. */
void cli_view_close(cli_view_t *view);

#endif
