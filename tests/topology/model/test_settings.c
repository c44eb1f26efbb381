/* test_settings.c - tests which settings all machines of a run must share.
 * Covers topology/model/settings.c; with topology/cluster/admission.c:
 * tests/e2e/admitted.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/model_fixture.h"
#include "topology/model/settings.h"

static char *
settings_of(const char *text)
{
    skn_error_t error = { 0 };
    skn_model_t *model = fixture_good(text);
    char *settings = skn_settings_text(model, &error);
    cr_assert(settings, "%s", error.text);
    skn_model_destroy(&model);
    return settings;
}

/* What is said where the run has `run` and a member `theirs`. */
static skn_error_t
compare(const char *run, const char *theirs)
{
    skn_error_t error = { 0 };
    char *one = settings_of(run), *other = settings_of(theirs);
    skn_status_t status = skn_settings_compare(one, other, "b", &error);
    cr_expect(status == error.status);
    free(one);
    free(other);
    return error;
}

Test(settings, are_a_line_a_key)
{
    char *text = settings_of(FIXTURE "train: { epochs: 7 }\n");
    cr_expect(strncmp(text, "model.layers hidden,output\n", 27) == 0, "%s",
              text);
    cr_expect(strstr(text, "\ntrain.epochs 7\n"), "%s", text);
    cr_expect(strstr(text, "\nmodel.layers.hidden.units auto\n"), "%s", text);
    cr_expect(strstr(text, "\nmodel.layers.output.sampler.kind auto\n"));
    cr_expect(strstr(text, "\ntrain.optimizer.rate auto\n"));
    cr_expect(strstr(text, "\ndata.normalize l2\n"));
    cr_expect(strstr(text, "\ncheckpoint.every_epochs 1\n"));
    cr_expect(strstr(text, "\ncoordinator.recovery rollback\n"));
    free(text);
}

Test(settings, a_key_that_differs_is_named_with_both_values)
{
    skn_error_t error = compare(FIXTURE "train: { epochs: 7 }\n",
                                FIXTURE "train: { epochs: 8 }\n");
    cr_expect(error.status == SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text,
                     "node 'b' has another config: train.epochs is 8 there, "
                     "and 7 in the run");
    cr_expect_str_eq(error.hint,
                     "start it with the coordinator's file, and the same -o: "
                     "train.epochs=7");
}

#define LAYERS "model: { layers: [{ name: hidden }, { name: output }] }\n"

/* A text may be empty, and in any script. */
Test(settings, texts_are_quoted)
{
    static const char own[] = "skein: 1\ndata: { train: t, text_column: T\u00ed"
                              "tulo, label_separator: \"\" }\n" LAYERS;
    char *text = settings_of(own);
    cr_expect(strstr(text, "\ndata.text_column \"T\xc3\xadtulo\"\n"), "%s",
              text);
    cr_expect(strstr(text, "\ndata.label_separator \"\"\n"), "%s", text);
    free(text);
    cr_expect_eq(compare(own, own).status, SKN_OK);
    cr_expect_str_eq(compare(own,
                             "skein: 1\ndata: { train: t, text_column: "
                             "T\u00edtulo, label_separator: \";\" }\n" LAYERS)
                         .text,
                     "node 'b' has another config: data.label_separator is "
                     "\";\" there, and \"\" in the run");
}

/* A part of a value would be another value. */
Test(settings, a_value_that_is_not_shown_whole_is_not_to_be_typed)
{
#define TWENTY "abcdefghijklmnopqrst"
#define COLUMNS(name)                                                          \
    "skein: 1\ndata: { train: t, number_columns: " name " }\n" LAYERS
    skn_error_t error =
        compare(COLUMNS(TWENTY TWENTY "uvwxyzabcdefghijkl"), COLUMNS("other"));
    cr_expect(strstr(error.hint,
                     "number_columns=\"" TWENTY TWENTY "uvwxyzabcdefghijkl\""),
              "%s", error.hint);
    error =
        compare(COLUMNS(TWENTY TWENTY "uvwxyzabcdefghijklm"), COLUMNS("other"));
    cr_expect_str_eq(error.hint, "start it with the coordinator's file");
}

Test(settings, the_first_of_several_is_named_and_others_are_counted)
{
    skn_error_t error = compare(
        FIXTURE "train: { epochs: 7, seed: 3, batch_rows: 4 }\n", FIXTURE);
    cr_expect_str_eq(error.text,
                     "node 'b' has another config: train.seed is 1 there, and "
                     "3 in the run (2 more keys differ)");
}

Test(settings, layers_and_what_is_in_them_count)
{
    static const char one[] =
        "skein: 1\ndata: { train: t }\nmodel:\n  layers:\n"
        "    - { name: h, units: 32 }\n"
        "    - { name: output }\n";
    static const char wide[] =
        "skein: 1\ndata: { train: t }\nmodel:\n  layers:\n"
        "    - { name: h, units: 64 }\n    - { name: output }\n";
    static const char deep[] =
        "skein: 1\ndata: { train: t }\nmodel:\n  layers:\n"
        "    - { name: h, units: 32 }\n    - { name: i }\n"
        "    - { name: output }\n";
    skn_error_t error = compare(one, wide);
    cr_expect(strstr(error.text, "model.layers.h.units is 64 there, and 32 in"),
              "%s", error.text);
    error = compare(one, deep);
    cr_expect(strstr(error.text, "model.layers is h,i,output there, and h,out"),
              "%s", error.text);
    cr_expect_str_eq(error.hint, "start it with the coordinator's file");
}

Test(settings, a_test_file_that_only_one_has_counts)
{
    static const char with[] =
        "skein: 1\ndata: { train: t, test: u }\nmodel:\n  layers:\n"
        "    - { name: hidden }\n    - { name: output }\n";
    skn_error_t error = compare(with, FIXTURE);
    cr_expect(strstr(error.text, "data.test is none there, and given in"), "%s",
              error.text);
}

Test(settings, what_is_each_machines_own_does_not_count)
{
    static const char other[] =
        "skein: 1\n"
        "data: { train: /else/where, cache: none, memory: 2GiB }\n"
        "model:\n"
        "  layers:\n"
        "    - { name: hidden }\n"
        "    - { name: output }\n"
        "checkpoint: { path: /mine }\n"
        "resources: { cores: 3, memory: 1GiB, huge_pages: false }\n"
        "links: { rate: 1e6 }\n"
        "idle: { enabled: true, share: 0.5, notice: { file: f } }\n";
    skn_error_t error = compare(FIXTURE, other);
    cr_expect(error.status == SKN_OK, "%s", error.text);
}

/* The micro-batches of a decoder that are in flight follow from both. */
Test(settings, links_of_a_decoder_count)
{
    static const char one[] = "skein: 1\ndata: { train: t }\n"
                              "model: { kind: decoder, layers: 2 }\n";
    static const char other[] = "skein: 1\ndata: { train: t }\n"
                                "model: { kind: decoder, layers: 2 }\n"
                                "links: { latency: 0.25, rate: 1.0e6 }\n";
    skn_error_t error = compare(one, other);
    cr_expect(error.status == SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "links.rate is 1000000 there"), "%s",
              error.text);
    cr_expect(strstr(error.text, "1 more key differs"), "%s", error.text);
}

Test(settings, bytes_that_are_no_settings_are_refused)
{
    static const char *const bad[] = {
        "?",   "\n",     " \n",           "key\n",   "key \n",   " value\n",
        "a b", "a b\nc", "a \x1b[31mb\n", "a b\n\n", "a \xc3\n",
    };
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        skn_error_t error = { 0 };
        cr_expect(skn_settings_compare("a b\n", bad[k], "b", &error) ==
                      SKN_BAD_MESSAGE,
                  "%zu", k);
        cr_expect_not(strstr(error.text, "\x1b"));
    }
}

Test(settings, no_more_than_a_bound_is_read)
{
    for (size_t bytes = SKN_SETTINGS_BYTES_MAX - 1;
         bytes <= SKN_SETTINGS_BYTES_MAX + 1; bytes++) {
        skn_error_t error = { 0 };
        char *text = malloc(bytes + 1);
        cr_assert(text);
        memset(text, 'x', bytes);
        text[1] = ' ';
        text[bytes - 1] = '\n';
        text[bytes] = '\0';
        skn_status_t status = skn_settings_compare("a b\n", text, "b", &error);
        cr_expect(status == (bytes <= SKN_SETTINGS_BYTES_MAX ? SKN_OK
                                                             : SKN_BAD_MESSAGE),
                  "%zu bytes", bytes);
        text[0] = 'a'; /* a value that is shown in part */
        status = skn_settings_compare("a b\n", text, "b", &error);
        cr_expect(status == (bytes <= SKN_SETTINGS_BYTES_MAX
                                 ? SKN_BAD_CONFIG
                                 : SKN_BAD_MESSAGE));
        cr_expect(strlen(error.text) < 300);
        free(text);
    }
}

Test(settings, keys_of_another_version_and_another_order_are_fine)
{
    skn_error_t error = { 0 };
    cr_expect(skn_settings_compare("a 1\nb 2\nc 3\n", "c 3\nnew 9\na 1\n", "b",
                                   &error) == SKN_OK,
              "%s", error.text);
    cr_expect(skn_settings_compare("a 1\nb 2\n", "", "b", &error) == SKN_OK);
}
