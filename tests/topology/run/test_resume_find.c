/* test_resume_find.c - tests how far the run in a folder has come, for every
 * state of the folder. The runs are trained here, in this process. Covers
 * topology/run/resume.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/resume.h"

#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/checkpoint/held.h"
#include "tests/support/pipeline_fixture.h"
#include "topology/run/trained.h"

static pipeline_t data;
static char run_path[TEMP_FOLDER_BYTES + 16];
static trained_t trained;
static const skn_from_t newest;

/* Trains 12 batches with a checkpoint at every fourth. */
static void
train(void)
{
    layout_t layout = { .batches = 12,
                        .word = { "checkpoint.every_batches=4",
                                  "checkpoint.every_epochs=0" } };
    trained = pipeline_train(&data, &layout);
}

static void
set_up(void)
{
    pipeline_init(&data);
    (void)snprintf(run_path, sizeof(run_path), "%s/run-0", data.folder);
}

static void
tear_down(void)
{
    trained_fini(&trained);
    pipeline_fini(&data);
}

TestSuite(resume_find, .init = set_up, .fini = tear_down, .timeout = 60);

static skn_resume_t
found(void)
{
    skn_resume_t resume;
    skn_error_t error = { 0 };
    cr_assert_eq(skn_resume_from(run_path, &newest, &resume, &error), SKN_OK,
                 "%s", error.text);
    return resume;
}

/* Cuts the last byte off a file of the checkpoint of `batch`. */
static void
damage(uint64_t batch)
{
    char name[SKN_BATCH_NAME_BYTES], path[sizeof(run_path) + 64];
    struct stat facts;
    skn_batch_name(batch, 0, name);
    (void)snprintf(path, sizeof(path), "%s/%s/output.0.safetensors", run_path,
                   name);
    cr_assert_eq(stat(path, &facts), 0, "%s", path);
    cr_assert_eq(truncate(path, facts.st_size - 1), 0);
}

static void
forget(uint64_t batch)
{
    char name[SKN_BATCH_NAME_BYTES], path[sizeof(run_path) + 64];
    skn_batch_name(batch, 0, name);
    (void)snprintf(path, sizeof(path), "%s/%s", run_path, name);
    temp_folder_remove(path);
}

Test(resume_find, nothing_there_is_no_failure)
{
    skn_resume_t resume = found();
    cr_expect_not(resume.has_run);
    cr_expect_not(resume.has_checkpoint);
    cr_expect_not(resume.finished);
    cr_expect_eq(resume.batch, 0u);
    cr_expect_str_eq(resume.run_id, "");
    cr_expect_str_eq(resume.checkpoint, "");
    cr_expect_str_eq(resume.warning, "");
    cr_expect_not(skn_resume_refuse(run_path, NULL));
    skn_resume_fini(&resume);
    skn_resume_fini(&resume);
}

Test(resume_find, a_folder_without_a_run_is_nothing)
{
    cr_assert_eq(mkdir(run_path, 0777), 0);
    skn_resume_t resume = found();
    cr_expect_not(resume.has_run);
    cr_expect_eq(skn_resume_refuse(run_path, NULL), SKN_OK);
    skn_resume_fini(&resume);
}

Test(resume_find, a_run_without_a_checkpoint_starts_again)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .run_id = "000102030405060708090a0b0c0d0e0f",
                                  .config_text = "skein: 1\n" };
    skn_run_folder_t *run =
        skn_run_folder_open(run_path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_run_folder_close(&run);
    skn_resume_t resume = found();
    cr_expect(resume.has_run);
    cr_expect_not(resume.has_checkpoint);
    cr_expect_eq(resume.batch, 0u);
    cr_expect_eq(resume.newest, 0u);
    cr_expect_str_eq(resume.run_id, options.run_id);
    skn_resume_fini(&resume);
    cr_expect_eq(skn_resume_refuse(run_path, &error), SKN_OK, "%s", error.text);
    resume = found(); /* and it is as it was */
    cr_expect_str_eq(resume.run_id, options.run_id);
    skn_resume_fini(&resume);
}

Test(resume_find, a_finished_run_reports_its_end_again)
{
    char want[sizeof(run_path) + 64];
    train();
    skn_resume_t resume = found();
    cr_expect(resume.has_run && resume.has_checkpoint && resume.finished);
    cr_expect_eq(resume.batch, 12u);
    cr_expect_eq(resume.newest, 12u);
    (void)snprintf(want, sizeof(want), "%s/batch-000000000012", run_path);
    cr_expect_str_eq(resume.checkpoint, want);
    cr_expect_eq(strlen(resume.run_id), 32u);
    json_t *done = json_loads(resume.done.bytes, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(json_is_object(done), "%s", resume.done.bytes);
    cr_expect_str_eq(json_string_value(json_object_get(done, "event")), "done");
    cr_expect_str_eq(json_string_value(json_object_get(done, "weights_sha256")),
                     trained.sha256);
    cr_expect_eq(json_integer_value(json_object_get(done, "batches")), 12);
    double loss = json_number_value(json_object_get(done, "loss"));
    cr_expect(fabs(loss - trained.loss) < 1e-5, "%g, %g", loss, trained.loss);
    json_decref(done);
    skn_resume_fini(&resume);
}

Test(resume_find, a_run_that_was_stopped_continues_from_its_newest)
{
    train();
    forget(12);
    skn_resume_t resume = found();
    cr_expect(resume.has_checkpoint);
    cr_expect_not(resume.finished);
    cr_expect_eq(resume.batch, 8u);
    cr_expect_eq(resume.newest, 8u);
    cr_expect_null(resume.done.bytes);
    cr_expect_str_eq(resume.warning, "");
    skn_resume_fini(&resume);
}

Test(resume_find, a_damaged_newest_gives_way_and_is_reported)
{
    train();
    damage(12);
    skn_resume_t resume = found();
    cr_expect_not(resume.finished);
    cr_expect_eq(resume.batch, 8u);
    cr_expect_eq(resume.newest, 12u);
    cr_expect_eq(strncmp(resume.warning,
                         "using the checkpoint of batch 8; 1 newer "
                         "refused, the newest because: ",
                         70),
                 0, "%s", resume.warning);
    skn_resume_fini(&resume);
    damage(8);
    resume = found();
    cr_expect_eq(resume.batch, 4u);
    cr_expect_eq(resume.newest, 12u);
    cr_expect(strstr(resume.warning, "batch 4; 2 newer refused"), "%s",
              resume.warning);
    skn_resume_fini(&resume);
}

Test(resume_find, with_all_damaged_nothing_is_thrown_away)
{
    skn_resume_t resume;
    skn_error_t error = { 0 };
    train();
    damage(4);
    damage(8);
    damage(12);
    cr_expect_eq(skn_resume_from(run_path, &newest, &resume, &error),
                 SKN_BAD_DATA);
    cr_expect(strstr(error.text, "none of 3 checkpoints can be used"), "%s",
              error.text);
    skn_resume_fini(&resume);
    cr_expect_eq(skn_resume_from(run_path, &newest, &resume, NULL),
                 SKN_BAD_DATA);
    skn_resume_fini(&resume);
    char path[sizeof(run_path) + 64];
    (void)snprintf(path, sizeof(path), "%s/batch-000000000012/manifest.json",
                   run_path);
    cr_expect_eq(access(path, F_OK), 0);
}

Test(resume_find, a_folder_with_a_run_is_refused_to_a_new_one)
{
    skn_error_t error = { 0 };
    char want[sizeof(run_path) + 64];
    train();
    cr_expect_eq(skn_resume_refuse(run_path, &error), SKN_CANNOT_CREATE);
    (void)snprintf(want, sizeof(want), "%s already holds a run", run_path);
    cr_expect_str_eq(error.text, want);
    cr_expect_str_eq(error.hint, "resume it, or choose another folder");
    cr_expect_eq(skn_resume_refuse(run_path, NULL), SKN_CANNOT_CREATE);
    skn_resume_t resume = found(); /* and it is as it was */
    cr_expect(resume.finished);
    skn_resume_fini(&resume);
}

/* Looking must not stand in the way of whoever trains next. */
Test(resume_find, the_folder_is_free_again_after_a_look)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .resume = true };
    train();
    skn_resume_t resume = found();
    skn_run_folder_t *run =
        skn_run_folder_open(run_path, &options, NULL, &error);
    cr_assert(run, "%s", error.text);
    skn_run_folder_close(&run);
    skn_resume_fini(&resume);
}

Test(resume_find, a_broken_run_file_is_reported)
{
    char path[sizeof(run_path) + 16];
    skn_resume_t resume;
    skn_error_t error = { 0 };
    train();
    (void)snprintf(path, sizeof(path), "%s/run.json", run_path);
    cr_assert_eq(truncate(path, 10), 0);
    cr_expect_eq(skn_resume_from(run_path, &newest, &resume, &error),
                 SKN_BAD_DATA);
    cr_expect(strstr(error.text, "is truncated: it has 10 bytes"), "%s",
              error.text);
    skn_resume_fini(&resume);
}

/* --- going on ------------------------------------------------------------- */

/* Trains with the words given, in the folder that is there; its hash. */
static void
go_on(char sha256[65])
{
    char path[TEMP_FOLDER_BYTES + 32], text[8][64], id[64] = "";
    char folder[SKN_TEXT_MAX];
    const char *words[WORDS_MAX + 8];
    layout_t layout = { .batches = 12,
                        .word = { "checkpoint.every_batches=4",
                                  "checkpoint.every_epochs=0" } };
    trained_t again = { 0 };
    skn_error_t error = { 0 };
    skn_model_run_t run = { 0 };
    skn_problems_t *problems = skn_problems_new(&error);
    (void)snprintf(path, sizeof(path), "%s/one.yaml", data.folder);
    (void)snprintf(folder, sizeof(folder), "%s", run_path);
    skn_model_run_options_t options = {
        .path = path,
        .overrides = words,
        .override_count = layout_words(&layout, text, words),
        .run_path = folder,
        .run_id = id,
        .resume = true,
        .again = true,
    };
    cr_assert_eq(skn_model_run_open(&run, &options, problems, &error), SKN_OK,
                 "%s", error.text);
    if (run.resume.finished) {
        cr_expect_null(run.topology);
    } else {
        skn_start_options_t start = SKN_START_OPTIONS(.no_binding = true);
        cr_assert_eq(skn_topology_start(run.topology, &start, &error), SKN_OK,
                     "%s", error.text);
        trained_follow(&again, run.topology);
    }
    (void)snprintf(sha256, 65, "%s", again.sha256);
    skn_model_run_close(&run);
    skn_problems_destroy(&problems);
}

Test(resume_find, going_on_from_any_checkpoint_gives_the_same_weights)
{
    char sha256[65];
    train();
    go_on(sha256);
    cr_expect_str_eq(sha256, ""); /* finished: nothing is left to do */
    forget(12);
    go_on(sha256);
    cr_expect_str_eq(sha256, trained.sha256);
    forget(12);
    damage(8);
    go_on(sha256);
    cr_expect_str_eq(sha256, trained.sha256);
    forget(12);
    forget(8);
    forget(4);
    go_on(sha256);
    cr_expect_str_eq(sha256, trained.sha256);
}

/* --- from a checkpoint that was named ------------------------------------- */

Test(resume_find, a_name_is_a_batch_a_generation_or_none)
{
    static const struct {
        const char *text;
        skn_from_t want;
    } good[] = {
        { "none", { .none = true } },
        { "0", { .given = true } },
        { "1234", { .given = true, .batch = 1234 } },
        { "000000001234-g000007",
          { .given = true, .batch = 1234, .generation = 7 } },
        { "999999999999-g999999",
          { .given = true,
            .batch = SKN_CHECKPOINT_BATCH_MAX,
            .generation = SKN_GENERATION_MAX } },
    };
    static const char *const bad[] = { "",
                                       "-1",
                                       "x",
                                       "12 ",
                                       "None",
                                       "12-",
                                       "12-g",
                                       "12-h3",
                                       "12-g1234567",
                                       "12-g3x",
                                       "-g3",
                                       "batch-12",
                                       "1234567890123" };
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        skn_from_t from = { 0 };
        cr_assert_eq(skn_from_parse(good[k].text, &from, NULL), SKN_OK, "%s",
                     good[k].text);
        cr_expect_eq(from.given, good[k].want.given);
        cr_expect_eq(from.none, good[k].want.none);
        cr_expect_eq(from.batch, good[k].want.batch, "%s", good[k].text);
        cr_expect_eq(from.generation, good[k].want.generation);
    }
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        skn_from_t from = { 0 };
        cr_expect_eq(skn_from_parse(bad[k], &from, NULL), SKN_USAGE, "'%s'",
                     bad[k]);
    }
}

static skn_status_t
found_from(const skn_from_t *from, skn_resume_t *resume, skn_error_t *error)
{
    skn_status_t status = skn_resume_from(run_path, from, resume, error);
    skn_resume_fini(resume);
    return status;
}

Test(resume_find, exactly_the_one_that_was_named)
{
    skn_resume_t resume;
    skn_error_t error = { 0 };
    skn_from_t from = { .given = true, .batch = 4 };
    train();
    cr_assert_eq(found_from(&from, &resume, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(resume.batch, 4);
    cr_expect_eq(resume.newest, 12);
    cr_expect_not(resume.finished);
    cr_expect(strstr(resume.checkpoint, "batch-000000000004"));
    from.batch = 5;
    cr_expect_eq(found_from(&from, &resume, &error), SKN_NO_INPUT);
    cr_expect(strstr(error.text, "batch-000000000005"), "%s", error.text);
    from = (skn_from_t){ .none = true };
    cr_assert_eq(found_from(&from, &resume, &error), SKN_OK);
    cr_expect(resume.has_run);
    cr_expect_not(resume.has_checkpoint);
}

/* Of what nodes keep, the manifest is enough; the end is one only where the
 * last model is whole. */
Test(resume_find, parts_are_enough_where_other_nodes_have_the_rest)
{
    char path[sizeof(run_path) + 64];
    skn_resume_t resume;
    skn_error_t error = { 0 };
    skn_from_t from = { .parts = true };
    train();
    cr_assert_eq(found_from(&from, &resume, &error), SKN_OK, "%s", error.text);
    cr_expect(resume.finished);
    (void)snprintf(path, sizeof(path),
                   "%s/batch-000000000012/output.0.safetensors", run_path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(found_from(&from, &resume, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(resume.batch, 12);
    cr_expect_not(resume.finished);
    from.parts = false;
    cr_assert_eq(found_from(&from, &resume, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(resume.batch, 8, "else an older one that is whole");
}

/* The bytes of one format are no numbers of another. */
Test(resume_find, rows_continue_in_the_format_that_they_have)
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    train();
    skn_resume_t resume = found();
    skn_run_folder_t *run = skn_run_folder_open_read_only(run_path, &error);
    cr_assert(run, "%s", error.text);
    cr_assert_eq(skn_trained_model(run, &model, &error), SKN_OK);
    skn_model_layer_t *output =
        (skn_model_layer_t *)(uintptr_t)&model->layers[model->layer_count - 1];
    output->weights = SKN_WEIGHTS_BF16;
    model->train.updates = SKN_UPDATES_LOAN;
    cr_expect_eq(
        skn_resume_fits(&resume, run_path, model, FEATURES, LABELS, 0, &error),
        SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "number format of layer 'output'"), "%s",
              error.text);
    cr_expect(strstr(error.hint, "set model.layers.output.weights=f32"), "%s",
              error.hint);
    model->train.updates = SKN_UPDATES_COPY; /* its masters are f32 */
    cr_expect_eq(
        skn_resume_fits(&resume, run_path, model, FEATURES, LABELS, 0, &error),
        SKN_OK, "%s", error.text);
    skn_resume_fini(&resume);
    skn_model_destroy(&model);
    skn_run_folder_close(&run);
}

/* A node that has nothing but the manifest: no config either, until the run
 * begins there. */
Test(resume_find, a_folder_with_a_manifest_alone_is_continued_from)
{
    char other[sizeof(run_path) + 16], *bytes = NULL;
    size_t count = 0;
    skn_resume_t resume;
    skn_error_t error = { 0 };
    skn_from_t from = { .given = true, .parts = true, .batch = 8 };
    skn_model_t *model = NULL;
    train();
    skn_run_folder_t *run = skn_run_folder_open_read_only(run_path, &error);
    cr_assert(run, "%s", error.text);
    cr_assert_eq(skn_trained_model(run, &model, &error), SKN_OK);
    (void)snprintf(other, sizeof(other), "%s/other", data.folder);
    cr_assert_eq(skn_held_manifest(run_path, 8, 0, &bytes, &count, &error),
                 SKN_OK);
    cr_assert_eq(skn_held_adopt(other, skn_run_folder_id(run), 8, 0, bytes,
                                count, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_eq(skn_resume_from(other, &from, &resume, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(resume.batch, 8);
    cr_expect_str_eq(resume.run_id, skn_run_folder_id(run));
    cr_expect_eq(
        skn_resume_fits(&resume, other, model, FEATURES, LABELS, 0, &error),
        SKN_OK, "%s", error.text);
    cr_expect_eq(
        skn_resume_fits(&resume, other, model, FEATURES + 1, LABELS, 0, &error),
        SKN_BAD_CONFIG);
    skn_resume_fini(&resume);
    skn_model_destroy(&model);
    skn_run_folder_close(&run);
    free(bytes);
}
