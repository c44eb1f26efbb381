/* test_misuse.c - tests every public function with wrong calls: an error that
 * states the place, or nothing; never a crash. test_misuse_kinds.c has those
 * that only a kind can make.
 *
 * tests/e2e/library.sh checks that this file names each function of the
 * library. SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "skein/batcher.h"
#include "skein/config.h"
#include "skein/convert.h"
#include "skein/evaluation.h"
#include "skein/generator.h"
#include "skein/event.h"
#include "skein/inspection.h"
#include "skein/join.h"
#include "skein/member.h"
#include "skein/points.h"
#include "skein/port.h"
#include "skein/predictor.h"
#include "skein/topology.h"
#include "skein/training.h"
#include "skein/tuning.h"
#include "skein/version.h"
#include "skein/yielding.h"

TestSuite(misuse, .timeout = 60);

static skn_error_t error;

#define FIELDS_note(F, M)                                                      \
    F(M, u64, batch, UINT64_MAX, "a number")                                   \
    F(M, str, text, 16, "a text")
SKN_MESSAGE_STRUCT(note, FIELDS_note)
SKN_MESSAGE_SCHEMA(note, "note", 1000, FIELDS_note, "goes nowhere")

/* --- functions for hosts -----------------------------------------------------
 * Each is true if it refused, or did nothing. */

static bool
is_usage(skn_status_t status)
{
    return status == SKN_USAGE && error.status == SKN_USAGE && error.text[0];
}

static bool
new_without_text(void)
{
    return !skn_topology_new(NULL, "name", NULL, &error) &&
           is_usage(error.status) && !skn_topology_new(NULL, NULL, NULL, NULL);
}

static bool
new_without_name(void)
{
    return !skn_topology_new("skein: 2\n", NULL, NULL, &error) &&
           strstr(error.text, "topology:1:");
}

static bool
new_with_rubbish(void)
{
    static const char *const texts[] = {
        "", "\n", "[", "\x80", "skein: 1\n", "skein: 1\ntopology:\n", "- a\n"
    };
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
        if (skn_topology_new(texts[k], "", NULL, &error) || !error.text[0])
            return false;
    return true;
}

static bool
version_is_that_of_the_headers(void)
{
    return skn_version() == SKN_VERSION;
}

/* As of a host that was compiled with other headers: its other members must not
 * be read. */
static bool
new_with_kinds_of_other_sizes(void)
{
    static skn_kind_t kind = SKN_KIND(.name = (const char *)1);
    const skn_kind_t *const kinds[] = { &kind, NULL };
    static const size_t sizes[] = { 0, 1, sizeof(kind) - 1, sizeof(kind) + 8,
                                    SIZE_MAX };
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        kind.struct_bytes = sizes[k];
        if (skn_topology_new("skein: 1\n", "t", kinds, &error) ||
            !is_usage(error.status) ||
            !strstr(error.text, "skn_topology_new, kinds[0]: struct_bytes is"))
            return false;
    }
    return true;
}

static bool
start_with_options_of_other_sizes(void)
{
    static const skn_kind_t kind = SKN_KIND(.name = "k");
    static const skn_kind_t *const kinds[] = { &kind, NULL };
    skn_start_options_t options = { .node = 0 };
    skn_topology_t *topology = skn_topology_new(
        "skein: 1\ntopology: { name: t, actors: [{ name: a, kind: k }] }", "t",
        kinds, &error);
    bool refused = topology &&
                   is_usage(skn_topology_start(topology, &options, &error)) &&
                   strstr(error.text, "SKN_START_OPTIONS");
    options.struct_bytes = sizeof(options);
    refused =
        refused && skn_topology_start(topology, &options, &error) == SKN_OK;
    skn_topology_destroy(&topology);
    return refused;
}

static bool
destroy_nothing(void)
{
    skn_topology_t *none = NULL;
    skn_topology_destroy(NULL);
    skn_topology_destroy(&none);
    return true;
}

static bool
start_nothing(void)
{
    return is_usage(skn_topology_start(NULL, NULL, &error)) &&
           skn_topology_start(NULL, NULL, NULL) == SKN_USAGE;
}

static bool
event_of_nothing(void)
{
    char line[8];
    return is_usage(skn_topology_event(NULL, 0, line, sizeof(line), &error)) &&
           skn_topology_event(NULL, -1, NULL, 0, NULL) == SKN_USAGE;
}

static bool
wait_for_nothing(void)
{
    return is_usage(skn_topology_wait(NULL, &error)) &&
           skn_topology_wait(NULL, NULL) == SKN_USAGE;
}

static bool
wait_for_nothing_for_a_while(void)
{
    return is_usage(skn_topology_wait_for(NULL, 1, &error)) &&
           skn_topology_wait_for(NULL, -1, NULL) == SKN_USAGE;
}

static bool
check_nothing(void)
{
    return skn_topology_check(NULL, NULL, NULL, &error, 1) == 1 &&
           is_usage(error.status) &&
           skn_topology_check(NULL, NULL, NULL, NULL, 1) == 1 &&
           skn_topology_check("", NULL, NULL, &error, 0) > 0;
}

static bool
ask_nothing(void)
{
    skn_topology_stop(NULL);
    skn_topology_abort(NULL);
    skn_topology_report(NULL, false, stderr);
    return skn_topology_fd(NULL) == -1 && skn_topology_event_bytes(NULL) == 0 &&
           !skn_topology_actor(NULL, 0);
}

/* Neither a handler is installed nor the descriptor kept. */
static bool
crashes_nowhere(void)
{
    return is_usage(skn_report_crashes(-1, &error)) &&
           skn_report_crashes(-1, NULL) == SKN_USAGE;
}

static bool
ports_of_nothing(void)
{
    skn_port_finish(NULL);
    return !skn_topology_port(NULL, "in", &error) && is_usage(error.status) &&
           skn_port_fd(NULL) == -1 &&
           !skn_port_message(NULL, &note_schema, NULL, &error) &&
           is_usage(error.status) &&
           is_usage(skn_port_post(NULL, NULL, &error)) &&
           is_usage(skn_port_send(NULL, NULL, NULL, &error)) &&
           !skn_port_take(NULL, NULL, &error) && is_usage(error.status) &&
           !skn_port_take(NULL, NULL, NULL);
}

static bool
predict_with_nothing(void)
{
    skn_predictor_t *none = NULL;
    uint32_t label[1];
    float score[1];
    skn_points_t points = { 0 };
    skn_predictor_close(NULL);
    skn_predictor_strict(NULL, true);
    skn_predictor_close(&none);
    return skn_predictor_unknown(NULL, NULL, NULL, NULL) == 0 &&
           !skn_predictor_label(NULL, 0)[0] && !skn_predictor_info(NULL) &&
           !skn_predictor_open(NULL, &error) && is_usage(error.status) &&
           !skn_predictor_open(NULL, NULL) && !skn_predictor_open("", NULL) &&
           is_usage(skn_predictor_index(NULL, 1, 1, &error)) &&
           is_usage(
               skn_predictor_best(NULL, &points, 1, label, score, &error)) &&
           skn_predictor_best(NULL, NULL, 0, NULL, NULL, NULL) == SKN_USAGE &&
           is_usage(skn_predictor_best_texts(NULL, NULL, NULL, 0, 1, label,
                                             score, &error)) &&
           skn_predictor_best_texts(NULL, NULL, NULL, 1, 0, NULL, NULL, NULL) ==
               SKN_USAGE &&
           is_usage(skn_predictor_best_rows(NULL, NULL, NULL, 0, 1, label,
                                            score, &error)) &&
           skn_predictor_best_rows(NULL, NULL, NULL, 1, 0, NULL, NULL, NULL) ==
               SKN_USAGE &&
           !skn_predictor_read(NULL, "-", &error) && is_usage(error.status) &&
           !skn_predictor_read(NULL, NULL, NULL) &&
           is_usage(skn_predictor_export(NULL, "x", NULL, NULL, &error));
}

static bool
convert_nothing(void)
{
    skn_convert_options_t options = SKN_ZERO;
    skn_converted_t converted = SKN_ZERO;
    return is_usage(
               skn_rows_convert(NULL, "x", &options, &converted, &error)) &&
           is_usage(
               skn_rows_convert("x", NULL, &options, &converted, &error)) &&
           is_usage(skn_rows_convert("x", "x", NULL, &converted, &error)) &&
           is_usage(skn_rows_convert("x", "x", &options, NULL, &error)) &&
           is_usage(skn_rows_convert("x", "x", &options, &converted, &error)) &&
           skn_rows_convert("x", "x", &options, &converted, NULL) == SKN_USAGE;
}

static bool
evaluate_and_join_nothing(void)
{
    const char *const none[] = { NULL };
    skn_evaluation_t found = SKN_ZERO;
    skn_joined_t joined = SKN_ZERO;
    return is_usage(skn_predictor_evaluate(NULL, NULL, &found, &error)) &&
           skn_predictor_evaluate(NULL, NULL, NULL, NULL) == SKN_USAGE &&
           is_usage(skn_networks_join(NULL, none, 1, NULL, &joined, &error)) &&
           is_usage(skn_networks_join("x", NULL, 1, NULL, &joined, &error)) &&
           is_usage(skn_networks_join("x", none, 1, NULL, NULL, &error)) &&
           is_usage(skn_networks_join("x", none, 1, NULL, &joined, &error)) &&
           skn_networks_join("x", none, 0, NULL, &joined, NULL) == SKN_USAGE;
}

static bool
generate_nothing(void)
{
    const skn_token_choice_t choice = SKN_ZERO;
    skn_generator_t *none = NULL;
    skn_generated_t token;
    skn_text_score_t score;
    uint64_t count;
    skn_generator_close(NULL);
    skn_generator_close(&none);
    return !skn_generator_open(NULL, NULL, &error) && is_usage(error.status) &&
           !skn_generator_open(NULL, NULL, NULL) &&
           is_usage(
               skn_generator_prompt(NULL, "", 0, &count, &count, &error)) &&
           is_usage(skn_generator_next(NULL, &choice, &token, &error)) &&
           is_usage(skn_generator_score(NULL, NULL, &score, &error)) &&
           is_usage(skn_generator_export(NULL, "x", &error)) &&
           skn_generator_next(NULL, NULL, NULL, NULL) == SKN_USAGE;
}

static bool
read_nothing(void)
{
    skn_names_t *no_names = NULL;
    skn_point_reader_t *none = NULL;
    skn_point_reader_options_t options = SKN_ZERO;
    skn_names_close(NULL);
    skn_names_close(&no_names);
    skn_point_reader_close(NULL);
    skn_point_reader_close(&none);
    return !skn_point_reader_open(NULL, NULL, &error) &&
           is_usage(error.status) &&
           !skn_point_reader_open("-", &options, &error) &&
           is_usage(error.status) &&
           !skn_point_reader_open_text(NULL, 1, NULL, NULL, &error) &&
           is_usage(error.status) &&
           !skn_point_reader_open_text("1:1", 3, "it", &options, NULL) &&
           !skn_point_reader_next(NULL, &error) && is_usage(error.status) &&
           !skn_point_reader_next(NULL, NULL) &&
           !skn_names_open(NULL, &error) && is_usage(error.status) &&
           !skn_names_open(NULL, NULL);
}

static bool
inspect_nothing(void)
{
    skn_inspection_t *none = NULL;
    skn_inspection_close(NULL);
    skn_inspection_close(&none);
    return !skn_inspection_open(NULL, &error) && is_usage(error.status) &&
           !skn_inspection_open(NULL, NULL) && !skn_inspection_open("", NULL) &&
           !skn_inspection_info(NULL) && !skn_inspection_checkpoint(NULL, 0) &&
           !skn_inspection_tensor(NULL, 0) &&
           is_usage(skn_inspection_print(NULL, SKN_INSPECTION_TEXT, stderr,
                                         &error)) &&
           skn_inspection_print(NULL, SKN_INSPECTION_JSON, NULL, NULL) ==
               SKN_USAGE;
}

static bool
coordinate_nothing(void)
{
    char line[8];
    skn_coordinator_t *none = NULL;
    skn_coordinator_options_t options = SKN_ZERO;
    skn_coordinator_info_t info = SKN_ZERO;
    skn_coordinator_destroy(NULL);
    skn_coordinator_destroy(&none);
    skn_coordinator_stop(NULL);
    return !skn_coordinator_new(NULL, &error) && is_usage(error.status) &&
           !skn_coordinator_new(&options, &error) && is_usage(error.status) &&
           is_usage(skn_coordinator_start(NULL, &error)) &&
           is_usage(
               skn_coordinator_event(NULL, -1, line, sizeof(line), &error)) &&
           is_usage(skn_coordinator_wait(NULL, &error)) &&
           is_usage(skn_coordinator_info(NULL, &info, &error)) &&
           skn_coordinator_fd(NULL) == -1;
}

static bool
take_part_in_nothing(void)
{
    char line[8], key[SKN_PUBLIC_KEY_BYTES];
    skn_member_t *none = NULL;
    skn_member_options_t options = SKN_ZERO;
    skn_member_info_t info = SKN_ZERO;
    skn_member_destroy(NULL);
    skn_member_destroy(&none);
    skn_member_leave(NULL);
    skn_member_stop(NULL);
    return !skn_member_new(NULL, &error) && is_usage(error.status) &&
           !skn_member_new(&options, NULL) &&
           is_usage(skn_member_start(NULL, &error)) &&
           is_usage(skn_member_event(NULL, -1, line, sizeof(line), &error)) &&
           is_usage(skn_member_wait(NULL, &error)) &&
           is_usage(skn_member_info(NULL, &info, &error)) &&
           skn_member_fd(NULL) == -1 &&
           is_usage(skn_keygen(NULL, NULL, key, &error));
}

static bool
train_with_nothing(void)
{
    char line[8];
    skn_training_t *none = NULL;
    skn_training_info_t info = SKN_ZERO;
    skn_training_destroy(NULL);
    skn_training_destroy(&none);
    skn_training_save(NULL);
    skn_training_stop(NULL);
    skn_training_break(NULL);
    skn_training_report(NULL, stderr);
    return !skn_training_new(NULL, NULL, NULL, &error) &&
           is_usage(error.status) && !skn_training_new(NULL, "a", NULL, NULL) &&
           !skn_training_load(NULL, NULL, &error) && is_usage(error.status) &&
           is_usage(skn_training_start(NULL, &error)) &&
           is_usage(skn_training_reports_print(NULL, 1, true, true, stderr,
                                               &error)) &&
           is_usage(skn_training_event(NULL, -1, line, sizeof(line), &error)) &&
           is_usage(skn_training_wait(NULL, &error)) &&
           is_usage(skn_training_info(NULL, &info, &error)) &&
           skn_training_info(NULL, NULL, NULL) == SKN_USAGE &&
           skn_training_fd(NULL) == -1 && skn_training_event_bytes(NULL) == 0;
}

static bool
tune_nothing(void)
{
    char line[8];
    skn_tuning_t *none = NULL;
    skn_tuning_options_t options = SKN_ZERO;
    skn_tuning_info_t info = SKN_ZERO;
    skn_tuning_destroy(NULL);
    skn_tuning_destroy(&none);
    skn_tuning_stop(NULL);
    return !skn_tuning_new(NULL, &error) && is_usage(error.status) &&
           !skn_tuning_new(&options, &error) && is_usage(error.status) &&
           is_usage(skn_tuning_start(NULL, &error)) &&
           is_usage(skn_tuning_event(NULL, -1, line, sizeof(line), &error)) &&
           is_usage(skn_tuning_wait(NULL, &error)) &&
           is_usage(skn_tuning_info(NULL, &info, &error)) &&
           skn_tuning_info(NULL, NULL, NULL) == SKN_USAGE &&
           skn_tuning_fd(NULL) == -1;
}

static bool
yield_nothing(void)
{
    char line[8];
    skn_yielding_t *none = NULL;
    skn_yielding_options_t options = SKN_ZERO;
    skn_yielding_destroy(NULL);
    skn_yielding_destroy(&none);
    skn_yielding_hurry(NULL);
    skn_yielding_end(NULL);
    return !skn_yielding_new(NULL, &error) && is_usage(error.status) &&
           !skn_yielding_new(&options, &error) && is_usage(error.status) &&
           is_usage(skn_yielding_begin(NULL, 1, &error)) &&
           skn_yielding_step(NULL) == SKN_YIELDING_STAY &&
           is_usage(skn_yielding_event(NULL, line, sizeof(line), &error));
}

static bool
configure_nothing(void)
{
    static const char *const overrides[] = { NULL };
    skn_config_t *none = NULL;
    skn_config_info_t info = SKN_ZERO;
    skn_config_options_t options = SKN_ZERO;
    skn_config_destroy(NULL);
    skn_config_destroy(&none);
    bool refused =
        !skn_config_new(NULL, NULL, NULL, &error) && is_usage(error.status) &&
        !skn_config_load(NULL, NULL, &error) && is_usage(error.status) &&
        !skn_config_load("a", &options, &error) && is_usage(error.status) &&
        !skn_config_problem(NULL, 0) && !skn_config_warning(NULL, 0) &&
        is_usage(skn_config_plan(NULL, &error)) &&
        is_usage(skn_config_info(NULL, &info, &error)) &&
        !skn_config_value(NULL, "a") && !skn_config_topology(NULL, &error) &&
        is_usage(error.status) &&
        is_usage(skn_config_print(NULL, SKN_CONFIG_MODEL, stderr, &error)) &&
        is_usage(skn_reference_print(SKN_REFERENCE_KEYS, NULL, NULL, &error)) &&
        !skn_config_override(NULL, "", &error) && is_usage(error.status) &&
        !skn_config_override("a", NULL, &error) && is_usage(error.status);
    options.struct_bytes = sizeof(options);
    options.override_count = 1;
    refused = refused && !skn_config_new("", NULL, &options, &error) &&
              is_usage(error.status);
    options.overrides = overrides;
    refused = refused && !skn_config_new("", NULL, &options, &error) &&
              is_usage(error.status);
    skn_config_t *config = skn_config_new("", NULL, NULL, NULL);
    refused =
        refused && config && is_usage(skn_config_info(config, &info, &error)) &&
        is_usage(skn_config_info(config, NULL, &error)) &&
        !skn_config_value(config, NULL) &&
        is_usage(
            skn_config_print(config, (skn_config_part_t)99, stderr, &error)) &&
        is_usage(skn_config_print(config, SKN_CONFIG_MODEL, NULL, &error));
    skn_config_destroy(&config);
    return refused;
}

static bool
batch_with_nothing(void)
{
    skn_predictor_slot_t slot = SKN_ZERO;
    skn_predictor_t *none = NULL;
    skn_batcher_t *no_batcher = NULL;
    skn_points_t points = { 0 };
    uint32_t label[1];
    float score[1];
    skn_batcher_destroy(NULL);
    skn_batcher_destroy(&no_batcher);
    return is_usage(skn_predictor_slot_store(NULL, NULL, &error)) &&
           is_usage(skn_predictor_slot_store(&slot, &none, &error)) &&
           skn_predictor_slot_store(NULL, &none, NULL) == SKN_USAGE &&
           !skn_predictor_slot_acquire(NULL, &error) &&
           is_usage(error.status) && !skn_predictor_slot_acquire(NULL, NULL) &&
           !skn_predictor_slot_acquire(&slot, NULL) &&
           !skn_batcher_new(NULL, 1, 1, &error) && is_usage(error.status) &&
           !skn_batcher_new(&slot, 0, 0, NULL) &&
           is_usage(skn_batcher_best(NULL, &points, 1, label, score, &none,
                                     &error)) &&
           skn_batcher_best(NULL, NULL, 0, NULL, NULL, NULL, NULL) == SKN_USAGE;
}

static bool
texts_of_nothing(void)
{
    char text[4] = "abc", *end = text;
    const char *volatile none = NULL; /* the compiler knows formats */
    FILE *volatile nowhere = NULL;
    skn_text_escape(SKN_TEXT_JSON, NULL, NULL);
    return skn_text_write(text, sizeof(text), none, 0) == 0 && !text[0] &&
           skn_text_print(nowhere, "%d", 1) < 0 &&
           skn_text_print(stderr, none, 0) < 0 &&
           skn_text_real(NULL, &end) == 0 && !end &&
           skn_text_real("", NULL) == 0;
}

/* They are called by the two above, and by skn_fail(). */
static const void *const covered[] = { skn_text_write_list, skn_text_print_list,
                                       skn_error_write };

static bool
events_of_nothing(void)
{
    char text[4] = "abc";
    double number;
    return !skn_event_is(NULL, "a") && !skn_event_is("{}", NULL) &&
           !skn_event_number("{\"a\":1}", "a", NULL) &&
           !skn_event_number(NULL, NULL, &number) &&
           skn_event_text("not JSON", "a", text, sizeof(text)) == 0 &&
           !text[0] && skn_event_text("{\"a\":1}", "a", NULL, 9) == 2;
}

static bool
actor_of_nothing(void)
{
    note_t note = { .text = "" };
    skn_actor_rest(NULL);
    skn_actor_finish(NULL);
    skn_actor_alarm(NULL, 0, 0);
    skn_actor_watch(NULL, 0, 0);
    skn_actor_report_blocked(NULL, NULL, 0, NULL, 1);
    skn_message_drop(NULL);
    skn_parts_refuse(NULL, 1);
    return !skn_actor_name(NULL)[0] && skn_actor_index(NULL) == 0 &&
           skn_actor_peers(NULL) == 0 && !skn_actor_host(NULL) &&
           !skn_actor_option_bool(NULL, "a") &&
           skn_actor_option_int(NULL, "a") == 0 &&
           skn_actor_option_real(NULL, "a") == 0 &&
           !skn_actor_option_text(NULL, "a")[0] &&
           skn_actor_time_ns(NULL) == 0 && !skn_message_keep(NULL) &&
           skn_actor_receivers(NULL, &note_schema) == 0 &&
           !skn_actor_message(NULL, &note_schema, NULL, &error) &&
           is_usage(error.status) &&
           is_usage(skn_actor_post(NULL, NULL, &error)) &&
           is_usage(skn_actor_send(NULL, &note_schema, &note, &error)) &&
           is_usage(skn_actor_ask_clock(NULL, 0, &error)) &&
           is_usage(skn_actor_set_deadline(NULL, 1, 2, &error)) &&
           is_usage(skn_actor_ask(NULL, NULL, 1, 2, &error)) &&
           !skn_actor_clear_deadline(NULL, 1) &&
           is_usage(skn_actor_send_event(NULL, &error, "{}")) &&
           !skn_actor_stop_wanted(NULL) && covered[0] && skn_clock_schema.id;
}

Test(misuse, of_a_function_for_hosts_is_refused)
{
    static const struct {
        const char *name;
        bool (*refuses)(void);
    } calls[] = {
        { "skn_topology_new without a text", new_without_text },
        { "skn_topology_new without a name", new_without_name },
        { "skn_topology_new of rubbish", new_with_rubbish },
        { "skn_topology_new with kinds of other sizes",
          new_with_kinds_of_other_sizes },
        { "skn_topology_start with options of other sizes",
          start_with_options_of_other_sizes },
        { "skn_version", version_is_that_of_the_headers },
        { "skn_topology_destroy", destroy_nothing },
        { "skn_topology_start", start_nothing },
        { "skn_topology_event", event_of_nothing },
        { "skn_topology_wait", wait_for_nothing },
        { "skn_topology_wait_for", wait_for_nothing_for_a_while },
        { "skn_topology_check", check_nothing },
        { "skn_topology_fd and others", ask_nothing },
        { "skn_report_crashes", crashes_nowhere },
        { "skn_port_*", ports_of_nothing },
        { "skn_predictor_*", predict_with_nothing },
        { "skn_rows_convert", convert_nothing },
        { "skn_predictor_evaluate, skn_networks_join",
          evaluate_and_join_nothing },
        { "skn_generator_*", generate_nothing },
        { "skn_point_reader_* and skn_names_*", read_nothing },
        { "skn_inspection_*", inspect_nothing },
        { "skn_coordinator_*", coordinate_nothing },
        { "skn_member_* and skn_keygen", take_part_in_nothing },
        { "skn_config_* and skn_reference_print", configure_nothing },
        { "skn_training_*", train_with_nothing },
        { "skn_tuning_*", tune_nothing },
        { "skn_yielding_*", yield_nothing },
        { "skn_batcher_* and skn_predictor_slot_*", batch_with_nothing },
        { "skn_text_*", texts_of_nothing },
        { "skn_event_*", events_of_nothing },
        { "skn_actor_*", actor_of_nothing },
    };
    for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++) {
        error = (skn_error_t){ 0 };
        cr_expect(calls[k].refuses(), "%s: %s", calls[k].name, error.text);
    }
}
