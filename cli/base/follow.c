/* follow.c - the worker's side of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/text.h"
#include "cli/base/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/again.h"
#include "cli/base/chosen.h"
#include "cli/base/process.h"
#include "cli/base/stop.h"
#include "cli/base/supervise.h"
#include "cli/base/trace_events.h"
#include "formats/text/json_text.h"
#include "topology/plan/groups.h"
#include "topology/idle/load.h"
#include "transport/socket/clock.h"

#define EVENT_LINE_BYTES SKN_EVENT_BYTES_MAX
/* How often a lease is looked at. */
#define LEASE_LOOK_MS 100
/* How often who holds us is told how busy we were. */
#define LOAD_NS 1000000000u

/* Standard input, where somebody holds us by it. */
typedef struct leash {
    bool holds, lease;
    uint64_t until_ns; /* the lease; 0: none has come yet */
    uint64_t told_ns;  /* when the load was told last */
    double quota;      /* processing units that we may use; 0: all */
    skn_node_load_t load;
} leash_t;

/* The run that the parent's word stops, once it runs: signal handlers have no
 * argument. */
static skn_topology_t *volatile running;
static volatile sig_atomic_t stop_asked;

static void
on_stop_signal(int number)
{
    (void)number;
    stop_asked = 1;
    if (running)
        skn_topology_stop(running);
}

const char *
cli_event_text(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

void
cli_event_put(json_t *event)
{
    char *line = event ? json_dumps(event, JSON_COMPACT) : NULL;
    if (line)
        (void)puts(line);
    (void)fflush(stdout);
    free(line);
    json_decref(event);
}

static void
print_scores(const json_t *event)
{
    static const char *const names[][2] = {
        { "p1", "P@1" },     { "p3", "P@3" },     { "p5", "P@5" },
        { "psp1", "PSP@1" }, { "psp3", "PSP@3" }, { "psp5", "PSP@5" },
    };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (json_object_get(event, names[k][0]))
            (void)skn_text_print(stdout, "  %s %.4f", names[k][1],
                                 skn_json_number(event, names[k][0]));
}

static void
print_epoch(const json_t *event)
{
    char loss[CLI_LOSS_BYTES];
    (void)skn_text_print(stdout, "epoch %3.0f  loss %8s",
                         skn_json_number(event, "epoch"),
                         cli_loss_text(skn_json_number(event, "loss"), loss));
    print_scores(event);
    if (json_object_get(event, "validate_p1"))
        (void)skn_text_print(stdout, "  validation P@1 %.4f",
                             skn_json_number(event, "validate_p1"));
    double rate = skn_json_number(event, "examples_per_s");
    if (rate > 0) /* 0: all was there already */
        (void)skn_text_print(stdout, "  %.0f examples/s", rate);
    (void)skn_text_print(stdout, "  %.1f s  %.0f MB\n",
                         skn_json_number(event, "seconds"),
                         skn_json_number(event, "rss_mb"));
}

static void
print_done(const json_t *event)
{
    double epochs = skn_json_number(event, "epochs");
    (void)skn_text_print(stdout, "done   %3.0f epoch%s in %.1f s (%.1f CPU s)",
                         epochs, epochs > 0.5 && epochs < 1.5 ? "" : "s",
                         skn_json_number(event, "seconds"),
                         skn_json_number(event, "cpu_seconds"));
    print_scores(event);
    if (json_object_get(event, "best_epoch"))
        (void)skn_text_print(stdout, "  best: epoch %.0f",
                             skn_json_number(event, "best_epoch"));
    (void)printf("\nweights_sha256 %s\n",
                 cli_event_text(event, "weights_sha256"));
}

static cli_bar_facts_t
facts_of(const json_t *event)
{
    return (cli_bar_facts_t){
        .batch = skn_json_number(event, "batch"),
        .batches = skn_json_number(event, "batches"),
        .epoch = skn_json_number(event, "epoch"),
        .epochs = skn_json_number(event, "epochs"),
        .loss = skn_json_number(event, "loss"),
        .examples_per_s = skn_json_number(event, "examples_per_s"),
        .batches_per_s = skn_json_number(event, "batches_per_s"),
    };
}

static void
show_progress(cli_bar_t *bar, const json_t *event)
{
    cli_bar_facts_t facts = facts_of(event);
    cli_bar_show(bar, &facts);
}

/* Where it was asked for and is no terminal: the bar's words, a line each. */
static void
print_progress(const cli_bar_t *bar, const json_t *event)
{
    char text[256];
    cli_bar_t plain = *bar;
    cli_bar_facts_t facts = facts_of(event);
    plain.p1 = plain.p1 > 0 ? plain.p1 : -1; /* none yet */
    plain.batches_per_s = facts.batches_per_s;
    cli_bar_format(&plain, &facts, 80, text, sizeof(text));
    (void)puts(text);
    (void)fflush(stdout);
}

/* Other nodes: who came, and for whom the run waits. */
static void
print_node(const char *name, const json_t *event, FILE *file)
{
    if (strcmp(name, "waiting") == 0)
        (void)fprintf(file, "waiting for %s\n", cli_event_text(event, "for"));
    else if (json_object_get(event, "via"))
        (void)fprintf(file, "joined %s via %s\n", cli_event_text(event, "node"),
                      cli_event_text(event, "via"));
    else
        (void)fprintf(file, "joined %s at %s\n", cli_event_text(event, "node"),
                      cli_event_text(event, "address"));
}

bool
cli_event_actor_waits(const json_t *event)
{
    const char *name = cli_event_text(event, "event");
    return strcmp(name, "stuck") == 0 ||
           (strcmp(name, "waiting") == 0 && json_object_get(event, "actor"));
}

static void
print_stuck(const json_t *event)
{
    const char *plugin = cli_event_text(event, "plugin");
    double more = skn_json_number(event, "more");
    char others[48] = "";
    if (more > 0)
        (void)skn_text_write(others, sizeof(others),
                             " and %.0f more of its kind", more);
    (void)skn_text_print(
        stderr, "skein: warning: %s%s %s been in %s for %.0f s (%s%s%s)\n",
        cli_event_text(event, "actor"), others, more > 0 ? "have" : "has",
        cli_event_text(event, "in"), skn_json_number(event, "seconds"),
        cli_event_text(event, "kind"), plugin[0] ? " of " : "", plugin);
}

static void
print_actor_waiting(const json_t *event)
{
    if (strcmp(cli_event_text(event, "event"), "stuck") == 0) {
        print_stuck(event);
        return;
    }
    (void)skn_text_print(
        stderr, "skein: warning: %s has waited %.0f s for %s\n",
        cli_event_text(event, "actor"), skn_json_number(event, "seconds"),
        cli_event_text(event, "for"));
}

/* How the run gives way to others on its machine. */
static void
print_idle(const json_t *event)
{
    const char *action = cli_event_text(event, "action");
    const char *reason = cli_event_text(event, "reason");
    (void)fputs("idle   ", stdout);
    if (strcmp(action, "begin") == 0 && json_object_get(event, "share"))
        (void)skn_text_print(stdout,
                             "gives way by %s: takes %.1f%% of a busy core\n",
                             cli_event_text(event, "way"),
                             100 * skn_json_number(event, "share"));
    else if (strcmp(action, "begin") == 0)
        (void)printf("gives way by %s\n", cli_event_text(event, "way"));
    else if (strcmp(action, "threads") == 0)
        (void)skn_text_print(stdout, "%.0f of %.0f cores: %s\n",
                             skn_json_number(event, "threads"),
                             skn_json_number(event, "cores"), reason);
    else if (strcmp(action, "pause") == 0)
        (void)printf("%s: %s\n",
                     json_is_true(json_object_get(event, "paused")) ? "pauses"
                                                                    : "goes on",
                     reason);
    else if (strcmp(action, "memory") == 0)
        (void)printf("%s\n", reason);
    else if (strcmp(action, "leave") == 0)
        (void)printf("the machine will be taken away, says the %s %s\n",
                     cli_event_text(event, "source"),
                     cli_event_text(event, "what"));
    else
        (void)skn_text_print(
            stdout,
            "%.1f core seconds in %.1f s, others %.1f, of %.0f "
            "cores\n",
            skn_json_number(event, "core_seconds"),
            skn_json_number(event, "seconds"),
            skn_json_number(event, "outside_core_seconds"),
            skn_json_number(event, "cores"));
}

/* Hash tables tell `buckets`, clusters `lists`. */
static void
print_index(const json_t *event)
{
    const char *key;
    json_t *value;
    (void)skn_text_print(
        stdout, "index  %s at batch %.0f:", cli_event_text(event, "actor"),
        skn_json_number(event, "batch"));
    json_object_foreach((json_t *)(uintptr_t)event, key, value)
    {
        if (json_is_number(value) && strcmp(key, "batch") != 0)
            (void)skn_text_print(stdout, " %s %.10g", key,
                                 json_number_value(value));
    }
    (void)putchar('\n');
}

/* As `skein predict` prints a point. */
static void
print_prediction(const json_t *event)
{
    const json_t *labels = json_object_get(event, "labels");
    const json_t *scores = json_object_get(event, "scores");
    for (size_t k = 0; k < json_array_size(labels); k++)
        (void)skn_text_print(stdout, "%s%.0f:%.6g", k ? " " : "",
                             json_number_value(json_array_get(labels, k)),
                             json_number_value(json_array_get(scores, k)));
    (void)fputc('\n', stdout);
}

/* Of a run in another process: `train` says more of its own. */
static void
print_start(const json_t *event)
{
    (void)skn_text_print(
        stdout,
        "model  %.1f million parameters, %.0f actors, about %.0f MiB "
        "of memory\n",
        skn_json_number(event, "parameters") * 1e-6,
        skn_json_number(event, "actors"), skn_json_number(event, "memory_mb"));
    cli_print_path("run    ", cli_event_text(event, "path"), "\n");
    cli_chosen_print(json_object_get(event, "auto"), stdout);
}

void
cli_follow_tell_stop(const cli_call_t *call, const json_t *event,
                     const char *resume_path)
{
    (void)skn_text_print(stdout, "stopped at batch %.0f; to go on:\n",
                         skn_json_number(event, "batch"));
    cli_again_write(call, resume_path, stdout);
}

static void
print_stopped(const cli_call_t *call, const json_t *event,
              const cli_follow_t *follow)
{
    if (!follow || !follow->is_part)
        cli_follow_tell_stop(call, event, follow ? follow->resume_path : NULL);
}

static void
print_event(const cli_call_t *call, const char *line, cli_bar_t *bar,
            const cli_follow_t *follow)
{
    json_t *event = json_loads(line, 0, NULL);
    const char *name = cli_event_text(event, "event");
    if (strcmp(name, "progress") == 0 && bar->wanted) {
        show_progress(bar, event);
        json_decref(event);
        return;
    }
    if (strcmp(name, "progress") == 0 && !call->json) {
        print_progress(bar, event);
        json_decref(event);
        return;
    }
    cli_bar_hide(bar);
    if (strcmp(name, "epoch") == 0 && json_object_get(event, "p1"))
        bar->p1 = skn_json_number(event, "p1");
    if (strcmp(name, "warning") == 0)
        cli_print_sentence("skein: warning: ", cli_event_text(event, "message"),
                           cli_event_text(event, "hint"));
    if (cli_event_actor_waits(event)) {
        print_actor_waiting(event);
        name = "warning"; /* it was shown as one */
    }
    if (call->json)
        (void)puts(line);
    else if (strcmp(name, "epoch") == 0)
        print_epoch(event);
    else if (strcmp(name, "prediction") == 0)
        print_prediction(event);
    else if (strcmp(name, "done") == 0)
        print_done(event);
    else if (strcmp(name, "start") == 0)
        print_start(event);
    else if (strcmp(name, "resume") == 0) {
        cli_print_path("resume ", cli_event_text(event, "path"), "");
        (void)skn_text_print(stdout, " at batch %.0f\n",
                             skn_json_number(event, "batch"));
    } else if (strcmp(name, "checkpoint") == 0)
        cli_print_path("saved  ", cli_event_text(event, "path"), "\n");
    else if (strcmp(name, "stopped") == 0)
        print_stopped(call, event, follow);
    else if (strcmp(name, "idle") == 0)
        print_idle(event);
    else if (strcmp(name, "index") == 0)
        print_index(event);
    else if (strcmp(name, "waiting") == 0 || strcmp(name, "joined") == 0)
        print_node(name, event, cli_value(call, "predict") ? stderr : stdout);
    else if (strcmp(name, "warning") != 0 && strcmp(name, "link") != 0 &&
             strcmp(name, "links") != 0 && strcmp(name, "silent") != 0)
        (void)puts(line); /* an actor of the user's speaks */
    (void)fflush(stdout);
    json_decref(event);
}

void
cli_follow_print(const cli_call_t *call, const char *line, cli_bar_t *bar)
{
    print_event(call, line, bar, NULL);
}

void
cli_follow_show(const cli_call_t *call, const char *line)
{
    cli_bar_t none = { 0 };
    cli_follow_print(call, line, &none);
}

/* Whoever holds us may be taken for dead by now, and others train in our place:
 * nothing that we do counts any more. */
static void
end_of_lease(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_UNAVAILABLE,
                   "the coordinator was not heard for too long");
    cli_worker_exit(cli_finish(call, cli_report(call, &error)));
}

static uint64_t
cpu_ns(void)
{
    struct timespec used = { 0 };
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* For who holds us, a line a second: how busy this node was. */
static void
tell_load(const skn_topology_t *topology, leash_t *leash)
{
    uint64_t now_ns = skn_monotonic_ns();
    if (!leash->lease || now_ns - leash->told_ns < LOAD_NS)
        return;
    leash->told_ns = now_ns;
    skn_load_thread_t threads[SKN_LOAD_THREADS];
    const skn_load_look_t look = {
        .at_ns = now_ns,
        .core_ns = skn_topology_busy_ns(topology),
        .cpu_ns = cpu_ns(),
        .quota = leash->quota,
        .throttled_ns = leash->quota > 0 ? skn_groups_throttled_ns("") : 0,
        .threads = threads,
        .thread_count = skn_load_threads(threads, SKN_LOAD_THREADS),
    };
    skn_node_load_add(&leash->load, &look);
    (void)printf("{\"event\":\"load\",\"busy_us\":%" PRIu64
                 ",\"at_us\":%" PRIu64 "}\n",
                 leash->load.busy_ns / 1000, now_ns / 1000);
    (void)fflush(stdout);
}

/* Waits for an event, or for the end of standard input: then for a good end. A
 * lease that is over is over, whatever is to be read there. */
static void
wait_on_leash(const cli_call_t *call, skn_topology_t *topology, leash_t *leash)
{
    struct pollfd polled[2] = { { skn_topology_fd(topology), POLLIN, 0 },
                                { STDIN_FILENO, POLLIN, 0 } };
    uint64_t until_ns[32];
    tell_load(topology, leash);
    int ready = poll(polled, 2, leash->until_ns > 0 ? LEASE_LOOK_MS : -1);
    bool told = ready > 0 && polled[1].revents != 0;
    ssize_t bytes = told ? read(STDIN_FILENO, until_ns, sizeof(until_ns)) : 0;
    for (size_t k = 0;
         leash->lease && bytes > 0 && k < (size_t)bytes / sizeof(until_ns[0]);
         k++)
        if (until_ns[k] == CLI_FOLLOW_BREAK)
            skn_topology_break(topology);
        else if (until_ns[k] > leash->until_ns)
            leash->until_ns = until_ns[k];
    /* Not before: who gives way may get no time to read while it is renewed. */
    if (leash->until_ns > 0 && skn_monotonic_ns() >= leash->until_ns)
        end_of_lease(call);
    if (!told || bytes > 0 || (bytes < 0 && errno == EINTR))
        return;
    leash->holds = false;
    skn_topology_stop(topology);
}

bool
cli_follow_unread(void)
{
    struct pollfd polled = { STDOUT_FILENO, 0, 0 };
    struct stat facts;
    /* A terminal that is gone has POLLERR, too: that is SIGHUP's to tell. */
    return poll(&polled, 1, 0) == 1 && (polled.revents & POLLERR) != 0 &&
           fstat(STDOUT_FILENO, &facts) == 0 &&
           (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
}

/* `| head`: a good end instead of SIGPIPE. */
static void
stop_unread(skn_topology_t *topology, bool *unread)
{
    if (*unread || !cli_follow_unread())
        return;
    *unread = true;
    skn_topology_stop(topology);
}

/* Prints all events, to the last. True: one of them was `done`. */
static bool
follow_events(const cli_call_t *call, skn_topology_t *topology,
              const cli_follow_t *follow, bool *unread)
{
    bool is_done = false;
    static const char done[] = "{\"event\":\"done\"";
    leash_t leash = { .holds = follow->leash,
                      .lease = follow->lease,
                      .quota = follow->lease ? skn_groups_units("") : 0 };
    static char line[EVENT_LINE_BYTES];
    cli_bar_t bar;
    cli_bar_init(&bar, call);
    for (;;) {
        skn_error_t nothing = { 0 };
        skn_status_t status = skn_topology_event(topology, leash.holds ? 0 : -1,
                                                 line, sizeof(line), &nothing);
        if (status == SKN_UNAVAILABLE)
            break;
        if (status == SKN_OK && strncmp(line, done, strlen(done)) == 0)
            is_done = true;
        if (status == SKN_OK)
            print_event(call, line, &bar, follow);
        else if (leash.holds)
            wait_on_leash(call, topology, &leash);
        stop_unread(topology, unread);
    }
    cli_bar_hide(&bar);
    return is_done;
}

static void
print_early(void *job, const char *line)
{
    cli_follow_show(job, line);
}

static skn_status_t
run(const cli_call_t *call, skn_topology_t *topology,
    const cli_follow_t *follow, bool *unread, cli_trace_events_t *trace,
    skn_error_t *error)
{
    skn_start_options_t options = { 0 };
    if (follow->options)
        options = *follow->options;
    options.trace_path = cli_value(call, "trace");
    if (cli_trace_events_begin(trace, call, &options, error) != SKN_OK)
        return error->status;
    options.wire = cli_flag(call, "wire");
    options.no_binding = cli_flag(call, "no-binding");
    uint32_t patience_s = 0;
    if (cli_count(call, "warn-after", CLI_WAIT_S_MAX, &patience_s, error) !=
        SKN_OK)
        return SKN_USAGE;
    options.patience_ms = patience_s * 1000;
    if (cli_flag(call, "report"))
        skn_topology_measure(topology, follow->prepare_ns);
    skn_topology_tell_start(topology, print_early, (void *)(uintptr_t)call);
    skn_status_t status = skn_topology_start(topology, &options, error);
    if (status != SKN_OK) { /* what was said till then is worth reading */
        (void)follow_events(call, topology, follow, unread);
        return status;
    }
    if (follow->begun)
        *follow->begun = true;
    running = topology;
    if (stop_asked)
        skn_topology_stop(topology);
    bool is_done = follow_events(call, topology, follow, unread);
    status = skn_topology_wait(topology, error);
    if (follow->stopped && status == SKN_OK && !is_done)
        *follow->stopped = skn_topology_stops(topology);
    return status;
}

/* What this node has of a run that ended with the end of another. */
static void
write_cut(const cli_call_t *call, skn_topology_t *topology,
          const cli_follow_t *follow)
{
    skn_error_t error = { 0 };
    skn_cut_writer_t *writer =
        skn_cut_begin(follow->cut_path, follow->generation, &error);
    skn_status_t status =
        writer ? skn_topology_cut(topology, writer, &error) : error.status;
    if (status == SKN_OK)
        status = skn_cut_finish(&writer, &error);
    skn_cut_abandon(&writer);
    if (status != SKN_OK && status != SKN_BUSY && status != SKN_NO_INPUT)
        cli_warn(call, error.text, "what this node had is set back");
}

static void
handle_unread(void (*handler)(int))
{
    const struct sigaction action = { .sa_handler = handler };
    (void)sigaction(SIGPIPE, &action, NULL);
}

void
cli_follow_outlive(void)
{
    handle_unread(SIG_IGN);
}

int
cli_follow_end_unread(void)
{
    handle_unread(SIG_DFL);
    (void)raise(SIGPIPE);
    return 128 + SIGPIPE;
}

int
cli_follow(const cli_call_t *call, skn_topology_t **topology,
           const cli_follow_t *follow)
{
    skn_error_t error = { 0 };
    struct sigaction action = { .sa_handler = on_stop_signal };
    (void)sigaction(cli_stop_word(), &action, NULL);
    bool unread = false;
    cli_trace_events_t trace = { "" };
    skn_status_t status = run(call, *topology, follow, &unread, &trace, &error);
    running = NULL;
    if (follow->cut_path && status == SKN_UNAVAILABLE)
        write_cut(call, *topology, follow);
    if (status == SKN_OK && cli_flag(call, "report"))
        skn_topology_report(*topology, call->json, stdout);
    cli_trace_events_end(&trace, status == SKN_OK);
    skn_topology_destroy(topology);
    if (unread && status == SKN_OK)
        return cli_follow_end_unread();
    return status == SKN_OK ? 0 : cli_report(call, &error);
}
