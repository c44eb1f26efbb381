/* test_keeper.c - tests a keeper that is alone, and three in one process, each
 * with its own folder: what they save and give back, and their behaviour when
 * one fails.
 *
 * The probe plays the course and all owners, whose state every keeper gets: a
 * test removes the copies that only one keeper should have. Covers
 * actors/checkpoints/keeper.c, actors/checkpoints/keeper_lead.c,
 * actors/checkpoints/step_reports.c, actors/checkpoints/state_receiver.c,
 * actors/checkpoints/fetcher.c, actors/checkpoints/gatherer.c and
 * actors/checkpoints/restorer.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/checkpoint/checkpoint.h"
#include "formats/checkpoint/held.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

#define NODES 3u
#define ROWS 10u
#define COLUMNS 40000u /* a row is longer than half of a part */
#define ID "0123456789abcdef0123456789abcdef"

static char folder[TEMP_FOLDER_BYTES];
static char path[NODES][TEMP_FOLDER_BYTES + 8];

static struct {
    uint32_t nodes;    /* keepers; one is alone */
    uint64_t batch[8]; /* to be saved, in order */
    size_t batches, saved;
    int keep;
    bool read_only, best, hash;
    bool orders;     /* the probe sends the keeper a step */
    bool unfinished; /* the metadata lack their NUL */
    enum {
        SOUND,
        UNKNOWN_FILE,
        TOO_LONG,
        NOT_FINITE /* in batch 10 */
    } stream;
    uint64_t generation;
    const char *checkpoint; /* a name: go on from it */
    char told[8][SKN_TEXT_MAX], sha256[8][65];
    uint32_t parts;
    bool restored;
    float got[ROWS][COLUMNS];
} seen;

static float
value_of(uint64_t batch, uint64_t row, uint64_t column)
{
    return (float)batch + (float)row * 0.5f + (float)column;
}

/* --- the probe ----------------------------------------------------------- */

static skn_status_t
save(skn_actor_t *actor, skn_error_t *error)
{
    uint8_t metadata[] = "{\"a\":1}";
    if (seen.saved == seen.batches) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    skn_save_t message = { .batch = seen.batch[seen.saved],
                           .best = seen.best,
                           .hash = seen.hash,
                           .metadata = { metadata,
                                         sizeof(metadata) - seen.unfinished } };
    return skn_actor_send(actor, &skn_save_schema, &message, error);
}

/* Owner `owner` has half of the rows, of which each is a chunk. */
static skn_status_t
send_state(skn_actor_t *actor, uint64_t batch, uint32_t owner,
           skn_error_t *error)
{
    char file[32];
    static float row[COLUMNS];
    uint32_t first = owner * ROWS / 2;
    (void)snprintf(file, sizeof(file), "a.%u.safetensors", owner);
    skn_tensor_t tensor = { .batch = batch,
                            .file = file,
                            .name = "a.weight",
                            .dtype = SKN_DTYPE_F32,
                            .dims = 2,
                            .rows = ROWS / 2,
                            .columns = COLUMNS,
                            .global_rows = ROWS,
                            .global_columns = COLUMNS,
                            .row_first = first };
    skn_status_t status =
        skn_actor_send(actor, &skn_tensor_schema, &tensor, error);
    for (uint32_t r = 0; r < ROWS / 2 && status == SKN_OK; r++) {
        for (uint32_t c = 0; c < COLUMNS; c++)
            row[c] = value_of(batch, first + r, c);
        if (seen.stream == NOT_FINITE && batch == 10 && owner == 1)
            row[COLUMNS - 1] = NAN;
        skn_chunk_t chunk = { .batch = batch,
                              .file = file,
                              .offset_bytes = r * sizeof(row),
                              .last = r + 1 == ROWS / 2,
                              .bytes = { (uint8_t *)row, sizeof(row) } };
        if (seen.stream == UNKNOWN_FILE && owner == 1)
            chunk.file = "b.safetensors";
        if (seen.stream == TOO_LONG && owner == 1)
            chunk.offset_bytes += 8;
        status = skn_actor_send(actor, &skn_chunk_schema, &chunk, error);
    }
    return status;
}

static skn_status_t
ask(skn_actor_t *actor, skn_error_t *error)
{
    skn_want_t want = { .name = "a.weight", .rows = ROWS, .columns = COLUMNS };
    return skn_actor_send(actor, &skn_want_schema, &want, error);
}

static skn_status_t
take(skn_actor_t *actor, const skn_restored_t *part, skn_error_t *error)
{
    skn_want_t want = { .name = "" };
    if (part->begin) {
        seen.restored = true;
        return SKN_OK;
    }
    seen.parts++;
    size_t rows = part->bytes.count / sizeof(seen.got[0]);
    cr_assert_leq(part->row + rows, ROWS);
    memcpy(seen.got[part->row], part->bytes.at, part->bytes.count);
    return part->row + rows == part->rows
               ? skn_actor_send(actor, &skn_want_schema, &want, error)
               : SKN_OK;
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_restored_schema)
        return take(actor, message, error);
    if (schema == &skn_save_schema) {
        uint64_t batch = ((const skn_save_t *)message)->batch;
        skn_status_t status = send_state(actor, batch, 0, error);
        return status == SKN_OK ? send_state(actor, batch, 1, error) : status;
    }
    const skn_saved_t *saved = message;
    if (seen.checkpoint) { /* all owners have their state */
        seen.checkpoint = NULL;
        return save(actor, error);
    }
    cr_expect_eq(saved->batch, seen.batch[seen.saved]);
    (void)snprintf(seen.told[seen.saved], SKN_TEXT_MAX, "%s", saved->path);
    (void)snprintf(seen.sha256[seen.saved++], 65, "%s", saved->weights_sha256);
    return save(actor, error);
}

static skn_status_t
start(skn_actor_t *actor, skn_error_t *error)
{
    skn_keep_t keep = { .step = SKN_KEEP_SETTLE, .batch = 5, .run = "" };
    if (seen.orders)
        return skn_actor_send(actor, &skn_keep_schema, &keep, error);
    return seen.checkpoint ? ask(actor, error) : save(actor, error);
}

/* --- the topology -------------------------------------------------------- */

static void
pipe_add(skn_draft_t *draft, const char *from, const char *to,
         const char *message, const char *pattern, bool peer)
{
    const char *const senders[] = { from, NULL }, *const receivers[] = { to,
                                                                         NULL };
    static const uint64_t bounds[] = { 0, 1, 2, 3 };
    bool scatters = strcmp(pattern, "scatter") == 0;
    skn_draft_pipe_t pipe = { .from = senders,
                              .to = receivers,
                              .message = message,
                              .pattern = pattern,
                              .key = scatters ? "to" : NULL,
                              .bounds = scatters ? bounds : NULL,
                              .bound_count = scatters ? NODES + 1 : 0,
                              .credit = 16,
                              .peer = peer };
    skn_draft_pipe(draft, &pipe);
}

static void
add_keepers(skn_draft_t *draft)
{
    for (uint32_t k = 0; k < seen.nodes; k++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "keeper.%u", k);
        skn_draft_actor(draft, name, "keeper", SKN_CORE_FLOAT, 0);
        skn_draft_option(draft, "path", "%s", path[k]);
        skn_draft_option(draft, "node", "n%u", k);
        skn_draft_option(draft, "owners", "2");
        skn_draft_option(draft, "keep", "%d", seen.keep);
        skn_draft_option(draft, "config", "skein: 1\n");
        skn_draft_option(draft, "run", "%s", ID);
        skn_draft_option(draft, "read_only", seen.read_only ? "true" : "false");
        skn_draft_option(draft, "resume", seen.checkpoint ? "true" : "false");
        skn_draft_option(draft, "generation", "%d", (int)seen.generation);
        if (seen.checkpoint)
            skn_draft_option(draft, "checkpoint", "%s/%s", path[k],
                             seen.checkpoint);
    }
}

/* The pipes between keepers; the one that leads sends itself no step. */
static void
add_keeper_pipes(skn_draft_t *draft)
{
    for (uint32_t k = 1; k < seen.nodes; k++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "keeper.%u", k);
        pipe_add(draft, name, "keeper.0", "kept", "one", true);
    }
    const char *const lead[] = { "keeper.0", NULL };
    const char *const others[] = { "keeper.1", "keeper.2", NULL };
    skn_draft_pipe_t keep = { .from = lead,
                              .to = others,
                              .message = "keep",
                              .pattern = "broadcast",
                              .credit = 16,
                              .peer = true };
    skn_draft_pipe(draft, &keep);
    pipe_add(draft, "keeper", "keeper", "fetch", "scatter", true);
    pipe_add(draft, "keeper", "keeper", "fetched", "scatter", true);
    if (seen.checkpoint)
        pipe_add(draft, "keeper", "keeper", "holding", "broadcast", true);
}

static skn_topology_t *
topology_of(void)
{
    const skn_kind_t *const kinds[] = { &skn_keeper, &probe_kind, NULL };
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_draft_t *draft = skn_draft_new("test.yaml", "test", problems);
    add_keepers(draft);
    skn_draft_actor(draft, "probe", "probe", SKN_CORE_FLOAT, 0);
    pipe_add(draft, "probe", "keeper.0", "save", "one", false);
    pipe_add(draft, "keeper.0", "probe", "save", "one", false);
    pipe_add(draft, "keeper.0", "probe", "saved", "one", false);
    pipe_add(draft, "probe", "keeper", "tensor", "broadcast", false);
    pipe_add(draft, "probe", "keeper", "chunk", "broadcast", false);
    if (seen.nodes > 1)
        add_keeper_pipes(draft);
    if (seen.orders)
        pipe_add(draft, "probe", "keeper.0", "keep", "one", false);
    if (seen.checkpoint) {
        pipe_add(draft, "probe", "keeper.0", "want", "one", false);
        pipe_add(draft, "keeper.0", "probe", "restored", "one", true);
    }
    skn_spec_t *spec = skn_draft_finish(&draft, kinds, problems);
    if (!spec)
        skn_problems_print(problems, stderr);
    cr_assert(spec);
    skn_problems_destroy(&problems);
    return skn_topology_of(&spec, &probe.error);
}

static void
run(void)
{
    static char line[PROBE_EVENTS_BYTES];
    size_t used = 0;
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_error_t error = { 0 };
    probe.start = start;
    if (!probe.react)
        probe.react = react;
    probe.events[0] = '\0';
    skn_topology_t *topology = topology_of();
    cr_assert(topology, "%s", probe.error.text);
    probe.status = skn_topology_start(topology, &options, &probe.error);
    if (probe.status == SKN_OK) {
        while (skn_topology_event(topology, -1, line, sizeof(line), &error) ==
               SKN_OK)
            used += (size_t)snprintf(probe.events + used,
                                     sizeof(probe.events) - used, "%s\n", line);
        probe.status = skn_topology_wait(topology, &probe.error);
    }
    probe_cut_place(probe.error.text);
    skn_topology_destroy(&topology);
}

static void
run_well(void)
{
    run();
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
}

/* --- folders ------------------------------------------------------------- */

static void
set_up(void)
{
    temp_folder_make(folder);
    for (uint32_t k = 0; k < NODES; k++)
        (void)snprintf(path[k], sizeof(path[k]), "%s/n%u", folder, k);
    seen.nodes = NODES;
    seen.keep = 1;
}

static void
set_up_alone(void)
{
    set_up();
    seen.nodes = 1;
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(keeper, .init = set_up, .fini = tear_down, .timeout = 60);
TestSuite(keeper_alone, .init = set_up_alone, .fini = tear_down, .timeout = 60);

static const char *
at(uint32_t node, const char *name)
{
    static char file[4 * TEMP_FOLDER_BYTES];
    (void)snprintf(file, sizeof(file), "%s/%s", path[node], name);
    return file;
}

static bool
is_there(uint32_t node, const char *name)
{
    struct stat facts;
    return lstat(at(node, name), &facts) == 0;
}

static void
save_batches(size_t count, uint64_t first, uint64_t step)
{
    seen.batches = count;
    seen.saved = 0;
    for (size_t k = 0; k < count; k++)
        seen.batch[k] = first + k * step;
}

static void
flip(const char *file)
{
    int descriptor = open(file, O_RDWR);
    off_t end = lseek(descriptor, 0, SEEK_END);
    char byte;
    cr_assert_eq(pread(descriptor, &byte, 1, end - 1), 1, "%s", file);
    byte = (char)(byte ^ 1);
    cr_assert_eq(pwrite(descriptor, &byte, 1, end - 1), 1);
    (void)close(descriptor);
}

static void
expect_rows(uint64_t batch)
{
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLUMNS; c += 7)
            cr_assert_eq(seen.got[r][c], value_of(batch, r, c), "(%u, %u)", r,
                         c);
}

/* --- alone --------------------------------------------------------------- */

static void
expect_saved(const char *at_path, uint64_t batch)
{
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(at_path, SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_eq(skn_checkpoint_batch(checkpoint), batch);
    cr_expect_eq(skn_checkpoint_read_block(checkpoint, "a.weight", 0, ROWS, 0,
                                           COLUMNS, seen.got,
                                           sizeof(seen.got[0]), &error),
                 SKN_OK, "%s", error.text);
    expect_rows(batch);
    cr_expect(strstr(skn_checkpoint_metadata(checkpoint), "\"a\":1") ||
                  strstr(skn_checkpoint_metadata(checkpoint), "\"a\": 1"),
              "%s", skn_checkpoint_metadata(checkpoint));
    skn_checkpoint_close(&checkpoint);
}

static void
expect_hash(void)
{
    char hex[SKN_SHA256_TEXT_BYTES];
    skn_error_t error = { 0 };
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path[0], SKN_VERIFY_ALL, &error);
    cr_assert(checkpoint, "%s", error.text);
    cr_expect_eq(skn_checkpoint_weights_sha256(checkpoint, hex, &error),
                 SKN_OK);
    cr_expect_str_eq(seen.sha256[0], hex);
    skn_checkpoint_close(&checkpoint);
}

Test(keeper_alone, the_state_of_all_owners_is_one_checkpoint)
{
    save_batches(1, 20, 0);
    run_well();
    cr_expect(strstr(seen.told[0], path[0]));
    cr_expect_str_eq(seen.sha256[0], ""); /* nobody asked for it */
    expect_saved(seen.told[0], 20);
    expect_saved(path[0], 20);
}

Test(keeper_alone, the_hash_is_that_of_the_file)
{
    seen.hash = true;
    save_batches(1, 3, 0);
    run_well();
    expect_hash();
}

/* Also where a folder is in the way of `latest`. */
Test(keeper_alone, only_the_newest_are_kept)
{
    cr_assert(mkdir(path[0], 0700) == 0 && mkdir(at(0, "latest"), 0700) == 0);
    seen.keep = 2;
    save_batches(4, 5, 5);
    run_well();
    for (size_t k = 0; k < 4; k++)
        cr_expect_eq(access(seen.told[k], F_OK) == 0, k >= 2, "%s",
                     seen.told[k]);
    expect_saved(path[0], 20);
}

/* `best` moves when the older ones have been removed: what it named until then
 * goes with the next checkpoint. */
Test(keeper_alone, the_best_so_far_stays_until_another_is_saved)
{
    seen.best = true;
    save_batches(3, 5, 5);
    run_well();
    cr_expect_not(is_there(0, "batch-000000000005"));
    cr_expect(is_there(0, "batch-000000000010"));
    expect_saved(at(0, "best"), 15);
}

Test(keeper_alone, a_broken_stream_is_a_warning_and_training_continues)
{
    seen.stream = TOO_LONG;
    save_batches(2, 5, 5);
    run_well();
    cr_expect_eq(probe_told("\"event\":\"warning\""), 2, "%s", probe.events);
    cr_expect_str_eq(seen.told[0], ""); /* nothing was kept */
}

Test(keeper_alone, a_run_of_a_generation_continues_however_often_saving_fails)
{
    seen.stream = TOO_LONG;
    seen.generation = 7;
    save_batches(8, 5, 5);
    run_well();
    cr_expect_eq(probe_told("\"event\":\"warning\""), 8, "%s", probe.events);
}

Test(keeper_alone, without_the_final_model_the_run_fails)
{
    seen.stream = TOO_LONG;
    seen.hash = true;
    save_batches(1, 5, 0);
    run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text, "160000 bytes at 8, but 0 of"), "%s",
              probe.error.text);
    cr_expect(strstr(probe.error.hint, "no batch of this run is saved yet"),
              "%s", probe.error.hint);
}

/* The second owner of two sends it: the first one's part is written by then.
 */
Test(keeper_alone, values_that_are_not_finite_get_into_no_checkpoint)
{
    size_t count = 0;
    seen.stream = NOT_FINITE;
    save_batches(2, 5, 5);
    run();
    cr_expect_eq(probe.status, SKN_DIVERGED);
    cr_expect_str_eq(probe.error.text,
                     "keeper.0: a.weight of batch 10 has values that are not "
                     "finite, in the part from a.1.safetensors");
    cr_expect(strstr(probe.error.hint, "older checkpoints are intact"), "%s",
              probe.error.hint);
    expect_saved(path[0], 5); /* keep is 1: it would go */
    DIR *directory = opendir(path[0]);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += strstr(entry->d_name, "batch-") ||
                 strncmp(entry->d_name, ".tmp", 4) == 0;
    cr_expect_eq(count, 1, "nothing unfinished stays");
    (void)closedir(directory);
}

Test(keeper_alone, state_that_nobody_asked_for_is_refused)
{
    seen.stream = UNKNOWN_FILE;
    save_batches(1, 5, 0);
    run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text, "unexpected state for b.safetensors"),
              "%s", probe.error.text);
}

Test(keeper_alone, metadata_without_an_end_are_refused)
{
    seen.unfinished = true;
    save_batches(1, 5, 0);
    run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect(strstr(probe.error.text, "the metadata of batch 5 has no "
                                       "NUL at its end"),
              "%s", probe.error.text);
}

Test(keeper_alone, a_folder_with_another_run_is_refused)
{
    save_batches(1, 5, 0);
    run_well();
    save_batches(1, 6, 0);
    run();
    cr_expect_neq(probe.status, SKN_OK);
    cr_expect(strstr(probe.error.text, path[0]), "%s", probe.error.text);
    expect_saved(path[0], 5);
}

Test(keeper_alone, a_step_of_a_batch_that_is_not_being_saved_is_refused)
{
    seen.orders = true;
    run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text, "keeper.0: step 6 of batch 5, which is "
                                       "not being saved");
}

Test(keeper_alone, one_that_only_looks_saves_nothing)
{
    seen.read_only = true;
    save_batches(1, 5, 0);
    run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text,
                     "keeper.0: asked to save batch 5, but read_only is set");
    cr_expect_not(is_there(0, ""), "not even a folder");
}

/* --- saving -------------------------------------------------------------- */

Test(keeper, only_one_that_is_alone_may_just_look)
{
    seen.read_only = true;
    run();
    cr_expect_eq(probe.status, SKN_BAD_CONFIG);
    cr_expect(strstr(probe.error.text, "one of 3 keepers cannot be read_only"),
              "%s", probe.error.text);
}

Test(keeper, all_have_the_same_manifest_and_one_is_kept)
{
    skn_error_t error = { 0 };
    skn_held_t *held[NODES];
    size_t count;
    save_batches(2, 5, 5);
    run_well();
    cr_expect_str_eq(seen.told[1], at(0, "batch-000000000010"));
    cr_expect_str_eq(seen.sha256[1], "");
    for (uint32_t k = 0; k < NODES; k++) {
        cr_assert_eq(skn_held_list(path[k], &held[k], &count, &error), SKN_OK);
        cr_assert_eq(count, 1, "5 makes room when all have 10");
        cr_expect_eq(held[k]->batch, 10);
        cr_expect_str_eq(held[k]->run_id, ID);
        cr_expect_str_eq(held[k]->seal, held[0]->seal);
        cr_expect(is_there(k, "latest"));
        cr_expect_not(is_there(k, "best"));
    }
    for (uint32_t k = 0; k < NODES; k++)
        skn_held_free(&held[k], 1);
}

Test(keeper, the_best_is_marked_on_all_and_its_hash_reported)
{
    seen.best = seen.hash = true;
    seen.generation = 7;
    save_batches(1, 5, 0);
    run_well();
    for (uint32_t k = 0; k < NODES; k++) {
        cr_expect(is_there(k, "batch-000000000005-g000007/manifest.json"));
        cr_expect(is_there(k, "best"));
    }
    expect_hash();
}

/* A folder that stands where the one in work must go: nobody keeps anything. */
static void
spoil(uint64_t batch)
{
    char name[64];
    (void)snprintf(name, sizeof(name), ".tmp-%012u", (unsigned)batch);
    cr_assert_eq(mkdir(at(2, name), 0700), 0);
    (void)snprintf(name, sizeof(name), ".tmp-%012u/in", (unsigned)batch);
    cr_assert_eq(mkdir(at(2, name), 0700), 0);
}

static size_t spoilt = 1; /* how many, from the second on */

static skn_status_t
spoil_and_save(skn_actor_t *actor, skn_error_t *error)
{
    if (seen.saved >= 1 && seen.saved <= spoilt && seen.saved < seen.batches)
        spoil(seen.batch[seen.saved]);
    return save(actor, error);
}

static skn_status_t
react_and_spoil(skn_actor_t *actor, const skn_schema_t *schema,
                const void *message, skn_error_t *error)
{
    if (schema != &skn_saved_schema)
        return react(actor, schema, message, error);
    (void)snprintf(seen.told[seen.saved++], SKN_TEXT_MAX, "%s",
                   ((const skn_saved_t *)message)->path);
    return spoil_and_save(actor, error);
}

static void
run_spoilt(void)
{
    probe.react = react_and_spoil;
    run();
}

Test(keeper, where_one_keeper_cannot_save_none_does_and_the_run_continues)
{
    save_batches(3, 5, 5);
    run_spoilt();
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    cr_expect_eq(probe_told("\"event\":\"warning\""), 1, "%s", probe.events);
    cr_expect_eq(probe_told("node 'n2': "), 1, "%s", probe.events);
    cr_expect_eq(probe_told("\"hint\":\"batch 5 is saved\""), 1, "%s",
                 probe.events);
    cr_expect_str_eq(seen.told[1], "");
    for (uint32_t k = 0; k < NODES; k++) {
        cr_expect_not(is_there(k, "batch-000000000010"));
        cr_expect(is_there(k, "batch-000000000015"), "the next one is kept");
    }
}

/* Of nodes that come and go, one that keeps nothing any more is better left
 * out: the run fails, and says who it was. */
Test(keeper, where_one_never_can_those_that_come_and_go_fail)
{
    seen.generation = 7;
    spoilt = 5;
    save_batches(8, 5, 5);
    run_spoilt();
    cr_expect_neq(probe.status, SKN_OK);
    cr_expect(strstr(probe.error.text, "node 'n2': "), "%s", probe.error.text);
    cr_expect_eq(seen.saved, 5, "the first, and four that were not kept");
    cr_expect(is_there(0, "batch-000000000005-g000007"));
}

Test(keeper, where_one_keeper_cannot_save_for_a_while_they_continue)
{
    seen.generation = 7;
    spoilt = 4;
    save_batches(8, 5, 5);
    run_spoilt();
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
    cr_expect(is_there(0, "batch-000000000040-g000007"));
}

Test(keeper, without_the_final_model_the_run_fails)
{
    seen.hash = true;
    save_batches(3, 5, 5);
    run_spoilt();
    cr_expect_neq(probe.status, SKN_OK);
    cr_expect(strstr(probe.error.text, "node 'n2': "), "%s", probe.error.text);
    for (uint32_t k = 0; k < NODES; k++)
        cr_expect(is_there(k, "batch-000000000005"), "the older one is");
}

/* --- going on ------------------------------------------------------------ */

#define FIRST "batch-000000000005"

/* A checkpoint of batch 5; then the run goes on from it. */
static void
save_first(void)
{
    save_batches(1, 5, 0);
    run_well();
    save_batches(1, 5, 0);
    seen.checkpoint = FIRST;
    seen.generation = 1;
}

static void
lose(uint32_t node, const char *file)
{
    cr_assert_eq(unlink(at(node, file)), 0, "%s", file);
}

Test(keeper, a_missing_part_comes_from_a_node_that_has_it)
{
    save_first();
    lose(0, FIRST "/a.0.safetensors");
    lose(0, FIRST "/a.1.safetensors");
    lose(1, FIRST "/a.0.safetensors");
    run_well();
    cr_expect(seen.restored);
    cr_expect_eq(seen.parts, ROWS, "one row fits into a part");
    expect_rows(5);
    for (uint32_t k = 0; k < NODES; k++) {
        cr_expect(is_there(k, FIRST "-g000001"));
        cr_expect_not(is_there(k, FIRST), "it was written again");
    }
}

Test(keeper, a_node_with_no_folder_takes_part)
{
    save_first();
    temp_folder_remove(path[2]);
    run_well();
    expect_rows(5);
    cr_expect(is_there(2, FIRST "-g000001/a.0.safetensors"));
}

Test(keeper, damage_at_one_is_another_s_to_give)
{
    save_first();
    flip(at(0, FIRST "/a.0.safetensors"));
    flip(at(1, FIRST "/a.0.safetensors"));
    run_well();
    expect_rows(5);
    cr_expect_eq(probe_told("another node's copy is used"), 1, "%s",
                 probe.events);
}

Test(keeper, a_part_that_no_node_has_ends_the_run_and_nothing_is_lost)
{
    save_first();
    for (uint32_t k = 0; k < 2; k++)
        lose(k, FIRST "/a.1.safetensors");
    flip(at(2, FIRST "/a.1.safetensors"));
    run();
    cr_expect_eq(probe.status, SKN_NO_INPUT);
    cr_expect(strstr(probe.error.text,
                     "no node holds rows 5 to 5 of a.weight of the checkpoint "
                     "of batch 5 (a.1.safetensors): node 'n2': "),
              "%s", probe.error.text);
    cr_expect(is_there(2, FIRST "/a.1.safetensors"));
}

Test(keeper, newer_ones_are_forgotten_when_it_is_saved_again)
{
    save_first();
    for (uint32_t k = 0; k < NODES; k++) {
        (void)mkdir(at(k, "batch-000000000006"), 0700);
        (void)mkdir(at(k, "batch-000000000004"), 0700);
    }
    run_well();
    for (uint32_t k = 0; k < NODES; k++) {
        cr_expect_not(is_there(k, "batch-000000000006"));
        cr_expect_not(is_there(k, "batch-000000000004"), "keep is 1");
    }
}

Test(keeper, a_folder_of_another_run_is_refused)
{
    skn_error_t error = { 0 };
    skn_run_options_t options = { .run_id = "f123456789abcdef0123456789abcdef",
                                  .config_text = "" };
    save_first();
    temp_folder_remove(path[1]);
    skn_run_folder_t *other =
        skn_run_folder_open(path[1], &options, NULL, &error);
    cr_assert(other);
    skn_run_folder_close(&other);
    run();
    cr_expect_eq(probe.status, SKN_CANNOT_CREATE);
    cr_expect(strstr(probe.error.text, "node 'n1': "), "%s", probe.error.text);
    cr_expect(
        strstr(probe.error.text, "n1 holds run f12345, this is run 012345"),
        "%s", probe.error.text);
}
