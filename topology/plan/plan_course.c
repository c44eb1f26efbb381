/* plan_course.c - writes the actors that lead a plan's run: source, evaluator,
 * course.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/plan_internal.h"

/* The first node leads. */
static const skn_plan_seat_t lead = { .node = 0, .core = SKN_CORE_FLOAT };

static void
set_text(wire_t *wire)
{
    const skn_model_data_t *data = &wire->model->data;
    skn_wire_text(wire, "tokens", "true");
    skn_wire_text(wire, "tokenizer", data->tokenizer);
    skn_wire_int(wire, "vocabulary", (uint64_t)data->vocabulary);
}

/* How the training file is read as points. */
static void
set_points(wire_t *wire)
{
    const skn_model_data_t *data = &wire->model->data;
    if (wire->plan->preprocessing[0])
        skn_wire_text(wire, "preprocessing", wire->plan->preprocessing);
    if (wire->plan->data.has_bad_points)
        skn_wire_real(wire, "bad_rows", data->bad_rows);
    if (data->held_back > 0)
        skn_wire_real(wire, "held_back", data->held_back);
    skn_wire_text(wire, "normalize",
                  data->normalize == SKN_NORMALIZE_NONE ? "none" : "l2");
    skn_wire_text(wire, "cache", data->cache);
}

void
skn_wire_vocabulary(wire_t *wire)
{
    const skn_model_data_t *data = &wire->model->data;
    if (skn_model_is_decoder(wire->model)) {
        skn_wire_text(wire, "train", data->train);
        set_text(wire);
        skn_wire_text(wire, "cache", data->cache);
    } else if (wire->plan->preprocessing[0]) {
        skn_wire_text(wire, "train", data->train);
        set_points(wire);
    }
}

void
skn_wire_training_file(wire_t *wire)
{
    const skn_model_data_t *data = &wire->model->data;
    skn_wire_text(wire, "train", data->train);
    if (skn_model_is_decoder(wire->model))
        set_text(wire);
    set_points(wire);
    skn_wire_int(wire, "features", wire->plan->data.features);
}

void
skn_wire_data(wire_t *wire)
{
    const skn_model_t *model = wire->model;
    skn_wire_training_file(wire);
    skn_wire_text(wire, "test", model->data.test);
    if (model->data.questions)
        skn_wire_text(wire, "questions", "true");
    skn_wire_int(wire, "labels", wire->plan->data.labels);
    skn_wire_int(wire, "batch_rows", (uint64_t)model->train.batch_rows);
    skn_wire_int(wire, "accumulate", wire->plan->accumulate);
    if (skn_model_is_decoder(model))
        skn_wire_int(wire, "context", (uint64_t)model->data.context);
    skn_wire_int(wire, "seed", (uint64_t)model->train.seed);
    skn_wire_real(wire, "validate", model->train.validate);
    skn_wire_int(wire, "test_rows", (uint64_t)model->train.evaluate.rows);
}

void
skn_wire_source(wire_t *wire)
{
    skn_wire_actor(wire, "source", "source", lead, 0);
    skn_wire_data(wire);
    skn_wire_int(wire, "window", wire->issued);
    skn_wire_int(wire, "owners", wire->owners);
    if (!skn_model_is_decoder(wire->model))
        return;
    skn_wire_int(wire, "ahead", wire->plan->flights);
    skn_wire_int(wire, "first_owners", shards_of(&wire->model->layers[0]));
}

static void
add_evaluator(wire_t *wire)
{
    skn_wire_actor(wire, "evaluator", "evaluator", lead, 0);
    skn_wire_training_file(wire);
    skn_wire_int(wire, "labels", wire->plan->data.labels);
    if (!wire->start->predict)
        return;
    skn_wire_text(wire, "predicts", "true");
    skn_wire_text(wire, "loss",
                  wire->output->loss == SKN_LOSS_SOFTMAX ? "softmax"
                                                         : "one_vs_all");
}

static void
add_course(wire_t *wire)
{
    const skn_model_t *model = wire->model;
    const skn_plan_t *plan = wire->plan;
    skn_wire_actor(wire, "course", "course", lead, 0);
    skn_wire_int(wire, "batches_per_epoch", plan->batches_per_epoch);
    skn_wire_int(wire, "epochs", (uint64_t)model->train.epochs);
    skn_wire_int(wire, "shards", shards_of(wire->output));
    skn_wire_int(wire, "nodes",
                 model->node_count > 1 ? (uint64_t)model->node_count : 1);
    skn_wire_int(wire, "max_batches", (uint64_t)model->train.max_batches);
    uint64_t step = plan->accumulate; /* checkpoints are between steps */
    uint64_t every = model->checkpoint.every_batches > 0
                         ? (uint64_t)model->checkpoint.every_batches
                         : 0;
    skn_wire_int(wire, "every_batches", (every + step - 1) / step * step);
    skn_wire_int(wire, "every_epochs",
                 (uint64_t)model->checkpoint.every_epochs);
    skn_wire_int(wire, "evaluate_every",
                 (uint64_t)model->train.evaluate.every_epochs);
    if (skn_model_is_decoder(model)) {
        skn_wire_int(wire, "evaluate_batches",
                     (uint64_t)model->train.evaluate.every_steps *
                         plan->accumulate);
        skn_wire_int(wire, "micro_tokens", (uint64_t)model->train.batch_rows);
        skn_wire_int(wire, "step_batches", plan->accumulate);
        skn_wire_real(wire, "bytes_per_token", plan->data.bytes_per_token);
    }
    skn_wire_text(wire, "validates",
                  plan->data.validate_points > 0 ? "true" : "false");
    skn_wire_text(wire, "tests", plan->data.test_points > 0 ? "true" : "false");
    skn_wire_int(wire, "patience", (uint64_t)model->train.patience);
    skn_wire_int(wire, "progress_ms", wire->start->progress_ms);
    if (wire->start->patience_s > 0)
        skn_wire_int(wire, "patience_s", wire->start->patience_s);
    if (wire->start->checkpoint)
        skn_wire_text(wire, "resume", wire->start->checkpoint);
    if (wire->restored_count > 0)
        skn_wire_text(wire, "restores", "true");
    if (wire->start->generation > 0)
        skn_wire_text(wire, "may_lose", "true");
    if (wire->start->resave)
        skn_wire_text(wire, "resaves", "true");
    if (plan->keepers < plan->node_count)
        skn_wire_text(wire, "hands_over", "true");
    if (wire->start->predict)
        skn_wire_text(wire, "predicts", "true");
}

void
skn_wire_course(wire_t *wire)
{
    skn_wire_readers(wire);
    add_evaluator(wire);
    add_course(wire);
    skn_wire_keepers(wire);
}
