/* test_frequencies.c - tests how often labels occur in the training data of an
 * actor. SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/frequencies.h"

#include "actors/protocol/data.h"
#include "actors/protocol/settings.h"
#include "tests/support/actor_probe.h"
#include "tests/support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 16];
static uint32_t counted[300];
static uint64_t points;

static skn_status_t
subject_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_frequencies_t frequencies;
    (void)state;
    skn_status_t status = skn_frequencies_open(&frequencies, actor, error);
    if (status != SKN_OK) {
        cr_expect(!frequencies.tokens && !frequencies.dataset);
        return status;
    }
    size_t labels = (size_t)skn_actor_option_int(actor, "labels");
    memcpy(counted, frequencies.label, labels * sizeof(*counted));
    points = frequencies.point_count;
    skn_frequencies_close(&frequencies);
    cr_expect_null(frequencies.label);
    return SKN_OK;
}

static skn_status_t
on_halt(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    (void)actor, (void)state, (void)message, (void)error;
    return SKN_OK;
}

/* An actor has to be connected. */
static const skn_handler_t subject_handlers[] = {
    { &skn_halt_schema, on_halt, NULL },
    { 0 },
};

static const skn_option_t subject_options[] = {
    { "train", SKN_OPTION_PATH, NULL, 0, 0, NULL, "training data" },
    SKN_DATA_OPTIONS,
    { "features", SKN_OPTION_INT, "0", 0, SKN_UNIT_MAX, NULL, "features" },
    { "labels", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL, "labels" },
    SKN_TEXT_OPTIONS,
    { 0 },
};

static const skn_kind_t subject =
    SKN_KIND(.name = "subject", .help = "opens the frequencies of its data",
             .options = subject_options, .handlers = subject_handlers,
             .open = subject_open);

static skn_status_t
finish(skn_actor_t *actor, skn_error_t *error)
{
    (void)error;
    skn_actor_finish(actor);
    return SKN_OK;
}

static void
be_subject(const char *text, const char *labels, const char *tokens)
{
    memset(&probe, 0, sizeof(probe));
    memset(counted, 0, sizeof(counted));
    temp_folder_make(folder);
    (void)snprintf(file, sizeof(file), "%s/data", folder);
    FILE *out = fopen(file, "w");
    cr_assert(out && fputs(text, out) >= 0 && fclose(out) == 0);
    probe.kind = &subject;
    probe.start = finish;
    probe.to[0] = "halt";
    probe_option("train", file);
    probe_option("labels", labels);
    probe_option("tokens", tokens);
    probe_option("cache", "none");
}

Test(frequencies, labels_of_points_are_counted)
{
    be_subject("0,2 1:1\n2 0:1\n", "3", "false");
    probe_run_well();
    const uint32_t wanted[] = { 1, 0, 2 };
    cr_expect_arr_eq(counted, wanted, sizeof(wanted));
    cr_expect_eq(points, 2u);
    temp_folder_remove(folder);
}

Test(frequencies, tokens_of_text_are_counted)
{
    be_subject("abba", "257", "true");
    probe_run_well();
    cr_expect_eq(counted['a'], 2u);
    cr_expect_eq(counted['b'], 2u);
    cr_expect_eq(counted[256], 1u);
    cr_expect_eq(points, 5u);
    temp_folder_remove(folder);
}

Test(frequencies, text_of_another_vocabulary_is_refused)
{
    be_subject("abba", "300", "true");
    probe_run();
    cr_expect_eq(probe.status, SKN_BAD_DATA);
    cr_expect(strstr(probe.error.text, "its tokenizer has 257 tokens, but the "
                                       "model has 300"),
              "%s", probe.error.text);
    temp_folder_remove(folder);
}
