/* contract_shortage_topology.c - tests topology/ when memory runs short.
 *
 * One body over many subjects: the n-th allocation of an operation fails, for
 * every n that it has. The operation then ends with SKN_NO_MEMORY and a
 * message, never crashes, and frees all that it allocated. Libraries below
 * (YAML, JSON, hwloc) allocate their own memory, which never fails here.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "actors/protocol/kinds.h"
#include "actors/machine/system_machine.h"
#include "tests/support/pipeline_fixture.h"
#include "tests/support/shortage.h"
#include "tests/support/trained_fixture.h"
#include "tests/support/word_kinds.h"
#include "skein/config.h"
#include "skein/inspection.h"
#include "skein/points.h"
#include "topology/spec/draft.h"
#include "topology/predict/batcher_internal.h"
#include "topology/predict/evaluate.h"
#include "topology/predict/join.h"
#include "topology/predict/rank.h"
#include "topology/host/host.h"
#include "topology/run/resume.h"
#include "topology/spec/spec.h"
#include "topology/run/trained.h"

static pipeline_t data;
static trained_fixture_t model;
static char model_path[TEMP_FOLDER_BYTES + 32];

static void
set_up(void)
{
    if (access("/dev/shm", W_OK) == 0)
        cr_assert_eq(setenv("TMPDIR", "/dev/shm", 0), 0);
    pipeline_init(&data);
    (void)snprintf(model_path, sizeof(model_path), "%s/two.yaml", data.folder);
    trained_make(&model);
    char text[TEMP_FOLDER_BYTES + 16];
    static const char *const names[] = { "train", "test" };
    for (int k = 0; k < 2; k++) {
        (void)snprintf(text, sizeof(text), "%s/%s.txt", model.folder, names[k]);
        FILE *file = fopen(text, "w");
        cr_assert(file);
        (void)fprintf(file, "2 %u %u\n0,3 1:0.5\n7 2:1 3:2\n", TRAINED_FEATURES,
                      TRAINED_LABELS);
        cr_assert_eq(fclose(file), 0);
    }
    /* It stays for the life of the process, and is no loss of a run. */
    skn_machine_drop(skn_machine_keep(NULL));
}

static void
tear_down(void)
{
    trained_remove(&model);
    pipeline_fini(&data);
}

TestSuite(contract_shortage_topology, .init = set_up, .fini = tear_down,
          .timeout = 120);

/* The status of what a list of problems holds; the list goes. */
static skn_status_t
end_with(skn_problems_t **problems, skn_status_t status, skn_error_t *error)
{
    if (*problems && skn_problems_count(*problems) > 0)
        status = skn_problems_error(*problems, error);
    if (*problems)
        skn_problems_destroy(problems);
    return status;
}

/* --- documents ------------------------------------------------------------ */

static const char long_text[] =
    "skein: 1\n"
    "data: { train: a, test: 'b c', cache: \"x\\ty\" }\n"
    "model:\n"
    "  layers:\n"
    "    - { name: hidden, units: 24 }\n"
    "    - name: output\n"
    "      sampler: { kind: simhash, rows: 64, tables: 4,\n"
    "        weight_cap: 0.5 }\n"
    "train: { epochs: 2 } # a comment\n";

static skn_status_t
parse(skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_document_t *document = skn_document_parse(
        long_text, sizeof(long_text) - 1, "long.yaml", problems);
    cr_expect_eq(document != NULL, skn_problems_count(problems) == 0);
    skn_document_destroy(&document);
    return end_with(&problems, SKN_OK, error);
}

static skn_status_t
load_file(skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_document_t *document = skn_document_load(model_path, problems);
    skn_document_destroy(&document);
    return end_with(&problems, SKN_OK, error);
}

static skn_status_t
override(skn_error_t *error)
{
    static const char *const words[] = { "train.window=2",
                                         "model.layers.output.shards=3",
                                         "data.test={ a: [1, 2], b: 'three' }",
                                         "new.deeper.still=yes" };
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_document_t *document = skn_document_parse(
        long_text, sizeof(long_text) - 1, "long.yaml", problems);
    for (size_t k = 0; document && k < 4; k++)
        if (skn_document_set(document, words[k], problems) != SKN_OK)
            break;
    skn_document_destroy(&document);
    return end_with(&problems, SKN_OK, error);
}

static skn_status_t
override_wrongly(skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_document_t *document = skn_document_parse(
        long_text, sizeof(long_text) - 1, "long.yaml", problems);
    if (document)
        (void)skn_document_set(document, "train.window='1\n2'", problems);
    skn_document_destroy(&document);
    return end_with(&problems, SKN_OK, error);
}

/* --- models --------------------------------------------------------------- */

static skn_status_t
read_model(skn_error_t *error)
{
    static const char *const words[] = { "train.window=2",
                                         "resources.cores=[0, 2]",
                                         "plugins=[a.so, b/c.so]" };
    skn_model_t *read = NULL;
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_status_t status =
        skn_model_read(model_path, words, 3, &read, problems, error);
    cr_expect_eq(status == SKN_OK, read != NULL);
    skn_model_destroy(&read);
    return end_with(&problems, status, error);
}

static skn_status_t
read_parsed(skn_error_t *error)
{
    skn_model_t *read = NULL;
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_document_t *document = skn_document_parse(
        long_text, sizeof(long_text) - 1, "long.yaml", problems);
    skn_status_t status = SKN_NO_MEMORY;
    if (document)
        status = skn_model_check(document, &read, problems, error);
    skn_document_destroy(&document);
    skn_model_destroy(&read);
    return end_with(&problems, status, error);
}

static skn_status_t
refuse_model(skn_error_t *error)
{
    static const char text[] = "skein: 2\ndata: []\nmodel: { layers: [] }\n"
                               "train: { widow: 3, epochs: many }\n";
    skn_model_t *read = NULL;
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_document_t *document =
        skn_document_parse(text, sizeof(text) - 1, "bad.yaml", problems);
    skn_status_t status = SKN_NO_MEMORY;
    if (document)
        status = skn_model_check(document, &read, problems, error);
    cr_expect_null(read);
    skn_document_destroy(&document);
    return end_with(&problems, status, error);
}

/* --- topologies ----------------------------------------------------------- */

static const char topology_text[] =
    "skein: 1\n"
    "topology:\n"
    "  name: t\n"
    "  actors:\n"
    "    - { name: reader, kind: word_reader, options: { path: a } }\n"
    "    - { name: counter, kind: word_counter, replicate: 2 }\n"
    "    - { name: printer, kind: total_printer }\n"
    "  pipes:\n"
    "    - { from: reader, to: counter, message: word, pattern: scatter,\n"
    "        key: hash, bounds: [0, 200, 400] }\n"
    "    - { from: counter, to: printer, message: total }\n";

static skn_spec_t *
load_spec(skn_problems_t *problems)
{
    skn_document_t *document = skn_document_parse(
        topology_text, sizeof(topology_text) - 1, "t.yaml", problems);
    return document ? skn_spec_load(&document, word_kinds, problems) : NULL;
}

static skn_status_t
check_spec(skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_spec_t *spec = load_spec(problems);
    cr_expect_eq(spec != NULL, skn_problems_count(problems) == 0);
    skn_spec_destroy(&spec);
    return end_with(&problems, SKN_OK, error);
}

/* Printing may take memory of its own, and must say so when it cannot. */
static skn_status_t
print_spec(skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_spec_t *spec = load_spec(problems);
    faults_pause(true);
    FILE *file = fopen("/dev/null", "w");
    faults_pause(false);
    skn_status_t status = SKN_OK;
    if (spec)
        status = skn_spec_print(spec, file, error);
    if (spec && status == SKN_OK)
        status = skn_spec_dot(spec, file, error);
    (void)fclose(file);
    skn_spec_destroy(&spec);
    return end_with(&problems, status, error);
}

static skn_status_t
draft_spec(skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_spec_t *spec = NULL;
    skn_draft_t *draft = skn_draft_new("code", "t", problems);
    if (draft) {
        static const char *const from[] = { "reader", NULL };
        static const char *const to[] = { "counter", NULL };
        static const char *const end[] = { "printer", NULL };
        static const uint64_t bounds[] = { 0, 200, 400 };
        skn_draft_actor(draft, "reader", "word_reader", SKN_CORE_AUTO, 0);
        skn_draft_option(draft, "path", "%s", "a.txt");
        skn_draft_option(draft, "rate", "%g", 0.5);
        skn_draft_actor(draft, "counter.0", "word_counter", 0, 3);
        skn_draft_actor(draft, "counter.1", "word_counter", 1, 0);
        skn_draft_actor(draft, "printer", "total_printer", SKN_CORE_AUTO, 0);
        skn_draft_pipe(draft, &(skn_draft_pipe_t){ .from = from,
                                                   .to = to,
                                                   .message = "word",
                                                   .pattern = "scatter",
                                                   .key = "hash",
                                                   .bounds = bounds,
                                                   .bound_count = 3 });
        skn_draft_pipe(draft, &(skn_draft_pipe_t){
                                  .from = to, .to = end, .message = "total" });
        spec = skn_draft_finish(&draft, word_kinds, problems);
        cr_expect_null(draft);
    }
    cr_expect_eq(spec != NULL, skn_problems_count(problems) == 0);
    skn_spec_destroy(&spec);
    return end_with(&problems, SKN_OK, error);
}

/* Not those that have the name of a built-in kind. */
static const skn_kind_t *const own_kinds[] = { &word_reader, &word_counter,
                                               &total_printer, NULL };

static skn_status_t
new_topology(skn_error_t *error)
{
    skn_topology_t *topology =
        skn_topology_new(topology_text, "t.yaml", own_kinds, error);
    if (!topology)
        return error->status;
    skn_topology_stop(topology);
    skn_topology_destroy(&topology);
    return SKN_OK;
}

/* The first problem of a config, as an error. */
static skn_status_t
load_config(skn_error_t *error)
{
    static const char *const words[] = { "train.window=3" };
    const skn_config_options_t options = { .struct_bytes = sizeof(options),
                                           .overrides = words,
                                           .override_count = 1 };
    skn_config_t *config = skn_config_load(model_path, &options, error);
    if (!config)
        return error->status;
    const skn_config_problem_t *problem = skn_config_problem(config, 0);
    skn_status_t status =
        problem ? skn_fail(error, problem->status, "%s", problem->text)
                : SKN_OK;
    const char *window = skn_config_value(config, "train.window");
    cr_expect(status != SKN_OK || !window || strcmp(window, "3") == 0);
    if (status == SKN_OK && !window)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for a value");
    skn_config_destroy(&config);
    return status;
}

/* --- runs ----------------------------------------------------------------- */

/* From the file to a topology that could start, nothing saved. */
static skn_status_t
open_run(skn_error_t *error)
{
    char run_path[SKN_TEXT_MAX] = "", run_id[64] = "";
    static const char *const words[] = {
        "model.layers.output.sampler.kind=simhash",
        "model.layers.output.shards=2", "train.window=2", "data.cache=none"
    };
    skn_model_run_t run = { 0 };
    skn_model_run_options_t options = { .path = model_path,
                                        .overrides = words,
                                        .override_count = 4,
                                        .run_path = run_path,
                                        .run_id = run_id,
                                        .unsaved = true };
    skn_problems_t *problems = skn_problems_new(error);
    if (!problems)
        return error->status;
    skn_status_t status = skn_model_run_open(&run, &options, problems, error);
    cr_expect_eq(status == SKN_OK, run.topology != NULL);
    skn_model_run_close(&run);
    return end_with(&problems, status, error);
}

static skn_status_t
find_run(skn_error_t *error)
{
    skn_resume_t resume;
    skn_status_t status =
        skn_resume_from(model.path, &(skn_from_t){ 0 }, &resume, error);
    if (status == SKN_OK)
        cr_expect(resume.has_run && resume.has_checkpoint && resume.batch == 1);
    skn_resume_fini(&resume);
    return status;
}

static skn_status_t
open_trained(skn_error_t *error)
{
    skn_trained_t trained = { 0 };
    skn_status_t status =
        skn_trained_open(&trained, model.path, SKN_VERIFY_ALL, error);
    skn_trained_close(&trained);
    return status;
}

/* A folder that is there already, and empty: only what it holds is new. */
static skn_status_t
join(skn_error_t *error)
{
    char into[TEMP_FOLDER_BYTES];
    skn_joined_t joined;
    const char *const twice[] = { model.path, model.path };
    temp_folder_make(into);
    skn_status_t status = skn_join(into, twice, 2, NULL, &joined, error);
    temp_folder_remove(into);
    return status;
}

/* The ranker of the model, and an answer of both together. */
static skn_status_t
rank_and_ask(skn_error_t *error)
{
    static const size_t offset[] = { 0, 2 };
    static const uint32_t feature[] = { 4, 0 }; /* not in order */
    static const float value[] = { 1, 0.5F };
    const skn_points_t points = { 1, offset, feature, value };
    char into[TEMP_FOLDER_BYTES];
    skn_ranker_t ranker;
    skn_ranked_t ranked;
    skn_joined_t joined;
    uint32_t label[5];
    float score[5];
    const char *const path = model.path;
    const skn_rank_options_t one = { .trees = 1, .threads = 1 };
    const skn_join_extra_t extra = { .ranker = &ranker };
    temp_folder_make(into);
    skn_status_t status = skn_rank(&ranker, path, &one, &ranked, error);
    if (status == SKN_OK)
        status = skn_join(into, &path, 1, &extra, &joined, error);
    skn_ranker_fini(&ranker);
    skn_predictor_t *predictor =
        status == SKN_OK ? skn_predictor_open(into, error) : NULL;
    if (status == SKN_OK)
        status = predictor ? skn_predictor_best(predictor, &points, 5, label,
                                                score, error)
                           : error->status;
    skn_predictor_close(&predictor);
    temp_folder_remove(into);
    return status;
}

static skn_status_t
predict(skn_error_t *error)
{
    static const size_t offset[] = { 0, 2, 2, 3 };
    static const uint32_t feature[] = { 0, 4, 8 };
    static const float value[] = { 1, 0.5f, 2 };
    uint32_t label[15];
    float score[15];
    skn_points_t points = { 3, offset, feature, value };
    skn_predictor_t *predictor = skn_predictor_open(model.path, error);
    if (!predictor)
        return error->status;
    skn_status_t status =
        skn_predictor_best(predictor, &points, 5, label, score, error);
    skn_predictor_close(&predictor);
    return status;
}

/* A call that waits in a batcher, on a thread of its own. */
typedef struct waiting {
    skn_batcher_t *batcher;
    const skn_points_t *points;
    skn_status_t status;
    skn_error_t error;
} waiting_t;

static void *
wait_in_batcher(void *argument)
{
    waiting_t *waiting = argument;
    uint32_t label[5];
    float score[5];
    waiting->status = skn_batcher_best(waiting->batcher, waiting->points, 5,
                                       label, score, NULL, &waiting->error);
    return NULL;
}

/* Two calls are joined, as the batcher counts a third that never comes. */
static skn_status_t
predict_joined(skn_predictor_slot_t *slot, skn_error_t *error)
{
    static const size_t offset[] = { 0, 2 };
    static const uint32_t feature[] = { 0, 4 };
    static const float value[] = { 1, 0.5f };
    uint32_t label[5];
    float score[5];
    skn_points_t points = { 1, offset, feature, value };
    pthread_t thread;
    waiting_t waiting = { .points = &points };
    skn_batcher_t *batcher =
        skn_batcher_new(slot, 2, SKN_BATCHER_WAIT_US_MAX, error);
    if (!batcher)
        return error->status;
    waiting.batcher = batcher;
    batcher->call_count++;
    cr_assert_eq(pthread_create(&thread, NULL, wait_in_batcher, &waiting), 0);
    for (uint32_t calls = 0; calls != 2;) {
        (void)sched_yield();
        (void)pthread_mutex_lock(&batcher->lock);
        calls = batcher->call_count;
        (void)pthread_mutex_unlock(&batcher->lock);
    }
    skn_status_t status =
        skn_batcher_best(batcher, &points, 5, label, score, NULL, error);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    batcher->call_count--;
    skn_batcher_destroy(&batcher);
    if (status == SKN_OK)
        *error = waiting.error;
    return status == SKN_OK ? waiting.status : status;
}

static skn_status_t
predict_in_batcher(skn_error_t *error)
{
    skn_predictor_slot_t slot = { 0 };
    skn_predictor_t *predictor = skn_predictor_open(model.path, error);
    if (!predictor)
        return error->status;
    skn_status_t status = skn_predictor_slot_store(&slot, &predictor, error);
    if (status == SKN_OK)
        status = predict_joined(&slot, error);
    (void)skn_predictor_slot_store(&slot, NULL, NULL);
    return status;
}

static skn_status_t
evaluate(skn_error_t *error)
{
    skn_evaluation_t evaluation;
    skn_predictor_t *predictor = skn_predictor_open(model.path, error);
    if (!predictor)
        return error->status;
    skn_status_t status =
        skn_evaluate(predictor, NULL, NULL, &evaluation, error);
    skn_predictor_close(&predictor);
    return status;
}

/* Damage and a lack of memory are different things. */
static skn_status_t
inspect(skn_error_t *error)
{
    FILE *nowhere = fopen("/dev/null", "w");
    skn_inspection_t *inspection = skn_inspection_open(model.path, error);
    const skn_inspection_info_t *info = skn_inspection_info(inspection);
    skn_status_t status = inspection ? SKN_OK : error->status;
    cr_assert(nowhere);
    cr_expect(!info || (!info->is_damaged && !info->failure));
    if (inspection)
        status = skn_inspection_print(inspection, SKN_INSPECTION_JSON, nowhere,
                                      error);
    skn_inspection_close(&inspection);
    (void)fclose(nowhere);
    return status;
}

/* Points and names of the same file. */
static skn_status_t
read_points(skn_error_t *error)
{
    char path[TEMP_FOLDER_BYTES + 16];
    const skn_read_t *read = NULL;
    (void)snprintf(path, sizeof(path), "%s/test.txt", model.folder);
    skn_point_reader_t *reader = skn_point_reader_open(path, NULL, error);
    while (reader && (read = skn_point_reader_next(reader, error)) &&
           read->kind != SKN_READ_END)
        cr_expect_neq(read->kind, SKN_READ_REFUSED);
    skn_status_t status = read ? SKN_OK : error->status;
    skn_point_reader_close(&reader);
    skn_names_t *names = status == SKN_OK ? skn_names_open(path, error) : NULL;
    if (status == SKN_OK && !names)
        status = error->status;
    skn_names_close(&names);
    return status;
}

#define CASE(test, subject, want, forgiven)                                    \
    Test(contract_shortage_topology, test)                                     \
    {                                                                          \
        shortage_try(&(shortage_t){ #subject, subject, want, forgiven });      \
    }

/* The copy of the source, of which excerpts are printed below problems, is two
 * allocations that nobody misses. */
#define EXCERPT 2

CASE(a_document_is_parsed_or_refused, parse, SKN_OK, EXCERPT)
CASE(a_file_is_loaded_or_refused, load_file, SKN_OK, EXCERPT)
CASE(overrides_are_set_or_refused, override, SKN_OK, EXCERPT)
CASE(a_broken_override_is_refused_either_way, override_wrongly, SKN_BAD_CONFIG,
     EXCERPT)
CASE(a_model_is_read_or_refused, read_model, SKN_OK, EXCERPT)
CASE(a_parsed_model_is_read_or_refused, read_parsed, SKN_OK, EXCERPT)
CASE(a_bad_model_is_refused_either_way, refuse_model, SKN_BAD_CONFIG, EXCERPT)
CASE(a_spec_is_wired_or_refused, check_spec, SKN_OK, EXCERPT)
CASE(a_spec_is_printed_or_it_is_told, print_spec, SKN_OK, EXCERPT)
CASE(a_draft_is_finished_or_refused, draft_spec, SKN_OK, EXCERPT)
CASE(a_topology_is_made_or_refused, new_topology, SKN_OK, EXCERPT)
CASE(a_file_is_checked_or_it_is_told, load_config, SKN_OK, EXCERPT)
CASE(a_run_is_opened_or_it_is_told, open_run, SKN_OK, EXCERPT)
CASE(a_run_is_found_or_it_is_told, find_run, SKN_OK, 0)
CASE(a_trained_model_is_opened_or_it_is_told, open_trained, SKN_OK, EXCERPT)
CASE(networks_are_joined_or_it_is_told, join, SKN_OK, 4 * EXCERPT)
/* What three runs of labels did not need and may keep, a set without a cache,
 * and older checkpoints that may stay. */
CASE(a_ranker_is_fitted_or_it_is_told, rank_and_ask, SKN_OK, 4 * EXCERPT + 8)
CASE(a_prediction_is_made_or_it_is_told, predict, SKN_OK, EXCERPT)
/* Without memory for a batch its calls are predicted one by one. */
CASE(a_joined_prediction_is_made_or_it_is_told, predict_in_batcher, SKN_OK,
     EXCERPT + 6)
/* And the propensities, whose set may be read without a cache. */
CASE(an_evaluation_is_made_or_it_is_told, evaluate, SKN_OK, EXCERPT + 13)
CASE(an_inspection_is_made_or_it_is_told, inspect, SKN_OK, EXCERPT)
CASE(points_are_read_or_it_is_told, read_points, SKN_OK, 0)
