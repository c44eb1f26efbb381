/* trial.c - runs one trial of a tuning in a separate process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/tune/trial.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "cli/up/up.h"
#include "formats/text/json_text.h"
#include "transport/socket/clock.h"

typedef struct watch {
    const cli_trial_order_t *order;
    cli_trial_t *trial;
    cli_up_node_t process;
} watch_t;

static void
end_it(watch_t *watch, cli_trial_end_t end)
{
    watch->trial->end = end;
    if (watch->process.process > 0)
        (void)kill(-watch->process.process, SIGKILL);
}

/* Takes an event of the trial. A trial whose worker died is ended: it would
 * start from the beginning and die again. */
static void
take_event(void *job, cli_up_node_t *node, char *line)
{
    watch_t *watch = job;
    cli_trial_t *trial = watch->trial;
    json_t *event = json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    const char *message = skn_json_word(event, "message");
    char key[32];
    (void)snprintf(key, sizeof(key), "validate_%s", watch->order->metric);
    const json_t *score = json_object_get(event, key);
    if (strcmp(name, "epoch") == 0 && score) {
        trial->score = json_number_value(score);
    } else if (strcmp(name, "done") == 0) {
        trial->cpu_s = skn_json_number(event, "cpu_seconds");
        trial->train_s = skn_json_number(event, "seconds");
        trial->end = isnan(trial->score) ? CLI_TRIAL_FAILED : CLI_TRIAL_DONE;
    } else if (strcmp(name, "stopped") == 0) {
        trial->end = CLI_TRIAL_STOPPED; /* the trial itself got a signal */
    } else if (strcmp(name, "error") == 0) {
        cli_up_keep_error(node, event);
    } else if (strcmp(name, "warning") == 0 &&
               strstr(message, "worker process died")) {
        (void)skn_fail(&node->error, SKN_INTERNAL, "%s", message);
        end_it(watch, CLI_TRIAL_FAILED);
    }
    json_decref(event);
}

static void
take_complaint(void *job, cli_up_node_t *node, char *line)
{
    (void)job;
    (void)snprintf(node->last, sizeof(node->last), "%s", line);
}

/* Whether a stop was requested, or standard output has no reader. */
static bool
end_is_asked(cli_stop_t *stop)
{
    return cli_stop_take(stop) != CLI_STOP_NOTHING || cli_output_unread();
}

static int
wait_ms(const watch_t *watch)
{
    uint64_t now_ns = skn_monotonic_ns(), until_ns = watch->order->until_ns;
    if (until_ns == 0)
        return -1;
    if (now_ns >= until_ns)
        return 0;
    uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;
    return left_ms < 60000 ? (int)left_ms : 60000;
}

static void
follow(watch_t *watch)
{
    cli_up_node_t *process = &watch->process;
    while (process->out.descriptor >= 0 || process->err.descriptor >= 0) {
        struct pollfd polled[] = { { process->out.descriptor, POLLIN, 0 },
                                   { process->err.descriptor, POLLIN, 0 },
                                   { watch->order->stop->descriptor, POLLIN,
                                     0 } };
        uint64_t until_ns = watch->order->until_ns;
        (void)poll(polled, 3, wait_ms(watch));
        if (end_is_asked(watch->order->stop))
            end_it(watch, CLI_TRIAL_STOPPED);
        else if (until_ns > 0 && skn_monotonic_ns() >= until_ns &&
                 watch->trial->end == CLI_TRIAL_FAILED)
            end_it(watch, CLI_TRIAL_LATE);
        if (process->out.descriptor >= 0)
            (void)cli_up_read(&process->out, process, take_event, watch);
        if (process->err.descriptor >= 0)
            (void)cli_up_read(&process->err, process, take_complaint, watch);
    }
}

static void
explain(const watch_t *watch)
{
    const cli_up_node_t *process = &watch->process;
    cli_trial_t *trial = watch->trial;
    bool told = process->error.status != SKN_OK;
    trial->status = told ? process->error.status : SKN_INTERNAL;
    (void)snprintf(trial->text, sizeof(trial->text), "%s",
                   told               ? process->error.text
                   : process->last[0] ? process->last
                                      : "it ended without a score");
    (void)snprintf(trial->hint, sizeof(trial->hint), "%s",
                   told ? process->error.hint : "");
}

/* Makes the list of arguments; NULL if memory is short. */
static char **
list_arguments(const cli_trial_order_t *order)
{
    char **list = calloc(2 * order->override_count + 5, sizeof(*list));
    size_t count = 0;
#define ADD(text) list[count++] = (char *)(uintptr_t)(text)
    if (!list)
        return NULL;
    ADD(order->self_path);
    ADD("train");
    for (size_t k = 0; k < order->override_count; k++) {
        ADD("-o");
        ADD(order->overrides[k]);
    }
    ADD("--json");
    ADD(order->file);
#undef ADD
    return list;
}

skn_status_t
cli_trial_run(const cli_trial_order_t *order, cli_trial_t *trial,
              skn_error_t *error)
{
    char **arguments = list_arguments(order);
    watch_t watch = {
        .order = order,
        .trial = trial,
        .process = { .name = "trial",
                     .ssh = "",
                     .leash = -1,
                     .must_die_with_us = true,
                     .own_group = true,
                     .out.descriptor = -1,
                     .err.descriptor = -1 },
    };
    uint64_t begun_ns = skn_monotonic_ns();
    *trial = (cli_trial_t){ .end = CLI_TRIAL_FAILED, .score = NAN };
    if (!arguments)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a trial");
    skn_status_t status = cli_up_start(&watch.process, arguments, error);
    if (status == SKN_OK)
        follow(&watch);
    if (watch.process.process > 0)
        cli_process_wait(watch.process.process, &watch.process.status);
    trial->wall_s = (double)(skn_monotonic_ns() - begun_ns) * 1e-9;
    if (trial->end == CLI_TRIAL_FAILED)
        explain(&watch);
    cli_up_fini(&watch.process);
    free(arguments);
    return status;
}
