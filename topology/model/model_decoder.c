/* model_decoder.c - the rules of a model of kind decoder, and which keys are
 * for which kind of model.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topology/model/model_rules.h"
#include "topology/model/model_tables.h"

/* A smaller one would scale gradients to what floats do not tell from 0. */
#define CLIP_NORM_MIN 1e-6

/* Keys of one kind of model. A decoder's `layers` is a number. */
typedef struct owner {
    const char *section; /* its path */
    const char *key;     /* NULL: all of the section */
    skn_model_kind_t kind;
} owner_t;

/* clang-format off */
static const owner_t owners[] = {
    { "data", "normalize", SKN_MODEL_LAYERS },
    { "data", "feature_count", SKN_MODEL_LAYERS },
    { "data", "label_count", SKN_MODEL_LAYERS },
    { "data", "labels", SKN_MODEL_LAYERS },
    { "data", "held_back", SKN_MODEL_LAYERS },
    { "data", "format", SKN_MODEL_LAYERS },
    { "data", "text_column", SKN_MODEL_LAYERS },
    { "data", "category_columns", SKN_MODEL_LAYERS },
    { "data", "number_columns", SKN_MODEL_LAYERS },
    { "data", "label_column", SKN_MODEL_LAYERS },
    { "data", "label_separator", SKN_MODEL_LAYERS },
    { "data", "bad_rows", SKN_MODEL_LAYERS },
    { "data", "word_groups", SKN_MODEL_LAYERS },
    { "data", "letter_groups", SKN_MODEL_LAYERS },
    { "data", "term_rows", SKN_MODEL_LAYERS },
    { "data", "terms_max", SKN_MODEL_LAYERS },
    { "data", "term_values", SKN_MODEL_LAYERS },
    { "data", "tokenizer", SKN_MODEL_DECODER },
    { "data", "vocabulary", SKN_MODEL_DECODER },
    { "data", "context", SKN_MODEL_DECODER },
    { "model", "width", SKN_MODEL_DECODER },
    { "model", "heads", SKN_MODEL_DECODER },
    { "model", "inner", SKN_MODEL_DECODER },
    { "model", "stages", SKN_MODEL_DECODER },
    { "model.head", NULL, SKN_MODEL_DECODER },
    { "train", "ensemble", SKN_MODEL_LAYERS },
    { "train", "ranker_trees", SKN_MODEL_LAYERS },
    { "train", "batch_rows", SKN_MODEL_LAYERS },
    { "train", "max_batches", SKN_MODEL_LAYERS },
    { "train", "window", SKN_MODEL_LAYERS },
    { "train", "batch_tokens", SKN_MODEL_DECODER },
    { "train", "micro_tokens", SKN_MODEL_DECODER },
    { "train", "steps", SKN_MODEL_DECODER },
    { "train", "clip_norm", SKN_MODEL_DECODER },
    { "train", "recompute", SKN_MODEL_DECODER },
    { "train.evaluate", "every_steps", SKN_MODEL_DECODER },
};
/* clang-format on */

bool
skn_rules_suit(skn_model_kind_t kind, const skn_section_t *section,
               const char *key)
{
    for (size_t k = 0; k < sizeof(owners) / sizeof(owners[0]); k++)
        if (owners[k].kind != kind &&
            strcmp(owners[k].section, section->path) == 0 &&
            (!owners[k].key || strcmp(owners[k].key, key) == 0))
            return false;
    return true;
}

bool
skn_rules_concern(const skn_model_t *model, const skn_section_t *section,
                  const char *key)
{
    return skn_rules_suit(model->decoder.kind, section, key);
}

/* Refuses the keys of the other kind that a section of the file has. */
static void
check_section(const skn_model_t *model, const skn_section_t *section,
              const skn_node_t *node, skn_problems_t *problems)
{
    bool is_decoder = skn_model_is_decoder(model);
    for (const skn_option_t *option = section->options; option->name;
         option++) {
        const skn_node_t *child = skn_node_get(node, option->name);
        if (!child || skn_rules_concern(model, section, option->name))
            continue;
        (void)skn_problems_add(problems, child->key_mark,
                               "'%s' is for %s, and 'kind' of model is '%s'",
                               option->name,
                               is_decoder ? "a model of layers" : "a decoder",
                               is_decoder ? "decoder" : "layers");
        (void)skn_problems_hint(problems, "leave it out, or set 'kind: %s'",
                                is_decoder ? "layers" : "decoder");
    }
    for (const skn_part_t *part = section->parts; part->name; part++)
        if (part->form == SKN_FORM_MAPPING)
            check_section(model, part->section, skn_node_get(node, part->name),
                          problems);
}

/* `inner` may be auto: then any value that fits. */
skn_decoder_shape_t
skn_model_shape(const skn_model_t *model)
{
    const skn_model_decoder_t *decoder = &model->decoder;
    return (skn_decoder_shape_t){
        .layers = (uint32_t)decoder->layers,
        .width = (uint32_t)decoder->width,
        .heads = (uint32_t)decoder->heads,
        .inner = (uint32_t)(decoder->inner == SKN_AUTO ? decoder->width
                                                       : decoder->inner),
        .context = (uint32_t)model->data.context,
        .epsilon = SKN_DECODER_EPSILON,
        .rope_base = SKN_DECODER_ROPE_BASE,
    };
}

/* A node has at least a stage, and a stage at least a layer. */
static void
check_nodes(const skn_model_t *model, const skn_node_t *root,
            skn_problems_t *problems)
{
    const skn_model_decoder_t *decoder = &model->decoder;
    bool is_auto = decoder->stages == SKN_AUTO;
    int64_t most = is_auto ? decoder->layers : decoder->stages, nodes = 0;
    for (size_t k = 0; k < model->node_count; k++)
        nodes += !model->nodes[k].is_leaving;
    if (nodes <= most)
        return;
    (void)skn_problems_add(
        problems, skn_rules_mark(root, "nodes"),
        "%lld nodes are more than the %lld %s%s of the decoder, and each has "
        "one at least",
        (long long)nodes, (long long)most, is_auto ? "layer" : "stage",
        most == 1 ? "" : "s");
    (void)skn_problems_hint(problems, "list %lld node%s at most",
                            (long long)most, most == 1 ? "" : "s");
}

/* Refuses a number of tokens, the value of `key`, that is no multiple of
 * `whole`. */
static void
check_multiple(int64_t tokens, const char *key, int64_t whole, const char *of,
               const skn_node_t *train, skn_problems_t *problems)
{
    if (tokens == SKN_AUTO || tokens % whole == 0)
        return;
    (void)skn_problems_add(problems, skn_rules_mark(train, key),
                           "'%s' is %lld, which is not whole %s %lld tokens",
                           key, (long long)tokens, of, (long long)whole);
    (void)skn_problems_hint(problems, "set a multiple of %lld",
                            (long long)whole);
}

static void
check_tokens(const skn_model_t *model, const skn_node_t *train,
             skn_problems_t *problems)
{
    static const char sequences[] = "sequences of data.context,";
    int64_t micro = model->train.micro_tokens, context = model->data.context;
    int64_t batch = model->train.batch_tokens;
    check_multiple(micro, "micro_tokens", context, sequences, train, problems);
    if (micro == SKN_AUTO)
        check_multiple(batch, "batch_tokens", context, sequences, train,
                       problems);
    else
        check_multiple(batch, "batch_tokens", micro, "micro-batches of", train,
                       problems);
}

static void
check_decoder(const skn_model_t *model, const skn_node_t *root,
              skn_problems_t *problems)
{
    const skn_model_decoder_t *decoder = &model->decoder;
    const skn_node_t *node = skn_node_get(root, "model");
    const skn_node_t *train = skn_node_get(root, "train");
    const skn_decoder_shape_t shape = skn_model_shape(model);
    double clip_norm = model->train.clip_norm;
    skn_error_t error = { 0 };
    if (clip_norm > 0 && clip_norm < CLIP_NORM_MIN) {
        (void)skn_problems_add(problems, skn_rules_mark(train, "clip_norm"),
                               "'clip_norm' is %g: gradients of that norm are "
                               "lost in the rounding of floats",
                               clip_norm);
        (void)skn_problems_hint(problems, "set 1, or 0 for no limit");
    }
    if (skn_decoder_check(&shape, &error) != SKN_OK)
        (void)skn_problems_add(problems, skn_rules_mark(node, "width"), "%s",
                               error.text);
    if (decoder->stages > decoder->layers)
        (void)skn_problems_add(problems, skn_rules_mark(node, "stages"),
                               "%lld stages are more than the %lld layer%s",
                               (long long)decoder->stages,
                               (long long)decoder->layers,
                               decoder->layers == 1 ? "" : "s");
    check_tokens(model, train, problems);
    if (decoder->head.loss == SKN_LOSS_ONE_VS_ALL)
        (void)skn_problems_add(
            problems, skn_rules_mark(skn_node_get(node, "head"), "loss"),
            "a decoder has 'loss: softmax': it predicts one token");
    check_nodes(model, root, problems);
    if (model->train.order == SKN_ORDER_FREE)
        (void)skn_problems_add(problems, skn_rules_mark(train, "order"),
                               "a decoder has 'order: fixed'");
}

void
skn_rules_decoder(const skn_model_t *model, const skn_node_t *root,
                  skn_problems_t *problems)
{
    check_section(model, &skn_model_section, root, problems);
    if (skn_model_is_decoder(model))
        check_decoder(model, root, problems);
}
