/* tune.c - skein tune: finds a better config than `auto` by successive halving.
 *
 * The library searches (skein/tuning.h), in a worker process: the death of a
 * trial costs that trial alone. Here its events are printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "cli/base/bar.h"
#include "cli/base/events.h"
#include "cli/base/process.h"
#include "cli/base/resume_command.h"
#include "cli/base/stop.h"
#include "cli/base/supervise.h"
#include "cli/base/verbs.h"
#include "cli/base/worker_yielding.h"
#include "cli/tune/amounts.h"
#include "formats/text/json_text.h"
#include "skein/text.h"
#include "skein/tuning.h"

#define CANDIDATES_MAX 256u
#define ROUNDS_MAX 8u
#define SEED_MAX 1000000000u
/* How often the worker looks whether its output still has a reader. */
#define READER_LOOK_MS 1000

/* The state that a dead worker leaves to the next one. */
typedef struct tuning_job {
    skn_tuning_options_t options;
    cli_yielding_share_t yielding;
    volatile bool begun;   /* the folder has a journal */
    volatile bool stopped; /* it was asked to stop before it was done */
} tuning_job_t;

/* --- options -------------------------------------------------------------- */

static skn_status_t
refuse(const char *option, const char *wanted, const char *found,
       skn_error_t *error)
{
    return skn_fail(error, SKN_USAGE, "--%s must be %s, found '%.40s'", option,
                    wanted, found);
}

static skn_status_t
read_options(const cli_call_t *call, const char **overrides,
             skn_tuning_options_t *how, skn_error_t *error)
{
    const char *keep = cli_value(call, "keep"),
               *budget = cli_value(call, "budget");
    *how = (skn_tuning_options_t){
        .struct_bytes = sizeof(*how),
        .path = call->operands[0],
        .overrides = overrides,
        .override_count = (uint32_t)cli_overrides(call, overrides),
        .folder = cli_value(call, "folder"),
        .resume = cli_flag(call, "resume"),
        .metric = cli_value(call, "metric"),
    };
    skn_status_t status = cli_count(call, "seed", SEED_MAX, &how->seed, error);
    if (status == SKN_OK)
        status = cli_count(call, "candidates", CANDIDATES_MAX, &how->candidates,
                           error);
    if (status == SKN_OK)
        status = cli_count(call, "rounds", ROUNDS_MAX, &how->rounds, error);
    if (status == SKN_OK && keep && !cli_read_share(keep, &how->keep))
        status = refuse("keep", "a share such as 1/3", keep, error);
    if (status == SKN_OK && budget && !cli_read_time(budget, &how->budget_s))
        status = refuse("budget",
                        "a time such as 90s, 10m or 2h, and below 30 years",
                        budget, error);
    return status;
}

/* --- events, for people --------------------------------------------------- */

static uint64_t
number(const json_t *event, const char *key)
{
    return (uint64_t)skn_json_number(event, key);
}

static const char *
plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void
print_tune(const cli_call_t *call, const json_t *event)
{
    const char *key;
    json_t *value;
    (void)call;
    (void)printf("data   %" PRIu64 " training points, %" PRIu64
                 " held back, %" PRIu64 " labels\n"
                 "tune   %" PRIu64 " candidates, %" PRIu64
                 " round%s, in %s\nauto  ",
                 number(event, "train_points"),
                 number(event, "validate_points"), number(event, "labels"),
                 number(event, "candidates"), number(event, "rounds"),
                 plural(number(event, "rounds")), skn_json_word(event, "path"));
    json_object_foreach(json_object_get(event, "auto"), key, value)
    {
        const char *point = strrchr(key, '.');
        (void)printf(" %s %s", point ? point + 1 : key,
                     json_string_value(value));
    }
    (void)printf("\nround  epochs  %6s    CPU s  differs from auto\n",
                 skn_json_word(event, "metric"));
}

static void
print_forecast(const cli_call_t *call, const json_t *event)
{
    char time[32];
    (void)call;
    cli_bar_time(skn_json_number(event, "seconds"), time, sizeof(time));
    (void)printf("       about %s in all, with %" PRIu64 " candidates, %" PRIu64
                 " round%s\n",
                 time, number(event, "candidates"), number(event, "rounds"),
                 plural(number(event, "rounds")));
}

static void
print_trial(const cli_call_t *call, const json_t *event)
{
    unsigned round = (unsigned)number(event, "round");
    double epochs = skn_json_number(event, "epochs");
    const char *differs = skn_json_word(event, "differs");
    (void)call;
    if (json_object_get(event, "score"))
        (void)skn_text_print(stdout, "%5u  %6.2f  %6.4f  %7.1f  %s\n", round,
                             epochs, skn_json_number(event, "score"),
                             skn_json_number(event, "cpu_seconds"), differs);
    else
        (void)skn_text_print(stdout, "%5u  %6.2f  failed        -  %s: %s\n",
                             round, epochs, differs,
                             skn_json_word(event, "message"));
}

static void
print_tuned(const cli_call_t *call, const json_t *event)
{
    bool is_late = json_is_true(json_object_get(event, "late"));
    (void)call;
    (void)skn_text_print(
        stdout, "best   %s: %s %.4f\n       %s%s\nwrote  %s/tune.yaml\n",
        skn_json_word(event, "differs"), skn_json_word(event, "metric"),
        skn_json_number(event, "score"), skn_json_word(event, "verdict"),
        is_late ? "; the time is used up" : "", skn_json_word(event, "path"));
}

static void
print_stopped(const cli_call_t *call, const json_t *event)
{
    if (!json_object_get(event, "trials")) {
        (void)puts("stopped before a trial began");
        return;
    }
    (void)printf("stopped after %" PRIu64 " trials; ", number(event, "trials"));
    cli_resume_command_print(call, "to continue:", NULL);
}

static void
show(const cli_call_t *call, const char *line)
{
    static const struct {
        const char *name;
        void (*print)(const cli_call_t *call, const json_t *event);
    } printers[] = {
        { "tune", print_tune },       { "forecast", print_forecast },
        { "trial", print_trial },     { "tuned", print_tuned },
        { "stopped", print_stopped },
    };
    json_t *event = call->json ? NULL : json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    size_t k = 0, count = sizeof(printers) / sizeof(printers[0]);
    while (k < count && strcmp(name, printers[k].name) != 0)
        k++;
    if (k < count)
        printers[k].print(call, event);
    else
        cli_event_show(call, line);
    (void)fflush(stdout);
    json_decref(event);
}

/* --- the worker ----------------------------------------------------------- */

/* The tuning that the parent's stop signal stops: signal handlers take no
 * argument. */
static skn_tuning_t *volatile running;
static volatile sig_atomic_t stop_asked;

static void
on_stop_signal(int number)
{
    (void)number;
    stop_asked = 1;
    skn_tuning_stop(running); /* which wakes the loop, too */
}

static void
note(tuning_job_t *job, const skn_tuning_t *tuning)
{
    skn_tuning_info_t info = { .struct_bytes = sizeof(info) };
    (void)skn_tuning_info(tuning, &info, NULL);
    if (info.idle)
        cli_yielding_share(&job->yielding, info.idle, true);
    job->begun = job->begun || info.has_begun;
    job->stopped = info.was_stopped;
}

/* Reading the data may take long, and a resume repeats it. */
static void
end_now(const cli_call_t *call)
{
    show(call, "{\"event\":\"stopped\",\"begun\":false}");
    cli_worker_exit(cli_finish(call, 0));
}

/* Prints all events to the last. True: nobody reads them any more. */
static bool
follow(const cli_call_t *call, tuning_job_t *job, skn_tuning_t *tuning)
{
    static char line[SKN_EVENT_BYTES_MAX];
    bool is_unread = false;
    skn_status_t status = SKN_OK;
    while (status != SKN_UNAVAILABLE) {
        struct pollfd polled = { skn_tuning_fd(tuning), POLLIN, 0 };
        status = skn_tuning_event(tuning, 0, line, sizeof(line), NULL);
        note(job, tuning);
        if (status == SKN_OK)
            show(call, line);
        else if (status == SKN_BUSY && stop_asked && !job->begun)
            end_now(call);
        else if (status == SKN_BUSY)
            (void)poll(&polled, 1, READER_LOOK_MS);
        if (!is_unread && cli_output_unread()) {
            is_unread = true;
            skn_tuning_stop(tuning);
        }
    }
    return is_unread;
}

static int
work(const cli_call_t *call, void *shared, int attempt)
{
    tuning_job_t *job = shared;
    const struct sigaction action = { .sa_handler = on_stop_signal };
    skn_error_t error = { 0 };
    skn_tuning_options_t options = job->options;
    if (attempt > 0) {
        options.resume = true;
        options.died = job->stopped ? NULL : "its process died";
    }
    job->stopped = false;
    (void)sigaction(cli_stop_word(), &action, NULL);
    skn_tuning_t *tuning = skn_tuning_new(&options, &error);
    running = tuning;
    if (!tuning || skn_tuning_start(tuning, &error) != SKN_OK)
        return cli_report(call, &error);
    bool is_unread = follow(call, job, tuning);
    /* Its events have printed a failure. */
    skn_status_t status = skn_tuning_wait(tuning, &error);
    running = NULL;
    skn_tuning_destroy(&tuning);
    return is_unread && status == SKN_OK ? cli_output_end_unread()
                                         : skn_status_exit_code(status);
}

/* --- the verb ------------------------------------------------------------- */

static int
tune_run(const cli_call_t *call)
{
    const char *overrides[CLI_VALUES_MAX];
    skn_error_t error = { 0 };
    tuning_job_t *job = cli_shared_new(sizeof(*job));
    if (!job)
        (void)skn_fail(&error, SKN_NO_MEMORY,
                       "no memory to share with a worker process");
    if (!job || read_options(call, overrides, &job->options, &error) != SKN_OK)
        return cli_report(call, &error);
    cli_yielding_watch_t watch = { .call = call, .share = &job->yielding };
    const cli_parent_work_t parent = {
        .step = cli_yielding_look,
        .hurry = cli_yielding_hasten,
        .state = &watch,
        .gives_memory = true,
        .stopped = &job->stopped,
        .doing = "trials that are done are kept",
        .insisting = "quit at once",
        .resumes = "after the last trial that was done",
    };
    int code = cli_supervise(call, work, job, &job->begun, &parent);
    cli_yielding_close(&watch.yielding);
    return code;
}

static const cli_option_t options[] = {
    CLI_MODEL_OPTIONS,
    { "candidates", 0, "N", "number of configs to try (16)" },
    { "rounds", 0, "R", "rounds until trials have their full length (3)" },
    { "keep", 0, "SHARE", "candidates of a round that enter the next (1/3)" },
    { "budget", 0, "TIME", "time for all trials: 90s, 10m, 2h" },
    { "metric", 0, "NAME", "p1 (default), p3, p5, psp1 ..., ndcg3, ndcg5" },
    { "seed", 0, "S", "seed of the choice of candidates (1)" },
    { "folder", 0, "PATH",
      "folder of the tuning (that of the run with -tune)" },
    { "resume", 0, NULL, "continue the tuning in the folder" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_tune = {
    .name = "tune",
    .help = "search for a better config than auto's choice",
    .operands = "FILE...",
    .operands_min = 1,
    .operands_max = 1,
    .several = 1,
    .options = options,
    .description =
        "Successive halving: trains the config as `auto` resolves it, and\n"
        "others that differ from it in one to three keys (rate, epochs,\n"
        "units, dropout, label_smoothing, batch_rows, rows, optimizer, loss),\n"
        "each for a short time; keeps the best third, trains those three\n"
        "times longer, and so on. Keys given by -o are not varied. Scores are\n"
        "taken on training points that are held back (train.validate, default\n"
        "0.05); the test file is not opened. At the end it writes tune.yaml\n"
        "into its folder, a file for `skein train`, and prints how much\n"
        "better it scores. Ctrl-C, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and\n"
        "SIGXCPU stop it; --resume continues after the last trial that was\n"
        "done.",
    .run = tune_run,
};
