/* yielding.c - samples the machine every second and confines a worker process.
 *
 * This file owns: the events `idle` and the sums of harvested time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/yielding.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/text/abi.h"
#include "formats/text/json_text.h"
#include "topology/idle/idle_apply.h"
#include "topology/idle/idle_policy.h"
#include "topology/idle/idle_sample.h"
#include "topology/idle/idle_trial.h"
#include "topology/run/model_run.h"
#include "topology/training/line_queue.h"
#include "topology/yielding/notice.h"
#include "transport/socket/clock.h"

#define SAMPLE_NS UINT64_C(1000000000)
/* The struct of the first version ends with this member. */
#define YIELDING_BYTES_MIN                                                     \
    (offsetof(skn_yielding_options_t, root) + sizeof(const char *))

struct skn_yielding {
    bool may_stop;
    skn_training_idle_t idle; /* with the two texts below */
    char *file, *command;
    skn_line_queue_t queue;
    skn_idle_place_t place;
    double place_share; /* measured; < 0: not measured */
    skn_idle_policy_t policy;
    skn_idle_sampler_t *sampler;
    skn_idle_apply_t *apply;
    skn_notice_t notice;
    uint32_t cpu_count;
    pid_t worker;
    bool stopped, give_memory, leave, ended;
    bool must_hurry; /* the worker was asked to end */
    uint64_t next_ns;
    /* Core seconds of the worker and of other processes, and the seconds in
     * which they were counted. */
    double inside_s, outside_s, seconds;
    uint64_t last_ns;
};

/* --- events -------------------------------------------------------------- */

static void
send(skn_yielding_t *yielding, skn_json_text_t *event)
{
    skn_json_text_add(event, "}");
    if (!event->failed)
        skn_line_queue_put(&yielding->queue, event->bytes);
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
send_begin(skn_yielding_t *yielding)
{
    skn_json_text_t event = event_of("begin");
    add_text(&event, "way", skn_idle_way_name(yielding->place.way));
    if (yielding->place_share >= 0.0)
        skn_json_text_add(&event, ",\"share\":%.4f", yielding->place_share);
    skn_json_text_add(&event, ",\"cores\":%u", yielding->cpu_count);
    send(yielding, &event);
}

static void
send_changes(skn_yielding_t *yielding, const skn_idle_decision_t *decision)
{
    if (decision->changed & SKN_IDLE_MEMORY) {
        skn_json_text_t event = event_of("memory");
        skn_json_text_add(&event, ",\"needed\":%s",
                          decision->give_memory ? "true" : "false");
        add_text(&event, "reason", decision->memory_reason);
        send(yielding, &event);
    }
    if (decision->changed & SKN_IDLE_PAUSE) {
        skn_json_text_t event = event_of("pause");
        skn_json_text_add(&event, ",\"paused\":%s",
                          decision->pause ? "true" : "false");
        add_text(&event, "reason", decision->pause_reason);
        send(yielding, &event);
    }
    if (decision->changed & SKN_IDLE_THREADS) {
        skn_json_text_t event = event_of("threads");
        skn_json_text_add(&event, ",\"threads\":%u,\"cores\":%u",
                          decision->threads, yielding->cpu_count);
        add_text(&event, "reason", decision->threads_reason);
        send(yielding, &event);
    }
}

static void
send_leave(skn_yielding_t *yielding, const char *source)
{
    skn_json_text_t event = event_of("leave");
    add_text(&event, "source", source);
    add_text(&event, "what",
             strcmp(source, "file") == 0 ? yielding->file : yielding->command);
    send(yielding, &event);
}

static void
send_end(skn_yielding_t *yielding)
{
    skn_json_text_t event = event_of("end");
    skn_json_text_add(&event,
                      ",\"seconds\":%.1f,\"cores\":%u,\"core_seconds\":%.1f"
                      ",\"outside_core_seconds\":%.1f",
                      yielding->seconds, yielding->cpu_count,
                      yielding->inside_s, yielding->outside_s);
    send(yielding, &event);
}

/* --- new, destroy -------------------------------------------------------- */

static bool
is_share(double share)
{
    return share > 0.0 && share <= 1.0;
}

static skn_status_t
check_options(const skn_yielding_options_t *options, skn_error_t *error)
{
    if (!options)
        return skn_fail(error, SKN_USAGE,
                        "skn_yielding_new: the options are NULL");
    skn_status_t status =
        skn_abi_check_grown("the options for yielding", options->struct_bytes,
                            YIELDING_BYTES_MIN, sizeof(*options), error);
    if (status != SKN_OK)
        return status;
    const skn_training_idle_t *idle = options->idle;
    if (!idle)
        return skn_fail(error, SKN_USAGE,
                        "skn_yielding_new: options.idle is NULL");
    if (!is_share(idle->share) || !is_share(idle->memory))
        return skn_fail(error, SKN_USAGE,
                        "skn_yielding_new: share and memory must be above 0 "
                        "and at most 1");
    if (!(idle->grace_s >= 0.0) || !(idle->notice_every_s >= 0.0))
        return skn_fail(error, SKN_USAGE,
                        "skn_yielding_new: grace_s and notice_every_s must be "
                        "at least 0");
    return SKN_OK;
}

static char *
copy_of(const char *text)
{
    return strdup(text ? text : "");
}

static skn_status_t
fill(skn_yielding_t *yielding, const skn_yielding_options_t *options,
     skn_error_t *error)
{
    const skn_training_idle_t *idle = options->idle;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    (void)sched_getaffinity(0, sizeof(cpus), &cpus);
    yielding->may_stop = options->may_stop;
    yielding->idle = *idle;
    yielding->file = copy_of(idle->notice_file);
    yielding->command = copy_of(idle->notice_command);
    yielding->cpu_count = (uint32_t)CPU_COUNT(&cpus);
    skn_status_t status =
        skn_line_queue_init(&yielding->queue, "giving way", error);
    if (status != SKN_OK)
        return status;
    if (!yielding->file || !yielding->command)
        return skn_fail(error, SKN_NO_MEMORY, "no memory to give way");
    yielding->sampler = skn_idle_sampler_new(options->root ? options->root : "",
                                             getpid(), &cpus, error);
    yielding->apply =
        yielding->sampler ? skn_idle_apply_new(&cpus, error) : NULL;
    if (!yielding->apply)
        return SKN_NO_MEMORY;
    const skn_idle_limits_t limits = {
        .core_count = yielding->cpu_count,
        .reserve_cores = idle->reserve_cores,
        .share = idle->share,
        .grace_ns = (uint64_t)(idle->grace_s * 1e9),
    };
    skn_idle_policy_init(&yielding->policy, &limits);
    skn_notice_init(&yielding->notice, yielding->file, yielding->command,
                    idle->notice_every_s);
    skn_idle_choose(&yielding->place, &yielding->place_share);
    return SKN_OK;
}

static void
release(skn_yielding_t *yielding)
{
    skn_idle_sampler_destroy(&yielding->sampler);
    skn_idle_apply_destroy(&yielding->apply);
    skn_line_queue_fini(&yielding->queue);
    free(yielding->file);
    free(yielding->command);
    free(yielding);
}

skn_yielding_t *
skn_yielding_new(const skn_yielding_options_t *options, skn_error_t *error)
{
    if (check_options(options, error) != SKN_OK)
        return NULL;
    skn_yielding_t *yielding = calloc(1, sizeof(*yielding));
    if (!yielding) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory to give way");
        return NULL;
    }
    if (fill(yielding, options, error) != SKN_OK) {
        release(yielding);
        return NULL;
    }
    send_begin(yielding);
    return yielding;
}

static void
wake(skn_yielding_t *yielding)
{
    if (yielding->stopped && yielding->worker > 0)
        (void)kill(yielding->worker, SIGCONT);
    yielding->stopped = false;
}

void
skn_yielding_end(skn_yielding_t *yielding)
{
    if (!yielding || yielding->ended)
        return;
    wake(yielding);
    if (yielding->worker > 0)
        (void)skn_idle_apply_cores(yielding->apply, yielding->worker, 0);
    send_end(yielding);
    skn_notice_fini(&yielding->notice);
    skn_idle_place_close(&yielding->place);
    skn_line_queue_end(&yielding->queue);
    yielding->ended = true;
}

void
skn_yielding_destroy(skn_yielding_t **yielding)
{
    if (!yielding || !*yielding)
        return;
    skn_yielding_end(*yielding);
    release(*yielding);
    *yielding = NULL;
}

/* --- steps --------------------------------------------------------------- */

skn_status_t
skn_yielding_begin(skn_yielding_t *yielding, pid_t worker, skn_error_t *error)
{
    const char *wrong = !yielding            ? "the object is NULL"
                        : yielding->ended    ? "skn_yielding_end was called"
                        : worker < 0         ? "the worker is below 0"
                        : worker == getpid() ? "the worker is this process"
                                             : NULL;
    if (wrong)
        return skn_fail(error, SKN_USAGE, "skn_yielding_begin: %s", wrong);
    uint64_t bytes = (uint64_t)((double)skn_memory_available_bytes() *
                                yielding->idle.memory);
    yielding->worker = worker;
    yielding->stopped = yielding->must_hurry = false;
    skn_idle_sampler_refresh(yielding->sampler);
    return worker > 0 ? skn_idle_apply_begin(yielding->apply, &yielding->place,
                                             worker, bytes, error)
                      : SKN_OK;
}

/* A stopped worker uses no core, whatever number it was assigned, but it cannot
 * return memory. */
static void
follow(skn_yielding_t *yielding, const skn_idle_decision_t *decision)
{
    bool stop = decision->pause && yielding->may_stop && !decision->give_memory;
    uint32_t threads = decision->pause ? 1 : decision->threads;
    if (yielding->worker <= 0 || yielding->must_hurry)
        return;
    if (stop != yielding->stopped)
        (void)kill(yielding->worker, stop ? SIGSTOP : SIGCONT);
    yielding->stopped = stop;
    (void)skn_idle_apply_cores(yielding->apply, yielding->worker, threads);
}

void
skn_yielding_hurry(skn_yielding_t *yielding)
{
    if (!yielding || yielding->ended)
        return;
    wake(yielding);
    yielding->must_hurry = true;
    if (yielding->worker <= 0)
        return;
    (void)skn_idle_apply_cores(yielding->apply, yielding->worker, 0);
    skn_idle_place_hurry(&yielding->place, yielding->worker);
}

static void
add_up(skn_yielding_t *yielding, const skn_idle_sample_t *sample)
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

static void
take_sample(skn_yielding_t *yielding, uint64_t now_ns)
{
    skn_idle_sample_t sample;
    skn_idle_decision_t decision;
    yielding->next_ns = now_ns + SAMPLE_NS;
    skn_idle_sampler_take(yielding->sampler, now_ns, &sample);
    skn_idle_policy_step(&yielding->policy, &sample, &decision);
    add_up(yielding, &sample);
    send_changes(yielding, &decision);
    follow(yielding, &decision);
    yielding->give_memory = decision.give_memory;
}

skn_yielding_wish_t
skn_yielding_step(skn_yielding_t *yielding)
{
    uint64_t now_ns = skn_monotonic_ns();
    const char *source = NULL;
    if (!yielding || yielding->ended)
        return SKN_YIELDING_STAY;
    if (!yielding->leave &&
        skn_notice_check(&yielding->notice, now_ns, &source)) {
        yielding->leave = true;
        send_leave(yielding, source);
    }
    if (now_ns >= yielding->next_ns && !yielding->leave)
        take_sample(yielding, now_ns);
    return yielding->leave         ? SKN_YIELDING_LEAVE
           : yielding->give_memory ? SKN_YIELDING_GIVE_MEMORY
                                   : SKN_YIELDING_STAY;
}

skn_status_t
skn_yielding_event(skn_yielding_t *yielding, char *line, size_t line_bytes,
                   skn_error_t *error)
{
    if (!yielding)
        return skn_fail(error, SKN_USAGE,
                        "skn_yielding_event: the object is NULL");
    return skn_line_queue_take(&yielding->queue, 0, line, line ? line_bytes : 0,
                               error);
}
