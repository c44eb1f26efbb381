/* combiner.c - actor that merges the shares of a node's output shards, so that
 * each link carries one.
 *
 *     output.0 ─┐  partition, output_gradient              ┌─▶ embedding.*
 *     output.1 ─┴────▶ combiner.0 ─── the same, merged ────┴─▶ output.*
 *
 * The shares that the shards of a node send of a batch are merged before they
 * leave the node, so that a link carries one, however many cores the node has
 * (combining.h). Parts arrive one by one, since a batch has a gradient for each
 * slice of the layer below. Each slice is sent on when it is whole, those of a
 * softmax after their partition. They are answers: no more batches are here
 * than are in flight, and their senders are never kept waiting by others. The
 * merge is equation (21) of docs/concepts/equations.md;
 * docs/decisions/0009-combiners.md explains why an actor does it.
 *
 * This file owns: the parts that wait for others of their batch.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/combine/combining.h"
#include "actors/protocol/settings.h"
#include "actors/protocol/slicing.h"
#include "actors/protocol/kinds.h"

/* A batch of which some parts have not been sent. */
typedef struct flight {
    bool used;
    uint64_t batch, next; /* next: least batch to use this place again */
    uint32_t rows, partition_count, sent_count;
    const skn_partition_t **partitions; /* [shards] */
    skn_share_t *shares;                /* [slices][shards] */
    uint32_t *share_count;              /* [slices] */
} flight_t;

typedef struct combiner {
    skn_combining_t combining;
    skn_slicing_t slicing; /* slices of the layer below */
    uint32_t flight_count;
    flight_t *flights;
    const skn_partition_t **partitions; /* arrays for all flights */
    skn_share_t *shares;
    uint32_t *share_count;
} combiner_t;

/* --- batches ------------------------------------------------------------- */

static skn_share_t *
shares_of(const combiner_t *combiner, const flight_t *flight, uint32_t slice)
{
    return flight->shares + (size_t)slice * combiner->combining.shards;
}

static void
drop_slice(const combiner_t *combiner, const flight_t *flight, uint32_t slice)
{
    skn_share_t *share = shares_of(combiner, flight, slice);
    for (uint32_t s = 0; s < combiner->combining.shards; s++) {
        skn_message_drop(share[s].message);
        share[s].message = NULL;
    }
}

static void
end_flight(const combiner_t *combiner, flight_t *flight)
{
    for (uint32_t s = 0; s < combiner->combining.shards; s++) {
        skn_message_drop(flight->partitions[s]);
        flight->partitions[s] = NULL;
    }
    for (uint32_t k = 0; k < combiner->slicing.slices; k++) {
        drop_slice(combiner, flight, k);
        flight->share_count[k] = 0;
    }
    flight->next = flight->batch + combiner->flight_count;
    flight->partition_count = flight->sent_count = 0;
    flight->used = false;
}

/* The header of a part. */
typedef struct combiner_part {
    const char *name;
    uint64_t batch;
    uint32_t shard, rows;
} combiner_part_t;

static skn_status_t
refuse(const combiner_t *combiner, const combiner_part_t *part,
       const char *what, skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s: %s of shard %" PRIu32 ", batch %" PRIu64 ": %s",
                    combiner->combining.name, part->name, part->shard,
                    part->batch, what);
}

/* True if a batch can be in flight together with all that are here. */
static bool
fits_window(const combiner_t *combiner, uint64_t batch)
{
    for (uint32_t k = 0; k < combiner->flight_count; k++) {
        const flight_t *other = &combiner->flights[k];
        uint64_t apart =
            batch > other->batch ? batch - other->batch : other->batch - batch;
        if (other->used && apart >= combiner->flight_count)
            return false;
    }
    return true;
}

/* The flight of a part's batch; NULL if the batch is out of the window or sent
 * already, or the part does not belong here. */
static flight_t *
flight_for(combiner_t *combiner, const combiner_part_t *part,
           skn_error_t *error)
{
    const skn_combining_t *combining = &combiner->combining;
    flight_t *flight = &combiner->flights[part->batch % combiner->flight_count];
    const char *what = NULL;
    if (part->shard < combining->shard_first ||
        part->shard - combining->shard_first >= combining->shards)
        what = "its shard is not combined here";
    else if (part->rows > combining->batch_rows)
        what = "too many samples";
    else if (!flight->used && part->batch < flight->next)
        what = "its batch was already forwarded";
    else if (flight->used ? part->batch != flight->batch
                          : !fits_window(combiner, part->batch))
        what = "its batch is beyond the window";
    else if (flight->used && part->rows != flight->rows)
        what = "its number of samples differs from that of other parts";
    if (what) {
        (void)refuse(combiner, part, what, error);
        return NULL;
    }
    flight->used = true;
    flight->batch = part->batch;
    flight->rows = part->rows;
    return flight;
}

/* --- handlers ------------------------------------------------------------ */

/* Sends a slice if all of its parts are here and its partition was sent. */
static skn_status_t
send_slice(skn_actor_t *actor, combiner_t *combiner, flight_t *flight,
           uint32_t slice, skn_error_t *error)
{
    uint32_t shards = combiner->combining.shards;
    const skn_share_t *shares = shares_of(combiner, flight, slice);
    if (flight->share_count[slice] < shards || !shares[0].message ||
        (shares[0].normalised && flight->partition_count < shards))
        return SKN_OK;
    assert(flight->used && flight->sent_count < combiner->slicing.slices);
    skn_status_t status = skn_combining_shares(
        &combiner->combining, actor, shares, flight->partitions, error);
    drop_slice(combiner, flight, slice);
    if (++flight->sent_count == combiner->slicing.slices)
        end_flight(combiner, flight);
    return status;
}

static skn_status_t
on_partition(skn_actor_t *actor, void *state, const void *message,
             skn_error_t *error)
{
    combiner_t *combiner = state;
    skn_combining_t *combining = &combiner->combining;
    const skn_partition_t *partition = message;
    const combiner_part_t part = { "partition", partition->batch,
                                   partition->shard, partition->rows };
    flight_t *flight = flight_for(combiner, &part, error);
    if (!flight)
        return SKN_BAD_MESSAGE;
    const skn_partition_t **place =
        &flight->partitions[partition->shard - combining->shard_first];
    if (*place)
        return refuse(combiner, &part, "received twice", error);
    skn_status_t status =
        skn_combining_check_partition(combining, partition, error);
    if (status != SKN_OK)
        return status;
    *place = skn_message_keep(partition);
    if (++flight->partition_count < combining->shards)
        return SKN_OK;
    status =
        skn_combining_partitions(combining, actor, flight->partitions, error);
    for (uint32_t k = 0; k < combiner->slicing.slices && status == SKN_OK; k++)
        status = send_slice(actor, combiner, flight, k, error);
    return status;
}

/* The slice of the layer below that a share is for; `slices` if there is
 * none. */
static uint32_t
slice_of(const combiner_t *combiner, const skn_share_t *share)
{
    const skn_slicing_t *slicing = &combiner->slicing;
    uint32_t slice = 0;
    while (slice < slicing->slices &&
           slicing->first[slice] != share->column_first)
        slice++;
    if (slice < slicing->slices &&
        skn_slicing_width(slicing, slice) != share->columns)
        return slicing->slices;
    return slice;
}

static skn_status_t
take_share(skn_actor_t *actor, combiner_t *combiner, const skn_share_t *share,
           skn_error_t *error)
{
    const combiner_part_t part = { share->is_sum ? "hidden_gradient"
                                                 : "output_gradient",
                                   share->batch, share->shard, share->rows };
    uint32_t slice = slice_of(combiner, share);
    flight_t *flight = flight_for(combiner, &part, error);
    if (!flight)
        return SKN_BAD_MESSAGE;
    if (slice == combiner->slicing.slices)
        return refuse(combiner, &part, "its columns match no slice", error);
    skn_share_t *place = shares_of(combiner, flight, slice) + share->shard -
                         combiner->combining.shard_first;
    if (place->message ||
        flight->share_count[slice] == combiner->combining.shards)
        return refuse(combiner, &part, "received twice", error);
    skn_status_t status =
        skn_combining_check_share(&combiner->combining, share, error);
    if (status != SKN_OK)
        return status;
    *place = *share;
    (void)skn_message_keep(share->message);
    flight->share_count[slice]++;
    return send_slice(actor, combiner, flight, slice, error);
}

static skn_status_t
on_output_gradient(skn_actor_t *actor, void *state, const void *message,
                   skn_error_t *error)
{
    skn_share_t share = skn_share_of_output(message);
    return take_share(actor, state, &share, error);
}

static skn_status_t
on_hidden_gradient(skn_actor_t *actor, void *state, const void *message,
                   skn_error_t *error)
{
    skn_share_t share = skn_share_of_hidden(message);
    return take_share(actor, state, &share, error);
}

/* --- open and close ------------------------------------------------------ */

static skn_status_t
open_flights(combiner_t *combiner, skn_error_t *error)
{
    size_t shards = combiner->combining.shards,
           slices = combiner->slicing.slices;
    size_t flights = combiner->flight_count;
    combiner->flights = calloc(flights, sizeof(*combiner->flights));
    combiner->partitions =
        calloc(flights * shards, sizeof(*combiner->partitions));
    combiner->shares =
        calloc(flights * slices * shards, sizeof(*combiner->shares));
    combiner->share_count =
        calloc(flights * slices, sizeof(*combiner->share_count));
    if (!combiner->flights || !combiner->partitions || !combiner->shares ||
        !combiner->share_count) {
        combiner->flight_count = 0; /* they are empty */
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for the parts of %zu batches", flights);
    }
    for (size_t k = 0; k < flights; k++) {
        flight_t *flight = &combiner->flights[k];
        flight->partitions = combiner->partitions + k * shards;
        flight->shares = combiner->shares + k * slices * shards;
        flight->share_count = combiner->share_count + k * slices;
    }
    return SKN_OK;
}

static skn_status_t
combiner_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    combiner_t *combiner = state;
    skn_status_t status =
        skn_slicing_make(&combiner->slicing, skn_option_u32(actor, "columns"),
                         skn_option_u32(actor, "slices"),
                         skn_actor_option_text(actor, "slice_weights"),
                         skn_actor_name(actor), error);
    if (status != SKN_OK)
        return status;
    combiner->combining = (skn_combining_t){
        .name = skn_actor_name(actor),
        .shard_first = skn_option_u32(actor, "shard_first"),
        .shards = skn_option_u32(actor, "shards"),
        .batch_rows = skn_option_u32(actor, "batch_rows"),
        .columns = skn_slicing_widest(&combiner->slicing),
        .leaf_first = skn_option_u32(actor, "leaf_first"),
        .leaves = skn_option_u32(actor, "leaf_count"),
        .tree_leaves = skn_option_u32(actor, "leaves"),
        .as_leaf = skn_actor_option_int(actor, "as_leaf"),
    };
    status = skn_combining_init(&combiner->combining, error);
    if (status != SKN_OK)
        return status;
    /* Batches that are issued and not applied are consecutive and fewer than
     * two windows: each has a place of its own. */
    combiner->flight_count = 2 * skn_option_u32(actor, "window");
    return open_flights(combiner, error);
}

/* The senders have ended: a batch that is not whole by now never will be. */
static skn_status_t
combiner_drain(skn_actor_t *actor, void *state, skn_error_t *error)
{
    const combiner_t *combiner = state;
    for (uint32_t k = 0; k < combiner->flight_count; k++)
        if (combiner->flights[k].used)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: parts of batch %" PRIu64 " never arrived",
                            skn_actor_name(actor), combiner->flights[k].batch);
    return SKN_OK;
}

static void
combiner_close(skn_actor_t *actor, void *state)
{
    combiner_t *combiner = state;
    (void)actor;
    for (uint32_t k = 0; k < combiner->flight_count; k++)
        end_flight(combiner, &combiner->flights[k]);
    free(combiner->flights);
    free(combiner->partitions);
    free(combiner->shares);
    free(combiner->share_count);
    skn_slicing_fini(&combiner->slicing);
    skn_combining_fini(&combiner->combining);
}

static const skn_option_t options[] = {
    { "shard_first", SKN_OPTION_INT, "0", 0, SKN_SHARD_MAX - 1, NULL,
      "first of the shards whose parts are combined" },
    { "shards", SKN_OPTION_INT, NULL, 1, SKN_SHARD_MAX, NULL,
      "number of shards whose parts are combined" },
    { "leaves", SKN_OPTION_INT, NULL, 1, SKN_LEAVES_MAX, NULL,
      "number of leaves in the merge tree of these shards" },
    { "leaf_first", SKN_OPTION_INT, "0", 0, SKN_LEAVES_MAX - 1, NULL,
      "first leaf of these shards" },
    { "leaf_count", SKN_OPTION_INT, NULL, 1, SKN_LEAVES_MAX, NULL,
      "number of leaves of these shards" },
    { "as_leaf", SKN_OPTION_INT, "-1", -1, SKN_LEAVES_MAX - 1, NULL,
      "send the result as this leaf of another tree; -1: as nodes of the same "
      "tree" },
    { "columns", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,
      "units of the layer below" },
    SKN_SLICING_OPTIONS,
    SKN_OPTION_OF("batch_rows", NULL, SKN_SETTING_BATCH_ROWS),
    SKN_OPTION_OF("window", "1", SKN_SETTING_WINDOW),
    { 0 },
};

static const skn_handler_t handlers[] = {
    { &skn_partition_schema, on_partition, NULL },
    { &skn_output_gradient_schema, on_output_gradient, NULL },
    { &skn_hidden_gradient_schema, on_hidden_gradient, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_partition_schema,
    &skn_output_gradient_schema,
    &skn_hidden_gradient_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

const skn_kind_t skn_combiner = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "combiner",
    .help = "merges what the shards of a node send to other nodes",
    .state_bytes = sizeof(combiner_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .open = combiner_open,
    .drain = combiner_drain,
    .close = combiner_close,
};
