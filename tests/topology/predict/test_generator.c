/* test_generator.c - tests that a decoder that was trained continues text,
 * measures it as its training does, and is exported.
 *
 * Covers topology/predict/generator.c, topology/predict/generator_score.c and
 * topology/predict/generator_export.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/faults.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"
#include "skein/inspection.h"
#include "topology/host/host.h"
#include "topology/predict/generator_internal.h"
#include "topology/run/model_run.h"
#include "topology/run/resume.h"

#define EVENT_BYTES 65536
#define CONTEXT 16u

static char folder[TEMP_FOLDER_BYTES], run_path[TEMP_FOLDER_BYTES + 16];
static double validation_nats;

static FILE *
create(const char *name)
{
    char path[TEMP_FOLDER_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    return file;
}

/* 8,000 characters of words, and a small decoder of their words or bytes. */
static void
write_files(const char *tokenizer)
{
    static const char *const words[] = { "stage",     "layer", "of ",   "the ",
                                         "gradient ", ".\n",   "token " };
    oracle_random_t random = { 5 };
    temp_folder_make(folder);
    (void)snprintf(run_path, sizeof(run_path), "%s/run", folder);
    FILE *file = create("text.txt");
    while (ftell(file) < 8000)
        (void)fputs(words[oracle_next(&random) % 7], file);
    cr_assert_eq(fclose(file), 0);
    file = create("m.yaml");
    (void)fprintf(file,
                  "skein: 1\n"
                  "data: { train: text.txt, context: %u, cache: none,\n"
                  "        tokenizer: %s }\n"
                  "model: { kind: decoder, layers: 2, width: 32, heads: 2 }\n"
                  "train: { micro_tokens: 128, batch_tokens: 256, steps: 12,\n"
                  "         validate: 0.2, optimizer: { rate: 0.01 } }\n"
                  "resources: { huge_pages: false, cores: 1 }\n",
                  CONTEXT, tokenizer);
    cr_assert_eq(fclose(file), 0);
}

static void
train(const char *tokenizer)
{
    static char line[EVENT_BYTES], run_id[64];
    char path[TEMP_FOLDER_BYTES + 16];
    skn_error_t error = { 0 };
    skn_model_run_t run = { 0 };
    write_files(tokenizer);
    (void)snprintf(path, sizeof(path), "%s/m.yaml", folder);
    skn_problems_t *problems = skn_problems_new(&error);
    skn_model_run_options_t options = { .path = path,
                                        .run_path = run_path,
                                        .run_id = run_id };
    skn_status_t status = skn_model_run_open(&run, &options, problems, &error);
    cr_assert_eq(status, SKN_OK, "%s", error.text);
    skn_problems_destroy(&problems);
    skn_start_options_t start = SKN_START_OPTIONS(.no_binding = true);
    cr_assert_eq(skn_topology_start(run.topology, &start, &error), SKN_OK, "%s",
                 error.text);
    while (skn_topology_event(run.topology, -1, line, sizeof(line), &error) ==
           SKN_OK) {
        const char *at = strstr(line, "\"validation_nats\":");
        if (at)
            validation_nats = strtod(strchr(at, ':') + 1, NULL);
    }
    cr_assert_eq(skn_topology_wait(run.topology, &error), SKN_OK, "%s",
                 error.text);
    skn_model_run_close(&run);
}

static skn_generator_t *
open_generator(void)
{
    skn_error_t error = { 0 };
    skn_generator_t *generator = skn_generator_open(run_path, NULL, &error);
    cr_assert(generator, "%s", error.text);
    return generator;
}

static void
tear_down(void)
{
    if (folder[0])
        temp_folder_remove(folder);
}

TestSuite(generator, .fini = tear_down, .timeout = 120);

/* The likeliest token after `count` ids, in one pass over all of them. */
static uint32_t
likeliest(skn_generator_t *generator, const uint32_t *id, uint32_t count)
{
    skn_decoder_reader_t *reader = &generator->reader;
    const skn_token_choice_t greedy = { 0 };
    reader->count = 0;
    skn_decoder_read(reader, id, count);
    skn_decoder_logits(reader, count - 1, 1, generator->logits);
    return skn_token_choose(&greedy, 0, generator->logits, generator->info.ids,
                            generator->room);
}

Test(generator, greedy_text_is_that_of_passes_over_the_whole_text)
{
    static const char prompt[] = "the ";
    const skn_token_choice_t greedy = { 0 };
    skn_error_t error = { 0 };
    uint32_t id[64], count = 4;
    uint64_t read, dropped;
    train("bytes");
    skn_generator_t *generator = open_generator();
    skn_generator_t *other = open_generator();
    for (uint32_t k = 0; k < count; k++)
        id[k] = (uint8_t)prompt[k];
    cr_assert_eq(
        skn_generator_prompt(generator, prompt, count, &read, &dropped, &error),
        SKN_OK);
    cr_expect_eq(read, 4);
    cr_expect_eq(dropped, 0);
    for (uint32_t begin = 0; count < 40; count++) {
        skn_generated_t token;
        cr_assert_eq(skn_generator_next(generator, &greedy, &token, &error),
                     SKN_OK, "%s", error.text);
        /* The older half goes when there is no room for another one. */
        if (count - begin > CONTEXT)
            begin += CONTEXT - CONTEXT / 2;
        cr_assert_eq(token.id, likeliest(other, id + begin, count - begin),
                     "token %u", count);
        cr_expect_eq(token.is_end, token.id == SKN_TOKEN_END);
        cr_expect_eq(token.bytes, token.is_end ? 0 : 1);
        id[count] = token.id;
    }
    skn_generator_close(&generator);
    skn_generator_close(&other);
}

Test(generator, a_prompt_is_cut_to_the_context_and_may_be_empty)
{
    const skn_token_choice_t greedy = { 0 };
    skn_error_t error = { 0 };
    skn_generated_t token, same;
    uint64_t read, dropped;
    train("bytes");
    skn_generator_t *generator = open_generator();
    cr_assert_eq(skn_generator_prompt(generator, "what is cut the gradient of",
                                      27, &read, &dropped, &error),
                 SKN_OK);
    cr_expect_eq(read, 27);
    cr_expect_eq(dropped, 27 - CONTEXT);
    cr_assert_eq(skn_generator_next(generator, &greedy, &token, &error),
                 SKN_OK);
    cr_assert_eq(skn_generator_prompt(generator, " the gradient of", 16, &read,
                                      &dropped, &error),
                 SKN_OK);
    cr_expect_eq(dropped, 0);
    cr_assert_eq(skn_generator_next(generator, &greedy, &same, &error), SKN_OK);
    cr_expect_eq(same.id, token.id);
    cr_assert_eq(
        skn_generator_prompt(generator, "", 0, &read, &dropped, &error),
        SKN_OK);
    cr_expect_eq(read, 0);
    cr_expect_eq(generator->window[0], SKN_TOKEN_END);
    skn_generator_close(&generator);
}

Test(generator, scores_the_validation_part_as_the_training_does)
{
    skn_error_t error = { 0 };
    skn_text_score_t score;
    train("bytes");
    skn_generator_t *generator = open_generator();
    cr_assert_eq(skn_generator_score(generator, NULL, &score, &error), SKN_OK,
                 "%s", error.text);
    cr_expect(score.is_validation);
    cr_expect_gt(score.tokens, 1000);
    cr_expect_leq(score.bytes, score.tokens, "the end of a text has none");
    cr_expect_lt(score.nats, log(257));
    cr_expect_float_eq(score.nats, validation_nats, 1e-5, "%g, not %g",
                       score.nats, validation_nats);
    cr_expect_float_eq(score.perplexity, exp(score.nats), 1e-9);
    skn_generator_close(&generator);
}

Test(generator, words_are_those_of_the_training_without_its_text)
{
    char path[TEMP_FOLDER_BYTES + 32];
    const skn_token_choice_t greedy = { 0 };
    skn_error_t error = { 0 };
    skn_generated_t token;
    uint64_t read, dropped;
    train("words");
    (void)snprintf(path, sizeof(path), "%s/text.txt", folder);
    cr_assert_eq(remove(path), 0);
    skn_generator_t *generator = open_generator();
    cr_expect_gt(generator->info.ids, SKN_TOKEN_WORDS + 4);
    cr_assert_eq(
        skn_generator_prompt(generator, "of the", 6, &read, &dropped, &error),
        SKN_OK);
    cr_expect_lt(read, 6, "words are tokens");
    cr_assert_eq(skn_generator_next(generator, &greedy, &token, &error),
                 SKN_OK);
    skn_generator_close(&generator);
    (void)snprintf(path, sizeof(path), "%s/tokenizer", run_path);
    cr_assert_eq(remove(path), 0);
    cr_expect_null(skn_generator_open(run_path, NULL, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    cr_expect(strstr(error.text, "tokenizer"), "%s", error.text);
}

/* Writes `read` with its words in the opposite order. */
static void
write_reversed(const char *path, const skn_tokenizer_t *read)
{
    skn_error_t error = { 0 };
    uint32_t count = skn_tokenizer_ids(read) - SKN_TOKEN_WORDS;
    uint32_t *offset = calloc(count + 1, sizeof(*offset));
    char *text = malloc(8000);
    size_t bytes;
    cr_assert(offset && text && count > 1);
    for (uint32_t k = 0; k < count; k++) {
        const char *word =
            skn_tokenizer_text(read, SKN_TOKEN_WORDS + count - 1 - k, &bytes);
        memcpy(text + offset[k], word, bytes);
        offset[k + 1] = offset[k] + (uint32_t)bytes;
    }
    skn_tokenizer_t *other = skn_tokenizer_new(path, SKN_TOKENIZER_WORDS, text,
                                               offset, count, &error);
    cr_assert(other, "%s", error.text);
    char *form = skn_tokenizer_write(other, &bytes);
    FILE *file = fopen(path, "w");
    cr_assert(form && file);
    cr_assert_eq(fwrite(form, 1, bytes, file), bytes);
    cr_assert_eq(fclose(file), 0);
    skn_tokenizer_destroy(&other);
    free(form);
    free(text);
    free(offset);
}

Test(generator, the_tokenizer_of_another_run_is_refused_and_inspected)
{
    char path[TEMP_FOLDER_BYTES + 32];
    skn_error_t error = { 0 };
    train("words");
    (void)snprintf(path, sizeof(path), "%s/tokenizer", run_path);
    skn_tokenizer_t *own = skn_tokenizer_open(path, &error);
    cr_assert(own, "%s", error.text);
    skn_inspection_t *inspection = skn_inspection_open(run_path, &error);
    cr_assert(inspection, "%s", error.text);
    cr_expect_not(skn_inspection_info(inspection)->is_damaged);
    skn_inspection_close(&inspection);
    write_reversed(path, own);
    skn_tokenizer_destroy(&own);
    cr_expect_null(skn_generator_open(run_path, NULL, &error));
    cr_expect_eq(error.status, SKN_BAD_DATA);
    cr_expect(strstr(error.text, "that of another run"), "%s", error.text);
    inspection = skn_inspection_open(run_path, &error);
    cr_assert(inspection, "%s", error.text);
    cr_expect(skn_inspection_info(inspection)->is_damaged);
    skn_inspection_close(&inspection);
    /* A run of an older version does not say which one it had. */
    cr_expect(skn_resume_is_same("skein: 1\n", SKN_RESUME_TOKENIZER, 1));
}

/* Scores a text of `bytes` bytes, and expects that all of its tokens but the
 * first are predicted: the end of the text, too. */
static void
expect_scored(skn_generator_t *generator, size_t bytes)
{
    char path[TEMP_FOLDER_BYTES + 32];
    skn_error_t error = { 0 };
    skn_text_score_t score;
    FILE *file = create("new.txt");
    for (size_t k = 0; k < bytes; k++)
        (void)fputc("of the token "[k % 13], file);
    cr_assert_eq(fclose(file), 0);
    (void)snprintf(path, sizeof(path), "%s/new.txt", folder);
    cr_expect_eq(skn_generator_score(generator, path, &score, &error), SKN_OK,
                 "%s", error.text);
    cr_expect_eq(score.tokens, bytes, "of %zu bytes", bytes);
    cr_expect_eq(score.bytes, bytes - 1, "of %zu bytes", bytes);
    cr_expect(score.nats > 0 && score.nats < 2 * log(257), "%g", score.nats);
}

Test(generator, scores_all_of_a_text_however_short_it_is)
{
    static const size_t bytes[] = { 1,       2,           CONTEXT - 1,
                                    CONTEXT, CONTEXT + 1, 2 * CONTEXT };
    train("bytes");
    skn_generator_t *generator = open_generator();
    for (size_t k = 0; k < sizeof(bytes) / sizeof(bytes[0]); k++)
        expect_scored(generator, bytes[k]);
    skn_generator_close(&generator);
}

/* After a score the generator has no text to continue, until a prompt comes. */
Test(generator, a_score_ends_the_text_in_work)
{
    const skn_token_choice_t greedy = { 0 };
    skn_error_t error = { 0 };
    skn_generated_t token;
    uint64_t count, dropped;
    train("bytes");
    skn_generator_t *generator = open_generator();
    cr_assert_eq(
        skn_generator_prompt(generator, "of", 2, &count, &dropped, &error),
        SKN_OK);
    cr_assert_eq(skn_generator_next(generator, &greedy, &token, &error),
                 SKN_OK);
    expect_scored(generator, CONTEXT);
    cr_expect_eq(skn_generator_next(generator, &greedy, &token, &error),
                 SKN_USAGE);
    skn_generator_close(&generator);
}

Test(generator, a_run_continues_with_its_own_tokenizer_alone)
{
    const skn_from_t newest = { 0 };
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_resume_t resume;
    train("bytes");
    cr_assert_eq(skn_resume_from(run_path, &newest, &resume, &error), SKN_OK);
    skn_run_folder_t *run = skn_run_folder_open_read_only(run_path, &error);
    cr_assert_eq(skn_trained_model(run, &model, &error), SKN_OK);
    cr_expect_eq(skn_resume_fits(&resume, run_path, model, 257, 257, 0, &error),
                 SKN_OK, "%s", error.text);
    /* 258: with the words of another text, there would be more of them. */
    cr_expect_eq(skn_resume_fits(&resume, run_path, model, 258, 258, 1, &error),
                 SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "its text differs"), "%s", error.text);
    model->data.tokenizer = "words";
    cr_expect_eq(skn_resume_fits(&resume, run_path, model, 257, 257, 0, &error),
                 SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "data.tokenizer"), "%s", error.text);
    model->data.tokenizer = "bytes";
    model->data.vocabulary++;
    cr_expect_eq(skn_resume_fits(&resume, run_path, model, 257, 257, 0, &error),
                 SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "data.vocabulary"), "%s", error.text);
    skn_resume_fini(&resume);
    skn_model_destroy(&model);
    skn_run_folder_close(&run);
}

static const char *const exported[] = { "tokenizer", "config.json",
                                        "model.safetensors" };

/* The kernel writes a part of the model and then refuses, as on a full disk. */
Test(generator, a_failed_export_leaves_nothing_in_the_way_of_the_next)
{
    char into[TEMP_FOLDER_BYTES + 16];
    const struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct rlimit limit, small;
    skn_error_t error = { 0 };
    train("bytes");
    (void)snprintf(into, sizeof(into), "%s/out", folder);
    skn_generator_t *generator = open_generator();
    cr_assert_eq(sigaction(SIGXFSZ, &ignore, NULL), 0);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 20000;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    cr_expect_eq(skn_generator_export(generator, into, &error), SKN_STORAGE);
    cr_expect(strstr(error.text, "/.tmp-model.safetensors: cannot write: "),
              "%s", error.text);
    cr_expect_eq(rmdir(into), 0, "the folder is empty");
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(mkdir(into, 0700), 0);
    for (size_t k = 0; k < 3; k++) { /* by a process that was killed */
        char name[64];
        (void)snprintf(name, sizeof(name), "out/.tmp-%s", exported[k]);
        cr_assert_eq(fclose(create(name)), 0);
    }
    cr_expect_eq(skn_generator_export(generator, into, &error), SKN_OK, "%s",
                 error.text);
    skn_generator_close(&generator);
}

/* Whether the export has left files of these names, all or none. */
static bool
is_there(const char *into)
{
    char path[TEMP_FOLDER_BYTES + 64];
    uint32_t count = 0;
    for (size_t k = 0; k < 3; k++) {
        (void)snprintf(path, sizeof(path), "%s/%s", into, exported[k]);
        count += access(path, F_OK) == 0;
    }
    cr_expect(count == 0 || count == 3, "%u files", count);
    return count > 0;
}

/* Also names that are there already, and the last sync. */
Test(generator, an_export_whose_nth_call_fails_leaves_all_files_or_none)
{
    char into[TEMP_FOLDER_BYTES + 32];
    static const int codes[] = { EIO, EPERM, EEXIST };
    train("bytes");
    skn_generator_t *generator = open_generator();
    for (uint32_t k = 0; k < 3; k++) {
        bool hit = true;
        for (uint64_t n = 1; hit; n++) {
            skn_error_t error = { 0 };
            (void)snprintf(into, sizeof(into), "%s/out.%u.%u", folder, k,
                           (unsigned)n);
            faults_arm(FAULT_SYSTEM, n, codes[k], false);
            skn_status_t status = skn_generator_export(generator, into, &error);
            (void)faults_disarm();
            hit = faults_hit() > 0;
            cr_expect_eq(is_there(into), status == SKN_OK, "%s %u: %s",
                         faults_hit_name(), (unsigned)n, error.text);
            if (status != SKN_OK)
                cr_expect_eq(skn_generator_export(generator, into, &error),
                             SKN_OK, "after %s %u: %s", faults_hit_name(),
                             (unsigned)n, error.text);
        }
    }
    skn_generator_close(&generator);
}

Test(generator, is_exported_once_to_a_folder)
{
    char into[TEMP_FOLDER_BYTES + 16], path[TEMP_FOLDER_BYTES + 64];
    skn_error_t error = { 0 };
    struct stat facts;
    train("bytes");
    (void)snprintf(into, sizeof(into), "%s/out", folder);
    skn_generator_t *generator = open_generator();
    cr_assert_eq(skn_generator_export(generator, into, &error), SKN_OK, "%s",
                 error.text);
    for (size_t k = 0; k < 3; k++) {
        (void)snprintf(path, sizeof(path), "%s/%s", into, exported[k]);
        cr_assert_eq(stat(path, &facts), 0);
        if (k == 2)
            cr_expect_gt((uint64_t)facts.st_size,
                         generator->info.parameter_count * sizeof(float));
    }
    cr_expect_eq(skn_generator_export(generator, into, &error),
                 SKN_CANNOT_CREATE);
    skn_generator_close(&generator);
}
