/* plan_decoder_wire.c - writes what only a decoder has: its stages, the clipper
 * of its steps, and the pipes between its layers.
 *
 *   embedding.0 ─activation─▶ stage.0 ─activation─▶ ... ─▶ head.*
 *        ◀── hidden_gradient ──┘  ◀── hidden_gradient ──┘   │
 *                             output_gradient, to the last stage
 *   up_*.* ─gradient_norm─▶ clipper ─clip─▶ up_*.*
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_internal.h"

/* A name of an actor as one end of a pipe. */
typedef struct stage_end {
    char name[48];
    const char *list[2];
} stage_end_t;

static const char *const *
end_of(stage_end_t *end, const wire_t *wire, int64_t stage)
{
    int64_t stages = wire->model->decoder.stages;
    if (stage < 0 || stage == stages)
        (void)snprintf(end->name, sizeof(end->name), "%s",
                       wire->stem[stage < 0 ? 0 : wire->layer_count - 1]);
    else
        (void)snprintf(end->name, sizeof(end->name), "stage.%lld",
                       (long long)stage);
    end->list[0] = end->name;
    end->list[1] = NULL;
    return end->list;
}

void
skn_wire_stage_pipes(wire_t *wire)
{
    int64_t stages = wire->model->decoder.stages;
    const uint64_t bounds[] = { 0, (uint64_t)wire->model->decoder.width };
    for (int64_t stage = -1; stage < stages; stage++) {
        stage_end_t lower, upper;
        bool is_head = stage + 1 == stages;
        uint32_t head = wire->layer_count - 1;
        skn_draft_pipe_t up = {
            .from = end_of(&lower, wire, stage),
            .to = end_of(&upper, wire, stage + 1),
            .message = "activation",
            .pattern = "gather",
            .credit = wire->credit,
            .coding = skn_wire_coding(wire),
        };
        skn_draft_pipe(wire->draft, &up);
        if (is_head)
            skn_wire_combiner_pipes(wire, head, "output_gradient", 1);
        skn_draft_pipe_t down = {
            .from = is_head ? skn_wire_senders(wire, head) : upper.list,
            .to = lower.list,
            .message = is_head ? "output_gradient" : "hidden_gradient",
            .pattern = "scatter",
            .collect = "gather",
            .key = "column_first",
            .bounds = bounds,
            .bound_count = 2,
            .credit = wire->credit,
            .peer = true,
            .coding = skn_wire_coding(wire),
        };
        skn_draft_pipe(wire->draft, &down);
    }
}

void
skn_wire_clipper(wire_t *wire)
{
    const skn_plan_seat_t lead = { .node = 0, .core = SKN_CORE_FLOAT };
    if (wire->model->train.clip_norm <= 0)
        return;
    skn_wire_actor(wire, "clipper", "clipper", lead, 0);
    skn_wire_real(wire, "max_norm", wire->model->train.clip_norm);
}

void
skn_wire_clipper_pipes(wire_t *wire)
{
    const char *const clipper[] = { "clipper", NULL };
    const char *updaters[] = { wire->updater[0], wire->updater[1],
                               wire->updater[2], NULL };
    if (wire->model->train.clip_norm <= 0)
        return;
    skn_draft_pipe_t norm = {
        .from = updaters,
        .to = clipper,
        .message = "gradient_norm",
        .pattern = "gather",
        .credit = wire->credit,
    };
    skn_draft_pipe(wire->draft, &norm);
    skn_draft_pipe_t clip = {
        .from = clipper,
        .to = updaters,
        .message = "clip",
        .pattern = "broadcast",
        .credit = wire->credit,
        .peer = true,
    };
    skn_draft_pipe(wire->draft, &clip);
}
