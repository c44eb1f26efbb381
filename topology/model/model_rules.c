/* model_rules.c - checks the rules between the keys of a model file.
 *
 * A key that has no effect beside another one is refused, unless it has its
 * default: a user that writes `tables: 50` for a uniform sampler expects
 * tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/model_rules.h"

#include <math.h>
#include <string.h>

#include "formats/features/features.h"
#include "formats/records/records.h"
#include "skein/limits.h"
#include "topology/model/model_tables.h"
#include "transport/socket/keys.h"

#define BIT(kind) (1u << (kind))
#define OR_BIT(NAME, word) | BIT(SKN_##NAME)
#define INDEXED (0u SKN_INDEXED_SAMPLERS(OR_BIT))
#define SAMPLED (BIT(SKN_SAMPLER_AUTO) SKN_RANDOM_SAMPLERS(OR_BIT) | INDEXED)

/* The kinds for which a key has a meaning; a key without an entry has one for
 * all kinds. */
typedef struct meaning {
    const char *key;
    unsigned kinds;
} meaning_t;

static const meaning_t sampler_meanings[] = {
    { "rows", SAMPLED },         { "labels", SAMPLED },
    { "weight_cap", SAMPLED },   { "tables", INDEXED },
    { "bits", INDEXED },         { "refresh_batches", INDEXED },
    { "uniform_rows", INDEXED }, { NULL, 0 },
};
#define ADAM BIT(SKN_OPTIMIZER_ADAM)
#define ADAGRAD BIT(SKN_OPTIMIZER_ADAGRAD)
#define SGD BIT(SKN_OPTIMIZER_SGD)
#define ANY_OPTIMIZER BIT(SKN_OPTIMIZER_AUTO)
static const meaning_t optimizer_meanings[] = {
    { "beta1", ANY_OPTIMIZER | ADAM },
    { "beta2", ANY_OPTIMIZER | ADAM },
    { "epsilon", ANY_OPTIMIZER | ADAM | ADAGRAD },
    { "weight_decay", ANY_OPTIMIZER | ADAM | SGD },
    { "offload", ANY_OPTIMIZER | ADAM },
    { "offload_path", ANY_OPTIMIZER | ADAM },
    { NULL, 0 },
};
#define ANY_SCHEDULE BIT(SKN_SCHEDULE_AUTO)
static const meaning_t schedule_meanings[] = {
    { "warmup_batches",
      ANY_SCHEDULE | BIT(SKN_SCHEDULE_WARMUP) | BIT(SKN_SCHEDULE_COSINE) },
    { "floor", ANY_SCHEDULE | BIT(SKN_SCHEDULE_COSINE) },
    { NULL, 0 },
};

skn_mark_t
skn_rules_mark(const skn_node_t *mapping, const char *key)
{
    const skn_node_t *node = skn_node_get(mapping, key);
    return node ? node->mark : mapping->mark;
}

/* Returns the k-th word of "a|b|c", for a sentence. */
static const char *
word_of(const char *choices, unsigned k, size_t *bytes)
{
    for (; k > 0; k--)
        choices = strchr(choices, '|') + 1;
    *bytes = strcspn(choices, "|");
    return choices;
}

/* Lists the words of the kinds, without auto: "simhash, dwta". */
static void
list_kinds(const char *choices, unsigned kinds, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned k = 1; kinds >> k != 0; k++) {
        size_t bytes = 0;
        const char *word = NULL;
        if (!(kinds >> k & 1u))
            continue;
        word = word_of(choices, k, &bytes);
        int more = snprintf(text + used, text_bytes - used, "%s%.*s",
                            used ? ", " : "", (int)bytes, word);
        if (more < 0 || (size_t)more >= text_bytes - used)
            return;
        used += (size_t)more;
    }
}

/* Refuses each key that differs from its default and has no meaning for
 * `kind`. */
static void
check_meanings(const skn_section_t *section, const meaning_t *meanings,
               const void *base, unsigned kind, const skn_node_t *node,
               skn_problems_t *problems)
{
    const char *choices = NULL;
    for (const skn_option_t *option = section->options; option->name; option++)
        if (strcmp(option->name, "kind") == 0)
            choices = option->choices;
    for (size_t k = 0; section->options[k].name; k++) {
        const skn_option_t *option = &section->options[k];
        const meaning_t *meaning = meanings;
        char kinds[128];
        size_t bytes = 0;
        while (meaning->key && strcmp(meaning->key, option->name) != 0)
            meaning++;
        if (!meaning->key || meaning->kinds & BIT(kind) ||
            skn_slot_is_default(option, section->slots[k], base))
            continue;
        const char *word = word_of(choices, kind, &bytes);
        list_kinds(choices, meaning->kinds, kinds, sizeof(kinds));
        (void)skn_problems_add(problems, skn_rules_mark(node, option->name),
                               "'%s' has no effect with kind '%.*s'",
                               option->name, (int)bytes, word);
        (void)skn_problems_hint(problems, "it is for %s", kinds);
    }
}

/* --- layers -------------------------------------------------------------- */

static bool
sampler_has_index(const skn_model_sampler_t *sampler)
{
    return (BIT(sampler->kind) & (INDEXED | BIT(SKN_SAMPLER_AUTO))) != 0;
}

static void
check_output(const skn_model_layer_t *layer, const skn_node_t *node,
             skn_problems_t *problems)
{
    const skn_model_sampler_t *sampler = &layer->sampler;
    const skn_node_t *sampler_node = skn_node_get(node, "sampler");
    if (!sampler_node)
        sampler_node = node;
    check_meanings(&skn_sampler_section, sampler_meanings, sampler,
                   sampler->kind, sampler_node, problems);
    if (sampler->rows == 0 && !sampler->labels && sampler->uniform_rows <= 0) {
        (void)skn_problems_add(
            problems, skn_rules_mark(sampler_node, "rows"),
            "labels would have no negatives: 'rows' is 0 and 'labels' is "
            "false");
        (void)skn_problems_hint(problems, "set 'rows', or leave 'labels' true");
    }
    if (layer->label_smoothing > 0 && layer->loss == SKN_LOSS_ONE_VS_ALL) {
        (void)skn_problems_add(
            problems, skn_rules_mark(node, "label_smoothing"),
            "'label_smoothing' has no effect with one logistic loss per label");
        (void)skn_problems_hint(problems, "leave it out, or set 'loss: "
                                          "softmax'");
    }
    if (layer->index_lag != SKN_AUTO && !sampler_has_index(sampler)) {
        char kinds[128];
        list_kinds(SKN_CHOICES(SKN_SAMPLERS), INDEXED, kinds, sizeof(kinds));
        (void)skn_problems_add(problems, skn_rules_mark(node, "index_lag"),
                               "'index_lag' has no effect with a sampler that "
                               "has no index");
        (void)skn_problems_hint(problems, "it is for %s", kinds);
    }
}

void
skn_rules_layers(const skn_model_t *model, const skn_node_t *layers,
                 skn_problems_t *problems)
{
    const skn_node_t *node = layers->first;
    for (size_t k = 0; k < model->layer_count; k++, node = node->next) {
        const skn_model_layer_t *layer = &model->layers[k];
        skn_mark_t mark = skn_rules_mark(node, "name");
        if (!skn_name_good(layer->name)) {
            (void)skn_problems_add(problems, mark,
                                   "'%.64s' is not a valid layer name",
                                   layer->name);
            (void)skn_problems_hint(problems,
                                    "use a letter, then letters, digits, '_' "
                                    "and '-', %u at most",
                                    SKN_NAME_MAX);
        }
        for (size_t other = 0; other < k; other++)
            if (strcmp(model->layers[other].name, layer->name) == 0) {
                (void)skn_problems_add(problems, mark,
                                       "there are two layers named '%.64s'",
                                       layer->name);
                break;
            }
        if (layer->output)
            check_output(layer, node, problems);
    }
}

bool
skn_rules_mean(const skn_section_t *section, const char *key, const void *base)
{
    const skn_model_sampler_t *sampler = base;
    const skn_model_optimizer_t *optimizer = base;
    const skn_model_schedule_t *schedule = base;
    const meaning_t *meaning;
    unsigned kind;
    if (section == &skn_output_section && strcmp(key, "label_smoothing") == 0)
        return ((const skn_model_layer_t *)base)->loss != SKN_LOSS_ONE_VS_ALL;
    if (section == &skn_output_section)
        return strcmp(key, "index_lag") != 0 ||
               sampler_has_index(&((const skn_model_layer_t *)base)->sampler);
    if (section == &skn_sampler_section) {
        meaning = sampler_meanings;
        kind = sampler->kind;
    } else if (strcmp(section->path, "train.optimizer") == 0) {
        meaning = optimizer_meanings;
        kind = optimizer->kind;
    } else if (strcmp(section->path, "train.schedule") == 0) {
        meaning = schedule_meanings;
        kind = schedule->kind;
    } else {
        return true;
    }
    while (meaning->key && strcmp(meaning->key, key) != 0)
        meaning++;
    return !meaning->key || (meaning->kinds & BIT(kind)) != 0;
}

/* --- train --------------------------------------------------------------- */

static void
check_order(const skn_model_train_t *train, const skn_node_t *node,
            skn_problems_t *problems)
{
    if (train->reduction == SKN_REDUCTION_FIXED &&
        train->order == SKN_ORDER_FREE) {
        (void)skn_problems_add(problems, skn_rules_mark(node, "reduction"),
                               "'reduction: fixed' promises the same bits, "
                               "which 'order: free' excludes");
        (void)skn_problems_hint(problems, "set 'order: fixed', or 'reduction: "
                                          "fast'");
    }
}

static void
check_precision(const skn_model_train_t *train, const skn_node_t *node,
                skn_problems_t *problems)
{
    if (train->precision != SKN_PRECISION_BF16 ||
        train->reduction != SKN_REDUCTION_FIXED)
        return;
    (void)skn_problems_add(problems, skn_rules_mark(node, "precision"),
                           "'precision: bf16' sums as each processor does, so "
                           "that bits depend on the machine, which "
                           "'reduction: fixed' excludes");
    (void)skn_problems_hint(problems, "set 'precision: f32', or 'reduction: "
                                      "fast'");
}

static void
check_merge(const skn_model_train_t *train, const skn_node_t *node,
            skn_problems_t *problems)
{
    if (train->merge != SKN_MERGING_LATE ||
        train->reduction != SKN_REDUCTION_FIXED)
        return;
    (void)skn_problems_add(problems, skn_rules_mark(node, "merge"),
                           "'merge: late' rounds each shard's part by itself, "
                           "so that bits depend on the shards, which "
                           "'reduction: fixed' excludes");
    (void)skn_problems_hint(problems, "set 'merge: early', or 'reduction: "
                                      "fast'");
}

static void
check_offload(const skn_model_optimizer_t *optimizer, const skn_node_t *node,
              skn_problems_t *problems)
{
    if (optimizer->offload != SKN_OFFLOAD_NONE || !optimizer->offload_path[0])
        return;
    (void)skn_problems_add(
        problems,
        skn_rules_mark(skn_node_get(node, "optimizer"), "offload_path"),
        "'offload_path' has no effect with 'offload: none'");
    (void)skn_problems_hint(problems, "leave it out, or set 'offload: file'");
}

static void
check_part(const char *key, const meaning_t *meanings, const void *base,
           unsigned kind, const skn_node_t *node, skn_problems_t *problems)
{
    const skn_part_t *part = skn_model_section.parts;
    while (strcmp(part->name, "train") != 0)
        part++;
    part = part->section->parts;
    while (strcmp(part->name, key) != 0)
        part++;
    const skn_node_t *child = skn_node_get(node, key);
    check_meanings(part->section, meanings, base, kind, child ? child : node,
                   problems);
}

void
skn_rules_train(const skn_model_t *model, const skn_node_t *root,
                skn_problems_t *problems)
{
    const skn_model_train_t *train = &model->train;
    const skn_node_t *node = skn_node_get(root, "train");
    if (!node)
        node = root;
    check_order(train, node, problems);
    check_merge(train, node, problems);
    check_precision(train, node, problems);
    check_part("optimizer", optimizer_meanings, &train->optimizer,
               train->optimizer.kind, node, problems);
    check_offload(&train->optimizer, node, problems);
    check_part("schedule", schedule_meanings, &train->schedule,
               train->schedule.kind, node, problems);
    if (train->ensemble > 1 && model->coordinator.address[0]) {
        (void)skn_problems_add(problems, skn_rules_mark(node, "ensemble"),
                               "'ensemble' is %lld: nodes that come and go "
                               "train one network",
                               (long long)train->ensemble);
        (void)skn_problems_hint(problems,
                                "train each with another seed and join them "
                                "with `skein join`, or train without a "
                                "coordinator");
    }
    if (train->patience > 0 && train->validate <= 0.0) {
        (void)skn_problems_add(problems, skn_rules_mark(node, "patience"),
                               "'patience' needs points that are held back, "
                               "but 'validate' is 0");
        (void)skn_problems_hint(problems, "set 'validate', for example 0.05");
    }
}

/* The column of the labels as a feature would give the answers away. */
static void
check_columns(const skn_model_data_t *data, const char *key, const char *names,
              size_t most, const skn_node_t *node, skn_problems_t *problems)
{
    const skn_span_t label = skn_span_trimmed(
        (skn_span_t){ data->label_column, strlen(data->label_column) });
    skn_span_t name;
    size_t count = 0;
    for (; skn_columns_next(&names, &name); count++)
        if (skn_span_equal(name, label)) {
            (void)skn_problems_add(problems, skn_rules_mark(node, key),
                                   "'%s' has '%.*s', the column of the labels, "
                                   "which are to be predicted",
                                   key, (int)label.bytes, label.at);
            (void)skn_problems_hint(problems,
                                    "leave it out, or set 'label_column'");
        }
    if (count <= most)
        return;
    (void)skn_problems_add(problems, skn_rules_mark(node, key),
                           "'%s' has %zu names, at most %zu allowed", key,
                           count, most);
    (void)skn_problems_hint(problems, "leave some out");
}

void
skn_rules_data(const skn_model_t *model, const skn_node_t *root,
               skn_problems_t *problems)
{
    const skn_model_data_t *data = &model->data;
    const skn_node_t *node = skn_node_get(root, "data");
    const skn_node_t *place = node ? node : root;
    check_columns(data, "text_column", data->text_column,
                  SKN_RECORDS_COLUMNS_MAX, place, problems);
    check_columns(data, "category_columns", data->category_columns,
                  SKN_FEATURE_COLUMNS_MAX, place, problems);
    check_columns(data, "number_columns", data->number_columns,
                  SKN_FEATURE_COLUMNS_MAX, place, problems);
    if (!node || !data->test[0] || !(data->held_back > 0))
        return;
    (void)skn_problems_add(problems, skn_rules_mark(node, "held_back"),
                           "'test' and 'held_back' exclude each other: the "
                           "test set is a file, or a share of 'train'");
    (void)skn_problems_hint(problems, "set one of them");
}

void
skn_rules_both(const skn_model_t *model, const skn_node_t *root,
               skn_problems_t *problems)
{
    const skn_model_layer_t *output = &model->layers[model->layer_count - 1];
    const skn_node_t *layers =
        skn_node_get(skn_node_get(root, "model"), "layers");
    const skn_node_t *place =
        skn_model_is_decoder(model)
            ? skn_node_get(skn_node_get(root, "model"), "head")
            : layers->last;
    skn_optimizer_kind_t kind = model->train.optimizer.kind;
    if (output->weights == SKN_WEIGHTS_BF16 &&
        model->train.updates == SKN_UPDATES_LOAN &&
        (kind == SKN_OPTIMIZER_ADAM ||
         (kind == SKN_OPTIMIZER_AUTO && model->train.optimizer.rate >= 0))) {
        (void)skn_problems_add(problems, skn_rules_mark(place, "weights"),
                               "weights in bf16 lose the small steps of "
                               "'adam'");
        (void)skn_problems_hint(problems, "set 'updates: copy' in 'train', "
                                          "which keeps f32 masters, or use "
                                          "adagrad or sgd, which round at "
                                          "random");
    }
}
