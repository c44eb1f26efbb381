/* yielding.c - samples the machine every second and confines the worker.
 *
 * This file owns: the events `idle` and the sums of harvested time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/yielding.h"

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

struct cli_yielding {
    const cli_call_t *call;
    cli_yielding_options_t options;
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
    bool must_hurry; /* the worker was asked to end */
    uint64_t next_ns;
    /* Core seconds of the worker and of other processes, and the seconds in
     * which they were counted. */
    double inside_s, outside_s, seconds;
    uint64_t last_ns;
};

void
cli_yielding_options_of(const skn_training_idle_t *idle, bool may_stop,
                        cli_yielding_options_t *options)
{
    memset(options, 0, sizeof(*options));
    options->enabled = idle->enabled;
    options->may_stop = may_stop;
    options->reserve_cores = idle->reserve_cores;
    options->share = idle->share;
    options->memory = idle->memory;
    options->grace_s = idle->grace_s;
    options->every_s = idle->notice_every_s;
    (void)snprintf(options->file, sizeof(options->file), "%s",
                   idle->notice_file);
    (void)snprintf(options->command, sizeof(options->command), "%s",
                   idle->notice_command);
}

/* --- events -------------------------------------------------------------- */

static void
tell(const cli_yielding_t *yielding, skn_json_text_t *event)
{
    skn_json_text_add(event, "}");
    if (!event->failed)
        cli_event_show(yielding->call, event->bytes);
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
tell_begin(const cli_yielding_t *yielding)
{
    skn_json_text_t event = event_of("begin");
    add_text(&event, "way", skn_idle_way_name(yielding->place.way));
    if (yielding->place_share >= 0.0)
        skn_json_text_add(&event, ",\"share\":%.4f", yielding->place_share);
    skn_json_text_add(&event, ",\"cores\":%u", yielding->cpu_count);
    tell(yielding, &event);
}

static void
tell_changes(const cli_yielding_t *yielding,
             const skn_idle_decision_t *decision)
{
    if (decision->changed & SKN_IDLE_MEMORY) {
        skn_json_text_t event = event_of("memory");
        skn_json_text_add(&event, ",\"needed\":%s",
                          decision->give_memory ? "true" : "false");
        add_text(&event, "reason", decision->memory_reason);
        tell(yielding, &event);
    }
    if (decision->changed & SKN_IDLE_PAUSE) {
        skn_json_text_t event = event_of("pause");
        skn_json_text_add(&event, ",\"paused\":%s",
                          decision->pause ? "true" : "false");
        add_text(&event, "reason", decision->pause_reason);
        tell(yielding, &event);
    }
    if (decision->changed & SKN_IDLE_THREADS) {
        skn_json_text_t event = event_of("threads");
        skn_json_text_add(&event, ",\"threads\":%u,\"cores\":%u",
                          decision->threads, yielding->cpu_count);
        add_text(&event, "reason", decision->threads_reason);
        tell(yielding, &event);
    }
}

static void
tell_leave(const cli_yielding_t *yielding, const char *source)
{
    skn_json_text_t event = event_of("leave");
    add_text(&event, "source", source);
    add_text(&event, "what",
             strcmp(source, "file") == 0 ? yielding->options.file
                                         : yielding->options.command);
    tell(yielding, &event);
}

static void
tell_end(const cli_yielding_t *yielding)
{
    skn_json_text_t event = event_of("end");
    skn_json_text_add(&event,
                      ",\"seconds\":%.1f,\"cores\":%u,\"core_seconds\":%.1f"
                      ",\"outside_core_seconds\":%.1f",
                      yielding->seconds, yielding->cpu_count,
                      yielding->inside_s, yielding->outside_s);
    tell(yielding, &event);
}

/* --- open, close --------------------------------------------------------- */

static skn_idle_limits_t
limits_of(const cli_yielding_t *yielding)
{
    return (skn_idle_limits_t){
        .core_count = yielding->cpu_count,
        .reserve_cores = yielding->options.reserve_cores,
        .share = yielding->options.share,
        .grace_ns = (uint64_t)(yielding->options.grace_s * 1e9),
    };
}

cli_yielding_t *
cli_yielding_open(const cli_call_t *call, const cli_yielding_options_t *options,
                  skn_error_t *error)
{
    cli_yielding_t *yielding = calloc(1, sizeof(*yielding));
    cpu_set_t cpus;
    if (!yielding) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to give way");
        return NULL;
    }
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    (void)sched_getaffinity(0, sizeof(cpus), &cpus);
    yielding->call = call;
    yielding->options = *options;
    yielding->cpu_count = yielding->threads = (uint32_t)CPU_COUNT(&cpus);
    /* Tests supply a simulated machine: tests/e2e/idle.sh. */
    const char *root = getenv("SKEIN_IDLE_ROOT");
    yielding->sampler =
        skn_idle_sampler_new(root ? root : "", getpid(), &cpus, error);
    yielding->apply = skn_idle_apply_new(&cpus, error);
    if (!yielding->sampler || !yielding->apply) {
        skn_idle_sampler_destroy(&yielding->sampler);
        skn_idle_apply_destroy(&yielding->apply);
        free(yielding);
        return NULL;
    }
    skn_idle_limits_t limits = limits_of(yielding);
    skn_idle_policy_init(&yielding->policy, &limits);
    cli_notice_init(&yielding->notice, yielding->options.file,
                    yielding->options.command, yielding->options.every_s);
    skn_idle_choose(&yielding->place, &yielding->place_share);
    tell_begin(yielding);
    return yielding;
}

static void
wake(cli_yielding_t *yielding)
{
    if (yielding->stopped && yielding->worker > 0)
        (void)kill(yielding->worker, SIGCONT);
    yielding->stopped = false;
}

void
cli_yielding_close(cli_yielding_t **yielding)
{
    cli_yielding_t *old = *yielding;
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
    *yielding = NULL;
}

void
cli_yielding_worker(void)
{
    static char room[1 << 16];
    /* The autogroup of the terminal is shared with the owner's shell. */
    (void)setsid();
    if (!isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, room, _IOFBF, sizeof(room));
}

/* --- steps --------------------------------------------------------------- */

static void
take_in(cli_yielding_t *yielding, pid_t worker)
{
    skn_error_t error = { 0 };
    uint64_t bytes = (uint64_t)((double)skn_memory_available_bytes() *
                                yielding->options.memory);
    yielding->worker = worker;
    yielding->stopped = yielding->must_hurry = false;
    skn_idle_sampler_refresh(yielding->sampler);
    if (worker > 0 && skn_idle_apply_begin(yielding->apply, &yielding->place,
                                           worker, bytes, &error) != SKN_OK)
        cli_warn(yielding->call, error.text,
                 "the run gives way less than it should; `skein doctor` shows "
                 "why");
}

/* A stopped worker uses no core, whatever number it was assigned, but it cannot
 * return memory. */
static void
follow(cli_yielding_t *yielding, const skn_idle_decision_t *decision)
{
    bool stop =
        decision->pause && yielding->options.may_stop && !decision->give_memory;
    uint32_t threads = decision->pause ? 1 : decision->threads;
    if (yielding->worker <= 0 || yielding->must_hurry)
        return;
    if (stop != yielding->stopped)
        (void)kill(yielding->worker, stop ? SIGSTOP : SIGCONT);
    yielding->stopped = stop;
    (void)skn_idle_apply_cores(yielding->apply, yielding->worker, threads);
}

void
cli_yielding_hurry(cli_yielding_t *yielding)
{
    wake(yielding);
    yielding->must_hurry = true;
    if (yielding->worker <= 0)
        return;
    (void)skn_idle_apply_cores(yielding->apply, yielding->worker, 0);
    skn_idle_place_hurry(&yielding->place, yielding->worker);
}

static void
add_up(cli_yielding_t *yielding, const skn_idle_sample_t *sample)
{
    if (yielding->last_ns > 0 && sample->outside >= 0.0) {
        double seconds = (double)(sample->now_ns - yielding->last_ns) * 1e-9;
        yielding->seconds += seconds;
        yielding->outside_s += seconds * sample->outside;
        yielding->inside_s +=
            seconds * skn_idle_sampler_inside(yielding->sampler);
    }
    yielding->last_ns = sample->now_ns;
}

cli_yielding_wish_t
cli_yielding_step(cli_yielding_t *yielding, pid_t worker)
{
    uint64_t now_ns = skn_monotonic_ns();
    const char *source = NULL;
    if (worker != yielding->worker)
        take_in(yielding, worker);
    if (!yielding->leave &&
        cli_notice_check(&yielding->notice, now_ns, &source)) {
        yielding->leave = true;
        tell_leave(yielding, source);
    }
    if (now_ns >= yielding->next_ns && !yielding->leave) {
        skn_idle_sample_t sample;
        skn_idle_decision_t decision;
        yielding->next_ns = now_ns + SAMPLE_NS;
        skn_idle_sampler_take(yielding->sampler, now_ns, &sample);
        skn_idle_policy_step(&yielding->policy, &sample, &decision);
        add_up(yielding, &sample);
        tell_changes(yielding, &decision);
        follow(yielding, &decision);
        yielding->give_memory = decision.give_memory;
    }
    return yielding->leave         ? CLI_YIELDING_LEAVE
           : yielding->give_memory ? CLI_YIELDING_GIVE_MEMORY
                                   : CLI_YIELDING_STAY;
}
