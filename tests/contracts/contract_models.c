/* contract_models.c - tests that random model files can be read, written and
 * read again.
 *
 * A generator draws a few keys and values of every section, valid ones and some
 * that a rule refuses. A model that is accepted prints as a file that reads as
 * the same model, whether its values came from the file or from overrides, in
 * any order; a refusal names a place. Seeds are printed. Covers
 * topology/model/model_read.c, topology/model/model_forms.c,
 * topology/model/model_rules.c, topology/model/model_slots.c and
 * topology/model/model_write.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/model_fixture.h"
#include "tests/support/oracle.h"

#define SEEDS 600
#define WORDS_MAX 6
#define VALUES_MAX 5

TestSuite(contract_models, .timeout = 60);

/* Keys with values that are right by themselves; rules between keys may refuse
 * some of their combinations. */
static const struct {
    const char *path, *value[VALUES_MAX];
} choices[] = {
    { "data.test", { "test.txt", "\"\"", "'a b.txt'" } },
    { "data.normalize", { "l2", "none" } },
    { "data.cache", { "auto", "none", "cache/x" } },
    { "data.memory", { "64MiB", "1GiB", "123456789" } },
    { "model.layers.hidden.units", { "auto", "1", "128", "65536" } },
    { "model.layers.hidden.shards", { "auto", "1", "4" } },
    { "model.layers.hidden.dropout", { "auto", "0", "0.5", "0.25" } },
    { "model.layers.hidden.init_std", { "0.05", "1e-3" } },
    { "model.layers.output.loss", { "auto", "softmax", "one_vs_all" } },
    { "model.layers.output.weights", { "f32", "bf16" } },
    { "model.layers.output.shards", { "auto", "1", "7" } },
    { "model.layers.output.index_lag", { "auto", "4", "100" } },
    { "model.layers.output.sampler.kind",
      { "auto", "exact", "uniform", "simhash", "dwta" } },
    { "model.layers.output.sampler.rows", { "auto", "1", "4096" } },
    { "model.layers.output.sampler.weight_cap", { "0", "100", "2.5" } },
    { "model.layers.output.sampler.tables", { "auto", "50" } },
    { "model.layers.output.sampler.uniform_rows", { "auto", "0", "10" } },
    { "train.seed", { "0", "1", "9007199254740991" } },
    { "train.batch_rows", { "auto", "1", "65536" } },
    { "train.epochs", { "auto", "1", "50" } },
    { "train.max_batches", { "0", "1000" } },
    { "train.window", { "auto", "1", "64" } },
    { "train.order", { "fixed", "free" } },
    { "train.reduction", { "fast", "fixed" } },
    { "train.validate", { "0", "0.1", "0.5" } },
    { "train.patience", { "auto", "0", "3" } },
    { "train.optimizer.kind", { "auto", "adam", "adagrad", "sgd" } },
    { "train.optimizer.rate", { "auto", "0.001", "3e-5" } },
    { "train.optimizer.beta1", { "0.9", "0.5" } },
    { "train.optimizer.weight_decay", { "0", "0.01" } },
    { "train.schedule.kind", { "auto", "constant", "warmup", "cosine" } },
    { "train.schedule.warmup_batches", { "auto", "0", "500" } },
    { "train.schedule.floor", { "0", "0.1" } },
    { "train.evaluate.every_epochs", { "0", "1", "5" } },
    { "train.evaluate.topk", { "1", "5", "100" } },
    { "checkpoint.path", { "\"\"", "run", "'a run'" } },
    { "checkpoint.every_batches", { "auto", "0", "100" } },
    { "checkpoint.every_epochs", { "0", "1" } },
    { "checkpoint.keep", { "1", "3", "100" } },
    { "resources.cores", { "auto", "1", "[0, 2]", "0-3" } },
    { "resources.memory", { "auto", "8GiB" } },
    { "resources.huge_pages", { "true", "false" } },
    { "nodes",
      { "[{ name: a }]", "[{ name: a, cores: 3, memory: 1GiB, ssh: h }]",
        "[{ name: a, address: 'tcp://127.0.0.1:1' }, { name: b, address: "
        "'tcp://[::1]:2', cores: 1-2 }]",
        "[{ name: a, address: 'tcp://h:1', key: x }, { name: b, address: "
        "'tcp://g:1', key: y }]",
        "[{ name: a }, { name: b }]" } },
    { "links.coding", { "auto", "f32", "bf16", "int8", "int4" } },
    { "links.rate", { "1e9", "1e7", "123456.5" } },
    { "links.latency", { "0.0005", "0", "2.5" } },
    { "idle.enabled", { "true", "false" } },
    { "idle.reserve_cores", { "auto", "0", "3" } },
    { "idle.share", { "1", "0.25" } },
    { "idle.memory", { "0.5", "1" } },
    { "idle.bandwidth", { "0", "12.5" } },
    { "idle.grace_s", { "0", "3" } },
    { "idle.notice.file", { "\"\"", "leave", "'a file'" } },
    { "idle.notice.command", { "\"\"", "\"test -e x: y\"" } },
    { "idle.notice.every_s", { "5", "0.1" } },
};
#define CHOICE_COUNT (sizeof(choices) / sizeof(choices[0]))
/* A prime beyond CHOICE_COUNT: keys that are drawn in steps of it differ. */
#define STRIDE 1009

/* Values that no key takes. */
static const char *const nonsense[] = { "-1",       "[1, [2]]",
                                        "{ a: b }", "1e400",
                                        "maybe",    "99999999999999999999" };

typedef struct drawn {
    char word[WORDS_MAX][160];
    const char *at[WORDS_MAX];
    size_t count;
} drawn_t;

/* Different keys; a wrong value at one of them if `wrong`. */
static drawn_t
draw(uint64_t seed, bool wrong)
{
    oracle_random_t random = { seed * 2654435761u };
    drawn_t drawn = { .count = 1 + oracle_next(&random) % WORDS_MAX };
    size_t first = oracle_next(&random) % CHOICE_COUNT;
    for (size_t k = 0; k < drawn.count; k++) {
        size_t choice = (first + k * STRIDE) % CHOICE_COUNT, values = 0;
        while (values < VALUES_MAX && choices[choice].value[values])
            values++;
        const char *value =
            choices[choice].value[oracle_next(&random) % values];
        if (wrong && k == seed % drawn.count)
            value = nonsense[oracle_next(&random) % 6];
        (void)snprintf(drawn.word[k], sizeof(drawn.word[k]), "%s=%s",
                       choices[choice].path, value);
    }
    return drawn;
}

/* The model of the shortest file with the words laid over it, in their order
 * or from the last to the first; NULL and what is wrong in *said. */
static skn_model_t *
read_words(const drawn_t *drawn, bool backwards, char said[2048])
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_problems_t *problems = skn_problems_new(&error);
    skn_document_t *document =
        skn_document_parse(FIXTURE, strlen(FIXTURE), "m.yaml", problems);
    cr_assert(document);
    said[0] = '\0';
    for (size_t k = 0; k < drawn->count; k++)
        (void)skn_document_set(
            document, drawn->word[backwards ? drawn->count - 1 - k : k],
            problems);
    if (skn_problems_count(problems) == 0)
        (void)skn_model_check(document, &model, problems, &error);
    if (!model)
        (void)snprintf(said, 2048, "%s", skn_problems_text(problems, 0));
    cr_assert_eq(model == NULL, skn_problems_count(problems) > 0);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return model;
}

static char *
text_of(const skn_model_t *model)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_error_t error = { 0 };
    FILE *file = open_memstream(&text, &bytes);
    cr_assert(file);
    cr_assert_eq(skn_model_write(model, file, &error), SKN_OK, "%s",
                 error.text);
    cr_assert_eq(fclose(file), 0);
    return text;
}

Test(contract_models, a_model_prints_as_a_file_of_the_same_model)
{
    size_t taken = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char said[2048];
        drawn_t drawn = draw(seed, false);
        skn_model_t *model = read_words(&drawn, false, said);
        if (!model)
            continue; /* a rule between the keys */
        taken++;
        char *first = text_of(model);
        skn_model_t *again = fixture_good(first);
        char *second = text_of(again);
        cr_assert_str_eq(first, second, "seed %u", (unsigned)seed);
        skn_model_destroy(&again);
        skn_model_destroy(&model);
        free(first);
        free(second);
    }
    /* The generator must not draw what is refused only, nor the opposite. */
    cr_expect(taken > SEEDS / 4 && taken < SEEDS, "%zu taken", taken);
}

Test(contract_models, the_order_of_overrides_of_different_keys_is_nothing)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char said[2048], other[2048];
        drawn_t drawn = draw(seed, false);
        skn_model_t *model = read_words(&drawn, false, said);
        skn_model_t *backwards = read_words(&drawn, true, other);
        cr_assert_eq(model == NULL, backwards == NULL, "seed %u: %s%s",
                     (unsigned)seed, said, other);
        if (model) {
            char *one = text_of(model), *two = text_of(backwards);
            cr_assert_str_eq(one, two, "seed %u", (unsigned)seed);
            free(one);
            free(two);
        }
        skn_model_destroy(&model);
        skn_model_destroy(&backwards);
    }
}

/* Every sentence of an override opens with what was typed. */
Test(contract_models, a_wrong_value_is_named_as_it_was_typed)
{
    size_t refused = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char said[2048];
        drawn_t drawn = draw(seed, true);
        skn_model_t *model = read_words(&drawn, false, said);
        if (model) { /* a text, which takes anything */
            skn_model_destroy(&model);
            continue;
        }
        refused++;
        bool named = false;
        for (size_t k = 0; k < drawn.count; k++) {
            char want[128];
            (void)snprintf(want, sizeof(want), "-o %s", drawn.word[k]);
            named = named || strncmp(said, want, strlen(want)) == 0;
        }
        cr_expect(named, "seed %u: %s", (unsigned)seed, said);
    }
    cr_expect_gt(refused, SEEDS / 2);
}

/* The file that a model prints says the same without any override. */
Test(contract_models, a_value_means_the_same_in_a_file_and_as_an_override)
{
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        char said[2048];
        drawn_t drawn = draw(seed, false), none = { .count = 0 };
        skn_model_t *model = read_words(&drawn, false, said);
        skn_model_t *plain = read_words(&none, false, said);
        cr_assert(plain, "%s", said);
        if (model) {
            /* Laid over the printed model, the words change nothing. */
            skn_error_t error = { 0 };
            char *text = text_of(model);
            skn_model_t *over = NULL;
            skn_problems_t *problems = skn_problems_new(&error);
            skn_document_t *document = skn_document_parse(
                text, strlen(text), "printed.yaml", problems);
            cr_assert(document);
            for (size_t k = 0; k < drawn.count; k++)
                cr_assert_eq(
                    skn_document_set(document, drawn.word[k], problems),
                    SKN_OK);
            (void)skn_model_check(document, &over, problems, &error);
            cr_assert(over, "seed %u: %s", (unsigned)seed,
                      skn_problems_text(problems, 0));
            char *same = text_of(over);
            cr_assert_str_eq(text, same, "seed %u", (unsigned)seed);
            free(same);
            free(text);
            skn_model_destroy(&over);
            skn_document_destroy(&document);
            skn_problems_destroy(&problems);
        }
        skn_model_destroy(&plain);
        skn_model_destroy(&model);
    }
}
