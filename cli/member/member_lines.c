/* member_lines.c - prints the events of a member: as lines for people, or as
 * JSON.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/member/member_lines.h"

#include <string.h>

#include "cli/base/events.h"
#include "formats/text/json_text.h"
#include "skein/text.h"

void
cli_member_lines_init(cli_member_lines_t *lines, const cli_call_t *call)
{
    *lines = (cli_member_lines_t){ .call = call };
    cli_bar_init(&lines->bar, call);
}

bool
cli_member_repeats(const char *name)
{
    static const char *const names[] = { "start", "resume", "joined", "waiting",
                                         "link",  "links",  "stopped" };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    return false;
}

/* --- events of the member ------------------------------------------------- */

static void
print_member(cli_member_lines_t *lines, const json_t *event)
{
    (void)lines;
    (void)printf("%s %s\n", skn_json_word(event, "node"),
                 skn_json_word(event, "text"));
}

/* A failure of its own has a message. */
static void
print_part(cli_member_lines_t *lines, const json_t *event)
{
    const char *how = skn_json_word(event, "how");
    const char *message = skn_json_word(event, "message");
    lines->generation = skn_json_number(event, "generation");
    (void)skn_text_print(stdout, "%s %s generation %.0f\n",
                         skn_json_word(event, "node"),
                         strcmp(how, "begins") == 0   ? "starts"
                         : strcmp(how, "failed") != 0 ? "has ended"
                         : message[0]                 ? "has failed in"
                                                      : "has broken off",
                         lines->generation);
    if (message[0])
        cli_warn(lines->call, message, skn_json_word(event, "hint"));
}

static void
print_worker_event(cli_member_lines_t *lines, const char *name,
                   const char *line)
{
    /* After a worker has stopped, the run continues by itself. */
    bool is_wanted = lines->call->json ||
                     (strcmp(name, "stopped") != 0 &&
                      (lines->generation <= 1 || !cli_member_repeats(name)));
    if (is_wanted)
        cli_event_print(lines->call, line, &lines->bar, NULL);
}

static void
note_end(cli_member_lines_t *lines, const json_t *event, const char *name)
{
    lines->is_over = strcmp(name, "over") == 0;
    (void)snprintf(lines->reason, sizeof(lines->reason), "%s",
                   skn_json_word(event, "reason"));
}

/* How events that only a member has are printed for people. */
static const struct {
    const char *name;
    void (*print)(cli_member_lines_t *lines, const json_t *event);
} printers[] = {
    { "member", print_member },
    { "part", print_part },
};

void
cli_member_lines_print(cli_member_lines_t *lines, const char *line)
{
    json_t *event = json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    size_t k = 0, count = sizeof(printers) / sizeof(printers[0]);
    while (k < count && strcmp(name, printers[k].name) != 0)
        k++;
    lines->has_begun = lines->has_begun || k < count;
    if (strcmp(name, "over") == 0 || strcmp(name, "left") == 0) {
        note_end(lines, event, name);
    } else if (strcmp(name, "stderr") == 0) {
        cli_bar_hide(&lines->bar);
        (void)fprintf(stderr, "[%s] %s\n", skn_json_word(event, "node"),
                      skn_json_word(event, "line"));
    } else if (k < count && !lines->call->json) {
        cli_bar_hide(&lines->bar);
        printers[k].print(lines, event);
        (void)fflush(stdout);
    } else {
        print_worker_event(lines, name, line);
    }
    json_decref(event);
}

void
cli_member_lines_end(cli_member_lines_t *lines, skn_status_t status,
                     const char *asked)
{
    const char *node = lines->call->operands[0];
    cli_bar_hide(&lines->bar);
    if (!lines->call->json)
        return;
    if (lines->is_over)
        cli_event_put(json_pack("{ss ss}", "event", "over", "node", node));
    else
        cli_event_put(json_pack(
            "{ss ss ss}", "event", "left", "node", node, "reason",
            status != SKN_OK                               ? "failed"
            : asked && strcmp(lines->reason, "asked") == 0 ? asked
                                                           : lines->reason));
}
