/* cost.c - computes and prints the forecast of a batch's cost for a plan over
 * nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/cost.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "topology/plan/plan_internal.h"

/* Operations that an optimizer spends on a weight: Adam's two moments, their
 * root and the step. */
#define UPDATE_OPERATIONS 10.0
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

static double
value_bytes(skn_link_coding_t coding)
{
    switch (coding) {
    case SKN_LINK_CODING_BF16:
        return 2.0;
    case SKN_LINK_CODING_INT8:
        return 1.0;
    case SKN_LINK_CODING_INT4:
        return 0.5;
    case SKN_LINK_CODING_AUTO:
    case SKN_LINK_CODING_F32:
        break;
    }
    return 4.0;
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
        .value_bytes = value_bytes(coding),
        .scaled = coding >= SKN_LINK_CODING_INT8,
        .open = SKN_COST_OPEN * (1.0 - below->dropout),
        .softmax = above->output && above->loss == SKN_LOSS_SOFTMAX,
        .late = model->train.merge == SKN_MERGING_LATE,
        .positives = cost->positives,
    };
    uint32_t above_count = 0, below_count = 0, node_count = 0, all_parts = 0;
    for (uint32_t n = 0; n < plan->node_count; n++) {
        bool has_above = skn_plan_share(plan, lower + 1, n) > 0;
        bool has_below = skn_plan_share(plan, lower, n) > 0;
        all_parts += skn_plan_parts(plan, lower + 1, n);
        above_count += has_above;
        below_count += has_below;
        node_count += has_above || has_below;
    }
    for (uint32_t n = 0; n < plan->node_count; n++) {
        skn_cost_place_t place = {
            .share = share_of(plan, lower, n),
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
               UPDATE_OPERATIONS * distinct * units;
    }
    if (layer->output && layer->sampler.kind != SKN_SAMPLER_EXACT)
        units = fmin(units, (double)layer->sampler.rows +
                                rows * plan->data.labels_per_point);
    return LAYER_OPERATIONS * rows * units * below +
           UPDATE_OPERATIONS * units * below;
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
    cost->open = SKN_COST_OPEN * (1.0 - model->layers[last - 1].dropout);
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
    for (size_t k = 0; k < model->layer_count; k++) {
        if (k < last)
            add_links(plan, k, cost);
        add_work(plan, k, cost);
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
    cost->use_one = cost->alone_seconds <= cost->batch_seconds &&
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

static void
print_verdict(const skn_plan_t *plan, const skn_cost_t *cost, FILE *file)
{
    const skn_model_node_t *nodes = plan->model->nodes;
    (void)skn_text_print(
        file,
        "# expected bottleneck: %s of %s, %.2f ms per batch; %s alone would "
        "take %.2f ms\n",
        cost->link_bound ? "the link" : "the cores", nodes[cost->slowest].name,
        cost->batch_seconds * 1e3, nodes[cost->alone].name,
        cost->alone_seconds * 1e3);
    if (cost->use_one)
        (void)fprintf(file,
                      "# use one node: %s alone is expected to be faster than "
                      "all %u together\n",
                      nodes[cost->alone].name, plan->node_count);
}

skn_status_t
skn_cost_print(const skn_plan_t *plan, FILE *file, skn_error_t *error)
{
    static const char *const words[] = {
#define WORD_OF(NAME, word) #word,
        SKN_LINK_CODINGS(WORD_OF)
#undef WORD_OF
    };
    skn_cost_t cost;
    if (plan->node_count == 0)
        return SKN_OK;
    skn_cost_plan(plan, &cost);
    (void)skn_text_print(
        file,
        "# %u nodes, %s on the links, which carry %g Mbit/s each "
        "way:\n",
        plan->node_count, words[plan->model->links.coding],
        plan->model->links.rate * 1e-6);
    for (uint32_t n = 0; n < plan->node_count; n++)
        print_node(plan, &cost, n, file);
    (void)skn_text_print(
        file,
        "# assumed: %.2f of the hidden values are not zero (d), %.2f of the "
        "samples have a label at a node (phi), %g GFLOP/s per core\n",
        cost.open, cost.positives, SKN_COST_OPERATIONS * 1e-9);
    print_verdict(plan, &cost, file);
    if (ferror(file))
        return skn_fail(error, SKN_STORAGE, "writing a forecast: %s",
                        strerror(errno));
    return SKN_OK;
}
