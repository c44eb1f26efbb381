/* test_batch_text.c - tests the batches that are made of text
 * (actors/course/batch_text.c), with a reader and a probe around it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/corpus.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

#define CONTEXT 4
#define BATCH_ROWS 8
#define TEXT_BYTES 90
#define SEQUENCES 22 /* 91 tokens, less the first input: 22.5 contexts */
#define EPOCH 11     /* batches */
#define BATCHES_MAX 64
#define ROWS_MAX 16

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];
static char test_file[TEMP_FOLDER_BYTES + 16];
/* Every token of the text is another one, so that it tells its place. */
static unsigned char text[TEXT_BYTES + 1];

static skn_issue_t issues[BATCHES_MAX];
static struct {
    uint32_t rows, feature[ROWS_MAX], label[ROWS_MAX];
    size_t distinct;
} seen[BATCHES_MAX];
static uint32_t issue_count, batch_count, labels_count;

static void
write_file(const char *path, const void *bytes, size_t count)
{
    FILE *out = fopen(path, "wb");
    cr_assert(out && fwrite(bytes, 1, count, out) == count);
    cr_assert_eq(fclose(out), 0);
}

static skn_status_t
post_issues(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < issue_count && status == SKN_OK; k++)
        status = skn_actor_send(actor, &skn_issue_schema, &issues[k], error);
    skn_actor_finish(actor);
    return status;
}

static void
on_batch(const skn_batch_t *batch)
{
    uint32_t k = batch_count++;
    cr_assert_eq(batch->rows, seen[k].rows); /* its labels came before */
    for (uint32_t i = 0; i < batch->rows; i++) {
        cr_expect_eq(batch->offset.at[i], i);
        cr_expect_eq(batch->value.at[i], 1);
        seen[k].feature[i] = batch->feature.at[i];
    }
    seen[k].distinct = batch->distinct.count;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    (void)actor, (void)error;
    if (schema == &skn_batch_schema) {
        on_batch(message);
        return SKN_OK;
    }
    const skn_labels_t *labels = message;
    seen[labels_count].rows = labels->rows;
    for (uint32_t i = 0; i < labels->rows; i++) {
        cr_expect_eq(labels->offset.at[i + 1], i + 1);
        seen[labels_count].label[i] = labels->label.at[i];
    }
    labels_count++;
    return SKN_OK;
}

static void
set_up(void)
{
    static const char *const options[][2] = {
        { "tokens", "true" }, { "cache", "none" },   { "features", "257" },
        { "labels", "257" },  { "batch_rows", "8" }, { "context", "4" },
        { "validate", "0" },  { "seed", "5" },
    };
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/text", folder);
    (void)snprintf(test_file, sizeof(test_file), "%s/test", folder);
    for (uint32_t k = 0; k < TEXT_BYTES; k++)
        text[k] = (unsigned char)(k + 1);
    write_file(file, text, TEXT_BYTES);
    memset(&probe, 0, sizeof(probe));
    issue_count = batch_count = labels_count = 0;
    probe.kind = &skn_reader;
    probe.start = post_issues;
    probe.react = react;
    probe.to[0] = "issue";
    probe.from[0] = "labels";
    probe.from[1] = "batch";
    probe_option("train", file);
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        probe_option(options[k][0], options[k][1]);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(batch_text, .init = set_up, .fini = tear_down, .timeout = 60);

static uint64_t
hash_of(const char *train, const char *test)
{
    const skn_corpus_t how = { .tokenizer = "bytes", .cache = "none" };
    const char *const paths[] = { train, test };
    uint64_t hash = 0;
    for (size_t k = 0; k < 2 && paths[k]; k++) {
        skn_tokens_t *tokens;
        cr_assert_eq(
            skn_corpus_open(&how, paths[k], "train", NULL, &tokens, NULL),
            SKN_OK);
        hash = skn_corpus_hash(hash, tokens);
        skn_tokens_close(&tokens);
    }
    return hash;
}

/* Makes the batches [first, end) of a purpose, with the test text or none. */
static void
run(uint64_t first, uint64_t end, uint32_t purpose, const char *test)
{
    uint64_t data = hash_of(file, test);
    issue_count = batch_count = labels_count = 0;
    if (test)
        probe_option("test", test);
    for (uint64_t k = first; k < end; k++)
        issues[issue_count++] = (skn_issue_t){
            .batch = k, .horizon = k, .purpose = purpose, .data = data
        };
    probe_run_well();
    cr_assert_eq(batch_count, end - first);
    cr_assert_eq(labels_count, end - first);
}

/* The sequence at `row` of batch k, which must be one of the text: inputs and
 * targets are consecutive tokens. */
static uint32_t
sequence_at(uint32_t k, uint32_t row)
{
    uint32_t first = seen[k].feature[row] - 1;
    cr_assert_eq(first % CONTEXT, 0u);
    for (uint32_t i = 0; i < CONTEXT; i++) {
        uint32_t next = first + i + 2 > TEXT_BYTES ? 256 : first + i + 2;
        cr_assert_eq(seen[k].feature[row + i], first + i + 1);
        cr_assert_eq(seen[k].label[row + i], next);
    }
    return first / CONTEXT;
}

Test(batch_text, each_sequence_comes_once_an_epoch_with_the_next_ids)
{
    run(0, 2 * EPOCH, SKN_PURPOSE_TRAIN, NULL);
    uint32_t order[2][2 * EPOCH];
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        bool is_met[SEQUENCES] = { false };
        for (uint32_t k = 0; k < 2 * EPOCH; k++) {
            uint32_t batch = epoch * EPOCH + k / 2;
            cr_assert_eq(seen[batch].rows, BATCH_ROWS);
            cr_expect_eq(seen[batch].distinct, BATCH_ROWS);
            uint32_t sequence = sequence_at(batch, k % 2 * CONTEXT);
            cr_expect(!is_met[sequence]);
            is_met[sequence] = true;
            order[epoch][k] = sequence;
        }
    }
    cr_expect_neq(memcmp(order[0], order[1], sizeof(order[0])), 0);
}

Test(batch_text, the_order_follows_from_seed_and_batch)
{
    static const char *const seeds[] = { "5", "5", "6" };
    uint32_t first[BATCH_ROWS];
    for (int turn = 0; turn < 3; turn++) {
        probe_option("seed", seeds[turn]);
        run(turn == 1 ? 3 : 0, 4, SKN_PURPOSE_TRAIN, NULL);
        const uint32_t *last = seen[batch_count - 1].feature;
        if (turn > 0)
            cr_expect_eq(memcmp(first, last, sizeof(first)) == 0, turn == 1);
        memcpy(first, last, sizeof(first));
    }
}

Test(batch_text, training_drops_what_fills_no_batch)
{
    probe_option("batch_rows", "12");
    /* 22 sequences, 3 a batch: 7 batches, then another epoch. */
    run(0, 7, SKN_PURPOSE_TRAIN, NULL);
    for (uint32_t k = 0; k < 7; k++)
        cr_expect_eq(seen[k].rows, 12u);
}

Test(batch_text, an_epoch_is_a_multiple_of_the_batches_of_a_step)
{
    uint32_t plain[BATCH_ROWS], stepped[BATCH_ROWS];
    run(0, EPOCH, SKN_PURPOSE_TRAIN, NULL);
    memcpy(plain, seen[EPOCH - 2].feature, sizeof(plain));
    memcpy(stepped, seen[EPOCH - 1].feature, sizeof(stepped));
    probe_option("accumulate", "2"); /* 10 batches, then another epoch */
    run(0, EPOCH, SKN_PURPOSE_TRAIN, NULL);
    cr_expect_arr_eq(seen[EPOCH - 2].feature, plain, sizeof(plain));
    cr_expect_neq(memcmp(seen[EPOCH - 1].feature, stepped, sizeof(stepped)), 0);
}

Test(batch_text, evaluations_are_in_order_with_a_short_last_batch)
{
    write_file(test_file, text, 30); /* 31 tokens: 7 sequences */
    run(0, 4, SKN_PURPOSE_TEST, test_file);
    for (uint32_t k = 0; k < 7; k++) {
        cr_assert_eq(seen[k / 2].rows, k / 2 < 3 ? BATCH_ROWS : CONTEXT);
        cr_expect_eq(seen[k / 2].feature[k % 2 * CONTEXT], 1 + (k * CONTEXT));
        cr_expect_eq(seen[k / 2].distinct, 0u);
    }
    probe_option("test_rows", "9"); /* tokens: 3 sequences have them */
    run(0, 2, SKN_PURPOSE_TEST, test_file);
    cr_expect_eq(seen[1].rows, CONTEXT);
}

/* Blocks of 64 contexts of one token. */
Test(batch_text, validation_text_is_held_back)
{
    bool is_trained[257] = { false };
    unsigned char long_text[640];
    for (size_t k = 0; k < sizeof(long_text); k++)
        long_text[k] = (unsigned char)(1 + k / 64);
    write_file(file, long_text, sizeof(long_text));
    probe_option("context", "1");
    probe_option("validate", "0.2");
    run(0, 60, SKN_PURPOSE_TRAIN, NULL);
    for (uint32_t k = 0; k < 60; k++)
        for (uint32_t i = 0; i < BATCH_ROWS; i++)
            is_trained[seen[k].feature[i]] = true;
    run(0, 15, SKN_PURPOSE_VALIDATE, NULL);
    for (uint32_t k = 0; k < 15; k++)
        for (uint32_t i = 0; i < seen[k].rows; i++)
            cr_expect(!is_trained[seen[k].feature[i]]);
}

static void
expect_refused(skn_status_t status, const char *sentence)
{
    issues[0] = (skn_issue_t){ .data = 0 };
    issue_count = 1;
    probe_run();
    cr_expect_eq(probe.status, status);
    cr_expect(strstr(probe.error.text, sentence), "%s", probe.error.text);
}

Test(batch_text, what_does_not_fit_is_refused)
{
    probe_option("context", "3");
    expect_refused(SKN_BAD_CONFIG, "a batch of 8 tokens is not a whole number "
                                   "of sequences of 3");
    probe_option("context", "4");
    probe_option("labels", "300");
    expect_refused(SKN_BAD_DATA, "its tokenizer has 257 tokens, but the model "
                                 "has 300");
    probe_option("labels", "257");
    probe_option("accumulate", "12");
    expect_refused(SKN_BAD_DATA, "an epoch has 11 batches, fewer than the 12 "
                                 "of a step");
    probe_option("accumulate", "1");
    probe_option("batch_rows", "200");
    expect_refused(SKN_BAD_DATA, "an epoch has no whole batch");
    probe_option("context", "100");
    expect_refused(SKN_BAD_DATA, "91 tokens are fewer than one sequence");
    probe_option("tokenizer", "nonsense");
    expect_refused(SKN_NO_INPUT, "nonsense: no such file");
}
