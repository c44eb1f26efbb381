/* plan_wire.c - writes the topology of a plan, and the helpers that add its
 * actors and options. The actors are in plan_course.c and plan_layers.c, the
 * pipes in plan_pipes.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "actors/protocol/block.h"
#include "topology/plan/plan_internal.h"
#include "topology/config/values.h"

void
skn_wire_actor(wire_t *wire, const char *name, const char *kind,
               skn_plan_seat_t seat, int nice)
{
    skn_draft_actor(wire->draft, name, kind, seat.core, nice);
    if (wire->plan->node_count > 0)
        skn_draft_on(wire->draft, wire->model->nodes[seat.node].name);
}

void
skn_wire_int(wire_t *wire, const char *name, uint64_t value)
{
    skn_draft_option(wire->draft, name, "%" PRIu64, value);
}

void
skn_wire_real(wire_t *wire, const char *name, double value)
{
    char text[SKN_REAL_TEXT_BYTES];
    skn_value_real_text(value, text);
    skn_draft_option(wire->draft, name, "%s", text);
}

void
skn_wire_text(wire_t *wire, const char *name, const char *value)
{
    skn_draft_option(wire->draft, name, "%s", value);
}

void
skn_wire_cuts(wire_t *wire, uint32_t layer)
{
    char text[SKN_CLUSTER_NODES_MAX * 40];
    uint32_t shards = shards_of(&wire->model->layers[layer - 1]);
    if (skn_plan_is_stages(wire->plan, layer - 1))
        shards = 1; /* the last stage has all columns */
    skn_wire_int(wire, "slices", shards);
    if (!skn_plan_is_weighted(wire->plan))
        return;
    skn_plan_write_weights(wire->plan, shards, text, sizeof(text));
    skn_wire_text(wire, "slice_weights", text);
}

bool
skn_model_copies_parts(const skn_model_t *model)
{
    return model->node_count > 1 && model->checkpoint.copies > 1;
}

static void
name_layers(wire_t *wire)
{
    assert(wire->layer_count <= sizeof(wire->stem) / sizeof(wire->stem[0]));
    for (uint32_t k = 0; k < wire->layer_count; k++) {
        const skn_model_layer_t *layer = &wire->model->layers[k];
        bool last = k + 1 == wire->layer_count;
        (void)snprintf(wire->stem[k], sizeof(wire->stem[k]), "%s",
                       k == 0 ? "embedding"
                       : last ? "output"
                              : "dense");
        if (k > 0 && !last)
            (void)snprintf(wire->stem[k], sizeof(wire->stem[k]), "dense_%u", k);
        if (skn_plan_is_stages(wire->plan, k))
            (void)snprintf(wire->stem[k], sizeof(wire->stem[k]), "stage");
        (void)snprintf(wire->updater[k], sizeof(wire->updater[k]), "up_%.24s",
                       layer->name);
        wire->owners += shards_of(layer);
    }
}

static void
add_nodes(wire_t *wire)
{
    for (uint32_t k = 0; k < wire->plan->node_count; k++) {
        const skn_model_node_t *asked = &wire->model->nodes[k];
        const skn_wired_node_t node = {
            .name = asked->name,
            .address = asked->address,
            .via = asked->via,
            .key = asked->key,
            .ssh = asked->ssh,
            .core_count = wire->plan->nodes[k].units,
            .memory_bytes = asked->memory_bytes == SKN_AUTO
                                ? 0
                                : (uint64_t)asked->memory_bytes,
        };
        skn_draft_node(wire->draft, &node);
    }
}

static void
wire_free(wire_t *wire)
{
    if (wire) {
        free(wire->names);
        free(wire->restored);
        free(wire->restored_by);
    }
    free(wire);
}

skn_spec_t *
skn_plan_wire(const skn_plan_t *plan, const skn_plan_start_t *start,
              const skn_kind_t *const *kinds, skn_problems_t *problems)
{
    const skn_model_t *model = plan->model;
    wire_t *wire = calloc(1, sizeof(*wire));
    if (wire) {
        wire->names = calloc(1, sizeof(*wire->names));
        wire->restored = calloc(SKN_ACTORS_MAX, sizeof(*wire->restored));
        wire->restored_by = calloc(SKN_ACTORS_MAX, sizeof(uint32_t));
    }
    if (!wire || !wire->names || !wire->restored || !wire->restored_by) {
        wire_free(wire);
        (void)skn_problems_fail(problems, SKN_NO_MEMORY,
                                "no memory for a plan");
        return NULL;
    }
    wire->plan = plan;
    wire->start = start;
    wire->model = model;
    wire->layer_count = (uint32_t)model->layer_count;
    wire->output = &model->layers[model->layer_count - 1];
    wire->keeper_count = !start->run_path ? 0
                         : start->predict || !skn_model_copies_parts(model)
                             ? 1
                             : plan->node_count;
    uint32_t window = skn_model_is_decoder(model)
                          ? plan->flights
                          : (uint32_t)model->train.window;
    wire->issued = 2 * window - 1;
    wire->credit = wire->issued + 2;
    name_layers(wire);
    wire->draft = skn_draft_new(model->source, model->name, problems);
    skn_spec_t *spec = NULL;
    if (wire->draft) {
        for (size_t k = 0; k < model->plugin_count; k++)
            skn_draft_plugin(wire->draft, model->plugins[k]);
        add_nodes(wire);
        skn_wire_source(wire);
        skn_wire_layers(wire);
        skn_wire_combiners(wire);
        skn_wire_clipper(wire);
        skn_wire_course(wire);
        skn_wire_pipes(wire);
        spec = skn_draft_finish(&wire->draft, kinds, problems);
    }
    wire_free(wire);
    return spec;
}
