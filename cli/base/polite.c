/* polite.c - samples the machine every second and confines the worker.
 *
 * This file owns: the events `idle` and the sums of harvested time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/polite.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/events.h"
#include "cli/base/notice.h"
#include "cli/base/process.h"
#include "formats/text/json_text.h"
#include "topology/idle/idle_apply.h"
#include "topology/idle/idle_policy.h"
#include "topology/idle/idle_sample.h"
#include "topology/idle/idle_trial.h"
#include "topology/run/model_run.h"
#include "transport/socket/clock.h"

#define SAMPLE_NS UINT64_C(1000000000)

struct cli_polite {
    const cli_call_t *call;
    cli_polite_options_t options;
    skn_idle_place_t place;
    double place_share; /* measured; < 0: not measured */
    skn_idle_policy_t policy;
    skn_idle_sampler_t *sampler;
    skn_idle_apply_t *apply;
    cli_notice_t notice;
    uint32_t cpu_count;
    pid_t worker;
    uint32_t threads;
    bool stopped, give_memory, leave;
    bool hurries; /* the worker was asked to end */
    uint64_t next_ns;
    /* Core seconds of the worker and of other processes, and the seconds in
     * which they were counted. */
    double inside_s, outside_s, seconds;
    uint64_t last_ns;
};

void
cli_polite_options_of(const skn_model_idle_t *idle, bool may_stop,
                      cli_polite_options_t *options)
{
    memset(options, 0, sizeof(*options));
    options->enabled = idle->enabled;
    options->may_stop = may_stop;
    options->reserve_cores = idle->reserve_cores;
    options->share = idle->share;
    options->memory = idle->memory;
    options->grace_s = idle->grace_s;
    options->every_s = idle->notice.every_s;
    (void)snprintf(options->file, sizeof(options->file), "%s",
                   idle->notice.file);
    (void)snprintf(options->command, sizeof(options->command), "%s",
                   idle->notice.command);
}

/* --- events -------------------------------------------------------------- */

static void
tell(const cli_polite_t *polite, skn_json_text_t *event)
{
    skn_json_text_add(event, "}");
    if (!event->failed)
        cli_event_show(polite->call, event->bytes);
    skn_json_text_fini(event);
}

static skn_json_text_t
event_of(const char *action)
{
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event, "{\"event\":\"idle\",\"action\":\"%s\"", action);
    return event;
}

static void
add_text(skn_json_text_t *event, const char *key, const char *text)
{
    skn_json_text_add(event, ",\"%s\":", key);
    skn_json_text_add_string(event, text);
}

static void
tell_begin(const cli_polite_t *polite)
{
    skn_json_text_t event = event_of("begin");
    add_text(&event, "way", skn_idle_way_name(polite->place.way));
    if (polite->place_share >= 0.0)
        skn_json_text_add(&event, ",\"share\":%.4f", polite->place_share);
    skn_json_text_add(&event, ",\"cores\":%u", polite->cpu_count);
    tell(polite, &event);
}

static void
tell_changes(const cli_polite_t *polite, const skn_idle_decision_t *decision)
{
    if (decision->changed & SKN_IDLE_MEMORY) {
        skn_json_text_t event = event_of("memory");
        skn_json_text_add(&event, ",\"needed\":%s",
                          decision->give_memory ? "true" : "false");
        add_text(&event, "reason", decision->memory_reason);
        tell(polite, &event);
    }
    if (decision->changed & SKN_IDLE_PAUSE) {
        skn_json_text_t event = event_of("pause");
        skn_json_text_add(&event, ",\"paused\":%s",
                          decision->pause ? "true" : "false");
        add_text(&event, "reason", decision->pause_reason);
        tell(polite, &event);
    }
    if (decision->changed & SKN_IDLE_THREADS) {
        skn_json_text_t event = event_of("threads");
        skn_json_text_add(&event, ",\"threads\":%u,\"cores\":%u",
                          decision->threads, polite->cpu_count);
        add_text(&event, "reason", decision->threads_reason);
        tell(polite, &event);
    }
}

static void
tell_leave(const cli_polite_t *polite, const char *source)
{
    skn_json_text_t event = event_of("leave");
    add_text(&event, "source", source);
    add_text(&event, "what",
             strcmp(source, "file") == 0 ? polite->options.file
                                         : polite->options.command);
    tell(polite, &event);
}

static void
tell_end(const cli_polite_t *polite)
{
    skn_json_text_t event = event_of("end");
    skn_json_text_add(&event,
                      ",\"seconds\":%.1f,\"cores\":%u,\"core_seconds\":%.1f"
                      ",\"outside_core_seconds\":%.1f",
                      polite->seconds, polite->cpu_count, polite->inside_s,
                      polite->outside_s);
    tell(polite, &event);
}

/* --- open, close --------------------------------------------------------- */

static skn_idle_limits_t
limits_of(const cli_polite_t *polite)
{
    return (skn_idle_limits_t){
        .core_count = polite->cpu_count,
        .reserve_cores = polite->options.reserve_cores,
        .share = polite->options.share,
        .grace_ns = (uint64_t)(polite->options.grace_s * 1e9),
    };
}

cli_polite_t *
cli_polite_open(const cli_call_t *call, const cli_polite_options_t *options,
                skn_error_t *error)
{
    cli_polite_t *polite = calloc(1, sizeof(*polite));
    cpu_set_t cpus;
    if (!polite) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no room to give way");
        return NULL;
    }
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    (void)sched_getaffinity(0, sizeof(cpus), &cpus);
    polite->call = call;
    polite->options = *options;
    polite->cpu_count = polite->threads = (uint32_t)CPU_COUNT(&cpus);
    /* Tests supply a simulated machine: tests/e2e/idle.sh. */
    const char *root = getenv("SKEIN_IDLE_ROOT");
    polite->sampler =
        skn_idle_sampler_new(root ? root : "", getpid(), &cpus, error);
    polite->apply = skn_idle_apply_new(&cpus, error);
    if (!polite->sampler || !polite->apply) {
        skn_idle_sampler_destroy(&polite->sampler);
        skn_idle_apply_destroy(&polite->apply);
        free(polite);
        return NULL;
    }
    skn_idle_limits_t limits = limits_of(polite);
    skn_idle_policy_init(&polite->policy, &limits);
    cli_notice_init(&polite->notice, polite->options.file,
                    polite->options.command, polite->options.every_s);
    skn_idle_choose(&polite->place, &polite->place_share);
    tell_begin(polite);
    return polite;
}

static void
wake(cli_polite_t *polite)
{
    if (polite->stopped && polite->worker > 0)
        (void)kill(polite->worker, SIGCONT);
    polite->stopped = false;
}

void
cli_polite_close(cli_polite_t **polite)
{
    cli_polite_t *old = *polite;
    if (!old)
        return;
    wake(old);
    if (old->worker > 0)
        (void)skn_idle_apply_cores(old->apply, old->worker, 0);
    tell_end(old);
    cli_notice_fini(&old->notice);
    skn_idle_place_close(&old->place);
    skn_idle_sampler_destroy(&old->sampler);
    skn_idle_apply_destroy(&old->apply);
    free(old);
    *polite = NULL;
}

void
cli_polite_worker(void)
{
    static char room[1 << 16];
    /* The autogroup of the terminal is shared with the owner's shell. */
    (void)setsid();
    if (!isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, room, _IOFBF, sizeof(room));
}

/* --- steps --------------------------------------------------------------- */

static void
take_in(cli_polite_t *polite, pid_t worker)
{
    skn_error_t error = { 0 };
    uint64_t bytes = (uint64_t)((double)skn_memory_available_bytes() *
                                polite->options.memory);
    polite->worker = worker;
    polite->stopped = polite->hurries = false;
    skn_idle_sampler_look(polite->sampler);
    if (worker > 0 && skn_idle_apply_begin(polite->apply, &polite->place,
                                           worker, bytes, &error) != SKN_OK)
        cli_warn(polite->call, error.text,
                 "the run gives way less than it should; skein doctor");
}

/* A stopped worker uses no core, whatever number it was assigned, but it cannot
 * return memory. */
static void
follow(cli_polite_t *polite, const skn_idle_decision_t *decision)
{
    bool stop =
        decision->pause && polite->options.may_stop && !decision->give_memory;
    uint32_t threads = decision->pause ? 1 : decision->threads;
    if (polite->worker <= 0 || polite->hurries)
        return;
    if (stop != polite->stopped)
        (void)kill(polite->worker, stop ? SIGSTOP : SIGCONT);
    polite->stopped = stop;
    (void)skn_idle_apply_cores(polite->apply, polite->worker, threads);
}

void
cli_polite_hurry(cli_polite_t *polite)
{
    wake(polite);
    polite->hurries = true;
    if (polite->worker <= 0)
        return;
    (void)skn_idle_apply_cores(polite->apply, polite->worker, 0);
    skn_idle_place_hurry(&polite->place, polite->worker);
}

static void
add_up(cli_polite_t *polite, const skn_idle_sample_t *sample)
{
    if (polite->last_ns > 0 && sample->outside >= 0.0) {
        double seconds = (double)(sample->now_ns - polite->last_ns) * 1e-9;
        polite->seconds += seconds;
        polite->outside_s += seconds * sample->outside;
        polite->inside_s += seconds * skn_idle_sampler_inside(polite->sampler);
    }
    polite->last_ns = sample->now_ns;
}

cli_polite_wish_t
cli_polite_step(cli_polite_t *polite, pid_t worker)
{
    uint64_t now_ns = skn_monotonic_ns();
    const char *source = NULL;
    if (worker != polite->worker)
        take_in(polite, worker);
    if (!polite->leave && cli_notice_look(&polite->notice, now_ns, &source)) {
        polite->leave = true;
        tell_leave(polite, source);
    }
    if (now_ns >= polite->next_ns && !polite->leave) {
        skn_idle_sample_t sample;
        skn_idle_decision_t decision;
        polite->next_ns = now_ns + SAMPLE_NS;
        skn_idle_sampler_take(polite->sampler, now_ns, &sample);
        skn_idle_policy_step(&polite->policy, &sample, &decision);
        add_up(polite, &sample);
        tell_changes(polite, &decision);
        follow(polite, &decision);
        polite->give_memory = decision.give_memory;
    }
    return polite->leave         ? CLI_POLITE_LEAVE
           : polite->give_memory ? CLI_POLITE_GIVE_MEMORY
                                 : CLI_POLITE_STAY;
}
