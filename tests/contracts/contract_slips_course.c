/* contract_slips_course.c - tests the actors that lead a run with wrong
 * messages.
 *
 * The probe plays the actors around a source, an evaluator and a course: it
 * answers their requests. Covers actors/course/source.c,
 * actors/course/evaluator.c and actors/course/course.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tests/support/slip.h"
#include "tests/support/temp_folder.h"

#define REFUSED SKN_BAD_MESSAGE
#define POINTS 16
#define LABELS 9

static char folder[TEMP_FOLDER_BYTES], points_path[TEMP_FOLDER_BYTES + 16];

static void
write_points(void)
{
    temp_folder_make(folder);
    (void)snprintf(points_path, sizeof(points_path), "%s/points.txt", folder);
    FILE *file = fopen(points_path, "w");
    cr_assert(file);
    (void)fprintf(file, "%d 5 %d\n", POINTS, LABELS);
    for (int k = 0; k < POINTS; k++)
        (void)fprintf(file, "%d %d:1 4:0.5\n", k % LABELS, k % 4);
    cr_assert_eq(fclose(file), 0);
    probe_option("train", points_path);
    probe_option("cache", "none");
    probe_option("features", "5");
    probe_option("labels", "9");
}

static void
remove_points(void)
{
    temp_folder_remove(folder);
}

/* --- source --------------------------------------------------------------- */

static struct {
    uint32_t spans, batches;
    bool halts;
} course;

static void
reset_course(void)
{
    course.spans = course.batches = 0;
}

static skn_status_t
post_go(skn_actor_t *actor, skn_error_t *error)
{
    skn_go_t *go = slip_message(actor, &skn_go_schema, NULL, error);
    if (!go)
        return error->status;
    go->end = 4;
    go->purpose = course.spans++ == 0 ? SKN_PURPOSE_TRAIN : SKN_GO_FINISH;
    if (go->purpose == SKN_GO_FINISH)
        skn_actor_finish(actor);
    return slip_post(actor, go, error);
}

static skn_status_t
post_applied(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    skn_applied_t *applied =
        slip_message(actor, &skn_applied_schema, NULL, error);
    if (!applied)
        return error->status;
    applied->batch = batch;
    return slip_post(actor, applied, error);
}

/* Batches are applied in pairs, the second one first. */
static skn_status_t
react_to_source(skn_actor_t *actor, const skn_schema_t *schema,
                const void *message, skn_error_t *error)
{
    if (schema == &skn_reached_schema) {
        cr_expect_eq(((const skn_reached_t *)message)->batch, course.batches);
        return post_go(actor, error);
    }
    if (schema != &skn_batch_schema)
        return SKN_OK;
    uint64_t batch = ((const skn_batch_t *)message)->batch;
    cr_expect_eq(batch, course.batches++);
    if (batch % 2 == 0)
        return SKN_OK;
    skn_status_t status = post_applied(actor, batch, error);
    return status == SKN_OK ? post_applied(actor, batch - 1, error) : status;
}

static void
be_source(void)
{
    static const char *const to[] = { "go", "halt", "applied", NULL };
    static const char *const from[] = { "batch", "labels", "reached", "halt",
                                        NULL };
    write_points();
    take_part(&skn_source, to, from);
    probe_option("batch_rows", "4");
    probe_option("window", "2");
    probe_option("owners", "1");
    probe.start = post_go;
    probe.react = react_to_source;
}

TestSuite(slips_source, .init = be_source, .fini = remove_points,
          .timeout = 60);

static const slip_t goes[] = {
    { "go", 0, "end=0", SKN_OK, NULL },
    { "go", 0, "end=2", SKN_OK, NULL },
    { "go", 0, "first=5", REFUSED,
      "source: asked for purpose 0, batches 5 to 4, which do not exist" },
    { "go", 0, "first=0xffffffffffffffff", REFUSED,
      "source: asked for purpose 0, batches 18446744073709551615 to 4, which "
      "do not exist" },
    { "go", 0, "purpose=2", REFUSED,
      "source: asked for purpose 2, batches 0 to 4, which do not exist" },
    { "go", 0, "purpose=4", REFUSED,
      "source: asked for purpose 4, batches 0 to 4, which do not exist" },
    { "go", 0, "purpose=0xffffffff", REFUSED,
      "source: asked for purpose 4294967295, batches 0 to 4, which do not "
      "exist" },
    { "go", 0, "twice", SKN_INTERNAL,
      "the source received `go` while it was running" },
    { "applied", 0, "batch=9", REFUSED,
      "source: batch 9 was reported applied but is not in flight" },
    { "applied", 0, "batch=2", REFUSED,
      "source: batch 2 was reported applied but is not in flight" },
    { "applied", 0, "batch=0xffffffffffffffff", REFUSED,
      "source: batch 18446744073709551615 was reported applied but is not in "
      "flight" },
    { "applied", 1, "twice", REFUSED,
      "source: batch 0 was reported applied but is not in flight" },
    { "applied", 2, "batch=0", REFUSED,
      "source: batch 0 was reported applied but is not in flight" },
    { "applied", 0, "twice", REFUSED,
      "source: batch 1 was applied more than 1 time" },
    { "applied", 2, "twice", REFUSED,
      "source: batch 3 was applied more than 1 time" },
    { "applied", 1, "batch=1", REFUSED,
      "source: batch 1 was applied more than 1 time" },
    { "applied", 0, "shard=1", REFUSED,
      "source: batch 1 was reported applied for purpose 0 by shard 1 of layer "
      "0, but has purpose 0 and 1 owner" },
    { "applied", 2, "layer=5", REFUSED,
      "source: batch 3 was reported applied for purpose 0 by shard 0 of layer "
      "5, but has purpose 0 and 1 owner" },
    { "applied", 1, "purpose=2", REFUSED,
      "source: batch 0 was reported applied for purpose 2 by shard 0 of layer "
      "0, but has purpose 0 and 1 owner" },
};

Test(slips_source, every_wrong_word_is_refused)
{
    SLIP_RUN(goes, reset_course);
}

/* --- evaluator ------------------------------------------------------------ */

#define SAMPLES 2
#define K 3

static struct {
    uint32_t applied, metrics;
    bool with_sums; /* rankings have what the loss takes */
    float positive;
    double nats;
} pass;

static void
reset_pass(void)
{
    pass.applied = pass.metrics = 0;
}

static skn_status_t
post_truth(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    static const uint32_t offset[] = { 0, 2, 3 }, label[] = { 1, 4, 8 };
    static const size_t counts[] = { 3, 3, 0 };
    skn_labels_t *labels =
        slip_message(actor, &skn_labels_schema, counts, error);
    if (!labels)
        return error->status;
    labels->batch = batch;
    labels->horizon = 1;
    labels->purpose = SKN_PURPOSE_TEST;
    labels->rows = SAMPLES;
    memcpy(labels->offset.at, offset, sizeof(offset));
    memcpy(labels->label.at, label, sizeof(label));
    return slip_post(actor, labels, error);
}

static skn_status_t
post_ranking(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    size_t sums = pass.with_sums ? SAMPLES : 0;
    const size_t counts[] = { SAMPLES * K, SAMPLES * K, sums, sums, sums };
    skn_ranking_t *ranking =
        slip_message(actor, &skn_ranking_schema, counts, error);
    if (!ranking)
        return error->status;
    for (size_t i = 0; i < sums; i++) {
        ranking->greatest.at[i] = (float)i;
        ranking->sum.at[i] = 4;
        ranking->positive.at[i] = pass.positive;
    }
    ranking->batch = batch;
    ranking->purpose = SKN_PURPOSE_TEST;
    ranking->rows = SAMPLES;
    ranking->k = K;
    for (uint32_t k = 0; k < SAMPLES * K; k++) {
        ranking->label.at[k] = k;
        ranking->score.at[k] = -(float)k;
    }
    return slip_post(actor, ranking, error);
}

static skn_status_t
start_pass(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint64_t batch = 0; batch < 2 && status == SKN_OK; batch++) {
        status = post_truth(actor, batch, error);
        if (status == SKN_OK)
            status = post_ranking(actor, batch, error);
    }
    return status;
}

static skn_status_t
react_to_evaluator(skn_actor_t *actor, const skn_schema_t *schema,
                   const void *message, skn_error_t *error)
{
    (void)error;
    if (schema == &skn_metrics_schema) {
        const skn_metrics_t *metrics = message;
        cr_expect(metrics->p1 >= 0 && metrics->p1 <= 1);
        cr_expect(metrics->ndcg5 >= 0 && metrics->ndcg5 <= 1);
        pass.nats = metrics->nats;
        pass.metrics++;
    } else if (++pass.applied == 2) {
        cr_expect_eq(pass.metrics, 1);
        skn_actor_finish(actor);
    }
    return SKN_OK;
}

static void
be_evaluator(void)
{
    static const char *const to[] = { "labels", "ranking", NULL };
    static const char *const from[] = { "metrics", "applied", NULL };
    write_points();
    take_part(&skn_evaluator, to, from);
    probe.gathered[0] = "ranking";
    probe.start = start_pass;
    probe.react = react_to_evaluator;
}

TestSuite(slips_evaluator, .init = be_evaluator, .fini = remove_points,
          .timeout = 60);

#define UNCUT "evaluator: the labels of batch 0 do not fit its 2 samples"

static const slip_t truths[] = {
    { "labels", 0, "offset#2", REFUSED, UNCUT },
    { "labels", 0, "offset#0", REFUSED, UNCUT },
    { "labels", 0, "offset[0]=1", REFUSED, UNCUT },
    { "labels", 0, "offset[1]=4", REFUSED, UNCUT },
    { "labels", 0, "offset[1]=0xffffffff", REFUSED, UNCUT },
    { "labels", 0, "offset[2]=2", REFUSED, UNCUT },
    { "labels", 0, "label#2", REFUSED, UNCUT },
    { "labels", 0, "rows=3", REFUSED,
      "evaluator: the labels of batch 0 do not fit its 3 samples" },
    { "labels", 0, "rows=0xffffffff", REFUSED,
      "evaluator: the labels of batch 0 do not fit its 4294967295 samples" },
    { "labels", 0, "label[2]=9", REFUSED,
      "evaluator: label 9, but the model has 9 labels" },
    { "labels", 1, "label[0]=0xffffffff", REFUSED,
      "evaluator: label 4294967295, but the model has 9 labels" },
    { "labels", 0, "rows=1 offset#2 offset[1]=3", REFUSED,
      "evaluator: the rankings of batch 0 do not fit its labels" },
    { "labels", 0, "offset[1]=0 offset[2]=0 label#0", SKN_OK, NULL },
    { "labels", 0, "twice", REFUSED,
      "evaluator: batch 0 is beyond the window" },
};

Test(slips_evaluator, every_wrong_list_of_labels_is_refused)
{
    SLIP_RUN(truths, reset_pass);
}

#define MISFIT "evaluator: the rankings of batch 0 do not fit its labels"

static const slip_t rankings[] = {
    { "ranking", 0, "rows=1", REFUSED, MISFIT },
    { "ranking", 0, "rows=1 label#3 score#3", REFUSED, MISFIT },
    { "ranking", 0, "k=2", REFUSED, MISFIT },
    { "ranking", 0, "k=0xffffffff", REFUSED, MISFIT },
    { "ranking", 0, "label#5", REFUSED, MISFIT },
    { "ranking", 0, "score#5", REFUSED, MISFIT },
    { "ranking", 0, "score#0", REFUSED, MISFIT },
    { "ranking", 0, "label[0]=9", REFUSED, MISFIT },
    { "ranking", 0, "label[5]=0xfffffffe", REFUSED, MISFIT },
    { "ranking", 0, "batch=128", REFUSED,
      "evaluator: unexpected ranking of batch 128: those of 0 batches have "
      "come, and 0 were counted" },
    { "ranking", 0, "batch=1", REFUSED,
      "evaluator: unexpected ranking of batch 1: those of 0 batches have come, "
      "and 0 were counted" },
    { "ranking", 1, "batch=0", REFUSED,
      "evaluator: unexpected ranking of batch 0: those of 1 batches have come, "
      "and 1 were counted" },
    { "ranking", 0, "twice", REFUSED,
      "evaluator: unexpected ranking of batch 0: those of 1 batches have come, "
      "and 1 were counted" },
    { "ranking", 1, "rows=3", REFUSED,
      "evaluator: the rankings of batch 1 do not fit its labels" },
    { "ranking", 0, "label[0]=0xffffffff", SKN_OK, NULL },
    { "ranking", 0, "label[0]=1", SKN_OK, NULL },
    { "ranking", 0, "score[0]=nan score[4]=inf score[5]=-inf", SKN_OK, NULL },
    { "ranking", 0, "k=0 label#0 score#0", SKN_OK, NULL },
    { "ranking", 0, "shard=1023", SKN_OK, NULL },
};

Test(slips_evaluator, every_wrong_ranking_is_refused)
{
    SLIP_RUN(rankings, reset_pass);
}

/* ln Z is i + ln 4; the samples have two labels and one. */
Test(slips_evaluator, the_loss_is_the_mean_over_points_and_their_labels)
{
    pass.with_sums = true;
    pass.positive = -3;
    probe_run();
    cr_expect_eq(probe.status, SKN_OK, "%s", probe.error.text);
    double want = (0 + log(4) + 1.5 + 1 + log(4) + 3) / 2;
    cr_expect(fabs(pass.nats - want) <= 1e-12, "%.9g", pass.nats);
}

Test(slips_evaluator, a_loss_that_is_not_known_is_below_0)
{
    probe_run();
    cr_expect_eq(pass.nats, -1.0);
    reset_pass();
    pass.with_sums = true;
    pass.positive = NAN;
    probe_run();
    cr_expect_eq(pass.nats, -1.0);
}

static skn_status_t
start_with_rankings(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint64_t batch = 0; batch <= SKN_ISSUED_MAX + 1 && status == SKN_OK;
         batch++)
        status = post_ranking(actor, batch, error);
    return status;
}

Test(slips_evaluator, more_rankings_than_batches_in_flight_are_refused)
{
    probe.start = start_with_rankings;
    probe_run();
    cr_expect_eq(probe.status, REFUSED);
    cr_expect_str_eq(probe.error.text,
                     "evaluator: unexpected ranking of batch 128: those of "
                     "128 batches have come, and 0 were counted");
}

/* --- course ---------------------------------------------------------- */

static skn_status_t
post_reached(skn_actor_t *actor, uint64_t batch, uint32_t purpose,
             skn_error_t *error)
{
    skn_reached_t *reached =
        slip_message(actor, &skn_reached_schema, NULL, error);
    if (!reached)
        return error->status;
    reached->batch = batch;
    reached->purpose = purpose;
    return slip_post(actor, reached, error);
}

static skn_status_t
post_result(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    skn_result_t *result = slip_message(actor, &skn_result_schema, NULL, error);
    if (!result)
        return error->status;
    result->batch = batch;
    result->rows = SAMPLES;
    result->loss = 1.5;
    result->owned = LABELS;
    result->mass = result->recall = -1;
    return slip_post(actor, result, error);
}

static skn_status_t
post_metrics(skn_actor_t *actor, skn_error_t *error)
{
    skn_metrics_t *metrics =
        slip_message(actor, &skn_metrics_schema, NULL, error);
    if (!metrics)
        return error->status;
    metrics->purpose = SKN_PURPOSE_TEST;
    metrics->rows = SAMPLES;
    metrics->p1 = 0.5;
    return slip_post(actor, metrics, error);
}

static skn_status_t
post_saved(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    static const size_t counts[2] = { 0 };
    skn_saved_t *saved = slip_message(actor, &skn_saved_schema, counts, error);
    if (!saved)
        return error->status;
    saved->batch = batch;
    return slip_post(actor, saved, error);
}

static skn_status_t
react_to_course(skn_actor_t *actor, const skn_schema_t *schema,
                const void *message, skn_error_t *error)
{
    const skn_go_t *go = message;
    skn_status_t status = SKN_OK;
    if (schema == &skn_save_schema)
        return post_saved(actor, ((const skn_save_t *)message)->batch, error);
    if (go->purpose == SKN_GO_FINISH) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    if (go->purpose == SKN_PURPOSE_TEST) {
        status = post_metrics(actor, error);
        return status == SKN_OK ? post_reached(actor, 1, go->purpose, error)
                                : status;
    }
    for (uint64_t t = go->first; t < go->end && status == SKN_OK; t++)
        status = post_result(actor, t, error);
    return status == SKN_OK ? post_reached(actor, go->end, go->purpose, error)
                            : status;
}

/* Epochs of two batches: train, test, train, test, save. */
static void
be_course(void)
{
    static const char *const to[] = { "result", "reached", "metrics", "saved",
                                      NULL };
    static const char *const from[] = { "go", "halt", "save", NULL };
    take_part(&skn_course, to, from);
    probe_option("batches_per_epoch", "2");
    probe_option("epochs", "2");
    probe_option("tests", "true");
    probe.react = react_to_course;
}

TestSuite(slips_course, .init = be_course, .timeout = 60);

static void
reset_none(void)
{
}

#define MARKER(batch) "course: a marker at batch " batch " was not requested"
#define PASS(purpose) "course: a pass of purpose " purpose " was not requested"
#define SAVED(batch) "course: a checkpoint of batch " batch " was not requested"

static const slip_t answers[] = {
    { "reached", 0, "batch=3", REFUSED, MARKER("3") },
    { "reached", 0, "batch=0xffffffffffffffff", REFUSED,
      MARKER("18446744073709551615") },
    { "reached", 2, "batch=1", REFUSED, MARKER("1") },
    { "reached", 0, "twice", REFUSED, MARKER("2") },
    { "reached", 2, "twice", REFUSED, MARKER("4") },
    { "reached", 0, "purpose=2", REFUSED, PASS("2") },
    { "reached", 0, "purpose=77", REFUSED, PASS("77") },
    { "reached", 1, "purpose=1", REFUSED, PASS("1") },
    { "reached", 1, "purpose=0", REFUSED, MARKER("1") },
    { "reached", 1, "twice", REFUSED, PASS("2") },
    { "reached", 1, "cut=1", REFUSED, PASS("2") },
    { "metrics", 0, "purpose=1", REFUSED, PASS("1") },
    { "metrics", 0, "purpose=0", REFUSED, PASS("0") },
    { "metrics", 1, "twice", REFUSED, PASS("2") },
    { "metrics", 0, "p1=nan p3=nan", SKN_OK, NULL },
    { "saved", 0, "batch=3", REFUSED, SAVED("3") },
    { "saved", 0, "batch=0", REFUSED, SAVED("0") },
    { "result", 0, "rows=0", SKN_OK, NULL },
    { "result", 0, "owned=0 active=0", SKN_OK, NULL },
    { "result", 1, "twice", SKN_OK, NULL },
    { "result", 0, "batch=0xffffffffffffffff", SKN_OK, NULL },
};

Test(slips_course, every_answer_to_what_was_not_asked_is_refused)
{
    SLIP_RUN(answers, reset_none);
}

static skn_status_t
start_with_metrics(skn_actor_t *actor, skn_error_t *error)
{
    return post_metrics(actor, error);
}

static skn_status_t
start_with_saved(skn_actor_t *actor, skn_error_t *error)
{
    return post_saved(actor, 0, error);
}

Test(slips_course, answers_before_any_question_are_refused)
{
    probe.start = start_with_metrics;
    probe_run();
    cr_expect_eq(probe.status, REFUSED);
    cr_expect_str_eq(probe.error.text, PASS("2"));
    probe.start = start_with_saved;
    probe_run();
    cr_expect_eq(probe.status, REFUSED);
    cr_expect_str_eq(probe.error.text, SAVED("0"));
}
