/* contract_slips_layers.c - tests hidden layers with wrong messages.
 *
 * The probe plays source, updater and the layers around an embedding or a dense
 * shard of eight units over a batch of two samples. Each row is a mistake,
 * which is refused with its message, or does no harm. Covers
 * actors/hidden/embedding.c, actors/hidden/dense.c, actors/hidden/layer.c,
 * actors/hidden/hidden.c, actors/hidden/slices.c and actors/rows/copy.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/rows.h"
#include "tests/support/slip.h"

#define SAMPLES 2
#define FEATURES 4
#define UNITS 8
#define BATCHES 3
#define LEAVES 2

static struct {
    skn_rows_t rows;
    bool dense, copies, packed;
    uint64_t batch;
    uint32_t activations, gradients;
} layer;

static void
reset(void)
{
    layer.batch = 0;
    layer.activations = layer.gradients = 0;
}

/* --- what the peers say --------------------------------------------------- */

static skn_status_t
post_batch(skn_actor_t *actor, skn_error_t *error)
{
    static const uint32_t offset[] = { 0, 2, 3 }, feature[] = { 0, 2, 1 };
    static const uint32_t distinct_offset[] = { 0, 1, 2, 3 };
    static const uint32_t sample[] = { 0, 0, 1 };
    static const float value[] = { 1.0f, 0.5f, -1.0f };
    static const size_t counts[] = { 3, 3, 3, 3, 4, 3, 3 };
    skn_batch_t *batch = slip_message(actor, &skn_batch_schema, counts, error);
    if (!batch)
        return error->status;
    batch->batch = layer.batch;
    batch->horizon = BATCHES - 1;
    batch->rows = SAMPLES;
    memcpy(batch->offset.at, offset, sizeof(offset));
    memcpy(batch->feature.at, feature, sizeof(feature));
    memcpy(batch->value.at, value, sizeof(value));
    memcpy(batch->distinct.at, feature, sizeof(feature));
    memcpy(batch->distinct_offset.at, distinct_offset, sizeof(distinct_offset));
    memcpy(batch->sample.at, sample, sizeof(sample));
    memcpy(batch->weight.at, value, sizeof(value));
    return slip_post(actor, batch, error);
}

static skn_status_t
post_activation(skn_actor_t *actor, skn_error_t *error)
{
    static const size_t count = SAMPLES * FEATURES;
    skn_activation_t *below =
        slip_message(actor, &skn_activation_schema, &count, error);
    if (!below)
        return error->status;
    below->batch = layer.batch;
    below->horizon = BATCHES - 1;
    below->rows = SAMPLES;
    below->columns = FEATURES;
    for (size_t k = 0; k < count; k++)
        below->value.at[k] = 0.25f * (float)k;
    return slip_post(actor, below, error);
}

static skn_status_t
post_input(skn_actor_t *actor, skn_error_t *error)
{
    return layer.dense ? post_activation(actor, error)
                       : post_batch(actor, error);
}

static skn_status_t
post_lease(skn_actor_t *actor, uint64_t applied, skn_error_t *error)
{
    size_t width = layer.rows.width;
    size_t units = layer.copies ? layer.rows.row_count : 0;
    size_t counts[] = { units, units * width, 0 };
    skn_lease_t *lease = slip_message(actor, &skn_lease_schema, counts, error);
    if (!lease)
        return error->status;
    lease->batch = applied;
    lease->rows = layer.copies ? NULL : &layer.rows;
    for (uint32_t k = 0; k < units; k++)
        lease->unit.at[k] = k;
    for (size_t k = 0; k < units * width; k++)
        lease->value.at[k] = 0.125f;
    return slip_post(actor, lease, error);
}

static skn_status_t
post_partition(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    static const size_t samples = LEAVES * SAMPLES;
    static const size_t counts[] = { LEAVES, samples, samples };
    skn_partition_t *partition =
        slip_message(actor, &skn_partition_schema, counts, error);
    if (!partition)
        return error->status;
    partition->batch = batch;
    partition->rows = SAMPLES;
    for (uint32_t k = 0; k < LEAVES; k++)
        partition->node.at[k] = k; /* a leaf: level 0 */
    for (size_t k = 0; k < samples; k++)
        partition->sum.at[k] = 1.0f;
    return slip_post(actor, partition, error);
}

static skn_status_t
post_output_gradient(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    /* Packed, the first sample is open and has the positives. */
    size_t cells = layer.packed ? UNITS : SAMPLES * UNITS;
    size_t open = layer.packed ? SAMPLES : 0;
    size_t counts[] = { open, open, LEAVES, LEAVES * cells, LEAVES * cells, 0 };
    skn_output_gradient_t *above =
        slip_message(actor, &skn_output_gradient_schema, counts, error);
    if (!above)
        return error->status;
    above->batch = batch;
    above->rows = SAMPLES;
    above->columns = UNITS;
    above->normalised = 1;
    if (layer.packed)
        above->open.at[0] = above->pushed.at[0] = UNITS;
    for (uint32_t k = 0; k < LEAVES; k++)
        above->node.at[k] = k; /* a leaf: level 0 */
    return slip_post(actor, above, error);
}

/* They come on two ways, so that either may be first. */
static skn_status_t
post_softmax(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    bool partition_first = batch % 2 == 0;
    skn_status_t status = partition_first
                              ? post_partition(actor, batch, error)
                              : post_output_gradient(actor, batch, error);
    if (status != SKN_OK)
        return status;
    return partition_first ? post_output_gradient(actor, batch, error)
                           : post_partition(actor, batch, error);
}

static skn_status_t
post_hidden_gradient(skn_actor_t *actor, uint64_t batch, skn_error_t *error)
{
    /* Packed, both samples are open. */
    size_t open = layer.packed ? SAMPLES : 0;
    size_t counts[] = { open, LEAVES, LEAVES * SAMPLES * UNITS, 0 };
    skn_hidden_gradient_t *above =
        slip_message(actor, &skn_hidden_gradient_schema, counts, error);
    if (!above)
        return error->status;
    above->batch = batch;
    above->rows = SAMPLES;
    above->columns = UNITS;
    for (uint32_t k = 0; k < open; k++)
        above->open.at[k] = UNITS;
    for (uint32_t k = 0; k < LEAVES; k++)
        above->node.at[k] = k; /* a leaf: level 0 */
    return slip_post(actor, above, error);
}

static skn_status_t
start(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = post_lease(actor, 0, error);
    return status == SKN_OK ? post_input(actor, error) : status;
}

static skn_status_t
on_gradient(skn_actor_t *actor, const skn_gradient_t *gradient,
            skn_error_t *error)
{
    cr_expect_eq(gradient->batch, layer.batch);
    cr_expect_eq(gradient->rows == NULL, layer.copies);
    layer.gradients++;
    skn_status_t status = post_lease(actor, ++layer.batch, error);
    if (layer.batch == BATCHES)
        skn_actor_finish(actor);
    else if (status == SKN_OK)
        status = post_input(actor, error);
    return status;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_gradient_schema)
        return on_gradient(actor, message, error);
    if (schema != &skn_activation_schema)
        return SKN_OK; /* of a dense layer, for the layer below */
    const skn_activation_t *activation = message;
    cr_expect_eq(activation->rows, SAMPLES);
    cr_expect_eq(activation->value.count, SAMPLES * UNITS);
    layer.activations++;
    return layer.dense ? post_hidden_gradient(actor, activation->batch, error)
                       : post_softmax(actor, activation->batch, error);
}

/* --- the shards ----------------------------------------------------------- */

static void
set_options(const char *const options[][2], size_t count)
{
    for (size_t k = 0; k < count; k++)
        probe_option(options[k][0], options[k][1]);
}

static void
be_embedding(void)
{
    static const char *const to[] = { "batch", "partition", "output_gradient",
                                      "lease", "halt" };
    static const char *const from[] = { "activation", "gradient" };
    static const char *const options[][2] = {
        { "features", "4" }, { "column_count", "8" },   { "batch_rows", "2" },
        { "leaves", "2" },   { "huge_pages", "false" },
    };
    skn_error_t error = { 0 };
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    set_options(options, 5);
    probe.kind = &skn_embedding;
    probe.gathered[0] = "output_gradient";
    probe.gathered[1] = "partition";
    probe.start = start;
    probe.react = react;
    cr_assert_eq(skn_rows_init(&layer.rows, SKN_ROWS_SGD, FEATURES + 1, UNITS,
                               false, &error),
                 SKN_OK);
}

static void
be_dense(void)
{
    static const char *const to[] = { "activation", "hidden_gradient", "lease",
                                      "halt" };
    static const char *const from[] = { "activation", "hidden_gradient",
                                        "gradient" };
    static const char *const options[][2] = {
        { "inputs", "4" },     { "units", "8" },  { "row_count", "8" },
        { "batch_rows", "2" }, { "leaves", "2" }, { "huge_pages", "false" },
    };
    skn_error_t error = { 0 };
    memcpy(probe.to, to, sizeof(to));
    memcpy(probe.from, from, sizeof(from));
    set_options(options, 6);
    layer.dense = true;
    probe.kind = &skn_dense;
    probe.gathered[0] = "activation";
    probe.gathered[1] = "hidden_gradient";
    probe.start = start;
    probe.react = react;
    cr_assert_eq(skn_rows_init(&layer.rows, SKN_ROWS_SGD, UNITS, FEATURES + 1,
                               false, &error),
                 SKN_OK);
}

static void
tear_down(void)
{
    skn_rows_fini(&layer.rows);
}

TestSuite(slips_embedding, .init = be_embedding, .fini = tear_down,
          .timeout = 60);
TestSuite(slips_dense, .init = be_dense, .fini = tear_down, .timeout = 60);

#define REFUSED SKN_BAD_MESSAGE

/* --- embedding ------------------------------------------------------------ */

#define NO_CSR "embedding: the features of batch 0 do not fit its 2 samples"
#define NO_CSC                                                                 \
    "embedding: the distinct features of batch 0 do not match its "            \
    "features"

#define OUT_OF_TURN " is out of turn: one of "

static const slip_t batches[] = {
    { "batch", 0, "value[0]=nan weight[0]=nan", SKN_OK, NULL },
    { "batch", 0, "value[0]=inf", SKN_OK, NULL },
    { "batch", 0, "feature[1]=4", REFUSED,
      "embedding: batch 0 has feature 4, but the layer has 4 features" },
    { "batch", 2, "feature[0]=0xffffffff", REFUSED,
      "embedding: batch 2 has feature 4294967295, but the layer has 4 "
      "features" },
    { "batch", 0, "rows=3 offset#4 offset[3]=3", REFUSED,
      "embedding: unexpected batch 0 of 3 rows" },
    { "batch", 0, "rows=1", REFUSED,
      "embedding: the features of batch 0 do not fit its 1 samples" },
    { "batch", 0, "offset#2", REFUSED, NO_CSR },
    { "batch", 0, "offset#4", REFUSED, NO_CSR },
    { "batch", 0, "offset[0]=1", REFUSED, NO_CSR },
    { "batch", 0, "offset[1]=4", REFUSED, NO_CSR },
    { "batch", 0, "offset[2]=4", REFUSED, NO_CSR },
    { "batch", 0, "offset[2]=2", REFUSED, NO_CSR },
    { "batch", 0, "offset[1]=0xffffffff", REFUSED, NO_CSR },
    { "batch", 0, "value#2", REFUSED, NO_CSR },
    { "batch", 0, "value#4", REFUSED, NO_CSR },
    { "batch", 0, "feature#2", REFUSED, NO_CSR },
    { "batch", 0, "distinct[1]=4", REFUSED, NO_CSC },
    { "batch", 0, "distinct#2", REFUSED, NO_CSC },
    { "batch", 0, "distinct#4", REFUSED, NO_CSC },
    { "batch", 0, "distinct_offset#3", REFUSED, NO_CSC },
    { "batch", 0, "distinct_offset[0]=1", REFUSED, NO_CSC },
    { "batch", 0, "distinct_offset[1]=3 distinct_offset[2]=1", REFUSED,
      NO_CSC },
    { "batch", 0, "distinct_offset[3]=9", REFUSED, NO_CSC },
    { "batch", 0, "sample[2]=2", REFUSED, NO_CSC },
    { "batch", 0, "sample#2", REFUSED, NO_CSC },
    { "batch", 0, "weight#2", REFUSED, NO_CSC },
    { "batch", 0, "batch=1000001", REFUSED,
      "embedding: batch 1000001 with floor 0 and horizon 2" OUT_OF_TURN
      "0 to 0 can come, with a floor of at most 0" },
    { "batch", 0, "batch=1", REFUSED,
      "embedding: batch 1 with floor 0 and horizon 2" OUT_OF_TURN
      "0 to 0 can come, with a floor of at most 0" },
    { "batch", 0, "floor=1000", REFUSED,
      "embedding: batch 0 with floor 1000 and horizon 2" OUT_OF_TURN
      "0 to 0 can come, with a floor of at most 0" },
    { "batch", 1, "floor=2", REFUSED,
      "embedding: batch 1 with floor 2 and horizon 2" OUT_OF_TURN
      "1 to 1 can come, with a floor of at most 1" },
    { "batch", 1, "floor=1", SKN_OK, NULL },
    { "batch", 2, "horizon=1", REFUSED,
      "embedding: batch 2 with floor 0 and horizon 1" OUT_OF_TURN
      "2 to 2 can come, with a floor of at most 2" },
    { "batch", 1, "purpose=1", REFUSED,
      "embedding: batch 1 with floor 0 and horizon 2" OUT_OF_TURN
      "0 to 0 can come, with a floor of at most 1" },
    { "batch", 1, "batch=0", REFUSED,
      "embedding: unexpected batch 0, batch 1 is the next" },
    { "batch", 0, "twice", REFUSED, "embedding: unexpected batch 0 of 2 rows" },
    { "batch", 2, "twice", REFUSED, "embedding: unexpected batch 2 of 2 rows" },
};

Test(slips_embedding, every_wrong_batch_is_refused)
{
    SLIP_RUN(batches, reset);
}

#define FROM "output_gradient of shard 0, batch 0: "
#define OTHER_NODES "its partition is for other tree nodes"
#define NOT_IN_FLIGHT(batch)                                                   \
    "embedding: a gradient or partition of batch " batch                       \
    ", which is not in flight"

static const slip_t output_gradients[] = {
    { "output_gradient", 0, "pull[0]=nan", SKN_OK, NULL },
    { "output_gradient", 0, "rows=1", REFUSED,
      FROM "its rows or columns belong to another slice" },
    { "output_gradient", 0, "columns=7", REFUSED,
      FROM "its rows or columns belong to another slice" },
    { "output_gradient", 0, "column_first=8", REFUSED,
      FROM "its rows or columns belong to another slice" },
    { "output_gradient", 0, "pull#31", REFUSED,
      FROM "its pull has the wrong size" },
    { "output_gradient", 0, "pull#33", REFUSED,
      FROM "its pull has the wrong size" },
    { "output_gradient", 0, "node#0", REFUSED,
      FROM "its pull has the wrong size" },
    { "output_gradient", 0, "node#3", REFUSED,
      FROM "its pull has the wrong size" },
    { "output_gradient", 0, "push#0", REFUSED,
      FROM "its push has the wrong size" },
    { "output_gradient", 1, "push#33", REFUSED,
      "output_gradient of shard 0, batch 1: its push has the wrong size" },
    { "output_gradient", 0, "changed#7", REFUSED,
      FROM "its `changed` has the wrong size" },
    { "output_gradient", 0, "normalised=0", REFUSED,
      FROM "its push has the wrong size" },
    { "output_gradient", 0, "normalised=0 push#0", SKN_OK, NULL },
    { "output_gradient", 1, "normalised=0 push#0", REFUSED,
      NOT_IN_FLIGHT("1") },
    { "output_gradient", 0, "shard=1", REFUSED,
      "output_gradient of shard 1, batch 0: its partition is for other tree "
      "nodes" },
    { "output_gradient", 0, "node[1]=0", REFUSED, FROM OTHER_NODES },
    { "output_gradient", 0, "node#1 pull#16 push#16", REFUSED,
      FROM OTHER_NODES },
    { "output_gradient", 0, "batch=1", REFUSED, NOT_IN_FLIGHT("1") },
    { "output_gradient", 1, "batch=0", REFUSED, NOT_IN_FLIGHT("0") },
    { "output_gradient", 0, "twice", REFUSED, NOT_IN_FLIGHT("0") },
    { "output_gradient", 1, "twice", REFUSED,
      "embedding: received gradients or partitions of batch 1 twice" },
};

Test(slips_embedding, every_wrong_gradient_is_refused)
{
    SLIP_RUN(output_gradients, reset);
}

static const slip_t partitions[] = {
    { "partition", 0, "greatest[0]=nan", SKN_OK, NULL },
    { "partition", 0, "sum[0]=0 sum[2]=0", SKN_OK, NULL },
    { "partition", 0, "rows=1", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "shard=7", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "greatest#3", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "greatest#5", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "sum#0", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "node#3", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "node#1 greatest#2 sum#2", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "node[0]=7", REFUSED, FROM OTHER_NODES },
    { "partition", 0, "batch=1", REFUSED, NOT_IN_FLIGHT("1") },
    { "partition", 1, "batch=0", REFUSED, NOT_IN_FLIGHT("0") },
    { "partition", 1, "twice", REFUSED, NOT_IN_FLIGHT("1") },
    { "partition", 0, "twice", REFUSED,
      "embedding: received gradients or partitions of batch 0 twice" },
};

Test(slips_embedding, every_wrong_partition_is_refused)
{
    SLIP_RUN(partitions, reset);
}

static const slip_t loans[] = {
    { "lease", 0, "rows=0", REFUSED,
      "embedding: lease of batch 0: no rows were lent to a shard without a "
      "copy" },
    { "lease", 2, "rows=0", REFUSED,
      "embedding: lease of batch 2: no rows were lent to a shard without a "
      "copy" },
    { "lease", 0, "twice", REFUSED,
      "embedding: lease of batch 0: it returns rows that were not lent" },
    { "lease", 1, "twice", REFUSED,
      "embedding: lease of batch 1: it returns rows that were not lent" },
    { "lease", 1, "batch=3", REFUSED,
      "embedding: the rows returned after 3 batches, but the gradients of 1 "
      "were sent" },
};

Test(slips_embedding, every_wrong_loan_is_refused)
{
    SLIP_RUN(loans, reset);
}

#define COPY_OF "embedding: lease of batch 0: "

static const slip_t copies[] = {
    { "lease", 0, "value[3]=nan", SKN_OK, NULL },
    { "lease", 0, "rows=64", REFUSED,
      COPY_OF "rows were lent to a shard that has a copy" },
    { "lease", 0, "value#39", REFUSED,
      COPY_OF "its values have the wrong width or format" },
    { "lease", 0, "value#41", REFUSED,
      COPY_OF "its values have the wrong width or format" },
    { "lease", 0, "half#1", REFUSED,
      COPY_OF "its values have the wrong width or format" },
    { "lease", 0, "value#0 half#8", REFUSED,
      COPY_OF "its values have the wrong width or format" },
    { "lease", 0, "unit[4]=5", REFUSED, COPY_OF "a row beyond the shard" },
    { "lease", 0, "unit[0]=0xffffffff", REFUSED,
      COPY_OF "a row beyond the shard" },
    { "lease", 0, "unit[1]=0", SKN_OK, NULL },
    { "lease", 1, "unit#0 value#0", SKN_OK, NULL },
    { "lease", 1, "twice", REFUSED,
      "embedding: lease of batch 1: it returns rows that were not lent" },
};

Test(slips_embedding, every_wrong_copy_is_refused)
{
    layer.copies = true;
    probe_option("updates", "copy");
    SLIP_RUN(copies, reset);
}

/* Weights of .125 open the first sample and close the second. */
static void
pack(void)
{
    float weight[UNITS];
    layer.packed = true;
    for (uint32_t k = 0; k < UNITS; k++)
        weight[k] = 0.125f;
    for (uint32_t row = 0; row < layer.rows.row_count; row++)
        skn_rows_set(&layer.rows, skn_kernels_best(), row, weight);
}

#define OTHER_ZEROS FROM "packed by a different activation"

static const slip_t packed_gradients[] = {
    { "output_gradient", 0, "pull[0]=nan", SKN_OK, NULL },
    { "output_gradient", 0, "open[0]=7", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "open[0]=0xffffffff", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "open[1]=1", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "open#0", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "open#1", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "open#3", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "pushed[0]=7", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "pushed[1]=8", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "pushed#0", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "pushed#3", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "pushed[0]=0", REFUSED,
      FROM "its push has the wrong size" },
    { "output_gradient", 0, "pushed[0]=0 push#0", SKN_OK, NULL },
    { "output_gradient", 0, "pull#15", REFUSED,
      FROM "its pull has the wrong size" },
    { "output_gradient", 0, "push#17", REFUSED,
      FROM "its push has the wrong size" },
    { "output_gradient", 0, "open#0 pushed#0", REFUSED,
      FROM "its pull has the wrong size" },
    { "output_gradient", 0, "normalised=0 push#0", REFUSED, OTHER_ZEROS },
    { "output_gradient", 0, "normalised=0 pushed#0 push#0", SKN_OK, NULL },
};

Test(slips_embedding, every_wrong_packed_gradient_is_refused)
{
    pack();
    SLIP_RUN(packed_gradients, reset);
}

/* --- dense ---------------------------------------------------------------- */

#define VALUES "dense: activation of shard 0, batch 0: "

static const slip_t activations[] = {
    { "activation", 0, "value[0]=nan", SKN_OK, NULL },
    { "activation", 0, "value#7", REFUSED,
      VALUES "7 values for 2 rows, columns 0..4 of 4" },
    { "activation", 0, "value#9", REFUSED,
      VALUES "9 values for 2 rows, columns 0..4 of 4" },
    { "activation", 0, "columns=3 value#6", REFUSED,
      "dense: the activations of batch 0 have 3 columns, the layer has 4" },
    { "activation", 0, "columns=0 value#0", REFUSED,
      "dense: the activations of batch 0 have 0 columns, the layer has 4" },
    { "activation", 0, "columns=5 value#10", REFUSED,
      VALUES "10 values for 2 rows, columns 0..5 of 4" },
    { "activation", 0, "column_first=1", REFUSED,
      VALUES "8 values for 2 rows, columns 1..5 of 4" },
    { "activation", 0, "column_first=0xffffffff", REFUSED,
      VALUES "8 values for 2 rows, columns 4294967295..4294967299 of 4" },
    { "activation", 0, "rows=3 value#12", REFUSED,
      "dense: unexpected batch 0 of 3 rows" },
    { "activation", 0, "shard=7 value#1", REFUSED,
      "dense: activation of shard 7, batch 0: 1 values for 2 rows, columns "
      "0..4 of 4" },
    { "activation", 0, "twice", REFUSED,
      "dense: unexpected batch 0 of 2 rows" },
    { "activation", 1, "batch=1000001", REFUSED,
      "dense: batch 1000001 with floor 0 and horizon 2" OUT_OF_TURN
      "1 to 1 can come, with a floor of at most 1" },
    { "activation", 2, "floor=3", REFUSED,
      "dense: batch 2 with floor 3 and horizon 2" OUT_OF_TURN
      "2 to 2 can come, with a floor of at most 2" },
    { "activation", 1, "batch=0", REFUSED,
      "dense: unexpected batch 0, batch 1 is the next" },
};

Test(slips_dense, every_wrong_activation_is_refused)
{
    SLIP_RUN(activations, reset);
}

#define SUM_OF "hidden_gradient of shard 0, batch 0: "

static const slip_t hidden_gradients[] = {
    { "hidden_gradient", 0, "value[5]=nan", SKN_OK, NULL },
    { "hidden_gradient", 0, "value#31", REFUSED,
      SUM_OF "31 values, 32 expected" },
    { "hidden_gradient", 0, "value#33", REFUSED,
      SUM_OF "33 values, 32 expected" },
    { "hidden_gradient", 0, "node#0", REFUSED, SUM_OF "32 values, 0 expected" },
    { "hidden_gradient", 0, "node#3", REFUSED,
      SUM_OF "32 values, 48 expected" },
    { "hidden_gradient", 0, "column_first=8", REFUSED,
      SUM_OF "32 values, 32 expected" },
    { "hidden_gradient", 0, "node[0]=1", REFUSED,
      "hidden_gradient of batch 0: the shards together do not cover all "
      "units" },
    { "hidden_gradient", 0, "node#0 value#0", REFUSED,
      "hidden_gradient of batch 0: the shards together do not cover all "
      "units" },
    { "hidden_gradient", 0, "shard=3 node#1 value#15", REFUSED,
      "hidden_gradient of shard 3, batch 0: 15 values, 16 expected" },
    { "hidden_gradient", 0, "batch=9", REFUSED,
      "dense: a gradient or partition of batch 9, which is not in flight" },
    { "hidden_gradient", 2, "batch=0", REFUSED,
      "dense: a gradient or partition of batch 0, which is not in flight" },
    { "hidden_gradient", 1, "twice", REFUSED,
      "dense: a gradient or partition of batch 1, which is not in flight" },
};

Test(slips_dense, every_wrong_gradient_is_refused)
{
    SLIP_RUN(hidden_gradients, reset);
}

static const slip_t packed_sums[] = {
    { "hidden_gradient", 0, "value[0]=nan", SKN_OK, NULL },
    { "hidden_gradient", 0, "open[0]=7", REFUSED,
      SUM_OF "packed by a different activation" },
    { "hidden_gradient", 0, "open#1", REFUSED,
      SUM_OF "packed by a different activation" },
    { "hidden_gradient", 0, "open#0", SKN_OK, NULL }, /* all are open */
    { "hidden_gradient", 0, "value#31", REFUSED,
      SUM_OF "31 values, 32 expected" },
};

Test(slips_dense, every_wrong_packed_gradient_is_refused)
{
    pack();
    SLIP_RUN(packed_sums, reset);
}

static const slip_t dense_leases[] = {
    { "lease", 0, "rows=0", REFUSED,
      "dense: lease of batch 0: no rows were lent to a shard without a copy" },
    { "lease", 0, "twice", REFUSED,
      "dense: lease of batch 0: it returns rows that were not lent" },
    { "lease", 2, "twice", REFUSED,
      "dense: lease of batch 2: it returns rows that were not lent" },
};

Test(slips_dense, every_wrong_lease_is_refused)
{
    SLIP_RUN(dense_leases, reset);
}

/* Rows of another shard: as many, but of another width. */
static skn_rows_t foreign;

static skn_status_t
start_with_foreign_rows(skn_actor_t *actor, skn_error_t *error)
{
    skn_lease_t lease = { .rows = &foreign };
    return skn_actor_send(actor, &skn_lease_schema, &lease, error);
}

static void
expect_foreign_refused(uint32_t rows, uint32_t width, const char *says)
{
    skn_error_t error = { 0 };
    cr_assert_eq(
        skn_rows_init(&foreign, SKN_ROWS_SGD, rows, width, false, &error),
        SKN_OK);
    probe.start = start_with_foreign_rows;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text, says);
    skn_rows_fini(&foreign);
}

Test(slips_dense, rows_of_another_shard_are_refused)
{
    expect_foreign_refused(UNITS, FEATURES,
                           "dense: lease of batch 0: 8 rows of width 4, but "
                           "the shard has 8 of width 5");
    expect_foreign_refused(UNITS - 1, FEATURES + 1,
                           "dense: lease of batch 0: 7 rows of width 5, but "
                           "the shard has 8 of width 5");
}

Test(slips_embedding, rows_of_another_shard_are_refused)
{
    expect_foreign_refused(FEATURES, UNITS,
                           "embedding: lease of batch 0: 4 rows of width 8, "
                           "but the shard has 5 of width 8");
    expect_foreign_refused(FEATURES + 1, UNITS + 1,
                           "embedding: lease of batch 0: 5 rows of width 9, "
                           "but the shard has 5 of width 8");
}
