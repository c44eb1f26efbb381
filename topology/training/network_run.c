/* network_run.c - plans and trains one network, from its config to the end of
 * its actors: the thread's part of a training.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_text.h"
#include "topology/training/network_run.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/machine/usage.h"
#include "formats/checkpoint/salvage.h"
#include "skein/event.h"
#include "topology/config/shell_word.h"
#include "topology/run/shortfall.h"
#include "topology/training/calibrating.h"
#include "topology/training/load_report.h"
#include "topology/training/named_labels.h"
#include "topology/training/training_events.h"
#include "topology/training/training_state.h"
#include "transport/socket/clock.h"

/* The digits of a run's id that remain before the 8 digits of the
 * generation. */
#define LINK_RUN_DIGITS (SKN_RUN_ID_BYTES - 9)

/* --- the plan ------------------------------------------------------------- */

/* The host needs some settings before the data is read. */
static void
note_model(void *state, const skn_model_t *model)
{
    skn_training_set_config(state, model);
}

/* Reads a config file once: standard input cannot be read twice, and a file may
 * change between two networks. */
static skn_status_t
read_config(skn_training_t *training, skn_problems_t *problems,
            skn_error_t *error)
{
    if (training->text || training->is_folder)
        return SKN_OK;
    training->text = skn_model_text(training->name, &training->text_name,
                                    &training->text_bytes, problems);
    return training->text ? SKN_OK : skn_problems_error(problems, error);
}

skn_status_t
skn_network_run_plan(skn_training_t *training, skn_network_run_t *network,
                     skn_error_t *error)
{
    const skn_training_options_t *how = &training->options;
    uint64_t begin_ns = skn_monotonic_ns();
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return SKN_NO_MEMORY;
    skn_status_t status = read_config(training, problems, error);
    const skn_model_run_options_t options = {
        .path = training->text_name ? training->text_name : training->name,
        .text = training->text,
        .text_bytes = training->text_bytes,
        .from_run = training->is_folder,
        .overrides = network->overrides,
        .override_count = network->override_count,
        .progress_ms = how->progress_ms,
        .resume = network->is_resume,
        .from = how->from,
        .generation = how->generation,
        .patience_s = how->stop_s,
        .again = network->is_again,
        .begins_with_others = network->begins_with_others,
        .must_be_new = true,
        .node = how->node,
        .predict = how->predict,
        .predict_labels = how->predict_labels,
        .run_path = network->path,
        .run_id = network->run_id,
        .on_model = note_model,
        .on_model_state = training,
    };
    if (status == SKN_OK)
        status = skn_model_run_open(&network->run, &options, problems, error);
    network->prepare_ns = skn_monotonic_ns() - begin_ns;
    if (skn_problems_count(problems) > 0)
        status = skn_training_refuse(training, problems);
    skn_problems_destroy(&problems);
    return status;
}

void
skn_network_run_fini(skn_network_run_t *network)
{
    skn_model_run_close(&network->run);
    free(network->overrides);
    network->overrides = NULL;
}

/* --- what a run announces ------------------------------------------------- */

static void
warn_shortfall(skn_training_t *training, const skn_model_run_t *run)
{
    const skn_plan_t *plan = &run->plan;
    bool nodes = plan->node_count > 0;
    skn_shortfall_model(run->model, run->node, skn_training_warn_at, training);
    skn_shortfall_quota("", nodes ? plan->nodes[run->node].units : plan->units,
                        nodes ? SKN_SHORTFALL_NODE : SKN_SHORTFALL_CORES,
                        skn_training_warn_at, training);
}

/* Warns that `auto` offloads Adam's moments to a file, which makes the run
 * slower. */
static void
warn_offload(skn_training_t *training, const skn_network_run_t *network)
{
    const skn_plan_t *plan = &network->run.plan;
    char text[SKN_ERROR_TEXT_BYTES];
    if (plan->offload_bytes == 0 || !plan->offload_auto)
        return;
    (void)snprintf(text, sizeof(text),
                   "adam's moments do not fit into memory: %" PRIu64 " MiB go "
                   "to an unnamed file in %.300s",
                   plan->offload_bytes >> 20,
                   skn_plan_offload_path(plan->model, network->path));
    skn_training_warn(training, text,
                      "optimizer adagrad needs no file; "
                      "train.optimizer.offload_path sets another folder");
}

/* Warns that no points are held back for validation: then there is no best
 * model and no early stopping. */
static void
warn_validate(skn_training_t *training, const skn_model_run_t *run)
{
    char text[SKN_ERROR_TEXT_BYTES];
    if (run->model->train.validate <= 0.0 || run->plan.data.validate_points > 0)
        return;
    (void)skn_text_write(
        text, sizeof(text),
        "train.validate=%g holds back none of %" PRIu64 " points",
        run->model->train.validate, run->plan.data.train_points);
    skn_training_warn(training, text,
                      "the newest model counts as the best one");
}

static void
warn_notes(skn_training_t *training, const skn_plan_data_t *data)
{
    for (uint32_t k = 0; k < data->note_count; k++)
        skn_training_warn(training, data->note[k].text, data->note[k].hint);
}

static void
warn_left_trees(skn_training_t *training, const skn_network_run_t *network)
{
    char hint[SKN_ERROR_TEXT_BYTES], word[SKN_SHELL_WORD_BYTES];
    (void)snprintf(hint, sizeof(hint),
                   "when it is done, `skein join %.200s --trees %u --into "
                   "FOLDER` adds it",
                   skn_shell_word(network->path, word),
                   network->run.left_trees);
    skn_training_warn(training,
                      "the ranker is left out: the network of nodes that come "
                      "and go is continued alone",
                      hint);
}

/* The first node announces the run; each one what its machine lacks. */
static void
announce(skn_training_t *training, skn_network_run_t *network, bool resumes)
{
    skn_model_run_t *run = &network->run;
    bool predicts = training->options.predict != NULL;
    if (run->node == 0 && !predicts) {
        if (resumes)
            skn_training_send_resume(training, network);
        if (run->left_nodes > 0)
            skn_training_warn(
                training,
                "the run continues in this one process; once it has saved, its "
                "nodes cannot continue it",
                "to continue on the nodes, stop now and use `skein up`");
        if (run->left_trees > 0)
            warn_left_trees(training, network);
        skn_training_send_start(training, network);
    }
    if (run->node == 0 && run->has_ranker)
        skn_training_warn(training,
                          "the ranker of this run is left out: its network "
                          "alone ranks the labels",
                          "`skein predict` uses it, on a machine with memory "
                          "for the whole model");
    if (run->node == 0)
        warn_notes(training, &run->plan.data);
    if (run->node == 0 && !predicts) {
        warn_validate(training, run);
        warn_offload(training, network);
    }
    warn_shortfall(training, run);
}

/* --- the run -------------------------------------------------------------- */

/* A topology while its actors run. */
typedef struct following {
    skn_training_t *training;
    skn_topology_t *topology;
    uint32_t saves; /* requests that were passed on */
    bool stopped, broken;
    bool is_done;       /* one of the events was `done` */
    bool holds_done;    /* what comes after it is left to the training */
    skn_names_t *names; /* of the labels of predictions; NULL: none */
    skn_calibration_t calibration; /* of predictions; { 0 }: none */
    skn_load_report_t load;
    char line[SKN_EVENT_BYTES_MAX];
} following_t;

/* Whether a coordinator may continue from this node's state when another node
 * dies. */
static bool
may_salvage(const skn_training_t *training, const skn_model_run_t *run)
{
    return training->options.elastic && !training->options.predict &&
           run->model->coordinator.recovery == SKN_RECOVERY_PARTIAL;
}

/* A node other than the first has no id yet, and adopts that of this part. */
static void
name_part(const skn_network_run_t *network, char link_id[SKN_RUN_ID_BYTES])
{
    const char *mark = SKN_RUN_PART_MARK;
    (void)snprintf(link_id, SKN_RUN_ID_BYTES, "%.16s%02x%02x%02x%02x%08" PRIx32,
                   network->run_id[0] ? network->run_id : "0000000000000000",
                   mark[0], mark[1], mark[2], mark[3], network->part);
}

/* Makes the id that links compare: from the run and its generation, so that
 * nodes of an older generation cannot talk to nodes of a newer one, or from the
 * number of one of several networks. */
static void
name_links(const skn_network_run_t *network, uint64_t generation,
           char link_id[SKN_RUN_ID_BYTES])
{
    memcpy(link_id, network->run_id, SKN_RUN_ID_BYTES);
    if (network->part > 0)
        name_part(network, link_id);
    else if (link_id[0] && generation > 0)
        (void)snprintf(link_id + LINK_RUN_DIGITS,
                       SKN_RUN_ID_BYTES - LINK_RUN_DIGITS, "%08" PRIx32,
                       (uint32_t)generation);
}

static void
pass_on(void *job, const char *line)
{
    skn_training_t *training = job;
    skn_line_queue_put(&training->task.queue, line);
}

static skn_start_options_t
start_options(skn_training_t *training, const skn_network_run_t *network,
              const char *link_id)
{
    const skn_training_options_t *how = &training->options;
    const skn_model_run_t *run = &network->run;
    const skn_model_idle_t *idle = &run->model->idle;
    return (skn_start_options_t){
        .struct_bytes = sizeof(skn_start_options_t),
        .node = run->node,
        .run_id = run->model->node_count > 0 && link_id[0] ? link_id : NULL,
        .wait_s = how->wait_s,
        .data_hash = run->data_hash,
        .resume = network->is_resume || network->is_again,
        .predict = how->predict != NULL,
        .tells_traffic = how->elastic,
        .keeps_state = may_salvage(training, run),
        .send_bytes_per_s =
            idle->enabled ? (uint64_t)(idle->bandwidth * 1e6 / 8.0) : 0,
        .background = idle->enabled,
        .trace_path = how->trace_path,
        .trace_origin_ns = how->trace_origin_ns,
        .wire = how->wire,
        .no_binding = how->no_binding,
        .patience_ms = how->warn_after_ms,
        .report = how->report,
        .prepare_ns = network->prepare_ns,
        .prepare_cpu_ns = skn_usage_cpu_ns() - training->cpu_begin_ns,
        .on_event = pass_on,
        .on_event_host = training,
    };
}

/* Passes on what the host has asked for since the last call. */
static void
heed(following_t *following)
{
    skn_training_t *training = following->training;
    (void)skn_task_orders(&training->task);
    for (uint32_t saves = atomic_load(&training->saves);
         following->saves != saves; following->saves++)
        skn_topology_save(following->topology);
    if (atomic_load(&training->stop) && !following->stopped) {
        following->stopped = true;
        skn_topology_stop(following->topology);
    }
    if (atomic_load(&training->breaks) && !following->broken) {
        following->broken = true;
        skn_topology_abort(following->topology);
    }
}

/* Whether more events may be passed on: as a topology, a training delays what
 * it follows if the host does not read. */
static bool
has_room(skn_training_t *training)
{
    return atomic_load(&training->waits) || atomic_load(&training->breaks) ||
           skn_line_queue_count(&training->task.queue) < SKN_EVENTS_MAX;
}

/* Passes an event on: a prediction with names, and with the probabilities that
 * one process gives. */
static void
pass_event(following_t *following)
{
    skn_training_t *training = following->training;
    const char *event = following->line;
    skn_json_text_t named = { 0 };
    char *scored = NULL;
    if (following->calibration.points > 0 && skn_event_is(event, "prediction"))
        scored = skn_calibration_event(&following->calibration, event);
    if (scored)
        event = scored;
    if (skn_named_labels_write(following->names, event, &named))
        skn_training_send(training, &named);
    else
        skn_line_queue_put(&training->task.queue, event);
    free(scored);
}

/* Notes what the training has to know of an event, and passes it on. */
static void
take_event(following_t *following)
{
    skn_training_t *training = following->training;
    double answers = 0;
    if (skn_event_is(following->line, "done")) {
        following->is_done = true;
        if (following->holds_done)
            training->done = strdup(following->line);
        if (training->done)
            return;
    } else if (skn_event_is(following->line, "checkpoint") &&
               skn_event_number(following->line, "answers", &answers)) {
        training->saves_answered += (uint32_t)answers;
    }
    pass_event(following);
}

/* Passes all events on until the last actor has left. */
static void
follow(following_t *following)
{
    skn_training_t *training = following->training;
    skn_topology_t *topology = following->topology;
    skn_status_t status = SKN_OK;
    while (status != SKN_UNAVAILABLE) {
        bool reads = has_room(training);
        heed(following);
        skn_load_report_step(&following->load, training, topology);
        status = reads ? skn_topology_event(topology, 0, following->line,
                                            sizeof(following->line), NULL)
                       : SKN_BUSY;
        if (status == SKN_OK) {
            take_event(following);
        } else if (status == SKN_BUSY) {
            struct pollfd polled[2] = {
                { training->task.orders, POLLIN, 0 },
                { reads ? skn_topology_fd(topology) : -1, POLLIN, 0 }
            };
            (void)poll(polled, 2, skn_load_report_timeout_ms(&following->load));
        }
    }
}

/* Writes what this node has of a run that ended because another node ended. */
static void
write_salvage(skn_training_t *training, const skn_network_run_t *network,
              skn_topology_t *topology)
{
    skn_error_t error = { 0 };
    skn_salvage_writer_t *writer =
        skn_salvage_begin(network->path, training->options.generation, &error);
    skn_status_t status =
        writer ? skn_topology_cut(topology, writer, &error) : error.status;
    if (status == SKN_OK)
        status = skn_salvage_finish(&writer, &error);
    skn_salvage_abandon(&writer);
    if (status != SKN_OK && status != SKN_BUSY && status != SKN_NO_INPUT)
        skn_training_warn(
            training, error.text,
            "the blocks of this node return to the last checkpoint");
}

/* Sends the report as an event and keeps its table. */
static void
report(skn_training_t *training, const skn_topology_t *topology)
{
    char *text[2] = { NULL, NULL };
    for (int json = 0; json < 2; json++) {
        size_t bytes = 0;
        FILE *file = open_memstream(&text[json], &bytes);
        if (!file)
            continue;
        skn_topology_report(topology, json, file);
        (void)fclose(file);
    }
    skn_training_set_report(training, text[0]);
    if (text[1]) {
        text[1][strcspn(text[1], "\n")] = '\0';
        skn_line_queue_put(&training->task.queue, text[1]);
    }
    free(text[1]);
}

static skn_status_t
run_topology(following_t *following, skn_network_run_t *network,
             skn_error_t *error)
{
    skn_training_t *training = following->training;
    skn_topology_t *topology = following->topology;
    char link_id[SKN_RUN_ID_BYTES];
    name_links(network, training->options.generation, link_id);
    const skn_start_options_t options =
        start_options(training, network, link_id);
    skn_status_t status = skn_topology_start(topology, &options, error);
    if (status != SKN_OK) {
        follow(following); /* events until then */
        return status;
    }
    skn_training_set_phase(training, SKN_TRAINING_TRAINS);
    follow(following);
    status = skn_topology_wait(topology, error);
    training->cpu_begin_ns = skn_usage_cpu_ns(); /* of the next network */
    network->is_done = following->is_done;
    network->is_stopped =
        status == SKN_OK && !following->is_done && skn_topology_stops(topology);
    if (network->is_stopped)
        training->was_stopped = true;
    if (may_salvage(training, &network->run) && status == SKN_UNAVAILABLE)
        write_salvage(training, network, topology);
    if (training->options.report && status == SKN_OK)
        report(training, topology);
    return status;
}

/* Whether the training has more to do with the network before it is done: it
 * fits a ranker, or calibrates. Of several nodes the first one does. */
static bool
holds_done(const skn_training_t *training, const skn_network_run_t *network)
{
    const skn_training_options_t *how = &training->options;
    const skn_model_t *model = network->run.model;
    if (training->ranks_last)
        return network == &training->whole;
    return network == &training->whole && network->run.node == 0 &&
           !how->predict && !network->run.resume.joined &&
           !skn_model_is_decoder(model) &&
           (model->data.test[0] || model->data.held_back > 0);
}

skn_status_t
skn_network_run_train(skn_training_t *training, skn_network_run_t *network,
                      skn_error_t *error)
{
    skn_resume_t *resume = &network->run.resume;
    bool resumes = network->is_resume || network->is_again;
    if (resume->finished) {
        skn_training_send_resume(training, network);
        if (network->run.left_trees > 0)
            warn_left_trees(training, network);
        if (resumes)
            skn_training_warn(
                training, "this run has finished: there is nothing to train",
                "to train another model, or longer, start a new run with "
                "another checkpoint.path");
        if (holds_done(training, network) && resume->done.bytes)
            training->done = strdup(resume->done.bytes);
        if (!training->done && !resume->joined)
            skn_training_send(training, &resume->done);
        network->is_done = true;
        return SKN_OK;
    }
    following_t *following = calloc(1, sizeof(*following));
    if (!following)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for events");
    following->training = training;
    following->topology = network->run.topology;
    following->saves = training->saves_answered;
    following->holds_done = holds_done(training, network);
    if (training->options.predict && network->run.node == 0)
        following->calibration = skn_training_calibration(network);
    skn_load_report_init(&following->load, training->options.elastic);
    announce(training, network, resumes);
    skn_status_t status = SKN_OK;
    if (training->options.predict && network->run.node == 0)
        status = skn_named_labels_open(network->path, &following->names, error);
    if (status == SKN_OK)
        status = run_topology(following, network, error);
    skn_names_close(&following->names);
    free(following);
    skn_topology_destroy(&network->run.topology);
    return status;
}
