/* up_elastic.c - skein up of a run with a coordinator.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/up_elastic.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/crew.h"
#include "cli/follow.h"
#include "cli/harvested.h"
#include "cli/member_worker.h"

typedef struct elastic {
    const cli_call_t *call;
    cli_bar_t bar;
    bool begun; /* the first generation has said what it is */
} elastic_t;

static void
take(void *job, cli_crew_t *crew, uint32_t place, const json_t *event,
     const char *line)
{
    elastic_t *elastic = job;
    const char *name = cli_event_text(event, "event");
    (void)crew;
    (void)place;
    if (strcmp(name, "membership") == 0 && !elastic->call->json) {
        cli_bar_hide(&elastic->bar);
        (void)printf("%s\n", cli_event_text(event, "text"));
        (void)fflush(stdout);
        return;
    }
    if (strcmp(name, "harvest") == 0 && !elastic->call->json) {
        cli_bar_hide(&elastic->bar);
        cli_harvested_print(event, stdout);
        (void)fflush(stdout);
        return;
    }
    if (!elastic->call->json && elastic->begun && cli_worker_repeats(name))
        return;
    elastic->begun = elastic->begun || strcmp(name, "start") == 0;
    if (strcmp(name, "progress") != 0 || cli_bar_possible(elastic->call))
        cli_follow_print(elastic->call, line, &elastic->bar);
}

void
cli_up_elastic_path(const skn_model_t *model, char path[SKN_TEXT_MAX])
{
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    (void)gmtime_r(&now, &utc);
    (void)strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
    if (model->checkpoint.path[0])
        (void)snprintf(path, SKN_TEXT_MAX, "%s", model->checkpoint.path);
    else
        (void)snprintf(path, SKN_TEXT_MAX, "runs/%.128s-%s-%ld", model->name,
                       when, (long)getpid());
}

int
cli_up_elastic(const cli_call_t *call, const skn_model_t *model,
               const cli_up_local_t *local)
{
    skn_error_t error = { 0 };
    elastic_t elastic = { .call = call };
    char path[SKN_TEXT_MAX];
    cli_up_elastic_path(model, path);
    cli_crew_t crew = {
        .call = call,
        .file = call->operands[0],
        .model = model,
        .local = local,
        .path = path,
        .take = take,
        .job = &elastic,
        .signals = -1,
    };
    cli_bar_init(&elastic.bar, call);
    skn_status_t status = cli_crew_open(&crew, &error);
    if (status == SKN_OK)
        status = cli_crew_start(&crew, &error);
    while (status == SKN_OK && cli_crew_turn(&crew, 200))
        ;
    cli_crew_close(&crew);
    cli_bar_hide(&elastic.bar);
    if (status == SKN_OK && crew.error.status != SKN_OK)
        error = crew.error;
    if (error.status != SKN_OK)
        return cli_report(call, &error);
    return crew.stops > 1 ? 128 + 2 : 0;
}
