/* contract_slips_output.c - tests an output shard with wrong messages.
 *
 * The probe plays source, hidden layer, updater and evaluator around a shard of
 * six labels over four hidden units, for three batches of two samples and one
 * evaluation; the messages of the shard to its peers come back to it. Covers
 * actors/output/arrivals.c, actors/output/output.c, and the data that
 * actors/output/head.c reads unchecked.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "actors/rows/rows.h"
#include "tests/support/slip.h"

#define LABELS 6
#define HIDDEN 4
#define SAMPLES 2
#define BATCHES 3
#define REFUSED SKN_BAD_MESSAGE

static skn_rows_t rows;
static uint64_t batch, marker;
static uint32_t rankings;

static void
reset(void)
{
    batch = marker = 0;
    rankings = 0;
}

/* --- what the peers say --------------------------------------------------- */

static skn_status_t
post_labels(skn_actor_t *actor, uint32_t purpose, skn_error_t *error)
{
    static const uint32_t offset[] = { 0, 2, 3 }, label[] = { 1, 4, 4 };
    static const uint32_t distinct[] = { 1, 4 };
    static const size_t counts[] = { 3, 3, 2 };
    skn_labels_t *labels =
        slip_message(actor, &skn_labels_schema, counts, error);
    if (!labels)
        return error->status;
    labels->batch = batch;
    labels->purpose = purpose;
    labels->floor = purpose == SKN_PURPOSE_TRAIN ? marker : BATCHES;
    labels->horizon = BATCHES - 1;
    labels->rows = SAMPLES;
    memcpy(labels->offset.at, offset, sizeof(offset));
    memcpy(labels->label.at, label, sizeof(label));
    memcpy(labels->distinct.at, distinct, sizeof(distinct));
    return slip_post(actor, labels, error);
}

static skn_status_t
post_hidden(skn_actor_t *actor, uint32_t purpose, skn_error_t *error)
{
    static const size_t count = SAMPLES * HIDDEN;
    skn_activation_t *hidden =
        slip_message(actor, &skn_activation_schema, &count, error);
    if (!hidden)
        return error->status;
    hidden->batch = batch;
    hidden->purpose = purpose;
    hidden->floor = purpose == SKN_PURPOSE_TRAIN ? 0 : BATCHES;
    hidden->horizon = BATCHES - 1;
    hidden->rows = SAMPLES;
    hidden->columns = HIDDEN;
    for (size_t k = 0; k < count; k++)
        hidden->value.at[k] = 0.5f * (float)(k % 3);
    return slip_post(actor, hidden, error);
}

static skn_status_t
post_batch(skn_actor_t *actor, uint32_t purpose, skn_error_t *error)
{
    skn_status_t status = post_labels(actor, purpose, error);
    return status == SKN_OK ? post_hidden(actor, purpose, error) : status;
}

static skn_status_t
post_lease(skn_actor_t *actor, uint64_t applied, skn_error_t *error)
{
    static const size_t counts[3] = { 0 };
    skn_lease_t *lease = slip_message(actor, &skn_lease_schema, counts, error);
    if (!lease)
        return error->status;
    lease->batch = applied;
    lease->rows = &rows;
    return slip_post(actor, lease, error);
}

/* What the shard told its peers, of whom it is one. */
static skn_status_t
post_partition(skn_actor_t *actor, const skn_partition_t *told,
               skn_error_t *error)
{
    size_t counts[] = { told->node.count, told->greatest.count,
                        told->sum.count };
    skn_partition_t *partition =
        slip_message(actor, &skn_partition_schema, counts, error);
    if (!partition)
        return error->status;
    partition->batch = told->batch;
    partition->shard = told->shard;
    partition->rows = told->rows;
    memcpy(partition->node.at, told->node.at, counts[0] * sizeof(uint32_t));
    memcpy(partition->greatest.at, told->greatest.at,
           counts[1] * sizeof(float));
    memcpy(partition->sum.at, told->sum.at, counts[2] * sizeof(float));
    return slip_post(actor, partition, error);
}

static skn_status_t
start(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = post_lease(actor, 0, error);
    return status == SKN_OK ? post_batch(actor, SKN_PURPOSE_TRAIN, error)
                            : status;
}

/* The first batch comes before the rows. */
static skn_status_t
start_with_a_batch(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = post_batch(actor, SKN_PURPOSE_TRAIN, error);
    return status == SKN_OK ? post_lease(actor, 0, error) : status;
}

static skn_status_t
on_gradient(skn_actor_t *actor, const skn_gradient_t *gradient,
            skn_error_t *error)
{
    cr_expect_eq(gradient->batch, batch);
    cr_expect_eq(gradient->value.count, gradient->unit.count * (HIDDEN + 1));
    for (size_t k = 0; k < gradient->unit.count; k++)
        cr_expect_lt(gradient->unit.at[k], LABELS);
    skn_status_t status = post_lease(actor, ++batch, error);
    uint32_t purpose = batch < BATCHES ? SKN_PURPOSE_TRAIN : SKN_PURPOSE_TEST;
    if (batch == BATCHES)
        batch = 0; /* a pass numbers its own */
    return status == SKN_OK ? post_batch(actor, purpose, error) : status;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_partition_schema)
        return post_partition(actor, message, error);
    if (schema == &skn_gradient_schema)
        return on_gradient(actor, message, error);
    if (schema == &skn_ranking_schema) {
        const skn_ranking_t *ranking = message;
        cr_expect_eq(ranking->rows, SAMPLES);
        rankings++;
        skn_actor_finish(actor);
    }
    return SKN_OK;
}

static void
set_up(void)
{
    static const char *const to[] = { "labels", "activation", "partition",
                                      "lease",  "halt",       "index" };
    static const char *const from[] = { "partition", "gradient", "result",
                                        "ranking" };
    static const char *const options[][2] = {
        { "labels", "6" }, { "row_count", "6" },  { "hidden", "4" },
        { "topk", "3" },   { "batch_rows", "2" }, { "huge_pages", "false" },
    };
    skn_error_t error = { 0 };
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        probe_option(options[k][0], options[k][1]);
    probe.kind = &skn_output;
    probe.gathered[0] = "activation";
    probe.gathered[1] = "partition";
    probe.start = start;
    probe.react = react;
    cr_assert_eq(
        skn_rows_init(&rows, SKN_ROWS_SGD, LABELS, HIDDEN + 1, false, &error),
        SKN_OK);
}

static void
tear_down(void)
{
    skn_rows_fini(&rows);
}

TestSuite(slips_output, .init = set_up, .fini = tear_down, .timeout = 60);

/* --- labels --------------------------------------------------------------- */

#define UNSOUND                                                                \
    "output: the labels of batch 0 do not fit its 2 samples, or the layer"

#define OUT_OF_TURN " is out of turn: one of "

static const slip_t wrong_labels[] = {
    { "labels", 0, "rows=3", REFUSED,
      "output: the labels of batch 0 do not fit its 3 samples, or the layer" },
    { "labels", 0, "rows=3 offset#4 offset[3]=3", REFUSED,
      "output: the labels of batch 0 do not fit its 3 samples, or the layer" },
    { "labels", 0, "rows=0xffffffff", REFUSED,
      "output: the labels of batch 0 do not fit its 4294967295 samples, or "
      "the layer" },
    { "labels", 0, "offset#2", REFUSED, UNSOUND },
    { "labels", 0, "offset#4", REFUSED, UNSOUND },
    { "labels", 0, "offset#0", REFUSED, UNSOUND },
    { "labels", 0, "offset[0]=1", REFUSED, UNSOUND },
    { "labels", 0, "offset[1]=4", REFUSED, UNSOUND },
    { "labels", 0, "offset[1]=0xffffffff", REFUSED, UNSOUND },
    { "labels", 0, "offset[2]=2", REFUSED, UNSOUND },
    { "labels", 0, "offset[2]=4", REFUSED, UNSOUND },
    { "labels", 0, "label#2", REFUSED, UNSOUND },
    { "labels", 0, "label#4", REFUSED, UNSOUND },
    { "labels", 0, "label[2]=6", REFUSED, UNSOUND },
    { "labels", 0, "label[0]=0xffffffff", REFUSED, UNSOUND },
    { "labels", 0, "distinct[1]=1", REFUSED, UNSOUND },
    { "labels", 0, "distinct[0]=4 distinct[1]=1", REFUSED, UNSOUND },
    { "labels", 0, "rows=1 offset#2 offset[1]=3", REFUSED,
      "output: batch 0 has labels of 1 samples and hidden vectors of 2" },
    { "labels", 3, "rows=1 offset#2 offset[1]=3", REFUSED,
      "output: batch 0 has labels of 1 samples and hidden vectors of 2" },
    { "labels", 0, "offset[1]=0 offset[2]=0 label#0 distinct#0", SKN_OK, NULL },
    { "labels", 0, "twice", REFUSED,
      "output: received labels of batch 0 twice" },
    { "labels", 2, "twice", REFUSED,
      "output: received labels of batch 2 twice" },
    { "labels", 1, "batch=0", REFUSED,
      "output: received labels of batch 0 twice" },
    { "labels", 3, "label[0]=6", REFUSED, UNSOUND },
    { "labels", 1, "batch=1000001", REFUSED,
      "output: batch 1000001 with floor 0 and horizon 2" OUT_OF_TURN
      "1 to 1 can come, with a floor of at most 1" },
    { "labels", 2, "floor=3", REFUSED,
      "output: batch 2 with floor 3 and horizon 2" OUT_OF_TURN
      "2 to 2 can come, with a floor of at most 2" },
    { "labels", 3, "batch=1", REFUSED,
      "output: batch 1 with floor 3 and horizon 2" OUT_OF_TURN
      "0 to 0 can come, with a floor of at most 3" },
    { "labels", 3, "floor=4", REFUSED,
      "output: batch 0 with floor 4 and horizon 2" OUT_OF_TURN
      "0 to 0 can come, with a floor of at most 3" },
    { "labels", 0,
      "distinct#5 distinct[0]=0 distinct[1]=1 distinct[2]=2 distinct[3]=3 "
      "distinct[4]=4",
      REFUSED, UNSOUND },
};

Test(slips_output, every_wrong_list_of_labels_is_refused)
{
    SLIP_RUN(wrong_labels, reset);
}

/* A sampled set holds the distinct labels, and so must the batch's own be. */
static const slip_t untold[] = {
    { "labels", 0, "distinct[1]=5", REFUSED,
      "labels of batch 0: label 4 is missing from the distinct labels" },
    { "labels", 1, "distinct#1", REFUSED,
      "labels of batch 1: label 4 is missing from the distinct labels" },
    { "labels", 0, "distinct#0", REFUSED,
      "labels of batch 0: label 1 is missing from the distinct labels" },
    { "labels", 0, "distinct[0]=0xfffffffe distinct[1]=0xffffffff", REFUSED,
      "labels of batch 0: label 1 is missing from the distinct labels" },
    { "labels", 0, "distinct#3 distinct[2]=5", SKN_OK, NULL },
};

Test(slips_output, a_label_that_is_not_among_the_distinct_is_named)
{
    probe_option("sampler", "uniform");
    probe_option("rows", "1");
    /* With one draw of four, label 4 would be found by luck: not of these. */
    probe_option("seed", "3");
    SLIP_RUN(untold, reset);
}

/* --- hidden vectors ------------------------------------------------------- */

#define HIDDEN_OF "output: activation of shard 0, batch 0: "

static const slip_t hidden[] = {
    { "activation", 0, "value#7", REFUSED,
      HIDDEN_OF "7 values for 2 rows, columns 0..4 of 4" },
    { "activation", 0, "value#12", REFUSED,
      HIDDEN_OF "12 values for 2 rows, columns 0..4 of 4" },
    { "activation", 0, "rows=3 value#12", REFUSED,
      HIDDEN_OF "12 values for 3 rows, columns 0..4 of 4" },
    { "activation", 0, "columns=5 value#10", REFUSED,
      HIDDEN_OF "10 values for 2 rows, columns 0..5 of 4" },
    { "activation", 0, "columns=3 value#6", REFUSED,
      "output: the activations of batch 0 have 3 columns, the layer has 4" },
    { "activation", 0, "column_first=1", REFUSED,
      HIDDEN_OF "8 values for 2 rows, columns 1..5 of 4" },
    { "activation", 0, "rows=1 value#4", REFUSED,
      "output: batch 0 has labels of 2 samples and hidden vectors of 1" },
    { "activation", 0, "twice", REFUSED,
      "output: received hidden vectors of batch 0 twice" },
    { "activation", 1, "batch=0", REFUSED,
      "output: received hidden vectors of batch 0 twice" },
    { "activation", 0, "batch=1000001", REFUSED,
      "output: batch 1000001 with floor 0 and horizon 2" OUT_OF_TURN
      "0 to 0 can come, with a floor of at most 0" },
    { "activation", 1, "floor=1000", REFUSED,
      "output: batch 1 with floor 1000 and horizon 2" OUT_OF_TURN
      "1 to 1 can come, with a floor of at most 1" },
    { "activation", 3, "horizon=0", SKN_OK, NULL },
    { "activation", 3, "value[0]=nan", SKN_OK, NULL },
};

Test(slips_output, every_wrong_hidden_vector_is_refused)
{
    SLIP_RUN(hidden, reset);
}

#define DIVERGED(batch)                                                        \
    "batch " batch ": the loss of output is not finite; training diverged"

static const slip_t not_finite[] = {
    { "activation", 0, "value[0]=nan", SKN_DIVERGED, DIVERGED("0") },
    { "activation", 2, "value[7]=inf", SKN_DIVERGED, DIVERGED("2") },
    { "partition", 1, "sum[0]=nan", SKN_DIVERGED, DIVERGED("1") },
    { "partition", 0, "greatest[1]=inf", SKN_DIVERGED, DIVERGED("0") },
};

Test(slips_output, what_is_no_number_ends_the_training)
{
    for (uint32_t k = 0; k < LABELS; k++)
        for (uint32_t c = 0; c <= HIDDEN; c++)
            skn_rows_weight(&rows, k)[c] = 0.5f;
    SLIP_RUN(not_finite, reset);
}

/* --- partitions, leases and the rest -------------------------------------- */

#define NO_FIT "output: the partitions of batch 0 do not fit its samples"

static const slip_t partitions[] = {
    { "partition", 0, "rows=1", REFUSED, NO_FIT },
    { "partition", 0, "rows=3", REFUSED, NO_FIT },
    { "partition", 0, "greatest#1", REFUSED, NO_FIT },
    { "partition", 0, "greatest#3", REFUSED, NO_FIT },
    { "partition", 0, "sum#1", REFUSED, NO_FIT },
    { "partition", 0, "sum#0 greatest#0", REFUSED, NO_FIT },
    { "partition", 0, "node#0 sum#0 greatest#0", REFUSED, NO_FIT },
    { "partition", 0, "node#2 sum#4 greatest#4", REFUSED, NO_FIT },
    { "partition", 0, "node[0]=1", REFUSED, NO_FIT },
    { "partition", 0, "node[0]=0xffffffff", REFUSED, NO_FIT },
    { "partition", 0, "batch=1", REFUSED,
      "output: the partitions of batch 1 do not fit its samples" },
    { "partition", 1, "batch=0", REFUSED, NO_FIT },
    { "partition", 1, "twice", REFUSED,
      "output: the partitions of batch 1 do not fit its samples" },
    { "partition", 0, "shard=900", SKN_OK, NULL },
};

Test(slips_output, every_wrong_partition_is_refused)
{
    SLIP_RUN(partitions, reset);
}

static const slip_t leases[] = {
    { "lease", 0, "rows=0", REFUSED,
      "output: lease of batch 0: no rows were lent to a shard without a copy" },
    { "lease", 0, "twice", REFUSED,
      "output: lease of batch 0: it returns rows that were not lent" },
    { "lease", 3, "twice", REFUSED,
      "output: lease of batch 3: it returns rows that were not lent" },
    { "lease", 1, "batch=2", REFUSED,
      "output: the rows returned after 2 batches, but the gradients of 1 were "
      "sent" },
    { "lease", 2, "batch=1", REFUSED,
      "output: the rows returned after 1 batches, but the gradients of 2 were "
      "sent" },
};

Test(slips_output, every_wrong_lease_is_refused)
{
    SLIP_RUN(leases, reset);
}

static const slip_t late_leases[] = {
    { "lease", 0, "batch=0", SKN_OK, NULL },
    { "lease", 0, "batch=2", REFUSED,
      "output: unexpected batch 0, batch 2 is the next" },
};

Test(slips_output, a_lease_beyond_a_batch_that_waits_is_refused)
{
    probe.start = start_with_a_batch;
    SLIP_RUN(late_leases, reset);
}

/* The rows come after fewer batches than a batch before them has applied. */
static const slip_t early_floors[] = {
    { "labels", 0, "batch=2 floor=2", REFUSED,
      "output: the rows returned after 0 batches, but a batch with floor 2 has "
      "come" },
};

Test(slips_output, rows_older_than_the_floor_of_a_batch_are_refused)
{
    probe.start = start_with_a_batch;
    SLIP_RUN(early_floors, reset);
}

static skn_status_t
start_with_an_index(skn_actor_t *actor, skn_error_t *error)
{
    skn_index_t index = { .batch = 7 };
    return skn_actor_send(actor, &skn_index_schema, &index, error);
}

Test(slips_output, an_index_that_nobody_waits_for_is_refused)
{
    probe.start = start_with_an_index;
    probe_run();
    cr_expect_eq(probe.status, REFUSED);
    cr_expect_str_eq(probe.error.text,
                     "output: received an index of batch 7, but expected none");
}

/* More batches than the window has room for, of which none can begin. */
static skn_status_t
start_with_a_flood(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (marker = batch = 0; batch < 3 && status == SKN_OK; marker = ++batch)
        status = post_labels(actor, SKN_PURPOSE_TRAIN, error);
    return status;
}

Test(slips_output, batches_beyond_the_window_are_refused)
{
    probe.start = start_with_a_flood;
    probe_run();
    cr_expect_eq(probe.status, REFUSED);
    cr_expect_str_eq(probe.error.text, "output: batch 2 is beyond the window");
}

static uint64_t updated[2];
static uint32_t updates;

static skn_status_t
start_with_the_second(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = post_lease(actor, 0, error);
    for (batch = 2; batch-- > 0 && status == SKN_OK;)
        status = post_batch(actor, SKN_PURPOSE_TRAIN, error);
    return status;
}

static skn_status_t
note_gradient(skn_actor_t *actor, const skn_schema_t *schema,
              const void *message, skn_error_t *error)
{
    const skn_gradient_t *gradient = message;
    if (schema != &skn_gradient_schema)
        return react(actor, schema, message, error);
    cr_assert_lt(updates, 2);
    updated[updates++] = gradient->batch;
    if (updates == 2)
        skn_actor_finish(actor);
    return post_lease(actor, updates, error);
}

Test(slips_output, a_batch_that_comes_too_early_waits_for_the_one_before)
{
    probe.start = start_with_the_second;
    probe.react = note_gradient;
    probe_option("window", "2");
    probe_option("order", "free");
    probe_run_well();
    cr_assert_eq(updates, 2);
    cr_expect_eq(updated[0], 0);
    cr_expect_eq(updated[1], 1);
}

Test(slips_output, rows_that_are_not_in_the_tree_are_refused)
{
    probe_option("reduction", "fixed");
    probe_option("leaves", "5");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
    cr_expect_str_eq(probe.error.text,
                     "output: rows 0 to 6 are not leaves of a tree of 5");
}

Test(slips_output, shards_that_normalise_refuse_the_fixed_tree)
{
    probe_option("merge", "late");
    probe_option("reduction", "fixed");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
    cr_expect_str_eq(probe.error.text,
                     "output: merge: late needs reduction: fast");
}

/* These tell m + log z, in one run. */
static const slip_t logs[] = {
    { "partition", 1, "greatest[0]=nan", SKN_DIVERGED, DIVERGED("1") },
    { "partition", 0, "greatest[1]=inf", SKN_DIVERGED, DIVERGED("0") },
    { "partition", 0, "sum#2 sum[0]=1 sum[1]=1", REFUSED, NO_FIT },
    { "partition", 1, "greatest[0]=-inf", REFUSED,
      "output: the partitions of batch 1 have no rows for a sample that "
      "has labels" },
};

static const slip_t no_rows[] = {
    { "partition", 2, "greatest[0]=-inf sum[0]=0", REFUSED,
      "output: the partitions of batch 2 have no rows for a sample that "
      "has labels" },
};

Test(slips_output, a_sample_with_labels_and_without_rows_is_refused)
{
    SLIP_RUN(no_rows, reset);
}

Test(slips_output, a_wrong_partition_is_refused_by_shards_that_normalise)
{
    probe_option("merge", "late");
    SLIP_RUN(partitions, reset);
    SLIP_RUN(logs, reset);
}

/* --- what is packed ------------------------------------------------------- */

/* Gradients that were seen, in the order of their coming. */
static struct {
    uint32_t count;
    size_t open[2 * BATCHES][SAMPLES], pushed[2 * BATCHES][SAMPLES];
    float pull[2 * BATCHES][SAMPLES * HIDDEN];
    float push[2 * BATCHES][SAMPLES * HIDDEN];
    uint32_t normalised[2 * BATCHES];
    size_t pulls[2 * BATCHES], pushes[2 * BATCHES];
} shown;

static skn_status_t
react_to_gradients(skn_actor_t *actor, const skn_schema_t *schema,
                   const void *message, skn_error_t *error)
{
    const skn_output_gradient_t *gradient = message;
    if (schema != &skn_output_gradient_schema)
        return react(actor, schema, message, error);
    uint32_t at = shown.count++;
    cr_assert_lt(at, 2 * BATCHES);
    cr_assert_eq(gradient->node.count, 1);
    for (size_t i = 0; i < gradient->open.count; i++)
        shown.open[at][i] = gradient->open.at[i];
    for (size_t i = 0; i < gradient->pushed.count; i++)
        shown.pushed[at][i] = gradient->pushed.at[i];
    shown.pulls[at] = gradient->pull.count;
    shown.pushes[at] = gradient->push.count;
    shown.normalised[at] = gradient->normalised;
    memcpy(shown.pull[at], gradient->pull.at,
           gradient->pull.count * sizeof(float));
    if (gradient->push.count > 0)
        memcpy(shown.push[at], gradient->push.at,
               gradient->push.count * sizeof(float));
    return SKN_OK;
}

/* Weights of which no two are alike. */
static void
fill_rows(void)
{
    for (uint32_t k = 0; k < LABELS; k++)
        for (uint32_t c = 0; c <= HIDDEN; c++)
            skn_rows_weight(&rows, k)[c] =
                0.01f * (float)((k * 7 + c * 11) % 31) - 0.15f;
}

/* Hidden values are 0 .5 1 0 of the first sample and .5 1 0 .5 of the second;
 * this one has no label in the shard. */
static const slip_t one_positive = { "labels", 0,
                                     "offset[1]=3 label#3 label[2]=5 "
                                     "distinct#3 distinct[2]=5",
                                     SKN_OK, NULL };

Test(slips_output, packed_gradients_are_those_of_open_units)
{
    static const size_t open[] = { 1, 2, 4, 5, 7 };
    fill_rows();
    probe.from[4] = "output_gradient";
    probe.react = react_to_gradients;
    probe_option("packed", "false");
    slip.row = &one_positive;
    probe_run_well();
    cr_assert_eq(shown.count, BATCHES);
    reset();
    slip.turn = 0;
    probe_option("packed", "true");
    probe_run_well();
    cr_assert_eq(shown.count, 2 * BATCHES);
    cr_expect_eq(shown.pulls[0], SAMPLES * HIDDEN);
    cr_expect_eq(shown.pushes[0], SAMPLES * HIDDEN);
    cr_expect_eq(shown.open[0][0], 0);
    cr_expect_eq(shown.pulls[BATCHES], 5);
    cr_expect_eq(shown.pushes[BATCHES], 2);
    cr_expect_eq(shown.open[BATCHES][0], 2);
    cr_expect_eq(shown.open[BATCHES][1], 3);
    cr_expect_eq(shown.pushed[BATCHES][0], 2);
    cr_expect_eq(shown.pushed[BATCHES][1], 0);
    cr_expect_eq(shown.pushes[BATCHES + 1], 5, "both have positives again");
    for (size_t k = 0; k < 5; k++)
        cr_expect_eq(shown.pull[BATCHES][k], shown.pull[0][open[k]]);
}

/* Merged early: u and v of each open unit. Late: the only shard has all of Z,
 * so that it sends u - v, once its (m, z) has come back. */
Test(slips_output, shards_that_normalise_send_one_array)
{
    float u[SAMPLES * HIDDEN], v[SAMPLES * HIDDEN];
    fill_rows();
    probe.from[4] = "output_gradient";
    probe.react = react_to_gradients;
    slip.row = &one_positive;
    probe_run_well();
    cr_assert_eq(shown.pulls[0], SAMPLES * HIDDEN);
    memcpy(u, shown.pull[0], sizeof(u));
    memcpy(v, shown.push[0], sizeof(v));
    cr_expect(u[1] != 0 && v[1] != 0);
    reset();
    slip.turn = 0;
    shown.count = 0;
    probe_option("merge", "late");
    probe_run_well();
    cr_assert_eq(shown.count, BATCHES);
    cr_expect_eq(shown.normalised[0], 0u);
    cr_expect_eq(shown.pushes[0], 0);
    cr_assert_eq(shown.pulls[0], SAMPLES * HIDDEN);
    for (size_t k = 0; k < SAMPLES * HIDDEN; k++)
        cr_expect_lt(fabsf(shown.pull[0][k] - (u[k] - v[k])), 1e-6f);
}
