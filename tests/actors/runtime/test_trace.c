/* test_trace.c - tests the trace that is written from an actor's ring.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <jansson.h>

#include "actors/runtime/trace.h"
#include "tests/support/word_kinds.h"

TestSuite(trace, .timeout = 60);

static skn_error_t error;

/* The events of `trace`, which is destroyed. */
static json_t *
events_of(skn_trace_t *trace, uint64_t origin_ns)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    fputc('[', file);
    skn_trace_write(trace, file, 1, 7, "output.3", origin_ns);
    fputs("0]", file);
    fclose(file);
    skn_trace_destroy(&trace);
    json_t *events = json_loads(text, 0, NULL);
    cr_assert(events, "%s", text);
    free(text);
    return events;
}

static double
number(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static const char *
text(const json_t *event, const char *key)
{
    return json_string_value(json_object_get(event, key));
}

Test(trace, spans_carry_time_duration_and_batch)
{
    skn_trace_t *trace = skn_trace_new(&error);
    work_t work = { .batch = 42 };
    skn_trace_span(trace, "work", 5000, 7500, &work_schema, &work);
    skn_trace_span(trace, "drain", 8000, 8001, NULL, NULL);
    json_t *events = events_of(trace, 1000);
    const json_t *name = json_array_get(events, 0);
    cr_expect_str_eq(text(name, "ph"), "M");
    cr_expect_str_eq(text(json_object_get(name, "args"), "name"), "output.3");
    const json_t *span = json_array_get(events, 1);
    cr_expect_str_eq(text(span, "ph"), "X");
    cr_expect_str_eq(text(span, "name"), "work");
    cr_expect_str_eq(text(span, "cat"), "handler");
    cr_expect_eq(number(span, "ts"), 4.0);
    cr_expect_eq(number(span, "dur"), 2.5);
    cr_expect_eq(number(span, "tid"), 7);
    cr_expect_eq(number(json_object_get(span, "args"), "batch"), 42);
    const json_t *hook = json_array_get(events, 2);
    cr_expect_str_eq(text(hook, "cat"), "hook");
    cr_expect_null(json_object_get(hook, "args"));
    json_decref(events);
}

Test(trace, flows_of_one_message_have_one_id)
{
    skn_trace_t *trace = skn_trace_new(&error);
    skn_trace_flow(trace, SKN_TRACE_SEND, 2000, "work", 3, 9);
    skn_trace_flow(trace, SKN_TRACE_TAKE, 3000, "work", 3, 9);
    skn_trace_flow(trace, SKN_TRACE_TAKE, 3000, "work", 3, 10);
    json_t *events = events_of(trace, 0);
    const json_t *send = json_array_get(events, 1);
    const json_t *take = json_array_get(events, 2);
    cr_expect_str_eq(text(send, "ph"), "s");
    cr_expect_str_eq(text(take, "ph"), "f");
    cr_expect_str_eq(text(take, "bp"), "e");
    cr_expect_eq(number(send, "id"), number(take, "id"));
    cr_expect_neq(number(take, "id"), number(json_array_get(events, 3), "id"));
    json_decref(events);
}

Test(trace, a_full_ring_keeps_the_newest)
{
    skn_trace_t *trace = skn_trace_new(&error);
    for (uint64_t k = 0; k < SKN_TRACE_RECORDS + 3; k++)
        skn_trace_span(trace, "hook", 1000 * k, 1000 * k + 1, NULL, NULL);
    json_t *events = events_of(trace, 0);
    cr_expect_eq(json_array_size(events), SKN_TRACE_RECORDS + 2);
    cr_expect_eq(number(json_array_get(events, 1), "ts"), 3.0);
    json_decref(events);
}

Test(trace, a_span_of_minutes_is_cut_at_four_seconds)
{
    skn_trace_t *trace = skn_trace_new(&error);
    skn_trace_span(trace, "hook", 0, UINT64_C(600000000000), NULL, NULL);
    json_t *events = events_of(trace, 0);
    cr_expect_float_eq(number(json_array_get(events, 1), "dur"), 4294967.295,
                       1e-3);
    json_decref(events);
}

Test(trace, no_trace_takes_no_records)
{
    skn_trace_span(NULL, "hook", 0, 1, NULL, NULL);
    skn_trace_flow(NULL, SKN_TRACE_SEND, 0, "work", 1, 1);
}
