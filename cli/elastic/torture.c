/* torture.c - skein torture: kills nodes of a run and checks that it recovers.
 *
 * Trains the model undisturbed in one process; then on nodes of this machine,
 * each with its own folder, while nodes are killed by SIGKILL, or given notice
 * to leave, at random moments, and come back to find their folders removed. The
 * weights must be the same to the bit, and every batch must have been applied
 * exactly once. If survivors keep what they have (`recovery: partial`), there
 * are no bits to compare: no batch may be applied twice, no more may be lost
 * than was reported, and P@1 must be about that of the undisturbed run.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skein/text.h"
#include "cli/base/read_config.h"
#include "cli/elastic/local_cluster.h"
#include "cli/base/events.h"
#include "cli/elastic/leaving.h"
#include "cli/elastic/torture_outcome.h"
#include "cli/base/process.h"
#include "formats/text/random.h"
#include "cli/elastic/up_elastic.h"
#include "cli/base/verbs.h"
#include "formats/text/json_text.h"
#include "topology/config/problems.h"
#include "transport/socket/clock.h"

#define TORTURE_NODES 3u
#define KILLS_DEFAULT 10u
#define KILLS_MAX 10000u
/* One of so many kills hits the coordinator, whose journal stays. */
#define COORDINATOR_SHARE 6u
/* The longest delay of a kill after the batch that it waits for. */
#define DELAY_MS_MAX 400u
/* The batches between markers if the file sets none: a kill undoes as many. */
#define EVERY_BATCHES "20"
/* After this time without an event, the run is reported as hanging. */
#define SILENCE_S 120u

typedef enum step {
    STEP_WAIT, /* until it is whole and the next kill's batch comes */
    STEP_AIM   /* the moment of the kill is chosen */
} step_t;

typedef struct torture {
    const cli_call_t *call;
    cli_bar_t bar;
    cli_torture_outcome_t outcome;
    uint32_t node_count;
    cli_leaving_t leaving; /* nodes leaving by notice */
    uint64_t random;
    uint64_t batches; /* of the undisturbed run */
    /* State of the disturbed run. */
    step_t step;
    uint64_t due_ns, heard_ns;
    uint64_t batch;      /* the batch reached */
    uint64_t generation; /* the running generation */
    bool whole;          /* it has saved: two nodes hold each part again */
    size_t members;      /* number of its members */
    bool done;
    uint64_t killed_ns;
    uint64_t killed_generation; /* the generation of the kill */
    uint64_t saved_generation;  /* the last generation that saved */
    bool awaited;  /* no newer generation has trained since the kill */
    bool insisted; /* Ctrl-C was pressed again */
    skn_error_t error;
} torture_t;

/* Draws a number, so that the same seed makes the same kills. */
static uint64_t
draw(torture_t *torture, uint64_t below)
{
    uint64_t value = skn_random(&torture->random);
    return below ? value % below : 0;
}

static void say(torture_t *torture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
say(torture_t *torture, const char *format, ...)
{
    va_list arguments;
    if (torture->call->json)
        return;
    cli_bar_hide(&torture->bar);
    va_start(arguments, format);
    (void)skn_text_print_list(stdout, format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
}

/* --- the undisturbed run -------------------------------------------------- */

static double
p1_of(const json_t *event)
{
    const json_t *p1 = json_object_get(event, "p1");
    return p1 ? json_number_value(p1) : -1;
}

static void
take_reference(void *job, cli_up_node_t *node, char *line)
{
    torture_t *torture = job;
    json_t *event = json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    if (strcmp(name, "done") == 0) {
        (void)snprintf(torture->outcome.want_sha256,
                       sizeof(torture->outcome.want_sha256), "%s",
                       skn_json_word(event, "weights_sha256"));
        torture->batches =
            (uint64_t)json_integer_value(json_object_get(event, "batches"));
        torture->outcome.want_p1 = p1_of(event);
    } else if (strcmp(name, "error") == 0) {
        cli_up_keep_error(node, event);
    } else if (cli_bar_possible(torture->call) &&
               strcmp(name, "progress") == 0) {
        cli_event_print(torture->call, line, &torture->bar, NULL);
    }
    json_decref(event);
}

static void
take_nothing(void *job, cli_up_node_t *node, char *line)
{
    (void)job;
    (void)node;
    (void)line;
}

/* Explains a failure of the reference: it does not continue in an existing
 * folder, because the runs that are compared must start from the beginning. */
static void
blame_reference(const skn_error_t *cause, skn_error_t *error)
{
    bool used = cause->status == SKN_CANNOT_CREATE;
    (void)skn_fail(error, cause->status, "undisturbed: %s", cause->text);
    (void)skn_fail_hint(error, cause->status, "%s",
                        used ? "choose another checkpoint.path" : cause->hint);
}

static skn_status_t
run_reference(torture_t *torture, const cli_up_local_t *local, const char *path,
              skn_error_t *error)
{
    cli_up_node_t process = {
        .name = "undisturbed", .ssh = "", .leash = -1, .must_die_with_us = true
    };
    cli_up_command_t command = { 0 };
    const cli_up_role_t role = { .verb = "train",
                                 .file = torture->call->operands[0],
                                 .path = path };
    process.out.descriptor = process.err.descriptor = -1;
    cli_stop_t stop = { .json = torture->call->json,
                        .doing = "saving the undisturbed run",
                        .insisting = "quit without saving",
                        .descriptor = -1 };
    skn_status_t status = cli_stop_open(&stop, error);
    if (status == SKN_OK)
        status = cli_up_role_command(torture->call, local, &process, &role,
                                     &command, error);
    if (status == SKN_OK)
        status = cli_up_start(&process, command.argument, error);
    while (status == SKN_OK && process.out.descriptor >= 0) {
        if (cli_stop_wait(&stop, 20) != CLI_STOP_NOTHING)
            cli_up_kill(&process, cli_stop_insisted(&stop) ? SIGKILL : SIGTERM);
        (void)cli_up_read(&process.out, &process, take_reference, torture);
        if (process.err.descriptor >= 0)
            (void)cli_up_read(&process.err, &process, take_nothing, torture);
    }
    if (process.process > 0)
        cli_process_wait(process.process, &process.status);
    cli_bar_hide(&torture->bar);
    cli_up_fini(&process);
    cli_up_command_fini(&command);
    torture->insisted = cli_stop_insisted(&stop);
    cli_stop_close(&stop);
    if (status != SKN_OK)
        return status;
    if (process.error.status != SKN_OK)
        blame_reference(&process.error, error);
    else if (!torture->outcome.want_sha256[0])
        (void)skn_fail(error, SKN_UNAVAILABLE,
                       "the undisturbed run did not finish");
    return error->status;
}

/* --- kills ---------------------------------------------------------------- */

static void
choose_moment(torture_t *torture)
{
    /* Spread the remaining kills over the rest of the run. */
    uint64_t left = torture->batches > torture->batch
                        ? torture->batches - torture->batch
                        : 1;
    uint64_t after =
        draw(torture, left / (cli_torture_to_come(&torture->outcome) + 1) + 1);
    torture->step = STEP_AIM;
    torture->batch += after; /* the batch to wait for */
    torture->due_ns = 0;
}

/* Removes the node's folder, as if the machine had been replaced. */
static skn_status_t
remove_folder(const cli_local_cluster_t *cluster, uint32_t place,
              skn_error_t *error)
{
    char path[SKN_TEXT_MAX + SKN_NAME_MAX + 2];
    (void)snprintf(path, sizeof(path), "%s/%s", cluster->path,
                   cluster->process[place].name);
    return cli_remove_tree(path, error);
}

/* Announces disturbance `number` of `all`, as text or JSON. */
static void
announce(torture_t *torture, const char *what, uint32_t number, uint32_t all,
         const char *node, const char *more)
{
    say(torture, "%s %u of %u: %s%s\n", what, number, all, node, more);
    if (!torture->call->json)
        return;
    (void)printf("{\"event\":\"%s\",\"%s\":%u,\"node\":\"%s\"}\n", what, what,
                 number, node);
    (void)fflush(stdout);
}

static void
dismiss(torture_t *torture, cli_local_cluster_t *cluster, uint64_t reached)
{
    char names[SKN_CLUSTER_NODES_MAX * (SKN_NAME_MAX + 1)] = "";
    size_t used = 0;
    if (!cli_leaving_tell(&torture->leaving, cluster, &torture->random,
                          reached))
        return; /* too few nodes are running */
    torture->outcome.left++;
    torture->whole = false;
    torture->step = STEP_WAIT;
    for (uint32_t k = 0; k < torture->node_count; k++)
        if (torture->leaving.set >> k & 1u)
            used +=
                (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 used ? " " : "", cluster->process[k + 1].name);
    announce(torture, "leave", torture->outcome.left, torture->outcome.leaves,
             names, "");
}

static void
strike(torture_t *torture, cli_local_cluster_t *cluster)
{
    bool coordinator =
        draw(torture, torture->outcome.kills - torture->outcome.killed) <
        torture->outcome.kills / COORDINATOR_SHARE -
            torture->outcome.killed_coordinator;
    uint32_t place =
        coordinator ? 0 : 1 + (uint32_t)draw(torture, torture->node_count);
    uint32_t after_ms = (uint32_t)draw(torture, 2 * DELAY_MS_MAX);
    cli_local_cluster_kill(cluster, place, after_ms);
    if (place > 0)
        (void)remove_folder(cluster, place, &torture->error);
    torture->outcome.killed++;
    torture->outcome.killed_coordinator += coordinator;
    torture->killed_ns = skn_monotonic_ns();
    torture->killed_generation = torture->generation;
    torture->awaited = !coordinator;
    torture->whole = coordinator && torture->whole;
    torture->step = STEP_WAIT;
    announce(torture, "kill", torture->outcome.killed, torture->outcome.kills,
             cluster->process[place].name,
             place > 0 ? ", and its folder is removed" : "");
}

static void
turn(torture_t *torture, cli_local_cluster_t *cluster, uint64_t reached)
{
    (void)cli_leaving_turn(&torture->leaving, cluster, &torture->error);
    if (cli_torture_to_come(&torture->outcome) == 0 || torture->done ||
        cli_leaving_waits(&torture->leaving))
        return;
    if (torture->step == STEP_WAIT && torture->whole) {
        torture->batch = reached;
        choose_moment(torture);
    }
    if (torture->step != STEP_AIM || reached < torture->batch)
        return;
    if (torture->due_ns == 0)
        torture->due_ns =
            skn_monotonic_ns() + draw(torture, DELAY_MS_MAX) * 1000000ull + 1;
    if (skn_monotonic_ns() < torture->due_ns)
        return;
    if (draw(torture, cli_torture_to_come(&torture->outcome)) <
        torture->outcome.kills - torture->outcome.killed)
        strike(torture, cluster);
    else
        dismiss(torture, cluster, reached);
}

/* --- events of the run ---------------------------------------------------- */

typedef struct heard {
    torture_t *torture;
    uint64_t reached;
} heard_t;

/* The members to wait for before the next kill or leave, so that two nodes have
 * each part; for nodes that leave together, all. */
static size_t
members_wanted(const torture_t *torture)
{
    return torture->leaving.together > 1 ? torture->node_count
           : torture->node_count > 1     ? 2
                                         : 1;
}

/* Takes the batch reached from progress events, and from checkpoints, which may
 * be more frequent. The first checkpoint of a generation is the one it began
 * from. */
static void
take_training(heard_t *heard, const char *name, const json_t *event)
{
    torture_t *torture = heard->torture;
    uint64_t batch = (uint64_t)skn_json_number(event, "batch");
    bool saved = strcmp(name, "checkpoint") == 0;
    bool first = saved && torture->saved_generation != torture->generation;
    if (saved) {
        torture->saved_generation = torture->generation;
        torture->whole = torture->members >= members_wanted(torture);
    }
    if (!saved && strcmp(name, "progress") != 0)
        return;
    heard->reached = batch;
    if (first || !torture->awaited ||
        torture->generation == torture->killed_generation)
        return;
    double seconds = (double)(skn_monotonic_ns() - torture->killed_ns) * 1e-9;
    torture->awaited = false;
    torture->outcome.back_s_sum += seconds;
    if (seconds > torture->outcome.back_s_max)
        torture->outcome.back_s_max = seconds;
}

static void
take_done(torture_t *torture, const json_t *event)
{
    const json_t *lost = json_object_get(event, "lost");
    const json_t *twice = json_object_get(event, "applied_twice");
    torture->done = true;
    (void)snprintf(torture->outcome.sha256, sizeof(torture->outcome.sha256),
                   "%s", skn_json_word(event, "weights_sha256"));
    torture->outcome.lost = lost ? json_number_value(lost) : -1;
    torture->outcome.applied_twice = twice ? json_number_value(twice) : -1;
    torture->outcome.p1 = p1_of(event);
}

static void
take(void *job, cli_local_cluster_t *cluster, uint32_t place,
     const json_t *event, const char *line)
{
    heard_t *heard = job;
    torture_t *torture = heard->torture;
    const char *name = skn_json_word(event, "event");
    (void)place;
    torture->heard_ns = skn_monotonic_ns();
    if (strcmp(name, "membership") == 0) {
        uint64_t generation =
            (uint64_t)json_integer_value(json_object_get(event, "generation"));
        torture->whole = torture->whole && generation == torture->generation;
        torture->generation = generation;
        torture->members = json_array_size(json_object_get(event, "members"));
        say(torture, "  %s\n", skn_json_word(event, "text"));
    }
    if (strcmp(name, "done") == 0)
        take_done(torture, event);
    if (strcmp(name, "partial") == 0) {
        torture->outcome.partials++;
        torture->outcome.told_lost += skn_json_number(event, "lost");
    }
    take_training(heard, name, event);
    if (torture->call->json && strcmp(name, "progress") != 0)
        (void)puts(line);
    else if (!torture->call->json && strcmp(name, "warning") == 0)
        say(torture, "  %s\n", skn_json_word(event, "message"));
    (void)cluster;
}

static skn_status_t
run_disturbed(torture_t *torture, skn_config_t *config,
              const cli_up_local_t *local, const char *path, skn_error_t *error)
{
    heard_t heard = { .torture = torture };
    cli_local_cluster_t cluster = {
        .call = torture->call,
        .file = torture->call->operands[0],
        .config = config,
        .local = local,
        .path = path,
        .patience_s = "600",
        .take = take,
        .job = &heard,
        .stop.descriptor = -1,
    };
    torture->node_count = cli_config_info(config).node_count;
    torture->heard_ns = skn_monotonic_ns();
    skn_status_t status = cli_local_cluster_open(&cluster, error);
    if (status == SKN_OK)
        status = cli_local_cluster_start(&cluster, error);
    while (status == SKN_OK && cli_local_cluster_turn(&cluster, 20)) {
        turn(torture, &cluster, heard.reached);
        if (torture->error.status != SKN_OK)
            *error = torture->error;
        status = error->status;
        if (skn_monotonic_ns() - torture->heard_ns > SILENCE_S * 1000000000ull)
            status = skn_fail(error, SKN_UNAVAILABLE,
                              "the run was silent for %u s after kill %u",
                              SILENCE_S, torture->outcome.killed);
    }
    cli_local_cluster_close(&cluster);
    torture->insisted = cli_stop_insisted(&cluster.stop);
    if (status != SKN_OK)
        return status;
    if (cluster.error.status != SKN_OK)
        *error = cluster.error;
    else if (cluster.stopping)
        (void)skn_fail(error, SKN_UNAVAILABLE,
                       "stopped after %u kills and %u leaves",
                       torture->outcome.killed, torture->outcome.left);
    else if (!torture->done)
        (void)skn_fail(error, SKN_UNAVAILABLE,
                       "the run ended without reporting that it was done");
    return error->status;
}

/* --- the verdict ---------------------------------------------------------- */

static int
judge(torture_t *torture)
{
    skn_error_t error = { 0 };
    cli_torture_outcome_t *outcome = &torture->outcome;
    outcome->generations = torture->generation;
    outcome->together = torture->leaving.together;
    outcome->leave_s_median = cli_leaving_median(&torture->leaving);
    outcome->leave_s_max = cli_leaving_longest(&torture->leaving);
    if (!torture->call->json)
        cli_bar_hide(&torture->bar);
    cli_torture_outcome_print(outcome, torture->call->json, stdout);
    return cli_torture_outcome_judge(outcome, &error) == SKN_OK
               ? 0
               : cli_report(torture->call, &error);
}

/* --- the verb ------------------------------------------------------------- */

static skn_status_t
force(cli_up_local_t *local, const char *override, skn_error_t *error)
{
    char **at = &local->overrides[local->override_count];
    *at = strdup(override);
    if (!*at)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for an override");
    local->override_count++;
    return SKN_OK;
}

/* Reads the config with the overrides of the nodes. */
static skn_status_t
read_config(const torture_t *torture, const cli_up_local_t *local,
            skn_config_t **config, skn_error_t *error)
{
    skn_config_destroy(config);
    *config =
        cli_config_load(torture->call, 0,
                        (skn_config_options_t){
                            .sort = SKN_CONFIG_IS_MODEL,
                            .overrides = (const char *const *)local->overrides,
                            .override_count = (uint32_t)local->override_count },
                        error);
    const skn_config_problem_t *problem =
        *config ? skn_config_problem(*config, 0) : NULL;
    return problem ? problem->status : *config ? SKN_OK : error->status;
}

/* Adds the overrides that make the two runs comparable; `config` becomes that
 * of the nodes. */
static skn_status_t
force_both(torture_t *torture, cli_up_local_t *local, cli_up_local_t *alone,
           skn_config_t **config, skn_error_t *error)
{
    skn_status_t status = read_config(torture, alone, config, error);
    if (status != SKN_OK)
        return status;
    torture->outcome.partial =
        strcmp(cli_config_value(*config, "coordinator.recovery"), "partial") ==
        0;
    if (!torture->outcome.partial)
        status = force(alone, "train.reduction=fixed", error);
    if (status == SKN_OK && !torture->outcome.partial)
        status = force(local, "train.reduction=fixed", error);
    if (status == SKN_OK)
        status = read_config(torture, local, config, error);
    if (status != SKN_OK ||
        strcmp(cli_config_value(*config, "checkpoint.every_batches"), "auto") !=
            0)
        return status;
    status = force(alone, "checkpoint.every_batches=" EVERY_BATCHES, error);
    return status == SKN_OK
               ? force(local, "checkpoint.every_batches=" EVERY_BATCHES, error)
               : status;
}

static skn_status_t
work(torture_t *torture, cli_up_local_t *local, skn_config_t **config,
     skn_error_t *error)
{
    char path[SKN_TEXT_MAX], part[SKN_TEXT_MAX + 16];
    cli_up_local_t alone = { 0 };
    skn_status_t status = force_both(torture, local, &alone, config, error);
    if (status == SKN_OK) {
        cli_up_elastic_path(*config, path);
        (void)snprintf(part, sizeof(part), "%s/undisturbed", path);
        say(torture, "an undisturbed run, in one process\n");
        status = run_reference(torture, &alone, part, error);
    }
    if (status == SKN_OK) {
        say(torture,
            "%" PRIu64 " batches, weights %s\n"
            "the same on %u nodes, with %u kills and %u leaves\n",
            torture->batches, torture->outcome.want_sha256,
            cli_config_info(*config).node_count, torture->outcome.kills,
            torture->outcome.leaves);
        (void)snprintf(part, sizeof(part), "%s/disturbed", path);
        status = run_disturbed(torture, *config, local, part, error);
    }
    for (size_t k = 0; k < alone.override_count; k++)
        free(alone.overrides[k]);
    return status;
}

static skn_status_t
read_together(const cli_call_t *call, uint32_t nodes, torture_t *torture,
              skn_error_t *error)
{
    uint32_t *together = &torture->leaving.together;
    skn_status_t status = cli_count(call, "leaves-together",
                                    SKN_CLUSTER_NODES_MAX, together, error);
    if (status != SKN_OK || !cli_value(call, "leaves-together"))
        return status;
    if (*together > nodes)
        return skn_fail(error, SKN_USAGE,
                        "--leaves-together=%u: there are only %u nodes",
                        *together, nodes);
    if (torture->outcome.leaves > 0)
        return SKN_OK;
    (void)skn_fail(error, SKN_USAGE,
                   "--leaves-together=%u needs --leaves, the number of nodes "
                   "that leave",
                   *together);
    return skn_fail_hint(error, SKN_USAGE, "give --leaves L, too");
}

static int
torture_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    torture_t torture = {
        .call = call,
        .outcome = { .kills = KILLS_DEFAULT, .lost = -1, .applied_twice = -1 }
    };
    cli_up_local_t local = { .elastic = true };
    skn_config_t *config = NULL;
    uint32_t nodes = TORTURE_NODES, seed = 1;
    int code;
    skn_status_t status =
        cli_count(call, "local-nodes", SKN_CLUSTER_NODES_MAX, &nodes, &error);
    if (cli_value(call, "leaves")) /* then no kills by default */
        torture.outcome.kills = 0;
    if (status == SKN_OK)
        status =
            cli_count(call, "kills", KILLS_MAX, &torture.outcome.kills, &error);
    if (status == SKN_OK)
        status = cli_count(call, "leaves", KILLS_MAX, &torture.outcome.leaves,
                           &error);
    if (status == SKN_OK)
        status = read_together(call, nodes, &torture, &error);
    if (status == SKN_OK)
        status = cli_count(call, "seed", 1000000000, &seed, &error);
    torture.random = seed;
    cli_bar_init(&torture.bar, call);
    if (status == SKN_OK)
        status = cli_up_local_open(&local, nodes, &error);
    if (status == SKN_OK)
        status = work(&torture, &local, &config, &error);
    if (config && skn_config_problem(config, 0))
        code = cli_config_report(call, config);
    else
        code = status == SKN_OK ? judge(&torture) : cli_report(call, &error);
    if (torture.insisted)
        code = CLI_STOP_INSISTED;
    cli_leaving_fini(&torture.leaving);
    cli_up_local_close(&local);
    skn_config_destroy(&config);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "local-nodes", 0, "N", "nodes of this machine to train on (3)" },
    { "kills", 0, "K", "processes to kill (10; 0 with --leaves)" },
    { "leaves", 0, "L", "nodes that are asked to leave, and come back (0)" },
    { "leaves-together", 0, "K", "nodes that leave at the same moment (1)" },
    { "seed", 0, "S", "seed that chooses the moments and the nodes (1)" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_torture = {
    .name = "torture",
    .help = "kill nodes of a run, and check that its result is the same",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Trains the model twice, with `train.reduction: fixed`: undisturbed\n"
        "in one process, and on nodes of this machine that are disturbed at\n"
        "random moments: one node after the other is killed with SIGKILL, or\n"
        "asked to leave by SIGTERM, and its folder is removed; one kill in\n"
        "six is the coordinator's. With --leaves-together K, K nodes leave at\n"
        "the same moment, and each part of what was trained must be on two of\n"
        "the nodes that stay, or on the only one; if all leave, their folders\n"
        "are kept. The run passes (exit code 0) if it ends with the same\n"
        "weights, bit for bit, and applied each batch once. With\n"
        "`coordinator.recovery: partial` train.reduction stays as it is, and\n"
        "the run passes if it applied no batch twice, lost no more than it\n"
        "reported, and its P@1 is at most .03 lower. Both runs are kept in\n"
        "checkpoint.path.",
    .run = torture_run,
};
