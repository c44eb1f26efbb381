/* view.c - draws a run on the terminal in boxes, and restores the terminal.
 *
 * Uses ECMA-48 sequences that every current terminal knows: alternate screen,
 * home, clear to the end of the line.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/bar.h"
#include "formats/text/json_text.h"
#include "skein/text.h"

#define OTHER_SCREEN "\033[?1049h\033[?25l"
#define FORMER_SCREEN "\033[?25h\033[?1049l"
#define COLUMNS_MIN 40u
#define ROWS_MIN 10u
#define NODES_COLUMNS 46u
/* The least height of a box: a question, its answers, and the next question. */
#define BOX_MIN 8u

bool
cli_view_possible(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && terminal &&
           *terminal && strcmp(terminal, "dumb") != 0;
}

/* --- content -------------------------------------------------------------- */

void
cli_view_say(cli_view_log_t *log, const char *text)
{
    char *line = log->line[log->count++ % CLI_VIEW_LINES_MAX];
    size_t k = 0;
    for (; text[k] && k < CLI_VIEW_COLUMNS_MAX; k++) /* no control characters */
        line[k] = text[k] >= ' ' && text[k] < 0x7f ? text[k] : '?';
    line[k] = '\0';
}

static void
take_nodes(cli_view_t *view, const json_t *nodes)
{
    size_t k;
    const json_t *item;
    view->node_count = 0;
    json_array_foreach(nodes, k, item)
    {
        if (k == CLI_VIEW_NODES_MAX)
            return;
        cli_view_node_t *node = &view->node[view->node_count++];
        (void)snprintf(node->name, sizeof(node->name), "%s",
                       skn_json_word(item, "name"));
        (void)snprintf(node->state, sizeof(node->state), "%s",
                       skn_json_word(item, "state"));
        node->generation = skn_json_number(item, "generation");
        node->batches_per_s = skn_json_number(item, "batches_per_s");
        node->bytes_per_s = skn_json_number(item, "bytes_per_s");
        node->cores = skn_json_number(item, "cores");
        node->share = skn_json_number(item, "share");
    }
}

void
cli_view_event(cli_view_t *view, const json_t *event)
{
    const char *name = skn_json_word(event, "event");
    cli_view_line_t text;
    char loss[CLI_LOSS_BYTES];
    if (strcmp(name, "nodes") == 0) {
        take_nodes(view, json_object_get(event, "nodes"));
    } else if (strcmp(name, "membership") == 0) {
        view->generation = skn_json_number(event, "generation");
        cli_view_say(&view->happened, skn_json_word(event, "text"));
    } else if (strcmp(name, "progress") == 0) {
        view->batch = skn_json_number(event, "batch");
        view->batches = skn_json_number(event, "batches");
        view->epoch = skn_json_number(event, "epoch");
        view->epochs = skn_json_number(event, "epochs");
        view->loss = skn_json_number(event, "loss");
    } else if (strcmp(name, "epoch") == 0) {
        if (json_object_get(event, "p1"))
            view->p1 = skn_json_number(event, "p1");
        (void)skn_text_write(
            text, sizeof(text), "epoch %.0f: loss %s, P@1 %.4f",
            skn_json_number(event, "epoch"),
            cli_loss_text(skn_json_number(event, "loss"), loss), view->p1);
        cli_view_say(&view->happened, text);
    } else if (strcmp(name, "warning") == 0) {
        cli_view_say(&view->happened, skn_json_word(event, "message"));
    }
}

void
cli_view_note(cli_view_t *view, const char *node, const json_t *event)
{
    const char *action = skn_json_word(event, "action");
    cli_view_line_t text;
    double threads = skn_json_number(event, "threads"),
           cores = skn_json_number(event, "cores");
    bool is_yielding = strcmp(action, "threads") == 0
                           ? threads < cores
                           : json_is_true(json_object_get(event, "paused"));
    if (strcmp(action, "threads") != 0 && strcmp(action, "pause") != 0)
        return;
    for (size_t k = 0; k < view->node_count; k++)
        if (strcmp(view->node[k].name, node) == 0)
            (void)snprintf(view->node[k].note, sizeof(view->node[k].note), "%s",
                           is_yielding ? "yields" : "");
    (void)snprintf(text, sizeof(text), "%.32s %s: %.120s", node,
                   is_yielding ? "gives way" : "continues",
                   skn_json_word(event, "reason"));
    cli_view_say(&view->happened, text);
}

void
cli_view_complain(void *view, const char *name, const char *line)
{
    cli_view_line_t text;
    (void)snprintf(text, sizeof(text), "[%.32s] %.150s", name, line);
    cli_view_say(&((cli_view_t *)view)->happened, text);
}

/* --- drawing -------------------------------------------------------------- */

/* Writes `text` at `column` of a line, filled with blanks up to there. */
static void
put(cli_view_line_t line, size_t column, size_t columns, const char *text)
{
    size_t used = strlen(line), bytes = strlen(text);
    if (column >= columns)
        return;
    for (; used < column; used++)
        line[used] = ' ';
    bytes = bytes < columns - column ? bytes : columns - column;
    memcpy(line + column, text, bytes);
    line[column + bytes] = '\0';
}

static void
rule(cli_view_line_t line, size_t columns, size_t split, const char *left,
     const char *right)
{
    memset(line, '-', columns);
    line[columns] = '\0';
    memcpy(line + 1, left, strlen(left));
    if (split == 0)
        return;
    line[split] = '+';
    size_t room = columns - split - 2, bytes = strlen(right);
    memcpy(line + split + 2, right, bytes < room ? bytes : room);
}

static void
draw_node(const cli_view_node_t *node, cli_view_line_t line, size_t columns)
{
    cli_view_line_t text;
    (void)snprintf(text, sizeof(text), " %-6.6s %-7.7s", node->name,
                   node->note[0] && strcmp(node->state, "trains") == 0
                       ? node->note
                       : node->state);
    put(line, 0, columns, text);
    if (node->generation <= 0)
        return;
    (void)skn_text_write(text, sizeof(text),
                         "g%-3.0f %3.0f%% %5.1f/s %6.2f MB/s", node->generation,
                         node->share * 100, node->batches_per_s,
                         node->bytes_per_s * 1e-6);
    put(line, 16, columns, text);
}

static void
draw_head(const cli_view_t *view, cli_view_line_t line, size_t columns)
{
    cli_view_line_t text;
    char bar[13] = "............";
    double share = view->batches > 0 ? view->batch / view->batches : 0;
    for (size_t k = 0; k < 12; k++)
        bar[k] = (double)k + 0.5 < share * 12 ? '#' : '.';
    (void)skn_text_write(
        text, sizeof(text),
        " generation %.0f  batch %.0f of %.0f [%s]  epoch %.0f of "
        "%.0f  loss %.3f  P@1 %.3f",
        view->generation, view->batch, view->batches, bar, view->epoch,
        view->epochs, view->loss, view->p1);
    put(line, 0, columns, text);
}

/* Draws the last lines of a log, as many as fit into `rows`. */
static void
draw_log(const cli_view_log_t *log, cli_view_line_t *lines, size_t rows,
         size_t column, size_t columns)
{
    size_t shown = log->count < rows ? log->count : rows;
    shown = shown < CLI_VIEW_LINES_MAX ? shown : CLI_VIEW_LINES_MAX;
    for (size_t k = 0; k < shown; k++)
        put(lines[k], column, columns,
            log->line[(log->count - shown + k) % CLI_VIEW_LINES_MAX]);
}

void
cli_view_draw(const cli_view_t *view, size_t columns, size_t rows,
              cli_view_line_t lines[CLI_VIEW_LINES_MAX])
{
    cli_view_line_t text;
    for (size_t k = 0; k < CLI_VIEW_LINES_MAX; k++)
        lines[k][0] = '\0';
    rows = rows < CLI_VIEW_LINES_MAX ? rows : CLI_VIEW_LINES_MAX;
    columns = columns < CLI_VIEW_COLUMNS_MAX ? columns : CLI_VIEW_COLUMNS_MAX;
    if (columns < COLUMNS_MIN || rows < ROWS_MIN) {
        put(lines[0], 0, columns, "this terminal is too small");
        return;
    }
    size_t split = columns < 2 * NODES_COLUMNS ? columns / 2 : NODES_COLUMNS;
    size_t box = view->node_count < BOX_MIN ? BOX_MIN : view->node_count;
    box = box < rows - 5 ? box : rows - 5;
    draw_head(view, lines[0], columns);
    rule(lines[1], columns, split, " nodes ", " ask the newest checkpoint ");
    for (size_t k = 0; k < box; k++) {
        if (k < view->node_count)
            draw_node(&view->node[k], lines[2 + k], split);
        put(lines[2 + k], split, columns, "|");
    }
    (void)snprintf(text, sizeof(text), "> %.150s_", view->question);
    size_t room = columns - split - 2, bytes = strlen(text);
    put(lines[1 + box], split + 2, columns,
        bytes > room ? text + (bytes - room) : text);
    draw_log(&view->answers, &lines[2], box - 1, split + 2, columns);
    rule(lines[2 + box], columns, 0, " what happened ", "");
    draw_log(&view->happened, &lines[3 + box], rows - 3 - box, 1, columns);
}

/* --- keys ----------------------------------------------------------------- */

void
cli_view_key(cli_view_t *view, char key)
{
    size_t used = strlen(view->question);
    if (view->asked)
        return; /* until the question is taken */
    if (key == '\r' || key == '\n')
        view->asked = used > 0;
    else if ((key == 0x7f || key == '\b') && used > 0)
        view->question[used - 1] = '\0';
    else if (key == 0x15) /* Ctrl-U */
        view->question[0] = '\0';
    else if (key >= ' ' && key < 0x7f && used < CLI_VIEW_COLUMNS_MAX)
        view->question[used] = key, view->question[used + 1] = '\0';
}

/* --- the terminal --------------------------------------------------------- */

static void
write_all(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t count = write(STDERR_FILENO, text, bytes);
        if (count <= 0)
            return;
        text += count;
        bytes -= (size_t)count;
    }
}

void
cli_view_open(cli_view_t *view)
{
    struct termios raw;
    if (tcgetattr(STDIN_FILENO, &view->before) != 0)
        return;
    raw = view->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C still sends a signal */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
        return;
    write_all(OTHER_SCREEN, strlen(OTHER_SCREEN));
    view->open = true;
}

void
cli_view_turn(cli_view_t *view)
{
    static cli_view_line_t lines[CLI_VIEW_LINES_MAX];
    static char text[CLI_VIEW_LINES_MAX * (CLI_VIEW_COLUMNS_MAX + 8) + 16];
    struct winsize size = { 0 };
    char keys[64];
    size_t used = 0;
    ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));
    for (ssize_t k = 0; k < count; k++) {
        if (keys[k] == '\033') /* skips an arrow key or similar, to its end */
            break;
        cli_view_key(view, keys[k]);
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    size_t rows =
        size.ws_row < CLI_VIEW_LINES_MAX ? size.ws_row : CLI_VIEW_LINES_MAX;
    cli_view_draw(view, size.ws_col, rows, lines);
    used += (size_t)snprintf(text, sizeof(text), "\033[H");
    for (size_t k = 0; k < rows; k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\033[K%s",
                                 lines[k], k + 1 < rows ? "\r\n" : "\033[J");
    write_all(text, used);
}

void
cli_view_close(cli_view_t *view)
{
    if (!view->open)
        return;
    view->open = false;
    write_all(FORMER_SCREEN, strlen(FORMER_SCREEN));
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &view->before);
}
