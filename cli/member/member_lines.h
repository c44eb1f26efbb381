/* member_lines.h - prints the events of a member: as lines for people, or as
 * JSON.  SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MEMBER_MEMBER_LINES_H
#define CLI_MEMBER_MEMBER_LINES_H

#include "cli/base/bar.h"
#include "skein/error.h"

typedef struct cli_member_lines {
    const cli_call_t *call;
    cli_bar_t bar;
    double generation; /* of its newest worker */
    bool has_begun;    /* an event that only a started member has */
    bool is_over;      /* the run is done */
    char reason[16];   /* why it has left */
} cli_member_lines_t;

void cli_member_lines_init(cli_member_lines_t *lines, const cli_call_t *call);
/* Prints the event, unless it is the last one, of which it takes note. */
void cli_member_lines_print(cli_member_lines_t *lines, const char *line);
/* Prints the last event, as JSON alone. `asked`: why this process asked to
 * leave, or NULL. */
void cli_member_lines_end(cli_member_lines_t *lines, skn_status_t status,
                          const char *asked);

/* Whether an event of a worker repeats in each generation what people need only
 * once. */
bool cli_member_repeats(const char *name);

#endif
