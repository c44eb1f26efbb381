/* up_elastic.c - skein up for a run with a coordinator.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/up_elastic.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/resume_command.h"
#include "cli/elastic/ask.h"
#include "cli/elastic/local_cluster.h"
#include "cli/base/events.h"
#include "cli/base/read_config.h"
#include "cli/elastic/harvest_report.h"
#include "cli/member/member_lines.h"
#include "formats/text/json_text.h"
#include "topology/config/shell_word.h"

/* The longest time between two redraws. */
#define VIEW_MS 100
/* The most events to print at the end: `done` and `harvest` of the last
 * generation, after others. */
#define KEPT_MAX 8u

typedef struct elastic {
    const cli_call_t *call;
    cli_view_t *view; /* NULL: plain lines */
    FILE *notes;
    json_t *kept[KEPT_MAX]; /* events to print when the view is closed */
    size_t kept_count;
    cli_bar_t bar;
    bool begun; /* the first generation has reported its start */
    bool done;  /* the last generation has reported `done` */
} elastic_t;

/* --- on a terminal -------------------------------------------------------- */

static void
view_event(elastic_t *elastic, const char *node, const json_t *event)
{
    cli_view_t *view = elastic->view;
    const char *name = skn_json_word(event, "event");
    bool last = strcmp(name, "done") == 0 || strcmp(name, "harvest") == 0;
    cli_view_event(view, event);
    if (strcmp(name, "idle") == 0)
        cli_view_note(view, node, event);
    if (last && elastic->kept_count < KEPT_MAX)
        elastic->kept[elastic->kept_count++] = json_deep_copy(event);
}

/* Shows the lines that another program writes to the file of --notes. */
static void
take_notes(elastic_t *elastic)
{
    cli_view_line_t line;
    if (!elastic->notes)
        return;
    clearerr(elastic->notes);
    while (fgets(line, sizeof(line), elastic->notes)) {
        line[strcspn(line, "\n")] = '\0';
        cli_view_say(&elastic->view->happened, line);
    }
}

static void
view_turn(elastic_t *elastic, cli_ask_t *ask)
{
    cli_view_t *view = elastic->view;
    take_notes(elastic);
    cli_ask_turn(ask);
    cli_view_turn(view);
    if (!view->asked)
        return;
    cli_ask(ask, view->question);
    view->question[0] = '\0';
    view->asked = false;
}

/* Prints the kept events on the restored terminal. */
static void
say_kept(elastic_t *elastic)
{
    for (size_t k = 0; k < elastic->kept_count; k++) {
        char *line = json_dumps(elastic->kept[k], JSON_COMPACT);
        if (strcmp(skn_json_word(elastic->kept[k], "event"), "harvest") == 0)
            cli_harvest_report_print(elastic->kept[k], stdout);
        else if (line)
            cli_event_show(elastic->call, line);
        free(line);
        json_decref(elastic->kept[k]);
    }
    elastic->kept_count = 0;
    (void)fflush(stdout);
}

static skn_status_t
run_in_view(elastic_t *elastic, cli_local_cluster_t *cluster,
            skn_error_t *error)
{
    const char *notes = cli_value(elastic->call, "notes");
    elastic->view = calloc(1, sizeof(*elastic->view));
    if (!elastic->view)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a view");
    cli_ask_t ask = { .path = cluster->path,
                      .config = cluster->config,
                      .answers = &elastic->view->answers };
    elastic->notes = notes ? fopen(notes, "re") : NULL;
    cluster->complain = cli_view_complain;
    cluster->complain_job = elastic->view;
    cli_view_open(elastic->view);
    cli_ask_open(&ask);
    while (cli_local_cluster_turn(cluster, VIEW_MS))
        view_turn(elastic, &ask);
    cli_view_close(elastic->view);
    cli_ask_close(&ask);
    cluster->complain = NULL;
    if (elastic->notes)
        (void)fclose(elastic->notes);
    free(elastic->view);
    elastic->view = NULL;
    say_kept(elastic);
    return SKN_OK;
}

/* --- as lines ------------------------------------------------------------- */

static void
take(void *job, cli_local_cluster_t *cluster, uint32_t place,
     const json_t *event, const char *line)
{
    elastic_t *elastic = job;
    const char *name = skn_json_word(event, "event");
    elastic->done = elastic->done || strcmp(name, "done") == 0;
    if (elastic->view) {
        view_event(elastic, place > 0 ? cluster->process[place].name : "",
                   event);
        return;
    }
    bool of_member = strcmp(name, "part") == 0 || strcmp(name, "over") == 0 ||
                     strcmp(name, "left") == 0 || strcmp(name, "member") == 0;
    if (strcmp(name, "nodes") == 0 || (!elastic->call->json && of_member))
        return;
    if (strcmp(name, "membership") == 0 && !elastic->call->json) {
        cli_bar_hide(&elastic->bar);
        (void)printf("%s\n", skn_json_word(event, "text"));
        (void)fflush(stdout);
        return;
    }
    if (strcmp(name, "harvest") == 0 && !elastic->call->json) {
        cli_bar_hide(&elastic->bar);
        cli_harvest_report_print(event, stdout);
        (void)fflush(stdout);
        return;
    }
    if (!elastic->call->json && elastic->begun && cli_member_repeats(name))
        return;
    elastic->begun = elastic->begun || strcmp(name, "start") == 0;
    if (strcmp(name, "progress") != 0 || cli_bar_possible(elastic->call))
        cli_event_print(elastic->call, line, &elastic->bar, NULL);
}

void
cli_up_elastic_path(skn_config_t *config, char path[SKN_TEXT_MAX])
{
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    (void)gmtime_r(&now, &utc);
    (void)strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
    const char *given = cli_config_value(config, "checkpoint.path");
    if (given[0])
        (void)snprintf(path, SKN_TEXT_MAX, "%s", given);
    else
        (void)snprintf(path, SKN_TEXT_MAX, "runs/%.128s-%s-%ld",
                       cli_config_info(config).name, when, (long)getpid());
}

int
cli_up_elastic(const cli_call_t *call, skn_config_t *config,
               const cli_up_local_t *local)
{
    skn_error_t error = { 0 };
    elastic_t elastic = { .call = call };
    char path[SKN_TEXT_MAX], word[SKN_SHELL_WORD_BYTES];
    const skn_config_info_t info = cli_config_info(config);
    bool is_chosen = !cli_config_value(config, "checkpoint.path")[0];
    cli_up_elastic_path(config, path);
    cli_local_cluster_t cluster = {
        .call = call,
        .file = call->operands[0],
        .config = config,
        .local = local,
        .path = path,
        .take = take,
        .job = &elastic,
        .stop.descriptor = -1,
    };
    cli_bar_init(&elastic.bar, call);
    skn_status_t status = cli_local_cluster_open(&cluster, &error);
    if (status == SKN_OK)
        status = cli_local_cluster_start(&cluster, &error);
    if (status == SKN_OK && !call->json && !cli_flag(call, "plain") &&
        cli_view_possible())
        status = run_in_view(&elastic, &cluster, &error);
    while (status == SKN_OK && cli_local_cluster_turn(&cluster, 200))
        ;
    cli_local_cluster_close(&cluster);
    cli_bar_hide(&elastic.bar);
    if (status == SKN_OK && !call->json)
        (void)printf("the run is in %s, each node's part of it in %s/%s%s; "
                     "`skein predict %s` combines them\n",
                     path, path, info.nodes[0],
                     info.node_count > 1 ? ", ..." : "",
                     skn_shell_word(path, word));
    if (status == SKN_OK && cluster.stopping && !elastic.done && !call->json)
        cli_resume_command_print(call, "to continue:", is_chosen ? path : NULL);
    if (status == SKN_OK && cluster.error.status != SKN_OK)
        error = cluster.error;
    if (error.status != SKN_OK)
        return cli_report(call, &error);
    return cli_stop_code(
        &cluster.stop,
        cli_requeue(call, 0, cluster.stop.asked_by && !elastic.done));
}
