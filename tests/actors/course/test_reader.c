/* test_reader.c - tests that a reader makes the same batches as the source.
 *
 * A source issues every batch to a reader and a probe; the probe receives both
 * batches and both lists of labels, and compares them number by number. Covers
 * actors/course/reader.c, actors/course/batches.c and
 * actors/course/batch_points.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/data.h"
#include "tests/support/actor_probe.h"
#include "tests/support/oracle.h"
#include "tests/support/temp_folder.h"
#include "transport/message/field.h"

#define POINTS 61
#define BATCH_ROWS 8
#define EPOCH 5 /* batches: a quarter of the labelled points validates */

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];
static char other[TEMP_FOLDER_BYTES + 16];

/* Every fifth point has no label; the values of `salt` and 0 differ. */
static void
write_points(const char *path, uint32_t salt)
{
    oracle_random_t random = { 9 };
    FILE *out = fopen(path, "w");
    cr_assert(out);
    (void)fprintf(out, "%d 40 90\n", POINTS);
    for (uint32_t k = 0; k < POINTS; k++) {
        if (k % 5 != 3)
            (void)fprintf(out, "%u,%u", k % 30, 40 + k % 7);
        for (uint32_t f = oracle_next(&random) % 9; f < 40;
             f += 1 + oracle_next(&random) % 9)
            (void)fprintf(out, " %u:%u", f,
                          1 + oracle_next(&random) % 9 + salt);
        (void)fprintf(out, "\n");
    }
    cr_assert_eq(fclose(out), 0);
}

static void
set_up(void)
{
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/points.txt", folder);
    (void)snprintf(other, sizeof(other), "%s/other.txt", folder);
    write_points(file, 0);
    write_points(other, 1);
}

static void
tear_down(void)
{
    temp_folder_remove(folder);
}

TestSuite(reader, .init = set_up, .fini = tear_down, .timeout = 60);

/* --- side by side --------------------------------------------------------- */

static const struct {
    uint64_t first, end;
    uint32_t purpose;
} spans[] = {
    { 0, 3, SKN_PURPOSE_TRAIN },  { 0, 0, SKN_PURPOSE_VALIDATE },
    { 3, 7, SKN_PURPOSE_TRAIN },  { 0, 0, SKN_PURPOSE_TEST },
    { 7, 12, SKN_PURPOSE_TRAIN },
};
#define SPANS (sizeof(spans) / sizeof(spans[0]))

static struct {
    size_t span;
    const void *waits[2][4]; /* batch, labels: those that came first */
    uint32_t pairs[2], rows;
    uint64_t batches;
} seen;

/* Whether two messages of a schema hold the same, bit for bit. */
static bool
are_same(const skn_schema_t *schema, const void *one, const void *two)
{
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        size_t item_bytes = skn_field_item_bytes(field->kind);
        const char *a = (const char *)one + field->offset;
        const char *b = (const char *)two + field->offset;
        if (item_bytes == 0) {
            size_t bytes = field->kind == SKN_FIELD_u32 ? 4 : 8;
            if (memcmp(a, b, bytes) != 0)
                return false;
            continue;
        }
        skn_run_t left = skn_field_run(field, one);
        skn_run_t right = skn_field_run(field, two);
        if (left.count != right.count ||
            memcmp(left.at, right.at, left.count * item_bytes) != 0)
            return false;
    }
    return true;
}

static skn_status_t
go(skn_actor_t *actor, skn_error_t *error)
{
    skn_go_t message = { .purpose = SKN_GO_FINISH };
    if (seen.span < SPANS) {
        message.first = spans[seen.span].first;
        message.end = spans[seen.span].end;
        message.purpose = spans[seen.span].purpose;
    } else {
        skn_actor_finish(actor);
    }
    return skn_actor_send(actor, &skn_go_schema, &message, error);
}

/* The other message of the same number, or a place to wait for it. */
static const void **
partner(uint32_t what, uint64_t batch)
{
    return &seen.waits[what][batch % 4];
}

static skn_status_t
meet(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
     uint64_t batch, skn_error_t *error)
{
    uint32_t what = schema == &skn_labels_schema;
    const void **first = partner(what, batch);
    if (!*first) {
        *first = skn_message_keep(message);
        return SKN_OK;
    }
    cr_expect(are_same(schema, *first, message), "%s of batch %llu, span %zu",
              schema->name, (unsigned long long)batch, seen.span);
    skn_message_drop(*first);
    *first = NULL;
    seen.pairs[what]++;
    if (what == 1 || *partner(1, batch))
        return SKN_OK; /* a batch is applied once */
    skn_applied_t applied = { .batch = batch,
                              .purpose = spans[seen.span].purpose };
    return skn_actor_send(actor, &skn_applied_schema, &applied, error);
}

static skn_status_t
react(skn_actor_t *actor, const skn_schema_t *schema, const void *message,
      skn_error_t *error)
{
    if (schema == &skn_batch_schema) {
        const skn_batch_t *batch = message;
        seen.rows += batch->rows;
        return meet(actor, schema, message, batch->batch, error);
    }
    if (schema == &skn_labels_schema)
        return meet(actor, schema, message,
                    ((const skn_labels_t *)message)->batch, error);
    seen.batches +=
        ((const skn_reached_t *)message)->batch - spans[seen.span].first;
    seen.span++;
    return go(actor, error);
}

static void
add_pipe(skn_draft_t *draft, const char *from, const char *to,
         const char *message)
{
    const char *const senders[] = { from, NULL };
    const char *const receivers[] = { to, NULL };
    skn_draft_pipe_t pipe = { .from = senders,
                              .to = receivers,
                              .message = message,
                              .pattern = "broadcast",
                              .credit = 8 };
    skn_draft_pipe(draft, &pipe);
}

static void
add_data(skn_draft_t *draft, const char *train)
{
    skn_draft_option(draft, "train", "%s", train);
    skn_draft_option(draft, "test", "%s", file);
    skn_draft_option(draft, "cache", "%s", "none");
    skn_draft_option(draft, "features", "%d", 40);
    skn_draft_option(draft, "labels", "%d", 90);
    skn_draft_option(draft, "batch_rows", "%d", BATCH_ROWS);
    skn_draft_option(draft, "validate", "%s", "0.25");
    skn_draft_option(draft, "test_rows", "%d", 19);
    skn_draft_option(draft, "seed", "%d", 5);
}

/* A source, a reader of the file `train`, and the probe. */
static skn_status_t
run_beside(const char *train, skn_error_t *error)
{
    static const char *const messages[] = { "batch", "labels" };
    const skn_kind_t *const kinds[] = { &skn_source, &skn_reader, &probe_kind,
                                        NULL };
    skn_problems_t *problems = skn_problems_new(error);
    skn_draft_t *draft = skn_draft_new("test.yaml", "test", problems);
    memset(&seen, 0, sizeof(seen));
    probe.start = go;
    probe.react = react;
    skn_draft_actor(draft, "source", "source", SKN_CORE_FLOAT, 0);
    add_data(draft, file);
    skn_draft_option(draft, "window", "%d", 3);
    skn_draft_option(draft, "owners", "%d", 1);
    skn_draft_actor(draft, "reader", "reader", SKN_CORE_FLOAT, 0);
    add_data(draft, train);
    skn_draft_actor(draft, "probe", "probe", SKN_CORE_FLOAT, 0);
    for (size_t k = 0; k < 2; k++) {
        add_pipe(draft, "source", "probe", messages[k]);
        add_pipe(draft, "reader", "probe", messages[k]);
    }
    add_pipe(draft, "source", "reader", "issue");
    add_pipe(draft, "source", "probe", "reached");
    add_pipe(draft, "probe", "source", "go");
    add_pipe(draft, "probe", "source", "applied");
    skn_spec_t *spec = skn_draft_finish(&draft, kinds, problems);
    if (!spec)
        skn_problems_print(problems, stderr);
    cr_assert(spec);
    skn_problems_destroy(&problems);
    skn_topology_t *topology = skn_topology_of(&spec, error);
    cr_assert(topology, "%s", error->text);
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_status_t status = skn_topology_start(topology, &options, error);
    if (status == SKN_OK)
        status = skn_topology_wait(topology, error);
    skn_topology_destroy(&topology);
    return status;
}

Test(reader, it_makes_the_batches_of_the_source)
{
    skn_error_t error = { 0 };
    cr_assert_eq(run_beside(file, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(seen.span, SPANS);
    cr_expect_gt(seen.batches, 12 + 1 + 3);
    cr_expect_eq(seen.pairs[0], seen.batches);
    cr_expect_eq(seen.pairs[1], seen.batches);
    cr_expect_gt(seen.rows, 2 * 12 * (BATCH_ROWS - 2));
}

Test(reader, other_data_than_those_of_the_source_are_refused)
{
    skn_error_t error = { 0 };
    cr_expect_eq(run_beside(other, &error), SKN_BAD_DATA);
    cr_expect(strstr(error.text, "reader (in its handler of 'issue'): the "
                                 "training or test file differs from that of "
                                 "the source (hash "),

              "%s", error.text);
    cr_expect_str_eq(error.hint,
                     "every node needs the same files: copy them again from "
                     "the source's node");
}

/* --- alone ---------------------------------------------------------------- */

static skn_issue_t issues[8];
static uint32_t issue_count, batch_count, label_count;

static skn_status_t
post_issues(skn_actor_t *actor, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < issue_count && status == SKN_OK; k++)
        status = skn_actor_send(actor, &skn_issue_schema, &issues[k], error);
    skn_actor_finish(actor);
    return status;
}

static skn_status_t
count_messages(skn_actor_t *actor, const skn_schema_t *schema,
               const void *message, skn_error_t *error)
{
    (void)actor, (void)message, (void)error;
    batch_count += schema == &skn_batch_schema;
    label_count += schema == &skn_labels_schema;
    return SKN_OK;
}

static uint64_t
hash_of(const char *train, const char *test)
{
    skn_dataset_options_t options = { .cache = SKN_CACHE_ANONYMOUS };
    uint64_t hash = 0;
    const char *const paths[] = { train, test };
    for (size_t k = 0; k < 2 && paths[k]; k++) {
        skn_dataset_t *dataset = NULL;
        cr_assert_eq(skn_dataset_open(paths[k], &options, &dataset, NULL),
                     SKN_OK);
        hash = skn_data_hash(hash, dataset);
        skn_dataset_close(&dataset);
    }
    return hash;
}

static void
be_alone(const char *test)
{
    static const char *const options[][2] = {
        { "cache", "none" },   { "features", "40" },   { "labels", "90" },
        { "batch_rows", "8" }, { "validate", "0.25" }, { "seed", "5" },
    };
    memset(&probe, 0, sizeof(probe));
    memset(issues, 0, sizeof(issues));
    issue_count = batch_count = label_count = 0;
    probe.kind = &skn_reader;
    probe.start = post_issues;
    probe.react = count_messages;
    probe.to[0] = "issue";
    probe.from[0] = "batch";
    probe.from[1] = "labels";
    probe_option("train", file);
    if (test)
        probe_option("test", test);
    for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
        probe_option(options[k][0], options[k][1]);
}

static void
add_issue(uint64_t batch, uint32_t purpose, uint64_t data)
{
    issues[issue_count++] = (skn_issue_t){
        .batch = batch, .horizon = batch, .purpose = purpose, .data = data
    };
}

Test(reader, training_continues_in_the_next_epoch)
{
    be_alone(NULL);
    uint64_t data = hash_of(file, NULL);
    add_issue(0, SKN_PURPOSE_TRAIN, data);
    add_issue(1000000, SKN_PURPOSE_TRAIN, data);
    add_issue(0, SKN_PURPOSE_VALIDATE, data);
    probe_run_well();
    cr_expect_eq(batch_count, 3);
    cr_expect_eq(label_count, 3);
}

Test(reader, it_makes_only_messages_that_have_a_receiver)
{
    for (uint32_t k = 0; k < 2; k++) {
        be_alone(NULL);
        probe.from[0] = k == 0 ? "labels" : "batch";
        probe.from[1] = NULL;
        add_issue(0, SKN_PURPOSE_TRAIN, hash_of(file, NULL));
        probe_run_well();
        cr_expect_eq(batch_count, k);
        cr_expect_eq(label_count, 1 - k);
    }
}

static void
expect_refused(uint64_t batch, uint32_t purpose, const char *says)
{
    be_alone(NULL);
    add_issue(batch, purpose, hash_of(file, NULL));
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_MESSAGE);
    cr_expect_str_eq(probe.error.text, says);
}

Test(reader, batches_that_are_not_there_are_refused)
{
    expect_refused(0, SKN_PURPOSE_TEST,
                   "reader: batch 0 for purpose 2 does not exist");
    expect_refused(9, SKN_PURPOSE_VALIDATE,
                   "reader: batch 9 for purpose 1 does not exist");
    expect_refused(UINT64_MAX, SKN_PURPOSE_VALIDATE,
                   "reader: batch 18446744073709551615 for purpose 1 does "
                   "not exist");
}

Test(reader, the_hash_is_of_both_files)
{
    uint64_t train = hash_of(file, NULL), both = hash_of(file, other);
    cr_expect_neq(train, hash_of(other, NULL));
    cr_expect_neq(both, train);
    cr_expect_neq(both, hash_of(other, file));
    be_alone(other);
    add_issue(0, SKN_PURPOSE_TEST, both);
    probe_run_well();
    be_alone(other);
    add_issue(0, SKN_PURPOSE_TEST, hash_of(file, file));
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_DATA);
}
