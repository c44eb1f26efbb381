/* contract_slips_combiner.c - tests a combiner with wrong messages.
 *
 * The probe plays two shards, whose parts of two slices of eight units are
 * merged, and the receiver of the result. Each row is a mistake, which is
 * refused with its message, or does no harm. Covers actors/combine/combiner.c
 * and actors/combine/combining.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/slip.h"

#define SAMPLES 2
#define UNITS 16
#define SLICES 2
#define SHARDS 2
#define BATCHES 5
#define REFUSED SKN_BAD_MESSAGE

static struct {
    bool softmax, packed, hidden;
    uint64_t batch;
    uint32_t merged; /* gradients of the batch that have come out */
} talk;

static void
reset(void)
{
    talk.batch = 0;
    talk.merged = 0;
}

/* --- what the shards say -------------------------------------------------- */

static skn_status_t
post_partition(skn_actor_t *actor, uint32_t shard, skn_error_t *error)
{
    static const size_t counts[] = { 1, SAMPLES, SAMPLES };
    skn_partition_t *message =
        slip_message(actor, &skn_partition_schema, counts, error);
    if (!message)
        return error->status;
    message->batch = talk.batch;
    message->shard = 3 + shard;
    message->rows = SAMPLES;
    message->node.at[0] = shard; /* a leaf: level 0 */
    for (uint32_t i = 0; i < SAMPLES; i++)
        message->sum.at[i] = 1.0f;
    return slip_post(actor, message, error);
}

/* Packed, half of the units are open, and v is of the first sample. */
static skn_status_t
post_output(skn_actor_t *actor, uint32_t shard, uint32_t slice,
            skn_error_t *error)
{
    uint32_t columns = UNITS / SLICES, open = talk.packed ? SAMPLES : 0;
    size_t cells = SAMPLES * columns;
    const size_t counts[] = { open,
                              talk.softmax ? open : 0,
                              1,
                              talk.packed ? cells / 2 : cells,
                              !talk.softmax ? 0
                              : talk.packed ? columns / 2
                                            : cells,
                              0 };
    skn_output_gradient_t *message =
        slip_message(actor, &skn_output_gradient_schema, counts, error);
    if (!message)
        return error->status;
    message->batch = talk.batch;
    message->shard = 3 + shard;
    message->rows = SAMPLES;
    message->column_first = slice * columns;
    message->columns = columns;
    message->normalised = talk.softmax;
    for (uint32_t i = 0; i < open; i++)
        message->open.at[i] = columns / 2;
    if (open && talk.softmax)
        message->pushed.at[0] = columns / 2;
    message->node.at[0] = shard;
    return slip_post(actor, message, error);
}

static skn_status_t
post_hidden(skn_actor_t *actor, uint32_t shard, uint32_t slice,
            skn_error_t *error)
{
    uint32_t columns = UNITS / SLICES, open = talk.packed ? SAMPLES : 0;
    size_t cells = SAMPLES * columns;
    const size_t counts[] = { open, 1, talk.packed ? cells / 2 : cells, 0 };
    skn_hidden_gradient_t *message =
        slip_message(actor, &skn_hidden_gradient_schema, counts, error);
    if (!message)
        return error->status;
    message->batch = talk.batch;
    message->shard = 3 + shard;
    message->rows = SAMPLES;
    message->column_first = slice * columns;
    message->columns = columns;
    for (uint32_t i = 0; i < open; i++)
        message->open.at[i] = columns / 2;
    message->node.at[0] = shard;
    return slip_post(actor, message, error);
}

static skn_status_t
post_batch(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t shard = 0; shard < SHARDS && status == SKN_OK; shard++) {
        if (talk.softmax)
            status = post_partition(actor, shard, error);
        for (uint32_t slice = 0; slice < SLICES && status == SKN_OK; slice++)
            status = talk.hidden ? post_hidden(actor, shard, slice, error)
                                 : post_output(actor, shard, slice, error);
    }
    return status;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    (void)message;
    if (schema == &skn_partition_schema || ++talk.merged < SLICES)
        return SKN_OK;
    talk.merged = 0;
    if (++talk.batch < BATCHES)
        return post_batch(actor, error);
    skn_actor_finish(actor);
    return SKN_OK;
}

static void
be_combiner(void)
{
    static const char *const options[][2] = {
        { "shard_first", "3" }, { "shards", "2" },   { "leaves", "2" },
        { "leaf_count", "2" },  { "columns", "16" }, { "slices", "2" },
        { "batch_rows", "2" },  { "window", "2" },
    };
    const char *gradient = talk.hidden ? "hidden_gradient" : "output_gradient";
    const char *const messages[] = { gradient,
                                     talk.softmax ? "partition" : NULL, NULL };
    take_part(&skn_combiner, messages, messages);
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        probe_option(options[k][0], options[k][1]);
    probe.start = post_batch;
    probe.react = react;
}

TestSuite(slips_combiner, .timeout = 60);

/* --- softmax -------------------------------------------------------------- */

#define PARTITION(shard, batch, what)                                          \
    "combiner: partition of shard " shard ", batch " batch ": " what
#define OUTPUT(shard, batch, what)                                             \
    "combiner: output_gradient of shard " shard ", batch " batch ": " what
#define HIDDEN(shard, batch, what)                                             \
    "combiner: hidden_gradient of shard " shard ", batch " batch ": " what
#define NOT_OURS "its shard is not combined here"
#define NOT_COVERED                                                            \
    "combiner: the parts of batch 0 do not cover the leaves of its shards"

static const slip_t partitions[] = {
    { "partition", 0, "shard=2", REFUSED, PARTITION("2", "0", NOT_OURS) },
    { "partition", 1, "shard=5", REFUSED, PARTITION("5", "0", NOT_OURS) },
    { "partition", 0, "shard=4294967295", REFUSED,
      PARTITION("4294967295", "0", NOT_OURS) },
    { "partition", 1, "shard=3", REFUSED,
      PARTITION("3", "0", "received twice") },
    { "partition", 0, "twice", REFUSED, PARTITION("3", "0", "received twice") },
    { "partition", 1, "twice", REFUSED, PARTITION("4", "0", "received twice") },
    { "partition", 0, "rows=3", REFUSED,
      PARTITION("3", "0", "too many samples") },
    { "partition", 1, "rows=1", REFUSED,
      PARTITION("4", "0",
                "its number of samples differs from that of other parts") },
    { "partition", 0, "greatest#1", REFUSED,
      PARTITION("3", "0", "wrong size") },
    { "partition", 0, "sum#3", REFUSED, PARTITION("3", "0", "wrong size") },
    { "partition", 1, "node#0", REFUSED, PARTITION("4", "0", "wrong size") },
    { "partition", 1, "node#2", REFUSED, PARTITION("4", "0", "wrong size") },
    { "partition", 1, "node[0]=0", REFUSED, NOT_COVERED },
    { "partition", 1, "node[0]=2", REFUSED, NOT_COVERED },
    { "partition", 0, "node[0]=67108864", SKN_BAD_MESSAGE,
      OUTPUT("3", "0", "its partition is for other tree nodes") },
    { "partition", 2, "batch=0", REFUSED,
      PARTITION("3", "0", "its batch was already forwarded") },
    { "partition", 1, "batch=4", REFUSED,
      PARTITION("4", "4", "its batch is beyond the window") },
    { "partition", 1, "sum[0]=nan", SKN_OK, NULL },
    { "partition", 1, "sum[0]=0", SKN_OK, NULL },
    { "partition", 0, "greatest[1]=inf", SKN_OK, NULL },
};

Test(slips_combiner, every_damaged_partition_is_refused)
{
    talk.softmax = true;
    be_combiner();
    SLIP_RUN(partitions, reset);
}

static const slip_t gradients[] = {
    { "output_gradient", 0, "shard=1", REFUSED, OUTPUT("1", "0", NOT_OURS) },
    { "output_gradient", 2, "shard=5", REFUSED, OUTPUT("5", "0", NOT_OURS) },
    { "output_gradient", 0, "twice", REFUSED,
      OUTPUT("3", "0", "received twice") },
    { "output_gradient", 2, "twice", REFUSED,
      OUTPUT("4", "0", "received twice") },
    { "output_gradient", 3, "twice", REFUSED,
      OUTPUT("4", "0", "its batch was already forwarded") },
    { "output_gradient", 3, "batch=4", REFUSED,
      OUTPUT("4", "4", "its batch is beyond the window") },
    { "output_gradient", 4, "batch=0", REFUSED,
      OUTPUT("3", "0", "its batch was already forwarded") },
    { "output_gradient", 0, "rows=3", REFUSED,
      OUTPUT("3", "0", "too many samples") },
    { "output_gradient", 1, "rows=0", REFUSED,
      OUTPUT("3", "0",
             "its number of samples differs from that of other parts") },
    { "output_gradient", 0, "column_first=1", REFUSED,
      OUTPUT("3", "0", "its columns match no slice") },
    { "output_gradient", 0, "column_first=16", REFUSED,
      OUTPUT("3", "0", "its columns match no slice") },
    { "output_gradient", 0, "column_first=8", REFUSED,
      OUTPUT("3", "0", "received twice") },
    { "output_gradient", 2, "columns=7", REFUSED,
      OUTPUT("4", "0", "its columns match no slice") },
    { "output_gradient", 2, "columns=16", REFUSED,
      OUTPUT("4", "0", "its columns match no slice") },
    { "output_gradient", 2, "normalised=0", REFUSED,
      OUTPUT("4", "0", "wrong size") },
    { "output_gradient", 2, "normalised=0 push#0", REFUSED,
      OUTPUT("4", "0", "its loss differs from that of other shards") },
    { "output_gradient", 0, "normalised=0 push#0", REFUSED,
      OUTPUT("4", "0", "its loss differs from that of other shards") },
    { "output_gradient", 0, "node#0", REFUSED, OUTPUT("3", "0", "wrong size") },
    { "output_gradient", 0, "node#2", REFUSED, OUTPUT("3", "0", "wrong size") },
    { "output_gradient", 2, "node[0]=0", REFUSED,
      OUTPUT("4", "0", "its partition is for other tree nodes") },
    { "output_gradient", 0, "pull#15", REFUSED,
      OUTPUT("3", "0", "wrong size") },
    { "output_gradient", 0, "pull#17", REFUSED,
      OUTPUT("3", "0", "wrong size") },
    { "output_gradient", 2, "push#0", REFUSED, OUTPUT("4", "0", "wrong size") },
    { "output_gradient", 2, "push#17", REFUSED,
      OUTPUT("4", "0", "wrong size") },
    { "output_gradient", 0, "open#1", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 0, "pushed#2", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 2, "pull[3]=nan", SKN_OK, NULL },
    { "output_gradient", 2, "push[3]=-inf", SKN_OK, NULL },
};

Test(slips_combiner, every_damaged_gradient_is_refused)
{
    talk.softmax = true;
    be_combiner();
    SLIP_RUN(gradients, reset);
}

static const slip_t packed[] = {
    { "output_gradient", 0, "open#0", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 0, "open#0 pushed#0", REFUSED,
      OUTPUT("3", "0", "wrong size") },
    { "output_gradient", 0, "open#1", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 0, "open#3", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 0, "open[0]=9", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 0, "open[1]=4294967295", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 0, "open[1]=3", REFUSED,
      OUTPUT("3", "0", "wrong size") },
    { "output_gradient", 2, "open[0]=3 pushed[0]=3 open[1]=5 push#3", REFUSED,
      OUTPUT("4", "0", "packed by a different activation") },
    { "output_gradient", 0, "pushed#1", REFUSED,
      OUTPUT("3", "0", "inconsistent packing") },
    { "output_gradient", 2, "pushed[0]=3", REFUSED,
      OUTPUT("4", "0", "inconsistent packing") },
    { "output_gradient", 2, "pushed[1]=4", REFUSED,
      OUTPUT("4", "0", "wrong size") },
    { "output_gradient", 2, "pushed[1]=4 push#8", SKN_OK, NULL },
    { "output_gradient", 2, "pushed[0]=0 push#0", SKN_OK, NULL },
    { "output_gradient", 2, "pull#7", REFUSED, OUTPUT("4", "0", "wrong size") },
    { "output_gradient", 2, "push#5", REFUSED, OUTPUT("4", "0", "wrong size") },
};

Test(slips_combiner, every_badly_packed_gradient_is_refused)
{
    talk.softmax = talk.packed = true;
    be_combiner();
    SLIP_RUN(packed, reset);
}

/* --- sums ----------------------------------------------------------------- */

static const slip_t one_vs_all[] = {
    { "output_gradient", 2, "normalised=1", REFUSED,
      OUTPUT("4", "0", "inconsistent packing") },
    { "output_gradient", 2, "node[0]=0", REFUSED, NOT_COVERED },
    { "output_gradient", 2, "node[0]=5", REFUSED, NOT_COVERED },
    { "output_gradient", 2, "push#1", REFUSED, OUTPUT("4", "0", "wrong size") },
    { "output_gradient", 3, "twice", REFUSED,
      OUTPUT("4", "0", "its batch was already forwarded") },
};

Test(slips_combiner, one_vs_all_needs_no_partition)
{
    talk.packed = true;
    be_combiner();
    SLIP_RUN(one_vs_all, reset);
}

static const slip_t sums[] = {
    { "hidden_gradient", 0, "shard=0", REFUSED, HIDDEN("0", "0", NOT_OURS) },
    { "hidden_gradient", 0, "twice", REFUSED,
      HIDDEN("3", "0", "received twice") },
    { "hidden_gradient", 3, "batch=9", REFUSED,
      HIDDEN("4", "9", "its batch is beyond the window") },
    { "hidden_gradient", 3, "batch=4", REFUSED,
      HIDDEN("4", "4", "its batch is beyond the window") },
    { "hidden_gradient", 5, "batch=0xfffffffffffffffe", REFUSED,
      HIDDEN("3", "18446744073709551614", "its batch is beyond the window") },
    { "hidden_gradient", 2, "rows=1", REFUSED,
      HIDDEN("4", "0",
             "its number of samples differs from that of other parts") },
    { "hidden_gradient", 2, "columns=9", REFUSED,
      HIDDEN("4", "0", "its columns match no slice") },
    { "hidden_gradient", 2, "value#7", REFUSED,
      HIDDEN("4", "0", "wrong size") },
    { "hidden_gradient", 2, "open[0]=5", REFUSED,
      HIDDEN("4", "0", "wrong size") },
    { "hidden_gradient", 2, "open[0]=5 open[1]=3", REFUSED,
      HIDDEN("4", "0", "packed by a different activation") },
    { "hidden_gradient", 2, "open#0", REFUSED, HIDDEN("4", "0", "wrong size") },
    { "hidden_gradient", 2, "open#0 value#16", REFUSED,
      HIDDEN("4", "0", "packed by a different activation") },
    { "hidden_gradient", 2, "node[0]=7", REFUSED, NOT_COVERED },
};

Test(slips_combiner, every_damaged_sum_is_refused)
{
    talk.packed = talk.hidden = true;
    be_combiner();
    SLIP_RUN(sums, reset);
}

/* --- the end -------------------------------------------------------------- */

static skn_status_t
post_half(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = post_output(actor, 0, 0, error);
    skn_actor_finish(actor);
    return status;
}

Test(slips_combiner, a_batch_that_stays_half_is_reported_at_the_end)
{
    be_combiner();
    probe.start = post_half;
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text,
                     "combiner: parts of batch 0 never arrived");
}
