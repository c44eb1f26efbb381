/* cost.c - computes and prints the forecast of a batch's cost for a plan over
 * nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/cost.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "topology/plan/cost_rates.h"
#include "topology/plan/plan_internal.h"

/* A multiplication and an addition each for the value, the gradient of the
 * input and the gradient of the weight. */
#define LAYER_OPERATIONS 6.0

/* --- links --------------------------------------------------------------- */

skn_cost_bytes_t
skn_cost_link(const skn_cost_layer_t *layer, const skn_cost_place_t *place)
{
    double cells = layer->rows * layer->columns;
    double phi = layer->softmax && !layer->late ? layer->positives : 0.0;
    double scale = layer->scaled ? 4.0 * layer->rows : 0.0;
    double up = cells * (0.125 + layer->open * layer->value_bytes);
    double down = cells * layer->open * layer->value_bytes * (1.0 + phi);
    double normaliser =
        layer->softmax ? (layer->late ? 4.0 : 8.0) * layer->rows : 0.0;
    bool above = place->parts > 0, below = place->share > 0.0;
    double others = (double)place->above_count - (above ? 1.0 : 0.0);
    double parts = place->parts, other_parts = place->all_parts - parts;
    skn_cost_bytes_t bytes = { 0.0, 0.0 };
    if (below) {
        bytes.sent += others * (place->share * up + scale);
        bytes.received +=
            other_parts * (place->share * down + scale * (1.0 + phi));
    }
    if (above && place->share < 1.0) {
        double owners = (double)place->below_count - (below ? 1.0 : 0.0);
        bytes.sent += parts * (1.0 - place->share) * down;
        bytes.received += (1.0 - place->share) * up + owners * scale;
        bytes.sent += parts * owners * scale * (1.0 + phi);
    }
    double hearers = layer->late ? place->above_count : place->node_count;
    if (above)
        bytes.sent += parts * (hearers - 1.0) * normaliser;
    if (above || (below && !layer->late))
        bytes.received += other_parts * normaliser;
    return bytes;
}

/* The share of samples that have a label among `share` of the labels, if each
 * label is independently there with that probability. */
static double
positives_of(const skn_plan_t *plan, double share)
{
    return 1.0 - pow(1.0 - share, plan->data.labels_per_point);
}

static double
share_of(const skn_plan_t *plan, size_t layer, uint32_t node)
{
    return (double)skn_plan_share(plan, layer, node) /
           (double)skn_plan_outputs(plan, layer);
}

/* The share of what passes up from a layer that a node sends: of a decoder, the
 * last stage sends all. */
static double
share_below(const skn_plan_t *plan, size_t lower, uint32_t node)
{
    if (!skn_plan_is_stages(plan, lower))
        return share_of(plan, lower, node);
    uint32_t last = shards_of(&plan->model->layers[lower]) - 1;
    return skn_plan_seat(plan, lower, last).node == node;
}

/* Adds the bytes between layer `lower` and the one above. */
static void
add_links(const skn_plan_t *plan, size_t lower, skn_cost_t *cost)
{
    const skn_model_t *model = plan->model;
    const skn_model_layer_t *below = &model->layers[lower];
    const skn_model_layer_t *above = &model->layers[lower + 1];
    skn_link_coding_t coding = model->links.coding;
    skn_cost_layer_t layer = {
        .rows = (double)model->train.batch_rows,
        .columns = (double)below->units,
        .value_bytes = skn_cost_value_bytes(coding),
        .scaled = coding >= SKN_LINK_CODING_INT8,
        .open = cost->open,
        .softmax = above->output && above->loss == SKN_LOSS_SOFTMAX,
        .late = model->train.merge == SKN_MERGING_LATE,
        .positives = cost->positives,
    };
    uint32_t above_count = 0, below_count = 0, node_count = 0, all_parts = 0;
    for (uint32_t n = 0; n < plan->node_count; n++) {
        bool has_above = skn_plan_share(plan, lower + 1, n) > 0;
        bool has_below = share_below(plan, lower, n) > 0;
        all_parts += skn_plan_parts(plan, lower + 1, n);
        above_count += has_above;
        below_count += has_below;
        node_count += has_above || has_below;
    }
    for (uint32_t n = 0; n < plan->node_count; n++) {
        skn_cost_place_t place = {
            .share = share_below(plan, lower, n),
            .parts = skn_plan_parts(plan, lower + 1, n),
            .all_parts = all_parts,
            .above_count = above_count,
            .below_count = below_count,
            .node_count = node_count,
        };
        skn_cost_bytes_t bytes = skn_cost_link(&layer, &place);
        cost->nodes[n].bytes.sent += bytes.sent;
        cost->nodes[n].bytes.received += bytes.received;
    }
}

/* --- work ---------------------------------------------------------------- */

/* Operations of all shards of a layer for a batch. */
static double
operations_of(const skn_plan_t *plan, size_t number)
{
    const skn_model_layer_t *layer = &plan->model->layers[number];
    double rows = (double)plan->model->train.batch_rows;
    double below = (double)skn_plan_inputs(plan, number);
    double units = (double)skn_plan_outputs(plan, number);
    if (number == 0) {
        double active = rows * plan->data.features_per_point;
        double distinct = fmin(active, below);
        return (LAYER_OPERATIONS - 2.0) * active * units +
               SKN_COST_UPDATE_OPERATIONS * distinct * units;
    }
    if (layer->output)
        units = skn_cost_active_rows(plan);
    return LAYER_OPERATIONS * rows * units * below +
           SKN_COST_UPDATE_OPERATIONS * units * below;
}

static void
add_work(const skn_plan_t *plan, size_t layer, skn_cost_t *cost)
{
    double seconds = operations_of(plan, layer) / SKN_COST_OPERATIONS;
    cost->alone_seconds += seconds / plan->nodes[cost->alone].units;
    for (uint32_t n = 0; n < plan->keepers; n++) {
        uint64_t share = skn_plan_share(plan, layer, n);
        cost->nodes[n].work_seconds +=
            seconds * share_of(plan, layer, n) /
            (plan->nodes[n].units * plan->model->nodes[n].speed);
        cost->nodes[n].parameters += (skn_plan_inputs(plan, layer) + 1) * share;
    }
    for (uint32_t s = 0; s < shards_of(&plan->model->layers[layer]); s++)
        cost->nodes[skn_plan_seat(plan, layer, s).node].shards++;
}

/* --- a decoder ------------------------------------------------------------ */

/* Adds the shards, parameters and work of a decoder, and what passes between
 * its layers on different nodes. */
static void
add_decoder(const skn_plan_t *plan, skn_cost_t *cost)
{
    const skn_model_t *model = plan->model;
    const skn_pipeline_t *pipeline = &cost->pipeline;
    uint32_t stages = shards_of(&model->layers[SKN_DECODER_LAYER]);
    skn_pipeline_forecast(plan, cost->alone, &cost->pipeline);
    cost->open = 1.0;
    for (size_t k = 0; k < model->layer_count; k++) {
        double weights = (double)skn_plan_decoder_weights(plan, k);
        for (uint32_t n = 0; n < plan->node_count; n++)
            cost->nodes[n].parameters +=
                (uint64_t)(weights * share_of(plan, k, n));
        for (uint32_t s = 0; s < shards_of(&model->layers[k]); s++)
            cost->nodes[skn_plan_seat(plan, k, s).node].shards++;
    }
    for (uint32_t n = 0; n < plan->node_count; n++)
        cost->nodes[n].work_seconds = pipeline->core_seconds[n];
    for (uint32_t s = 0; s + 1 < stages; s++) {
        uint32_t lower = skn_plan_seat(plan, SKN_DECODER_LAYER, s).node;
        uint32_t upper = skn_plan_seat(plan, SKN_DECODER_LAYER, s + 1).node;
        skn_cost_bytes_t *below = &cost->nodes[lower].bytes;
        skn_cost_bytes_t *above = &cost->nodes[upper].bytes;
        if (lower == upper)
            continue;
        below->sent += pipeline->boundary_bytes;
        below->received += pipeline->boundary_bytes;
        above->sent += pipeline->boundary_bytes;
        above->received += pipeline->boundary_bytes;
    }
    add_links(plan, SKN_DECODER_LAYER, cost);
}

/* --- all together -------------------------------------------------------- */

/* A node works while bytes are on their way, unless the window makes it wait
 * for them. */
static double
seconds_of(const skn_plan_t *plan, const skn_cost_node_t *node)
{
    return plan->model->train.window > 1
               ? fmax(node->work_seconds, node->link_seconds)
               : node->work_seconds + node->link_seconds;
}

/* Whether the node could hold the whole model by the memory that the file gives
 * it. */
static bool
fits_alone(const skn_plan_t *plan, uint32_t node)
{
    int64_t allowed = plan->model->nodes[node].memory_bytes;
    uint64_t whole = 0;
    for (uint32_t n = 0; n < plan->node_count; n++)
        whole += plan->nodes[n].memory_bytes;
    return allowed == SKN_AUTO || whole <= (uint64_t)allowed;
}

void
skn_cost_plan(const skn_plan_t *plan, skn_cost_t *cost)
{
    const skn_model_t *model = plan->model;
    size_t last = model->layer_count - 1;
    memset(cost, 0, sizeof(*cost));
    for (uint32_t n = 0; n < plan->node_count; n++) {
        cost->positives += positives_of(plan, share_of(plan, last, n)) /
                           (double)plan->node_count;
        if (plan->nodes[n].units > plan->nodes[cost->alone].units)
            cost->alone = n;
    }
    if (model->layers[last].loss != SKN_LOSS_SOFTMAX)
        cost->positives = 0.0;
    else if (model->layers[last].label_smoothing > 0)
        cost->positives = 1.0; /* every label has a part of every target */
    if (skn_model_is_decoder(model)) {
        add_decoder(plan, cost);
    } else {
        for (size_t k = 0; k < model->layer_count; k++) {
            const skn_model_layer_t *layer = &model->layers[k];
            cost->open = SKN_COST_OPEN * (1.0 - layer->dropout);
            if (k < last)
                add_links(plan, k, cost);
            add_work(plan, k, cost);
        }
        cost->open = SKN_COST_OPEN * (1.0 - model->layers[last - 1].dropout);
    }
    for (uint32_t n = 0; n < plan->node_count; n++) {
        skn_cost_node_t *node = &cost->nodes[n];
        node->link_seconds = fmax(node->bytes.sent, node->bytes.received) *
                             8.0 / model->links.rate;
        if (seconds_of(plan, node) <= cost->batch_seconds)
            continue;
        cost->batch_seconds = seconds_of(plan, node);
        cost->slowest = n;
        cost->link_bound = node->link_seconds > node->work_seconds;
    }
    if (skn_model_is_decoder(model)) {
        cost->batch_seconds = cost->pipeline.step_seconds;
        cost->alone_seconds = cost->pipeline.alone_seconds;
    }
    cost->use_one = plan->node_count > 0 &&
                    cost->alone_seconds <= cost->batch_seconds &&
                    fits_alone(plan, cost->alone);
}

/* --- text ---------------------------------------------------------------- */

static const char *
size_text(double bytes, char text[32])
{
    if (bytes < 1e6)
        (void)skn_text_write(text, 32, "%.1f kB", bytes * 1e-3);
    else
        (void)skn_text_write(text, 32, "%.2f MB", bytes * 1e-6);
    return text;
}

static const char *
time_text(double seconds, char text[32])
{
    double minutes = floor(seconds / 60 + 0.5), hours = floor(minutes / 60);
    if (seconds < 99.5)
        (void)skn_text_write(text, 32, seconds < 9.95 ? "%.1f s" : "%.0f s",
                             seconds);
    else if (minutes < 60)
        (void)skn_text_write(text, 32, "%.0f min", minutes);
    else if (hours < 48)
        (void)skn_text_write(text, 32, "%.0f h %.0f min", hours,
                             minutes - 60 * hours);
    else
        (void)skn_text_write(text, 32, "%.1f days", minutes / 1440);
    return text;
}

/* Prints the nodes that node `n` relays between, if there are two. */
static void
print_relayed(const skn_model_t *model, uint32_t n, FILE *file)
{
    uint32_t others = 0, own = 0;
    for (size_t k = 0; k < model->node_count; k++) {
        others += model->nodes[k].via[0] != '\0';
        own += strcmp(model->nodes[k].via, model->nodes[n].name) == 0;
    }
    if (others > 1 && own > 0)
        (void)fprintf(file,
                      "#     relays to %u of the %u nodes without an address "
                      "what they send to each other: twice on its link, and "
                      "not in these figures\n",
                      own, others);
}

static void
print_node(const skn_plan_t *plan, const skn_cost_t *cost, uint32_t n,
           FILE *file)
{
    const skn_cost_node_t *node = &cost->nodes[n];
    uint32_t units = plan->nodes[n].units;
    char sent[32], received[32], files[48] = "";
    if (plan->nodes[n].offload_bytes > 0)
        (void)snprintf(
            files, sizeof(files), ", and %llu MiB in a file",
            (unsigned long long)(plan->nodes[n].offload_bytes >> 20));
    (void)skn_text_print(
        file,
        "#   %s: %u core%s, %u shard%s, %.1f million parameters, about %llu "
        "MiB%s\n"
        "#     per batch: %s sent, %s received, %.2f ms on the link, %.2f ms "
        "of work\n",
        plan->model->nodes[n].name, units, units == 1 ? "" : "s", node->shards,
        node->shards == 1 ? "" : "s", (double)node->parameters * 1e-6,
        (unsigned long long)(plan->nodes[n].memory_bytes >> 20), files,
        size_text(node->bytes.sent, sent),
        size_text(node->bytes.received, received), node->link_seconds * 1e3,
        node->work_seconds * 1e3);
    print_relayed(plan->model, n, file);
    if (plan->model->nodes[n].notice_s <= 0)
        return;
    double bytes = (double)skn_plan_hand_over_bytes(plan, n);
    (void)skn_text_print(
        file, "#     to hand over: %s, %.1f s of %g s of notice%s\n",
        size_text(bytes, sent), bytes * 8 / plan->model->links.rate,
        plan->model->nodes[n].notice_s,
        skn_plan_hands_over(plan, n) ? "" : ": more than half of it can carry");
}

/* Prints how many layers the stages have. */
static void
print_layers(const skn_plan_t *plan, uint32_t stages, FILE *file)
{
    uint32_t count = plan->stage_first[1];
    bool even = true;
    for (uint32_t s = 1; s < stages; s++)
        even = even && plan->stage_first[s + 1] - plan->stage_first[s] == count;
    if (even)
        (void)fprintf(file, "%u layer%s%s", count, count == 1 ? "" : "s",
                      stages == 1 ? "" : " each");
    else
        for (uint32_t s = 0; s < stages; s++)
            (void)fprintf(file, "%s%u",
                          s == 0           ? ""
                          : s + 1 < stages ? ", "
                                           : " and ",
                          plan->stage_first[s + 1] - plan->stage_first[s]);
    if (!even)
        (void)fprintf(file, " layers");
}

static void
print_decoder(const skn_plan_t *plan, const skn_cost_t *cost, FILE *file)
{
    const skn_pipeline_t *pipeline = &cost->pipeline;
    uint32_t stages = shards_of(&plan->model->layers[SKN_DECODER_LAYER]);
    uint64_t kept = 0;
    char bytes[32], time[32];
    (void)fprintf(file, "# decoder: %u stage%s of ", stages,
                  stages == 1 ? "" : "s");
    print_layers(plan, stages, file);
    (void)fprintf(file,
                  "; %u micro-batch%s of %lld tokens a step, at most %u in "
                  "flight\n",
                  plan->accumulate, plan->accumulate == 1 ? "" : "es",
                  (long long)plan->model->train.batch_rows, plan->flights);
    for (uint32_t n = 0; n == 0 || n < plan->node_count; n++)
        kept += skn_plan_stages_bytes(plan, n);
    (void)fprintf(
        file, "# %s in the stages for micro-batches in flight; recompute: %s\n",
        size_text((double)kept, bytes),
        plan->model->train.recompute == SKN_RECOMPUTE_LAYER ? "layer" : "none");
    if (pipeline->crossings > 0)
        (void)skn_text_print(
            file,
            "# from one node's stage to the next: %s a micro-batch each way, "
            "%.2f ms on the way\n",
            size_text(pipeline->boundary_bytes, bytes),
            pipeline->way_seconds * 1e3);
    uint64_t steps = plan->total_batches / plan->accumulate;
    (void)skn_text_print(
        file,
        "# expected: %.2f ms per step, %.0f%% of it bubble; about %s for "
        "%llu step%s, without evaluations\n",
        pipeline->step_seconds * 1e3, pipeline->bubble * 100,
        time_text((double)steps * pipeline->step_seconds, time),
        (unsigned long long)steps, steps == 1 ? "" : "s");
}

static void
print_verdict(const skn_plan_t *plan, const skn_cost_t *cost, FILE *file)
{
    const skn_model_node_t *nodes = plan->model->nodes;
    (void)skn_text_print(
        file,
        "# expected bottleneck: %s of %s, %.2f ms per %s; %s alone would "
        "take %.2f ms\n",
        cost->link_bound ? "the link" : "the cores", nodes[cost->slowest].name,
        cost->batch_seconds * 1e3,
        skn_model_is_decoder(plan->model) ? "step" : "batch",
        nodes[cost->alone].name, cost->alone_seconds * 1e3);
    if (cost->use_one)
        (void)fprintf(file,
                      "# use one node: %s alone is expected to be faster than "
                      "all %u together\n",
                      nodes[cost->alone].name, plan->node_count);
}

static void
print_nodes(const skn_plan_t *plan, const skn_cost_t *cost, FILE *file)
{
    static const char *const words[] = {
#define WORD_OF(NAME, word) #word,
        SKN_LINK_CODINGS(WORD_OF)
#undef WORD_OF
    };
    (void)skn_text_print(
        file,
        "# %u nodes, %s on the links, which carry %g Mbit/s each "
        "way:\n",
        plan->node_count, words[plan->model->links.coding],
        plan->model->links.rate * 1e-6);
    for (uint32_t n = 0; n < plan->node_count; n++)
        print_node(plan, cost, n, file);
}

/* A decoder has no ReLU, and its labels are everywhere. */
static void
print_assumed(const skn_plan_t *plan, const skn_cost_t *cost, FILE *file)
{
    bool is_decoder = skn_model_is_decoder(plan->model);
    (void)fputs("# assumed: ", file);
    if (!is_decoder)
        (void)skn_text_print(
            file,
            "%.2f of the hidden values are not zero (d), %.2f of the "
            "samples have a label at a node (phi), ",
            cost->open, cost->positives);
    (void)skn_text_print(
        file, "%g GFLOP/s per core\n",
        (is_decoder ? SKN_COST_DECODER_OPERATIONS : SKN_COST_OPERATIONS) *
            1e-9);
}

skn_status_t
skn_cost_print(const skn_plan_t *plan, FILE *file, skn_error_t *error)
{
    bool is_decoder = skn_model_is_decoder(plan->model);
    skn_cost_t cost;
    if (plan->node_count == 0 && !is_decoder)
        return SKN_OK;
    skn_cost_plan(plan, &cost);
    if (is_decoder)
        print_decoder(plan, &cost, file);
    if (plan->node_count > 0)
        print_nodes(plan, &cost, file);
    print_assumed(plan, &cost, file);
    if (plan->node_count > 0)
        print_verdict(plan, &cost, file);
    if (ferror(file))
        return skn_fail(error, SKN_STORAGE, "writing a forecast: %s",
                        strerror(errno));
    return SKN_OK;
}
