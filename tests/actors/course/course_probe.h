/* course_probe.h - a probe that plays source, output, evaluator and keeper
 * around the course of a run, and what its tests look at.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ACTORS_COURSE_COURSE_PROBE_H
#define TESTS_ACTORS_COURSE_COURSE_PROBE_H

#include <jansson.h>
#include <math.h>

#include "formats/checkpoint/checkpoint.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

#define ROWS 10
#define SPANS_MAX 64

/* The messages that the probe has received, and how it answers them. */
static struct {
    struct {
        uint64_t first, end;
    } span[SPANS_MAX];
    size_t span_count;
    struct {
        uint64_t batch;
        uint32_t best, hash;
        char metadata[4096];
    } save[SPANS_MAX];
    size_t save_count;
    uint32_t passes[SKN_PURPOSE_COUNT];
    double validation[SPANS_MAX]; /* P@1 of pass k */
    uint64_t stop_at; /* the host stops the run in the span of this batch */
    skn_go_t stopped_span;
    uint32_t cut_pass;  /* that of this number, from 1, is cut by a stop */
    uint64_t save_at;   /* the host requests a checkpoint in that span */
    size_t save_late;   /* and this often while the first one is written */
    bool save_fails;    /* which then fails */
    uint64_t halted_at; /* batches trained when told to halt */
    uint32_t halts;
    double changed[SPANS_MAX]; /* of span k, of a square of 100 */
    bool finished;
} seen;

static inline skn_status_t
train(skn_actor_t *actor, const skn_go_t *go, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    if (go->first < seen.stop_at && seen.stop_at <= go->end &&
        !skn_actor_stop_wanted(actor)) {
        skn_topology_stop(probe.topology);
        seen.stopped_span = *go;
        return skn_actor_ask_clock(actor, 0, error);
    }
    if (go->first < seen.save_at && seen.save_at <= go->end)
        skn_topology_save(probe.topology);
    uint64_t end = go->end < go->first + 20 ? go->end : go->first + 20;
    seen.span[seen.span_count].first = go->first;
    seen.span[seen.span_count++].end = end;
    for (uint64_t t = go->first; t < end && status == SKN_OK; t++)
        for (uint32_t shard = 0; shard < 2 && status == SKN_OK; shard++) {
            skn_result_t result = { .batch = t,
                                    .shard = shard,
                                    .rows = ROWS,
                                    .loss = 5.0 * (double)(t + 1),
                                    .active = 30,
                                    .owned = 12,
                                    .distinct = 4 + t % 2,
                                    .listed = 8,
                                    .capped = 1,
                                    .mass = t % 5 == 0 ? 0.5 : -1,
                                    .recall = t % 5 == 0 ? 0.25 : -1 };
            status = skn_actor_send(actor, &skn_result_schema, &result, error);
        }
    double changed = seen.changed[seen.span_count - 1];
    skn_reached_t reached = { .batch = end,
                              .purpose = SKN_PURPOSE_TRAIN,
                              .changed = changed,
                              .square = changed < 0 ? 0 : 100 };
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_reached_schema, &reached, error)
               : status;
}

/* Until the wish to stop has come to this actor, and so to the other. */
static inline skn_status_t
tick(skn_actor_t *actor, skn_error_t *error)
{
    skn_reached_t cut = { .purpose = seen.stopped_span.purpose, .cut = 1 };
    if (!skn_actor_stop_wanted(actor))
        return skn_actor_ask_clock(actor, 0, error);
    return cut.purpose == SKN_PURPOSE_TRAIN
               ? train(actor, &seen.stopped_span, error)
               : skn_actor_send(actor, &skn_reached_schema, &cut, error);
}

static inline skn_status_t
evaluate(skn_actor_t *actor, const skn_go_t *go, skn_error_t *error)
{
    if (seen.cut_pass > 0 && --seen.cut_pass == 0) {
        skn_topology_stop(probe.topology);
        seen.stopped_span = *go;
        return skn_actor_ask_clock(actor, 0, error);
    }
    uint32_t pass = seen.passes[go->purpose]++;
    double p1 = go->purpose == SKN_PURPOSE_VALIDATE ? seen.validation[pass]
                                                    : 0.25 + 0.125 * pass;
    skn_metrics_t metrics = { .purpose = go->purpose,
                              .rows = 7,
                              .p1 = p1,
                              .p3 = 0.2,
                              .p5 = 0.1,
                              .psp1 = 0.3,
                              .psp3 = 0.4,
                              .psp5 = 0.5,
                              .ndcg3 = 0.6,
                              .ndcg5 = 0.7 };
    skn_reached_t reached = { .batch = 1, .purpose = go->purpose };
    skn_status_t status =
        skn_actor_send(actor, &skn_metrics_schema, &metrics, error);
    return status == SKN_OK
               ? skn_actor_send(actor, &skn_reached_schema, &reached, error)
               : status;
}

static inline skn_status_t
save(skn_actor_t *actor, const skn_save_t *save, skn_error_t *error)
{
    char path[64], sha256[65] = "";
    size_t k = seen.save_count++;
    seen.save[k].batch = save->batch;
    seen.save[k].best = save->best;
    seen.save[k].hash = save->hash;
    (void)snprintf(seen.save[k].metadata, sizeof(seen.save[k].metadata), "%s",
                   (const char *)save->metadata.at);
    cr_assert_eq(save->metadata.at[save->metadata.count - 1], '\0');
    (void)snprintf(path, sizeof(path), "runs/\"x\"/%u", (unsigned)save->batch);
    if (save->hash)
        (void)snprintf(sha256, sizeof(sha256), "%064x", (unsigned)save->batch);
    for (size_t late = k == 0 ? seen.save_late : 0; late > 0; late--)
        skn_topology_save(probe.topology);
    skn_saved_t saved = { .batch = save->batch,
                          .path = k == 0 && seen.save_fails ? "" : path,
                          .weights_sha256 = sha256 };
    return skn_actor_send(actor, &skn_saved_schema, &saved, error);
}

static inline skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_save_schema)
        return save(actor, message, error);
    if (schema == &skn_halt_schema) {
        seen.halted_at = seen.span[seen.span_count - 1].end;
        seen.halts++;
        return SKN_OK;
    }
    const skn_go_t *go = message;
    if (go->purpose == SKN_PURPOSE_TRAIN)
        return train(actor, go, error);
    if (go->purpose != SKN_GO_FINISH)
        return evaluate(actor, go, error);
    seen.finished = true;
    skn_actor_finish(actor);
    return SKN_OK;
}

static inline void
set_up(void)
{
    static const char *const to[] = { "result", "reached", "metrics", "saved" };
    static const char *const from[] = { "go", "halt", "save" };
    probe.kind = &skn_course;
    probe.react = react;
    probe.tick = tick;
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    probe_option("batches_per_epoch", "10");
    probe_option("epochs", "3");
    probe_option("shards", "2");
}

static inline void
expect_spans(size_t count, const uint64_t *bounds)
{
    cr_expect_eq(seen.span_count, count);
    for (size_t k = 0; k < seen.span_count && k < count; k++) {
        cr_expect_eq(seen.span[k].first, bounds[k]);
        cr_expect_eq(seen.span[k].end, bounds[k + 1]);
    }
}

/* Event `k` of that name; the caller lets it go. */
static inline json_t *
event(const char *name, size_t k)
{
    char copy[PROBE_EVENTS_BYTES], *rest = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", probe.events);
    for (char *line = strtok_r(copy, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        cr_assert(object, "%s", line);
        const char *is = json_string_value(json_object_get(object, "event"));
        if (strcmp(is, name) == 0 && k-- == 0)
            return object;
        json_decref(object);
    }
    cr_assert_fail("no event %s in %s", name, probe.events);
    return NULL;
}

static inline double
number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

/* A checkpoint of one tensor whose metadata are those of a save. */
static inline void
write_checkpoint(const char *folder, const char *metadata, char *path)
{
    static const float weight[4] = { 1, 2, 3, 4 };
    skn_error_t error = { 0 }, warning = { 0 };
    skn_run_options_t options = { .config_text = "x" };
    skn_piece_t piece = { .dtype = SKN_DTYPE_F32,
                          .dims = 1,
                          .rows = 4,
                          .columns = 1,
                          .global_rows = 4,
                          .global_columns = 1,
                          .name = "a.weight" };
    skn_run_folder_t *run = skn_run_folder_open(folder, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_checkpoint_writer_t *writer = skn_checkpoint_begin(run, 15, 0, &error);
    cr_assert(writer, "%s", error.text);
    skn_checkpoint_shard_t *shard =
        skn_checkpoint_shard_open(writer, "a.safetensors", &piece, 1, &error);
    cr_assert(shard, "%s", error.text);
    cr_assert_eq(
        skn_checkpoint_shard_write(shard, 0, 0, weight, sizeof(weight), &error),
        SKN_OK);
    cr_assert_eq(skn_checkpoint_shard_close(&shard, &error), SKN_OK);
    cr_assert_eq(skn_checkpoint_finish(&writer, metadata, 3, &warning, &error),
                 SKN_OK, "%s", error.text);
    skn_run_folder_close(&run);
    (void)snprintf(path, SKN_TEXT_MAX, "%s", folder);
}

static double resumed_validation[3]; /* P@1 of the passes after the resume */

/* Runs with the options of the test, then resumes from its save `k`. */
static inline void
resume_from(size_t k, const char *folder)
{
    static char path[SKN_TEXT_MAX];
    char run[TEMP_FOLDER_BYTES + 8];
    (void)snprintf(run, sizeof(run), "%s/run", folder);
    probe_run_well();
    cr_assert_lt(k, seen.save_count);
    write_checkpoint(run, seen.save[k].metadata, path);
    memset(&seen, 0, sizeof(seen));
    memcpy(seen.validation, resumed_validation, sizeof(resumed_validation));
    probe_option("resume", path);
}

#endif
