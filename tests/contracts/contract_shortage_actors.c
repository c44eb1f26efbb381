/* contract_shortage_actors.c - tests transport/ and actors/ when memory runs
 * short.
 *
 * As contract_shortage_topology.c, for messages, pools, pipes and samplers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "actors/runtime/placement.h"
#include "tests/support/sample_messages.h"
#include "tests/support/sampler_fixture.h"
#include "tests/support/shortage.h"
#include "transport/inproc/pipe.h"
#include "transport/message/schema.h"

TestSuite(contract_shortage_actors, .timeout = 120);

/* --- transport ------------------------------------------------------------ */

/* Blocks of every sort: small, a map of their own, huge pages. */
static skn_status_t
make_messages(skn_error_t *error)
{
    static const size_t counts[] = { 1, 1000, 300000, 1200000 };
    skn_pool_t *pool = skn_pool_new(0, error);
    if (!pool)
        return error->status;
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < 4 && status == SKN_OK; k++) {
        activation_t *made =
            skn_payload_new(pool, &activation_schema, &counts[k], error);
        if (made) {
            made->value.at[counts[k] - 1] = 1;
            skn_payload_drop(made);
        } else {
            status = error->status;
        }
    }
    skn_pool_destroy(&pool);
    return status;
}

static float items[100];

static every_t
every_message(void)
{
    return (every_t){
        .shard = 7, .title = "a title", .note = "", .value = { items, 100 }
    };
}

static skn_status_t
copy_message(skn_error_t *error)
{
    every_t from = every_message();
    skn_pool_t *pool = skn_pool_new(1 << 20, error);
    if (!pool)
        return error->status;
    every_t *copy = skn_payload_copy(pool, &every_schema, &from, error);
    skn_status_t status = copy ? SKN_OK : error->status;
    if (copy)
        cr_expect(copy->shard == 7 && strcmp(copy->title, "a title") == 0);
    skn_payload_drop(copy);
    skn_pool_destroy(&pool);
    return status;
}

/* Over the wire and back, then in one go. */
static skn_status_t
code_message(skn_error_t *error)
{
    every_t from = every_message();
    void *decoded = NULL, *copy = NULL;
    skn_wire_t wire;
    skn_pool_t *pool = skn_pool_new(1 << 20, error);
    skn_scratch_t *scratch = pool ? skn_scratch_new(error) : NULL;
    skn_status_t status = scratch ? SKN_OK : error->status;
    if (status == SKN_OK)
        status = skn_encode(&every_schema, &from, scratch, &wire, error);
    if (status == SKN_OK)
        status = skn_decode(&every_schema, wire.frame, wire.frame_count,
                            SKN_ORIGIN_PROCESS, scratch, pool, &decoded, error);
    if (status == SKN_OK)
        status =
            skn_recode(&every_schema, decoded, scratch, pool, &copy, error);
    if (status == SKN_OK)
        cr_expect_eq(((every_t *)copy)->value.count, 100u);
    else
        cr_expect_null(copy);
    skn_payload_drop(decoded);
    skn_payload_drop(copy);
    skn_scratch_destroy(&scratch);
    skn_pool_destroy(&pool);
    return status;
}

static skn_status_t
open_pipes(skn_error_t *error)
{
    static int round;
    char address[SKN_INBOX_ADDRESS_BYTES]; /* a name is free only later */
    (void)snprintf(address, sizeof(address), "inproc://round%d", round++);
    skn_outlet_t *outlet = NULL;
    skn_inbox_t *inbox = skn_inbox_open(address, error);
    skn_status_t status = inbox ? SKN_OK : error->status;
    if (status == SKN_OK) {
        outlet = skn_outlet_open(address, error);
        status = outlet ? SKN_OK : error->status;
    }
    skn_parcel_t parcel = { .type = 1, .number = 7 };
    if (status == SKN_OK)
        status = skn_outlet_put(outlet, &parcel, error);
    if (status == SKN_OK)
        cr_expect(skn_inbox_take(inbox, &parcel) && parcel.number == 7);
    skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
    return status;
}

static skn_status_t
read_machine(skn_error_t *error)
{
    skn_placement_t *placement = skn_placement_new("pack:2 core:4 pu:2", error);
    if (!placement)
        return error->status;
    cr_expect_eq(skn_placement_unit_count(placement), 16u);
    skn_placement_destroy(&placement);
    return SKN_OK;
}

/* --- samplers ------------------------------------------------------------- */

static world_t world = { .labels = 64,
                         .hidden = 6,
                         .rows = 5,
                         .block_rows = 4 };
static subject_t fixture;
static const skn_sampler_kind_t *sampler_kind;

/* Opens, builds and adopts an index if there is one, draws twice. */
static skn_status_t
draw(skn_error_t *error)
{
    const skn_sampler_options_t *options = &fixture.options;
    const skn_index_kind_t *index_kind = sampler_kind->index;
    void *builder = NULL;
    skn_selection_t selection = { 0 };
    skn_index_t index = { 0 };
    void *sampler = sampler_kind->open(options, error);
    if (!sampler)
        return error->status;
    skn_status_t status = SKN_OK;
    if (index_kind) {
        builder = index_kind->open(options, &fixture.copy, error);
        status = builder ? SKN_OK : error->status;
        if (status == SKN_OK)
            status = index_kind->build(builder, &index, error);
        if (status == SKN_OK)
            status = sampler_kind->adopt(sampler, &index, error);
    }
    for (int k = 0; k < 2 && status == SKN_OK; k++)
        status = sampler_kind->draw(sampler, &fixture.query, &selection, error);
    if (status == SKN_OK)
        cr_expect_gt(selection.group_count, 0);
    skn_selection_fini(&selection);
    sampler_kind->close(sampler);
    if (builder)
        index_kind->close(builder);
    return status;
}

Test(contract_shortage_actors, every_sampler_draws_or_reports)
{
    world_init(&world, 5, 2);
    for (size_t k = 0; skn_samplers[k]; k++) {
        skn_sampler_options_t options = world_options(&world, 8, 32);
        sampler_kind = skn_samplers[k];
        subject_open(&fixture, &world, sampler_kind, &options, true);
        shortage_try(&(shortage_t){ sampler_kind->name, draw, SKN_OK, 0 });
        subject_close(&fixture);
    }
    world_fini(&world);
}

#define CASE(test, subject, forgiven)                                          \
    Test(contract_shortage_actors, test)                                       \
    {                                                                          \
        shortage_try(&(shortage_t){ #subject, subject, SKN_OK, forgiven });    \
    }

/* Huge pages are asked for with a larger map first; without it, without. */
CASE(messages_of_every_size_are_made_or_refused, make_messages, 1)
CASE(a_message_is_copied_or_refused, copy_message, 0)
CASE(a_message_is_coded_or_refused, code_message, 0)
/* A parcel that finds no memory for a lot goes by itself. */
CASE(pipes_are_opened_or_refused, open_pipes, 2)
CASE(a_machine_is_read_or_refused, read_machine, 0)
