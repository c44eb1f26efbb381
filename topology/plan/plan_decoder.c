/* plan_decoder.c - reads the text of a decoder, and decides every `auto` of its
 * training, its sizes and its stages.
 *
 * As for other models, what changes the model follows from the file and the
 * data; the number of stages, which does not, from the cores.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "actors/protocol/corpus.h"
#include "actors/stage/decoder_layer.h"
#include "topology/plan/cost_decoder.h"
#include "topology/plan/plan_auto.h"
#include "topology/plan/plan_internal.h"
#include "topology/plan/traits.h"

/* More tokens make fewer messages, and products that are no faster. */
#define MICRO_TOKENS 2048
/* Below this the plan tells how to have more. */
#define MICRO_TOKENS_FEW 512
#define STEP_TOKENS 16384
/* The usual rate of AdamW for small decoders. */
#define RATE 0.001
#define CLIP_NORM 1.0
/* A feed-forward network of three matrices has 8/3 of the width, as in Llama,
 * for as many weights as two of 4 times the width. */
#define INNER_STEP 32
/* Evaluations may take this share of the time of a run. */
#define EVALUATION_SHARE 0.05

/* Averages over all sequences: an evaluation on held-back text predicts them
 * all. */
static double
bytes_per_token(const skn_model_t *model, const skn_sequences_t *sequences)
{
    uint32_t count = sequences->count;
    return count == 0 ? 0
                      : (double)skn_sequences_bytes(sequences, count) /
                            ((double)count * (double)model->data.context);
}

/* The statistics of `tokens`, whose sequences are split for validation. */
static skn_status_t
take_tokens(skn_plan_data_t *data, const skn_model_t *model,
            const skn_tokens_t *tokens, skn_error_t *error)
{
    const skn_tokens_info_t *info = skn_tokens_info(tokens);
    uint64_t context = (uint64_t)model->data.context;
    skn_sequences_split_t split = { 0 };
    skn_status_t status = skn_sequences_split(
        tokens, model->data.train, (uint32_t)context, model->train.validate,
        (uint64_t)model->train.seed, &split, error);
    *data = (skn_plan_data_t){
        .train_points = split.train.count * context,
        .validate_points = split.validate.count * context,
        .files_left_out = info->skipped_count,
        .features = info->ids,
        .labels = info->ids,
        .labels_occurring = info->ids,
        .labels_per_point = 1,
        .features_per_point = 1,
        .train_hash = info->content_hash,
        .content_hash = skn_corpus_hash(0, tokens),
        .mapped_bytes = info->mapped_bytes,
    };
    (void)snprintf(data->first_left_out, sizeof(data->first_left_out), "%s",
                   info->first_skipped);
    if (status == SKN_OK)
        data->bytes_per_token = bytes_per_token(model, &split.validate);
    skn_sequences_split_fini(&split);
    return status;
}

static skn_status_t
take_test(skn_plan_data_t *data, const skn_model_t *model,
          const skn_tokens_t *tokens, skn_error_t *error)
{
    skn_sequences_split_t split = { 0 };
    if (!tokens)
        return SKN_OK;
    skn_status_t status = skn_sequences_split(
        tokens, model->data.test, (uint32_t)model->data.context, 0,
        (uint64_t)model->train.seed, &split, error);
    if (status == SKN_OK) {
        data->test_points = split.train.count * (uint64_t)model->data.context;
        data->mapped_bytes += skn_tokens_info(tokens)->mapped_bytes;
        data->content_hash = skn_corpus_hash(data->content_hash, tokens);
    }
    skn_sequences_split_fini(&split);
    return status;
}

skn_status_t
skn_plan_texts_open(skn_plan_texts_t *texts, const skn_model_t *model,
                    skn_error_t *error)
{
    const skn_model_data_t *data = &model->data;
    const skn_corpus_t corpus = {
        .tokenizer = data->tokenizer,
        .vocabulary = (uint32_t)data->vocabulary,
        .cache = data->cache,
    };
    *texts = (skn_plan_texts_t){ 0 };
    skn_status_t status = skn_corpus_open(&corpus, data->train, "train", NULL,
                                          &texts->train, error);
    if (status == SKN_OK && data->test[0])
        status = skn_corpus_open(&corpus, data->test, "test",
                                 skn_tokens_tokenizer(texts->train),
                                 &texts->test, error);
    if (status != SKN_OK)
        skn_plan_texts_close(texts);
    return status;
}

void
skn_plan_texts_close(skn_plan_texts_t *texts)
{
    skn_tokens_close(&texts->train);
    skn_tokens_close(&texts->test);
}

skn_status_t
skn_plan_read_text(skn_plan_t *plan, const skn_model_t *model,
                   skn_error_t *error)
{
    skn_plan_texts_t texts;
    skn_status_t status = skn_plan_texts_open(&texts, model, error);
    if (status == SKN_OK)
        status = take_tokens(&plan->data, model, texts.train, error);
    if (status == SKN_OK)
        status = take_test(&plan->data, model, texts.test, error);
    skn_plan_texts_close(&texts);
    return status;
}

/* --- auto ----------------------------------------------------------------- */

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* As many whole sequences as divide the tokens of a step. */
static int64_t
auto_micro(const skn_model_t *model, int64_t points, const char **why)
{
    int64_t context = model->data.context, step = model->train.batch_tokens;
    int64_t most = MICRO_TOKENS > context ? MICRO_TOKENS / context : 1;
    int64_t sequences = least(most, points / context);
    *why = sequences < most ? "the whole text"
           : context > MICRO_TOKENS
               ? "a sequence; products of more tokens are no faster"
               : "sequences of 2,048 tokens at most: products of more are no "
                 "faster";
    if (step == SKN_AUTO)
        return sequences * context;
    while (step % (sequences * context) != 0) {
        sequences--;
        *why = "the most sequences, of 2,048 tokens at most, that divide "
               "train.batch_tokens";
    }
    if (sequences * context <
        least(MICRO_TOKENS_FEW, least(most * context, step)))
        *why = "no more sequences divide train.batch_tokens; products of more "
               "tokens are faster, so choose one that has more divisors";
    return sequences * context;
}

static skn_status_t
refuse_step(const skn_model_t *model, int64_t points, skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%.200s: %" PRId64 " tokens to train on are fewer than a "
                   "step, which has %" PRId64,
                   model->data.train, points, model->train.batch_tokens);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "give more text, or set a smaller "
                         "train.batch_tokens or train.micro_tokens");
}

/* Sizes of batches: a step of a short text is an epoch. */
static skn_status_t
resolve_batches(skn_plan_t *plan, skn_model_t *model, skn_error_t *error)
{
    skn_model_train_t *train = &model->train;
    int64_t points = (int64_t)plan->data.train_points;
    const char *why;
    int64_t micro = auto_micro(model, points, &why);
    (void)skn_plan_decide(&plan->reasons, "train.micro_tokens",
                          &train->micro_tokens, micro, why);
    int64_t most = points / train->micro_tokens;
    int64_t count = least(STEP_TOKENS / train->micro_tokens, most);
    (void)skn_plan_decide(&plan->reasons, "train.batch_tokens",
                          &train->batch_tokens,
                          (count > 0 ? count : 1) * train->micro_tokens,
                          count == most ? "the whole text" : "the default");
    train->batch_rows = train->micro_tokens;
    plan->accumulate = (uint32_t)(train->batch_tokens / train->micro_tokens);
    if (points < train->batch_tokens)
        return refuse_step(model, points, error);
    plan->batches_per_epoch =
        (uint64_t)(points / train->batch_tokens) * plan->accumulate;
    uint64_t batches = (uint64_t)train->steps * plan->accumulate;
    uint64_t epochs =
        (batches + plan->batches_per_epoch - 1) / plan->batches_per_epoch;
    (void)skn_plan_decide(&plan->reasons, "train.epochs", &train->epochs,
                          epochs > 0 ? (int64_t)epochs : 1,
                          epochs > 0 ? "as many as train.steps need"
                                     : "the default");
    train->max_batches = (int64_t)batches;
    return SKN_OK;
}

static void
resolve_steps(skn_plan_t *plan, skn_model_t *model)
{
    skn_model_train_t *train = &model->train;
    skn_model_schedule_t *schedule = &train->schedule;
    skn_reasons_t *reasons = &plan->reasons;
    uint64_t steps = train->steps > 0
                         ? (uint64_t)train->steps
                         : plan->batches_per_epoch * (uint64_t)train->epochs /
                               plan->accumulate;
    if (train->optimizer.kind == SKN_OPTIMIZER_AUTO) {
        train->optimizer.kind = SKN_OPTIMIZER_ADAM;
        skn_reasons_add(reasons, "train.optimizer.kind",
                        "the usual one of decoders");
    }
    if (train->optimizer.rate < 0) {
        train->optimizer.rate = RATE;
        skn_reasons_add(reasons, "train.optimizer.rate",
                        "the usual rate of small decoders");
    }
    if (train->clip_norm < 0) {
        train->clip_norm = CLIP_NORM;
        skn_reasons_add(reasons, "train.clip_norm", "the default");
    }
    if (schedule->kind == SKN_SCHEDULE_AUTO) {
        schedule->kind = SKN_SCHEDULE_COSINE;
        skn_reasons_add(reasons, "train.schedule.kind",
                        "the default: a rate that falls to zero");
    }
    if (schedule->kind != SKN_SCHEDULE_CONSTANT)
        (void)skn_plan_decide(&plan->reasons, "train.schedule.warmup_batches",
                              &schedule->warmup_batches,
                              skn_traits_clamp((double)steps / 20, 1, 100),
                              "a twentieth of the steps, 100 at most");
    /* A forward pass is a third of a batch's work. */
    double pass = (double)plan->data.validate_points / 3;
    double share = EVALUATION_SHARE * (double)train->batch_tokens;
    (void)skn_plan_decide(
        &plan->reasons, "train.evaluate.every_steps",
        &train->evaluate.every_steps,
        plan->data.validate_points == 0
            ? 0
            : skn_traits_clamp(fmax(pass / share, (double)steps / 20), 1,
                               (int64_t)SKN_COUNT_MAX),
        plan->data.validate_points == 0
            ? "no text is held back"
            : "20 in a run, in a twentieth of its time at most");
    train->window = 1;
    train->ensemble = 1;
    train->ranker_trees = 0;
    (void)skn_plan_decide(&plan->reasons, "train.patience", &train->patience, 0,
                          "a decoder trains all its steps");
}

static double
stage_weight(const skn_plan_t *plan, uint32_t stage)
{
    uint32_t node = skn_plan_seat(plan, SKN_DECODER_LAYER, stage).node;
    return plan->node_count > 0 ? (double)plan->nodes[node].weight : 1;
}

/* Each stage gets a layer, and each further one goes to the stage that is then
 * the least busy for its weight: so the busiest has as little as can be. A
 * stage that shares its core with a large head gets fewer layers. */
void
skn_plan_deal_stages(skn_plan_t *plan)
{
    uint32_t stages = (uint32_t)plan->model->decoder.stages;
    uint32_t layers = (uint32_t)plan->model->decoder.layers;
    uint32_t *first = plan->stage_first;
    double weight[SKN_DECODER_LAYERS_MAX], beside[SKN_DECODER_LAYERS_MAX];
    skn_pipeline_t pipeline;
    assert(stages <= layers && layers <= SKN_DECODER_LAYERS_MAX);
    for (uint32_t s = 0; s < stages; s++) {
        weight[s] = stage_weight(plan, s);
        first[s + 1] = 1;
    }
    skn_pipeline_beside(plan, beside);
    for (uint32_t dealt = stages; dealt < layers; dealt++) {
        uint32_t best = 0;
        for (uint32_t s = 1; s < stages; s++)
            if ((beside[s] + first[s + 1] + 1) / weight[s] <
                (beside[best] + first[best + 1] + 1) / weight[best])
                best = s;
        first[best + 1]++;
    }
    first[0] = 0;
    for (uint32_t s = 0; s < stages; s++)
        first[s + 1] += first[s];
    skn_pipeline_forecast(plan, 0, &pipeline);
    plan->flights = pipeline.flights;
}

skn_status_t
skn_plan_auto_decoder(skn_plan_t *plan, skn_model_t *model, skn_error_t *error)
{
    skn_model_decoder_t *decoder = &model->decoder;
    skn_model_layer_t *layers = (skn_model_layer_t *)(uintptr_t)model->layers;
    skn_model_layer_t *head = &layers[model->layer_count - 1];
    skn_status_t status = resolve_batches(plan, model, error);
    if (status != SKN_OK)
        return status;
    resolve_steps(plan, model);
    int64_t inner =
        (8 * decoder->width / 3 + INNER_STEP - 1) / INNER_STEP * INNER_STEP;
    bool fits = inner <= SKN_HIDDEN_MAX;
    (void)skn_plan_decide(&plan->reasons, "model.inner", &decoder->inner,
                          fits ? inner : SKN_HIDDEN_MAX,
                          fits ? "8/3 of the width, whole vectors"
                               : "the most there may be");
    (void)skn_plan_decide(&plan->reasons, "model.stages", &decoder->stages,
                          least(plan->units, decoder->layers),
                          plan->units < decoder->layers
                              ? "one for each core"
                              : "as many as there are layers");
    layers[SKN_DECODER_LAYER].shards = decoder->stages;
    head->shards = head->shards == SKN_AUTO ? 1 : head->shards;
    if (head->label_smoothing < 0)
        head->label_smoothing = 0;
    return SKN_OK;
}

/* --- memory --------------------------------------------------------------- */

/* The gradient of all weights of a stage, or of a shard of an exact head, is
 * one array of a message. */
static skn_status_t
check_gradient(const char *actor, uint64_t weights, const char *key,
               skn_error_t *error)
{
    if (weights <= SKN_RUN_MAX)
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_CONFIG,
                   "a %s of the decoder would have %" PRIu64
                   " weights, at most %u fit into the message of its gradient",
                   actor, weights, SKN_RUN_MAX);
    return skn_fail_hint(error, SKN_BAD_CONFIG,
                         "increase %s, or make the model narrower", key);
}

skn_status_t
skn_plan_check_gradients(const skn_plan_t *plan, skn_error_t *error)
{
    const skn_model_decoder_t *decoder = &plan->model->decoder;
    const skn_decoder_shape_t shape = skn_model_shape(plan->model);
    uint64_t width = (uint64_t)decoder->width;
    uint32_t stages = (uint32_t)decoder->stages;
    size_t head = plan->model->layer_count - 1;
    skn_status_t status = SKN_OK;
    for (uint32_t s = 0; s < stages && status == SKN_OK; s++)
        status = check_gradient(
            "stage",
            width * skn_decoder_stage_rows(
                        &shape, plan->stage_first[s + 1] - plan->stage_first[s],
                        s + 1 == stages),
            "model.stages", error);
    /* A gradient of sampled rows alone is shorter. */
    bool is_exact = plan->model->layers[head].sampler.kind == SKN_SAMPLER_EXACT;
    uint32_t shards = is_exact ? (uint32_t)plan->model->layers[head].shards : 0;
    for (uint32_t s = 0; s < shards && status == SKN_OK; s++)
        status = check_gradient("head",
                                width * (skn_plan_first(plan, head, s + 1) -
                                         skn_plan_first(plan, head, s)),
                                "model.head.shards", error);
    return status;
}

uint64_t
skn_plan_decoder_weights(const skn_plan_t *plan, size_t layer)
{
    const skn_model_decoder_t *decoder = &plan->model->decoder;
    const skn_decoder_shape_t shape = skn_model_shape(plan->model);
    uint64_t width = (uint64_t)decoder->width;
    return layer == SKN_DECODER_LAYER
               ? width * skn_decoder_stage_rows(&shape,
                                                (uint32_t)decoder->layers, true)
               : width * plan->data.labels;
}

/* Sizes of scratch are those of the plain kernels: every node makes the same
 * plan. */
uint64_t
skn_plan_stages_bytes(const skn_plan_t *plan, uint32_t node)
{
    const skn_model_train_t *train = &plan->model->train;
    size_t tokens = (size_t)train->batch_rows;
    const skn_decoder_t decoder = {
        .shape = skn_model_shape(plan->model),
        .kernels = skn_kernels_named("scalar"),
        .half = train->precision == SKN_PRECISION_BF16,
    };
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < (uint32_t)plan->model->decoder.stages; s++) {
        if (plan->node_count > 0 &&
            skn_plan_seat(plan, SKN_DECODER_LAYER, s).node != node)
            continue;
        uint32_t layers = plan->stage_first[s + 1] - plan->stage_first[s];
        skn_decoder_floats_t floats = skn_decoder_floats(
            &decoder, layers, tokens, train->recompute == SKN_RECOMPUTE_LAYER);
        bool is_last = s + 1 == (uint32_t)plan->model->decoder.stages;
        size_t flight =
            floats.flight +
            is_last * skn_norm_kept_floats(tokens, decoder.shape.width);
        bytes += (plan->flights * flight + floats.shared) * sizeof(float) +
                 skn_decoder_scratch_bytes(&decoder, tokens);
    }
    return bytes;
}
