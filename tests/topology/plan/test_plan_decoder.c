/* test_plan_decoder.c - tests the plan of a decoder: its choices, its wiring,
 * and that a run of it has the same bits for every number of stages. Covers
 * topology/plan/plan_decoder_wire.c too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/corpus.h"
#include "tests/topology/plan/decoder_runs.h"
#include "topology/plan/plan_internal.h"

TestSuite(plan_decoder, .init = set_up, .fini = tear_down, .timeout = 120);

static double
number_in(const char *event, const char *key)
{
    const char *at = strstr(event, key);
    cr_assert(at, "%s has no %s", event, key);
    return strtod(at + strlen(key), NULL);
}

Test(plan_decoder, what_is_left_open_follows_from_the_file_and_the_cores)
{
    skn_model_run_t run = open_run(NULL, 0);
    const skn_plan_t *plan = &run.plan;
    cr_expect_eq(plan->model->decoder.inner, 96, "8/3 of 32, in steps of 32");
    cr_expect_eq(plan->model->decoder.stages, 2, "one a core");
    cr_expect_eq(plan->accumulate, 4);
    cr_expect_eq(plan->flights, 2, "one a stage, without a link");
    cr_expect_eq(plan->data.labels, 257);
    cr_expect_eq(plan->batches_per_epoch % 4, 0);
    cr_expect_eq(plan->total_batches, 24);
    cr_expect_eq(plan->parameters,
                 2 * 257 * 32 + 32 * (4 * (2 + 4 * 32 + 3 * 96) + 1));
    skn_model_run_close(&run);
}

/* Without a cache, each open would read and cut the text again. */
Test(plan_decoder, the_text_is_cut_into_tokens_once)
{
    char path[TEMP_FOLDER_BYTES + 16];
    skn_model_run_t run = open_run(NULL, 0);
    skn_corpus_t corpus = { "bytes", 32768, "none" };
    skn_tokens_t *tokens = NULL;
    skn_error_t error = { 0 };
    (void)snprintf(path, sizeof(path), "%s/text.txt", folder);
    cr_assert_eq(skn_corpus_open(&corpus, path, "train", NULL, &tokens, &error),
                 SKN_OK, "%s", error.text);
    cr_expect_eq(tokens, run.texts.train, "as the source does it");
    skn_tokens_close(&tokens);
    skn_model_run_close(&run);
}

Test(plan_decoder, micro_batches_are_whole_sequences_that_divide_a_step)
{
    static const struct {
        const char *words[3];
        int64_t micro, step;
        const char *why;
    } cases[] = {
        /* About 16,000 tokens are trained on. */
        { { "data.context=32", "train.batch_tokens=auto" }, 2048, 0, "2,048" },
        { { "data.context=96", "train.batch_tokens=auto" }, 2016, 0, "2,048" },
        { { "data.context=4096", "train.batch_tokens=auto",
            "train.validate=0" },
          4096,
          0,
          "a sequence" },
        { { "data.context=32", "train.batch_tokens=8192" },
          2048,
          8192,
          "2,048" },
        { { "data.context=32", "train.batch_tokens=3072" },
          1536,
          3072,
          "divide" },
        { { "data.context=32", "train.batch_tokens=2144" },
          32,
          2144,
          "no more sequences divide" }, /* 67 sequences */
        { { "data.context=32", "train.batch_tokens=64" }, 64, 64, "at most" },
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const char *words[4] = { "train.micro_tokens=auto" };
        size_t count = 1;
        for (size_t n = 0; n < 3 && cases[k].words[n]; n++)
            words[count++] = cases[k].words[n];
        skn_model_run_t run = open_run(words, count);
        const skn_model_train_t *train = &run.plan.model->train;
        cr_expect_eq(train->micro_tokens, cases[k].micro, "case %zu: %lld", k,
                     (long long)train->micro_tokens);
        cr_expect_eq(train->batch_tokens % cases[k].micro, 0);
        if (cases[k].step > 0)
            cr_expect_eq(train->batch_tokens, cases[k].step);
        const skn_reason_t *reason =
            skn_reasons_find(&run.plan.reasons, "train.micro_tokens");
        cr_assert(reason);
        cr_expect(strstr(skn_reason_why(reason), cases[k].why), "case %zu: %s",
                  k, skn_reason_why(reason));
        skn_model_run_close(&run);
    }
}

Test(plan_decoder, a_step_is_no_longer_than_the_text)
{
    skn_model_run_t run = open_run(NULL, 0);
    skn_model_t model = *run.plan.model;
    skn_error_t error = { 0 };
    model.train.batch_tokens = 128 * 126; /* of 125.x micro-batches */
    cr_expect_eq(skn_plan_auto_decoder(&run.plan, &model, &error),
                 SKN_BAD_DATA);
    cr_expect(strstr(error.text, "text.txt: "), "%s", error.text);
    cr_expect(strstr(error.text, "fewer than a step, which has 16128"), "%s",
              error.text);
    skn_model_run_close(&run);
}

Test(plan_decoder, inner_is_never_more_than_a_layer_may_have)
{
    skn_model_run_t run = open_run(NULL, 0);
    skn_model_t model = *run.plan.model;
    model.decoder.width = 32768;
    model.decoder.inner = SKN_AUTO;
    cr_assert_eq(skn_plan_auto_decoder(&run.plan, &model, NULL), SKN_OK);
    cr_expect_eq(model.decoder.inner, SKN_HIDDEN_MAX);
    skn_model_run_close(&run);
}

Test(plan_decoder, a_stage_has_no_more_weights_than_a_message)
{
    skn_model_run_t run = open_run(NULL, 0);
    skn_model_t model = *run.plan.model;
    skn_error_t error = { 0 };
    cr_expect_eq(skn_plan_check_gradients(&run.plan, &error), SKN_OK);
    model.decoder.width = 16384; /* four matrices are 2^30 weights */
    run.plan.model = &model;
    cr_expect_eq(skn_plan_check_gradients(&run.plan, &error), SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "a stage of the decoder would have "), "%s",
              error.text);
    cr_expect(strstr(error.text, " weights, at most 1073741824 fit into the "
                                 "message of its gradient"),
              "%s", error.text);
    cr_expect_str_eq(error.hint,
                     "increase model.stages, or make the model narrower");
    skn_model_run_close(&run);
}

/* Trains, and gives the hash of the weights that the run ended with. */
static void
sha256_of(const char *const *words, size_t count, char sha256[65])
{
    static char event[EVENT_BYTES];
    train(words, count, "\"done\"", event);
    const char *at = strstr(event, "weights_sha256\":\"");
    cr_assert(at, "%s", event);
    memcpy(sha256, at + strlen("weights_sha256\":\""), 64);
    sha256[64] = '\0';
}

Test(plan_decoder, a_run_has_the_same_bits_for_every_number_of_stages)
{
    static const char *const counts[] = { "model.stages=1", "model.stages=2",
                                          "model.stages=3", "model.stages=4" };
    char want[65], got[65];
    sha256_of(&counts[0], 1, want);
    for (size_t k = 1; k < 4; k++) {
        sha256_of(&counts[k], 1, got);
        cr_expect_str_eq(got, want, "%s", counts[k]);
    }
}

Test(plan_decoder, what_is_recomputed_has_the_same_bits)
{
    static const char *const none[] = { "train.recompute=none" };
    static const char *const words[] = { "train.recompute=layer",
                                         "model.stages=1", "model.stages=3" };
    char want[65], got[65];
    sha256_of(none, 1, want);
    for (size_t k = 1; k < 3; k++) {
        const char *const both[] = { words[0], words[k] };
        sha256_of(both, 2, got);
        cr_expect_str_eq(got, want, "%s", words[k]);
    }
}

static skn_plan_t
plan_with(const char *const *words, size_t count)
{
    skn_model_run_t run = open_run(words, count);
    skn_plan_t plan = run.plan;
    skn_model_run_close(&run);
    return plan;
}

/* Instead of 4 layers' arrays, each at least 17 times as large as x, 3 inputs
 * are kept, one layer's arrays and one x. */
Test(plan_decoder, layers_are_recomputed_where_memory_is_short_and_keep_less)
{
    static const char *words[] = { "model.stages=1", "train.recompute=none",
                                   "train.micro_tokens=512", NULL };
    char memory[48];
    skn_plan_t all = plan_with(words, 3), few;
    words[1] = "train.recompute=layer";
    few = plan_with(words, 3);
    size_t x = 512 * 32 * sizeof(float);
    double fell = (double)(all.memory_bytes - few.memory_bytes) / (double)x;
    cr_expect(fell > 3 * 17 - 4 && fell < 3 * 24 - 4, "%g", fell);
    words[1] = "train.recompute=auto";
    (void)snprintf(memory, sizeof(memory), "resources.memory=%llu",
                   (unsigned long long)all.memory_bytes);
    words[3] = memory;
    cr_expect_eq(plan_with(words, 4).memory_bytes, all.memory_bytes);
    words[1] = "train.optimizer.offload=none";
    (void)snprintf(memory, sizeof(memory), "resources.memory=%llu",
                   (unsigned long long)all.memory_bytes - 1);
    cr_expect_eq(plan_with(words, 4).memory_bytes, few.memory_bytes);
}

/* With such a rate the first step makes weights whose products overflow. */
Test(plan_decoder, a_run_whose_gradients_are_not_finite_skips_steps_and_ends)
{
    static char line[EVENT_BYTES];
    static const char *const words[] = { "train.optimizer.kind=sgd",
                                         "train.optimizer.rate=100",
                                         "train.optimizer.weight_decay=1",
                                         "train.clip_norm=1e9",
                                         "train.steps=60",
                                         "model.head.init_std=10" };
    skn_model_run_t run = open_run(words, 6);
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_error_t error = { 0 };
    uint32_t skipped = 0;
    cr_assert_eq(skn_topology_start(run.topology, &options, &error), SKN_OK,
                 "%s", error.text);
    while (skn_topology_event(run.topology, -1, line, sizeof(line), &error) ==
           SKN_OK)
        skipped += strstr(line, "\"skipped\"") != NULL;
    cr_expect_eq(skn_topology_wait(run.topology, &error), SKN_DIVERGED, "%s",
                 error.text);
    cr_expect(strstr(error.text, "is not finite, for 3 steps in a row"), "%s",
              error.text);
    cr_expect_eq(skipped, 2);
    skn_model_run_close(&run);
}

/* The most batches that any stage held, as the report says it. */
static uint64_t
most_held(const skn_topology_t *topology)
{
    char *text = NULL;
    size_t bytes = 0;
    uint64_t most = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert(out);
    skn_topology_report(topology, true, out);
    cr_assert_eq(fclose(out), 0);
    for (const char *at = text; (at = strstr(at, "\"stage.")); at++) {
        uint64_t held = (uint64_t)number_in(at, "\"held_max\":");
        most = held > most ? held : most;
    }
    free(text);
    return most;
}

Test(plan_decoder, a_stage_holds_no_more_micro_batches_than_are_in_flight)
{
    static const char *const counts[] = { "model.stages=1", "model.stages=3" };
    static char line[EVENT_BYTES];
    for (size_t k = 0; k < 2; k++) {
        skn_model_run_t run = open_run(&counts[k], 1);
        skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
        skn_error_t error = { 0 };
        cr_assert_eq(skn_topology_start(run.topology, &options, &error), SKN_OK,
                     "%s", error.text);
        while (skn_topology_event(run.topology, -1, line, sizeof(line),
                                  &error) == SKN_OK)
            ;
        cr_assert_eq(skn_topology_wait(run.topology, &error), SKN_OK);
        uint64_t held = most_held(run.topology);
        cr_expect_geq(held, 1);
        cr_expect_leq(held, run.plan.flights);
        skn_model_run_close(&run);
    }
}

/* Uniform guessing costs ln 257 = 5.55 nats. */
Test(plan_decoder, a_small_decoder_learns_its_text)
{
    static char event[EVENT_BYTES];
    static const char *const words[] = { "train.steps=60",
                                         "train.optimizer.rate=0.01",
                                         "train.micro_tokens=512" };
    train(words, 3, "\"done\"", event);
    cr_expect_lt(number_in(event, "\"loss\":"), 2.5, "%s", event);
}

/* The same text is as hard the second time. */
Test(plan_decoder, a_test_text_is_counted_and_evaluated)
{
    static char event[EVENT_BYTES];
    static const char *words[] = { "train.validate=0", NULL };
    char path[TEMP_FOLDER_BYTES + 32];
    skn_plan_t without = plan_with(words, 1);
    (void)snprintf(path, sizeof(path), "data.test=%s/text.txt", folder);
    words[1] = path;
    skn_plan_t with = plan_with(words, 2);
    cr_expect_eq(with.data.test_points, with.data.train_points);
    cr_expect_gt(with.memory_bytes, without.memory_bytes);
    cr_expect_neq(with.data.content_hash, without.data.content_hash);
    train(words, 2, "\"done\"", event);
    double loss = number_in(event, "\"loss\":");
    double nats = number_in(event, "\"test_nats\":");
    cr_expect(nats < loss && nats > 0, "%s", event);
}

Test(plan_decoder, a_test_text_that_cannot_be_read_is_refused)
{
    skn_error_t error = { 0 };
    skn_model_t model = { .decoder.kind = SKN_MODEL_DECODER };
    cr_expect_eq(skn_plan_look(&model, "/no such text", &error), SKN_NO_INPUT);
    cr_expect_eq(skn_plan_look(&model, "", &error), SKN_OK);
}

/* The file of the training text that is refused would have the tokenizer. */
Test(plan_decoder, a_test_text_may_be_a_token_file_of_words)
{
    char text[TEMP_FOLDER_BYTES + 16], path[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    skn_tokens_t *tokens;
    skn_model_t model = { .decoder.kind = SKN_MODEL_DECODER };
    (void)snprintf(text, sizeof(text), "%s/text.txt", folder);
    (void)snprintf(path, sizeof(path), "%s/test.skt", folder);
    const skn_tokens_options_t options = { .cache = SKN_CACHE_PATH,
                                           .cache_path = path,
                                           .kind = SKN_TOKENIZER_WORDS,
                                           .vocabulary = 300 };
    cr_assert_eq(skn_tokens_open(text, &options, &tokens, &error), SKN_OK, "%s",
                 error.text);
    skn_tokens_close(&tokens);
    cr_expect_eq(skn_plan_look(&model, path, &error), SKN_OK, "%s", error.text);
}

Test(plan_decoder, text_that_is_held_back_is_evaluated_within_an_epoch)
{
    static char event[EVENT_BYTES];
    static const char *const words[] = { "train.evaluate.every_steps=2" };
    train(words, 1, "\"validation\"", event);
    double nats = number_in(event, "\"validation_nats\":");
    double bits = number_in(event, "\"bits_per_byte\":");
    cr_expect_eq(number_in(event, "\"batch\":"), 16, "%s", event);
    cr_expect_gt(nats, 0);
    cr_expect_float_eq(bits, nats / 0.693147, 0.01, "a token is a byte");
    train(words, 1, "\"done\"", event);
    cr_expect_gt(number_in(event, "\"tokens_per_s\":"), 0);
    cr_expect_gt(number_in(event, "\"validation_nats\":"), 0);
}

/* train.evaluate.rows is of the test text alone. */
Test(plan_decoder, bytes_of_a_token_are_those_of_all_that_is_held_back)
{
    static const char *const words[] = { "data.tokenizer=words",
                                         "data.vocabulary=300",
                                         "train.evaluate.rows=1" };
    skn_plan_t all = plan_with(words, 2), few = plan_with(words, 3);
    cr_expect_gt(all.data.bytes_per_token, 1);
    cr_expect_eq(few.data.bytes_per_token, all.data.bytes_per_token);
}
