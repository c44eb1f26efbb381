/* bar.c - draws the progress of a run as one line on a terminal.
 *
 * NO_COLOR: no-color.org; TERM=dumb cannot return to the start of a line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/bar.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_BYTES 512
/* Returns to the start of the line and clears it. */
#define CLEAR "\r\033[K"
/* The least and the greatest useful length of the bar. */
#define CELLS_MIN 6u
#define CELLS_MAX 30u
/* The weight of the newest measurement in the smoothed rate: about the last
 * five count, that is one second at five draws per second. */
#define RATE_NEWEST 0.2

static bool
is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* Whether standard error is a terminal that can rewrite a line. */
static bool
is_terminal(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && *terminal &&
           strcmp(terminal, "dumb") != 0;
}

bool
cli_bar_possible(const cli_call_t *call)
{
    return !call->json && is_terminal();
}

void
cli_bar_init(cli_bar_t *bar, const cli_call_t *call)
{
    *bar = (cli_bar_t){ .wanted = cli_bar_possible(call),
                        .colored = !is_set("NO_COLOR"),
                        .p1 = -1.0 };
}

void
cli_bar_time(double seconds, char *text, size_t text_bytes)
{
    if (!(seconds < 1e9)) {
        (void)snprintf(text, text_bytes, "long");
        return;
    }
    unsigned long whole = (unsigned long)(seconds + 0.5);
    unsigned long hours = whole / 3600;
    if (hours >= 48)
        (void)snprintf(text, text_bytes, "%lu days", hours / 24);
    else if (hours > 0)
        (void)snprintf(text, text_bytes, "%lu:%02lu:%02lu", hours,
                       whole / 60 % 60, whole % 60);
    else
        (void)snprintf(text, text_bytes, "%lu:%02lu", whole / 60, whole % 60);
}

/* Appends a part to the line if it fits. */
static void
add(char *text, size_t text_bytes, unsigned columns, const char *part)
{
    size_t used = strlen(text), more = strlen(part);
    if (used + more <= columns && used + more < text_bytes)
        memcpy(text + used, part, more + 1);
}

static void
add_bar(char *text, size_t text_bytes, unsigned cells, double share)
{
    char part[CELLS_MAX + 4] = " [";
    unsigned full = (unsigned)(share * cells + 0.5);
    for (unsigned k = 0; k < cells; k++)
        part[2 + k] = k < full ? '#' : '.';
    part[2 + cells] = ']';
    part[3 + cells] = '\0';
    add(text, text_bytes, CELLS_MAX + 64, part);
}

void
cli_bar_format(const cli_bar_t *bar, const cli_bar_facts_t *facts,
               unsigned columns, char *text, size_t text_bytes)
{
    char head[64], part[64], left[32], tail[BAR_BYTES / 2] = "";
    double share = facts->batches > 0 ? facts->batch / facts->batches : 0;
    share = share > 1 ? 1 : share;
    text[0] = '\0';
    bool is_text = facts->steps > 0;
    (void)skn_text_write(head, sizeof(head),
                         is_text ? "step %.0f of %.0f" : "epoch %.0f/%.0f",
                         is_text ? facts->step : facts->epoch,
                         is_text ? facts->steps : facts->epochs);
    unsigned room =
        columns > strlen(head) ? columns - (unsigned)strlen(head) : 0;
    (void)skn_text_write(part, sizeof(part), " %.0f%%", share * 100);
    add(tail, sizeof(tail), room, part);
    (void)skn_text_write(part, sizeof(part), "  %.0f%s/s",
                         facts->examples_per_s, is_text ? " tokens" : "");
    add(tail, sizeof(tail), room, part);
    (void)skn_text_write(part, sizeof(part), "  loss %.4g", facts->loss);
    add(tail, sizeof(tail), room, part);
    if (bar->p1 >= 0) {
        (void)skn_text_write(part, sizeof(part), "  P@1 %.3f", bar->p1);
        add(tail, sizeof(tail), room, part);
    }
    if (bar->batches_per_s > 0) {
        cli_bar_time((facts->batches - facts->batch) / bar->batches_per_s, left,
                     sizeof(left));
        (void)snprintf(part, sizeof(part), "  %s left", left);
        add(tail, sizeof(tail), room, part);
    }
    add(text, text_bytes, columns, head);
    size_t cells = columns - (strlen(text) + strlen(tail));
    if (strlen(text) + strlen(tail) + CELLS_MIN + 3 <= columns)
        add_bar(text, text_bytes,
                cells - 3 > CELLS_MAX ? CELLS_MAX : (unsigned)cells - 3, share);
    add(text, text_bytes, columns, tail);
}

static unsigned
terminal_columns(void)
{
    struct winsize size = { 0 };
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

void
cli_bar_show(cli_bar_t *bar, const cli_bar_facts_t *facts)
{
    char text[BAR_BYTES];
    if (!bar->wanted)
        return;
    bar->batches_per_s = bar->batches_per_s > 0
                             ? RATE_NEWEST * facts->batches_per_s +
                                   (1 - RATE_NEWEST) * bar->batches_per_s
                             : facts->batches_per_s;
    /* The last column stays free, because some terminals wrap there. */
    cli_bar_format(bar, facts, terminal_columns() - 1, text, sizeof(text));
    (void)fflush(stdout);
    (void)fprintf(stderr,
                  bar->colored ? "\r\033[36m%s\033[0m\033[K" : "\r%s\033[K",
                  text);
    (void)fflush(stderr);
    bar->shown = true;
}

void
cli_bar_hide(cli_bar_t *bar)
{
    if (bar->shown)
        (void)fputs(CLEAR, stderr);
    bar->shown = false;
}

const char *
cli_bar_clearing(void)
{
    return is_terminal() ? CLEAR : "";
}
