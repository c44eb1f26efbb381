/* test_report.c - tests the report of a run's time, as a table and as JSON, for
 * actors of any name. Traces of the same runs are JSON too. Covers
 * actors/runtime/report.c and actors/runtime/system_figures.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <unistd.h>

#include "actors/runtime/figures.h"
#include "tests/support/flow_fixture.h"

TestSuite(report, .timeout = 60);

static flow_t flow;
static skn_error_t error;

/* Names as a topology may have them: letters, digits and . _ - */
static const char *const odd_names[] = {
    "a", "_", "A.0", "x-y_z.12", "0", "..", "a.b.c.d.e.f.g.h", "maker", "sink",
};

static json_t *
report_of(const skn_system_t *system)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    flow_report(system, true, file);
    fclose(file);
    cr_expect_eq(text[bytes - 1], '\n');
    cr_expect_null(memchr(text, '\n', bytes - 1), "one line");
    json_t *report = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(report, "%s", text);
    free(text);
    return report;
}

static char *
table_of(const skn_system_t *system)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    flow_report(system, false, file);
    fclose(file);
    return text;
}

static uint64_t
number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_integer(value), "%s", key);
    return (uint64_t)json_integer_value(value);
}

/* One maker and `sinks` that each get every message. */
static skn_system_t *
broadcast(uint32_t sinks, uint32_t messages, const skn_start_options_t *options)
{
    flow_actors(&flow, &maker, 1, messages, 1);
    flow_actors(&flow, &sink, sinks, 0, 0);
    flow_pipe(&flow, &token_schema, SKN_PATTERN_BROADCAST, 2, 0, 1, 1, sinks);
    for (uint32_t k = 0; k <= sinks; k++)
        flow.actors[k].name = odd_names[k];
    skn_system_t *system = skn_system_new(&flow.wiring, options, &error);
    cr_assert(system, "%s", error.text);
    cr_assert_eq(flow_follow(system, &error), SKN_OK, "%s", error.text);
    return system;
}

#define SINKS 8
#define MESSAGES 30

Test(report, every_actor_is_reported_under_its_name)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_system_t *system = broadcast(SINKS, MESSAGES, &options);
    json_t *report = report_of(system);
    json_t *actors = json_object_get(report, "actors");
    cr_assert_eq(json_array_size(actors), SINKS + 1);
    for (uint32_t k = 0; k <= SINKS; k++) {
        const json_t *actor = json_array_get(actors, k);
        const json_t *name = json_object_get(actor, "name");
        const json_t *kind = json_object_get(actor, "kind");
        cr_expect_str_eq(json_string_value(name), odd_names[k]);
        cr_expect_str_eq(json_string_value(kind), k == 0 ? "maker" : "sink");
        cr_expect_geq(json_object_size(actor), 21);
    }
    json_decref(report);
    skn_system_destroy(&system);
}

/* What goes out comes in: no message and no byte is told twice or lost. */
Test(report, what_is_sent_is_what_is_received)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_system_t *system = broadcast(SINKS, MESSAGES, &options);
    json_t *report = report_of(system);
    json_t *actors = json_object_get(report, "actors"), *actor;
    uint64_t in = 0, bytes_in = 0, run_ns = number(report, "run_ns");
    size_t k;
    const json_t *source = json_array_get(actors, 0);
    cr_expect_eq(number(source, "messages_out"), SINKS * MESSAGES);
    cr_expect_eq(number(source, "messages_in"), 0);
    cr_expect_gt(number(source, "bytes_out"), 0);
    json_array_foreach(actors, k, actor)
    {
        in += number(actor, "messages_in");
        bytes_in += number(actor, "bytes_in");
        cr_expect_eq(number(actor, "dropped"), 0);
        cr_expect_eq(number(actor, "restarts"), 0);
        cr_expect_leq(number(actor, "busy_ns"), run_ns);
        cr_expect_eq(number(actor, "messages_in"), k == 0 ? 0 : MESSAGES);
    }
    cr_expect_eq(in, SINKS * MESSAGES);
    cr_expect_eq(bytes_in, number(source, "bytes_out"));
    json_decref(report);
    skn_system_destroy(&system);
}

Test(report, handlers_are_reported_with_their_quantiles_in_order)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_system_t *system = broadcast(SINKS, MESSAGES, &options);
    json_t *report = report_of(system);
    json_t *actors = json_object_get(report, "actors"), *actor;
    size_t k;
    json_array_foreach(actors, k, actor)
    {
        const json_t *handlers = json_object_get(actor, "handlers");
        cr_assert_eq(json_array_size(handlers), k == 0 ? 0 : 1);
        if (k == 0)
            continue;
        const json_t *handler = json_array_get(handlers, 0);
        cr_expect_str_eq(json_string_value(json_object_get(handler, "message")),
                         "token");
        cr_expect_eq(number(handler, "count"), MESSAGES);
        cr_expect_leq(number(handler, "p50_ns"), number(handler, "p99_ns"));
        cr_expect_leq(number(handler, "max_ns"), number(actor, "busy_ns"));
    }
    json_decref(report);
    skn_system_destroy(&system);
}

/* A line an actor and one for each message that it handled; no line is torn by
 * a name. */
Test(report, the_table_has_a_line_for_each)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_system_t *system = broadcast(SINKS, MESSAGES, &options);
    char *table = table_of(system), *rest = NULL;
    uint32_t line_count = 0;
    for (char *line = strtok_r(table, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest), line_count++) {
        if (line_count == 0) {
            cr_expect_eq(strncmp(line, "actor  ", 7), 0, "%s", line);
            continue;
        }
        if (strncmp(line, "    token", 9) == 0) {
            cr_expect(strstr(line, " 30 handled, p50 <= "), "%s", line);
            continue;
        }
        if (line[0] == '(') { /* what the columns mean ends the table */
            cr_expect(strstr(rest, "contained in the others)\n"), "%s", rest);
            break;
        }
        cr_expect_geq(strlen(line), 90, "%s", line);
    }
    cr_expect_eq(line_count, 1 + (SINKS + 1) + SINKS);
    free(table);
    skn_system_destroy(&system);
}

/* A run in which nothing is sent has a report, too. */
Test(report, a_run_without_messages_has_a_report)
{
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_system_t *system = broadcast(SINKS, 0, &options);
    json_t *report = report_of(system);
    const json_t *actors = json_object_get(report, "actors");
    for (uint32_t k = 0; k <= SINKS; k++) {
        const json_t *actor = json_array_get(actors, k);
        cr_expect_eq(number(actor, "messages_in"), 0);
        cr_expect_eq(number(actor, "messages_out"), 0);
        cr_expect_eq(number(actor, "outbox_max"), 0);
    }
    char *table = table_of(system);
    cr_expect_null(strstr(table, "handled"), "%s", table);
    free(table);
    json_decref(report);
    skn_system_destroy(&system);
}

Test(report, the_table_shows_how_many_batches_an_actor_held)
{
    skn_actor_figures_t actors[] = { { .name = "a", .held_max = 12 },
                                     { .name = "b" } };
    skn_figures_t figures = { .actors = actors, .actor_count = 2 };
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    skn_figures_table(&figures, file);
    fclose(file);
    const char *held = strstr(text, "    batches                      12"
                                    " held at most\n");
    cr_assert(held, "%s", text);
    cr_expect_null(strstr(strchr(held, '\n'), "held"), "%s", text);
    free(text);
}

/* --- traces -------------------------------------------------------------- */

static json_t *
trace_of(uint32_t sinks, uint32_t messages)
{
    char path[] = "/tmp/skein-report.XXXXXX";
    int descriptor = mkstemp(path);
    skn_start_options_t options =
        SKN_START_OPTIONS(.no_binding = true, .trace_path = path);
    skn_system_t *system = broadcast(sinks, messages, &options);
    skn_system_destroy(&system);
    json_t *trace = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    close(descriptor);
    unlink(path);
    cr_assert(trace);
    return trace;
}

Test(report, a_trace_names_every_actor_once)
{
    json_t *trace = trace_of(SINKS, MESSAGES), *event;
    json_t *events = json_object_get(trace, "traceEvents");
    uint32_t named[SINKS + 1] = { 0 };
    size_t k;
    json_array_foreach(events, k, event)
    {
        const char *type = json_string_value(json_object_get(event, "ph"));
        const char *what = json_string_value(json_object_get(event, "name"));
        cr_assert(type && what);
        if (strcmp(type, "M") != 0 || strcmp(what, "thread_name") != 0)
            continue;
        const json_t *arguments = json_object_get(event, "args");
        const char *name =
            json_string_value(json_object_get(arguments, "name"));
        for (uint32_t n = 0; n <= SINKS; n++)
            named[n] += strcmp(name, odd_names[n]) == 0;
    }
    for (uint32_t n = 0; n <= SINKS; n++)
        cr_expect_eq(named[n], 1, "%s: %u", odd_names[n], named[n]);
    json_decref(trace);
}

/* Of each message one span at each receiver, with its batch. */
Test(report, a_trace_has_a_span_for_every_batch_of_every_receiver)
{
    json_t *trace = trace_of(2, MESSAGES), *event;
    json_t *events = json_object_get(trace, "traceEvents");
    uint32_t seen[MESSAGES] = { 0 };
    size_t k;
    json_array_foreach(events, k, event)
    {
        const char *group = json_string_value(json_object_get(event, "cat"));
        if (!group || strcmp(group, "handler") != 0)
            continue;
        uint64_t batch = number(json_object_get(event, "args"), "batch");
        cr_assert_lt(batch, MESSAGES);
        seen[batch]++;
        cr_expect_geq(json_number_value(json_object_get(event, "dur")), 0);
    }
    for (uint32_t batch = 0; batch < MESSAGES; batch++)
        cr_expect_eq(seen[batch], 2, "batch %u: %u spans", batch, seen[batch]);
    json_decref(trace);
}
