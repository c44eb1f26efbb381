/* stage.c - a stage of bench_schedules.c: does F, B and W of micro-batches, by
 * messages or in an order that was given to it.
 *
 * By messages it works as actors/stage does: gradients before activations, W,
 * in pieces, while no message waits or where it holds `cap` micro-batches. With
 * an order, messages are only noted, and the next work of the order is done as
 * soon as it can be.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "bench/schedules/passes.h"
#include "bench/schedules/trunk.h"

static const char letters[] = "FBWA";

typedef struct job {
    work_t work;
    uint32_t micro;
} job_t;

typedef struct stage {
    uint32_t number, stages, micros, cap, seed;
    uint32_t pieces; /* of W */
    double mean_us[3], jitter, slow_factor;
    uint64_t slow_from_ns, slow_until_ns; /* since the step began */
    job_t *order;                         /* [order_count]; NULL: by messages */
    uint32_t order_count;
    trunk_t trunk;
    /* State of the current step. */
    uint64_t step, begun_ns;
    uint32_t next_job, backward, applied, held;
    uint32_t piece;                         /* of the next W */
    const pass_t *input[MICROS_MAX];        /* arrived, F not done */
    const gradient_t *gradient[MICROS_MAX]; /* arrived, B not done */
    /* Sums over the whole run. */
    uint64_t spent_ns[3], times[3];
} stage_t;

/* A number in [0, 1) for a piece of work, the same as in bench/pipeline.py
 * (splitmix64, Steele et al. 2014). */
static double
noise(const stage_t *stage, work_t work, uint32_t micro)
{
    uint64_t x = stage->seed + stage->step;
    x = ((x * 64 + stage->number) * 4 + (uint64_t)work) * 1024 + micro + 1;
    x *= 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* Waits as long as `share` of the work takes. */
static void
wait_for(const stage_t *stage, work_t work, uint32_t micro, double share,
         uint64_t now_ns)
{
    double us = stage->mean_us[work] * share;
    uint64_t since_ns = now_ns - stage->begun_ns;
    if (since_ns >= stage->slow_from_ns && since_ns < stage->slow_until_ns)
        us *= stage->slow_factor;
    us *= 1 + stage->jitter * (2 * noise(stage, work, micro) - 1);
    uint64_t due_ns = now_ns + (uint64_t)(us * 1e3);
    const struct timespec due = { (time_t)(due_ns / 1000000000u),
                                  (long)(due_ns % 1000000000u) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
        continue;
}

/* Does F, B, or pieces [first, end) of W. */
static void
work_on(stage_t *stage, work_t work, uint32_t micro, uint32_t first,
        uint32_t end)
{
    uint64_t begun_ns = skn_monotonic_ns();
    if (stage->trunk.layers > 0)
        trunk_work(&stage->trunk, work, micro % stage->cap, first, end);
    else
        wait_for(stage, work, micro, (double)(end - first) / stage->pieces,
                 begun_ns);
    stage->spent_ns[work] += skn_monotonic_ns() - begun_ns;
    stage->times[work] += end == stage->pieces;
}

/* Takes the values of a message, or at the first stage the same ones for every
 * micro-batch of a number. */
static void
take_values(const stage_t *stage, const pass_t *pass)
{
    const trunk_t *trunk = &stage->trunk;
    if (pass->value.count == trunk->values)
        memcpy(trunk->x, pass->value.at, trunk->values * sizeof(float));
    else
        for (size_t k = 0; k < trunk->values; k++)
            trunk->x[k] =
                (float)((k + pass->micro) * 7919 % 2001) * 1e-3f - 1.0f;
}

/* Does all of F or B on the values of a message, and gives it back. */
static void
use_message(stage_t *stage, const pass_t **message, work_t work, uint32_t micro)
{
    take_values(stage, *message);
    work_on(stage, work, micro, 0, stage->pieces);
    skn_message_drop(*message);
    *message = NULL;
}

static skn_status_t
pass_on(skn_actor_t *actor, stage_t *stage, const skn_schema_t *schema,
        uint32_t micro, skn_error_t *error)
{
    const trunk_t *trunk = &stage->trunk;
    pass_t *pass = skn_actor_message(actor, schema, &trunk->values, error);
    if (!pass)
        return SKN_NO_MEMORY;
    pass->micro = micro;
    pass->step = stage->step;
    pass->begun_ns = stage->begun_ns;
    if (trunk->values > 0)
        memcpy(pass->value.at, trunk->x, trunk->values * sizeof(float));
    /* The last stage's loss is half the square of its output. */
    if (schema == &pass_schema && stage->number + 1 == stage->stages) {
        stage->gradient[micro] = pass;
        return SKN_OK;
    }
    return skn_actor_post(actor, pass, error);
}

static skn_status_t
do_forward(skn_actor_t *actor, stage_t *stage, uint32_t micro,
           skn_error_t *error)
{
    results_t *results = skn_actor_host(actor);
    uint32_t *held_max = &results->held_max[stage->number];
    if (stage->held++ == stage->cap)
        return skn_fail(error, SKN_INTERNAL,
                        "%s would hold more than %u micro-batches",
                        skn_actor_name(actor), stage->cap);
    *held_max = stage->held > *held_max ? stage->held : *held_max;
    use_message(stage, &stage->input[micro], F, micro);
    return pass_on(actor, stage, &pass_schema, micro, error);
}

/* A micro-batch is done; after the last one the next step begins. */
static skn_status_t
end_micro(skn_actor_t *actor, stage_t *stage, skn_error_t *error)
{
    results_t *results = skn_actor_host(actor);
    const applied_t applied = { .stage = stage->number,
                                .ended_ns = skn_monotonic_ns() };
    stage->held--;
    if (++stage->applied == stage->micros) {
        stage->applied = stage->backward = stage->next_job = 0;
        results->bits[stage->number] = trunk_end_step(&stage->trunk);
        for (int k = 0; k < 3; k++)
            results->mean_ms[stage->number][k] =
                (double)stage->spent_ns[k] * 1e-6 / (double)stage->times[k];
    }
    return skn_actor_send(actor, &applied_schema, &applied, error);
}

static skn_status_t
do_job(skn_actor_t *actor, stage_t *stage, job_t job, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    if (job.work == F)
        return do_forward(actor, stage, job.micro, error);
    if (job.work != W) {
        use_message(stage, &stage->gradient[job.micro], B, job.micro);
        stage->backward++;
    }
    if (job.work != B)
        work_on(stage, W, job.micro, 0, stage->pieces);
    if (job.work != W)
        status = pass_on(actor, stage, &gradient_schema, job.micro, error);
    return job.work == B || status != SKN_OK ? status
                                             : end_micro(actor, stage, error);
}

/* The next piece of the W that are owed, of which there are some. */
static skn_status_t
do_piece(skn_actor_t *actor, stage_t *stage, skn_error_t *error)
{
    uint32_t piece = stage->piece++;
    work_on(stage, W, stage->applied, piece, piece + 1);
    if (stage->piece < stage->pieces)
        return SKN_OK;
    stage->piece = 0;
    return end_micro(actor, stage, error);
}

static skn_status_t
on_forward(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    stage_t *stage = state;
    const pass_t *pass = message;
    uint32_t micro = (uint32_t)pass->micro;
    skn_status_t status = SKN_OK;
    stage->step = pass->step;
    stage->begun_ns = pass->begun_ns;
    stage->input[micro] = skn_message_keep(pass);
    if (stage->order)
        return SKN_OK;
    while (status == SKN_OK && stage->held == stage->cap &&
           stage->applied < stage->backward)
        status = do_piece(actor, stage, error);
    if (status == SKN_OK)
        status = do_job(actor, stage, (job_t){ F, micro }, error);
    if (status == SKN_OK && stage->gradient[micro])
        status = do_job(actor, stage, (job_t){ B, micro }, error);
    return status;
}

static skn_status_t
on_gradient(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    stage_t *stage = state;
    const gradient_t *gradient = message;
    uint32_t micro = (uint32_t)gradient->micro;
    stage->gradient[micro] = skn_message_keep(gradient);
    return stage->order ? SKN_OK
                        : do_job(actor, stage, (job_t){ B, micro }, error);
}

/* Whether a job of the order can be done now. */
static bool
can_do(const stage_t *stage, job_t job)
{
    if (job.work == F)
        return stage->input[job.micro];
    return job.work == W ? job.micro < stage->backward
                         : stage->gradient[job.micro] != NULL;
}

static skn_status_t
stage_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    stage_t *stage = state;
    if (!stage->order && stage->applied < stage->backward)
        return do_piece(actor, stage, error);
    if (!stage->order || stage->next_job == stage->order_count ||
        !can_do(stage, stage->order[stage->next_job])) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    return do_job(actor, stage, stage->order[stage->next_job++], error);
}

/* --- opening a stage ------------------------------------------------------ */

/* Whether `job` may follow those in done[WORKS], the numbers of micro-batches
 * of which the work was done: each kind of work is in the order of
 * micro-batches. */
static bool
may_follow(const uint32_t *done, job_t job)
{
    bool backward = job.work == A ? done[B] == 0 : done[A] == 0;
    return job.micro == done[job.work] &&
           (job.work == F || (backward && job.micro < done[F])) &&
           (job.work != W || job.micro < done[B]);
}

/* Reads an order such as "F0 F1 B0 W0 B1 W1". */
static skn_status_t
read_order(stage_t *stage, const skn_actor_t *actor, skn_error_t *error)
{
    const char *at = skn_actor_option_text(actor, "order");
    uint32_t done[WORKS] = { 0 };
    if (!*at)
        return SKN_OK;
    stage->order = calloc(3 * stage->micros, sizeof(*stage->order));
    if (!stage->order)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for an order");
    while (*at) {
        const char *letter = memchr(letters, *at, WORKS);
        char *end = NULL;
        job_t job = { letter ? (work_t)(letter - letters) : WORKS,
                      (uint32_t)strtoul(at + 1, &end, 10) };
        if (!letter || job.micro >= stage->micros || !may_follow(done, job))
            return skn_fail(error, SKN_BAD_CONFIG,
                            "%s: the order cannot go on with '%s'",
                            skn_actor_name(actor), at);
        done[job.work]++;
        stage->order[stage->order_count++] = job;
        at = end + (*end == ' ');
    }
    if (done[F] != stage->micros || done[W] + done[A] != stage->micros)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s: the order ends after %u of %u micro-batches",
                        skn_actor_name(actor), done[W] + done[A],
                        stage->micros);
    return SKN_OK;
}

static skn_status_t
stage_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    static const char *const means[] = { "f_us", "b_us", "w_us" };
    stage_t *stage = state;
    /* Waits end when they are due, not within 50 us of it. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    stage->number = skn_actor_index(actor);
    stage->stages = skn_actor_peers(actor);
    stage->micros = skn_option_u32(actor, "micros");
    stage->cap = skn_option_u32(actor, "cap");
    stage->seed = skn_option_u32(actor, "seed");
    stage->pieces = skn_option_u32(actor, "pieces");
    for (int k = 0; k < 3; k++)
        stage->mean_us[k] = skn_actor_option_real(actor, means[k]);
    stage->jitter = skn_actor_option_real(actor, "jitter");
    stage->slow_factor = skn_actor_option_real(actor, "slow_factor");
    stage->slow_from_ns =
        (uint64_t)skn_option_u32(actor, "slow_from_us") * 1000;
    stage->slow_until_ns =
        (uint64_t)skn_option_u32(actor, "slow_until_us") * 1000;
    if (stage->number >= STAGES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG, "%s is one of more than %u",
                        skn_actor_name(actor), STAGES_MAX);
    skn_status_t status = read_order(stage, actor, error);
    if (status == SKN_OK)
        status = trunk_open(&stage->trunk, actor, stage->cap, error);
    if (stage->trunk.layers > 0)
        stage->pieces = stage->trunk.pieces;
    return status;
}

static void
stage_close(skn_actor_t *actor, void *state)
{
    stage_t *stage = state;
    (void)actor;
    for (uint32_t k = 0; k < MICROS_MAX; k++) {
        skn_message_drop(stage->input[k]);
        skn_message_drop(stage->gradient[k]);
    }
    free(stage->order);
    trunk_close(&stage->trunk);
}

static const skn_option_t stage_options[] = {
    { "micros", SKN_OPTION_INT, NULL, 1, MICROS_MAX, NULL,
      "micro-batches of a step" },
    { "cap", SKN_OPTION_INT, NULL, 1, MICROS_MAX, NULL,
      "micro-batches that it may hold, from F until W" },
    { "order", SKN_OPTION_TEXT, "", 0, 0, NULL, "its work; none: by messages" },
    { "pieces", SKN_OPTION_INT, "1", 1, 256, NULL,
      "of W; those of a decoder's layers are as the layers have them" },
    { "f_us", SKN_OPTION_REAL, "0", 0, 1e9, NULL, "time of F" },
    { "b_us", SKN_OPTION_REAL, "0", 0, 1e9, NULL, "time of B" },
    { "w_us", SKN_OPTION_REAL, "0", 0, 1e9, NULL, "time of W" },
    { "jitter", SKN_OPTION_REAL, "0", 0, 1, NULL,
      "greatest change of a time, as a share of it" },
    { "seed", SKN_OPTION_INT, "0", 0, 1e9, NULL, "of the changes" },
    { "slow_factor", SKN_OPTION_REAL, "1", 1, 100, NULL,
      "how much longer work takes that begins in the slow time" },
    { "slow_from_us", SKN_OPTION_INT, "0", 0, 4e9, NULL,
      "when the slow time begins, after the step did" },
    { "slow_until_us", SKN_OPTION_INT, "0", 0, 4e9, NULL, "when it ends" },
    TRUNK_OPTIONS,
    { 0 },
};
static const skn_handler_t stage_handlers[] = {
    { &pass_schema, on_forward, NULL },
    { &gradient_schema, on_gradient, NULL },
    { 0 },
};
static const skn_schema_t *const stage_sends[] = { &pass_schema,
                                                   &gradient_schema,
                                                   &applied_schema, NULL };
const skn_kind_t bench_stage =
    SKN_KIND(.name = "bench_stage", .state_bytes = sizeof(stage_t),
             .options = stage_options, .handlers = stage_handlers,
             .sends = stage_sends, .open = stage_open, .produce = stage_produce,
             .close = stage_close);
